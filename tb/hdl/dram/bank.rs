//! # Lockstep test of a DRAM bank
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                         | where              |
//! |-------------------------------------------------------------------|--------------------|
//! | commands in the first cycle in which they are legal, and later    | `often`            |
//! | a late column command delays the precharge, an early one does not | few cycles of tRAS |
//! | precharge and refresh close to the tRC limit                      | random distances   |
//! | a precharge of all banks reaches a closed bank                    | `op`               |
//! | the count of overtaking hits restarts with each row               | `overtakes`        |

use rtl::dram::bank::Bank;
use rtl::dram::config::DramTiming;
use rtl::kernel::{Describe, Edge};

use crate::machine::fermi;
use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes, Violation};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("may_act_o = now_i >= act_from_q", "may_act_o = now_i > act_from_q"),
        Mistake::new("later = a > b ? a : b", "later = b"),
        Mistake::new("op_i == ACT ? RAS : op_i == RD ? RTP", "op_i == ACT ? RAS : op_i == WR ? RTP"),
        Mistake::new("op_i == ACT || is_column) pre_from_q", "is_column) pre_from_q"),
        Mistake::new("rd_from_q <= now_i + 64'(RCD_RD)", "rd_from_q <= now_i + 64'(RCD_WR)"),
        Mistake::new("wr_from_q <= now_i + 64'(RCD_WR)", "wr_from_q <= later(wr_from_q, now_i)"),
        Mistake::new("act_from_q <= now_i + 64'(RC);", ""),
        Mistake::new("{open_q, row_q} <= '0;", "open_q <= 0;"),
        Mistake::new("REF: act_from_q <= now_i", "REF: pre_from_q <= now_i"),
        Mistake::new("{served_q, overtaken_q} <= '0;\n          rd", "served_q <= 0;\n          rd"),
        Mistake::new("served_q <= 1;", "served_q <= op_i == RD;"),
        Mistake::new("if (overtakes_i &&", "if ("),
        Mistake::equivalent(
            "act_from_q <= now_i + 64'(RC);",
            "act_from_q <= later(act_from_q, now_i + 64'(RC));",
            "an ACT is not legal before the stored cycle",
        ),
    ]
}

assertions! {
    [
        Violation::by_input("op_known", "op", "3'd7"),
        Violation::by_input("time_passes", "now", "64'd1"),
        Violation::by_input("act_allowed", "op", "3'd1"),
        Violation::by_input("rd_allowed", "op", "3'd2"),
        Violation::by_input("wr_allowed", "op", "3'd3"),
        Violation::by_module("pre_allowed", "assign may_pre_o = now_i >= pre_from_q;", "assign may_pre_o = 0;"),
        Violation::by_module("act_opens", "{open_q, row_q} <= {1'b1, act_row_i};", "open_q <= 1;"),
        Violation::by_module("pre_closes", "{open_q, row_q} <= '0;", "row_q <= '0;"),
        Violation::by_module("closed_row", "{open_q, row_q} <= '0;", "open_q <= 0;"),
        Violation::by_module("rd_waits", "may_rd_o = now_i >= rd_from_q", "may_rd_o = 1"),
        Violation::by_module("wr_waits", "wr_from_q <= now_i + 64'(RCD_WR)", "wr_from_q <= now_i + 64'd1"),
        Violation::by_module("pre_waits", "op_i == ACT || is_column) pre_from_q", "is_column) pre_from_q"),
        Violation::by_module("act_waits", "act_from_q <= later(act_from_q, now_i + 64'(RP));", ""),
    ]
}

const ROW_BITS: u32 = 12;

struct Unit {
    timing: DramTiming,
    dut: Bank,
    moods: TrafficModes<2>,
    random: Random,
}

/// Returns the timing of the GDDR5 memory of the machine `fermi`, or a timing with short random distances,
/// depending on `size`.
pub(super) fn timing(size: Size, random: &mut Random) -> DramTiming {
    let gddr5 = fermi().dram.timing;
    match size {
        Size::Small => DramTiming {
            rcd_rd: 3,
            rcd_wr: 2,
            rp: 3,
            ras: 6,
            rc: 8,
            rrd_s: 1,
            rrd_l: 2,
            faw: 7,
            aw32: 70,
            ccd_l: 4,
            rtp: 2,
            wr: 1,
            wtr_l: 7,
            ppd: 2,
            rfc: 11,
            ..gddr5
        },
        Size::Fermi | Size::Synthesised => gddr5,
        Size::Any => {
            let mut few = || 1 + random.below(40) as u32;
            let (rrd_s, ccd_s, wtr_s) = (few(), few(), few());
            DramTiming {
                cl: few(),
                wl: few(),
                burst: few(),
                rcd_rd: few(),
                rcd_wr: few(),
                rp: few(),
                ras: few(),
                rc: few(),
                rrd_s,
                rrd_l: rrd_s + few(),
                faw: 3 * few(),
                aw32: 20 * few(),
                ccd_s,
                ccd_l: ccd_s + few(),
                rtp: few(),
                wr: few(),
                wtr_s,
                wtr_l: wtr_s + few(),
                ppd: few(),
                rfc: few(),
                ..gddr5
            }
        }
    }
}

/// Returns the distances between commands to one bank, as parameters of a module.
pub(super) fn distances(t: &DramTiming) -> [(&'static str, u32); 8] {
    [
        ("RCD_RD", t.rcd_rd),
        ("RCD_WR", t.rcd_wr),
        ("RAS", t.ras),
        ("RC", t.rc),
        ("RTP", t.rtp),
        ("WR_TO_PRE", t.write_latency() + t.wr),
        ("RP", t.rp),
        ("RFC", t.rfc),
    ]
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        Self { timing: timing(size, &mut random), dut: Bank::CLOSED, moods: TrafficModes::default(), random }
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let parameters = [("ROW_BITS", ROW_BITS)].into_iter().chain(distances(&self.timing));
        parameters.map(|(name, value)| (name, value.to_string())).collect()
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let Self { timing: t, dut, moods, random } = self;
        let now = at.cycle;
        let [often, closes] = moods.next(random);
        let [act, rd, wr, pre] = [dut.act_from(), dut.rd_from(), dut.wr_from(), dut.pre_from()].map(|from| now >= from);
        let (row, overtakes) = (random.below(1 << ROW_BITS) as u32, random.percent(50));
        let op: u32 = match dut.open() {
            _ if !random.percent(often) => 0,
            None if random.percent(3) => 4,
            None if act => {
                if random.percent(10) {
                    5
                } else {
                    1
                }
            }
            Some(_) if pre && random.percent(closes) => 4,
            Some(_) if rd && random.percent(50) => 2,
            Some(_) if wr => 3,
            _ => 0,
        };
        ports.input("now", 64, now);
        ports.input("op", 3, op);
        ports.input("act_row", ROW_BITS, row);
        ports.input("overtakes", 1, overtakes);
        ports.output("is_open", 1, dut.open().is_some());
        ports.output("open_row", ROW_BITS, dut.open().unwrap_or(0));
        ports.output("is_served", 1, dut.was_served());
        ports.output("num_overtaken", 16, dut.overtake_count());
        ports.output("may_act", 1, act);
        ports.output("may_rd", 1, rd);
        ports.output("may_wr", 1, wr);
        ports.output("may_pre", 1, pre);
        match op {
            1 => dut.activate(now, row, t),
            2 => dut.read(now, t),
            3 => dut.write(now, t),
            4 => dut.precharge(now, t),
            5 => dut.refresh(now, t),
            _ => {}
        }
        if matches!(op, 2 | 3) {
            dut.use_row(overtakes);
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(ROW_BITS, to);
    }
}
