//! # Untimed model of shared and distributed caches (anssari2012 chapter 3)
//! Models non-coherent L1s that supply lines to each other under the control of a sharing tracker, and a
//! coherent L2 below them. Reports the supplier of each access, the data moved, and the activity of every
//! structure. The model holds no data. A user that needs values keeps a copy of memory and of each L1, and
//! moves data as the model reports.
//!
//! * A load looks up its own L1, then the tracker, then the L2. [`Hybrid::load`] requests a line that will be
//!   allocated in the L1, and [`Hybrid::fill`] delivers it. [`Protections`] prevent reads of data that became
//!   stale between the two calls.
//! * A store updates the copy in its own L1, removes the line from the tracker, and is written through to the
//!   L2.
//! * Coherent operations invalidate the line in their own L1 and remove it from the tracker.
//! * L1s notify the tracker of evicted lines; [`Hybrid::deliver_notices`] delivers the notices.
//!
//! An L1 line spans several L2 lines, each of which hits or misses on its own. All L2 lines of an L1 line map
//! to the same L2 bank.

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

/// Size of a sector in bytes. A sector is an L2 line and also the unit of DRAM access.
pub const SECTOR_BYTES: usize = 32;
/// Size of an L1 line in bytes.
pub const LINE_BYTES: usize = 128;
/// Number of L2 lines per L1 line.
pub const SECTORS: usize = LINE_BYTES / SECTOR_BYTES;

/// Configuration of the L1s, the L2 and the sharing trackers.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Number of compute units, each with its own L1.
    pub cus: usize,
    /// Number of sets and ways of each L1.
    pub l1: Geometry,
    /// Configuration of the L2.
    pub l2: L2Config,
    /// Configuration of the sharing trackers; `None` if the system has no trackers.
    pub tracker: Option<TrackerConfig>,
    /// True if contentious loads ([`Config::is_contentious`]) do not allocate in the L1 (section 3.3).
    pub bypass_l1: bool,
    /// True if loads that allocate in the L1 do not allocate in the L2 (section 3.3; the thesis does not
    /// evaluate this option).
    pub bypass_l2: bool,
    /// Mechanisms that keep a compute unit from reading stale data.
    pub protections: Protections,
}

/// Mechanisms that keep a compute unit from reading stale data. Each can be disabled, to show the violation
/// that occurs without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protections {
    /// True if a store removes its line from the tracker. If false, stale data can be read as section 3.2 of
    /// anssari2012 describes.
    pub store_untracks: bool,
    /// True if a coherent operation removes its line from the tracker and from the L1 of its compute unit.
    pub coherent_untracks: bool,
    /// True if an arriving line does not make its L1 a sharer when the tracker entry of the line was removed
    /// while the line was in flight.
    pub poisons_fills: bool,
    /// True if an L1 drops an arriving line when its compute unit has stored to that line while it was in
    /// flight.
    pub drops_overtaken: bool,
    /// True if L1s and trackers are flushed at the end of a kernel.
    pub flushes: bool,
}

impl Protections {
    /// All protections enabled, as in a correct system.
    pub const ALL: Self = Self {
        store_untracks: true,
        coherent_untracks: true,
        poisons_fills: true,
        drops_overtaken: true,
        flushes: true,
    };
}

impl Config {
    /// True if an instruction is contentious for the L1s of this system, as defined by [`is_contentious`].
    ///
    /// # Panics
    /// Panics if no warp is resident.
    #[must_use]
    pub fn is_contentious(&self, touched: usize, resident_warps: usize) -> bool {
        is_contentious(self.l1.index.sets() * self.l1.ways, touched, resident_warps)
    }
}

/// True if an instruction that touches `touched` lines is contentious: it touches at least as many lines as
/// each resident warp's equal share of the L1 (section 3.3).
///
/// # Panics
/// Panics if no warp is resident.
#[must_use]
pub fn is_contentious(l1_lines: usize, touched: usize, resident_warps: usize) -> bool {
    touched >= l1_lines / resident_warps
}

/// Part of the system that supplies the line of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The L1 of the requesting compute unit has the line.
    Own,
    /// The line is already in flight to the requesting L1, and the load waits for it.
    OwnPending,
    /// The L1 of another compute unit supplies the line. The number is that of the compute unit.
    Remote(usize),
    /// Coherent domain: the atomic buffers, the L2 or DRAM.
    Coherent,
    /// No supplier yet: the line is in flight, but the compute unit has written it since requesting it. The
    /// load must be retried.
    Refused,
}

/// State of a line in flight to an L1.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    poisoned: bool,
    overtaken: bool,
}

/// State of the whole system: L1s, sharing trackers, coherent domain and messages in flight.
#[derive(Debug)]
pub struct Hybrid {
    config: Config,
    l1: Vec<Lines<()>>,
    trackers: Vec<Tracker>,
    coherent: Coherent,
    /// Lines in flight to L1s, by line number and receiving compute unit.
    pending: BTreeMap<(u64, usize), Pending>,
    /// Eviction notices in flight to the trackers: compute unit and evicted line.
    notices: VecDeque<(usize, u64)>,
    counts: Counts,
}

impl Hybrid {
    /// Creates a system with empty caches.
    ///
    /// # Panics
    /// Panics if the number of compute units is not a multiple of the number of trackers.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let trackers = config.tracker.map_or(Vec::new(), |tracker| {
            assert!(config.cus.is_multiple_of(tracker.count), "each tracker serves the same number of compute units");
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

    /// Returns the configuration of the system.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the activity counters of the caches, trackers, network and DRAM.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// True if the L1 of a compute unit holds a line.
    pub fn holds(&mut self, cu: usize, line: u64) -> bool {
        self.l1[cu].note(line).is_some()
    }

    /// Performs a load of the bytes of a line that `byte_mask` selects. If another L1 or the coherent domain
    /// supplies the line, the line is in flight until [`Self::fill`] is called. A load that bypasses its L1
    /// needs no fill.
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

    /// Returns the L1 that supplies a line according to the tracker. If that L1 has evicted the line, it
    /// answers with a NACK, and the tracker no longer lists it for this line.
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

    /// Returns the number of the tracker that serves a compute unit, and the number of the first compute unit
    /// that this tracker serves.
    fn tracker_of(&self, cu: usize) -> Option<(usize, usize)> {
        let served = self.config.cus.checked_div(self.trackers.len())?;
        Some((cu / served, cu / served * served))
    }

    /// Delivers a line that is in flight to its L1. Returns true if the L1 stores the line, and false if the
    /// L1 drops it.
    ///
    /// # Panics
    /// Panics if the line is not in flight.
    pub fn fill(&mut self, cu: usize, line: u64) -> bool {
        let pending = self.pending.remove(&(line, cu));
        let Some(Pending { poisoned, overtaken }) = pending else {
            panic!("line {line:#x} is not in flight to compute unit {cu}")
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

    /// Delivers all eviction notices that are in flight to the trackers.
    pub fn deliver_notices(&mut self) {
        while let Some((cu, line)) = self.notices.pop_front() {
            let Some((number, first)) = self.tracker_of(cu) else { return };
            self.counts.tracker_writes += 1;
            self.trackers[number].remove(line, cu - first);
        }
    }

    /// Removes a line that a compute unit writes from the tracker of that compute unit. Other trackers keep
    /// the line, so their compute units may read stale data. The memory model permits this: only the writer
    /// must not read stale data, and its loads query only its own tracker.
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

    /// Performs a store to the bytes of a line that `byte_mask` selects. Returns true if the compute unit's
    /// own L1 has a copy of the line, which the store updates.
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

    /// Prepares a coherent operation before it accesses the L2: invalidates the line in the compute unit's
    /// own L1 and removes it from the tracker.
    fn enter_coherent(&mut self, cu: usize, line: u64) {
        if let Some(pending) = self.pending.get_mut(&(line, cu)) {
            pending.overtaken = true;
        }
        if self.config.protections.coherent_untracks {
            self.l1[cu].remove(line);
            self.untrack(cu, line);
        }
    }

    /// Performs a coherent load of the bytes of a line that `byte_mask` selects.
    pub fn coherent_load(&mut self, cu: usize, line: u64, byte_mask: u128) {
        self.counts.coherent += 1;
        self.enter_coherent(cu, line);
        self.counts.message(0);
        self.counts.message(sectors(byte_mask).count() * SECTOR_BYTES);
        for (sector, _) in sectors(byte_mask) {
            self.coherent.read(line, sector, true, &mut self.counts);
        }
    }

    /// Performs a coherent store to the bytes of a line that `byte_mask` selects.
    pub fn coherent_store(&mut self, cu: usize, line: u64, byte_mask: u128) {
        self.counts.coherent += 1;
        self.enter_coherent(cu, line);
        self.write(line, byte_mask);
    }

    /// Performs the atomic operations of one instruction on one line. They access `words` words, which
    /// consist of the bytes that `byte_mask` selects.
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

    /// Performs the global synchronization at the end of a kernel: empties all L1s and trackers, and writes
    /// the contents of the atomic buffers to the L2.
    ///
    /// # Panics
    /// Panics if a line is still in flight.
    pub fn end_kernel(&mut self) {
        assert!(self.pending.is_empty(), "a kernel ends while lines are in flight");
        self.coherent.flush_buffers(&mut self.counts);
        self.counts.dram_owed = self.coherent.dirty();
        if self.config.protections.flushes {
            self.l1.iter_mut().for_each(Lines::clear);
            self.trackers.iter_mut().for_each(Tracker::clear);
            self.notices.clear();
        }
    }
}

/// Yields the sectors of a line in which `byte_mask` selects at least one byte, each with its bits of the
/// mask.
fn sectors(byte_mask: u128) -> impl Iterator<Item = (usize, u32)> {
    let bytes = move |sector: usize| (byte_mask >> (sector * SECTOR_BYTES)) as u32;
    (0..SECTORS).map(move |sector| (sector, bytes(sector))).filter(|(_, bytes)| *bytes != 0)
}
