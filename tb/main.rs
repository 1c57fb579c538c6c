//! The command `warpsieve`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tb::cli::main()
}
