//! The command `warpsieve` with the schemes of this crate added.

fn main() -> std::process::ExitCode {
    warpsieve_cli::main_with(new_scheme::DESIGNS, tb::soak::soaks)
}
