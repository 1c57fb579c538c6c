//! # Parts of prefetchers
//! Components that the prefetchers of an L1D (`l1/prefetch`) and of an L2 bank (`l2/prefetch`) share: runs of
//! consecutive lines, limits on resources, counters, and the two prefetchers that use only line numbers.
//!
//! | module      | prefetches                                          |
//! |-------------|-----------------------------------------------------|
//! | `next_line` | the lines after an access                           |
//! | `streams`   | lines ahead of accesses that run in one direction   |
//!
//! Part of `rtl/l1/cache.rs` and `rtl/l2/bank.rs`.
//! Twin: `golden/l1/prefetch/mod.rs`.
//! Bench: `tb/l1/prefetch.rs` and `tb/l2/prefetch.rs`.

pub mod next_line;
pub mod streams;

use serde::{Deserialize, Serialize};

use crate::config::Rules;
use crate::kernel::{Counted, Describe, DescribeExt, FieldsExt, Logic, Reason};

/// Resources of a cache that its prefetches share with demand accesses. Each resource is given by its name
/// and its number of entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MissResources {
    /// Name and number of the MSHR entries.
    pub mshr_entries: (&'static str, u32),
    /// Name and number of the miss-queue entries.
    pub miss_queue: (&'static str, u32),
}

/// Limits on the resources that prefetches use; without effect if no prefetcher is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrefetchLimits {
    /// Number of entries of the prefetch queue, which holds the lines to prefetch until they are looked up in
    /// the tags.
    pub queue: u32,
    /// Largest number of MSHR entries that prefetches in flight may use. A prefetch no longer counts once a
    /// demand access has merged with it.
    pub mshr_share: u32,
    /// Largest number of miss-queue entries that reads of prefetches may use.
    pub miss_queue_share: u32,
    /// Size of an aligned page in bytes. A prefetch and the line that triggered it must lie on the same page.
    pub page_bytes: u32,
}

impl PrefetchLimits {
    /// Returns the log2 of the number of lines per page.
    #[must_use]
    pub fn page_bits(&self, line_bytes: u32) -> u32 {
        self.page_bytes.max(1).ilog2().saturating_sub(line_bytes.ilog2())
    }

    /// Checks the limits against the resources `whole` of the cache. At least one entry of each resource must
    /// be left for demand accesses.
    pub(crate) fn validate(&self, whole: &MissResources, rules: &mut Rules) {
        let &MissResources { mshr_entries, miss_queue } = whole;
        let &Self { queue, mshr_share, miss_queue_share, page_bytes } = self;
        rules.range("queue", queue.into(), 1..=64, "a line waits here until no request is at the tags");
        let mut share = |name, share: u32, (whole_name, whole): (&str, u32)| {
            let legal = match whole {
                0 | 1 => format!("another {whole_name}: {whole} leaves none"),
                _ => format!("1 to {} with {whole_name} = {whole}", whole - 1),
            };
            let why = "a prefetch needs an entry, and one must be left for demand accesses";
            rules.expect((1..whole).contains(&share), name, share, &legal, why);
        };
        share("mshr_share", mshr_share, mshr_entries);
        share("miss_queue_share", miss_queue_share, miss_queue);
        rules.power_of_two("page_bytes", page_bytes.into(), 4096..=1 << 21, "the page is a bit field of the address");
    }
}

/// Line that a prefetcher selects, with the line whose access triggered the prefetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Address of the line to prefetch. An address below 0 wraps around to a very high address.
    pub line: u64,
    /// Line whose access triggered the prefetch. The prefetch is dropped if the two lines lie on different
    /// pages.
    pub trigger: u64,
}

/// Reason why a prefetch was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Reason)]
pub enum DropReason {
    /// The line to prefetch, or a sector of it, was already present.
    Present,
    /// The line to prefetch was already in flight.
    InFlight,
    /// The line and the line that triggered the prefetch lie on different pages.
    OtherPage,
    /// The prefetch queue was full.
    QueueFull,
    /// The kernel ended before the line was looked up.
    KernelEnd,
}

/// Number of reasons why a prefetch can be dropped.
const DROPS: usize = DropReason::ALL.len();

/// Counters of the prefetches of an L1D or an L2 bank. When the kernel has ended, each prefetch sent counts
/// as useful, late or useless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, Counted)]
pub struct PrefetchStats {
    /// Prefetches sent to memory.
    pub issued: u64,
    /// Prefetched lines that a demand access hit, counted once per line.
    pub useful: u64,
    /// Prefetched lines that a demand access requested while they were in flight, counted once per line.
    pub late: u64,
    /// Prefetched lines that were replaced before any demand access used them, or that were unused when the
    /// kernel ended.
    pub useless: u64,
    /// Prefetches dropped, by reason.
    #[counted(by = DropReason)]
    pub dropped: [u64; DROPS],
}

/// Run of prefetches: a sequence of lines at a constant distance from each other. Most prefetchers start a
/// run and return one line of it per cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    trigger: u64,
    line: u64,
    step: i64,
    left: u32,
}

impl Run {
    /// Creates a run of `count` lines, which starts at the line `first` and continues at intervals of `step`
    /// lines. `trigger` is the line whose access triggered the run.
    #[must_use]
    pub fn new(trigger: u64, first: u64, step: i64, count: u32) -> Self {
        Self { trigger, line: first, step, left: count }
    }

    /// Adds to the hardware description: the registers of the run, whose widths `place` gives, and the adder
    /// that computes the next line.
    pub fn describe(&self, place: &RunShape, to: &mut dyn Describe) {
        let Self { trigger, line, step, left } = self;
        let &RunShape { line_bits, step_bits, most } = place;
        to.part("run", |to| {
            to.sized("trigger", *trigger, line_bits);
            to.sized("line", low_bits(*line, line_bits), line_bits);
            to.sized("step", low_bits(*step as u64, step_bits), step_bits);
            to.sized("left", u64::from(*left), count_bits(most));
            to.logic("next", Logic::Adder { width: line_bits });
            to.logic("count", Logic::Counter { width: count_bits(most) });
        });
    }
}

impl Iterator for Run {
    type Item = Target;

    fn next(&mut self) -> Option<Target> {
        self.left = self.left.checked_sub(1)?;
        let line = self.line;
        self.line = line.wrapping_add_signed(self.step);
        Some(Target { line, trigger: self.trigger })
    }
}

/// Register widths of a [`Run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunShape {
    /// Width of a line address in bits.
    pub line_bits: u32,
    /// Width in bits of the step between two lines, in two's complement.
    pub step_bits: u32,
    /// Largest number of lines of a run.
    pub most: u32,
}

/// Stride of a sequence of accesses: the distance between the lines of the last two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stride {
    /// Stride in two's complement; 0 if the distance between the last two lines does not fit into the width
    /// of a stride.
    pub stride: u64,
    /// Number of times that the stride has repeated. Saturates at the number of repetitions that triggers
    /// prefetches.
    pub count: u8,
    /// Stride in lines, as a signed number, if it has repeated often enough to trigger prefetches; otherwise
    /// `None`.
    pub trained: Option<i64>,
}

impl Stride {
    /// Returns the stride after an access to `line`. The previous access was to the line `last`; the stride
    /// was then `stride`, and had repeated `count` times. A stride has `bits` bits, and triggers prefetches
    /// once it has repeated `confidence` times.
    pub fn update((last, stride, count): (u64, u64, u8), line: u64, bits: u32, confidence: u32) -> Self {
        let distance = distance(last, line, bits);
        let new = distance.map_or(0, |distance| low_bits(distance as u64, bits));
        let repeats = distance.is_some() && new == stride;
        let count = if repeats { (count + 1).min(confidence as u8) } else { 0 };
        Self { stride: new, count, trained: distance.filter(|_| u32::from(count) == confidence) }
    }
}

/// Returns the distance in lines from `from` to `to`; `None` if it does not fit into `bits` bits in two's
/// complement.
#[must_use]
pub(crate) fn distance(from: u64, to: u64, bits: u32) -> Option<i64> {
    let distance = to as i64 - from as i64;
    (distance.unsigned_abs() < 1 << (bits - 1)).then_some(distance)
}

/// Returns the lowest `bits` bits of a value.
#[must_use]
pub(crate) fn low_bits(value: u64, bits: u32) -> u64 {
    value & (u64::MAX >> (u64::BITS - bits))
}

/// Returns the width in bits of a counter from 0 to `most`.
#[must_use]
pub(crate) fn count_bits(most: u32) -> u32 {
    u32::BITS - most.leading_zeros()
}
