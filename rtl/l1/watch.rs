//! # Events of the caches of the LSU at one clock edge
//! Reports the accepted and refused accesses and other events of the LSU to its checkers: testbenches, and
//! the golden model that runs in lockstep under `--check`. When disabled, it costs the simulator one branch
//! per cycle.

use serde::{Deserialize, Serialize};

use super::access::MemorySpace;
use super::cache::{CACHES, CacheId};
use super::mshr::Waiter;
use super::prefetch::unit::{Enqueued, PrefetchOutcome};
use crate::cells::line::SECTORS;
use crate::kernel::Reason;
use crate::replacement::priority::EvictionPriority;

/// Reason why an access was refused (reservation fail).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Reason)]
pub enum Fail {
    /// Every way of the set is reserved.
    LineAlloc,
    /// No MSHR entry is free, or loads still wait to receive bytes of an earlier fill of the line.
    MshrEntry,
    /// The line is in flight, but its MSHR entry accepts no further load: a store has closed it, or it is
    /// full.
    MshrMerge,
    /// The miss queue has too few free entries.
    MissQueue,
    /// The MSHR has room, but the MSHR policy refuses the load; only with an `l1.mshr_policy`.
    MshrPolicy,
}

/// Number of reasons for which an access can be refused.
pub const NUM_FAILS: usize = Fail::ALL.len();

/// Outcome of an access that probed the tags of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Load that hit.
    Hit,
    /// Load that merged with a line in flight, and waits for it.
    HitPending,
    /// Load that missed and was sent to memory. Holds `(line, modified)` of the evicted line, or `None` if no
    /// line was evicted.
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
    /// Refused access. Holds the reported condition, and a mask of all failing conditions. Bit `n` of the
    /// mask stands for the `Fail` variant with value `n`.
    Refused(Fail, u8),
}

/// Result of a load that hits in the victim cache: whether its line moves to the L1D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimMove {
    /// The line stays in the victim cache, which serves the load.
    Stays,
    /// The line moves to the L1D. Holds `(line, modified)` of the line that the L1D evicted for it, or `None`
    /// if no line was evicted.
    ToL1d(Option<(u64, bool)>),
}

/// Effect of a recall by the L2 on a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecallEffect {
    /// The cache held no copy of the recalled line.
    Absent,
    /// The cache dropped its copy of the recalled line.
    Dropped,
    /// The recalled line is in flight to the cache, and will be dropped on arrival.
    Overtook,
    /// The cache keeps its copy, because the line is modified local memory, which only this SM uses.
    Kept,
}

/// Access that probed the tags, or was sent to memory on the bypass path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Load that is looked up in a cache. On a miss, the cache may allocate the line.
    Load {
        /// Cache in which the line was looked up.
        cache: CacheId,
        /// Address space of the load.
        space: MemorySpace,
        /// Address of the accessed line.
        line: u64,
        /// Program counter of the load.
        pc: u32,
        /// Eviction priority of the load.
        priority: EvictionPriority,
        /// Warp slot of the load.
        warp: u8,
        /// Row of the pending table, and mask of the lanes that wait for the line.
        waiter: Waiter,
        /// Number of miss-queue entries in use when the outcome of the access was decided.
        queue_used: u32,
        /// Outcome of the load, as decided by its tag probe.
        outcome: Outcome,
    },
    /// Store that accesses the L1D.
    Store {
        /// Address of the accessed line.
        line: u64,
        /// Address space of the store: global or local.
        space: MemorySpace,
        /// Row of the pending table, and mask of the lanes that store.
        waiter: Waiter,
        /// Number of miss-queue entries in use when the outcome of the access was decided.
        queue_used: u32,
        /// Outcome of the store, as decided by its tag probe.
        outcome: Outcome,
    },
    /// Atomic or reduction. Where global stores update the cached copy, also an uncached global store, which
    /// evicts the copy as an atomic does.
    Atomic {
        /// Address of the accessed line.
        line: u64,
        /// Row of the pending table, and mask of the lanes of the access.
        waiter: Waiter,
        /// Number of miss-queue entries in use when the outcome of the access was decided.
        queue_used: u32,
        /// Outcome of the access, as decided by its tag probe.
        outcome: Outcome,
    },
    /// Load that was sent to memory on the bypass path.
    Bypass {
        /// Address of the accessed line.
        line: u64,
        /// Program counter of the load.
        pc: u32,
        /// Eviction priority of the load.
        priority: EvictionPriority,
        /// Warp slot of the load.
        warp: u8,
        /// Row of the pending table, and mask of the lanes that wait for the reply.
        waiter: Waiter,
        /// True if a bypass scheme made the load bypass; false if its instruction or the configuration made
        /// it bypass.
        chosen: bool,
    },
}

/// Lookup of a queued prefetch in the L1D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefetchLookup {
    /// Address of the line to prefetch.
    pub line: u64,
    /// Number of miss-queue entries in use when the prefetch was looked up.
    pub queue_used: u32,
    /// Number of reads for prefetches that wait in the miss queue.
    pub queued: u32,
    /// Outcome of the prefetch's lookup in the L1D.
    pub outcome: PrefetchOutcome,
}

/// Largest number of further accesses that are served in the same cycle as the first access.
pub const MAX_EXTRA: usize = SECTORS as usize - 1;

/// Events of an LSU at one clock edge. They occur in this order: end of a throttle period, fill, recall,
/// supply to another SM, delivery to a waiting load, new mode, prefetch, access, further accesses, accepted
/// instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// End of a throttle period; true if the streaming monitor may close the cache, so that loads bypass it.
    pub period: Option<bool>,
    /// Fill of a line or of sectors: cache, line address, mask of the filled sectors, and mask of the filled
    /// sectors that stay valid.
    pub fill: Option<(CacheId, u64, u8, u8)>,
    /// Recall by an L2 bank: line address, and the effect in each cache.
    pub recall: Option<(u64, [RecallEffect; CACHES])>,
    /// Request of another SM for a line: line address, mask of the sectors, and true if these sectors were
    /// present.
    pub supply: Option<(u64, u8, bool)>,
    /// Waiting load that received its bytes and left its MSHR entry: cache, line address, and the load.
    pub drain: Option<(CacheId, u64, Waiter)>,
    /// New mode from SM dueling: true if the L1D now admits every load, false if its threshold applies.
    pub original: Option<bool>,
    /// Coherent load that bypassed, for which every L1 copy of its line was dropped: line address, and the
    /// effect in each cache.
    pub dropped: Option<(u64, [RecallEffect; CACHES])>,
    /// Lookup of the oldest queued prefetch, in a cycle without an access.
    pub prefetch: Option<PrefetchLookup>,
    /// Line that the prefetcher has proposed at this edge, and whether the line entered the prefetch queue.
    pub enqueued: Option<Enqueued>,
    /// First access of the cycle: it probed the tags, or was sent to memory on the bypass path.
    pub access: Option<Access>,
    /// Further accesses that are served in the same cycle as the first access, in order. All of them are hits
    /// and belong to the same load instruction.
    pub extra: [Option<Access>; MAX_EXTRA],
    /// Pending-table row of the instruction accepted at this edge.
    pub taken: Option<u8>,
    /// Instruction accepted at this edge, in a machine with a contention test: its pending-table row, and
    /// true if it touches at least as many lines as its warp's share of the L1D.
    pub judged: Option<(u8, bool)>,
}

impl Watch {
    /// Returns the first access and the further accesses of this edge, in order.
    pub fn accesses(&self) -> impl Iterator<Item = &Access> {
        self.access.iter().chain(self.extra.iter().flatten())
    }

    /// True if a load bypassed the L1D at this edge.
    #[must_use]
    pub fn is_bypass(&self) -> bool {
        matches!(self.access, Some(Access::Bypass { .. }))
    }

    /// Returns `(line, missed)` for each load that the L1D accepted at this edge; `missed` is true if the
    /// load missed or bypassed.
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
