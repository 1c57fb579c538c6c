//! # Warp scheduler
//! Chooses one of the warps that may issue. Greedy-then-oldest stays with the warp issued last
//! while it can, else takes the one launched first; an age matrix (one row of "is older" bits
//! per warp) finds it without sorting. Loose round robin takes the next slot after the last.

use super::{MAX_WARPS, SchedulerPolicy};
use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic};

/// Most schedulers of an SM.
pub(super) const MAX_SCHEDULERS: usize = 4;

/// Launch order of all warps.
#[derive(Clone, Debug)]
pub(super) struct Ages {
    num_warps: u32,
    /// Bit `v` of row `w`: warp `v` was launched before warp `w`.
    older: [u64; MAX_WARPS],
}

impl Ages {
    pub(super) fn new(warps: usize) -> Self {
        Self { num_warps: warps as u32, older: [0; MAX_WARPS] }
    }

    /// Makes a warp the youngest.
    pub(super) fn launch(&mut self, warp: u8) {
        let bit = 1u64 << warp;
        for row in &mut self.older {
            *row &= !bit;
        }
        let all = u64::MAX >> (u64::BITS - self.num_warps);
        self.older[usize::from(warp)] = all & !bit;
    }

    /// The oldest of a set that is not empty.
    pub(super) fn oldest(&self, of: u64) -> u8 {
        let mut oldest = of.trailing_zeros() as usize;
        loop {
            let older = self.older[oldest % MAX_WARPS] & of;
            if older == 0 {
                return oldest as u8;
            }
            oldest = older.trailing_zeros() as usize;
        }
    }

    pub(super) fn describe(&self, to: &mut dyn Describe) {
        let Self { num_warps, older } = self;
        for (warp, row) in (0..*num_warps).zip(older) {
            to.parts("warp", warp, |to| to.sized("older", *row, *num_warps));
        }
        to.logic("oldest", Logic::Comparator { width: *num_warps, count: *num_warps });
    }
}

/// One scheduler.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scheduler {
    policy: SchedulerPolicy,
    /// Warps it serves.
    group: u64,
    /// Slot issued last.
    last: u8,
    /// The bit of that slot while the warp in it is the one that was issued.
    greedy: u64,
}

impl Scheduler {
    pub(super) fn new(policy: SchedulerPolicy, group: u64) -> Self {
        Self { policy, group, last: 0, greedy: 0 }
    }

    /// Warps it serves.
    pub(super) fn group(&self) -> u64 {
        self.group
    }

    /// The first of the warps that may issue, which are not none.
    #[inline(always)]
    pub(super) fn pick(&self, ready: u64, ages: &Ages) -> u8 {
        match self.policy {
            SchedulerPolicy::GreedyThenOldest if ready & self.greedy != 0 => self.last,
            SchedulerPolicy::GreedyThenOldest => ages.oldest(ready),
            SchedulerPolicy::LooseRoundRobin => {
                let after = ready & (u64::MAX << self.last << 1);
                (if after != 0 { after } else { ready }).trailing_zeros() as u8
            }
        }
    }

    /// Notes that a warp was issued.
    pub(super) fn issued(&mut self, warp: u8) {
        self.last = warp;
        self.greedy = 1 << warp;
    }

    /// A new warp in the slot issued last has no claim on being next.
    pub(super) fn launched(&mut self, warp: u8) {
        self.greedy &= !(1 << warp);
    }

    pub(super) fn describe(&self, to: &mut dyn Describe) {
        let Self { policy: _, group, last, greedy } = self;
        to.sized("last", u64::from(*last), 6);
        to.flag("greedy", *greedy != 0);
        to.logic("first", Logic::PriorityEncoder { inputs: group.count_ones() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_warp_is_the_one_launched_first_whatever_its_slot() {
        let mut ages = Ages::new(48);
        for warp in [7, 3, 40, 1] {
            ages.launch(warp);
        }
        let set = 1 << 7 | 1 << 3 | 1 << 40 | 1 << 1;
        assert_eq!(ages.oldest(set), 7);
        assert_eq!(ages.oldest(set & !(1 << 7)), 3);
        ages.launch(7);
        assert_eq!(ages.oldest(set), 3);
        assert_eq!(ages.oldest(1 << 7 | 1 << 1), 1);
    }

    #[test]
    fn greedy_then_oldest_stays_with_its_warp_until_that_waits() {
        let mut ages = Ages::new(8);
        (0..8).for_each(|warp| ages.launch(warp));
        let mut gto = Scheduler::new(SchedulerPolicy::GreedyThenOldest, 0xff);
        gto.issued(5);
        assert_eq!(gto.pick(0b0110_0110, &ages), 5);
        assert_eq!(gto.pick(0b0100_0110, &ages), 1);
        gto.launched(5);
        assert_eq!(gto.pick(0b0110_0110, &ages), 1);
    }

    #[test]
    fn loose_round_robin_goes_to_the_next_slot_and_wraps() {
        let ages = Ages::new(64);
        let mut lrr = Scheduler::new(SchedulerPolicy::LooseRoundRobin, u64::MAX);
        lrr.issued(5);
        assert_eq!(lrr.pick(0b0110_0110, &ages), 6);
        lrr.issued(63);
        assert_eq!(lrr.pick(0b0110_0110, &ages), 1);
    }
}
