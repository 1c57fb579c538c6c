//! Bypass buffer: serves the misses that the bypass policy (`l2/bypass`) excludes from the bank.
//!
//! A read miss that bypasses the bank fetches its line into the bypass buffer, which has one line per MSHR
//! entry. Further reads of this line merge with the fetch; the line is dropped after the last read. A policy
//! that keeps tags also allocates a tag-only entry for the line, and sends write misses directly to memory.
//! Atomics are always performed in the bank, so they fetch their line as usual. Lines that are present are
//! served from the bank, because they may be newer than memory.
//!
//! Order: a write or an atomic to a line in the bypass buffer waits until the line is dropped. All other
//! accesses stay in order for two reasons: the queues to memory keep lookup order, and the DRAM controller
//! keeps the order of accesses to one address.
//!
//! The bypass policy counts only reads, as in the L1D. A read whose tag is found, with or without data, does
//! not count as a miss.

use serde::{Deserialize, Serialize};

use super::super::super::bypass::Hooks;
use super::super::super::line::{LineState, Tag};
use super::super::super::stats::{LookupResult, Stall};
use super::super::lines::{LinePlace, Spot};
use super::{Match, Overlapped, oldest};
use crate::cells::line::LineData;
use crate::kernel::{AnyEdge, Array, ArraySpec, Collide, Describe, Storage};
use crate::noc::packet::{Request, RequestKind};
use crate::replacement::Source;

/// Bypass policy of an L2 bank, and the buffer for the lines of misses that bypass the bank.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BypassBuffer {
    pub(super) scheme: Box<dyn Hooks>,
    pub(super) lines: Array<LineData>,
}

impl BypassBuffer {
    /// Returns an empty bypass buffer with room for `entries` lines.
    pub(super) fn new(path: &str, scheme: Box<dyn Hooks>, entries: u32, line_bytes: u32) -> Self {
        let spec = ArraySpec {
            path: format!("{path}.passing"),
            storage: Storage::Sram,
            rows: entries,
            columns: 1,
            reads: 1,
            writes: 1,
            collide: Collide::New,
        };
        Self { scheme, lines: Array::new(spec, line_bytes) }
    }

    pub(super) fn describe(&self, to: &mut dyn Describe) {
        let Self { scheme, lines } = self;
        scheme.describe(to);
        to.array("passing", lines);
    }
}

/// Returns the storage location of the line that an MSHR entry fetches. A way number at or above the number
/// of ways of a set denotes a line of the bypass buffer.
#[inline(always)]
pub(super) fn spot_of(bypass_buffer: &mut Option<Box<BypassBuffer>>, ways: u32, (set, way): LinePlace) -> Spot<'_> {
    match bypass_buffer {
        Some(bypass_buffer) if way >= ways => Spot::Beside(&mut bypass_buffer.lines, (way - ways, 0)),
        _ => Spot::Way((set, way)),
    }
}

impl Overlapped {
    /// Serves the oldest request if it bypasses the bank; its tag match must be complete. Returns false if
    /// the request does not bypass the bank.
    #[inline(never)]
    pub(super) fn serve_bypass(&mut self, at: &impl AnyEdge, matched: Match) -> Result<bool, Stall> {
        let Match { set, way, .. } = matched;
        let core = &mut self.core;
        let state = way.map(|way| core.tags.row(set)[way as usize].state);
        if state.is_some_and(|state| state != LineState::TagOnly) {
            return Ok(false);
        }
        let request = oldest(&core.lookups);
        let kind = request.kind;
        if let Some(entry) = core.mshr.find(request.line) {
            // A write or an atomic must wait until all earlier reads of the line in the bypass buffer are
            // served.
            if kind != RequestKind::Read || !core.mshr.has_room(entry) {
                return Err(Stall::MshrMerge);
            }
            self.join(at, entry, matched.local)?;
            self.keep_tag(at, matched, way);
            return Ok(true);
        }
        if kind.is_atomic() || !self.bypass_buffer.as_ref().is_some_and(|buffer| buffer.scheme.bypasses(request)) {
            return Ok(false);
        }
        if kind == RequestKind::Read { self.bypass_read(at, matched) } else { self.bypass_write(matched) }?;
        self.core.stats.count(kind, LookupResult::Nowhere);
        self.core.stats.bypasses += 1;
        Ok(true)
    }

    /// Serves the oldest request, a read that bypasses the bank: fetches its line into the bypass buffer.
    fn bypass_read(&mut self, at: &impl AnyEdge, matched: Match) -> Result<(), Stall> {
        let Match { local, set, way, .. } = matched;
        let core = &self.core;
        let entry = core.mshr.free().ok_or(Stall::MshrEntry)?;
        core.may_allocate(oldest(&core.lookups))?;
        self.memory.room_for_fetch()?;
        let sm = oldest(&core.lookups).sm;
        let place = if core.config.bypass.keeps_tags() { way.or_else(|| core.victim(set, sm)) } else { None };
        if place.is_some_and(|way| core.tags.row(set)[way as usize].state.is_newer()) {
            self.memory.room_for_write_back()?;
        }
        let (id, beside) = (oldest(&core.lookups).id, core.config.ways + entry);
        self.keep_tag(at, matched, place);
        self.fetch(at, local, (set, beside), (entry, self.needs()), id);
        Ok(())
    }

    /// Allocates a tag-only entry for the line of the oldest request, in way `place` of its set. Does nothing
    /// if `place` is `None`.
    fn keep_tag(&mut self, at: &impl AnyEdge, Match { local, set, tag, .. }: Match, place: Option<u32>) {
        let Some(way) = place else { return };
        let &Request { sm, id, priority, .. } = oldest(&self.core.lookups);
        let old = self.core.tags.row(set)[way as usize];
        if old.state == LineState::TagOnly && old.tag == tag {
            return self.core.touch(at, (set, way), priority);
        }
        self.core.insert(at, (set, way), || Source { priority, ..Source::of_line(local) }, sm);
        self.evict(at, (set, way), old, id);
        self.core.tags.update(at, set, way, |cell| *cell = Tag { tag, state: LineState::TagOnly });
    }

    /// Serves the oldest request, a write that bypasses the bank: sends it to memory without allocating its
    /// line.
    fn bypass_write(&mut self, Match { local, .. }: Match) -> Result<(), Stall> {
        self.memory.room_for_write_back()?;
        let request = oldest(&self.core.lookups);
        self.core.room_for_ack(request)?;
        self.memory.write_back(local, request.id, request.byte_mask, &request.data);
        self.core.stats.changes += 1;
        Ok(())
    }
}
