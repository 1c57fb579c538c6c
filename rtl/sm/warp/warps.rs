//! Warp slots: whose they are, and what they have outstanding.

use arbitrary_int::u20;
use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use crate::kernel::{Describe, DescribeExt, FieldsExt};
use crate::sm::MAX_WARPS;

/// One warp slot.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(in crate::sm) struct Warp {
    /// CTA slot it belongs to.
    pub cta: u8,
    /// Number in its CTA of the warp, or of its lower half.
    pub index: u8,
    /// First row of its registers.
    pub rows: u16,
    /// Load beats without a reply.
    loads: u16,
    /// Store beats without an acknowledgement, and atomics without an answer.
    stores: u16,
    /// Lanes for which an instruction that is issued in parts has been served.
    pub served: u32,
}

/// All warp slots.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct Warps {
    num_warps: u32,
    #[serde(with = "BigArray")]
    slots: [Warp; MAX_WARPS],
    /// Warps that run: launched, not exited.
    live: u64,
    /// Warps with stores outstanding.
    storing: u64,
    /// Beats outstanding over all warps.
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

    /// Warps that run.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// Warps with stores outstanding.
    pub fn storing(&self) -> u64 {
        self.storing
    }

    /// Load and store beats outstanding.
    pub fn outstanding(&self) -> u20 {
        self.outstanding
    }

    pub fn get(&self, warp: u8) -> &Warp {
        &self.slots[usize::from(warp) % MAX_WARPS]
    }

    /// Starts a warp. Stores of its predecessor may still be outstanding and stay counted.
    pub fn start(&mut self, warp: u8, cta: u8, index: u8, rows: u16) {
        let slot = &mut self.slots[usize::from(warp) % MAX_WARPS];
        (slot.cta, slot.index, slot.rows, slot.served) = (cta, index, rows, 0);
        self.live |= 1 << warp;
    }

    /// Notes for which lanes the instruction that is being issued in parts has been served.
    pub fn serve(&mut self, warp: u8, lanes: u32) {
        self.slots[usize::from(warp) % MAX_WARPS].served = lanes;
    }

    /// Ends a warp.
    pub fn exit(&mut self, warp: u8) {
        self.live &= !(1 << warp);
    }

    /// True while a load of the warp has not returned.
    pub fn is_loading(&self, warp: u8) -> bool {
        self.slots[usize::from(warp) % MAX_WARPS].loads > 0
    }

    /// Counts the beats of an issued load.
    pub fn loads_sent(&mut self, warp: u8, beats: u8) {
        self.slots[usize::from(warp) % MAX_WARPS].loads += u16::from(beats);
        self.outstanding += u20::from(beats);
    }

    /// Counts the beats of an issued store.
    pub fn stores_sent(&mut self, warp: u8, beats: u8) {
        self.slots[usize::from(warp) % MAX_WARPS].stores += u16::from(beats);
        self.outstanding += u20::from(beats);
        self.storing |= 1 << warp;
    }

    /// Counts a load reply. False if none was due.
    pub fn loaded(&mut self, warp: u8) -> bool {
        let slot = &mut self.slots[usize::from(warp) % MAX_WARPS];
        let due = slot.loads > 0;
        if due {
            slot.loads -= 1;
            self.outstanding -= u20::new(1);
        }
        due
    }

    /// Counts a store acknowledgement. False if none was due.
    pub fn stored(&mut self, warp: u8) -> bool {
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
