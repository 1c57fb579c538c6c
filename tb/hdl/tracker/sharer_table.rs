//! # Lockstep test of the table of a sharing tracker
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                                 | where |
//! |---------------------------------------------------------------------------|-----|
//! | suppliers are selected in round robin, with wrap-around after the last SM | few SMs |
//! | a requester is never its own supplier                                     | lines of one sharer |
//! | free entries are used before any line is evicted                          | `forget` and `remove` that leave no sharer |
//! | lines that differ in one bit are distinguished                            | half of the lines |
//! | the golden list has the same suppliers                                    | `cycle` |

use golden::hybrid as twin;
use golden::index::{Function, SetIndex};
use golden::untimed::Geometry;
use rtl::kernel::{Describe, Edge};
use rtl::replacement::lru::Lru;
use rtl::tracker::{SharerList, Table};

use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes, Violation};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("row[w*CELL+VALID] && row", "row"),
        Mistake::new("used[WAYS-1] : free_way", "used[0] : free_way"),
        Mistake::new("is_full = 0;\n", "is_full = w != 0;\n"),
        Mistake::new("others = sharers & ~self", "others = sharers"),
        Mistake::new("behind != '0 ? behind : others", "others"),
        Mistake::new("{SMS{1'b1}} << turn", "{SMS{1'b1}} << turn << 1"),
        Mistake::new("supplier_valid_o = hit && others != '0", "supplier_valid_o = hit"),
        Mistake::new("32'(supplier_o) == SMS - 1 ? '0 : supplier_o", "supplier_o"),
        Mistake::new("op_i == ADD && !hit ? '0 : entry", "entry"),
        Mistake::new("next[VALID] = left != '0;", ""),
        Mistake::new("FORGET: next[VALID] = 0;", "FORGET: next = '0;"),
        Mistake::new("touches = op_i == ADD || hit && op_i == SUPPLIER", "touches = hit && (op_i == ADD || op_i == SUPPLIER)"),
        Mistake::new("if (used[p] == way) before_way = 0;", "if (used[p] == hit_way) before_way = 0;"),
        Mistake::new("if (op_i == CLEAR)", "if (op_i == CLEAR && s == 0)"),
        Mistake::equivalent(
            "behind = others & (",
            "behind = sharers & ~self & (",
            "others are the sharers without the requester",
        ),
    ]
}

assertions! {
    [
        Violation::by_input("op_known", "op", "3'd6"),
        Violation::by_input("sm_exists", "sm", "'1"),
        Violation::by_module("supplier_exists", "for (int s = SMS - 1; s >= 0; s--) if (among[s]) lowest = SM_BITS'(s);", "lowest = '1;"),
        Violation::by_module("supplier_another", "others = sharers & ~self", "others = sharers"),
        Violation::by_module("added_supplies", "next[VALID] = 1;", "next[VALID] = was[VALID];"),
        Violation::by_module("removed_is_not", "next[SHARERS+:SMS] = left;", "next[SHARERS+:SMS] = sharers;"),
        Violation::by_module("forgotten_is_not", "FORGET: next[VALID] = 0;", "FORGET: ;"),
        Violation::by_module("cleared_is_not", "if (op_i == CLEAR)", "if (0)"),
    ]
}

proof! {
    || [
        "SMS=3",
        "SETS=2 WAYS=2 SMS=3 LINE_BITS=3 ROWS=3",
        "SMS=3 LAST=1",
        "SETS=2 WAYS=4 SMS=8 LINE_BITS=4 ROWS=4",
    ].map(String::from).into(),
    3 in tests,
    [
        Mistake::new(".poison_valid_i(writes)", ".poison_valid_i(1'b0)"),
        Mistake::new("FORGET: next[VALID] = 0;", "FORGET: ;"),
        Mistake::new("row[w*CELL+VALID] && row", "row"),
        Mistake::new("others = sharers & ~self", "others = sharers"),
        Mistake::new("op_i == ADD && !hit ? '0 : entry", "entry"),
    ]
}

struct Unit {
    sets: u32,
    ways: u32,
    sms: u32,
    line_bits: u32,
    list: SharerList,
    dut: Table,
    golden: twin::Tracker,
    lines: Vec<u64>,
    moods: TrafficModes<2>,
    random: Random,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let (sets, ways, sms, list): (u32, u32, u32, SharerList) = match size {
            Size::Small => (2, 3, 3, SharerList::All),
            // The table has 32 sets, a quarter of the 128 sets per bank in anssari2012 Table 4.1, which is
            // sufficient for the test.
            Size::Fermi => (32, 8, 16, SharerList::All),
            Size::Synthesised => (1, 8, 16, SharerList::All),
            Size::Any => {
                let list = if random.percent(50) { SharerList::All } else { SharerList::Last };
                (1 << random.below(4), 2 + random.below(15) as u32, 2 + random.below(30) as u32, list)
            }
        };
        let line_bits = 22;
        let mut lines: Vec<_> = (0..=u64::from(sets * ways)).map(|_| random.below(1 << line_bits)).collect();
        lines.extend_from_within(..);
        lines[..=(sets * ways) as usize].iter_mut().for_each(|line| *line ^= 1 << random.below(line_bits));
        let index = SetIndex::new(Function::Linear { bits: sets.ilog2() }, 0, 64).expect("sets are few");
        let golden = twin::TrackerConfig {
            count: 1,
            geometry: Geometry { index, ways: ways as usize },
            list: match list {
                SharerList::All => twin::SharerList::All,
                SharerList::Last => twin::SharerList::Last,
            },
        };
        Self {
            sets,
            ways,
            sms,
            line_bits: line_bits as u32,
            list,
            dut: Table::new("table", ((sets, ways), &Lru {}.into()), (sms, list), line_bits as u32),
            golden: twin::Tracker::new(&golden),
            lines,
            moods: TrafficModes::default(),
            random,
        }
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("SETS", self.sets.to_string()),
            ("WAYS", self.ways.to_string()),
            ("SMS", self.sms.to_string()),
            ("LINE_BITS", self.line_bits.to_string()),
            ("LAST", u32::from(self.list == SharerList::Last).to_string()),
        ]
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let [often, removals] = self.moods.next(&mut self.random);
        let line = self.lines[self.random.below(self.lines.len() as u64) as usize];
        let sm = self.random.below(self.sms.into()) as u32;
        let op = match self.random.below(400) {
            _ if !self.random.percent(often) => 0,
            0 => 5,
            1..20 => 4,
            _ if self.random.percent(removals / 2) => 3,
            _ => 1 + self.random.below(2) as u32,
        };
        let sm_bits = self.sms.next_power_of_two().ilog2();
        // The SystemVerilog module outputs the supplier in every cycle, even without a request.
        let expected = self.dut.peek_supplier(line, sm);
        ports.input("op", 3, op);
        ports.input("line", self.line_bits, line);
        ports.input("sm", sm_bits, sm);
        ports.output("supplier_valid", 1, expected.is_some());
        ports.output_if("supplier", sm_bits, expected);
        let (dut, golden, cu) = (&mut self.dut, &mut self.golden, sm as usize);
        match op {
            1 => {
                assert_eq!(dut.supplier(at, line, sm), expected);
                assert_eq!(golden.supplier(line, cu), expected.map(|supplier| supplier as usize));
            }
            2 => {
                dut.add(at, line, sm);
                golden.add(line, cu);
            }
            3 => {
                dut.remove(at, line, sm);
                golden.remove(line, cu);
            }
            4 => {
                dut.forget(at, line);
                golden.forget(line);
            }
            5 => {
                dut.clear();
                golden.clear();
            }
            _ => {}
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(to);
    }
}
