//! Statistics of the time that loads spend in each stage of the memory system. They model no hardware.

use serde::{Deserialize, Serialize};

use super::loads::{LOAD_LATENCIES, class_of};
use crate::kernel::Counted;

/// Times spent in one stage of the memory system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Counted)]
pub struct Stays {
    /// Number of loads or reads that left the stage.
    pub number: u64,
    /// Sum of the times in the stage, in core cycles.
    #[counted(cycles)]
    pub cycles: u64,
    /// Histogram of the times in the stage in core cycles. Class 0 counts loads or reads below 16 cycles,
    /// class 1 those from 16 to below 32, and so on; the last class counts those of 16,384 cycles or more.
    pub latencies: [u64; LOAD_LATENCIES],
}

/// Stages of the memory system, in the order in which a load passes them. Lines supplied by another SM,
/// atomics and instruction lines are not counted in `requests`, `l2` and `replies`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Counted)]
pub struct Stages {
    /// Time of a warp's load in the LSU, until the last of its line requests was looked up or left on the
    /// bypass path.
    pub tags: Stays,
    /// Time of line or sector reads in the miss queue.
    pub miss_queue: Stays,
    /// Time of reads from the L1 to the L2 bank, including a sharing tracker between them.
    pub requests: Stays,
    /// Time of reads in the L2 bank until the reply leaves, including the time in DRAM.
    pub l2: Stays,
    /// Time of replies from the L2 bank to the L1.
    pub replies: Stays,
}

impl Stays {
    /// Counts one load or read, with its time in the stage in core cycles.
    pub(super) fn count(&mut self, cycles: u64) {
        self.number += 1;
        self.cycles += cycles;
        self.latencies[class_of(cycles)] += 1;
    }
}

impl Stages {
    /// Returns the statistics of each stage, with the name of the stage.
    #[must_use]
    pub fn named_stays(&self) -> [(&'static str, &Stays); 5] {
        let Self { tags, miss_queue, requests, l2, replies } = self;
        [("tags", tags), ("miss_queue", miss_queue), ("requests", requests), ("l2", l2), ("replies", replies)]
    }
}
