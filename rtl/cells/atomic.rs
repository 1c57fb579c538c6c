//! # Atomic unit
//! Executes an atomic request of an L2 bank: reads, modifies and writes words of a line in one pass. The
//! request selects the words; one adder or comparator per word processes all of them in parallel.
//!
//! Part of `rtl/l2/bank.rs`.
//! Twin: `golden/l2/bank.rs`.
//! Bench: its own tests, `tb/l2/atomics.rs`, and `tb/hdl/cells/atomic.rs` with
//! `rtl/hdl/cells/ws_cells_atomic.sv`. The SystemVerilog module omits floating-point sums, which take no
//! extra cycle in this model.

use isa::lanes::{AtomicFn, global_atomic};
use isa::types::Type;
use serde::{Deserialize, Serialize};

use crate::cells::line::LINE_BYTES;
use crate::kernel::{Describe, Encoding, Logic, Payload};

/// Operation of an atomic access on each selected word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct AtomicOp {
    /// Function that computes the new value of a word from its old value and the operand.
    #[payload(name = "function", state)]
    pub f: AtomicFn,
    /// Data type of the word, which has 2, 4 or 8 bytes.
    #[payload(name = "type", state)]
    pub ty: Type,
}

impl Default for AtomicOp {
    fn default() -> Self {
        Self { f: AtomicFn::Add, ty: Type::U32 }
    }
}

impl Encoding for AtomicFn {
    const WIDTH: u32 = 4;
    const NAMES: &'static [&'static str] = &["ADD", "MIN", "MAX", "AND", "OR", "XOR", "EXCH", "CAS", "INC", "DEC"];
    fn code(self) -> u8 {
        self as u8
    }
}

impl Encoding for Type {
    const WIDTH: u32 = 4;
    const NAMES: &'static [&'static str] = &[
        "BF16", "U16", "U32", "U64", "F16X2", "S16", "S32", "S64", "BF16X2", "B16", "B32", "B64", "F16", "F32", "F64",
        "PRED",
    ];
    /// Returns the 4-bit hardware code of the data type. No word has 8 bits, so BF16, F16X2 and BF16X2 reuse
    /// the codes of 8-bit types.
    fn code(self) -> u8 {
        match self {
            Type::Bf16 => Type::U8 as u8,
            Type::F16x2 => Type::S8 as u8,
            Type::Bf16x2 => Type::B8 as u8,
            ty => ty as u8,
        }
    }
}

impl AtomicOp {
    /// Performs the operation on every word of `line` whose bytes `byte_mask` selects. The operand of a word
    /// is in `operands` at the same offset as the word. The operands of a compare-and-swap fill
    /// `operand_bytes` bytes, in two halves: a word's new value is at the offset of the word, and its
    /// comparison value is at the corresponding offset in the other half. Returns true if any word has
    /// changed.
    #[inline(never)]
    pub fn perform(
        self,
        line: &mut [u8; LINE_BYTES],
        byte_mask: u128,
        operands: &[u8; LINE_BYTES],
        operand_bytes: u32,
    ) -> bool {
        let mut changed = false;
        let bytes = self.ty.bytes() as usize;
        let word = |from: &[u8; LINE_BYTES], at: usize| {
            let mut value = [0; 8];
            value[..bytes].copy_from_slice(&from[at..at + bytes]);
            u64::from_le_bytes(value)
        };
        let mut left = byte_mask;
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            left &= !(((1 << bytes) - 1) << at);
            let operand = word(operands, at);
            let (b, c) = match self.f {
                AtomicFn::CompareSwap => (word(operands, at ^ (operand_bytes as usize / 2)), operand),
                _ => (operand, 0),
            };
            let old = word(line, at);
            let new = global_atomic(self.f, self.ty, old, b, c);
            changed |= new != old;
            line[at..at + bytes].copy_from_slice(&new.to_le_bytes()[..bytes]);
        }
        changed
    }

    /// Adds to the hardware description the logic of integer atomics on a line of `line_bytes` bytes: one
    /// 64-bit datapath per 8 bytes, which can also process two 4-byte words.
    pub fn describe_logic(line_bytes: u32, to: &mut dyn Describe) {
        for _ in 0..line_bytes / 8 {
            to.logic("atomic_addend", Logic::Mux { ways: 3, width: 64 });
            to.logic("atomic_sum", Logic::Adder { width: 64 });
            to.logic("atomic_less", Logic::Less { width: 64, count: 1 });
            // Four equality comparators: word and operand, word and compare value, word and 0, and old word
            // and new word.
            to.logic("atomic_equal", Logic::Comparator { width: 64, count: 4 });
            to.logic("atomic_bits", Logic::Gates { count: 3 * 64 });
            to.logic("atomic_result", Logic::Mux { ways: 8, width: 64 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: impl Fn(usize) -> u32) -> [u8; LINE_BYTES] {
        let mut line = [0; LINE_BYTES];
        for (i, bytes) in line.as_chunks_mut().0.iter_mut().enumerate() {
            *bytes = words(i).to_le_bytes();
        }
        line
    }

    #[test]
    fn only_the_words_of_the_mask_change() {
        let mut cell = line(|i| 100 + i as u32);
        let add = AtomicOp { f: AtomicFn::Add, ty: Type::U32 };
        add.perform(&mut cell, 0xf << 4 | 0xf << 124, &line(|i| i as u32), 128);
        assert_eq!(cell, line(|i| 100 + i as u32 + if i == 1 || i == 31 { i as u32 } else { 0 }));
    }

    #[test]
    fn compare_and_swap_finds_the_value_to_compare_in_the_other_half() {
        let mut cell = line(|i| i as u32);
        let swap = AtomicOp { f: AtomicFn::CompareSwap, ty: Type::B32 };
        // The compare-and-swap tries to set words 2 and 3 to 70. The comparison value matches word 2 but not
        // word 3, so only word 2 changes.
        let operands = line(|i| {
            if i < 16 {
                70
            } else if i == 18 {
                2
            } else {
                9
            }
        });
        swap.perform(&mut cell, 0xff << 8, &operands, 128);
        assert_eq!(cell, line(|i| if i == 2 { 70 } else { i as u32 }));
    }

    #[test]
    fn words_of_8_bytes_carry_into_their_upper_half() {
        let mut cell = line(|i| if i == 6 { u32::MAX } else { 0 });
        let add = AtomicOp { f: AtomicFn::Add, ty: Type::U64 };
        add.perform(&mut cell, 0xff << 24, &line(|i| u32::from(i == 6)), 128);
        assert_eq!(cell, line(|i| u32::from(i == 7)));
    }
}
