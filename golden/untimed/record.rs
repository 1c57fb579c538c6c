//! # What the loads of a launch ask for, written down
//! Which warp runs next does not depend on what caches hold ([`run_warps`]), so that one run of the
//! interpreter stands for all runs that differ in the L1 or in the loads that go through it: a
//! [`Recording`] is answered by as many L1s as there are questions.

use std::collections::BTreeMap;

use isa::program::MemOp;

use super::lines::Lines;
use super::{Geometry, is_uncached, sectors};
use crate::interp::{Access, InterpError, Launch, Sms, WarpMemory, run_warps};
use crate::l1::coalescer::{WarpAccess, coalesce};
use crate::memory::FlatMemory;

/// One launch: what each static load asked for in all, and every line of it in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    sms: usize,
    loads: Vec<Asked>,
    events: Vec<Event>,
}

/// What a static load asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The load.
    pub pc: u32,
    /// Bytes asked for by lanes; a byte that two lanes read counts twice.
    pub bytes: u64,
    /// Lines asked for.
    pub transactions: u64,
    /// Sectors touched of these lines.
    pub sectors: u64,
    /// Whether it goes through the L1 as it is written.
    pub is_cached: bool,
}

/// A line that a warp asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Event {
    line: u64,
    sm: u32,
    /// Number of the load; [`STORE`] for stores and atomic operations.
    load: u32,
}

const STORE: u32 = u32::MAX;

impl Recording {
    /// Runs a launch of which each SM holds `sms.ctas` CTAs at once, on lines of `line_bytes`.
    ///
    /// # Errors
    /// As for [`run_warps`].
    pub fn new(launch: &Launch<'_>, sms: Sms, line_bytes: usize, memory: &mut FlatMemory) -> Result<Self, InterpError> {
        let mut recording = Self { sms: sms.count, ..Self::default() };
        let mut numbers = BTreeMap::new();
        run_warps(launch, sms, memory, &mut |access| recording.add(access, line_bytes, &mut numbers))?;
        Ok(recording)
    }

    fn add(&mut self, access: &WarpMemory<'_>, line_bytes: usize, numbers: &mut BTreeMap<u32, usize>) {
        let WarpMemory { sm, pc, mem, access, mask, addresses, resident: _ } = *access;
        let lanes = WarpAccess { active: mask, addresses, width: mem.bytes() as usize };
        // A misaligned lane ends the launch as soon as the instruction runs.
        let Ok(requests) = coalesce(&lanes, line_bytes) else { return };
        let mut load = STORE;
        if access == Access::Load {
            let number = *numbers.entry(pc).or_insert(self.loads.len());
            if number == self.loads.len() {
                self.loads.push(Asked::new(pc, mem));
            }
            let asked = &mut self.loads[number];
            asked.bytes += u64::from(mask.count_ones() * mem.bytes());
            asked.transactions += requests.len() as u64;
            asked.sectors += requests.iter().map(|request| sectors(request.byte_mask)).sum::<u64>();
            load = number as u32;
        }
        self.events.extend(requests.iter().map(|request| Event { line: request.line, sm: sm as u32, load }));
    }

    /// The loads, in the order in which they were first met.
    #[must_use]
    pub fn loads(&self) -> &[Asked] {
        &self.loads
    }

    /// SMs that took part.
    pub(super) fn sms(&self) -> usize {
        self.sms
    }

    /// The SM and the line of every request, of loads and of all others, in order.
    pub(super) fn requests(&self) -> impl Iterator<Item = (u32, u64)> {
        self.events.iter().map(|event| (event.sm, event.line))
    }

    /// Lines that each load finds in an L1 that is empty at first, when only some loads go through it.
    ///
    /// # Panics
    /// If `cached` has not one entry for each load.
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

impl Asked {
    fn new(pc: u32, mem: &MemOp) -> Self {
        Self { pc, bytes: 0, transactions: 0, sectors: 0, is_cached: !is_uncached(mem) }
    }
}
