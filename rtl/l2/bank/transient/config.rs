//! Keys of the transient flow.

use serde::{Deserialize, Serialize};

use crate::config::Rules;

/// What a bank knows of the copies that L1s have of its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coherence {
    /// Nothing: an L1 keeps its copy of a line that leaves the bank.
    None,
    /// Which L1s have read each line: it is recalled from them when it leaves (candel2018 section 3).
    Sharers,
}

/// When a line that was fetched into the FRC is given the way that it will take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VictimBind {
    /// When it is swapped in: the way unused for longest by then.
    Swap,
    /// When it misses: the way unused for longest at that time, whatever comes between.
    Alloc,
}

/// Parameters of the Fetch and Replacement Cache of a bank (candel2018 section 4).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct FrcConfig {
    /// Lines in it, 8 a set or a single set of fewer (candel2018 section 5: 4 to 512); 0 for no FRC.
    pub entries: u32,
    /// Cycles in which a swap has the data memories; 0 gives it ports of its own.
    pub swap_latency: u32,
    /// When a line is given its way.
    pub victim_bind: VictimBind,
}

/// None, as in `machines/fermi.toml`.
impl Default for FrcConfig {
    fn default() -> Self {
        Self { entries: 0, swap_latency: 1, victim_bind: VictimBind::Swap }
    }
}

/// Ways of the FRC (candel2018 section 5.2).
const FRC_WAYS: u32 = 8;

impl FrcConfig {
    /// Ways of a set.
    #[must_use]
    pub fn ways(&self) -> u32 {
        self.entries.min(FRC_WAYS)
    }

    /// Sets; one at least, so that a set number always exists.
    #[must_use]
    pub fn sets(&self) -> u32 {
        (self.entries / FRC_WAYS).max(1)
    }

    fn validate(&self, bank_sets: u32, rules: &mut Rules) {
        let Self { entries, swap_latency, victim_bind: _ } = *self;
        rules.range("swap_latency", swap_latency.into(), 0..=63, "two lines change places");
        if entries == 0 {
            return;
        }
        rules.power_of_two("entries", entries.into(), 1..=512, "the set index is a bit field; 0 means none");
        rules.expect(
            self.sets() <= bank_sets,
            "entries",
            entries,
            &format!("{} at most", bank_sets.saturating_mul(FRC_WAYS)),
            "its set index is part of the bank's, or a line swapped out could not be found again",
        );
    }
}

/// A line that gives way leaves from its way, which is closed to others until it is gone and its successor is here: the
/// fetch follows the eviction (candel2018 section 3).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransientConfig {
    /// Requests waiting for a way of their set.
    pub pending_queue: u32,
    /// Reads find a line in its way until it is gone (candel2018 section 3).
    pub serve_transient: bool,
    /// Memory hears of every line that leaves, which is gone when that is acknowledged; else of those that it must write,
    /// which are gone when their last burst is on its way.
    pub acknowledged: bool,
    /// What the bank knows of copies in L1s.
    pub coherence: Coherence,
    /// Fetch and Replacement Cache.
    pub frc: FrcConfig,
}

/// No paper gives the length of the queue.
impl Default for TransientConfig {
    fn default() -> Self {
        let (coherence, frc) = (Coherence::None, FrcConfig::default());
        Self { pending_queue: 32, serve_transient: true, acknowledged: false, coherence, frc }
    }
}

impl TransientConfig {
    /// Checks every key, for a bank of `sets` sets.
    pub(in super::super::super) fn validate(&self, sets: u32, rules: &mut Rules) {
        let Self { pending_queue, serve_transient: _, acknowledged: _, coherence: _, frc } = self;
        rules.range("pending_queue", u64::from(*pending_queue), 1..=512, "one line comparator an entry");
        rules.group("frc", |rules| frc.validate(sets, rules));
    }
}
