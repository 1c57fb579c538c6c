//! # What the caches of the LSU did at one edge
//! The LSU reports its accepted and refused events to whoever checks it: testbenches, and the
//! golden twin that runs in lockstep under `--check`. Off, it costs one branch a cycle.

use serde::{Deserialize, Serialize};

use super::access::MemorySpace;
use super::cache::{CACHES, CacheId};
use super::mshr::Waiter;
use crate::cells::line::SECTORS;
use crate::kernel::Reason;

/// Why an access was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Reason)]
pub enum Fail {
    /// Every way of the set is reserved.
    LineAlloc,
    /// No MSHR entry, or the line still drains.
    MshrEntry,
    /// The pending line is closed or full.
    MshrMerge,
    /// The miss queue lacks room.
    MissQueue,
}

/// Number of reasons.
pub const NUM_FAILS: usize = Fail::ALL.len();

/// What becomes of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A load found its line.
    Hit,
    /// A load waits for a line on its way.
    HitPending,
    /// A load asked memory; the line that gave way and whether it was modified.
    Miss(Option<(u64, bool)>),
    /// A global store or an atomic dropped the copy.
    Evicted,
    /// A local store wrote the copy.
    WrittenBack,
    /// A global store wrote the copy, as memory.
    Updated,
    /// A store or an atomic found no copy.
    StoreMissed,
    /// A store or an atomic overtook a line on its way.
    Overtook,
    /// Refused: the reason reported and all failing conditions, bit `Fail as u8` each.
    Refused(Fail, u8),
}

/// What a recall by the L2 led to in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recalled {
    /// Nothing: there is no copy.
    Absent,
    /// The copy is gone.
    Dropped,
    /// The copy on its way will be gone when it arrives.
    Overtook,
    /// The copy stays: only this SM knows its bytes, and only this SM uses them.
    Kept,
}

/// One access at the tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load that may allocate.
    Load {
        /// Where it was looked up.
        cache: CacheId,
        /// Address space.
        space: MemorySpace,
        /// Line address.
        line: u64,
        /// Program counter of the load.
        pc: u32,
        /// Who waits.
        waiter: Waiter,
        /// Miss-queue entries in use when it was decided.
        queue_used: u32,
        /// What became of it.
        outcome: Outcome,
    },
    /// A store.
    Store {
        /// Line address.
        line: u64,
        /// Global or local.
        space: MemorySpace,
        /// Whose store it is.
        waiter: Waiter,
        /// Miss-queue entries in use when it was decided.
        queue_used: u32,
        /// What became of it.
        outcome: Outcome,
    },
    /// An atomic or a reduction, or a store past a cache whose copies others update.
    Atomic {
        /// Line address.
        line: u64,
        /// Whose it is.
        waiter: Waiter,
        /// Miss-queue entries in use when it was decided.
        queue_used: u32,
        /// What became of it.
        outcome: Outcome,
    },
    /// A load on the bypass path.
    Bypass {
        /// Line address.
        line: u64,
        /// Program counter of the load.
        pc: u32,
        /// Who waits.
        waiter: Waiter,
        /// A scheme sent it there, not its instruction or the configuration.
        chosen: bool,
    },
}

/// Accesses beside the first at one edge, at most.
pub const BESIDE: usize = SECTORS as usize - 1;

/// Events of one edge, in the order in which they happened: end of a period, fill, recall, supply, drain, mode,
/// access, those beside it, instruction taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// The core says that a period has ended, and whether the cache may close.
    pub period: Option<bool>,
    /// A line arrived, or sectors of one: where, its address, its sectors, and those that stay.
    pub fill: Option<(CacheId, u64, u8, u8)>,
    /// A bank gave a line up: which, and what that led to in each cache.
    pub recall: Option<(u64, [Recalled; CACHES])>,
    /// Another SM was to be supplied with sectors of a line, and whether they were there.
    pub supply: Option<(u64, u8, bool)>,
    /// A waiter left an MSHR: of which cache, line and waiter.
    pub drain: Option<(CacheId, u64, Waiter)>,
    /// The L1D now admits every load, or those that its threshold admits (SM dueling).
    pub original: Option<bool>,
    /// A coherent load went past, and no copy of its line may stay: which line, and what that led to in each cache.
    pub dropped: Option<(u64, [Recalled; CACHES])>,
    /// The access at the tags.
    pub access: Option<Access>,
    /// Those that were served beside it, in their order: hits of the same instruction.
    pub beside: [Option<Access>; BESIDE],
    /// An instruction was taken: its row of the pending table.
    pub taken: Option<u8>,
    /// An instruction was taken where loads are judged: its row of the pending table, and whether it contends.
    pub judged: Option<(u8, bool)>,
}

impl Watch {
    /// All accesses at the tags, in their order.
    pub fn accesses(&self) -> impl Iterator<Item = &Access> {
        self.access.iter().chain(self.beside.iter().flatten())
    }

    /// Whether a load went past the L1D.
    #[must_use]
    pub fn went_past(&self) -> bool {
        matches!(self.access, Some(Access::Bypass { .. }))
    }

    /// The loads that the L1D accepted: their lines, and whether they missed or went past.
    pub fn accepted_loads(&self) -> impl Iterator<Item = (u64, bool)> {
        self.accesses().filter_map(|access| match *access {
            Access::Bypass { line, .. } => Some((line, true)),
            Access::Load { cache: CacheId::L1d, line, outcome, .. } => match outcome {
                Outcome::Miss(_) => Some((line, true)),
                Outcome::Hit | Outcome::HitPending => Some((line, false)),
                _ => None,
            },
            Access::Load { .. } | Access::Store { .. } | Access::Atomic { .. } => None,
        })
    }
}
