//! # Shared and distributed caches without time (anssari2012 chapter 3)
//! L1s that are not coherent and supply each other under a sharing tracker, above an L2 that is
//! coherent: who answers each access, what is moved for it, and what every structure did. There are
//! no bytes in it; whoever wants values keeps a copy of memory and of each L1, and moves them as told.
//!
//! * A load looks its own L1 up, then the tracker, then the L2. A line that is to stay is asked for by
//!   [`Hybrid::load`] and arrives by [`Hybrid::fill`]; what happens between them is what the tracker's
//!   protections are for ([`Protections`]).
//! * A store updates its own L1's copy, takes the line from the tracker and is written to the L2.
//! * Coherent operations take the line from their own L1 and from the tracker.
//! * L1s tell the tracker of the lines they drop; a notice is delivered by [`Hybrid::deliver_notices`].
//!
//! An L1 line is several lines of the L2, each of which hits or misses alone; all lie in one bank.

pub mod bank;
mod coherent;
mod counts;
mod tracker;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use crate::untimed::Geometry;
use crate::untimed::lines::Lines;
use coherent::Coherent;
pub use coherent::L2Config;
pub use counts::{Counts, HEADER_BYTES};
pub use tracker::{SharerList, Tracker, TrackerConfig};

/// Bytes of an L2 line, and of an access of the DRAM.
pub const SECTOR_BYTES: usize = 32;
/// Bytes of an L1 line.
pub const LINE_BYTES: usize = 128;
/// L2 lines of an L1 line.
pub const SECTORS: usize = LINE_BYTES / SECTOR_BYTES;

/// The caches.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Compute units, each with an L1.
    pub cus: usize,
    /// L1 of a compute unit.
    pub l1: Geometry,
    /// L2.
    pub l2: L2Config,
    /// Sharing trackers, if there are any.
    pub tracker: Option<TrackerConfig>,
    /// Contentious loads ([`Config::is_contentious`]) do not fill the L1 (section 3.3).
    pub bypass_l1: bool,
    /// The other loads do not fill the L2 (section 3.3; left out of the thesis's evaluation).
    pub bypass_l2: bool,
    /// What keeps a compute unit from reading older bytes than it may.
    pub protections: Protections,
}

/// What keeps a compute unit from reading older bytes than it may; each can be taken away, to show what
/// it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protections {
    /// A store takes its line from the tracker. Without it the tracker is the one that section 3.2
    /// finds fault with.
    pub store_untracks: bool,
    /// A coherent operation takes its line from the tracker and from its own L1.
    pub coherent_untracks: bool,
    /// A line on its way while it is taken from the tracker is not listed when it arrives.
    pub poisons_fills: bool,
    /// A line on its way to a compute unit that stores to it does not stay there.
    pub drops_overtaken: bool,
    /// L1s and trackers are emptied when a kernel ends.
    pub flushes: bool,
}

impl Protections {
    /// All of them.
    pub const ALL: Self = Self {
        store_untracks: true,
        coherent_untracks: true,
        poisons_fills: true,
        drops_overtaken: true,
        flushes: true,
    };
}

impl Config {
    /// [`is_contentious`] for the L1s of this system.
    ///
    /// # Panics
    /// If no warp is resident.
    #[must_use]
    pub fn is_contentious(&self, touched: usize, resident_warps: usize) -> bool {
        is_contentious(self.l1.index.sets() * self.l1.ways, touched, resident_warps)
    }
}

/// Whether an instruction that touches so many lines contends for an L1 of so many, which its compute unit's
/// warps share (section 3.3): not, if it touches fewer than each warp's part of them.
///
/// # Panics
/// If no warp is resident.
#[must_use]
pub fn is_contentious(l1_lines: usize, touched: usize, resident_warps: usize) -> bool {
    touched >= l1_lines / resident_warps
}

/// Who answers a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The L1 of its compute unit.
    Own,
    /// The line on its way to that L1.
    OwnPending,
    /// Another L1.
    Remote(usize),
    /// The coherent domain: atomic buffer, L2 or DRAM.
    Coherent,
    /// Nobody yet: the line is on its way, but its compute unit has stored to it since.
    Refused,
}

/// A line on its way to an L1.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    poisoned: bool,
    overtaken: bool,
}

/// The system.
#[derive(Clone, Debug)]
pub struct Hybrid {
    config: Config,
    l1: Vec<Lines<()>>,
    trackers: Vec<Tracker>,
    coherent: Coherent,
    /// By line and compute unit.
    pending: BTreeMap<(u64, usize), Pending>,
    /// Lines that L1s have dropped and trackers not yet heard of.
    notices: VecDeque<(usize, u64)>,
    counts: Counts,
}

impl Hybrid {
    /// Empty caches.
    ///
    /// # Panics
    /// If the compute units cannot be shared out evenly among the trackers.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let trackers = config.tracker.map_or(Vec::new(), |tracker| {
            assert!(config.cus.is_multiple_of(tracker.count), "each tracker serves as many compute units");
            (0..tracker.count).map(|_| Tracker::new(&tracker)).collect()
        });
        Self {
            l1: (0..config.cus).map(|_| Lines::new(config.l1)).collect(),
            trackers,
            coherent: Coherent::new(config.l2),
            pending: BTreeMap::new(),
            notices: VecDeque::new(),
            counts: Counts::default(),
            config,
        }
    }

    /// What it is made of.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What every structure did.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Whether an L1 holds a line.
    pub fn holds(&mut self, cu: usize, line: u64) -> bool {
        self.l1[cu].note(line).is_some()
    }

    /// A load of some bytes of a line. If it is answered by another L1 or by the coherent domain, and
    /// is not contentious, the line is on its way until [`Self::fill`].
    pub fn load(&mut self, cu: usize, line: u64, byte_mask: u128, contentious: bool) -> Source {
        if let Some(pending) = self.pending.get(&(line, cu)) {
            if pending.overtaken {
                return Source::Refused;
            }
            self.counts.loads += 1;
            self.counts.l1_hits += 1;
            return Source::OwnPending;
        }
        self.counts.loads += 1;
        if self.l1[cu].find(line).is_some() {
            self.counts.l1_hits += 1;
            self.counts.l1_reads += 1;
            return Source::Own;
        }
        let stays = !(contentious && self.config.bypass_l1);
        self.counts.message(0);
        let source = match self.supplier(cu, line) {
            Some(supplier) => {
                self.counts.remote_hits += 1;
                self.counts.l1_reads += 1;
                self.counts.message(if stays { LINE_BYTES } else { byte_mask.count_ones() as usize });
                Source::Remote(supplier)
            }
            None => {
                let wanted = if stays { u128::MAX } else { byte_mask };
                let allocates = !(stays && self.config.bypass_l2);
                let sectors = sectors(wanted).count();
                self.counts.message(sectors * SECTOR_BYTES);
                for (sector, _) in self::sectors(wanted) {
                    self.coherent.read(line, sector, allocates, &mut self.counts);
                }
                Source::Coherent
            }
        };
        if stays {
            self.pending.insert((line, cu), Pending::default());
        }
        source
    }

    /// The L1 that supplies a line, as the tracker says; the tracker forgets those that no longer can.
    fn supplier(&mut self, cu: usize, line: u64) -> Option<usize> {
        let (number, first) = self.tracker_of(cu)?;
        self.counts.tracker_reads += 1;
        let tracker = &mut self.trackers[number];
        let supplier = first + tracker.supplier(line, cu - first)?;
        self.counts.tracker_writes += 1;
        self.counts.message(0);
        if self.l1[supplier].find(line).is_some() {
            return Some(supplier);
        }
        self.counts.nacks += 1;
        self.counts.message(0);
        tracker.remove(line, supplier - first);
        None
    }

    /// The tracker of a compute unit, and the first compute unit that it serves.
    fn tracker_of(&self, cu: usize) -> Option<(usize, usize)> {
        let served = self.config.cus.checked_div(self.trackers.len())?;
        Some((cu / served, cu / served * served))
    }

    /// A line on its way arrives at its L1. Returns whether it stays there.
    ///
    /// # Panics
    /// If it is not on its way.
    pub fn fill(&mut self, cu: usize, line: u64) -> bool {
        let pending = self.pending.remove(&(line, cu));
        let Some(Pending { poisoned, overtaken }) = pending else {
            panic!("line {line:#x} is not on its way to compute unit {cu}")
        };
        if overtaken && self.config.protections.drops_overtaken {
            return false;
        }
        self.counts.l1_writes += 1;
        if let Some((dropped, ())) = self.l1[cu].insert(line, ())
            && !self.trackers.is_empty()
        {
            self.counts.message(0);
            self.notices.push_back((cu, dropped));
        }
        if let Some((number, first)) = self.tracker_of(cu)
            && !(poisoned && self.config.protections.poisons_fills)
        {
            self.counts.tracker_writes += 1;
            self.trackers[number].add(line, cu - first);
        }
        true
    }

    /// The trackers hear of the lines that L1s have dropped.
    pub fn deliver_notices(&mut self) {
        while let Some((cu, line)) = self.notices.pop_front() {
            let Some((number, first)) = self.tracker_of(cu) else { return };
            self.counts.tracker_writes += 1;
            self.trackers[number].remove(line, cu - first);
        }
    }

    /// Takes a line from the tracker of the compute unit that writes it: what others read may stay
    /// old, but not what the writer reads, and it asks no other tracker.
    fn untrack(&mut self, cu: usize, line: u64) {
        let Some((number, first)) = self.tracker_of(cu) else { return };
        self.counts.tracker_writes += 1;
        self.trackers[number].forget(line);
        let served = first..first + self.config.cus / self.trackers.len();
        for cu in served {
            if let Some(pending) = self.pending.get_mut(&(line, cu)) {
                pending.poisoned = true;
            }
        }
    }

    /// A store of some bytes of a line. Returns whether the compute unit's own copy was updated.
    pub fn store(&mut self, cu: usize, line: u64, byte_mask: u128) -> bool {
        self.counts.stores += 1;
        if let Some(pending) = self.pending.get_mut(&(line, cu)) {
            pending.overtaken = true;
        }
        let updated = self.l1[cu].find(line).is_some();
        self.counts.l1_writes += u64::from(updated);
        if self.config.protections.store_untracks {
            self.untrack(cu, line);
        }
        self.write(line, byte_mask);
        updated
    }

    fn write(&mut self, line: u64, byte_mask: u128) {
        self.counts.message(sectors(byte_mask).count() * SECTOR_BYTES);
        for (sector, bytes) in sectors(byte_mask) {
            self.coherent.write(line, sector, bytes == u32::MAX, &mut self.counts);
        }
    }

    /// What a coherent operation does before it goes to the coherent domain.
    fn enter_coherent(&mut self, cu: usize, line: u64) {
        if let Some(pending) = self.pending.get_mut(&(line, cu)) {
            pending.overtaken = true;
        }
        if self.config.protections.coherent_untracks {
            self.l1[cu].remove(line);
            self.untrack(cu, line);
        }
    }

    /// A coherent load of some bytes of a line.
    pub fn coherent_load(&mut self, cu: usize, line: u64, byte_mask: u128) {
        self.counts.coherent += 1;
        self.enter_coherent(cu, line);
        self.counts.message(0);
        self.counts.message(sectors(byte_mask).count() * SECTOR_BYTES);
        for (sector, _) in sectors(byte_mask) {
            self.coherent.read(line, sector, true, &mut self.counts);
        }
    }

    /// A coherent store of some bytes of a line.
    pub fn coherent_store(&mut self, cu: usize, line: u64, byte_mask: u128) {
        self.counts.coherent += 1;
        self.enter_coherent(cu, line);
        self.write(line, byte_mask);
    }

    /// Atomic operations of one instruction on a line: so many words, which lie in the bytes of the mask.
    pub fn atomic(&mut self, cu: usize, line: u64, byte_mask: u128, words: u64) {
        self.counts.coherent += 1;
        self.counts.atomics += words;
        self.enter_coherent(cu, line);
        self.counts.message(byte_mask.count_ones() as usize);
        self.counts.message(byte_mask.count_ones() as usize);
        for (sector, _) in sectors(byte_mask) {
            self.coherent.atomic(line, sector, &mut self.counts);
        }
    }

    /// Global synchronisation at the end of a kernel: every L1 and tracker is emptied, the atomic
    /// buffers go to the L2.
    ///
    /// # Panics
    /// If a line is still on its way.
    pub fn end_kernel(&mut self) {
        assert!(self.pending.is_empty(), "a kernel ends while lines are on their way");
        self.coherent.flush_buffers(&mut self.counts);
        self.counts.dram_owed = self.coherent.dirty();
        if self.config.protections.flushes {
            self.l1.iter_mut().for_each(Lines::clear);
            self.trackers.iter_mut().for_each(Tracker::clear);
            self.notices.clear();
        }
    }
}

/// The sectors that a mask of bytes touches, each with its own bytes.
fn sectors(byte_mask: u128) -> impl Iterator<Item = (usize, u32)> {
    let bytes = move |sector: usize| (byte_mask >> (sector * SECTOR_BYTES)) as u32;
    (0..SECTORS).map(move |sector| (sector, bytes(sector))).filter(|(_, bytes)| *bytes != 0)
}
