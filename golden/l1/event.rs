//! # Events of the L1 data cache
//! What happens to the cache, and what it may do about it: the vocabulary shared by the twin and
//! by whoever watches the clocked cache.

use std::fmt;

use super::mshr::{NotPending, Replay};

/// Parts of a line, a bit each: its sectors where they come one by one, else the line as its only one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Parts(pub u8);

impl Parts {
    /// A line that comes whole.
    pub const WHOLE: Self = Self(1);

    /// Their numbers.
    pub fn each(self) -> impl Iterator<Item = u8> {
        (0..8).filter(move |part| self.0 >> part & 1 != 0)
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those that both have.
    #[must_use]
    pub fn shared(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Those that the other does not have.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// Which of several failing conditions is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailOrder {
    /// Line, MSHR, miss queue.
    #[default]
    MshrFirst,
    /// Line, miss queue, MSHR.
    QueueFirst,
}

/// Why an access is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fail {
    /// Every line of the set waits for a fill.
    LineAlloc,
    /// No MSHR entry is free, or the line is still draining.
    MshrEntry,
    /// The pending line is full or closed.
    MshrMerge,
    /// The miss queue lacks room.
    MissQueue,
}

/// The conditions that fail at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fails {
    /// See [`Fail::LineAlloc`].
    pub line_alloc: bool,
    /// See [`Fail::MshrEntry`].
    pub mshr_entry: bool,
    /// See [`Fail::MshrMerge`].
    pub mshr_merge: bool,
    /// See [`Fail::MissQueue`].
    pub miss_queue: bool,
}

impl Fails {
    /// The reported reason, or `None` if nothing fails.
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

/// A line that gave way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// Line number.
    pub line: u64,
    /// Whether it must be written back.
    pub modified: bool,
}

/// Address space of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Shared with other SMs: write-evict.
    Global,
    /// Private to a thread: write-back.
    Local,
}

/// What becomes of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadOutcome {
    /// The data are here.
    Hit,
    /// Waits for a line already asked for.
    HitPending,
    /// Memory is asked; the victim, if a full set had to give one.
    Miss {
        /// The line that gave way.
        victim: Option<Victim>,
    },
    /// Nothing changed.
    Refused {
        /// The reason reported.
        first: Fail,
        /// All failing conditions.
        all: Fails,
    },
}

/// What becomes of a store or an atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The copy is dropped, the data go to memory.
    Evicted,
    /// The copy holds the data and is modified.
    WrittenBack,
    /// The copy holds the data, which go to memory too.
    Updated,
    /// No copy; the data go to memory.
    Missed,
    /// The line is on its way: it will be dropped when it arrives, and takes no further load.
    Pending,
    /// Nothing changed.
    Refused {
        /// The reason reported.
        first: Fail,
        /// All failing conditions.
        all: Fails,
    },
}

/// What becomes of the copy of a line that the L2 gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecallOutcome {
    /// There is none.
    Missed,
    /// It is dropped.
    Dropped,
    /// It is on its way: it will be dropped when it arrives, and takes no further load.
    Pending,
    /// It stays, because its bytes are nowhere else and nobody else may want them.
    Kept,
}

/// A load of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Line number.
    pub line: u64,
    /// Parts of it that are wanted.
    pub parts: Parts,
    /// Instruction that loads.
    pub pc: u32,
    /// Address space; constants and texels, which nobody writes, are global.
    pub space: Space,
    /// Its instruction contends (anssari2012 section 3.3), where somebody asks.
    pub contends: bool,
}

impl Load {
    /// A global load of a whole line, of which nothing else counts.
    #[must_use]
    pub fn of(line: u64) -> Self {
        Self { line, parts: Parts::WHOLE, pc: 0, space: Space::Global, contends: false }
    }
}

/// Something that happens to the cache; `queue_used` is the occupancy of the miss queue that the
/// cache saw when it decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<W> {
    /// A load that may allocate.
    Load {
        /// Which.
        load: Load,
        /// Who waits for the data.
        waiter: W,
        /// Miss-queue slots in use.
        queue_used: usize,
    },
    /// A store.
    Store {
        /// Line number.
        line: u64,
        /// Parts of it that are written.
        parts: Parts,
        /// Address space.
        space: Space,
        /// Miss-queue slots in use.
        queue_used: usize,
    },
    /// An atomic, which goes past the cache in the order of the stores.
    Atomic {
        /// Line number.
        line: u64,
        /// Parts of it that are written.
        parts: Parts,
        /// Miss-queue slots in use.
        queue_used: usize,
    },
    /// A load on the bypass path.
    Bypass {
        /// Which.
        load: Load,
        /// Whether a scheme of the cache sent it there.
        chosen: bool,
    },
    /// The cache lets every line in from now on, or those that its filter admits.
    Switch {
        /// Every line.
        original: bool,
    },
    /// Data of a line arrive.
    Fill {
        /// Line number.
        line: u64,
        /// The parts that come.
        parts: Parts,
    },
    /// The L2 gives a line up, or a coherent load of it goes past.
    Recall {
        /// Line number.
        line: u64,
    },
    /// Another cache wants a line.
    Supply {
        /// Line number.
        line: u64,
        /// The parts that it wants.
        parts: Parts,
    },
    /// One waiter leaves.
    Drain,
    /// The kernel ends.
    Flush,
    /// Something that is judged by the time of its period follows in this cycle.
    Reach {
        /// Core cycle.
        cycle: u64,
    },
    /// Somebody ends the period of the streaming monitor.
    PeriodEnd {
        /// Whether the cache may close.
        may_close: bool,
    },
}

impl<W> Event<W> {
    /// The line concerned, if it is a single one.
    pub fn line(&self) -> Option<u64> {
        match *self {
            Event::Load { load: Load { line, .. }, .. }
            | Event::Bypass { load: Load { line, .. }, .. }
            | Event::Store { line, .. }
            | Event::Atomic { line, .. }
            | Event::Fill { line, .. }
            | Event::Recall { line }
            | Event::Supply { line, .. } => Some(line),
            Event::Switch { .. } | Event::Drain | Event::Flush | Event::Reach { .. } | Event::PeriodEnd { .. } => None,
        }
    }
}

/// What the cache did with an [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<W> {
    /// Of a load.
    Load(LoadOutcome),
    /// Of a store or an atomic.
    Write(WriteOutcome),
    /// Of a fill: what stayed, and how many waiters it serves.
    Filled {
        /// The parts to which no store came in between.
        kept: Parts,
        /// Loads served.
        waiters: usize,
    },
    /// Of a recall.
    Recalled(RecallOutcome),
    /// Of a supply: whether the line was there, and equal to memory's.
    Supplied(bool),
    /// Of a drain: the waiter, if there was one.
    Drained(Option<Replay<W>>),
    /// Of all that the cache has no choice about.
    Done,
}

/// An event that no correct cache lets happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Breach {
    /// A fill of a line nobody asked for.
    Fill(NotPending),
    /// A bypass or global access of a modified local line, whose only current copy is here.
    Modified(u64),
    /// A load was looked up whose line is not admitted.
    NotAdmitted(u64),
    /// A load was sent past by choice whose line is here or is admitted.
    Admitted(u64),
    /// The kernel ends with lines on their way.
    FlushBusy(usize),
    /// A load went past the cache, or was admitted, against its schemes.
    Path(u64),
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Breach::Fill(error) => error.fmt(f),
            Breach::Modified(line) => {
                write!(f, "line {line:#x} is modified local data, but is accessed past the L1D or as global")
            }
            Breach::NotAdmitted(line) => write!(f, "line {line:#x} is not admitted, but its load does not go past"),
            Breach::Admitted(line) => {
                write!(f, "the load of line {line:#x} goes past, though the line is here or admitted")
            }
            Breach::Path(line) => write!(f, "the load of line {line:#x} should have gone the other way"),
            Breach::FlushBusy(used) => {
                write!(f, "flush with {used} MSHR entries in use, expected 0")
            }
        }
    }
}

impl std::error::Error for Breach {}

/// The cache did one thing, the twin another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch(pub(super) String);

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Mismatch {}
