//! # Lockstep test of the index modulo a polynomial
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                                      | where       |
//! |--------------------------------------------------------------------------------|-------------|
//! | module and `rtl` compute the same matrix, and both equal a polynomial division | `cycle`     |
//! | every degree, all address widths, both orders of the index bits                | random size |

use golden::index::SetIndex;
use rtl::index::i_poly::IPoly;
use rtl::index::{IndexConfig, IndexUnit, polynomial_for};
use rtl::kernel::{Describe, Edge};
use warpsieve::check::l1::set_index;

use crate::{Bench, Mistake, Ports, Random, Size};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("power = 1;", "power = 2;"),
        Mistake::new("REVERSED ? INDEX_BITS-1-j : j", "REVERSED ? j : INDEX_BITS-1-j"),
        Mistake::new("*LINE_BITS+k] = power", "*LINE_BITS+LINE_BITS-1-k] = power"),
        Mistake::new("k + OFFSET_BITS < ADDR_BITS", "k < ADDR_BITS"),
        Mistake::new("k + OFFSET_BITS < ADDR_BITS", "k + OFFSET_BITS <= ADDR_BITS"),
        Mistake::new("power[j] & (", "power[j] | (k + OFFSET_BITS < ADDR_BITS) & ("),
        Mistake::new("power = power << 1;", "power = {power[INDEX_BITS-1:0], 1'b1};"),
        Mistake::new("if (power[INDEX_BITS])", "if (power[INDEX_BITS-1])"),
        Mistake::new("power ^ POLYNOMIAL[INDEX_BITS:0]", "power ^ {1'b1, POLYNOMIAL[INDEX_BITS:1]}"),
        Mistake::new("power ^ POLYNOMIAL[INDEX_BITS:0]", "power"),
        Mistake::equivalent(
            "power ^ POLYNOMIAL[INDEX_BITS:0]",
            "{1'b0, power[INDEX_BITS-1:0] ^ POLYNOMIAL[INDEX_BITS-1:0]}",
            "the top bits of both are set",
        ),
    ]
}

proof! {
    || (1..=12).rev().map(|bits| {
        let polynomial = polynomial_for(1 << bits).unwrap_or_default();
        // The index ignores the top address bits. The bit order of the index is reversed if the number of
        // index bits is odd.
        format!("INDEX_BITS={bits} POLYNOMIAL={polynomial} ADDR_BITS={} REVERSED={}", 19 + bits, bits % 2)
    }).collect(),
    12 in tests,
    [
        Mistake::new("k + OFFSET_BITS < ADDR_BITS", "k + OFFSET_BITS <= ADDR_BITS"),
        Mistake::new("if (power[INDEX_BITS])", "if (power[INDEX_BITS-1])"),
        Mistake::new("power = power << 1;", "power = {power[INDEX_BITS-1:0], 1'b1};"),
    ]
}

const LINE_BYTES: u32 = 128;

struct Unit {
    function: IPoly,
    unit: IndexUnit,
    golden: SetIndex,
    line_bits: u32,
    line: u64,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let (bits, addr_bits, reversed, line_bits) = match size {
            Size::Small => (3, 15, false, 10),
            Size::Fermi | Size::Synthesised => (5, 32, false, 25),
            Size::Any => {
                let bits = 1 + random.below(12) as u32;
                (bits, 7 + bits + random.below(u64::from(26 - bits)) as u32, random.percent(50), 25)
            }
        };
        let polynomial = polynomial_for(1 << bits).expect("there is one for up to 4096 sets");
        let function = IPoly { polynomial, addr_bits, reversed };
        let config: IndexConfig = function.into();
        let golden = set_index(&config, 1 << bits, LINE_BYTES).expect("a legal function");
        Self { function, unit: IndexUnit::new(&config, 1 << bits, LINE_BYTES, line_bits), golden, line_bits, line: 0 }
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let IPoly { polynomial, addr_bits, reversed } = self.function;
        vec![
            ("LINE_BITS", self.line_bits.to_string()),
            ("OFFSET_BITS", LINE_BYTES.ilog2().to_string()),
            ("ADDR_BITS", addr_bits.to_string()),
            ("INDEX_BITS", self.unit.bits().to_string()),
            ("POLYNOMIAL", polynomial.to_string()),
            ("REVERSED", u32::from(reversed).to_string()),
        ]
    }

    fn cycle(&mut self, _at: &Edge<'_>, ports: &mut Ports) {
        let Self { unit, golden, line_bits, line, .. } = self;
        let index = unit.index(*line);
        assert_eq!(index as usize, golden.set_of_line(*line), "line {line:#x}");
        ports.input("line", *line_bits, *line);
        ports.output("index", unit.bits(), index);
        // The increment is odd, so the sequence eventually visits every line address. It is also large, so
        // that even a short run changes every address bit.
        *line = (*line + 0x9e3_7795) & ((1 << *line_bits) - 1);
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.unit.describe(to);
    }
}
