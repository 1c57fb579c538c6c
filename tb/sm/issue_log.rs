//! Log of the instructions that a core's schedulers issue, cycle by cycle.

use rtl::kernel::{ArrayView, Block, Describe, Field, Fields, Logic, Mode};
use rtl::sm::SmCore;

use super::bench::Kernel;

/// Issued instruction, with its cycle of issue, scheduler, warp and program counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issue {
    pub cycle: u64,
    pub scheduler: u32,
    pub warp: u64,
    pub pc: u64,
}

/// Runs a kernel and returns all instructions that core 0 issued.
pub fn issues(kernel: &Kernel) -> Vec<Issue> {
    let (mut bench, mut sim) = kernel.start(Mode::default());
    let mut log = Vec::new();
    while let Some(cycle) = sim.step(&mut bench) {
        log.extend(last_issues(&bench.cores[0], cycle));
    }
    log
}

/// Returns the instructions that a core issued in the cycle just evaluated.
pub fn last_issues(core: &SmCore, cycle: u64) -> Vec<Issue> {
    let mut log = Vec::new();
    core.describe(&mut Probes { cycle, scopes: Vec::new(), valid: false, warp: 0, log: &mut log });
    log
}

/// Returns the cycle of every issue of warp 0, counted from the issue of its first instruction.
pub fn cycles_of(kernel: &Kernel) -> Vec<u64> {
    let log: Vec<Issue> = issues(kernel).into_iter().filter(|issue| issue.warp == 0).collect();
    log.iter().map(|issue| issue.cycle - log[0].cycle).collect()
}

struct Probes<'a> {
    cycle: u64,
    /// For each scope that the visitor has entered, the number of the scheduler if it is the scope of a
    /// scheduler, otherwise `None`.
    scopes: Vec<Option<u32>>,
    valid: bool,
    warp: u64,
    log: &'a mut Vec<Issue>,
}

impl Fields for Probes<'_> {
    fn field(&mut self, _: Field) {}
    fn wide(&mut self, _: &'static str, _: &[u8]) {}
}

impl Describe for Probes<'_> {
    fn enter(&mut self, name: &'static str, index: Option<u32>) {
        self.scopes.push(index.filter(|_| name == "scheduler"));
    }
    fn leave(&mut self) {
        self.scopes.pop();
    }
    fn probe(&mut self, field: Field) {
        let Some(Some(scheduler)) = self.scopes.last().copied() else { return };
        match field.name {
            "issue_valid" => self.valid = field.value == 1,
            "issue_warp" => self.warp = field.value,
            "issue_pc" if self.valid => {
                self.log.push(Issue { cycle: self.cycle, scheduler, warp: self.warp, pc: field.value });
            }
            _ => {}
        }
    }
    fn stat_in(&mut self, _: Option<&'static str>, _: &'static str, _: u64) {}
    fn array(&mut self, _: &'static str, _: &dyn ArrayView) {}
    fn channel(&mut self, _: &'static str, _: u32, _: u32) {}
    fn logic(&mut self, _: &'static str, _: Logic) {}
}
