//! The command `warpsieve` with the schemes of this crate added.

fn main() -> std::process::ExitCode {
    warpsieve_cli::main_with(&own_scheme::DESIGNS, tb::soak::soaks)
}
