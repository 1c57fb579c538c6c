//! # Lockstep test of the Fetch and Replacement Cache
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. Acknowledgments, accesses, swaps, bursts to memory and recalls occur in the same cycle, in every
//! combination that the bank uses. The following table lists the tested situations, with the code of this
//! file that generates each of them.
//!
//! | testpoint                                                                                                     | where |
//! |---------------------------------------------------------------------------------------------------------------|-----|
//! | a new line is found from its allocation to its swap, and an old line from the swap to the end of its eviction | `held` |
//! | every search has the same result, even if it is not used                                                      | `find` |
//! | an entry that becomes free is allocated in the same cycle                                                     | `ack`, then `access` |
//! | a line is swapped in the cycle in which it was filled or written                                              | `swap` behind `access` |
//! | an old line skips steps if it has no copies, is clean, or its way was invalid                                 | `exchange` |
//! | a line is written to memory in the cycle of its exchange or last acknowledgment                               | `gone` |
//! | if no way can be evicted for a swap, the next swap goes first                                                 | `turn` of 2 |

use std::collections::BTreeMap;

use rtl::cells::line::LINE_BYTES;
use rtl::cells::line::LineData;
use rtl::cells::lines::{Lines, Wide};
use rtl::kernel::{Describe, Edge};
use rtl::l2::{Eviction, Frc, FrcEntry, FrcShape, FrcState, LineState, Tag};

use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes, Violation};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("inv_left_q[e] == 1 && sharers_q[e] == '0", "inv_left_q[e] == 1"),
        Mistake::new("swaps[out_entry_i] ? old_tag_i : tag_q", "tag_q"),
        Mistake::new("(dirty_q[e] ? VICT_WB : FREE)", "VICT_WB"),
        Mistake::new("state_1[e] != FREE && bank_set", "state_q[e] != FREE && bank_set"),
        Mistake::new("bank_set[e] == find_set_i && tag_q[e] == find_tag_i", "tag_q[e] == find_tag_i"),
        Mistake::new("state_1[e] == FREE && 32'(find_set_i)", "state_q[e] == FREE && 32'(find_set_i)"),
        Mistake::new("acc_op_i == WRITE || fill && acc_dirty_i", "fill && acc_dirty_i"),
        Mistake::new("(state_1[e] == FETCH || state_1[e] == FILLED)", "state_1[e] != FREE"),
        Mistake::new("assign to_swap_valid_o = filled.level_3 != 0;", "assign to_swap_valid_o = filled.level_q != 0;"),
        Mistake::new("turn_i == 2'd2 && level_3 > 1", "turn_i == 2'd2 && level_q > 1"),
        Mistake::new("level_3 == LEVEL_BITS'(i + 1)", "level_q == LEVEL_BITS'(i + 1)"),
        Mistake::new("exc_sharers_o = sharers_3[exc_entry_i]", "exc_sharers_o = sharers_q[exc_entry_i]"),
        Mistake::new("old_sharers_i != '0 ? VICT_INV : old_dirty_i", "old_sharers_i != '0 ? VICT_INV : dirty_q[e]"),
        Mistake::new("gone_i[e] ? FREE : state_5[e]", "gone_i[e] && state_q[e] == VICT_WB ? FREE : state_5[e]"),
        Mistake::new("for (int k = L1S - 1; k >= 0; k--)", "for (int k = 0; k < L1S; k++)"),
        Mistake::new("wr_pend_3[e] && !swaps[e]", "wr_pend_3[e]"),
        Mistake::new("swaps[e] && old_here_i ? old_line_i", "swaps[e] ? old_line_i"),
        Mistake::new("exc_line_o = line_3[exc_entry_i]", "exc_line_o = line[exc_entry_i]"),
        Mistake::equivalent(
            "sharers_3[e] = sharers_q[e] |",
            "sharers_3[e] = (allocates[e] ? '0 : sharers_q[e]) |",
            "a free entry has no sharers",
        ),
    ]
}

assertions! {
    [
        Violation::by_input("entry_exists", "acc_sm", "'1"),
        Violation::by_input("ack_expected", "ack_valid", "1'b1"),
        Violation::by_input("alloc_free", "acc_op", "2'd1"),
        Violation::by_input("fill_fetches", "acc_op", "2'd2"),
        Violation::by_input("write_filled", "acc_op", "2'd3"),
        Violation::by_input("put_here", "put_valid", "1'b1"),
        Violation::by_input("turn_waits", "turn", "2'd1"),
        Violation::by_input("exc_taken", "exc_valid", "1'b1"),
        Violation::by_input("gone_due", "gone", "'1"),
        Violation::by_input("recall_due", "recall_valid", "1'b1"),
        Violation::by_module("find_state", "state_1[e] != FREE && bank_set", "bank_set"),
        Violation::by_module("free_is_free", "if (state_1[e] == FREE && 32'(find_set_i)", "if (32'(find_set_i)"),
        Violation::by_module("free_is_found", "state_1[e] == FREE && 32'(find_set_i)", "state_q[e] == FREE && 32'(find_set_i)"),
        Violation::by_module("swap_filled", "level_q <= level_3 - LEVEL_BITS'(take);", "level_q <= level_3;"),
        Violation::by_module("swap_offered", "assign to_swap_valid_o = filled.level_3 != 0;", "assign to_swap_valid_o = filled.level_q != 0;"),
        Violation::by_module("copies_kept", "exc_sharers_o = sharers_3[exc_entry_i]", "exc_sharers_o = sharers_q[exc_entry_i]"),
        Violation::by_module("recall_copy", "for (int k = L1S - 1; k >= 0; k--)", "for (int k = 0; k < L1S; k++)"),
    ]
}

proof! {
    || ["L1S=2 BANK_WAYS=2", "WAYS=3 L1S=2 BANK_WAYS=2"].map(String::from).into(),
    1 in tests,
    [
        Mistake::new("{8{put_mask_i[b]}}", "{8{!put_mask_i[b]}}"),
        Mistake::new("exc_line_o = line_3[exc_entry_i]", "exc_line_o = line[exc_entry_i]"),
        Mistake::new("acc_op_i == WRITE || fill && acc_dirty_i", "fill && acc_dirty_i"),
        Mistake::new("inv_left_q[e] == 1 && sharers_q[e] == '0", "inv_left_q[e] == 1"),
        Mistake::new("(dirty_q[e] ? VICT_WB : FREE)", "FREE"),
        Mistake::new("tag_q[e] <= old_tag_i;", ""),
        Mistake::new("exc_sharers_o = sharers_3[exc_entry_i]", "exc_sharers_o = sharers_q[exc_entry_i]"),
        Mistake::new("gone_i[e] ? FREE : state_5[e]", "state_5[e]"),
        Mistake::new("swaps[e] && old_here_i ? old_line_i", "0 ? old_line_i"),
    ]
}

/// Cache line, identified by its set index in the bank and its tag.
type Block = (u32, u64);

struct Unit {
    shape: FrcShape,
    dut: Frc,
    /// For each line in the Fetch and Replacement Cache (FRC), the entry that holds it.
    held: BTreeMap<Block, u32>,
    /// Entry of the Fetch and Replacement Cache (FRC) whose swap with a way of the L2 bank is in progress.
    taken: Option<u32>,
    moods: TrafficModes<6>,
    random: Random,
}

fn bits(values: u32) -> u32 {
    values.max(2).next_power_of_two().ilog2()
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let fermi = FrcShape {
            sets: 1,
            ways: 8,
            bank_sets: 64,
            bank_ways: 16,
            tag_bits: 17,
            line_bytes: 128,
            l1s: 15,
            acknowledged: false,
            binds_early: false,
            ports: (3, 2),
        };
        let shape = match size {
            Size::Small => FrcShape {
                sets: 2,
                ways: 2,
                bank_sets: 4,
                bank_ways: 4,
                tag_bits: 3,
                line_bytes: 2,
                l1s: 3,
                acknowledged: false,
                binds_early: true,
                ..fermi
            },
            Size::Fermi | Size::Synthesised => fermi,
            Size::Any => {
                let sets = 1 << random.below(3);
                FrcShape {
                    sets,
                    ways: 1 << random.below(4),
                    bank_sets: sets << random.below(4),
                    bank_ways: 1 + random.below(16) as u32,
                    line_bytes: 1 + random.below(32) as u32,
                    l1s: 1 + random.below(32) as u32,
                    acknowledged: false,
                    binds_early: random.percent(50),
                    ..fermi
                }
            }
        };
        let dut = Frc::new("frc", shape);
        Self { shape, dut, held: BTreeMap::new(), taken: None, moods: TrafficModes::default(), random }
    }

    fn entries(&self) -> u32 {
        self.shape.sets * self.shape.ways
    }

    /// Returns a random entry of the Fetch and Replacement Cache (FRC) for which `is_so` is true, or `None`
    /// if there is none.
    fn any(&mut self, is_so: impl Fn(&FrcEntry) -> bool) -> Option<u32> {
        let found: Vec<_> = (0..self.entries()).filter(|&entry| is_so(self.dut.entry(entry))).collect();
        (!found.is_empty()).then(|| found[self.random.below(found.len() as u64) as usize])
    }

    fn tag(&mut self) -> u64 {
        let few = if self.random.percent(50) { 4 } else { 1 << self.shape.tag_bits };
        self.random.below(few)
    }

    fn line(&mut self) -> LineData {
        let mut line = LineData::default();
        line.0[..self.shape.line_bytes as usize].iter_mut().for_each(|byte| *byte = self.random.below(256) as u8);
        line
    }

    fn line_of(&self, entry: u32) -> LineData {
        let (row, column) = self.dut.cell(entry);
        self.dut.data.row(row)[column as usize].clone()
    }

    /// Performs the next step of the eviction of an old line. An entry of the Fetch and Replacement Cache
    /// (FRC) holds this line. Does nothing if an L1 still has a copy of the line.
    fn step_out(&mut self, at: &Edge<'_>, entry: u32) {
        let &FrcEntry { set, tag, leaving, .. } = self.dut.entry(entry);
        if leaving.is_shared() {
            return;
        }
        if leaving.dirty {
            self.dut.write_back(at, entry);
        } else {
            self.dut.release(at, entry);
            self.held.retain(|block, holder| (*block, *holder) != ((set, tag), entry));
        }
    }

    fn ack(&mut self, at: &Edge<'_>, ports: &mut Ports, often: u64) {
        let told = self.any(|entry| entry.leaving.inv_left > 0).filter(|_| self.random.percent(often));
        ports.input("ack_valid", 1, told.is_some());
        ports.input("ack_entry", bits(self.entries()), told.unwrap_or(0));
        if let Some(entry) = told {
            self.dut.eviction_mut(entry).inv_left -= 1;
            self.step_out(at, entry);
        }
    }

    /// Searches the Fetch and Replacement Cache (FRC) for a random line, and returns that line.
    fn find(&mut self, ports: &mut Ports) -> Block {
        let FrcShape { bank_sets, tag_bits, ways, .. } = self.shape;
        let here = (self.random.below(self.held.len().max(1) as u64) as usize, self.random.percent(50));
        let held = self.held.keys().nth(here.0).copied().filter(|_| here.1);
        let block = held.unwrap_or_else(|| (self.random.below(bank_sets.into()) as u32, self.tag()));
        let (set, tag) = block;
        let (hit, free) = (self.dut.find(set, tag), self.dut.free(set));
        assert_eq!(hit.map(|way| self.dut.number(set, way)), self.held.get(&block).copied());
        let state = hit.map(|way| self.dut.entry(self.dut.number(set, way)).state);
        ports.input("find_set", bits(bank_sets), set);
        ports.input("find_tag", tag_bits, tag);
        ports.output("find_hit", 1, hit.is_some());
        ports.output_if("find_way", bits(ways), hit);
        ports.output_if("find_state", 3, state.map(|state| state as u8));
        ports.output("free_valid", 1, free.is_some());
        ports.output_if("free_way", bits(ways), free);
        block
    }

    fn access(&mut self, at: &Edge<'_>, ports: &mut Ports, (set, tag): Block, often: u64) {
        let FrcShape { bank_ways, l1s, .. } = self.shape;
        let waiter = self.any(|entry| entry.state == FrcState::Fetch).filter(|_| self.random.percent(50));
        let found = self.held.get(&(set, tag)).copied();
        let (sm, dirty) = (self.random.below(l1s.into()) as u32, self.random.percent(50));
        let way = self.random.percent(80).then(|| self.random.below(bank_ways.into()) as u8);
        let id = self.random.below(1 << 32) as u32;
        let (mut op, mut copies, mut who) = (0u32, false, 0);
        if !self.random.percent(often) {
            // The L2 bank makes no access to the Fetch and Replacement Cache (FRC) in this cycle.
        } else if let Some(entry) = waiter {
            (op, copies, who) = (2 * u32::from(self.random.percent(50)), self.random.percent(50), entry);
        } else if let Some(entry) = found {
            let writes = self.dut.entry(entry).state == FrcState::Filled && self.random.percent(40);
            (op, copies, who) = (if writes { 3 } else { 0 }, !writes, entry);
        } else if let Some(free) = self.dut.free(set) {
            (op, who) = (1, self.dut.number(set, free));
        }
        ports.input("acc_op", 2, op);
        ports.input("acc_entry", bits(self.entries()), who);
        ports.input("acc_copies", 1, copies);
        ports.input("acc_sm", bits(l1s), sm);
        ports.input("acc_dirty", 1, dirty);
        ports.input("acc_bound", 1, way.is_some());
        ports.input("acc_way", bits(bank_ways), way.unwrap_or(0));
        ports.input("acc_id", 32, id);
        if copies && !self.dut.entry(who).state.is_evicting() {
            self.dut.eviction_mut(who).sharers |= Wide::line(sm);
        }
        match op {
            1 => {
                let bound = way.filter(|_| self.shape.binds_early);
                self.dut.allocate(at, who, (set, tag), bound, id);
                self.held.insert((set, tag), who);
            }
            2 => self.dut.fill(at, who, dirty),
            3 => self.dut.mark_written(at, who),
            _ => {}
        }
    }

    /// Writes some bytes of a random line that is in flight or waits for its swap. In the same cycle, reads
    /// the line of another random FRC entry.
    fn put(&mut self, at: &Edge<'_>, ports: &mut Ports, often: u64) {
        let (line_bytes, entries) = (self.shape.line_bytes, self.entries());
        let get = self.random.below(entries.into()) as u32;
        ports.input("get_entry", bits(entries), get);
        let is_here = |entry: &FrcEntry| matches!(entry.state, FrcState::Fetch | FrcState::Filled);
        let put = self.any(is_here).filter(|_| self.random.percent(often));
        let all = u128::MAX >> (LINE_BYTES as u32 - line_bytes);
        let mask = all & (u128::MAX << self.random.below(line_bytes.into()));
        let line = self.line();
        let read = self.line_of(get);
        ports.input("put_valid", 1, put.is_some());
        ports.input("put_entry", bits(entries), put.unwrap_or(0));
        ports.wide_input("put_mask", line_bytes, &mask.to_le_bytes());
        ports.wide_input("put_line", line_bytes * 8, &line.0);
        ports.wide_output("get_line", line_bytes * 8, Some(&read.0));
        if let Some((row, column)) = put.map(|entry| self.dut.cell(entry)) {
            self.dut.data.update(at, row, column, |old| old.merge(mask, &line.0));
        }
    }

    fn swap(&mut self, ports: &mut Ports, often: u64) {
        let FrcShape { bank_sets, bank_ways, binds_early, .. } = self.shape;
        let next = self.dut.to_swap();
        let FrcEntry { set, bound, .. } = next.map(|entry| *self.dut.entry(entry)).unwrap_or_default();
        let may_turn = self.taken.is_none() && next.is_some() && self.random.percent(often);
        let turn = if may_turn { 1 + u32::from(self.random.percent(30)) } else { 0 };
        ports.input("turn", 2, turn);
        ports.output("to_swap_valid", 1, next.is_some());
        ports.output_if("to_swap", bits(self.entries()), next);
        ports.output_if("to_swap_set", bits(bank_sets), next.map(|_| set));
        ports.output_if("to_swap_bound", 1, next.map(|_| bound.is_some() && binds_early));
        ports.output_if("to_swap_way", bits(bank_ways), bound.filter(|_| binds_early));
        match turn {
            1 => {
                self.dut.take_swap();
                self.taken = next;
            }
            2 => {
                self.dut.pass_over();
            }
            _ => {}
        }
    }

    fn exchange(&mut self, at: &Edge<'_>, ports: &mut Ports, often: u64) {
        let FrcShape { tag_bits, line_bytes, l1s, .. } = self.shape;
        let swapped = self.taken.take_if(|_| self.random.percent(often));
        let (tag, old_line) = (self.tag(), self.line());
        let set = swapped.map_or(0, |entry| self.dut.entry(entry).set);
        let state = match self.random.below(4) {
            _ if self.held.contains_key(&(set, tag)) => LineState::Invalid,
            0 => LineState::Invalid,
            1 => LineState::Valid,
            _ => LineState::Modified,
        };
        let (is_here, dirty) = (state.is_here(), state == LineState::Modified);
        let is_shared = is_here && self.random.percent(60);
        let sharers = if is_shared { self.random.below(1 << l1s) } else { 0 };
        let new = swapped.map(|entry| (*self.dut.entry(entry), self.line_of(entry)));
        ports.input("exc_valid", 1, swapped.is_some());
        ports.input("exc_entry", bits(self.entries()), swapped.unwrap_or(0));
        ports.input("old_here", 1, is_here);
        ports.input("old_tag", tag_bits, tag);
        ports.input("old_dirty", 1, dirty);
        ports.input("old_sharers", l1s, sharers);
        ports.wide_input("old_line", line_bytes * 8, &old_line.0);
        ports.output_if("exc_tag", tag_bits, new.as_ref().map(|(new, _)| new.tag));
        ports.output_if("exc_set", bits(self.shape.bank_sets), new.as_ref().map(|(new, _)| new.set));
        ports.output_if("exc_id", 32, new.as_ref().map(|(new, _)| new.leaving.id));
        ports.output_if("exc_wr_pend", 1, new.as_ref().map(|(new, _)| new.wr_pend));
        ports.output_if("exc_sharers", l1s, new.as_ref().map(|(new, _)| new.leaving.sharers.low()));
        ports.wide_output("exc_line", line_bytes * 8, new.as_ref().map(|(_, line)| &line.0[..]));
        let (Some(entry), Some((new, _))) = (swapped, new) else { return };
        let leaving = Eviction { sharers: sharers.into(), dirty, ..new.leaving };
        self.dut.exchange(at, entry, Tag { tag, state }, leaving);
        self.held.remove(&(new.set, new.tag));
        if is_here {
            self.held.insert((new.set, tag), entry);
            let (row, column) = self.dut.cell(entry);
            self.dut.data.update(at, row, column, |line| *line = old_line);
        }
        self.step_out(at, entry);
    }

    fn retire(&mut self, at: &Edge<'_>, ports: &mut Ports, often: u64) {
        let (entries, line_bytes) = (self.entries(), self.shape.line_bytes);
        let out = self.random.below(entries.into()) as u32;
        ports.input("out_entry", bits(entries), out);
        ports.wide_output("out_line", line_bytes * 8, Some(&self.line_of(out).0));
        let old = self.dut.entry(out);
        let is_leaving = old.state.is_evicting();
        ports.output_if("out_set", bits(self.shape.bank_sets), is_leaving.then_some(old.set));
        ports.output_if("out_tag", self.shape.tag_bits, is_leaving.then_some(old.tag));
        ports.output_if("out_id", 32, is_leaving.then_some(old.leaving.id));
        let mut gone = 0u64;
        for entry in 0..entries {
            if self.dut.entry(entry).state == FrcState::VictWb && self.random.percent(often) {
                gone |= 1 << entry;
                self.dut.eviction_mut(entry).dirty = false;
                self.step_out(at, entry);
            }
        }
        ports.input("gone", entries, gone);
    }

    fn recall(&mut self, ports: &mut Ports, often: u64) {
        let told = self.any(|entry| entry.state == FrcState::VictInv && entry.leaving.sharers != Wide::NONE);
        let told = told.filter(|_| self.random.percent(often));
        let sm = told.map(|entry| self.dut.entry(entry).leaving.sharers.first().unwrap_or(0));
        ports.input("recall_valid", 1, told.is_some());
        ports.input("recall_entry", bits(self.entries()), told.unwrap_or(0));
        ports.output_if("recall_sm", bits(self.shape.l1s), sm);
        if let Some(entry) = told {
            let leaving = self.dut.eviction_mut(entry);
            leaving.sharers = leaving.sharers.without_first();
            leaving.inv_left += 1;
        }
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let FrcShape { sets, ways, bank_sets, bank_ways, tag_bits, line_bytes, l1s, .. } = self.shape;
        let FrcShape { binds_early, acknowledged: _, ports: _, .. } = self.shape;
        vec![
            ("SETS", sets.to_string()),
            ("WAYS", ways.to_string()),
            ("BANK_SETS", bank_sets.to_string()),
            ("BANK_WAYS", bank_ways.to_string()),
            ("TAG_BITS", tag_bits.to_string()),
            ("LINE_BYTES", line_bytes.to_string()),
            ("L1S", l1s.to_string()),
            ("BINDS_EARLY", u32::from(binds_early).to_string()),
        ]
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let [acks, accesses, puts, swaps, bursts, recalls] = self.moods.next(&mut self.random);
        self.ack(at, ports, acks);
        let block = self.find(ports);
        self.access(at, ports, block, accesses);
        self.put(at, ports, puts);
        self.swap(ports, swaps);
        self.exchange(at, ports, swaps);
        self.retire(at, ports, bursts);
        self.recall(ports, recalls);
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(to);
    }

    fn packed(&self) -> &'static [&'static str] {
        &["slot"]
    }
}
