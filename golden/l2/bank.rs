//! # Reference model of an L2 bank
//! Models a write-back, write-allocate bank with LRU replacement, as in li2015 and khairy2015, or with
//! another policy. The bank is a map from lines to their contents. Predicts hit, miss, victim and every byte
//! read, given accesses and fills in the order in which the bank accepted them.
//!
//! An access to a line in flight is appended to a list of that line. The accesses in the list take effect in
//! order when the line arrives, so a read sees exactly the writes accepted before it. Only the clocked bank
//! models timing, queues and the limit on outstanding lines. A prefetched line is in flight with an empty
//! list.

use std::collections::BTreeMap;
use std::fmt;

use isa::lanes::{AtomicFn, global_atomic};
use isa::types::Type;

use super::partition::Partition;
use crate::index::SetIndex;
use crate::mshr_policy::{Ledger, MshrPolicy};
use crate::replacement::order::LineSets;
use crate::replacement::{Eviction, Replacement};

/// Contents of one cache line.
pub type Line = Vec<u8>;

/// Write to some bytes of a cache line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Mask of the written bytes; bit `i` stands for byte `i` of the line.
    pub byte_mask: u128,
    /// Data to write, one value per byte of the line; ignored for bytes that are not in the mask.
    pub bytes: Line,
}

impl Write {
    pub(super) fn apply(&self, line: &mut Line) {
        let chosen = |(i, _): &(usize, _)| self.byte_mask >> i & 1 == 1;
        for (_, (old, new)) in line.iter_mut().zip(&self.bytes).enumerate().filter(chosen) {
            *old = *new;
        }
    }
}

/// Atomic read-modify-write of some words of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atomic<R> {
    /// Identifier of the reader, which receives the line as it was before the atomic; `None` for a reduction.
    pub reader: Option<R>,
    /// Operation to perform on each word.
    pub f: AtomicFn,
    /// Data type of a word.
    pub ty: Type,
    /// Words to update, each with its byte offset in the line and the operands `b` and `c` of
    /// [`isa::lanes::global_atomic`].
    pub words: Vec<(usize, u64, u64)>,
}

impl<R> Atomic<R> {
    pub(super) fn apply(&self, line: &mut Line) {
        for &(at, b, c) in &self.words {
            let word = &mut line[at..at + self.ty.bytes() as usize];
            let old = word.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
            let new = global_atomic(self.f, self.ty, old, b, c).to_le_bytes();
            word.copy_from_slice(&new[..word.len()]);
        }
    }
}

/// Request that the bank has accepted. The type `R` identifies a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access<R> {
    /// Read of the whole cache line.
    Read(R),
    /// Write to some bytes of the line.
    Write(Write),
    /// Atomic operation on some words of the line.
    Atomic(Atomic<R>),
}

/// Line that the bank evicts, dirty or clean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Line number within the bank.
    pub line: u64,
    /// Contents of the line, which are written back to memory; `None` if the line was clean.
    pub write_back: Option<Line>,
}

/// Outcome of an access to the bank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Hit. The value is the contents of the line after the read or write, or before the atomic.
    Hit(Line),
    /// Pending hit: the line is already in flight from memory.
    HitPending,
    /// Miss: the bank requests the line from memory, and evicts `victim` if the set was full.
    Miss {
        /// Line that the bank evicts for the miss, if any.
        victim: Option<Victim>,
    },
    /// Reservation fail: the MSHR policy refuses the access, or every line of the set that the SM could replace
    /// is in flight. The state of the bank is unchanged.
    Refused,
}

/// Error: the line with this number was filled, but is not in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPending(pub u64);

impl fmt::Display for NotPending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {:#x} is filled, but no access of this bank waits for it", self.0)
    }
}

impl std::error::Error for NotPending {}

#[derive(Clone, Debug)]
enum Entry<R> {
    Pending(Vec<Access<R>>),
    Here { bytes: Line, dirty: bool },
}

/// Reference model of one L2 bank. Line numbers are local to the bank, as returned by [`Banks::locate`].
#[derive(Debug)]
pub struct Bank<R> {
    lines: BTreeMap<u64, Entry<R>>,
    sets: LineSets,
    /// MSHR policy, with the SMs whose accesses wait in the MSHR.
    ledger: Option<Ledger>,
}

/// Interleaving of cache lines across L2 banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Banks {
    /// Number of banks across which the lines are interleaved.
    pub count: u64,
    /// Number of consecutive lines that map to one bank before the next line maps to the next bank.
    pub run: u64,
}

impl Banks {
    /// Returns the bank that serves a line, and the number of the line within that bank. Each bank numbers
    /// its lines consecutively.
    pub fn locate(self, line: u64) -> (u64, u64) {
        let Self { count, run } = self;
        (line / run % count, line / run / count * run + line % run)
    }

    /// Returns the line with number `local` within bank `bank`.
    #[must_use]
    pub fn line(self, bank: u64, local: u64) -> u64 {
        let Self { count, run } = self;
        (local / run * count + bank) * run + local % run
    }
}

impl<R: Clone> Bank<R> {
    /// Creates an empty bank with `ways` lines per set.
    pub fn new(index: SetIndex, ways: usize) -> Self {
        Bank { lines: BTreeMap::new(), sets: LineSets::new(index, ways), ledger: None }
    }

    /// Sets the replacement policy; the default is LRU.
    pub fn replace_by(&mut self, policy: Box<dyn Replacement>) {
        self.sets.replace_by(policy);
    }

    /// Divides each set among groups of SMs; by default, they share it.
    pub fn partition_by(&mut self, partition: Box<dyn Partition>) {
        self.sets.partition_by(partition);
    }

    /// Makes `policy` limit the use of the bank's MSHR, which has `entries` entries. By default, every access
    /// may use it.
    pub fn limit_by(&mut self, policy: Box<dyn MshrPolicy>, entries: usize) {
        self.ledger = Some(Ledger::new(policy, entries));
    }

    /// Performs an access of SM 0 to `line` and returns its outcome.
    pub fn access(&mut self, line: u64, access: Access<R>) -> Outcome {
        self.access_by(0, line, access)
    }

    /// Performs an access of SM `sm` to `line` and returns its outcome.
    pub fn access_by(&mut self, sm: usize, line: u64, access: Access<R>) -> Outcome {
        let outcome = self.perform(sm, line, access);
        if outcome != Outcome::Refused {
            self.sets.on_access(sm, line);
        }
        outcome
    }

    /// Gives a line the eviction priority of the access that the bank has just accepted.
    pub fn hint(&mut self, line: u64, eviction: Eviction) {
        self.sets.hint(line, eviction);
    }

    fn perform(&mut self, sm: usize, line: u64, access: Access<R>) -> Outcome {
        let outcome = match self.lines.get_mut(&line) {
            Some(Entry::Pending(waiting)) => {
                if self.ledger.as_ref().is_some_and(|ledger| !ledger.may_merge(sm)) {
                    return Outcome::Refused;
                }
                self.ledger.iter_mut().for_each(|ledger| ledger.merge((line, 0), sm));
                waiting.push(access);
                Outcome::HitPending
            }
            Some(Entry::Here { bytes, dirty }) => {
                let before = bytes.clone();
                let seen = match access {
                    Access::Read(_) => before,
                    Access::Write(write) => {
                        write.apply(bytes);
                        *dirty = true;
                        bytes.clone()
                    }
                    Access::Atomic(atomic) => {
                        atomic.apply(bytes);
                        *dirty = true;
                        before
                    }
                };
                Outcome::Hit(seen)
            }
            None => {
                if self.ledger.as_ref().is_some_and(|ledger| !ledger.may_allocate(sm)) {
                    return Outcome::Refused;
                }
                return self.allocate(sm, line, Some(access));
            }
        };
        self.sets.on_hit(line);
        outcome
    }

    /// Prefetches `line` for SM `sm`: requests it from memory if it is neither present nor in flight. If the
    /// line is present, the outcome contains its bytes. The replacement policy does not treat a prefetch as a
    /// use of the line.
    pub fn prefetch(&mut self, sm: usize, line: u64) -> Outcome {
        match self.lines.get(&line) {
            Some(Entry::Pending(_)) => Outcome::HitPending,
            Some(Entry::Here { bytes, .. }) => Outcome::Hit(bytes.clone()),
            None => self.allocate(sm, line, None),
        }
    }

    /// Requests an absent line from memory for SM `sm`. `waiting` is the access that waits for the line;
    /// `None` for a prefetch.
    fn allocate(&mut self, sm: usize, line: u64, waiting: Option<Access<R>>) -> Outcome {
        let here = |other| matches!(self.lines.get(&other), Some(Entry::Here { .. }));
        let Ok(victim) = self.sets.insert_by(sm, line, here) else { return Outcome::Refused };
        let victim = victim.map(|victim| self.evict(victim));
        let requester = waiting.is_some().then_some(sm);
        self.ledger.iter_mut().for_each(|ledger| ledger.allocate((line, 0), requester));
        self.lines.insert(line, Entry::Pending(waiting.into_iter().collect()));
        Outcome::Miss { victim }
    }

    /// Fills `line` with bytes from memory. The accesses that wait for the line take effect in order. Returns
    /// each waiting reader with the bytes that it reads. The replacement policy does not treat a fill as a
    /// use of the line.
    ///
    /// # Errors
    /// Returns an error if the line is not in flight.
    pub fn fill(&mut self, line: u64, mut bytes: Line) -> Result<Vec<(R, Line)>, NotPending> {
        let Some(Entry::Pending(waiting)) = self.lines.get(&line) else {
            return Err(NotPending(line));
        };
        let mut answers = Vec::new();
        let mut dirty = false;
        self.ledger.iter_mut().for_each(|ledger| ledger.fill((line, 0)));
        for access in waiting {
            self.ledger.iter_mut().for_each(|ledger| ledger.leave((line, 0)));
            match access {
                Access::Read(reader) => answers.push((reader.clone(), bytes.clone())),
                Access::Write(write) => {
                    write.apply(&mut bytes);
                    dirty = true;
                }
                Access::Atomic(atomic) => {
                    answers.extend(atomic.reader.clone().map(|reader| (reader, bytes.clone())));
                    atomic.apply(&mut bytes);
                    dirty = true;
                }
            }
        }
        self.lines.insert(line, Entry::Here { bytes, dirty });
        Ok(answers)
    }

    /// Yields the dirty lines with their bytes, in ascending order of line numbers.
    pub fn dirty_lines(&self) -> impl Iterator<Item = (u64, &Line)> {
        self.lines.iter().filter_map(|(line, entry)| match entry {
            Entry::Here { bytes, dirty: true } => Some((*line, bytes)),
            _ => None,
        })
    }

    /// Yields the lines in flight, in ascending order of line numbers.
    pub fn pending_lines(&self) -> impl Iterator<Item = u64> {
        let pending = |(_, entry): &(&u64, &Entry<R>)| matches!(entry, Entry::Pending(_));
        self.lines.iter().filter(pending).map(|(line, _)| *line)
    }

    /// Removes a line from the bank and returns it as a victim.
    fn evict(&mut self, line: u64) -> Victim {
        let write_back = match self.lines.remove(&line) {
            Some(Entry::Here { bytes, dirty: true }) => Some(bytes),
            _ => None,
        };
        Victim { line, write_back }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Function;
    use proptest::prelude::*;

    const LINE_BYTES: usize = 4;

    fn one_set(ways: usize) -> Bank<char> {
        Bank::new(SetIndex::new(Function::Linear { bits: 0 }, 2, 32).unwrap(), ways)
    }

    fn write(byte_mask: u128, value: u8) -> Access<char> {
        Access::Write(Write { byte_mask, bytes: vec![value; LINE_BYTES] })
    }

    const COLD: Outcome = Outcome::Miss { victim: None };

    #[test]
    fn a_read_misses_waits_and_then_hits_with_the_bytes_of_memory() {
        let mut bank = one_set(2);
        assert_eq!(bank.access(5, Access::Read('a')), COLD);
        assert_eq!(bank.access(5, Access::Read('b')), Outcome::HitPending);
        let line = vec![1, 2, 3, 4];
        let answers = bank.fill(5, line.clone()).unwrap();
        assert_eq!(answers, [('a', line.clone()), ('b', line.clone())]);
        assert_eq!(bank.access(5, Access::Read('c')), Outcome::Hit(line));
    }

    #[test]
    fn a_read_accepted_before_a_write_does_not_see_it() {
        let mut bank = one_set(2);
        bank.access(5, Access::Read('a'));
        bank.access(5, write(0b0110, 9));
        bank.access(5, Access::Read('b'));
        let answers = bank.fill(5, vec![1, 2, 3, 4]).unwrap();
        assert_eq!(answers, [('a', vec![1, 2, 3, 4]), ('b', vec![1, 9, 9, 4])]);
    }

    #[test]
    fn waiting_atomics_take_effect_one_after_the_other_and_return_what_was_before() {
        let mut bank = one_set(2);
        let add = |reader| Access::Atomic(Atomic { reader, f: AtomicFn::Add, ty: Type::U32, words: vec![(0, 5, 0)] });
        for reader in [Some('a'), None, Some('b')] {
            bank.access(5, add(reader));
        }
        let answers = bank.fill(5, vec![1, 0, 0, 0]).unwrap();
        assert_eq!(answers, [('a', vec![1, 0, 0, 0]), ('b', vec![11, 0, 0, 0])]);
        assert_eq!(bank.access(5, add(Some('c'))), Outcome::Hit(vec![16, 0, 0, 0]));
        assert_eq!(bank.dirty_lines().collect::<Vec<_>>(), [(5, &vec![21, 0, 0, 0])]);
    }

    #[test]
    fn a_write_that_misses_allocates_the_line_and_leaves_it_dirty() {
        let mut bank = one_set(2);
        assert_eq!(bank.access(5, write(0b1000, 9)), COLD);
        assert_eq!(bank.pending_lines().collect::<Vec<_>>(), [5]);
        bank.fill(5, vec![1, 2, 3, 4]).unwrap();
        assert_eq!(bank.dirty_lines().collect::<Vec<_>>(), [(5, &vec![1, 2, 3, 9])]);
    }

    #[test]
    fn a_dirty_victim_brings_its_bytes_and_a_clean_one_does_not() {
        let mut bank = one_set(1);
        bank.access(1, Access::Read('a'));
        bank.fill(1, vec![0; 4]).unwrap();
        bank.access(1, write(0b0001, 7));
        let victim = Some(Victim { line: 1, write_back: Some(vec![7, 0, 0, 0]) });
        assert_eq!(bank.access(2, Access::Read('b')), Outcome::Miss { victim });
        bank.fill(2, vec![0; 4]).unwrap();
        let victim = Some(Victim { line: 2, write_back: None });
        assert_eq!(bank.access(3, Access::Read('c')), Outcome::Miss { victim });
    }

    #[test]
    fn the_least_recently_used_line_that_is_here_gives_way() {
        let mut bank = one_set(3);
        for line in [1, 2, 3] {
            bank.access(line, Access::Read('a'));
        }
        bank.fill(2, vec![0; 4]).unwrap();
        bank.fill(3, vec![0; 4]).unwrap();
        bank.access(2, Access::Read('a'));
        let victim = Some(Victim { line: 3, write_back: None });
        assert_eq!(bank.access(4, Access::Read('a')), Outcome::Miss { victim });
    }

    #[test]
    fn a_set_of_lines_on_their_way_refuses_a_new_one() {
        let mut bank = one_set(1);
        bank.access(1, Access::Read('a'));
        assert_eq!(bank.access(2, Access::Read('b')), Outcome::Refused);
        assert_eq!(bank.fill(2, vec![0; 4]), Err(NotPending(2)));
    }

    #[test]
    fn six_banks_take_turns_line_by_line() {
        let places: Vec<_> = (5..8).map(|line| Banks { count: 6, run: 1 }.locate(line)).collect();
        assert_eq!(places, [(5, 0), (0, 1), (1, 1)]);
    }

    #[test]
    fn a_prefetched_line_is_fetched_once_and_does_not_count_as_used() {
        let mut bank = one_set(2);
        assert_eq!((bank.prefetch(0, 5), bank.prefetch(0, 5)), (COLD, Outcome::HitPending));
        bank.access(6, Access::Read('a'));
        assert!(bank.fill(5, vec![1; 4]).unwrap().is_empty());
        bank.fill(6, vec![2; 4]).unwrap();
        assert_eq!(bank.prefetch(0, 5), Outcome::Hit(vec![1; 4]));
        let victim = Some(Victim { line: 5, write_back: None });
        assert_eq!(bank.access(7, Access::Read('b')), Outcome::Miss { victim });
    }

    #[test]
    fn two_banks_take_turns_of_four_lines() {
        let places: Vec<_> = [3, 4, 7, 8, 13].map(|line| Banks { count: 2, run: 4 }.locate(line)).into();
        assert_eq!(places, [(0, 3), (1, 0), (1, 3), (0, 4), (1, 5)]);
        let banks = Banks { count: 2, run: 4 };
        assert_eq!(
            [3, 4, 7, 8, 13].map(|line| banks.locate(line)).map(|(bank, n)| banks.line(bank, n)),
            [3, 4, 7, 8, 13]
        );
    }

    proptest! {
        #[test]
        fn bank_and_memory_together_hold_what_a_flat_array_holds(
            steps in prop::collection::vec(
                (0u64..6, any::<bool>(), 0u128..16, any::<u8>(), any::<bool>()),
                1..150,
            ),
        ) {
            let mut bank = one_set(2);
            let mut memory = vec![vec![0u8; LINE_BYTES]; 6];
            let mut flat = memory.clone();
            let fill = |bank: &mut Bank<char>, memory: &[Line]| {
                for line in bank.pending_lines().collect::<Vec<_>>() {
                    bank.fill(line, memory[line as usize].clone()).unwrap();
                }
            };
            for (line, is_write, mask, value, fill_now) in steps {
                let access = if is_write { write(mask, value) } else { Access::Read('r') };
                match bank.access(line, access) {
                    Outcome::Refused => {
                        fill(&mut bank, &memory);
                        continue;
                    }
                    Outcome::Miss { victim: Some(Victim { line, write_back: Some(bytes) }) } => {
                        memory[line as usize] = bytes;
                    }
                    Outcome::Hit(bytes) if !is_write => {
                        prop_assert_eq!(&bytes, &flat[line as usize]);
                    }
                    _ => {}
                }
                if is_write {
                    for byte in (0..LINE_BYTES).filter(|byte| mask >> byte & 1 == 1) {
                        flat[line as usize][byte] = value;
                    }
                }
                if fill_now {
                    fill(&mut bank, &memory);
                }
            }
            fill(&mut bank, &memory);
            for (line, bytes) in bank.dirty_lines() {
                memory[line as usize] = bytes.clone();
            }
            prop_assert_eq!(memory, flat);
        }
    }
}
