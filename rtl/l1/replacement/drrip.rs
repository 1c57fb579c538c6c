//! # Dynamic re-reference interval prediction (DRRIP)
//! Uses the better of static and bimodal RRIP, by set dueling. Four leader sets lie a quarter of the sets
//! apart, two for each policy. All other sets follow the policy whose leaders miss less.

use arbitrary_int::traits::Integer;
use arbitrary_int::u10;
use serde::{Deserialize, Serialize};

use super::rrip::{Bimodal, Insertion, LONG, RANK, Rrip, Rrpv};
use super::{Hooks, InsertedLine, RankShape, Scheme};
use crate::choice::CacheGeometry;
use crate::config::Rules;
use crate::kernel::{Describe, Edge, FieldsExt, Logic, bits_of};

/// Saturating counter that selects the policy with fewer misses.
type Selector = u10;

/// Smallest count at which the followers use the bimodal policy.
const MIDDLE: Selector = Selector::new(Selector::MAX.value() / 2 + 1);

/// Configuration of DRRIP; it has no keys.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drrip {}

#[typetag::serde(name = "drrip")]
impl Scheme for Drrip {
    fn rank(&self, _ways: u32) -> RankShape {
        RANK
    }

    fn hardware(&self, place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        let dynamic = Dynamic { sets: place.sets, bimodal: Bimodal::default(), choice: MIDDLE };
        Some(Box::new(Rrip::new(dynamic)))
    }

    fn validate(&self, sets: u32, rules: &mut Rules) {
        rules.expect(
            sets >= 8,
            "kind",
            format!("drrip with {sets} sets"),
            "8 sets or more",
            "each of the two policies has two leader sets, and the others follow",
        );
    }
}

/// Set dueling between static and bimodal insertion.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Dynamic {
    sets: u32,
    bimodal: Bimodal,
    /// Misses in the leader sets of static RRIP minus misses in those of bimodal RRIP, starting at `MIDDLE`.
    choice: Selector,
}

#[typetag::serde]
impl Insertion for Dynamic {
    fn start(&mut self, _at: &Edge<'_>, newcomer: &InsertedLine) -> Rrpv {
        let (half, quarter) = (self.sets / 2, self.sets / 4);
        let is_static = match newcomer.set % half {
            0 => {
                self.choice = self.choice.saturating_add(Selector::new(1));
                true
            }
            place if place == quarter => {
                self.choice = self.choice.saturating_sub(Selector::new(1));
                false
            }
            _ => self.choice < MIDDLE,
        };
        if is_static { LONG } else { self.bimodal.insert() }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { sets: _, bimodal, choice } = self;
        bimodal.describe(to);
        to.bits("choice", *choice);
        to.logic("choice_step", Logic::Counter { width: bits_of::<Selector>() });
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{ANY, Bench};
    use super::*;

    #[test]
    fn drrip_follows_the_leaders_that_miss_less() {
        let mut bench = Bench::new(Drrip {}, 32);
        // On a tie, followers use the bimodal policy.
        assert_eq!(bench.start((1, 0), false, ANY), 3);
        for leader in [8, 24] {
            assert_eq!(bench.start((leader, 0), false, ANY), 3);
        }
        assert_eq!(bench.start((1, 0), false, ANY), 2);
        for leader in [0, 16] {
            assert_eq!(bench.start((leader, 0), false, ANY), 2);
        }
        assert_eq!(bench.start((1, 0), false, ANY), 3);
    }

    #[test]
    fn drrip_needs_sets_to_lead_and_to_follow() {
        let mut rules = Rules::default();
        Drrip {}.validate(4, &mut rules);
        let found: Vec<String> = rules.into_violations().iter().map(ToString::to_string).collect();
        let why = "each of the two policies has two leader sets, and the others follow";
        assert_eq!(found, [format!("kind is drrip with 4 sets, expected 8 sets or more: {why}")]);
    }
}
