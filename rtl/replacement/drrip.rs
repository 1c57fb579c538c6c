//! # Dynamic re-reference interval prediction (DRRIP)
//! Uses the better of static and bimodal RRIP, by set dueling (Jaleel et al., ISCA 2010). Each of the two
//! policies has two leader sets, and the four leader sets are evenly spaced over the cache. All other sets
//! follow the policy whose leader sets miss less.

use serde::{Deserialize, Serialize};

use super::dueling::{self, Duel};
use super::rrip::{Bimodal, Insertion, LONG, RANK, Rrip, Rrpv};
use super::{Hooks, InsertedLine, RankShape, Scheme, StoreInfo};
use crate::choice::CacheGeometry;
use crate::config::Rules;
use crate::kernel::{Describe, Edge};

/// Configuration of DRRIP; it has no parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drrip {}

#[typetag::serde(name = "drrip")]
impl Scheme for Drrip {
    fn rank(&self, _ways: u32) -> RankShape {
        RANK
    }

    fn hardware(&self, place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Rrip::new(Dynamic { bimodal: Bimodal::default(), duel: Duel::new(place.sets) })))
    }

    fn validate(&self, store: &StoreInfo, rules: &mut Rules) {
        dueling::validate("drrip", store, rules);
    }
}

/// Insertion rule of DRRIP: set dueling between static and bimodal RRIP insertion.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Dynamic {
    bimodal: Bimodal,
    duel: Duel,
}

#[typetag::serde]
impl Insertion for Dynamic {
    fn start(&mut self, _at: &Edge<'_>, inserted: &InsertedLine) -> Rrpv {
        if self.duel.uses_first(inserted.set) { LONG } else { self.bimodal.insert() }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { bimodal, duel } = self;
        bimodal.describe(to);
        duel.describe(to);
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{ANY, Bench};
    use super::*;

    #[test]
    fn drrip_follows_the_leaders_that_miss_less() {
        let mut bench = Bench::new(Drrip {}, 32);
        // On a tie of the leader sets, a follower set uses the bimodal policy, which inserts with RRPV 3.
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
        Drrip {}.validate(&StoreInfo { sets: 4, ways: 4, has_pc: true }, &mut rules);
        let found: Vec<String> = rules.into_violations().iter().map(ToString::to_string).collect();
        let why = "each of the two policies has two leader sets, and the others follow";
        assert_eq!(found, [format!("kind is drrip with 4 sets, expected 8 sets or more: {why}")]);
    }
}
