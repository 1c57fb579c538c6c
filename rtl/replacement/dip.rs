//! # Dynamic insertion (DIP)
//! Uses the better of LRU and bimodal insertion, by set dueling (Qureshi et al., ISCA 2007, section 5). Each
//! of the two policies has two leader sets, and the four leader sets are evenly spaced over the cache. All
//! other sets follow the policy whose leader sets miss less.

use serde::{Deserialize, Serialize};

use super::dueling::{self, Duel};
use super::recency::{Position, RecencyOrder, rank};
use super::rrip::Bimodal;
use super::{Hooks, InsertedLine, RankShape, Scheme, StoreInfo};
use crate::choice::CacheGeometry;
use crate::config::Rules;
use crate::kernel::Describe;

/// Configuration of DIP; it has no parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dip {}

#[typetag::serde(name = "dip")]
impl Scheme for Dip {
    fn rank(&self, ways: u32) -> RankShape {
        rank(ways)
    }

    fn hardware(&self, place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        let dynamic = DynamicPosition { bimodal: Bimodal::default(), duel: Duel::new(place.sets) };
        Some(Box::new(RecencyOrder::new(dynamic)))
    }

    fn validate(&self, store: &StoreInfo, rules: &mut Rules) {
        dueling::validate("dip", store, rules);
    }
}

/// Insertion rule of DIP: set dueling between insertion as the most recently used line and bimodal insertion.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct DynamicPosition {
    bimodal: Bimodal,
    duel: Duel,
}

#[typetag::serde]
impl Position for DynamicPosition {
    fn is_front(&mut self, inserted: &InsertedLine) -> bool {
        self.duel.uses_first(inserted.set) || self.bimodal.is_rare()
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
    fn dip_follows_the_leaders_that_miss_less() {
        let mut bench = Bench::new(Dip {}, 32);
        let mut insert = |set| {
            let inserted = InsertedLine { set, way: 1, evicts: true, source: ANY };
            bench.on_insert(inserted, None, [0, 1, 2, 3])[1]
        };
        // On a tie of the leader sets, a follower set uses the bimodal policy, which inserts the line at
        // position 3, the least recently used one.
        assert_eq!(insert(1), 3);
        assert_eq!([8, 24].map(&mut insert), [3, 3]);
        assert_eq!(insert(1), 0);
        assert_eq!([0, 16].map(&mut insert), [0, 0]);
        assert_eq!(insert(1), 3);
    }
}
