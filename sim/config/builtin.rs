//! Machines and designs built into the program, so that their names work from any folder. `sim/build.rs`
//! embeds every file of the folders `machines` and `machines/designs`.

use std::sync::OnceLock;

/// File of `machines/` or `machines/designs/` that is embedded in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// Name of the machine or design on the command line.
    pub name: &'static str,
    /// Path of the file, as shown in messages.
    pub path: &'static str,
    /// Contents of the file.
    pub text: &'static str,
}

/// Machine preset that serves as the schema: its keys and value types are the legal keys and types of every
/// configuration.
pub(super) const SCHEMA: &str = "fermi";

/// Returns the built-in machines, sorted by name.
#[must_use]
pub fn machines() -> &'static [Builtin] {
    include!(concat!(env!("OUT_DIR"), "/machines.rs"))
}

/// Returns the built-in designs, sorted by name, followed by the designs that [`add_designs`] added.
#[must_use]
pub fn designs() -> &'static [Builtin] {
    ALL_DESIGNS.get().map_or(BUILT_IN, Vec::as_slice)
}

/// Adds designs to the built-in ones for the whole process. Only the first call has an effect. An added
/// design replaces a built-in design of the same name.
pub fn add_designs(designs: &[Builtin]) {
    let is_replaced = |name| designs.iter().any(|design| design.name == name);
    ALL_DESIGNS.get_or_init(|| {
        let kept = BUILT_IN.iter().filter(|design| !is_replaced(design.name));
        kept.chain(designs).copied().collect()
    });
}

const BUILT_IN: &[Builtin] = include!(concat!(env!("OUT_DIR"), "/designs.rs"));

static ALL_DESIGNS: OnceLock<Vec<Builtin>> = OnceLock::new();
