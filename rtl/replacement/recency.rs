//! # LRU order with a choice of the insertion position
//! Implements the common rules of LIP, BIP and DIP (Qureshi et al., ISCA 2007, section 4). A rank is a
//! position in LRU order, and a hit moves the line to the front of the order. The policies differ from LRU
//! only in the position at which a line is inserted: at the front (most recently used) or at the end (least
//! recently used). A line that is inserted at the end and not used is the next victim of its set.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use super::{Hooks, InsertedLine, RankShape, Source, Ways};
use crate::kernel::{Describe, Edge};

/// Returns the name of a rank that is a position in LRU order, and its width in bits for sets of `ways` ways.
#[must_use]
pub fn rank(ways: u32) -> RankShape {
    RankShape { name: "lru", bits: ways.next_power_of_two().ilog2() }
}

/// Rule that selects the position in LRU order at which a line is inserted.
#[typetag::serde]
pub trait Position: Debug + Send {
    /// True if an inserted line becomes the most recently used one; if false, it becomes the least recently
    /// used one.
    fn is_front(&mut self, inserted: &InsertedLine) -> bool;

    /// Adds to the hardware description: the registers and the logic of the rule.
    fn describe(&self, _to: &mut dyn Describe) {}
}

/// Policy that keeps the lines of a set in LRU order. Inserts each line as the most or as the least recently
/// used one, as its rule selects.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecencyOrder(Box<dyn Position>);

impl RecencyOrder {
    /// Creates a policy that inserts lines by the rule `position`.
    #[must_use]
    pub fn new(position: impl Position + 'static) -> Self {
        Self(Box::new(position))
    }
}

#[typetag::serde]
impl Hooks for RecencyOrder {
    fn reset(&self, way: u32) -> u8 {
        way as u8
    }

    fn on_hit(&mut self, _at: &Edge<'_>, (_, way): (u32, u32), _source: Source, ranks: &mut [u8]) {
        to_front(ranks, way as usize);
    }

    fn on_insert(&mut self, _at: &Edge<'_>, inserted: &InsertedLine, _may_go: &Ways, ranks: &mut [u8]) {
        let way = inserted.way as usize;
        if self.0.is_front(inserted) { to_front(ranks, way) } else { to_end(ranks, way) }
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.0.describe(to);
    }
}

/// Makes `way` the most recently used way, with rank 0.
fn to_front(ranks: &mut [u8], way: usize) {
    let old = ranks[way];
    ranks.iter_mut().for_each(|rank| *rank += u8::from(*rank < old));
    ranks[way] = 0;
}

/// Makes `way` the least recently used way, with the highest rank.
fn to_end(ranks: &mut [u8], way: usize) {
    let old = ranks[way];
    ranks.iter_mut().for_each(|rank| *rank -= u8::from(*rank > old));
    ranks[way] = (ranks.len() - 1) as u8;
}
