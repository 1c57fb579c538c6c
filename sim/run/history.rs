//! History of a run: performance counts in at most a few hundred intervals, whatever the length of the run.
//! Intervals are short at first. Whenever there are too many, adjacent intervals are merged in pairs, and new
//! intervals are twice as long as before.

use rtl::machine::Machine;
use serde::{Deserialize, Serialize};

use super::Totals;

/// Initial length of an interval in core cycles.
const FIRST: u64 = 16;
/// Maximum number of intervals. When it is reached, adjacent intervals are merged in pairs, so that half as
/// many remain.
const MAX_INTERVALS: usize = 400;

/// Performance counts of one interval, summed over all hardware units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// First core cycle of the interval.
    pub from: u64,
    /// Length of the interval in core cycles.
    pub cycles: u64,
    /// Number of executed thread instructions.
    pub thread_instructions: u64,
    /// Number of loads that accessed an L1D.
    pub l1_accesses: u64,
    /// Number of loads that hit in an L1D.
    pub l1_hits: u64,
    /// Number of reads that accessed the L2.
    pub l2_accesses: u64,
    /// Number of reads that hit in the L2.
    pub l2_hits: u64,
    /// Number of DRAM cycles in which the data bus of a channel was reserved for a burst, summed over all
    /// channels.
    pub bus_busy_cycles: u64,
    /// Number of times that the number of running warps was sampled in the interval.
    pub looks: u64,
    /// Sum of the sampled numbers of running warps. Divided by `looks`, it is the average number of running
    /// warps.
    pub running_warps: u64,
}

impl Interval {
    /// Combines each count of this interval with the same count of `other` by the function `join`. The result
    /// has the start cycle of this interval.
    fn join(&self, other: &Self, join: fn(u64, u64) -> u64) -> Self {
        Self {
            from: self.from,
            cycles: join(self.cycles, other.cycles),
            thread_instructions: join(self.thread_instructions, other.thread_instructions),
            l1_accesses: join(self.l1_accesses, other.l1_accesses),
            l1_hits: join(self.l1_hits, other.l1_hits),
            l2_accesses: join(self.l2_accesses, other.l2_accesses),
            l2_hits: join(self.l2_hits, other.l2_hits),
            bus_busy_cycles: join(self.bus_busy_cycles, other.bus_busy_cycles),
            looks: join(self.looks, other.looks),
            running_warps: join(self.running_warps, other.running_warps),
        }
    }
}

/// History of a run that is still in progress.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct History {
    /// Length of the current interval in core cycles.
    length: u64,
    /// Counts from the start of the run to the start of the current interval.
    before: Interval,
    intervals: Vec<Interval>,
}

impl History {
    pub(super) fn new() -> Self {
        Self { length: FIRST, before: Interval::default(), intervals: Vec::with_capacity(MAX_INTERVALS) }
    }

    /// Creates a history that starts at `cycle`, in a run that is already in progress.
    pub(super) fn from(cycle: u64, machine: &Machine) -> Self {
        let new = Self::new();
        Self { before: new.all(cycle, machine), ..new }
    }

    /// Completes all intervals whose last cycle is before `cycle`. Must be called before the events of
    /// `cycle` are counted.
    #[inline]
    pub(super) fn reach(&mut self, cycle: u64, machine: &Machine) {
        while cycle - self.before.cycles >= self.length {
            self.end(self.all(self.before.cycles + self.length, machine));
        }
    }

    /// Ends the last interval, which covers the cycles up to but not including `cycle`, and returns all
    /// intervals.
    pub(super) fn finish(mut self, cycle: u64, machine: &Machine) -> Vec<Interval> {
        self.reach(cycle, machine);
        if cycle > self.before.cycles {
            self.end(self.all(cycle, machine));
        }
        self.intervals
    }

    /// Returns the counts from the start of the run up to a cycle. Also takes a sample of the number of
    /// running warps.
    fn all(&self, cycles: u64, machine: &Machine) -> Interval {
        let Interval { looks, running_warps, .. } = self.before;
        let Totals { cores, l1, l2, dram, .. } = Totals::of(machine);
        Interval {
            from: 0,
            cycles,
            thread_instructions: cores.thread_instructions,
            l1_accesses: l1.accesses,
            l1_hits: l1.hits,
            l2_accesses: l2.accesses,
            l2_hits: l2.hits,
            bus_busy_cycles: dram.bus_busy_cycles,
            looks: looks + 1,
            running_warps: running_warps
                + machine.cores().iter().map(|core| u64::from(core.running_warps())).sum::<u64>(),
        }
    }

    /// Ends the current interval. `all` holds the counts from the start of the run to the end of the
    /// interval.
    fn end(&mut self, all: Interval) {
        let from = self.before.cycles;
        self.intervals.push(Interval { from, ..all.join(&self.before, |now, before| now - before) });
        self.before = all;
        if self.intervals.len() == MAX_INTERVALS {
            let two = |two: &[Interval]| two[0].join(&two[1], |one, other| one + other);
            self.intervals = self.intervals.chunks_exact(2).map(two).collect();
            self.length *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_follow_each_other_and_lose_nothing_however_long_a_run_is() {
        const FULL: u64 = FIRST * MAX_INTERVALS as u64;
        for cycles in [1, FIRST - 1, FIRST, FULL - FIRST, FULL, FULL + 1, 1_000_003] {
            let mut history = History::new();
            let end = |to: u64, history: &mut History| {
                let looks = history.before.looks + 1;
                history.end(Interval {
                    cycles: to,
                    thread_instructions: 3 * to,
                    looks,
                    running_warps: 2 * looks,
                    ..Interval::default()
                });
            };
            while history.before.cycles + history.length <= cycles {
                end(history.before.cycles + history.length, &mut history);
            }
            if cycles > history.before.cycles {
                end(cycles, &mut history);
            }
            let intervals = history.intervals;
            assert!(
                intervals.len() < MAX_INTERVALS && (cycles < FULL || intervals.len() >= MAX_INTERVALS / 2),
                "{}",
                intervals.len()
            );
            let mut next = 0;
            for interval in &intervals {
                assert_eq!((interval.from, interval.thread_instructions), (next, 3 * interval.cycles));
                assert_eq!(interval.running_warps, 2 * interval.looks);
                next += interval.cycles;
            }
            assert_eq!(next, cycles);
        }
    }
}
