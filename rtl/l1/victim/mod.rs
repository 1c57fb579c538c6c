//! # Victim cache of the L1D
//! Keeps lines that the L1D has evicted, and returns them to the L1D on a load (Jouppi, "Improving
//! direct-mapped cache performance by the addition of a small fully-associative cache and prefetch buffers",
//! ISCA 1990). Each policy is one file in this folder, with its configuration, state and hooks. The
//! victim-cache unit ([`mod@unit`]) holds the lines.
//!
//! | kind   | keeps                                     | source             |
//! |--------|-------------------------------------------|--------------------|
//! | `none` | nothing                                   |                    |
//! | `lru`  | the clean lines evicted or used last      | Jouppi, ISCA 1990  |
//!
//! | hook       | when                                                                                |
//! |------------|-------------------------------------------------------------------------------------|
//! | `on_evict` | step 4 of an LSU cycle: a miss or a prefetch evicts a clean line                     |
//! | `lookup`   | step 4: a load has found its line in an entry                                        |
//! | `swap`     | step 4, after `lookup`: the line of the entry and the line that the L1D evicts can be swapped |
//! | `clear`    | the kernel has ended                                                                |
//! | `record`, `describe` | for digests; for waveforms and area counts                                |
//! | `counters` | when statistics are read: lists the counters that the policy declares itself        |
//!
//! A load that hits in the victim cache takes one cycle more than an L1D hit, is counted as a hit, and sends
//! no request. The line of the load is swapped with the line that a miss would evict. If no swap is possible,
//! the line stays in the victim cache, which still serves the load. A swap is impossible in three cases:
//! every way of the set is reserved, a waiting load still has to read a line of the set, or the L1D's victim
//! is modified and the miss queue has no room for its writeback.
//!
//! Unlike the direct-mapped caches of the paper, the L1D is set associative and has modified lines of local
//! memory. Modified lines are written back, and not kept in the victim cache. A store, an atomic or a recall
//! drops the line from the victim cache, where it would otherwise become stale. In an L1D whose misses fetch
//! sectors, a line in the victim cache may lack a sector that a load requests. Such a load is a miss, and
//! drops the line from the victim cache.

automod::dir!(pub "l1/victim");

use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use derive::watched;
use serde::{Deserialize, Serialize};

use self::unit::{VictimCache, VictimShape};
use super::config::{L1Config, Organisation};
use crate::choice::Choice;
use crate::config::Rules;
use crate::kernel::{Counted, CounterReader, Describe, Edge};

/// Largest number of lines of a victim cache.
const MAX_LINES: u32 = 32;

/// Configuration of a victim cache. In the configuration file, its parameters are keys of `l1.victim`, next
/// to the key `kind` that selects the scheme.
#[typetag::serde(tag = "kind")]
pub trait Scheme: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Returns the number of lines that the victim cache holds; 0 if there is no victim cache.
    fn lines(&self) -> u32;

    /// Creates the policy that selects which evicted lines to keep; `None` if there is no victim cache.
    fn hardware(&self) -> Option<Box<dyn Hooks>>;

    /// Checks the parameters of the victim cache, except the number of lines.
    fn validate(&self, _rules: &mut Rules) {}
}

/// Configuration field that selects a victim cache.
pub type VictimConfig = Choice<dyn Scheme>;

impl<S: Scheme + 'static> From<S> for VictimConfig {
    fn from(scheme: S) -> Self {
        Self::new(Arc::new(scheme))
    }
}

impl VictimConfig {
    /// True if a victim cache is selected.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.lines() > 0
    }

    /// Checks the parameters of the victim cache, and that it fits the L1D.
    pub(super) fn validate(&self, l1: &L1Config, rules: &mut Rules) {
        let kind = self.typetag_name();
        rules.group("victim", |rules| {
            if kind != "none" {
                let why = "a line is compared with all lines in one cycle";
                rules.range("lines", u64::from(self.lines()), 1..=MAX_LINES.into(), why);
            }
            Scheme::validate(&**self, rules);
        });
        if !self.is_on() {
            return;
        }
        rules.expect(
            l1.organisation == Organisation::Plain,
            "victim",
            kind,
            "none with l1.organisation = \"decoupled\"; the plain organisation has all victim caches",
            "decoupled tags keep the tag of an evicted line, and decide by it whether the line gets data again",
        );
        rules.expect(
            l1.bypass.gets_prefetches(l1),
            "victim",
            kind,
            &format!(
                "none with an l1.bypass of kind {}; the kinds none, all, contentious and profiled have all victim caches",
                l1.bypass.typetag_name()
            ),
            "the bypass scheme keeps a state of each line, which only misses start",
        );
    }

    /// Creates the victim cache of an L1D at `path`; `None` if the configuration selects none. If
    /// `is_recalled` is true, the victim cache has an extra port for recalls.
    pub(super) fn unit(&self, path: &str, shape: VictimShape, is_recalled: bool) -> Option<Box<VictimCache>> {
        let hooks = Watched::of(self.typetag_name(), self.hardware()?);
        Some(Box::new(VictimCache::new(hooks, path, self.lines(), shape, is_recalled)))
    }

    /// Lists the counters of all victim-cache policies that are linked into the program, for the dictionary
    /// of counters. The policies have their default parameters.
    pub fn list_counters(to: &mut dyn CounterReader) {
        for scheme in Self::linked() {
            if let Some(hooks) = scheme.hardware() {
                Watched::of(scheme.typetag_name(), hooks).counters(to);
            }
        }
    }
}

/// Hooks of a victim-cache policy, which selects the evicted lines to keep. Each entry of the victim cache
/// holds one line.
#[watched("l1.victim")]
#[typetag::serde]
pub trait Hooks: Debug + Send {
    /// Returns the entry into which a line evicted from the L1D is inserted; `None` if the line is not kept.
    /// `empty` is the lowest empty entry, if there is one.
    fn on_evict(&mut self, at: &Edge<'_>, line: u64, empty: Option<u32>) -> Option<u32>;

    /// Reports that a load has found its line in an entry.
    fn lookup(&mut self, at: &Edge<'_>, entry: u32);

    /// True if the line of the entry moves to the L1D. `evicted` is the clean L1D line that moves to the
    /// entry in exchange; if `evicted` is `None`, the entry becomes empty.
    fn swap(&mut self, at: &Edge<'_>, entry: u32, evicted: Option<u64>) -> bool;

    /// Clears the state at the end of a kernel.
    fn clear(&mut self) {}

    /// Starts to maintain digests (hashes) of the array contents.
    fn record(&mut self) {}

    /// Adds to the hardware description: registers, arrays and logic.
    fn describe(&self, to: &mut dyn Describe);

    /// Lists the scheme's own counters, for the statistics. Every call must list the same keys, and no
    /// counter may ever decrease, not even at the end of a kernel.
    fn counters(&self, _to: &mut dyn CounterReader) {}
}

/// Counters of the victim cache of an L1D.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, Counted)]
pub struct VictimStats {
    /// Loads that found their line in the victim cache; also counted as hits of the L1D.
    pub hits: u64,
    /// Hits whose line moved back to the L1D.
    pub swaps: u64,
    /// Lines that entered the victim cache, evicted by a miss, a prefetch or a swap.
    pub kept: u64,
}
