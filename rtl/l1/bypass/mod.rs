//! # Which loads go past a cache
//! A load goes past for its instruction, or because a scheme says so. A scheme is one file here: its state and what
//! `Hooks` asks of it. Cache and LSU know the hooks alone.
//!
//! | hook          | when                                                                             |
//! |---------------|----------------------------------------------------------------------------------|
//! | `sends_all`   | once: every global load goes past, and nobody has to ask                         |
//! | `start`       | in each cycle with a head at the L1D, ahead of `sends_past`                      |
//! | `sends_past`  | the load at the head, before the status function                                 |
//! | `victim`      | a miss looks for a way                                                           |
//! | `served`      | the status function accepted or refused a load                                   |
//! | `went_past`   | a load that a scheme chose has left on the bypass path                           |
//! | `next_choice` | nothing moves: when a waiting head may have to go another way                    |
//! | `end_period`  | the throttle says that a period has ended                                        |
//! | `clear`, `record`, `describe` | kernel end, digests, waves and counts                            |
//!
//! The slot `l1.bypass` holds one scheme ([`BypassConfig`]). Decoupled tags and MRPB bring one of their own: a load goes
//! past if any of them sends it.

mod all;
pub mod contention;
mod decoupled;
mod give_way;
mod pdp;
mod profiled;
mod streaming;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use self::all::All;
use self::contention::{Contention, Contentious};
use self::decoupled::Uncounted;
use self::give_way::GiveWay;
pub use self::pdp::PdpConfig;
use self::pdp::Pdp;
pub use self::profiled::{ProfileScope, ProfiledConfig};
use self::profiled::Profiled;
use self::streaming::Closing;
use super::cache::Cache;
use super::coalescer::LineAccess;
use super::config::{L1Config, Organisation};
use super::miss_queue::MissQueue;
use super::mrpb::StallBypass;
use super::replacement::ReplacementConfig;
use super::tag_store::TagStore;
use super::tags::{Probe, Victim};
use super::watch::Outcome;
use crate::cells::streaming::StreamingConfig;
use crate::config::Rules;
use crate::kernel::{Describe, Edge};

/// Which loads go past the L1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum BypassConfig {
    /// Those whose instruction says so.
    None,
    /// Every global load (li2015 section 6.1, BALL).
    All,
    /// Every global load while nearly all of them miss (khairy2015 section 4.1).
    Streaming(StreamingConfig),
    /// Global loads that miss, of instructions that touch as many lines as each resident warp has of the
    /// cache, or more (anssari2012 section 3.3).
    Contentious,
    /// Global loads that find every line of their set protected, each for some accesses after its last one (li2015
    /// section 3.1).
    Pdp(PdpConfig),
    /// Global loads of lines that an earlier run did not ask for often enough (li2015 section 6.1, Profiled-BYPASS).
    Profiled(ProfiledConfig),
}

impl BypassConfig {
    /// Its name in a configuration.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::All => "all",
            Self::Streaming(_) => "streaming",
            Self::Contentious => "contentious",
            Self::Pdp(_) => "pdp",
            Self::Profiled(_) => "profiled",
        }
    }

    /// Whether loads are judged as they are coalesced, for which the core counts resident warps.
    #[must_use]
    pub fn judges(&self) -> bool {
        matches!(self, Self::Contentious)
    }

    /// Whether tags outlive their data.
    #[must_use]
    pub fn keeps_tags(&self) -> bool {
        matches!(self, Self::Streaming(_))
    }

    /// Whether it goes by the order in which the lines of a set were used.
    fn needs_lru(&self) -> bool {
        matches!(self, Self::Streaming(_) | Self::Pdp(_))
    }

    /// Checks its keys, and whether it fits the cache.
    pub(super) fn validate(&self, l1: &L1Config, rules: &mut Rules) {
        let decides = !matches!(self, Self::None | Self::All);
        rules.expect(
            !decides || l1.organisation == Organisation::Plain,
            "bypass",
            self.name(),
            "none or all with l1.organisation = \"decoupled\"",
            "one scheme decides which loads go past",
        );
        rules.expect(
            !self.needs_lru() || l1.replacement == ReplacementConfig::Lru,
            "bypass",
            self.name(),
            "another with an l1.replacement other than lru",
            "it goes by the order of uses",
        );
        rules.group("bypass", |rules| match self {
            Self::None | Self::All | Self::Contentious => {}
            Self::Streaming(config) => config.validate(rules),
            Self::Pdp(config) => config.validate(rules),
            Self::Profiled(config) => config.validate(rules),
        });
    }
}

/// What a scheme sees of the cache before the status function does anything.
pub(super) struct View<'a> {
    cache: &'a Cache,
    queue: &'a MissQueue,
}

impl<'a> View<'a> {
    /// The cache, and the queue that its misses go to.
    pub fn new(cache: &'a Cache, queue: &'a MissQueue) -> Self {
        Self { cache, queue }
    }

    /// Its tags.
    pub fn tags(&self) -> &TagStore {
        self.cache.tags()
    }

    /// Whether ordinary tags know nothing of a line: it is neither here nor on its way.
    pub fn is_absent(&self, line: u64) -> bool {
        self.tags().as_plain().is_some_and(|tags| tags.look(tags.set_of(line), line) == Probe::Absent)
    }

    /// The conditions for which a load of the line would be refused now, a bit each.
    pub fn fails(&self, line: u64) -> u8 {
        self.cache.failing(line, self.queue)
    }
}

/// What a load on the bypass path met among tags that go on without data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Past {
    /// It would have missed.
    pub missed: bool,
    /// Its tag took the place of a line.
    pub evicted: bool,
}

/// What the cache and the LSU ask of a scheme. Only loads of the cache are shown to it.
pub(super) trait Hooks {
    /// Whether every global load goes past, whatever is in the cache.
    fn sends_all(&self) -> bool {
        false
    }

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
    fn served(&mut self, _at: &Edge<'_>, _place: (u32, Option<u32>), _outcome: Outcome) {}

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

/// A scheme.
#[derive(Clone, Debug)]
pub(super) enum Scheme {
    All(All),
    Streaming(Box<Closing>),
    Decoupled(Uncounted),
    Profiled(Profiled),
    Contention(Contentious),
    Pdp(Box<Pdp>),
    GiveWay(GiveWay),
}

/// Calls a hook of whichever scheme it is, statically.
macro_rules! call {
    ($of:expr, $scheme:ident => $hook:expr) => {
        match $of {
            Scheme::All($scheme) => $hook,
            Scheme::Streaming($scheme) => $hook,
            Scheme::Decoupled($scheme) => $hook,
            Scheme::Profiled($scheme) => $hook,
            Scheme::Contention($scheme) => $hook,
            Scheme::Pdp($scheme) => $hook,
            Scheme::GiveWay($scheme) => $hook,
        }
    };
}

/// The schemes of a cache: most have none.
#[derive(Clone, Debug, Default)]
pub(super) struct Schemes(Box<[Scheme]>);

impl Schemes {
    /// Those of the L1D at `path`.
    pub fn new(path: &str, l1: &L1Config) -> Self {
        let scheme = match &l1.bypass {
            BypassConfig::None => None,
            BypassConfig::All => Some(Scheme::All(All)),
            BypassConfig::Streaming(config) => Some(Scheme::Streaming(Box::new(Closing::new(config)))),
            BypassConfig::Contentious => Some(Scheme::Contention(Contentious)),
            BypassConfig::Pdp(config) => Some(Scheme::Pdp(Box::new(Pdp::new(path, (l1.sets, l1.ways), config)))),
            BypassConfig::Profiled(_) => Some(Scheme::Profiled(Profiled::default())),
        };
        let decoupled = (l1.organisation == Organisation::Decoupled).then_some(Scheme::Decoupled(Uncounted));
        let gives_way = l1.mrpb.bypass != StallBypass::None;
        let give_way = gives_way.then(|| Scheme::GiveWay(GiveWay::new(l1.mrpb.bypass)));
        let schemes = [decoupled, scheme, give_way];
        Self(schemes.into_iter().flatten().collect())
    }

    /// True if there is none, which every other method may leave to its caller to ask first.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// See [`Hooks::sends_all`].
    pub fn sends_all(&self) -> bool {
        self.0.iter().any(|scheme| call!(scheme, s => s.sends_all()))
    }

    /// Whether the head has to be shown to them in each cycle.
    pub fn choose(&self) -> bool {
        self.0.iter().any(|scheme| !call!(scheme, s => s.sends_all()))
    }

    /// See [`Hooks::start`].
    pub fn start(&mut self, at: &Edge<'_>, tags: &mut TagStore) {
        self.0.iter_mut().for_each(|scheme| call!(scheme, s => s.start(at, tags)));
    }

    /// See [`Hooks::sends_past`].
    pub fn sends_past(&self, at: &Edge<'_>, head: &LineAccess, view: &View<'_>) -> bool {
        self.0.iter().any(|scheme| call!(scheme, s => s.sends_past(at, head, view)))
    }

    /// See [`Hooks::victim`].
    pub fn victim(&self, tags: &TagStore, set: u32) -> Option<Victim> {
        self.0.iter().find_map(|scheme| call!(scheme, s => s.victim(tags, set)))
    }

    /// See [`Hooks::served`].
    pub fn served(&mut self, at: &Edge<'_>, place: (u32, Option<u32>), outcome: Outcome) {
        self.0.iter_mut().for_each(|scheme| call!(scheme, s => s.served(at, place, outcome)));
    }

    /// See [`Hooks::went_past`].
    pub fn went_past(&mut self, at: &Edge<'_>, request: &LineAccess, tags: &mut TagStore) -> Past {
        let mut past = Past::default();
        for scheme in &mut self.0 {
            let Past { missed, evicted } = call!(scheme, s => s.went_past(at, request, tags));
            past.missed |= missed;
            past.evicted |= evicted;
        }
        past
    }

    /// See [`Hooks::next_choice`].
    pub fn next_choice(&self) -> Option<u64> {
        self.0.iter().filter_map(|scheme| call!(scheme, s => s.next_choice())).min()
    }

    /// See [`Hooks::follow_periods`].
    pub fn follow_periods(&mut self) {
        self.0.iter_mut().for_each(|scheme| call!(scheme, s => s.follow_periods()));
    }

    /// See [`Hooks::end_period`].
    pub fn end_period(&mut self, at: &Edge<'_>, may_close: bool, tags: &mut TagStore) {
        self.0.iter_mut().for_each(|scheme| call!(scheme, s => s.end_period(at, may_close, tags)));
    }

    /// See [`Hooks::admit`].
    pub fn admit(&mut self, lines: &Arc<[u64]>) {
        self.0.iter_mut().for_each(|scheme| call!(scheme, s => s.admit(lines)));
    }

    /// See [`Hooks::clear`].
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(|scheme| call!(scheme, s => s.clear()));
    }

    /// See [`Hooks::record`].
    pub fn record(&mut self) {
        self.0.iter_mut().for_each(|scheme| call!(scheme, s => s.record()));
    }

    /// See [`Hooks::describe`].
    pub fn describe(&self, to: &mut dyn Describe) {
        self.0.iter().for_each(|scheme| call!(scheme, s => s.describe(to)));
    }
}

/// The test of loads as they are coalesced, if a scheme goes by it.
pub(super) fn judge(l1: &L1Config, line_bits: u32) -> Option<Contention> {
    l1.bypass.judges().then(|| Contention::new(l1.sets * l1.ways, line_bits))
}
