//! # Lockstep test of the contention test
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                             | where                          |
//! |-----------------------------------------------------------------------|--------------------------------|
//! | lines that differ in one bit; inactive lanes                          | `cycle`                        |
//! | every number of lines with every number of warps, also near the bound | lanes share lines, few or many |
//! | the golden test by division agrees                                    | `cycle`                        |

use std::collections::BTreeSet;

use arbitrary_int::u7;
use golden::hybrid::is_contentious;
use rtl::kernel::{Describe, Edge};
use rtl::l1::bypass::contention::Contention;

use crate::{Bench, Mistake, Ports, Random, Size};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("mask_i[i] && !is_repeated", "!is_repeated"),
        Mistake::new("j < i;", "j + 1 < i;"),
        Mistake::new("if (mask_i[j] && line_i", "if (line_i"),
        Mistake::new("== line_i[j*LINE_BITS+:LINE_BITS]", "== line_i[j*LINE_BITS+:LINE_BITS] ^ LINE_BITS'(mask_i[i])"),
        Mistake::new("line_i[i*LINE_BITS+:LINE_BITS] ==", "line_i[i*LINE_BITS+:LINE_BITS] >="),
        Mistake::new("touched_o += T_BITS'(first[i])", "touched_o += T_BITS'(mask_i[i])"),
        Mistake::new("w < WARPS; w++", "w < WARPS - 1; w++"),
        Mistake::new("t <= LANES; t++", "t < LANES; t++"),
        Mistake::new(": W_BITS'(LINES / (t + 1))", ": W_BITS'(LINES / t)"),
        Mistake::new("? W_BITS'(WARPS) :", "? '0 :"),
        Mistake::new("warps > most", "warps >= most"),
        Mistake::equivalent("(t + 1) > WARPS ? ", "(t + 1) >= WARPS ? ", "at WARPS both are WARPS"),
    ]
}

const LINE_BITS: u32 = 25;
const WARPS: u32 = 64;

struct Unit {
    lanes: u32,
    lines: u32,
    dut: Contention,
    random: Random,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let (lanes, lines) = match size {
            Size::Small => (4, 150),
            Size::Fermi | Size::Synthesised => (32, 128),
            Size::Any => (1 + random.below(32) as u32, 1 + random.below(1024) as u32),
        };
        Self { lanes, lines, dut: Contention::new(lines, LINE_BITS), random }
    }

    /// Generates a random mask of `count` bits. The number of set bits is uniformly distributed between 1 and
    /// `count`.
    fn bits(&mut self, count: u32) -> u64 {
        let ones = 1 + self.random.below(count.into()) as u32;
        let mut bits = 0u64;
        while bits.count_ones() < ones {
            bits |= 1 << self.random.below(count.into());
        }
        bits
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("LINES", self.lines.to_string()),
            ("LINE_BITS", LINE_BITS.to_string()),
            ("LANES", self.lanes.to_string()),
            ("WARPS", WARPS.to_string()),
        ]
    }

    fn cycle(&mut self, _at: &Edge<'_>, ports: &mut Ports) {
        let (mask, resident) = (self.bits(self.lanes), self.bits(WARPS));
        // The addresses of the other lines differ from that of the first line in one bit or a few bits.
        let shared = 1 + self.random.below(32);
        let first = self.random.below(1 << LINE_BITS);
        let (mut packed, mut touched) = (vec![0u8; (self.lanes * LINE_BITS).div_ceil(8) as usize], BTreeSet::new());
        for lane in 0..self.lanes {
            let line = first ^ (self.random.below(shared) & 1) << self.random.below(LINE_BITS.into());
            let line = line ^ self.random.below(shared);
            if mask >> lane & 1 != 0 {
                touched.insert(line);
            }
            for bit in (0..LINE_BITS).filter(|bit| line >> bit & 1 != 0) {
                let at = lane * LINE_BITS + bit;
                packed[at as usize / 8] |= 1 << (at % 8);
            }
        }
        let contends = self.dut.contends(touched.len() as u32, u7::new(resident.count_ones() as u8));
        assert_eq!(contends, is_contentious(self.lines as usize, touched.len(), resident.count_ones() as usize));
        ports.wide_input("line", self.lanes * LINE_BITS, &packed);
        ports.input("mask", self.lanes, mask);
        ports.input("resident", WARPS, resident);
        ports.output("touched", u32::BITS - self.lanes.leading_zeros(), touched.len() as u64);
        ports.output("contends", 1, contends);
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(to);
    }
}
