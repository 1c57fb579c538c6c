//! # Eviction priorities
//! Hint of an instruction about the reuse of its lines (PTX ISA, "Cache Eviction Priority Hints"). A miss
//! first evicts lines whose last load had `evict_first`, then lines without a hint, and lines with
//! `evict_last` only if it can evict no other. The replacement policy selects among lines of equal priority.
//!
//! PTX calls these modifiers hints, without stating what hardware does with them. The order of the three
//! classes is that of their names; everything else is chosen here. A tag stores the priority of the last load
//! of its line in two bits. A store changes no priority, and a prefetched line has the normal one. A load
//! with `no_allocate` or `evict_unchanged` counts as a load without a hint: its line gets the normal
//! priority, whatever it had before.
//!
//! | instruction                              | priority |
//! |------------------------------------------|----------|
//! | `ld.cs`, `ld.lu`, `.L1::evict_first`, SASS `EF`, `CS`, `LU` | first |
//! | `.L1::evict_last`, SASS `EL`             | last     |
//! | all others, also `.L1::no_allocate` and `.L1::evict_unchanged` | normal |
//!
//! Part of `rtl/l1/cache.rs`.
//! Twin: `golden/l1/cache.rs`.
//! Bench: `tb/l1/streams.rs`.

use derive::Encoding;
use isa::types::CacheOp;
use serde::{Deserialize, Serialize};

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
    /// Returns the priority that a load with the given cache operator gives to its lines.
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
