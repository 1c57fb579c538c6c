//! # Lockstep test of the atomic unit
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                            | where       |
//! |----------------------------------------------------------------------|-------------|
//! | each function, on words of 4 and of 8 bytes                          | `FUNCTIONS` |
//! | words that are equal, consecutive, 0, all ones, of either sign       | `word`      |
//! | a carry between the halves of a wide word, but not between two words | all ones    |
//! | some words of a line, none, all                                      | `byte_mask` |

use isa::lanes::AtomicFn;
use isa::types::Type;
use rtl::cells::atomic::AtomicOp;
use rtl::cells::line::LINE_BYTES;
use rtl::kernel::{Describe, Edge, Encoding};

use crate::{Bench, Mistake, Ports, Random, Size};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("wire wide = ty_i[0];", "wire wide = ty_i[1];"),
        Mistake::new("ty_i[3:2] == 2'd1 && (f_i", "ty_i[2] && (f_i != MIN"),
        Mistake::new("(f_i == MIN || f_i == MAX)", "(f_i == MIN)"),
        Mistake::new("wide ? 64'd1 : {32'd1, 32'd1}", "64'd1"),
        Mistake::new("32'(wide && low_sum[32])", "32'(low_sum[32])"),
        Mistake::new("is_signed && !wide, 31'd0", "is_signed, 31'd0"),
        Mistake::new("below[1] || same[1] && below[0]", "below[1] || below[0]"),
        Mistake::new("wide ? {2{&same}} : same", "same"),
        Mistake::new("wide ? {2{&zero}} : zero", "zero"),
        Mistake::new("wide ? {2{&equal}} : equal", "equal"),
        Mistake::new("(p*8)^(OPERAND_BYTES/2)", "(p*8)^0"),
        Mistake::new("is_zero[h] || !is_below[h] && !is_same[h] ? by", "is_zero[h] || !is_below[h] ? by"),
        Mistake::new("byte_mask_i[p*8+(h==0?0:4)]", "byte_mask_i[p*8]"),
        Mistake::new("INCREMENT: result = is_below[h] ?", "INCREMENT: result = is_below[h] || is_same[h] ?"),
        Mistake::equivalent(
            "MIN: result = is_below[h] ? was : by",
            "MIN: result = is_below[h] || is_same[h] ? was : by",
            "if both are equal, either is the minimum",
        ),
    ]
}

/// Atomic functions, each with the PTX operand types that it supports, except for floating-point types.
pub(crate) const FUNCTIONS: [(AtomicFn, &[Type]); 10] = [
    (AtomicFn::Add, &[Type::U32, Type::S32, Type::U64]),
    (AtomicFn::Min, INTEGERS),
    (AtomicFn::Max, INTEGERS),
    (AtomicFn::And, BITS),
    (AtomicFn::Or, BITS),
    (AtomicFn::Xor, BITS),
    (AtomicFn::Exchange, BITS),
    (AtomicFn::CompareSwap, BITS),
    (AtomicFn::Increment, &[Type::U32, Type::U64]),
    (AtomicFn::Decrement, &[Type::U32, Type::U64]),
];
const INTEGERS: &[Type] = &[Type::U32, Type::S32, Type::U64, Type::S64];
const BITS: &[Type] = &[Type::B32, Type::B64];

struct Unit {
    line_bytes: u32,
    random: Random,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let line_bytes = match size {
            Size::Small => 16,
            Size::Synthesised => 32,
            Size::Fermi => 128,
            Size::Any => 16 << random.below(4),
        };
        Self { line_bytes, random }
    }

    /// Generates a random cache line whose words have few distinct values, so that equal and consecutive
    /// values are common.
    fn line(&mut self) -> [u8; LINE_BYTES] {
        let mut line = [0; LINE_BYTES];
        for word in line[..self.line_bytes as usize].chunks_exact_mut(4) {
            let value = match self.random.below(8) {
                0 => self.random.below(1 << 32) as u32,
                1 => u32::MAX,
                2 => 1 << 31,
                _ => self.random.below(3) as u32,
            };
            word.copy_from_slice(&value.to_le_bytes());
        }
        line
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("LINE_BYTES", self.line_bytes.to_string()), ("OPERAND_BYTES", self.line_bytes.to_string())]
    }

    fn cycle(&mut self, _: &Edge<'_>, ports: &mut Ports) {
        let (f, types) = FUNCTIONS[self.random.below(10) as usize];
        let ty = types[self.random.below(types.len() as u64) as usize];
        let (mut line, operands) = (self.line(), self.line());
        let word = (1u128 << ty.bytes()) - 1;
        let often = [0, 30, 70, 100][self.random.below(4) as usize];
        let words = (0..self.line_bytes).step_by(ty.bytes() as usize);
        let byte_mask = words.fold(0, |mask, at| mask | if self.random.percent(often) { word << at } else { 0 });
        let (line_bytes, bits) = (self.line_bytes, self.line_bytes * 8);
        ports.input("f", 4, f.code());
        ports.input("ty", 4, ty.code());
        ports.wide_input("line", bits, &line);
        ports.wide_input("byte_mask", line_bytes, &byte_mask.to_le_bytes());
        ports.wide_input("operands", bits, &operands);
        let changed = AtomicOp { f, ty }.perform(&mut line, byte_mask, &operands, line_bytes);
        ports.wide_output("line_next", bits, Some(&line));
        ports.output("changed", 1, changed);
    }

    fn describe(&self, to: &mut dyn Describe) {
        AtomicOp::describe_logic(self.line_bytes, to);
    }
}
