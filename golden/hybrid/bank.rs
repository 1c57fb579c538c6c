//! # A bank of the tracker, event by event
//! What a bank of the sharing tracker does with requests, replies of the memory behind it and answers of L1s,
//! given the order in which it took them (anssari2012 sections 3.1, 3.2 and 3.4). Lines have their numbers within
//! the bank; a load is known by its compute unit and its ticket.

use super::Protections;
use super::tracker::{Tracker, TrackerConfig};

/// What a request is, as far as the tracker is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A load whose line will stay in the L1.
    Keeps,
    /// A load whose line will not.
    Takes,
    /// A store.
    Stores,
    /// A coherent operation.
    Coherent,
    /// No request: the L1 has dropped the line.
    Drops,
}

/// Where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goes {
    /// To the L1 of a compute unit.
    Supplier(usize),
    /// To the memory.
    Memory,
    /// Nowhere.
    Nowhere,
}

/// Whether an L1 that was to supply a line had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It did.
    Here,
    /// Not yet.
    Coming,
    /// No longer.
    Gone,
}

/// Where a load is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Supplier(usize),
    Refused,
    Memory,
}

#[derive(Clone, Copy, Debug)]
struct Load {
    cu: usize,
    ticket: u64,
    line: u64,
    keeps: bool,
    poisoned: bool,
    at: At,
}

/// The bank.
#[derive(Clone, Debug)]
pub struct Bank {
    trackers: Vec<Tracker>,
    /// Compute units that each tracker serves.
    served: usize,
    protections: Protections,
    loads: Vec<Load>,
    /// Loads that it can remember.
    rows: usize,
}

impl Bank {
    /// An empty bank of trackers for so many compute units, which remembers so many loads.
    #[must_use]
    pub fn new(config: &TrackerConfig, cus: usize, rows: usize, protections: Protections) -> Self {
        let trackers = (0..config.count).map(|_| Tracker::new(config)).collect();
        Self { trackers, served: cus.div_ceil(config.count), protections, loads: Vec::new(), rows }
    }

    /// A request is taken.
    ///
    /// # Errors
    /// If it is taken too early.
    pub fn ask(&mut self, cu: usize, line: u64, ticket: u64, asked: Asked) -> Result<Goes, String> {
        let (number, first) = self.tracker_of(cu);
        let keeps = match asked {
            Asked::Drops => {
                self.trackers[number].remove(line, cu - first);
                return Ok(Goes::Nowhere);
            }
            Asked::Stores | Asked::Coherent => return self.write(cu, line, asked).map(|()| Goes::Memory),
            Asked::Keeps => true,
            Asked::Takes => false,
        };
        if self.loads.len() == self.rows {
            return Ok(Goes::Memory);
        }
        let supplier = self.trackers[number].supplier(line, cu - first).map(|supplier| first + supplier);
        let at = supplier.map_or(At::Memory, At::Supplier);
        if keeps || supplier.is_some() {
            self.loads.push(Load { cu, ticket, line, keeps, poisoned: false, at });
        }
        Ok(supplier.map_or(Goes::Memory, Goes::Supplier))
    }

    fn write(&mut self, cu: usize, line: u64, asked: Asked) -> Result<(), String> {
        let is_out = |load: &Load| (load.cu, load.line) == (cu, line) && load.at != At::Memory;
        if self.loads.iter().any(is_out) {
            return Err(format!("compute unit {cu} writes line {line:#x} while a load of its own may still miss it"));
        }
        let Protections { store_untracks, coherent_untracks, poisons_fills, .. } = self.protections;
        if !(if asked == Asked::Stores { store_untracks } else { coherent_untracks }) {
            return Ok(());
        }
        let (number, first) = self.tracker_of(cu);
        self.trackers[number].forget(line);
        let is_concerned = |load: &&mut Load| load.line == line && (first..first + self.served).contains(&load.cu);
        for load in self.loads.iter_mut().filter(is_concerned).filter(|_| poisons_fills) {
            load.poisoned = true;
        }
        Ok(())
    }

    /// The L1 that was to supply a load has answered. A load that has been served may be forgotten by its compute unit
    /// before that, and its ticket be given to another: an L1 answers the oldest that it was asked for.
    ///
    /// # Errors
    /// If it was asked for none.
    pub fn answer(&mut self, cu: usize, ticket: u64, supplier: usize, found: Found) -> Result<(), String> {
        let at = self.find(cu, ticket, |at| at == At::Supplier(supplier))?;
        let load = self.loads[at];
        match found {
            Found::Here => {
                self.loads.remove(at);
                self.list(load);
                return Ok(());
            }
            Found::Coming => {}
            Found::Gone => {
                let (number, first) = self.tracker_of(supplier);
                self.trackers[number].remove(load.line, supplier - first);
            }
        }
        self.loads[at].at = At::Refused;
        Ok(())
    }

    /// A load that was refused goes to the memory.
    ///
    /// # Errors
    /// If it was not.
    pub fn resend(&mut self, cu: usize, ticket: u64) -> Result<(), String> {
        let at = self.find(cu, ticket, |at| at == At::Refused)?;
        if self.loads[at].keeps {
            self.loads[at].at = At::Memory;
        } else {
            self.loads.remove(at);
        }
        Ok(())
    }

    /// The memory's reply to a load that is remembered passes. Returns whether its L1 is listed.
    ///
    /// # Errors
    /// If it is not remembered.
    pub fn reply(&mut self, cu: usize, ticket: u64) -> Result<bool, String> {
        let at = self.find(cu, ticket, |at| at == At::Memory)?;
        let load = self.loads.remove(at);
        Ok(self.list(load))
    }

    fn list(&mut self, load: Load) -> bool {
        let is_listed = load.keeps && !load.poisoned;
        if is_listed {
            let (number, first) = self.tracker_of(load.cu);
            self.trackers[number].add(load.line, load.cu - first);
        }
        is_listed
    }

    fn find(&self, cu: usize, ticket: u64, is_there: impl Fn(At) -> bool) -> Result<usize, String> {
        let is_it = |load: &Load| (load.cu, load.ticket) == (cu, ticket) && is_there(load.at);
        let found = self.loads.iter().position(is_it);
        found.ok_or_else(|| format!("no load {ticket:#x} of compute unit {cu} is there"))
    }

    /// The kernel ends.
    ///
    /// # Errors
    /// If a load is still on its way.
    pub fn flush(&mut self) -> Result<(), String> {
        if !self.loads.is_empty() {
            return Err(format!("flushed with {} loads on their way", self.loads.len()));
        }
        self.trackers.iter_mut().for_each(Tracker::clear);
        Ok(())
    }

    fn tracker_of(&self, cu: usize) -> (usize, usize) {
        (cu / self.served, cu / self.served * self.served)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tracker::SharerList;
    use super::*;
    use crate::index::{Function, SetIndex};
    use crate::untimed::Geometry;

    #[test]
    fn an_answer_is_for_the_load_that_its_l1_was_asked_for_though_another_has_its_ticket_by_then() {
        let index = SetIndex::new(Function::Linear { bits: 1 }, 7, 40).unwrap();
        let config = TrackerConfig { count: 1, geometry: Geometry { index, ways: 2 }, list: SharerList::All };
        let mut bank = Bank::new(&config, 4, 8, Protections::ALL);
        for (cu, line) in [(0, 1), (2, 2)] {
            assert_eq!(bank.ask(cu, line, 5, Asked::Keeps), Ok(Goes::Memory));
            assert_eq!(bank.reply(cu, 5), Ok(true));
        }
        // The first is served, and its ticket used again, before its answer is here.
        assert_eq!(bank.ask(1, 1, 7, Asked::Keeps), Ok(Goes::Supplier(0)));
        assert_eq!(bank.ask(1, 2, 7, Asked::Keeps), Ok(Goes::Supplier(2)));
        assert_eq!(bank.answer(1, 7, 2, Found::Here), Ok(()));
        assert!(bank.ask(1, 1, 9, Asked::Stores).is_err(), "its load may still miss it");
        assert_eq!(bank.ask(1, 2, 9, Asked::Stores), Ok(Goes::Memory));
        assert_eq!(bank.answer(1, 7, 0, Found::Here), Ok(()));
        assert_eq!(bank.ask(1, 1, 9, Asked::Stores), Ok(Goes::Memory));
    }
}
