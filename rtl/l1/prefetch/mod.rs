//! # Prefetching into the L1D
//! Fetches lines before a load requests them. Each prefetcher is one file in this folder, with its
//! configuration, state and hooks. The prefetch unit ([`mod@unit`]) queues the lines that the prefetcher
//! returns, looks them up in the L1D and sends their reads.
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
//! | `counters`  | when statistics are read: lists the counters that the prefetcher declares itself     |
//!
//! A line that `next` returns enters the prefetch queue. The head of that queue is looked up in a cycle in
//! which no request waits at the tags, so that prefetches delay no accesses. A prefetch is dropped if its
//! line is present or in flight, or if the queue is full. It is also dropped if its line and the line that
//! triggered it lie on different pages. Otherwise it waits for a way, an MSHR entry and room in the miss
//! queue. `l1.prefetch_limits` limits the MSHR and miss-queue entries that prefetches can use.
//!
//! `cells/prefetch` contains the code that the prefetchers of the L1D share with the prefetchers of an L2
//! bank (`l2/prefetch`).
//!
//! A prefetched line is allocated a way when its read is sent, like the line of a miss. A load that requests
//! the line while it is in flight merges with the prefetch.

automod::dir!(pub "l1/prefetch");

use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use self::unit::Prefetcher;
use super::config::{L1Config, Organisation};
pub use crate::cells::prefetch::{DropReason, PrefetchLimits, PrefetchStats, Run, RunShape, Target};
use crate::cells::prefetch::{MissResources, count_bits, distance, low_bits};
use crate::choice::Choice;
use crate::config::Rules;
use crate::kernel::{CounterReader, Describe, Edge};
use derive::watched;

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

/// Properties of an ordinary L1D. A prefetcher created with them never prefetches: it only tells whether its
/// scheme has hardware, and lists its counters.
const EXAMPLE: PrefetchPlace<'static> = PrefetchPlace { path: "", line_bits: 25, pc_bits: 8, page_bits: 9 };

/// Configuration of a prefetcher. In the configuration file, its parameters are keys of `l1.prefetch`, next
/// to the key `kind` that selects the scheme.
#[typetag::serde(tag = "kind")]
pub trait Scheme: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Creates the hardware of the prefetcher; `None` if the scheme never prefetches.
    fn hardware(&self, place: &PrefetchPlace<'_>) -> Option<Box<dyn Hooks>>;

    /// Checks the parameters of the prefetcher scheme.
    fn validate(&self, _rules: &mut Rules) {}

    /// True if the prefetcher reads program counters. If no scheme of the L1D reads them, requests to the L1D
    /// carry no program counter, and the prefetcher receives 0.
    fn reads_pc(&self) -> bool {
        false
    }

    /// True if the prefetcher's hardware can observe several loads per cycle. In such a cycle, only the first
    /// load can miss; all other loads are hits.
    fn supports_multiple_lookups(&self) -> bool {
        false
    }
}

/// Configuration field that selects a prefetcher.
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

    /// Lists the counters of all prefetchers that are linked into the program, for the dictionary of
    /// counters. The prefetchers have their default parameters.
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
        let whole = MissResources {
            mshr_entries: ("l1.mshr_entries", l1.mshr_entries),
            miss_queue: ("l1.miss_queue", l1.miss_queue),
        };
        rules.group("prefetch_limits", |rules| l1.prefetch_limits.validate(&whole, rules));
    }

    /// Creates the prefetcher of an L1D, together with its prefetch unit; `None` if the configuration selects
    /// no prefetcher.
    pub(super) fn unit(&self, place: &PrefetchPlace<'_>, l1: &L1Config, slots: u32) -> Option<Box<Prefetcher>> {
        let hooks = self.hardware(place)?;
        Some(Box::new(Prefetcher::new(Watched::of(self.typetag_name(), hooks), place, l1, slots)))
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
    /// True if the load is the first to use a prefetched line, which may be present or still in flight.
    pub uses_prefetch: bool,
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

    /// Returns a line to prefetch, if there is one. The L1D calls this hook at most once per cycle. After the
    /// hook has returned `None`, the L1D calls it again only after a call of `on_access` or `on_fill`.
    fn next(&mut self, at: &Edge<'_>) -> Option<Target>;

    /// Clears the state of the prefetcher at the end of a kernel.
    fn clear(&mut self) {}

    /// Starts to maintain digests (hashes) of the array contents.
    fn record(&mut self) {}

    /// Adds to the hardware description: the prefetcher's registers, arrays and logic.
    fn describe(&self, to: &mut dyn Describe);

    /// Lists the scheme's own counters, for the statistics. Every call must list the same keys, and no
    /// counter may ever decrease, not even at the end of a kernel.
    fn counters(&self, _to: &mut dyn CounterReader) {}
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

        /// Reports a load to the prefetcher. Returns the lines that the prefetcher then proposes, one per
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
