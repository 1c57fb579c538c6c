//! Prefetches of the overlapped flow: reports accesses to the prefetcher, looks up queued prefetches, and
//! completes the prefetches with which no access has merged.
//!
//! A prefetch reserves a way when its fetch enters the miss queue, as a miss does. If the victim is dirty, it
//! enters the writeback queue before the fetch. The MSHR entry of a prefetch has no waiter at first; the
//! first access that merges with the prefetch becomes its first waiter. This access waits for all bursts of
//! the line, even if it needs only some sectors, because serving the last waiter frees the entry.
//!
//! If a prefetch has no waiter when its last burst has arrived, it is completed in a cycle in which otherwise
//! a waiter would be served: its line becomes clean, and its MSHR entry becomes free. The tags therefore need
//! no additional port.
//!
//! No deadlock: a prefetch waits only in the prefetch queue, and no request waits for a queued prefetch. Once
//! it is in flight, its bursts have a reserved way, and its completion needs no other resource.

use super::super::super::line::{LineState, PresentBytes, Tag};
use super::super::super::prefetch::unit::{AccessPlace, QueuedLine};
use super::super::super::prefetch::{DemandAccess, DropReason};
use super::{Match, Overlapped};
use crate::kernel::AnyEdge;
use crate::noc::packet::RequestKind;
use crate::replacement::Source;

impl Overlapped {
    /// Notifies the partition, the bypass policy and the prefetcher of a request of SM `sm` that was served,
    /// or deferred until its line arrives.
    #[inline(never)]
    pub(super) fn report(&mut self, at: &impl AnyEdge, (kind, sm): (RequestKind, u8), matched: Match) {
        let Match { local, set, tag, way } = matched;
        let Self { core, bypass_buffer, prefetcher, .. } = self;
        core.on_access(at, sm, (set, tag), way.is_none());
        if let Some(bypass_buffer) = bypass_buffer
            && kind == RequestKind::Read
        {
            bypass_buffer.scheme.count(way.is_none());
        }
        let Some(prefetcher) = prefetcher else { return };
        let row = core.tags.row(set);
        let Some(now) = way.or_else(|| core.way_of(row, tag)) else { core.breach(at, "an access without a way") };
        let is_in_flight = row[now as usize].state == LineState::Reserved;
        let found = AccessPlace { place: (set, now), is_new: way.is_none(), is_in_flight };
        let is_write = kind == RequestKind::Write;
        let access = DemandAccess { line: local, sm, is_write, ..DemandAccess::default() };
        let misses = core.stats.all_misses();
        prefetcher.advance(at, &mut core.stats.prefetch);
        prefetcher.access(at, found, access, misses, &mut core.stats.prefetch);
    }

    /// Advances the prefetches, in a cycle in which no request was served. If `has_tags` is true, the tags
    /// are not in use, and the oldest queued prefetch is looked up. Then the next line from the prefetcher
    /// enters the prefetch queue; it can be looked up in the next cycle.
    #[inline(never)]
    pub(super) fn prefetch(&mut self, at: &impl AnyEdge, has_tags: bool) {
        let head = self.prefetcher.as_ref().and_then(|prefetcher| prefetcher.head());
        if let Some(head) = head.filter(|_| has_tags) {
            self.look_up_prefetch(at, head);
        }
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.advance(at, &mut self.core.stats.prefetch);
        }
    }

    fn look_up_prefetch(&mut self, at: &impl AnyEdge, head: QueuedLine) {
        let Self { core, prefetcher, .. } = self;
        let local = core.local(head.line);
        let (set, tag) = core.split(local);
        let row = core.tags.read(at, set);
        let state = core.way_of(row, tag).map_or(LineState::Invalid, |way| row[way as usize].state);
        let reason = match state {
            LineState::Invalid => return self.send_prefetch(at, head, Match { local, set, tag, way: None }),
            LineState::Reserved => DropReason::InFlight,
            _ => DropReason::Present,
        };
        if let Some(prefetcher) = prefetcher {
            prefetcher.drop_head(reason, &mut core.stats.prefetch);
        }
    }

    /// Fetches the line of a prefetch if all required resources are free. The line is neither present nor in
    /// flight.
    fn send_prefetch(&mut self, at: &impl AnyEdge, head: QueuedLine, Match { local, set, tag, .. }: Match) {
        let core = &self.core;
        let queued = self.memory.count_prefetches(&core.mshr);
        let has_share = self.prefetcher.as_ref().is_some_and(|prefetcher| prefetcher.has_share(queued));
        let (Some(way), Some(entry)) = (core.victim(set, head.sm), core.mshr.free()) else { return };
        if !has_share || self.memory.room_for_fetch().is_err() {
            return;
        }
        let victim = core.tags.row(set)[way as usize];
        if victim.state.is_newer() && self.memory.room_for_write_back().is_err() {
            return;
        }
        let place = (set, way);
        self.core.insert(at, place, || Source::of_line(local), head.sm);
        // No request caused the fetch and the writeback, so they carry the number 0.
        self.evict(at, place, victim, 0);
        self.core.tags.update(at, set, way, |cell| *cell = Tag { tag, state: LineState::Reserved });
        if let Some(masks) = &mut self.masks {
            masks.write(at, set, way, PresentBytes::default());
        }
        let Self { core, memory, prefetcher, .. } = self;
        core.mshr.prefetch(at, (entry, core.whole), place, (head.line, head.sm));
        memory.fetch(local, 0, (entry, core.whole), at.cycle());
        core.stats.fetches += 1;
        if let Some(prefetcher) = prefetcher {
            prefetcher.issue(at, place, &mut core.stats.prefetch);
        }
    }

    /// Ends the prefetch whose MSHR entry is at the front of the queue of complete lines, unless an access
    /// has merged with it: its line becomes valid, and the entry becomes free.
    #[inline(never)]
    pub(super) fn retire_prefetch(&mut self, at: &impl AnyEdge) {
        let Some(entry) = self.core.mshr.pop_prefetch() else { return };
        let place = (entry.set, entry.way);
        if self.core.by_sector {
            self.on_waiter_served(at, place, 0, Some(entry));
        } else {
            self.core.tags.update(at, entry.set, entry.way, |cell| cell.state = LineState::Valid);
        }
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.retire();
        }
    }

    /// True if a line waits in the prefetch queue, or if the prefetcher may still propose a line to prefetch.
    pub(super) fn is_prefetching(&self) -> bool {
        self.prefetcher.as_ref().is_some_and(|prefetcher| prefetcher.is_busy())
    }

    /// Clears the prefetcher and its queue at the end of a kernel. Prefetched lines that no access has used
    /// are counted as useless.
    pub(in super::super) fn end_kernel(&mut self) {
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.clear(&mut self.core.stats.prefetch);
        }
    }
}
