//! Passing: how a bank closed by its streaming monitor, or for good, serves what it does not keep
//! (khairy2015 sections 4.1 and 3.1); or one that leaves to the L1s what they will keep (anssari2012 section 3.3).
//! A part of the bank, in the overlapped flow only.
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

use super::super::config::{L2Bypass, L2Config};
use super::super::line::{LineState, Tag};
use super::super::queues::{Fetch, Turn, WriteBack};
use super::super::stats::Stall;
use super::serve::oldest;
use super::{L2Bank, Match};
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
    pub(super) fn new(path: &str, config: &L2Config, line_bytes: u32) -> Self {
        let spec = ArraySpec {
            path: format!("{path}.passing"),
            storage: Storage::Sram,
            rows: config.mshr_entries,
            columns: 1,
            reads: 1,
            writes: 1,
            collide: Collide::New,
        };
        let rule = match config.bypass {
            L2Bypass::None | L2Bypass::Streaming => Rule::Streaming(Streaming::new(&config.streaming, true)),
            L2Bypass::All => Rule::Shut,
            L2Bypass::Coalesced => Rule::Coalesced,
        };
        Self { rule, lines: Array::new(spec, line_bytes) }
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

impl L2Bank {
    /// Serves the oldest request, whose line was matched with the tags, if it goes past the bank.
    #[inline(never)]
    pub(super) fn let_past(&mut self, at: &Edge<'_>, matched: Match) -> Result<bool, Stall> {
        let Match { set, way, .. } = matched;
        let state = way.map(|way| self.tags.row(set)[way as usize].state);
        if state.is_some_and(|state| state != LineState::Hollow) {
            return Ok(false);
        }
        let request = oldest(&self.looking);
        let kind = request.kind;
        if let Some(entry) = self.mshr.find(request.line) {
            // Whoever writes must wait until the line has passed.
            if kind != RequestKind::Read || !self.mshr.has_room(entry) {
                return Err(Stall::MshrMerge);
            }
            self.stats.hit_pending += 1;
            self.mshr.merge(at, entry, oldest(&self.looking));
            self.keep_tag(at, matched, way);
            return Ok(true);
        }
        if !self.passing.as_ref().is_some_and(|passing| passing.lets_past(request)) {
            return Ok(false);
        }
        if kind == RequestKind::Read { self.pass_read(at, matched) } else { self.pass_write(matched) }?;
        Ok(true)
    }

    /// Fetches a line past the bank.
    fn pass_read(&mut self, at: &Edge<'_>, matched: Match) -> Result<(), Stall> {
        let Match { local, set, way, .. } = matched;
        let entry = self.mshr.free().ok_or(Stall::MshrEntry)?;
        if !self.fetches.has_room() {
            return Err(Stall::MissQueue);
        }
        let place = if self.config.keeps_tags() { way.or_else(|| self.victim(set)) } else { None };
        let is_dirty = |way: u32| self.tags.row(set)[way as usize].state.is_newer();
        if place.is_some_and(is_dirty) && !self.write_backs.has_room() {
            return Err(Stall::WriteBackQueue);
        }
        self.keep_tag(at, matched, place);
        let request = oldest(&self.looking);
        let id = request.id;
        self.mshr.allocate(at, entry, (set, self.config.ways + entry), request);
        let burst = local * u64::from(self.bursts);
        self.fetches.push(Fetch { burst, id, entry: entry as u8, missed: at.cycle });
        self.turns.push(Turn { write_back: false });
        self.stats.fetches += 1;
        self.stats.misses += 1;
        Ok(())
    }

    /// The line of the oldest request leaves its tag in a way, if it has one.
    fn keep_tag(&mut self, at: &Edge<'_>, Match { set, tag, .. }: Match, place: Option<u32>) {
        let Some(way) = place else { return };
        let old = self.tags.row(set)[way as usize];
        if old.state != LineState::Hollow || old.tag != tag {
            self.evict(at, set, way, old, oldest(&self.looking).id);
            self.tags.update(at, set, way, |cell| *cell = Tag { tag, state: LineState::Hollow });
        }
        self.touch(at, set, way);
    }

    /// Sends a write past the bank.
    fn pass_write(&mut self, Match { local, .. }: Match) -> Result<(), Stall> {
        if !self.write_backs.has_room() {
            return Err(Stall::WriteBackQueue);
        }
        let request = oldest(&self.looking);
        self.room_for_ack(request)?;
        let first = local * u64::from(self.bursts);
        self.write_backs.push_with(|WriteBack { burst, id, mask, line }| {
            (*burst, *id, *mask) = (first, request.id, request.byte_mask);
            line.0 = request.data;
        });
        self.turns.push(Turn { write_back: true });
        self.stats.write_misses += 1;
        self.stats.changes += 1;
        Ok(())
    }
}
