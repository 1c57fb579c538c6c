//! # Lockstep test of the protecting distances
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                          | where     |
//! |----------------------------------------------------|-----------|
//! | accesses served by a way, and accesses that bypass | `cycle`   |
//! | sets without an access keep their distances        | registers |
//! | the golden time stamps protect the same lines      | `cycle`   |

use golden::l1::bypass::Bypass;
use golden::l1::bypass::pdp as twin;
use golden::l1::event::Load;
use rtl::choice::CacheGeometry;
use rtl::kernel::{Describe, Edge};
use rtl::l1::bypass::Hooks;
use rtl::l1::bypass::pdp::{Pdp, PdpConfig};

use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("row[w*8+:8] <= 1;", "row[w*8+:8] == 0;"),
        Mistake::new("row[w*8+:8] <= 1;", "row[w*8+:8] <= 2;"),
        Mistake::new("row[w*8+:8] <= 1;", "row[w*8+:8] == 1;"),
        Mistake::new("if (way_valid_i && way_i ==", "if (way_i =="),
        Mistake::new("8'(DISTANCE)", "8'(DISTANCE - 1)"),
        Mistake::new("row[w*8+:8] == 0 ? '0 :", ""),
        Mistake::new("row[w*8+:8] - 1'b1", "row[w*8+:8]"),
        Mistake::new("if (clear_i)", "if (0)"),
        Mistake::new("if (clear_i)", "if (clear_i && set_index_i == S_BITS'(s))"),
        Mistake::new("else if (age_valid_i && set_index_i", "else if (set_index_i"),
        Mistake::new("else if (age_valid_i && set_index_i == S_BITS'(s))", "else if (age_valid_i)"),
    ]
}

struct Unit {
    sets: u32,
    ways: u32,
    distance: u32,
    dut: Pdp,
    golden: twin::Pdp,
    moods: TrafficModes<2>,
    random: Random,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let (sets, ways, distance): (u32, u32, u32) = match size {
            Size::Small => (2, 3, 4),
            Size::Fermi => (32, 4, 16),
            Size::Synthesised => (1, 4, 16),
            Size::Any => (1 << random.below(4), 2 + random.below(15) as u32, 1 + random.below(255) as u32),
        };
        let dut = Pdp::new(&CacheGeometry { group: "l1", path: "l1", sets, ways }, &PdpConfig { distance });
        let golden = twin::Pdp::new(distance.into());
        Self { sets, ways, distance, dut, golden, moods: TrafficModes::default(), random }
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("SETS", self.sets.to_string()), ("WAYS", self.ways.to_string()), ("DISTANCE", self.distance.to_string())]
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let [accesses, served] = self.moods.next(&mut self.random);
        let set = self.random.below(self.sets.into()) as u32;
        let way = self.random.below(self.ways.into()) as u32;
        let clear = self.random.below(500) == 0;
        let age = !clear && self.random.percent(accesses);
        let serves = self.random.percent(served);
        // The golden model identifies lines by number and does not assign them to ways. The test therefore
        // gives each way a fixed line number.
        let line = |way: u32| u64::from(set * self.ways + way);
        let free = (0..self.ways).fold(0u64, |free, way| free | u64::from(self.dut.is_free(set, way)) << way);
        for way in 0..self.ways {
            assert_eq!(free >> way & 1 == 0, self.golden.protects(set as usize, line(way)), "set {set}, way {way}");
        }
        ports.input("set_index", self.sets.ilog2().max(1), set);
        ports.output("unguarded", self.ways, free);
        ports.input("age_valid", 1, age);
        ports.input("way_valid", 1, serves);
        ports.input("way", self.ways.next_power_of_two().ilog2(), way);
        ports.input("clear", 1, clear);
        if clear {
            self.dut.clear();
            self.golden = twin::Pdp::new(self.distance.into());
        } else if age {
            self.dut.age(at, set, serves.then_some(way));
            let load = Load::of(line(way));
            if serves {
                self.golden.on_access(&load, set as usize, false);
            } else {
                self.golden.on_bypass(&load, set as usize, false);
            }
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(to);
    }
}
