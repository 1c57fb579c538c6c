//! What a cache has its schemes decide, and what it tells them.

use std::sync::Arc;

use super::super::access::AccessKind;
use super::super::bypass::{Past, View};
use super::super::coalescer::LineAccess;
use super::super::miss_queue::MissQueue;
use super::super::mshr::{Lookup, WHOLE};
use super::super::tag_store::TagStore;
use super::super::tags::Probe;
use super::super::watch::Fail;
use super::{Cache, CacheId, conditions};
use crate::kernel::AnyEdge;

impl Cache {
    /// Lets the core's periods, not its own, decide what a scheme decides once a period.
    pub fn follow_periods(&mut self) {
        self.schemes.follow_periods();
    }

    /// True if a scheme of this cache decides by its own state which loads go past it.
    pub fn chooses(&self) -> bool {
        !self.schemes.is_empty()
    }

    /// Whether a request at the head goes past the cache in this cycle. If it does, the status function
    /// does not see it.
    pub fn sends_past(&mut self, at: &impl AnyEdge, request: &LineAccess, queue: &MissQueue) -> bool {
        self.schemes.start(at.edge(), &mut self.tags);
        let is_load = request.kind == AccessKind::Load && CacheId::of(request.space) == self.id;
        is_load && self.schemes.sends_past(at.edge(), request, &View::new(self, queue))
    }

    /// The cycle in which a waiting head may have to go another way.
    pub fn next_choice(&self) -> Option<u64> {
        self.schemes.next_choice()
    }

    /// The core says that a period has ended.
    pub fn end_period(&mut self, at: &impl AnyEdge, may_close: bool) {
        self.schemes.end_period(at.edge(), may_close, &mut self.tags);
    }

    /// A load that was chosen to go past has left on the bypass path. Returns whether it would have missed, where
    /// the tags go on without it.
    pub fn went_past(&mut self, at: &impl AnyEdge, request: &LineAccess) -> bool {
        let Past { missed, evicted } = self.schemes.went_past(at.edge(), request, &mut self.tags);
        self.stats.evictions += u64::from(evicted);
        missed
    }

    /// Admits every load, or as the threshold says.
    pub fn set_original(&mut self, original: bool) {
        self.tags.set_original(original);
    }

    /// Whether its tags are no more than the baseline's.
    #[must_use]
    pub fn is_original(&self) -> bool {
        self.tags.is_original()
    }

    /// These lines are worth a place from now on, which are in order.
    pub fn admit(&mut self, lines: &Arc<[u64]>) {
        self.schemes.admit(lines);
    }

    /// Its tags.
    pub fn tags(&self) -> &TagStore {
        &self.tags
    }

    /// The conditions for which the load at the head would be refused now, a bit each.
    #[inline(never)]
    pub fn failing(&self, head: &LineAccess, queue: &MissQueue) -> u8 {
        let Some(tags) = self.tags.as_plain() else { return 0 };
        let line = head.line;
        let set = tags.set_of(line);
        let probe = tags.look(set, line);
        if self.sectors.is_some() {
            return self.failing_of_sectors(set, probe, head, queue);
        }
        match probe {
            Probe::Present { .. } => 0,
            Probe::Reserved { .. } => match self.mshr.lookup(line, WHOLE) {
                Lookup::Open(_) => 0,
                _ => 1 << Fail::MshrMerge as u8,
            },
            Probe::Absent | Probe::Hollow { .. } => {
                let victim = self.victim(set, line);
                let needed = self.needed(victim);
                conditions(victim.is_none(), self.mshr.free_for(line, WHOLE).is_none(), queue.room() < needed)
            }
        }
    }
}
