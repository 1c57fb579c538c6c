//! # Cells for synthesis
//! Writes the standard cells, with the function of each, in the Liberty format that synthesis tools read.
//! Synthesis then uses the same cost per cell as the estimates of this crate.

use std::fmt::Write as _;

use crate::Technology;

/// Name, inputs and output function of each standard cell with which logic is built.
const GATES: [(&str, &[&str], &str); 5] = [
    ("inv", &["A"], "A'"),
    ("nand2", &["A", "B"], "(A*B)'"),
    ("nor2", &["A", "B"], "(A+B)'"),
    ("xor2", &["A", "B"], "A^B"),
    ("mux2", &["A", "B", "S"], "(A*S')+(B*S)"),
];
const FLIP_FLOP: &str = "dff";
/// Buffer cell. It is in the library because technology mapping requires a buffer, but it is seldom used. Its
/// cost is that of two inverters.
const BUFFER: &str = "buf";

impl Technology {
    /// Returns the library of standard cells at 45 nm in Liberty format.
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

    /// Returns the area of a standard cell at 45 nm in um2, or `None` if the library has no such cell.
    #[must_use]
    pub fn cell_um2(&self, name: &str) -> Option<f64> {
        match name {
            BUFFER => Some(2.0 * self.gates.cell_um2("inv")?),
            _ => self.gates.cell_um2(name),
        }
    }

    /// True if a standard cell of the library is a flip-flop.
    #[must_use]
    pub fn is_flip_flop(name: &str) -> bool {
        name == FLIP_FLOP
    }
}
