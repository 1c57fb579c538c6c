//! # Utility-based cache partitioning (UCP)
//! Gives each group of SMs as many lines of a set as reduce the misses of the bank most (Qureshi and Patt,
//! "Utility-Based Cache Partitioning: A Low-Overhead, High-Performance, Runtime Mechanism to Partition Shared
//! Caches", MICRO 2006). A group that streams hits no more with many ways than with one. It then leaves its
//! ways to a group that reuses its lines.
//!
//! | component | what it does                                                                          |
//! |-----------|---------------------------------------------------------------------------------------|
//! | monitor   | UMON-DSS of each group: auxiliary tags of every `sample_every`th set, under true LRU  |
//! | hits      | per group, a counter of 32 bits per stack position n: hits that need n ways           |
//! | lookahead | computes the allocation, the number of ways of each group, when a period ends         |
//! | owners    | group that inserted the line of each way                                              |
//!
//! **Monitor.** The auxiliary tags of a group are those that the bank would have if no other group used it.
//! An access to a sampled set is looked up in those of its group. A hit increments the counter of the stack
//! position at which the line is found. A miss replaces the least recently used tag. Reads, writes and
//! atomics count, whether they hit, miss or bypass the bank. Prefetches do not count.
//!
//! **Lookahead.** Each group first gets one way. Then, repeatedly, the group and the number of further ways
//! with the highest marginal utility win: the additional hits, divided by the number of ways. Among equals,
//! the group with the lowest number wins, with the fewest ways. If no further way adds a hit, the group with
//! the fewest ways gets one. After the decision, all counters of hits are halved.
//!
//! **Replacement.** A miss takes the lowest empty way of its set, if there is one. Otherwise, if its group
//! owns fewer lines of the set than its allocation, it replaces a line of a group that owns more than its own
//! allocation. If not, it replaces a line of its own group. Allocations change no line at once: lines move
//! from group to group with the misses. The replacement policy of the bank selects among these lines.
//!
//! Differences from the paper, which partitions a last-level cache of 1 MB among CPU cores:
//!
//! - A requester is a group of SMs, as in `by_requester`, instead of a core.
//! - A period is a number of accesses to the bank, not of cycles (5 million in the paper), so that banks with
//!   little traffic decide on as many samples as others. Each bank has its own monitors and its own
//!   allocation, so that banks exchange nothing. The default period is assumed.
//! - By default, every fourth set is sampled, because a bank has few sets: 64 on Fermi, 32 on Volta. The
//!   paper samples 32 of 1,024 sets.
//! - A group below its allocation takes lines of groups above theirs. The paper takes any line of another
//!   application, which is the same with two groups.
//! - Ties, and the ways that no group can use, are not specified in the paper. The rules above are chosen
//!   here. Before the end of the first period, the groups have equal numbers of ways, as far as possible.
//! - The new allocation takes effect with the next access. The paper neglects the time of the algorithm, too,
//!   since nothing waits for it. The circuit would evaluate one candidate per cycle.
//!
//! In one cycle, in this order:
//! 1. `ways` reads the owners of the set, and the allocation.
//! 2. `on_insert` writes the owner of a way, at most once.
//! 3. `on_access` looks up the monitor, at most once, and ends the period if the access was its last one.
//!
//! | port        | dir | payload      | contract                                                         |
//! |-------------|-----|--------------|------------------------------------------------------------------|
//! | `ways`      | out | mask of ways | changes no state                                                 |
//! | `on_insert` | in  | SM, set, way | a line takes the way, which was one of `ways`                    |
//! | `on_access` | in  | access       | after `on_insert` of the same access                             |
//!
//! No deadlock: if all ways of a set are owned and a group owns fewer than its allocation, another group owns
//! more than its own, since the allocations add up to the number of ways. So `ways` is never empty. The
//! lines of all these ways may be in flight. Then the miss stalls with `line_alloc` until a fill makes one of
//! them evictable.
//!
//! Part of `rtl/l2/bank.rs`.
//! Bench: its own tests and `tb/l2/partition.rs`.

use serde::{Deserialize, Serialize};

use super::{Access, BankInfo, Hooks, Scheme, WayMask, group_of, validate_groups};
use crate::cells::lru::Recency;
use crate::config::Rules;
use crate::kernel::{
    Array, ArraySpec, Collide, Counted, CounterReader, Describe, DescribeExt, Edge, FieldsExt, Logic, Payload, Storage,
    bits_for, bits_of,
};

/// Maximum number of groups of SMs. Each group costs a monitor in each bank.
pub const MAX_GROUPS: usize = 8;
/// Maximum number of accesses in a period: the largest value of a 24-bit counter.
const MAX_PERIOD: u64 = (1 << 24) - 1;
/// Width in bits that holds even the largest sum of hit counters.
const GAIN_BITS: u32 = bits_of::<u32>() + 5;

/// Configuration of utility-based cache partitioning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UtilityConfig {
    /// Number of groups of SMs among which the ways of each set are divided.
    pub groups: u32,
    /// Number of the group of each SM, counted from 0. An empty list divides the SMs equally, in the order of
    /// their numbers.
    pub sms: Vec<u32>,
    /// Distance of two sampled sets, whose accesses are monitored: 1 monitors all sets, 4 every fourth set.
    pub sample_every: u32,
    /// Number of accesses to the bank after which the ways are divided anew.
    pub period: u32,
}

/// The default number of groups is that of the main results of the paper. The distance of sampled sets and
/// the period are assumed. The paper samples every 32nd set, 32 of 1,024. A bank of a GPU has few sets (64 on
/// Fermi, 32 on Volta), so every 32nd set would be only two sets or one. Every fourth set is sampled instead.
impl Default for UtilityConfig {
    fn default() -> Self {
        Self { groups: 2, sms: Vec::new(), sample_every: 4, period: 4096 }
    }
}

#[typetag::serde(name = "utility")]
impl Scheme for UtilityConfig {
    fn hardware(&self, bank: &BankInfo<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Utility::new(self, bank)))
    }

    fn validate(&self, bank: &BankInfo<'_>, rules: &mut Rules) {
        let most = bank.sms.min(bank.ways).min(MAX_GROUPS as u32);
        rules.expect(
            (2..=most).contains(&self.groups),
            "groups",
            self.groups,
            &format!("2 to {MAX_GROUPS}, at most num_sms = {} and l2.ways = {}", bank.sms, bank.ways),
            "each group has an SM and a way, and a single group would divide nothing",
        );
        validate_groups(&self.sms, self.groups.into(), bank, rules);
        rules.power_of_two(
            "sample_every",
            self.sample_every.into(),
            1..=bank.sets.max(1).into(),
            "sampled sets are evenly spaced, and at least one set of the bank is sampled",
        );
        rules.range("period", self.period.into(), 1..=MAX_PERIOD, "the counter of accesses has 24 bits");
    }
}

/// Auxiliary tag: the tag of a line that the bank would hold if the group had all ways to itself. The payload
/// shape is the width of a tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
struct AuxiliaryTag {
    valid: bool,
    #[payload(width = *shape)]
    tag: u64,
}

/// Hits at one position of the LRU stack; saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
struct HitCount(#[payload(name = "hits")] u32);

/// Group that inserted the line of a way. The payload shape is the width of the number of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
struct Owner {
    /// False if the way is empty.
    valid: bool,
    #[payload(width = *shape)]
    group: u8,
}

/// Counters of utility-based cache partitioning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Counted)]
pub struct UtilityCounters {
    /// Ends of periods, at which the ways were divided anew.
    #[counted(summary)]
    pub repartitions: u64,
    /// Repartitions that gave some group another number of ways than before.
    #[counted(summary)]
    pub changes: u64,
    /// Accesses that were looked up in the auxiliary tags of their group.
    pub sampled_accesses: u64,
    /// Sampled accesses that found their line in the auxiliary tags of their group.
    pub sampled_hits: u64,
    /// Lines inserted in place of a line of another group.
    pub taken: u64,
    /// Sum over all repartitions of the number of ways that each group got, by the number of the group.
    pub ways: [u64; MAX_GROUPS],
}

/// Number of ways of each group, by group number; elements without a group are 0.
type Allocation = [u8; MAX_GROUPS];

/// Hardware of utility-based cache partitioning in one bank.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Utility {
    groups: u32,
    ways: u32,
    period: u32,
    /// log2 of the distance between two sampled sets.
    spacing_log2: u32,
    /// log2 of the number of sampled sets.
    samples_log2: u32,
    /// Group of each SM; constant.
    group_of: Vec<u8>,
    owners: Array<Owner>,
    /// Auxiliary tags: a row for each sampled set of each group.
    tags: Array<AuxiliaryTag>,
    /// LRU stacks of the auxiliary tags.
    stacks: Array<Recency>,
    /// Hit counters: a row for each group, with a counter for each LRU stack position.
    hits: Array<HitCount>,
    allocation: Allocation,
    /// Accesses in the current period.
    accesses: u32,
    counters: UtilityCounters,
}

impl Utility {
    fn new(config: &UtilityConfig, bank: &BankInfo<'_>) -> Self {
        let UtilityConfig { groups, sms, sample_every, period } = config;
        let &BankInfo { path, sets, ways, tag_bits, sms: num_sms } = bank;
        let spec = |name, storage, rows, columns| ArraySpec {
            path: format!("{path}.partition.{name}"),
            storage,
            rows,
            columns,
            reads: 1,
            writes: 1,
            collide: Collide::New,
        };
        let samples = sets / sample_every;
        let mut allocation = Allocation::default();
        (0..ways).for_each(|way| allocation[(way % groups) as usize] += 1);
        Self {
            groups: *groups,
            ways,
            period: *period,
            spacing_log2: sample_every.ilog2(),
            samples_log2: samples.ilog2(),
            group_of: (0..num_sms).map(|sm| group_of(sms, *groups, sm, num_sms) as u8).collect(),
            owners: Array::new(spec("owners", Storage::Sram, sets, ways), bits_for(*groups)),
            tags: Array::new(spec("tags", Storage::Sram, groups * samples, ways), tag_bits),
            stacks: Array::new(spec("stacks", Storage::Sram, groups * samples, 1), ways),
            hits: Array::new(spec("hits", Storage::Flops, *groups, ways), ()),
            allocation,
            accesses: 0,
            counters: UtilityCounters::default(),
        }
    }

    fn group_of(&self, sm: u8) -> u8 {
        self.group_of.get(usize::from(sm)).copied().unwrap_or(0)
    }

    /// Looks up an access of a group in the auxiliary tags of the group, if its set is sampled.
    fn monitor(&mut self, at: &Edge<'_>, group: u8, (set, tag): (u32, u64)) {
        let sample = set >> self.spacing_log2;
        if sample << self.spacing_log2 != set {
            return;
        }
        let row = u32::from(group) << self.samples_log2 | sample;
        let is_line = |cell: &AuxiliaryTag| cell.valid && cell.tag == tag;
        let way = self.tags.read(at, row).iter().position(is_line).map(|way| way as u32);
        let stack = self.stacks.read(at, row)[0];
        self.counters.sampled_accesses += 1;
        let used = match way {
            Some(way) => {
                self.counters.sampled_hits += 1;
                let count = |hits: &mut HitCount| hits.0 = hits.0.saturating_add(1);
                self.hits.update(at, group.into(), stack.place_of(way), count);
                way
            }
            None => {
                // Empty ways are behind all used ones in the stack.
                let oldest = stack.way_at(self.ways - 1);
                self.tags.write(at, row, oldest, AuxiliaryTag { valid: true, tag });
                oldest
            }
        };
        self.stacks.write(at, row, 0, stack.promote(used));
    }

    /// Ends a period: divides the ways anew, and halves the counters of hits.
    fn repartition(&mut self) {
        let before = self.allocation;
        self.allocation = look_ahead(self.groups, self.ways, |group| self.hits.row(group));
        self.hits.flash(|hits| hits.0 /= 2);
        self.accesses = 0;
        let UtilityCounters { repartitions, changes, ways, .. } = &mut self.counters;
        *repartitions += 1;
        *changes += u64::from(self.allocation != before);
        ways.iter_mut().zip(self.allocation).for_each(|(sum, ways)| *sum += u64::from(ways));
    }
}

/// Returns the number of ways of each group by the lookahead algorithm of the paper, from the counters of
/// hits of each group.
fn look_ahead<'a>(groups: u32, ways: u32, hits: impl Fn(u32) -> &'a [HitCount]) -> Allocation {
    let mut allocation = Allocation::default();
    (0..groups as usize).for_each(|group| allocation[group] = 1);
    let mut balance = ways - groups;
    while balance > 0 {
        // The best choice so far, with the highest marginal utility: hits gained, number of further ways,
        // group.
        let mut best: Option<(u64, u32, u32)> = None;
        for group in 0..groups {
            let mut gain = 0;
            let further = &hits(group)[allocation[group as usize].into()..];
            for (more, count) in (1..=balance).zip(further) {
                gain += u64::from(count.0);
                let is_better = |(best, by, _): (u64, u32, u32)| gain * u64::from(by) > best * u64::from(more);
                if gain > 0 && best.is_none_or(is_better) {
                    best = Some((gain, more, group));
                }
            }
        }
        let fewest = || (0..groups).min_by_key(|&group| allocation[group as usize]).unwrap_or(0);
        let (more, winner) = best.map_or_else(|| (1, fewest()), |(_, more, group)| (more, group));
        allocation[winner as usize] += more as u8;
        balance -= more;
    }
    allocation
}

#[typetag::serde(name = "utility")]
impl Hooks for Utility {
    fn ways(&self, sm: u8, set: u32) -> WayMask {
        let mut of_group = [WayMask::default(); MAX_GROUPS];
        let mut empty = 0;
        for (way, owner) in self.owners.row(set).iter().enumerate() {
            let ways = if owner.valid { &mut of_group[usize::from(owner.group)] } else { &mut empty };
            *ways |= 1 << way;
        }
        if empty != 0 {
            return empty;
        }
        let group = usize::from(self.group_of(sm));
        if of_group[group].count_ones() >= self.allocation[group].into() {
            return of_group[group];
        }
        let above = of_group.iter().zip(self.allocation).filter(|(ways, most)| ways.count_ones() > (*most).into());
        above.fold(0, |all, (ways, _)| all | ways)
    }

    fn on_insert(&mut self, at: &Edge<'_>, sm: u8, (set, way): (u32, u32)) {
        let group = self.group_of(sm);
        // Counts the read of the owners that `ways` used to select the way.
        self.owners.take_reads(at, 1);
        let old = self.owners.row(set)[way as usize];
        self.counters.taken += u64::from(old.valid && old.group != group);
        self.owners.write(at, set, way, Owner { valid: true, group });
    }

    fn on_access(&mut self, at: &Edge<'_>, &Access { sm, set, tag, .. }: &Access) {
        self.monitor(at, self.group_of(sm), (set, tag));
        self.accesses += 1;
        if self.accesses == self.period {
            self.repartition();
        }
    }

    fn record(&mut self) {
        self.owners.record();
        self.tags.record();
        self.stacks.record();
        self.hits.record();
    }

    fn describe(&self, to: &mut dyn Describe) {
        let &Self { groups, ways, period, spacing_log2: _, samples_log2: _, .. } = self;
        let Self { group_of, owners, tags, stacks, hits, allocation, accesses, .. } = self;
        to.part("partition", |to| {
            to.logic("sm", Logic::Decoder { outputs: group_of.len() as u32 });
            to.array("owners", owners);
            let (group_bits, count_bits) = (*owners.cell_shape(), bits_for(ways + 1));
            for group in 0..groups {
                to.parts("group", group, |to| {
                    to.sized("allocation", allocation[group as usize].into(), count_bits);
                    to.logic("is_own", Logic::Comparator { width: group_bits, count: ways });
                    to.logic("owned", Logic::Population { inputs: ways });
                    // Two comparators: the group owns fewer lines than its allocation, or it owns more.
                    to.logic("limit", Logic::Less { width: count_bits, count: 2 });
                });
            }
            to.logic("mask", Logic::Mux { ways: groups + 2, width: ways });
            to.part("monitor", |to| {
                to.array("tags", tags);
                to.array("stacks", stacks);
                to.array("hits", hits);
                to.logic("same_line", Logic::Comparator { width: *tags.cell_shape(), count: ways });
                Recency::describe_logic(ways, to);
                to.logic("count", Logic::Counter { width: bits_of::<u32>() });
                to.sized("accesses", (*accesses).into(), bits_for(period));
                to.logic("period", Logic::Counter { width: bits_for(period) });
            });
            to.part("lookahead", |to| {
                // Evaluates one candidate at a time: sums its hits, and compares its hits per way with those
                // of the best candidate by cross multiplication.
                to.logic("hits", Logic::Mux { ways: groups * ways, width: bits_of::<u32>() });
                to.logic("gain", Logic::Adder { width: GAIN_BITS });
                for _ in 0..2 {
                    to.logic("per_way", Logic::Multiplier { width: GAIN_BITS, by: count_bits });
                }
                to.logic("is_better", Logic::Less { width: GAIN_BITS + count_bits, count: 1 });
                to.logic("allocate", Logic::Adder { width: count_bits });
            });
        });
    }

    fn counters(&self, to: &mut dyn CounterReader) {
        self.counters.list(&(), to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Wake;

    fn allocation<const GROUPS: usize>(hits: [[u32; 8]; GROUPS], ways: u32) -> [u8; GROUPS] {
        let hits = hits.map(|row| row.map(HitCount));
        let allocation = look_ahead(GROUPS as u32, ways, |group| &hits[group as usize]);
        std::array::from_fn(|group| allocation[group])
    }

    #[test]
    fn ways_go_where_they_gain_most_hits_per_way_also_beyond_ways_that_gain_none() {
        // The second group gets its first hits with its fifth way: it gains 90 / 4 hits per further way.
        let late = [0, 0, 0, 0, 90, 0, 0, 0];
        assert_eq!(allocation([[50, 20, 20, 20, 20, 20, 20, 20], late], 8), [3, 5]);
        assert_eq!(allocation([[50, 23, 23, 23, 23, 23, 23, 23], late], 8), [7, 1]);
        // Only three further ways can be allocated, so the second group cannot reach its hits.
        assert_eq!(allocation([[50, 5, 5, 0, 0, 0, 0, 0], late], 5), [3, 2]);
    }

    #[test]
    fn groups_without_hits_keep_a_way_and_share_those_that_gain_nothing() {
        assert_eq!(allocation([[0; 8], [9, 9, 9, 9, 9, 9, 9, 9], [0; 8]], 8), [1, 6, 1]);
        assert_eq!(allocation([[0; 8], [9, 1, 0, 0, 0, 0, 0, 0], [0; 8]], 8), [3, 3, 2]);
        // Sums of saturated counters do not overflow.
        assert_eq!(allocation([[u32::MAX; 8], [u32::MAX; 8]], 8), [7, 1]);
    }

    /// Inserts lines of SMs 0 and 1, which are the two groups, into set 0 of a bank with 4 ways. Returns the
    /// ways that each SM may use.
    fn ways_after(inserted: [u8; 4], allocation: [u8; 2]) -> [WayMask; 2] {
        let bank = BankInfo { path: "l2", sets: 2, ways: 4, tag_bits: 8, sms: 2 };
        let mut hooks = Utility::new(&UtilityConfig { sample_every: 1, ..UtilityConfig::default() }, &bank);
        hooks.allocation[..2].copy_from_slice(&allocation);
        let mut wake = Wake::new(&[1]);
        for (way, sm) in (0..).zip(inserted) {
            assert_eq!(hooks.ways(sm, 0), 0b1111 & !0 << way, "empty ways are for everyone");
            hooks.on_insert(&Edge::new(way.into(), way.into(), &mut wake), sm, (0, way));
        }
        assert_eq!(hooks.ways(0, 1), 0b1111, "another set has lines of its own");
        [hooks.ways(0, 0), hooks.ways(1, 0)]
    }

    #[test]
    fn a_group_below_its_allocation_takes_lines_of_one_above_and_else_replaces_its_own() {
        assert_eq!(ways_after([0, 1, 1, 0], [2, 2]), [0b1001, 0b0110]);
        assert_eq!(ways_after([0, 1, 1, 0], [3, 1]), [0b0110, 0b0110]);
        assert_eq!(ways_after([1, 1, 1, 1], [3, 1]), [0b1111, 0b1111]);
    }

    #[test]
    fn a_partition_that_does_not_fit_the_bank_is_refused() {
        let refused = |config: UtilityConfig, sms| {
            let bank = BankInfo { path: "l2", sets: 64, ways: 4, tag_bits: 8, sms };
            let mut rules = Rules::default();
            config.validate(&bank, &mut rules);
            rules.into_violations().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let fit = UtilityConfig::default();
        assert!(refused(fit.clone(), 3).is_empty());
        // A bank of the baseline has 64 sets, of which 16 are sampled by default.
        assert_eq!(fit.sample_every, 4);
        assert!(refused(UtilityConfig { groups: 4, sms: vec![3, 2, 1, 0], ..fit.clone() }, 4).is_empty());
        for (wrong, sms, start) in [
            (UtilityConfig { groups: 5, ..fit.clone() }, 15, "groups is 5, expected 2 to 8, at most num_sms = 15 and "),
            (UtilityConfig { groups: 1, ..fit.clone() }, 15, "groups is 1, expected 2 to 8"),
            (fit.clone(), 1, "groups is 2, expected 2 to 8, at most num_sms = 1 and l2.ways = 4"),
            (UtilityConfig { sms: vec![0, 0, 0], ..fit.clone() }, 3, "sms is [0, 0, 0], expected "),
            (UtilityConfig { sample_every: 128, ..fit.clone() }, 2, "sample_every is 128, expected a power of two "),
            (UtilityConfig { sample_every: 3, ..fit.clone() }, 2, "sample_every is 3, expected a power of two "),
            (UtilityConfig { period: 0, ..fit.clone() }, 2, "period is 0, expected 1 to 16777215"),
        ] {
            let found = refused(wrong, sms);
            assert!(found.len() == 1 && found[0].starts_with(start), "{start}: {found:?}");
        }
    }
}
