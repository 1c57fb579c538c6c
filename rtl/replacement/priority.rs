//! # Eviction priorities
//! Hint of an instruction about the reuse of its lines (PTX ISA, "Cache Eviction Priority Hints"). A miss
//! first evicts lines whose last access had `evict_first`, then lines without a hint, and lines with
//! `evict_last` only if it can evict no other. The replacement policy selects among lines of equal priority.
//!
//! PTX calls these modifiers hints, without stating what hardware does with them. The order of the three
//! classes is that of their names; everything else is chosen here. A cache stores the priority of the last
//! access to each line in two bits: in the L1D the last load, and in the L2 the last load or store. An atomic
//! counts as an access without a hint, and a prefetched line has the normal priority. An instruction with
//! `no_allocate` or `evict_unchanged` counts as one without a hint: its line gets the normal priority, whatever
//! it had before. The L2 uses the priority that the instruction states for the L2 (`.L2::evict_first`). If it
//! states none, the L2 uses that for the L1. Policies of `createpolicy` have no effect.
//!
//! | instruction                              | priority |
//! |------------------------------------------|----------|
//! | `.cs`, `.lu`, `.L1::evict_first`, SASS `EF`, `CS`, `LU` | first |
//! | `.L1::evict_last`, SASS `EL`             | last     |
//! | all others, also `.L1::no_allocate` and `.L1::evict_unchanged` | normal |
//! | `.L2::evict_first`, `.L2::evict_last`, `.L2::evict_normal` | first, last and normal in the L2 only |
//!
//! Part of `rtl/l1/cache.rs` and `rtl/l2/bank.rs`.
//! Twin: `golden/l1/cache.rs` and `golden/replacement/order.rs`.
//! Bench: `tb/l1/streams.rs` and `tb/l2/replacement.rs`.

use isa::program::MemOp;
use isa::types::CacheOp;
use serde::{Deserialize, Serialize};

use crate::kernel::{Describe, Encoding, Logic, Payload};

/// Eviction priority of a line. Codes ascend with the urgency of the eviction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(2)]
pub enum EvictionPriority {
    /// The line is evicted only if no other line of its set can be.
    Last,
    /// The instruction gave no hint.
    #[default]
    Normal,
    /// The line is evicted before lines of other priorities.
    First,
}

impl EvictionPriority {
    /// Returns the priority that an access with the given cache operator gives to its lines.
    #[must_use]
    pub fn of(cache: CacheOp) -> Self {
        match cache {
            CacheOp::Cs | CacheOp::Lu | CacheOp::EvictFirst => Self::First,
            CacheOp::EvictLast => Self::Last,
            CacheOp::Default | CacheOp::Ca | CacheOp::Cg | CacheOp::Cv | CacheOp::Wb | CacheOp::Wt | CacheOp::Nc => {
                Self::Normal
            }
        }
    }
}

/// Eviction priorities that an access gives to its lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = HintShape)]
pub struct EvictionHints {
    /// Priority in the L1D, which applies to loads only.
    #[payload(name = "l1_priority", only(shape.l1), state)]
    pub l1: EvictionPriority,
    /// Priority in the L2.
    #[payload(name = "l2_priority", only(shape.l2), state)]
    pub l2: EvictionPriority,
}

/// Eviction priorities that messages carry: those of the caches that use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HintShape {
    /// True if the L1D uses eviction priorities.
    pub l1: bool,
    /// True if the L2 uses eviction priorities.
    pub l2: bool,
}

impl HintShape {
    /// No cache uses eviction priorities.
    pub const NONE: Self = Self { l1: false, l2: false };
}

impl EvictionHints {
    /// Returns the priorities that a load or a store gives to its lines.
    #[must_use]
    pub fn of(mem: &MemOp) -> Self {
        let of = EvictionPriority::of;
        Self { l1: of(mem.cache), l2: of(mem.l2_priority.unwrap_or(mem.cache)) }
    }

    /// Returns the priorities that messages of the given shape carry; the others are normal.
    #[must_use]
    #[inline(always)]
    pub fn in_shape(self, shape: HintShape) -> Self {
        let only = |carried, priority| if carried { priority } else { EvictionPriority::Normal };
        Self { l1: only(shape.l1, self.l1), l2: only(shape.l2, self.l2) }
    }
}

/// Adds to the hardware description: the logic that finds the highest priority among the candidates of a set
/// of `ways` ways, and the mask of the ways that have it.
pub fn describe_logic(ways: u32, to: &mut dyn Describe) {
    to.logic("priority", Logic::Gates { count: 4 * ways });
}
