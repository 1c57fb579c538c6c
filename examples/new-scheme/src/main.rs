//! The `warpsieve` command line program, extended by the schemes of this crate.

fn main() -> std::process::ExitCode {
    warpsieve_cli::main_with(new_scheme::DESIGNS, tb::soak::soaks)
}
