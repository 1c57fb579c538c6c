//! # Cells for synthesis
//! The standard cells with what each computes, in the format that synthesis reads: so that gates of a module cost what
//! those of an estimate do.

use std::fmt::Write as _;

use crate::Technology;

/// Cells that logic is mapped to: name, inputs, output.
const GATES: [(&str, &[&str], &str); 5] = [
    ("inv", &["A"], "A'"),
    ("nand2", &["A", "B"], "(A*B)'"),
    ("nor2", &["A", "B"], "(A+B)'"),
    ("xor2", &["A", "B"], "A^B"),
    ("mux2", &["A", "B", "S"], "(A*S')+(B*S)"),
];
const FLIP_FLOP: &str = "dff";
/// A buffer, which mapping asks for and hardly uses: two inverters.
const BUFFER: &str = "buf";

impl Technology {
    /// The library of cells at 45 nm.
    #[must_use]
    pub fn liberty(&self) -> String {
        let mut text = "library(cells) {\n".to_owned();
        let mut cell = |name: &str, inputs: &[&str], function: &str, more: &str| {
            let um2 = self.cell_um2(name).unwrap_or_default();
            let _ = writeln!(text, "  cell({name}) {{ area: {um2}; {more}");
            for input in inputs {
                let clock = if *input == "C" { " clock: true;" } else { "" };
                let _ = writeln!(text, "    pin({input}) {{ direction: input;{clock} }}");
            }
            let _ = writeln!(text, "    pin(Y) {{ direction: output; function: \"{function}\"; }} }}");
        };
        GATES.iter().for_each(|(name, inputs, function)| cell(name, inputs, function, ""));
        cell(BUFFER, &["A"], "A", "");
        cell(FLIP_FLOP, &["C", "D"], "IQ", "ff(IQ, IQN) { clocked_on: \"C\"; next_state: \"D\"; }");
        text + "}\n"
    }

    /// Area of a cell of the library at 45 nm; `None` if it has no such cell.
    #[must_use]
    pub fn cell_um2(&self, name: &str) -> Option<f64> {
        match name {
            BUFFER => Some(2.0 * self.gates.cell_um2("inv")?),
            _ => self.gates.cell_um2(name),
        }
    }

    /// Whether a cell of the library is a flip-flop.
    #[must_use]
    pub fn is_flip_flop(name: &str) -> bool {
        name == FLIP_FLOP
    }
}
