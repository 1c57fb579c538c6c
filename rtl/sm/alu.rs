//! Execution of one warp instruction on 32 lanes. All lanes are computed; writeback keeps those
//! in which the instruction acts.

use isa::lanes::{alu, alu32, compare, convert};
use isa::program::{Dst, Inst, Op, Src};

use super::image::RESULT_WORDS;
use super::operands::Operands;
use crate::l1::access::LANES;

/// Result words of one warp instruction, destination after destination, low word first.
pub(super) type Words = [[u32; LANES]; RESULT_WORDS];

/// Computes `inst`; register results go to `words`, predicate results are returned in the order
/// of the destinations.
pub(super) fn execute(inst: &Inst, read: &Operands<'_>, words: &mut Words) -> [u32; 2] {
    let [a, b, c, _] = &inst.srcs;
    match &inst.op {
        Op::Alu(op) if op.is_word() => {
            let (mut spare_a, mut spare_b, mut spare_c) = (None, None, None);
            let a = read.word(a, &mut spare_a);
            words[0] = alu32(op, a, read.word(b, &mut spare_b), read.word(c, &mut spare_c));
            if is_wide(&inst.dsts[0]) {
                words[1] = [0; LANES];
            }
        }
        Op::Alu(op) => put(words, 0, &inst.dsts[0], &alu(op, &read.wide(a), &read.wide(b), &read.wide(c))),
        Op::Convert(op) => put(words, 0, &inst.dsts[0], &convert(op, &read.wide(a))),
        Op::Compare(op) => {
            let holds = compare(op, &read.wide(a), &read.wide(b));
            let (first, second) = op.combined(holds, read.pred(c).into());
            return [first as u32, second as u32];
        }
        Op::Pred(logic) => {
            let a = read.pred(a);
            return [logic.map_or(a, |logic| logic.apply(a.into(), read.pred(b).into()) as u32), 0];
        }
        Op::Select(_) => {
            let holds = read.pred(c);
            if is_wide(&inst.dsts[0]) {
                let (mut a, b) = (read.wide(a), read.wide(b));
                for lane in 0..LANES {
                    a[lane] = if holds & 1 << lane != 0 { a[lane] } else { b[lane] };
                }
                put(words, 0, &inst.dsts[0], &a);
            } else {
                let (mut spare_a, mut spare_b) = (None, None);
                let (a, b) = (read.word(a, &mut spare_a), read.word(b, &mut spare_b));
                for lane in 0..LANES {
                    words[0][lane] = if holds & 1 << lane != 0 { a[lane] } else { b[lane] };
                }
            }
        }
        Op::Mov(_) if is_wide(&inst.dsts[0]) => put(words, 0, &inst.dsts[0], &read.wide(a)),
        Op::Mov(_) => words[0] = *read.word(a, &mut None),
        Op::Pack { part_bits } => {
            let mut whole = [0; LANES];
            let parts = inst.srcs.iter().take_while(|src| !matches!(src, Src::None));
            for (part, src) in parts.enumerate() {
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
        // Memory and control instructions do not come here.
        Op::Load(_) | Op::Store(_) | Op::Branch { .. } | Op::Barrier { .. } | Op::Exit | Op::Nop => {}
    }
    [0; 2]
}

/// Puts a value into the result words from `word` on, as many as its destination has.
pub(super) fn put(words: &mut Words, word: usize, dst: &Dst, values: &[u64; LANES]) {
    words[word] = values.map(|value| value as u32);
    if is_wide(dst) {
        words[word + 1] = values.map(|value| (value >> 32) as u32);
    }
}

pub(super) fn is_wide(dst: &Dst) -> bool {
    matches!(dst, Dst::Reg(reg) if reg.wide)
}

fn low_bits(value: u64, bits: u8) -> u64 {
    value & (u64::MAX >> (64 - u32::from(bits)))
}
