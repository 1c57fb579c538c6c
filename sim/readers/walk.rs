//! # Walker: sampling of signals from descriptions
//! Reads the descriptions of the hardware blocks that a simulation step can have changed, and passes the
//! selected values to a [`Sink`]. Values are identified by their position in the description of their
//! hardware block, so that sampling needs no comparison of names and no memory allocation. Hardware blocks
//! and components without a selected signal are never described.

use std::io;

use rtl::kernel::{ArrayView, BlockId, Blocks, Describe, Field, Fields, Logic, Simulator};
use waves::scope::Selection;
use waves::signal::SignalId;
use waves::sink::Sink;

use super::outline::{CellPlan, Outline, Plan, Position};

/// Hardware blocks whose described values can have changed in the last simulation step, as one bit mask per
/// clock domain. Computed once per step and shared by all readers.
#[derive(Clone, Debug)]
pub struct ChangedBlocks(Vec<u128>);

impl ChangedBlocks {
    /// Creates an empty set of hardware blocks.
    #[must_use]
    pub fn none(blocks: &impl Blocks) -> Self {
        Self(vec![0; blocks.population().len()])
    }

    /// Replaces the set by the hardware blocks that were evaluated in the last step, or that have sent a beat
    /// since the previous call.
    pub fn take(&mut self, sim: &mut Simulator) {
        for (domain, changed) in self.0.iter_mut().enumerate() {
            *changed = sim.evaluated_blocks(domain) | sim.take_touched(domain);
        }
    }
}

/// Version number that no scope ever has. In `seen`, it marks a scope that has not been sampled yet and must
/// therefore count as changed.
const UNSEEN: u64 = u64::MAX;

/// Sampler of the selected signals.
#[derive(Debug)]
pub(super) struct Walker {
    /// Plan of each hardware block, indexed by clock domain and by number in the domain.
    plans: Vec<Vec<Plan>>,
    /// For each hardware block, the data that show whether its values have changed since the block was last
    /// sampled: the version of each scope, in the order of the plan's scopes, followed by one entry for
    /// each value of the plan. If a group of statistics begins with this value, the entry is the sum of the
    /// group.
    seen: Vec<Vec<Vec<u64>>>,
    /// Hardware blocks with a selected signal, as one bit mask per clock domain.
    selected: Vec<u128>,
    /// True if the next step must sample every selected value, whether or not it has changed.
    all: bool,
}

impl Walker {
    pub(super) fn new(outline: &Outline, selection: &Selection) -> Self {
        let plans = outline.plans(selection);
        let bit = |set: u128, (slot, plan): (usize, &Plan)| set | u128::from(plan.is_selected()) << slot;
        let selected = plans.iter().map(|domain| domain.iter().enumerate().fold(0, bit)).collect();
        let unseen = |plan: &Plan| vec![UNSEEN; plan.spans.len() + plan.values.len()];
        let seen = plans.iter().map(|domain| domain.iter().map(unseen).collect()).collect();
        Self { plans, seen, selected, all: true }
    }

    /// Makes the next step sample every selected value, whether or not it has changed.
    pub(super) fn refresh(&mut self) {
        self.all = true;
    }

    /// True if a hardware block with a selected signal has changed.
    pub(super) fn is_due(&self, changed: &ChangedBlocks) -> bool {
        self.all || changed.0.iter().zip(&self.selected).any(|(changed, selected)| changed & selected != 0)
    }

    /// Samples the hardware blocks that have changed.
    ///
    /// # Panics
    /// Panics if a hardware block describes more or fewer values than at the start of the run.
    pub(super) fn give<S: Sink>(
        &mut self,
        changed: &ChangedBlocks,
        blocks: &impl Blocks,
        to: &mut S,
    ) -> io::Result<()> {
        let all = std::mem::take(&mut self.all);
        if all {
            self.seen.iter_mut().flatten().for_each(|versions| versions.fill(UNSEEN));
        }
        for (domain, changed) in changed.0.iter().enumerate() {
            let mut due = self.selected[domain] & if all { u128::MAX } else { *changed };
            while due != 0 {
                let slot = due.trailing_zeros() as u8;
                due &= due - 1;
                self.give_block(BlockId { domain: domain as u8, slot }, blocks, to)?;
            }
        }
        Ok(())
    }

    fn give_block<S: Sink>(&mut self, block: BlockId, blocks: &impl Blocks, to: &mut S) -> io::Result<()> {
        let (domain, slot) = (usize::from(block.domain), usize::from(block.slot));
        let plan = &self.plans[domain][slot];
        let mut sampler = Sampler {
            plan,
            seen: &mut self.seen[domain][slot],
            to,
            at: Position::default(),
            entered: 0,
            skipping: 0,
            resume: Position::default(),
            result: Ok(()),
        };
        blocks.describe(block, &mut sampler);
        let end = Position { value: plan.values.len(), span: plan.spans.len(), memory: plan.memories.len() };
        let at = sampler.at;
        assert!(
            at == end,
            "{block:?} described {at:?} this time and {end:?} at first: `describe` depends on the state"
        );
        sampler.result
    }
}

/// Reader of the description of one hardware block, which compares the description with the plan of the
/// block.
struct Sampler<'a, S: Sink> {
    plan: &'a Plan,
    seen: &'a mut [u64],
    to: &'a mut S,
    at: Position,
    /// Index of the most recently entered scope in the plan's list of scopes.
    entered: usize,
    /// Number of open scopes from the outermost unselected scope inward; 0 in a selected scope.
    skipping: u32,
    /// Position in the description at which sampling resumes: the end of the outermost unselected scope.
    resume: Position,
    result: io::Result<()>,
}

impl<S: Sink> Sampler<'_, S> {
    /// Advances to the next value of the description. Returns the signal of this value if it is selected.
    #[inline]
    fn next(&mut self) -> Option<SignalId> {
        if self.skipping > 0 {
            return None;
        }
        let signal = self.plan.values.get(self.at.value).copied().flatten();
        self.at.value += 1;
        signal
    }

    #[inline]
    fn put(&mut self, value: u64) {
        if let Some(signal) = self.next() {
            keep(&mut self.result, self.to.sample(signal, value));
        }
    }
}

/// Stores an error, replacing any earlier one. No error is lost, because a sink returns its first error again
/// on later calls.
#[inline]
fn keep(result: &mut io::Result<()>, new: io::Result<()>) {
    if new.is_err() {
        *result = new;
    }
}

impl<S: Sink> Fields for Sampler<'_, S> {
    #[inline]
    fn field(&mut self, field: Field) {
        self.put(field.value);
    }
    fn wide(&mut self, _: &'static str, bytes: &[u8]) {
        if let Some(signal) = self.next() {
            keep(&mut self.result, self.to.sample_bytes(signal, bytes));
        }
    }
    fn passes_fields(&mut self, count: usize) -> bool {
        let run = self.plan.unselected.get(self.at.value).map_or(0, |&run| run as usize);
        let passes = self.skipping > 0 || run >= count;
        if passes && self.skipping == 0 {
            self.at.value += count;
        }
        passes
    }
}

impl<S: Sink> Describe for Sampler<'_, S> {
    fn enter(&mut self, _: &'static str, _: Option<u32>) {
        if self.skipping > 0 {
            self.skipping += 1;
            return;
        }
        let span = self.plan.spans.get(self.at.span).copied().unwrap_or_default();
        self.entered = self.at.span;
        self.at.span += 1;
        if !span.selected {
            self.skipping = 1;
            self.resume = span.end;
        }
    }
    fn leave(&mut self) {
        if self.skipping > 0 {
            self.skipping -= 1;
            if self.skipping == 0 {
                self.at = self.resume;
            }
        }
    }
    fn is_scope_read(&self) -> bool {
        self.skipping == 0
    }
    fn has_seen(&mut self, version: u64) -> bool {
        let (Some(seen), Some(span)) = (self.seen.get_mut(self.entered), self.plan.spans.get(self.entered)) else {
            return false;
        };
        if self.skipping > 0 || std::mem::replace(seen, version) != version {
            return false;
        }
        self.skipping = 1;
        self.resume = span.end;
        true
    }
    fn has_seen_stats(&mut self, count: usize, sum: u64) -> bool {
        if self.skipping > 0 {
            return true;
        }
        let known = self.seen.get_mut(self.plan.spans.len() + self.at.value);
        let has_seen = known.is_some_and(|known| std::mem::replace(known, sum) == sum);
        if has_seen {
            self.at.value += count;
        }
        has_seen
    }
    fn skip_scopes(&mut self, entries: usize) -> bool {
        if self.skipping > 0 {
            return true;
        }
        match self.plan.spans.get(self.at.span) {
            Some(span) if entries > 0 && span.run == entries => {
                self.at = span.run_end;
                true
            }
            _ => false,
        }
    }
    fn probe(&mut self, field: Field) {
        self.put(field.value);
    }
    fn stat_in(&mut self, _: Option<&'static str>, _: &'static str, count: u64) {
        self.put(count);
    }
    fn array(&mut self, _: &'static str, array: &dyn ArrayView) {
        if self.skipping > 0 {
            return;
        }
        let plan = self.plan;
        for CellPlan { row, column, fields } in plan.memories.get(self.at.memory).into_iter().flatten() {
            let mut cell = CellSampler { fields, to: self.to, result: &mut self.result };
            array.cell(*row, *column, &mut cell);
        }
        self.at.memory += 1;
    }
    fn channel(&mut self, _: &'static str, _: u32, _: u32) {}
    fn logic(&mut self, _: &'static str, _: Logic) {}
}

/// Reader that samples the fields of one entry of a memory array.
struct CellSampler<'a, S: Sink> {
    fields: &'a [Option<SignalId>],
    to: &'a mut S,
    result: &'a mut io::Result<()>,
}

impl<S: Sink> CellSampler<'_, S> {
    fn next(&mut self) -> Option<SignalId> {
        let (&signal, later) = self.fields.split_first()?;
        self.fields = later;
        signal
    }
}

impl<S: Sink> Fields for CellSampler<'_, S> {
    fn field(&mut self, field: Field) {
        if let Some(signal) = self.next() {
            keep(self.result, self.to.sample(signal, field.value));
        }
    }
    fn wide(&mut self, _: &'static str, bytes: &[u8]) {
        if let Some(signal) = self.next() {
            keep(self.result, self.to.sample_bytes(signal, bytes));
        }
    }
}
