//! Maps the registers of a program to the register numbers of an exported trace.
//!
//! A trace instruction has at most one destination and four sources, all of them vector registers, since
//! Accel-Sim's reader accepts nothing else. Predicates therefore get register numbers that no instruction
//! uses. An instruction may write several registers: a pair, a vector, or a value and a predicate. As in
//! SASS, these registers then share the number of the first one. A register uses the shared number until it
//! is written again. An instruction that reads the register thus waits for the instruction that wrote the
//! group.

use isa::program::{Inst, MAX_PREDS, RegMask};
use isa::recorded::{Operands, Register};

/// Maximum number of sources of a trace instruction.
const MAX_SOURCES: usize = 4;
/// Highest usable register number; the next one, `R255`, is the zero register.
const LAST: u8 = 254;
const WORDS: usize = LAST as usize + 1;
const PREDS: usize = MAX_PREDS as usize;

/// Mapping of a warp's registers to trace register numbers at one point of the trace.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// Trace register number that each predicate has unless it was last written together with other
    /// registers and therefore shares their number.
    own: [u8; PREDS],
    words: [u8; WORDS],
    preds: [u8; PREDS],
    /// For each register number, true if it was written and no instruction has used it as a source since
    /// then.
    open: [bool; WORDS],
}

impl Names {
    /// Creates the mapping at the start of a program whose registers have been allocated. Each predicate gets
    /// one of the lowest register numbers that no instruction uses. If there are fewer such numbers than
    /// predicates, several predicates share a number. If there are none, all predicates get the highest
    /// usable number.
    pub fn new(insts: &[Inst]) -> Self {
        let mut named = RegMask::default();
        insts.iter().for_each(|inst| {
            named.insert(&inst.reads);
            named.insert(&inst.writes);
        });
        let free: Vec<u8> = (0..=LAST).filter(|&number| !has(&named, number)).collect();
        let own = std::array::from_fn(|pred| *free.get(pred % free.len().max(1)).unwrap_or(&LAST));
        Self { own, words: std::array::from_fn(|word| word as u8), preds: own, open: [false; WORDS] }
    }

    /// Returns the operands of the warp's next instruction.
    ///
    /// Registers that were written together form a group, which shares a number. If an instruction
    /// overwrites a register of a group and no earlier instruction has waited for the writer of the group,
    /// the instruction itself must wait for it. The number of the group then becomes a source. If there are
    /// too many sources, the first to be dropped are those for whose writers an earlier instruction has
    /// already waited.
    pub fn operands(&mut self, inst: &Inst) -> Operands {
        let dest = words(&inst.writes).next().or_else(|| preds(&inst.writes).map(|pred| self.own[pred]).next());
        let mut sources: Vec<u8> = self.current_numbers(&inst.reads).collect();
        let unread = |&name: &u8| self.open[usize::from(name)] && Some(name) != dest;
        sources.extend(self.current_numbers(&inst.writes).filter(unread));
        sources.sort_unstable_by_key(|&name| (!self.open[usize::from(name)], name));
        sources.dedup();
        sources.truncate(MAX_SOURCES);
        sources.sort_unstable();
        sources.iter().for_each(|&name| self.open[usize::from(name)] = false);
        if let Some(dest) = dest {
            self.rename(&inst.writes, dest);
        }
        let registers = |names: &[u8]| names.iter().copied().map(Register::vector).collect::<Vec<_>>();
        Operands::new(&registers(dest.as_slice()), &registers(&sources)).unwrap_or_default()
    }

    /// Maps the registers that an instruction writes to the number `dest`. Other registers may still share
    /// `dest`, because an earlier instruction wrote them together. The new instruction waits for this earlier
    /// one before it writes `dest`, so these registers are then ready and get their own numbers back.
    fn rename(&mut self, writes: &RegMask, dest: u8) {
        let words_of_dest = (0..=LAST).zip(&mut self.words).filter(|(_, name)| **name == dest);
        words_of_dest.for_each(|(word, name)| *name = word);
        let preds_of_dest = self.own.iter().zip(&mut self.preds).filter(|(_, name)| **name == dest);
        preds_of_dest.for_each(|(own, name)| *name = *own);
        words(writes).for_each(|word| self.words[usize::from(word)] = dest);
        preds(writes).for_each(|pred| self.preds[pred] = dest);
        self.open[usize::from(dest)] = true;
    }

    /// Returns the current trace register numbers of the registers in a set.
    fn current_numbers(&self, set: &RegMask) -> impl Iterator<Item = u8> {
        let words = words(set).map(|word| self.words[usize::from(word)]);
        words.chain(preds(set).map(|pred| self.preds[pred]))
    }
}

fn has(set: &RegMask, word: u8) -> bool {
    set.words[usize::from(word / 64)] >> (word % 64) & 1 != 0
}

fn words(set: &RegMask) -> impl Iterator<Item = u8> {
    [0, 64, 128, 192].into_iter().zip(set.words).flat_map(|(first, word)| bits(word).map(move |bit| first + bit))
}

fn preds(set: &RegMask) -> impl Iterator<Item = usize> {
    bits(set.preds.into()).map(usize::from)
}

/// Iterates over the indices of the set bits of a word, in ascending order.
fn bits(mut word: u64) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as u8;
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

#[cfg(test)]
mod tests {
    use isa::program::{Op, Reg};
    use isa::recorded::Operation;

    use super::*;

    /// Creates an instruction that reads and writes the given registers. Negative numbers stand for
    /// predicates: `-1` is the first predicate.
    fn inst(writes: &[i16], reads: &[i16]) -> Inst {
        let set = |registers: &[i16]| {
            let mut set = RegMask::default();
            registers.iter().for_each(|&register| match u16::try_from(register) {
                Ok(index) => set.insert_reg(Reg { index, wide: false }),
                Err(_) => set.insert_pred((-1 - register) as u16),
            });
            set
        };
        Inst { writes: set(writes), reads: set(reads), ..Inst::new(Op::Nop) }
    }

    /// Returns the trace register numbers of the destinations and sources of consecutive instructions.
    fn name_registers(insts: &[Inst]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut names = Names::new(insts);
        let numbers = |registers: &[Register]| registers.iter().map(|register| register.number).collect();
        let operations = insts.iter().map(|inst| Operation { operands: names.operands(inst), ..Operation::default() });
        operations.map(|operation| (numbers(operation.dests()), numbers(operation.sources()))).collect()
    }

    #[test]
    fn whoever_reads_a_part_names_the_first_of_what_was_written_together() {
        let found = name_registers(&[
            inst(&[4, 5], &[0]),
            inst(&[1], &[5]),
            inst(&[2], &[4, 5]),
            inst(&[5], &[]),
            inst(&[3], &[5]),
        ]);
        let expected =
            [(vec![4], vec![0]), (vec![1], vec![4]), (vec![2], vec![4]), (vec![5], vec![]), (vec![3], vec![5])];
        assert_eq!(found, expected);
    }

    #[test]
    fn whoever_overwrites_a_part_waits_for_the_whole() {
        let found = name_registers(&[inst(&[4, 5], &[]), inst(&[5], &[]), inst(&[], &[4, 5])]);
        assert_eq!(found, [(vec![4], vec![]), (vec![5], vec![4]), (vec![], vec![4, 5])]);
    }

    /// Tests a load whose address is in a pair of registers and that overwrites one register of this pair.
    /// The next instruction overwrites the other register. It need not wait for the writer of the pair,
    /// because the load has already waited for it.
    #[test]
    fn what_was_waited_for_holds_nobody_up() {
        let found = name_registers(&[inst(&[0, 1], &[]), inst(&[0], &[0, 1]), inst(&[1], &[]), inst(&[], &[0, 1])]);
        let sources: Vec<_> = found.iter().map(|(_, sources)| sources.clone()).collect();
        assert_eq!(sources, [vec![], vec![0], vec![], vec![0, 1]]);
    }

    #[test]
    fn predicates_are_registers_that_no_instruction_names() {
        let found = name_registers(&[inst(&[-1], &[0, 1]), inst(&[3, -2], &[-1]), inst(&[], &[-1, -2])]);
        assert_eq!(found, [(vec![2], vec![0, 1]), (vec![3], vec![2]), (vec![], vec![2, 3])]);
    }

    #[test]
    fn predicates_share_what_is_left() {
        let most: Vec<i16> = (0..254).collect();
        let found = name_registers(&[inst(&[], &most), inst(&[-1], &[]), inst(&[-2], &[])]);
        assert_eq!([&found[1].0, &found[2].0], [&[254]; 2]);
        let all: Vec<i16> = (0..255).collect();
        assert_eq!(name_registers(&[inst(&[], &all), inst(&[-1], &[])])[1].0, [254]);
    }

    #[test]
    fn sources_that_were_waited_for_are_left_out_first() {
        let writers = [3, 4, 5].map(|word| inst(&[word], &[]));
        let five = inst(&[], &[1, 2, 3, 4, 5]);
        let found = name_registers(&[&writers[..], &[five.clone(), five]].concat());
        assert_eq!([&found[3].1, &found[4].1], [&[1, 3, 4, 5], &[1, 2, 3, 4]]);
    }
}
