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

use super::bank::Bank;
use super::command::CommandKind;
use super::config::{DramConfig, Policy};
use super::queue::{Queue, each};
use super::timing::Timing;
use crate::kernel::{Describe, DescribeExt, Logic};

/// The parts of a channel that the choice depends on.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Waiting requests.
    pub queue: &'a Queue,
    /// State of the banks.
    pub banks: &'a [Bank],
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
    /// Slots that may have their column command.
    pub columns: u64,
    /// Whether rows may be opened and closed; while they may not, the hit cap rests too.
    pub rows: bool,
    /// Whether a read has room for its data.
    pub reads: bool,
}

/// The outcome of arbitration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Command and slot, if any is legal now.
    pub now: Option<(CommandKind, usize)>,
    /// If none is: a cycle before which none becomes legal, `u64::MAX` if time alone changes nothing.
    pub later: u64,
}

/// The slots if the channel allows their command now; else notes when it will.
fn allowed(cycle: u64, slots: u64, from: u64, later: &mut u64) -> u64 {
    if slots == 0 || from <= cycle {
        return slots;
    }
    *later = from.min(*later);
    0
}

/// The slots of a set of banks.
fn slots_of(queue: &Queue, banks: u64) -> u64 {
    each(banks).fold(0, |slots, bank| slots | queue.in_bank(bank))
}

/// The banks of a set of slots.
fn banks_of(queue: &Queue, slots: u64) -> u64 {
    each(slots).fold(0, |banks, slot| banks | 1 << queue.entry(slot).place.bank)
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

    /// The slots among which the policy chooses.
    #[must_use]
    pub fn eligible(&self, queue: &Queue) -> u64 {
        match self.policy {
            _ if queue.occupied() == 0 => 0,
            Policy::FrFcfs => queue.occupied(),
            Policy::Fcfs => 1 << queue.oldest(queue.occupied()),
        }
    }

    /// The command of this cycle.
    ///
    /// Either step asks the oldest candidate first: when its command is legal, no other has to be
    /// looked at; when it is not, its like in its bank need not be asked.
    #[must_use]
    pub fn choose(&self, cycle: u64, view: View<'_>, gates: Gates) -> Choice {
        let View { queue, banks, open, capped, timing } = view;
        let eligible = self.eligible(queue);
        let capped = if gates.rows { capped & queue.hit_banks() } else { 0 };
        let hits = queue.hits() & eligible & !slots_of(queue, capped);
        let mut later = u64::MAX;

        let free = hits & gates.columns & !queue.blocked();
        let reads = if gates.reads { free & !queue.writes() } else { 0 };
        let mut left = allowed(cycle, reads, timing.any_rd_from(), &mut later)
            | allowed(cycle, free & queue.writes(), timing.any_wr_from(), &mut later);
        while left != 0 {
            let slot = queue.oldest(left);
            let entry = queue.entry(slot);
            let index = usize::from(entry.place.bank);
            let (kind, from, like) = if entry.write {
                (CommandKind::Wr, timing.wr_from(index, &banks[index]), queue.writes())
            } else {
                (CommandKind::Rd, timing.rd_from(index, &banks[index]), !queue.writes())
            };
            if from <= cycle {
                return Choice { now: Some((kind, slot)), later: cycle + 1 };
            }
            later = later.min(from);
            left &= !(queue.in_bank(index) & like);
        }
        if !gates.rows {
            return Choice { now: None, later };
        }

        let hit_banks = match self.policy {
            Policy::FrFcfs => queue.hit_banks() & !capped,
            Policy::Fcfs => banks_of(queue, hits),
        };
        let conflicts = slots_of(queue, queue.banks() & open & !hit_banks) & eligible;
        let closed = slots_of(queue, queue.banks() & !open) & eligible;
        let mut left = conflicts | allowed(cycle, closed, timing.any_act_from(), &mut later);
        while left != 0 {
            let slot = queue.oldest(left);
            let index = usize::from(queue.entry(slot).place.bank);
            let (kind, from) = if open >> index & 1 != 0 {
                (CommandKind::Pre, timing.pre_from(&banks[index]))
            } else {
                (CommandKind::Act, timing.act_from(index, &banks[index]))
            };
            if from <= cycle {
                return Choice { now: Some((kind, slot)), later: cycle + 1 };
            }
            later = later.min(from);
            left &= !queue.in_bank(index);
        }
        Choice { now: None, later }
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
