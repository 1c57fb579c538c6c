//! # Races under a sharing tracker
//! Functional coverage of the races between messages of L1s, tracker and L2 (anssari2012 sections 3.2 to 3.4,
//! and `rtl/tracker/bank.rs`). A race is detected from the events of a tracker bank and of the L1s. Each race
//! in [`RACES`] must occur.

use rtl::l1::watch::{Access, Outcome, RecallEffect, Watch};
use rtl::noc::packet::{RequestKind, Sharing};
use rtl::tracker::{BankObservation, ForwardResult, RequestDestination, Tracker};

use crate::kit::coverage::{Axis, Cross, Exclusion, hit};

const NAME: &str = "tracker races";

/// Names of all protocol races that the testbench must reach: races between messages at a bank of the sharing
/// tracker, and events at an L1 that coincide in one cycle.
const RACES: [&str; 28] = [
    "a line is supplied to an L1 that keeps it",
    "a line is supplied to a load that bypasses its L1",
    "a forward arrives before its supplier's line",
    "a forward finds its line dropped, with the bank already notified",
    "a forward finds its line dropped, with the bank not yet notified",
    "a notice arrives before the answer that lists its L1",
    "a refused load goes to the L2",
    "a refused load is written before it goes to the L2",
    "a line is requested from an L1 that has dropped and requested it again",
    "two loads of a line are at one L1",
    "two loads of a line are at two L1s",
    "two loads of a line are at the L2",
    "a store passes a load of another at an L1",
    "a store passes a load of another at the L2",
    "a store passes a load of its own at the L2",
    "a coherent access passes a load of another at an L1",
    "a coherent access passes a load of another at the L2",
    "a coherent access passes a load of its own at the L2",
    "a store or coherent access waits for a load of its own at an L1",
    "a line written in flight from the L2 is not listed",
    "a line written in flight from an L1 is not listed",
    "a load is not tracked for lack of a row",
    "a forward arrives in the cycle of its line's fill",
    "a line is supplied in the cycle of a hit on it",
    "a line is supplied in the cycle of a store to it",
    "a line is supplied in the cycle in which it is evicted",
    "a coherent load drops a copy",
    "a coherent load drops a line in flight",
];

/// Declares the functional coverage of the protocol races under a sharing tracker.
pub(crate) fn cross() -> Cross {
    let never = Exclusion {
        of: vec![vec!["a refused load is written before it goes to the L2"]],
        reason: "both need the link to the L2, and a refused load gets it first",
    };
    Cross { name: NAME, axes: vec![Axis::new("race", RACES)], excluded: vec![never] }
}

fn race(name: &'static str) {
    hit(NAME, &[name]);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Supplier(u8),
    Refused,
    Memory,
}

/// Load that has a row in the tracker bank's table of loads in flight.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// Compute unit that sent the load, and ticket of the load.
    key: (u8, u64),
    line: u64,
    at: At,
    keeps: bool,
    /// True if the line was written after the load had entered the table.
    written: bool,
    /// True if the supplier has reported the eviction of the line after the load had entered the table.
    noticed: bool,
}

/// Testbench detector of protocol races (between messages of L1s, tracker and L2) at one bank of the sharing
/// tracker.
#[derive(Clone, Debug)]
pub(crate) struct Races {
    /// Loads in the tracker bank's table of loads in flight, from oldest to newest.
    loads: Vec<Load>,
    rows: usize,
    held: u64,
}

impl Races {
    /// Creates a detector of protocol races for a tracker bank whose table of loads in flight has `rows`
    /// rows.
    pub fn new(rows: u32) -> Self {
        Self { loads: Vec::new(), rows: rows as usize, held: 0 }
    }

    /// Finds protocol races among the events of the tracker bank at one clock edge.
    pub fn follow(&mut self, bank: &Tracker, seen: &BankObservation) {
        let BankObservation { answer, reply, resent, request } = *seen;
        if let Some((sm, ticket, supplier, found)) = answer {
            self.answer((sm, ticket), supplier, found);
        }
        if let Some((sm, ticket, listed)) = reply
            && let Some(at) = self.find((sm, ticket), At::Memory)
            && self.loads.remove(at).keeps
            && !listed
        {
            race("a line written in flight from the L2 is not listed");
        }
        if let Some((sm, ticket)) = resent {
            self.on_resent((sm, ticket));
        }
        if let Some((sm, line, ticket, kind, sharing, chosen)) = request {
            let is_coherent = kind.is_atomic() || sharing == Sharing::Coherent;
            if kind == RequestKind::Write || is_coherent {
                self.write(sm, line, is_coherent);
                if bank.stats().held > self.held {
                    race("a store or coherent access waits for a load of its own at an L1");
                }
            } else if sharing == Sharing::Drops {
                self.notice(sm, line);
            } else if sharing != Sharing::Aside {
                self.ask((sm, ticket), line, sharing == Sharing::Keeps, chosen);
            }
        }
        self.held = bank.stats().held;
    }

    /// Returns the index of the oldest load in state `at` whose compute unit and ticket are `key`.
    fn find(&self, key: (u8, u64), at: At) -> Option<usize> {
        self.loads.iter().position(|load| (load.key, load.at) == (key, at))
    }

    fn answer(&mut self, key: (u8, u64), supplier: u8, found: ForwardResult) {
        let Some(at) = self.find(key, At::Supplier(supplier)) else { return };
        let load = &mut self.loads[at];
        match found {
            ForwardResult::Here => {
                race(match (load.keeps, load.written) {
                    (false, _) => "a line is supplied to a load that bypasses its L1",
                    (true, false) => "a line is supplied to an L1 that keeps it",
                    (true, true) => "a line written in flight from an L1 is not listed",
                });
                self.loads.remove(at);
                return;
            }
            ForwardResult::Coming => race("a forward arrives before its supplier's line"),
            ForwardResult::Gone if load.noticed => {
                race("a forward finds its line dropped, with the bank already notified")
            }
            ForwardResult::Gone => race("a forward finds its line dropped, with the bank not yet notified"),
        }
        load.at = At::Refused;
    }

    fn on_resent(&mut self, key: (u8, u64)) {
        race("a refused load goes to the L2");
        let Some(at) = self.find(key, At::Refused) else { return };
        if self.loads[at].keeps {
            self.loads[at].at = At::Memory;
        } else {
            self.loads.remove(at);
        }
    }

    fn write(&mut self, sm: u8, line: u64, is_coherent: bool) {
        for load in self.loads.iter_mut().filter(|load| load.line == line) {
            load.written = true;
            match (load.at, load.key.0 == sm, is_coherent) {
                (At::Supplier(_), false, false) => race("a store passes a load of another at an L1"),
                (At::Supplier(_), false, true) => race("a coherent access passes a load of another at an L1"),
                (At::Memory, false, false) => race("a store passes a load of another at the L2"),
                (At::Memory, false, true) => race("a coherent access passes a load of another at the L2"),
                (At::Memory, true, false) => race("a store passes a load of its own at the L2"),
                (At::Memory, true, true) => race("a coherent access passes a load of its own at the L2"),
                (At::Refused, false, _) => race("a refused load is written before it goes to the L2"),
                // The access waits behind a load of its own compute unit, so there is no protocol race.
                (At::Supplier(_) | At::Refused, true, _) => {}
            }
        }
    }

    fn notice(&mut self, sm: u8, line: u64) {
        for load in self.loads.iter_mut().filter(|load| load.line == line) {
            load.noticed |= load.at == At::Supplier(sm);
            if load.key.0 == sm && matches!(load.at, At::Supplier(_)) {
                race("a notice arrives before the answer that lists its L1");
            }
        }
    }

    fn ask(&mut self, key: (u8, u64), line: u64, keeps: bool, chosen: RequestDestination) {
        if self.loads.len() == self.rows {
            race("a load is not tracked for lack of a row");
            return;
        }
        let of_line = || self.loads.iter().filter(|load| load.line == line);
        let is_at = |at: At| of_line().any(|load| load.at == at);
        let at = match chosen {
            RequestDestination::Supplier(supplier) => {
                if is_at(At::Supplier(supplier)) {
                    race("two loads of a line are at one L1");
                }
                if of_line().any(|load| matches!(load.at, At::Supplier(other) if other != supplier)) {
                    race("two loads of a line are at two L1s");
                }
                if of_line().any(|load| load.key.0 == supplier && load.keeps) {
                    race("a line is requested from an L1 that has dropped and requested it again");
                }
                At::Supplier(supplier)
            }
            RequestDestination::Memory | RequestDestination::Nowhere => {
                if is_at(At::Memory) {
                    race("two loads of a line are at the L2");
                }
                At::Memory
            }
        };
        if keeps || at != At::Memory {
            self.loads.push(Load { key, line, at, keeps, written: false, noticed: false });
        }
    }
}

/// Finds protocol races among the events of an L1 at one clock edge.
pub(crate) fn look(watch: &Watch) {
    if let Some((_, found)) = watch.dropped {
        if found.contains(&RecallEffect::Dropped) {
            race("a coherent load drops a copy");
        }
        if found.contains(&RecallEffect::Overtook) {
            race("a coherent load drops a line in flight");
        }
    }
    let Some((supplied, _, is_here)) = watch.supply else { return };
    if watch.fill.is_some_and(|(_, line, _, _)| line == supplied) {
        race("a forward arrives in the cycle of its line's fill");
    }
    for access in watch.accesses().filter(|_| is_here) {
        match *access {
            Access::Load { line, outcome: Outcome::Hit, .. } if line == supplied => {
                race("a line is supplied in the cycle of a hit on it");
            }
            Access::Store { line, outcome: Outcome::Evicted | Outcome::Updated, .. } if line == supplied => {
                race("a line is supplied in the cycle of a store to it");
            }
            Access::Load { outcome: Outcome::Miss(Some((gone, _))), .. } if gone == supplied => {
                race("a line is supplied in the cycle in which it is evicted");
            }
            _ => {}
        }
    }
}
