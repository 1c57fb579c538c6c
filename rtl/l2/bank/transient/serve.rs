//! Serves one access per cycle in the transient flow: a waiter of a complete line, or a request whose lookup
//! is complete. The request is either new or from the pending queue.

use super::super::super::line::LineState;
use super::super::super::lookup_pipeline::LookupEntry;
use super::super::super::mshr::MshrEntry;
use super::super::super::stats::{LookupResult, Stall};
use super::super::core::position_of;
use super::super::lines::{BankAccess, LinePlace};
use super::evictions::Job;
use super::frc::FrcState;
use super::pending::Pending;
use super::{Transient, spot_of};
use crate::cells::fifo::Fifo;
use crate::cells::lines::{Lines, Wide};
use crate::kernel::AnyEdge;
use crate::noc::packet::{Request, RequestKind};
use crate::replacement::priority::EvictionPriority;

/// Location in which a lookup found the line of a request.
enum LineLocation {
    /// The line is in flight; it has the MSHR entry with the given number.
    Coming(u32),
    Here(LinePlace),
    Leaving(LinePlace),
    Nowhere,
}

impl Transient {
    /// Serves the next waiter (access that waits in an MSHR entry) of a line whose data have arrived. Returns
    /// true if a waiter was served.
    pub(super) fn serve_waiter(&mut self, at: &impl AnyEdge, can_write: bool) -> Result<bool, Stall> {
        let Self { core, frc, .. } = self;
        if !core.mshr.is_ready() {
            return Ok(false);
        }
        let Some((entry, waiter)) = core.mshr.waiter(at) else { return Ok(false) };
        let place = (entry.set, entry.way);
        let asked = BankAccess::waiting(waiter, entry.line);
        let (kind, sm) = (asked.kind, asked.sm);
        core.lines.perform_in(spot_of(frc, core.config.ways, place), &asked, &mut core.stats, at, can_write)?;
        self.note_copy(at, place, kind, sm);
        self.core.stats.replays += 1;
        if let Some(entry) = self.core.mshr.pop_waiter(at, kind.writes()) {
            self.finish_fill(at, entry);
        }
        Ok(true)
    }

    /// Makes a line available to lookups after its last waiter was served. Sets the state of the line in the
    /// tag array, or in the FRC (fetch and replacement cache) if the line is there.
    fn finish_fill(&mut self, at: &impl AnyEdge, entry: MshrEntry) {
        let MshrEntry { set, way, dirty, .. } = entry;
        let ways = self.core.config.ways;
        if let Some(frc) = self.frc.as_mut().filter(|_| way >= ways) {
            frc.fill(at, frc.number(set, way - ways), dirty);
        } else {
            let state = if dirty { LineState::Modified } else { LineState::Valid };
            self.core.tags.update(at, set, way, |cell| cell.state = state);
            self.pending.wake(set);
        }
    }

    /// Serves or defers a request whose lookup is complete; requests from the pending queue have priority.
    /// Returns false if no lookup is complete. Returns the stall reason as an error.
    pub(super) fn serve_next(&mut self, at: &impl AnyEdge, can_write: bool) -> Result<bool, Stall> {
        let again = self.pending.due(at.cycle());
        if again.is_none() && self.core.lookups.front().is_none_or(|lookup| lookup.due > at.cycle()) {
            return Ok(false);
        }
        let &Request { kind, id, line, sm, ticket, .. } = self.current_request(again);
        let (set, tag) = self.core.split(self.core.local(line));
        let is_behind = again.is_none() && self.pending.holds_line(line);
        let is_served = !is_behind && self.serve(at, line, (set, tag), again, can_write)?;
        match again {
            Some(place) if is_served => self.pending.remove(place),
            Some(place) => self.pending.refuse(place),
            None => {
                if !is_served {
                    self.defer(at, set)?;
                }
                self.core.lookups.drop_front();
            }
        }
        if is_served {
            self.core.finish_lookup(kind, (id, line, sm, ticket));
        }
        Ok(true)
    }

    /// Serves the current request. Returns false if the request must wait for a way, for an entry of the FRC
    /// (fetch and replacement cache), or for the end of an eviction.
    #[inline(always)]
    fn serve(
        &mut self,
        at: &impl AnyEdge,
        line: u64,
        block: (u32, u64),
        again: Option<usize>,
        can_write: bool,
    ) -> Result<bool, Stall> {
        match self.find(at, line, block) {
            LineLocation::Coming(entry) => self.join_waiters(at, entry, again),
            LineLocation::Here(place) => self.serve_here(at, place, again, can_write),
            LineLocation::Leaving(place) => self.serve_evicting(at, place, again),
            LineLocation::Nowhere if again.is_none() && self.pending.holds_set(block.0) => Ok(false),
            LineLocation::Nowhere => self.serve_miss(at, block, again, can_write),
        }
    }

    /// Returns the request whose lookup is complete: the one at position `again` of the pending queue, or the
    /// oldest new request if `again` is `None`.
    fn current_request(&self, again: Option<usize>) -> &Request {
        current_request(&self.core.lookups, &self.pending, again)
    }

    /// Moves the oldest new request to the pending queue, where it waits for an event in its set.
    fn defer(&mut self, at: &impl AnyEdge, set: u32) -> Result<(), Stall> {
        if !self.pending.has_room() {
            return Err(Stall::PendingQueue);
        }
        let Some(lookup) = self.core.lookups.front() else { self.core.breach(at, "no request to defer") };
        self.pending.push(&lookup.request, set, at.cycle());
        self.core.stats.put_down += 1;
        Ok(())
    }

    /// Searches the in-flight lines, the Fetch and Replacement Cache (FRC) and the tags for a line.
    fn find(&self, at: &impl AnyEdge, line: u64, (set, tag): (u32, u64)) -> LineLocation {
        let core = &self.core;
        let row = core.tags.read(at, set);
        if let Some(entry) = core.mshr.find(line) {
            return LineLocation::Coming(entry);
        }
        if let Some(frc) = &self.frc
            && let Some(way) = frc.find(set, tag)
        {
            let place = (set, core.config.ways + way);
            return match frc.entry(frc.number(set, way)).state {
                FrcState::Filled => LineLocation::Here(place),
                state if state.is_evicting() => LineLocation::Leaving(place),
                _ => core.breach(at, "the FRC fetches a line without a waiter"),
            };
        }
        let way = position_of(row, tag).filter(|&way| row[way].state != LineState::Invalid);
        match way.map(|way| (row[way].state, (set, way as u32))) {
            None => LineLocation::Nowhere,
            Some((state, place)) if state.is_here() => LineLocation::Here(place),
            Some((state, place)) if state.is_evicting() => LineLocation::Leaving(place),
            Some(_) => core.breach(at, "a reserved line without an MSHR entry"),
        }
    }

    /// Merges the current request into the MSHR entry of its line, whose fetch is in flight.
    fn join_waiters(&mut self, at: &impl AnyEdge, entry: u32, again: Option<usize>) -> Result<bool, Stall> {
        let Self { core, pending, .. } = self;
        if !core.mshr.has_room(entry) {
            return Err(Stall::MshrMerge);
        }
        let request = current_request(&core.lookups, pending, again);
        core.room_for_ack(request)?;
        core.stats.count(request.kind, LookupResult::Coming);
        core.mshr.merge(at, (entry, core.whole), request);
        let MshrEntry { set, way, .. } = core.mshr.entry(entry);
        if way < core.config.ways {
            core.touch(at, (set, way), EvictionPriority::Normal);
        }
        Ok(true)
    }

    /// Serves the current request, whose line hits in a way or in the FRC (fetch and replacement cache).
    fn serve_here(
        &mut self,
        at: &impl AnyEdge,
        place: LinePlace,
        again: Option<usize>,
        can_write: bool,
    ) -> Result<bool, Stall> {
        let kind = self.perform(at, place, again, can_write)?;
        let Self { core, frc, .. } = self;
        let ((set, way), ways) = (place, core.config.ways);
        if let Some(frc) = frc.as_mut().filter(|_| way >= ways) {
            if kind.writes() {
                frc.mark_written(at, frc.number(set, way - ways));
            }
            core.stats.frc.hits += 1;
        } else {
            if kind.writes() && core.tags.row(set)[way as usize].state == LineState::Valid {
                core.tags.update(at, set, way, |cell| cell.state = LineState::Modified);
            }
            core.touch(at, (set, way), EvictionPriority::Normal);
        }
        core.stats.count(kind, LookupResult::Here);
        Ok(true)
    }

    /// Serves a request whose line is being evicted. A read can hit until the eviction is complete. A write
    /// must wait for the end of the eviction, because the bytes may already be in flight to memory.
    fn serve_evicting(&mut self, at: &impl AnyEdge, place: LinePlace, again: Option<usize>) -> Result<bool, Stall> {
        let in_frc = place.1 >= self.core.config.ways;
        if self.current_request(again).kind.writes() || !in_frc && !self.serves_leaving {
            return Ok(false);
        }
        let kind = self.perform(at, place, again, false)?;
        self.core.stats.count(kind, LookupResult::Here);
        self.core.stats.frc.hits += u64::from(in_frc);
        Ok(true)
    }

    /// Serves a miss: fetches the line into the Fetch and Replacement Cache (FRC) if that has room. Otherwise
    /// starts the eviction of a victim; the fetch then starts after the eviction.
    fn serve_miss(
        &mut self,
        at: &impl AnyEdge,
        block: (u32, u64),
        again: Option<usize>,
        can_write: bool,
    ) -> Result<bool, Stall> {
        let (set, _) = block;
        let Self { core, pending, frc, binds_early, .. } = self;
        let request = current_request(&core.lookups, pending, again);
        let (kind, id) = (request.kind, request.id);
        core.room_for_ack(request)?;
        let entry = core.mshr.free().ok_or(Stall::MshrEntry)?;
        let missed = again.map_or(at.cycle(), |place| pending.first_lookup_cycle(place));
        let frc_way = frc.as_ref().and_then(|frc| frc.free(set));
        let victim = core.any_victim(set);
        let Some(way) = frc_way.map(|way| core.config.ways + way).or(victim) else { return Ok(false) };
        core.lines.take_back(at, (set, way), &mut core.stats, can_write)?;
        core.mshr.allocate(at, (entry, core.whole), (set, way), request);
        core.stats.fetches += 1;
        core.stats.delays.way += at.cycle() - missed;
        core.stats.count(kind, LookupResult::Nowhere);
        if let (Some(way), Some(frc)) = (frc_way, frc) {
            let bound = victim.filter(|_| *binds_early).map(|way| way as u8);
            frc.allocate(at, frc.number(set, way), block, bound, id);
            core.stats.frc.misses += 1;
            self.enqueue_job(Job { write: false, who: entry as u16, id, missed });
        } else {
            self.start_eviction(at, entry, id, missed);
            self.core.touch(at, (set, way), EvictionPriority::Normal);
        }
        Ok(true)
    }

    /// Performs the access of the current request on the line at `place`, and returns the kind of the
    /// request.
    fn perform(
        &mut self,
        at: &impl AnyEdge,
        place: LinePlace,
        again: Option<usize>,
        can_write: bool,
    ) -> Result<RequestKind, Stall> {
        let Self { core, pending, frc, .. } = self;
        let request = current_request(&core.lookups, pending, again);
        core.room_for_ack(request)?;
        let (kind, sm) = (request.kind, request.sm);
        let spot = spot_of(frc, core.config.ways, place);
        core.lines.perform_in(spot, &BankAccess::from_request(request), &mut core.stats, at, can_write)?;
        self.note_copy(at, place, kind, sm);
        Ok(kind)
    }

    /// Records that the L1 of SM `sm` has a copy of the line that it read, unless the line is being evicted:
    /// reads of such lines do not change the state of the coherence protocol (candel2018 section 4).
    fn note_copy(&mut self, at: &impl AnyEdge, (set, way): LinePlace, kind: RequestKind, sm: u8) {
        let Self { core, sharers: Some(sharers), frc, .. } = self else { return };
        if kind != RequestKind::Read {
            return;
        }
        if let Some(frc) = frc.as_mut().filter(|_| way >= core.config.ways) {
            let entry = frc.number(set, way - core.config.ways);
            if !frc.entry(entry).state.is_evicting() {
                frc.eviction_mut(entry).sharers |= Wide::line(sm.into());
            }
        } else if !core.tags.row(set)[way as usize].state.is_evicting() {
            sharers.update(at, set, way, |cell| cell.0 |= Wide::line(sm.into()));
        }
    }
}

/// Returns the request whose lookup is complete: the one at position `again` of the pending queue, or the
/// oldest new request if `again` is `None`.
fn current_request<'a>(lookups: &'a Fifo<LookupEntry>, pending: &'a Pending, again: Option<usize>) -> &'a Request {
    match (again, lookups.front()) {
        (Some(place), _) => pending.request(place),
        (None, Some(lookup)) => &lookup.request,
        (None, None) => unreachable!("a look-up is over"),
    }
}
