//! Configuration of the sharing tracker.

use serde::{Deserialize, Serialize};

use crate::cells::lru::MAX_WAYS;
use crate::config::{Rules, Side};

/// Whether there is a tracker, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrackerScheme {
    /// None.
    Off,
    /// The one that anssari2012 section 3.2 finds fault with: a writer may be supplied with what the line
    /// was before.
    Naive,
    /// The one of anssari2012 section 3.2: what is written is supplied by nobody who read it before.
    Corrected,
}

impl TrackerScheme {
    /// What it does for the sake of those who write.
    #[must_use]
    pub fn protections(self) -> Protections {
        let all = self == Self::Corrected;
        Protections { stores: all, coherent: all, fills: all }
    }
}

/// What keeps a compute unit from being supplied with older bytes than it may see. Testbenches take each
/// away by itself, to show what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Protections {
    /// A store takes its line from the tracker.
    pub stores: bool,
    /// A coherent operation does.
    pub coherent: bool,
    /// A line on its way while it is taken from the tracker is not listed when it arrives.
    pub fills: bool,
}

/// What an entry knows of the L1s that hold its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SharerList {
    /// A bit for each.
    All,
    /// The number of the one that got it last.
    Last,
}

/// Which loads that miss in their L1 are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Probes {
    /// All (anssari2012 section 3.5).
    All,
    /// Those whose lines will stay there; the others go to the L2 at once (anssari2012 section 3.3, as it reads
    /// without section 3.5).
    Kept,
}

/// The sharing tracker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrackerConfig {
    /// Whether there is one.
    pub scheme: TrackerScheme,
    /// Trackers, each of which serves its part of the SMs and asks no other (anssari2012 section 4.3).
    pub count: u32,
    /// Sets of a bank, which the trackers share out (anssari2012 Table 4.1: 1024 in 8 banks).
    pub sets: u32,
    /// Ways of a set (anssari2012 Table 4.1: 8).
    pub ways: u32,
    /// What an entry holds (anssari2012 Table 4.1: 1 or 16 sharers).
    pub sharers: SharerList,
    /// Which loads that miss in their L1 are looked up.
    pub probes: Probes,
    /// Loads of a bank that are on their way to a supplier, or whose lines are to be listed.
    pub transfers: u32,
}

impl TrackerConfig {
    /// True if there is one.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.scheme != TrackerScheme::Off
    }

    /// SMs that each tracker serves, of so many; the last may serve fewer.
    #[must_use]
    pub fn served(&self, num_sms: u32) -> u32 {
        num_sms.div_ceil(self.count)
    }

    /// Checks the fields in a machine of `num_sms`.
    pub fn validate(&self, num_sms: u32, rules: &mut Rules) {
        let (count, why) = (self.count, "each of them serves an SM");
        rules.range("count", count.into(), 1..=8, why);
        if !rules.is_broken("count") {
            let sides = [
                Side::new("count", count, format!("1 to {num_sms}")),
                Side::new("super.num_sms", num_sms, format!("{count} or more with tracker.count = {count}")),
            ];
            rules.between(num_sms == 0 || count <= num_sms, sides, why);
        }
        let least = u64::from(self.count.clamp(1, 8).next_power_of_two());
        rules.power_of_two("sets", self.sets.into(), least..=65_536, "the index is a bit field, and each has a set");
        rules.expect(
            self.count.is_power_of_two(),
            "count",
            self.count,
            "a power of two",
            "trackers share out the sets, whose numbers are bit fields",
        );
        rules.range("ways", self.ways.into(), 1..=MAX_WAYS.into(), "the recency of a set is 5 bits a way at most");
        rules.range("transfers", self.transfers.into(), 1..=64, "one bit a row");
    }
}
