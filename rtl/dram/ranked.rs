//! # Command arbitration by rank
//! Selects, by the ranks that a policy assigns, the request that gets the command bus. Unlike in FR-FCFS, a
//! request with a high rank is served before row hits of other requesters, in two steps:
//! 1. In each bank, the request with the highest rank determines the next command: RD or WR if its row is
//!    open, otherwise ACT or PRE. If it is a row hit, all row hits of the bank can be served.
//! 2. Among these commands of all banks, the legal one with the highest rank gets the bus. Among equal ranks,
//!    the oldest request wins.
//!
//! A row that was opened serves at least one request before it is closed, even if ranks change in the
//! meantime. Otherwise, requests with changing ranks could open rows in turn forever without being served.
//!
//! With a separate bus for rows, step 2 applies to each bus separately. Both selectors read the registers at
//! the start of the cycle. They never select the same bank, since step 1 gives each bank one kind of command.
//!
//! The other rules of [`scheduler`](super::scheduler) still apply: write drain, refresh and a full reply
//! buffer restrict the requests before their ranks are compared.
//!
//! Part of `rtl/dram/channel.rs`.
//! Twin: `golden/dram/arbiter.rs`.
//! Bench: `tb/dram/policies.rs`.

use super::command::CommandKind;
use super::policy::Hooks;
use super::queue::{MAX, each};
use super::scheduler::{Gates, Plan, View};

/// Requests that compete for the command bus, with their ranks.
#[derive(Clone, Copy, Debug)]
pub struct RankedCandidates {
    /// Queue slots whose RD or WR may be issued, one bit per slot.
    columns: u64,
    /// Queue slots whose ACT or PRE may be issued, one bit per slot; at most one slot per bank.
    rows: u64,
    /// Rank of the request in each queue slot; valid only for slots whose request can be served.
    ranks: [u64; MAX],
    /// Cycle from which requests may be served again, if none can be served now; otherwise `None`.
    from: Option<u64>,
}

impl RankedCandidates {
    /// Returns the requests that compete for the command bus under the restrictions `gates`.
    #[must_use]
    pub fn new(hooks: &dyn Hooks, gates: Gates, View { queue, banks, .. }: View<'_>) -> Self {
        let slots = queue.occupied_slots() & gates.turn.slots;
        let mut ranks = [0; MAX];
        for slot in each(slots) {
            ranks[slot % MAX] = hooks.rank(&queue.request(slot));
        }
        let from = (slots == 0).then_some(gates.turn.from);
        let mut candidates = Self { columns: slots & queue.hits(), rows: 0, ranks, from };
        for bank in each(if gates.rows { queue.banks_of(slots) } else { 0 }) {
            let here = slots & queue.in_bank(bank);
            let hits = here & queue.hits();
            let highest = 1 << candidates.highest(here, |slots| queue.oldest(slots));
            // A row that was opened but has not been accessed yet is not closed; the row hits to it are
            // served first.
            let keeps_row = hits & highest != 0 || hits != 0 && !banks[bank % MAX].was_served();
            if !keeps_row {
                candidates.columns &= !hits;
                candidates.rows |= highest;
            }
        }
        candidates.columns &= gates.columns & !queue.blocked_slots();
        candidates
    }

    /// Returns the slot with the highest rank in a non-empty set. Among slots of equal rank, `oldest` selects
    /// one.
    fn highest(&self, set: u64, oldest: impl Fn(u64) -> usize) -> usize {
        let (mut most, mut slots) = (0, 0);
        for slot in each(set) {
            let rank = self.ranks[slot % MAX];
            if slots == 0 || rank > most {
                (most, slots) = (rank, 0);
            }
            if rank == most {
                slots |= 1 << slot;
            }
        }
        oldest(slots)
    }

    /// Returns the next command from cycle `from` on. With a separate bus for row commands, returns the next
    /// column command. `reads` is true if the reply buffer has room for a read.
    #[must_use]
    pub fn choose(&self, view: View<'_>, from: u64, reads: bool) -> Plan {
        if let Some(later) = self.from {
            return Plan::ask(later);
        }
        let columns = if reads { self.columns } else { self.columns & view.queue.writes() };
        self.first(view, from, columns, if view.is_dual { 0 } else { self.rows })
    }

    /// Returns the next command on the separate row bus from cycle `from` on.
    #[must_use]
    pub fn choose_row(&self, view: View<'_>, from: u64) -> Plan {
        self.first(view, from, 0, self.rows)
    }

    /// Returns the command that becomes legal first, from cycle `from` on. Among commands that become legal
    /// in the same cycle, the one whose request has the highest rank is selected.
    fn first(&self, view: View<'_>, from: u64, columns: u64, rows: u64) -> Plan {
        let (mut first, mut slots) = (u64::MAX, 0);
        for slot in each(columns | rows) {
            let legal = if columns >> slot & 1 != 0 { view.column_from(slot) } else { view.row_from(slot) };
            let legal = legal.max(from);
            if slots == 0 || legal < first {
                (first, slots) = (legal, 0);
            }
            if legal == first {
                slots |= 1 << slot;
            }
        }
        if slots == 0 {
            return Plan::NOTHING;
        }
        let slot = self.highest(slots, |slots| view.queue.oldest(slots));
        let entry = view.queue.entry(slot);
        let kind = match columns >> slot & 1 {
            0 if view.is_open(slot) => CommandKind::Pre,
            0 => CommandKind::Act,
            _ if entry.write => CommandKind::Wr,
            _ => CommandKind::Rd,
        };
        Plan { from: first, kind, slot: slot as u8 }
    }
}
