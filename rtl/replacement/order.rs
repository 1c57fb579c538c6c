//! # Replacement state of a store
//! Holds the replacement state of a cache whose tags contain no ranks, in a memory with one row per set.
//! Under LRU, a row is the recency stack of the set. Under any other policy, a row holds one rank per way. In a
//! cache that uses eviction priorities, a second memory holds the priority of each way, and the victim is
//! selected among the eligible ways of the highest priority (`priority.rs`). The L1 caches do not use this
//! component, because their tags hold ranks and priorities.
//!
//! | port        | dir | payload       | contract                                                       |
//! |-------------|-----|---------------|----------------------------------------------------------------|
//! | `victim`    | out | way           | way with the highest rank among the eligible ways; changes no state |
//! | `on_hit`    | in  | set, way, source | an accepted access found the tag of its line                |
//! | `on_insert` | in  | inserted line | an accepted miss takes the way; the tags do not contain the line yet |
//!
//! Per cycle, at most one call of `on_hit` or `on_insert` is allowed. More calls are allowed only if the
//! policy has no table and the memory has enough ports.
//!
//! Part of `rtl/l2/bank.rs`.
//! Bench: `tb/l2/replacement.rs`.

use serde::{Deserialize, Serialize};

use super::priority::{self, EvictionPriority};
use super::{HasRank, InsertedLine, RankShape, Replacement, ReplacementConfig, Source, describe_ranks};
use crate::cells::lru::Recency;
use crate::choice::CacheGeometry;
use crate::kernel::{AnyEdge, Array, ArraySpec, ArrayView, CounterReader, Describe, Encoding, Fields, Payload};

/// Replacement state of all sets of a cache.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Under LRU: the recency stack of each set.
    Lru(Array<Recency>),
    /// Under any other policy: the rank of each way, and the policy that updates the ranks.
    Ranked(Box<RankedOrder>),
    /// With eviction priorities: the priority of each way, and the state of the policy.
    Hinted(Box<HintedOrder>),
}

/// Replacement state of all sets of a cache that uses eviction priorities.
#[derive(Debug, Serialize, Deserialize)]
pub struct HintedOrder {
    priorities: Array<LinePriority>,
    /// State of the replacement policy, which selects among the ways of equal priority.
    order: Order,
}

/// Eviction priority of the last access to the line in a way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
struct LinePriority {
    #[payload(state)]
    priority: EvictionPriority,
}

/// Replacement state of all sets of a cache under a policy other than LRU.
#[derive(Debug, Serialize, Deserialize)]
pub struct RankedOrder {
    ranks: Array<Rank>,
    policy: Replacement,
}

/// Replacement rank of a way; the way with the highest rank is evicted first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Rank(u8);

impl HasRank for Rank {
    fn rank(&mut self) -> &mut u8 {
        &mut self.0
    }
}

impl Payload for Rank {
    type Shape = RankShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &RankShape, to: &mut F) {
        shape.field(self.0, to);
    }
}

impl Order {
    /// Creates the initial replacement state of a cache under a policy. The flag tells whether the cache uses
    /// eviction priorities. `memory` returns the specification of an array of the cache, given a name and a
    /// number of columns.
    #[must_use]
    pub fn new(
        (config, hints): (&ReplacementConfig, bool),
        place: &CacheGeometry<'_>,
        memory: impl Fn(&'static str, u32) -> ArraySpec,
    ) -> Self {
        if hints {
            let priorities = Array::new(memory("priorities", place.ways), ());
            let order = Self::new((config, false), place, memory);
            return Self::Hinted(Box::new(HintedOrder { priorities, order }));
        }
        let policy = Replacement::new(config, place);
        if policy.is_lru() {
            return Self::Lru(Array::new(memory("recency", 1), place.ways));
        }
        let mut ranks = Array::new(memory("ranks", place.ways), config.rank(place.ways));
        ranks.clear_with(|_, way| Rank(policy.reset(way)));
        Self::Ranked(Box::new(RankedOrder { ranks, policy }))
    }

    /// Updates the replacement state of a set after a hit in the set and way `place`. `source` returns the
    /// source of the access, which LRU does not need.
    #[inline(always)]
    pub fn on_hit(&mut self, at: &impl AnyEdge, place: (u32, u32), source: impl FnOnce() -> Source) {
        match self {
            Self::Lru(recency) => promote(recency, at, place.0, place.1),
            Self::Ranked(order) => order.on_hit(at, place, source()),
            Self::Hinted(order) => order.on_hit(at, place, source()),
        }
    }

    /// Updates the replacement state of a set when a line is inserted in the set and way `place`. `line`
    /// returns whether it evicts a line, and the source of its access, which LRU does not need. `was_eligible`
    /// returns true for the ways that were eligible as the victim.
    #[inline(always)]
    pub fn on_insert(
        &mut self,
        at: &impl AnyEdge,
        (set, way): (u32, u32),
        line: impl FnOnce() -> (bool, Source),
        was_eligible: impl Fn(u32) -> bool,
    ) {
        let inserted = || {
            let (evicts, source) = line();
            InsertedLine { set, way, evicts, source }
        };
        match self {
            Self::Lru(recency) => promote(recency, at, set, way),
            Self::Ranked(order) => order.on_insert(at, &inserted(), &was_eligible),
            Self::Hinted(order) => order.on_insert(at, &inserted(), &was_eligible),
        }
    }

    /// Returns the victim way of a set of `ways` ways. `is_evictable` returns true for the ways that can be
    /// evicted.
    #[must_use]
    #[inline(always)]
    pub fn victim(&self, set: u32, ways: u32, is_evictable: impl Fn(u32) -> bool) -> Option<u32> {
        match self {
            Self::Lru(recency) => recency.row(set)[0].victim(ways, is_evictable),
            Self::Ranked(order) => order.victim(set, &is_evictable),
            Self::Hinted(order) => order.victim(set, ways, &is_evictable),
        }
    }

    /// Records the use of `count` read ports of the memory that holds the replacement state.
    #[inline]
    pub fn take_reads(&self, at: &impl AnyEdge, count: u32) {
        match self {
            Self::Lru(recency) => recency.take_reads(at, count),
            Self::Ranked(order) => order.ranks.take_reads(at, count),
            Self::Hinted(order) => {
                order.priorities.take_reads(at, count);
                order.order.take_reads(at, count);
            }
        }
    }

    /// Starts to maintain digests (hashes) of the memory contents.
    pub fn record(&mut self) {
        match self {
            Self::Lru(recency) => recency.record(),
            Self::Ranked(order) => {
                order.ranks.record();
                order.policy.record();
            }
            Self::Hinted(order) => {
                order.priorities.record();
                order.order.record();
            }
        }
    }

    /// Adds to the hardware description: the memories and the policy's hardware.
    pub fn describe(&self, to: &mut dyn Describe) {
        match self {
            Self::Lru(recency) => to.array("recency", recency),
            Self::Ranked(order) => {
                let RankedOrder { ranks, policy } = &**order;
                // If the policy derives the ranks from a table of its own, no ranks are stored. The memory
                // `ranks` is then left out of the description.
                if ranks.cell_bits() > 0 {
                    to.array("ranks", ranks);
                }
                policy.describe(to);
            }
            Self::Hinted(order) => {
                let HintedOrder { priorities, order } = &**order;
                to.array("priorities", priorities);
                order.describe(to);
            }
        }
    }

    /// Lists the counters that belong to the policy.
    pub fn counters(&self, to: &mut dyn CounterReader) {
        match self {
            Self::Lru(_) => {}
            Self::Ranked(order) => order.policy.counters(to),
            Self::Hinted(order) => order.order.counters(to),
        }
    }

    /// Adds to the hardware description: the logic that updates the replacement state of a set of `ways` ways
    /// and selects its victim.
    pub fn describe_logic(&self, ways: u32, to: &mut dyn Describe) {
        match self {
            Self::Lru(_) => Recency::describe_logic(ways, to),
            Self::Ranked(order) => describe_ranks(ways, order.ranks.cell_bits(), to),
            Self::Hinted(order) => {
                order.order.describe_logic(ways, to);
                priority::describe_logic(ways, to);
            }
        }
    }
}

impl RankedOrder {
    #[inline(never)]
    fn on_hit(&mut self, at: &impl AnyEdge, place: (u32, u32), source: Source) {
        let Self { ranks, policy } = self;
        ranks.take_reads(at, 1);
        ranks.update_row(at, place.0, |row| policy.on_hit(at.edge(), place, source, row));
    }

    #[inline(never)]
    fn on_insert(&mut self, at: &impl AnyEdge, inserted: &InsertedLine, was_eligible: &dyn Fn(u32) -> bool) {
        let Self { ranks, policy } = self;
        ranks.take_reads(at, 1);
        ranks.update_row(at, inserted.set, |row| {
            policy.on_insert(at.edge(), inserted, row, |way, _| was_eligible(way as u32));
        });
    }

    #[inline(never)]
    fn victim(&self, set: u32, is_evictable: &dyn Fn(u32) -> bool) -> Option<u32> {
        let ways = self.ranks.row(set).iter().enumerate().filter(|&(way, _)| is_evictable(way as u32));
        // Among ways of equal rank, the lowest way is the victim.
        ways.rev().max_by_key(|(_, rank)| rank.0).map(|(way, _)| way as u32)
    }
}

impl HintedOrder {
    #[inline(never)]
    fn on_hit(&mut self, at: &impl AnyEdge, (set, way): (u32, u32), source: Source) {
        self.priorities.write(at, set, way, LinePriority { priority: source.priority });
        self.order.on_hit(at, (set, way), || source);
    }

    /// A way might have been the victim only if its line has the priority of the line that was evicted.
    #[inline(never)]
    fn on_insert(&mut self, at: &impl AnyEdge, inserted: &InsertedLine, was_eligible: &dyn Fn(u32) -> bool) {
        let &InsertedLine { set, way, evicts, source } = inserted;
        let row = self.priorities.read(at, set);
        let is_alike = |other: u32| !evicts || row[other as usize] == row[way as usize];
        self.order.on_insert(at, (set, way), || (evicts, source), |other| was_eligible(other) && is_alike(other));
        self.priorities.write(at, set, way, LinePriority { priority: source.priority });
    }

    #[inline(never)]
    fn victim(&self, set: u32, ways: u32, is_evictable: &dyn Fn(u32) -> bool) -> Option<u32> {
        let row = self.priorities.row(set);
        let code = |way: u32| row[way as usize].priority.code();
        let first = (0..ways).filter(|&way| is_evictable(way)).map(code).max()?;
        self.order.victim(set, ways, |way| is_evictable(way) && code(way) == first)
    }
}

/// Makes a way the most recently used one of its set.
#[inline(always)]
fn promote(recency: &mut Array<Recency>, at: &impl AnyEdge, set: u32, way: u32) {
    let stack = recency.read(at, set)[0].promote(way);
    recency.write(at, set, 0, stack);
}
