//! Serves one access per cycle in the overlapped flow: a waiter of a complete line, or the oldest request
//! whose lookup is complete.

use super::super::super::line::{Bursts, LineState, PresentBytes, Tag};
use super::super::super::lookup_pipeline::LookupEntry;
use super::super::super::stats::{LookupResult, Stall};
use super::super::lines::{BankAccess, LinePlace, Spot};
use super::bypass_buffer::spot_of;
use super::{Match, Overlapped, WriteMiss, oldest};
use crate::cells::line::LINE_BYTES;
use crate::kernel::AnyEdge;
use crate::noc::packet::{Request, RequestKind};
use crate::replacement::Source;

impl Overlapped {
    /// Serves the next waiter (access that waits in an MSHR entry) of a line whose data have arrived, or
    /// completes a prefetch without a waiter. Returns true if it did either.
    pub(super) fn replay(&mut self, at: &impl AnyEdge, can_write: bool) -> Result<bool, Stall> {
        let Self { core, bypass_buffer, .. } = self;
        if !core.mshr.is_ready() {
            return Ok(false);
        }
        let Some((entry, waiter)) = core.mshr.waiter(at) else {
            self.retire_prefetch(at);
            return Ok(true);
        };
        let (place, asked) = ((entry.set, entry.way), BankAccess::waiting(waiter, entry.line));
        let (kind, written) = (asked.kind, waiter.byte_mask);
        let leaves = core.mshr_policy.as_ref().and_then(|_| Some((core.mshr.first_ready()?, waiter.sm)));
        let spot = spot_of(bypass_buffer, core.config.ways, place);
        core.lines.perform_in(spot, &asked, &mut core.stats, at, can_write)?;
        core.stats.replays += 1;
        let last = core.mshr.pop_waiter(at, kind.writes());
        if let Some((entry, sm)) = leaves {
            core.report_leave(at, entry, sm, last.is_some());
        }
        if core.by_sector {
            self.on_waiter_served(at, place, if kind.writes() { written } else { 0 }, last);
        } else if let Some(entry) = last
            && entry.way < core.config.ways
        {
            let state = if entry.dirty || self.newer(at, place) != 0 { LineState::Modified } else { LineState::Valid };
            self.core.tags.update(at, entry.set, entry.way, |cell| cell.state = state);
        }
        Ok(true)
    }

    /// Looks up the oldest request. Skips the lookup if a waiter was served in this cycle, or if the last
    /// stall reason still applies. Returns true if the request was served or deferred.
    #[inline(always)]
    pub(super) fn look_up_oldest(
        &mut self,
        at: &impl AnyEdge,
        replayed: Result<bool, Stall>,
        can_write: bool,
    ) -> Result<bool, Stall> {
        if matches!(replayed, Ok(true) | Err(Stall::AtomicBuffer)) {
            if self.core.lookups.front().is_none_or(|oldest| oldest.due > at.cycle()) {
                return Ok(false);
            }
            // Once a waiter has been served, the first resource that the oldest request lacks may no longer
            // be `ReplyQueue`, so this stored reason is discarded.
            self.lacking = self.lacking.filter(|&reason| reason != Stall::ReplyQueue);
            return Err(Stall::Port);
        }
        if let Some(partition) = &mut self.core.partition {
            partition.reach(at.cycle());
        }
        match self.lacking {
            Some(reason) if self.is_still_stalled(reason, can_write) => Err(reason),
            _ => {
                let looked = self.look_up(at, can_write);
                self.lacking = looked.err();
                looked
            }
        }
    }

    /// Looks up and serves the oldest request. Returns false if its lookup is not complete yet. Returns the
    /// stall reason as an error.
    fn look_up(&mut self, at: &impl AnyEdge, can_write: bool) -> Result<bool, Stall> {
        let Some(LookupEntry { due, request }) = self.core.lookups.front() else { return Ok(false) };
        if *due > at.cycle() {
            return Ok(false);
        }
        let &Request { kind, id, line, sm, ticket, .. } = request;
        if let Some(bypass_buffer) = &mut self.bypass_buffer {
            bypass_buffer.scheme.reach(at.cycle());
        }
        let matched = self.match_tags(at, line);
        if self.bypass_buffer.is_none() || !self.serve_bypass(at, matched)? {
            self.serve(at, line, matched, can_write)?;
        }
        if self.reports {
            self.report(at, (kind, sm), matched);
        }
        self.core.lookups.drop_front();
        self.matched = None;
        self.core.finish_lookup(kind, (id, line, sm, ticket));
        Ok(true)
    }

    /// Serves the oldest request, or defers it until the data of its line arrive.
    #[inline(always)]
    fn serve(&mut self, at: &impl AnyEdge, line: u64, matched: Match, can_write: bool) -> Result<(), Stall> {
        let set = matched.set;
        let found = matched.way.map(|way| (way, self.core.tags.row(set)[way as usize].state));
        match found {
            None | Some((_, LineState::TagOnly)) => self.miss(at, matched, can_write)?,
            Some((_, LineState::Reserved)) => self.wait(at, line, matched.local)?,
            Some((way, LineState::Partial)) => self.serve_partial(at, matched, way, can_write)?,
            Some((way, state)) if self.core.by_sector => {
                self.serve_by_sector(at, matched, (set, way), state, can_write)?;
            }
            Some((way, state)) => self.hit(at, (set, way), state, can_write)?,
        }
        if let Some((way, _)) = found {
            let priority = oldest(&self.core.lookups).priority;
            self.core.touch(at, (set, way), priority);
        }
        Ok(())
    }

    /// Compares the line of the oldest request with the tags, or returns the stored result of an earlier
    /// comparison.
    fn match_tags(&mut self, at: &impl AnyEdge, line: u64) -> Match {
        if let Some(matched) = self.matched {
            return matched;
        }
        let local = self.core.local(line);
        let (set, tag) = self.core.split(local);
        let row = self.core.tags.read(at, set);
        let matched = Match { local, set, tag, way: self.core.way_of(row, tag) };
        self.matched = Some(matched);
        matched
    }

    /// True if it is certain that a new lookup of the oldest request, which stalled for `reason`, would stall
    /// again: the missing resource is still missing, and no event since the stall can have changed what the
    /// request needs.
    fn is_still_stalled(&self, reason: Stall, can_write: bool) -> bool {
        let lines = &self.core.lines;
        // The MSHR policy may decide differently after any waiter has been served, so every stall is checked
        // again.
        if self.core.mshr_policy.is_some() {
            return false;
        }
        match reason {
            Stall::ReplyQueue => !lines.replies.has_room(),
            // A hit checks for room in the reply queue before it checks the port, so if the queue is now
            // full, the reason is no longer `Port`. With an atomic buffer, the access may no longer need the
            // port.
            Stall::Port => !can_write && lines.replies.has_room() && lines.atomic_buffer.is_none(),
            // With sector fetches, an access that was served after the stall may have written the missing
            // bytes, and then no fetch is needed.
            Stall::MissQueue => !self.core.by_sector && self.memory.room_for_fetch().is_err(),
            Stall::MshrEntry => self.core.mshr.free().is_none(),
            // Stalls for these reasons can end when data arrive or a waiter is served, so the lookup is
            // repeated.
            Stall::LineAlloc
            | Stall::MshrMerge
            | Stall::WriteBackQueue
            | Stall::PendingQueue
            | Stall::AtomicBuffer
            | Stall::MshrPolicy => false,
        }
    }

    /// Merges the oldest request into the MSHR entry of its line, whose fetch is in flight.
    fn wait(&mut self, at: &impl AnyEdge, line: u64, local: u64) -> Result<(), Stall> {
        let core = &self.core;
        let Some(entry) = core.mshr.find(line) else { core.breach(at, "a reserved line without an MSHR entry") };
        if !core.mshr.has_room(entry) {
            return Err(Stall::MshrMerge);
        }
        core.room_for_ack(oldest(&core.lookups))?;
        self.join(at, entry, local)
    }

    /// Serves the oldest request, whose line hits in the given set and way.
    pub(super) fn hit(
        &mut self,
        at: &impl AnyEdge,
        (set, way): LinePlace,
        state: LineState,
        can_write: bool,
    ) -> Result<(), Stall> {
        let core = &mut self.core;
        if !core.lines.replies.has_room() {
            return Err(Stall::ReplyQueue);
        }
        let asked = BankAccess::from_request(oldest(&core.lookups));
        let kind = asked.kind;
        core.lines.perform_in(Spot::Way((set, way)), &asked, &mut core.stats, at, can_write)?;
        if kind.writes() && state == LineState::Valid {
            core.tags.update(at, set, way, |cell| cell.state = LineState::Modified);
        }
        core.stats.count(kind, LookupResult::Here);
        Ok(())
    }

    /// Serves the oldest request, which misses. Evicts a victim, and then fetches the line unless the request
    /// is a write that needs no fetch.
    fn miss(&mut self, at: &impl AnyEdge, matched: Match, can_write: bool) -> Result<(), Stall> {
        let Match { local, set, tag, way: known } = matched;
        let core = &self.core;
        let request = oldest(&core.lookups);
        let &Request { kind, id, sm, priority, .. } = request;
        let kept = self.state_without_fetch(request);
        let way = known.or_else(|| core.victim(set, sm)).ok_or(Stall::LineAlloc)?;
        let entry = core.mshr.free();
        if kept.is_some() {
            if !can_write {
                return Err(Stall::Port);
            }
        } else {
            entry.ok_or(Stall::MshrEntry)?;
            core.may_allocate(request)?;
            self.memory.room_for_fetch()?;
        }
        let victim = core.tags.row(set)[way as usize];
        if victim.state.is_newer() {
            self.memory.room_for_write_back()?;
        }
        core.room_for_ack(request)?;

        if known.is_none() {
            self.core.insert(at, (set, way), || Source { priority, ..Source::of_line(local) }, sm);
        }
        self.evict(at, (set, way), victim, id);
        let tag = Tag { tag, state: kept.unwrap_or(LineState::Reserved) };
        self.core.tags.update(at, set, way, |cell| *cell = tag);
        self.keep_mask(at, (set, way), tag.state);
        if kept.is_some() {
            let core = &mut self.core;
            let request = oldest(&core.lookups);
            core.lines.data.update(at, set, way, |line| line.0 = request.data);
            core.stats.changes += 1;
        } else if let Some(entry) = entry {
            self.fetch(at, local, (set, way), (entry, self.needs()), id);
        }
        self.core.stats.count(kind, LookupResult::Nowhere);
        Ok(())
    }

    /// Returns the state of the new line if `request` is a write that needs no fetch; otherwise `None`.
    #[inline(always)]
    fn state_without_fetch(&self, request: &Request) -> Option<LineState> {
        if request.kind != RequestKind::Write {
            return None;
        }
        let all = u128::MAX >> (LINE_BYTES as u32 - self.core.place.line_bytes);
        if request.byte_mask == all && self.write_miss != WriteMiss::Fetch {
            return Some(LineState::Modified);
        }
        let in_part = if self.core.by_sector { LineState::Modified } else { LineState::Partial };
        self.masks.is_some().then_some(in_part)
    }

    /// Records which bytes of a newly allocated line are newer than memory.
    #[inline(always)]
    fn keep_mask(&mut self, at: &impl AnyEdge, (set, way): LinePlace, state: LineState) {
        if let Some(masks) = &mut self.masks {
            let in_part = state == LineState::Partial || self.core.by_sector && state == LineState::Modified;
            let newer = if in_part { oldest(&self.core.lookups).byte_mask } else { 0 };
            masks.write(at, set, way, PresentBytes { newer, delivered: 0 });
        }
    }

    /// Allocates MSHR entry `what.0` for the oldest request, and enqueues the fetch of the bursts `what.1` of
    /// its line into the set and way `place`.
    pub(super) fn fetch(&mut self, at: &impl AnyEdge, local: u64, place: LinePlace, what: (u32, Bursts), id: u32) {
        let core = &mut self.core;
        let request = oldest(&core.lookups);
        core.mshr.allocate(at, what, place, request);
        if core.mshr_policy.is_some() {
            core.report_allocate(at, what.0);
        }
        self.memory.fetch(local, id, what, at.cycle());
        core.stats.fetches += 1;
    }

    /// Evicts the line in a way. If the line has bytes newer than memory, moves them to the writeback queue.
    #[inline(always)]
    pub(super) fn evict(&mut self, at: &impl AnyEdge, (set, way): LinePlace, victim: Tag, id: u32) {
        let in_part = victim.state == LineState::Partial;
        self.core.stats.evictions += u64::from(victim.state.is_here() || in_part);
        if victim.state.is_newer() {
            let newer = if in_part || self.core.by_sector { self.newer(at, (set, way)) } else { u128::MAX };
            let Self { core, memory, .. } = self;
            let local = core.join(set, victim.tag);
            let bytes = &core.lines.take_victim(at, (set, way), &mut core.stats).0;
            memory.write_back(local, id, newer, bytes);
        }
    }
}
