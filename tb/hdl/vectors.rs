//! # Test vectors of a module
//! Writes the traffic of a testbench to a file, with a plain SystemVerilog testbench that replays it on a
//! module.

use std::fmt::Write as _;

use super::lockstep::Batch;
use super::ports::{CLOCK, Signal, input_pin, output_pin, words};
use super::{Block, Memory, Poke, Ports, Random, Size, module_of};
use rtl::kernel::{Edge, Wake};

/// SystemVerilog testbench and its test vectors, to be written to the same folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vectors {
    /// File name and text of the SystemVerilog testbench, whose top module is named `bench`.
    pub bench: (String, String),
    /// File name and text of the test vectors. Each row holds the inputs of a cycle, the expected outputs,
    /// and a mask of the outputs to compare.
    pub rows: (String, String),
}

/// Template of the SystemVerilog testbench. Names in braces are replaced by text that depends on the module.
const BENCH: &str = include_str!("bench.sv");

impl Block {
    /// Returns test vectors for the given number of cycles, with random traffic from a seed.
    #[must_use]
    pub fn vectors(&self, size: Size, seed: u64, cycles: u64) -> Vectors {
        let mut bench = (self.build)(size, Random::new(seed));
        let parameters: Vec<_> = bench.parameters().iter().map(|(name, value)| format!(".{name}({value})")).collect();
        let mut ports = Ports::default();
        bench.cycle(&Edge::new(1, 1, &mut Wake::new(&[1])), &mut ports);
        let sum = |signals: &[Signal]| signals.iter().map(|signal| words(signal.width)).sum::<usize>();
        let (inputs, outputs) = (sum(&ports.inputs), sum(&ports.outputs));

        let mut bench = (self.build)(size, Random::new(seed));
        let (mut rows, mut contents) = (String::new(), String::new());
        let memories = bench.memories();
        let mut is_clocked = false;
        for cycle in 0..cycles {
            let batch = Batch::draw(&mut *bench, cycle, 1);
            for Poke { memory, address, bytes } in batch.pokes.iter().flat_map(|(_, pokes)| pokes) {
                // A plain bench has no host: it can only initialize the memory.
                assert_eq!(cycle, 0, "{}: the host writes after the first cycle", self.path());
                let Memory { array, width } = memories[*memory];
                let digits: String = bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect();
                let _ = writeln!(contents, "    dut.{array}[{address}] = {width}'h{digits};");
            }
            // The registers, which precede the outputs in a row, are omitted, because other simulators cannot
            // read registers by name.
            let registers = batch.expected.len() - outputs;
            is_clocked |= registers > 0;
            let row = [&batch.driven, &batch.expected[registers..], &batch.looked_at[registers..]].concat();
            rows.extend(row.iter().rev().map(|word| format!("{word:08x}")));
            rows.push('\n');
        }
        let mut pins = if is_clocked { CLOCK.map(str::to_owned).to_vec() } else { Vec::new() };
        let mut checks = String::new();
        let sides = [(&ports.inputs, "in", input_pin as fn(&str) -> String), (&ports.outputs, "out", output_pin)];
        for (signals, row, pin) in sides {
            let mut at = 0;
            for Signal { name, width } in signals {
                pins.push(format!(".{}({row}[{at}+:{width}])", pin(name)));
                if row == "out" {
                    let _ = writeln!(checks, "      check(\"{}\", {at}, {width});", pin(name));
                }
                at += words(*width) * 32;
            }
        }
        let name = self.path().replace('/', "_");
        let file = format!("{name}_rows.hex");
        let fields = [
            ("module", module_of(&self.path())),
            ("file", file.clone()),
            ("cycles", cycles.to_string()),
            ("in", (inputs * 32).to_string()),
            ("out", (outputs * 32).to_string()),
            ("parameters", parameters.join(", ")),
            ("pins", pins.join(",\n      ")),
            ("checks", checks.trim_end().to_owned()),
            ("contents", contents),
        ];
        let fill = |text: String, (field, value): &(&str, String)| text.replace(&format!("{{{field}}}"), value);
        Vectors { bench: (format!("{name}_bench.sv"), fields.iter().fold(BENCH.to_owned(), fill)), rows: (file, rows) }
    }
}
