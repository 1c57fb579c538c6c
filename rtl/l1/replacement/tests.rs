use super::*;
use crate::kernel::Wake;

/// A line by its rank; 9 for one on its way.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rank(u8, bool);

impl Ranked for Rank {
    fn rank(&mut self) -> &mut u8 {
        &mut self.0
    }
}

struct Bench {
    policy: Replacement,
    wake: Wake,
    cycle: u64,
}

impl Bench {
    fn new(config: ReplacementConfig, sets: u32) -> Self {
        Self { policy: Replacement::new(config, "l1", sets, 4), wake: Wake::new(&[1]), cycle: 0 }
    }

    fn start(&mut self, place: (u32, u32), evicts: bool, source: Source) -> Option<u8> {
        self.cycle += 1;
        self.policy.start(&Edge::new(self.cycle, self.cycle, &mut self.wake), place, evicts, source)
    }

    fn learn(&mut self, set: u32, way: u32) {
        self.cycle += 1;
        self.policy.learn(&Edge::new(self.cycle, self.cycle, &mut self.wake), set, way);
    }

    /// Ranks after a line has taken the place of another.
    fn insert(&self, ranks: [Rank; 4], way: usize, rank: Option<u8>) -> [u8; 4] {
        let mut row = ranks;
        self.policy.insert(&mut row, way, rank, true, |_, line| line.1);
        row.map(|line| line.0)
    }
}

const ANY: Source = Source { line: 0, pc: 0 };

#[test]
fn lru_moves_a_use_to_the_front() {
    let bench = Bench::new(ReplacementConfig::Lru, 1);
    let mut row = [3, 1, 0, 2].map(|rank| Rank(rank, true));
    bench.policy.touch(&mut row, 3);
    assert_eq!(row.map(|line| line.0), [3, 2, 1, 0]);
    assert_eq!(bench.insert(row, 0, None), [0, 3, 2, 1]);
}

#[test]
fn srrip_starts_lines_at_2_and_raises_the_others_by_what_the_victim_had_left() {
    let mut bench = Bench::new(ReplacementConfig::Srrip, 1);
    assert_eq!(bench.start((0, 1), true, ANY), Some(2));
    let ranks = [Rank(0, true), Rank(2, true), Rank(1, true), Rank(1, false)];
    // The last is on its way: it does not rise.
    assert_eq!(bench.insert(ranks, 1, Some(2)), [1, 2, 2, 1]);
}

#[test]
fn brrip_starts_every_32nd_line_nearer() {
    let mut bench = Bench::new(ReplacementConfig::Brrip, 1);
    let near: Vec<_> = (1..=96).filter(|_| bench.start((0, 0), false, ANY) == Some(2)).collect();
    assert_eq!(near, [32, 64, 96]);
}

#[test]
fn drrip_follows_the_leaders_that_miss_less() {
    let mut bench = Bench::new(ReplacementConfig::Drrip, 32);
    // A tie goes to the bimodal policy.
    assert_eq!(bench.start((1, 0), false, ANY), Some(3));
    for leader in [8, 24] {
        assert_eq!(bench.start((leader, 0), false, ANY), Some(3));
    }
    assert_eq!(bench.start((1, 0), false, ANY), Some(2));
    for leader in [0, 16] {
        assert_eq!(bench.start((leader, 0), false, ANY), Some(2));
    }
    assert_eq!(bench.start((1, 0), false, ANY), Some(3));
}

#[test]
fn drrip_needs_sets_to_lead_and_to_follow() {
    let mut rules = Rules::default();
    ReplacementConfig::Drrip.validate(4, &mut rules);
    let found: Vec<String> = rules.into_violations().iter().map(ToString::to_string).collect();
    let why = "two sets lead for each of the two policies, and others follow";
    assert_eq!(found, [format!("kind is drrip with 4 sets, expected 8 sets or more: {why}")]);
}

#[test]
fn ship_starts_lines_of_an_instruction_far_once_one_went_unused() {
    let mut bench = Bench::new(ReplacementConfig::Ship { signature: Signature::Pc, bits: 8 }, 1);
    let from = |pc: u32| Source { line: 0, pc };
    assert_eq!((bench.start((0, 0), false, from(7)), bench.start((0, 1), false, from(9))), (Some(2), Some(2)));
    // The line of 7 goes unused; that of 9 was used.
    bench.learn(0, 1);
    assert_eq!(bench.start((0, 0), true, from(7)), Some(3));
    assert_eq!(bench.start((0, 1), true, from(9)), Some(2));
}

#[test]
fn ship_by_region_tells_16_kilobytes_apart() {
    let mut bench = Bench::new(ReplacementConfig::Ship { signature: Signature::Region, bits: 8 }, 1);
    let from = |line: u64| Source { line, pc: 0 };
    bench.start((0, 0), false, from(0));
    assert_eq!(bench.start((0, 0), true, from(127)), Some(3));
    assert_eq!(bench.start((0, 0), false, from(128)), Some(2));
}

#[test]
fn a_signature_folds_all_bits() {
    assert_eq!(fold(0x1_02ff, 8), 0x01 ^ 0x02 ^ 0xff);
    assert_eq!(fold(u64::MAX, 16), 0);
}
