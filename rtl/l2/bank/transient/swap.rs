//! Swap between an entry of the Fetch and Replacement Cache (FRC) and a way: a fetched line moves from the
//! entry to its way. The old line of the way moves to the FRC entry and is evicted from there (candel2018
//! section 4).
//!
//! A swap is chosen at the end of a cycle. It then occupies the data memories for as many cycles as its
//! latency, and the lines are exchanged at the end of the last of these cycles. A swap without latency
//! happens at once, through separate ports.

use serde::{Deserialize, Serialize};

use super::super::super::line::{LineState, Tag};
use super::super::super::lookup_pipeline::due_bits;
use super::super::lines::LinePlace;
use super::Transient;
use super::evict::replace;
use super::evictions::Eviction;
use super::frc::{Frc, FrcEntry};
use crate::cells::lines::{Lines, Wide};
use crate::kernel::{AnyEdge, ArrayView, Describe, FieldsExt, bits_for};
use crate::replacement::priority::EvictionPriority;

/// Swap in progress between an entry of the Fetch and Replacement Cache (FRC) and a way.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Swap {
    pub entry: u32,
    pub way: u32,
    /// Cycle at whose end the lines are exchanged.
    pub at: u64,
}

impl Swap {
    /// Lists the registers of a swap between a way and an entry of the FRC (fetch and replacement cache), for
    /// waveforms, digests and area estimates.
    pub fn describe(swap: Option<&Self>, frc: &Frc, to: &mut dyn Describe) {
        let Self { entry, way, at } = swap.copied().unwrap_or_default();
        let (entries, ways) = frc.sizes();
        to.flag("swap_valid", swap.is_some());
        to.sized("swap_entry", u64::from(entry), bits_for(entries));
        to.sized("swap_way", u64::from(way), bits_for(ways));
        to.bits("swap_at", due_bits(at));
    }
}

impl Transient {
    /// Completes the swap in progress, if this is its last cycle. Returns true if a swap between the FRC
    /// (fetch and replacement cache) and a way occupies the data memories in this cycle.
    pub(super) fn end_swap(&mut self, at: &impl AnyEdge) -> bool {
        let Some(swap) = self.swap else { return false };
        if at.cycle() >= swap.at {
            self.swap = None;
            self.exchange(at, swap);
        }
        true
    }

    /// Chooses the next entry of the FRC (fetch and replacement cache) to swap into a way, in the order in
    /// which entries were filled. The new line goes to the way selected at the miss, or else to the way that
    /// the replacement policy selects now. The line in that way must be evictable. Returns true if another
    /// swap can be attempted in the next cycle.
    pub(super) fn choose_swap(&mut self, at: &impl AnyEdge) -> bool {
        let Self { core, frc: Some(frc), swap: None, swap_latency, blocked, .. } = self else { return false };
        let Some(entry) = frc.to_swap() else { return false };
        let seen = (entry, core.tags.accesses().writes);
        if *blocked == Some(seen) {
            return frc.pass_over();
        }
        let &FrcEntry { set, bound, .. } = frc.entry(entry);
        core.tags.take_reads(at, 1);
        core.order.take_reads(at, 1);
        let is_evictable = |state: LineState| state == LineState::Invalid || state.is_here();
        let way = match bound {
            Some(way) => Some(u32::from(way)).filter(|&way| is_evictable(core.tags.row(set)[way as usize].state)),
            None => core.any_victim(set),
        };
        // Every way that the swap could use is reserved for a line that missed and that is fetched directly
        // into its way. Such a fetch needs no entry of the FRC (fetch and replacement cache), so the swap can
        // wait without a deadlock.
        let Some(way) = way else {
            *blocked = Some(seen);
            return frc.pass_over();
        };
        let swap = Swap { entry, way, at: at.cycle() + u64::from(*swap_latency) };
        frc.take_swap();
        if swap.at == at.cycle() {
            self.exchange(at, swap);
            return self.frc.as_ref().is_some_and(|frc| frc.to_swap().is_some());
        }
        self.swap = Some(swap);
        false
    }

    /// Exchanges the lines of a way and of an entry of the FRC (fetch and replacement cache). Starts the
    /// eviction of the old line from the FRC.
    fn exchange(&mut self, at: &impl AnyEdge, swap: Swap) {
        let Self { core, frc: Some(frc), sharers, acknowledged, .. } = self else { return };
        let Swap { entry, way, .. } = swap;
        let FrcEntry { set, tag, wr_pend, leaving, .. } = *frc.entry(entry);
        let row = core.tags.read(at, set);
        let old = row[way as usize];
        assert!(
            row.iter().all(|cell| cell.tag != tag || cell.state == LineState::Invalid),
            "cycle {}, {}: the line of FRC entry {entry} is in the bank as well",
            at.cycle(),
            core.path
        );
        let copies = sharers.as_mut().map_or(Wide::NONE, |all| replace(all, at, (set, way), leaving.sharers));
        let dirty = old.state == LineState::Modified;
        let unheard = *acknowledged && old.state.is_here();
        frc.exchange(at, entry, old, Eviction { sharers: copies, dirty, unheard, ..leaving });
        self.exchange_lines(at, swap, (set, way), old);
        let state = if wr_pend { LineState::Modified } else { LineState::Valid };
        let core = &mut self.core;
        core.tags.update(at, set, way, |cell| *cell = Tag { tag, state });
        core.touch(at, (set, way), EvictionPriority::Normal);
        core.stats.frc.swaps += 1;
        core.stats.evictions += u64::from(old.state.is_here());
        self.step_out(at, self.core.config.mshr_entries + entry);
    }

    /// Exchanges the bytes of the line in a way and of the line in an entry of the FRC (fetch and replacement
    /// cache).
    fn exchange_lines(&mut self, at: &impl AnyEdge, swap: Swap, (set, way): LinePlace, old: Tag) {
        let Self { core, frc: Some(frc), .. } = self else { return };
        let (row, column) = frc.cell(swap.entry);
        frc.data.take_reads(at, 1);
        let new_line = frc.data.row(row)[column as usize].clone();
        // A way without a line has no bytes to read.
        if old.state.is_here() {
            let old_line = core.lines.take_victim(at, (set, way), &mut core.stats).clone();
            frc.data.update(at, row, column, |line| *line = old_line);
        }
        core.lines.data.update(at, set, way, |line| *line = new_line);
    }
}
