//! Built-in machines and designs. A program that uses this library can add designs of its own.

use std::sync::OnceLock;

pub use machines::Builtin;
use machines::{DESIGNS, MACHINES};

/// Machine preset that serves as the schema. Every configuration has the keys of this preset, with values of
/// the same types.
pub(super) const SCHEMA: &str = "fermi";

/// Returns the built-in machines, sorted by name.
#[must_use]
pub fn machines() -> &'static [Builtin] {
    MACHINES
}

/// Returns the built-in designs, sorted by name, followed by the designs added with [`add_designs`].
#[must_use]
pub fn designs() -> &'static [Builtin] {
    ALL_DESIGNS.get().map_or(DESIGNS, Vec::as_slice)
}

/// Adds designs for the whole process; only the first call has an effect. An added design replaces a built-in
/// design of the same name.
pub fn add_designs(designs: &[Builtin]) {
    let is_replaced = |name| designs.iter().any(|design| design.name == name);
    ALL_DESIGNS.get_or_init(|| {
        let kept = DESIGNS.iter().filter(|design| !is_replaced(design.name));
        kept.chain(designs).copied().collect()
    });
}

static ALL_DESIGNS: OnceLock<Vec<Builtin>> = OnceLock::new();
