//! # Cache-conscious wavefront scheduling
//! CCWS (Rogers et al., "Cache-conscious wavefront scheduling", MICRO 2012), with which khairy2015 section 5
//! compares its own scheme. Victim tags in the L1D detect that a warp misses a line that it had fetched
//! before and that was then evicted. Each such miss raises the score of the warp for some time. While the
//! scores are high, only the warps with the highest scores may issue loads.

pub mod scores;
pub mod victims;

use serde::{Deserialize, Serialize};

use self::scores::Scores;
use self::victims::Victims;
use super::{CorePlace, Hooks, L1Place, Losses, Scheme};
use crate::config::Rules;

/// Parameters of cache-conscious wavefront scheduling (CCWS).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CcwsConfig {
    /// Number of victim tags per warp, which hold the lines that the warp lost most recently (khairy2015
    /// Table 4: 16).
    pub victims: u32,
    /// Associativity of the victim tags of a warp (khairy2015 Table 4: 8).
    pub victim_ways: u32,
    /// Score of a warp that has not lost locality recently (khairy2015 Table 4: 100).
    pub base_score: u32,
    /// Weight of lost-locality events. They raise a score by an amount that is proportional to `k` and to
    /// their number per issued instruction (khairy2015 Table 4: 8).
    pub k: u32,
}

impl CcwsConfig {
    /// Parameter values of khairy2015 Table 4.
    pub const KHAIRY2015: Self = Self { victims: 16, victim_ways: 8, base_score: 100, k: 8 };
}

impl Default for CcwsConfig {
    fn default() -> Self {
        Self::KHAIRY2015
    }
}

#[typetag::serde(name = "ccws")]
impl Scheme for CcwsConfig {
    fn core(&self, place: &CorePlace<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Scores::new(self, place.warps)))
    }

    fn l1(&self, place: &L1Place<'_>) -> Option<Box<dyn Losses>> {
        Some(Box::new(Victims::new(self, place)))
    }

    fn validate(&self, _num_sms: u32, rules: &mut Rules) {
        let Self { victims, victim_ways, base_score, k } = self;
        rules.range("victim_ways", u64::from(*victim_ways), 1..=64, "a set is searched in one cycle");
        let sets = victims / (*victim_ways).max(1);
        rules.expect(
            sets.is_power_of_two() && sets * victim_ways == *victims && *victims <= 1024,
            "victims",
            victims,
            "a power of two times `victim_ways`, at most 1024",
            "the set is a bit field of the line address",
        );
        rules.range("base_score", u64::from(*base_score), 1..=1000, "a score has 18 bits");
        rules.range("k", u64::from(*k), 1..=1000, "a score has 18 bits");
    }
}
