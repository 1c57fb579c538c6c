//! # Lockstep test of the timing distances between DRAM banks
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                         | where              |
//! |-------------------------------------------------------------------|--------------------|
//! | commands in the first cycle in which they are legal, and later    | `rows`, `columns`  |
//! | activates so close that each window limit delays one of them      | few cycles of tRRD |
//! | a row and a column command in one cycle                           | `cycle`            |
//! | bus turnarounds between reads and writes, in one group and in two | `reads`            |
//! | legality follows from the history of commands                     | `History`          |

use rtl::dram::bank::Bank;
use rtl::dram::config::{DramConfig, DramTiming};
use rtl::dram::layout::MappingConfig;
use rtl::dram::policy::fr_fcfs::FrFcfs;
use rtl::dram::timing::Timing;
use rtl::kernel::{ArrayView, Describe, Edge, Field, Fields, Logic};

use super::bank::timing;
use crate::machine::fermi;
use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("32'(row_bank_i) / BANKS_PER_GROUP", "32'(row_bank_i) % GROUPS"),
        Mistake::new("act_from_q[g] <= now_i + 64'(RRD_L)", "act_from_q[g] <= now_i + 64'(RRD_S)"),
        Mistake::new("RD: rd_from_q[g] <= now_i", "RD: wr_from_q[g] <= now_i"),
        Mistake::new("rd_from_q[g] <= later(in_group, now_i + 64'(WR_TO_RD_L))", "rd_from_q[g] <= now_i + 64'(CCD_L)"),
        Mistake::new("third = next_act_q - 5'd3", "third = next_act_q - 5'd4"),
        Mistake::new("first = next_act_q + 5'd1", "first = next_act_q"),
        Mistake::new("acts >= 6'd4 ?", "acts > 6'd4 ?"),
        Mistake::new("acts == 6'd32 ? cycle_q", "num_acts_q == 6'd32 ? cycle_q"),
        Mistake::new("num_acts_q == 6'd32 ? num_acts_q", "num_acts_q == 6'd31 ? num_acts_q"),
        Mistake::new("later(after_four, after_all)", "after_four"),
        Mistake::new("ref_from_q <= later(ref_from_q, now_i + 64'(RP))", "ref_from_q <= now_i + 64'(RP)"),
        Mistake::new("later(channel.rd_from_q, groups.rd_from_q[g])", "channel.rd_from_q"),
        Mistake::new("may_ref_o = now_i >= channel.ref_from_q", "may_ref_o = now_i >= channel.pre_from_q"),
        Mistake::equivalent(
            "wr_from_q <= later(wr_from_q, now_i + 64'(RD_TO_WR))",
            "wr_from_q <= now_i + 64'(RD_TO_WR)",
            "at the small size, a read after a write comes later than the next write could",
        ),
        Mistake::equivalent(
            "pre_from_q <= now_i + 64'(PPD)",
            "pre_from_q <= later(pre_from_q, now_i + 64'(PPD))",
            "a PRE is not legal before the stored cycle",
        ),
    ]
}

/// History of the DRAM commands sent, from oldest to newest, each as its cycle and its bank.
#[derive(Default)]
struct History {
    acts: Vec<(u64, u32)>,
    reads: Vec<(u64, u32)>,
    writes: Vec<(u64, u32)>,
    precharge: Option<u64>,
    refresh: Option<u64>,
}

struct Unit {
    groups: u32,
    banks_per_group: u32,
    timing: DramTiming,
    dut: Timing,
    sent: History,
    moods: TrafficModes<4>,
    random: Random,
}

/// Returns the DRAM configuration of `fermi` with the given bank groups, banks per group and timing. The
/// number of row hits that may overtake an older request is not limited.
pub(super) fn config(bank_groups: u32, banks_per_group: u32, timing: DramTiming) -> DramConfig {
    DramConfig {
        policy: FrFcfs { hit_cap: 0 }.into(),
        bank_groups,
        banks_per_group,
        mapping: MappingConfig::new(&["column", "bank", "group", "row"], &[]),
        timing,
        ..fermi().dram
    }
}

/// Returns the distances between commands to different banks, as parameters of a module.
pub(super) fn distances(t: &DramTiming) -> [(&'static str, u32); 10] {
    [
        ("RRD_S", t.rrd_s),
        ("RRD_L", t.rrd_l),
        ("FAW", t.faw),
        ("AW32", t.aw32),
        ("CCD_S", t.column_to_column()),
        ("CCD_L", t.ccd_l),
        ("RD_TO_WR", t.read_to_write()),
        ("WR_TO_RD_S", t.write_latency() + t.wtr_s),
        ("WR_TO_RD_L", t.write_latency() + t.wtr_l),
        ("PPD", t.ppd),
    ]
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let (groups, banks_per_group) = match size {
            Size::Small => (2, 4),
            Size::Fermi | Size::Synthesised => (4, 4),
            Size::Any => (1 << random.below(4), 1 << random.below(3)),
        };
        let timing = timing(size, &mut random);
        let config = config(groups, banks_per_group, timing);
        let (dut, sent) = (Timing::new(&config), History::default());
        Self { groups, banks_per_group, timing, dut, sent, moods: TrafficModes::default(), random }
    }

    /// True if the RD and WR commands sent so far allow a RD (or, if `write` is set, a WR) to `bank` in cycle
    /// `now`.
    fn column_fits(&self, write: bool, now: u64, bank: u32) -> bool {
        let t = &self.timing;
        let fits = |before: &[(u64, u32)], far: u32, near: u32| {
            before.iter().all(|(then, other)| {
                let same = other / self.banks_per_group == bank / self.banks_per_group;
                now >= then + u64::from(if same { near.max(far) } else { far })
            })
        };
        let (like, near) = (t.column_to_column(), t.ccd_l);
        let turn = t.write_latency();
        if write {
            fits(&self.sent.writes, like, near) && fits(&self.sent.reads, t.read_to_write(), 0)
        } else {
            fits(&self.sent.reads, like, near) && fits(&self.sent.writes, turn + t.wtr_s, turn + t.wtr_l)
        }
    }

    /// True if the ACT commands sent so far allow an ACT to `bank` in cycle `now`.
    fn act_fits(&self, now: u64, bank: u32) -> bool {
        let (t, acts) = (&self.timing, &self.sent.acts);
        let in_group = |(_, other): &&(u64, u32)| other / self.banks_per_group == bank / self.banks_per_group;
        let far =
            |act: Option<&(u64, u32)>, distance: u32| act.is_none_or(|(then, _)| now >= then + u64::from(distance));
        far(acts.last(), t.rrd_s)
            && far(acts.iter().rev().find(in_group), t.rrd_l)
            && far(acts.iter().nth_back(3), t.faw)
            && far(acts.iter().nth_back(31), t.aw32)
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let t = &self.timing;
        let banks = [("GROUPS", self.groups), ("BANKS_PER_GROUP", self.banks_per_group)];
        let others = [("RC", t.rc), ("RP", t.rp), ("RFC", t.rfc)];
        let parameters = banks.into_iter().chain(distances(t)).chain(others);
        parameters.map(|(name, value)| (name, value.to_string())).collect()
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let [rows, columns, others, reads] = self.moods.next(&mut self.random);
        // In the first 100 cycles, an ACT is sent whenever it is legal, so that the windows that limit the
        // number of ACTs fill up.
        let (rows, others) = if at.cycle < 100 { (100, 0) } else { (rows, others) };
        let (now, banks) = (at.cycle, u64::from(self.groups * self.banks_per_group));
        let [row_bank, col_bank] = [(); 2].map(|()| self.random.below(banks) as u32);
        let bank_bits = (banks as u32).max(2).ilog2();
        let (dut, closed) = (&self.dut, &Bank::CLOSED);
        let (row_index, col_index) = (row_bank as usize, col_bank as usize);
        let act = now >= dut.act_from(row_index, closed);
        let pre = now >= dut.pre_from(closed);
        let refresh = now >= dut.ref_from();
        let [rd, wr] = [dut.rd_from(col_index, closed), dut.wr_from(col_index, closed)].map(|from| now >= from);
        assert_eq!([rd, wr], [false, true].map(|write| self.column_fits(write, now, col_bank)), "cycle {now}");
        assert_eq!(act, self.act_fits(now, row_bank), "cycle {now}");
        assert_eq!(pre, self.sent.precharge.is_none_or(|then| now >= then + u64::from(self.timing.ppd)));
        let row_op: u32 = match self.random.below(100) {
            _ if !self.random.percent(rows) => 0,
            chance if chance < others / 3 => {
                if pre {
                    2
                } else {
                    0
                }
            }
            99 if refresh => 3,
            _ => u32::from(act),
        };
        let col_op: u32 = match self.random.percent(reads) {
            _ if !self.random.percent(columns) => 0,
            true => u32::from(rd),
            false => 2 * u32::from(wr),
        };
        ports.input("now", 64, now);
        ports.input("row_op", 2, row_op);
        ports.input("row_bank", bank_bits, row_bank);
        // Groups of the banks, one bit each, in which a command of any bank is legal.
        let groups = |from: &dyn Fn(usize) -> u64| {
            (0..self.groups)
                .fold(0u64, |set, group| set | u64::from(now >= from((group * self.banks_per_group) as usize)) << group)
        };
        ports.output("may_act", self.groups, groups(&|bank| dut.act_from(bank, closed)));
        ports.output("may_pre", 1, pre);
        ports.output("may_ref", 1, refresh);
        ports.input("col_op", 2, col_op);
        ports.input("col_bank", bank_bits, col_bank);
        ports.output("may_rd", self.groups, groups(&|bank| dut.rd_from(bank, closed)));
        ports.output("may_wr", self.groups, groups(&|bank| dut.wr_from(bank, closed)));
        let Self { dut, sent, .. } = self;
        match row_op {
            1 => {
                dut.activate(now, row_index);
                sent.acts.push((now, row_bank));
            }
            2 => {
                dut.precharge(now);
                sent.precharge = Some(now);
            }
            3 => {
                dut.refresh(now);
                sent.refresh = Some(now);
            }
            _ => {}
        }
        match col_op {
            1 => {
                dut.read(now, col_index);
                sent.reads.push((now, col_bank));
            }
            2 => {
                dut.write(now, col_index);
                sent.writes.push((now, col_bank));
            }
            _ => {}
        }
        for before in [&mut sent.acts, &mut sent.reads, &mut sent.writes] {
            before.retain(|(then, _)| then + 1000 > now);
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(&mut SplitDescription { to, depth: Some(0) });
    }
}

/// Visitor that passes a description of registers on to another visitor, and divides the component `timing`
/// into two components: the channel, and the bank groups. Without this division, registers of the channel and
/// of the bank groups would have equal names.
pub(super) struct SplitDescription<'a> {
    pub to: &'a mut dyn Describe,
    /// Number of open scopes within the component `timing`; `None` outside it.
    pub depth: Option<u32>,
}

impl Fields for SplitDescription<'_> {
    fn field(&mut self, field: Field) {
        if self.depth == Some(0) {
            self.to.enter("channel", None);
        }
        self.to.field(field);
        if self.depth == Some(0) {
            self.to.leave();
        }
    }
    fn wide(&mut self, name: &'static str, bytes: &[u8]) {
        self.to.wide(name, bytes);
    }
}

impl Describe for SplitDescription<'_> {
    fn enter(&mut self, name: &'static str, index: Option<u32>) {
        if let Some(depth) = &mut self.depth {
            *depth += 1;
            if name == "group" {
                self.to.enter("groups", None);
            } else {
                self.to.enter("ring", Some(u32::MAX));
            }
        } else if name == "timing" {
            self.depth = Some(0);
        }
        self.to.enter(name, index);
    }
    fn leave(&mut self) {
        self.to.leave();
        self.depth = match self.depth {
            None | Some(0) => None,
            Some(depth) => {
                self.to.leave();
                Some(depth - 1)
            }
        };
    }
    fn probe(&mut self, field: Field) {
        self.to.probe(field);
    }
    fn stat_in(&mut self, group: Option<&'static str>, name: &'static str, value: u64) {
        self.to.stat_in(group, name, value);
    }
    fn array(&mut self, name: &'static str, array: &dyn ArrayView) {
        self.to.array(name, array);
    }
    fn channel(&mut self, name: &'static str, depth: u32, width: u32) {
        self.to.channel(name, depth, width);
    }
    fn logic(&mut self, name: &'static str, logic: Logic) {
        self.to.logic(name, logic);
    }
}
