//! Parameters of the overlapped miss flow of an L2 bank.

use serde::{Deserialize, Serialize};

use crate::config::Rules;

/// Fetch policy of a write miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteMiss {
    /// Fetches the line, unless the write covers all of it.
    FetchPartial,
    /// Always fetches the line, even if the write covers all of it, as GPGPU-Sim's write-allocate does.
    Fetch,
    /// Fetches nothing: a mask marks the bytes that are present. A later access that needs missing bytes
    /// fetches the line.
    ByteMask,
}

/// Amount of data that a miss fetches from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FetchUnit {
    /// A miss fetches the whole line.
    Line,
    /// A miss fetches the DRAM bursts that hold missing bytes of the requested sectors. On eviction, only
    /// bursts that were written to are written back.
    Sectors,
    /// Like `sectors`, but a miss also fetches the missing bursts of the other sector in the aligned 64-byte
    /// pair of sectors.
    SectorPairs,
}

/// Parameters of the overlapped miss flow: the victim moves to a writeback queue at once, while the new line
/// is fetched.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct OverlappedConfig {
    /// Number of fetches that can wait for the DRAM channel (GPGPU-Sim's GTX 480: 4).
    pub miss_queue: u32,
    /// Number of dirty lines that can wait for the DRAM channel.
    pub write_back_queue: u32,
    /// Fetch policy of a write miss.
    pub write_miss: WriteMiss,
    /// Amount of data that a miss fetches from memory: the whole line, or sectors.
    pub fetch: FetchUnit,
}

/// The default values are those of `machines/fermi.toml`.
impl Default for OverlappedConfig {
    fn default() -> Self {
        Self { miss_queue: 4, write_back_queue: 4, write_miss: WriteMiss::FetchPartial, fetch: FetchUnit::Line }
    }
}

impl OverlappedConfig {
    /// True if a mask records for each line which of its bytes are present.
    pub(super) fn has_byte_masks(&self) -> bool {
        self.write_miss == WriteMiss::ByteMask
    }

    /// True if a miss fetches sectors instead of whole lines.
    pub(super) fn is_by_sector(&self) -> bool {
        self.fetch != FetchUnit::Line
    }

    /// Checks all parameters of the flow.
    pub(in super::super::super) fn validate(&self, rules: &mut Rules) {
        let Self { miss_queue, write_back_queue, write_miss: _, fetch: _ } = *self;
        rules.range("miss_queue", miss_queue.into(), 1..=64, "a miss needs a queue entry");
        rules.range("write_back_queue", write_back_queue.into(), 1..=64, "a dirty victim needs a queue entry");
        rules.expect(
            self.has_byte_masks() || !self.is_by_sector(),
            "fetch",
            if self.fetch == FetchUnit::SectorPairs { "sector-pairs" } else { "sectors" },
            "line, or write_miss = \"byte-mask\"",
            "bytes written to a missing sector are kept under a byte mask",
        );
    }
}
