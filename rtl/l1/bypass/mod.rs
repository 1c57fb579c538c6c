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
//! Several schemes of a cache are asked in the order of `Schemes::new`; a load goes past if one of them sends it.

mod all;
pub mod contention;
mod decoupled;
mod give_way;
pub mod pdp;
mod profiled;
mod streaming;

use std::sync::Arc;

use self::all::All;
use self::contention::{Contention, Contentious};
use self::decoupled::Uncounted;
use self::give_way::GiveWay;
use self::pdp::Pdp;
use self::profiled::Profiled;
use self::streaming::Closing;
use super::cache::Cache;
use super::coalescer::LineAccess;
use super::config::{Bypass, L1Config, Organisation, ProfileScope};
use super::miss_queue::MissQueue;
use super::mrpb::StallBypass;
use super::tag_store::TagStore;
use super::tags::{Probe, Victim};
use super::watch::Outcome;
use crate::kernel::{Describe, Edge};

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

    /// Whether loads of a line are none of the cache's accesses: of one that goes past, nobody else hears.
    fn keeps_out(&self, _line: u64) -> bool {
        false
    }

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
        let by_kind = match l1.bypass {
            Bypass::None => None,
            Bypass::All => Some(Scheme::All(All)),
            Bypass::Streaming => Some(Scheme::Streaming(Box::new(Closing::new(&l1.streaming)))),
            Bypass::Contentious => Some(Scheme::Contention(Contentious)),
        };
        let decoupled = l1.organisation == Organisation::Decoupled;
        let profiled = l1.profiled.scope != ProfileScope::None;
        let pdp = || Scheme::Pdp(Box::new(Pdp::new(path, (l1.sets, l1.ways), l1.protecting_distance as u8)));
        let give_way = Scheme::GiveWay(GiveWay::new(l1.mrpb.bypass));
        let schemes = [
            profiled.then(|| Scheme::Profiled(Profiled::default())),
            decoupled.then_some(Scheme::Decoupled(Uncounted)),
            by_kind,
            (l1.protecting_distance > 0).then(pdp),
            (l1.mrpb.bypass != StallBypass::None).then_some(give_way),
        ];
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
        if self.0.iter().any(|scheme| call!(scheme, s => s.keeps_out(request.line))) {
            return past;
        }
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
