//! Partially present lines: with byte masks, an L2 bank serves write misses without a fetch. `sectors`
//! extends this to fetches of single sectors.
//!
//! A write miss allocates a way, and the mask of the line marks the written bytes: they are present, and
//! newer than memory. Further writes add bytes until the line is complete. A read is served if all its
//! sectors are present. For any other read, and for an atomic, the line is fetched into its way. Arriving
//! bytes do not overwrite the bytes that the mask marks. After the fetch, the line is an ordinary dirty line.
//! If a partial line is evicted, only the bytes that its mask marks are written to memory.
//!
//! Order: a partial line that is being fetched has an MSHR entry, like the line of any miss.
//! Area: one bit per byte.

use super::super::super::line::{LineState, PresentBytes};
use super::super::super::stats::Stall;
use super::super::lines::LinePlace;
use super::{Match, Overlapped, oldest};
use crate::cells::line::LineData;
use crate::cells::line::{LINE_BYTES, SECTOR_BYTES, SECTORS};
use crate::kernel::AnyEdge;
use crate::noc::packet::{Request, RequestKind};

/// Writes arriving bytes into a line, except for the bytes in the mask `newer`, for which the bank already
/// has newer values.
#[inline(never)]
pub(super) fn fill(line: &mut LineData, newer: u128, first: usize, bytes: &[u8]) {
    let mut arrived = [0; LINE_BYTES];
    arrived[first..first + bytes.len()].copy_from_slice(bytes);
    line.merge(((1 << bytes.len()) - 1) << first & !newer, &arrived);
}

/// Returns a mask of the bytes that must be present so that a request can be served without a fetch; a write
/// needs none.
pub(super) fn required_bytes(request: &Request) -> u128 {
    if request.kind == RequestKind::Write {
        return 0;
    }
    let sector = |n: u32| u128::from(u32::MAX) << (n * SECTOR_BYTES);
    (0..SECTORS).filter(|n| request.sectors >> n & 1 != 0).fold(0, |mask, n| mask | sector(n))
}

impl Overlapped {
    /// Returns a mask of the bytes of a partially present line that are newer than memory, which a fill must
    /// not overwrite.
    #[inline(always)]
    pub(super) fn newer(&self, at: &impl AnyEdge, (set, way): LinePlace) -> u128 {
        match &self.masks {
            Some(masks) if way < self.core.config.ways => masks.read_cell(at, set, way).newer,
            _ => 0,
        }
    }

    /// Returns a mask of the bytes that are present in a line, given its set and way.
    pub(in super::super) fn bytes_here(&self, (set, way): LinePlace) -> u128 {
        let held = self.masks.as_ref().map(|masks| masks.row(set)[way as usize]);
        match held {
            Some(held) if self.core.by_sector => self.pieces.here(held),
            Some(held) if self.core.tags.row(set)[way as usize].state == LineState::Partial => held.newer,
            _ => u128::MAX,
        }
    }

    /// Returns a mask of the bytes of a line that are newer than memory, given its set and way. The line must be
    /// modified or partially present.
    pub(in super::super) fn newer_bytes(&self, (set, way): LinePlace) -> u128 {
        let is_whole = self.core.tags.row(set)[way as usize].state == LineState::Modified && !self.core.by_sector;
        let masks = self.masks.as_ref().filter(|_| !is_whole);
        masks.map_or(u128::MAX, |masks| masks.row(set)[way as usize].newer)
    }

    /// Records that all bytes of a line are present, and that the bytes of the mask `newer` are newer than
    /// memory. Called between clock edges.
    pub(in super::super) fn mark_whole(&mut self, (set, way): LinePlace, newer: u128) {
        let delivered = if self.core.by_sector { self.core.whole } else { 0 };
        if let Some(masks) = &mut self.masks {
            masks.poke(set, way, |held| *held = PresentBytes { newer, delivered });
        }
    }

    /// Serves the oldest request, whose line is partially present. If bytes are missing, fetches the line
    /// instead.
    #[inline(never)]
    pub(super) fn serve_partial(
        &mut self,
        at: &impl AnyEdge,
        matched: Match,
        way: u32,
        can_write: bool,
    ) -> Result<(), Stall> {
        let place = (matched.set, way);
        let held = self.newer(at, place);
        let request = oldest(&self.core.lookups);
        let (kind, written) = (request.kind, request.byte_mask);
        if kind.is_atomic() || required_bytes(request) & !held != 0 {
            return self.fetch_missing_bursts(at, matched, place, self.core.whole);
        }
        self.hit(at, place, LineState::Partial, can_write)?;
        if kind == RequestKind::Write {
            self.add_bytes(at, place, held | written);
        }
        Ok(())
    }

    /// Stores the mask `held` of the present bytes of a partial line. If the mask covers the whole line, the
    /// line becomes `Modified` instead.
    fn add_bytes(&mut self, at: &impl AnyEdge, (set, way): LinePlace, held: u128) {
        if held == u128::MAX >> (LINE_BYTES as u32 - self.core.place.line_bytes) {
            self.core.tags.update(at, set, way, |cell| cell.state = LineState::Modified);
        } else if let Some(masks) = &mut self.masks {
            masks.write(at, set, way, PresentBytes { newer: held, delivered: 0 });
        }
    }
}
