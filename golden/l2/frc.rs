//! # L2 bank with a Fetch and Replacement Cache (FRC)
//! Models an L2 bank with an FRC (candel2018 sections 3 and 4) as maps, without time. A miss whose FRC set
//! has a free entry is handled in three steps:
//! 1. The line is fetched from memory into the FRC.
//! 2. On arrival, the line is swapped with the least recently used line of its set in the bank.
//! 3. The evicted line, which is now in the FRC, is recalled from every L1 with a copy, and is written to
//!    memory if dirty.
//!
//! Without a free FRC entry, the victim is first evicted from its own way, and then the line is fetched. If
//! no way is available either, the request waits.
//!
//! The caller decides when data arrive, lines are swapped and evictions finish, in any order. In every order,
//! a read must return the bytes written before it.

use std::collections::{BTreeMap, BTreeSet};

use super::bank::{Access, Atomic, Line};
use crate::index::SetIndex;

/// Outcome of a request to the L2 bank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Hit in the L2 bank or its Fetch and Replacement Cache (FRC). The value is the contents of the line
    /// after the read or write, or before the atomic.
    Hit(Line),
    /// Pending hit: the line is already in flight from memory.
    HitPending,
    /// Miss: the line is fetched into the Fetch and Replacement Cache (FRC).
    Fetched,
    /// Miss: the line is fetched into the bank. It may have a victim, whose eviction must finish before the
    /// fetch.
    Replaces(Option<u64>),
    /// The request waits, and the state is unchanged. Either the line is being evicted, or neither a way nor
    /// an entry of the Fetch and Replacement Cache (FRC) is available.
    Waits,
}

/// Line whose eviction from the bank has finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvictedLine {
    /// Line number within the bank.
    pub line: u64,
    /// Numbers of the SMs from whose L1s the line was recalled, in ascending order.
    pub recalled: Vec<u32>,
    /// Bytes of the line, which were written to memory; `None` if the line was clean.
    pub written: Option<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Block {
    bytes: Line,
    dirty: bool,
    sharers: BTreeSet<u32>,
}

/// Requests that wait for a line, each with its SM, in order of arrival.
type Waiting<R> = Vec<(u32, Access<R>)>;

#[derive(Clone, Debug)]
enum Entry<R> {
    Fetching(Waiting<R>),
    Filled(Block),
    Old(Block),
}

/// Way whose line is being replaced: the line being evicted, if any, and the requests that wait for the new
/// line.
#[derive(Clone, Debug)]
struct Replacement<R> {
    old: Option<(u64, Block)>,
    waiting: Waiting<R>,
}

/// L2 bank with its Fetch and Replacement Cache (FRC), and the contents of memory.
#[derive(Clone, Debug)]
pub struct Bank<R> {
    index: SetIndex,
    ways: usize,
    frc_sets: usize,
    frc_ways: usize,
    /// Lines in the bank that are not being evicted.
    blocks: BTreeMap<u64, Block>,
    order: Vec<Vec<u64>>,
    frc: BTreeMap<u64, Entry<R>>,
    /// Ways whose line is being replaced, by the number of the new line.
    replaced: BTreeMap<u64, Replacement<R>>,
    memory: BTreeMap<u64, Line>,
    untouched: fn(u64) -> Line,
}

impl<R: Clone> Bank<R> {
    /// Creates an empty L2 bank. `frc` holds the numbers of sets and ways of its Fetch and Replacement Cache
    /// (FRC); 0 sets disable the FRC. `untouched` returns the initial contents of a line in memory.
    pub fn new(index: SetIndex, ways: usize, frc: (usize, usize), untouched: fn(u64) -> Line) -> Self {
        let order = vec![Vec::new(); index.sets()];
        let (frc_sets, frc_ways) = frc;
        Self {
            index,
            ways,
            frc_sets,
            frc_ways,
            blocks: BTreeMap::new(),
            order,
            frc: BTreeMap::new(),
            replaced: BTreeMap::new(),
            memory: BTreeMap::new(),
            untouched,
        }
    }

    /// Performs a request to `line` from SM `sm` and returns its outcome.
    pub fn access(&mut self, line: u64, sm: u32, access: Access<R>) -> Outcome {
        let set = self.index.set_of_line(line);
        if let Some(block) = self.blocks.get_mut(&line) {
            self.order[set].retain(|other| *other != line);
            self.order[set].push(line);
            return Outcome::Hit(apply(block, sm, &access));
        }
        if let Some(Replacement { waiting, .. }) = self.replaced.get_mut(&line) {
            waiting.push((sm, access));
            return Outcome::HitPending;
        }
        let leaving = |replacement: &Replacement<R>| replacement.old.as_ref().is_some_and(|(old, _)| *old == line);
        if let Some(Replacement { old: Some((_, block)), .. }) = self.replaced.values().find(|other| leaving(other)) {
            return access_evicting(block, &access);
        }
        match self.frc.get_mut(&line) {
            Some(Entry::Fetching(waiting)) => {
                waiting.push((sm, access));
                return Outcome::HitPending;
            }
            Some(Entry::Filled(block)) => return Outcome::Hit(apply(block, sm, &access)),
            Some(Entry::Old(block)) => return access_evicting(block, &access),
            None => {}
        }
        let here = |other: &&u64| self.frc_set(**other) == self.frc_set(line);
        if self.frc_sets > 0 && self.frc.keys().filter(here).count() < self.frc_ways {
            self.frc.insert(line, Entry::Fetching(vec![(sm, access)]));
            return Outcome::Fetched;
        }
        let taken = self.replaced.keys().filter(|&&other| self.index.set_of_line(other) == set).count();
        let old = if taken + self.order[set].len() < self.ways {
            None
        } else if self.order[set].is_empty() {
            return Outcome::Waits;
        } else {
            let old = self.order[set].remove(0);
            self.blocks.remove(&old).map(|block| (old, block))
        };
        let victim = old.as_ref().map(|(line, _)| *line);
        self.replaced.insert(line, Replacement { old, waiting: vec![(sm, access)] });
        Outcome::Replaces(victim)
    }

    /// Returns the lines that have been requested from memory and have not arrived, in ascending order.
    pub fn requested_lines(&self) -> Vec<u64> {
        let in_frc = self.frc.iter().filter(|(_, entry)| matches!(entry, Entry::Fetching(_)));
        let free = self.replaced.iter().filter(|(_, replacement)| replacement.old.is_none());
        let all: BTreeSet<u64> = in_frc.map(|(line, _)| *line).chain(free.map(|(line, _)| *line)).collect();
        all.into_iter().collect()
    }

    /// Returns the lines that have arrived in the Fetch and Replacement Cache (FRC) and wait to be swapped
    /// into the L2 bank, in ascending order.
    pub fn filled_lines(&self) -> Vec<u64> {
        let filled = self.frc.iter().filter(|(_, entry)| matches!(entry, Entry::Filled(_)));
        filled.map(|(line, _)| *line).collect()
    }

    /// Returns the lines being evicted, in ascending order.
    pub fn evicting_lines(&self) -> Vec<u64> {
        let in_frc = self.frc.iter().filter(|(_, entry)| matches!(entry, Entry::Old(_))).map(|(line, _)| *line);
        let in_set = self.replaced.values().filter_map(|other| other.old.as_ref().map(|(line, _)| *line));
        in_frc.chain(in_set).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Delivers a requested line from memory. Returns every reader that waits for the line, with the bytes
    /// that it reads.
    pub fn fill(&mut self, line: u64) -> Vec<(R, Line)> {
        let bytes = self.memory.get(&line).cloned().unwrap_or_else(|| (self.untouched)(line));
        let mut block = Block { bytes, dirty: false, sharers: BTreeSet::new() };
        if let Some(Entry::Fetching(waiting)) = self.frc.get(&line) {
            let answers = serve(&mut block, waiting);
            self.frc.insert(line, Entry::Filled(block));
            return answers;
        }
        let Some(Replacement { old: None, waiting }) = self.replaced.remove(&line) else { return Vec::new() };
        let answers = serve(&mut block, &waiting);
        self.settle(line, block);
        answers
    }

    /// Swaps a line that has arrived in the Fetch and Replacement Cache (FRC) with a line of its set in the
    /// L2 bank. Returns false if no line of the set can be evicted now.
    pub fn swap(&mut self, line: u64) -> bool {
        let set = self.index.set_of_line(line);
        let taken = self.replaced.keys().filter(|&&other| self.index.set_of_line(other) == set).count();
        let is_full = taken + self.order[set].len() >= self.ways;
        if is_full && self.order[set].is_empty() {
            return false;
        }
        let Some(Entry::Filled(block)) = self.frc.remove(&line) else { return false };
        if is_full {
            let old = self.order[set].remove(0);
            if let Some(gives_way) = self.blocks.remove(&old) {
                self.frc.insert(old, Entry::Old(gives_way));
            }
        }
        self.settle(line, block);
        true
    }

    /// Finishes the eviction of a line and returns that line; `None` if it was not being evicted.
    pub fn finish_eviction(&mut self, line: u64) -> Option<EvictedLine> {
        let block = if let Some(Entry::Old(block)) = self.frc.get(&line) {
            let block = block.clone();
            self.frc.remove(&line);
            block
        } else {
            let is_it = |other: &&mut Replacement<R>| other.old.as_ref().is_some_and(|(old, _)| *old == line);
            let (_, block) = self.replaced.values_mut().find(is_it)?.old.take()?;
            block
        };
        let written = block.dirty.then_some(block.bytes);
        if let Some(bytes) = &written {
            self.memory.insert(line, bytes.clone());
        }
        Some(EvictedLine { line, recalled: block.sharers.into_iter().collect(), written })
    }

    /// Returns the newest contents of a line, wherever they are: in the L2 bank, in the Fetch and Replacement
    /// Cache (FRC) or in memory.
    pub fn newest(&self, line: u64) -> Line {
        let here = self.blocks.get(&line).or_else(|| match self.frc.get(&line) {
            Some(Entry::Filled(block) | Entry::Old(block)) => Some(block),
            _ => None,
        });
        let on_its_way_out = || {
            let old = self.replaced.values().filter_map(|other| other.old.as_ref());
            old.filter(|(old, _)| *old == line).map(|(_, block)| block).next()
        };
        let block = here.or_else(on_its_way_out);
        let in_memory = || self.memory.get(&line).cloned().unwrap_or_else(|| (self.untouched)(line));
        block.map_or_else(in_memory, |block| block.bytes.clone())
    }

    fn settle(&mut self, line: u64, block: Block) {
        self.blocks.insert(line, block);
        let set = self.index.set_of_line(line);
        self.order[set].push(line);
    }

    /// Returns the set of the Fetch and Replacement Cache (FRC) to which a line maps: the low bits of its set
    /// number in the L2 bank. All lines of one set of the bank therefore map to the same set of the FRC, so
    /// an arriving line and its victim can be swapped.
    fn frc_set(&self, line: u64) -> usize {
        self.index.set_of_line(line) % self.frc_sets.max(1)
    }
}

fn apply<R>(block: &mut Block, sm: u32, access: &Access<R>) -> Line {
    match access {
        Access::Read(_) => {
            block.sharers.insert(sm);
        }
        Access::Write(write) => {
            write.apply(&mut block.bytes);
            block.dirty = true;
        }
        Access::Atomic(atomic) => {
            let before = block.bytes.clone();
            atomic.apply(&mut block.bytes);
            block.dirty = true;
            return before;
        }
    }
    block.bytes.clone()
}

/// Returns the outcome of an access to a line that is being evicted. The line still serves reads; writes and
/// atomics must wait.
fn access_evicting<R>(block: &Block, access: &Access<R>) -> Outcome {
    match access {
        Access::Read(_) => Outcome::Hit(block.bytes.clone()),
        Access::Write(_) | Access::Atomic(_) => Outcome::Waits,
    }
}

fn serve<R: Clone>(block: &mut Block, waiting: &Waiting<R>) -> Vec<(R, Line)> {
    let mut answers = Vec::new();
    for (sm, access) in waiting {
        let bytes = apply(block, *sm, access);
        match access {
            Access::Read(reader) | Access::Atomic(Atomic { reader: Some(reader), .. }) => {
                answers.push((reader.clone(), bytes));
            }
            Access::Atomic(_) | Access::Write(_) => {}
        }
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Function;
    use crate::l2::bank::Write;
    use proptest::prelude::*;

    const LINE_BYTES: usize = 4;

    fn bank(sets_log2: u32, ways: usize, frc: (usize, usize)) -> Bank<usize> {
        let index = SetIndex::new(Function::Linear { bits: sets_log2 }, 2, 32).unwrap();
        Bank::new(index, ways, frc, |_| vec![0; LINE_BYTES])
    }

    fn write(byte_mask: u128, value: u8) -> Access<usize> {
        Access::Write(Write { byte_mask, bytes: vec![value; LINE_BYTES] })
    }

    fn fill(bank: &mut Bank<usize>, line: u64) {
        bank.access(line, 0, Access::Read(0));
        bank.fill(line);
        bank.swap(line);
    }

    #[test]
    fn three_replacements_of_one_line_are_fetched_side_by_side_with_the_frc_as_in_candel2018_figure_2b() {
        let mut bank = bank(0, 1, (1, 2));
        fill(&mut bank, 0xa);
        assert_eq!(bank.access(0xb, 0, Access::Read(0)), Outcome::Fetched);
        assert_eq!(bank.access(0xc, 0, Access::Read(0)), Outcome::Fetched);
        // The victim still hits while the line that will replace it is fetched, and also after the swap.
        assert_eq!(bank.access(0xa, 0, Access::Read(0)), Outcome::Hit(vec![0; 4]));
        bank.fill(0xb);
        assert!(bank.swap(0xb));
        assert_eq!(bank.access(0xa, 0, Access::Read(0)), Outcome::Hit(vec![0; 4]));
        let evicted = EvictedLine { line: 0xa, recalled: vec![0], written: None };
        assert_eq!(bank.finish_eviction(0xa), Some(evicted));
        assert_eq!(bank.access(0xd, 0, Access::Read(0)), Outcome::Fetched);
    }

    #[test]
    fn they_follow_one_another_without_it_as_in_figure_2a() {
        let mut bank = bank(0, 1, (0, 0));
        assert_eq!(bank.access(0xa, 0, write(1, 9)), Outcome::Replaces(None));
        bank.fill(0xa);
        assert_eq!(bank.access(0xb, 0, Access::Read(0)), Outcome::Replaces(Some(0xa)));
        assert_eq!(bank.requested_lines(), []);
        assert_eq!(bank.access(0xc, 0, Access::Read(0)), Outcome::Waits);
        assert_eq!(bank.access(0xa, 0, Access::Read(0)), Outcome::Hit(vec![9, 0, 0, 0]));
        assert_eq!(bank.finish_eviction(0xa).unwrap().written, Some(vec![9, 0, 0, 0]));
        assert_eq!(bank.access(0xa, 0, Access::Read(0)), Outcome::Waits);
        assert_eq!(bank.requested_lines(), [0xb]);
        bank.fill(0xb);
        assert_eq!(bank.access(0xc, 0, Access::Read(0)), Outcome::Replaces(Some(0xb)));
    }

    #[test]
    fn a_write_to_a_line_on_its_way_out_waits_and_a_read_does_not() {
        let mut bank = bank(0, 1, (1, 2));
        fill(&mut bank, 1);
        fill(&mut bank, 2);
        assert_eq!(bank.access(1, 0, write(1, 9)), Outcome::Waits);
        assert_eq!(bank.access(1, 0, Access::Read(0)), Outcome::Hit(vec![0; 4]));
    }

    #[test]
    fn a_line_on_its_way_to_another_set_keeps_none_from_its_place() {
        let mut bank = bank(1, 1, (1, 1));
        assert_eq!(bank.access(0, 0, Access::Read(0)), Outcome::Fetched);
        // The Fetch and Replacement Cache (FRC) is full, so this line is fetched directly into its set in the
        // L2 bank.
        assert_eq!(bank.access(1, 0, Access::Read(0)), Outcome::Replaces(None));
        bank.fill(0);
        assert!(bank.swap(0));
        assert_eq!(bank.evicting_lines(), []);
    }

    proptest! {
        #[test]
        fn whatever_comes_first_a_read_finds_what_was_written_before_it(
            steps in prop::collection::vec((0u8..8, 0u64..12, 0u128..16, any::<u8>()), 1..300),
            frc_ways in 0usize..4,
        ) {
            let mut bank = bank(1, 2, (usize::from(frc_ways > 0), frc_ways));
            let mut flat = vec![vec![0u8; LINE_BYTES]; 12];
            let mut expected: Vec<Line> = Vec::new();
            let check = |answers: Vec<(usize, Line)>, expected: &[Line]| {
                for (reader, bytes) in answers {
                    assert_eq!(&bytes, &expected[reader]);
                }
            };
            for (kind, line, mask, value) in steps {
                let pick = |all: Vec<u64>| all.get(value as usize % all.len().max(1)).copied();
                match kind {
                    0..3 => {
                        let reader = expected.len();
                        match bank.access(line, 0, Access::Read(reader)) {
                            Outcome::Hit(bytes) => prop_assert_eq!(&bytes, &flat[line as usize]),
                            Outcome::Waits => continue,
                            _ => {}
                        }
                        expected.push(flat[line as usize].clone());
                    }
                    3 | 4 => {
                        if bank.access(line, 0, write(mask, value)) != Outcome::Waits {
                            for byte in (0..LINE_BYTES).filter(|byte| mask >> byte & 1 == 1) {
                                flat[line as usize][byte] = value;
                            }
                        }
                    }
                    5 => if let Some(line) = pick(bank.requested_lines()) { check(bank.fill(line), &expected) },
                    6 => if let Some(line) = pick(bank.filled_lines()) { bank.swap(line); },
                    _ => if let Some(line) = pick(bank.evicting_lines()) { bank.finish_eviction(line); },
                }
            }
            while let Some(line) = bank.evicting_lines().first().copied() {
                bank.finish_eviction(line);
            }
            for line in bank.requested_lines() {
                check(bank.fill(line), &expected);
            }
            for line in 0..12 {
                prop_assert_eq!(bank.newest(line), flat[line as usize].clone());
            }
        }
    }
}
