//! # Loads that bypass a cache
//! Selects the loads that bypass a cache of the LSU: by their instruction, or by the decision of a bypass
//! scheme. Each scheme is one file in this folder, with its configuration, its state and its implementation
//! of `Hooks`. The cache and the LSU use a scheme only through these hooks.
//!
//! | hook          | when                                                                             |
//! |---------------|----------------------------------------------------------------------------------|
//! | `start`       | in each cycle in which the access queue has a head, unless the head bypasses by its instruction; before `bypasses` |
//! | `bypasses`    | for the load at the head of the access queue, before the status function; and for each further load of the cycle, if it would hit |
//! | `victim`      | when a miss selects a way                                                        |
//! | `on_lookup`   | when the status function has accepted or refused a load                          |
//! | `on_bypass`   | when a load has been sent on the bypass path because a scheme chose it           |
//! | `next_choice` | before the LSU sleeps: returns when the decision for a waiting head may change   |
//! | `end_period`  | when a period of the throttle ends                                               |
//! | `clear`, `record`, `describe` | at kernel end; for digests; for waveforms and area counts         |
//! | `counters`    | when statistics are read: lists the counters that the scheme declares itself     |
//!
//! With `l1.lookups` above 1, `bypasses` and `on_lookup` are called once per load looked up in a cycle. Only
//! a scheme whose hardware has ports for several lookups (`supports_multiple_lookups`) can be combined with
//! such an L1D.
//!
//! The configuration key `l1.bypass` selects one scheme. Decoupled tags and the MRPB each add another scheme.
//! A load bypasses if any of the schemes decides that it does.

automod::dir!(pub "l1/bypass");

use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use derive::watched;
use serde::{Deserialize, Serialize};

use self::bypass_on_stall::BypassOnStall;
use self::contention::Contention;
use self::decoupled::BelowThreshold;
use self::profiled::ProfiledConfig;
use super::cache::Cache;
use super::config::{L1Config, Organisation};
use super::miss_queue::MissQueue;
use super::mrpb::StallBypass;
pub use crate::choice::CacheGeometry;
use crate::choice::Choice;
use crate::config::Rules;
use crate::kernel::{CounterReader, Describe, Edge};

pub use super::coalescer::LineAccess;
pub use super::tag_store::TagStore;
pub use super::tags::{LineUse, Probe, Victim};
pub use super::watch::Outcome;

/// Configuration of a bypass scheme. In the configuration file, its parameters are keys of `l1.bypass`, next
/// to the key `kind` that selects the scheme.
#[typetag::serde(tag = "kind")]
pub trait Scheme: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Creates the hardware of the bypass scheme for one cache; `None` if the scheme makes no decisions at
    /// run time.
    fn hardware(&self, place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>>;

    /// Checks the parameters of the bypass scheme.
    fn validate(&self, _rules: &mut Rules) {}

    /// True if every global load bypasses, regardless of the contents of the cache.
    fn sends_all(&self) -> bool {
        false
    }

    /// True if the bypass scheme needs ways that hold a tag without data (tag-only ways).
    fn keeps_tags(&self) -> bool {
        false
    }

    /// True if the bypass scheme requires the LRU replacement policy of the cache. A scheme with tag-only
    /// ways requires LRU, because [`TagStore`] inserts a tag without data in place of the least recently used
    /// tag.
    fn needs_lru(&self) -> bool {
        self.keeps_tags()
    }

    /// True if the hardware of the bypass scheme supports several loads per cycle. All of these loads except
    /// the first are hits.
    fn supports_multiple_lookups(&self) -> bool {
        false
    }

    /// True if the scheme reads program counters. If no scheme of the L1D reads them, requests to the L1D
    /// carry no program counter, and the schemes receive 0.
    fn reads_pc(&self) -> bool {
        false
    }

    /// True if the scheme works in an L1D with a prefetcher or a victim cache. Prefetchers and victim caches
    /// insert lines without calling the hooks of the scheme.
    fn supports_prefetch(&self) -> bool {
        false
    }

    /// True if the bypass scheme needs the contention test in the coalescer. The core then counts its
    /// resident warps.
    fn tests_contention(&self) -> bool {
        false
    }

    /// Returns the configuration of the profile, if the bypass scheme uses a profile of an earlier run.
    fn profile(&self) -> Option<&ProfiledConfig> {
        None
    }
}

/// Configuration field that selects a bypass scheme.
pub type BypassConfig = Choice<dyn Scheme>;

impl<S: Scheme + 'static> From<S> for BypassConfig {
    fn from(scheme: S) -> Self {
        Self::new(Arc::new(scheme))
    }
}

impl BypassConfig {
    /// Checks the parameters of the bypass scheme, and that the scheme fits the cache.
    pub(super) fn validate(&self, l1: &L1Config, rules: &mut Rules) {
        let kind = self.typetag_name();
        rules.expect(
            !self.decides(l1) || l1.organisation == Organisation::Plain,
            "bypass",
            kind,
            "none or all with l1.organisation = \"decoupled\"",
            "only one scheme can decide which loads bypass the cache",
        );
        rules.expect(
            !self.needs_lru() || l1.replacement.selects_lru(),
            "bypass",
            kind,
            "another with an l1.replacement other than lru",
            "it uses the LRU order",
        );
        rules.group("bypass", |rules| Scheme::validate(&**self, rules));
    }

    /// True if the bypass scheme can be combined with an L1D that looks up several loads per cycle.
    pub(super) fn gets_multiple_lookups(&self, l1: &L1Config) -> bool {
        self.supports_multiple_lookups() || !self.decides(l1)
    }

    /// True if the bypass scheme can be combined with a prefetcher or a victim cache in the L1D.
    pub(super) fn gets_prefetches(&self, l1: &L1Config) -> bool {
        self.supports_prefetch() || !self.decides(l1)
    }

    /// Lists the counters of all bypass schemes that are linked into the program, for the dictionary of
    /// counters. The schemes have their default parameters.
    pub fn list_counters(to: &mut dyn CounterReader) {
        for scheme in Self::linked() {
            if let Some(hooks) = scheme.hardware(&CacheGeometry::example("l1")) {
                Watched::of(scheme.typetag_name(), hooks).counters(to);
            }
        }
    }

    /// True if the bypass scheme decides at run time, for each load, whether the load bypasses.
    fn decides(&self, l1: &L1Config) -> bool {
        self.hardware(&l1.place("")).is_some()
    }
}

/// Read-only view of a cache and its miss queue, on which a bypass scheme bases its decision.
#[derive(Debug)]
pub struct View<'a> {
    cache: &'a Cache,
    queue: &'a MissQueue,
}

impl<'a> View<'a> {
    /// Creates a view of the cache and of its miss queue.
    pub(super) fn new(cache: &'a Cache, queue: &'a MissQueue) -> Self {
        Self { cache, queue }
    }

    /// Returns the tag store of the cache.
    #[must_use]
    pub fn tags(&self) -> &TagStore {
        self.cache.tags()
    }

    /// True if the line has no tag; always false in a cache with decoupled tags.
    #[must_use]
    pub fn is_absent(&self, line: u64) -> bool {
        self.tags().as_plain().is_some_and(|tags| tags.peek(tags.set_of(line), line) == Probe::Absent)
    }

    /// Returns a mask of the conditions for which the load at the head of the access queue would be refused
    /// now. Bit `n` stands for the `Fail` variant with value `n`.
    #[must_use]
    pub fn fails(&self, head: &LineAccess) -> u8 {
        self.cache.failing(head, self.queue)
    }
}

/// Result of the tag probe of a bypassing load, by which a scheme that has closed the cache keeps the tags up
/// to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BypassProbe {
    /// True if the load would have missed in the cache if it had not bypassed.
    pub missed: bool,
    /// True if another line was evicted, because a tag without data was inserted for the line of the load.
    pub evicted: bool,
}

/// Hooks of the bypass scheme of one cache. The cache and the LSU call these hooks only for loads of this
/// cache.
#[watched("l1.bypass")]
#[typetag::serde]
pub trait Hooks: Debug + Send {
    /// Called at the start of each cycle in which the access queue has a request at its head, unless the
    /// instruction of this request makes it bypass.
    fn start(&mut self, _at: &Edge<'_>, _tags: &mut TagStore) {}

    /// True if the load `head`, which is at the head of the access queue, bypasses in this cycle. The cache
    /// then does not look up the load. A scheme must not make local loads bypass: a local line may be newer
    /// in the cache than in memory.
    fn bypasses(&self, at: &Edge<'_>, head: &LineAccess, view: &View<'_>) -> bool;

    /// Returns the victim way of a miss in a set, if the bypass scheme overrides the replacement policy;
    /// otherwise `None`.
    fn victim(&self, _tags: &TagStore, _set: u32) -> Option<Victim> {
        None
    }

    /// Reports that the cache accepted or refused a load. `_place` holds the set of the load, and the way
    /// that serves the load now or after the fill.
    fn on_lookup(&mut self, _at: &Edge<'_>, _load: &LineAccess, _place: (u32, Option<u32>), _outcome: Outcome) {}

    /// Reports that a load has been sent to memory on the bypass path, because a scheme made it bypass.
    fn on_bypass(&mut self, _at: &Edge<'_>, _request: &LineAccess, _tags: &mut TagStore) -> BypassProbe {
        BypassProbe::default()
    }

    /// Returns the next cycle in which the scheme may change its decision for a load that waits at the head
    /// of the access queue. Returns `None` if the decision does not depend on time.
    fn next_choice(&self) -> Option<u64> {
        None
    }

    /// Makes the throttle of the core end the periods of the scheme, in place of the scheme's own timer.
    fn follow_periods(&mut self) {}

    /// Ends a period of the bypass scheme, when the throttle of the core signals the end of the period.
    /// `_may_close` is true if the scheme may close the cache, so that loads bypass it.
    fn end_period(&mut self, _at: &Edge<'_>, _may_close: bool, _tags: &mut TagStore) {}

    /// Sets the lines that the cache may allocate. `_lines` is a sorted list that the simulator obtained from
    /// an earlier run.
    fn admit(&mut self, _lines: &Arc<[u64]>) {}

    /// Clears the per-line state at the end of a kernel.
    fn clear(&mut self) {}

    /// Starts to maintain digests (hashes) of the array contents.
    fn record(&mut self) {}

    /// Adds to the hardware description, as one component: the scheme's registers, arrays and logic.
    fn describe(&self, _to: &mut dyn Describe) {}

    /// Lists the scheme's own counters, for the statistics. Every call must list the same keys, and no
    /// counter may ever decrease, not even at the end of a kernel.
    fn counters(&self, _to: &mut dyn CounterReader) {}
}

/// Bypass schemes of a cache; most caches have none.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Schemes(Box<[Box<dyn Hooks>]>);

impl Schemes {
    /// Creates the schemes of the L1D at `path`.
    pub fn new(path: &str, l1: &L1Config) -> Self {
        let is_decoupled = l1.organisation == Organisation::Decoupled;
        let decoupled = is_decoupled.then(|| Box::new(BelowThreshold) as Box<dyn Hooks>);
        let chosen = l1.bypass.hardware(&l1.place(path));
        let chosen = chosen.map(|hooks| Watched::of(l1.bypass.typetag_name(), hooks));
        let gives_way = l1.mrpb.bypass != StallBypass::None;
        let give_way = gives_way.then(|| Box::new(BypassOnStall::new(l1.mrpb.bypass)) as Box<dyn Hooks>);
        Self([decoupled, chosen, give_way].into_iter().flatten().collect())
    }

    /// True if there are no schemes. Callers check this first, to skip the calls of all other methods.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Calls [`Hooks::start`] of every scheme.
    pub fn start(&mut self, at: &Edge<'_>, tags: &mut TagStore) {
        self.0.iter_mut().for_each(|scheme| scheme.start(at, tags));
    }

    /// True if [`Hooks::bypasses`] of any scheme returns true.
    pub fn bypasses(&self, at: &Edge<'_>, head: &LineAccess, view: &View<'_>) -> bool {
        self.0.iter().any(|scheme| scheme.bypasses(at, head, view))
    }

    /// Returns the first victim that [`Hooks::victim`] of a scheme selects.
    pub fn victim(&self, tags: &TagStore, set: u32) -> Option<Victim> {
        self.0.iter().find_map(|scheme| scheme.victim(tags, set))
    }

    /// Calls [`Hooks::on_lookup`] of every scheme.
    pub fn on_lookup(&mut self, at: &Edge<'_>, load: &LineAccess, place: (u32, Option<u32>), outcome: Outcome) {
        self.0.iter_mut().for_each(|scheme| scheme.on_lookup(at, load, place, outcome));
    }

    /// Calls [`Hooks::on_bypass`] of every scheme. A field of the result is true if any scheme sets it.
    pub fn on_bypass(&mut self, at: &Edge<'_>, request: &LineAccess, tags: &mut TagStore) -> BypassProbe {
        let mut probe = BypassProbe::default();
        for scheme in &mut self.0 {
            let BypassProbe { missed, evicted } = scheme.on_bypass(at, request, tags);
            probe.missed |= missed;
            probe.evicted |= evicted;
        }
        probe
    }

    /// Returns the earliest of the cycles that [`Hooks::next_choice`] of the schemes returns.
    pub fn next_choice(&self) -> Option<u64> {
        self.0.iter().filter_map(|scheme| scheme.next_choice()).min()
    }

    /// Calls [`Hooks::follow_periods`] of every scheme.
    pub fn follow_periods(&mut self) {
        self.0.iter_mut().for_each(|scheme| scheme.follow_periods());
    }

    /// Calls [`Hooks::end_period`] of every scheme.
    pub fn end_period(&mut self, at: &Edge<'_>, may_close: bool, tags: &mut TagStore) {
        self.0.iter_mut().for_each(|scheme| scheme.end_period(at, may_close, tags));
    }

    /// Calls [`Hooks::admit`] of every scheme.
    pub fn admit(&mut self, lines: &Arc<[u64]>) {
        self.0.iter_mut().for_each(|scheme| scheme.admit(lines));
    }

    /// Calls [`Hooks::clear`] of every scheme.
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(|scheme| scheme.clear());
    }

    /// Calls [`Hooks::record`] of every scheme.
    pub fn record(&mut self) {
        self.0.iter_mut().for_each(|scheme| scheme.record());
    }

    /// Calls [`Hooks::describe`] of every scheme.
    pub fn describe(&self, to: &mut dyn Describe) {
        self.0.iter().for_each(|scheme| scheme.describe(to));
    }

    /// Calls [`Hooks::counters`] of every scheme.
    pub fn counters(&self, to: &mut dyn CounterReader) {
        self.0.iter().for_each(|scheme| scheme.counters(to));
    }
}

/// Creates the contention test of the coalescer, if the bypass scheme uses it.
pub(super) fn contention_test(l1: &L1Config, line_bits: u32) -> Option<Contention> {
    l1.bypass.tests_contention().then(|| Contention::new(l1.sets * l1.ways, line_bits))
}
