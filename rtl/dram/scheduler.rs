//! # Command arbitration
//! First ready, first come (FR-FCFS), in two steps:
//! 1. the oldest request whose column command is legal in this cycle on the open row of its bank;
//! 2. else the oldest request whose ACT or PRE is legal in this cycle. A row is closed only when no
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

/// Chooses who gets the command bus.
#[derive(Clone, Debug)]
pub struct Scheduler {
    policy: Policy,
    hit_cap: u32,
}

/// Slots with a command of one kind that is legal now, or later.
struct Offers {
    cycle: u64,
    later: u64,
}

impl Offers {
    /// The slots if their command is legal now; else notes when it will be.
    fn ready(&mut self, slots: u64, legal_from: u64) -> u64 {
        if slots == 0 {
            0
        } else if legal_from <= self.cycle {
            slots
        } else {
            self.later = self.later.min(legal_from);
            0
        }
    }
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
    #[must_use]
    pub fn choose(&self, cycle: u64, view: View<'_>, gates: Gates) -> Choice {
        let View { queue, banks, open, timing } = view;
        let eligible = self.eligible(queue);
        let mut offers = Offers { cycle, later: u64::MAX };
        let mut columns = 0;
        let mut conflicts = queue.banks() & open & !queue.hit_banks();
        for index in each(queue.hit_banks()) {
            let bank = &banks[index];
            let hits = queue.in_bank(index) & queue.hits() & eligible;
            if hits == 0 || (gates.rows && self.is_capped(bank)) {
                conflicts |= 1 << index;
                continue;
            }
            let free = hits & gates.columns & !queue.blocked();
            if gates.reads {
                columns |= offers.ready(free & !queue.writes(), timing.rd_from(index, bank));
            }
            columns |= offers.ready(free & queue.writes(), timing.wr_from(index, bank));
        }
        if columns != 0 {
            let slot = queue.oldest(columns);
            let kind = if queue.entry(slot).write { CommandKind::Wr } else { CommandKind::Rd };
            return Choice { now: Some((kind, slot)), later: cycle + 1 };
        }
        if !gates.rows {
            return Choice { now: None, later: offers.later };
        }
        let closed = queue.banks() & !open;
        let mut rows = 0;
        if closed != 0 && cycle < timing.any_act_from() {
            // The channel allows no bank an ACT yet: wake for all of them at once.
            offers.later = offers.later.min(timing.any_act_from());
        } else {
            for index in each(closed) {
                rows |= offers.ready(queue.in_bank(index) & eligible, timing.act_from(index, &banks[index]));
            }
        }
        for index in each(conflicts) {
            rows |= offers.ready(queue.in_bank(index) & eligible, timing.pre_from(&banks[index]));
        }
        let now = (rows != 0).then(|| {
            let slot = queue.oldest(rows);
            let is_open = open >> queue.entry(slot).place.bank & 1 != 0;
            (if is_open { CommandKind::Pre } else { CommandKind::Act }, slot)
        });
        Choice { now, later: offers.later }
    }

    fn is_capped(&self, bank: &Bank) -> bool {
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
