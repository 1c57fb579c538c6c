//! # What a description lists besides registers
//! The statistics, memories and logic of a block, in their order.

use rtl::kernel::{ArrayView, Describe, Field, Fields, Logic};

/// A reader of descriptions that keeps them.
#[derive(Debug, Default)]
pub struct Listed {
    /// Names and counts.
    pub stats: Vec<(&'static str, u64)>,
    /// Name, cells and bits of a cell of each memory.
    pub arrays: Vec<(&'static str, u32, u32)>,
    /// The logic.
    pub logic: Vec<Logic>,
}

impl Listed {
    /// What a description lists.
    pub fn of(describe: impl FnOnce(&mut Self)) -> Self {
        let mut listed = Self::default();
        describe(&mut listed);
        listed
    }
}

impl Fields for Listed {
    fn field(&mut self, _: Field) {}
    fn wide(&mut self, _: &'static str, _: &[u8]) {}
}

impl Describe for Listed {
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
