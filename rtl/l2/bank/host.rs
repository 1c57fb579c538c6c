//! What a host asks of a bank between edges: what it counted, whether it rests, and the bytes that it holds.

use super::super::line::{LineState, Tag};
use super::super::stats::L2Stats;
use super::core::Core;
use super::lines::Place;
use super::{Flow, L2Bank};
use crate::cells::line::LINE_BYTES;

impl L2Bank {
    /// Counters so far.
    #[must_use]
    pub fn stats(&self) -> &L2Stats {
        &self.core().stats
    }

    /// Charges the cycles of a stall that still lasts, at the end of a run.
    pub fn settle(&mut self, cycle: u64) {
        let core = self.core_mut();
        if let Some((since, reason)) = &mut core.refused {
            core.stats.stalls[*reason as usize] += cycle.saturating_sub(*since);
            *since = cycle;
        }
    }

    /// True if no request, line or reply is on its way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        match &self.flow {
            Flow::Overlapped(bank) => bank.is_idle(),
            Flow::Transient(bank) => bank.is_idle(),
        }
    }

    /// The bytes of a line that are here, also those still waiting to be written to memory, and which they are: for a
    /// host that looks into a machine at rest.
    #[must_use]
    pub fn peek(&self, line: u64) -> Option<(&[u8; LINE_BYTES], u128)> {
        let core = self.core();
        let held = core.locate(line).map(|place| (place, core.held(place)));
        match (&self.flow, held) {
            (Flow::Overlapped(bank), Some((place, bytes))) => Some((bytes, bank.bytes_here(place))),
            (Flow::Overlapped(bank), None) => bank.given_up(core.local(line)),
            (Flow::Transient(_), held) => held.map(|(_, bytes)| (bytes, u128::MAX)),
        }
    }

    /// Replaces the bytes of a line that is here, and says whether it was: for a host that writes
    /// memory under a machine at rest.
    pub fn poke(&mut self, line: u64, bytes: &[u8; LINE_BYTES]) -> bool {
        let core = self.core_mut();
        let Some((set, way)) = core.locate(line) else { return false };
        let lines = &mut core.lines;
        if let Some(held) = lines.atomic_buffer.as_mut().and_then(|buffer| buffer.held_mut((set, way))) {
            held.0 = *bytes;
            return true;
        }
        lines.data.poke(set, way, |data| data.0 = *bytes);
        true
    }

    /// A kernel has ended: the line of the atomic buffer goes back to the data memory (anssari2012 section 3.4), while
    /// nobody asks for anything.
    pub fn end_kernel(&mut self) {
        let Core { lines, stats, .. } = self.core_mut();
        if let Some(((set, way), line)) = lines.atomic_buffer.as_mut().and_then(|buffer| buffer.give_up(stats)) {
            lines.data.poke(set, way, |data| data.clone_from(line));
        }
    }

    /// Starts to refuse reads of lines that nobody wrote.
    pub fn refuse_unwritten(&mut self) {
        self.core_mut().lines.data.refuse_unwritten();
        if let Flow::Transient(bank) = &mut self.flow {
            bank.refuse_unwritten();
        }
    }

    /// Starts to keep digests of the memories.
    pub fn record(&mut self) {
        let core = self.core_mut();
        core.tags.record();
        core.recency.record();
        core.lines.data.record();
        core.mshr.record();
        match &mut self.flow {
            Flow::Overlapped(bank) => bank.record(),
            Flow::Transient(bank) => bank.record(),
        }
    }
}

impl Core {
    /// Set and way of a line whose bytes are here.
    fn locate(&self, line: u64) -> Option<Place> {
        let (set, tag) = self.split(self.local(line));
        let is_here = |cell: &Tag| cell.state.is_here() || cell.state == LineState::Partial;
        let way = self.tags.row(set).iter().position(|cell| cell.tag == tag && is_here(cell))?;
        Some((set, way as u32))
    }

    /// The bytes of the line in a place, which the atomic buffer may have.
    fn held(&self, (set, way): Place) -> &[u8; LINE_BYTES] {
        let lines = &self.lines;
        let held = lines.atomic_buffer.as_ref().and_then(|buffer| buffer.held((set, way)));
        &held.unwrap_or_else(|| &lines.data.row(set)[way as usize]).0
    }
}
