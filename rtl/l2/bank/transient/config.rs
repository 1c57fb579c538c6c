//! Parameters of the transient miss flow of an L2 bank.

use serde::{Deserialize, Serialize};

use crate::config::Rules;

/// Tracking of the L1 copies of the bank's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coherence {
    /// No tracking: an L1 keeps its copy of a line that the bank evicts.
    None,
    /// Tracks the L1s that read each line; an eviction recalls the line from them (candel2018 section 3).
    Sharers,
}

/// Time at which the way for a line that was fetched into the Fetch and Replacement Cache (FRC) is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VictimBind {
    /// At the swap, which exchanges the fetched line with the old line of its way. The way is the least
    /// recently used one at that time.
    Swap,
    /// At the miss. The way is the least recently used one at that time, even if it is used again before the
    /// fetched line is swapped into it.
    Alloc,
}

/// Parameters of the Fetch and Replacement Cache (FRC) of a bank (candel2018 section 4).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct FrcConfig {
    /// Number of lines in the FRC (fetch and replacement cache; candel2018 section 5: 4 to 512). 0 means no
    /// FRC. Each set of the FRC has 8 lines; an FRC of fewer than 8 lines is a single set.
    pub entries: u32,
    /// Number of cycles for which a swap occupies the data memories. A swap exchanges a fetched line in the
    /// FRC (fetch and replacement cache) with the old line of its way. 0 means that swaps take no time and
    /// use separate ports.
    pub swap_latency: u32,
    /// Time at which the way for a line that was fetched into the FRC (fetch and replacement cache) is
    /// selected.
    pub victim_bind: VictimBind,
}

/// The default is no FRC (fetch and replacement cache), as in `machines/fermi.toml`.
impl Default for FrcConfig {
    fn default() -> Self {
        Self { entries: 0, swap_latency: 1, victim_bind: VictimBind::Swap }
    }
}

/// Maximum number of ways of the FRC (fetch and replacement cache; candel2018 section 5.2).
const FRC_WAYS: u32 = 8;

impl FrcConfig {
    /// Returns the number of ways per set of the FRC (fetch and replacement cache).
    #[must_use]
    pub fn ways(&self) -> u32 {
        self.entries.min(FRC_WAYS)
    }

    /// Returns the number of sets of the FRC (fetch and replacement cache); at least one, so that every line
    /// has a set number.
    #[must_use]
    pub fn sets(&self) -> u32 {
        (self.entries / FRC_WAYS).max(1)
    }

    fn validate(&self, bank_sets: u32, rules: &mut Rules) {
        let Self { entries, swap_latency, victim_bind: _ } = *self;
        rules.range("swap_latency", swap_latency.into(), 0..=63, "a swap exchanges two lines");
        if entries == 0 {
            return;
        }
        rules.power_of_two("entries", entries.into(), 1..=512, "the set index is a bit field; 0 means none");
        rules.expect(
            self.sets() <= bank_sets,
            "entries",
            entries,
            &format!("at most {}", bank_sets.saturating_mul(FRC_WAYS)),
            "its set index must be part of the bank's set index, or a line swapped out would be lost",
        );
    }
}

/// Parameters of the transient miss flow: the victim is evicted from its way before the fetch starts. No
/// other line can use the way until the new line has arrived (candel2018 section 3).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct TransientConfig {
    /// Number of requests that can wait for a way of their set.
    pub pending_queue: u32,
    /// True if reads can still hit a line while it is being evicted from its way (candel2018 section 3).
    pub serve_transient: bool,
    /// True if memory is notified of every eviction, clean or dirty, and an eviction completes when memory
    /// acknowledges it. If false, memory receives only dirty lines, and an eviction completes when the last
    /// burst is sent.
    pub acknowledged: bool,
    /// Tracking of the L1 copies of lines.
    pub coherence: Coherence,
    /// Fetch and Replacement Cache (FRC) of the bank.
    pub frc: FrcConfig,
}

/// Default values; no paper gives the length of the pending queue.
impl Default for TransientConfig {
    fn default() -> Self {
        let (coherence, frc) = (Coherence::None, FrcConfig::default());
        Self { pending_queue: 32, serve_transient: true, acknowledged: false, coherence, frc }
    }
}

impl TransientConfig {
    /// Checks all parameters of the flow for a bank with `sets` sets.
    pub(in super::super::super) fn validate(&self, sets: u32, rules: &mut Rules) {
        let Self { pending_queue, serve_transient: _, acknowledged: _, coherence: _, frc } = self;
        rules.range("pending_queue", u64::from(*pending_queue), 1..=512, "one line comparator per entry");
        rules.group("frc", |rules| frc.validate(sets, rules));
    }
}
