//! Binary of the command `warpsieve`.

use std::process::ExitCode;

fn main() -> ExitCode {
    warpsieve_cli::main()
}
