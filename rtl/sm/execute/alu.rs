//! Execution of one warp instruction on 32 lanes. All lanes are computed; writeback writes only the lanes in
//! which the instruction acts.

use isa::lanes::{Loop, Pair, PairMut, alu_pair, alu32, carry_add, compare_pair, compare32, convert_pair};
use isa::program::{Dst, Inst, Op, Src};

use super::operands::{Operands, Row};
use crate::l1::access::LANES;
use crate::sm::front::decode::DecodedInst;
use crate::sm::host::image::RESULT_WORDS;

/// Result words of one warp instruction, in the order of its destinations. A 64-bit result takes two words,
/// low word first.
pub(in crate::sm) type Words = [Row; RESULT_WORDS];

/// Method by which the model computes an instruction, selected at decode.
#[derive(Clone, Copy, Debug)]
pub(in crate::sm) enum Compute {
    /// Copies the words of the first operand: two words if the destination has 64 bits, else one.
    Copy,
    /// Writes the precomputed result of a parameter load at a constant offset; its words are equal in all
    /// lanes.
    Spread,
    /// Runs a loop that is specialized for the operation and computes one result word from two operand words.
    Two(fn(&Row, &Row, &mut Row)),
    /// Runs a loop that is specialized for the operation and computes one result word from three operand
    /// words.
    Three(fn(&Row, &Row, &Row, &mut Row)),
    /// Runs a loop that is specialized for the operation and computes a two-word product from two operand
    /// words.
    Product(fn(&Row, &Row, PairMut<'_, LANES>)),
    /// Runs a loop that is specialized for the operation and computes a two-word result from two operands of
    /// two words each.
    Pairs(fn(Pair<'_, LANES>, Pair<'_, LANES>, PairMut<'_, LANES>)),
    /// No specialized loop: the code for the operation is selected again at every execution.
    Other,
}

impl Compute {
    pub fn of(inst: &Inst) -> Self {
        match &inst.op {
            Op::Mov(_) => Self::Copy,
            Op::Alu(op) => match (op.known(), is_wide(&inst.dsts[0])) {
                (Some(Loop::Two(run)), false) => Self::Two(run),
                (Some(Loop::Three(run)), false) => Self::Three(run),
                (Some(Loop::Product(run)), true) => Self::Product(run),
                (Some(Loop::Pairs(run)), true) => Self::Pairs(run),
                _ => Self::Other,
            },
            _ => Self::Other,
        }
    }
}

/// Executes an instruction in the lanes of `mask`. Writes register results to `words` and returns predicate
/// results in the order of the destinations.
#[inline(always)]
pub(in crate::sm) fn execute(decoded: &DecodedInst, mask: u32, read: Operands<'_>, words: &mut Words) -> [u32; 2] {
    let [a, b, c, ..] = &decoded.srcs;
    let [low, high, ..] = words;
    match decoded.compute {
        Compute::Copy => {
            *low = *read.word(a.low, &mut None);
            if decoded.wide {
                *high = *read.word(a.high, &mut None);
            }
        }
        Compute::Spread => spread(decoded, mask, words),
        Compute::Two(run) => run(read.word(a.low, &mut None), read.word(b.low, &mut None), low),
        Compute::Three(run) => {
            let (mut spare_a, mut spare_b, mut spare_c) = (None, None, None);
            let (a, b) = (read.word(a.low, &mut spare_a), read.word(b.low, &mut spare_b));
            run(a, b, read.word(c.low, &mut spare_c), low);
        }
        Compute::Product(run) => {
            run(read.word(a.low, &mut None), read.word(b.low, &mut None), PairMut { low, high });
        }
        Compute::Pairs(run) => {
            run(read.pair(a, &mut [None; 2]), read.pair(b, &mut [None; 2]), PairMut { low, high });
        }
        Compute::Other => return execute_other(decoded, read, words),
    }
    [0; 2]
}

/// Fills each result word with its precomputed constant in the lanes of `mask`, and with zero in the other
/// lanes.
#[inline(always)]
fn spread(decoded: &DecodedInst, mask: u32, words: &mut Words) {
    for (word, value) in words.iter_mut().zip(decoded.loads).take(decoded.words.into()) {
        *word = [value; LANES];
        if mask != u32::MAX {
            merge(word, !mask, &[0; LANES]);
        }
    }
}

/// Computes an instruction that has no specialized loop.
#[inline(never)]
fn execute_other(decoded: &DecodedInst, read: Operands<'_>, words: &mut Words) -> [u32; 2] {
    let inst = &decoded.inst;
    let [a, b, c, ..] = &decoded.srcs;
    let [low, high, ..] = words;
    match &inst.op {
        Op::Alu(op) if op.is_word() => {
            let (mut spare_a, mut spare_b, mut spare_c) = (None, None, None);
            let a = read.word(a.low, &mut spare_a);
            *low = alu32(op, a, read.word(b.low, &mut spare_b), read.word(c.low, &mut spare_c));
            if decoded.wide {
                *high = [0; LANES];
            }
        }
        Op::Alu(op) => {
            let (mut spare_a, mut spare_b, mut spare_c) = ([None; 2], [None; 2], [None; 2]);
            let (a, b) = (read.pair(a, &mut spare_a), read.pair(b, &mut spare_b));
            let c = read.pair(c, &mut spare_c);
            into(decoded.wide, low, high, |out| alu_pair(op, a, b, c, out));
        }
        Op::Convert(op) => {
            let mut spare = [None; 2];
            let a = read.pair(a, &mut spare);
            into(decoded.wide, low, high, |out| convert_pair(op, a, out));
        }
        Op::Compare(op) => {
            let holds = if op.ty.bits() <= 32 {
                compare32(op, read.word(a.low, &mut None), read.word(b.low, &mut None))
            } else {
                compare_pair(op, read.pair(a, &mut [None; 2]), read.pair(b, &mut [None; 2]))
            };
            let (first, second) = op.combine_masks(holds, read.pred(&inst.srcs[2]).into());
            return [first as u32, second as u32];
        }
        Op::Pred(logic) => {
            let a = read.pred(&inst.srcs[0]);
            let with = |logic: isa::types::Logic| logic.apply(a.into(), read.pred(&inst.srcs[1]).into()) as u32;
            return [logic.map_or(a, with), 0];
        }
        Op::Select(_) => {
            let holds = read.pred(&inst.srcs[2]);
            *low = *read.word(b.low, &mut None);
            merge(low, holds, read.word(a.low, &mut None));
            if decoded.wide {
                *high = *read.word(b.high, &mut None);
                merge(high, holds, read.word(a.high, &mut None));
            }
        }
        Op::Pack { part_bits } => {
            let mut whole = [0; LANES];
            let parts = inst.srcs.iter().take_while(|src| !matches!(src, Src::None));
            for (part, (_, src)) in parts.zip(&decoded.srcs).enumerate() {
                let shift = part as u32 * u32::from(*part_bits);
                for (whole, value) in whole.iter_mut().zip(read.wide(src)) {
                    *whole |= low_bits(value, *part_bits) << shift;
                }
            }
            put(words, 0, &inst.dsts[0], &whole);
        }
        Op::Unpack { part_bits } => {
            let whole = read.wide(a);
            let mut word = 0;
            for (part, dst) in inst.dsts.iter().enumerate() {
                let shift = part as u32 * u32::from(*part_bits);
                if let Dst::Reg(_) = dst {
                    put(words, word, dst, &whole.map(|whole| low_bits(whole >> shift, *part_bits)));
                    word += 1 + usize::from(is_wide(dst));
                }
            }
        }
        Op::CarryAdd(op) => {
            let (values, carry) = carry_add(op, &read.wide(a), &read.wide(b), read.pred(&inst.srcs[2]).into());
            put(words, 0, &inst.dsts[0], &values);
            return [0, carry as u32];
        }
        // Operations without a case in this `match` are executed elsewhere: moves by `Compute::Copy`;
        // exchanges, memory, matrix and control instructions by other functions.
        _ => {}
    }
    [0; 2]
}

/// Calls `compute` with the result words `low` and `high` as destination. If the destination has only 32 bits
/// (`wide` is false), the high word of the result is discarded.
#[inline]
fn into(wide: bool, low: &mut Row, high: &mut Row, compute: impl FnOnce(&mut PairMut<'_, LANES>)) {
    let mut dropped = [0; LANES];
    compute(&mut PairMut { low, high: if wide { high } else { &mut dropped } });
}

/// Replaces the words of `row` by those of `values` in the lanes of `mask`.
#[inline(always)]
pub(in crate::sm) fn merge(row: &mut Row, mask: u32, values: &Row) {
    if mask == u32::MAX {
        *row = *values;
    } else {
        merge_some(row, mask, values);
    }
}

#[inline(never)]
fn merge_some(row: &mut Row, mask: u32, values: &Row) {
    for lane in 0..LANES {
        row[lane] = if mask & 1 << lane != 0 { values[lane] } else { row[lane] };
    }
}

/// Writes a value to the result words from index `word` on: two words for a 64-bit destination, else one.
pub(in crate::sm) fn put(words: &mut Words, word: usize, dst: &Dst, values: &[u64; LANES]) {
    words[word] = values.map(|value| value as u32);
    if is_wide(dst) {
        words[word + 1] = values.map(|value| (value >> 32) as u32);
    }
}

pub(in crate::sm) fn is_wide(dst: &Dst) -> bool {
    matches!(dst, Dst::Reg(reg) if reg.wide)
}

fn low_bits(value: u64, bits: u8) -> u64 {
    value & (u64::MAX >> (64 - u32::from(bits)))
}
