//! How a bank serves one access: a waiter of a complete line, or the oldest looked-up request.

use super::super::config::WriteMiss;
use super::super::line::{ByteMask, LineState, Tag};
use super::super::queues::{Fetch, Looking, Turn, WriteBack};
use super::super::stats::Stall;
use super::perform::{Asked, memory_of, perform};
use super::{L2Bank, Match};
use crate::cells::fifo::Fifo;
use crate::cells::lru::WORD_WAYS;
use crate::kernel::Edge;
use crate::noc::packet::{LINE_BYTES, Request, RequestKind};

impl L2Bank {
    /// Serves the next access that waited for a line now complete.
    pub(super) fn replay(&mut self, at: &Edge<'_>, can_write: bool) -> Result<bool, Stall> {
        if !self.mshr.is_ready() {
            return Ok(false);
        }
        let Some((entry, waiter)) = self.mshr.waiter(at) else { return Ok(false) };
        let (place, asked) = ((entry.set, entry.way), Asked::waiting(waiter, entry.line));
        let kind = asked.kind;
        let Self { data, transient, passing, replies, stats, config, operand_bytes, atomic_buffer, .. } = self;
        let changed = match atomic_buffer {
            Some(buffer) if place.1 < config.ways => {
                buffer.perform(data, place, (replies, stats), at, &asked, can_write)?
            }
            _ => {
                let (memory, cell) = memory_of(data, &mut transient.frc, passing, config.ways, place);
                perform(memory, cell, replies, at, &asked, *operand_bytes, can_write)?
            }
        };
        self.stats.changes += u64::from(changed);
        self.stats.replays += 1;
        if let Some(entry) = self.mshr.served(kind.writes())
            && entry.way < self.config.ways
        {
            let state = if entry.dirty || self.newer(at, place) != 0 { LineState::Modified } else { LineState::Valid };
            self.tags.update(at, entry.set, entry.way, |cell| cell.state = state);
        }
        Ok(true)
    }

    /// Matches the oldest request with the tags and serves it, or says why not; false if none is due.
    pub(super) fn look_up(&mut self, at: &Edge<'_>, can_write: bool) -> Result<bool, Stall> {
        let Some(Looking { due, request }) = self.looking.front() else { return Ok(false) };
        if *due > at.cycle {
            return Ok(false);
        }
        let &Request { kind, id, line, sm, ticket, .. } = request;
        if let Some(passing) = &mut self.passing {
            passing.reach(at.cycle);
        }
        let matched = self.match_tags(at, line);
        let set = matched.set;
        if self.passing.is_some() && self.let_past(at, matched)? {
            self.looked_up(kind, matched, (id, line, sm, ticket));
            return Ok(true);
        }
        let way = match matched.way.map(|way| (way, self.tags.row(set)[way as usize].state)) {
            Some((way, LineState::Reserved)) => {
                self.wait(at, line)?;
                way
            }
            Some((way, LineState::Partial)) => {
                self.serve_partial(at, matched, way, can_write)?;
                way
            }
            Some((way, state)) if state != LineState::Hollow => {
                self.hit(at, (set, way), state, can_write)?;
                way
            }
            _ => self.miss(at, matched, can_write)?,
        };
        self.touch(at, set, way);
        self.looked_up(kind, matched, (id, line, sm, ticket));
        Ok(true)
    }

    /// The oldest request is served or put down.
    #[inline(always)]
    fn looked_up(&mut self, kind: RequestKind, matched: Match, from: (u32, u64, u8, u64)) {
        if let Some(passing) = &mut self.passing
            && kind == RequestKind::Read
        {
            passing.count(matched.way.is_none());
        }
        self.looking.drop_front();
        self.matched = None;
        self.accepted(kind, from);
    }

    /// Matches the line of the oldest request with the tags, unless that was done before.
    fn match_tags(&mut self, at: &Edge<'_>, line: u64) -> Match {
        if let Some(matched) = self.matched {
            return matched;
        }
        let local = self.local(line);
        let (set, tag) = self.split(local);
        let row = self.tags.read(at, set);
        // Ways fill in rising order and are never emptied: a valid match stands before any empty way.
        let way = position_of(row, tag);
        let way = way.filter(|&way| row[way].state != LineState::Invalid).map(|way| way as u32);
        let matched = Match { local, set, tag, way };
        self.matched = Some(matched);
        matched
    }

    /// True if the oldest request, refused for `reason`, need not be looked up again: what it
    /// lacked then it lacks still, and nothing else can have changed for it but by a look-up.
    pub(super) fn still_lacks(&self, reason: Stall, can_write: bool) -> bool {
        match reason {
            Stall::ReplyQueue => !self.replies.has_room(),
            // A request to a line that is here asks for the room of its reply first.
            // The atomic buffer may have come to need none.
            Stall::Port => !can_write && self.replies.has_room() && self.atomic_buffer.is_none(),
            Stall::MissQueue => !self.fetches.has_room(),
            Stall::MshrEntry => self.mshr.free().is_none(),
            // Fills and replays change what these see.
            Stall::LineAlloc | Stall::MshrMerge | Stall::WriteBackQueue | Stall::PendingQueue | Stall::AtomicBuffer => {
                false
            }
        }
    }

    /// Room for the acknowledgement if the request gets one.
    #[inline(always)]
    pub(super) fn room_for_ack(&self, request: &Request) -> Result<(), Stall> {
        let needed = request.kind.is_acknowledged();
        if needed && !self.replies.has_room() { Err(Stall::ReplyQueue) } else { Ok(()) }
    }

    /// The line is on its way: the request takes its place in the line's order.
    fn wait(&mut self, at: &Edge<'_>, line: u64) -> Result<(), Stall> {
        let Some(entry) = self.mshr.find(line) else { self.breach(at, "a reserved line without an MSHR entry") };
        if !self.mshr.has_room(entry) {
            return Err(Stall::MshrMerge);
        }
        let request = oldest(&self.looking);
        self.room_for_ack(request)?;
        match request.kind {
            RequestKind::Read => self.stats.hit_pending += 1,
            RequestKind::Write => self.stats.write_pending += 1,
            RequestKind::Atomic | RequestKind::Reduce => self.stats.atomic_pending += 1,
        }
        self.mshr.merge(at, entry, request);
        Ok(())
    }

    /// The line is here.
    pub(super) fn hit(
        &mut self,
        at: &Edge<'_>,
        (set, way): (u32, u32),
        state: LineState,
        can_write: bool,
    ) -> Result<(), Stall> {
        if !self.replies.has_room() {
            return Err(Stall::ReplyQueue);
        }
        let asked = Asked::looking(oldest(&self.looking));
        let kind = asked.kind;
        let (memory, replies) = (&mut self.data, &mut self.replies);
        let changed = match &mut self.atomic_buffer {
            None => perform(memory, (set, way), replies, at, &asked, self.operand_bytes, can_write)?,
            Some(buffer) => buffer.perform(memory, (set, way), (replies, &mut self.stats), at, &asked, can_write)?,
        };
        self.stats.changes += u64::from(changed);
        if kind.writes() && state == LineState::Valid {
            self.tags.update(at, set, way, |cell| cell.state = LineState::Modified);
        }
        *match kind {
            RequestKind::Read => &mut self.stats.hits,
            RequestKind::Write => &mut self.stats.write_hits,
            RequestKind::Atomic | RequestKind::Reduce => &mut self.stats.atomic_hits,
        } += 1;
        Ok(())
    }

    /// The line is elsewhere: a way is made free for it, and it is fetched unless it is written whole.
    fn miss(&mut self, at: &Edge<'_>, matched: Match, can_write: bool) -> Result<u32, Stall> {
        let Match { local, set, tag, way } = matched;
        let request = oldest(&self.looking);
        let kind = request.kind;
        let whole = kind == RequestKind::Write
            && request.byte_mask == u128::MAX >> (LINE_BYTES as u32 - self.place.line_bytes)
            && self.config.write_miss != WriteMiss::Fetch;
        let in_part = kind == RequestKind::Write && !whole && self.masks.is_some();
        let id = request.id;
        let way = way.or_else(|| self.victim(set)).ok_or(Stall::LineAlloc)?;
        let entry = self.mshr.free();
        if !whole && !in_part {
            if entry.is_none() {
                return Err(Stall::MshrEntry);
            }
            if !self.fetches.has_room() {
                return Err(Stall::MissQueue);
            }
        } else if !can_write {
            return Err(Stall::Port);
        }
        let victim = self.tags.row(set)[way as usize];
        if victim.state.is_newer() && !self.write_backs.has_room() {
            return Err(Stall::WriteBackQueue);
        }
        self.room_for_ack(request)?;

        self.evict(at, set, way, victim, id);
        let state = match (whole, in_part) {
            (true, _) => LineState::Modified,
            (_, true) => LineState::Partial,
            _ => LineState::Reserved,
        };
        self.tags.update(at, set, way, |cell| *cell = Tag { tag, state });
        if let Some(masks) = &mut self.masks {
            let mask = if in_part { oldest(&self.looking).byte_mask } else { 0 };
            masks.write(at, set, way, ByteMask(mask));
        }
        if whole || in_part {
            let request = oldest(&self.looking);
            self.data.update(at, set, way, |line| line.0 = request.data);
            self.stats.changes += 1;
        } else if let Some(entry) = entry {
            self.mshr.allocate(at, entry, (set, way), oldest(&self.looking));
            let burst = local * u64::from(self.bursts);
            self.fetches.push(Fetch { burst, id, entry: entry as u8, missed: at.cycle });
            self.turns.push(Turn { write_back: false });
            self.stats.fetches += 1;
        }
        *match kind {
            RequestKind::Read => &mut self.stats.misses,
            RequestKind::Write => &mut self.stats.write_misses,
            RequestKind::Atomic | RequestKind::Reduce => &mut self.stats.atomic_misses,
        } += 1;
        Ok(way)
    }

    /// The way that a new line of the set takes: an empty one, else the least recently used that is here.
    #[inline(always)]
    pub(super) fn victim(&self, set: u32) -> Option<u32> {
        let (row, ways) = (self.tags.row(set), self.config.ways);
        // The last way to fill tells whether any is empty.
        if row[ways as usize - 1].state == LineState::Invalid {
            let empty = row.iter().position(|cell| cell.state == LineState::Invalid);
            return empty.map(|way| way as u32);
        }
        self.recency.row(set)[0].victim(ways, |way| row[way as usize].state.may_go())
    }

    /// Lets the line of a way go, by the write-back queue if memory does not know its bytes.
    #[inline(always)]
    pub(super) fn evict(&mut self, at: &Edge<'_>, set: u32, way: u32, victim: Tag, id: u32) {
        self.stats.evictions += u64::from(victim.state.is_here() || victim.state == LineState::Partial);
        if victim.state.is_newer() {
            let newer = if victim.state == LineState::Partial { self.newer(at, (set, way)) } else { u128::MAX };
            let first = self.join(set, victim.tag) * u64::from(self.bursts);
            let held = self.atomic_buffer.as_mut().and_then(|buffer| buffer.release((set, way), &mut self.stats));
            let bytes = &held.unwrap_or_else(|| self.data.read_cell(at, set, way)).0;
            self.write_backs.push_with(|WriteBack { burst, id: by, mask, line }| {
                (*burst, *by, *mask) = (first, id, newer);
                line.0 = *bytes;
            });
            self.turns.push(Turn { write_back: true });
        }
    }
}

/// The first way of a set with this tag, whatever its state.
#[inline(always)]
pub(super) fn position_of(row: &[Tag], tag: u64) -> Option<usize> {
    // A constant number of ways, the usual one, needs no loop.
    match <&[Tag; WORD_WAYS as usize]>::try_from(row) {
        Ok(row) => row.iter().position(|cell| cell.tag == tag),
        Err(_) => row.iter().position(|cell| cell.tag == tag),
    }
}

/// The request being looked up: there is one in every method that serves it.
pub(super) fn oldest(looking: &Fifo<Looking>) -> &Request {
    match looking.front() {
        Some(looking) => &looking.request,
        None => unreachable!("a look-up serves the oldest request"),
    }
}
