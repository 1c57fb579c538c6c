//! Passing: how a bank closed by its streaming monitor, or for good, serves what it does not keep
//! (khairy2015 sections 4.1 and 3.1); or one that leaves to the L1s what they will keep (anssari2012 section 3.3).
//!
//! A read of a line that is not here fetches it into a line of the passing memory, whose number is that of its
//! MSHR entry; reads of the same line wait there together, and then it is gone. A closed bank keeps its tag alone. A
//! write to a closed bank goes to memory as it is. Atomics are done here in any case, so they bring their line as in an open bank,
//! and lines that are here are served from here, because they may be newer than memory.
//!
//! Order: a write or an atomic to a line that is passing waits until it is gone. Beyond that the queues
//! to memory keep the order of look-ups, and the DRAM controller that of one address.
//!
//! Reads alone are counted, as at the L1D: one that finds its tag, with or without data, is no miss.

use super::super::super::config::{L2Bypass, L2Config};
use super::super::super::line::{LineState, Tag};
use super::super::super::stats::{Found, Stall};
use super::super::lines::{Place, Spot};
use super::{Match, Overlapped, oldest};
use crate::cells::line::LineData;
use crate::cells::streaming::Streaming;
use crate::kernel::{Array, ArraySpec, Collide, Describe, DescribeExt, Edge, Storage};
use crate::noc::packet::{Request, RequestKind, Sharing};

/// Which lines that are not here are not kept.
#[derive(Clone, Debug)]
enum Rule {
    /// All, while the monitor has the bank closed.
    Streaming(Streaming),
    /// All.
    Shut,
    /// Those that will stay in an L1.
    Coalesced,
}

/// The rule, and the lines on their way past the bank.
#[derive(Clone, Debug)]
pub(super) struct Passing {
    rule: Rule,
    pub(super) lines: Array<LineData>,
}

impl Passing {
    /// What the bypass of a bank needs.
    pub(super) fn new(path: &str, config: &L2Config, line_bytes: u32) -> Option<Self> {
        let rule = match config.bypass {
            L2Bypass::None => return None,
            L2Bypass::Streaming => Rule::Streaming(Streaming::new(&config.streaming, true)),
            L2Bypass::All => Rule::Shut,
            L2Bypass::Coalesced => Rule::Coalesced,
        };
        let spec = ArraySpec {
            path: format!("{path}.passing"),
            storage: Storage::Sram,
            rows: config.mshr_entries,
            columns: 1,
            reads: 1,
            writes: 1,
            collide: Collide::New,
        };
        Some(Self { rule, lines: Array::new(spec, line_bytes) })
    }

    /// Whether a request to a line that is not here goes past the bank; atomics never do.
    fn lets_past(&self, request: &Request) -> bool {
        !request.kind.is_atomic()
            && match &self.rule {
                Rule::Streaming(streaming) => streaming.is_closed(),
                Rule::Shut => true,
                Rule::Coalesced => request.kind == RequestKind::Read && request.sharing == Sharing::Keeps,
            }
    }

    fn streaming(&mut self) -> Option<&mut Streaming> {
        if let Rule::Streaming(streaming) = &mut self.rule { Some(streaming) } else { None }
    }

    /// A request is looked up in a cycle.
    pub(super) fn reach(&mut self, cycle: u64) {
        if let Some(streaming) = self.streaming() {
            streaming.reach(cycle);
        }
    }

    /// A read has been served or put down.
    pub(super) fn count(&mut self, missed: bool) {
        if let Some(streaming) = self.streaming() {
            streaming.count(missed);
        }
    }

    /// The cycle in which the running period of a monitor ends.
    pub(super) fn ends(&self) -> Option<u64> {
        if let Rule::Streaming(streaming) = &self.rule { streaming.ends() } else { None }
    }

    pub(super) fn describe(&self, to: &mut dyn Describe) {
        let Self { rule, lines } = self;
        if let Rule::Streaming(streaming) = rule {
            to.part("streaming", |to| streaming.describe(to));
        }
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
    pub(super) fn let_past(&mut self, at: &Edge<'_>, matched: Match) -> Result<bool, Stall> {
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
            core.stats.count(kind, Found::Coming);
            core.mshr.merge(at, entry, request);
            self.keep_tag(at, matched, way);
            return Ok(true);
        }
        if !self.passing.as_ref().is_some_and(|passing| passing.lets_past(request)) {
            return Ok(false);
        }
        if kind == RequestKind::Read { self.pass_read(at, matched) } else { self.pass_write(matched) }?;
        self.core.stats.count(kind, Found::Nowhere);
        Ok(true)
    }

    /// Fetches a line past the bank.
    fn pass_read(&mut self, at: &Edge<'_>, matched: Match) -> Result<(), Stall> {
        let Match { local, set, way, .. } = matched;
        let core = &self.core;
        let entry = core.mshr.free().ok_or(Stall::MshrEntry)?;
        self.memory.room_for_fetch()?;
        let place = if core.config.keeps_tags() { way.or_else(|| core.victim(set)) } else { None };
        if place.is_some_and(|way| core.tags.row(set)[way as usize].state.is_newer()) {
            self.memory.room_for_write_back()?;
        }
        let (id, beside) = (oldest(&core.looking).id, core.config.ways + entry);
        self.keep_tag(at, matched, place);
        self.fetch(at, local, (set, beside), entry, id);
        Ok(())
    }

    /// The line of the oldest request leaves its tag in a way, if it has one.
    fn keep_tag(&mut self, at: &Edge<'_>, Match { set, tag, .. }: Match, place: Option<u32>) {
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
