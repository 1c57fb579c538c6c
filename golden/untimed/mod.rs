//! # Untimed caches of the machine
//! Determines hit or miss of every load of a kernel in caches without latency: nothing is in flight, waits or
//! stalls. The hit rates depend only on the kernel, the geometry and the access order of [`run_warps`]. Any
//! difference from the clocked machine is an effect of its timing.
//!
//! * L1, one per SM: loads allocate, stores evict and are written through (khairy2015 section 3.1), LRU. It
//!   is empty at the start of every launch.
//! * Loads whose cache operator bypasses the L1 request sectors of 32 bytes from the L2; all others request
//!   whole lines.
//! * L2, interleaved banks: write-back, write-allocate, LRU. Its contents persist from launch to launch. An
//!   L1 line may span several L2 lines, each of which hits or misses on its own. A request hits if all
//!   requested L2 lines hit.
//!
//! Atomic operations count as stores: they evict from the L1 and write in the L2. Only accesses to global
//! memory are counted. Constants, textures and local memory have their own caches or lines.

mod admitted;
pub(crate) mod lines;
mod locality;
mod record;
mod reuse;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use isa::program::MemOp;
use isa::types::CacheOp;

use crate::index::SetIndex;
use crate::interp::{Access, InterpError, Launch, Sms, WarpMemory, run_warps};
use crate::l1::coalescer::{WarpAccess, coalesce};
use crate::l2::bank::Banks;
use crate::memory::FlatMemory;
use lines::Lines;

pub use admitted::CountScope;
pub use locality::{AccessCounts, CLASS_NAMES, CLASSES, Locality, LocalityCounts};
pub use record::{LoadRequests, Recording};
pub use reuse::{DISTANCES, REFERENCES, Reuse};

/// Transfer granularity of the L2 in bytes. A load that bypasses the L1 transfers only the sectors that it
/// touches (xie2013 section 4.1).
pub const SECTOR_BYTES: usize = 32;

/// Sets and ways of a cache.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    /// Index function, which maps a line to its set.
    pub index: SetIndex,
    /// Number of ways per set.
    pub ways: usize,
}

/// Configuration of the caches of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Number of SMs, each with its own L1.
    pub num_sms: usize,
    /// Line size of the L1 in bytes.
    pub line_bytes: usize,
    /// Number of sets and ways of each L1.
    pub l1: Geometry,
    /// True if every load bypasses the L1.
    pub bypass: bool,
    /// Number of sets and ways of each L2 bank. Each bank numbers its lines separately.
    pub l2: Geometry,
    /// Line size of the L2 in bytes; at most the line size of the L1.
    pub l2_line_bytes: usize,
    /// Interleaving of lines across the L2 banks.
    pub banks: Banks,
}

/// Untimed L1 and L2 caches of a machine. The contents of the L2 persist over the launches of a run.
#[derive(Clone, Debug)]
pub struct Caches {
    config: Config,
    l1: Vec<Lines<bool>>,
    l2: Vec<Lines<bool>>,
}

/// Memory profile of one or more launches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Number of warp instructions executed, including those that a guard disables in all lanes.
    pub warp_instructions: u64,
    /// Profile of each global load, by its program counter.
    pub loads: BTreeMap<u32, Load>,
    /// Profile of all global stores and atomic operations together.
    pub stores: Stores,
    /// Number of dirty lines that the L2 evicted to memory.
    pub write_backs: u64,
}

/// Memory profile of one static load, that is, one load instruction of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Number of times that a warp executed the load with at least one active lane.
    pub warps: u64,
    /// Number of active lanes, summed over all executions of the load.
    pub lanes: u64,
    /// Number of requests, each for one line.
    pub transactions: u64,
    /// Largest number of line requests that a single execution of the load by a warp caused.
    pub most: u64,
    /// Number of line requests that hit in the L1.
    pub l1_hits: u64,
    /// Number of line requests that bypassed the L1.
    pub bypasses: u64,
    /// Number of sectors touched by requests that bypassed the L1.
    pub bypassed_sectors: u64,
    /// Number of line requests that were not served by the L1 and hit in the L2.
    pub l2_hits: u64,
}

/// Memory profile of all stores and atomic operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stores {
    /// Number of times that a warp executed a store or atomic with at least one active lane.
    pub warps: u64,
    /// Number of write requests, each for one line.
    pub transactions: u64,
    /// Number of lines that stores and atomics evicted from an L1.
    pub l1_evictions: u64,
    /// Number of write requests that hit in the L2.
    pub l2_hits: u64,
}

impl Load {
    /// Returns the number of line requests that went to the L2.
    #[must_use]
    pub fn l2_reads(&self) -> u64 {
        self.transactions - self.l1_hits
    }

    /// Returns the number of bytes requested from the L2: `line_bytes` for each L1 miss, and the touched
    /// sectors for each request that bypassed the L1.
    #[must_use]
    pub fn l2_bytes(&self, line_bytes: u64) -> u64 {
        (self.l2_reads() - self.bypasses) * line_bytes + self.bypassed_sectors * SECTOR_BYTES as u64
    }

    /// Adds the counts of another launch, or of another load, to these counts.
    pub fn add(&mut self, other: &Load) {
        let Load { warps, lanes, transactions, most, l1_hits, bypasses, bypassed_sectors, l2_hits } = other;
        self.warps += warps;
        self.lanes += lanes;
        self.transactions += transactions;
        self.most = self.most.max(*most);
        self.l1_hits += l1_hits;
        self.bypasses += bypasses;
        self.bypassed_sectors += bypassed_sectors;
        self.l2_hits += l2_hits;
    }
}

impl Profile {
    /// Returns the sum of the profiles of all loads.
    #[must_use]
    pub fn all_loads(&self) -> Load {
        self.loads.values().fold(Load::default(), |mut all, load| {
            all.add(load);
            all
        })
    }

    /// Adds the profile of another launch to this one. Loads with equal program counters count as the same
    /// load.
    pub fn add(&mut self, other: &Profile) {
        let Profile { warp_instructions, loads, stores, write_backs } = other;
        self.warp_instructions += warp_instructions;
        for (pc, load) in loads {
            self.loads.entry(*pc).or_default().add(load);
        }
        let Stores { warps, transactions, l1_evictions, l2_hits } = stores;
        self.stores.warps += warps;
        self.stores.transactions += transactions;
        self.stores.l1_evictions += l1_evictions;
        self.stores.l2_hits += l2_hits;
        self.write_backs += write_backs;
    }
}

impl Caches {
    /// Creates empty caches for a run.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let lines = |geometry: Geometry, count: usize| vec![Lines::new(geometry); count];
        Self { config, l1: lines(config.l1, config.num_sms), l2: lines(config.l2, config.banks.count as usize) }
    }

    /// Runs a launch with up to `ctas` resident CTAs per SM, and returns its memory profile.
    ///
    /// # Errors
    /// Returns the same errors as [`run_warps`].
    pub fn run(&mut self, launch: &Launch<'_>, ctas: usize, memory: &mut FlatMemory) -> Result<Profile, InterpError> {
        self.l1.iter_mut().for_each(Lines::clear);
        let mut profile = Profile::default();
        let sms = Sms { count: self.config.num_sms, ctas };
        profile.warp_instructions = run_warps(launch, sms, memory, &mut |access| self.access(access, &mut profile))?;
        Ok(profile)
    }

    fn access(&mut self, access: &WarpMemory<'_>, profile: &mut Profile) {
        let WarpMemory { sm, pc, mem, access, mask, addresses, resident: _ } = *access;
        let lanes = WarpAccess { active: mask, addresses, width: mem.bytes() as usize };
        // A misaligned access ends the launch when its instruction executes, so it is not counted.
        let Ok(requests) = coalesce(&lanes, self.config.line_bytes) else { return };
        let count = requests.len() as u64;
        if access != Access::Load {
            profile.stores.warps += 1;
            profile.stores.transactions += count;
            for request in requests {
                profile.stores.l1_evictions += u64::from(self.l1[sm].remove(request.line).is_some());
                profile.stores.l2_hits +=
                    u64::from(self.reach_l2(request.line, request.byte_mask, true, &mut profile.write_backs));
            }
            return;
        }
        let mut load =
            Load { warps: 1, lanes: mask.count_ones().into(), transactions: count, most: count, ..Load::default() };
        let passes = self.config.bypass || is_uncached(mem);
        for request in requests {
            let asked = if passes { request.byte_mask } else { u128::MAX };
            if passes {
                load.bypasses += 1;
                load.bypassed_sectors += sectors(request.byte_mask);
            } else if self.l1[sm].reach(request.line, false).hit {
                load.l1_hits += 1;
                continue;
            }
            load.l2_hits += u64::from(self.reach_l2(request.line, asked, false, &mut profile.write_backs));
        }
        profile.loads.entry(pc).or_default().add(&load);
    }

    /// Accesses the L2 for the bytes of L1 line `line` that `byte_mask` selects. Returns true if all L2 lines
    /// that contain any of these bytes were present.
    fn reach_l2(&mut self, line: u64, byte_mask: u128, write: bool, write_backs: &mut u64) -> bool {
        let Config { line_bytes, l2_line_bytes, banks, .. } = self.config;
        let parts = line_bytes / l2_line_bytes;
        let bytes_of_part = u128::MAX >> (128 - l2_line_bytes);
        let mut hit = true;
        for part in (0..parts).filter(|part| byte_mask >> (part * l2_line_bytes) & bytes_of_part != 0) {
            let (bank, line) = banks.locate(line * parts as u64 + part as u64);
            let reached = self.l2[bank as usize].reach(line, write);
            *write_backs += u64::from(reached.wrote_back);
            hit &= reached.hit;
        }
        hit
    }
}

/// True if the load instruction itself requires that the L1 be bypassed: it is volatile, or has the cache
/// operator `.cg` or `.cv`.
#[must_use]
pub fn is_uncached(mem: &MemOp) -> bool {
    mem.volatile || matches!(mem.cache, CacheOp::Cg | CacheOp::Cv)
}

/// Returns the number of sectors of a line in which `byte_mask` selects at least one byte.
fn sectors(byte_mask: u128) -> u64 {
    let sector = (1 << SECTOR_BYTES) - 1;
    (0..u128::BITS as usize).step_by(SECTOR_BYTES).filter(|at| byte_mask >> at & sector != 0).count() as u64
}
