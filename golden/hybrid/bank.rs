//! # Reference model of a sharing tracker bank
//! Predicts how a bank of the sharing tracker responds to each request, memory reply and supplier response,
//! in the order in which they occur (anssari2012 sections 3.1, 3.2 and 3.4). Line numbers are local to the
//! bank. A load is identified by its compute unit and a ticket.

use super::Protections;
use super::tracker::{Tracker, TrackerConfig};
use crate::replacement::Replacement;

/// Kinds of requests that the tracker distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackedRequest {
    /// Load whose line is to be allocated in the L1.
    Keeps,
    /// Load that bypasses its L1.
    Takes,
    /// Store, which is written through to memory.
    Stores,
    /// Coherent load, store or atomic, which is sent to memory.
    Coherent,
    /// Notice, not a request: the L1 has evicted the line.
    Drops,
}

/// Destination to which the tracker sends a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// L1 that is to supply the line, given by the number of its compute unit.
    Supplier(usize),
    /// Memory, that is, the L2 and DRAM.
    Memory,
    /// No destination: the tracker completes the request itself.
    Nowhere,
}

/// Response of an L1 that the tracker asked to supply a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupplierResponse {
    /// The L1 still has the line and supplies it.
    Here,
    /// The L1 does not supply the line, because the line is still in flight to this L1.
    Coming,
    /// The L1 does not supply the line, because it has evicted the line.
    Gone,
}

/// State of an outstanding load: sent to the L1 that is to supply its line, refused by that L1, or sent to
/// memory.
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

/// Reference model of one sharing tracker bank.
#[derive(Debug)]
pub struct Bank {
    trackers: Vec<Tracker>,
    /// Number of compute units that each tracker serves.
    served: usize,
    protections: Protections,
    loads: Vec<Load>,
    /// Maximum number of loads in the table of outstanding loads.
    rows: usize,
}

impl Bank {
    /// Creates an empty bank with trackers for `cus` compute units. Its table has room for `rows` outstanding
    /// loads.
    #[must_use]
    pub fn new(config: &TrackerConfig, cus: usize, rows: usize, protections: Protections) -> Self {
        let trackers = (0..config.count).map(|_| Tracker::new(config)).collect();
        Self { trackers, served: cus.div_ceil(config.count), protections, loads: Vec::new(), rows }
    }

    /// Sets the replacement policy of each tracker to one that `policy` creates; the default is LRU.
    ///
    /// # Errors
    /// Returns the error of `policy`, if it returns one.
    pub fn replace_by<E>(&mut self, policy: impl Fn() -> Result<Box<dyn Replacement>, E>) -> Result<(), E> {
        for tracker in &mut self.trackers {
            tracker.replace_by(policy()?);
        }
        Ok(())
    }

    /// Processes a request and returns the destination to which the tracker sends it.
    ///
    /// # Errors
    /// Returns an error if a correct tracker would not yet have accepted the request.
    pub fn request(&mut self, cu: usize, line: u64, ticket: u64, asked: TrackedRequest) -> Result<Destination, String> {
        let (number, first) = self.tracker_of(cu);
        let keeps = match asked {
            TrackedRequest::Drops => {
                self.trackers[number].remove(line, cu - first);
                return Ok(Destination::Nowhere);
            }
            TrackedRequest::Stores | TrackedRequest::Coherent => {
                return self.write(cu, line, asked).map(|()| Destination::Memory);
            }
            TrackedRequest::Keeps => true,
            TrackedRequest::Takes => false,
        };
        if self.loads.len() == self.rows {
            return Ok(Destination::Memory);
        }
        let supplier = self.trackers[number].supplier(line, cu - first).map(|supplier| first + supplier);
        let at = supplier.map_or(At::Memory, At::Supplier);
        if keeps || supplier.is_some() {
            self.loads.push(Load { cu, ticket, line, keeps, poisoned: false, at });
        }
        Ok(supplier.map_or(Destination::Memory, Destination::Supplier))
    }

    fn write(&mut self, cu: usize, line: u64, asked: TrackedRequest) -> Result<(), String> {
        let is_out = |load: &Load| (load.cu, load.line) == (cu, line) && load.at != At::Memory;
        if self.loads.iter().any(is_out) {
            return Err(format!("compute unit {cu} writes line {line:#x} while a load of its own may still miss it"));
        }
        let Protections { store_untracks, coherent_untracks, poisons_fills, .. } = self.protections;
        if !(if asked == TrackedRequest::Stores { store_untracks } else { coherent_untracks }) {
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

    /// Processes the response of L1 `supplier`, which was asked to supply the line of a load.
    /// The requesting compute unit may receive the data before this response arrives, and may reuse the
    /// ticket for another load. Since a supplier responds in request order, the response belongs to the
    /// oldest load with this ticket.
    ///
    /// # Errors
    /// Returns an error if no such load is outstanding at this supplier.
    pub fn answer(&mut self, cu: usize, ticket: u64, supplier: usize, found: SupplierResponse) -> Result<(), String> {
        let at = self.find(cu, ticket, |at| at == At::Supplier(supplier))?;
        let load = self.loads[at];
        match found {
            SupplierResponse::Here => {
                self.loads.remove(at);
                self.list(load);
                return Ok(());
            }
            SupplierResponse::Coming => {}
            SupplierResponse::Gone => {
                let (number, first) = self.tracker_of(supplier);
                self.trackers[number].remove(load.line, supplier - first);
            }
        }
        self.loads[at].at = At::Refused;
        Ok(())
    }

    /// Forwards a load to memory, after an L1 has refused to supply its line.
    ///
    /// # Errors
    /// Returns an error if no L1 has refused this load.
    pub fn resend(&mut self, cu: usize, ticket: u64) -> Result<(), String> {
        let at = self.find(cu, ticket, |at| at == At::Refused)?;
        if self.loads[at].keeps {
            self.loads[at].at = At::Memory;
        } else {
            self.loads.remove(at);
        }
        Ok(())
    }

    /// Processes the memory reply to an outstanding load. Returns true if the tracker then lists the
    /// requesting L1 as a sharer.
    ///
    /// # Errors
    /// Returns an error if the load is not in the table of outstanding loads.
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

    /// Clears the trackers at the end of a kernel.
    ///
    /// # Errors
    /// Returns an error if a load is still outstanding.
    pub fn flush(&mut self) -> Result<(), String> {
        if !self.loads.is_empty() {
            return Err(format!("flushed with {} loads in flight", self.loads.len()));
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
            assert_eq!(bank.request(cu, line, 5, TrackedRequest::Keeps), Ok(Destination::Memory));
            assert_eq!(bank.reply(cu, 5), Ok(true));
        }
        // The second load reuses the ticket of the first load, before the response of the first load's
        // supplier arrives.
        assert_eq!(bank.request(1, 1, 7, TrackedRequest::Keeps), Ok(Destination::Supplier(0)));
        assert_eq!(bank.request(1, 2, 7, TrackedRequest::Keeps), Ok(Destination::Supplier(2)));
        assert_eq!(bank.answer(1, 7, 2, SupplierResponse::Here), Ok(()));
        assert!(bank.request(1, 1, 9, TrackedRequest::Stores).is_err(), "its load may still miss it");
        assert_eq!(bank.request(1, 2, 9, TrackedRequest::Stores), Ok(Destination::Memory));
        assert_eq!(bank.answer(1, 7, 0, SupplierResponse::Here), Ok(()));
        assert_eq!(bank.request(1, 1, 9, TrackedRequest::Stores), Ok(Destination::Memory));
    }
}
