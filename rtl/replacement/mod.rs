//! # Replacement policy of a set-associative store
//! Selects the victim of a set, in the caches of an SM (`l1`, `const_cache`, `texture_cache`) and in the L2.
//! Each policy is one file in this folder, with its configuration, its state and its updates of the ranks. A
//! cache uses the policy only through its hooks.
//!
//! Every policy maintains one rank per line, and evicts the line with the highest rank. Among lines with
//! equal ranks, it evicts the line in the lowest way. Policies differ in how they update the ranks. Ranks of
//! the RRIP policies have two bits, ranks of `hawkeye` three bits. Positions in LRU order have log2(ways)
//! bits; position 0 is the most recently used line.
//!
//! | policy  | rank after a hit     | rank of an inserted line                                      |
//! |---------|----------------------|---------------------------------------------------------------|
//! | `lru`   | 0, lower ranks rise  | 0, lower ranks rise                                           |
//! | `lip`   | 0, lower ranks rise  | highest, higher ranks fall                                    |
//! | `bip`   | 0, lower ranks rise  | as `lip`, every 32nd line as `lru`                            |
//! | `dip`   | 0, lower ranks rise  | as the better of `lru` and `bip`, by set dueling              |
//! | `srrip` | 0                    | 2                                                             |
//! | `brrip` | 0                    | 3, every 32nd line 2                                          |
//! | `drrip` | 0                    | as the better of `srrip` and `brrip`, by set dueling          |
//! | `ship`  | 0, trains its source | 3 if no line of its source was reused lately, otherwise 2     |
//! | `hawkeye` | 0 if OPT would keep lines of its source, otherwise 7 | as after a hit; ranks below 6 rise if it is 0 |
//! | `tree-plru` | derived from the bits of the tree after a use of the way | as after a hit        |
//! | `random` | unchanged           | lower with the distance from the way selected as the next victim |
//!
//! Sources: `lru` li2015 section 2.2; `lip`, `bip` and `dip` Qureshi et al., ISCA 2007; `srrip`, `brrip` and
//! `drrip` Jaleel et al., ISCA 2010; `ship` Wu et al., MICRO 2011; `hawkeye` Jain and Lin, ISCA 2016. li2015
//! section 4.2 uses the RRIP policies and SHiP.
//!
//! A refused access changes nothing. The learned state of a policy is kept at the end of a kernel, since it
//! does not belong to individual lines. The tags of the L1 caches hold the ranks; in other caches, `order`
//! holds them.
//!
//! | port   | dir | payload           | contract                                                     |
//! |--------|-----|-------------------|--------------------------------------------------------------|
//! | `on_hit` | in  | set, way, source, ranks | an accepted access found the tag of its line: new ranks of its set |
//! | `on_insert` | in  | inserted line, ranks | an accepted miss takes the way: new ranks of its set      |
//!
//! Part of `rtl/l1/cache.rs`, `rtl/l2/bank.rs` and `rtl/tracker/table.rs`.
//! Bench: its own tests, `tb/l1/streams.rs` and `tb/l2/replacement.rs`.

automod::dir!(pub "replacement");

use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use bitvec::array::BitArray;
use bitvec::slice::BitSlice;
use derive::watched;
use serde::{Deserialize, Serialize};

use self::priority::EvictionPriority;
use crate::choice::{CacheGeometry, Choice};
use crate::config::Rules;
use crate::kernel::name::{Name, intern};
use crate::kernel::{CounterReader, Describe, DescribeExt, Edge, Fields, FieldsExt, Logic};

/// Configuration of a replacement policy. In the configuration file, its parameters are keys of the group
/// `replacement` of a cache or of the sharing tracker, next to the key `kind` that selects the policy.
#[typetag::serde(tag = "kind")]
pub trait Scheme: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Returns the name of the policy's rank, and the width of a rank in bits for sets of `ways` ways.
    fn rank(&self, ways: u32) -> RankShape;

    /// Creates the policy's hardware for one cache; `None` for LRU, because the ranks in the tags are its
    /// complete state.
    fn hardware(&self, place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>>;

    /// Checks the parameters of the policy, and that the policy fits the given cache.
    fn validate(&self, _store: &StoreInfo, _rules: &mut Rules) {}

    /// True if the policy reads program counters. If no scheme of a cache reads them, requests to the cache
    /// carry no program counter, and the policy receives 0.
    fn reads_pc(&self) -> bool {
        false
    }

    /// True if the policy has a table that is updated when lines are used. The ports of this table support
    /// only one update per cycle.
    fn learns(&self) -> bool {
        false
    }
}

/// Properties of a set-associative cache that determine which replacement policies it can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreInfo {
    /// Number of sets of the cache.
    pub sets: u32,
    /// Number of ways per set.
    pub ways: u32,
    /// True if accesses carry the program counter of their instruction.
    pub has_pc: bool,
}

/// Configuration field that selects a replacement policy.
pub type ReplacementConfig = Choice<dyn Scheme>;

impl ReplacementConfig {
    /// True if the policy is LRU.
    #[must_use]
    pub fn selects_lru(&self) -> bool {
        self.typetag_name() == "lru"
    }

    /// Lists the counters of all replacement policies that are linked into the program, each with its default
    /// parameters, for the dictionary of counters. `group` is the configuration group of the cache.
    pub fn list_counters(group: Name, to: &mut dyn CounterReader) {
        for scheme in Self::linked() {
            Replacement::new(&scheme, &CacheGeometry::example(group)).counters(to);
        }
    }
}

impl<S: Scheme + 'static> From<S> for ReplacementConfig {
    fn from(scheme: S) -> Self {
        Self::new(Arc::new(scheme))
    }
}

/// Line that a miss inserts into a set: the properties that the replacement policy can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsertedLine {
    /// Set into which the line is inserted.
    pub set: u32,
    /// Way into which the line is inserted.
    pub way: u32,
    /// True if the line evicts another line from its way.
    pub evicts: bool,
    /// Source of the line, for policies that predict reuse from the source.
    pub source: Source,
}

/// Subset of the ways of a set: bit n stands for way n.
pub type Ways = BitSlice<u64>;

/// Hooks of a replacement policy other than LRU, which the tag array calls. The parameter `ranks` holds the
/// ranks of one set, indexed by way. The line with the highest rank is evicted.
#[watched]
#[typetag::serde]
pub trait Hooks: Debug + Send {
    /// Returns the initial rank of an empty way.
    fn reset(&self, way: u32) -> u8;

    /// Updates the ranks of a set after a hit of an access from `source` in the set and way `place`.
    fn on_hit(&mut self, at: &Edge<'_>, place: (u32, u32), source: Source, ranks: &mut [u8]);

    /// Updates the ranks of a set when a line is inserted. `eligible` marks the ways that were eligible as the
    /// victim. Ways whose line is in flight are not eligible.
    fn on_insert(&mut self, at: &Edge<'_>, inserted: &InsertedLine, eligible: &Ways, ranks: &mut [u8]);

    /// Starts to maintain digests (hashes) of the array contents.
    fn record(&mut self) {}

    /// Adds to the hardware description: the policy's registers, arrays and logic, except the ranks.
    fn describe(&self, _to: &mut dyn Describe) {}

    /// Lists the scheme's own counters, for the statistics. Every call must list the same keys, and no
    /// counter may ever decrease, not even at the end of a kernel.
    fn counters(&self, _to: &mut dyn CounterReader) {}
}

/// Name and width of a replacement rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankShape {
    /// Name of the rank: `lru` for a position in LRU order, `rrpv` for a predicted re-reference interval.
    #[serde(with = "crate::kernel::name")]
    pub name: Name,
    /// Width of a stored rank in bits; 0 if no rank is stored, for example if a set has a single line.
    pub bits: u32,
}

impl RankShape {
    /// Reports `rank` as a payload field to the visitor `to`, unless the width is 0.
    pub fn field<F: Fields + ?Sized>(self, rank: u8, to: &mut F) {
        if self.bits > 0 {
            to.sized(self.name, u64::from(rank), self.bits);
        }
    }
}

/// Array entry of one way, such as a tag, that contains a replacement rank.
pub trait HasRank {
    /// Returns the replacement rank of the entry, for modification.
    fn rank(&mut self) -> &mut u8;
}

/// Source of an access: the address of its line, and its instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Line address; in an L2 bank, the number of the line within the bank.
    pub line: u64,
    /// Program counter of the load; 0 for stores, and where accesses carry none ([`Scheme::reads_pc`]).
    pub pc: u32,
    /// Eviction priority of the load; normal where accesses carry none.
    pub priority: EvictionPriority,
}

impl Source {
    /// Returns the source of an access to a line, for an access without program counter and eviction
    /// priority.
    #[must_use]
    #[inline(always)]
    pub fn of_line(line: u64) -> Self {
        Self { line, pc: 0, priority: EvictionPriority::Normal }
    }
}

/// Largest number of ways that a set of any cache can have.
const MAX_WAYS: usize = 256;

/// Replacement policy of a cache, with the learned state of the policy. Contains `None` if the policy is LRU.
#[derive(Debug, Serialize, Deserialize)]
pub struct Replacement(Option<Box<dyn Hooks>>);

impl Replacement {
    /// Creates the policy of a cache, without any learned state.
    #[must_use]
    pub fn new(config: &ReplacementConfig, place: &CacheGeometry<'_>) -> Self {
        let slot = || intern(format!("{}.replacement", place.group));
        Self(config.hardware(place).map(|hooks| Watched::of(slot(), config.typetag_name(), hooks)))
    }

    /// True if the policy is LRU, so that ranks are positions in LRU order.
    #[inline]
    #[must_use]
    pub fn is_lru(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the initial rank of an empty way. For LRU, any permutation of the ranks is suitable.
    #[must_use]
    pub fn reset(&self, way: u32) -> u8 {
        self.0.as_ref().map_or(way as u8, |hooks| hooks.reset(way))
    }

    /// Updates the ranks of a set after a hit of an access from `source` in the set and way `place`.
    #[inline]
    pub fn on_hit<T: HasRank>(&mut self, at: &Edge<'_>, place: (u32, u32), source: Source, row: &mut [T]) {
        match &mut self.0 {
            None => promote(row, place.1 as usize),
            Some(hooks) => with_ranks(row, |ranks| hooks.on_hit(at, place, source, ranks)),
        }
    }

    /// Updates the ranks of a set when a line is inserted. `was_eligible` returns true for the ways that
    /// were eligible as the victim.
    #[inline]
    pub fn on_insert<T: HasRank>(
        &mut self,
        at: &Edge<'_>,
        inserted: &InsertedLine,
        row: &mut [T],
        was_eligible: impl Fn(usize, &T) -> bool,
    ) {
        let Some(hooks) = &mut self.0 else { return promote(row, inserted.way as usize) };
        let mut eligible = BitArray::<[u64; MAX_WAYS / u64::BITS as usize]>::ZERO;
        for (way, line) in row.iter().enumerate() {
            eligible.set(way, was_eligible(way, line));
        }
        let eligible = &eligible[..row.len()];
        with_ranks(row, |ranks| hooks.on_insert(at, inserted, eligible, ranks));
    }

    /// Starts to maintain digests (hashes) of the array contents.
    pub fn record(&mut self) {
        self.0.iter_mut().for_each(|hooks| hooks.record());
    }

    /// Adds to the hardware description: the policy's registers, arrays and logic, except the ranks.
    pub fn describe(&self, to: &mut dyn Describe) {
        self.0.iter().for_each(|hooks| hooks.describe(to));
    }

    /// Lists the counters that belong to the policy.
    pub fn counters(&self, to: &mut dyn CounterReader) {
        self.0.iter().for_each(|hooks| hooks.counters(to));
    }
}

/// Adds to the hardware description: the logic that updates the ranks of a set and finds the highest rank.
pub fn describe_ranks(ways: u32, bits: u32, to: &mut dyn Describe) {
    to.part("rank", |to| {
        to.logic("of_used", Logic::Mux { ways, width: bits });
        to.logic("is_less", Logic::Less { width: bits, count: ways });
        for _ in 0..ways {
            to.logic("rises", Logic::Counter { width: bits });
        }
        to.logic("ranked", Logic::Mux { ways: 3, width: ways * bits });
        to.logic("higher", Logic::Less { width: bits, count: ways - 1 });
        to.logic("highest", Logic::Mux { ways, width: bits + ways.next_power_of_two().ilog2() });
    });
}

/// Copies the ranks of a set's entries into an array, applies `change` to it, and writes the ranks back.
#[inline(never)]
fn with_ranks<T: HasRank>(row: &mut [T], change: impl FnOnce(&mut [u8])) {
    let mut ranks = [0; MAX_WAYS];
    for (rank, line) in ranks.iter_mut().zip(row.iter_mut()) {
        *rank = *line.rank();
    }
    change(&mut ranks[..row.len()]);
    for (line, rank) in row.iter_mut().zip(ranks) {
        *line.rank() = rank;
    }
}

/// Makes the line in `way` the most recently used one of its set, which has rank 0.
#[inline]
fn promote<T: HasRank>(row: &mut [T], way: usize) {
    let last = *row[way].rank();
    for line in row.iter_mut() {
        let rank = line.rank();
        *rank += u8::from(*rank < last);
    }
    *row[way].rank() = 0;
}

/// Test bench shared by the unit tests of the replacement policies.
#[cfg(test)]
mod bench {
    use super::*;
    use crate::kernel::Wake;

    /// Test bench for a policy of a cache with 4 ways.
    pub struct Bench {
        policy: Replacement,
        wake: Wake,
        cycle: u64,
    }

    /// Source of a line, for tests in which the source does not matter.
    pub const ANY: Source = Source { line: 0, pc: 0, priority: EvictionPriority::Normal };

    /// Array entry that consists only of a replacement rank.
    struct Rank(u8);

    impl HasRank for Rank {
        fn rank(&mut self) -> &mut u8 {
            &mut self.0
        }
    }

    impl Bench {
        pub fn new(config: impl Into<ReplacementConfig>, sets: u32) -> Self {
            let place = CacheGeometry { group: "l1", path: "l1", sets, ways: 4 };
            Self { policy: Replacement::new(&config.into(), &place), wake: Wake::new(&[1]), cycle: 0 }
        }

        /// Applies a hit in `way` and returns the new ranks of the set. The source of the access does not
        /// matter.
        pub fn on_hit(&mut self, set: u32, way: u32, ranks: [u8; 4]) -> [u8; 4] {
            self.on_hit_from(ANY, (set, way), ranks)
        }

        /// Applies a hit of an access from `source`, and returns the new ranks of the set.
        pub fn on_hit_from(&mut self, source: Source, place: (u32, u32), ranks: [u8; 4]) -> [u8; 4] {
            self.cycle += 1;
            let mut row = ranks.map(Rank);
            let at = Edge::new(self.cycle, self.cycle, &mut self.wake);
            self.policy.on_hit(&at, place, source, &mut row);
            row.map(|line| line.0)
        }

        /// Inserts a line and returns the new ranks of the set. If `bound` is a way, the line in this way is
        /// in flight and cannot be evicted.
        pub fn on_insert(&mut self, inserted: InsertedLine, bound: Option<usize>, ranks: [u8; 4]) -> [u8; 4] {
            self.cycle += 1;
            let mut row = ranks.map(Rank);
            let at = Edge::new(self.cycle, self.cycle, &mut self.wake);
            self.policy.on_insert(&at, &inserted, &mut row, |way, _| Some(way) != bound);
            row.map(|line| line.0)
        }

        /// Inserts a line into a set whose ranks are all 0, and returns the rank of the inserted line.
        pub fn start(&mut self, (set, way): (u32, u32), evicts: bool, source: Source) -> u8 {
            self.on_insert(InsertedLine { set, way, evicts, source }, None, [0; 4])[way as usize]
        }
    }

    #[test]
    fn lru_moves_a_use_to_the_front() {
        let mut bench = Bench::new(lru::Lru {}, 1);
        assert_eq!(bench.on_hit(0, 3, [3, 1, 0, 2]), [3, 2, 1, 0]);
        let inserted = InsertedLine { set: 0, way: 0, evicts: true, source: ANY };
        assert_eq!(bench.on_insert(inserted, None, [3, 1, 0, 2]), [0, 2, 1, 3]);
    }
}
