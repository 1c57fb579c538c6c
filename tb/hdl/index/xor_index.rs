//! # Lockstep test of the XOR index unit
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                          | where                 |
//! |----------------------------------------------------|-----------------------|
//! | every line address of a small unit                 | all lines in sequence |
//! | each function: low bits, Fermi's hash, polynomials | random size           |
//! | `rtl` and the golden function agree on every line  | `cycle`               |

use golden::index::SetIndex;
use rtl::index::fermi::Fermi;
use rtl::index::i_poly::IPoly;
use rtl::index::linear::Linear;
use rtl::index::{IndexConfig, IndexUnit, polynomial_for};
use rtl::kernel::{Describe, Edge};
use warpsieve::check::l1::set_index;

use crate::{Bench, Mistake, Ports, Random, Size};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("^(line_i & H", "~^(line_i & H"),
        Mistake::new("^(line_i & H", "|(line_i & H"),
        Mistake::new("^(line_i & H", "&(line_i & H"),
        Mistake::new("^(line_i & H", "^(line_i | H"),
        Mistake::new("^(line_i & H", "^(line_i ^ H"),
        Mistake::new("^(line_i & H", "^(line_i & ~H"),
        Mistake::new("H[j*LINE_BITS+:LINE_BITS]", "H[(INDEX_BITS-1-j)*LINE_BITS+:LINE_BITS]"),
        Mistake::new("H[j*LINE_BITS+:LINE_BITS]", "{1'b0, H[j*LINE_BITS+:LINE_BITS-1]}"),
        Mistake::new("H[j*LINE_BITS+:LINE_BITS]", "{H[j*LINE_BITS+:LINE_BITS-1], 1'b0}"),
        Mistake::new("assign index_o[j]", "assign index_o[INDEX_BITS-1-j]"),
    ]
}

const LINE_BYTES: u32 = 128;

struct Unit {
    unit: IndexUnit,
    golden: SetIndex,
    line_bits: u32,
    line: u64,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let poly = |sets, addr_bits, reversed| -> IndexConfig {
            let polynomial = polynomial_for(sets).unwrap_or_default();
            IPoly { polynomial, addr_bits, reversed }.into()
        };
        let (config, sets, line_bits) = match size {
            Size::Small => (poly(8, 17, false), 8, 10),
            Size::Fermi | Size::Synthesised => (poly(32, 32, false), 32, 25),
            Size::Any => match random.below(4) {
                0 => (Linear {}.into(), 1 << (1 + random.below(12)), 25),
                1 => (Fermi {}.into(), 32 << random.below(2), 25),
                _ => {
                    let bits = 1 + random.below(12) as u32;
                    let addr_bits = 7 + bits + random.below(u64::from(26 - bits)) as u32;
                    (poly(1 << bits, addr_bits, random.percent(50)), 1 << bits, 25)
                }
            },
        };
        let unit = IndexUnit::new(&config, sets, LINE_BYTES, line_bits);
        let golden = set_index(&config, sets, LINE_BYTES).expect("a legal function");
        Self { unit, golden, line_bits, line: 0 }
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let Self { unit, line_bits, .. } = self;
        let row =
            |j: u32| unit.row(j as usize).iter().rev().map(|bit| if *bit { '1' } else { '0' }).collect::<String>();
        let rows: String = (0..unit.bits()).rev().map(row).collect();
        vec![
            ("LINE_BITS", line_bits.to_string()),
            ("INDEX_BITS", unit.bits().to_string()),
            ("H", format!("{}'b{rows}", unit.bits() * line_bits)),
        ]
    }

    fn cycle(&mut self, _at: &Edge<'_>, ports: &mut Ports) {
        let Self { unit, golden, line_bits, line } = self;
        let index = unit.index(*line);
        assert_eq!(index as usize, golden.set_of_line(*line), "line {line:#x}");
        ports.input("line", *line_bits, *line);
        ports.output("index", unit.bits(), u64::from(index));
        // The increment is odd, so the sequence eventually visits every line address. It is also large, so
        // that even a short run changes every address bit.
        *line = (*line + 0x9e3_7795) & ((1 << *line_bits) - 1);
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.unit.describe(to);
    }
}
