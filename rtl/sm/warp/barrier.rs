//! # Barriers
//! Holds the warps of a CTA until all have arrived: sixteen barriers per CTA slot. One opens when
//! every warp of the CTA that has not exited has arrived, or as many threads as the instruction
//! expects; a warp counts as 32 threads, whatever its active lanes, and so does each half of a warp of
//! 64 lanes that has active ones. An exit can be what opens it.
//!
//! A warp can arrive and go on: it counts, but the barrier opens for those that wait. A reduction
//! adds up in how many threads a predicate held; what it came to stays with each warp that waited
//! until that warp asks. A warp that arrives, goes on and meets nobody counts until its CTA ends.
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

/// Barriers a CTA can name.
pub(in crate::sm) const IDS: usize = 16;
/// Threads for which a warp counts.
const WARP_THREADS: u32 = 32;
/// A number of threads.
pub(in crate::sm) type Threads = u12;
/// The most threads that a barrier can expect. Instructions may ask for any number: a larger one is
/// taken as this, which no CTA has, so that the barrier stays shut as it must.
const MOST_EXPECTED: Threads = Threads::MAX;

/// What a warp brings to a barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::sm) struct Arrival {
    /// Warps of 32 lanes that it counts for.
    pub warps: u8,
    /// Threads after which the barrier opens; 0 for all of the CTA that run.
    pub expected: u32,
    /// Threads that take part in the reduction.
    pub threads: u32,
    /// Those in which the predicate holds.
    pub held: u32,
}

impl Arrival {
    /// The arrival of these lanes, for a barrier of all threads.
    pub fn of(lanes: u64) -> Self {
        let warps = u8::from(lanes as u32 != 0) + u8::from(lanes >> WARP_THREADS != 0);
        Self { warps, expected: 0, threads: lanes.count_ones(), held: 0 }
    }
}

/// One barrier of a CTA, between two openings.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Round {
    /// Warps that wait.
    waiting: u64,
    /// Warps of 32 lanes that arrived, whether they wait or went on.
    arrived: u7,
    /// Threads expected, as the warps that wait say; 0 for all.
    expected: Threads,
    /// Threads of those that wait, and how many of them held the predicate.
    threads: Threads,
    held: Threads,
}

/// What a reduction came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::sm) struct Reduction {
    /// Threads that took part.
    pub threads: Threads,
    /// Those in which the predicate held.
    pub held: Threads,
}

/// The barriers of all CTA slots.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct Barriers {
    num_warps: u32,
    rounds: Box<[[Round; IDS]]>,
    /// Warps that wait at any barrier.
    waiting: u64,
    /// Of each warp, what the last barrier that it waited at came to.
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

    /// Warps that wait.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// A warp arrives to wait; `live` are the warps of its CTA that have not exited, it included.
    pub fn arrive(&mut self, slot: u8, id: u8, warp: u8, live: u64, arrival: Arrival) {
        let round = &mut self.rounds[usize::from(slot)][usize::from(id)];
        round.waiting |= 1 << warp;
        round.expected = Threads::from_u32(arrival.expected.min(MOST_EXPECTED.into()));
        round.arrive(arrival.warps);
        round.threads += Threads::from_u32(arrival.threads);
        round.held += Threads::from_u32(arrival.held);
        self.waiting |= 1 << warp;
        self.open(slot, live);
    }

    /// A warp arrives and goes on.
    pub fn pass(&mut self, slot: u8, id: u8, live: u64, arrival: Arrival) {
        self.rounds[usize::from(slot)][usize::from(id)].arrive(arrival.warps);
        self.open(slot, live);
    }

    /// What the barrier that a warp waited at last came to.
    pub fn reduction(&self, warp: u8) -> Reduction {
        self.reductions[usize::from(warp) % MAX_WARPS]
    }

    /// Opens the barriers of a CTA at which everybody has arrived.
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

    /// Forgets who arrived at the barriers of a CTA that has ended: its successor in the slot meets
    /// nobody but its own warps.
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
    /// Counts warps. More than a CTA can have come only if nobody ever waits; they count for no more.
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
            (0..MAX_WARPS).for_each(|_| barriers.pass(0, 0, 0b1, ALL));
            barriers.arrive(0, 0, 0, 0b1, Arrival { expected, ..ALL });
            assert_eq!(barriers.waiting(), 0b1, "{expected} threads");
        }
    }

    #[test]
    fn each_half_of_a_warp_with_active_lanes_counts_for_32_threads() {
        let mut barriers = Barriers::new(1, 8);
        let arrives = |lanes| Arrival { expected: 96, ..Arrival::of(lanes) };
        barriers.pass(0, 5, 0b1111, arrives(1 << 40));
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
        barriers.pass(0, 5, 0b1111, ALL);
        barriers.pass(1, 5, 0b1111_0000, ALL);
        barriers.clear(0);
        barriers.arrive(0, 5, 0, 0b1111, expects);
        barriers.arrive(1, 5, 4, 0b1111_0000, expects);
        assert_eq!(barriers.waiting(), 0b1);
    }

    #[test]
    fn warps_that_go_on_count_but_open_nothing_alone() {
        let mut barriers = Barriers::new(1, 8);
        let expects = |expected| Arrival { expected, ..ALL };
        barriers.pass(0, 5, 0b1111, ALL);
        barriers.pass(0, 5, 0b1111, ALL);
        assert_eq!(barriers.waiting(), 0);
        barriers.arrive(0, 5, 3, 0b1111, expects(128));
        assert_eq!(barriers.waiting(), 0b1000);
        barriers.arrive(0, 5, 2, 0b1111, expects(128));
        assert_eq!(barriers.waiting(), 0);
        // The next round begins from nothing.
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
