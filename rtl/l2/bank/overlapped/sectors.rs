//! Sectors: how a bank brings of a line only what is asked for (Accel-Sim's sectored L2 with lazy fetch on read).
//!
//! Of each line the bank knows which bytes are newer than memory, and which bursts memory has brought. An access needs
//! the bursts with bytes of its sectors that are neither; a write needs none. A burst is the least that memory brings: one
//! of 64 bytes brings two sectors. Bytes that arrive leave those that are newer, and the line gives way by the bursts
//! with such bytes, under their mask. The states of a line mean what they mean elsewhere, except that one which is clean
//! or dirty may be here in part.
//!
//! Order: while a burst of a line is on its way, the line has an MSHR entry, in which all its accesses wait in their order.
//! One that needs bursts that nobody asked for adds them as it is merged. The first is served as soon as its own bursts
//! are here, while those of others are on their way: only accesses behind it can want them, and what it writes they leave.
//!
//! No stale memory: bursts are asked for in the order of look-ups, behind the write-back of a line that gave way before
//! (`memory`), and a line of which a burst is on its way does not give way. A burst that was asked for before an access wrote
//! its bytes arrives under the mask of what is newer then.
//!
//! No deadlock: an access waits for bursts that have been asked for, and for accesses of its line that came before it. A merge
//! that needs room among the fetches waits at the look-up for memory to take one, which no look-up can hold up.
//!
//! The atomic buffer may hold a line of which a burst is on its way: that goes there.
//!
//! Area: a bit a burst, beside that of each byte; the bursts that each waiter needs.

use serde::{Deserialize, Serialize};

use super::super::super::line::{Bursts, Held, LineState, Tag};
use super::super::super::mshr::Entry;
use super::super::super::stats::{Found, Stall};
use super::super::lines::Place;
use super::partial::wanted;
use super::{BankPlace, Match, Overlapped, oldest};
use crate::cells::line::LINE_BYTES;
use crate::kernel::AnyEdge;

/// How the bytes of a line fall into bursts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Pieces {
    pub by_sector: bool,
    bursts: u32,
    burst_bytes: u32,
}

impl Pieces {
    /// Of the lines of a bank.
    pub fn new(place: &BankPlace, by_sector: bool) -> Self {
        Self { by_sector, bursts: place.bursts(), burst_bytes: place.burst_bytes }
    }

    /// Bursts of a line.
    pub fn bursts(&self) -> u32 {
        self.bursts
    }

    /// Bursts that have some of these bytes.
    fn with(&self, bytes: u128) -> Bursts {
        let touched = (0..self.bursts).filter(|n| self.bytes_of(*n) & bytes != 0);
        touched.fold(0, |bursts, n| bursts | 1 << n)
    }

    fn bytes_of(&self, burst: u32) -> u128 {
        u128::MAX >> (LINE_BYTES as u32 - self.burst_bytes) << (burst * self.burst_bytes)
    }

    /// Bursts by which bytes go back to memory: all, unless a line is here by sectors.
    pub fn given_back(&self, bytes: u128) -> Bursts {
        if self.by_sector { self.with(bytes) } else { ((1 << self.bursts) - 1) as Bursts }
    }

    /// Bytes that are here.
    pub fn here(&self, held: Held) -> u128 {
        let brought = (0..self.bursts).filter(|n| held.brought >> n & 1 != 0);
        brought.fold(held.newer, |here, n| here | self.bytes_of(n))
    }
}

impl Overlapped {
    /// Bursts without which the oldest request cannot be served, where no byte of its line is here.
    #[inline(always)]
    pub(super) fn needs(&self) -> Bursts {
        if self.core.by_sector { self.needs_beside(0) } else { self.core.whole }
    }

    /// The same where some bytes are here.
    fn needs_beside(&self, here: u128) -> Bursts {
        self.pieces.with(wanted(oldest(&self.core.looking)) & !here)
    }

    /// What is here of the line in a place.
    fn held(&self, at: &impl AnyEdge, (set, way): Place) -> Held {
        match &self.masks {
            Some(masks) if way < self.core.config.ways => *masks.read_cell(at, set, way),
            _ => Held::default(),
        }
    }

    /// The line has a way, and nothing of it is on its way.
    #[inline(never)]
    pub(super) fn serve_by_sector(
        &mut self,
        at: &impl AnyEdge,
        matched: Match,
        place: Place,
        state: LineState,
        can_write: bool,
    ) -> Result<(), Stall> {
        let held = self.held(at, place);
        let needs = self.needs_beside(self.pieces.here(held));
        if needs != 0 {
            return self.fetch_rest(at, matched, place, needs);
        }
        let request = oldest(&self.core.looking);
        let (writes, byte_mask) = (request.kind.writes(), request.byte_mask);
        self.hit(at, place, state, can_write)?;
        if writes {
            self.note(at, place, Held { newer: held.newer | byte_mask, ..held });
        }
        Ok(())
    }

    /// Fetches bursts of a line that has a way for the oldest request.
    pub(super) fn fetch_rest(
        &mut self,
        at: &impl AnyEdge,
        Match { local, tag, .. }: Match,
        (set, way): Place,
        needs: Bursts,
    ) -> Result<(), Stall> {
        let core = &mut self.core;
        let entry = core.mshr.free().ok_or(Stall::MshrEntry)?;
        self.memory.room_for_fetch()?;
        let request = oldest(&core.looking);
        core.room_for_ack(request)?;
        let (kind, id) = (request.kind, request.id);
        core.tags.update(at, set, way, |cell| *cell = Tag { tag, state: LineState::Reserved });
        core.stats.count(kind, Found::Nowhere);
        core.stats.sectors.misses += 1;
        self.fetch(at, local, (set, way), (entry, needs), id);
        Ok(())
    }

    /// The oldest request takes its place in the order of a line that is on its way; what it needs and nobody has asked
    /// for is fetched.
    #[inline(always)]
    pub(super) fn join(&mut self, at: &impl AnyEdge, entry: u32, local: u64) -> Result<(), Stall> {
        let Entry { set, way, asked, .. } = self.core.mshr.entry(entry);
        let needs = if self.core.by_sector {
            self.needs_beside(self.pieces.here(self.held(at, (set, way))))
        } else {
            self.core.whole
        };
        let more = needs & !asked;
        let Self { core, memory, .. } = self;
        let request = oldest(&core.looking);
        let mut found = Found::Coming;
        if more != 0 {
            memory.room_for_fetch()?;
            memory.fetch(local, request.id, (entry, more), at.cycle());
            found = Found::Nowhere;
            core.stats.fetches += 1;
            core.stats.sectors.misses += 1;
        }
        core.stats.count(request.kind, found);
        core.mshr.merge(at, (entry, needs), request);
        Ok(())
    }

    /// A waiter is served, which has written some bytes of its line; the last one of it leaves the entry.
    #[inline(never)]
    pub(super) fn served_by_sector(&mut self, at: &impl AnyEdge, place: Place, written: u128, last: Option<Entry>) {
        let (set, way) = place;
        if way >= self.core.config.ways || written == 0 && last.is_none() {
            return;
        }
        let Held { newer, brought } = self.held(at, place);
        let arrived = last.map_or(0, |entry| entry.arrived);
        let held = Held { newer: newer | written, brought: brought | arrived };
        self.note(at, place, held);
        if last.is_some() {
            let state = if held.newer == 0 { LineState::Valid } else { LineState::Modified };
            self.core.tags.update(at, set, way, |cell| cell.state = state);
        }
    }

    fn note(&mut self, at: &impl AnyEdge, (set, way): Place, held: Held) {
        if let Some(masks) = &mut self.masks {
            masks.write(at, set, way, held);
        }
    }
}
