//! Which loads go past a cache, and what the schemes that say so learn: streaming monitor, decoupled tags, protecting
//! distances, profile and contention.

use std::sync::Arc;

use super::super::access::{AccessKind, MemorySpace};
use super::super::coalescer::LineAccess;
use super::super::config::L1Config;
use super::super::decoupled::Decoupled;
use super::super::miss_queue::MissQueue;
use super::super::mshr::Lookup;
use super::super::tags::{Probe, Tags};
use super::super::watch::{Fail, Outcome};
use super::{Cache, CacheId, conditions};
use crate::cells::streaming::Streaming;
use crate::kernel::Edge;

impl Cache {
    /// Lets the core's periods, not its own, decide when the cache closes and opens.
    pub fn follow_periods(&mut self, config: &L1Config) {
        if self.streaming.is_some() {
            self.streaming = Some(Box::new(Streaming::new(&config.streaming, false)));
        }
    }

    /// True if a scheme of this cache decides by its own state which loads go past it.
    pub fn chooses(&self) -> bool {
        self.streaming.is_some()
            || self.tags.decoupled().is_some()
            || self.pdp.is_some()
            || self.is_profiled
            || self.is_spared
    }

    /// Whether a request at the head goes past the cache in this cycle. If it does, the status function
    /// does not see it.
    pub fn sends_past(&mut self, at: &Edge<'_>, request: &LineAccess) -> bool {
        let &LineAccess { kind, space, line, .. } = request;
        if let Some(streaming) = &mut self.streaming
            && streaming.reach(at.cycle)
            && streaming.flushes()
        {
            self.tags.drop_hollow(at);
        }
        if kind != AccessKind::Load || CacheId::of(space) != self.id {
            return false;
        }
        // A local line may be newer here than in memory.
        let is_global = space == MemorySpace::Global;
        if let Some(streaming) = &self.streaming {
            return is_global && streaming.is_closed();
        }
        if let Some(tags) = self.tags.decoupled() {
            return tags.sends_past(at, line);
        }
        is_global && !self.admits(line) || self.is_spared(request) || self.is_protected_from(at, request)
    }

    /// Whether a load that contends would have to bring its line.
    pub(super) fn is_spared(&self, &LineAccess { contends, line, .. }: &LineAccess) -> bool {
        let is_absent = |tags: &Tags| tags.look(tags.set_of(line), line) == Probe::Absent;
        self.is_spared && contends && self.tags.as_plain().is_some_and(is_absent)
    }

    /// Whether a global load that is not here finds every other line of its set protected.
    pub(super) fn is_protected_from(&self, at: &Edge<'_>, &LineAccess { space, line, .. }: &LineAccess) -> bool {
        let (Some(pdp), Some(tags)) = (&self.pdp, self.tags.as_plain()) else { return false };
        let set = tags.set_of(line);
        pdp.read(at, set);
        space == MemorySpace::Global
            && tags.look(set, line) == Probe::Absent
            && tags.victim_among(set, |way| pdp.is_free(set, way)).is_none()
    }

    /// The cycle in which a waiting head may have to go another way.
    pub fn next_choice(&self) -> Option<u64> {
        self.streaming.as_ref().and_then(|streaming| streaming.ends())
    }

    /// The core says that a period has ended.
    pub fn end_period(&mut self, at: &Edge<'_>, may_close: bool) {
        if let Some(streaming) = &mut self.streaming
            && streaming.end_period(may_close)
            && streaming.flushes()
        {
            self.tags.drop_hollow(at);
        }
    }

    /// A load that was chosen to go past has left on the bypass path: that of a closed cache leaves its
    /// tag, and may miss. One that the profile keeps out is no access to its set.
    pub fn went_past(&mut self, at: &Edge<'_>, request: &LineAccess) -> bool {
        let admits = self.admits(request.line);
        if let Some(tags) = self.tags.decoupled_mut() {
            tags.went_past(at, request.line);
        }
        let set = self.tags.set_of(request.line);
        if let Some(pdp) = self.pdp.as_mut().filter(|_| admits) {
            pdp.age(at, set, None);
        }
        let Some(streaming) = &mut self.streaming else { return false };
        let missed = match self.tags.probe(at, set, request.line) {
            Probe::Present { way, .. } | Probe::Hollow { way } | Probe::Reserved { way } => {
                self.tags.touch(at, set, way, false);
                false
            }
            Probe::Absent => {
                self.stats.evictions += u64::from(self.tags.note(at, set, request.line));
                true
            }
        };
        streaming.count(missed);
        missed
    }

    /// A load has been accepted or refused by the status function.
    pub fn looked_up(&mut self, outcome: Outcome) {
        if let Some(streaming) = &mut self.streaming
            && !matches!(outcome, Outcome::Refused(..))
        {
            streaming.count(matches!(outcome, Outcome::Miss(_)));
        }
    }

    /// Admits every load, or as the threshold says.
    pub fn set_original(&mut self, original: bool) {
        if let Some(tags) = self.tags.decoupled_mut() {
            tags.set_original(original);
        }
    }

    /// Whether decoupled tags admit every load, and are no more than the baseline's.
    #[must_use]
    pub fn is_original(&self) -> bool {
        self.tags.decoupled().is_some_and(Decoupled::is_original)
    }

    /// Admits these lines alone from now on, which are in order.
    pub fn admit(&mut self, lines: Arc<[u64]>) {
        self.admitted = Some(lines);
    }

    /// Whether the profile, if there is one, admits a line.
    pub(super) fn admits(&self, line: u64) -> bool {
        self.admitted.as_ref().is_none_or(|lines| lines.binary_search(&line).is_ok())
    }

    /// The conditions for which the load at the head would be refused now, a bit each.
    #[inline(never)]
    pub fn failing(&self, line: u64, queue: &MissQueue) -> u8 {
        let Some(tags) = self.tags.as_plain() else { return 0 };
        let set = tags.set_of(line);
        match tags.look(set, line) {
            Probe::Present { .. } => 0,
            Probe::Reserved { .. } => match self.mshr.lookup(line) {
                Lookup::Open(_) => 0,
                _ => 1 << Fail::MshrMerge as u8,
            },
            Probe::Absent | Probe::Hollow { .. } => {
                let victim = self.victim(set, line);
                let needed = self.needed(victim);
                conditions(victim.is_none(), self.mshr.free_for(line).is_none(), queue.room() < needed)
            }
        }
    }
}
