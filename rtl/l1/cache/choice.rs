//! Connection of a cache to its bypass schemes: the decisions that the cache requests from the schemes, and
//! the events that it reports to them.

use std::sync::Arc;

use super::super::access::AccessKind;
use super::super::bypass::{BypassProbe, View};
use super::super::coalescer::LineAccess;
use super::super::miss_queue::MissQueue;
use super::super::mshr::{Lookup, WHOLE};
use super::super::tag_store::TagStore;
use super::super::tags::Probe;
use super::super::watch::Fail;
use super::{Cache, CacheId, conditions, policy_bit};
use crate::kernel::AnyEdge;

impl Cache {
    /// Makes the throttle of the core end the periods of the bypass schemes, in place of the schemes' own
    /// timers.
    pub fn follow_periods(&mut self) {
        self.schemes.follow_periods();
    }

    /// True if this cache has a bypass scheme that decides at run time which loads bypass.
    pub fn chooses(&self) -> bool {
        !self.schemes.is_empty()
    }

    /// True if a bypass scheme makes `request`, at the head of the access queue, bypass the cache in this
    /// cycle. The cache then does not look up the request.
    pub fn bypasses(&mut self, at: &impl AnyEdge, request: &LineAccess, queue: &MissQueue) -> bool {
        self.schemes.start(at.edge(), &mut self.tags);
        let is_load = request.kind == AccessKind::Load && CacheId::of(request.space) == self.id;
        is_load && self.schemes.bypasses(at.edge(), request, &View::new(self, queue))
    }

    /// Returns the next cycle in which a bypass scheme may change its decision for a load that waits at the
    /// head of the access queue.
    pub fn next_choice(&self) -> Option<u64> {
        self.schemes.next_choice()
    }

    /// Ends a period of the bypass schemes, when the throttle of the core signals the end of the period.
    /// `may_close` is true if the streaming monitor may close the cache, so that loads bypass it.
    pub fn end_period(&mut self, at: &impl AnyEdge, may_close: bool) {
        self.schemes.end_period(at.edge(), may_close, &mut self.tags);
    }

    /// Notifies the bypass schemes that a load has been sent to memory on the bypass path, because a scheme
    /// made it bypass. The scheme may update the tags. Returns true if the load missed in the tags.
    pub fn on_bypass(&mut self, at: &impl AnyEdge, request: &LineAccess) -> bool {
        let BypassProbe { missed, evicted } = self.schemes.on_bypass(at.edge(), request, &mut self.tags);
        self.stats.evictions += u64::from(evicted);
        missed
    }

    /// Sets the mode of decoupled tags. If `original` is true, every load is admitted; if false, the
    /// configured threshold applies.
    pub fn set_original(&mut self, original: bool) {
        self.tags.set_original(original);
    }

    /// True in the original mode, in which decoupled tags behave like ordinary tags.
    #[must_use]
    pub fn is_original(&self) -> bool {
        self.tags.is_original()
    }

    /// Gives the profiled bypass scheme the sorted list of lines that the cache may allocate from now on.
    pub fn admit(&mut self, lines: &Arc<[u64]>) {
        self.schemes.admit(lines);
    }

    /// Returns the tag store of the cache.
    pub fn tags(&self) -> &TagStore {
        &self.tags
    }

    /// Returns a mask of the conditions for which the load at the head of the access queue would be refused
    /// now. Bit `n` stands for the `Fail` variant with value `n`.
    #[inline(never)]
    pub fn failing(&self, head: &LineAccess, queue: &MissQueue) -> u8 {
        let Some(tags) = self.tags.as_plain() else { return 0 };
        if self.entry_of(head).is_some() {
            return 0;
        }
        let line = head.line;
        let set = tags.set_of(line);
        let probe = tags.peek(set, line);
        if self.sectors.is_some() {
            return self.failing_of_sectors(set, probe, head, queue);
        }
        match probe {
            Probe::Present { .. } => 0,
            Probe::Reserved { .. } => match self.mshr.lookup(line, WHOLE) {
                Lookup::Open(entry) => policy_bit(self.refuses_merge(head, self.mshr.waiters(entry))),
                _ => 1 << Fail::MshrMerge as u8,
            },
            Probe::Absent | Probe::TagOnly { .. } => {
                let victim = self.victim(set, line);
                let needed = self.needed_queue_entries(victim);
                let entry = self.mshr.free_for(line, WHOLE);
                conditions(victim.is_none(), entry.is_none(), queue.room() < needed)
                    | policy_bit(entry.is_some() && self.refuses_miss(head))
            }
        }
    }
}
