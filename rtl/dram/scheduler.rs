//! # Command arbitration
//! Selects the request that gets the command bus, in the order first ready, first come, first served
//! (FR-FCFS):
//! 1. The oldest request whose column command is legal in this cycle on the open row of its bank.
//! 2. Otherwise, the oldest request whose ACT or PRE is legal in this cycle. A row is closed only when no
//!    request hits it anymore.
//!
//! A hit cap limits the number of row hits that can overtake an older request to another row of their bank.
//! When the cap is reached, the bank serves no hits until its row is closed. All hits must stop, because each
//! further WR would delay the precharge. A row that is closed because of the cap has served at least one hit.
//! So no row is closed between the ACT for a request and the column command of that request.
//!
//! First come, first served (FCFS) uses the same rules, with the oldest request as the only candidate. All
//! other policies assign ranks to the requests; see [`ranked`](super::ranked).
//!
//! If rows have a separate command bus (HBM), each bus has a selector. The column bus uses rule 1, and the
//! row bus uses rule 2 independently of rule 1. Both selectors read the registers at the start of the cycle,
//! and neither depends on the command of the other. They never select the same bank: no row is opened or
//! closed in a bank that has a hit to serve. No further coordination is needed, because row and column
//! commands to different banks have no minimum distance.
//!
//! Part of `rtl/dram/channel.rs`.
//! Twin: `golden/dram/arbiter.rs`.
//! Bench: `tb/dram/directed.rs` and `tb/dram/policies.rs`.

use serde::{Deserialize, Serialize};

use super::bank::Bank;
use super::command::CommandKind;
use super::config::DramConfig;
use super::drain::ServableSlots;
use super::policy::{ChannelSize, Hooks, Order};
use super::queue::{MAX, Queue, each};
use super::timing::Timing;
use crate::kernel::{Describe, DescribeExt, Logic};

/// State of a DRAM channel that determines the choice of commands.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Queue of the requests that wait in the channel.
    pub queue: &'a Queue,
    /// State of all DRAM banks of the channel.
    pub banks: &'a [Bank; MAX],
    /// Open banks that have reached the cap on row hits that overtake an older request, one bit per bank.
    pub capped: u64,
    /// Minimum distances between commands to different banks.
    pub timing: &'a Timing,
    /// True if row commands have a separate command bus.
    pub is_dual: bool,
}

/// Restrictions on the commands that the channel may issue.
#[derive(Clone, Copy, Debug)]
pub struct Gates {
    /// Queue slots whose requests the write drain currently allows to be served.
    pub turn: ServableSlots,
    /// Queue slots whose RD or WR may be issued, one bit per slot.
    pub columns: u64,
    /// True if rows may be opened and closed; if false, the cap on overtaking row hits is not applied.
    pub rows: bool,
}

/// Requests that compete for the command bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidates {
    /// Queue slots whose requests can be served, one bit per slot.
    slots: u64,
    /// Queue slots whose RD or WR may be issued, one bit per slot.
    columns: u64,
    /// Banks in which a row may be opened or closed, one bit per bank.
    rows: u64,
    /// Cycle from which there may be candidates, if there are none now.
    from: u64,
}

/// Result of the arbitration: the next command. The result is valid until the cycle of the command, unless a
/// request arrives or a reply entry becomes free before that cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Earliest cycle in which a command is legal; `u64::MAX` if that depends on a later event, such as the
    /// arrival of a request.
    pub from: u64,
    /// Command planned for cycle `from`; `Nop` if the command must be chosen anew in that cycle.
    pub kind: CommandKind,
    /// Queue slot of the request for which the command is issued.
    pub slot: u8,
}

impl Plan {
    /// Plan without a command. No command becomes legal until an event, such as the arrival of a request.
    pub const NOTHING: Self = Self::ask(u64::MAX);

    /// Creates a plan without a command, which requires a new choice at cycle `from`.
    #[must_use]
    pub const fn ask(from: u64) -> Self {
        Self { from, kind: CommandKind::Nop, slot: 0 }
    }

    /// Returns the command planned for `cycle` and its queue slot; `None` if no command is planned.
    #[must_use]
    pub fn command_at(&self, cycle: u64) -> Option<(CommandKind, usize)> {
        if self.from <= cycle && self.kind != CommandKind::Nop {
            Some((self.kind, usize::from(self.slot)))
        } else {
            None
        }
    }

    /// True if a column command (RD or WR) is planned for `cycle`.
    #[must_use]
    pub fn is_column_at(&self, cycle: u64) -> bool {
        self.from <= cycle && self.kind.is_column()
    }
}

impl View<'_> {
    /// Returns all requests as candidates. Used when no request is restricted and no bank has reached the hit
    /// cap.
    #[must_use]
    pub fn all_candidates(self) -> Candidates {
        let queue = self.queue;
        let columns = queue.hits() & !queue.blocked_slots();
        Candidates { slots: queue.occupied_slots(), columns, rows: queue.banks() & !queue.hit_banks(), from: u64::MAX }
    }

    /// Returns the command that becomes legal first, from cycle `from` on. If two become legal in the same
    /// cycle, column commands have priority. With a separate bus for row commands, considers only column
    /// commands. `reads` is true if the reply buffer has room for a read.
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

    /// Returns the next command on the separate row bus from cycle `from` on.
    #[must_use]
    pub fn choose_row(self, from: u64, candidates: Candidates) -> Plan {
        let Candidates { slots, rows, .. } = candidates;
        if rows == 0 { Plan::NOTHING } else { self.row(from, rows, slots) }
    }

    /// Returns the column command that becomes legal first, from cycle `from` on, for the row hits `hits`.
    #[inline(always)]
    fn column(self, from: u64, hits: u64) -> Plan {
        let (reads, writes) = (hits & !self.queue.writes(), hits & self.queue.writes());
        let reads_from = if reads == 0 { u64::MAX } else { self.timing.any_rd_from().max(from) };
        let writes_from = if writes == 0 { u64::MAX } else { self.timing.any_wr_from().max(from) };
        // Usually, either the reads or the writes must first wait for the turnaround of the data bus. The
        // kind (read or write) that can be issued earlier is therefore searched first.
        let (soonest, kind) = if reads_from <= writes_from { (reads_from, reads) } else { (writes_from, writes) };
        let plan = self.first_of(from, soonest, kind);
        if plan.from < reads_from.max(writes_from) { plan } else { self.first_of(from, from, hits) }
    }

    /// Returns the column command that becomes legal first, from cycle `from` on, for the row hits `hits`.
    /// The caller guarantees that none is legal before `soonest`, so a command that is legal in that cycle
    /// ends the search. Among commands that become legal in the same cycle, the one for the oldest request is
    /// selected.
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

    /// Returns the earliest cycle for the RD or WR of the request in `slot`, whose row is open.
    #[inline(always)]
    pub(super) fn column_from(self, slot: usize) -> u64 {
        let entry = self.queue.entry(slot);
        let index = usize::from(entry.place.bank);
        let bank = &self.banks[index % MAX];
        if entry.write { self.timing.wr_from(index, bank) } else { self.timing.rd_from(index, bank) }
    }

    /// Returns the earliest cycle for the next ACT or PRE that the request in `slot` needs in its bank.
    pub(super) fn row_from(self, slot: usize) -> u64 {
        let index = usize::from(self.queue.entry(slot).place.bank);
        let bank = &self.banks[index % MAX];
        if bank.open().is_some() { self.timing.pre_from(bank) } else { self.timing.act_from(index, bank) }
    }

    /// True if the bank that the request in `slot` accesses has an open row.
    pub(super) fn is_open(self, slot: usize) -> bool {
        self.banks[usize::from(self.queue.entry(slot).place.bank) % MAX].open().is_some()
    }

    /// Returns the ACT or PRE that becomes legal first, from cycle `from` on, among the banks in the mask
    /// `rows`. If commands of several banks become legal in the same cycle, selects the bank of the oldest
    /// slot in `eligible`.
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

/// Arbiter that selects the next command of a DRAM channel.
#[derive(Debug, Serialize, Deserialize)]
pub struct Scheduler {
    order: Order,
}

impl Scheduler {
    /// Creates the arbiter with the configured policy, for a machine with `num_sms` SMs.
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

    /// Returns the policy's hooks if the policy ranks requests, otherwise `None`.
    #[must_use]
    pub fn hooks(&self) -> Option<&dyn Hooks> {
        if let Order::Ranked(hooks) = &self.order { Some(&**hooks) } else { None }
    }

    /// Returns the policy's hooks for modification if the policy ranks requests, otherwise `None`.
    pub fn hooks_mut(&mut self) -> Option<&mut dyn Hooks> {
        if let Order::Ranked(hooks) = &mut self.order { Some(&mut **hooks) } else { None }
    }

    /// Returns a bit mask of the slots from which the policy can choose. They are among the slots that the
    /// write drain allows to be served.
    #[must_use]
    pub fn eligible(&self, queue: &Queue, turn: ServableSlots) -> u64 {
        let slots = queue.occupied_slots() & turn.slots;
        match self.order {
            _ if slots == 0 => 0,
            Order::OldestOnly => 1 << queue.oldest(slots),
            Order::FirstReady { .. } | Order::Ranked(_) => slots,
        }
    }

    /// True if the policy does not restrict which requests can be served.
    #[must_use]
    pub fn is_unrestricted(&self, view: View<'_>) -> bool {
        matches!(self.order, Order::FirstReady { .. }) && view.capped & view.queue.hit_banks() == 0
    }

    /// Returns the requests that compete for the command bus under the restrictions `gates`.
    #[must_use]
    #[inline(never)]
    pub fn behind(&self, gates: Gates, View { queue, capped, .. }: View<'_>) -> Candidates {
        let slots = self.eligible(queue, gates.turn);
        // If a row hit must not be served now, its row may be closed although the hit is waiting.
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

    /// True if the row hits of a bank have overtaken an older request to another row as often as the hit cap
    /// allows.
    #[must_use]
    pub fn is_capped(&self, bank: &Bank) -> bool {
        matches!(self.order, Order::FirstReady { hit_cap } if hit_cap != 0 && bank.overtake_count() >= hit_cap)
    }

    /// Lists the arbiter's logic and its policy for waveforms, digests and area estimates.
    pub fn describe(&self, entries: u32, banks: u32, to: &mut dyn Describe) {
        let Self { order } = self;
        // Logic that finds the oldest candidate by comparing each entry with all older ones, once for column
        // commands and once for row commands.
        for oldest in ["oldest_column", "oldest_row"] {
            to.logic(oldest, Logic::Comparator { width: entries, count: entries });
            to.logic(oldest, Logic::Gates { count: entries * entries.ilog2() });
        }
        // Logic that determines which banks have row hits and which have requests. For each queue entry, it
        // also selects two flags of the entry's bank: whether the hit cap is reached, and whether a row
        // command is legal.
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
