//! # Prefetching into the L1D
//! Fetches lines before a load requests them. Each prefetcher is one file in this folder, with its
//! configuration, state and hooks. The unit around the prefetcher ([`mod@unit`]) queues the lines, looks them
//! up and sends their reads.
//!
//! | kind        | prefetches                                            | source                             |
//! |-------------|-------------------------------------------------------|------------------------------------|
//! | `none`      | nothing                                               |                                    |
//! | `next-line` | the lines after a miss or a first use                 | Smith, ACM Computing Surveys 1982  |
//! | `stride`    | lines at the stride of an instruction and warp        | Chen and Baer, IEEE ToC 1995       |
//! | `stream`    | lines ahead of accesses that run in one direction     | Srinath et al., HPCA 2007          |
//! | `many-thread-aware` | lines at strides within warps and between them | Lee et al., MICRO 2010             |
//!
//! | hook        | when                                                                                |
//! |-------------|-------------------------------------------------------------------------------------|
//! | `on_fill`   | step 1 of an LSU cycle: a line or sectors of one have arrived                        |
//! | `next`      | ahead of step 4, once per cycle: returns a line to prefetch                          |
//! | `on_access` | step 4: the L1D has accepted a load; up to `l1.lookups` times per cycle              |
//! | `clear`     | the kernel has ended                                                                |
//! | `record`, `describe` | for digests; for waveforms and area counts                                 |
//! | `counters`  | when statistics are read: counters of the prefetcher's own                           |
//!
//! A line that `next` returns enters the prefetch queue. The head of that queue is looked up in a cycle in
//! which no request waits at the tags, so that prefetches delay no accesses. A prefetch is dropped if its
//! line is present or in flight, or if the queue is full. It is also dropped if its line and the line that
//! triggered it lie on different pages. Otherwise it waits for a way, an MSHR entry and room in the miss
//! queue. `l1.prefetch_limits` limits the MSHR and miss-queue entries that prefetches can use.
//!
//! A prefetched line takes a way when its read is sent, as the line of a miss does. A load that requests the
//! line while it is in flight merges with the prefetch.

automod::dir!(pub "l1/prefetch");

use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use derive::watched;
use serde::{Deserialize, Serialize};

use self::unit::Prefetcher;
use super::config::{L1Config, Organisation};
use crate::choice::Choice;
use crate::config::Rules;
use crate::kernel::{Counted, CounterReader, Describe, DescribeExt, Edge, FieldsExt, Logic, Reason};

/// Properties of the L1D from which its prefetcher is created.
#[derive(Clone, Copy, Debug)]
pub struct PrefetchPlace<'a> {
    /// Hierarchical path of the cache, such as `sm3.l1`.
    pub path: &'a str,
    /// Width of a line address in bits.
    pub line_bits: u32,
    /// Width of a program counter in bits.
    pub pc_bits: u32,
    /// log2 of the number of lines per page; a prefetch never crosses a page boundary.
    pub page_bits: u32,
}

/// Properties of an ordinary L1D, for a prefetcher that is created only to inspect it.
const EXAMPLE: PrefetchPlace<'static> = PrefetchPlace { path: "", line_bits: 25, pc_bits: 8, page_bits: 9 };

/// Configuration of a prefetcher: its parameters are keys next to `kind` in `l1.prefetch`.
#[typetag::serde(tag = "kind")]
pub trait Scheme: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Creates the hardware of the prefetcher; `None` if it prefetches nothing.
    fn hardware(&self, place: &PrefetchPlace<'_>) -> Option<Box<dyn Hooks>>;

    /// Checks the parameters of the prefetcher scheme.
    fn validate(&self, _rules: &mut Rules) {}

    /// True if the prefetcher reads program counters. If no scheme of the L1D reads them, requests to the L1D
    /// carry no program counter, and the prefetcher receives 0.
    fn reads_pc(&self) -> bool {
        false
    }

    /// True if the prefetcher's hardware can observe several loads per cycle, of which all but the first hit.
    fn supports_multiple_lookups(&self) -> bool {
        false
    }
}

/// Prefetcher selected by the configuration.
pub type PrefetchConfig = Choice<dyn Scheme>;

impl<S: Scheme + 'static> From<S> for PrefetchConfig {
    fn from(scheme: S) -> Self {
        Self::new(Arc::new(scheme))
    }
}

impl PrefetchConfig {
    /// True if a prefetcher is selected and its parameters are legal.
    #[must_use]
    pub fn is_on(&self) -> bool {
        let mut rules = Rules::default();
        Scheme::validate(&**self, &mut rules);
        rules.is_kept() && self.hardware(&EXAMPLE).is_some()
    }

    /// Lists the counters of every linked prefetcher, with default parameters, for the dictionary of counters.
    pub fn list_counters(to: &mut dyn CounterReader) {
        for scheme in Self::linked() {
            if let Some(hooks) = scheme.hardware(&EXAMPLE) {
                Watched::of(scheme.typetag_name(), hooks).counters(to);
            }
        }
    }

    /// Checks the parameters of the prefetcher, and that it fits the cache.
    pub(super) fn validate(&self, l1: &L1Config, rules: &mut Rules) {
        rules.group("prefetch", |rules| Scheme::validate(&**self, rules));
        if !self.is_on() {
            return;
        }
        let kind = self.typetag_name();
        rules.expect(
            l1.organisation == Organisation::Plain,
            "prefetch",
            kind,
            "none with l1.organisation = \"decoupled\"; the plain organisation has all prefetchers",
            "decoupled tags decide by the loads of a line whether it gets data",
        );
        rules.expect(
            l1.bypass.gets_prefetches(l1),
            "prefetch",
            kind,
            &format!(
                "none with an l1.bypass of kind {}; the kinds none, all, contentious and profiled have all prefetchers",
                l1.bypass.typetag_name()
            ),
            "the bypass scheme keeps a state of each line, which only loads update",
        );
        rules.group("prefetch_limits", |rules| l1.prefetch_limits.validate(l1, rules));
    }

    /// Creates the prefetcher of an L1D, together with its prefetch unit; `None` if the configuration selects
    /// no prefetcher.
    pub(super) fn unit(&self, place: &PrefetchPlace<'_>, l1: &L1Config, slots: u32) -> Option<Box<Prefetcher>> {
        let hooks = self.hardware(place)?;
        Some(Box::new(Prefetcher::new(Watched::of(self.typetag_name(), hooks), place, l1, slots)))
    }
}

/// Limits on the resources that prefetches use; without effect if no prefetcher is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrefetchLimits {
    /// Number of entries of the prefetch queue, which holds lines until they are looked up.
    pub queue: u32,
    /// Largest number of MSHR entries that prefetches in flight may use. A prefetch no longer counts once a
    /// load has merged with it.
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

    fn validate(&self, l1: &L1Config, rules: &mut Rules) {
        let &Self { queue, mshr_share, miss_queue_share, page_bytes } = self;
        rules.range("queue", queue.into(), 1..=64, "a line waits here until no request is at the tags");
        let mut share = |name, share: u32, whole_name, whole: u32, why| {
            let legal = match whole {
                0 | 1 => format!("another {whole_name}: {whole} leaves none"),
                _ => format!("1 to {} with {whole_name} = {whole}", whole - 1),
            };
            rules.expect((1..whole).contains(&share), name, share, &legal, why);
        };
        let why = "a prefetch needs an entry, and one must be left for loads";
        share("mshr_share", mshr_share, "l1.mshr_entries", l1.mshr_entries, why);
        share("miss_queue_share", miss_queue_share, "l1.miss_queue", l1.miss_queue, why);
        rules.power_of_two("page_bytes", page_bytes.into(), 4096..=1 << 21, "the page is a bit field of the address");
    }
}

/// Load that the L1D has accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DemandLoad {
    /// Line address of the load.
    pub line: u64,
    /// Program counter of the instruction; 0 unless the prefetcher reads it ([`Scheme::reads_pc`]).
    pub pc: u32,
    /// Number of the load's warp slot.
    pub warp: u8,
    /// True if the load is the first line request of its warp instruction that the L1D accepts.
    pub is_first: bool,
    /// True if the load has missed: its line, or a sector that it requests, was neither present nor in
    /// flight.
    pub missed: bool,
    /// True if the load is the first to use a prefetched line, present or in flight.
    pub uses_prefetch: bool,
}

/// Line that a prefetcher returns, with the line of the load that triggered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Address of the line to prefetch. An address below 0 wraps around to a large one.
    pub line: u64,
    /// Line whose access triggered the prefetch. The line to prefetch must lie on the same page.
    pub trigger: u64,
}

/// Hooks of a prefetcher, which the L1D calls.
#[watched("l1.prefetch")]
#[typetag::serde]
pub trait Hooks: Debug + Send {
    /// Reports a load that the L1D has accepted.
    fn on_access(&mut self, at: &Edge<'_>, load: &DemandLoad);

    /// Reports that a line, or sectors of a line, have arrived. `_prefetched` is true if a prefetch requested
    /// the line and no load has used it yet.
    fn on_fill(&mut self, _at: &Edge<'_>, _line: u64, _prefetched: bool) {}

    /// Returns a line to prefetch, if there is one. The L1D calls this hook at most once per cycle. After a
    /// return of `None`, it calls the hook again only after a call of `on_access` or `on_fill`.
    fn next(&mut self, at: &Edge<'_>) -> Option<Target>;

    /// Clears the state of the prefetcher at the end of a kernel.
    fn clear(&mut self) {}

    /// Starts to maintain digests (hashes) of the array contents.
    fn record(&mut self) {}

    /// Adds to the hardware description: the prefetcher's registers, arrays and logic.
    fn describe(&self, to: &mut dyn Describe);

    /// Lists the counters that the scheme declares itself, for the statistics. It must always list the same
    /// keys, and no counter may decrease, not even at the end of a kernel.
    fn counters(&self, _to: &mut dyn CounterReader) {}
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

/// Counters of the prefetches of an L1D. When the kernel has ended, each prefetch sent counts as useful, late
/// or useless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, Counted)]
pub struct PrefetchStats {
    /// Prefetches sent to memory.
    pub issued: u64,
    /// Prefetched lines that a load hit, counted once per line.
    pub useful: u64,
    /// Prefetched lines that a load requested while they were in flight, counted once per line.
    pub late: u64,
    /// Prefetched lines that were replaced before any load used them, or that were unused when the kernel
    /// ended.
    pub useless: u64,
    /// Prefetches dropped, by reason.
    #[counted(by = DropReason)]
    pub dropped: [u64; DROPS],
}

/// Run of prefetches: a sequence of lines at a constant distance from each other, of which one is returned
/// per cycle. Most prefetchers use it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    trigger: u64,
    line: u64,
    step: i64,
    left: u32,
}

impl Run {
    /// Creates a run of `count` lines, which starts at the line `first` and continues at intervals of `step`
    /// lines. `trigger` is the line whose load triggered the run.
    #[must_use]
    pub fn new(trigger: u64, first: u64, step: i64, count: u32) -> Self {
        Self { trigger, line: first, step, left: count }
    }

    /// Adds to the hardware description: the registers and the adder of the run, with the widths in `place`.
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

/// Width of a warp slot in bits.
const WARP_BITS: u32 = 6;

/// Hashes a key to a row number of a table: splits the key into pieces as wide as a row number, and XORs the
/// pieces.
fn hash(key: u64, rows: u32) -> u32 {
    let bits = rows.ilog2();
    (0..u64::BITS).step_by(bits as usize).fold(0, |row, shift| row ^ low_bits(key >> shift, bits)) as u32
}

/// Returns the table row for the instruction and the warp of a load.
fn row_of(&DemandLoad { pc, warp, .. }: &DemandLoad, rows: u32) -> u32 {
    hash(u64::from(pc) << WARP_BITS | u64::from(warp), rows)
}

/// Returns the distance in lines from `from` to `to`; `None` if it does not fit into `bits` bits in two's
/// complement.
fn distance(from: u64, to: u64, bits: u32) -> Option<i64> {
    let distance = to as i64 - from as i64;
    (distance.unsigned_abs() < 1 << (bits - 1)).then_some(distance)
}

/// Returns the lowest `bits` bits of a value.
#[must_use]
pub(super) fn low_bits(value: u64, bits: u32) -> u64 {
    value & (u64::MAX >> (u64::BITS - bits))
}

/// Returns the width in bits of a counter from 0 to `most`.
#[must_use]
pub(super) fn count_bits(most: u32) -> u32 {
    u32::BITS - most.leading_zeros()
}

/// Test bench shared by the unit tests of the prefetchers.
#[cfg(test)]
mod bench {
    use super::*;
    use crate::kernel::Wake;

    /// Test bench of a prefetcher, with 64 lines per page.
    pub struct Bench {
        hooks: Box<dyn Hooks>,
        wake: Wake,
        cycle: u64,
    }

    impl Bench {
        pub fn new(config: impl Scheme) -> Self {
            let place = PrefetchPlace { path: "l1", line_bits: 25, pc_bits: 8, page_bits: 6 };
            let hooks = config.hardware(&place).expect("it prefetches");
            Self { hooks, wake: Wake::new(&[1]), cycle: 0 }
        }

        /// Reports a load to the prefetcher, and returns the lines to prefetch that it triggers, one per
        /// cycle.
        pub fn access(&mut self, load: DemandLoad) -> Vec<u64> {
            self.cycle += 1;
            self.hooks.on_access(&Edge::new(self.cycle, self.cycle, &mut self.wake), &load);
            let next = || {
                self.cycle += 1;
                self.hooks.next(&Edge::new(self.cycle, self.cycle, &mut self.wake)).map(|target| target.line)
            };
            std::iter::from_fn(next).collect()
        }
    }
}
