//! Warp slots: the CTA of each warp, and its outstanding memory accesses.

use arbitrary_int::u20;
use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use crate::kernel::{Describe, DescribeExt, FieldsExt};
use crate::sm::MAX_WARPS;

/// State of one warp slot.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(in crate::sm) struct Warp {
    /// CTA slot that the warp belongs to.
    pub cta: u8,
    /// Index of the warp within its CTA, counted in 32-lane warps; for a 64-lane warp, the index of its lower
    /// half.
    pub index: u8,
    /// First register row of the warp.
    pub rows: u16,
    /// Number of load beats without a reply.
    loads: u16,
    /// Number of store beats without an acknowledgment, plus atomics without a reply.
    stores: u16,
    /// For an instruction that issues several times, each time for a different group of its lanes: mask of
    /// the lanes served so far.
    pub served: u32,
}

/// Warp slots of the SM.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct Warps {
    num_warps: u32,
    #[serde(with = "BigArray")]
    slots: [Warp; MAX_WARPS],
    /// Mask of the warps that run: launched and not exited.
    live: u64,
    /// Mask of the warps with outstanding stores.
    storing: u64,
    /// Number of outstanding load and store beats, over all warps.
    outstanding: u20,
}

impl Warps {
    pub fn new(warps: usize) -> Self {
        Self {
            num_warps: warps as u32,
            slots: [Warp::default(); MAX_WARPS],
            live: 0,
            storing: 0,
            outstanding: u20::default(),
        }
    }

    /// Returns the mask of the warps that run: launched and not exited.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// Returns the mask of the warps with outstanding stores.
    pub fn storing(&self) -> u64 {
        self.storing
    }

    /// Returns the number of outstanding load and store beats, over all warps.
    pub fn outstanding(&self) -> u20 {
        self.outstanding
    }

    pub fn get(&self, warp: u8) -> &Warp {
        &self.slots[usize::from(warp) % MAX_WARPS]
    }

    /// Starts a warp in a slot. Stores of the slot's previous warp may still be outstanding and remain
    /// counted.
    pub fn start(&mut self, warp: u8, cta: u8, index: u8, rows: u16) {
        let slot = &mut self.slots[usize::from(warp) % MAX_WARPS];
        (slot.cta, slot.index, slot.rows, slot.served) = (cta, index, rows, 0);
        self.live |= 1 << warp;
    }

    /// Sets the mask of the lanes served so far, for an instruction that issues several times for different
    /// groups of its lanes.
    pub fn serve(&mut self, warp: u8, lanes: u32) {
        self.slots[usize::from(warp) % MAX_WARPS].served = lanes;
    }

    /// Marks a warp as exited.
    pub fn exit(&mut self, warp: u8) {
        self.live &= !(1 << warp);
    }

    /// True if the warp has outstanding load beats.
    pub fn is_loading(&self, warp: u8) -> bool {
        self.slots[usize::from(warp) % MAX_WARPS].loads > 0
    }

    /// Counts the beats of an issued load as outstanding.
    pub fn loads_sent(&mut self, warp: u8, beats: u8) {
        self.slots[usize::from(warp) % MAX_WARPS].loads += u16::from(beats);
        self.outstanding += u20::from(beats);
    }

    /// Counts the beats of an issued store as outstanding.
    pub fn stores_sent(&mut self, warp: u8, beats: u8) {
        self.slots[usize::from(warp) % MAX_WARPS].stores += u16::from(beats);
        self.outstanding += u20::from(beats);
        self.storing |= 1 << warp;
    }

    /// Removes one load beat from the outstanding count. Returns false if none was outstanding.
    pub fn complete_load(&mut self, warp: u8) -> bool {
        let slot = &mut self.slots[usize::from(warp) % MAX_WARPS];
        let due = slot.loads > 0;
        if due {
            slot.loads -= 1;
            self.outstanding -= u20::new(1);
        }
        due
    }

    /// Removes one store beat from the outstanding count. Returns false if none was outstanding.
    pub fn complete_store(&mut self, warp: u8) -> bool {
        let slot = &mut self.slots[usize::from(warp) % MAX_WARPS];
        let due = slot.stores > 0;
        if due {
            slot.stores -= 1;
            self.outstanding -= u20::new(1);
            if slot.stores == 0 {
                self.storing &= !(1 << warp);
            }
        }
        due
    }

    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { num_warps, slots, live, storing, outstanding } = self;
        to.sized("live", *live, *num_warps);
        to.probe_sized("storing", *storing, *num_warps);
        to.bits("outstanding", *outstanding);
        let slots = slots.iter().take(*num_warps as usize);
        to.entries("warp", slots, |Warp { cta, index, rows, loads, stores, served }, to| {
            to.sized("cta", u64::from(*cta), 5);
            to.sized("index", u64::from(*index), 6);
            to.bits("rows", *rows);
            to.bits("loads", *loads);
            to.bits("stores", *stores);
            to.bits("served", *served);
        });
    }
}
