//! How long loads were in each part of the machine on their way: statistics, no hardware.

use serde::{Deserialize, Serialize};

use super::loads::{LOAD_LATENCIES, class_of};
use crate::kernel::Counted;

/// Stays in one part of the machine, in core cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Counted)]
pub struct Stays {
    /// How many there were.
    pub number: u64,
    /// Their cycles, summed.
    #[counted(cycles)]
    pub cycles: u64,
    /// How many by their cycles: below 16, 32, 64 and so on to below 16,384, and longer.
    pub latencies: [u64; LOAD_LATENCIES],
}

/// The parts, in the order in which a load comes through them. What another SM supplies, atomics and instructions are
/// in none of the last three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Counted)]
pub struct Stages {
    /// Loads of warps in the LSU, until the last of their line requests has been looked up or has left past the cache.
    pub tags: Stays,
    /// Reads of lines or sectors in the miss queue.
    pub miss_queue: Stays,
    /// Reads from the L1 to the L2 bank, a sharing tracker before it included.
    pub requests: Stays,
    /// Reads in the L2 bank, until the reply leaves: the time in the DRAM included.
    pub l2: Stays,
    /// Replies from the L2 bank to the L1.
    pub replies: Stays,
}

impl Stays {
    /// Counts one of so many cycles.
    pub(super) fn count(&mut self, cycles: u64) {
        self.number += 1;
        self.cycles += cycles;
        self.latencies[class_of(cycles)] += 1;
    }
}

impl Stages {
    /// Each under its name.
    #[must_use]
    pub fn named(&self) -> [(&'static str, &Stays); 5] {
        let Self { tags, miss_queue, requests, l2, replies } = self;
        [("tags", tags), ("miss_queue", miss_queue), ("requests", requests), ("l2", l2), ("replies", replies)]
    }
}
