//! # Barriers
//! Holds the warps of a CTA until all have arrived: sixteen barriers per CTA slot. One opens when
//! every warp of the CTA that has not exited has arrived; a warp counts as a whole, whatever its
//! active lanes. An exit can be what opens it.

use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic};

/// Barriers a CTA can name.
const IDS: usize = 16;

/// The barriers of all CTA slots.
#[derive(Clone, Debug)]
pub(super) struct Barriers {
    num_warps: u32,
    arrived: Box<[[u64; IDS]]>,
    /// Warps that wait at any barrier.
    waiting: u64,
}

impl Barriers {
    pub(super) fn new(slots: usize, warps: usize) -> Self {
        Self { num_warps: warps as u32, arrived: vec![[0; IDS]; slots].into(), waiting: 0 }
    }

    /// Warps that wait.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// A warp arrives; `live` are the warps of its CTA that have not exited, it included.
    pub(super) fn arrive(&mut self, slot: u8, id: u8, warp: u8, live: u64) {
        let arrived = &mut self.arrived[usize::from(slot)][usize::from(id)];
        *arrived |= 1 << warp;
        self.waiting |= 1 << warp;
        self.open(slot, live);
    }

    /// Opens the barriers of a CTA at which everybody of `live` has arrived.
    pub(super) fn open(&mut self, slot: u8, live: u64) {
        if self.waiting == 0 {
            return;
        }
        for arrived in &mut self.arrived[usize::from(slot)] {
            if *arrived != 0 && *arrived & live == live {
                self.waiting &= !*arrived;
                *arrived = 0;
            }
        }
    }

    pub(super) fn describe(&self, to: &mut dyn Describe) {
        let Self { num_warps, arrived, waiting } = self;
        to.sized("waiting", *waiting, *num_warps);
        for (slot, ids) in arrived.iter().enumerate() {
            to.parts("cta", slot as u32, |to| {
                for (id, arrived) in ids.iter().enumerate() {
                    to.parts("id", id as u32, |to| to.sized("arrived", *arrived, *num_warps));
                }
            });
        }
        to.logic("complete", Logic::Comparator { width: *num_warps, count: (arrived.len() * IDS) as u32 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_opens_with_its_last_warp() {
        let mut barriers = Barriers::new(2, 8);
        barriers.arrive(1, 3, 4, 0b0111_0000);
        barriers.arrive(1, 3, 6, 0b0111_0000);
        assert_eq!(barriers.waiting(), 0b0101_0000);
        barriers.arrive(1, 3, 5, 0b0111_0000);
        assert_eq!(barriers.waiting(), 0);
    }

    #[test]
    fn an_exit_can_open_a_barrier() {
        let mut barriers = Barriers::new(1, 8);
        barriers.arrive(0, 0, 0, 0b11);
        barriers.open(0, 0b01);
        assert_eq!(barriers.waiting(), 0);
    }

    #[test]
    fn barriers_of_different_numbers_do_not_meet() {
        let mut barriers = Barriers::new(1, 8);
        barriers.arrive(0, 0, 0, 0b11);
        barriers.arrive(0, 1, 1, 0b11);
        assert_eq!(barriers.waiting(), 0b11);
    }
}
