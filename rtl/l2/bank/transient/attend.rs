//! How a bank of the transient flow serves one access: one that waited for a line now complete, or
//! a request whose look-up is over, a new one or one that had waited in the pending queue.

use super::super::config::VictimBind;
use super::super::evictions::Job;
use super::super::frc::FrcState;
use super::super::line::LineState;
use super::super::mshr::Entry;
use super::super::pending::Pending;
use super::super::queues::Looking;
use super::super::stats::Stall;
use super::L2Bank;
use super::perform::{Asked, memory_of, perform};
use super::serve::position_of;
use super::transient::{Place, Transient};
use crate::cells::fifo::Fifo;
use crate::kernel::Edge;
use crate::noc::packet::{Request, RequestKind};

/// Where a line was found.
enum Found {
    /// Tracked by an MSHR entry.
    Coming(u32),
    Here(Place),
    Leaving(Place),
    Nowhere,
}

impl L2Bank {
    /// Serves the next access that waited for a line now complete.
    pub(super) fn serve_waiter(&mut self, at: &Edge<'_>, can_write: bool) -> Result<bool, Stall> {
        if !self.mshr.is_ready() {
            return Ok(false);
        }
        let Some((entry, waiter)) = self.mshr.waiter(at) else { return Ok(false) };
        let place = (entry.set, entry.way);
        let asked = Asked::waiting(waiter, entry.line);
        let (kind, sm) = (asked.kind, asked.sm);
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
        self.note_copy(at, place, kind, sm);
        self.stats.replays += 1;
        if let Some(entry) = self.mshr.served(kind.writes()) {
            self.arrived(at, entry);
        }
        Ok(true)
    }

    /// A line is here, and all that waited for it are served.
    fn arrived(&mut self, at: &Edge<'_>, entry: Entry) {
        let Entry { set, way, dirty, .. } = entry;
        let ways = self.config.ways;
        if let Some(frc) = self.transient.frc.as_mut().filter(|_| way >= ways) {
            frc.fill(at, frc.number(set, way - ways), dirty);
        } else {
            let state = if dirty { LineState::Modified } else { LineState::Valid };
            self.tags.update(at, set, way, |cell| cell.state = state);
            self.transient.pending.wake(set);
        }
    }

    /// Serves the request whose look-up is over, one that had waited first, or puts it down, or says
    /// what holds it up; false if none is due.
    pub(super) fn attend(&mut self, at: &Edge<'_>, can_write: bool) -> Result<bool, Stall> {
        let again = self.transient.pending.due(at.cycle);
        if again.is_none() && self.looking.front().is_none_or(|looking| looking.due > at.cycle) {
            return Ok(false);
        }
        let &Request { kind, id, line, sm, ticket, .. } = self.attended(again);
        let (set, tag) = self.split(self.local(line));
        let is_served = if again.is_none() && self.transient.pending.holds_line(line) {
            false
        } else {
            match self.find(at, line, (set, tag)) {
                Found::Coming(entry) => self.join_waiters(at, entry, again)?,
                Found::Here(place) => self.serve_here(at, place, again, can_write)?,
                Found::Leaving(place) => self.serve_leaving(at, place, again)?,
                Found::Nowhere if again.is_none() && self.transient.pending.holds_set(set) => false,
                Found::Nowhere => self.serve_miss(at, (set, tag), again, can_write)?,
            }
        };
        match again {
            Some(place) if is_served => self.transient.pending.remove(place),
            Some(place) => self.transient.pending.refuse(place),
            None => {
                if !is_served {
                    self.put_down(at, set)?;
                }
                self.looking.drop_front();
            }
        }
        if is_served {
            self.accepted(kind, (id, line, sm, ticket));
        }
        Ok(true)
    }

    /// The request being attended to, by its place in the pending queue if it was there.
    fn attended(&self, again: Option<usize>) -> &Request {
        attended(&self.looking, &self.transient.pending, again)
    }

    /// Puts the oldest new request down until something comes free for its set.
    fn put_down(&mut self, at: &Edge<'_>, set: u32) -> Result<(), Stall> {
        if !self.transient.pending.has_room() {
            return Err(Stall::PendingQueue);
        }
        let Some(looking) = self.looking.front() else { self.breach(at, "no request to be put down") };
        self.transient.pending.push(&looking.request, set, at.cycle);
        self.stats.put_down += 1;
        Ok(())
    }

    /// Looks for a line among those on their way, in the FRC and in the tags.
    fn find(&self, at: &Edge<'_>, line: u64, (set, tag): (u32, u64)) -> Found {
        let row = self.tags.read(at, set);
        if let Some(entry) = self.mshr.find(line) {
            return Found::Coming(entry);
        }
        if let Some(frc) = &self.transient.frc
            && let Some(way) = frc.find(set, tag)
        {
            let place = (set, self.config.ways + way);
            return match frc.entry(frc.number(set, way)).state {
                FrcState::Filled => Found::Here(place),
                state if state.is_leaving() => Found::Leaving(place),
                _ => self.breach(at, "the FRC fetches a line that nobody waits for"),
            };
        }
        let way = position_of(row, tag).filter(|&way| row[way].state != LineState::Invalid);
        match way.map(|way| (row[way].state, (set, way as u32))) {
            None => Found::Nowhere,
            Some((state, place)) if state.is_here() => Found::Here(place),
            Some((state, place)) if state.is_leaving() => Found::Leaving(place),
            Some(_) => self.breach(at, "a reserved line without an MSHR entry"),
        }
    }

    /// The line is on its way: the request takes its place in the line's order.
    fn join_waiters(&mut self, at: &Edge<'_>, entry: u32, again: Option<usize>) -> Result<bool, Stall> {
        if !self.mshr.has_room(entry) {
            return Err(Stall::MshrMerge);
        }
        self.room_for_ack(self.attended(again))?;
        let request = attended(&self.looking, &self.transient.pending, again);
        match request.kind {
            RequestKind::Read => self.stats.hit_pending += 1,
            RequestKind::Write => self.stats.write_pending += 1,
            RequestKind::Atomic | RequestKind::Reduce => self.stats.atomic_pending += 1,
        }
        self.mshr.merge(at, entry, request);
        let Entry { set, way, .. } = self.mshr.entry(entry);
        if way < self.config.ways {
            self.touch(at, set, way);
        }
        Ok(true)
    }

    /// The line is here, in its way or in the FRC.
    fn serve_here(
        &mut self,
        at: &Edge<'_>,
        place: Place,
        again: Option<usize>,
        can_write: bool,
    ) -> Result<bool, Stall> {
        self.perform_at(at, place, again, can_write)?;
        let (set, way) = place;
        let kind = self.attended(again).kind;
        let ways = self.config.ways;
        if let Some(frc) = self.transient.frc.as_mut().filter(|_| way >= ways) {
            if kind.writes() {
                frc.written(at, frc.number(set, way - ways));
            }
            self.stats.frc_hits += 1;
        } else {
            if kind.writes() && self.tags.row(set)[way as usize].state == LineState::Valid {
                self.tags.update(at, set, way, |cell| cell.state = LineState::Modified);
            }
            self.touch(at, set, way);
        }
        *match kind {
            RequestKind::Read => &mut self.stats.hits,
            RequestKind::Write => &mut self.stats.write_hits,
            RequestKind::Atomic | RequestKind::Reduce => &mut self.stats.atomic_hits,
        } += 1;
        Ok(true)
    }

    /// The line is on its way out: reads find it as long as it is there. A write must wait until it
    /// is gone, because its bytes may be on their way already.
    fn serve_leaving(&mut self, at: &Edge<'_>, place: Place, again: Option<usize>) -> Result<bool, Stall> {
        let in_frc = place.1 >= self.config.ways;
        if self.attended(again).kind.writes() || !in_frc && !self.config.serve_transient {
            return Ok(false);
        }
        self.perform_at(at, place, again, false)?;
        self.stats.hits += 1;
        self.stats.frc_hits += u64::from(in_frc);
        Ok(true)
    }

    /// The line is elsewhere: it is fetched into the FRC, else a way is made free for it.
    fn serve_miss(
        &mut self,
        at: &Edge<'_>,
        block: (u32, u64),
        again: Option<usize>,
        can_write: bool,
    ) -> Result<bool, Stall> {
        let (set, _) = block;
        let kind = self.attended(again).kind;
        self.room_for_ack(self.attended(again))?;
        let entry = self.mshr.free().ok_or(Stall::MshrEntry)?;
        let missed = again.map_or(at.cycle, |place| self.transient.pending.missed(place));
        let frc_way = self.transient.frc.as_ref().and_then(|frc| frc.free(set));
        let victim = self.victim(set);
        let way = match (frc_way, victim) {
            (Some(way), _) => self.config.ways + way,
            (None, Some(way)) => way,
            (None, None) => return Ok(false),
        };
        if let Some(buffer) = &mut self.atomic_buffer
            && buffer.held((set, way)).is_some()
        {
            // It leaves from the data memory, burst by burst.
            if !can_write {
                return Err(Stall::Port);
            }
            buffer.write_back(&mut self.data, at, &mut self.stats);
        }
        let request = attended(&self.looking, &self.transient.pending, again);
        let id = request.id;
        self.mshr.allocate(at, entry, (set, way), request);
        if let (Some(way), Some(frc)) = (frc_way, &mut self.transient.frc) {
            let early = self.config.frc.victim_bind == VictimBind::Alloc;
            let bound = victim.filter(|_| early).map(|way| way as u8);
            frc.allocate(at, frc.number(set, way), block, bound, id);
            self.ask_for(Job { write: false, who: entry as u16, id, missed });
            self.stats.frc_misses += 1;
        } else {
            self.give_way(at, entry, id, missed);
            self.touch(at, set, way);
        }
        self.stats.fetches += 1;
        *match kind {
            RequestKind::Read => &mut self.stats.misses,
            RequestKind::Write => &mut self.stats.write_misses,
            RequestKind::Atomic | RequestKind::Reduce => &mut self.stats.atomic_misses,
        } += 1;
        Ok(true)
    }

    /// Reads or writes the line in a place for the request attended to.
    fn perform_at(&mut self, at: &Edge<'_>, place: Place, again: Option<usize>, can_write: bool) -> Result<(), Stall> {
        self.room_for_ack(self.attended(again))?;
        let Self { data, looking, transient, passing, replies, stats, config, operand_bytes, atomic_buffer, .. } = self;
        let asked = Asked::looking(attended(looking, &transient.pending, again));
        let (kind, sm) = (asked.kind, asked.sm);
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
        self.note_copy(at, place, kind, sm);
        Ok(())
    }

    /// An L1 that read a line has a copy of it. One that read it on its way out is not noted: the
    /// FRC changes no protocol state (candel2018 section 4).
    fn note_copy(&mut self, at: &Edge<'_>, (set, way): Place, kind: RequestKind, sm: u8) {
        let Transient { sharers: Some(sharers), frc, .. } = &mut *self.transient else { return };
        if kind != RequestKind::Read {
            return;
        }
        if let Some(frc) = frc.as_mut().filter(|_| way >= self.config.ways) {
            let entry = frc.number(set, way - self.config.ways);
            if !frc.entry(entry).state.is_leaving() {
                frc.leaving_mut(entry).sharers |= 1 << sm;
            }
        } else if !self.tags.row(set)[way as usize].state.is_leaving() {
            sharers.update(at, set, way, |cell| cell.0 |= 1 << sm);
        }
    }

    /// A use of a way.
    pub(super) fn touch(&mut self, at: &Edge<'_>, set: u32, way: u32) {
        let recency = self.recency.read(at, set)[0].touched(way);
        self.recency.write(at, set, 0, recency);
    }
}

/// The request being attended to, by its place in the pending queue if it was there.
fn attended<'a>(looking: &'a Fifo<Looking>, pending: &'a Pending, again: Option<usize>) -> &'a Request {
    match (again, looking.front()) {
        (Some(place), _) => pending.request(place),
        (None, Some(looking)) => &looking.request,
        (None, None) => unreachable!("a look-up is over"),
    }
}
