//! Functions through which the simulator (host code) accesses an L2 bank between clock edges: counters, idle
//! state, and the bytes of lines.

use super::super::line::{LineState, Tag};
use super::super::stats::L2Stats;
use super::super::watch::LineEvent;
use super::core::Core;
use super::lines::LinePlace;
use super::{Flow, L2Bank};
use crate::cells::line::{LINE_BYTES, LineData};
use crate::kernel::{Edge, Wake};
use crate::replacement::Source;
use crate::replacement::priority::EvictionPriority;
use crate::scheme_counts::SchemeCounts;

/// Line with bytes newer than memory that was evicted between clock edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirtyVictim {
    /// Number of the line in memory.
    pub line: u64,
    /// Mask of the bytes to be written to memory, one bit per byte.
    pub newer: u128,
    /// Bytes of the line.
    pub bytes: LineData,
}

impl L2Bank {
    /// Returns the counters of the bank.
    #[must_use]
    pub fn stats(&self) -> &L2Stats {
        &self.core().stats
    }

    /// Returns the counters that belong to the schemes of the bank.
    #[must_use]
    pub fn scheme_counts(&self) -> SchemeCounts {
        SchemeCounts::of(|to| {
            if let Flow::Overlapped(bank) = &self.flow {
                bank.scheme_counters(to);
            }
            let Core { order, partition, mshr_policy, .. } = self.core();
            order.counters(to);
            partition.iter().for_each(|partition| partition.counters(to));
            mshr_policy.iter().for_each(|policy| policy.counters(to));
        })
    }

    /// If a stall has not ended yet, adds its cycles before `cycle` to the counters. Called at the end of a
    /// run.
    pub fn settle(&mut self, cycle: u64) {
        let core = self.core_mut();
        if let Some((since, reason)) = &mut core.refused {
            core.stats.stalls[*reason as usize] += cycle.saturating_sub(*since);
            *since = cycle;
        }
    }

    /// True if no request, line or reply is in flight in the bank.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        match &self.flow {
            Flow::Overlapped(bank) => bank.is_idle(),
            Flow::Transient(bank) => bank.is_idle(),
        }
    }

    /// Returns the bytes of a line and a mask of the bytes that are present; `None` if the bank does not have
    /// the line. Also finds lines that wait in the writeback queue. Called by the simulator (host code) while
    /// the machine is idle.
    #[must_use]
    pub fn peek(&self, line: u64) -> Option<(&[u8; LINE_BYTES], u128)> {
        let core = self.core();
        let held = core.locate(line).map(|place| (place, &core.stored_bytes(place).0));
        match (&self.flow, held) {
            (Flow::Overlapped(bank), Some((place, bytes))) => Some((bytes, bank.bytes_here(place))),
            (Flow::Overlapped(bank), None) => bank.queued_writeback(core.local(line)),
            (Flow::Transient(_), held) => held.map(|(_, bytes)| (bytes, u128::MAX)),
        }
    }

    /// Replaces the bytes of a line if the bank has the line; returns false if the bank does not have it.
    /// Called by the simulator (host code) to write memory while the machine is idle.
    pub fn poke(&mut self, line: u64, bytes: &[u8; LINE_BYTES]) -> bool {
        let core = self.core_mut();
        let Some((set, way)) = core.locate(line) else { return false };
        let lines = &mut core.lines;
        if let Some(held) = lines.atomic_buffer.as_mut().and_then(|buffer| buffer.line_at_mut((set, way))) {
            held.0 = *bytes;
            return true;
        }
        lines.data.poke(set, way, |data| data.0 = *bytes);
        true
    }

    /// Places a line of memory in the bank, as a copy from host to device does. `memory` are the bytes of the
    /// line in memory, and `sm` is the SM on whose behalf a partition of the ways chooses the victim. A line
    /// that is present becomes the last one used. Missing bytes of it are filled in. Any other line replaces
    /// a victim, like the line of a read, and becomes clean. Returns the victim if it has bytes newer than
    /// memory, which the caller must write to memory. Called by the simulator (host code) while the machine
    /// is idle, in `cycle` of the bank's clock; no counter changes.
    pub fn place(&mut self, cycle: u64, line: u64, sm: u8, memory: &LineData) -> Option<DirtyVictim> {
        let core = self.core_mut();
        // The line has an edge of its own, at which every memory has free ports. No clock reaches its tick.
        core.host_edges += 1;
        let mut wake = Wake::new(&[]);
        let at = &Edge::new(u64::MAX - core.host_edges, cycle, &mut wake);
        let local = core.local(line);
        let (set, tag) = core.split(local);
        if let Some(way) = core.way_of(core.tags.row(set), tag) {
            core.touch(at, (set, way), EvictionPriority::Normal);
            self.complete((set, way), memory);
            return None;
        }
        let Some(way) = core.victim(set, sm) else { unreachable!("an idle bank has no line in flight") };
        let place = (set, way);
        let victim = self.dirty_victim(place);
        let core = self.core_mut();
        core.insert(at, place, || Source::of_line(local), sm);
        core.tags.poke(set, way, |cell| *cell = Tag { tag, state: LineState::Valid });
        core.lines.data.poke(set, way, |data| data.clone_from(memory));
        match &mut self.flow {
            Flow::Overlapped(bank) => bank.mark_whole(place, 0),
            Flow::Transient(bank) => bank.forget_sharers(place),
        }
        victim
    }

    /// Returns the line in a way if it has bytes newer than memory.
    fn dirty_victim(&self, place: LinePlace) -> Option<DirtyVictim> {
        let core = self.core();
        let (set, way) = place;
        let cell = core.tags.row(set)[way as usize];
        if !cell.state.is_newer() {
            return None;
        }
        let newer = match &self.flow {
            Flow::Overlapped(bank) => bank.newer_bytes(place),
            Flow::Transient(_) => u128::MAX,
        };
        let line = core.place.interleave.unit(core.place.partition, core.join(set, cell.tag));
        Some(DirtyVictim { line, newer, bytes: core.stored_bytes(place).clone() })
    }

    /// Fills in the bytes that are missing from a line in a way. `memory` are the bytes of the line in memory.
    fn complete(&mut self, place: LinePlace, memory: &LineData) {
        let Flow::Overlapped(bank) = &mut self.flow else { return };
        let (set, way) = place;
        let state = bank.core.tags.row(set)[way as usize].state;
        let here = if state == LineState::TagOnly { 0 } else { bank.bytes_here(place) };
        let missing = !here & u128::MAX >> (LINE_BYTES as u32 - bank.core.place.line_bytes);
        if missing == 0 {
            return;
        }
        let newer = if state.is_newer() { bank.newer_bytes(place) } else { 0 };
        let whole = if newer == 0 { LineState::Valid } else { LineState::Modified };
        bank.core.lines.data.poke(set, way, |data| data.merge(missing, &memory.0));
        bank.core.tags.poke(set, way, |cell| cell.state = whole);
        bank.mark_whole(place, newer);
    }

    /// Ends a kernel: writes the line in the atomic buffer back to the data memory (anssari2012 section 3.4),
    /// and clears the prefetcher. No request and no prefetch may be in flight.
    pub fn end_kernel(&mut self) {
        let Core { lines, stats, .. } = self.core_mut();
        if let Some(((set, way), line)) = lines.atomic_buffer.as_mut().and_then(|buffer| buffer.take_line(stats)) {
            lines.data.poke(set, way, |data| data.clone_from(line));
        }
        if let Flow::Overlapped(bank) = &mut self.flow {
            bank.end_kernel();
        }
    }

    /// Starts a log of line accesses and insertions, with which a checker verifies the replacement policy.
    /// Has no effect in the transient flow, whose replacement decisions are not checked line by line.
    pub fn observe(&mut self) {
        if matches!(self.flow, Flow::Overlapped(_)) {
            self.core_mut().seen = Some(Vec::new());
        }
    }

    /// Returns the line accesses and insertions logged since the previous call; empty if no log is kept.
    pub fn take_seen(&mut self) -> Vec<LineEvent> {
        self.core_mut().seen.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Makes any later read of a line panic if the line was never written.
    pub fn refuse_unwritten(&mut self) {
        self.core_mut().lines.data.refuse_unwritten();
        if let Flow::Transient(bank) = &mut self.flow {
            bank.refuse_unwritten();
        }
    }

    /// Starts to maintain digests (hashes) of the bank's memories.
    pub fn record(&mut self) {
        let core = self.core_mut();
        core.tags.record();
        core.order.record();
        core.partition.iter_mut().for_each(|partition| partition.record());
        core.lines.data.record();
        core.mshr.record();
        core.mshr_policy.iter_mut().for_each(|policy| policy.record());
        match &mut self.flow {
            Flow::Overlapped(bank) => bank.record(),
            Flow::Transient(bank) => bank.record(),
        }
    }
}

impl Core {
    /// Returns the set and way of a line if any of its bytes are present, otherwise `None`.
    fn locate(&self, line: u64) -> Option<LinePlace> {
        let (set, tag) = self.split(self.local(line));
        let is_here = |cell: &Tag| cell.state.is_here() || cell.state == LineState::Partial;
        let way = self.tags.row(set).iter().position(|cell| cell.tag == tag && is_here(cell))?;
        Some((set, way as u32))
    }

    /// Returns the bytes of the line in a way. They are in the atomic buffer if it holds the line, otherwise
    /// in the data memory.
    fn stored_bytes(&self, (set, way): LinePlace) -> &LineData {
        let lines = &self.lines;
        let held = lines.atomic_buffer.as_ref().and_then(|buffer| buffer.line_at((set, way)));
        held.unwrap_or_else(|| &lines.data.row(set)[way as usize])
    }
}
