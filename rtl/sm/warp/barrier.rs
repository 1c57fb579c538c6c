//! # Barriers
//! Holds the warps of a CTA at a barrier until all expected warps have arrived; each CTA slot has sixteen
//! barriers. A barrier opens when every warp of the CTA that has not exited waits there. If the instruction
//! specifies a number of threads, the barrier opens when that many threads have arrived. A warp of 32 lanes
//! counts as 32 threads, whatever its active lanes. A warp of 64 lanes counts 32 threads for each half with
//! active lanes. A warp that exits can open a barrier.
//!
//! A warp can also arrive without waiting (`bar.arrive`). Its arrival is counted, but the barrier opens only
//! if other warps wait. The arrival remains counted until the barrier opens or the CTA of the warp ends. A
//! barrier with a reduction counts the threads in which a predicate is true. The result is stored separately
//! for each warp that waited, until the warp reads it.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: its own tests and `tb/sm/shared.rs`.

use arbitrary_int::traits::Integer;
use arbitrary_int::{u7, u12};
use serde::{Deserialize, Serialize};
use serde_big_array::Array as BigArray;

use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic};
use crate::sm::MAX_WARPS;

/// Number of barriers per CTA.
pub(in crate::sm) const IDS: usize = 16;
/// Number of threads that the arrival of a 32-lane warp adds to a barrier's count, whatever the active lanes
/// of the warp.
const WARP_THREADS: u32 = 32;
/// Number of threads, as counted at a barrier.
pub(in crate::sm) type Threads = u12;
/// Maximum number of threads that a barrier can expect. A larger number in an instruction is clamped to this
/// maximum. A barrier with this number never opens, which is correct: no CTA has so many threads.
const MAX_EXPECTED: Threads = Threads::MAX;

/// Arrival of one warp at a barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::sm) struct Arrival {
    /// Number of 32-lane warps that the arrival counts for: 2 if both halves of a 64-lane warp have active
    /// lanes.
    pub warps: u8,
    /// Number of threads whose arrival opens the barrier; 0: all threads of the CTA that have not exited.
    pub expected: u32,
    /// Number of threads of the warp that contribute to the barrier's reduction.
    pub threads: u32,
    /// Number of threads of the warp in which the reduction's predicate is true.
    pub held: u32,
}

impl Arrival {
    /// Creates the arrival of the active lanes `lanes` at a barrier of all threads.
    pub fn of(lanes: u64) -> Self {
        let warps = u8::from(lanes as u32 != 0) + u8::from(lanes >> WARP_THREADS != 0);
        Self { warps, expected: 0, threads: lanes.count_ones(), held: 0 }
    }
}

/// State of one barrier of a CTA since it last opened.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Round {
    /// Mask of the warps that wait at the barrier.
    waiting: u64,
    /// Number of 32-lane warps that have arrived, including those that do not wait.
    arrived: u7,
    /// Number of threads whose arrival opens the barrier, as given by the waiting warps; 0: all threads of
    /// the CTA that have not exited.
    expected: Threads,
    /// Number of threads of the waiting warps that contribute to the barrier's reduction. The field `held` is
    /// the number of these threads in which the reduction's predicate is true.
    threads: Threads,
    held: Threads,
}

/// Result of a barrier reduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::sm) struct Reduction {
    /// Number of threads that contributed to the reduction.
    pub threads: Threads,
    /// Number of threads in which the reduction's predicate was true.
    pub held: Threads,
}

/// Barriers of all CTA slots.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct Barriers {
    num_warps: u32,
    rounds: Box<[[Round; IDS]]>,
    /// Mask of the warps that wait at any barrier.
    waiting: u64,
    /// For each warp, reduction result of the barrier at which the warp waited last.
    reductions: Box<BigArray<Reduction, MAX_WARPS>>,
}

impl Barriers {
    pub fn new(slots: usize, warps: usize) -> Self {
        Self {
            num_warps: warps as u32,
            rounds: vec![[Round::default(); IDS]; slots].into(),
            waiting: 0,
            reductions: Box::new(BigArray([Reduction::default(); MAX_WARPS])),
        }
    }

    /// Returns the mask of the warps that wait at any barrier.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Records that `warp` arrives at a barrier and waits. `live` is the mask of the warps of its CTA that
    /// have not exited, including `warp`.
    pub fn arrive(&mut self, slot: u8, id: u8, warp: u8, live: u64, arrival: Arrival) {
        let round = &mut self.rounds[usize::from(slot)][usize::from(id)];
        round.waiting |= 1 << warp;
        round.expected = Threads::from_u32(arrival.expected.min(MAX_EXPECTED.into()));
        round.arrive(arrival.warps);
        round.threads += Threads::from_u32(arrival.threads);
        round.held += Threads::from_u32(arrival.held);
        self.waiting |= 1 << warp;
        self.open(slot, live);
    }

    /// Records that a warp arrives at a barrier without waiting (`bar.arrive`).
    pub fn arrive_without_waiting(&mut self, slot: u8, id: u8, live: u64, arrival: Arrival) {
        self.rounds[usize::from(slot)][usize::from(id)].arrive(arrival.warps);
        self.open(slot, live);
    }

    /// Returns the reduction result of the barrier at which the warp waited last.
    pub fn reduction(&self, warp: u8) -> Reduction {
        self.reductions[usize::from(warp) % MAX_WARPS]
    }

    /// Opens each barrier of a CTA at which all expected warps or threads have arrived. The warps that wait
    /// there may then issue again.
    pub fn open(&mut self, slot: u8, live: u64) {
        if self.waiting == 0 {
            return;
        }
        for round in &mut self.rounds[usize::from(slot)] {
            if round.waiting != 0 && round.is_complete(live) {
                let mut warps = round.waiting;
                while warps != 0 {
                    self.reductions[warps.trailing_zeros() as usize % MAX_WARPS] =
                        Reduction { threads: round.threads, held: round.held };
                    warps &= warps - 1;
                }
                self.waiting &= !round.waiting;
                *round = Round::default();
            }
        }
    }

    /// Resets the barriers of a CTA that has ended, so that the next CTA in the slot starts without arrivals.
    pub fn clear(&mut self, slot: u8) {
        self.rounds[usize::from(slot)] = [Round::default(); IDS];
    }

    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { num_warps, rounds, waiting, reductions } = self;
        to.sized("waiting", *waiting, *num_warps);
        to.entries("cta", rounds.iter(), |ids, to| {
            to.entries("id", ids.iter(), |Round { waiting, arrived, expected, threads, held }, to| {
                to.sized("waiting", *waiting, *num_warps);
                to.bits("arrived", *arrived);
                to.bits("expected", *expected);
                to.bits("threads", *threads);
                to.bits("held", *held);
            });
        });
        let reductions = reductions.iter().take(*num_warps as usize);
        to.entries("reduction", reductions, |Reduction { threads, held }, to| {
            to.bits("threads", *threads);
            to.bits("held", *held);
        });
        to.logic("complete", Logic::Comparator { width: *num_warps, count: (rounds.len() * IDS) as u32 });
    }
}

impl Round {
    /// Adds arriving warps to the count, which saturates at the maximum number of warps in a CTA. The count
    /// can exceed this maximum only if warps arrive repeatedly and none ever waits at the barrier.
    fn arrive(&mut self, warps: u8) {
        self.arrived = (self.arrived + u7::new(warps)).min(u7::new(MAX_WARPS as u8));
    }

    fn is_complete(&self, live: u64) -> bool {
        if self.expected == Threads::default() {
            return self.waiting & live == live;
        }
        u32::from(self.arrived) * WARP_THREADS >= u32::from(self.expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Arrival = Arrival { warps: 1, expected: 0, threads: 32, held: 0 };

    #[test]
    fn a_barrier_opens_with_its_last_warp() {
        let mut barriers = Barriers::new(2, 8);
        barriers.arrive(1, 3, 4, 0b0111_0000, ALL);
        barriers.arrive(1, 3, 6, 0b0111_0000, ALL);
        assert_eq!(barriers.waiting(), 0b0101_0000);
        barriers.arrive(1, 3, 5, 0b0111_0000, ALL);
        assert_eq!(barriers.waiting(), 0);
    }

    #[test]
    fn an_exit_can_open_a_barrier() {
        let mut barriers = Barriers::new(1, 8);
        barriers.arrive(0, 0, 0, 0b11, ALL);
        barriers.open(0, 0b01);
        assert_eq!(barriers.waiting(), 0);
    }

    #[test]
    fn barriers_of_different_numbers_do_not_meet() {
        let mut barriers = Barriers::new(1, 8);
        barriers.arrive(0, 0, 0, 0b11, ALL);
        barriers.arrive(0, 1, 1, 0b11, ALL);
        assert_eq!(barriers.waiting(), 0b11);
    }

    #[test]
    fn a_barrier_that_expects_more_threads_than_it_can_count_stays_shut() {
        for expected in [4096, 65_536, u32::MAX] {
            let mut barriers = Barriers::new(1, 8);
            (0..MAX_WARPS).for_each(|_| barriers.arrive_without_waiting(0, 0, 0b1, ALL));
            barriers.arrive(0, 0, 0, 0b1, Arrival { expected, ..ALL });
            assert_eq!(barriers.waiting(), 0b1, "{expected} threads");
        }
    }

    #[test]
    fn each_half_of_a_warp_with_active_lanes_counts_for_32_threads() {
        let mut barriers = Barriers::new(1, 8);
        let arrives = |lanes| Arrival { expected: 96, ..Arrival::of(lanes) };
        barriers.arrive_without_waiting(0, 5, 0b1111, arrives(1 << 40));
        barriers.arrive(0, 5, 0, 0b1111, arrives(0xff));
        assert_eq!(barriers.waiting(), 0b1);
        barriers.arrive(0, 5, 1, 0b1111, arrives(1 << 31 | 1 << 32));
        assert_eq!(barriers.waiting(), 0);
        assert_eq!(barriers.reduction(1).threads, Threads::new(10));
    }

    #[test]
    fn a_cta_does_not_meet_the_warps_of_its_predecessor() {
        let mut barriers = Barriers::new(2, 8);
        let expects = Arrival { expected: 64, ..ALL };
        barriers.arrive_without_waiting(0, 5, 0b1111, ALL);
        barriers.arrive_without_waiting(1, 5, 0b1111_0000, ALL);
        barriers.clear(0);
        barriers.arrive(0, 5, 0, 0b1111, expects);
        barriers.arrive(1, 5, 4, 0b1111_0000, expects);
        assert_eq!(barriers.waiting(), 0b1);
    }

    #[test]
    fn warps_that_go_on_count_but_open_nothing_alone() {
        let mut barriers = Barriers::new(1, 8);
        let expects = |expected| Arrival { expected, ..ALL };
        barriers.arrive_without_waiting(0, 5, 0b1111, ALL);
        barriers.arrive_without_waiting(0, 5, 0b1111, ALL);
        assert_eq!(barriers.waiting(), 0);
        barriers.arrive(0, 5, 3, 0b1111, expects(128));
        assert_eq!(barriers.waiting(), 0b1000);
        barriers.arrive(0, 5, 2, 0b1111, expects(128));
        assert_eq!(barriers.waiting(), 0);
        // The opening of the barrier has reset the count of arrivals. The 32 threads of the warp that arrives
        // now are therefore too few for a barrier of 64 threads.
        barriers.arrive(0, 5, 2, 0b1111, expects(64));
        assert_eq!(barriers.waiting(), 0b100);
    }

    #[test]
    fn a_reduction_outlives_the_next_round_of_its_barrier() {
        let mut barriers = Barriers::new(1, 8);
        let brings = |held| Arrival { held, ..ALL };
        barriers.arrive(0, 0, 0, 0b11, brings(3));
        barriers.arrive(0, 0, 1, 0b11, brings(4));
        let outcome = Reduction { threads: Threads::new(64), held: Threads::new(7) };
        assert_eq!([0, 1].map(|warp| barriers.reduction(warp)), [outcome; 2]);
        barriers.arrive(0, 0, 0, 0b11, brings(9));
        assert_eq!(barriers.reduction(1), outcome);
    }
}
