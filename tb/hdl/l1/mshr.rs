//! # Lockstep test of the MSHR
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. Fills, recalls, replays and accesses occur in the same cycle, in every combination, with more lines
//! than entries. The following table lists the tested situations, with the code of this file that generates
//! each of them.
//!
//! | testpoint                                                         | where                                     |
//! |-------------------------------------------------------------------|-------------------------------------------|
//! | every search has the same result, even if it is not used          | `cycle`                                   |
//! | a waiter of an entry is replayed in the cycle of the entry's fill | `pop` without entries before              |
//! | an entry freed by its last waiter is allocated in the same cycle  | pop and miss                              |
//! | lines that differ in one bit are distinguished                    | half of the lines                         |
//! | a fill waits while its set and way are still read                 | ways of draining lines are reserved again |
//! | the golden model gives the same results and waiters               | `cycle`                                   |

use std::collections::BTreeMap;

use golden::l1::event::Sectors;
use golden::l1::mshr as twin;
use golden::l1::mshr::{Replay, Verdict};
use rtl::kernel::{Describe, Edge};
use rtl::l1::mshr::{Lookup, Mshr, MshrShape, WHOLE, Waiter};

use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes, Violation};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("used_q[e] && !ready_q[e] && line_q[e] == fill_line_i", "used_q[e] && line_q[e] == fill_line_i"),
        Mistake::new("assign fill_blocked_o = |fill_drains;", "assign fill_blocked_o = 0;"),
        Mistake::new("!ready_1[e] && line_q[e] == recall_line_i", "!ready_q[e] && line_q[e] == recall_line_i"),
        Mistake::new("ready_entries_q == 0 ? fill_entry : order_q[0]", "order_q[0]"),
        Mistake::new("assign pop_last_o = pop_next == count_q[pop_entry]", "assign pop_last_o = pop_next >= C_BITS'(MERGES)"),
        Mistake::new("wire [ENTRIES-1:0] used_3 = used_q & ~freed;", "wire [ENTRIES-1:0] used_3 = used_q;"),
        Mistake::new("closed_3 = closed_2 & ~freed", "closed_3 = closed_2"),
        Mistake::new("used_3[e] && line_q[e] == acc_line_i", "used_q[e] && line_q[e] == acc_line_i"),
        Mistake::new("ready_3[e] && set_way_q[e] == acc_place_i", "ready_1[e] && set_way_q[e] == acc_place_i"),
        Mistake::new("|| |(acc_match & closed_3)", "|| |(acc_match & closed_q)"),
        Mistake::new("acc_free_o = has_free && !acc_draining_o", "acc_free_o = has_free"),
        Mistake::new("acc_match & ~ready_3 : '0", "acc_match : '0"),
        Mistake::new("L_BITS'(e + 1) == ready_entries_q ? fill_entry", "L_BITS'(e) == ready_entries_q ? fill_entry"),
        Mistake::new("head_q[free_entry] <= '0;", ""),
        Mistake::new("push_at = misses ? '0 : count_q", "push_at = count_q"),
        Mistake::new("line_q[e] == fill_line_i;", "line_q[e][LINE_BITS/2:0] == fill_line_i[LINE_BITS/2:0];"),
        Mistake::equivalent(
            "ready_3[e] && set_way_q[e] == acc_place_i",
            "used_3[e] && ready_3[e] && set_way_q[e] == acc_place_i",
            "an entry that is ready is in use",
        ),
    ]
}

assertions! {
    [
        Violation::by_input("miss_untracked", "acc_op", "2'd2"),
        Violation::by_input("miss_place", "acc_place", "'0"),
        Violation::by_module("fill_one", "used_q[e] && !ready_q[e] && line_q[e] == fill_line_i", "used_q[e]"),
        Violation::by_module("recall_one", "!ready_1[e] && line_q[e] == recall_line_i", "!ready_1[e]"),
        Violation::by_module("acc_one", "used_3[e] && line_q[e] == acc_line_i", "used_3[e]"),
        Violation::by_module("one_way", "acc_free_o = has_free && !acc_draining_o", "acc_free_o = has_free"),
        Violation::by_module("ready_used", "used_q <= used_3 | allocated;", "used_q <= allocated;"),
        Violation::by_module("ready_counted", "ready_entries_q <= len_3;", "ready_entries_q <= len_1;"),
        Violation::by_module("fill_place", "& set_way_q[e];", "& ~set_way_q[e];"),
        Violation::by_module("fill_pops", "assign pop_valid_o = len_1 != 0;", "assign pop_valid_o = ready_entries_q != 0;"),
        Violation::by_module("freed_again", "wire [ENTRIES-1:0] used_3 = used_q & ~freed;", "wire [ENTRIES-1:0] used_3 = used_q;"),
        Violation::by_module("takes_free", "free_entry = lowest_free;", "free_entry = '0;"),
        Violation::by_module("stays_ready", "assign has_ready_o = len_3 != 0;", "assign has_ready_o = 1;"),
        Violation::by_module("offer_stable", "if (pop_go) head_q[pop_entry] <= pop_next;", "head_q[pop_entry] <= pop_next;"),
    ]
}

proof! {
    || ["ENTRIES=2 MERGES=2", "ENTRIES=2 MERGES=3 LINE_BITS=3", "ENTRIES=3 MERGES=2"].map(String::from).into(),
    1 in tests,
    [
        Mistake::new("assign fill_blocked_o = |fill_drains;", "assign fill_blocked_o = 0;"),
        Mistake::new("assign pop_last_o = pop_next == count_q[pop_entry]", "assign pop_last_o = pop_next >= C_BITS'(MERGES)"),
        Mistake::new("ready_entries_q == 0 ? fill_entry : order_q[0]", "order_q[0]"),
        Mistake::new("acc_free_o = has_free && !acc_draining_o", "acc_free_o = has_free"),
        Mistake::new("wire is_full = count_q[match_entry] == C_BITS'(MERGES) || ", "wire is_full = "),
        Mistake::new("if (pop_go) head_q[pop_entry] <= pop_next;", ""),
        Mistake::new("assign acc_draining_o = |(acc_match & ready_3);", "assign acc_draining_o = 0;"),
        Mistake::new("assign pop_valid_o = len_1 != 0;", "assign pop_valid_o = ready_entries_q != 0;"),
        Mistake::new("has_free = 0;", "has_free = 1;"),
    ]
}

const LINE_BITS: u32 = 25;

struct Unit {
    entries: u32,
    merges: u32,
    place_bits: u32,
    recalls: bool,
    dut: Mshr,
    golden: twin::Mshr<u32>,
    /// Location (set and way) of every tracked line. A line that is no longer tracked keeps the location
    /// that it had last.
    places: BTreeMap<u64, u32>,
    /// Accepted loads. The index of a load in this list identifies it in the golden model.
    waiters: Vec<Waiter>,
    lines: Vec<u64>,
    moods: TrafficModes<3>,
    random: Random,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let (entries, merges, recalls) = match size {
            Size::Small => (4, 2, true),
            Size::Fermi | Size::Synthesised => (32, 8, false),
            Size::Any => (1 + random.below(150) as u32, 1 + random.below(12) as u32, random.percent(50)),
        };
        let mut lines: Vec<_> = (0..=entries).map(|_| random.below(1 << LINE_BITS)).collect();
        lines.extend_from_within(..);
        lines[..=entries as usize].iter_mut().for_each(|line| *line ^= 1 << random.below(LINE_BITS.into()));
        // There are at least twice as many locations (sets and ways) as MSHR entries. Each line in flight
        // occupies one location, and the test needs at least one free location.
        let place_bits = (2 * entries).next_power_of_two().ilog2().max(7);
        let shape = MshrShape { line_bits: LINE_BITS, set_way_bits: place_bits, sectors: 1 };
        Self {
            entries,
            merges,
            place_bits,
            recalls,
            dut: Mshr::new(entries, merges, shape),
            golden: twin::Mshr::new(entries as usize, merges as usize),
            places: BTreeMap::new(),
            waiters: Vec::new(),
            lines,
            moods: TrafficModes::default(),
            random,
        }
    }

    fn line(&mut self) -> u64 {
        self.lines[self.random.below(self.lines.len() as u64) as usize]
    }

    /// Returns a random line in flight, or `None` if no line is in flight.
    fn pending(&mut self) -> Option<u64> {
        let count = self.golden.pending_lines().count() as u64;
        self.golden.pending_lines().nth(self.random.below(count.max(1)) as usize)
    }

    fn fill(&mut self, ports: &mut Ports, often: u64) {
        let valid = self.random.percent(often);
        let line = if self.random.percent(90) { self.pending() } else { None };
        let line = line.unwrap_or_else(|| self.line());
        let pending = self.dut.pending_entry(line, WHOLE);
        let place = pending.map(|(_, set_way)| set_way);
        let is_pending = self.golden.waiters(line, Sectors::WHOLE).is_some();
        assert_eq!(place, is_pending.then(|| self.places[&line]));
        let blocked = place.map(|place| self.dut.drains(place, WHOLE));
        ports.input("fill_valid", 1, valid);
        ports.input("fill_line", LINE_BITS, line);
        ports.output("fill_hit", 1, place.is_some());
        ports.output_if("fill_place", self.place_bits, place);
        ports.output_if("fill_blocked", 1, blocked);
        if let Some((entry, _)) = pending
            && valid
            && blocked == Some(false)
        {
            self.dut.fill_entry(entry);
            self.golden.fill(line, Sectors::WHOLE).expect("the line is pending");
        }
    }

    fn recall(&mut self, ports: &mut Ports) {
        let valid = self.recalls && self.random.percent(10);
        let line = self.line();
        let entry = tracked_entry(self.dut.lookup(line, WHOLE));
        ports.input("recall_valid", 1, valid);
        ports.input("recall_line", LINE_BITS, line);
        ports.output("recall_hit", 1, entry.is_some() && self.recalls);
        if let (true, Some(entry)) = (valid, entry) {
            self.dut.recall(entry);
            assert!(self.golden.close(line, Sectors::WHOLE));
        }
    }

    fn pop(&mut self, ports: &mut Ports, often: u64) {
        let ready = self.random.percent(often);
        ports.input("pop_ready", 1, ready);
        ports.output("pop_valid", 1, self.dut.has_ready());
        // The golden model predicts the waiter that the MSHR offers at its `pop` port. If that waiter is
        // popped, the Rust model and the golden model must return the same one.
        let offered =
            self.golden.head().map(|Replay { line, waiter, last }| (line, self.waiters[waiter as usize], last));
        let place = offered.map(|(line, ..)| self.places[&line]);
        ports.output_if("pop_line", LINE_BITS, offered.map(|(line, ..)| line));
        ports.output_if("pop_place", self.place_bits, place);
        ports.output_if("pop_slot", 6, offered.map(|(_, waiter, _)| waiter.slot));
        ports.output_if("pop_lanes", 32, offered.map(|(_, waiter, _)| waiter.lanes));
        ports.output_if("pop_last", 1, offered.map(|(.., last)| last));
        if ready {
            self.golden.pop();
            assert_eq!(self.dut.pop(), offered.zip(place).map(|((line, waiter, _), place)| (line, place, waiter)));
        }
        ports.output("has_ready", 1, self.dut.has_ready());
        assert_eq!(self.dut.has_ready(), self.golden.head().is_some());
    }

    fn access(&mut self, ports: &mut Ports, often: u64) {
        let line = self.line();
        let is_pending = self.golden.waiters(line, Sectors::WHOLE).is_some();
        let op = match self.random.percent(often) {
            false => 0,
            true if self.random.percent(5) => 3,
            true => {
                if is_pending {
                    1
                } else {
                    2
                }
            }
        };
        let go = self.random.percent(90);
        let place = self.free_place();
        let waiter = Waiter { slot: self.random.below(48) as u8, lanes: self.random.below(1 << 32) as u32 };
        let (lookup, free) = (self.dut.lookup(line, WHOLE), self.dut.free_for(line, WHOLE));
        ports.input("acc_op", 2, op as u32);
        ports.input("acc_go", 1, go);
        ports.input("acc_line", LINE_BITS, line);
        ports.input("acc_place", self.place_bits, place);
        ports.input("acc_slot", 6, waiter.slot);
        ports.input("acc_lanes", 32, waiter.lanes);
        ports.output("acc_open", 1, matches!(lookup, Lookup::Open(_)));
        ports.output("acc_full", 1, matches!(lookup, Lookup::Full(_)));
        ports.output("acc_draining", 1, lookup == Lookup::Draining);
        ports.output("acc_free", 1, free.is_some());
        let entry = if op == 2 { free } else { tracked_entry(lookup) };
        ports.output_if("acc_entry", self.entries.max(2).next_power_of_two().ilog2(), entry);
        ports.output("acc_drains", 1, self.dut.drains(place, WHOLE));
        let verdict = match lookup {
            Lookup::Open(_) => Verdict::Merged,
            Lookup::Full(_) => Verdict::RefusedMerge,
            Lookup::Free(_) => Verdict::Primary,
            Lookup::Draining | Lookup::None => Verdict::RefusedEntry,
        };
        assert_eq!(self.golden.verdict(line, Sectors::WHOLE), verdict, "line {line:#x}");
        match (op, lookup, free) {
            (1, Lookup::Open(entry), _) => self.dut.merge(entry, waiter),
            (2, _, Some(entry)) if go => {
                self.dut.alloc(entry, (line, WHOLE), place, waiter);
                self.places.insert(line, place);
            }
            (3, Lookup::Open(entry) | Lookup::Full(entry), _) => {
                self.dut.close(entry);
                self.golden.close(line, Sectors::WHOLE);
                return;
            }
            _ => return,
        }
        let number = self.waiters.len() as u32;
        self.waiters.push(waiter);
        self.golden.alloc(line, Sectors::WHOLE, number);
    }

    /// Returns a random location (set and way) that no line in flight will fill. The location may belong to
    /// a line that has been filled but not yet read by the loads that wait for it.
    fn free_place(&mut self) -> u32 {
        loop {
            let place = self.random.below((2 * self.entries).into()) as u32;
            if self.golden.pending_lines().all(|line| self.places[&line] != place) {
                return place;
            }
        }
    }
}

fn tracked_entry(lookup: Lookup) -> Option<u16> {
    match lookup {
        Lookup::Open(entry) | Lookup::Full(entry) => Some(entry),
        Lookup::Draining | Lookup::Free(_) | Lookup::None => None,
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("ENTRIES", self.entries.to_string()),
            ("MERGES", self.merges.to_string()),
            ("LINE_BITS", LINE_BITS.to_string()),
            ("PLACE_BITS", self.place_bits.to_string()),
            ("RECALLS", u32::from(self.recalls).to_string()),
        ]
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let [fills, pops, accesses] = self.moods.next(&mut self.random);
        self.dut.at(at.tick);
        self.fill(ports, fills);
        self.recall(ports);
        self.pop(ports, pops);
        self.access(ports, accesses);
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(to);
    }
}
