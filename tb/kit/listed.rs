//! # Summary of a hardware block's description
//! Collects the statistics, memories and logic that a block lists in its description, in their order.
//! Registers are left out.

use rtl::kernel::{ArrayView, Describe, Field, Fields, Logic};

/// Visitor that records the statistics, memories and logic in a hardware block's description.
#[derive(Debug, Default)]
pub struct DescriptionSummary {
    /// Name and value of each statistic.
    pub stats: Vec<(&'static str, u64)>,
    /// Name of each memory, with its number of entries and the bits per entry.
    pub arrays: Vec<(&'static str, u32, u32)>,
    /// Logic units of the hardware block, in the order of its description.
    pub logic: Vec<Logic>,
}

impl DescriptionSummary {
    /// Calls `describe`, and returns the statistics, memories and logic that it lists.
    pub fn of(describe: impl FnOnce(&mut Self)) -> Self {
        let mut listed = Self::default();
        describe(&mut listed);
        listed
    }
}

impl Fields for DescriptionSummary {
    fn field(&mut self, _: Field) {}
    fn wide(&mut self, _: &'static str, _: &[u8]) {}
}

impl Describe for DescriptionSummary {
    fn enter(&mut self, _: &'static str, _: Option<u32>) {}
    fn leave(&mut self) {}
    fn probe(&mut self, _: Field) {}
    fn stat_in(&mut self, _: Option<&'static str>, name: &'static str, count: u64) {
        self.stats.push((name, count));
    }
    fn array(&mut self, name: &'static str, array: &dyn ArrayView) {
        let spec = array.spec();
        self.arrays.push((name, spec.rows * spec.columns, array.cell_bits()));
    }
    fn channel(&mut self, _: &'static str, _: u32, _: u32) {}
    fn logic(&mut self, _: &'static str, logic: Logic) {
        self.logic.push(logic);
    }
}
