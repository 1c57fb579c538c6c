//! # Tree pseudo-LRU
//! Approximates LRU with one bit per inner node of a binary tree over the ways of a set (PLRUt in Al-Zoubi et
//! al., ACM Southeast Conference 2004). Each bit points to the half of its subtree that was used less
//! recently. A hit or an insertion makes the bits on the path to the used way point away from that way. To
//! find the victim, the search starts at the root and follows the bits. If all lines of a half are in flight,
//! the search takes the other half, whatever the bit.
//!
//! Number of state bits per set: the number of ways, rounded up to a power of two, minus one. The rank of a
//! way is derived from this state. It has one bit per level of the tree; the bit of the root is the most
//! significant one. A bit is 1 if the pointer at this level leads to the half that contains the way. Thus the
//! way to which all pointers lead has the highest rank. Ranks are not stored.

use serde::{Deserialize, Serialize};

use super::{Hooks, InsertedLine, RankShape, Scheme, Source, StoreInfo, Ways};
use crate::choice::CacheGeometry;
use crate::config::Rules;
use crate::kernel::{Array, ArraySpec, Collide, Describe, Edge, Fields, FieldsExt, Logic, Payload, Storage};

/// Largest number of ways of a set under tree pseudo-LRU.
const MOST_WAYS: u32 = 64;

/// Configuration of tree pseudo-LRU; it has no parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreePlru {}

#[typetag::serde(name = "tree-plru")]
impl Scheme for TreePlru {
    fn rank(&self, _ways: u32) -> RankShape {
        RankShape { name: "plru", bits: 0 }
    }

    fn hardware(&self, place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        let spec = ArraySpec {
            path: format!("{}.tree_plru", place.path),
            storage: Storage::Sram,
            rows: place.sets,
            columns: 1,
            reads: 1,
            writes: 1,
            collide: Collide::New,
        };
        let leaves = place.ways.next_power_of_two();
        Some(Box::new(Tree { leaves, nodes: Array::new(spec, leaves) }))
    }

    fn validate(&self, store: &StoreInfo, rules: &mut Rules) {
        rules.expect(
            store.ways <= MOST_WAYS,
            "kind",
            format!("tree-plru with {} ways", store.ways),
            "at most 64 ways; more sets instead",
            "the nodes of a set are one word",
        );
    }

    fn learns(&self) -> bool {
        true
    }
}

/// Tree bits of a set, numbered as in a heap: the root is bit 1, and the children of node `n` are `2n` and
/// `2n + 1`. A bit of 1 points to the second child. The leaves are the ways; their number is rounded up to a
/// power of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Nodes(u64);

impl Payload for Nodes {
    type Shape = u32;
    fn fields<F: Fields + ?Sized>(&self, leaves: &u32, to: &mut F) {
        if *leaves > 1 {
            to.sized("nodes", self.0 >> 1, leaves - 1);
        }
    }
}

impl Nodes {
    /// Returns the tree bits after a use of `way`.
    fn use_way(self, way: u32, leaves: u32) -> Self {
        let (mut nodes, mut child) = (self.0, leaves + way);
        while child > 1 {
            let (parent, is_second) = (child / 2, child % 2);
            nodes = nodes & !(1 << parent) | u64::from(1 - is_second) << parent;
            child = parent;
        }
        Self(nodes)
    }

    /// Returns the rank of a way, derived from the tree bits. The way with the highest rank is evicted next.
    fn rank(self, way: u32, leaves: u32) -> u8 {
        let depth = leaves.ilog2();
        (0..depth).rev().fold(0, |rank, level| {
            let child = (leaves + way) >> level;
            let leads_here = self.0 >> (child / 2) & 1 == u64::from(child % 2);
            rank << 1 | u8::from(leads_here)
        })
    }
}

/// Trees of all sets of a cache.
#[derive(Debug, Serialize, Deserialize)]
struct Tree {
    leaves: u32,
    nodes: Array<Nodes>,
}

impl Tree {
    fn use_way(&mut self, at: &Edge<'_>, (set, way): (u32, u32), ranks: &mut [u8]) {
        let nodes = self.nodes.read_cell(at, set, 0).use_way(way, self.leaves);
        self.nodes.write(at, set, 0, nodes);
        for (way, rank) in (0..).zip(ranks) {
            *rank = nodes.rank(way, self.leaves);
        }
    }
}

#[typetag::serde(name = "tree-plru")]
impl Hooks for Tree {
    /// Returns the initial rank of `way`. These ranks give the same eviction order as tree bits that are all
    /// 0.
    fn reset(&self, way: u32) -> u8 {
        u8::MAX - way as u8
    }

    fn on_hit(&mut self, at: &Edge<'_>, place: (u32, u32), _source: Source, ranks: &mut [u8]) {
        self.use_way(at, place, ranks);
    }

    fn on_insert(&mut self, at: &Edge<'_>, inserted: &InsertedLine, _may_go: &Ways, ranks: &mut [u8]) {
        self.use_way(at, (inserted.set, inserted.way), ranks);
    }

    fn record(&mut self) {
        self.nodes.record();
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { leaves, nodes } = self;
        // A set with one way has no inner nodes, and so no tree bits.
        if *leaves > 1 {
            to.array("tree_plru", nodes);
            to.logic("path", Logic::Decoder { outputs: *leaves });
            // A node selects the half to which its bit points. If only the other half has an eligible way,
            // the node selects the other half.
            to.logic("eligible", Logic::Gates { count: 4 * (leaves - 1) });
            to.logic("pointed", Logic::Mux { ways: 2, width: leaves - 1 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{ANY, Bench};
    use super::*;

    /// Returns the ways of a set in the order in which they would be evicted: the way with the highest rank
    /// first.
    fn victims(ranks: [u8; 4]) -> [usize; 4] {
        let mut ways = [0, 1, 2, 3];
        ways.sort_by_key(|&way| std::cmp::Reverse(ranks[way]));
        ways
    }

    #[test]
    fn the_pointers_lead_away_from_the_last_uses() {
        let mut bench = Bench::new(TreePlru {}, 1);
        let mut insert = |way| {
            let inserted = InsertedLine { set: 0, way, evicts: false, source: ANY };
            bench.on_insert(inserted, None, [0; 4])
        };
        assert_eq!([0, 1, 2, 3].map(&mut insert).map(victims)[3], [0, 1, 2, 3]);
        // After a use of way 0, the root points to the half with ways 2 and 3, and the pointer of this half
        // leads to way 2.
        assert_eq!(victims(bench.on_hit(0, 0, [0; 4])), [2, 3, 1, 0]);
        assert_eq!(victims(bench.on_hit(0, 2, [0; 4])), [1, 0, 3, 2]);
    }

    #[test]
    fn a_store_of_more_ways_than_a_word_has_nodes_is_refused() {
        let mut rules = Rules::default();
        TreePlru {}.validate(&StoreInfo { sets: 1, ways: 65, has_pc: true }, &mut rules);
        let found: Vec<String> = rules.into_violations().iter().map(ToString::to_string).collect();
        let legal = "expected at most 64 ways; more sets instead: the nodes of a set are one word";
        assert_eq!(found, [format!("kind is tree-plru with 65 ways, {legal}")]);
    }
}
