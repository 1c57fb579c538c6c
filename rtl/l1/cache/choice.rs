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
use super::{Cache, CacheId, conditions};
use crate::kernel::AnyEdge;

impl Cache {
    /// Makes the throttle of the core time the periods of the schemes; otherwise each scheme times its own
    /// periods.
    pub fn follow_periods(&mut self) {
        self.schemes.follow_periods();
    }

    /// True if this cache has a scheme that decides at run time which loads bypass.
    pub fn chooses(&self) -> bool {
        !self.schemes.is_empty()
    }

    /// True if a scheme makes the request at the head bypass the cache in this cycle. The status function is
    /// then skipped.
    pub fn bypasses(&mut self, at: &impl AnyEdge, request: &LineAccess, queue: &MissQueue) -> bool {
        self.schemes.start(at.edge(), &mut self.tags);
        let is_load = request.kind == AccessKind::Load && CacheId::of(request.space) == self.id;
        is_load && self.schemes.bypasses(at.edge(), request, &View::new(self, queue))
    }

    /// Returns the cycle in which a scheme may change its decision for a waiting head.
    pub fn next_choice(&self) -> Option<u64> {
        self.schemes.next_choice()
    }

    /// Ends a period of the throttle; `may_close` permits the streaming monitor to close the cache.
    pub fn end_period(&mut self, at: &impl AnyEdge, may_close: bool) {
        self.schemes.end_period(at.edge(), may_close, &mut self.tags);
    }

    /// Notifies the schemes that a load has left on the bypass path by their decision. Returns true if the
    /// load missed in the tags, which a closed cache keeps up to date.
    pub fn on_bypass(&mut self, at: &impl AnyEdge, request: &LineAccess) -> bool {
        let BypassProbe { missed, evicted } = self.schemes.on_bypass(at.edge(), request, &mut self.tags);
        self.stats.evictions += u64::from(evicted);
        missed
    }

    /// Selects the original mode, in which every load is admitted (`true`), or the configured threshold
    /// (`false`).
    pub fn set_original(&mut self, original: bool) {
        self.tags.set_original(original);
    }

    /// True in the original mode, in which decoupled tags behave like ordinary tags.
    #[must_use]
    pub fn is_original(&self) -> bool {
        self.tags.is_original()
    }

    /// Gives the profiled scheme the sorted list of lines that the cache may allocate from now on.
    pub fn admit(&mut self, lines: &Arc<[u64]>) {
        self.schemes.admit(lines);
    }

    /// Returns the tags of the cache.
    pub fn tags(&self) -> &TagStore {
        &self.tags
    }

    /// Returns the mask of conditions that would refuse the load at the head now; bit `Fail as u8` is set for
    /// each.
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
                Lookup::Open(_) => 0,
                _ => 1 << Fail::MshrMerge as u8,
            },
            Probe::Absent | Probe::TagOnly { .. } => {
                let victim = self.victim(set, line);
                let needed = self.needed_queue_entries(victim);
                conditions(victim.is_none(), self.mshr.free_for(line, WHOLE).is_none(), queue.room() < needed)
            }
        }
    }
}
