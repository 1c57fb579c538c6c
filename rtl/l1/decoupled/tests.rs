use super::*;
use crate::index::linear::Linear;
use crate::kernel::{Wake, width_of};
use crate::replacement::lru::Lru;

/// Creates a tag store with one set of four lines.
fn one_set(config: DecoupledConfig) -> Decoupled {
    let index = IndexUnit::new(&Linear {}.into(), 1, 128, 25);
    let place = CacheGeometry { group: "l1", path: "l1", sets: 1, ways: 4 };
    Decoupled::new(&place, &config, &Lru {}.into(), index, 25, false)
}

/// Test bench around a decoupled tag store: one access per cycle, and each requested line arrives at once.
struct Bench {
    tags: Decoupled,
    wake: Wake,
    cycle: u64,
}

impl Bench {
    fn new(config: DecoupledConfig) -> Self {
        Self { tags: one_set(config), wake: Wake::new(&[1]), cycle: 0 }
    }

    fn load(&mut self, name: char) -> &'static str {
        let outcome = self.probe(name);
        if let Some(way) = self.pending(name) {
            self.cycle += 1;
            self.tags.fill(&Edge::new(self.cycle, self.cycle, &mut self.wake), 0, way);
        }
        outcome
    }

    fn pending(&self, name: char) -> Option<u32> {
        let tag = self.tags.tags.row(0)[self.tags.find(0, line(name))?];
        (tag.status == Status::Reserved).then_some(u32::from(tag.pos))
    }

    /// Executes a load, but does not fill the line if the load misses. Returns the outcome of the load.
    fn probe(&mut self, name: char) -> &'static str {
        self.cycle += 1;
        let at = &Edge::new(self.cycle, self.cycle, &mut self.wake);
        let line = line(name);
        if self.tags.bypasses(at, line) {
            self.tags.on_bypass(at, line);
            return "byp";
        }
        let outcome = match self.tags.probe(at, 0, line) {
            Probe::Present { way, .. } => {
                self.tags.touch(at, (0, way), LineUse::Load, Source::of_line(line));
                "hit"
            }
            Probe::Reserved { way } => {
                self.tags.touch(at, (0, way), LineUse::Load, Source::of_line(line));
                "pending"
            }
            Probe::Absent | Probe::TagOnly { .. } => match self.tags.victim(0, line) {
                None => "fail",
                Some(victim) => {
                    self.tags.claim(at, 0, victim, Source::of_line(line));
                    "miss"
                }
            },
        };
        assert!(self.tags.is_consistent());
        outcome
    }

    /// Executes a store or an atomic to global memory.
    fn store(&mut self, name: char) {
        self.cycle += 1;
        let at = &Edge::new(self.cycle, self.cycle, &mut self.wake);
        match self.tags.probe(at, 0, line(name)) {
            Probe::Present { way, .. } => self.tags.invalidate(at, 0, way),
            Probe::Reserved { way } => self.tags.overtake(at, 0, way),
            Probe::Absent | Probe::TagOnly { .. } => {}
        }
        assert!(self.tags.is_consistent());
    }

    /// Formats the nonempty tags in alphabetical order, followed by the number of free data ways.
    fn format_tags(&self) -> String {
        let mut tags: Vec<_> = self.tags.tags.row(0).iter().filter(|tag| tag.status != Status::Empty).collect();
        tags.sort_by_key(|tag| tag.tag);
        let mut shown = String::new();
        for tag in tags {
            let name = (b'A' + tag.tag as u8) as char;
            shown += &match tag.status {
                Status::Candidate => format!("{name}:C{} ", tag.rc),
                Status::Reserved => format!("{name}:R{}@{} ", tag.rc, tag.pos),
                Status::Modified => format!("{name}:M{}@{} ", tag.rc, tag.pos),
                Status::Empty | Status::Valid => format!("{name}:V{}@{} ", tag.rc, tag.pos),
            };
        }
        format!("{shown}f{}", self.tags.free.row(0)[0].0)
    }

    #[track_caller]
    fn plays(&mut self, script: &[(char, &str, &str)]) {
        for &(name, outcome, after) in script {
            let found = self.load(name);
            assert_eq!((name, found, self.format_tags().as_str()), (name, outcome, after));
        }
    }
}

fn line(name: char) -> u64 {
    u64::from(name as u8 - b'A')
}

const LI2015: DecoupledConfig = DecoupledConfig::LI2015;

#[test]
fn the_worked_example_comes_out_to_the_digit() {
    Bench::new(LI2015).plays(&[
        ('A', "byp", "A:C0 f4"),
        ('B', "byp", "A:C0 B:C0 f4"),
        ('A', "byp", "A:C1 B:C0 f4"),
        ('A', "miss", "A:V2@0 B:C0 f3"),
        ('A', "hit", "A:V3@0 B:C0 f3"),
        ('B', "byp", "A:V3@0 B:C1 f3"),
        ('B', "miss", "A:V2@0 B:V2@1 f2"),
        ('C', "byp", "A:V2@0 B:V2@1 C:C0 f2"),
        ('C', "byp", "A:V2@0 B:V2@1 C:C1 f2"),
        ('C', "miss", "A:V1@0 B:V1@1 C:V2@2 f1"),
        ('D', "byp", "A:V1@0 B:V1@1 C:V2@2 D:C0 f1"),
        ('D', "byp", "A:V1@0 B:V1@1 C:V2@2 D:C1 f1"),
        ('D', "miss", "A:V0@0 B:V0@1 C:V1@2 D:V2@3 f0"),
        ('E', "byp", "A:V0@0 B:V0@1 C:V1@2 D:V2@3 E:C0 f0"),
        ('E', "byp", "A:V0@0 B:V0@1 C:V1@2 D:V2@3 E:C1 f0"),
        ('E', "miss", "A:C0 B:V0@1 C:V0@2 D:V1@3 E:V2@0 f0"),
        ('E', "hit", "A:C0 B:V0@1 C:V0@2 D:V1@3 E:V3@0 f0"),
        ('F', "byp", "A:C0 B:V0@1 C:V0@2 D:V1@3 E:V3@0 F:C0 f0"),
        ('G', "byp", "A:C0 B:V0@1 C:V0@2 D:V1@3 E:V3@0 F:C0 G:C0 f0"),
        ('H', "byp", "A:C0 B:V0@1 C:V0@2 D:V1@3 E:V3@0 F:C0 G:C0 H:C0 f0"),
        ('I', "byp", "B:V0@1 C:V0@2 D:V1@3 E:V3@0 F:C0 G:C0 H:C0 I:C0 f0"),
        ('J', "byp", "B:V0@1 C:V0@2 D:V1@3 E:V3@0 G:C0 H:C0 I:C0 J:C0 f0"),
    ]);
}

#[test]
fn a_store_frees_the_place_and_ages_the_others() {
    let mut bench = Bench::new(LI2015);
    ["AAA", "BBB", "CC"].concat().chars().for_each(|name| _ = bench.load(name));
    assert_eq!(bench.format_tags(), "A:V1@0 B:V2@1 C:C1 f2");
    bench.store('B');
    assert_eq!(bench.format_tags(), "A:V0@0 B:C0 C:C0 f3");
    // The second load of C misses and allocates the lowest free data way, way 0.
    bench.store('A');
    bench.plays(&[('C', "byp", "A:C0 B:C0 C:C1 f4"), ('C', "miss", "A:C0 B:C0 C:V2@0 f3")]);
}

#[test]
fn stores_age_nothing_if_told_so() {
    let mut bench = Bench::new(DecoupledConfig { store_evict_ages: false, ..LI2015 });
    "AAABB".chars().for_each(|name| _ = bench.load(name));
    bench.store('A');
    assert_eq!(bench.format_tags(), "A:C0 B:C1 f4");
}

#[test]
fn a_store_to_a_candidate_or_a_stranger_changes_nothing() {
    let mut bench = Bench::new(LI2015);
    "ABA".chars().for_each(|name| _ = bench.load(name));
    bench.store('A');
    bench.store('C');
    assert_eq!(bench.format_tags(), "A:C1 B:C0 f4");
}

#[test]
fn a_line_overtaken_by_a_store_becomes_a_candidate_when_it_arrives() {
    let mut bench = Bench::new(LI2015);
    "AA".chars().for_each(|name| _ = bench.load(name));
    assert_eq!(bench.probe('A'), "miss");
    bench.store('A');
    assert_eq!(bench.format_tags(), "A:R2@0 f3");
    bench.cycle += 1;
    assert!(!bench.tags.fill(&Edge::new(bench.cycle, bench.cycle, &mut bench.wake), 0, 0));
    assert_eq!(bench.format_tags(), "A:C0 f4");
}

#[test]
fn lines_on_their_way_are_never_victims() {
    let mut bench = Bench::new(LI2015);
    for name in "ABCDE".chars() {
        let outcomes = [bench.probe(name), bench.probe(name), bench.probe(name)];
        assert_eq!(outcomes, if name == 'E' { ["byp", "byp", "fail"] } else { ["byp", "byp", "miss"] });
    }
    assert_eq!(bench.probe('A'), "pending");
    let before = bench.format_tags();
    assert_eq!((bench.probe('E'), bench.format_tags()), ("fail", before));
}

#[test]
fn an_access_that_evicts_may_age_twice() {
    let mut bench = Bench::new(DecoupledConfig { age_mode: AgeMode::Twice, ..LI2015 });
    "AAABBBCCCDDDBBBBEE".chars().for_each(|name| _ = bench.load(name));
    assert_eq!(bench.format_tags(), "A:V0@0 B:V4@1 C:V1@2 D:V2@3 E:C1 f0");
    bench.plays(&[('E', "miss", "A:C0 B:V2@1 C:V0@2 D:V0@3 E:V2@0 f0")]);
}

#[test]
fn the_threshold_may_have_to_be_exceeded() {
    let mut bench = Bench::new(DecoupledConfig { threshold_cmp: Comparison::Above, ..LI2015 });
    assert_eq!("AAAAA".chars().map(|name| bench.load(name)).collect::<Vec<_>>(), ["byp", "byp", "byp", "miss", "hit"]);
}

#[test]
fn a_first_load_may_count() {
    let mut bench = Bench::new(DecoupledConfig { rc_init: 1, ..LI2015 });
    bench.plays(&[('A', "byp", "A:C1 f4"), ('A', "miss", "A:V2@0 f3")]);
}

#[test]
fn counts_saturate() {
    let mut bench = Bench::new(LI2015);
    (0..100).for_each(|_| _ = bench.load('A'));
    assert_eq!(bench.format_tags(), "A:V63@0 f3");
}

#[test]
fn any_clean_line_may_be_forgotten_if_told_so() {
    let mut bench = Bench::new(DecoupledConfig { tag_ways: 4, tag_victim: TagVictim::Any, ..LI2015 });
    "AAABBBCCCDDD".chars().for_each(|name| _ = bench.load(name));
    assert_eq!(bench.format_tags(), "A:V0@0 B:V0@1 C:V1@2 D:V2@3 f0");
    // The tag of the new candidate E may replace the tag of a clean line. Lines A and B have equal counts,
    // and A is the least recently used. So A loses its data way, and the counts of the other tags drop by
    // one.
    bench.plays(&[('E', "byp", "B:V0@1 C:V0@2 D:V1@3 E:C0 f1")]);
    assert_eq!(bench.tags.moves().demotions, 1);
}

#[test]
fn without_a_candidate_a_stranger_leaves_no_trace() {
    let mut bench = Bench::new(DecoupledConfig { tag_ways: 2, ..LI2015 });
    "AAABBB".chars().for_each(|name| _ = bench.load(name));
    bench.plays(&[('C', "byp", "A:V1@0 B:V2@1 f2"), ('C', "byp", "A:V1@0 B:V2@1 f2")]);
}

#[test]
fn in_the_original_mode_every_line_is_admitted_and_leaves_no_history() {
    let mut bench = Bench::new(DecoupledConfig { threshold: 0, ..LI2015 });
    bench.plays(&[
        ('A', "miss", "A:V0@0 f3"),
        ('B', "miss", "A:V0@0 B:V0@1 f2"),
        ('C', "miss", "A:V0@0 B:V0@1 C:V0@2 f1"),
        ('D', "miss", "A:V0@0 B:V0@1 C:V0@2 D:V0@3 f0"),
        ('A', "hit", "A:V1@0 B:V0@1 C:V0@2 D:V0@3 f0"),
        ('E', "miss", "A:V0@0 C:V0@2 D:V0@3 E:V0@1 f0"),
    ]);
    bench.store('E');
    assert_eq!(bench.format_tags(), "A:V0@0 C:V0@2 D:V0@3 f1");
}

#[test]
fn in_the_original_mode_a_line_without_a_tag_takes_that_of_the_line_that_goes() {
    let mut bench = Bench::new(DecoupledConfig { threshold: 0, tag_ways: 2, ..LI2015 });
    bench.plays(&[('A', "miss", "A:V0@0 f3"), ('B', "miss", "A:V0@0 B:V0@1 f2"), ('C', "miss", "B:V0@1 C:V0@0 f2")]);
}

#[test]
fn the_original_mode_forgets_candidates_and_keeps_lines() {
    let mut bench = Bench::new(LI2015);
    "AAABC".chars().for_each(|name| _ = bench.load(name));
    bench.tags.set_original(true);
    assert_eq!(bench.format_tags(), "A:V2@0 f3");
    bench.tags.set_original(false);
    bench.plays(&[('B', "byp", "A:V2@0 B:C0 f3")]);
}

#[test]
fn promotions_and_demotions_are_counted() {
    let mut bench = Bench::new(LI2015);
    "AAABBBCCCDDDEEE".chars().for_each(|name| _ = bench.load(name));
    bench.store('E');
    assert_eq!(bench.tags.moves(), Moves { promotions: 5, demotions: 2 });
}

/// Checks the number of bits of a tag against li2015 sections 4.1 and 6.5: status, 20-bit tag, LRU rank,
/// 6-bit count, 2-bit position.
#[test]
fn a_tag_of_li2015_has_34_bits() {
    assert_eq!(width_of::<Tag>(&TagShape { tag_bits: 20, tlru_bits: 3, pos_bits: 2 }), 34);
}
