//! # Lockstep test of the SIMT stack
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. Branches go to random targets and reconverge anywhere or never, which is more than any program
//! needs. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                                      | where            |
//! |--------------------------------------------------------------------------------|------------------|
//! | branches of all lanes, of none, of some; to the next instruction               | `branch`         |
//! | paths that lead directly to their reconvergence point                          | few instructions |
//! | branches that reconverge where their own path does, and branches that never do | `reconverge`     |
//! | lanes that exit below the top, entries that are skipped                        | `exit`           |
//! | no lane is lost, and the stack never overflows                                 | `cycle`          |

use rtl::kernel::{Describe, Edge};
use rtl::sm::SimtStacks;

use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("op_i == BRANCH && lanes_i != '0 ? target_i", "op_i == BRANCH ? target_i"),
        Mistake::new("&& lanes_i != now_lanes_o && target_i", "&& target_i"),
        Mistake::new("&& target_i != next_pc;", ";"),
        Mistake::new("alive_1 = exits ? alive_q[warp_i] & ~lanes_i", "alive_1 = exits ? left"),
        Mistake::new("(left == '0 || to == own_rpc)", "(to == own_rpc)"),
        Mistake::new("(row[d*CELL+:LANES] & alive_1) != '0", "(row[d*CELL+:LANES] & alive_q[warp_i]) != '0"),
        Mistake::new("meets = splits && reconverge_i != own_rpc", "meets = splits"),
        Mistake::new("both = splits && next_pc != reconverge_i && target_i", "both = splits && target_i"),
        Mistake::new("level + D_BITS'(meets)", "level"),
        Mistake::new("active_d &= alive_1;", ""),
        Mistake::new("below_d = found;", "below_d = level - 1'b1;"),
        Mistake::new("falls ? not_taken : {target_i", "{target_i"),
        Mistake::new("rpc_q[w] <= '1;", "rpc_q[w] <= '0;"),
        Mistake::equivalent(
            "&& row[d*CELL+LANES+:32] != row[d*CELL+LANES+32+:32]",
            "",
            "no entry is pushed that ends where it begins",
        ),
    ]
}

struct Unit {
    warps: u32,
    lanes: u32,
    dut: SimtStacks,
    moods: TrafficModes<3>,
    random: Random,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let (warps, lanes) = match size {
            Size::Small => (2, 4),
            // In the machine `fermi`, an SRAM holds the stack entries of the 48 warps, with one row per warp.
            Size::Fermi => (2, 32),
            Size::Synthesised => (1, 32),
            Size::Any => (1 + random.below(3) as u32, 2 + random.below(15) as u32),
        };
        let dut = SimtStacks::new("core", warps as usize, lanes, 1);
        Self { warps, lanes, dut, moods: TrafficModes::default(), random }
    }

    /// Returns a random subset of the lane mask `of`.
    fn some(&mut self, of: u64) -> u64 {
        match self.random.below(4) {
            0 => of,
            1 => of & of.wrapping_neg(),
            _ => of & self.random.below(1 << self.lanes),
        }
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("WARPS", self.warps.to_string()), ("LANES", self.lanes.to_string())]
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let [often, branches, exits] = self.moods.next(&mut self.random);
        let warp_bits = self.warps.max(2).next_power_of_two().ilog2();
        let warp = self.random.below(self.warps.into()) as u8;
        let (pc, active) = (self.dut.pc(warp), self.dut.active(warp));
        let (alive, entries) = self.dut.entries(warp);
        let held = entries.iter().fold(0, |held, entry| held | entry.mask);
        assert_eq!(held & alive, alive, "warp {warp} has lanes that are nowhere");
        let runs = alive != 0 && self.random.percent(often);
        let op: u32 = match self.random.below(100) {
            _ if !runs => 0,
            chance if chance < exits / 12 => 3,
            chance if chance < branches => 2,
            _ => 1,
        };
        // The program has few instructions, so that paths often meet. A path that runs past the last
        // instruction jumps back to the first.
        let target = if pc > 9 { 0 } else { self.random.below(8) as u32 };
        let op = if op == 1 && pc > 9 { 2 } else { op };
        let lanes = if op == 2 && pc > 9 { active } else { self.some(active) };
        let reconverge = if self.random.percent(10) { u32::MAX } else { self.random.below(10) as u32 };
        ports.input("op", 2, op);
        ports.input("warp", warp_bits, warp);
        ports.input("lanes", self.lanes, lanes);
        ports.input("target", 32, target);
        ports.input("reconverge", 32, reconverge);
        ports.output("now_pc", 32, pc);
        ports.output("now_lanes", self.lanes, active);
        let mut exit_all = false;
        match op {
            1 => self.dut.advance(at, warp),
            2 => self.dut.branch(at, warp, lanes, target, reconverge),
            3 => exit_all = self.dut.exit(at, warp, lanes),
            _ => {}
        }
        ports.output("exit_all", 1, exit_all);
        let started = self.random.below(self.warps.into()) as u8;
        let mask = self.some(u64::MAX >> (64 - self.lanes)).max(1);
        let is_over = self.dut.entries(started).0 == 0 && !(started == warp && op != 0);
        let starts = is_over && self.random.percent(50);
        ports.input("start_valid", 1, starts);
        ports.input("start_warp", warp_bits, started);
        ports.input("start_lanes", self.lanes, mask);
        if starts {
            self.dut.start(started, mask);
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(to);
    }
}
