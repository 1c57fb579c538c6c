//! Keys of the overlapped flow.

use serde::{Deserialize, Serialize};

use crate::config::Rules;

/// What a write that misses brings from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteMiss {
    /// Its line, unless all of that is written.
    FetchPartial,
    /// Its line, even if all of that is written: GPGPU-Sim's write-allocate.
    Fetch,
    /// Nothing: a mask says which bytes of a line are here, and the others are fetched for who wants them.
    ByteMask,
}

/// What a miss brings of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FetchUnit {
    /// All of it.
    Line,
    /// The DRAM bursts with bytes of the sectors asked for that are not here; what gives way is written back by the
    /// bursts that were written to.
    Sectors,
}

/// A line that gives way moves to a write-back queue at once, and the fetch goes out beside it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct OverlappedConfig {
    /// Fetches waiting for the DRAM channel (GPGPU-Sim's GTX 480: 4).
    pub miss_queue: u32,
    /// Dirty lines waiting for the DRAM channel.
    pub write_back_queue: u32,
    /// What a write that misses brings.
    pub write_miss: WriteMiss,
    /// What any other miss brings.
    pub fetch: FetchUnit,
}

/// As `machines/fermi.toml` has it.
impl Default for OverlappedConfig {
    fn default() -> Self {
        Self { miss_queue: 4, write_back_queue: 4, write_miss: WriteMiss::FetchPartial, fetch: FetchUnit::Line }
    }
}

impl OverlappedConfig {
    /// True if parts of lines may be here.
    pub(super) fn has_byte_masks(&self) -> bool {
        self.write_miss == WriteMiss::ByteMask
    }

    /// True if some sectors of a line may be here, and others not.
    pub(super) fn is_by_sector(&self) -> bool {
        self.fetch == FetchUnit::Sectors
    }

    /// Checks every key.
    pub(in super::super::super) fn validate(&self, rules: &mut Rules) {
        let Self { miss_queue, write_back_queue, write_miss: _, fetch: _ } = *self;
        rules.range("miss_queue", miss_queue.into(), 1..=64, "a miss must be able to leave");
        rules.range("write_back_queue", write_back_queue.into(), 1..=64, "a dirty victim must be able to leave");
        rules.expect(
            self.has_byte_masks() || !self.is_by_sector(),
            "fetch",
            "sectors",
            "line, or write_miss = \"byte-mask\"",
            "what is written of a sector that is not here is kept under a mask",
        );
    }
}
