//! CTA slots. All CTAs of a launch are alike, so each slot owns a fixed share of the warp slots,
//! register rows and shared bytes, worked out when the kernel is loaded.

use serde::{Deserialize, Serialize};

use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic};
use crate::sm::{CtaDone, CtaLaunch};

/// What a CTA takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::sm) struct Share {
    /// Warp slots.
    pub warps: u8,
    /// Register rows of one warp.
    pub rows: u16,
    /// Shared bytes.
    pub shared: u32,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Cta {
    number: u32,
    at: [u32; 3],
}

/// All CTA slots.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct CtaSlots {
    ctas: Box<[Cta]>,
    /// Slots that the loaded kernel can use.
    usable: u32,
    used: u32,
    /// Slots whose CTA has ended and is to be reported.
    finished: u32,
    share: Share,
}

impl CtaSlots {
    pub fn new(slots: usize) -> Self {
        let ctas = vec![Cta::default(); slots].into();
        Self { ctas, usable: 0, used: 0, finished: 0, share: Share::default() }
    }

    /// Divides the SM for a kernel.
    pub fn divide(&mut self, occupancy: u32, share: Share) {
        self.usable = ((1u64 << occupancy) - 1) as u32;
        self.share = share;
    }

    /// Takes a CTA into the lowest free slot; `None` if all are taken.
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

    /// Slots that are taken, with the numbers of their CTAs.
    pub fn taken(&self) -> impl Iterator<Item = (u8, u32)> {
        (0..).zip(&self.ctas).filter(|(slot, _)| self.used >> slot & 1 != 0).map(|(slot, cta)| (slot, cta.number))
    }

    /// The share of each slot.
    pub fn share(&self) -> Share {
        self.share
    }

    /// First warp slot of a CTA slot.
    pub fn first_warp(&self, slot: u8) -> u8 {
        slot * self.share.warps
    }

    /// Warp slots of a CTA slot.
    pub fn warps(&self, slot: u8) -> u64 {
        (u64::MAX >> (64 - self.share.warps)) << self.first_warp(slot)
    }

    /// First shared byte of a CTA slot.
    pub fn shared_base(&self, slot: u8) -> u32 {
        u32::from(slot) * self.share.shared
    }

    /// Position of a CTA in its grid.
    pub fn position(&self, slot: u8) -> [u32; 3] {
        self.ctas[usize::from(slot)].at
    }

    /// Notes that a CTA has ended.
    pub fn finish(&mut self, slot: u8) {
        self.finished |= 1 << slot;
    }

    /// Slots to be reported.
    pub fn finished(&self) -> u32 {
        self.finished
    }

    /// Frees the lowest finished slot.
    pub fn report(&mut self) -> CtaDone {
        let slot = self.finished.trailing_zeros();
        self.finished &= !(1 << slot);
        self.used &= !(1 << slot);
        CtaDone { cta: self.ctas[slot as usize].number }
    }

    /// True if no CTA is here.
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
