//! # Barriers
//! Holds the warps of a CTA until all have arrived: sixteen barriers per CTA slot. One opens when
//! every warp of the CTA that has not exited has arrived, or as many threads as the instruction
//! expects; a warp counts as 32 threads, whatever its active lanes. An exit can be what opens it.
//!
//! A warp can arrive and go on: it counts, but the barrier opens for those that wait. A reduction
//! adds up in how many threads a predicate held; what it came to stays with each warp that waited
//! until that warp asks.

use super::MAX_WARPS;
use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic};

/// Barriers a CTA can name.
const IDS: usize = 16;
/// Threads for which a warp counts.
const WARP_THREADS: u32 = 32;

/// What a warp brings to a barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Arrival {
    /// Threads after which the barrier opens; 0 for all of the CTA that run.
    pub(super) expected: u32,
    /// Threads that take part in the reduction.
    pub(super) threads: u32,
    /// Those in which the predicate holds.
    pub(super) held: u32,
}

/// One barrier of a CTA, between two openings.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// Warps that wait.
    waiting: u64,
    /// Warps that arrived and went on.
    passed: u8,
    /// Threads expected, as the warps that wait say; 0 for all.
    expected: u16,
    /// Threads of those that wait, and how many of them held the predicate.
    threads: u16,
    held: u16,
}

/// What a reduction came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reduction {
    /// Threads that took part.
    pub(super) threads: u16,
    /// Those in which the predicate held.
    pub(super) held: u16,
}

/// The barriers of all CTA slots.
#[derive(Clone, Debug)]
pub(super) struct Barriers {
    num_warps: u32,
    rounds: Box<[[Round; IDS]]>,
    /// Warps that wait at any barrier.
    waiting: u64,
    /// Of each warp, what the last barrier that it waited at came to.
    reductions: Box<[Reduction; MAX_WARPS]>,
}

impl Barriers {
    pub(super) fn new(slots: usize, warps: usize) -> Self {
        Self {
            num_warps: warps as u32,
            rounds: vec![[Round::default(); IDS]; slots].into(),
            waiting: 0,
            reductions: Box::new([Reduction::default(); MAX_WARPS]),
        }
    }

    /// Warps that wait.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// A warp arrives to wait; `live` are the warps of its CTA that have not exited, it included.
    pub(super) fn arrive(&mut self, slot: u8, id: u8, warp: u8, live: u64, arrival: Arrival) {
        let round = &mut self.rounds[usize::from(slot)][usize::from(id)];
        round.waiting |= 1 << warp;
        round.expected = arrival.expected as u16;
        round.threads += arrival.threads as u16;
        round.held += arrival.held as u16;
        self.waiting |= 1 << warp;
        self.open(slot, live);
    }

    /// A warp arrives and goes on.
    pub(super) fn pass(&mut self, slot: u8, id: u8, live: u64) {
        let round = &mut self.rounds[usize::from(slot)][usize::from(id)];
        // More warps than a CTA can have only if nobody ever waits; they count for no more.
        round.passed = (round.passed + 1).min(MAX_WARPS as u8);
        self.open(slot, live);
    }

    /// What the barrier that a warp waited at last came to.
    pub(super) fn reduction(&self, warp: u8) -> Reduction {
        self.reductions[usize::from(warp) % MAX_WARPS]
    }

    /// Opens the barriers of a CTA at which everybody has arrived.
    pub(super) fn open(&mut self, slot: u8, live: u64) {
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

    pub(super) fn describe(&self, to: &mut dyn Describe) {
        let Self { num_warps, rounds, waiting, reductions } = self;
        to.sized("waiting", *waiting, *num_warps);
        for (slot, ids) in rounds.iter().enumerate() {
            to.parts("cta", slot as u32, |to| {
                for (id, Round { waiting, passed, expected, threads, held }) in ids.iter().enumerate() {
                    to.parts("id", id as u32, |to| {
                        to.sized("arrived", *waiting, *num_warps);
                        to.sized("passed", u64::from(*passed), 7);
                        to.sized("expected", u64::from(*expected), 12);
                        to.sized("threads", u64::from(*threads), 12);
                        to.sized("held", u64::from(*held), 12);
                    });
                }
            });
        }
        for (warp, Reduction { threads, held }) in (0..*num_warps).zip(reductions.iter()) {
            to.parts("reduction", warp, |to| {
                to.sized("threads", u64::from(*threads), 12);
                to.sized("held", u64::from(*held), 12);
            });
        }
        to.logic("complete", Logic::Comparator { width: *num_warps, count: (rounds.len() * IDS) as u32 });
    }
}

impl Round {
    fn is_complete(&self, live: u64) -> bool {
        if self.expected == 0 {
            return self.waiting & live == live;
        }
        (self.waiting.count_ones() + u32::from(self.passed)) * WARP_THREADS >= u32::from(self.expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Arrival = Arrival { expected: 0, threads: 32, held: 0 };

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
    fn warps_that_go_on_count_but_open_nothing_alone() {
        let mut barriers = Barriers::new(1, 8);
        let expects = |expected| Arrival { expected, ..ALL };
        barriers.pass(0, 5, 0b1111);
        barriers.pass(0, 5, 0b1111);
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
        let outcome = Reduction { threads: 64, held: 7 };
        assert_eq!([0, 1].map(|warp| barriers.reduction(warp)), [outcome; 2]);
        barriers.arrive(0, 0, 0, 0b11, brings(9));
        assert_eq!(barriers.reduction(1), outcome);
    }
}
