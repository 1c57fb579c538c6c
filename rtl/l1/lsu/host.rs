//! Interface of an LSU for the simulator (host code), which uses it between clock edges: settings, counters
//! and checks. It models no hardware.

use std::sync::Arc;

use super::super::cache::{Cache, CacheId};
use super::super::config::L1Config;
use super::super::loads::LoadStats;
use super::super::stages::Stages;
use super::super::stats::L1Stats;
use super::super::watch::Watch;
use super::Lsu;
use crate::scheme_counts::SchemeCounts;
use crate::throttle::{L1Place, ThrottleConfig};

impl Lsu {
    /// Connects the L1D to the throttle of its core, which has `warps` warp slots.
    pub fn set_throttle(&mut self, throttle: &ThrottleConfig, l1: &L1Config, warps: u32) {
        self.constants.monitored = throttle.is_on();
        let &L1Config { sets, ways, .. } = l1;
        let place =
            L1Place { path: &self.constants.place.path, sets, ways, line_bits: self.constants.place.line_bits, warps };
        let l1d = &mut self.caches[CacheId::L1d as usize];
        l1d.notice_losses(throttle.l1(&place));
        if throttle.ends_periods() {
            l1d.follow_periods();
        }
    }

    /// Flushes the L1D and limits it to `ways` ways, until the next call.
    ///
    /// # Panics
    /// Panics if a line is in flight.
    pub fn set_ways(&mut self, ways: u32) {
        self.caches[CacheId::L1d as usize].set_ways(ways);
    }

    /// Starts to record the events of each clock edge for checkers. From then on, reading a data-array row
    /// that was never written panics.
    pub fn observe(&mut self) {
        self.caches.iter_mut().for_each(Cache::refuse_unwritten);
        self.observed.watch = Some(Watch::default());
    }

    /// Returns and clears the recorded events of the last clock edge; `None` if events are not recorded. If
    /// the LSU was not evaluated at that edge, the result is empty.
    pub fn take_watch(&mut self) -> Option<Watch> {
        self.observed.watch.as_mut().map(std::mem::take)
    }

    /// Resets the statistics of load instructions, for a kernel with `instructions` instructions.
    pub fn count_loads(&mut self, instructions: usize) {
        self.observed.loads.clear();
        self.observed.loads.resize(instructions, LoadStats::default());
    }

    /// Returns the statistics so far of each load instruction of the kernel, indexed by program counter.
    #[must_use]
    pub fn loads(&self) -> &[LoadStats] {
        &self.observed.loads
    }

    /// Returns the times that warp loads and their line reads spent in each stage of the memory system, over
    /// all kernels so far.
    #[must_use]
    pub fn stages(&self) -> &Stages {
        &self.observed.stages
    }

    /// Sets the lines that the L1D may allocate from now on, for the profiled bypass scheme. `lines` must be
    /// sorted.
    pub fn admit(&mut self, lines: &Arc<[u64]>) {
        self.caches[CacheId::L1d as usize].admit(lines);
    }

    /// Starts to maintain digests (hashes) of the array contents.
    pub fn record(&mut self) {
        self.caches.iter_mut().for_each(Cache::record);
    }

    /// True if no request, instruction or writeback is outstanding.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty()
            && self.queue.is_empty()
            && self.caches.iter().all(Cache::is_idle)
            && self.miss_queue.is_empty()
            && !self.coalescer.is_busy()
            && self.write_backs == 0
    }

    /// Invalidates all lines at the end of a kernel. Modified lines are dropped without a writeback: they
    /// belong to local memory, whose contents are not needed after the kernel.
    ///
    /// # Panics
    /// Panics if a line is still in flight.
    pub fn flush(&mut self) {
        self.caches.iter_mut().for_each(Cache::flush);
        self.caches[CacheId::L1d as usize].set_original(self.constants.starts_original);
    }

    /// Updates the counters of the L1D and returns them. The update adds the cycles in which the head of the
    /// access queue was refused while the simulator did not evaluate the LSU. `cycle` is the core cycle of
    /// the next clock edge.
    pub fn settle(&mut self, cycle: u64) -> L1Stats {
        self.charge(cycle);
        if let Some(refusal) = &mut self.derived.refused {
            refusal.counted = cycle - 1;
        }
        self.caches[CacheId::L1d as usize].settle();
        *self.stats()
    }

    /// Returns the counters of the L1D, complete up to the cycle of the last [`Self::settle`].
    #[must_use]
    pub fn stats(&self) -> &L1Stats {
        self.stats_of(CacheId::L1d)
    }

    /// Returns the counters of the given cache, complete up to the cycle of the last [`Self::settle`].
    #[must_use]
    pub fn stats_of(&self, cache: CacheId) -> &L1Stats {
        &self.caches[cache as usize].stats
    }

    /// Returns the counters that belong to the schemes of the given cache.
    #[must_use]
    pub fn scheme_counts_of(&self, cache: CacheId) -> SchemeCounts {
        SchemeCounts::of(|to| self.caches[cache as usize].scheme_counters(to))
    }

    /// True if, in all caches, every reserved way has exactly one pending MSHR entry.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        self.caches.iter().all(Cache::is_consistent)
    }
}
