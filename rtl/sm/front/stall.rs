//! # Stall attribution
//! Charges each cycle of each scheduler to exactly one outcome: an issue or a stall reason. If the warps of a
//! scheduler wait for different events, the cycle is charged to the kind of wait that is usually the
//! shortest. For example, it is charged to memory only if no warp waits for anything shorter. The order is:
//! busy pipe or address unit, throttle, pipe result, fetch, instruction cache miss (mostly an L2 hit), device
//! memory, store acknowledgment, barrier. When a core goes to sleep, its stall reasons cannot change until it
//! wakes, so all cycles of the sleep are charged to them.

use serde::{Deserialize, Serialize};

use super::scheduler::MAX_SCHEDULERS;
use crate::kernel::{
    Counted, CounterReader, Describe, DescribeExt, Encoding, Key, Quantity, Reason, ScopeKind, Value, count_if,
};

/// Outcome of a scheduler's cycle: an issue, or the reason for a stall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding, Reason)]
#[width(4)]
pub enum StallReason {
    /// No stall: the scheduler issued an instruction.
    Issued,
    /// No warp of the scheduler runs.
    #[default]
    NoWarp,
    /// The next instruction is being fetched or decoded.
    Fetch,
    /// All warps wait at a barrier.
    Barrier,
    /// A barrier or fence waits for the warp's stores to be acknowledged.
    StoreDrain,
    /// The next instruction waits for a register from a pipe, shared memory or a parameter load.
    ScoreboardAlu,
    /// The next instruction waits for a register from device memory.
    ScoreboardMemory,
    /// The address unit is busy, as when the LSU is full.
    LsuFull,
    /// The pipe, its collectors, its issue port or the result bus is busy.
    PipeBusy,
    /// A fault has stopped the core.
    Halted,
    /// Only warps that the throttle blocks are ready to issue.
    Throttled,
    /// The next instruction missed in the instruction cache; only in SMs with an instruction cache.
    FetchMiss,
}

/// Number of reasons, including `Issued`.
const REASONS: usize = StallReason::ALL.len();

/// Scheduler cycles of an SM by [`StallReason`]; cycles with an issue count as `Issued`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallCycles([u64; REASONS]);

impl StallCycles {
    /// Returns the cycles charged to a reason.
    #[must_use]
    pub const fn of(&self, reason: StallReason) -> u64 {
        self.0[reason as usize]
    }

    /// Returns each stall reason with its cycles, in the order of [`StallReason::ALL`].
    pub fn by_reason(&self) -> impl Iterator<Item = (StallReason, u64)> {
        StallReason::ALL.into_iter().zip(self.0)
    }

    /// Returns the cycles of all reasons together.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl FromIterator<(StallReason, u64)> for StallCycles {
    fn from_iter<I: IntoIterator<Item = (StallReason, u64)>>(cycles: I) -> Self {
        let mut slots = Self::default();
        cycles.into_iter().for_each(|(reason, cycles)| slots.0[reason as usize] += cycles);
        slots
    }
}

impl Counted for StallCycles {
    /// True if the SM has an instruction cache, so that fetches can miss.
    type Has = bool;

    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own += other);
    }

    fn subtract(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own -= other);
    }

    fn list(&self, fetches_miss: &bool, to: &mut dyn CounterReader) {
        let issued = "Scheduler cycles in which an instruction was issued; a warp of 64 lanes may take one per half.";
        let issued = Key::new("issued", issued).in_unit(Quantity::Cycles).nsight("smsp__issue_active.sum");
        to.counter(&issued, Value::Count(self.of(StallReason::Issued)));
        let stalls = "Scheduler cycles in which nothing was issued, by reason; with `issued`, they are all cycles of all schedulers.";
        if to.enter(&Key::new("stalls", stalls).in_unit(Quantity::Cycles), ScopeKind::Group) {
            for (reason, cycles) in self.by_reason().filter(|(reason, _)| *reason != StallReason::Issued) {
                let is_there = *fetches_miss || reason != StallReason::FetchMiss;
                count_if(to, &reason.key(Quantity::Cycles), is_there, cycles);
            }
            to.leave();
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Line {
    cycles: [u64; REASONS],
    /// Outcome to which the last cycle was charged; while the core sleeps, the stall reason to which each
    /// cycle of the sleep is charged.
    now: StallReason,
    /// Warp and pc of the instruction issued last.
    issue: (u8, u32),
}

/// Cycles of all schedulers of an SM, by stall reason.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct Stalls {
    num_schedulers: usize,
    lines: [Line; MAX_SCHEDULERS],
    /// First cycle that has not been charged to a stall reason yet.
    charged: u64,
}

impl Stalls {
    pub fn new(schedulers: usize) -> Self {
        Self { num_schedulers: schedulers, lines: [Line::default(); MAX_SCHEDULERS], charged: 0 }
    }

    /// Charges the cycles before `cycle`, through which the core slept, to the stall reason of each
    /// scheduler.
    pub fn wake(&mut self, cycle: u64) {
        let slept = cycle - self.charged;
        if slept > 0 {
            for line in &mut self.lines[..self.num_schedulers] {
                line.cycles[line.now as usize] += slept;
            }
            self.charged = cycle;
        }
    }

    /// Charges one cycle of a scheduler to a stall reason.
    pub fn charge(&mut self, scheduler: usize, reason: StallReason) {
        let line = &mut self.lines[scheduler % MAX_SCHEDULERS];
        line.now = reason;
        line.cycles[reason as usize] += 1;
    }

    /// Charges one cycle of a scheduler to `Issued`, and records the instruction.
    pub fn issue(&mut self, scheduler: usize, warp: u8, pc: u32) {
        let line = &mut self.lines[scheduler % MAX_SCHEDULERS];
        line.now = StallReason::Issued;
        line.cycles[StallReason::Issued as usize] += 1;
        line.issue = (warp, pc);
    }

    /// Returns the reason to which the last cycle of a scheduler is charged.
    pub fn outcome(&self, scheduler: usize) -> StallReason {
        self.lines[scheduler % MAX_SCHEDULERS].now
    }

    /// Returns warp and pc of the instruction that a scheduler issued in the cycle charged last; `None` if it
    /// did not issue.
    pub fn issued(&self, scheduler: usize) -> Option<(u8, u32)> {
        let line = &self.lines[scheduler % MAX_SCHEDULERS];
        (line.now == StallReason::Issued).then_some(line.issue)
    }

    /// Records that all schedulers have been charged for `cycle`.
    pub fn finish_cycle(&mut self, cycle: u64) {
        self.charged = cycle + 1;
    }

    /// Sets the reason to which a scheduler's cycles are charged until the core wakes.
    pub fn sleep(&mut self, scheduler: usize, reason: StallReason) {
        self.lines[scheduler % MAX_SCHEDULERS].now = reason;
    }

    /// Returns the cycles of one scheduler charged to a reason.
    pub fn cycles(&self, scheduler: usize, reason: StallReason) -> u64 {
        self.lines[scheduler].cycles[reason as usize]
    }

    /// Returns the scheduler cycles before `cycle`, by stall reason. The stall reasons must not have changed
    /// since `cycle`; they do not change while the core has no warps.
    ///
    /// # Panics
    /// Panics if the cycles of a scheduler do not add up to `cycle`.
    pub fn before(&self, path: &str, cycle: u64) -> StallCycles {
        let mut all = [0; REASONS];
        for (scheduler, line) in self.lines[..self.num_schedulers].iter().enumerate() {
            let mut cycles = line.cycles;
            let now = &mut cycles[line.now as usize];
            *now = (*now + cycle).saturating_sub(self.charged);
            let sum: u64 = cycles.iter().sum();
            assert_eq!(sum, cycle, "cycle {cycle}, {path}: scheduler {scheduler} has lost count of its cycles");
            all.iter_mut().zip(cycles).for_each(|(all, cycles)| *all += cycles);
        }
        StallCycles(all)
    }

    /// Charges all cycles before `cycle` and checks that every cycle was charged exactly once.
    ///
    /// # Panics
    /// Panics if a cycle was lost or charged twice.
    pub fn settle(&mut self, path: &str, cycle: u64) {
        self.wake(cycle.max(self.charged));
        for (scheduler, line) in self.lines[..self.num_schedulers].iter().enumerate() {
            let sum: u64 = line.cycles.iter().sum();
            assert_eq!(sum, self.charged, "cycle {cycle}, {path}: scheduler {scheduler} has lost count of its cycles");
        }
    }

    /// Lists the stall counters of one scheduler. `caches` is true if the SM has an instruction cache, so
    /// that fetches can miss.
    pub fn describe(&self, scheduler: usize, caches: bool, to: &mut dyn Describe) {
        let Self { num_schedulers: _, lines, charged: _ } = self;
        let Line { cycles, now, issue: (warp, pc) } = &lines[scheduler];
        let issued = *now == StallReason::Issued;
        to.probe_state("reason", *now);
        to.probe_sized("issue_valid", u64::from(issued), 1);
        to.probe_sized("issue_warp", if issued { u64::from(*warp) } else { 0 }, 6);
        to.probe_sized("issue_pc", if issued { u64::from(*pc) } else { 0 }, 32);
        for reason in StallReason::ALL.into_iter().filter(|&reason| caches || reason != StallReason::FetchMiss) {
            to.stat(reason.name(), cycles[reason as usize]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduler_has_issued_the_warp_that_it_was_charged_for_last() {
        let mut stalls = Stalls::new(2);
        stalls.issue(1, 7, 30);
        assert_eq!([0, 1].map(|scheduler| stalls.issued(scheduler)), [None, Some((7, 30))]);
        stalls.charge(1, StallReason::Fetch);
        assert_eq!(stalls.issued(1), None);
    }

    #[test]
    fn slept_cycles_go_to_the_reason_that_held_at_bedtime() {
        let mut stalls = Stalls::new(1);
        stalls.charge(0, StallReason::Issued);
        stalls.finish_cycle(0);
        stalls.sleep(0, StallReason::ScoreboardMemory);
        stalls.wake(10);
        stalls.charge(0, StallReason::Issued);
        stalls.finish_cycle(10);
        stalls.settle("sm0", 11);
        assert_eq!(stalls.cycles(0, StallReason::ScoreboardMemory), 9);
        assert_eq!(stalls.cycles(0, StallReason::Issued), 2);
    }

    #[test]
    fn cycles_before_an_edge_are_those_charged_and_slept_through_up_to_it() {
        let mut stalls = Stalls::new(2);
        stalls.issue(0, 1, 0);
        stalls.charge(1, StallReason::Fetch);
        stalls.finish_cycle(0);
        stalls.sleep(0, StallReason::NoWarp);
        stalls.sleep(1, StallReason::NoWarp);
        let counts = |cycle: u64, stalls: &Stalls| {
            let all = stalls.before("sm0", cycle);
            [StallReason::Issued, StallReason::Fetch, StallReason::NoWarp].map(|reason| all.of(reason))
        };
        assert_eq!(counts(1, &stalls), [1, 1, 0]);
        assert_eq!(counts(5, &stalls), [1, 1, 8]);
        // The core wakes in cycle 9, without a warp. This must not change the counts of the cycles before
        // cycle 5.
        stalls.wake(9);
        assert_eq!(counts(5, &stalls), [1, 1, 8]);
    }

    #[test]
    #[should_panic(expected = "cycle 0, sm0: scheduler 0 has lost count of its cycles")]
    fn an_instruction_issued_behind_the_end_is_found() {
        let mut stalls = Stalls::new(1);
        stalls.charge(0, StallReason::NoWarp);
        stalls.issue(0, 1, 0);
        stalls.finish_cycle(1);
        stalls.before("sm0", 0);
    }

    #[test]
    #[should_panic(expected = "cycle 3, sm0: scheduler 0 has lost count of its cycles")]
    fn a_cycle_charged_to_nobody_is_found() {
        let mut stalls = Stalls::new(1);
        stalls.finish_cycle(0);
        stalls.settle("sm0", 3);
    }
}
