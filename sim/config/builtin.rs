//! The machines and designs that come with the program, so that a name works from any folder. `sim/build.rs` finds
//! them: each file of the two folders is one.

/// A file of `machines/` or `designs/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Its name on the command line.
    pub name: &'static str,
    /// Path shown in messages.
    pub path: &'static str,
    /// Its contents.
    pub text: &'static str,
}

/// The preset whose keys and types every other configuration must have.
pub(super) const SCHEMA: &str = "fermi";

/// The machines, by name.
#[must_use]
pub fn machines() -> &'static [Builtin] {
    include!(concat!(env!("OUT_DIR"), "/machines.rs"))
}

/// The designs, by name.
#[must_use]
pub fn designs() -> &'static [Builtin] {
    include!(concat!(env!("OUT_DIR"), "/designs.rs"))
}
