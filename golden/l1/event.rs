//! # Events of the L1 data cache
//! Defines the events that reach the L1D and their possible outcomes. The reference model and the observer of
//! the clocked cache share these types.

use std::fmt;

use super::mshr::{NotPending, Replay};
use super::prefetch::unit::Delivery;
use crate::replacement::Eviction;

/// Set of sectors of a line, one bit per sector. A line that is filled as a whole has a single sector, bit 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sectors(pub u8);

impl Sectors {
    /// The only sector of a line that is filled as a whole.
    pub const WHOLE: Self = Self(1);

    /// Yields the numbers of the sectors in the set, in ascending order.
    pub fn each(self) -> impl Iterator<Item = u8> {
        (0..8).filter(move |part| self.0 >> part & 1 != 0)
    }

    /// True if the set contains no sector.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the sectors that are both in this set and in `other`.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the sectors of this set that `other` does not contain.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// Priority among reservation fails. It selects the one to report when several conditions fail at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailOrder {
    /// Priority from high to low: line allocation, MSHR, miss queue.
    #[default]
    MshrFirst,
    /// Priority from high to low: line allocation, miss queue, MSHR.
    QueueFirst,
}

/// Reservation fail: the reason for which the cache refuses an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fail {
    /// Every line of the set is reserved for a fill, so none can be evicted.
    LineAlloc,
    /// No MSHR entry is free, or loads that waited in an earlier entry of the same line are still being
    /// replayed.
    MshrEntry,
    /// The MSHR entry of the line in flight has no room for another load, or has been closed by a store.
    MshrMerge,
    /// The miss queue has too few free slots for the access.
    MissQueue,
    /// The MSHR policy refuses the load, although the MSHR has room for it.
    MshrPolicy,
}

/// All reservation fails that apply to an access in the same cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fails {
    /// True if line allocation fails: every line of the set is reserved for a fill.
    pub line_alloc: bool,
    /// True if the allocation of an MSHR entry fails.
    pub mshr_entry: bool,
    /// True if merging with the MSHR entry of the line in flight fails.
    pub mshr_merge: bool,
    /// True if the miss queue has too few free slots for the access.
    pub miss_queue: bool,
    /// True if the MSHR policy refuses the load, although the MSHR has room for it.
    pub mshr_policy: bool,
}

impl Fails {
    /// Returns the reservation fail to report under the priority `order`, or `None` if none applies.
    pub fn first(&self, order: FailOrder) -> Option<Fail> {
        let line = (self.line_alloc, Fail::LineAlloc);
        let merge = (self.mshr_merge, Fail::MshrMerge);
        let entry = (self.mshr_entry, Fail::MshrEntry);
        let queue = (self.miss_queue, Fail::MissQueue);
        let policy = (self.mshr_policy, Fail::MshrPolicy);
        let reasons = match order {
            FailOrder::MshrFirst => [line, merge, entry, policy, queue],
            FailOrder::QueueFirst => [line, queue, merge, entry, policy],
        };
        reasons.into_iter().find(|(fails, _)| *fails).map(|(_, reason)| reason)
    }
}

/// Line that a miss evicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Line number of the evicted line.
    pub line: u64,
    /// True if the evicted line is modified and must be written back.
    pub modified: bool,
}

/// Address space of an access, which determines the write policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Global memory, which all SMs share. A store is sent to memory, and a cached copy of its line is
    /// invalidated or updated, as the cache is configured.
    Global,
    /// Local memory, which is private to a thread. A store is written back to memory only when its line is
    /// evicted.
    Local,
}

/// Outcome of a load that looks up the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadOutcome {
    /// Hit: the data are present.
    Hit,
    /// Pending hit: the line is already in flight, and the load waits for it.
    HitPending,
    /// Victim hit: the victim cache holds the data.
    VictimHit {
        /// True if the line moves from the victim cache back to the cache.
        moves: bool,
        /// Line that the cache evicts to make room for the line from the victim cache, if any.
        victim: Option<Victim>,
    },
    /// Miss: the cache sends a request to memory, and evicts `victim` if no way was free.
    Miss {
        /// Line that the cache evicts for the miss, if any.
        victim: Option<Victim>,
    },
    /// Reservation fail: the cache refuses the load, and its state is unchanged.
    Refused {
        /// Reservation fail to report: of all that apply, the one with the highest configured priority.
        first: Fail,
        /// All reservation fails that apply to the access.
        all: Fails,
    },
}

/// Outcome of a store or an atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The cached copy is invalidated, and the data are sent to memory.
    Evicted,
    /// The cached copy takes the data and becomes modified; nothing is sent to memory.
    WrittenBack,
    /// The cached copy takes the data, and the data are sent to memory as well.
    Updated,
    /// The cache has no copy of the line; the data are sent to memory.
    Missed,
    /// The line is in flight to the cache. Its fill will be dropped on arrival, and no further load may merge
    /// with it.
    Pending,
    /// Reservation fail: the cache refuses the write, and its state is unchanged.
    Refused {
        /// Reservation fail to report: of all that apply, the one with the highest configured priority.
        first: Fail,
        /// All reservation fails that apply to the access.
        all: Fails,
    },
}

/// Outcome of a recall, which tells the L1D to invalidate its copy of a line, for example because the L2
/// evicts the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecallOutcome {
    /// The cache has no copy of the line.
    Missed,
    /// The cached copy is invalidated.
    Dropped,
    /// The line is in flight to the cache. Its fill will be dropped on arrival, and no further load may merge
    /// with it.
    Pending,
    /// The cached copy remains. It is modified local data: no other SM needs it, and memory has no current
    /// copy.
    Kept,
}

/// Load of one cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Line number: byte address divided by line size.
    pub line: u64,
    /// Sectors of the line that the load requests.
    pub parts: Sectors,
    /// Program counter of the load instruction.
    pub pc: u32,
    /// Number of the warp slot in the SM.
    pub warp: u8,
    /// True if this is the first line that the load instruction requests. Computed only if a prefetcher needs
    /// it.
    pub first: bool,
    /// Address space of the load. Constants and texels are read-only and count as global.
    pub space: Space,
    /// True if the load instruction is contentious (anssari2012 section 3.3). Computed only if a bypass
    /// scheme needs it.
    pub contends: bool,
    /// Hint when to evict the line; normal in a cache that ignores hints.
    pub eviction: Eviction,
}

impl Load {
    /// Creates a global load of a whole line by warp 0, with PC 0, no contention and no hint.
    #[must_use]
    pub fn of(line: u64) -> Self {
        Self {
            line,
            parts: Sectors::WHOLE,
            pc: 0,
            warp: 0,
            first: false,
            space: Space::Global,
            contends: false,
            eviction: Eviction::Normal,
        }
    }
}

/// Event at the L1D. The field `queue_used` of an event is the miss-queue occupancy when the cache processed
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<W> {
    /// Load that looks up the cache and may allocate a line.
    Load {
        /// Line, sectors and attributes of the load.
        load: Load,
        /// Identifier of the load, by which it later receives its data.
        waiter: W,
        /// Number of miss-queue slots in use.
        queue_used: usize,
    },
    /// Store to one cache line.
    Store {
        /// Number of the stored line.
        line: u64,
        /// Sectors that the store writes.
        parts: Sectors,
        /// Address space of the store.
        space: Space,
        /// Number of miss-queue slots in use.
        queue_used: usize,
    },
    /// Atomic operation. It bypasses the cache, and is sent to memory in order with the stores.
    Atomic {
        /// Number of the line that the atomic updates.
        line: u64,
        /// Sectors that the atomic writes.
        parts: Sectors,
        /// Number of miss-queue slots in use.
        queue_used: usize,
    },
    /// Load that bypasses the cache.
    Bypass {
        /// Line, sectors and attributes of the load.
        load: Load,
        /// True if the decoupled filter or a bypass scheme of the cache decided that the load bypasses.
        chosen: bool,
    },
    /// Change of the mode of the decoupled filter: it admits every line, or applies its reuse threshold.
    Switch {
        /// True if the filter admits every line from now on.
        original: bool,
    },
    /// Step of the prefetcher, which occurs once per cycle: the next line to prefetch enters the prefetch
    /// queue or is dropped.
    Deliver,
    /// Cache lookup for the oldest line in the prefetch queue.
    Prefetch {
        /// Number of the line to prefetch.
        line: u64,
        /// Sectors to prefetch: all sectors of the line.
        parts: Sectors,
        /// Number of miss-queue slots in use.
        queue_used: usize,
        /// Number of miss-queue slots that prefetches use; `queue_used` includes them.
        queued: usize,
    },
    /// Fill: the data of a line arrive from memory.
    Fill {
        /// Number of the line that is filled.
        line: u64,
        /// Sectors that the fill delivers.
        parts: Sectors,
    },
    /// Recall: the cache must invalidate a line, because the L2 evicts the line or a coherent load bypasses
    /// to the L2.
    Recall {
        /// Number of the line to invalidate.
        line: u64,
    },
    /// Request of another L1 cache for a copy of a line.
    Supply {
        /// Number of the line that the other cache requests.
        line: u64,
        /// Sectors that the other cache requests.
        parts: Sectors,
    },
    /// Replay of one load that waited for a line which has been filled.
    Drain,
    /// End of a kernel: the cache invalidates all lines.
    Flush,
    /// Advance of time to the core cycle of the next event. Bypass schemes that divide time into periods need
    /// it.
    Reach {
        /// Core cycle in which the next event occurs.
        cycle: u64,
    },
    /// End of a period of the streaming monitor, on a signal from outside the cache.
    PeriodEnd {
        /// True if the monitor may close the cache, that is, let global loads bypass.
        may_close: bool,
    },
}

impl<W> Event<W> {
    /// Returns the number of the line that the event concerns, or `None` if it concerns no single line.
    pub fn line(&self) -> Option<u64> {
        match *self {
            Event::Load { load: Load { line, .. }, .. }
            | Event::Bypass { load: Load { line, .. }, .. }
            | Event::Store { line, .. }
            | Event::Atomic { line, .. }
            | Event::Prefetch { line, .. }
            | Event::Fill { line, .. }
            | Event::Recall { line }
            | Event::Supply { line, .. } => Some(line),
            Event::Switch { .. }
            | Event::Deliver
            | Event::Drain
            | Event::Flush
            | Event::Reach { .. }
            | Event::PeriodEnd { .. } => None,
        }
    }
}

/// Outcome of the cache lookup for a line to prefetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefetchOutcome {
    /// The cache sends a request to memory, and evicts `victim` if no way was free.
    Issued {
        /// Line that the cache evicts for the prefetch, if any.
        victim: Option<Victim>,
    },
    /// The line is already present, so the prefetch is dropped.
    Present,
    /// The line is already in flight, so the prefetch is dropped.
    InFlight,
    /// The prefetch must wait for a resource. The line stays in the prefetch queue, and the state of the
    /// cache is unchanged.
    Waits,
}

/// Response of the cache to an [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<W> {
    /// Outcome of a load.
    Load(LoadOutcome),
    /// Outcome of a store or an atomic.
    Write(WriteOutcome),
    /// Line that the prefetcher added to the prefetch queue or dropped; `None` if it had no line.
    Delivered(Option<Delivery>),
    /// Outcome of the cache lookup for a line to prefetch.
    Prefetched(PrefetchOutcome),
    /// Outcome of a fill: arrival of the data of a line.
    Filled {
        /// Sectors that became valid, because no write overtook them while they were in flight.
        kept: Sectors,
        /// Number of loads that waited for the fill.
        waiters: usize,
    },
    /// Outcome of a recall, which invalidates a line.
    Recalled(RecallOutcome),
    /// Outcome of another cache's request for a copy: true if the requested sectors are present and identical
    /// to memory.
    Supplied(bool),
    /// Load that was replayed; `None` if no load was waiting.
    Drained(Option<Replay<W>>),
    /// Completion of an event that has only one possible outcome.
    Done,
}

/// Violation: an event that a correct cache would not have processed in its state. A `u64` in a variant is
/// the number of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Breach {
    /// A line was filled although no MSHR entry waits for it.
    Fill(NotPending),
    /// A load of a modified local line bypassed the cache, or a global access used such a line. Only this
    /// cache has the current copy of the line.
    Modified(u64),
    /// A load looked up a line that the decoupled filter does not admit.
    NotAdmitted(u64),
    /// A load bypassed by decision of the cache, although its line is present or the decoupled filter admits
    /// it.
    Admitted(u64),
    /// The cache was flushed while MSHR entries were in use; the number counts these entries.
    FlushBusy(usize),
    /// A load bypassed, or did not bypass, contrary to the decision of the bypass schemes.
    Path(u64),
    /// A prefetch looked up a line that is not the oldest line in the prefetch queue.
    NotQueued(u64),
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Breach::Fill(error) => error.fmt(f),
            Breach::Modified(line) => {
                write!(f, "line {line:#x} is modified local data, but the access bypasses the L1D or is global")
            }
            Breach::NotAdmitted(line) => write!(f, "line {line:#x} is not admitted, but its load does not bypass"),
            Breach::Admitted(line) => {
                write!(f, "the load of line {line:#x} bypasses, although the line is present or admitted")
            }
            Breach::Path(line) => write!(f, "the path of the load of line {line:#x} contradicts the bypass schemes"),
            Breach::NotQueued(line) => {
                write!(f, "line {line:#x} is prefetched, but is not the oldest one of the prefetch queue")
            }
            Breach::FlushBusy(used) => {
                write!(f, "flush with {used} MSHR entries in use, expected 0")
            }
        }
    }
}

impl std::error::Error for Breach {}

/// Report of a difference between the cache under test and the reference model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch(pub(super) String);

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Mismatch {}
