//! # MSHR: miss status holding registers
//! Tracks the lines in flight, so that a second miss to a line waits for the fill of the first, without
//! another memory request (li2015 section 2.2).
//!
//! | port     | dir | payload        | contract                                                  |
//! |----------|-----|----------------|-----------------------------------------------------------|
//! | `alloc`  | in  | line, sectors, waiter | no entry tracks the sectors, and an entry is free; a prefetch has no waiter |
//! | `merge`  | in  | entry, waiter  | the entry is open: its fill is pending, it is not closed, and it has a free waiter slot |
//! | `close`  | in  | entry          | a store to the line was sent to memory: no later load may merge |
//! | `recall` | in  | entry          | the L2 recalls the line: no later load may merge          |
//! | `fill`   | in  | line, sectors  | matches one pending entry; its waiters become ready       |
//! | `pop`    | out | waiter         | one per cycle, from the entry filled first, in arrival order |
//!
//! In one cycle, in this order:
//! 1. `fill`.
//! 2. `recall`.
//! 3. `pop`.
//! 4. One of `alloc`, `merge` and `close`.
//!
//! Each port is used at most once per cycle, and sees the results of the ports before it. A search (`lookup`,
//! `free_for`, `pending_entry`, `drains`) is part of the operation of the port that is used next. In a cache
//! that fetches sectors, `recall` and `close` act on all entries of a line in one cycle. `merge` acts on all
//! entries that track sectors which the load needs. For the absent sectors of the load, an `alloc` may occur
//! in the same cycle.
//!
//! Latency: a fill makes its entry ready for `pop` in the same cycle. The entry is freed when its last waiter
//! leaves, or by the fill if there are no waiters. Until then the entry's line cannot be allocated again,
//! because a second entry for the line would make the search ambiguous. In a cache that fetches sectors, an
//! entry tracks the sectors of one request. A line may have several entries, but each sector is tracked by at
//! most one of them.
//! Area, mainly: one line-address comparator per entry, and storage for the waiters of all entries.
//!
//! Part of `rtl/l1/cache.rs`.

use serde::{Deserialize, Serialize};
use serde_big_array::Array as BigArray;

use crate::kernel::{Describe, DescribeExt, Encoding, FieldsExt, Logic, PortOrder, bits_for};

/// Names of the MSHR ports, in the order in which they are used within a cycle.
const PORTS: &[&str] = &["fill", "recall", "pop", "access"];

const fn turn() -> PortOrder {
    PortOrder::new(PORTS)
}
const FILL: usize = 0;
const RECALL: usize = 1;
const POP: usize = 2;
const ACCESS: usize = 3;

/// Load that waits for a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Waiter {
    /// Row of the pending table that collects the bytes of the load.
    pub slot: u8,
    /// Mask of the lanes of the load that the line serves.
    pub lanes: u32,
}

/// State of an MSHR entry: free; pending, which means that its fill has not arrived; or filled, while loads
/// still have to read the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encoding)]
#[width(2)]
enum State {
    Free,
    Pending,
    Ready,
}

/// Result of an MSHR search for the entry that tracks some sectors of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// An MSHR entry already tracks the sectors, and a load may merge into it. Holds the entry number.
    Open(u16),
    /// An MSHR entry already tracks the sectors, but no load may merge into it: a store or a recall has
    /// closed the entry, or all its waiter slots are in use. Holds the entry number.
    Full(u16),
    /// An MSHR entry tracks the sectors and has been filled, but loads that waited for the line still have to
    /// read it.
    Draining,
    /// No MSHR entry tracks the sectors. Holds the number of a free entry.
    Free(u16),
    /// No MSHR entry tracks the sectors, and no entry is free.
    None,
}

/// Sector mask that stands for the whole line, in a cache that fetches whole lines.
pub const WHOLE: u8 = 0b1111;

/// Number of elements of the hash table that speeds up the search in the simulator. The table is several
/// times larger than the usual number of MSHR entries, so that two lines in flight rarely have the same hash.
const GUESSES: usize = 256;

/// Bit vector with one bit per MSHR entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Bits(Box<[u64]>);

impl Bits {
    fn new(entries: usize) -> Self {
        Self(vec![0; entries.div_ceil(64)].into())
    }

    #[inline(always)]
    fn get(&self, entry: usize) -> bool {
        self.0[entry / 64] >> (entry % 64) & 1 != 0
    }

    #[inline(always)]
    fn set(&mut self, entry: usize) {
        self.0[entry / 64] |= 1 << (entry % 64);
    }

    #[inline(always)]
    fn clear(&mut self, entry: usize) {
        self.0[entry / 64] &= !(1 << (entry % 64));
    }

    fn describe(&self, name: &'static str, entries: u32, to: &mut dyn Describe) {
        if let [word] = self.0[..] {
            return to.sized(name, word, entries);
        }
        for (part, word) in (0..).zip(&self.0) {
            to.parts(name, part, |to| to.sized("entries", *word, (entries - 64 * part).min(64)));
        }
    }
}

/// Miss status holding registers of one cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mshr {
    /// Bit vector of the entries in use. The bit vector `ready` marks the used entries whose line has
    /// arrived.
    used: Bits,
    ready: Bits,
    closed: Bits,
    /// Number of entries in use whose line has not arrived yet.
    pending: u32,
    lines: Box<[u64]>,
    /// Mask of the sectors that each entry tracks; [`WHOLE`] in a cache of whole lines.
    sectors: Box<[u8]>,
    set_way: Box<[u32]>,
    count: Box<[u8]>,
    head: Box<[u8]>,
    waiters: Box<[Waiter]>,
    /// Numbers of the filled entries, in the order of their fills.
    order: Box<[u16]>,
    order_len: u16,
    /// For each hash, the entry that last tracked a line with this hash. The simulator checks this entry
    /// first, for speed; hardware compares all entries at once.
    guess: Box<BigArray<u16, GUESSES>>,
    #[serde(skip, default = "turn")]
    turn: PortOrder,
    merges: u8,
    shape: MshrShape,
}

/// Field widths of an MSHR entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MshrShape {
    /// Width of a line address in bits.
    pub line_bits: u32,
    /// Width of a data-array position (set and way) in bits.
    pub set_way_bits: u32,
    /// Number of sectors per line; 1 in a cache of whole lines.
    pub sectors: u32,
}

impl Mshr {
    /// Creates `entries` free MSHR entries (1 to 512), in each of which up to `merges` loads can wait.
    #[must_use]
    pub fn new(entries: u32, merges: u32, shape: MshrShape) -> Self {
        let n = entries as usize;
        Self {
            used: Bits::new(n),
            ready: Bits::new(n),
            closed: Bits::new(n),
            pending: 0,
            lines: vec![0; n].into(),
            sectors: vec![WHOLE; n].into(),
            set_way: vec![0; n].into(),
            count: vec![0; n].into(),
            head: vec![0; n].into(),
            waiters: vec![Waiter::default(); n * merges as usize].into(),
            order: vec![0; n].into(),
            order_len: 0,
            guess: Box::new(BigArray([0; GUESSES])),
            turn: turn(),
            merges: merges as u8,
            shape,
        }
    }

    /// Sets the tick of the port calls that follow. Once this function has been called, the MSHR checks in
    /// each cycle that its ports are used in the required order.
    #[inline(always)]
    pub fn at(&mut self, tick: u64) -> &mut Self {
        self.turn.at(tick);
        self
    }

    /// Records a use of the access or recall port. In a cache of whole lines, a port can be used once per
    /// cycle. In a cache that fetches sectors, it can be used once per cycle for each MSHR entry.
    #[inline(always)]
    fn take(&mut self, port: usize) {
        if self.shape.sectors == 1 { self.turn.take(port) } else { self.turn.take_again(port) }
    }

    /// Searches for the entry that tracks any of these sectors of a line.
    #[must_use]
    pub fn lookup(&self, line: u64, sectors: u8) -> Lookup {
        let Some(entry) = self.find(line, sectors, |_| true) else {
            return self.first_free().map_or(Lookup::None, Lookup::Free);
        };
        match entry as u16 {
            _ if self.ready.get(entry) => Lookup::Draining,
            entry if self.is_open(entry) => Lookup::Open(entry),
            entry => Lookup::Full(entry),
        }
    }

    /// True if another load may merge into this pending entry.
    #[must_use]
    #[inline]
    pub fn is_open(&self, entry: u16) -> bool {
        let entry = usize::from(entry);
        !self.closed.get(entry) && self.count[entry] != self.merges
    }

    /// Returns a free entry for sectors of a line that are neither present nor in flight. Returns `None` if
    /// all entries are in use, or if waiting loads still have to read one of the sectors from a filled entry.
    /// Pending entries are not compared, since the sectors are known not to be in flight.
    #[must_use]
    pub fn free_for(&self, line: u64, sectors: u8) -> Option<u16> {
        let order = &self.order[..usize::from(self.order_len)];
        let is_of = |e: usize| self.lines[e] == line && self.sectors[e] & sectors != 0;
        if order.iter().any(|&entry| is_of(entry.into())) {
            return None;
        }
        self.first_free()
    }

    /// Allocates an entry for sectors of a line that will fill the data-array position `set_way`, and adds
    /// the missing load as its first waiter.
    pub fn alloc(&mut self, entry: u16, tracked: (u64, u8), set_way: u32, waiter: Waiter) {
        self.alloc_prefetch(entry, tracked, set_way);
        self.push(entry.into(), waiter);
    }

    /// Allocates an entry for sectors of a prefetched line that will fill the data-array position `set_way`.
    /// The entry has no waiter.
    pub fn alloc_prefetch(&mut self, entry: u16, (line, sectors): (u64, u8), set_way: u32) {
        self.take(ACCESS);
        let e = usize::from(entry);
        debug_assert!(!self.used.get(e), "entry {e} is free");
        self.used.set(e);
        self.pending += 1;
        self.lines[e] = line;
        self.sectors[e] = sectors;
        self.expect(line, sectors, entry);
        self.set_way[e] = set_way;
        self.count[e] = 0;
        self.head[e] = 0;
    }

    /// Adds a waiting load to an open entry.
    pub fn merge(&mut self, entry: u16, waiter: Waiter) {
        self.take(ACCESS);
        self.push(usize::from(entry), waiter);
    }

    /// Closes an entry to later loads, because a store to the line was sent to memory.
    pub fn close(&mut self, entry: u16) {
        self.take(ACCESS);
        self.closed.set(entry.into());
    }

    /// Closes an entry to later loads, because the L2 recalls the line.
    pub fn recall(&mut self, entry: u16) {
        self.take(RECALL);
        self.closed.set(entry.into());
    }

    /// Returns the number of free entries.
    #[must_use]
    pub fn count_free(&self) -> u32 {
        self.lines.len() as u32 - self.used.0.iter().map(|word| word.count_ones()).sum::<u32>()
    }

    /// Returns the oldest filled entry: of all filled entries on which loads still wait, the one that was
    /// filled first.
    #[must_use]
    pub fn first_ready(&self) -> Option<u16> {
        self.order[..usize::from(self.order_len)].first().copied()
    }

    /// Returns the number of loads that wait on an entry.
    #[must_use]
    pub fn waiters(&self, entry: u16) -> u8 {
        self.count[usize::from(entry)]
    }

    /// Returns the mask of the sectors that an entry tracks.
    #[must_use]
    pub fn sectors_of(&self, entry: u16) -> u8 {
        self.sectors[usize::from(entry)]
    }

    /// Fills an entry, which must be pending.
    pub fn fill_entry(&mut self, entry: u16) {
        self.turn.take(FILL);
        self.pending -= 1;
        let e = usize::from(entry);
        debug_assert!(self.used.get(e) && !self.ready.get(e), "MSHR entry {entry} is not pending");
        if self.count[e] == 0 {
            self.used.clear(e);
            self.closed.clear(e);
            return;
        }
        self.ready.set(e);
        self.order[usize::from(self.order_len)] = entry;
        self.order_len += 1;
    }

    /// Returns the pending entry that tracks these sectors of a line in flight, and the data-array position
    /// (set and way) that it will fill.
    #[must_use]
    pub fn pending_entry(&self, line: u64, sectors: u8) -> Option<(u16, u32)> {
        let entry = self.find(line, sectors, |entry| !self.ready.get(entry))?;
        Some((entry as u16, self.set_way[entry]))
    }

    /// True if a filled entry still has waiting loads that must read any of these sectors at the data-array
    /// position `set_way`.
    #[must_use]
    pub fn drains(&self, set_way: u32, sectors: u8) -> bool {
        let order = &self.order[..usize::from(self.order_len)];
        let reads = |e: usize| self.set_way[e] == set_way && self.sectors[e] & sectors != 0;
        order.iter().any(|&entry| reads(entry.into()))
    }

    /// True if a filled entry still has waiting loads that must read a line of the set. `ways` is the number
    /// of ways per set.
    #[must_use]
    pub fn drains_set(&self, set: u32, ways: u32) -> bool {
        let order = &self.order[..usize::from(self.order_len)];
        order.iter().any(|&entry| self.set_way[usize::from(entry)] / ways == set)
    }

    /// True if waiting loads still have to read the line of some filled entry.
    #[must_use]
    pub fn has_ready(&self) -> bool {
        self.order_len != 0
    }

    /// Returns the number of filled entries whose line waiting loads still have to read.
    #[must_use]
    pub fn ready_entries(&self) -> u16 {
        self.order_len
    }

    /// Removes one waiting load from the entry that was filled first. Returns the line, the position of its
    /// data (set and way), and the load.
    pub fn pop(&mut self) -> Option<(u64, u32, Waiter)> {
        if self.order_len == 0 {
            return None;
        }
        self.turn.take(POP);
        let e = usize::from(self.order[0]);
        let waiter = self.waiters[e * usize::from(self.merges) + usize::from(self.head[e])];
        self.head[e] += 1;
        if self.head[e] == self.count[e] {
            self.used.clear(e);
            self.ready.clear(e);
            self.closed.clear(e);
            self.order_len -= 1;
            if self.order_len != 0 {
                self.order.copy_within(1..=usize::from(self.order_len), 0);
            }
        }
        Some((self.lines[e], self.set_way[e], waiter))
    }

    /// True if no MSHR entry is in use.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending == 0 && self.order_len == 0
    }

    /// Returns the number of lines in flight; a line with several entries counts once.
    #[must_use]
    pub fn pending_lines(&self) -> u32 {
        let is_pending = |e: &usize| self.used.get(*e) && !self.ready.get(*e);
        let pending = (0..self.lines.len()).filter(is_pending);
        let is_first = |e: &usize| !(0..*e).any(|other| is_pending(&other) && self.lines[other] == self.lines[*e]);
        pending.filter(is_first).count() as u32
    }

    /// Returns the mask of all sectors of a line that are in flight.
    #[must_use]
    pub fn pending_sectors(&self, line: u64) -> u8 {
        let is_meant = |e: &usize| self.used.get(*e) && !self.ready.get(*e) && self.lines[*e] == line;
        (0..self.lines.len()).filter(is_meant).fold(0, |sectors, e| sectors | self.sectors[e])
    }

    /// Adds to the hardware description: entries and search logic. The registers of a free entry keep their
    /// last values, as flip-flops do.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self {
            used,
            ready,
            closed,
            // The number of pending entries is not a register: it follows from `used` and `ready`.
            pending: _,
            lines,
            sectors,
            set_way,
            count,
            head,
            waiters,
            order,
            order_len,
            guess: _,
            turn: _,
            merges,
            shape: MshrShape { line_bits, set_way_bits, sectors: num_sectors },
        } = self;
        let entries = lines.len() as u32;
        let count_bits = u32::BITS - u32::from(*merges).leading_zeros();
        used.describe("used", entries, to);
        ready.describe("ready", entries, to);
        closed.describe("closed", entries, to);
        to.sized("ready_entries", u64::from(*order_len), u32::BITS - entries.leading_zeros());
        to.entries("entry", 0..lines.len(), |e, to| {
            let state = match (used.get(e), ready.get(e)) {
                (false, _) => State::Free,
                (true, false) => State::Pending,
                (true, true) => State::Ready,
            };
            to.probe_state("state", state);
            to.sized("line", lines[e], *line_bits);
            if *num_sectors > 1 {
                to.sized("sectors", u64::from(sectors[e]), *num_sectors);
            }
            to.sized("set_way", u64::from(set_way[e]), *set_way_bits);
            to.sized("count", u64::from(count[e]), count_bits);
            to.sized("head", u64::from(head[e]), count_bits);
            to.sized("order", u64::from(order[e]), bits_for(entries));
            for waiter in &waiters[e * usize::from(*merges)..][..usize::from(*merges)] {
                let Waiter { slot, lanes } = waiter;
                to.sized("slot", u64::from(*slot), 6);
                to.bits("lanes", *lanes);
            }
        });
        // Two sets of comparators, one for a fill and one for an access in the same cycle. Each set finds the
        // entry of the line, and the entries whose waiting loads still have to read a given data-array
        // position (set and way).
        for port in ["fill", "access"] {
            to.part(port, |to| {
                to.logic("search", Logic::Comparator { width: *line_bits, count: entries });
                if *num_sectors > 1 {
                    to.logic("overlap", Logic::Comparator { width: *num_sectors, count: entries });
                }
                to.logic("drains", Logic::Comparator { width: *set_way_bits, count: entries });
            });
        }
        to.logic("free_entry", Logic::PriorityEncoder { inputs: entries });
        to.logic("fill_place", Logic::Mux { ways: entries, width: *set_way_bits });
        // Multiplexers that select the oldest filled entry, the next load that waits on it, and the state of
        // the entry that the access found.
        let places = entries * u32::from(*merges);
        let entry_bits = bits_for(entries);
        to.logic("oldest", Logic::Mux { ways: entries, width: line_bits + set_way_bits + 2 * count_bits });
        to.logic("waiter", Logic::Mux { ways: places, width: 6 + u32::BITS });
        to.logic("open", Logic::Mux { ways: entries, width: count_bits });
        to.logic("full", Logic::Comparator { width: count_bits, count: 2 });
        // Logic for the write enables of the entry registers.
        to.logic("entry_of", Logic::Decoder { outputs: 3 * entries });
        to.logic("place_of", Logic::Decoder { outputs: places });
        to.logic("shift", Logic::Mux { ways: 2, width: entries * entry_bits });
        to.logic("state", Logic::Gates { count: 8 * entries });
    }

    fn push(&mut self, e: usize, waiter: Waiter) {
        debug_assert!(self.count[e] < self.merges, "entry {e} has a free slot");
        self.waiters[e * usize::from(self.merges) + usize::from(self.count[e])] = waiter;
        self.count[e] += 1;
    }

    fn first_free(&self) -> Option<u16> {
        let mut words = (0..).step_by(64).zip(&self.used.0);
        let (first, word) = words.find(|(_, word)| **word != u64::MAX)?;
        let free = first + word.trailing_ones();
        (free < self.lines.len() as u32).then_some(free as u16)
    }

    /// Makes later searches for these sectors compare `entry` first, for simulation speed.
    #[inline(always)]
    fn expect(&mut self, line: u64, sectors: u8, entry: u16) {
        if self.shape.sectors == 1 {
            self.guess[hash(line, 0)] = entry;
            return;
        }
        for sector in (0..self.shape.sectors).filter(|sector| sectors >> sector & 1 != 0) {
            self.guess[hash(line, sector)] = entry;
        }
    }

    /// Returns the entry in use that tracks any of these sectors of a line and for which `is_meant` returns
    /// true.
    #[inline(always)]
    fn find(&self, line: u64, sectors: u8, is_meant: impl Fn(usize) -> bool) -> Option<usize> {
        let first = if self.shape.sectors == 1 { 0 } else { sectors.trailing_zeros() };
        let guess = usize::from(self.guess[hash(line, first)]);
        if self.tracks(guess, line, sectors) && is_meant(guess) {
            return Some(guess);
        }
        self.search(|entry| self.tracks(entry, line, sectors) && is_meant(entry))
    }

    /// True if an entry in use tracks any of these sectors of a line.
    #[inline(always)]
    fn tracks(&self, entry: usize, line: u64, sectors: u8) -> bool {
        self.lines[entry] == line && self.sectors[entry] & sectors != 0 && self.used.get(entry)
    }

    #[inline(never)]
    fn search(&self, is_searched: impl Fn(usize) -> bool) -> Option<usize> {
        for (first, word) in (0..).step_by(64).zip(&self.used.0) {
            let mut candidates = *word;
            while candidates != 0 {
                let entry = first + candidates.trailing_zeros() as usize;
                if is_searched(entry) {
                    return Some(entry);
                }
                candidates &= candidates - 1;
            }
        }
        None
    }
}

/// Hashes a line by the top bits of its product with the golden ratio, which spreads lines evenly for any
/// stride.
fn hash(line: u64, sector: u32) -> usize {
    let place = line ^ u64::from(sector) << 62;
    (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - GUESSES.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: MshrShape = MshrShape { line_bits: 25, set_way_bits: 7, sectors: 1 };

    fn waiter(slot: u8) -> Waiter {
        Waiter { slot, lanes: 1 << slot }
    }

    /// Fills the pending entry of a line. Returns the set and way to fill, or `None` if there is no such entry.
    fn fill(mshr: &mut Mshr, line: u64) -> Option<u32> {
        let (entry, set_way) = mshr.pending_entry(line, WHOLE)?;
        mshr.fill_entry(entry);
        Some(set_way)
    }

    #[test]
    fn waiters_leave_in_order_of_fills_then_of_arrival() {
        let mut mshr = Mshr::new(4, 3, SHAPE);
        mshr.alloc(0, (10, WHOLE), 40, waiter(1));
        mshr.alloc(1, (20, WHOLE), 41, waiter(2));
        mshr.merge(0, waiter(3));
        assert_eq!(fill(&mut mshr, 20), Some(41));
        assert_eq!(fill(&mut mshr, 10), Some(40));
        let left: Vec<_> = std::iter::from_fn(|| mshr.pop()).map(|(line, at, w)| (line, at, w.slot)).collect();
        assert_eq!(left, [(20, 41, 2), (10, 40, 1), (10, 40, 3)]);
        assert!(mshr.is_empty());
    }

    #[test]
    fn an_entry_without_slots_or_closed_by_a_store_takes_no_waiter() {
        let mut mshr = Mshr::new(2, 2, SHAPE);
        mshr.alloc(0, (10, WHOLE), 0, waiter(1));
        assert_eq!(mshr.lookup(10, WHOLE), Lookup::Open(0));
        mshr.merge(0, waiter(2));
        assert_eq!(mshr.lookup(10, WHOLE), Lookup::Full(0));
        mshr.alloc(1, (20, WHOLE), 1, waiter(1));
        mshr.close(1);
        assert_eq!(mshr.lookup(20, WHOLE), Lookup::Full(1));
        assert_eq!(mshr.lookup(30, WHOLE), Lookup::None);
    }

    #[test]
    fn a_draining_line_is_told_from_a_free_entry() {
        let mut mshr = Mshr::new(2, 2, SHAPE);
        mshr.alloc(0, (10, WHOLE), 5, waiter(1));
        mshr.merge(0, waiter(2));
        fill(&mut mshr, 10);
        assert_eq!((mshr.lookup(10, WHOLE), mshr.free_for(10, WHOLE)), (Lookup::Draining, None));
        assert_eq!(mshr.free_for(11, WHOLE), Some(1));
        assert!(mshr.drains(5, WHOLE) && !mshr.drains(6, WHOLE));
        mshr.pop();
        assert_eq!(mshr.lookup(10, WHOLE), Lookup::Draining);
        mshr.pop();
        assert_eq!(mshr.lookup(10, WHOLE), Lookup::Free(0));
        assert!(!mshr.drains(5, WHOLE));
    }

    #[test]
    fn lines_that_share_a_hash_are_told_apart() {
        let mut mshr = Mshr::new(2, 2, SHAPE);
        let Some(twin) = (11..).find(|&line| hash(line, 0) == hash(10, 0)) else {
            unreachable!("there are more lines")
        };
        mshr.alloc(0, (10, WHOLE), 5, waiter(1));
        mshr.alloc(1, (twin, WHOLE), 6, waiter(2));
        assert_eq!((mshr.lookup(10, WHOLE), mshr.lookup(twin, WHOLE)), (Lookup::Open(0), Lookup::Open(1)));
        assert_eq!((fill(&mut mshr, 10), fill(&mut mshr, twin)), (Some(5), Some(6)));
    }

    #[test]
    fn a_prefetch_frees_its_entry_on_arrival_unless_a_load_has_merged() {
        let mut mshr = Mshr::new(2, 1, SHAPE);
        mshr.alloc_prefetch(0, (10, WHOLE), 5);
        mshr.alloc_prefetch(1, (20, WHOLE), 6);
        assert_eq!((mshr.lookup(10, WHOLE), mshr.free_for(30, WHOLE)), (Lookup::Open(0), None));
        mshr.merge(1, waiter(3));
        assert_eq!([fill(&mut mshr, 10), fill(&mut mshr, 20)], [Some(5), Some(6)]);
        assert_eq!((mshr.free_for(10, WHOLE), mshr.ready_entries()), (Some(0), 1));
        assert_eq!(mshr.pop().map(|(line, ..)| line), Some(20));
        assert!(mshr.is_empty());
    }

    #[test]
    fn a_prefetch_that_a_store_has_overtaken_takes_no_load() {
        let mut mshr = Mshr::new(2, 2, SHAPE);
        mshr.alloc_prefetch(0, (10, WHOLE), 5);
        mshr.close(0);
        assert_eq!(mshr.lookup(10, WHOLE), Lookup::Full(0));
        fill(&mut mshr, 10);
        mshr.alloc(0, (10, WHOLE), 5, waiter(1));
        assert_eq!(mshr.lookup(10, WHOLE), Lookup::Open(0));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "tick 7: `fill` after `pop`, expected each of fill, recall, pop, access at most once")]
    fn a_fill_after_a_departure_of_the_same_cycle_is_refused() {
        let mut mshr = Mshr::new(2, 2, SHAPE);
        mshr.alloc(0, (10, WHOLE), 5, waiter(1));
        mshr.alloc(1, (20, WHOLE), 6, waiter(2));
        fill(mshr.at(7), 10);
        mshr.at(7).pop();
        fill(mshr.at(7), 20);
    }

    #[test]
    fn a_fill_of_an_unknown_line_is_told() {
        let mut mshr = Mshr::new(2, 2, SHAPE);
        mshr.alloc(0, (10, WHOLE), 5, waiter(1));
        assert_eq!(fill(&mut mshr, 11), None);
        assert_eq!(fill(&mut mshr, 10), Some(5));
        assert_eq!(fill(&mut mshr, 10), None);
    }
}
