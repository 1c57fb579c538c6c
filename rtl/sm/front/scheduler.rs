//! # Warp scheduler
//! Selects one of the warps that are ready to issue, in the order of the configured scheme
//! (`rtl/sm/scheduler`). Greedy-then-oldest keeps issuing the warp issued last while it is ready, else
//! selects the ready warp that was launched first. An age matrix, with one row of "is older" bits per warp,
//! finds that warp without sorting, and also the youngest one for greedy-then-youngest. Loose round robin
//! selects the next ready warp slot after the one issued last. Any other scheme ranks the warps: the highest
//! rank issues, and among equal ranks the warp that was launched first.
//!
//! Two-level scheduling runs a round robin in a pool of a few warps; the other warps queue. A pool warp in a
//! long wait moves to the tail of the queue, and the first queued warp that does not wait replaces it. With
//! this policy, the age matrix holds the order of the queue instead of the launch order. A warp that spins on
//! shared memory never waits long enough to leave the pool.
//!
//! In one cycle, in this order:
//! 1. `pick`, repeated while the selected warp finds its pipe or the result bus busy.
//! 2. `on_issue` for the warp that issues.
//! 3. `on_launch` for each warp of a starting CTA, and `renew` of the ages in slot order.
//! 4. If the scheme ranks warps, `report_launch` for each warp of a starting CTA, then `report_outcome` and
//!    `report_issue`.
//! 5. One of `limit`, `block` and `refill`.
//!
//! A throttle also restricts the warps through the pool. The pool then contains only the oldest warps that
//! can issue, or all warps except those that the throttle blocks. A ranking scheme ranks only the warps of
//! the pool.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/sm/scheduler/mod.rs`.
//! Bench: its own tests, `tb/sm/scheduler.rs`, `tb/sm/timing.rs`, and `tb/hdl/sm/warp_scheduler.rs` with
//! `rtl/hdl/sm/ws_sm_warp_scheduler.sv`.

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use crate::kernel::{CounterReader, Describe, DescribeExt, FieldsExt, Logic};
use crate::sm::scheduler::{Hooks, Order, Rule, Stall, WarpIssue, WarpLaunch};
use crate::sm::{MAX_WARPS, StallReason};

/// Maximum number of schedulers per SM.
pub(in crate::sm) const MAX_SCHEDULERS: usize = 4;
/// Maximum number of warps in the pool of a two-level scheduler.
const POOL: u32 = 6;

/// Age matrix: the order of all warps, by launch or by entry into the queue of a two-level scheduler.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ages {
    num_warps: u32,
    /// Bit `v` of row `w` is 1 if warp `v` is older than warp `w`.
    #[serde(with = "BigArray")]
    older: [u64; MAX_WARPS],
}

impl Ages {
    /// Creates the age matrix of `warps` warps, none of which has been launched.
    #[must_use]
    pub fn new(warps: usize) -> Self {
        Self { num_warps: warps as u32, older: [0; MAX_WARPS] }
    }

    /// Makes a warp the youngest one, as at its launch or when it moves to the tail of the queue.
    pub fn renew(&mut self, warp: u8) {
        let bit = 1u64 << warp;
        for row in &mut self.older {
            *row &= !bit;
        }
        let all = u64::MAX >> (u64::BITS - self.num_warps);
        self.older[usize::from(warp)] = all & !bit;
    }

    /// Returns the oldest warp of the mask `of`, which must contain at least one warp.
    #[must_use]
    pub fn oldest(&self, of: u64) -> u8 {
        let mut oldest = of.trailing_zeros() as usize;
        loop {
            let older = self.older[oldest % MAX_WARPS] & of;
            if older == 0 {
                return oldest as u8;
            }
            oldest = older.trailing_zeros() as usize;
        }
    }

    /// Returns the youngest warp of the mask `of`, which must contain at least one warp.
    #[must_use]
    pub fn youngest(&self, of: u64) -> u8 {
        let mut youngest = of.trailing_zeros() as usize;
        loop {
            let younger = of & !(self.older[youngest % MAX_WARPS] | 1 << youngest);
            if younger == 0 {
                return youngest as u8;
            }
            youngest = younger.trailing_zeros() as usize;
        }
    }

    /// Lists the registers and logic of the age matrix for waveforms, digests and area estimates.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { num_warps, older } = self;
        let rows = older.iter().take(*num_warps as usize);
        to.entries("warp", rows, |row, to| to.sized("older", *row, *num_warps));
        to.logic("oldest", Logic::Gates { count: 2 * *num_warps * *num_warps });
    }
}

/// Scheme that ranks warps, with the outcome of the latest cycles, which is reported to the scheme.
#[derive(Debug, Serialize, Deserialize)]
struct Ranking {
    hooks: Box<dyn Hooks>,
    /// Outcome of the cycle reported last. No hardware register: a scheme that counts stall cycles has its
    /// own counters.
    outcome: StallReason,
    /// First of the consecutive cycles that have had this outcome.
    since: u64,
}

/// Scheduler of a group of warps.
#[derive(Debug, Serialize, Deserialize)]
pub struct Scheduler {
    /// Rule that selects the warps; `None` if a scheme ranks them.
    rule: Option<Rule>,
    /// Mask of the warps that belong to the scheduler.
    group: u64,
    /// Mask of the warps that may issue: all warps, the pool of a two-level scheduler, or the warps that a
    /// throttle allows to issue.
    pool: u64,
    /// True if a throttle sets the pool.
    throttled: bool,
    /// Slot of the warp issued last.
    last: u8,
    /// One-bit mask of slot `last` while the slot holds the warp that was issued last; 0 otherwise.
    greedy: u64,
    /// Scheme that ranks the warps; `None` if `rule` selects them.
    ranking: Option<Box<Ranking>>,
}

impl Scheduler {
    /// Creates a scheduler for the warps of `group`, none of which has issued.
    #[must_use]
    pub fn new(order: Order, group: u64) -> Self {
        let (rule, ranking) = match order {
            Order::BuiltIn(rule) => (Some(rule), None),
            Order::Ranked(hooks) => (None, Some(Box::new(Ranking { hooks, outcome: StallReason::NoWarp, since: 0 }))),
        };
        let pool = if rule == Some(Rule::TwoLevel) { 0 } else { group };
        Self { rule, group, pool, throttled: false, last: 0, greedy: 0, ranking }
    }

    /// Lets a throttle set the pool of the scheduler (the warps that may issue).
    pub fn throttle(&mut self) {
        self.throttled = true;
    }

    /// True if the scheduler is a two-level scheduler: a pool of a few warps may issue, and the other warps
    /// queue.
    #[must_use]
    pub fn is_two_level(&self) -> bool {
        self.rule == Some(Rule::TwoLevel)
    }

    /// Returns the hooks of the scheme if it ranks warps, otherwise `None`.
    #[must_use]
    pub fn hooks_mut(&mut self) -> Option<&mut dyn Hooks> {
        self.ranking.as_mut().map(|ranking| &mut *ranking.hooks as &mut dyn Hooks)
    }

    /// Lists the counters that the scheme declares itself.
    pub fn counters(&self, to: &mut dyn CounterReader) {
        if let Some(ranking) = &self.ranking {
            ranking.hooks.counters(to);
        }
    }

    /// Returns the mask of the warps that may issue.
    #[must_use]
    pub fn pool(&self) -> u64 {
        self.pool
    }

    /// Returns the mask of the warps whose state determines the stall reason of the scheduler. In a two-level
    /// scheduler, these are the warps of the pool or, while the pool is empty, all warps of the scheduler.
    #[must_use]
    pub fn in_charge(&self) -> u64 {
        if self.is_two_level() && self.pool != 0 { self.pool } else { self.group }
    }

    /// Returns the warp of the mask `ready` that is first in scheduling order; `ready` must not be 0.
    #[must_use]
    pub fn pick(&self, ready: u64, ages: &Ages) -> u8 {
        self.pick_simply(ready, ages).unwrap_or_else(|| self.pick_rarely(ready, ages))
    }

    /// Returns the same warp as [`Self::pick`] for the rules of most machines; `None` for a rule that
    /// `pick_rarely` implements. If this inlined function called `pick_rarely`, the compiler would reserve
    /// registers of the host for the call at every issue.
    #[must_use]
    #[inline(always)]
    pub fn pick_simply(&self, ready: u64, ages: &Ages) -> Option<u8> {
        match self.rule {
            Some(Rule::GreedyThenOldest | Rule::GreedyThenYoungest) if ready & self.greedy != 0 => Some(self.last),
            Some(Rule::GreedyThenOldest) => Some(ages.oldest(ready)),
            Some(Rule::LooseRoundRobin | Rule::TwoLevel) => {
                let after = ready & (u64::MAX << self.last << 1);
                Some((if after != 0 { after } else { ready }).trailing_zeros() as u8)
            }
            Some(Rule::GreedyThenYoungest) | None => None,
        }
    }

    /// Selects a warp by a rule that few machines have: the youngest warp of the mask `ready`, or the one with
    /// the highest rank; among equal ranks, the oldest one.
    #[inline(never)]
    fn pick_rarely(&self, ready: u64, ages: &Ages) -> u8 {
        let Some(ranking) = &self.ranking else { return ages.youngest(ready) };
        let (mut highest, mut first) = (0, 0);
        let mut rest = ready;
        while rest != 0 {
            let slot = rest.trailing_zeros() as u8;
            rest &= rest - 1;
            let rank = ranking.hooks.rank(self.warp_in(slot));
            if first == 0 || rank > highest {
                (highest, first) = (rank, 1 << slot);
            } else if rank == highest {
                first |= 1 << slot;
            }
        }
        ages.oldest(first)
    }

    /// Converts a warp slot number of the SM to the number of the slot within the scheduler.
    fn warp_in(&self, slot: u8) -> u8 {
        (self.group & ((1 << slot) - 1)).count_ones() as u8
    }

    /// Reports to a ranking scheme that a warp of the scheduler starts in a slot of the SM, in a program of
    /// `length` instructions.
    pub fn report_launch(&mut self, cycle: u64, slot: u8, length: u32) {
        let launch = WarpLaunch { warp: self.warp_in(slot), length };
        if let Some(hooks) = self.hooks_mut() {
            hooks.on_launch(cycle, &launch);
        }
    }

    /// Reports to a ranking scheme what the scheduler does in `cycle` and in all later cycles up to the next
    /// report. Repeating a report has no effect. The scheme therefore computes the same whether a core sleeps
    /// through a stall or is evaluated in each cycle of it.
    pub fn report_outcome(&mut self, cycle: u64, outcome: StallReason) {
        let Some(ranking) = &mut self.ranking else { return };
        if outcome == ranking.outcome {
            return;
        }
        let ended = Stall { cycles: cycle - ranking.since, reason: ranking.outcome };
        (ranking.outcome, ranking.since) = (outcome, cycle);
        if ended.reason != StallReason::Issued && ended.cycles > 0 {
            ranking.hooks.on_stall(cycle, &ended);
        }
    }

    /// Reports to a ranking scheme that the scheduler has issued an instruction in `cycle`, where the warp is
    /// given by its slot in the SM.
    pub fn report_issue(&mut self, cycle: u64, issue: &WarpIssue) {
        let issue = WarpIssue { warp: self.warp_in(issue.warp), ..*issue };
        if let Some(hooks) = self.hooks_mut() {
            hooks.on_issue(cycle, &issue);
        }
    }

    /// Records that a warp was issued.
    pub fn on_issue(&mut self, warp: u8) {
        self.last = warp;
        self.greedy = 1 << warp;
    }

    /// Records that a warp was launched. If its slot issued last, the new warp does not inherit the greedy
    /// priority.
    pub fn on_launch(&mut self, warp: u8) {
        self.greedy &= !(1 << warp);
    }

    /// Restricts the pool (the warps that may issue) to the `limit` oldest warps of the mask `able`.
    #[inline(never)]
    pub fn limit(&mut self, limit: u32, able: u64, ages: &Ages) {
        let mut rest = self.group & able;
        self.pool = rest;
        if rest.count_ones() > limit {
            for _ in 0..limit {
                rest &= !(1 << ages.oldest(rest));
            }
            self.pool &= !rest;
        }
    }

    /// Sets the pool (the warps that may issue) to all warps of the scheduler except those of the mask
    /// `blocked`.
    pub fn block(&mut self, blocked: u64) {
        self.pool = self.group & !blocked;
    }

    /// Updates the pool of a two-level scheduler (the warps that may issue) for the next cycle. `live` and
    /// `waiting` are the masks of the running warps and of those in a long wait. A repeated call has no
    /// effect.
    #[inline(never)]
    pub fn refill(&mut self, live: u64, waiting: u64, queue: &mut Ages) {
        let mut demoted = self.pool & live & waiting;
        while demoted != 0 {
            queue.renew(demoted.trailing_zeros() as u8);
            demoted &= demoted - 1;
        }
        let able = self.group & live & !waiting;
        self.pool &= able;
        while able != self.pool && self.pool.count_ones() < POOL {
            self.pool |= 1 << queue.oldest(able & !self.pool);
        }
    }

    /// Lists the registers and logic of the warp scheduler for waveforms, digests and area estimates.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { rule: _, group, pool, throttled, last, greedy, ranking } = self;
        if self.is_two_level() {
            to.sized("pool", pack_bits(*pool, *group), group.count_ones());
            to.logic("refill", Logic::Comparator { width: group.count_ones(), count: group.count_ones() });
        }
        if *throttled {
            to.sized("pool", pack_bits(*pool, *group), group.count_ones());
            to.logic("throttle", Logic::Comparator { width: group.count_ones(), count: group.count_ones() });
        }
        if let Some(ranking) = ranking {
            return to.part("scheme", |to| ranking.hooks.describe(to));
        }
        to.sized("last", u64::from(*last), 6);
        to.flag("greedy", *greedy != 0);
        to.logic("first", Logic::PriorityEncoder { inputs: group.count_ones() });
    }
}

/// Returns the bits of `mask` at the positions of the 1 bits in `group`, packed without gaps.
fn pack_bits(mask: u64, group: u64) -> u64 {
    let members = (0..u64::BITS).filter(|bit| group >> bit & 1 != 0);
    members.enumerate().fold(0, |packed, (place, bit)| packed | (mask >> bit & 1) << place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_warp_is_the_one_launched_first_whatever_its_slot() {
        let mut ages = Ages::new(48);
        for warp in [7, 3, 40, 1] {
            ages.renew(warp);
        }
        let set = 1 << 7 | 1 << 3 | 1 << 40 | 1 << 1;
        assert_eq!(ages.oldest(set), 7);
        assert_eq!(ages.oldest(set & !(1 << 7)), 3);
        ages.renew(7);
        assert_eq!(ages.oldest(set), 3);
        assert_eq!(ages.oldest(1 << 7 | 1 << 1), 1);
    }

    #[test]
    fn greedy_then_oldest_stays_with_its_warp_until_that_waits() {
        let mut ages = Ages::new(8);
        (0..8).for_each(|warp| ages.renew(warp));
        let mut gto = Scheduler::new(Order::BuiltIn(Rule::GreedyThenOldest), 0xff);
        gto.on_issue(5);
        assert_eq!(gto.pick(0b0110_0110, &ages), 5);
        assert_eq!(gto.pick(0b0100_0110, &ages), 1);
        gto.on_launch(5);
        assert_eq!(gto.pick(0b0110_0110, &ages), 1);
    }

    #[test]
    fn greedy_then_youngest_goes_to_the_warp_launched_last() {
        let mut ages = Ages::new(8);
        [5, 0, 7, 3].into_iter().for_each(|warp| ages.renew(warp));
        let mut gty = Scheduler::new(Order::BuiltIn(Rule::GreedyThenYoungest), 0xff);
        assert_eq!(gty.pick(0b1010_1001, &ages), 3);
        assert_eq!(gty.pick(0b1010_0001, &ages), 7);
        gty.on_issue(5);
        assert_eq!(gty.pick(0b1010_1001, &ages), 5);
        assert_eq!(gty.pick(0b0000_0001, &ages), 0);
    }

    #[test]
    fn loose_round_robin_goes_to_the_next_slot_and_wraps() {
        let ages = Ages::new(64);
        let mut lrr = Scheduler::new(Order::BuiltIn(Rule::LooseRoundRobin), u64::MAX);
        lrr.on_issue(5);
        assert_eq!(lrr.pick(0b0110_0110, &ages), 6);
        lrr.on_issue(63);
        assert_eq!(lrr.pick(0b0110_0110, &ages), 1);
    }

    /// Creates a two-level scheduler for `warps` warps, launched in slot order, and the age matrix of its
    /// queue.
    fn two_level(warps: u8) -> (Scheduler, Ages) {
        let mut queue = Ages::new(warps.into());
        (0..warps).for_each(|warp| queue.renew(warp));
        (Scheduler::new(Order::BuiltIn(Rule::TwoLevel), u64::MAX >> (64 - warps)), queue)
    }

    #[test]
    fn a_pool_takes_the_first_six_warps_and_goes_round_in_them() {
        let (mut scheduler, mut queue) = two_level(10);
        scheduler.refill(0x3ff, 0, &mut queue);
        assert_eq!(scheduler.pool(), 0b11_1111);
        scheduler.on_issue(3);
        assert_eq!(scheduler.pick(0b11_1111, &queue), 4);
        scheduler.on_issue(5);
        assert_eq!(scheduler.pick(0b11_1111, &queue), 0);
    }

    #[test]
    fn a_warp_that_waits_goes_to_the_tail_of_the_queue() {
        let (mut scheduler, mut queue) = two_level(8);
        scheduler.refill(0xff, 0, &mut queue);
        scheduler.refill(0xff, 1 << 2, &mut queue);
        assert_eq!(scheduler.pool(), 0b0111_1011);
        // Warp 4 now waits, so it leaves the pool. Warps 2 and 7 of the queue do not wait; warp 7 replaces
        // warp 4, because it has been in the queue longer than warp 2.
        scheduler.refill(0xff, 1 << 4, &mut queue);
        assert_eq!(scheduler.pool(), 0b1110_1011);
        scheduler.refill(0xff, 1 << 7, &mut queue);
        assert_eq!(scheduler.pool(), 0b0110_1111);
    }

    #[test]
    fn a_warp_that_waits_in_the_queue_is_passed_over_and_keeps_its_place() {
        let (mut scheduler, mut queue) = two_level(8);
        scheduler.refill(0xff, 0, &mut queue);
        scheduler.refill(0xff, 0b0100_0001, &mut queue);
        assert_eq!(scheduler.pool(), 0b1011_1110);
        scheduler.refill(0xff, 1 << 1, &mut queue);
        assert_eq!(scheduler.pool(), 0b1111_1100);
    }

    #[test]
    fn a_warp_that_ends_makes_room_and_one_launched_in_its_slot_queues() {
        let (mut scheduler, mut queue) = two_level(8);
        scheduler.refill(0xff, 0, &mut queue);
        scheduler.refill(0xfe, 0, &mut queue);
        assert_eq!(scheduler.pool(), 0b0111_1110);
        queue.renew(0);
        scheduler.refill(0xff, 0, &mut queue);
        assert_eq!(scheduler.pool(), 0b0111_1110);
        scheduler.refill(0xfd, 0, &mut queue);
        assert_eq!(scheduler.pool(), 0b1111_1100);
    }

    #[test]
    fn a_pool_is_empty_while_all_warps_wait_and_then_they_are_in_charge() {
        let (mut scheduler, mut queue) = two_level(8);
        scheduler.refill(0xff, 0, &mut queue);
        assert_eq!(scheduler.in_charge(), 0b11_1111);
        scheduler.refill(0xff, 0xff, &mut queue);
        assert_eq!((scheduler.pool(), scheduler.in_charge()), (0, 0xff));
    }

    #[test]
    fn a_limit_leaves_the_oldest_of_the_warps_that_can_go_on() {
        let mut ages = Ages::new(8);
        for warp in [6, 2, 7, 4, 0] {
            ages.renew(warp);
        }
        let mut scheduler = Scheduler::new(Order::BuiltIn(Rule::GreedyThenOldest), 0b0101_0101);
        scheduler.throttle();
        scheduler.limit(2, 0b1101_0101, &ages);
        assert_eq!(scheduler.pool(), 0b0100_0100);
        // Warp 6 waits at a barrier, so the next oldest warp, warp 4, replaces it.
        scheduler.limit(2, 0b1001_0101, &ages);
        assert_eq!(scheduler.pool(), 0b0001_0100);
        scheduler.limit(2, 0b0000_0001, &ages);
        assert_eq!(scheduler.pool(), 0b0000_0001);
    }

    #[test]
    fn a_pool_has_one_bit_for_each_warp_of_its_group() {
        assert_eq!(pack_bits(0b1000_0010, 0b1010_1010), 0b1001);
    }
}
