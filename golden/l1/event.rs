//! # Events of the L1 data cache
//! Events that reach the L1D and their possible outcomes. The reference model and the observer of the clocked
//! cache share these types.

use std::fmt;

use super::mshr::{NotPending, Replay};
use super::prefetch::unit::Delivery;

/// Set of sectors of a line, one bit per sector. A line that is filled as a whole has a single sector, bit 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sectors(pub u8);

impl Sectors {
    /// Only sector of a line that is filled as a whole.
    pub const WHOLE: Self = Self(1);

    /// Returns the sector numbers in ascending order.
    pub fn each(self) -> impl Iterator<Item = u8> {
        (0..8).filter(move |part| self.0 >> part & 1 != 0)
    }

    /// True if the set is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the sectors that both sets contain.
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

/// Priority that selects the reported reason when several conditions fail at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailOrder {
    /// Line allocation, then MSHR, then miss queue.
    #[default]
    MshrFirst,
    /// Line allocation, then miss queue, then MSHR.
    QueueFirst,
}

/// Reason for a reservation fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fail {
    /// Every line of the set is reserved for a fill.
    LineAlloc,
    /// No MSHR entry is free, or an entry of the same line is still draining.
    MshrEntry,
    /// The MSHR entry of the pending line is full or closed.
    MshrMerge,
    /// The miss queue has too few free slots.
    MissQueue,
}

/// All conditions that fail in the same cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fails {
    /// True if [`Fail::LineAlloc`] applies.
    pub line_alloc: bool,
    /// True if [`Fail::MshrEntry`] applies.
    pub mshr_entry: bool,
    /// True if [`Fail::MshrMerge`] applies.
    pub mshr_merge: bool,
    /// True if [`Fail::MissQueue`] applies.
    pub miss_queue: bool,
}

impl Fails {
    /// Returns the reason to report under `order`, or `None` if nothing fails.
    pub fn first(&self, order: FailOrder) -> Option<Fail> {
        let line = (self.line_alloc, Fail::LineAlloc);
        let merge = (self.mshr_merge, Fail::MshrMerge);
        let entry = (self.mshr_entry, Fail::MshrEntry);
        let queue = (self.miss_queue, Fail::MissQueue);
        let reasons = match order {
            FailOrder::MshrFirst => [line, merge, entry, queue],
            FailOrder::QueueFirst => [line, queue, merge, entry],
        };
        reasons.into_iter().find(|(fails, _)| *fails).map(|(_, reason)| reason)
    }
}

/// Line evicted by a miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Line number of the victim.
    pub line: u64,
    /// True if the victim is modified and must be written back.
    pub modified: bool,
}

/// Address space of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Global memory, which the SMs share. Stores are write-evict.
    Global,
    /// Local memory, private to a thread. Stores are write-back.
    Local,
}

/// Outcome of a load lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadOutcome {
    /// The data are present.
    Hit,
    /// Pending hit: the load waits for a fill that is already in flight.
    HitPending,
    /// The victim cache holds the data.
    VictimHit {
        /// True if the line moves back to the cache.
        moves: bool,
        /// Line that the cache evicts to make room for the moved line, if any.
        victim: Option<Victim>,
    },
    /// Miss: the cache sends a request to memory, and evicts `victim` if no way was free.
    Miss {
        /// Evicted line, if any.
        victim: Option<Victim>,
    },
    /// Reservation fail; the cache state is unchanged.
    Refused {
        /// Reason to report, by the configured priority.
        first: Fail,
        /// All conditions that failed.
        all: Fails,
    },
}

/// Outcome of a store or an atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The copy is invalidated and the data are sent to memory.
    Evicted,
    /// The copy holds the data and becomes modified; nothing is sent to memory.
    WrittenBack,
    /// The copy is updated, and the data are sent to memory as well.
    Updated,
    /// The cache has no copy; the data are sent to memory.
    Missed,
    /// The fill is in flight. It will be dropped when it arrives, and no further load may merge with it.
    Pending,
    /// Reservation fail; the cache state is unchanged.
    Refused {
        /// Reason to report, by the configured priority.
        first: Fail,
        /// All conditions that failed.
        all: Fails,
    },
}

/// Outcome of a recall: the L2 evicts a line, so the L1D must invalidate its copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecallOutcome {
    /// The cache has no copy.
    Missed,
    /// The copy is invalidated.
    Dropped,
    /// The fill is in flight. It will be dropped when it arrives, and no further load may merge with it.
    Pending,
    /// The copy stays: it is modified local data, so no other SM needs it and memory has no current copy.
    Kept,
}

/// Load of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Line number: byte address divided by line size.
    pub line: u64,
    /// Sectors that the load requests.
    pub parts: Sectors,
    /// Program counter of the load instruction.
    pub pc: u32,
    /// Warp slot.
    pub warp: u8,
    /// True for the first line of an instruction. Computed only if a prefetcher needs it.
    pub first: bool,
    /// Address space. Constants and texels are read-only and count as global.
    pub space: Space,
    /// True if the instruction is contentious (anssari2012 section 3.3). Computed only if a scheme needs it.
    pub contends: bool,
}

impl Load {
    /// Creates a global load of a whole line by warp 0, with PC 0 and no contention.
    #[must_use]
    pub fn of(line: u64) -> Self {
        Self { line, parts: Sectors::WHOLE, pc: 0, warp: 0, first: false, space: Space::Global, contends: false }
    }
}

/// Event at the L1D. `queue_used` is the miss-queue occupancy that the cache saw when it processed the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<W> {
    /// Load that may allocate a line.
    Load {
        /// Line, sectors and attributes of the load.
        load: Load,
        /// Identifier of the load that receives the data.
        waiter: W,
        /// Number of miss-queue slots in use.
        queue_used: usize,
    },
    /// Store to one line.
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
    /// Atomic operation. It bypasses the cache, in order with the stores.
    Atomic {
        /// Number of the updated line.
        line: u64,
        /// Sectors that the atomic writes.
        parts: Sectors,
        /// Number of miss-queue slots in use.
        queue_used: usize,
    },
    /// Load on the bypass path.
    Bypass {
        /// Line, sectors and attributes of the load.
        load: Load,
        /// True if a bypass scheme of the cache chose the path.
        chosen: bool,
    },
    /// Mode change of the decoupled filter: admit every line, or apply the threshold.
    Switch {
        /// True if the cache admits every line from now on.
        original: bool,
    },
    /// Delivery of the prefetcher's next line to the prefetch queue, once per cycle.
    Deliver,
    /// Lookup of the oldest line of the prefetch queue.
    Prefetch {
        /// Number of the line.
        line: u64,
        /// All sectors of the line.
        parts: Sectors,
        /// Number of miss-queue slots in use.
        queue_used: usize,
        /// Number of prefetches among the miss-queue slots in use.
        queued: usize,
    },
    /// Arrival of data from memory.
    Fill {
        /// Number of the filled line.
        line: u64,
        /// Sectors that the fill delivers.
        parts: Sectors,
    },
    /// Invalidation of a line, because the L2 evicts it or a coherent load bypasses to the L2.
    Recall {
        /// Number of the recalled line.
        line: u64,
    },
    /// Request of another L1 cache for a copy of a line.
    Supply {
        /// Number of the requested line.
        line: u64,
        /// Sectors that the other cache requests.
        parts: Sectors,
    },
    /// Replay of one waiting load.
    Drain,
    /// End of a kernel: the cache invalidates all lines.
    Flush,
    /// Advances the schemes that work in periods to the core cycle of the next event.
    Reach {
        /// Core cycle of the next event.
        cycle: u64,
    },
    /// Period end of the streaming monitor, signaled from outside the cache.
    PeriodEnd {
        /// True if the monitor may close the cache, that is, start to bypass.
        may_close: bool,
    },
}

impl<W> Event<W> {
    /// Returns the line concerned, or `None` for events that concern no single line.
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

/// Outcome of the lookup of a prefetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefetchOutcome {
    /// The cache sends a request to memory, and evicts `victim` if no way was free.
    Issued {
        /// Evicted line, if any.
        victim: Option<Victim>,
    },
    /// The line is present, and the prefetch is dropped.
    Present,
    /// The line is in flight, and the prefetch is dropped.
    InFlight,
    /// A resource is missing. The line stays in the queue, and the state of the cache is unchanged.
    Waits,
}

/// Response of the cache to an [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<W> {
    /// Outcome of a load.
    Load(LoadOutcome),
    /// Outcome of a store or an atomic.
    Write(WriteOutcome),
    /// Line that the prefetcher has delivered, if it had one.
    Delivered(Option<Delivery>),
    /// Outcome of the lookup of a prefetch.
    Prefetched(PrefetchOutcome),
    /// Outcome of a fill.
    Filled {
        /// Sectors that became valid: no store overtook them while they were in flight.
        kept: Sectors,
        /// Number of loads that the fill serves.
        waiters: usize,
    },
    /// Outcome of a recall.
    Recalled(RecallOutcome),
    /// Outcome of a supply request: true if the line is present and identical to memory.
    Supplied(bool),
    /// Outcome of a drain: the replayed load, if any was waiting.
    Drained(Option<Replay<W>>),
    /// Outcome of an event that has only one possible outcome.
    Done,
}

/// Event that a correct cache never allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Breach {
    /// Fill of a line without an MSHR entry.
    Fill(NotPending),
    /// Bypass or global access of a modified local line, whose only current copy is in this cache.
    Modified(u64),
    /// Lookup of a line that the decoupled filter does not admit.
    NotAdmitted(u64),
    /// Bypass chosen for a line that is present or admitted.
    Admitted(u64),
    /// Flush while MSHR entries are in use; holds their number.
    FlushBusy(usize),
    /// Load that bypassed, or did not bypass, contrary to the bypass schemes.
    Path(u64),
    /// Prefetch of a line that is not the oldest one of the prefetch queue.
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
