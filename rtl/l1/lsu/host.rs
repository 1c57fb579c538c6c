//! What a machine and its host ask of an LSU between edges: how it is to work, what it counted, whether it rests.

use std::sync::Arc;

use super::super::cache::{Cache, CacheId};
use super::super::config::L1Config;
use super::super::loads::LoadStats;
use super::super::stages::Stages;
use super::super::stats::L1Stats;
use super::super::watch::Watch;
use super::Lsu;
use crate::throttle::{L1Place, ThrottleConfig};

impl Lsu {
    /// Serves the throttle of a core with so many warps.
    pub fn set_throttle(&mut self, throttle: &ThrottleConfig, l1: &L1Config, warps: u32) {
        self.fixed.monitored = throttle.is_on();
        let &L1Config { sets, ways, .. } = l1;
        let place = L1Place { path: &self.fixed.place.path, sets, ways, line_bits: self.fixed.place.line_bits, warps };
        let l1d = &mut self.caches[CacheId::L1d as usize];
        l1d.notice_losses(throttle.l1(&place));
        if throttle.ends_periods() {
            l1d.follow_periods();
        }
    }

    /// Leaves the L1D so many ways until it is told otherwise, and no line.
    ///
    /// # Panics
    /// If a line is on its way.
    pub fn set_ways(&mut self, ways: u32) {
        self.caches[CacheId::L1d as usize].set_ways(ways);
    }

    /// Has the L1D keep lines that are written on their way: testbenches show what for it must not.
    pub fn keep_overtaken(&mut self) {
        self.caches[CacheId::L1d as usize].keep_overtaken();
    }

    /// Starts to report what happens at each edge, and to refuse reads of lines that nobody wrote.
    pub fn observe(&mut self) {
        self.caches.iter_mut().for_each(Cache::refuse_unwritten);
        self.noted.watch = Some(Watch::default());
    }

    /// What happened at the last edge, if observed: nothing if the block slept through it. Each
    /// edge's events are given once, so that a sleeping block does not repeat its last ones.
    pub fn take_watch(&mut self) -> Option<Watch> {
        self.noted.watch.as_mut().map(std::mem::take)
    }

    /// Starts to count for the load instructions of another kernel, which has so many instructions.
    pub fn count_loads(&mut self, instructions: usize) {
        self.noted.loads.clear();
        self.noted.loads.resize(instructions, LoadStats::default());
    }

    /// What each load instruction of the kernel found so far, by its program counter.
    #[must_use]
    pub fn loads(&self) -> &[LoadStats] {
        &self.noted.loads
    }

    /// How long loads and reads were in each part of the machine, of all kernels.
    #[must_use]
    pub fn stages(&self) -> &Stages {
        &self.noted.stages
    }

    /// Has the L1D admit these lines alone from now on, which are in order.
    pub fn admit(&mut self, lines: &Arc<[u64]>) {
        self.caches[CacheId::L1d as usize].admit(lines);
    }

    /// Starts to keep digests of the arrays.
    pub fn record(&mut self) {
        self.caches.iter_mut().for_each(Cache::record);
    }

    /// True when nothing is outstanding.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty()
            && self.queue.is_empty()
            && self.caches.iter().all(Cache::is_idle)
            && self.miss_queue.is_empty()
            && !self.coalescer.busy()
            && self.write_backs == 0
    }

    /// Forgets every line at the end of a kernel; modified lines are local memory, which is dead.
    ///
    /// # Panics
    /// If a line is still on its way.
    pub fn flush(&mut self) {
        self.caches.iter_mut().for_each(Cache::flush);
        self.caches[CacheId::L1d as usize].set_original(self.fixed.starts_original);
    }

    /// Charges the refusals of a slept span and returns the counters of the L1D. `cycle` is the core
    /// cycle of the next edge.
    pub fn settle(&mut self, cycle: u64) -> L1Stats {
        self.charge(cycle);
        if let Some(refusal) = &mut self.known.refused {
            refusal.counted = cycle - 1;
        }
        self.caches[CacheId::L1d as usize].settle();
        *self.stats()
    }

    /// Counters of the L1D, complete up to the cycle given to [`Self::settle`].
    #[must_use]
    pub fn stats(&self) -> &L1Stats {
        self.stats_of(CacheId::L1d)
    }

    /// Counters of any of the caches, complete as those of [`Self::stats`].
    #[must_use]
    pub fn stats_of(&self, cache: CacheId) -> &L1Stats {
        &self.caches[cache as usize].stats
    }

    /// Every reserved way has exactly one pending MSHR entry.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        self.caches.iter().all(Cache::is_consistent)
    }
}
