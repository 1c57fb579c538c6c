//! # Re-reference interval prediction (RRIP)
//! Implements the common rules of the RRIP policies: a rank of two bits predicts how far in the future a line
//! will be used again. A hit sets the rank to 0. At an eviction, the ranks of all possible victims are
//! increased by the same amount, such that the victim has the maximum rank. Lines in flight cannot be
//! victims, and their ranks do not change. The policies differ only in the rank of an inserted line.

use std::fmt::Debug;

use arbitrary_int::traits::Integer;
use arbitrary_int::{u2, u5};
use serde::{Deserialize, Serialize};

use super::{Hooks, InsertedLine, RankShape, Source, Ways};
use crate::kernel::{Describe, Edge, FieldsExt, bits_of};

/// Re-reference prediction value (RRPV); tags store it as the replacement rank.
pub type Rrpv = u2;

/// Name and width of the RRPV as a replacement rank.
pub const RANK: RankShape = RankShape { name: "rrpv", bits: bits_of::<Rrpv>() };
/// Highest rank, which predicts reuse in the distant future or no reuse.
pub const DISTANT: Rrpv = Rrpv::MAX;
/// Rank at which static RRIP inserts a line; it predicts reuse after a long interval.
pub const LONG: Rrpv = Rrpv::new(2);

/// Insertion rule of an RRIP policy: selects the RRPV of each inserted line.
#[typetag::serde]
pub trait Insertion: Debug + Send {
    /// Updates the predictor of the insertion rule after a hit.
    fn on_hit(&mut self, _at: &Edge<'_>, _place: (u32, u32)) {}

    /// Returns the RRPV with which a line is inserted.
    fn start(&mut self, at: &Edge<'_>, inserted: &InsertedLine) -> Rrpv;

    /// Starts to maintain digests (hashes) of the array contents.
    fn record(&mut self) {}

    /// Adds to the hardware description: the registers, arrays and logic of the rule.
    fn describe(&self, _to: &mut dyn Describe) {}
}

/// RRIP policy, with its rule for the RRPV of inserted lines.
#[derive(Debug, Serialize, Deserialize)]
pub struct Rrip(Box<dyn Insertion>);

impl Rrip {
    /// Creates an RRIP policy with the insertion rule `start`.
    #[must_use]
    pub fn new(start: impl Insertion + 'static) -> Self {
        Self(Box::new(start))
    }
}

#[typetag::serde]
impl Hooks for Rrip {
    fn reset(&self, _way: u32) -> u8 {
        DISTANT.value()
    }

    fn on_hit(&mut self, at: &Edge<'_>, (set, way): (u32, u32), _source: Source, ranks: &mut [u8]) {
        self.0.on_hit(at, (set, way));
        ranks[way as usize] = 0;
    }

    fn on_insert(&mut self, at: &Edge<'_>, inserted: &InsertedLine, eligible: &Ways, ranks: &mut [u8]) {
        let rank = self.0.start(at, inserted);
        let way = inserted.way as usize;
        let rise = if inserted.evicts { DISTANT.value() - ranks[way] } else { 0 };
        for other in eligible.iter_ones() {
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

/// Counter of insertions modulo 32, for bimodal policies, which treat every 32nd inserted line differently.
/// Bimodal RRIP inserts every 32nd line with rank [`LONG`], and all other lines with rank [`DISTANT`].
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Bimodal(u5);

impl Bimodal {
    /// Counts an insertion. Returns true for every 32nd insertion.
    pub fn is_rare(&mut self) -> bool {
        self.0 = self.0.wrapping_add(u5::new(1));
        self.0 == u5::default()
    }

    /// Counts an insertion, and returns the rank of the inserted line under bimodal RRIP.
    pub fn insert(&mut self) -> Rrpv {
        if self.is_rare() { LONG } else { DISTANT }
    }

    /// Adds to the hardware description: the insertion counter.
    pub fn describe(self, to: &mut dyn Describe) {
        to.bits("bimodal", self.0);
    }
}
