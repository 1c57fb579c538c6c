//! # Which loads go past a cache
//! A load goes past for its instruction, or because a scheme says so. A scheme is one file here: its configuration, its
//! state and what `Hooks` asks of it. Cache and LSU know the hooks alone.
//!
//! | hook          | when                                                                             |
//! |---------------|----------------------------------------------------------------------------------|
//! | `start`       | in each cycle with a head at the L1D, ahead of `sends_past`                      |
//! | `sends_past`  | the load at the head, before the status function; one beside it, which would hit  |
//! | `victim`      | a miss looks for a way                                                           |
//! | `served`      | the status function accepted or refused a load                                   |
//! | `went_past`   | a load that a scheme chose has left on the bypass path                           |
//! | `next_choice` | nothing moves: when a waiting head may have to go another way                    |
//! | `end_period`  | the throttle says that a period has ended                                        |
//! | `clear`, `record`, `describe` | kernel end, digests, waves and counts                            |
//!
//! With `l1.lookups` above 1, `sends_past` and `served` come once for each load that is served in a cycle: a scheme whose
//! hardware has the ports for that says so (`takes_several`), and no other goes with it.
//!
//! The slot `l1.bypass` holds one scheme. Decoupled tags and MRPB bring one of their own: a load goes past if any of
//! them sends it.

automod::dir!(pub "l1/bypass");

use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use derive::watched;
use serde::{Deserialize, Serialize};

use self::contention::Contention;
use self::decoupled::Uncounted;
use self::give_way::GiveWay;
use self::profiled::ProfiledConfig;
use super::cache::Cache;
use super::config::{L1Config, Organisation};
use super::miss_queue::MissQueue;
use super::mrpb::StallBypass;
use crate::choice::Choice;
pub use crate::choice::Place;
use crate::config::Rules;
use crate::kernel::{Describe, Edge};

pub use super::coalescer::LineAccess;
pub use super::tag_store::TagStore;
pub use super::tags::{Probe, Use, Victim};
pub use super::watch::Outcome;

/// The configuration of a scheme: its keys in `l1.bypass`, beside `kind`.
#[typetag::serde(tag = "kind")]
pub trait Scheme: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// The hardware of it in one cache; `None` where there is nothing to decide.
    fn hardware(&self, place: &Place<'_>) -> Option<Box<dyn Hooks>>;

    /// Checks its keys.
    fn validate(&self, _rules: &mut Rules) {}

    /// Whether every global load goes past, whatever is in the cache.
    fn sends_all(&self) -> bool {
        false
    }

    /// Whether tags outlive their data.
    fn keeps_tags(&self) -> bool {
        false
    }

    /// Whether it goes by the order in which the lines of a set were used.
    fn needs_lru(&self) -> bool {
        false
    }

    /// Whether its hardware may be told of several loads in a cycle, of which all but the first hit.
    fn takes_several(&self) -> bool {
        false
    }

    /// Whether loads are judged by contention as they are coalesced, for which the core counts resident warps.
    fn judges(&self) -> bool {
        false
    }

    /// The profile that it goes by, if it does.
    fn profile(&self) -> Option<&ProfiledConfig> {
        None
    }
}

/// The slot.
pub type BypassConfig = Choice<dyn Scheme>;

impl<S: Scheme + 'static> From<S> for BypassConfig {
    fn from(scheme: S) -> Self {
        Self::new(Arc::new(scheme))
    }
}

impl BypassConfig {
    /// Checks its keys, and whether it fits the cache.
    pub(super) fn validate(&self, l1: &L1Config, rules: &mut Rules) {
        let kind = self.typetag_name();
        rules.expect(
            !self.decides(l1) || l1.organisation == Organisation::Plain,
            "bypass",
            kind,
            "none or all with l1.organisation = \"decoupled\"",
            "one scheme decides which loads go past",
        );
        rules.expect(
            !self.needs_lru() || l1.replacement.hardware(&l1.place("")).is_none(),
            "bypass",
            kind,
            "another with an l1.replacement other than lru",
            "it goes by the order of uses",
        );
        rules.group("bypass", |rules| Scheme::validate(&**self, rules));
    }

    /// Whether several loads may be looked up in a cycle.
    pub(super) fn hears_several(&self, l1: &L1Config) -> bool {
        self.takes_several() || !self.decides(l1)
    }

    /// Whether it decides load by load.
    fn decides(&self, l1: &L1Config) -> bool {
        self.hardware(&l1.place("")).is_some()
    }
}

/// What a scheme sees of the cache before the status function does anything.
#[derive(Debug)]
pub struct View<'a> {
    cache: &'a Cache,
    queue: &'a MissQueue,
}

impl<'a> View<'a> {
    /// The cache, and the queue that its misses go to.
    pub(super) fn new(cache: &'a Cache, queue: &'a MissQueue) -> Self {
        Self { cache, queue }
    }

    /// Its tags.
    #[must_use]
    pub fn tags(&self) -> &TagStore {
        self.cache.tags()
    }

    /// Whether ordinary tags know nothing of a line: it is neither here nor on its way.
    #[must_use]
    pub fn is_absent(&self, line: u64) -> bool {
        self.tags().as_plain().is_some_and(|tags| tags.look(tags.set_of(line), line) == Probe::Absent)
    }

    /// The conditions for which the load at the head would be refused now, a bit each.
    #[must_use]
    pub fn fails(&self, head: &LineAccess) -> u8 {
        self.cache.failing(head, self.queue)
    }
}

/// What a load on the bypass path met among tags that go on without data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// It would have missed.
    pub missed: bool,
    /// Its tag took the place of a line.
    pub evicted: bool,
}

/// What the cache and the LSU ask of a scheme. Only loads of the cache are shown to it.
#[watched("l1.bypass")]
#[typetag::serde]
pub trait Hooks: Debug + Send {
    /// A cycle begins in which something is at the head.
    fn start(&mut self, _at: &Edge<'_>, _tags: &mut TagStore) {}

    /// Whether the load at the head goes past in this cycle; if so, the status function does not see it. A local line
    /// may be newer in the cache than in memory.
    fn sends_past(&self, at: &Edge<'_>, head: &LineAccess, view: &View<'_>) -> bool;

    /// The way that gives way to a miss in a set, if the scheme knows better than the replacement policy.
    fn victim(&self, _tags: &TagStore, _set: u32) -> Option<Victim> {
        None
    }

    /// The status function accepted a load or refused it; `place` is its set, and the way that serves it or is to.
    fn served(&mut self, _at: &Edge<'_>, _load: &LineAccess, _place: (u32, Option<u32>), _outcome: Outcome) {}

    /// A load that was chosen to go past has left on the bypass path.
    fn went_past(&mut self, _at: &Edge<'_>, _request: &LineAccess, _tags: &mut TagStore) -> Past {
        Past::default()
    }

    /// The cycle in which a waiting head may have to go another way, if that depends on time.
    fn next_choice(&self) -> Option<u64> {
        None
    }

    /// From now on the throttle says when periods end.
    fn follow_periods(&mut self) {}

    /// The throttle says that a period has ended, and whether the cache may close.
    fn end_period(&mut self, _at: &Edge<'_>, _may_close: bool, _tags: &mut TagStore) {}

    /// The host knows from an earlier run which lines are worth a place, in order.
    fn admit(&mut self, _lines: &Arc<[u64]>) {}

    /// Forgets the lines at the end of a kernel.
    fn clear(&mut self) {}

    /// Starts to keep digests of arrays.
    fn record(&mut self) {}

    /// Lists registers, arrays and logic, in a part of their own.
    fn describe(&self, _to: &mut dyn Describe) {}
}

/// The schemes of a cache: most have none.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Schemes(Box<[Box<dyn Hooks>]>);

impl Schemes {
    /// Those of the L1D at `path`.
    pub fn new(path: &str, l1: &L1Config) -> Self {
        let is_decoupled = l1.organisation == Organisation::Decoupled;
        let decoupled = is_decoupled.then(|| Box::new(Uncounted) as Box<dyn Hooks>);
        let chosen = l1.bypass.hardware(&l1.place(path));
        let chosen = chosen.map(|hooks| Watched::of(l1.bypass.typetag_name(), hooks));
        let gives_way = l1.mrpb.bypass != StallBypass::None;
        let give_way = gives_way.then(|| Box::new(GiveWay::new(l1.mrpb.bypass)) as Box<dyn Hooks>);
        Self([decoupled, chosen, give_way].into_iter().flatten().collect())
    }

    /// True if there is none, which every other method may leave to its caller to ask first.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// See [`Hooks::start`].
    pub fn start(&mut self, at: &Edge<'_>, tags: &mut TagStore) {
        self.0.iter_mut().for_each(|scheme| scheme.start(at, tags));
    }

    /// See [`Hooks::sends_past`].
    pub fn sends_past(&self, at: &Edge<'_>, head: &LineAccess, view: &View<'_>) -> bool {
        self.0.iter().any(|scheme| scheme.sends_past(at, head, view))
    }

    /// See [`Hooks::victim`].
    pub fn victim(&self, tags: &TagStore, set: u32) -> Option<Victim> {
        self.0.iter().find_map(|scheme| scheme.victim(tags, set))
    }

    /// See [`Hooks::served`].
    pub fn served(&mut self, at: &Edge<'_>, load: &LineAccess, place: (u32, Option<u32>), outcome: Outcome) {
        self.0.iter_mut().for_each(|scheme| scheme.served(at, load, place, outcome));
    }

    /// See [`Hooks::went_past`].
    pub fn went_past(&mut self, at: &Edge<'_>, request: &LineAccess, tags: &mut TagStore) -> Past {
        let mut past = Past::default();
        for scheme in &mut self.0 {
            let Past { missed, evicted } = scheme.went_past(at, request, tags);
            past.missed |= missed;
            past.evicted |= evicted;
        }
        past
    }

    /// See [`Hooks::next_choice`].
    pub fn next_choice(&self) -> Option<u64> {
        self.0.iter().filter_map(|scheme| scheme.next_choice()).min()
    }

    /// See [`Hooks::follow_periods`].
    pub fn follow_periods(&mut self) {
        self.0.iter_mut().for_each(|scheme| scheme.follow_periods());
    }

    /// See [`Hooks::end_period`].
    pub fn end_period(&mut self, at: &Edge<'_>, may_close: bool, tags: &mut TagStore) {
        self.0.iter_mut().for_each(|scheme| scheme.end_period(at, may_close, tags));
    }

    /// See [`Hooks::admit`].
    pub fn admit(&mut self, lines: &Arc<[u64]>) {
        self.0.iter_mut().for_each(|scheme| scheme.admit(lines));
    }

    /// See [`Hooks::clear`].
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(|scheme| scheme.clear());
    }

    /// See [`Hooks::record`].
    pub fn record(&mut self) {
        self.0.iter_mut().for_each(|scheme| scheme.record());
    }

    /// See [`Hooks::describe`].
    pub fn describe(&self, to: &mut dyn Describe) {
        self.0.iter().for_each(|scheme| scheme.describe(to));
    }
}

/// The test of loads as they are coalesced, if a scheme goes by it.
pub(super) fn judge(l1: &L1Config, line_bits: u32) -> Option<Contention> {
    l1.bypass.judges().then(|| Contention::new(l1.sets * l1.ways, line_bits))
}
