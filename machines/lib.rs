//! Machines and designs that are built into the program, so that a command can name them in any working
//! folder. `build.rs` embeds every TOML file of this folder and of `designs`.

/// File of `machines/` or `machines/designs/` that is embedded in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Name of the machine or design on the command line.
    pub name: &'static str,
    /// Path of the file in the source tree, as shown in messages.
    pub path: &'static str,
    /// Contents of the file.
    pub text: &'static str,
}

/// Built-in machines: the default machine `fermi`, and the others sorted by name.
pub const MACHINES: &[Builtin] = include!(concat!(env!("OUT_DIR"), "/machines.rs"));

/// Built-in designs, sorted by name.
pub const DESIGNS: &[Builtin] = include!(concat!(env!("OUT_DIR"), "/designs.rs"));
