//! # Replacement policy of a cache of the LSU
//! Which line of a set makes room: LRU (li2015 section 2.2), or one of the policies that li2015
//! section 4.2 names for the data store: static, bimodal and dynamic re-reference interval
//! prediction, and signature-based prediction on top of the static one. A policy is one file here: its configuration,
//! its state, and what becomes of the ranks.
//!
//! Every policy keeps a rank a line and gives up the line of the highest rank, of equals the one in
//! the lowest way. They differ in what becomes of the ranks; re-reference ranks are two bits wide:
//!
//! | policy  | a use sets           | a new line starts at                                          |
//! |---------|----------------------|---------------------------------------------------------------|
//! | `lru`   | rank 0, others move  | 0, others move                                                |
//! | `srrip` | 0                    | 2                                                             |
//! | `brrip` | 0                    | 3, every 32nd 2                                               |
//! | `drrip` | 0                    | as the better of the two, found out in sets that lead         |
//! | `ship`  | 0, trains its source | 3 if nothing from its source was used lately, otherwise 2     |
//!
//! A refused access changes nothing. What a policy has learnt outlives a kernel, for it belongs to no line.
//!
//! | port   | dir | payload           | contract                                                     |
//! |--------|-----|-------------------|--------------------------------------------------------------|
//! | `used` | in  | set, way, ranks   | an accepted access used the line: new ranks of its set       |
//! | `came` | in  | newcomer, ranks   | an accepted miss takes the way: new ranks of its set         |
//!
//! Part of `rtl/l1/cache.rs`.
//! Bench: its own tests and `tb/l1/streams.rs`.

automod::dir!(pub "l1/replacement");

use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use bitvec::array::BitArray;
use bitvec::slice::BitSlice;
use derive::watched;
use serde::{Deserialize, Serialize};

use crate::choice::{Choice, Place};
use crate::config::Rules;
use crate::kernel::name::Name;
use crate::kernel::{Describe, DescribeExt, Edge, Fields, FieldsExt, Logic};

/// The configuration of a policy: its keys in `l1.replacement`, beside `kind`.
#[typetag::serde(tag = "kind")]
pub trait Scheme: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// What a rank looks like in a set of `ways`.
    fn rank(&self, ways: u32) -> RankShape;

    /// The policy of one cache; `None` for the order of uses, which the ranks are without anybody's help.
    fn hardware(&self, place: &Place<'_>) -> Option<Box<dyn Hooks>>;

    /// Checks its keys against the sets of the cache that it serves.
    fn validate(&self, _sets: u32, _rules: &mut Rules) {}

    /// Whether a table of it learns from the uses of the lines.
    fn learns(&self) -> bool {
        false
    }
}

/// The slot.
pub type ReplacementConfig = Choice<dyn Scheme>;

impl<S: Scheme + 'static> From<S> for ReplacementConfig {
    fn from(scheme: S) -> Self {
        Self::new(Arc::new(scheme))
    }
}

/// A line that takes a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Newcomer {
    /// Its set.
    pub set: u32,
    /// The way.
    pub way: u32,
    /// It takes the way from another.
    pub evicts: bool,
    /// Where it comes from.
    pub source: Source,
}

/// A set of ways, a bit for each way of the set, by number.
pub type Ways = BitSlice<u64>;

/// What the tags ask of a policy that is not the order of uses. Ranks are those of a set, by way; the highest gives way.
#[watched("l1.replacement")]
#[typetag::serde]
pub trait Hooks: Debug + Send {
    /// Rank of a way that holds nothing.
    fn reset(&self, way: u32) -> u8;

    /// A line was used.
    fn used(&mut self, at: &Edge<'_>, place: (u32, u32), ranks: &mut [u8]);

    /// A line comes in; `may_go` are the ways whose lines might have gone instead: one on its way may not.
    fn came(&mut self, at: &Edge<'_>, newcomer: &Newcomer, may_go: &Ways, ranks: &mut [u8]);

    /// Starts to keep digests of arrays.
    fn record(&mut self) {}

    /// Lists what the policy has besides the ranks.
    fn describe(&self, _to: &mut dyn Describe) {}
}

/// Name and width of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankShape {
    /// What it counts: uses of other lines since, or a predicted interval.
    #[serde(with = "crate::kernel::name")]
    pub name: Name,
    /// Bits, none if a set has a single line.
    pub bits: u32,
}

impl RankShape {
    /// Gives the rank to a reader of fields.
    pub fn field<F: Fields + ?Sized>(self, rank: u8, to: &mut F) {
        if self.bits > 0 {
            to.sized(self.name, u64::from(rank), self.bits);
        }
    }
}

/// What stands for a line in a set.
pub trait Ranked {
    /// Its rank.
    fn rank(&mut self) -> &mut u8;
}

/// Where a new line comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Line address.
    pub line: u64,
    /// Program counter of the load.
    pub pc: u32,
}

/// Most ways of a set.
const MAX_WAYS: usize = 256;

/// The policy and what it has learnt; none is the order of uses.
#[derive(Debug, Serialize, Deserialize)]
pub struct Replacement(Option<Box<dyn Hooks>>);

impl Replacement {
    /// The policy of a cache that has learnt nothing.
    #[must_use]
    pub fn new(config: &ReplacementConfig, place: &Place<'_>) -> Self {
        Self(config.hardware(place).map(|hooks| Watched::of(config.typetag_name(), hooks)))
    }

    /// Whether ranks are the order of uses.
    #[inline]
    #[must_use]
    pub fn is_order(&self) -> bool {
        self.0.is_none()
    }

    /// Rank of a way that holds nothing: in an order, any will do.
    #[must_use]
    pub fn reset(&self, way: u32) -> u8 {
        self.0.as_ref().map_or(way as u8, |hooks| hooks.reset(way))
    }

    /// Ranks a line that was used.
    #[inline]
    pub fn used<T: Ranked>(&mut self, at: &Edge<'_>, set: u32, row: &mut [T], way: usize) {
        match &mut self.0 {
            None => promote(row, way),
            Some(hooks) => with_ranks(row, |ranks| hooks.used(at, (set, way as u32), ranks)),
        }
    }

    /// Ranks a line that comes in, instead of one that `might_have_gone` if it evicts another.
    #[inline]
    pub fn came<T: Ranked>(
        &mut self,
        at: &Edge<'_>,
        newcomer: &Newcomer,
        row: &mut [T],
        might_have_gone: impl Fn(usize, &T) -> bool,
    ) {
        let Some(hooks) = &mut self.0 else { return promote(row, newcomer.way as usize) };
        let mut may_go = BitArray::<[u64; MAX_WAYS / u64::BITS as usize]>::ZERO;
        for (way, line) in row.iter().enumerate() {
            may_go.set(way, might_have_gone(way, line));
        }
        let may_go = &may_go[..row.len()];
        with_ranks(row, |ranks| hooks.came(at, newcomer, may_go, ranks));
    }

    /// Starts to keep digests of the arrays.
    pub fn record(&mut self) {
        self.0.iter_mut().for_each(|hooks| hooks.record());
    }

    /// Lists what the policy has besides the ranks.
    pub fn describe(&self, to: &mut dyn Describe) {
        self.0.iter().for_each(|hooks| hooks.describe(to));
    }
}

/// Lists the logic that ranks the lines of a set after a use, and finds the highest rank.
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

/// Lets somebody change the ranks of a set.
#[inline(never)]
fn with_ranks<T: Ranked>(row: &mut [T], change: impl FnOnce(&mut [u8])) {
    let mut ranks = [0; MAX_WAYS];
    for (rank, line) in ranks.iter_mut().zip(row.iter_mut()) {
        *rank = *line.rank();
    }
    change(&mut ranks[..row.len()]);
    for (line, rank) in row.iter_mut().zip(ranks) {
        *line.rank() = rank;
    }
}

/// Moves a line to the front of the order of uses.
#[inline]
fn promote<T: Ranked>(row: &mut [T], way: usize) {
    let last = *row[way].rank();
    for line in row.iter_mut() {
        let rank = line.rank();
        *rank += u8::from(*rank < last);
    }
    *row[way].rank() = 0;
}

/// What the policies' tests share.
#[cfg(test)]
mod bench {
    use super::*;
    use crate::kernel::Wake;

    /// A policy of a cache of 4 ways.
    pub struct Bench {
        policy: Replacement,
        wake: Wake,
        cycle: u64,
    }

    /// A line from anywhere.
    pub const ANY: Source = Source { line: 0, pc: 0 };

    /// A rank alone.
    struct Rank(u8);

    impl Ranked for Rank {
        fn rank(&mut self) -> &mut u8 {
            &mut self.0
        }
    }

    impl Bench {
        pub fn new(config: impl Into<ReplacementConfig>, sets: u32) -> Self {
            let place = Place { path: "l1", sets, ways: 4 };
            Self { policy: Replacement::new(&config.into(), &place), wake: Wake::new(&[1]), cycle: 0 }
        }

        /// Ranks after a use.
        pub fn used(&mut self, set: u32, way: usize, ranks: [u8; 4]) -> [u8; 4] {
            self.cycle += 1;
            let mut row = ranks.map(Rank);
            let at = Edge::new(self.cycle, self.cycle, &mut self.wake);
            self.policy.used(&at, set, &mut row, way);
            row.map(|line| line.0)
        }

        /// Ranks after a line has come in; the way in `bound` holds one on its way.
        pub fn came(&mut self, newcomer: Newcomer, bound: Option<usize>, ranks: [u8; 4]) -> [u8; 4] {
            self.cycle += 1;
            let mut row = ranks.map(Rank);
            let at = Edge::new(self.cycle, self.cycle, &mut self.wake);
            self.policy.came(&at, &newcomer, &mut row, |way, _| Some(way) != bound);
            row.map(|line| line.0)
        }

        /// Rank of a new line.
        pub fn start(&mut self, (set, way): (u32, u32), evicts: bool, source: Source) -> u8 {
            self.came(Newcomer { set, way, evicts, source }, None, [0; 4])[way as usize]
        }
    }

    #[test]
    fn lru_moves_a_use_to_the_front() {
        let mut bench = Bench::new(lru::Lru {}, 1);
        assert_eq!(bench.used(0, 3, [3, 1, 0, 2]), [3, 2, 1, 0]);
        let newcomer = Newcomer { set: 0, way: 0, evicts: true, source: ANY };
        assert_eq!(bench.came(newcomer, None, [3, 1, 0, 2]), [0, 2, 1, 3]);
    }
}
