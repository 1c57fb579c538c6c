//! # Prefetch unit of an L2 bank
//! Queues the lines that a prefetcher returns, counts the MSHR entries that prefetches hold, and records
//! whether prefetched lines are used. The overlapped flow looks up the head of the queue and fetches it.
//!
//! | port       | dir | payload      | contract                                                          |
//! |------------|-----|--------------|-------------------------------------------------------------------|
//! | `advance`  | in  |              | once per cycle, before `access`: the prefetcher's next line enters the queue |
//! | `access`   | in  | `DemandAccess` | the bank has served or deferred a request, at most one per cycle |
//! | `fill`     | in  | set, way     | all requested bursts of a line have arrived                       |
//! | `head`     | out | line, SM     | oldest line of the queue; `drop_head` and `issue` remove it       |
//! | `retire`   | in  |              | a prefetched line has arrived with which no access had merged     |
//!
//! A prefetched line is unused until an access hits it or merges with its fetch.
//!
//! Part of `rtl/l2/bank.rs`.
//! Bench: `tb/l2/prefetch.rs`.

use serde::{Deserialize, Serialize};

use super::{DemandAccess, DropReason, Hooks, PrefetchLimits, PrefetchPlace, PrefetchStats, Target, count_bits};
use crate::cells::fifo::Fifo;
use crate::kernel::{
    AnyEdge, Array, ArraySpec, Collide, CounterReader, Describe, DescribeExt, FieldsExt, Logic, Payload, Storage,
};
use crate::l2::bank::LinePlace;
use crate::l2::config::{BankPlace, L2Config};
use crate::noc::interleave::Interleave;

/// Line in the prefetch queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = QueueShape)]
pub struct QueuedLine {
    /// Address of the line in memory.
    #[payload(width = shape.line_bits)]
    pub line: u64,
    /// SM of the access that triggered the prefetch.
    #[payload(width = shape.sm_bits)]
    pub sm: u8,
}

/// Field widths of a line in the prefetch queue.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct QueueShape {
    line_bits: u32,
    sm_bits: u32,
}

/// Flag of a line in the bank: true if a prefetch fetched the line and no access has used it yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
struct Unused(#[payload(name = "unused")] bool);

/// Location of the line of an access, after the access was served or deferred.
#[derive(Clone, Copy, Debug)]
pub struct AccessPlace {
    /// Set and way of the line.
    pub place: LinePlace,
    /// True if the access allocated the way for the line, and thereby evicted the way's previous line.
    pub is_new: bool,
    /// True if the line is in flight.
    pub is_in_flight: bool,
}

/// Converts line numbers within the bank to memory lines, and memory lines to pages.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Pages {
    interleave: Interleave,
    partition: u32,
    /// Width in bits of the number of a line within the bank.
    local_bits: u32,
    /// Width in bits of the address of a line in memory.
    line_bits: u32,
    /// log2 of the number of lines of memory per page.
    page_bits: u32,
}

impl Pages {
    /// Returns the memory line that corresponds to the bank's line `local`, if it is on the same page as the
    /// bank's line `trigger`; otherwise `None`.
    fn on_page_of(&self, local: u64, trigger: u64) -> Option<u64> {
        // A line number below 0 has wrapped around to a number larger than that of any line of the bank.
        let exists = local >> self.local_bits == 0;
        let [line, trigger] =
            [if exists { local } else { 0 }, trigger].map(|n| self.interleave.unit(self.partition, n));
        (exists && line >> self.page_bits == trigger >> self.page_bits).then_some(line)
    }

    fn describe(&self, to: &mut dyn Describe) {
        let &Self { interleave, partition: _, local_bits, line_bits, page_bits } = self;
        // The multipliers convert the prefetched line and its trigger from lines of the bank to memory lines.
        let width = local_bits.saturating_sub(interleave.run_log2).max(1);
        for name in ["line", "trigger"] {
            to.logic(name, Logic::ConstantMultiplier { width, factor: interleave.num_partitions });
            interleave.describe_hash(line_bits, to);
        }
        to.logic("same_page", Logic::Comparator { width: line_bits.saturating_sub(page_bits), count: 1 });
    }
}

/// Prefetch unit of an L2 bank.
#[derive(Debug, Serialize, Deserialize)]
pub struct Prefetcher {
    hooks: Box<dyn Hooks>,
    limits: PrefetchLimits,
    queue: Fifo<QueuedLine>,
    /// For each line of the bank: true if a prefetch fetched the line and no access has used it yet.
    unused: Array<Unused>,
    /// Number of MSHR entries that prefetches use, not counting entries with which an access has merged.
    in_flight: u32,
    /// True if the prefetcher may still propose a line to prefetch; the bank is then evaluated in the next
    /// cycle.
    armed: bool,
    pages: Pages,
    /// Value of the bank's miss counter at the previous access. The model compares it with the current value
    /// to detect a miss.
    misses: u64,
}

impl Prefetcher {
    /// Creates the prefetch unit of the bank at `place`; `hooks` is its prefetcher.
    pub(super) fn new(hooks: Box<dyn Hooks>, place: &PrefetchPlace<'_>, l2: &L2Config, bank: &BankPlace) -> Self {
        let &L2Config { sets, ways, prefetch_limits: limits, .. } = l2;
        let spec = ArraySpec {
            path: format!("{}.prefetch.unused", place.path),
            storage: Storage::Flops,
            rows: sets,
            columns: ways,
            // When a line is filled, its flag is read. When an access or a prefetch uses a way, the flag of
            // the way is read and written. An access or a prefetch that allocates the way for a new line
            // reads the flag of the evicted line.
            reads: 2,
            writes: 1,
            collide: Collide::New,
        };
        let pages = Pages {
            interleave: bank.interleave,
            partition: bank.partition,
            local_bits: place.line_bits,
            line_bits: bank.line_bits(),
            page_bits: limits.page_bits(bank.line_bytes),
        };
        Self {
            hooks,
            limits,
            queue: Fifo::new(limits.queue, QueueShape { line_bits: bank.line_bits(), sm_bits: place.sm_bits }),
            unused: Array::new(spec, ()).by_cell(),
            in_flight: 0,
            armed: false,
            pages,
            misses: 0,
        }
    }

    /// True if a line waits in the prefetch queue, or if the prefetcher may still propose a line to prefetch.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.armed || !self.queue.is_empty()
    }

    /// Moves the next line that the prefetcher proposes, if any, into the prefetch queue.
    pub fn advance(&mut self, at: &impl AnyEdge, stats: &mut PrefetchStats) {
        if !self.armed {
            return;
        }
        let Some(Target { line, trigger, sm }) = self.hooks.next(at.edge()) else {
            self.armed = false;
            return;
        };
        match self.pages.on_page_of(line, trigger) {
            None => drop_for(DropReason::OtherPage, stats),
            Some(_) if !self.queue.has_room() => drop_for(DropReason::QueueFull, stats),
            Some(line) => self.queue.push(QueuedLine { line, sm }),
        }
    }

    /// Reports an access that the bank has served or deferred. `misses` is the number of misses of the bank
    /// so far; the fields `missed` and `uses_prefetch` of `access` are set here.
    pub fn access(
        &mut self,
        at: &impl AnyEdge,
        found: AccessPlace,
        access: DemandAccess,
        misses: u64,
        stats: &mut PrefetchStats,
    ) {
        let AccessPlace { place: (set, way), is_new, is_in_flight } = found;
        let was_unused = self.mark(at, (set, way), false);
        let uses_prefetch = was_unused && !is_new;
        let is_late = uses_prefetch && is_in_flight;
        stats.useless += u64::from(was_unused && is_new);
        stats.late += u64::from(is_late);
        stats.useful += u64::from(uses_prefetch && !is_in_flight);
        self.in_flight -= u32::from(is_late);
        let missed = misses != self.misses;
        self.misses = misses;
        self.hooks.on_access(at.edge(), &DemandAccess { missed, uses_prefetch, ..access });
        self.armed = true;
    }

    /// Reports that all requested bursts of the line `local` of the bank have arrived in a set and way.
    pub fn fill(&mut self, at: &impl AnyEdge, (set, way): LinePlace, local: u64) {
        let prefetched = self.unused.read_cell(at, set, way).0;
        self.hooks.on_fill(at.edge(), local, prefetched);
        self.armed = true;
    }

    /// Returns the oldest line of the prefetch queue.
    #[must_use]
    pub fn head(&self) -> Option<QueuedLine> {
        self.queue.front().copied()
    }

    /// True if the limits permit another prefetch to take an MSHR entry and a miss-queue entry. `queued` is
    /// the number of miss-queue entries that prefetches use.
    #[must_use]
    pub fn has_share(&self, queued: usize) -> bool {
        self.in_flight < self.limits.mshr_share && queued < self.limits.miss_queue_share as usize
    }

    /// Drops the head of the prefetch queue for the given reason.
    pub fn drop_head(&mut self, reason: DropReason, stats: &mut PrefetchStats) {
        self.queue.drop_front();
        drop_for(reason, stats);
    }

    /// Removes the head of the prefetch queue, whose line is now fetched into a set and way.
    pub fn issue(&mut self, at: &impl AnyEdge, place: LinePlace, stats: &mut PrefetchStats) {
        self.queue.drop_front();
        self.in_flight += 1;
        stats.issued += 1;
        stats.useless += u64::from(self.mark(at, place, true));
    }

    /// Records that a prefetched line has arrived, and that no access had merged with its fetch.
    pub fn retire(&mut self) {
        self.in_flight -= 1;
    }

    /// Clears the prefetch queue and the prefetcher at the end of a kernel, when nothing is in flight. Counts
    /// the prefetched lines that no access has used.
    pub fn clear(&mut self, stats: &mut PrefetchStats) {
        while !self.queue.is_empty() {
            self.drop_head(DropReason::KernelEnd, stats);
        }
        let sets = 0..self.unused.spec().rows;
        stats.useless += sets.flat_map(|set| self.unused.row(set)).map(|flag| u64::from(flag.0)).sum::<u64>();
        self.unused.clear_with(|_, _| Unused::default());
        self.hooks.clear();
        self.armed = false;
    }

    /// Lists the counters that belong to the prefetcher.
    pub fn counters(&self, to: &mut dyn CounterReader) {
        self.hooks.counters(to);
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
            limits: PrefetchLimits { queue: _, mshr_share, miss_queue_share, page_bytes: _ },
            queue,
            unused,
            in_flight,
            armed,
            pages,
            misses: _,
        } = self;
        to.part("prefetch", |to| {
            to.part("queue", |to| queue.describe(to));
            to.array("unused", unused);
            to.sized("in_flight", u64::from(*in_flight), count_bits(*mshr_share));
            to.flag("armed", *armed);
            for (name, share) in [("mshr_share", mshr_share), ("miss_queue_share", miss_queue_share)] {
                let width = count_bits(*share);
                to.logic(name, Logic::Counter { width });
                to.logic(name, Logic::Less { width, count: 1 });
            }
            pages.describe(to);
            hooks.describe(to);
        });
    }

    /// Sets the flag of a line, and returns its old value.
    fn mark(&mut self, at: &impl AnyEdge, (set, way): LinePlace, unused: bool) -> bool {
        let before = self.unused.read_cell(at, set, way).0;
        if before != unused {
            self.unused.write(at, set, way, Unused(unused));
        }
        before
    }
}

fn drop_for(reason: DropReason, stats: &mut PrefetchStats) {
    stats.dropped[reason as usize] += 1;
}
