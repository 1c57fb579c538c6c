//! # Lockstep test of the tag store
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. Fills and accesses occur in the same cycle, on the same set and on different sets, under each
//! policy. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                | where            |
//! |----------------------------------------------------------|------------------|
//! | every search has the same result, even if it is not used | `access`         |
//! | a fill is visible to an access of the same cycle         | fills of its set |
//! | sets in which every way is reserved                      | rare fills       |
//! | the golden policy selects the same victim                | `access`         |
//! | flushes in the cycle of a fill and of an access          | `flush`          |

use golden::replacement as twin;
use golden::replacement::Scheme;
use rtl::choice::CacheGeometry;
use rtl::index::IndexUnit;
use rtl::index::linear::Linear;
use rtl::kernel::{Describe, Edge};
use rtl::l1::tags::{LineUse, Probe, Tags};
use rtl::replacement::brrip::Brrip;
use rtl::replacement::lru::Lru;
use rtl::replacement::srrip::Srrip;
use rtl::replacement::{ReplacementConfig, Source};

use super::fills::{self, Reservation};
use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("fill_kept_o ? VALID : INVALID", "VALID"),
        Mistake::new("filled[32'(fill_way_i)*CELL] = 0;", ""),
        Mistake::new("fill_valid_i && fill_set_i == set_index_i ? filled : entries_q", "entries_q"),
        Mistake::new("found[w] = !invalid[w] && row", "found[w] = row"),
        Mistake::new("victim_holds_o = invalid == '0", "victim_holds_o = !(&invalid)"),
        Mistake::new("goable[w] && (!victim_valid_o", "(!victim_valid_o"),
        Mistake::new("rank[w] >= top) : invalid", "rank[w] > top) : invalid"),
        Mistake::new("wire stores = op_i == 2'd2 && go_i && present_o;", "wire stores = op_i == 2'd2 && go_i && (present_o || reserved_o);"),
        Mistake::new("wire drops = op_i[1] && go_i && !stores", "wire drops = op_i[1] && go_i"),
        Mistake::new("wire overtakes = op_i[1] && go_i &&", "wire overtakes = op_i[1] &&"),
        Mistake::new("bimodal_q != '1 ? 2'd3 : 2'd2", "bimodal_q != '0 ? 2'd3 : 2'd2"),
        Mistake::new("claims && victim_holds_o ? 2'd3 - top", "claims ? 2'd3 - top"),
        Mistake::new("goable[w] ? rise : '0", "rise"),
        Mistake::new("if (overtakes) row_next[w*CELL] = 1;", ""),
        Mistake::new("else if (flush_i) entries_q[s] <= empty;", "else if (flush_i && !fill_valid_i) entries_q[s] <= empty;"),
        Mistake::equivalent("5'(POLICY == 2 && claims)", "5'(claims)", "the policy of the small size is bimodal"),
    ]
}

struct Unit {
    sets: u32,
    ways: u32,
    tag_bits: u32,
    policy: u32,
    dut: Tags,
    golden: Box<dyn twin::Replacement>,
    /// Lines of each set that are present or in flight, from least to most recently used.
    uses: Vec<Vec<u64>>,
    reserved: Vec<Reservation>,
    tags: Vec<u64>,
    moods: TrafficModes<3>,
    random: Random,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let (sets, ways, tag_bits, policy): (u32, u32, u32, u32) = match size {
            Size::Small => (2, 3, 4, 2),
            Size::Fermi => (32, 4, 20, 0),
            Size::Synthesised => (1, 4, 20, 0),
            Size::Any => (1 << random.below(4), 2 + random.below(15) as u32, 20, random.below(3) as u32),
        };
        let line_bits = tag_bits + sets.ilog2();
        let index = IndexUnit::new(&Linear {}.into(), sets, 128, line_bits);
        let (config, golden): (ReplacementConfig, _) = match policy {
            0 => (Lru {}.into(), twin::lru::Lru {}.twin(sets as usize, ways as usize)),
            1 => (Srrip {}.into(), twin::srrip::Srrip {}.twin(sets as usize, ways as usize)),
            _ => (Brrip {}.into(), twin::brrip::Brrip {}.twin(sets as usize, ways as usize)),
        };
        let tags = (0..2 * u64::from(ways)).map(|i| match i % 2 {
            0 => random.below(1 << tag_bits),
            _ => 1 << (i % u64::from(tag_bits)),
        });
        Self {
            sets,
            ways,
            tag_bits,
            policy,
            tags: tags.collect(),
            dut: Tags::new(
                &CacheGeometry { group: "l1", path: "l1", sets, ways },
                (&config, false, false),
                index,
                line_bits,
                (1, false),
            ),
            golden,
            uses: vec![Vec::new(); sets as usize],
            reserved: Vec::new(),
            moods: TrafficModes::default(),
            random,
        }
    }

    fn bits(&self) -> (u32, u32) {
        (self.sets.ilog2().max(1), self.ways.next_power_of_two().ilog2())
    }

    fn fill(&mut self, at: &Edge<'_>, ports: &mut Ports, often: u64) -> Option<u32> {
        let bits = self.bits();
        let Self { dut, reserved, random, .. } = self;
        let filled = fills::drive(ports, bits, reserved, random, often, |set, way| dut.fill(at, set, way));
        let ((set, _, line), kept) = filled?;
        if !kept {
            self.leave(set, line);
        }
        Some(set)
    }

    fn leave(&mut self, set: u32, line: u64) {
        self.uses[set as usize].retain(|other| *other != line);
        self.golden.on_invalidate(line);
    }

    /// Makes a line the most recently used line of its set.
    fn renew(&mut self, set: u32, line: u64) {
        self.uses[set as usize].retain(|other| *other != line);
        self.uses[set as usize].push(line);
    }

    fn access(&mut self, at: &Edge<'_>, ports: &mut Ports, filled: Option<u32>, often: u64) {
        let (set_bits, way_bits) = self.bits();
        let op: u32 = match self.random.below(20) {
            _ if !self.random.percent(often) => 0,
            0..16 => 1,
            16..18 => 2,
            _ => 3,
        };
        let go = self.random.percent(90);
        let any = self.random.below(self.sets.into()) as u32;
        let set = filled.filter(|_| self.random.percent(50)).unwrap_or(any);
        let tag = self.tags[self.random.below(self.tags.len() as u64) as usize];
        let line = tag << self.sets.ilog2() | u64::from(set);
        ports.input("op", 2, op);
        ports.input("go", 1, go);
        ports.input("set_index", set_bits, set);
        ports.input("tag", self.tag_bits, tag);

        let probe = self.dut.probe(at, set, line);
        let (way, modified) = match probe {
            Probe::Present { way, modified } => (Some(way), modified),
            Probe::Reserved { way } => (Some(way), false),
            Probe::Absent | Probe::TagOnly { .. } => (None, false),
        };
        assert_eq!(way.is_some(), self.uses[set as usize].contains(&line), "line {line:#x}");
        let present = matches!(probe, Probe::Present { .. });
        let victim = if way.is_none() { self.dut.victim(set) } else { None };
        let gone = victim.filter(|victim| victim.holds).map(|victim| self.dut.line_in(set, victim.way));
        let stay: Vec<_> = self.uses[set as usize].iter().map(|line| (*line, !self.is_reserved(*line))).collect();
        if way.is_none() {
            let mut may_go = stay.iter().filter(|(_, may_go)| *may_go).map(|(line, _)| *line);
            let expected = if stay.len() < self.ways as usize { None } else { self.golden.victim(&mut may_go) };
            assert_eq!(gone, expected, "set {set}");
        }
        ports.output("present", 1, present);
        ports.output("reserved", 1, matches!(probe, Probe::Reserved { .. }));
        ports.output("modified", 1, modified);
        ports.output_if("way", way_bits, way);
        ports.output_if("victim_valid", 1, way.is_none().then_some(victim.is_some()));
        ports.output_if("victim_holds", 1, victim.map(|victim| victim.holds));
        ports.output_if("victim_modified", 1, gone.and(victim).map(|victim| victim.modified));
        ports.output_if("victim_way", way_bits, victim.map(|victim| victim.way));
        ports.output_if("victim_tag", self.tag_bits, gone.map(|line| line >> self.sets.ilog2()));

        match (op, way) {
            _ if !go => {}
            (1, None) => {
                let Some(victim) = victim else { return };
                self.dut.claim(at, set, victim, Source::of_line(line));
                self.uses[set as usize].retain(|other| Some(*other) != gone);
                let stay: Vec<_> = stay.into_iter().filter(|(other, _)| Some(*other) != gone).collect();
                self.golden.on_insert(twin::InsertedLine { line, pc: 0, set: set as usize, first_way: 0 }, gone, &stay);
                self.renew(set, line);
                self.reserved.push((set, victim.way, line));
            }
            (1, Some(way)) => {
                self.dut.touch(at, (set, way), LineUse::Load, Source::of_line(line));
                self.golden.on_hit(line, 0);
                self.renew(set, line);
            }
            (2, Some(way)) if present => {
                self.dut.touch(at, (set, way), LineUse::Modify, Source::of_line(line));
                self.golden.on_hit(line, 0);
                self.renew(set, line);
            }
            (2 | 3, Some(way)) if present => {
                self.dut.invalidate(at, set, way);
                self.leave(set, line);
            }
            (2 | 3, Some(way)) => self.dut.overtake(at, set, way),
            _ => {}
        }
    }

    /// Clears the tags in a few of the cycles in which the random event occurs.
    fn flush(&mut self, ports: &mut Ports, often: u64) {
        let flushes = self.random.percent(often) && self.random.percent(2);
        ports.input("flush", 1, flushes);
        if flushes {
            self.dut.clear();
            self.reserved.clear();
            let lines: Vec<_> = self.uses.iter_mut().flat_map(std::mem::take).collect();
            lines.into_iter().for_each(|line| self.golden.on_invalidate(line));
        }
    }

    fn is_reserved(&self, line: u64) -> bool {
        self.reserved.iter().any(|(_, _, other)| *other == line)
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("SETS", self.sets.to_string()),
            ("WAYS", self.ways.to_string()),
            ("TAG_BITS", self.tag_bits.to_string()),
            ("POLICY", self.policy.to_string()),
        ]
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let [fills, accesses, flushes] = self.moods.next(&mut self.random);
        let filled = self.fill(at, ports, fills);
        self.access(at, ports, filled, accesses);
        self.flush(ports, flushes);
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(to);
    }
}
