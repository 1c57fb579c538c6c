//! The command `warpsieve` with the scheme added.

fn main() -> std::process::ExitCode {
    warpsieve_cli::main_with(new_scheme::DESIGNS, tb::soak::soaks)
}
