//! The machines and designs that come with the program, so that a name works from any folder. `sim/build.rs` finds
//! them: each file of the two folders is one.

use std::sync::OnceLock;

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

/// The designs, by name; behind them those that were added.
#[must_use]
pub fn designs() -> &'static [Builtin] {
    ALL_DESIGNS.get().map_or(BUILT_IN, Vec::as_slice)
}

/// Adds designs, for the whole process: the first call counts. One that has the name of another takes its place.
pub fn add_designs(designs: &[Builtin]) {
    let is_replaced = |name| designs.iter().any(|design| design.name == name);
    ALL_DESIGNS.get_or_init(|| {
        let kept = BUILT_IN.iter().filter(|design| !is_replaced(design.name));
        kept.chain(designs).copied().collect()
    });
}

const BUILT_IN: &[Builtin] = include!(concat!(env!("OUT_DIR"), "/designs.rs"));

static ALL_DESIGNS: OnceLock<Vec<Builtin>> = OnceLock::new();
