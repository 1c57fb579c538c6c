//! # Lockstep test of the command arbitration of a DRAM channel
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                             | where                   |
//! |-----------------------------------------------------------------------|-------------------------|
//! | a request whose command is not legal yet lets others go first         | timing of a real device |
//! | requests to the same burst; rows that close although others need them | few rows and columns    |
//! | requests without permission for commands, column commands or rows     | `cycle`                 |
//! | banks at their hit cap                                                | `capped`                |
//! | with permission for all, the choice equals that without permissions   | `cycle`                 |
//! | the oldest request is the one accepted first                          | `accepted`              |

use rtl::dram::bank::Bank;
use rtl::dram::command::CommandKind;
use rtl::dram::config::{DramConfig, DramTiming};
use rtl::dram::drain::ServableSlots;
use rtl::dram::message::DramRequest;
use rtl::dram::policy::fcfs::Fcfs;
use rtl::dram::policy::fr_fcfs::FrFcfs;
use rtl::dram::queue::Queue;
use rtl::dram::scheduler::{Gates, Scheduler, View};
use rtl::dram::timing::Timing;
use rtl::kernel::{Describe, Edge};

use super::bank::timing;
use super::timing::config;
use crate::ports::append_bits;
use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes, Violation};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("(ages[s*ENTRIES+:ENTRIES] & set) == '0", "(ages[s*ENTRIES+:ENTRIES] & occupied_i) == '0"),
        Mistake::new("in_turn = occupied_i & turn_i", "in_turn = occupied_i"),
        Mistake::new("banks_of(slots & hits_i, bank_i)", "banks_of(occupied_i & hits_i, bank_i)"),
        Mistake::new("rows_i ? capped_i & hit_banks : '0", "capped_i & hit_banks"),
        Mistake::new("& ~slots_in(stopped, bank_i)", ""),
        Mistake::new("~(hit_banks & ~stopped)", "~hit_banks"),
        Mistake::new("& columns_i & ~blocked_i", "& ~blocked_i"),
        Mistake::new("& columns_i & ~blocked_i", "& columns_i"),
        Mistake::new("(reads_i ? '1 : writes_i)", "(reads_i ? '1 : ~writes_i)"),
        Mistake::new("& col_legal_i", ""),
        Mistake::new("wanted & row_legal_i", "wanted"),
        Mistake::new("row_valid_o = rows_i && may_row", "row_valid_o = may_row"),
        Mistake::new("(DUAL || !col_valid_o)", "1"),
        Mistake::equivalent("stopped = rows_i ? capped_i & hit_banks", "stopped = rows_i ? capped_i", "a bank without hits serves none"),
    ]
}

assertions! {
    [
        Violation::by_input("age_ordered", "older", "'1"),
        Violation::by_module("col_legal", "& col_legal_i", ""),
        Violation::by_module("col_uncapped", "& ~slots_in(stopped, bank_i)", ""),
        Violation::by_module("col_oldest", "number_of(oldest(may_col, older_i))", "number_of(may_col & (~may_col + 1'b1))"),
        Violation::by_module("row_oldest", "number_of(oldest(may_row, older_i))", "number_of(may_row & (~may_row + 1'b1))"),
        Violation::by_module("row_legal", "wanted & row_legal_i", "wanted"),
        Violation::by_module("row_kind", "row_is_pre_o = open_i[", "row_is_pre_o = !open_i["),
        Violation::by_module("hit_keeps", "banks_of(slots, bank_i) & ~(hit_banks & ~stopped)", "banks_of(slots, bank_i)"),
        Violation::by_module("one_bus", "(DUAL || !col_valid_o)", "1"),
        Violation::by_module("col_first", "assign col_valid_o = may_col != '0;", "assign col_valid_o = may_col != '0 && may_row == '0;"),
    ]
}

struct Unit {
    config: DramConfig,
    is_dual: bool,
    scheduler: Scheduler,
    queue: Queue,
    banks: [Bank; 64],
    timing: Timing,
    /// Occupied slots of the request queue in the order in which their requests were accepted, from oldest to
    /// newest.
    accepted: Vec<usize>,
    moods: TrafficModes<4>,
    random: Random,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let (entries, groups, banks_per_group, policy, is_dual) = match size {
            Size::Small => (5, 2, 2, FrFcfs::default().into(), false),
            Size::Fermi | Size::Synthesised => (16, 4, 4, FrFcfs::default().into(), false),
            Size::Any => {
                let policy = if random.percent(70) { FrFcfs::default().into() } else { Fcfs {}.into() };
                (2 + random.below(30) as u32, 1 << random.below(3), 1 << random.below(3), policy, random.percent(50))
            }
        };
        let t: DramTiming = timing(size, &mut random);
        let config = DramConfig { queue_entries: entries, policy, ..config(groups, banks_per_group, t) };
        Self {
            scheduler: Scheduler::new(&config, 1),
            queue: Queue::new(&config, "dram", 1),
            banks: [Bank::CLOSED; 64],
            timing: Timing::new(&config),
            accepted: Vec::new(),
            is_dual,
            config,
            moods: TrafficModes::default(),
            random,
        }
    }

    /// Adds a request to the queue: a random read or write of one of a few bursts. Different requests
    /// therefore often share a row or a burst.
    fn accept(&mut self, at: &Edge<'_>) {
        let (random, config) = (&mut self.random, &self.config);
        let columns = u64::from(config.columns);
        let bank_and_row = random.below(u64::from(config.banks()) * 3);
        let burst = bank_and_row * columns + random.below(3);
        let request = DramRequest { write: random.percent(50), burst, ..DramRequest::default() };
        let (before, banks) = (self.queue.occupied_slots(), &self.banks);
        self.queue.accept(at, &request, |bank| banks[bank].open());
        self.accepted.push((self.queue.occupied_slots() & !before).trailing_zeros() as usize);
    }

    fn send(&mut self, now: u64, kind: CommandKind, slot: usize) {
        let Self { queue, banks, timing, accepted, config, .. } = self;
        let place = queue.entry(slot).place;
        let (index, t) = (usize::from(place.bank), &config.timing);
        let bank = &mut banks[index];
        match kind {
            CommandKind::Act => {
                bank.activate(now, place.row, t);
                timing.activate(now, index);
                queue.open(index, place.row);
            }
            CommandKind::Pre => {
                bank.precharge(now, t);
                timing.precharge(now);
                queue.close(index);
            }
            _ => {
                if kind == CommandKind::Wr {
                    bank.write(now, t);
                    timing.write(now, index);
                } else {
                    bank.read(now, t);
                    timing.read(now, index);
                }
                queue.release(now, slot);
                accepted.retain(|other| *other != slot);
            }
        }
    }
}

/// Concatenates values of `width` bits each into a byte string. The first value is in the lowest bits.
fn pack(values: impl Iterator<Item = u64>, width: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    (0..).zip(values).for_each(|(place, value): (u32, u64)| append_bits(&mut bytes, place * width, value, width));
    bytes
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![
            ("ENTRIES", self.config.queue_entries.to_string()),
            ("BANKS", self.config.banks().to_string()),
            ("FCFS", u32::from(self.config.policy == Fcfs {}.into()).to_string()),
            ("DUAL", u32::from(self.is_dual).to_string()),
        ]
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let [arrivals, gates, caps, goes] = self.moods.next(&mut self.random);
        let now = at.cycle;
        let (entries, banks) = (self.config.queue_entries, self.config.banks());
        if self.queue.has_room() && self.random.percent(arrivals) {
            self.accept(at);
        }
        let mut any = |open: u64| if self.random.percent(gates) { u64::MAX } else { self.random.below(open + 1) };
        let (turn, columns) = (any(u64::MAX - 1), any(u64::MAX - 1));
        let (reads, rows) = (self.random.percent(80), self.random.percent(80));
        let open = (0..banks as usize)
            .filter(|&bank| self.banks[bank].open().is_some())
            .fold(0, |set, bank| set | 1u64 << bank);
        let capped = if self.random.percent(caps) { 0 } else { open & self.random.below(1 << 32) };

        let queue = &self.queue;
        let slot_bits = entries.max(2).next_power_of_two().ilog2();
        let bank_bits = banks.max(2).ilog2();
        let all = u64::MAX >> (64 - entries);
        let is_legal = |slot: usize| {
            let entry = queue.entry(slot);
            let index = usize::from(entry.place.bank);
            let bank = &self.banks[index];
            now >= if entry.write { self.timing.wr_from(index, bank) } else { self.timing.rd_from(index, bank) }
        };
        let may_move = |index: usize| {
            let bank = &self.banks[index];
            let from =
                if bank.open().is_some() { self.timing.pre_from(bank) } else { self.timing.act_from(index, bank) };
            now >= from
        };
        let mask = |count: u32, is_so: &dyn Fn(usize) -> bool| {
            (0..count as usize).fold(0u64, |set, i| set | u64::from(is_so(i)) << i)
        };
        let before = |slot: u64| {
            let older = self.accepted.iter().take_while(|other| **other as u64 != slot);
            older.fold(0u64, |set, other| set | 1 << other)
        };
        ports.input("occupied", entries, queue.occupied_slots());
        ports.input("writes", entries, queue.writes());
        ports.input("hits", entries, queue.hits());
        ports.input("blocked", entries, queue.blocked_slots());
        ports.wide_input("older", entries * entries, &pack((0..u64::from(entries)).map(before), entries));
        let bank_of = |slot: u32| u64::from(queue.entry(slot as usize).place.bank);
        ports.wide_input("bank", entries * bank_bits, &pack((0..entries).map(bank_of), bank_bits));
        ports.input("turn", entries, turn & all);
        ports.input("columns", entries, columns & all);
        ports.input("reads", 1, reads);
        ports.input("rows", 1, rows);
        ports.input("capped", banks, capped);
        ports.input("open", banks, open);
        ports.input("col_legal", entries, mask(entries, &is_legal));
        ports.input("row_legal", banks, mask(banks, &may_move));

        let view = View { queue, banks: &self.banks, capped, timing: &self.timing, is_dual: self.is_dual };
        let gates = Gates { turn: ServableSlots { slots: turn, from: u64::MAX }, columns, rows };
        let candidates = self.scheduler.behind(gates, view);
        let chosen = view.choose(now, candidates, reads).command_at(now);
        if turn & columns == u64::MAX && rows && self.scheduler.is_unrestricted(view) {
            assert_eq!(view.choose(now, view.all_candidates(), reads).command_at(now), chosen);
        }
        let column = chosen.filter(|(kind, _)| kind.is_column());
        let row = chosen.filter(|(kind, _)| !kind.is_column());
        let row = if self.is_dual { view.choose_row(now, candidates).command_at(now) } else { row };
        ports.output("col_valid", 1, column.is_some());
        ports.output_if("col_slot", slot_bits, column.map(|(_, slot)| slot as u64));
        ports.output("row_valid", 1, row.is_some());
        ports.output_if("row_slot", slot_bits, row.map(|(_, slot)| slot as u64));
        ports.output_if("row_is_pre", 1, row.map(|(kind, _)| kind == CommandKind::Pre));
        let goes = self.random.percent(goes);
        for (kind, slot) in row.into_iter().chain(column).filter(|_| goes) {
            self.send(now, kind, slot);
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.scheduler.describe(self.config.queue_entries, self.config.banks(), to);
    }
}
