//! # Prefetch unit of the L1D
//! Queues the lines that a prefetcher returns, counts the resources that prefetches hold, and records whether
//! prefetched lines are used. The cache looks up the head of the queue and sends its read.
//!
//! | port       | dir | payload      | contract                                                          |
//! |------------|-----|--------------|-------------------------------------------------------------------|
//! | `take`     | in  | row          | the pending table has allocated a row for an instruction          |
//! | `fill`     | in  | set, way     | a line has arrived                                                |
//! | `advance`  | in  |              | once per cycle: the prefetcher's next line enters the queue        |
//! | `head`     | out | line         | oldest line of the queue; `drop_head` and `issue` remove it        |
//! | `access`   | in  | `DemandLoad` | loads that the L1D has accepted, up to `l1.lookups` per cycle      |
//! | `claim`    | in  | set, way     | a miss or a prefetch is allocated in a way                        |
//! | `send`     | in  |              | the read of a prefetch leaves the miss queue                      |
//!
//! A prefetched line is *unused* until a load hits it or merges with it. If a store or a recall drops an
//! unused line, the mark stays until another line is allocated in its way; the prefetch then counts as
//! useless.
//!
//! Part of `rtl/l1/cache.rs`.
//! Bench: `tb/l1/prefetch.rs`.

use serde::{Deserialize, Serialize};

use super::{DemandLoad, DropReason, Hooks, PrefetchLimits, PrefetchPlace, PrefetchStats, Target, count_bits};
use crate::cells::fifo::Fifo;
use crate::kernel::{
    AnyEdge, Array, ArraySpec, Collide, Counted, CounterReader, Describe, DescribeExt, FieldsExt, Logic, Payload,
    Storage,
};
use crate::l1::config::L1Config;

/// Address of a line in the prefetch queue. Its width in bits depends on the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
struct QueuedLine(#[payload(name = "line", width = *shape)] u64);

/// Flag of a line in the L1D: true if a prefetch fetched the line and no load has used it yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
struct Unused(#[payload(name = "unused")] bool);

/// Result of moving a line from the prefetcher into the prefetch queue. Holds the line address, except in the
/// variant for another page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// The line has entered the prefetch queue.
    Queued(u64),
    /// The prefetch queue was full, so the line was dropped.
    QueueFull(u64),
    /// The line and the line that triggered it lie on different pages, so the line was dropped.
    OtherPage,
}

/// Outcome of the tag probe for the head of the prefetch queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefetchOutcome {
    /// The read of the line has entered the miss queue. Holds `(line, modified)` of the line evicted from the
    /// L1D, or `None` if no line was evicted.
    Issued(Option<(u64, bool)>),
    /// The line was already present, so the prefetch is dropped.
    Present,
    /// The line was already in flight, so the prefetch is dropped.
    InFlight,
    /// The line stays in the prefetch queue, because it still needs a way, an MSHR entry or room in the miss
    /// queue.
    Waits,
}

/// Prefetch unit of an L1D.
#[derive(Debug, Serialize, Deserialize)]
pub struct Prefetcher {
    hooks: Box<dyn Hooks>,
    limits: PrefetchLimits,
    queue: Fifo<QueuedLine>,
    /// For each line of the L1D: true if a prefetch fetched the line and no load has used it yet.
    unused: Array<Unused>,
    /// Number of MSHR entries that prefetches use, not counting entries with which a load has merged.
    in_flight: u32,
    /// Number of reads for prefetches that wait in the miss queue.
    queued: u32,
    /// Pending-table rows of instructions that still wait for their first request to be accepted by the L1D;
    /// one bit per row.
    fresh: u64,
    /// True if the prefetcher may still propose a line to prefetch; the LSU is then evaluated in the next
    /// cycle.
    armed: bool,
    lookups: u32,
    slots: u32,
    line_bits: u32,
    page_bits: u32,
    /// Event counters of prefetches; they model no hardware.
    pub stats: PrefetchStats,
}

impl Prefetcher {
    /// Creates the prefetch unit of the L1D at `place`; `hooks` is its prefetcher. The pending table has
    /// `slots` rows.
    pub(super) fn new(hooks: Box<dyn Hooks>, place: &PrefetchPlace<'_>, l1: &L1Config, slots: u32) -> Self {
        let &L1Config { sets, ways, lookups, prefetch_limits: limits, .. } = l1;
        let spec = ArraySpec {
            path: format!("{}.prefetch.unused", place.path),
            storage: Storage::Flops,
            rows: sets,
            columns: ways,
            // Ports of the flag array: a fill reads the flag of the filled line. An access reads and clears
            // one flag: that of its own line or, if it evicts a line, that of the evicted line.
            reads: 1 + lookups,
            writes: lookups,
            collide: Collide::New,
        };
        Self {
            hooks,
            limits,
            queue: Fifo::new(limits.queue, place.line_bits),
            unused: Array::new(spec, ()).by_cell(),
            in_flight: 0,
            queued: 0,
            fresh: 0,
            armed: false,
            lookups,
            slots,
            line_bits: place.line_bits,
            page_bits: place.page_bits,
            stats: PrefetchStats::default(),
        }
    }

    /// True if a line waits in the prefetch queue, or if the prefetcher may still propose a line to prefetch.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.armed || !self.queue.is_empty()
    }

    /// Records that row `slot` of the pending table was allocated to an instruction, so that the first
    /// accepted request of the instruction can be detected.
    pub fn take(&mut self, slot: u8) {
        self.fresh |= 1 << slot;
    }

    /// Reports the arrival of a line in a set and way. `is_waited` is true if a load waits for the line.
    pub fn fill(&mut self, at: &impl AnyEdge, (set, way): (u32, u32), line: u64, is_waited: bool) {
        self.in_flight -= u32::from(!is_waited);
        let prefetched = self.unused.read_cell(at, set, way).0;
        self.hooks.on_fill(at.edge(), line, prefetched);
        self.armed = true;
    }

    /// Moves the next line that the prefetcher proposes, if any, into the prefetch queue.
    pub fn advance(&mut self, at: &impl AnyEdge) -> Option<Enqueued> {
        if !self.armed {
            return None;
        }
        let Some(Target { line, trigger }) = self.hooks.next(at.edge()) else {
            self.armed = false;
            return None;
        };
        Some(if line >> self.page_bits != trigger >> self.page_bits {
            self.count_drop(DropReason::OtherPage);
            Enqueued::OtherPage
        } else if self.queue.has_room() {
            self.queue.push(QueuedLine(line));
            Enqueued::Queued(line)
        } else {
            self.count_drop(DropReason::QueueFull);
            Enqueued::QueueFull(line)
        })
    }

    /// Returns the oldest line of the prefetch queue.
    #[must_use]
    pub fn head(&self) -> Option<u64> {
        self.queue.front().map(|queued| queued.0)
    }

    /// True if the limits allow prefetches to use one more MSHR entry and one more miss-queue entry.
    #[must_use]
    pub fn has_share(&self) -> bool {
        self.in_flight < self.limits.mshr_share && self.queued < self.limits.miss_queue_share
    }

    /// Returns the number of reads for prefetches that wait in the miss queue.
    #[must_use]
    pub fn count_queued(&self) -> u32 {
        self.queued
    }

    /// Drops the head of the prefetch queue for the given reason.
    pub fn drop_head(&mut self, reason: DropReason) {
        self.queue.drop_front();
        self.count_drop(reason);
    }

    /// Removes the head of the prefetch queue, because its read enters the miss queue.
    pub fn issue(&mut self) {
        self.queue.drop_front();
        self.in_flight += 1;
        self.queued += 1;
        self.stats.issued += 1;
    }

    /// Records that the read of a prefetch has left the miss queue.
    pub fn send(&mut self) {
        self.queued -= 1;
    }

    /// Records that a way is allocated: to the line of a prefetch if `prefetches` is true, otherwise to a
    /// line that a load requested.
    pub fn claim(&mut self, at: &impl AnyEdge, (set, way): (u32, u32), prefetches: bool) {
        let was_unused = self.unused.read_cell(at, set, way).0;
        self.stats.useless += u64::from(was_unused);
        if was_unused != prefetches {
            self.unused.write(at, set, way, Unused(prefetches));
        }
    }

    /// Reports an accepted load of the instruction in pending-table row `slot`. `place` is the set and way
    /// that serve the load now or after the fill; `None` if the load has missed. `is_late` is true if the
    /// load is the first one to merge with a prefetch in flight.
    pub fn access(&mut self, at: &impl AnyEdge, slot: u8, place: Option<(u32, u32)>, is_late: bool, load: DemandLoad) {
        let uses_prefetch = place.is_some_and(|(set, way)| {
            let is_unused = self.unused.read_cell(at, set, way).0;
            if is_unused {
                self.unused.write(at, set, way, Unused(false));
            }
            is_unused
        });
        self.stats.late += u64::from(uses_prefetch && is_late);
        self.stats.useful += u64::from(uses_prefetch && !is_late);
        self.in_flight -= u32::from(is_late);
        let is_first = self.fresh >> slot & 1 != 0;
        self.fresh &= !(1 << slot);
        self.hooks.on_access(at.edge(), &DemandLoad { is_first, uses_prefetch, ..load });
        self.armed = true;
    }

    /// Clears the prefetch queue and the prefetcher at the end of a kernel, when nothing is in flight and the
    /// cache drops all lines.
    pub fn clear(&mut self) {
        while !self.queue.is_empty() {
            self.drop_head(DropReason::KernelEnd);
        }
        let sets = 0..self.unused.spec().rows;
        self.stats.useless += sets.flat_map(|set| self.unused.row(set)).map(|flag| u64::from(flag.0)).sum::<u64>();
        self.unused.clear_with(|_, _| Unused::default());
        self.hooks.clear();
        self.armed = false;
    }

    /// Starts to maintain digests (hashes) of the array contents.
    pub fn record(&mut self) {
        self.unused.record();
        self.hooks.record();
    }

    /// Adds to the hardware description: the prefetch queue, the counters, the flags and the prefetcher.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self {
            hooks,
            limits: PrefetchLimits { mshr_share, miss_queue_share, .. },
            queue,
            unused,
            in_flight,
            queued,
            fresh,
            armed,
            lookups,
            slots,
            line_bits,
            page_bits,
            stats,
        } = self;
        to.part("prefetch", |to| {
            to.part("queue", |to| queue.describe(to));
            to.array("unused", unused);
            to.sized("in_flight", u64::from(*in_flight), count_bits(*mshr_share));
            to.sized("queued", u64::from(*queued), count_bits(*miss_queue_share));
            to.sized("fresh", *fresh, *slots);
            to.flag("armed", *armed);
            for (name, share) in [("mshr_share", mshr_share), ("miss_queue_share", miss_queue_share)] {
                let width = count_bits(*share);
                to.logic(name, Logic::Counter { width });
                to.logic(name, Logic::Less { width, count: 1 });
            }
            to.logic("same_page", Logic::Comparator { width: line_bits.saturating_sub(*page_bits), count: 1 });
            to.logic("fresh", Logic::Mux { ways: *slots, width: *lookups });
            hooks.describe(to);
            stats.describe(&(), to);
        });
    }

    /// Lists the counters that belong to the prefetcher.
    pub fn counters(&self, to: &mut dyn CounterReader) {
        self.hooks.counters(to);
    }

    fn count_drop(&mut self, reason: DropReason) {
        self.stats.dropped[reason as usize] += 1;
    }
}
