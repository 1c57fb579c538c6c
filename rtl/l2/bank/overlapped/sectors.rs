//! Sector fetches: a bank fetches only the sectors of a line that are requested (Accel-Sim's sectored L2 with
//! lazy fetch on read).
//!
//! For each line, the bank records which bytes are newer than memory, and which bursts memory has delivered.
//! A write needs no burst. Any other access needs the bursts that contain bytes of its sectors, unless they
//! were delivered or the bank has newer values of all these bytes. A burst is the smallest unit of a fetch: a
//! burst of 64 bytes delivers two sectors. With `fetch = "sector-pairs"`, a miss also fetches the other
//! sector of the aligned pair and waits for both, as if one 64-byte burst delivered them (an H100 fetches 64
//! bytes, `machines/silicon/README.md`). Arriving bytes do not overwrite newer bytes. On eviction, the bursts
//! that contain newer bytes are written back, with a mask of these bytes. Line states have the same meaning
//! as in banks without sector fetches, except that a clean or dirty line may be partially present.
//!
//! Order: while bursts of a line are in flight, the line has an MSHR entry, in which all accesses to the line
//! wait in order. A merged access requests the bursts that it needs and that were not requested before. The
//! first waiter is served as soon as its own bursts have arrived, even if bursts of later waiters are still
//! in flight. This is safe, because the first waiter does not need the later bursts, and because their
//! arrival does not overwrite the bytes that it writes.
//!
//! No stale data: bursts are requested in lookup order, behind the writeback of an earlier eviction of the
//! line (`memory`). A line with bursts in flight is never evicted. If an access writes bytes of a burst in
//! flight, the mask of newer bytes protects them when the burst arrives.
//!
//! No deadlock: an access waits for requested bursts and for earlier accesses to its line. A merge that needs
//! room in the miss queue stalls the lookup until memory accepts a fetch, which does not depend on any
//! lookup.
//!
//! If the atomic buffer holds a line with a burst in flight, the burst is written into the buffer.
//!
//! Area: one bit per burst in addition to one bit per byte, and the bursts that each waiter needs.

use serde::{Deserialize, Serialize};

use super::super::super::line::{Bursts, LineState, PresentBytes, Tag};
use super::super::super::mshr::MshrEntry;
use super::super::super::stats::{LookupResult, Stall};
use super::super::lines::LinePlace;
use super::partial::required_bytes;
use super::{BankPlace, FetchUnit, Match, Overlapped, oldest};
use crate::cells::line::{LINE_BYTES, SECTOR_BYTES};
use crate::kernel::AnyEdge;

/// Mapping between the bytes of a line and its DRAM bursts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct BurstMap {
    pub by_sector: bool,
    bursts: u32,
    burst_bytes: u32,
    /// Number of bursts in an aligned group. A fetch of one burst of a group also fetches the group's other
    /// missing bursts.
    together: u32,
}

impl BurstMap {
    /// Returns the mapping between bytes and bursts for the lines of a bank.
    pub fn new(place: &BankPlace, unit: FetchUnit) -> Self {
        let (bursts, burst_bytes) = (place.bursts(), place.burst_bytes);
        let pair = (2 * SECTOR_BYTES / burst_bytes).clamp(1, bursts);
        let together = if unit == FetchUnit::SectorPairs { pair } else { 1 };
        Self { by_sector: unit != FetchUnit::Line, bursts, burst_bytes, together }
    }

    /// Returns the number of DRAM bursts per line.
    pub fn bursts(&self) -> u32 {
        self.bursts
    }

    /// Returns a mask of the bursts that contain any of the bytes that `bytes` selects.
    fn with(&self, bytes: u128) -> Bursts {
        let touched = (0..self.bursts).filter(|n| self.bytes_of(*n) & bytes != 0);
        touched.fold(0, |bursts, n| bursts | 1 << n)
    }

    fn bytes_of(&self, burst: u32) -> u128 {
        u128::MAX >> (LINE_BYTES as u32 - self.burst_bytes) << (burst * self.burst_bytes)
    }

    /// Returns a mask of the bursts to fetch for an access to the bytes `needed`, if the bytes `here` are
    /// present.
    fn to_fetch(self, needed: u128, here: u128) -> Bursts {
        let bursts = self.with(needed & !here);
        if self.together == 1 || bursts == 0 {
            return bursts;
        }
        let group = (1 << self.together) - 1;
        let groups = (0..self.bursts).step_by(self.together as usize).map(|first| group << first);
        let widened = groups.filter(|group| bursts & group != 0).fold(0, |all, group| all | group);
        widened & self.with(!here)
    }

    /// Returns a mask of the bursts to write back: those that contain at least one byte of the mask `bytes`,
    /// or all bursts if lines are fetched as a whole.
    pub fn writeback_bursts(&self, bytes: u128) -> Bursts {
        if self.by_sector { self.with(bytes) } else { ((1 << self.bursts) - 1) as Bursts }
    }

    /// Returns a mask of the present bytes of a line: the bytes of delivered bursts, and the bytes newer than
    /// memory.
    pub fn here(&self, held: PresentBytes) -> u128 {
        let delivered = (0..self.bursts).filter(|n| held.delivered >> n & 1 != 0);
        delivered.fold(held.newer, |here, n| here | self.bytes_of(n))
    }
}

impl Overlapped {
    /// Returns a mask of the bursts that the oldest request would need if no byte of its line were present.
    #[inline(always)]
    pub(super) fn needs(&self) -> Bursts {
        if self.core.by_sector { self.missing_bursts(0) } else { self.core.whole }
    }

    /// Returns a mask of the bursts to fetch for the oldest request, if the bytes `here` of its line are
    /// present.
    fn missing_bursts(&self, here: u128) -> Bursts {
        self.pieces.to_fetch(required_bytes(oldest(&self.core.lookups)), here)
    }

    /// Returns the record of the present bytes of a line, given its set and way. The record is empty for a
    /// line in the bypass buffer.
    fn present_bytes(&self, at: &impl AnyEdge, (set, way): LinePlace) -> PresentBytes {
        match &self.masks {
            Some(masks) if way < self.core.config.ways => *masks.read_cell(at, set, way),
            _ => PresentBytes::default(),
        }
    }

    /// Serves the oldest request, whose line has a way and no bursts in flight. If the request needs missing
    /// bursts, fetches them instead.
    #[inline(never)]
    pub(super) fn serve_by_sector(
        &mut self,
        at: &impl AnyEdge,
        matched: Match,
        place: LinePlace,
        state: LineState,
        can_write: bool,
    ) -> Result<(), Stall> {
        let held = self.present_bytes(at, place);
        let needs = self.missing_bursts(self.pieces.here(held));
        if needs != 0 {
            return self.fetch_missing_bursts(at, matched, place, needs);
        }
        let request = oldest(&self.core.lookups);
        let (writes, byte_mask) = (request.kind.writes(), request.byte_mask);
        self.hit(at, place, state, can_write)?;
        if writes {
            self.note(at, place, PresentBytes { newer: held.newer | byte_mask, ..held });
        }
        Ok(())
    }

    /// Fetches missing bursts of a line that already has a way; the oldest request waits for them in a new
    /// MSHR entry.
    pub(super) fn fetch_missing_bursts(
        &mut self,
        at: &impl AnyEdge,
        Match { local, tag, .. }: Match,
        (set, way): LinePlace,
        needs: Bursts,
    ) -> Result<(), Stall> {
        let core = &mut self.core;
        let entry = core.mshr.free().ok_or(Stall::MshrEntry)?;
        core.may_allocate(oldest(&core.lookups))?;
        self.memory.room_for_fetch()?;
        let request = oldest(&core.lookups);
        core.room_for_ack(request)?;
        let (kind, id) = (request.kind, request.id);
        core.tags.update(at, set, way, |cell| *cell = Tag { tag, state: LineState::Reserved });
        core.stats.count(kind, LookupResult::Nowhere);
        core.stats.sectors.misses += 1;
        self.fetch(at, local, (set, way), (entry, needs), id);
        Ok(())
    }

    /// Merges the oldest request into the MSHR entry of its line. Also fetches the bursts that it needs and
    /// that were not requested before.
    #[inline(always)]
    pub(super) fn join(&mut self, at: &impl AnyEdge, entry: u32, local: u64) -> Result<(), Stall> {
        self.core.may_merge(oldest(&self.core.lookups), entry)?;
        let MshrEntry { set, way, asked, .. } = self.core.mshr.entry(entry);
        let needs = if self.core.by_sector {
            self.missing_bursts(self.pieces.here(self.present_bytes(at, (set, way))))
        } else {
            self.core.whole
        };
        let more = needs & !asked;
        let Self { core, memory, .. } = self;
        let request = oldest(&core.lookups);
        let mut found = LookupResult::Coming;
        if more != 0 {
            memory.room_for_fetch()?;
            memory.fetch(local, request.id, (entry, more), at.cycle());
            found = LookupResult::Nowhere;
            core.stats.fetches += 1;
            core.stats.sectors.misses += 1;
        }
        core.stats.count(request.kind, found);
        core.mshr.merge(at, (entry, needs), request);
        if core.mshr_policy.is_some() {
            core.report_merge(at, entry);
        }
        Ok(())
    }

    /// Updates the record of present bytes of a line after a waiter was served. `written` is the mask of the
    /// bytes that the waiter wrote. If the waiter was the last one, also completes the fetch of the line.
    #[inline(never)]
    pub(super) fn on_waiter_served(
        &mut self,
        at: &impl AnyEdge,
        place: LinePlace,
        written: u128,
        last: Option<MshrEntry>,
    ) {
        let (set, way) = place;
        if way >= self.core.config.ways || written == 0 && last.is_none() {
            return;
        }
        let PresentBytes { newer, delivered } = self.present_bytes(at, place);
        let arrived = last.map_or(0, |entry| entry.arrived);
        let held = PresentBytes { newer: newer | written, delivered: delivered | arrived };
        self.note(at, place, held);
        if last.is_some() {
            let state = if held.newer == 0 { LineState::Valid } else { LineState::Modified };
            self.core.tags.update(at, set, way, |cell| cell.state = state);
        }
    }

    fn note(&mut self, at: &impl AnyEdge, (set, way): LinePlace, held: PresentBytes) {
        if let Some(masks) = &mut self.masks {
            masks.write(at, set, way, held);
        }
    }
}
