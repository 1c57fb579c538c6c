//! # Lockstep test of the CCWS victim tags
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                               | where     |
//! |-------------------------------------------------------------------------|-----------|
//! | an evicted line is recorded under the warp that fetched it              | `lines`   |
//! | a line is recorded in its own entry, a free entry or the oldest entry   | few tags  |
//! | evicted and missing line share a victim set, or even an entry           | few lines |
//! | stores remove lines from all warps, and free their entries              | `stored`  |
//! | the golden model detects the same losses of locality                    | `cycle`   |

use golden::throttle::Losses as _;
use golden::throttle::ccws as twin;
use rtl::kernel::{Describe, Edge};
use rtl::throttle::ccws::CcwsConfig;
use rtl::throttle::ccws::victims::Victims;
use rtl::throttle::{L1Place, Losses};

use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("* VICTIM_SETS + 32'(at) % VICTIM_SETS", "* VICTIM_SETS"),
        Mistake::new("== {1'b1, of}", "== {row[c*CELL+CELL-1], of}"),
        Mistake::new("if (cell_oh[c]) used[c*CELL+:LRU] = '0;", "if (0) used[c*CELL+:LRU] = '0;"),
        Mistake::new("row[c*CELL+:LRU] < rank) used", "1) used"),
        Mistake::new("oldest[c] = was[c*CELL+:LRU] == LRU'(VICTIM_WAYS - 1)", "oldest[c] = was[c*CELL+:LRU] == 0"),
        Mistake::new("place = holder(was, old_i);", "place = '0;"),
        Mistake::new("place = free & (~free + 1'b1)", "place = oldest"),
        Mistake::new("noted = used(was, place);", "noted = was;"),
        Mistake::new("is_noted ? noted", "0 ? noted"),
        Mistake::new("is_noted ? holds[own_row] & ~place", "0 ? holds[own_row] & ~place"),
        Mistake::new("missed_valid_i && old_valid_i;", "missed_valid_i;"),
        Mistake::new("tags_q[r] <= sought_next", "tags_q[r] <= sought"),
        Mistake::new("else if (notes && old_row == R_BITS'(r)) tags_q[r] <= noted;", ""),
        Mistake::new("stored_valid_i && in_set", "stored_valid_i && r % VICTIM_SETS == 0"),
        Mistake::new("owners_q[s][w*O_BITS+:O_BITS] <= warp_i", "owners_q[s][w*O_BITS+:O_BITS] <= O_BITS'(warp_i == 0)"),
        Mistake::equivalent("stored_valid_i && in_set", "stored_valid_i", "no row has a line of another set"),
    ]
}

const LINE_BITS: u32 = 25;

struct Unit {
    config: CcwsConfig,
    sets: u32,
    ways: u32,
    warps: u32,
    dut: Victims,
    golden: twin::Victims,
    /// Line in each way of the L1D, by set and way.
    lines: Vec<Vec<Option<u64>>>,
    /// Addresses of the lines that the test accesses.
    asked: Vec<u64>,
    moods: TrafficModes<2>,
    random: Random,
}

fn bits(values: u32) -> u32 {
    values.max(2).next_power_of_two().ilog2()
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let khairy2015 = CcwsConfig::KHAIRY2015;
        let (sets, ways, warps, config) = match size {
            Size::Small => (2, 2, 3, CcwsConfig { victims: 6, victim_ways: 3, ..khairy2015 }),
            Size::Fermi => (32, 4, 48, khairy2015),
            Size::Synthesised => (1, 4, 1, CcwsConfig { victims: 8, ..khairy2015 }),
            Size::Any => {
                let victim_ways = 2 + random.below(7) as u32;
                let victims = victim_ways << random.below(3);
                let warps = 1 + random.below(64) as u32;
                (
                    1 << random.below(5),
                    1 + random.below(8) as u32,
                    warps,
                    CcwsConfig { victims, victim_ways, ..khairy2015 },
                )
            }
        };
        let place = L1Place { path: "l1", sets, ways, line_bits: LINE_BITS, warps };
        // Half of the lines differ from another line only in the highest address bit.
        let asked = (0..=u64::from(sets * ways * 3)).flat_map(|line| [line, line | 1 << (LINE_BITS - 1)]).collect();
        Self {
            dut: Victims::new(&config, &place),
            golden: golden(&config),
            config,
            sets,
            ways,
            warps,
            lines: vec![vec![None; ways as usize]; sets as usize],
            asked,
            moods: TrafficModes::default(),
            random,
        }
    }
}

fn golden(config: &CcwsConfig) -> twin::Victims {
    twin::Victims::new((config.victims / config.victim_ways).into(), config.victim_ways as usize)
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let CcwsConfig { victims, victim_ways, .. } = self.config;
        vec![
            ("SETS", self.sets.to_string()),
            ("WAYS", self.ways.to_string()),
            ("WARPS", self.warps.to_string()),
            ("VICTIM_SETS", (victims / victim_ways).to_string()),
            ("VICTIM_WAYS", victim_ways.to_string()),
            ("LINE_BITS", LINE_BITS.to_string()),
        ]
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let [accesses, stores] = self.moods.next(&mut self.random);
        let line = self.asked[self.random.below(self.asked.len() as u64) as usize];
        let set = (line % u64::from(self.sets)) as usize;
        let (warp, way) = (self.random.below(self.warps.into()) as u8, self.random.below(self.ways.into()) as usize);
        let clear = self.random.below(2000) == 0;
        let stored = !clear && self.random.percent(stores / 3);
        let is_here = self.lines[set].contains(&Some(line));
        let missed = !clear && !stored && !is_here && self.random.percent(accesses);
        let old = self.lines[set][way];
        ports.input("missed_valid", 1, missed);
        ports.input("set_index", bits(self.sets), set as u64);
        ports.input("way", bits(self.ways), way as u64);
        ports.input("old_valid", 1, old.is_some());
        ports.input("old", LINE_BITS, old.unwrap_or(0));
        ports.input("warp", bits(self.warps), warp);
        ports.input("line", LINE_BITS, line);
        ports.input("stored_valid", 1, stored);
        ports.input("clear", 1, clear);
        let lost = missed.then(|| self.dut.on_miss(at, (set as u32, way as u32), old, (warp, line)));
        ports.output_if("lost", 1, lost);
        if missed {
            assert_eq!(lost, Some(self.golden.on_miss(old, warp, line)));
            self.lines[set][way] = Some(line);
        }
        if stored {
            self.dut.on_store(at, line);
            self.golden.on_store(line);
            self.lines[set].iter_mut().filter(|way| **way == Some(line)).for_each(|way| *way = None);
        }
        if clear {
            self.dut.clear();
            self.golden = golden(&self.config);
            self.lines.iter_mut().for_each(|set| set.fill(None));
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(to);
    }
}
