//! # The machine's caches without time
//! What each load of a kernel finds in caches that answer at once: no line is ever on its way, nothing
//! waits, nothing is refused. The hit rates are a property of the kernel and of the geometry alone, for
//! the order of accesses that [`run_warps`] documents; where the clocked machine differs, its timing is
//! the reason.
//!
//! * L1, one an SM: loads allocate, stores evict and go on (khairy2015 section 3.1), LRU; empty at
//!   the start of every launch.
//! * Loads whose cache operator keeps them out of the L1 ask the L2 for sectors of 32 bytes, all others
//!   for whole lines.
//! * L2, banks that take lines in turn: write-back, write-allocate, LRU; lasts from launch to launch.
//!   An L1 line may have several of its lines, each of which hits or misses by itself; it was found if
//!   all were that were asked for.
//!
//! Atomic operations are counted as stores: they evict from the L1 and write in the L2. Only accesses to
//! global memory are counted; constants, textures and local memory have caches or lines of their own.

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

pub use admitted::Counted;
pub use locality::{CLASS_NAMES, CLASSES, Found, Locality, Reached};
pub use record::{Asked, Recording};
pub use reuse::{DISTANCES, REFERENCES, Reuse};

/// Bytes that the L2 sends at least: what a load that passes by the L1 moves for each part of a line
/// that it touches (xie2013 section 4.1).
pub const SECTOR_BYTES: usize = 32;

/// Sets and ways of a cache.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    /// Line to set.
    pub index: SetIndex,
    /// Lines of a set.
    pub ways: usize,
}

/// The caches of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// SMs, each with an L1.
    pub num_sms: usize,
    /// Bytes of a line of an L1.
    pub line_bytes: usize,
    /// L1 of an SM.
    pub l1: Geometry,
    /// Whether every load passes by the L1.
    pub bypass: bool,
    /// One bank of the L2; it numbers its own lines.
    pub l2: Geometry,
    /// Bytes of its lines, at most those of an L1's.
    pub l2_line_bytes: usize,
    /// Banks of the L2.
    pub banks: Banks,
}

/// Caches that last over the launches of a run.
#[derive(Clone, Debug)]
pub struct Caches {
    config: Config,
    l1: Vec<Lines<bool>>,
    l2: Vec<Lines<bool>>,
}

/// What the warps of a launch asked for and found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Instructions of warps, those that a guard switched off included.
    pub warp_instructions: u64,
    /// Global loads by pc.
    pub loads: BTreeMap<u32, Load>,
    /// Global stores and atomic operations of all pcs.
    pub stores: Stores,
    /// Dirty lines that the L2 wrote to memory to make room.
    pub write_backs: u64,
}

/// What one static load asked for and found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Warp instructions with at least one lane.
    pub warps: u64,
    /// Lanes that took part.
    pub lanes: u64,
    /// Lines asked for.
    pub transactions: u64,
    /// Most lines that one warp instruction asked for.
    pub most: u64,
    /// Lines found in the L1.
    pub l1_hits: u64,
    /// Lines that passed by the L1.
    pub bypasses: u64,
    /// Sectors touched of the lines that passed by the L1.
    pub bypassed_sectors: u64,
    /// Lines not in the L1 but found in the L2.
    pub l2_hits: u64,
}

/// What stores asked for and found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stores {
    /// Warp instructions with at least one lane.
    pub warps: u64,
    /// Lines written to.
    pub transactions: u64,
    /// Lines thrown out of an L1.
    pub l1_evictions: u64,
    /// Lines found in the L2.
    pub l2_hits: u64,
}

impl Load {
    /// Lines asked of the L2.
    #[must_use]
    pub fn l2_reads(&self) -> u64 {
        self.transactions - self.l1_hits
    }

    /// Bytes asked of the L2: a line of `line_bytes` for each miss, and the sectors that passed by.
    #[must_use]
    pub fn l2_bytes(&self, line_bytes: u64) -> u64 {
        (self.l2_reads() - self.bypasses) * line_bytes + self.bypassed_sectors * SECTOR_BYTES as u64
    }

    /// Adds what another launch, or another load, counted.
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
    /// All loads together.
    #[must_use]
    pub fn all_loads(&self) -> Load {
        self.loads.values().fold(Load::default(), |mut all, load| {
            all.add(load);
            all
        })
    }

    /// Adds what another launch counted; loads of one pc are taken for one load.
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
    /// Empty caches.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let lines = |geometry: Geometry, count: usize| vec![Lines::new(geometry); count];
        Self { config, l1: lines(config.l1, config.num_sms), l2: lines(config.l2, config.banks.count as usize) }
    }

    /// Runs a launch of which each SM holds `ctas` CTAs at once.
    ///
    /// # Errors
    /// As for [`run_warps`].
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
        // A misaligned lane ends the launch as soon as the instruction runs.
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

    /// True if all lines were there that hold bytes asked of an L1 line.
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

/// Whether the instruction itself keeps a load out of the L1.
#[must_use]
pub fn is_uncached(mem: &MemOp) -> bool {
    mem.volatile || matches!(mem.cache, CacheOp::Cg | CacheOp::Cv)
}

/// Sectors of a line that hold a byte of the mask.
fn sectors(byte_mask: u128) -> u64 {
    let sector = (1 << SECTOR_BYTES) - 1;
    (0..u128::BITS as usize).step_by(SECTOR_BYTES).filter(|at| byte_mask >> at & sector != 0).count() as u64
}
