//! The command `warpsieve` with the scheme in it.

fn main() -> std::process::ExitCode {
    warpsieve_cli::main_with(&new_scheme::DESIGNS)
}
