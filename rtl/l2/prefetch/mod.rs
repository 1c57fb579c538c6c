//! # Prefetching into an L2 bank
//! Fetches lines before a request asks for them. Each prefetcher is one file in this folder, with its
//! configuration, state and hooks. The unit around the prefetcher ([`mod@unit`]) queues the lines and counts
//! them, and the overlapped flow (`bank/overlapped/prefetch`) looks them up and fetches them.
//!
//! | kind        | prefetches                                            | source                             |
//! |-------------|-------------------------------------------------------|------------------------------------|
//! | `none`      | nothing                                               |                                    |
//! | `next-line` | the lines after a miss or a first use                 | Smith, ACM Computing Surveys 1982  |
//! | `stride`    | lines at the stride of an SM                          | Chen and Baer, IEEE ToC 1995       |
//! | `stream`    | lines ahead of accesses that run in one direction     | Srinath et al., HPCA 2007          |
//!
//! | hook        | when                                                                                |
//! |-------------|-------------------------------------------------------------------------------------|
//! | `next`      | once per cycle, before `on_access`: returns a line to prefetch                       |
//! | `on_access` | step 3 of a cycle of the bank: a request was served or deferred after its lookup     |
//! | `on_fill`   | step 4: the last requested burst of a line has arrived                               |
//! | `clear`     | the kernel has ended                                                                |
//! | `record`, `describe` | for digests; for waveforms and area counts                                 |
//! | `counters`     | when statistics are read: counters of the scheme's own                          |
//!
//! Line numbers in the hooks are numbers within the bank. The interleaving gives a bank every n-th line or
//! run of lines of memory, so the next line of the bank is not the next line of memory. Requests to the L2
//! carry no program counter.
//!
//! A page is an aligned region of `l2.prefetch_limits.page_bytes` of the address space. The line of a
//! prefetch and the line of the access that triggered it must be on the same page. The unit converts both to
//! memory lines before it compares their pages, because the lines of a page have an aligned group of numbers
//! within the bank only if the number of banks is a power of two. Memory always contains whole pages, so
//! every line on the page of a request exists, even at the end of the address space.
//!
//! [`PrefetchPlace::page_bits`] gives the approximate number of lines of the bank per page: `page_bytes`
//! divided by the number of banks and by the line size, or one interleaved run if that is more. It is at
//! least four lines, because prefetchers need strides and stream regions of more than one line. If a page has
//! fewer lines than this, the unit drops prefetches outside the page, as `other_page`. The machines have
//! pages of 2 MB, which contain 256 lines of 128 bytes of each of 64 banks; a page of 64 KB would contain 8.
//!
//! The oldest queued prefetch is looked up in a cycle in which no waiter is ready and no request waits for
//! the tags, so that prefetches do not delay accesses to the tags. A prefetch is dropped if its line is
//! present or in flight, if its line is on another page, or if the queue is full. Otherwise it waits for a
//! way, an MSHR entry, room for its fetch, and room for the writeback of a dirty victim. `l2.prefetch_limits`
//! limits the MSHR and miss-queue entries that prefetches can use.
//!
//! A prefetch fetches all bursts of its line, even if misses fetch only sectors. A request for a line in
//! flight merges with the prefetch. The DRAM channel treats the prefetch as a request of the SM whose access
//! triggered it. The built-in prefetchers ignore writes, because writes often need no fetch.
//!
//! Kernel end: the queue and the prefetcher are cleared. Lines stay in the bank, but a prefetched line that
//! no access has used is then counted as useless. Each prefetch thus counts for the kernel that sent it.

automod::dir!(pub "l2/prefetch");

use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use derive::watched;
use serde::{Deserialize, Serialize};

use self::unit::Prefetcher;
use super::config::{BankPlace, L2Config};
pub use crate::cells::prefetch::{DropReason, PrefetchLimits, PrefetchStats, Run, RunShape};
use crate::cells::prefetch::{MissResources, count_bits};
use crate::choice::Choice;
use crate::config::Rules;
use crate::kernel::{CounterReader, Describe, DescribeExt, Edge, FieldsExt};

/// Smallest base-2 logarithm of the number of lines per page that the prefetchers support.
const MIN_PAGE_BITS: u32 = 2;

/// Properties of the L2 bank from which its prefetcher is created.
#[derive(Clone, Copy, Debug)]
pub struct PrefetchPlace<'a> {
    /// Hierarchical path of the bank, such as `l2.bank3`.
    pub path: &'a str,
    /// Width in bits of the number of a line within the bank.
    pub line_bits: u32,
    /// Width of an SM number in bits.
    pub sm_bits: u32,
    /// log2 of the approximate number of lines of a page that lie in the bank, rounded up.
    pub page_bits: u32,
}

/// Configuration of a prefetcher. In the configuration file, its parameters are keys of `l2.prefetch`, next
/// to the key `kind` that selects the scheme.
#[typetag::serde(tag = "kind")]
pub trait Scheme: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Creates the hardware of the prefetcher; `None` if the scheme never prefetches.
    fn hardware(&self, place: &PrefetchPlace<'_>) -> Option<Box<dyn Hooks>>;

    /// Checks the parameters of the prefetcher scheme.
    fn validate(&self, _rules: &mut Rules) {}
}

/// Prefetcher selected for the L2 banks.
pub type L2Prefetch = Choice<dyn Scheme>;

impl<S: Scheme + 'static> From<S> for L2Prefetch {
    fn from(scheme: S) -> Self {
        Self::new(Arc::new(scheme))
    }
}

/// Bank description that is used only to create a prefetcher and read its properties.
const EXAMPLE: PrefetchPlace<'static> = PrefetchPlace { path: "", line_bits: 25, sm_bits: 4, page_bits: 6 };

impl L2Prefetch {
    /// True if a prefetcher is selected and its parameters are legal.
    #[must_use]
    pub fn is_on(&self) -> bool {
        let mut rules = Rules::default();
        Scheme::validate(&**self, &mut rules);
        rules.is_kept() && self.hardware(&EXAMPLE).is_some()
    }

    /// Lists the counters of all prefetchers that are linked into the program, each with its default
    /// parameters, for the dictionary of counters.
    pub fn list_counters(to: &mut dyn CounterReader) {
        for scheme in Self::linked() {
            if let Some(hooks) = scheme.hardware(&EXAMPLE) {
                Watched::of(scheme.typetag_name(), hooks).counters(to);
            }
        }
    }

    /// Checks the parameters of the prefetcher, and that it fits the bank.
    pub(super) fn validate(&self, l2: &L2Config, rules: &mut Rules) {
        rules.group("prefetch", |rules| Scheme::validate(&**self, rules));
        if !self.is_on() {
            return;
        }
        let kind = self.typetag_name();
        let Some(flow) = l2.overlapped_config() else {
            return rules.expect(
                false,
                "prefetch",
                kind,
                "none with flow.kind = \"transient\"; the overlapped flow has all prefetchers",
                "that flow evicts a victim before it fetches, for which a line needs a request that waits",
            );
        };
        rules.expect(
            l2.bypass.hardware().is_none(),
            "prefetch",
            kind,
            &format!("none with an l2.bypass of kind {}; the kind none has all prefetchers", l2.bypass.typetag_name()),
            "the bypass scheme decides by the requests for a line if the bank allocates it",
        );
        let whole = MissResources {
            mshr_entries: ("l2.mshr_entries", l2.mshr_entries),
            miss_queue: ("l2.flow.miss_queue", flow.miss_queue),
        };
        rules.group("prefetch_limits", |rules| l2.prefetch_limits.validate(&whole, rules));
    }

    /// Creates the prefetcher of the bank at `path`, together with its prefetch unit; `None` if the
    /// configuration selects no prefetcher.
    pub(super) fn unit(&self, path: &str, l2: &L2Config, bank: &BankPlace) -> Option<Box<Prefetcher>> {
        let place = PrefetchPlace {
            path,
            line_bits: bank.local_bits(),
            sm_bits: bank.packets.sm_bits,
            page_bits: page_bits(&l2.prefetch_limits, bank),
        };
        let hooks = self.hardware(&place)?;
        Some(Box::new(Prefetcher::new(Watched::of(self.typetag_name(), hooks), &place, l2, bank)))
    }
}

/// Returns the log2 of the approximate number of lines of a page that lie in one bank, rounded up.
fn page_bits(limits: &PrefetchLimits, bank: &BankPlace) -> u32 {
    let page_lines = 1u32 << limits.page_bits(bank.line_bytes);
    let run_lines = page_lines.min(1 << bank.interleave.run_log2);
    let lines = page_lines.div_ceil(bank.interleave.num_partitions).max(run_lines);
    lines.next_power_of_two().ilog2().max(MIN_PAGE_BITS)
}

/// Access that the bank has served, or deferred until its line arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DemandAccess {
    /// Number of the line within the bank.
    pub line: u64,
    /// Number of the SM that sent the request.
    pub sm: u8,
    /// True if the access is a write, which does not need the line's bytes; false for a read, an atomic or a
    /// reduction.
    pub is_write: bool,
    /// True if the access has missed: its line, or a byte that it needs, was neither present nor in flight.
    pub missed: bool,
    /// True if the access is the first to use a prefetched line, present or in flight.
    pub uses_prefetch: bool,
}

/// Line that a prefetcher returns, with the access that triggered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Number within the bank of the line to prefetch. A number below 0 wraps around to a large one.
    pub line: u64,
    /// Number within the bank of the line whose access triggered the prefetch. It must be on the same page as
    /// the prefetched line.
    pub trigger: u64,
    /// SM of the access that triggered the prefetch. The DRAM channel treats the prefetch as a request of
    /// this SM.
    pub sm: u8,
}

/// Hooks of a prefetcher, which the L2 bank calls.
#[watched("l2.prefetch")]
#[typetag::serde]
pub trait Hooks: Debug + Send {
    /// Reports an access that the bank has served or deferred.
    fn on_access(&mut self, at: &Edge<'_>, access: &DemandAccess);

    /// Reports that all requested bursts of a line have arrived. `_prefetched` is true if a prefetch
    /// requested the line and no access has used it yet.
    fn on_fill(&mut self, _at: &Edge<'_>, _line: u64, _prefetched: bool) {}

    /// Returns a line to prefetch, if there is one. The bank calls this hook at most once per cycle. After
    /// the hook has returned `None`, the bank calls it again only after a call of `on_access` or `on_fill`.
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

/// Run of prefetches (a sequence of lines at a constant distance), and the SM whose access started it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmRun {
    run: Run,
    sm: u8,
}

impl SmRun {
    /// Replaces the run by `run`, which an access of SM `sm` starts.
    pub fn start(&mut self, run: Run, sm: u8) {
        *self = Self { run, sm };
    }

    /// Adds to the hardware description: the registers of the run, whose widths are given by `shape`, and the
    /// register of the SM number, which has `sm_bits` bits.
    pub fn describe(&self, shape: &RunShape, sm_bits: u32, to: &mut dyn Describe) {
        let Self { run, sm } = self;
        run.describe(shape, to);
        to.part("run", |to| to.sized("sm", u64::from(*sm), sm_bits));
    }
}

impl Iterator for SmRun {
    type Item = Target;

    fn next(&mut self) -> Option<Target> {
        let next = self.run.next()?;
        Some(Target { line: next.line, trigger: next.trigger, sm: self.sm })
    }
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
            let place = PrefetchPlace { path: "l2", line_bits: 25, sm_bits: 4, page_bits: 6 };
            let hooks = config.hardware(&place).expect("it prefetches");
            Self { hooks, wake: Wake::new(&[1]), cycle: 0 }
        }

        /// Reports an access to the prefetcher. Returns the lines to prefetch that the access triggers, each
        /// with the SM on whose behalf it is fetched. The prefetcher returns one line per cycle.
        pub fn access(&mut self, access: DemandAccess) -> Vec<(u64, u8)> {
            self.cycle += 1;
            self.hooks.on_access(&Edge::new(self.cycle, self.cycle, &mut self.wake), &access);
            let next = || {
                self.cycle += 1;
                self.hooks.next(&Edge::new(self.cycle, self.cycle, &mut self.wake)).map(|next| (next.line, next.sm))
            };
            std::iter::from_fn(next).collect()
        }
    }
}
