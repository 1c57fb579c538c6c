//! # Command arbitration
//! Chooses the request that gets the command bus: first ready, first come (FR-FCFS).
//! 1. The oldest request whose column command is legal in this cycle on the open row of its bank.
//! 2. Else the oldest request whose ACT or PRE is legal in this cycle. A row is closed only when no
//!    request hits it any more.
//!
//! With a hit cap, hits may overtake an older request of their bank that often; then the bank
//! serves nothing until its row is closed. It must stop its hits, not only lose their protection:
//! every further WR would push the precharge away. A row has served a hit before it can be closed
//! so, hence no request loses its row between ACT and column command.
//!
//! First come, first served (FCFS) is the same with only the oldest request to choose from.
//!
//! Where rows have a command bus of their own (HBM), each bus has a selector: 1 for that of columns, 2 without its "else" for
//! that of rows. Both read the registers at the start of the cycle, and neither sees what the other sends in it. They cannot
//! meet in a bank: one that has a hit to serve is none whose row may be opened or closed. Nor need they agree on anything
//! else, because a row and a column command of different banks owe each other no distance.
//!
//! Part of `rtl/dram/channel.rs`.
//! Twin: `golden/dram/checker.rs`.
//! Bench: `tb/dram/directed.rs`.

use serde::{Deserialize, Serialize};

use super::bank::Bank;
use super::command::CommandKind;
use super::config::{DramConfig, Policy};
use super::drain::Turn;
use super::queue::{Entry, MAX, Queue, each};
use super::timing::Timing;
use crate::kernel::{Describe, DescribeExt, Logic};

/// The parts of a channel that the choice depends on.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Waiting requests.
    pub queue: &'a Queue,
    /// State of the banks.
    pub banks: &'a [Bank; MAX],
    /// Open banks that have reached the hit cap.
    pub capped: u64,
    /// Distances between banks.
    pub timing: &'a Timing,
    /// Rows have a command bus of their own.
    pub is_dual: bool,
}

/// What may be issued at all.
#[derive(Clone, Copy, Debug)]
pub struct Gates {
    /// Slots that may have commands at all.
    pub turn: Turn,
    /// Slots that may have their column command.
    pub columns: u64,
    /// Whether rows may be opened and closed; while they may not, the hit cap rests too.
    pub rows: bool,
}

/// What there is to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidates {
    /// Slots that may have commands at all.
    slots: u64,
    /// Slots that may have their column command, if there is room for the data of a read.
    columns: u64,
    /// Banks whose row may be opened or closed.
    rows: u64,
    /// If there are none, the cycle from which there may be some.
    from: u64,
}

/// The outcome of arbitration: what goes out next unless a request arrives or room for data
/// appears before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// No command is legal before this cycle; `u64::MAX` if time alone makes none legal.
    pub from: u64,
    /// The command of that cycle; with `Nop` it has to be asked again then.
    pub kind: CommandKind,
    /// Its slot.
    pub slot: u8,
}

impl Plan {
    /// Nothing becomes legal of its own accord.
    pub const NOTHING: Self = Self::ask(u64::MAX);

    /// Nothing is known of the time from `from` on.
    #[must_use]
    pub const fn ask(from: u64) -> Self {
        Self { from, kind: CommandKind::Nop, slot: 0 }
    }

    /// Command and slot of `cycle`, if it has one.
    #[must_use]
    pub fn command_at(&self, cycle: u64) -> Option<(CommandKind, usize)> {
        if self.from <= cycle && self.kind != CommandKind::Nop {
            Some((self.kind, usize::from(self.slot)))
        } else {
            None
        }
    }

    /// True if a column command goes out in `cycle`.
    #[must_use]
    pub fn is_column_at(&self, cycle: u64) -> bool {
        self.from <= cycle && self.kind.is_column()
    }
}

impl View<'_> {
    /// What there is to choose from where no gate is closed and no bank is capped.
    #[must_use]
    pub fn everyone(self) -> Candidates {
        let queue = self.queue;
        let columns = queue.hits() & !queue.blocked();
        Candidates { slots: queue.occupied(), columns, rows: queue.banks() & !queue.hit_banks(), from: u64::MAX }
    }

    /// The next command from cycle `from` on: the first that becomes legal, a column command before an ACT or PRE; where
    /// rows have a bus of their own, the first column command. `reads` tells whether a read has room for its data.
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

    /// The next command from cycle `from` on of a bus for rows alone.
    #[must_use]
    pub fn choose_row(self, from: u64, candidates: Candidates) -> Plan {
        let Candidates { slots, rows, .. } = candidates;
        if rows == 0 { Plan::NOTHING } else { self.row(from, rows, slots) }
    }

    /// The first column command from `from` on of some row hits.
    #[inline(always)]
    fn column(self, from: u64, hits: u64) -> Plan {
        let (reads, writes) = (hits & !self.queue.writes(), hits & self.queue.writes());
        let reads_from = if reads == 0 { u64::MAX } else { self.timing.any_rd_from().max(from) };
        let writes_from = if writes == 0 { u64::MAX } else { self.timing.any_wr_from().max(from) };
        // Mostly the data bus has yet to be turned round for one of the kinds.
        let (soonest, kind) = if reads_from <= writes_from { (reads_from, reads) } else { (writes_from, writes) };
        let plan = self.first_of(from, soonest, kind);
        if plan.from < reads_from.max(writes_from) { plan } else { self.first_of(from, from, hits) }
    }

    /// The same, none being legal before `soonest`: the oldest of those that are legal at once.
    #[inline(always)]
    fn first_of(self, from: u64, soonest: u64, hits: u64) -> Plan {
        let (mut left, mut first, mut slot) = (hits, u64::MAX, 0);
        while left != 0 {
            let oldest = self.queue.oldest(left);
            let legal = self.column_from(self.queue.entry(oldest)).max(from);
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

    /// Earliest column command of a request whose row is open.
    #[inline(always)]
    fn column_from(self, entry: &Entry) -> u64 {
        let index = usize::from(entry.place.bank);
        let bank = &self.banks[index % MAX];
        if entry.write { self.timing.wr_from(index, bank) } else { self.timing.rd_from(index, bank) }
    }

    /// The first ACT or PRE from `from` on in some banks, for the oldest slot of `eligible` among those for which one
    /// is legal at once.
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

/// Chooses who gets the command bus.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scheduler {
    policy: Policy,
    hit_cap: u32,
}

impl Scheduler {
    /// The policy of a configuration.
    #[must_use]
    pub fn new(config: &DramConfig) -> Self {
        Self { policy: config.policy, hit_cap: config.hit_cap }
    }

    /// The slots among which the policy chooses, of those in turn.
    #[must_use]
    pub fn eligible(&self, queue: &Queue, turn: Turn) -> u64 {
        let slots = queue.occupied() & turn.slots;
        match self.policy {
            _ if slots == 0 => 0,
            Policy::FrFcfs => slots,
            Policy::Fcfs => 1 << queue.oldest(slots),
        }
    }

    /// True if everyone may go who has got past the gates.
    #[must_use]
    pub fn takes_everyone(&self, view: View<'_>) -> bool {
        self.policy == Policy::FrFcfs && view.capped & view.queue.hit_banks() == 0
    }

    /// What there is to choose from behind `gates`.
    #[must_use]
    #[inline(never)]
    pub fn behind(&self, gates: Gates, View { queue, capped, .. }: View<'_>) -> Candidates {
        let slots = self.eligible(queue, gates.turn);
        // Out of turn, a request keeps no row open.
        let hit_banks = queue.banks_of(slots & queue.hits());
        let capped = if gates.rows { capped & hit_banks } else { 0 };
        let hits = queue.hits() & slots & !each(capped).fold(0, |slots, bank| slots | queue.in_bank(bank));
        let rows = match self.policy {
            _ if !gates.rows => 0,
            Policy::FrFcfs => queue.banks_of(slots) & !(hit_banks & !capped),
            Policy::Fcfs => queue.banks_of(slots & !hits),
        };
        Candidates { slots, columns: hits & gates.columns & !queue.blocked(), rows, from: gates.turn.from }
    }

    /// True if the hits of a bank have overtaken another row for long enough.
    #[must_use]
    pub fn is_capped(&self, bank: &Bank) -> bool {
        self.hit_cap != 0 && bank.overtaken() >= self.hit_cap
    }

    /// Lists the logic.
    pub fn describe(&self, entries: u32, banks: u32, to: &mut dyn Describe) {
        let Self { policy: _, hit_cap } = self;
        // Each entry against all that are older: one for columns, one for rows.
        for oldest in ["oldest_column", "oldest_row"] {
            to.logic(oldest, Logic::Comparator { width: entries, count: entries });
            to.logic(oldest, Logic::Gates { count: entries * entries.ilog2() });
        }
        // Banks with hits, banks with anything, and what concerns the bank of an entry: stopped, or legal for its row.
        for _ in 0..entries {
            to.logic("bank", Logic::Decoder { outputs: banks });
            to.logic("of_bank", Logic::Mux { ways: banks, width: 2 });
        }
        to.logic("banks", Logic::Gates { count: 2 * entries * banks });
        to.logic("row_bank", Logic::Mux { ways: entries, width: banks.ilog2() });
        to.logic("row_is_open", Logic::Mux { ways: banks, width: 1 });
        to.logic("may", Logic::Gates { count: 10 * entries });
        if *hit_cap != 0 {
            to.part("cap", |to| to.logic("reached", Logic::Comparator { width: u16::BITS, count: banks }));
        }
    }
}
