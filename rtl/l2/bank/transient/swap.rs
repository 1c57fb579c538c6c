//! The swap of a bank with an FRC: a line that was fetched goes to its way, whose old line takes its
//! place in the FRC and leaves from there (candel2018 section 4).
//!
//! A swap is chosen at the end of a cycle and has the data memories to itself in the next ones, as
//! many as its latency; at their end the lines have changed places. Without latency it happens at
//! once, through ports of its own.

use serde::{Deserialize, Serialize};

use super::super::super::line::{LineState, Tag};
use super::super::super::looking::due_bits;
use super::super::super::mshr::bits_for;
use super::super::lines::Place;
use super::Transient;
use super::evict::replace;
use super::evictions::Leaving;
use super::frc::{Frc, FrcEntry};
use crate::kernel::{AnyEdge, ArrayView, Describe, FieldsExt};

/// A swap under way.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Swap {
    pub entry: u32,
    pub way: u32,
    /// Cycle at whose end the lines have changed places.
    pub at: u64,
}

impl Swap {
    /// Lists the registers.
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
    /// True if a swap has the data memories in this cycle, which may be its last.
    pub(super) fn end_swap(&mut self, at: &impl AnyEdge) -> bool {
        let Some(swap) = self.swap else { return false };
        if at.cycle() >= swap.at {
            self.swap = None;
            self.exchange(at, swap);
        }
        true
    }

    /// Chooses the next swap: the line whose turn it is, first come, first served, and the way bound to
    /// it or the one of its set unused for longest, if that may give up its line. True if another could
    /// follow.
    pub(super) fn choose_swap(&mut self, at: &impl AnyEdge) -> bool {
        let Self { core, frc: Some(frc), swap: None, swap_latency, blocked, .. } = self else { return false };
        let Some(entry) = frc.to_swap() else { return false };
        let seen = (entry, core.tags.accesses().writes);
        if *blocked == Some(seen) {
            return frc.pass_over();
        }
        let &FrcEntry { set, bound, .. } = frc.entry(entry);
        core.tags.take_reads(at, 1);
        core.recency.take_reads(at, 1);
        let may_go = |state: LineState| state == LineState::Invalid || state.is_here();
        let way = match bound {
            Some(way) => Some(u32::from(way)).filter(|&way| may_go(core.tags.row(set)[way as usize].state)),
            None => core.victim(set),
        };
        // The lines of the other ways are being replaced, which needs no entry of the FRC.
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

    /// The lines of an entry and of a way change places, and the old one begins to leave.
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
        let copies = sharers.as_mut().map_or(0, |all| replace(all, at, (set, way), leaving.sharers));
        let dirty = old.state == LineState::Modified;
        let unheard = *acknowledged && old.state.is_here();
        frc.exchange(at, entry, old, Leaving { sharers: copies, dirty, unheard, ..leaving });
        self.exchange_lines(at, swap, (set, way), old);
        let state = if wr_pend { LineState::Modified } else { LineState::Valid };
        let core = &mut self.core;
        core.tags.update(at, set, way, |cell| *cell = Tag { tag, state });
        core.touch(at, set, way);
        core.stats.frc.swaps += 1;
        core.stats.evictions += u64::from(old.state.is_here());
        self.step_out(at, self.core.config.mshr_entries + entry);
    }

    /// The bytes of the two lines change places.
    fn exchange_lines(&mut self, at: &impl AnyEdge, swap: Swap, (set, way): Place, old: Tag) {
        let Self { core, frc: Some(frc), .. } = self else { return };
        let (row, column) = frc.cell(swap.entry);
        frc.data.take_reads(at, 1);
        let new_line = frc.data.row(row)[column as usize].clone();
        // An empty way holds nothing to be read.
        if old.state.is_here() {
            let old_line = core.lines.leaving(at, (set, way), &mut core.stats).clone();
            frc.data.update(at, row, column, |line| *line = old_line);
        }
        core.lines.data.update(at, set, way, |line| *line = new_line);
    }
}
