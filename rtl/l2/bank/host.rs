//! What a host asks of a bank between edges: what it counted, whether it rests, and the bytes that it holds.

use super::super::line::{LineState, Tag};
use super::super::stats::L2Stats;
use super::L2Bank;
use crate::kernel::{Edge, Wake};
use crate::noc::packet::LINE_BYTES;

impl L2Bank {
    /// Counters so far.
    #[must_use]
    pub fn stats(&self) -> &L2Stats {
        &self.stats
    }

    /// Charges the cycles of a stall that still lasts, at the end of a run.
    pub fn settle(&mut self, cycle: u64) {
        if let Some((since, reason)) = &mut self.refused {
            self.stats.stalls[*reason as usize] += cycle.saturating_sub(*since);
            *since = cycle;
        }
    }

    /// True if no request, line or reply is on its way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.looking.is_empty()
            && self.mshr.is_empty()
            && self.turns.is_empty()
            && self.replies.is_empty()
            && self.split.as_ref().is_none_or(|split| split.is_idle())
            && self.transient.is_idle()
    }

    /// The bytes of a line that are here, also those still waiting to be written to memory, and which they are: for a
    /// host that looks into a machine at rest.
    #[must_use]
    pub fn peek(&self, line: u64) -> Option<(&[u8; LINE_BYTES], u128)> {
        if let Some((set, way)) = self.locate(line) {
            let held = self.atomic_buffer.as_ref().and_then(|buffer| buffer.held((set, way)));
            return Some((&held.unwrap_or_else(|| &self.data.row(set)[way as usize]).0, self.bytes_here(set, way)));
        }
        let burst = self.local(line) * u64::from(self.bursts);
        let youngest = self.write_backs.iter().rev().find(|leaving| leaving.burst == burst);
        youngest.map(|leaving| (&leaving.line.0, leaving.mask))
    }

    /// Replaces the bytes of a line that is here, and says whether it was: for a host that writes
    /// memory under a machine at rest.
    pub fn poke(&mut self, line: u64, bytes: &[u8; LINE_BYTES]) -> bool {
        let Some((set, way)) = self.locate(line) else { return false };
        if let Some(held) = self.atomic_buffer.as_mut().and_then(|buffer| buffer.held_mut((set, way))) {
            held.0 = *bytes;
            return true;
        }
        // No edge of any clock.
        let mut wake = Wake::new(&[1]);
        self.data.poke(&Edge::new(u64::MAX, u64::MAX, &mut wake), set, way, |data| data.0 = *bytes);
        true
    }

    /// A kernel has ended: the line of the atomic buffer goes back to the data memory (anssari2012 section 3.4), while
    /// nobody asks for anything.
    pub fn end_kernel(&mut self) {
        if let Some(buffer) = &mut self.atomic_buffer {
            let mut wake = Wake::new(&[1]);
            buffer.write_back(&mut self.data, &Edge::new(u64::MAX, u64::MAX, &mut wake), &mut self.stats);
        }
    }

    /// Starts to refuse reads of lines that nobody wrote.
    pub fn refuse_unwritten(&mut self) {
        self.data.refuse_unwritten();
        self.transient.refuse_unwritten();
    }

    /// Starts to keep digests of the memories.
    pub fn record(&mut self) {
        self.tags.record();
        self.recency.record();
        self.data.record();
        self.masks.iter_mut().for_each(|masks| masks.record());
        self.mshr.record();
        if let Some(passing) = &mut self.passing {
            passing.lines.record();
        }
        self.transient.record();
    }

    /// Set and way of a line whose bytes are here.
    pub(super) fn locate(&self, line: u64) -> Option<(u32, u32)> {
        let (set, tag) = self.split(self.local(line));
        let is_here = |cell: &Tag| cell.state.is_here() || cell.state == LineState::Partial;
        let way = self.tags.row(set).iter().position(|cell| cell.tag == tag && is_here(cell))?;
        Some((set, way as u32))
    }
}
