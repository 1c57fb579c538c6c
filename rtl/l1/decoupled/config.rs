//! Configuration of the decoupled tag store: the parameters of li2015, and options for behavior that the
//! paper leaves open.

use arbitrary_int::traits::Integer;
use serde::{Deserialize, Serialize};

use super::entry::Count;
use crate::config::Rules;

/// Configuration of the decoupled tag store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecoupledConfig {
    /// Number of tags per set.
    pub tag_ways: u32,
    /// Reference count at which a line is admitted to the data array; 0 admits every line.
    pub threshold: u32,
    /// Comparison between a line's reference count and the threshold.
    pub threshold_cmp: Comparison,
    /// Reference count after the first load of a line.
    pub rc_init: u32,
    /// Amount by which the counts of all other tags of the set decrease when an access evicts one line and
    /// admits another.
    pub age_mode: AgeMode,
    /// Tags of a set that can be replaced by the tag of a new candidate, which is a line without a data way.
    pub tag_victim: TagVictim,
    /// True if the counts of the other tags of the set also decrease when a store or a recall drops a line,
    /// as they do when a line is evicted.
    pub store_evict_ages: bool,
    /// Extra latency of a tag probe in core cycles, because a set has more tags than in an ordinary L1D. It
    /// does not apply in the original mode of `l1.dueling`, which has the latency of the baseline (li2015
    /// section 4.3 and Table 3).
    pub probe_extra: u32,
}

/// Comparison between a reference count and the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Comparison {
    /// Admits a line once its count reaches the threshold.
    AtLeast,
    /// Admits a line once its count exceeds the threshold.
    Above,
}

/// Amount by which the counts of all other tags of the set decrease when an access evicts one line and admits
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgeMode {
    /// By one, although the access both evicts a line and admits a line.
    Once,
    /// By two: one for the evicted line and one for the admitted line.
    Twice,
}

/// Tags of a set that can be replaced by the tag of a new candidate, which is a line without a data way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TagVictim {
    /// Only tags of other candidates, which are lines without data.
    Candidate,
    /// Tags of other candidates and of clean lines. A clean line whose tag is replaced loses its data.
    Any,
}

impl DecoupledConfig {
    /// Parameters of Table 3 and section 6.5 of li2015.
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
