//! # Re-reference interval prediction
//! What the policies of this family share: a rank of two bits predicts how far off the next use of a line is. A use sets
//! it to 0. Before a line gives way, the lines that might have gone instead rise as far as it had left to the top; lines
//! on their way neither go nor rise. Policies differ in where a new line starts.

use std::fmt::Debug;

use arbitrary_int::traits::Integer;
use arbitrary_int::{u2, u5};
use serde::{Deserialize, Serialize};

use super::{Hooks, Newcomer, RankShape, Ways};
use crate::kernel::{Describe, Edge, FieldsExt, bits_of};

/// A re-reference prediction value. Tags hold it as they hold any policy's rank.
pub type Rrpv = u2;

/// Name and width of a rank.
pub const RANK: RankShape = RankShape { name: "rrpv", bits: bits_of::<Rrpv>() };
/// Highest rank: used again, if at all, in the distant future.
pub const DISTANT: Rrpv = Rrpv::MAX;
/// Where static prediction lets a line start.
pub const LONG: Rrpv = Rrpv::new(2);

/// Where new lines start.
#[typetag::serde]
pub trait Start: Debug + Send {
    /// A line was used.
    fn used(&mut self, _at: &Edge<'_>, _place: (u32, u32)) {}

    /// The rank of a new line.
    fn start(&mut self, at: &Edge<'_>, newcomer: &Newcomer) -> Rrpv;

    /// Starts to keep digests of arrays.
    fn record(&mut self) {}

    /// Lists registers, arrays and logic.
    fn describe(&self, _to: &mut dyn Describe) {}
}

/// A policy of the family.
#[derive(Debug, Serialize, Deserialize)]
pub struct Rrip(Box<dyn Start>);

impl Rrip {
    /// The policy whose lines start so.
    #[must_use]
    pub fn new(start: impl Start + 'static) -> Self {
        Self(Box::new(start))
    }
}

#[typetag::serde]
impl Hooks for Rrip {
    fn reset(&self, _way: u32) -> u8 {
        DISTANT.value()
    }

    fn used(&mut self, at: &Edge<'_>, (set, way): (u32, u32), ranks: &mut [u8]) {
        self.0.used(at, (set, way));
        ranks[way as usize] = 0;
    }

    fn came(&mut self, at: &Edge<'_>, newcomer: &Newcomer, may_go: &Ways, ranks: &mut [u8]) {
        let rank = self.0.start(at, newcomer);
        let way = newcomer.way as usize;
        let rise = if newcomer.evicts { DISTANT.value() - ranks[way] } else { 0 };
        for other in may_go.iter_ones() {
            ranks[other] += rise;
        }
        ranks[way] = rank.value();
    }

    fn record(&mut self) {
        self.0.record();
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.0.describe(to);
    }
}

/// Insertions modulo 32, of which one a round starts at [`LONG`].
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Bimodal(u5);

impl Bimodal {
    /// Where the next line starts.
    pub fn insert(&mut self) -> Rrpv {
        self.0 = self.0.wrapping_add(u5::new(1));
        if self.0 == u5::default() { LONG } else { DISTANT }
    }

    /// Lists the count.
    pub fn describe(self, to: &mut dyn Describe) {
        to.bits("bimodal", self.0);
    }
}
