//! # The better of static and bimodal prediction
//! Four sets lead, a quarter of the sets apart: two with each policy. The others follow the one that misses less there.

use serde::{Deserialize, Serialize};

use super::rrip::{Bimodal, LONG, RANK, Rrip, Start};
use super::{Hooks, Newcomer, RankShape, Scheme};
use crate::choice::Place;
use crate::config::Rules;
use crate::kernel::{Describe, Edge, FieldsExt, Logic};

const CHOICE_BITS: u32 = 10;
const CHOICE_MAX: u16 = (1 << CHOICE_BITS) - 1;
/// From here on the bimodal policy has missed less.
const CHOICE_MIDDLE: u16 = 1 << (CHOICE_BITS - 1);

/// It has no keys.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drrip {}

#[typetag::serde(name = "drrip")]
impl Scheme for Drrip {
    fn rank(&self, _ways: u32) -> RankShape {
        RANK
    }

    fn hardware(&self, place: &Place<'_>) -> Option<Box<dyn Hooks>> {
        let dynamic = Dynamic { sets: place.sets, bimodal: Bimodal::default(), choice: CHOICE_MIDDLE };
        Some(Box::new(Rrip(dynamic)))
    }

    fn validate(&self, sets: u32, rules: &mut Rules) {
        rules.expect(
            sets >= 8,
            "kind",
            format!("drrip with {sets} sets"),
            "8 sets or more",
            "two sets lead for each of the two policies, and others follow",
        );
    }
}

/// The policy.
#[derive(Clone, Debug)]
struct Dynamic {
    sets: u32,
    bimodal: Bimodal,
    /// Misses in sets that lead for static prediction, less those in sets that lead for bimodal.
    choice: u16,
}

impl Start for Dynamic {
    fn start(&mut self, _at: &Edge<'_>, newcomer: &Newcomer) -> u8 {
        let (half, quarter) = (self.sets / 2, self.sets / 4);
        let is_static = match newcomer.set % half {
            0 => {
                self.choice = (self.choice + 1).min(CHOICE_MAX);
                true
            }
            place if place == quarter => {
                self.choice = self.choice.saturating_sub(1);
                false
            }
            _ => self.choice < CHOICE_MIDDLE,
        };
        if is_static { LONG } else { self.bimodal.insert() }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { sets: _, bimodal, choice } = self;
        bimodal.describe(to);
        to.sized("choice", u64::from(*choice), CHOICE_BITS);
        to.logic("choice_step", Logic::Adder { width: CHOICE_BITS });
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{ANY, Bench};
    use super::*;

    #[test]
    fn drrip_follows_the_leaders_that_miss_less() {
        let mut bench = Bench::new(Drrip {}, 32);
        // A tie goes to the bimodal policy.
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
        let why = "two sets lead for each of the two policies, and others follow";
        assert_eq!(found, [format!("kind is drrip with 4 sets, expected 8 sets or more: {why}")]);
    }
}
