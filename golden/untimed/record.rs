//! # Recorded memory requests of a launch
//! Records the memory requests of a launch, to replay them through different L1s. The order of warps does not
//! depend on cache contents ([`run_warps`]). One interpreter run therefore suffices for all L1 geometries and
//! for every choice of the loads to cache: [`Recording::hits`] replays a [`Recording`] through an L1.

use std::collections::BTreeMap;

use isa::program::MemOp;

use super::lines::Lines;
use super::{Geometry, is_uncached, sectors};
use crate::interp::{Access, InterpError, Launch, Sms, WarpMemory, run_warps};
use crate::l1::coalescer::{WarpAccess, coalesce};
use crate::memory::FlatMemory;

/// Recorded requests of one launch: totals for each static load, and the sequence of all line requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    sms: usize,
    loads: Vec<LoadRequests>,
    events: Vec<Event>,
}

/// Requests of one static load, that is, one load instruction of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadRequests {
    /// Program counter of the load.
    pub pc: u32,
    /// Number of bytes that the lanes requested; a byte that two lanes read counts twice.
    pub bytes: u64,
    /// Number of requests, each for one line.
    pub transactions: u64,
    /// Number of sectors that the line requests touched.
    pub sectors: u64,
    /// True if the load uses the L1, as determined by its cache operator in the program.
    pub is_cached: bool,
}

/// Request of a warp for one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Event {
    line: u64,
    sm: u32,
    /// Index of the static load that made the request, or [`STORE`] for a store or atomic operation.
    load: u32,
}

const STORE: u32 = u32::MAX;

impl Recording {
    /// Runs a launch on SMs with up to `sms.ctas` resident CTAs each, and records its requests for lines of
    /// `line_bytes` bytes.
    ///
    /// # Errors
    /// Returns the same errors as [`run_warps`].
    pub fn new(launch: &Launch<'_>, sms: Sms, line_bytes: usize, memory: &mut FlatMemory) -> Result<Self, InterpError> {
        let mut recording = Self { sms: sms.count, ..Self::default() };
        let mut numbers = BTreeMap::new();
        run_warps(launch, sms, memory, &mut |access| recording.add(access, line_bytes, &mut numbers))?;
        Ok(recording)
    }

    fn add(&mut self, access: &WarpMemory<'_>, line_bytes: usize, numbers: &mut BTreeMap<u32, usize>) {
        let WarpMemory { sm, pc, mem, access, mask, addresses, resident: _ } = *access;
        let lanes = WarpAccess { active: mask, addresses, width: mem.bytes() as usize };
        // A misaligned access ends the launch when its instruction executes, so it is not recorded.
        let Ok(requests) = coalesce(&lanes, line_bytes) else { return };
        let mut load = STORE;
        if access == Access::Load {
            let number = *numbers.entry(pc).or_insert(self.loads.len());
            if number == self.loads.len() {
                self.loads.push(LoadRequests::new(pc, mem));
            }
            let asked = &mut self.loads[number];
            asked.bytes += u64::from(mask.count_ones() * mem.bytes());
            asked.transactions += requests.len() as u64;
            asked.sectors += requests.iter().map(|request| sectors(request.byte_mask)).sum::<u64>();
            load = number as u32;
        }
        self.events.extend(requests.iter().map(|request| Event { line: request.line, sm: sm as u32, load }));
    }

    /// Returns the static loads, in the order of their first execution.
    #[must_use]
    pub fn loads(&self) -> &[LoadRequests] {
        &self.loads
    }

    /// Returns the number of SMs of the recorded launch.
    pub(super) fn sms(&self) -> usize {
        self.sms
    }

    /// Yields the SM and the line of every recorded request (of loads, stores and atomics), in order.
    pub(super) fn requests(&self) -> impl Iterator<Item = (u32, u64)> {
        self.events.iter().map(|event| (event.sm, event.line))
    }

    /// Returns the number of L1 hits of each static load, with an L1 that is empty at the start. A load
    /// bypasses the L1 unless its entry in `cached` is true.
    ///
    /// # Panics
    /// Panics if `cached` does not have one entry per static load.
    #[must_use]
    pub fn hits(&self, l1: Geometry, cached: &[bool]) -> Vec<u64> {
        assert_eq!(cached.len(), self.loads.len(), "one entry for each load");
        let mut sms = vec![Lines::new(l1); self.sms];
        let mut hits = vec![0; cached.len()];
        for &Event { line, sm, load } in &self.events {
            let lines = &mut sms[sm as usize];
            if load == STORE {
                lines.remove(line);
            } else if cached[load as usize] && lines.reach(line, false).hit {
                hits[load as usize] += 1;
            }
        }
        hits
    }
}

impl LoadRequests {
    fn new(pc: u32, mem: &MemOp) -> Self {
        Self { pc, bytes: 0, transactions: 0, sectors: 0, is_cached: !is_uncached(mem) }
    }
}
