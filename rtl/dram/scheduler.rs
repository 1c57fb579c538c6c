//! # Command arbitration
//! Selects the request that gets the command bus, by first ready, first come, first served (FR-FCFS):
//! 1. The oldest request whose column command is legal in this cycle on the open row of its bank.
//! 2. Otherwise, the oldest request whose ACT or PRE is legal in this cycle. A row is closed only when no
//!    request hits it anymore.
//!
//! A hit cap limits the number of row hits that can overtake an older request to another row of their bank.
//! When the cap is reached, the bank serves no hits until its row is closed. The hits must stop entirely,
//! because each further WR would delay the precharge. A row closed because of the cap has served at least one
//! hit. So no request loses its row between its ACT and its column command.
//!
//! First come, first served (FCFS) uses the same rules with the oldest request as the only candidate. All
//! other policies assign ranks to the requests ([`ranked`](super::ranked)).
//!
//! If rows have a separate command bus (HBM), each bus has a selector. The column bus uses rule 1, and the
//! row bus uses rule 2 independently of rule 1. Both selectors read the registers at the start of the cycle,
//! and neither depends on the command of the other. They never select the same bank: no row is opened or
//! closed in a bank that has a hit to serve. No further coordination is needed, because row and column
//! commands to different banks have no minimum distance.
//!
//! Part of `rtl/dram/channel.rs`.
//! Twin: `golden/dram/checker.rs`.
//! Bench: `tb/dram/directed.rs`.

use serde::{Deserialize, Serialize};

use super::bank::Bank;
use super::command::CommandKind;
use super::config::DramConfig;
use super::drain::ServableSlots;
use super::policy::{ChannelSize, Hooks, Order};
use super::queue::{MAX, Queue, each};
use super::timing::Timing;
use crate::kernel::{Describe, DescribeExt, Logic};

/// State of a channel that determines the choice of commands.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Waiting requests.
    pub queue: &'a Queue,
    /// State of the banks.
    pub banks: &'a [Bank; MAX],
    /// Open banks that have reached the hit cap.
    pub capped: u64,
    /// Minimum distances between banks.
    pub timing: &'a Timing,
    /// True if row commands have a separate bus.
    pub is_dual: bool,
}

/// Restrictions on the commands that may be issued.
#[derive(Clone, Copy, Debug)]
pub struct Gates {
    /// Slots for which commands can be issued.
    pub turn: ServableSlots,
    /// Slots whose column command can be issued.
    pub columns: u64,
    /// True if rows can be opened and closed; if false, the hit cap is not applied.
    pub rows: bool,
}

/// Candidates for arbitration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidates {
    /// Slots for which commands can be issued.
    slots: u64,
    /// Slots whose column command can be issued; for a read, only if a reply entry is free.
    columns: u64,
    /// Banks whose row can be opened or closed.
    rows: u64,
    /// If there are no candidates: cycle from which there may be some.
    from: u64,
}

/// Result of arbitration: the next command. The plan holds unless a request arrives or a reply entry becomes
/// free earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Cycle before which no command is legal; `u64::MAX` if no command becomes legal without an event.
    pub from: u64,
    /// Command for cycle `from`; `Nop` if the command must be chosen again in that cycle.
    pub kind: CommandKind,
    /// Slot of the request that the command serves.
    pub slot: u8,
}

impl Plan {
    /// Plan without a command: none becomes legal without an event.
    pub const NOTHING: Self = Self::ask(u64::MAX);

    /// Creates a plan that requires a new choice at cycle `from`.
    #[must_use]
    pub const fn ask(from: u64) -> Self {
        Self { from, kind: CommandKind::Nop, slot: 0 }
    }

    /// Returns the command and slot planned for `cycle`, if there is one.
    #[must_use]
    pub fn command_at(&self, cycle: u64) -> Option<(CommandKind, usize)> {
        if self.from <= cycle && self.kind != CommandKind::Nop {
            Some((self.kind, usize::from(self.slot)))
        } else {
            None
        }
    }

    /// True if a column command is issued in `cycle`.
    #[must_use]
    pub fn is_column_at(&self, cycle: u64) -> bool {
        self.from <= cycle && self.kind.is_column()
    }
}

impl View<'_> {
    /// Returns the candidates when nothing restricts requests and no bank is capped.
    #[must_use]
    pub fn all_candidates(self) -> Candidates {
        let queue = self.queue;
        let columns = queue.hits() & !queue.blocked_slots();
        Candidates { slots: queue.occupied_slots(), columns, rows: queue.banks() & !queue.hit_banks(), from: u64::MAX }
    }

    /// Returns the next command from cycle `from` on: the first one that becomes legal; column commands have
    /// priority. With a separate bus for rows, returns only the first column command. `reads` is true if the
    /// reply buffer has room for a read.
    #[must_use]
    #[inline(always)]
    pub fn choose(self, from: u64, candidates: Candidates, reads: bool) -> Plan {
        let Candidates { slots, columns, rows, from: later } = candidates;
        if slots == 0 {
            return Plan::ask(later);
        }
        let column = self.column(from, if reads { columns } else { columns & self.queue.writes() });
        if rows == 0 || column.from == from || self.is_dual {
            return column;
        }
        let row = self.row(from, rows, slots);
        if row.from < column.from { row } else { column }
    }

    /// Returns the next command of a separate row bus from cycle `from` on.
    #[must_use]
    pub fn choose_row(self, from: u64, candidates: Candidates) -> Plan {
        let Candidates { slots, rows, .. } = candidates;
        if rows == 0 { Plan::NOTHING } else { self.row(from, rows, slots) }
    }

    /// Returns the first column command from cycle `from` on for a set of row hits.
    #[inline(always)]
    fn column(self, from: u64, hits: u64) -> Plan {
        let (reads, writes) = (hits & !self.queue.writes(), hits & self.queue.writes());
        let reads_from = if reads == 0 { u64::MAX } else { self.timing.any_rd_from().max(from) };
        let writes_from = if writes == 0 { u64::MAX } else { self.timing.any_wr_from().max(from) };
        // Usually, one of the two kinds (read or write) must first wait for the turnaround of the data bus.
        let (soonest, kind) = if reads_from <= writes_from { (reads_from, reads) } else { (writes_from, writes) };
        let plan = self.first_of(from, soonest, kind);
        if plan.from < reads_from.max(writes_from) { plan } else { self.first_of(from, from, hits) }
    }

    /// Returns the earliest column command from cycle `from` on. The caller guarantees that none is legal
    /// before `soonest`, so a command legal in that cycle ends the search. Among commands that become legal
    /// in the same cycle, the oldest request wins.
    #[inline(always)]
    fn first_of(self, from: u64, soonest: u64, hits: u64) -> Plan {
        let (mut left, mut first, mut slot) = (hits, u64::MAX, 0);
        while left != 0 {
            let oldest = self.queue.oldest(left);
            let legal = self.column_from(oldest).max(from);
            if legal < first {
                (first, slot) = (legal, oldest);
            }
            if legal == soonest {
                break;
            }
            left &= !self.queue.like(oldest);
        }
        let kind = if self.queue.entry(slot).write { CommandKind::Wr } else { CommandKind::Rd };
        Plan { from: first, kind, slot: slot as u8 }
    }

    /// Returns the earliest cycle for the column command of a request whose row is open.
    #[inline(always)]
    pub(super) fn column_from(self, slot: usize) -> u64 {
        let entry = self.queue.entry(slot);
        let index = usize::from(entry.place.bank);
        let bank = &self.banks[index % MAX];
        if entry.write { self.timing.wr_from(index, bank) } else { self.timing.rd_from(index, bank) }
    }

    /// Returns the earliest cycle for the ACT or PRE that the bank of a request needs next.
    pub(super) fn row_from(self, slot: usize) -> u64 {
        let index = usize::from(self.queue.entry(slot).place.bank);
        let bank = &self.banks[index % MAX];
        if bank.open().is_some() { self.timing.pre_from(bank) } else { self.timing.act_from(index, bank) }
    }

    /// True if the bank of a request has an open row.
    pub(super) fn is_open(self, slot: usize) -> bool {
        self.banks[usize::from(self.queue.entry(slot).place.bank) % MAX].open().is_some()
    }

    /// Returns the first ACT or PRE from cycle `from` on in the given banks. Among the banks in which it
    /// becomes legal first, the one of the oldest slot in `eligible` wins.
    #[inline(always)]
    fn row(self, from: u64, rows: u64, eligible: u64) -> Plan {
        let (mut first, mut slots) = (u64::MAX, 0);
        for index in each(rows) {
            let bank = &self.banks[index % MAX];
            let is_open = bank.open().is_some();
            let legal = if is_open { self.timing.pre_from(bank) } else { self.timing.act_from(index, bank) };
            let legal = legal.max(from);
            if legal < first {
                (first, slots) = (legal, 0);
            }
            if legal == first {
                slots |= self.queue.in_bank(index);
            }
        }
        let slot = self.queue.oldest(slots & eligible);
        let is_open = self.banks[usize::from(self.queue.entry(slot).place.bank) % MAX].open().is_some();
        Plan { from: first, kind: if is_open { CommandKind::Pre } else { CommandKind::Act }, slot: slot as u8 }
    }
}

/// Arbiter for the command bus.
#[derive(Debug, Serialize, Deserialize)]
pub struct Scheduler {
    order: Order,
}

impl Scheduler {
    /// Creates the arbiter with the configured policy, for requests of `num_sms` SMs.
    #[must_use]
    pub fn new(config: &DramConfig, num_sms: u32) -> Self {
        let size = ChannelSize {
            requesters: num_sms + 1,
            entries: config.queue_entries,
            banks: config.banks(),
            latencies: [config.timing.read_latency(), config.timing.write_latency()],
        };
        Self { order: config.policy.watch(&size) }
    }

    /// Returns the hooks of a policy that ranks requests; `None` for other policies.
    #[must_use]
    pub fn hooks(&self) -> Option<&dyn Hooks> {
        if let Order::Ranked(hooks) = &self.order { Some(&**hooks) } else { None }
    }

    /// Returns the hooks of a policy that ranks requests, for modification; `None` for other policies.
    pub fn hooks_mut(&mut self) -> Option<&mut dyn Hooks> {
        if let Order::Ranked(hooks) = &mut self.order { Some(&mut **hooks) } else { None }
    }

    /// Returns the slots from which the policy can choose, among those that can be served.
    #[must_use]
    pub fn eligible(&self, queue: &Queue, turn: ServableSlots) -> u64 {
        let slots = queue.occupied_slots() & turn.slots;
        match self.order {
            _ if slots == 0 => 0,
            Order::OldestOnly => 1 << queue.oldest(slots),
            Order::FirstReady { .. } | Order::Ranked(_) => slots,
        }
    }

    /// True if the policy imposes no restriction of its own on the requests.
    #[must_use]
    pub fn is_unrestricted(&self, view: View<'_>) -> bool {
        matches!(self.order, Order::FirstReady { .. }) && view.capped & view.queue.hit_banks() == 0
    }

    /// Returns the candidates that the restrictions `gates` allow.
    #[must_use]
    #[inline(never)]
    pub fn behind(&self, gates: Gates, View { queue, capped, .. }: View<'_>) -> Candidates {
        let slots = self.eligible(queue, gates.turn);
        // A request that must not be served does not keep its row open.
        let hit_banks = queue.banks_of(slots & queue.hits());
        let capped = if gates.rows { capped & hit_banks } else { 0 };
        let hits = queue.hits() & slots & !each(capped).fold(0, |slots, bank| slots | queue.in_bank(bank));
        let rows = match self.order {
            _ if !gates.rows => 0,
            Order::OldestOnly => queue.banks_of(slots & !hits),
            Order::FirstReady { .. } | Order::Ranked(_) => queue.banks_of(slots) & !(hit_banks & !capped),
        };
        Candidates { slots, columns: hits & gates.columns & !queue.blocked_slots(), rows, from: gates.turn.from }
    }

    /// True if row hits of a bank have overtaken an older request to another row as often as the cap allows.
    #[must_use]
    pub fn is_capped(&self, bank: &Bank) -> bool {
        matches!(self.order, Order::FirstReady { hit_cap } if hit_cap != 0 && bank.overtake_count() >= hit_cap)
    }

    /// Adds the logic to the hardware description.
    pub fn describe(&self, entries: u32, banks: u32, to: &mut dyn Describe) {
        let Self { order } = self;
        // Compares each entry with all older ones, once for column commands and once for row commands.
        for oldest in ["oldest_column", "oldest_row"] {
            to.logic(oldest, Logic::Comparator { width: entries, count: entries });
            to.logic(oldest, Logic::Gates { count: entries * entries.ilog2() });
        }
        // Decodes the banks with hits and the banks with requests. Selects two flags of the bank of each
        // entry: capped, and row command legal.
        for _ in 0..entries {
            to.logic("bank", Logic::Decoder { outputs: banks });
            to.logic("of_bank", Logic::Mux { ways: banks, width: 2 });
        }
        to.logic("banks", Logic::Gates { count: 2 * entries * banks });
        to.logic("row_bank", Logic::Mux { ways: entries, width: banks.ilog2() });
        to.logic("row_is_open", Logic::Mux { ways: banks, width: 1 });
        to.logic("may", Logic::Gates { count: 10 * entries });
        if let Order::Ranked(hooks) = order {
            to.part("policy", |to| hooks.describe(to));
        }
        if matches!(order, Order::FirstReady { hit_cap: 1.. }) {
            to.part("cap", |to| to.logic("reached", Logic::Comparator { width: u16::BITS, count: banks }));
        }
    }
}
