//! Passing: how a bank serves what its bypass (`l2/bypass`) does not keep.
//!
//! A read of a line that is not here fetches it into a line of the passing memory, whose number is that of its
//! MSHR entry; reads of the same line wait there together, and then it is gone. A bypass that keeps tags leaves that of
//! the line, and lets a write go to memory as it is. Atomics are done here in any case, so they bring their line as in
//! any bank, and lines that are here are served from here, because they may be newer than memory.
//!
//! Order: a write or an atomic to a line that is passing waits until it is gone. Beyond that the queues
//! to memory keep the order of look-ups, and the DRAM controller that of one address.
//!
//! Reads alone are counted, as at the L1D: one that finds its tag, with or without data, is no miss.

use serde::{Deserialize, Serialize};

use super::super::super::bypass::Hooks;
use super::super::super::line::{LineState, Tag};
use super::super::super::stats::{Found, Stall};
use super::super::lines::{Place, Spot};
use super::{Match, Overlapped, oldest};
use crate::cells::line::LineData;
use crate::kernel::{AnyEdge, Array, ArraySpec, Collide, Describe, Storage};
use crate::noc::packet::RequestKind;

/// The scheme, and the lines on their way past the bank.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Passing {
    pub(super) scheme: Box<dyn Hooks>,
    pub(super) lines: Array<LineData>,
}

impl Passing {
    /// By a scheme; `entries` lines can be on their way.
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

/// Where the line of an MSHR entry is: beyond the ways of its set it is passing.
#[inline(always)]
pub(super) fn spot_of(passing: &mut Option<Box<Passing>>, ways: u32, (set, way): Place) -> Spot<'_> {
    match passing {
        Some(passing) if way >= ways => Spot::Beside(&mut passing.lines, (way - ways, 0)),
        _ => Spot::Way((set, way)),
    }
}

impl Overlapped {
    /// Serves the oldest request, whose line was matched with the tags, if it goes past the bank.
    #[inline(never)]
    pub(super) fn let_past(&mut self, at: &impl AnyEdge, matched: Match) -> Result<bool, Stall> {
        let Match { set, way, .. } = matched;
        let core = &mut self.core;
        let state = way.map(|way| core.tags.row(set)[way as usize].state);
        if state.is_some_and(|state| state != LineState::Hollow) {
            return Ok(false);
        }
        let request = oldest(&core.looking);
        let kind = request.kind;
        if let Some(entry) = core.mshr.find(request.line) {
            // Whoever writes must wait until the line has passed.
            if kind != RequestKind::Read || !core.mshr.has_room(entry) {
                return Err(Stall::MshrMerge);
            }
            self.join(at, entry, matched.local)?;
            self.keep_tag(at, matched, way);
            return Ok(true);
        }
        if kind.is_atomic() || !self.passing.as_ref().is_some_and(|passing| passing.scheme.lets_past(request)) {
            return Ok(false);
        }
        if kind == RequestKind::Read { self.pass_read(at, matched) } else { self.pass_write(matched) }?;
        self.core.stats.count(kind, Found::Nowhere);
        self.core.stats.bypasses += 1;
        Ok(true)
    }

    /// Fetches a line past the bank.
    fn pass_read(&mut self, at: &impl AnyEdge, matched: Match) -> Result<(), Stall> {
        let Match { local, set, way, .. } = matched;
        let core = &self.core;
        let entry = core.mshr.free().ok_or(Stall::MshrEntry)?;
        self.memory.room_for_fetch()?;
        let place = if core.config.bypass.keeps_tags() { way.or_else(|| core.victim(set)) } else { None };
        if place.is_some_and(|way| core.tags.row(set)[way as usize].state.is_newer()) {
            self.memory.room_for_write_back()?;
        }
        let (id, beside) = (oldest(&core.looking).id, core.config.ways + entry);
        self.keep_tag(at, matched, place);
        self.fetch(at, local, (set, beside), (entry, self.needs()), id);
        Ok(())
    }

    /// The line of the oldest request leaves its tag in a way, if it has one.
    fn keep_tag(&mut self, at: &impl AnyEdge, Match { set, tag, .. }: Match, place: Option<u32>) {
        let Some(way) = place else { return };
        let old = self.core.tags.row(set)[way as usize];
        if old.state != LineState::Hollow || old.tag != tag {
            self.evict(at, (set, way), old, oldest(&self.core.looking).id);
            self.core.tags.update(at, set, way, |cell| *cell = Tag { tag, state: LineState::Hollow });
        }
        self.core.touch(at, set, way);
    }

    /// Sends a write past the bank.
    fn pass_write(&mut self, Match { local, .. }: Match) -> Result<(), Stall> {
        self.memory.room_for_write_back()?;
        let request = oldest(&self.core.looking);
        self.core.room_for_ack(request)?;
        self.memory.write_back(local, request.id, request.byte_mask, &request.data);
        self.core.stats.changes += 1;
        Ok(())
    }
}
