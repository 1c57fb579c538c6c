//! Binary of the command `warpsieve`: runs the command line, and provides it with the soak tests (long random
//! tests) of the testbenches.

use std::process::ExitCode;

fn main() -> ExitCode {
    warpsieve_cli::main_with(&[], tb::soak::soaks)
}
