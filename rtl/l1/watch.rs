//! # Events of the caches of the LSU at one edge
//! Reports the accepted and refused events of the LSU to its checkers: testbenches, and the golden twin that
//! runs in lockstep under `--check`. When disabled, it costs the host one branch per cycle.

use serde::{Deserialize, Serialize};

use super::access::MemorySpace;
use super::cache::{CACHES, CacheId};
use super::mshr::Waiter;
use super::prefetch::unit::{Enqueued, PrefetchOutcome};
use crate::cells::line::SECTORS;
use crate::kernel::Reason;

/// Reason why an access was refused (reservation fail).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Reason)]
pub enum Fail {
    /// Every way of the set is reserved.
    LineAlloc,
    /// No MSHR entry is free, or the line still has waiters to serve.
    MshrEntry,
    /// The MSHR entry of the line in flight is closed or full.
    MshrMerge,
    /// The miss queue lacks room.
    MissQueue,
}

/// Number of reasons for a refusal.
pub const NUM_FAILS: usize = Fail::ALL.len();

/// Outcome of an access at the tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Load that hit.
    Hit,
    /// Load that waits for a line in flight.
    HitPending,
    /// Load that missed and was sent to memory. Holds the evicted line, if any, with true if that line was
    /// modified.
    Miss(Option<(u64, bool)>),
    /// Load that found its line in the victim cache.
    VictimHit(VictimMove),
    /// Global store or atomic that evicted the cached copy.
    Evicted,
    /// Local store that updated the cached copy, which is written back later.
    WrittenBack,
    /// Global store that updated both the cached copy and memory.
    Updated,
    /// Store or atomic that found no cached copy.
    StoreMissed,
    /// Store or atomic to a line in flight, which is therefore invalidated on arrival.
    Overtook,
    /// Refused access: the reported condition, and the mask of all failing conditions, bit `Fail as u8` each.
    Refused(Fail, u8),
}

/// Movement of a line that a load has found in the victim cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimMove {
    /// The line stays in the victim cache.
    Stays,
    /// The line moves to the L1D. Holds the line that the L1D evicted for it, if any, with true if that line
    /// was modified.
    ToL1d(Option<(u64, bool)>),
}

/// Effect of a recall by the L2 on a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecallEffect {
    /// No copy was found.
    Absent,
    /// The copy was dropped.
    Dropped,
    /// The copy is in flight and will be dropped on arrival.
    Overtook,
    /// The copy stays: it is modified local memory, which only this SM holds and uses.
    Kept,
}

/// Access at the tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Load that looks up a cache, and can allocate a line there.
    Load {
        /// Cache in which the line was looked up.
        cache: CacheId,
        /// Address space.
        space: MemorySpace,
        /// Line address.
        line: u64,
        /// Program counter of the load.
        pc: u32,
        /// Warp slot of the load.
        warp: u8,
        /// Pending-table row and lanes that wait for the line.
        waiter: Waiter,
        /// Number of miss-queue entries in use when the access was decided.
        queue_used: u32,
        /// Outcome of the load.
        outcome: Outcome,
    },
    /// Store.
    Store {
        /// Line address.
        line: u64,
        /// Address space: global or local.
        space: MemorySpace,
        /// Pending-table row and lanes of the store.
        waiter: Waiter,
        /// Number of miss-queue entries in use when the access was decided.
        queue_used: u32,
        /// Outcome of the store.
        outcome: Outcome,
    },
    /// Atomic or reduction, or an uncached store in a cache where other stores update the copy.
    Atomic {
        /// Line address.
        line: u64,
        /// Pending-table row and lanes of the access.
        waiter: Waiter,
        /// Number of miss-queue entries in use when the access was decided.
        queue_used: u32,
        /// Outcome of the access.
        outcome: Outcome,
    },
    /// Load on the bypass path.
    Bypass {
        /// Line address.
        line: u64,
        /// Program counter of the load.
        pc: u32,
        /// Pending-table row and lanes that wait for the reply.
        waiter: Waiter,
        /// True if a scheme made the load bypass; false if the instruction or the configuration did.
        chosen: bool,
    },
}

/// Lookup of a queued prefetch in the L1D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefetchLookup {
    /// Line address.
    pub line: u64,
    /// Number of miss-queue entries in use when the lookup was decided.
    pub queue_used: u32,
    /// Number of miss-queue entries in use that are reads of prefetches.
    pub queued: u32,
    /// Outcome of the lookup.
    pub outcome: PrefetchOutcome,
}

/// Largest number of further accesses served in the cycle of the first one.
pub const BESIDE: usize = SECTORS as usize - 1;

/// Events of one edge, in this order: end of a period, fill, recall, supply, drain, mode, prefetch, access,
/// further accesses, instruction accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// End of a throttle period; true if the streaming monitor may close the cache.
    pub period: Option<bool>,
    /// Fill of a line or of sectors: cache, line address, filled sectors, and the sectors that stay valid.
    pub fill: Option<(CacheId, u64, u8, u8)>,
    /// Recall by an L2 bank: line address, and the effect in each cache.
    pub recall: Option<(u64, [RecallEffect; CACHES])>,
    /// Request of another SM for a line: line address, sectors, and true if these sectors were present.
    pub supply: Option<(u64, u8, bool)>,
    /// Waiter that left an MSHR: cache, line address and waiter.
    pub drain: Option<(CacheId, u64, Waiter)>,
    /// New mode from SM dueling: true if the L1D now admits every load, false if its threshold applies.
    pub original: Option<bool>,
    /// Coherent load that bypassed, so that every copy of its line is dropped: line address, and the effect
    /// in each cache.
    pub dropped: Option<(u64, [RecallEffect; CACHES])>,
    /// Lookup of the oldest queued prefetch, in a cycle without an access.
    pub prefetch: Option<PrefetchLookup>,
    /// Line that the prefetcher has returned.
    pub enqueued: Option<Enqueued>,
    /// First access at the tags.
    pub access: Option<Access>,
    /// Further accesses served in the same cycle, in order: hits of the same instruction.
    pub beside: [Option<Access>; BESIDE],
    /// Instruction accepted: its pending-table row.
    pub taken: Option<u8>,
    /// Instruction accepted in a machine that tests loads for contention: its pending-table row, and true if
    /// it contends.
    pub judged: Option<(u8, bool)>,
}

impl Watch {
    /// Returns all accesses at the tags, in order.
    pub fn accesses(&self) -> impl Iterator<Item = &Access> {
        self.access.iter().chain(self.beside.iter().flatten())
    }

    /// True if a load bypassed the L1D at this edge.
    #[must_use]
    pub fn is_bypass(&self) -> bool {
        matches!(self.access, Some(Access::Bypass { .. }))
    }

    /// Returns the line of each load that the L1D accepted, with true if the load missed or bypassed.
    pub fn accepted_loads(&self) -> impl Iterator<Item = (u64, bool)> {
        self.accesses().filter_map(|access| match *access {
            Access::Bypass { line, .. } => Some((line, true)),
            Access::Load { cache: CacheId::L1d, line, outcome, .. } => match outcome {
                Outcome::Miss(_) => Some((line, true)),
                Outcome::Hit | Outcome::HitPending | Outcome::VictimHit(_) => Some((line, false)),
                _ => None,
            },
            Access::Load { .. } | Access::Store { .. } | Access::Atomic { .. } => None,
        })
    }
}
