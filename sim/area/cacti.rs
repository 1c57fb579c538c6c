//! # Input for CACTI
//! Writes a CACTI 7.0 input file for a given memory. The settings are the same as in the CACTI runs whose
//! results this crate interpolates.

use crate::memory::{Kind, Memory, Node};

/// Template of the input file; `{name}` stands for a value that differs between memories.
const FORM: &str = include_str!("cacti.cfg");

/// Returns the input file for one bank of a memory. CACTI expects the width in bytes, so it is rounded up to
/// whole bytes.
#[must_use]
pub fn cacti_input(name: &str, node: Node, memory: &Memory) -> String {
    let Memory { kind, entries, width, ports, banks } = *memory;
    let bytes = width.div_ceil(8);
    let (kind, searches, reads) = match kind {
        Kind::Cam => ("cam", ports.shared + ports.reads, 0),
        Kind::Sram | Kind::Flops => ("ram", 0, ports.reads),
    };
    let fields = [
        ("name", name.to_owned()),
        ("entries", entries.to_string()),
        ("width", width.to_string()),
        ("banks", banks.to_string()),
        ("ports", ports.to_string()),
        ("size", (u64::from(entries) * u64::from(bytes)).to_string()),
        ("word", bytes.to_string()),
        ("bus", (8 * bytes).to_string()),
        ("associativity", if kind == "cam" { "0" } else { "1" }.to_owned()),
        ("shared", ports.shared.to_string()),
        ("reads", reads.to_string()),
        ("writes", ports.writes.to_string()),
        ("searches", searches.to_string()),
        ("um", node.um().to_string()),
        ("kind", kind.to_owned()),
    ];
    fields.iter().fold(FORM.to_owned(), |text, (field, value)| text.replace(&format!("{{{field}}}"), value))
}
