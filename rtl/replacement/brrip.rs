//! # Bimodal re-reference interval prediction (BRRIP)
//! Inserts lines with re-reference prediction value (RRPV) 3, the first to be evicted, but every 32nd line
//! with RRPV 2 (Jaleel et al., ISCA 2010).

use serde::{Deserialize, Serialize};

use super::rrip::{Bimodal, Insertion, RANK, Rrip, Rrpv};
use super::{Hooks, InsertedLine, RankShape, Scheme};
use crate::choice::CacheGeometry;
use crate::kernel::{Describe, Edge};

/// Configuration of BRRIP; it has no parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Brrip {}

#[typetag::serde(name = "brrip")]
impl Scheme for Brrip {
    fn rank(&self, _ways: u32) -> RankShape {
        RANK
    }

    fn hardware(&self, _place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Rrip::new(Bimodal::default())))
    }
}

#[typetag::serde]
impl Insertion for Bimodal {
    fn start(&mut self, _at: &Edge<'_>, _newcomer: &InsertedLine) -> Rrpv {
        self.insert()
    }

    fn describe(&self, to: &mut dyn Describe) {
        Self::describe(*self, to);
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{ANY, Bench};
    use super::*;

    #[test]
    fn brrip_starts_every_32nd_line_nearer() {
        let mut bench = Bench::new(Brrip {}, 1);
        let near: Vec<_> = (1..=96).filter(|_| bench.start((0, 0), false, ANY) == 2).collect();
        assert_eq!(near, [32, 64, 96]);
    }
}
