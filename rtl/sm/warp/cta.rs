//! CTA slots. All CTAs of a launch have the same size, so each slot owns an equal share of the SM: warp
//! slots, register rows and shared memory. The share is computed when the kernel is loaded.

use serde::{Deserialize, Serialize};

use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic};
use crate::sm::{CtaDone, CtaLaunch};

/// Resources that each CTA slot owns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::sm) struct Share {
    /// Number of warp slots per CTA slot.
    pub warps: u8,
    /// Number of register rows of one warp, or of each 32-lane half of a warp.
    pub rows: u16,
    /// Size of the shared memory per CTA slot in bytes.
    pub shared: u32,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Cta {
    number: u32,
    at: [u32; 3],
}

/// CTA slots of the SM.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct CtaSlots {
    ctas: Box<[Cta]>,
    /// Mask of the CTA slots that the loaded kernel can use.
    usable: u32,
    used: u32,
    /// Mask of the CTA slots whose CTA has ended and must be reported to the dispatcher.
    finished: u32,
    share: Share,
}

impl CtaSlots {
    pub fn new(slots: usize) -> Self {
        let ctas = vec![Cta::default(); slots].into();
        Self { ctas, usable: 0, used: 0, finished: 0, share: Share::default() }
    }

    /// Divides the SM into `occupancy` equal CTA slots for a kernel.
    pub fn divide(&mut self, occupancy: u32, share: Share) {
        self.usable = ((1u64 << occupancy) - 1) as u32;
        self.share = share;
    }

    /// Allocates the free CTA slot with the lowest number; `None` if all usable slots are in use.
    pub fn take(&mut self, launch: &CtaLaunch) -> Option<u8> {
        let free = self.usable & !self.used;
        if free == 0 {
            return None;
        }
        let slot = free.trailing_zeros() as u8;
        self.used |= 1 << slot;
        self.ctas[usize::from(slot)] = Cta { number: launch.cta, at: launch.at };
        Some(slot)
    }

    /// Returns the CTA slots in use, each with the linear index of its CTA.
    pub fn used_slots(&self) -> impl Iterator<Item = (u8, u32)> {
        (0..).zip(&self.ctas).filter(|(slot, _)| self.used >> slot & 1 != 0).map(|(slot, cta)| (slot, cta.number))
    }

    /// Returns the resources of each CTA slot.
    pub fn share(&self) -> Share {
        self.share
    }

    /// Returns the first warp slot of a CTA slot.
    pub fn first_warp(&self, slot: u8) -> u8 {
        slot * self.share.warps
    }

    /// Returns the mask of the warp slots of a CTA slot.
    pub fn warps(&self, slot: u8) -> u64 {
        (u64::MAX >> (64 - self.share.warps)) << self.first_warp(slot)
    }

    /// Returns the byte address in shared memory at which the share of a CTA slot begins.
    pub fn shared_base(&self, slot: u8) -> u32 {
        u32::from(slot) * self.share.shared
    }

    /// Returns the position in its grid of the CTA in a slot: x, y, z.
    pub fn position(&self, slot: u8) -> [u32; 3] {
        self.ctas[usize::from(slot)].at
    }

    /// Marks the CTA of a slot as ended, to be reported to the dispatcher.
    pub fn finish(&mut self, slot: u8) {
        self.finished |= 1 << slot;
    }

    /// Returns the mask of the CTA slots whose CTA has ended and must be reported to the dispatcher.
    pub fn finished_ctas(&self) -> u32 {
        self.finished
    }

    /// Frees the CTA slot with the lowest number whose CTA has ended, and returns the completion message.
    pub fn report(&mut self) -> CtaDone {
        let slot = self.finished.trailing_zeros();
        self.finished &= !(1 << slot);
        self.used &= !(1 << slot);
        CtaDone { cta: self.ctas[slot as usize].number }
    }

    /// True if no CTA slot is in use.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { ctas, usable, used, finished, share: Share { warps, rows, shared } } = self;
        let slots = ctas.len() as u32;
        to.sized("usable", u64::from(*usable), slots);
        to.sized("used", u64::from(*used), slots);
        to.sized("finished", u64::from(*finished), slots);
        to.sized("share_warps", u64::from(*warps), 7);
        to.bits("share_rows", *rows);
        to.bits("share_shared", *shared);
        to.entries("slot", ctas.iter(), |Cta { number, at: [x, y, z] }, to| {
            to.bits("number", *number);
            to.bits("x", *x);
            to.bits("y", *y);
            to.bits("z", *z);
        });
        to.logic("free", Logic::PriorityEncoder { inputs: slots });
        to.table_ports(1, slots, 4 * u32::BITS);
    }
}
