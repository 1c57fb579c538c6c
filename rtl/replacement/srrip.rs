//! # Static re-reference interval prediction (SRRIP)
//! Inserts every line with re-reference prediction value (RRPV) 2 of at most 3 (Jaleel et al., ISCA 2010).

use serde::{Deserialize, Serialize};

use super::rrip::{Insertion, LONG, RANK, Rrip, Rrpv};
use super::{Hooks, InsertedLine, RankShape, Scheme};
use crate::choice::CacheGeometry;
use crate::kernel::Edge;

/// Configuration of SRRIP; it has no parameters. The policy has no learned state.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Srrip {}

#[typetag::serde(name = "srrip")]
impl Scheme for Srrip {
    fn rank(&self, _ways: u32) -> RankShape {
        RANK
    }

    fn hardware(&self, _place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Rrip::new(*self)))
    }
}

#[typetag::serde]
impl Insertion for Srrip {
    fn start(&mut self, _at: &Edge<'_>, _newcomer: &InsertedLine) -> Rrpv {
        LONG
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{ANY, Bench};
    use super::*;

    #[test]
    fn srrip_starts_lines_at_2_and_raises_the_others_by_what_the_victim_had_left() {
        let inserted = InsertedLine { set: 0, way: 1, evicts: true, source: ANY };
        // The line in way 3 is in flight, so its rank does not change.
        assert_eq!(Bench::new(Srrip {}, 1).on_insert(inserted, Some(3), [0, 2, 1, 1]), [1, 2, 2, 1]);
    }
}
