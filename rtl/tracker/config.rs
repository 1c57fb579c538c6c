//! Parameters of the sharing tracker.

use serde::{Deserialize, Serialize};

use crate::cells::lru::MAX_WAYS;
use crate::config::{Rules, Side};
use crate::replacement::{ReplacementConfig, StoreInfo};

/// Kind of sharing tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrackerScheme {
    /// The machine has no sharing tracker.
    Off,
    /// The tracker that anssari2012 section 3.2 criticizes: an SM can receive an older value of a line that
    /// it has written.
    Naive,
    /// The tracker of anssari2012 section 3.2: after a write to a line, no L1 that read the line before the
    /// write can supply it.
    Corrected,
}

impl TrackerScheme {
    /// Returns the protections against stale data that the tracker implements.
    #[must_use]
    pub fn protections(self) -> Protections {
        let all = self == Self::Corrected;
        Protections { stores: all, coherent: all, fills: all }
    }
}

/// Protections that keep an SM from receiving stale data. Testbenches disable them one by one, to show what
/// each protection prevents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protections {
    /// True if a store removes its line from the tracker.
    pub stores: bool,
    /// True if a coherent operation removes its line from the tracker.
    pub coherent: bool,
    /// True if a line that is removed from the tracker while in flight to an L1 is not listed when it
    /// arrives.
    pub fills: bool,
}

/// Information that an entry records about the L1s that hold its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SharerList {
    /// One bit per L1: all L1s that hold the line.
    All,
    /// Number of the L1 that received the line last.
    Last,
}

/// L1 load misses that probe the tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probes {
    /// All L1 load misses probe the tracker (anssari2012 section 3.5).
    All,
    /// Only load misses whose lines will be allocated in the L1 probe the tracker; all others go directly to
    /// the L2 (anssari2012 section 3.3, interpreted without section 3.5).
    Kept,
}

/// Parameters of the sharing tracker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrackerConfig {
    /// Kind of tracker, or `off` for none.
    pub scheme: TrackerScheme,
    /// Number of trackers. Each tracker serves a group of SMs and does not communicate with the other
    /// trackers (anssari2012 section 4.3).
    pub count: u32,
    /// Number of sets per bank, divided among the trackers (anssari2012 Table 4.1: 1024 in 8 banks).
    pub sets: u32,
    /// Number of ways (anssari2012 Table 4.1: 8).
    pub ways: u32,
    /// Replacement policy of the table entries. Accesses to the table carry no program counter, so policies
    /// with a `signature` need `"region"`.
    pub replacement: ReplacementConfig,
    /// Information that an entry records about its sharers (anssari2012 Table 4.1: 1 or 16 sharers).
    pub sharers: SharerList,
    /// L1 load misses that probe the tracker.
    pub probes: Probes,
    /// Maximum number of tracked loads per bank. A load is tracked while it is in flight to a supplier, or if
    /// its L1 will be listed as a sharer when the line arrives.
    pub transfers: u32,
}

impl TrackerConfig {
    /// True if the machine has a tracker.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.scheme != TrackerScheme::Off
    }

    /// Returns the number of SMs that each tracker serves in a machine with `num_sms` SMs; the last tracker
    /// may serve fewer.
    #[must_use]
    pub fn sms_per_tracker(&self, num_sms: u32) -> u32 {
        num_sms.div_ceil(self.count)
    }

    /// Checks the parameters, for a machine with `num_sms` SMs.
    pub fn validate(&self, num_sms: u32, rules: &mut Rules) {
        let (count, why) = (self.count, "each tracker serves at least one SM");
        rules.range("count", count.into(), 1..=8, why);
        if !rules.is_broken("count") {
            let sides = [
                Side::new("count", count, format!("1 to {num_sms}")),
                Side::new("super.num_sms", num_sms, format!("{count} or more with tracker.count = {count}")),
            ];
            rules.expect_relation(num_sms == 0 || count <= num_sms, sides, why);
        }
        let least = u64::from(self.count.clamp(1, 8).next_power_of_two());
        rules.power_of_two(
            "sets",
            self.sets.into(),
            least..=65_536,
            "the index is a bit field, and each tracker has at least one set",
        );
        rules.expect(
            self.count.is_power_of_two(),
            "count",
            self.count,
            "a power of two",
            "a bit field of the set number selects the tracker",
        );
        rules.range("ways", self.ways.into(), 1..=MAX_WAYS.into(), "the LRU order of a set has at most 5 bits per way");
        let store = StoreInfo { sets: self.sets / self.count.max(1), ways: self.ways, has_pc: false };
        rules.group("replacement", |rules| self.replacement.validate(&store, rules));
        rules.range("transfers", self.transfers.into(), 1..=64, "one bit per row");
    }
}
