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
//! Part of `rtl/dram/channel.rs`.
//! Twin: `golden/dram/checker.rs`.
//! Bench: `tb/dram/directed.rs`.

use super::bank::Bank;
use super::command::CommandKind;
use super::config::{DramConfig, Policy};
use super::drain::Turn;
use super::queue::{MAX, Queue, each};
use super::timing::Timing;
use crate::kernel::{Describe, DescribeExt, Logic};

/// The parts of a channel that the choice depends on.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Waiting requests.
    pub queue: &'a Queue,
    /// State of the banks.
    pub banks: &'a [Bank; MAX],
    /// Banks with an open row.
    pub open: u64,
    /// Open banks that have reached the hit cap.
    pub capped: u64,
    /// Distances between banks.
    pub timing: &'a Timing,
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
    /// Whether a read has room for its data.
    pub reads: bool,
}

/// The outcome of arbitration: what goes out next unless a request arrives or room for data
/// appears before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// No command is legal before this cycle; `u64::MAX` if time alone makes none legal.
    pub from: u64,
    /// Command and slot of that cycle; without one it has to be asked again then.
    pub command: Option<(CommandKind, usize)>,
}

impl Plan {
    /// Nothing becomes legal of its own accord.
    pub const NOTHING: Self = Self { from: u64::MAX, command: None };

    /// The command of `cycle`, if it has one.
    #[must_use]
    pub fn command_at(&self, cycle: u64) -> Option<(CommandKind, usize)> {
        if self.from <= cycle { self.command } else { None }
    }

    /// True if a column command goes out in `cycle`.
    #[must_use]
    pub fn is_column_at(&self, cycle: u64) -> bool {
        matches!(self.command_at(cycle), Some((CommandKind::Rd | CommandKind::Wr, _)))
    }
}

/// The slots of a set of banks.
fn slots_of(queue: &Queue, banks: u64) -> u64 {
    each(banks).fold(0, |slots, bank| slots | queue.in_bank(bank))
}

/// Chooses who gets the command bus.
#[derive(Clone, Debug)]
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

    /// The command of cycle `from`, or of a later one if none is legal before.
    #[must_use]
    #[inline]
    pub fn choose(&self, from: u64, view: View<'_>, gates: Gates) -> Plan {
        let View { queue, banks, open, capped, timing } = view;
        let eligible = self.eligible(queue, gates.turn);
        if eligible == 0 {
            return Plan { from: gates.turn.from, command: None };
        }
        // Out of turn, a request keeps no row open.
        let (banks_in_turn, hit_banks) = match gates.turn {
            Turn::ALL => (queue.banks(), queue.hit_banks()),
            _ => (queue.banks_of(eligible), queue.banks_of(eligible & queue.hits())),
        };
        let capped = if gates.rows { capped & hit_banks } else { 0 };
        let hits = queue.hits() & eligible & !slots_of(queue, capped);
        let rows = match self.policy {
            _ if !gates.rows => 0,
            Policy::FrFcfs => banks_in_turn & !(hit_banks & !capped),
            Policy::Fcfs => each(eligible & !hits).fold(0, |_, slot| 1 << queue.entry(slot).place.bank),
        };
        let free = hits & gates.columns & !queue.blocked();
        let reads = if gates.reads { free & !queue.writes() } else { 0 };
        let writes = free & queue.writes();
        let reads_from = if reads == 0 { u64::MAX } else { timing.any_rd_from() };
        let writes_from = if writes == 0 { u64::MAX } else { timing.any_wr_from() };
        let row_from = |index: usize| {
            let bank = &banks[index % MAX];
            if open >> index & 1 != 0 { timing.pre_from(bank) } else { timing.act_from(index, bank) }
        };
        let rows_from = each(rows).fold(u64::MAX, |first, index| first.min(row_from(index)));
        // The data bus and the rows tell from when on it is worth to look.
        let cycle = from.max(reads_from.min(writes_from).min(rows_from));
        if cycle == u64::MAX {
            return Plan::NOTHING;
        }

        let (mut left, mut later) = (0, u64::MAX);
        if reads_from <= cycle {
            left |= reads;
        } else {
            later = reads_from;
        }
        if writes_from <= cycle {
            left |= writes;
        } else {
            later = later.min(writes_from);
        }
        // The oldest first: when its command is legal, no other has to be looked at; when it is not,
        // its like in its bank need not be asked.
        while left != 0 {
            let slot = queue.oldest(left);
            let entry = queue.entry(slot);
            let index = usize::from(entry.place.bank);
            let (kind, from, like) = if entry.write {
                (CommandKind::Wr, timing.wr_from(index, &banks[index % MAX]), queue.writes())
            } else {
                (CommandKind::Rd, timing.rd_from(index, &banks[index % MAX]), !queue.writes())
            };
            if from <= cycle {
                return Plan { from: cycle, command: Some((kind, slot)) };
            }
            later = later.min(from);
            left &= !(queue.in_bank(index) & like);
        }

        if rows_from > cycle {
            return Plan { from: later.min(rows_from), command: None };
        }
        let ready = each(rows).filter(|&index| row_from(index) <= cycle);
        let ready = ready.fold(0, |ready, index| ready | queue.in_bank(index) & eligible);
        let slot = queue.oldest(ready);
        let is_open = open >> queue.entry(slot).place.bank & 1 != 0;
        let kind = if is_open { CommandKind::Pre } else { CommandKind::Act };
        Plan { from: cycle, command: Some((kind, slot)) }
    }

    /// True if the hits of a bank have overtaken another row for long enough.
    #[must_use]
    pub fn is_capped(&self, bank: &Bank) -> bool {
        self.hit_cap != 0 && bank.overtaken() >= self.hit_cap
    }

    /// Lists the logic.
    pub fn describe(&self, entries: u32, banks: u32, to: &mut dyn Describe) {
        let Self { policy: _, hit_cap } = self;
        to.logic("oldest_column", Logic::PriorityEncoder { inputs: entries });
        to.logic("oldest_row", Logic::PriorityEncoder { inputs: entries });
        if *hit_cap != 0 {
            to.part("cap", |to| to.logic("reached", Logic::Comparator { width: u16::BITS, count: banks }));
        }
    }
}
