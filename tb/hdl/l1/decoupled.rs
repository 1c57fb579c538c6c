//! # Lockstep test of the decoupled tag store
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. Fills, mode switches and accesses occur in the same cycle, on the same set and on different sets.
//! The following table lists the tested situations, with the code of this file that generates each of them.
//!
//! | testpoint                                                   | where                           |
//! |-------------------------------------------------------------|---------------------------------|
//! | every search has the same result, even if it is not used    | `access`                        |
//! | a fill and a mode switch affect an access of the same cycle | fills of its set, `mode`        |
//! | candidates age whenever a line gains or loses a data way    | registers                       |
//! | reuse counters saturate                                     | registers, in the original mode |
//! | the golden filter admits the same lines and counts equally  | `cycle`                         |

use std::collections::BTreeMap;

use golden::l1::decoupled::{Config, Filter, Standing};
use rtl::choice::CacheGeometry;
use rtl::index::IndexUnit;
use rtl::index::linear::Linear;
use rtl::kernel::{Describe, Edge};
use rtl::l1::decoupled::{AgeMode, Decoupled, DecoupledConfig};
use rtl::l1::tags::{LineUse, Probe};
use rtl::replacement::Source;
use rtl::replacement::lru::Lru;

use super::fills::{self, Reservation};
use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("fill_kept_o ? VALID : is_original ? EMPTY : CANDIDATE", "fill_kept_o ? VALID : CANDIDATE"),
        Mistake::new("fill_free = free_q[fill_set_i] + F_BITS'(!fill_kept_o)", "fill_free = free_q[fill_set_i]"),
        Mistake::new("row_free = same ? fill_free : free_q[set_index_i]", "row_free = free_q[set_index_i]"),
        Mistake::new("spare = empty != '0 ? empty & (~empty + 1'b1)", "spare = empty != '0 ? empty"),
        Mistake::new("found != '0 && uses != '1", "found != '0"),
        Mistake::new("32'(count) < THRESHOLD", "32'(count) <= THRESHOLD"),
        Mistake::new("(found != '0 || !(&committed)) && row_free != 0", "row_free != 0"),
        Mistake::new("!victim_valid_o || rank[w] >= top", "!victim_valid_o || rank[w] <= top"),
        Mistake::new("claims && victim_holds_o ? 6'd2", "claims ? 6'd2"),
        Mistake::new("if (claims) lines_d[w*LINE] = 0;", ""),
        Mistake::new("wire drops = op_i[1] && go_i && !stores && present_o;", "wire drops = op_i[1] && go_i && !stores && has_place;"),
        Mistake::new("entries_q[s] <= forgets ? forgotten(kept) : kept;", "entries_q[s] <= kept;"),
        Mistake::equivalent(
            "!victim_valid_o || rank[w] >= top",
            "!victim_valid_o || rank[w] > top",
            "no two lines of a set have the same rank",
        ),
        Mistake::equivalent(
            "wire overtakes = op_i[1] && go_i && !stores && reserved_o;",
            "wire overtakes = op_i[1] && go_i && reserved_o;",
            "a store of local memory modifies only what is present, which is not reserved",
        ),
    ]
}

struct Unit {
    sets: u32,
    ways: u32,
    config: DecoupledConfig,
    tag_bits: u32,
    dut: Decoupled,
    golden: Filter,
    /// Status of each line that has a data way, in the form that the golden filter model uses.
    standing: BTreeMap<u64, Standing>,
    reserved: Vec<Reservation>,
    tags: Vec<u64>,
    moods: TrafficModes<3>,
    random: Random,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let (sets, ways, tag_ways, threshold, twice, tag_bits): (u32, u32, u32, u32, bool, u32) = match size {
            // With fewer tags than data ways, a line may have to be evicted for its tag although a data way
            // is free.
            Size::Small => (2, 4, 3, 2, true, 4),
            Size::Fermi => (32, 4, 8, 2, false, 20),
            Size::Synthesised => (1, 4, 8, 2, false, 20),
            Size::Any => {
                let ways = 2 + random.below(7) as u32;
                let (sets, tag_ways) = (1 << random.below(4), 2 + random.below(15) as u32);
                (sets, ways, tag_ways, random.below(6) as u32, random.percent(50), 20)
            }
        };
        let age_mode = if twice { AgeMode::Twice } else { AgeMode::Once };
        let config = DecoupledConfig { tag_ways, threshold, age_mode, ..DecoupledConfig::LI2015 };
        let line_bits = tag_bits + sets.ilog2();
        let index = IndexUnit::new(&Linear {}.into(), sets, 128, line_bits);
        let dut = Decoupled::new(
            &CacheGeometry { group: "l1", path: "l1", sets, ways },
            &config,
            &Lru {}.into(),
            index,
            line_bits,
            false,
        );
        let golden = Config {
            tags: tag_ways as usize,
            threshold,
            above: false,
            first: config.rc_init,
            ages_twice: twice,
            forgets_any: false,
            stores_age: config.store_evict_ages,
            starts_original: false,
        };
        let tags = (0..2 * u64::from(tag_ways)).map(|i| match i % 2 {
            0 => random.below(1 << tag_bits),
            _ => 1 << (i % u64::from(tag_bits)),
        });
        let tags = tags.collect();
        let (golden, standing) = (Filter::new(golden, sets as usize), BTreeMap::new());
        let (reserved, moods) = (Vec::new(), TrafficModes::default());
        Self { sets, ways, config, tag_bits, dut, golden, standing, reserved, tags, moods, random }
    }

    fn bits(&self) -> (u32, u32) {
        (self.sets.ilog2().max(1), self.ways.next_power_of_two().ilog2())
    }

    fn fill(&mut self, at: &Edge<'_>, ports: &mut Ports, often: u64) -> Option<u32> {
        let bits = self.bits();
        let Self { dut, reserved, random, .. } = self;
        let filled = fills::drive(ports, bits, reserved, random, often, |set, way| dut.fill(at, set, way));
        let ((set, _, line), kept) = filled?;
        if kept {
            self.standing.insert(line, Standing::Clean);
        } else {
            self.lose(set, line);
        }
        Some(set)
    }

    fn lose(&mut self, set: u32, line: u64) {
        self.standing.remove(&line);
        self.golden.on_store_evict(set as usize, line);
    }

    fn mode(&mut self, ports: &mut Ports) {
        let (valid, original) = (self.random.below(200) == 0, self.random.percent(40));
        ports.input("mode_valid", 1, valid);
        ports.input("mode_original", 1, original);
        if valid {
            self.dut.set_original(original);
            let standing = &self.standing;
            self.golden.switch(original, |line| standing.get(&line).copied().unwrap_or(Standing::Candidate));
        }
    }

    fn access(&mut self, at: &Edge<'_>, ports: &mut Ports, filled: Option<u32>, (often, hot): (u64, u64)) {
        let (set_bits, way_bits) = self.bits();
        let op: u32 = match self.random.below(20) {
            _ if !self.random.percent(often) => 0,
            _ if self.random.percent(hot) => 1,
            0..16 => 1,
            16..18 => 2,
            _ => 3,
        };
        let go = self.random.percent(90);
        // Selects one fixed line in `hot` percent of the cases, so that its reuse counter saturates, and
        // otherwise a random line.
        let (mut set, mut tag) = (0, self.tags[0]);
        if !self.random.percent(hot) {
            let any = self.random.below(self.sets.into()) as u32;
            set = filled.filter(|_| self.random.percent(50)).unwrap_or(any);
            tag = self.tags[self.random.below(self.tags.len() as u64) as usize];
        }
        let line = tag << self.sets.ilog2() | u64::from(set);
        ports.input("op", 2, op);
        ports.input("go", 1, go);
        ports.input("set_index", set_bits, set);
        ports.input("tag", self.tag_bits, tag);

        let past = self.dut.bypasses(at, line);
        let has_place = self.standing.contains_key(&line);
        assert_eq!(past, !has_place && !self.golden.admits(set as usize, line), "line {line:#x}");
        let probe = if past { Probe::Absent } else { self.dut.probe(at, set, line) };
        let (way, modified) = match probe {
            Probe::Present { way, modified } => (Some(way), modified),
            Probe::Reserved { way } => (Some(way), false),
            Probe::Absent | Probe::TagOnly { .. } => (None, false),
        };
        assert_eq!(way.is_some(), has_place, "line {line:#x}");
        let present = matches!(probe, Probe::Present { .. });
        let victim = if way.is_none() { self.dut.victim(set, line) } else { None };
        let gone = victim.filter(|victim| victim.holds).map(|victim| self.dut.line_in(set, victim.way));
        ports.output("past", 1, past);
        ports.output("present", 1, present);
        ports.output("reserved", 1, matches!(probe, Probe::Reserved { .. }));
        ports.output("modified", 1, modified);
        ports.output_if("way", way_bits, way);
        ports.output_if("victim_valid", 1, way.is_none().then_some(victim.is_some()));
        ports.output_if("victim_holds", 1, victim.map(|victim| victim.holds));
        ports.output_if("victim_modified", 1, gone.and(victim).map(|victim| victim.modified));
        ports.output_if("victim_way", way_bits, victim.map(|victim| victim.way));
        ports.output_if("victim_tag", self.tag_bits, gone.map(|line| line >> self.sets.ilog2()));

        let standing = &self.standing;
        let stands = |line| standing.get(&line).copied().unwrap_or(Standing::Candidate);
        match (op, way) {
            _ if !go => {}
            (1, None) if past => {
                self.dut.on_bypass(at, line);
                self.golden.on_bypass(set as usize, line, stands);
            }
            (1, None) => {
                let Some(victim) = victim else { return };
                self.dut.claim(at, set, victim, Source::of_line(line));
                self.golden.on_allocate(set as usize, line, gone, stands);
                self.standing.retain(|other, _| Some(*other) != gone);
                self.standing.insert(line, Standing::Bound);
                self.reserved.push((set, victim.way, line));
            }
            (1, Some(way)) => {
                self.dut.touch(at, (set, way), LineUse::Load, Source::of_line(line));
                self.golden.on_hit(set as usize, line, true);
            }
            (2, Some(way)) if present => {
                self.dut.touch(at, (set, way), LineUse::Modify, Source::of_line(line));
                self.golden.on_hit(set as usize, line, false);
                self.standing.insert(line, Standing::Bound);
            }
            (2 | 3, Some(way)) if present => {
                self.dut.invalidate(at, set, way);
                self.lose(set, line);
            }
            (2 | 3, Some(way)) => self.dut.overtake(at, set, way),
            _ => {}
        }
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("SETS", self.sets.to_string()),
            ("WAYS", self.ways.to_string()),
            ("TAGS", self.config.tag_ways.to_string()),
            ("TAG_BITS", self.tag_bits.to_string()),
            ("THRESHOLD", self.config.threshold.to_string()),
            ("AGE_TWICE", u32::from(self.config.age_mode == AgeMode::Twice).to_string()),
        ]
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let [fills, accesses, hot] = self.moods.next(&mut self.random);
        let filled = self.fill(at, ports, fills);
        self.mode(ports);
        self.access(at, ports, filled, (accesses, hot));
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(to);
    }
}
