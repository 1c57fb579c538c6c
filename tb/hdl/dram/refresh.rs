//! # Lockstep test of the refresh of a DRAM channel
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                                                     | where |
//! |-----------------------------------------------------------------------------------------------|-----|
//! | row hits that already wait are served before the refresh, later ones are not                  | `accept` |
//! | without room for read data, neither reads nor the writes blocked behind them are served first | `reads` |
//! | the scheduling policy admits only some of the hits                                            | `eligible` |
//! | banks may be precharged one after another, or are already closed                              | `step` |
//! | the time of the next refresh comes while the previous refresh is late                         | few cycles of tREFI |

use rtl::dram::bank::Bank;
use rtl::dram::command::CommandKind;
use rtl::dram::config::{DramConfig, DramTiming, Refresh};
use rtl::dram::message::DramRequest;
use rtl::dram::queue::Queue;
use rtl::dram::refresh::Refresher;
use rtl::dram::timing::Timing;
use rtl::kernel::{Describe, Edge};

use super::bank::timing;
use super::timing::config;
use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes, Violation};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("stops_o = now_i >= due_q", "stops_o = now_i > due_q"),
        Mistake::new("draining_q ? last_q : hits_i & eligible_i", "hits_i & eligible_i"),
        Mistake::new("draining_q ? last_q : hits_i & eligible_i", "draining_q ? last_q : hits_i"),
        Mistake::new("draining_q ? last_q : hits_i & eligible_i", "draining_q ? last_q & hits_i : eligible_i"),
        Mistake::new("reads_i ? waiting : waiting & writes_i", "waiting & writes_i"),
        Mistake::new("waiting & writes_i & ~blocked_i", "waiting & ~blocked_i"),
        Mistake::new("waiting & writes_i & ~blocked_i", "waiting & writes_i"),
        Mistake::new("step_is_ref_o ? may_ref_i : (open_i", "(open_i"),
        Mistake::new("(open_i & ~may_pre_i) == '0", "(open_i & may_pre_i) != '0"),
        Mistake::new("last_q <= columns_o & ~served", "last_q <= columns_o"),
        Mistake::new("last_q <= columns_o & ~served", "last_q <= waiting & ~served"),
        Mistake::new("draining_q <= !done_i", "draining_q <= 1"),
        Mistake::new("due_q <= due_q + 64'(REFI)", "due_q <= now_i + 64'(REFI)"),
        Mistake::equivalent(
            "(open_i & ~may_pre_i) == '0",
            "may_pre_i == '1",
            "a closed bank does not delay a precharge that the channel allows",
        ),
        Mistake::equivalent("if (stops_o) begin", "if (stops_o || draining_q) begin", "a due refresh stays due until done"),
    ]
}

assertions! {
    [
        Violation::by_input("time_passes", "now", "64'd1"),
        Violation::by_input("served_is_last", "served_valid", "1'b1"),
        Violation::by_input("done_allowed", "done", "1'b1"),
        Violation::by_module("stops_until", "assign stops_o = now_i >= due_q;", "assign stops_o = now_i == due_q;"),
        Violation::by_module("not_too_early", "due_q <= due_q + 64'(REFI)", "due_q <= due_q + 64'(REFI / 2)"),
        Violation::by_module("columns_hit", "hits_i & eligible_i;", "eligible_i;"),
        Violation::by_module("columns_left", "last_q <= columns_o & ~served;", "last_q <= columns_o;"),
        Violation::by_module("ref_if_closed", "step_is_ref_o = open_i == '0", "step_is_ref_o = 1"),
        Violation::by_module("step_allowed", "(open_i & ~may_pre_i) == '0", "1"),
    ]
}

struct Unit {
    config: DramConfig,
    queue: Queue,
    banks: Box<[Bank]>,
    timing: Timing,
    dut: Refresher,
    moods: TrafficModes<4>,
    random: Random,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let t: DramTiming = timing(size, &mut random);
        let (entries, groups, banks_per_group, refi, refresh) = match size {
            Size::Small => (5, 2, 2, 30, Refresh::AllBank),
            Size::Fermi | Size::Synthesised => (16, 4, 4, t.refi, Refresh::AllBank),
            Size::Any => {
                let refresh = if random.percent(95) { Refresh::AllBank } else { Refresh::Off };
                let refi = 50 + random.below(500) as u32;
                (2 + random.below(30) as u32, 1 << random.below(3), 1 << random.below(3), refi, refresh)
            }
        };
        let t = DramTiming { refi, ..t };
        let config = DramConfig { queue_entries: entries, refresh, ..config(groups, banks_per_group, t) };
        Self {
            queue: Queue::new(&config, "dram", 1),
            banks: vec![Bank::CLOSED; config.banks() as usize].into(),
            timing: Timing::new(&config),
            dut: Refresher::new(&config),
            config,
            moods: TrafficModes::default(),
            random,
        }
    }

    /// Adds a request to the queue: a random read or write of one of a few bursts in a few rows.
    fn accept(&mut self, at: &Edge<'_>) {
        let (random, config) = (&mut self.random, &self.config);
        let bank_and_row = random.below(u64::from(config.banks()) * 2);
        let burst = bank_and_row * u64::from(config.columns) + random.below(3);
        let request = DramRequest { write: random.percent(50), burst, ..DramRequest::default() };
        self.queue.accept(at, &request, |bank| self.banks[bank].open());
    }

    /// Opens the row that the request in a queue slot needs, if an ACT is legal.
    fn open(&mut self, now: u64, slot: usize) {
        let place = self.queue.entry(slot).place;
        let index = usize::from(place.bank);
        let bank = &mut self.banks[index];
        if bank.open().is_none() && now >= self.timing.act_from(index, bank) {
            bank.activate(now, place.row, &self.config.timing);
            self.timing.activate(now, index);
            self.queue.open(index, place.row);
        }
    }

    fn send(&mut self, now: u64, kind: CommandKind) {
        let (t, banks) = (&self.config.timing, &mut self.banks);
        if kind == CommandKind::Prea {
            for (index, bank) in banks.iter_mut().enumerate() {
                bank.precharge(now, t);
                self.queue.close(index);
            }
            self.timing.precharge(now);
        } else {
            banks.iter_mut().for_each(|bank| bank.refresh(now, t));
            self.timing.refresh(now);
            self.dut.finish();
        }
    }
}

/// Randomly selects one of the bits set in a 64-bit mask. Returns `None` if no bit is set.
fn any(set: u64, random: &mut Random) -> Option<usize> {
    let members: Vec<_> = (0..64).filter(|member| set >> member & 1 != 0).collect();
    (!members.is_empty()).then(|| members[random.below(members.len() as u64) as usize])
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let DramConfig { queue_entries, refresh, timing, .. } = &self.config;
        vec![
            ("ENTRIES", queue_entries.to_string()),
            ("BANKS", self.config.banks().to_string()),
            ("REFI", timing.refi.to_string()),
            ("OFF", u32::from(*refresh == Refresh::Off).to_string()),
        ]
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let [arrivals, opens, serves, goes] = self.moods.next(&mut self.random);
        let now = at.cycle;
        let (entries, banks) = (self.config.queue_entries, self.config.banks());
        let (all, slot_bits) = (u64::MAX >> (64 - entries), entries.max(2).next_power_of_two().ilog2());
        if self.queue.has_room() && self.random.percent(arrivals) {
            self.accept(at);
        }
        let (reads, chosen) = (self.random.percent(80), self.random.percent(60));
        let eligible = if chosen { all } else { self.random.below(all) };
        let eligible = eligible & self.queue.occupied_slots();
        ports.input("now", 64, now);
        ports.input("reads", 1, reads);
        ports.input("hits", entries, self.queue.hits());
        ports.input("eligible", entries, eligible);
        ports.input("writes", entries, self.queue.writes());
        ports.input("blocked", entries, self.queue.blocked_slots());
        let stops = self.dut.stops_requests(now);
        assert_eq!(self.dut.is_draining() || self.dut.due() <= now, stops);
        if stops {
            self.dut.prepare(&self.queue, eligible, reads);
        }
        ports.output("stops", 1, stops);
        ports.output_if("columns", entries, stops.then(|| self.dut.last()));

        let mask = |is_so: &dyn Fn(&Bank) -> bool| {
            let so = self.banks.iter().enumerate().filter(|(_, bank)| is_so(bank));
            so.fold(0u64, |set, (index, _)| set | 1 << index)
        };
        ports.input("open", banks, mask(&|bank| bank.open().is_some()));
        ports.input("may_pre", banks, mask(&|bank| self.timing.pre_from(bank) <= now));
        ports.input("may_ref", 1, self.timing.ref_from() <= now);
        let looks = stops && self.dut.last() == 0;
        let (step, later) = self.dut.choose(now, &self.banks, &self.timing);
        assert_eq!(step.is_none(), later != u64::MAX && later > now);
        ports.output_if("step_valid", 1, looks.then_some(step.is_some()));
        let step = step.filter(|_| looks);
        ports.output_if("step_is_ref", 1, step.map(|kind| kind == CommandKind::Ref));

        // Serves a row hit. While a refresh is due, only the row hits that must be served before the refresh
        // are candidates.
        let may_go = if stops { self.dut.last() } else { self.queue.hits() & !self.queue.blocked_slots() };
        let served = any(may_go, &mut self.random).filter(|_| self.random.percent(serves / 2));
        ports.input("served_valid", 1, served.is_some());
        ports.input("served_slot", slot_bits, served.unwrap_or(0) as u64);
        if let Some(slot) = served {
            if stops {
                self.dut.remove_served(slot);
            }
            self.queue.release(now, slot);
        }
        let step = step.filter(|_| self.random.percent(goes));
        ports.input("done", 1, step == Some(CommandKind::Ref));
        if let Some(kind) = step {
            self.send(now, kind);
        }
        let wanted = any(self.queue.occupied_slots() & !self.queue.hits(), &mut self.random);
        if let Some(slot) = wanted.filter(|_| !stops && self.random.percent(opens)) {
            self.open(now, slot);
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(self.config.queue_entries, self.config.banks(), to);
    }

    /// Returns the number of register bits that are always 0. The cycle of the next refresh is a multiple
    /// of the refresh interval, so it ends in at least as many zero bits as the interval.
    fn constant_bits(&self) -> u64 {
        self.config.timing.refi.trailing_zeros().into()
    }
}
