//! Configuration of the decoupled tag store: what li2015 states, and what it leaves open.

use arbitrary_int::traits::Integer;
use serde::{Deserialize, Serialize};

use super::entry::Count;
use crate::config::Rules;

/// The decoupled tag store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecoupledConfig {
    /// Tags of a set.
    pub tag_ways: u32,
    /// Count at which a line is admitted; 0 admits every line.
    pub threshold: u32,
    /// Whether reaching the threshold is enough.
    pub threshold_cmp: Comparison,
    /// Count of a line asked for the first time.
    pub rc_init: u32,
    /// How often an access ages the other tags.
    pub age_mode: AgeMode,
    /// Which tags may go.
    pub tag_victim: TagVictim,
    /// Whether a line lost to a store ages the other tags as an evicted one does.
    pub store_evict_ages: bool,
    /// Cycles that probing more tags takes longer, in an L1D that uses them: in the original mode it is the
    /// baseline's (li2015 section 4.3 and Table 3).
    pub probe_extra: u32,
}

/// How a count is compared with the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Comparison {
    /// Admitted once the count reaches the threshold.
    AtLeast,
    /// Admitted once the count exceeds it.
    Above,
}

/// How often an access ages the other tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgeMode {
    /// Once, even if one line goes and another comes.
    Once,
    /// Once for the line that goes and once for the one that comes.
    Twice,
}

/// Which tags may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TagVictim {
    /// Candidates.
    Candidate,
    /// Those with clean data too, which lose their places then.
    Any,
}

impl DecoupledConfig {
    /// Table 3 and section 6.5 of li2015.
    pub const LI2015: Self = Self {
        tag_ways: 8,
        threshold: 2,
        threshold_cmp: Comparison::AtLeast,
        rc_init: 0,
        age_mode: AgeMode::Once,
        tag_victim: TagVictim::Candidate,
        store_evict_ages: true,
        probe_extra: 1,
    };

    /// Checks every field.
    pub fn validate(&self, rules: &mut Rules) {
        let most = u64::from(Count::MAX);
        rules.range("tag_ways", u64::from(self.tag_ways), 1..=1024, "a set is read in one cycle");
        rules.range("threshold", u64::from(self.threshold), 0..=most, "counts have 6 bits (li2015 section 4.1)");
        rules.range("rc_init", u64::from(self.rc_init), 0..=most, "counts have 6 bits (li2015 section 4.1)");
        rules.range("probe_extra", u64::from(self.probe_extra), 0..=1, "the probe has one or two stages");
    }
}
