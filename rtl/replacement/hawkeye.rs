//! # Hawkeye
//! Learns from Belady's optimal policy (OPT) which lines are worth keeping (Jain and Lin, "Back to the
//! Future: Leveraging Belady's Algorithm for Improved Cache Replacement", ISCA 2016). For the past accesses
//! to a few sampled sets, OPTgen reconstructs whether each reuse would have hit under OPT. A predictor learns
//! from the results, for each signature of an access, whether its lines are cache-friendly or cache-averse.
//!
//! | part      | what it does                                                                           |
//! |-----------|----------------------------------------------------------------------------------------|
//! | history   | records the last `history` × ways accesses to each sampled set: partial tag and signature |
//! | OPTgen    | an occupancy vector: for each of these accesses, the number of lines that OPT kept just after it |
//! | predictor | 2^`bits` saturating counters of 3 bits; an access is friendly if the counter of its signature is 4 or more |
//! | ranks     | re-reference prediction values (RRPV) of 3 bits                                         |
//!
//! **Training.** The accesses between two uses of a line are its usage interval. If the occupancy is less
//! than the number of ways at each access of the interval, OPT would have kept the line. In this case, the
//! occupancies of the interval are incremented, and so is the counter of the signature that used the line
//! last. Otherwise, this counter is decremented. Bypassed and refused accesses are not recorded.
//!
//! **Ranks.** Both a hit and a miss set the rank of their line: to 7 if the access is averse, to 0 if it is
//! friendly. A friendly miss also increments the ranks of all other lines of the set that are below 6. The
//! victim is the line with the highest rank. A victim with a rank below 7 was friendly, so the counter of the
//! signature that used it last is decremented (detraining). Only lines of sampled sets store their last
//! signature.
//!
//! **Work per access.** Constant: one row of the history is read, compared and written in one step, and the
//! counters of at most three signatures are used. All of this happens in the cycle of the access, and there
//! is at most one access per cycle.
//!
//! Sizes and differences from the paper, which describes a last-level cache of 2 MB with 16 ways:
//!
//! - The predictor of the paper has 8192 counters. The default is 256, since a GPU kernel has few loads.
//! - The paper samples 64 sets of 2048. The default is 8 evenly spaced sets, since caches of an SM have few.
//! - The history is 8 × ways accesses, as in the paper. One time quantum is one access. A coarser quantum
//!   saves memory in the paper; here, sets are small.
//! - Each recorded access has its own entry in a ring buffer, and the position in the ring is the time of the
//!   access. The sampler of the paper has fewer entries than accesses. The ring buffer needs no search for an
//!   entry to replace.
//! - The paper does not determine four choices made here: the width of partial tags, the initial value of the
//!   counters (4, weakly friendly), detraining in sampled sets only, and no training by lines that leave the
//!   history without reuse.
//! - A store or a prefetch counts as an access with program counter 0.
//! - OPTgen assumes that a line may occupy any way of its set. If the L2 is partitioned, or if shared memory
//!   occupies ways of the L1D, fewer ways are usable. OPTgen then overestimates the number of reuses that
//!   would hit.
//!
//! Part of `rtl/replacement/mod.rs`.
//! Bench: its own tests, `tb/replacement.rs`, `tb/l1/streams.rs` and `tb/l2/replacement.rs`.

use arbitrary_int::traits::Integer;
use arbitrary_int::u3;
use serde::{Deserialize, Serialize};

use super::ship::{Signature, fold};
use super::{Hooks, InsertedLine, RankShape, Scheme, Source, StoreInfo, Ways};
use crate::choice::CacheGeometry;
use crate::config::Rules;
use crate::kernel::{
    Array, ArraySpec, Collide, Describe, DescribeExt, Edge, Fields, FieldsExt, Logic, Payload, Storage, bits_for,
    bits_of,
};

/// Re-reference prediction value (RRPV), the rank of a line.
type Rrpv = u3;

/// Maximum number of sampled sets, as in the paper. More sets would make the predictor learn faster, but not
/// better.
const MAX_SAMPLED_SETS: u32 = 64;
/// Rank of a line that a cache-averse access used last.
const AVERSE: Rrpv = Rrpv::MAX;
/// Highest rank that aging can give to a line whose last access was cache-friendly.
const OLDEST_FRIENDLY: u8 = AVERSE.value() - 1;
/// Lowest value of a counter that predicts cache-friendly lines.
const FRIENDLY: u3 = u3::new(4);
/// Largest number of recorded accesses per sampled set.
const MAX_QUANTA: u32 = 512;

/// Configuration of Hawkeye.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HawkeyeConfig {
    /// Property of an access from which its signature is computed.
    pub signature: Signature,
    /// Width of a signature in bits; the predictor has one 3-bit counter for each of the 2^`bits` signatures.
    pub bits: u32,
    /// Number of sets whose accesses are recorded; they are evenly spaced over the cache.
    pub sampled_sets: u32,
    /// Number of past accesses to a sampled set that are recorded, as a multiple of the number of ways.
    pub history: u32,
    /// Width in bits of the partial tag of a recorded access.
    pub tag_bits: u32,
}

/// The default length of the history is that of the paper. The header of this file states the sources of the
/// other default values.
impl Default for HawkeyeConfig {
    fn default() -> Self {
        Self { signature: Signature::Pc, bits: 8, sampled_sets: 8, history: 8, tag_bits: 12 }
    }
}

#[typetag::serde(name = "hawkeye")]
impl Scheme for HawkeyeConfig {
    fn rank(&self, _ways: u32) -> RankShape {
        RankShape { name: "rrpv", bits: bits_of::<Rrpv>() }
    }

    fn hardware(&self, place: &CacheGeometry<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Hawkeye::new(*self, place)))
    }

    fn validate(&self, store: &StoreInfo, rules: &mut Rules) {
        self.signature.validate(self.bits, store, rules);
        let sets = u64::from(store.sets.clamp(1, MAX_SAMPLED_SETS));
        rules.power_of_two("sampled_sets", self.sampled_sets.into(), 1..=sets, "sampled sets are evenly spaced");
        rules.range("tag_bits", u64::from(self.tag_bits), 1..=32, "a partial tag is a hash of the tag");
        rules.range("history", u64::from(self.history), 1..=64, "a whole history is compared in one cycle");
        if !rules.is_broken("history") {
            let most = MAX_QUANTA / self.history;
            rules.expect(
                store.ways <= most,
                "history",
                format!("{} with {} ways", self.history, store.ways),
                &format!("at most {most} ways with this history, or a shorter one"),
                "a set records history x ways accesses, at most 512, which are compared in one cycle",
            );
        }
    }

    fn reads_pc(&self) -> bool {
        self.signature == Signature::Pc
    }

    fn learns(&self) -> bool {
        true
    }
}

/// Recorded access to a sampled set, and the number of lines that OPT keeps in the time quantum that starts
/// with this access (occupancy).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct PastAccess {
    /// True if this is the latest access to its line.
    latest: bool,
    /// Partial tag of the line.
    tag: u32,
    /// Signature of the access.
    signature: u32,
    /// Number of lines that OPT keeps from this access to the next one.
    occupancy: u32,
}

/// Widths of the fields of a recorded access.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct PastShape {
    tag_bits: u32,
    signature_bits: u32,
    occupancy_bits: u32,
}

impl Payload for PastAccess {
    type Shape = PastShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &PastShape, to: &mut F) {
        let Self { latest, tag, signature, occupancy } = self;
        to.flag("latest", *latest);
        to.sized("tag", u64::from(*tag), shape.tag_bits);
        to.sized("signature", u64::from(*signature), shape.signature_bits);
        to.sized("occupancy", u64::from(*occupancy), shape.occupancy_bits);
    }
}

/// Position in the ring buffer of recorded accesses at which the next access to a sampled set is written. The
/// number of positions in the ring determines the width of the field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct NextPlace(u32);

impl Payload for NextPlace {
    type Shape = u32;
    fn fields<F: Fields + ?Sized>(&self, places: &u32, to: &mut F) {
        if *places > 1 {
            to.sized("place", u64::from(self.0), bits_for(*places));
        }
    }
}

/// Signature of the last access to a line of a sampled set. The width of a signature in bits depends on the
/// configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
struct LastUse(#[payload(name = "signature", width = *shape)] u32);

/// Counter of a signature: incremented if OPT would have kept a line that an access with this signature used;
/// otherwise decremented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
struct Counter(#[payload(name = "count")] u3);

impl Default for Counter {
    fn default() -> Self {
        Self(FRIENDLY)
    }
}

/// State of Hawkeye in one cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Hawkeye {
    config: HawkeyeConfig,
    ways: u32,
    /// log2 of the number of sets.
    set_bits: u32,
    /// log2 of the distance between two sampled sets.
    spacing_log2: u32,
    counters: Array<Counter>,
    /// Recorded accesses of each sampled set: a ring in the order of time.
    history: Array<PastAccess>,
    next: Array<NextPlace>,
    lines: Array<LastUse>,
}

impl Hawkeye {
    fn new(config: HawkeyeConfig, &CacheGeometry { path, sets, ways, .. }: &CacheGeometry<'_>) -> Self {
        let HawkeyeConfig { signature: _, bits, sampled_sets, history, tag_bits } = config;
        let spec = |name: &str, rows, columns, writes| ArraySpec {
            path: format!("{path}.hawkeye.{name}"),
            storage: Storage::Sram,
            rows,
            columns,
            reads: 1,
            writes,
            collide: Collide::New,
        };
        let quanta = history * ways;
        let shape = PastShape { tag_bits, signature_bits: bits, occupancy_bits: bits_for(ways + 1) };
        Self {
            config,
            ways,
            set_bits: sets.ilog2(),
            spacing_log2: (sets / sampled_sets).ilog2(),
            // One miss may train two counters: for the last signature of its own line, and for the last
            // signature of the victim.
            counters: Array::new(spec("counters", 1 << bits, 1, 2), ()),
            history: Array::new(spec("history", sampled_sets, quanta, 1), shape),
            next: Array::new(spec("next", sampled_sets, 1, 1), quanta),
            lines: Array::new(spec("lines", sampled_sets, ways, 1), bits),
        }
    }

    /// Returns the number of a set among the sampled sets; `None` if the set is not sampled.
    fn sample_of(&self, set: u32) -> Option<u32> {
        let sample = set >> self.spacing_log2;
        (sample << self.spacing_log2 == set).then_some(sample)
    }

    fn signature_of(&self, source: Source) -> u32 {
        self.config.signature.of(source, self.config.bits)
    }

    /// Records an access to a sampled set. Returns the signature of the last access to the same line, and
    /// whether OPT would have kept the line since then. Returns `None` if the history contains no earlier
    /// access to the line.
    fn record_access(&mut self, at: &Edge<'_>, sample: u32, line: u64, signature: u32) -> Option<(u32, bool)> {
        let (tag, ways) = (fold(line >> self.set_bits, self.config.tag_bits), self.ways);
        let NextPlace(now) = *self.next.read_cell(at, sample, 0);
        self.history.take_reads(at, 1);
        let mut reuse = None;
        self.history.update_row(at, sample, |ring| {
            let (previous, places) = (ring.iter().position(|access| access.latest && access.tag == tag), ring.len());
            if let Some(previous) = previous {
                // The usage interval goes around the ring, from the position of the last access to the line
                // up to, but not including, the position of the current access. If the two positions are
                // equal, the interval is the whole ring.
                let length = match (places + now as usize - previous) % places {
                    0 => places,
                    length => length,
                };
                let interval = || (previous..previous + length).map(|place| place % places);
                let is_kept = interval().all(|place| ring[place].occupancy < ways);
                if is_kept {
                    interval().for_each(|place| ring[place].occupancy += 1);
                }
                ring[previous].latest = false;
                reuse = Some((ring[previous].signature, is_kept));
            }
            ring[now as usize] = PastAccess { latest: true, tag, signature, occupancy: 0 };
        });
        let places = self.history.spec().columns;
        self.next.write(at, sample, 0, NextPlace(if now + 1 == places { 0 } else { now + 1 }));
        reuse
    }

    /// Moves the counter of a signature by one step: up if `is_kept` is true, otherwise down.
    fn train(&mut self, at: &Edge<'_>, signature: u32, is_kept: bool) {
        let one = u3::new(1);
        let step = |count: u3| if is_kept { count.saturating_add(one) } else { count.saturating_sub(one) };
        self.counters.update(at, signature, 0, |counter| counter.0 = step(counter.0));
    }

    /// Trains the predictor with an access. Returns true if the line of the access is predicted to be
    /// cache-friendly. `evicts_friendly` is true if the access evicts a line that was predicted to be
    /// cache-friendly.
    fn use_line(&mut self, at: &Edge<'_>, (set, way): (u32, u32), source: Source, evicts_friendly: bool) -> bool {
        let signature = self.signature_of(source);
        if let Some(sample) = self.sample_of(set) {
            if let Some((last, is_kept)) = self.record_access(at, sample, source.line, signature) {
                self.train(at, last, is_kept);
            }
            if evicts_friendly {
                let LastUse(last) = *self.lines.read_cell(at, sample, way);
                self.train(at, last, false);
            }
            self.lines.write(at, sample, way, LastUse(signature));
        }
        self.counters.read_cell(at, signature, 0).0 >= FRIENDLY
    }
}

#[typetag::serde(name = "hawkeye")]
impl Hooks for Hawkeye {
    fn reset(&self, _way: u32) -> u8 {
        AVERSE.value()
    }

    fn on_hit(&mut self, at: &Edge<'_>, place: (u32, u32), source: Source, ranks: &mut [u8]) {
        let is_friendly = self.use_line(at, place, source, false);
        ranks[place.1 as usize] = if is_friendly { 0 } else { AVERSE.value() };
    }

    fn on_insert(&mut self, at: &Edge<'_>, inserted: &InsertedLine, _may_go: &Ways, ranks: &mut [u8]) {
        let &InsertedLine { set, way, evicts, source } = inserted;
        let evicts_friendly = evicts && ranks[way as usize] < AVERSE.value();
        let is_friendly = self.use_line(at, (set, way), source, evicts_friendly);
        if is_friendly {
            ranks.iter_mut().filter(|rank| **rank < OLDEST_FRIENDLY).for_each(|rank| *rank += 1);
        }
        ranks[way as usize] = if is_friendly { 0 } else { AVERSE.value() };
    }

    fn record(&mut self) {
        self.counters.record();
        self.history.record();
        self.next.record();
        self.lines.record();
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { config: _, ways, set_bits: _, spacing_log2: _, counters, history, next, lines } = self;
        let quanta = history.spec().columns;
        let &PastShape { tag_bits, signature_bits, occupancy_bits } = history.cell_shape();
        to.part("hawkeye", |to| {
            to.array("counters", counters);
            to.array("history", history);
            if quanta > 1 {
                to.array("next", next);
            }
            to.array("lines", lines);
            to.logic("same_line", Logic::Comparator { width: tag_bits, count: quanta });
            to.logic("last", Logic::Mux { ways: quanta, width: signature_bits });
            // Gates for the mask of the usage interval: the positions in the ring from the last access to the
            // line up to the current access.
            to.logic("interval", Logic::Gates { count: 4 * quanta });
            to.logic("is_full", Logic::Comparator { width: occupancy_bits, count: quanta });
            for _ in 0..quanta {
                to.logic("occupy", Logic::Counter { width: occupancy_bits });
            }
            to.logic("now", Logic::Counter { width: bits_for(quanta) });
            to.logic("victim", Logic::Mux { ways: *ways, width: signature_bits });
            to.logic("train", Logic::Counter { width: bits_of::<u3>() });
            to.logic("detrain", Logic::Counter { width: bits_of::<u3>() });
            to.logic("is_young", Logic::Less { width: bits_of::<Rrpv>(), count: *ways });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::Bench;
    use super::*;

    const CONFIG: HawkeyeConfig =
        HawkeyeConfig { signature: Signature::Pc, bits: 8, sampled_sets: 1, history: 8, tag_bits: 12 };

    fn from(line: u64, pc: u32) -> Source {
        Source { pc, ..Source::of_line(line) }
    }

    /// Trains the predictor until accesses at program counter 7 are slightly cache-averse. Then the
    /// instruction at this counter uses one line six times. Between two of these uses, another instruction
    /// uses `others` lines, each only once. Returns the rank of the line after each of the six uses.
    fn reuses(others: u64) -> Vec<u8> {
        let mut bench = Bench::new(CONFIG, 1);
        // All evicted lines have rank 0, so they are treated as friendly. The last two of them were used by
        // the instruction at PC 7, so its counter is decremented twice.
        let starts = [1000, 1001, 1002].map(|line| bench.start((0, 0), true, from(line, 7)));
        assert_eq!(starts, [0, 7, 7]);
        let mut next = 1;
        let mut round = |_| {
            let rank = bench.on_hit_from(from(0, 7), (0, 0), [0; 4])[0];
            for _ in 0..others {
                bench.start((0, 1), false, from(next, 9));
                next += 1;
            }
            rank
        };
        (0..6).map(&mut round).collect()
    }

    #[test]
    fn reuses_that_opt_would_hit_train_the_instruction_however_many_other_lines_pass_within_the_history() {
        // The history holds 8 accesses per way, which is 32 accesses in a cache of 4 ways. So a reuse is
        // detected after 31 other accesses, but not after 32.
        assert_eq!(reuses(31), [7, 7, 0, 0, 0, 0]);
        assert_eq!(reuses(32), [7; 6]);
    }

    #[test]
    fn reuses_that_opt_would_miss_train_the_instruction_of_the_last_use() {
        let mut bench = Bench::new(CONFIG, 1);
        // In each round, the instruction at PC 7 uses twelve lines, of which OPT keeps fewer than four in the
        // 4 ways. Then the instruction at PC 9 uses one line twice in a row, and OPT keeps this line.
        let mut ranks = Vec::new();
        for turn in 0..12 {
            for line in 0..12 {
                ranks.push((turn, bench.start((0, 1), false, from(line, 7))));
            }
            bench.start((0, 2), false, from(100, 9));
            assert_eq!(bench.on_hit_from(from(100, 9), (0, 2), [0; 4])[2], 0, "in turn {turn}");
        }
        let averse = |turn| ranks.iter().filter(|rank| **rank == (turn, AVERSE.value())).count();
        assert_eq!((averse(0), averse(11)), (0, 12), "{ranks:?}");
    }

    #[test]
    fn the_eviction_of_a_friendly_line_detrains_the_instruction_that_used_it_last() {
        let mut bench = Bench::new(CONFIG, 1);
        let mut evict = |line, rank| {
            let inserted = InsertedLine { set: 0, way: 0, evicts: true, source: from(line, 7) };
            bench.on_insert(inserted, None, [rank, 0, 5, 6])
        };
        // A friendly line is inserted with rank 0, and the ranks of the other lines rise to at most 6. The
        // evicted lines were averse, so their eviction does not train the predictor.
        assert_eq!(evict(0, 7), [0, 1, 6, 6]);
        assert_eq!(evict(1, 7), [0, 1, 6, 6]);
        // The evicted line was friendly, and the instruction at PC 7 used it last. Its eviction makes this
        // instruction averse, so the new line gets rank 7 and does not age the other lines.
        assert_eq!(evict(2, 6), [7, 0, 5, 6]);
    }

    #[test]
    fn accesses_to_sets_that_are_not_sampled_use_the_predictor_and_do_not_train_it() {
        let mut bench = Bench::new(CONFIG, 4);
        let mut evict = |set, line| bench.start((set, 0), true, from(line, 7));
        // The evicted line has rank 0, so it is treated as friendly.
        assert_eq!([1, 2, 3, 1, 2, 3].map(|set| evict(set, u64::from(set))), [0; 6]);
        assert_eq!((evict(0, 4), evict(1, 5)), (0, 0));
        assert_eq!((evict(0, 8), evict(3, 7)), (7, 7));
    }

    #[test]
    fn a_history_longer_than_a_row_and_more_samples_than_sets_are_refused() {
        let refused = |config: HawkeyeConfig, store: StoreInfo| {
            let mut rules = Rules::default();
            config.validate(&store, &mut rules);
            rules.into_violations().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let store = StoreInfo { sets: 4, ways: 256, has_pc: false };
        let found = refused(HawkeyeConfig { sampled_sets: 8, ..CONFIG }, store);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0], "signature is pc, expected region: the requests to this store carry no program counter");
        assert!(found[1].starts_with("sampled_sets is 8, expected "), "{found:?}");
        assert!(found[2].starts_with("history is 8 with 256 ways, expected at most 64 ways"), "{found:?}");
        let region = HawkeyeConfig { signature: Signature::Region, history: 2, ..CONFIG };
        assert!(refused(region, store).is_empty());
    }
}
