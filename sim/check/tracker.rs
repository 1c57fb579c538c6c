//! # Lockstep check of a sharing-tracker bank against its golden model
//! Takes the events that the bank reports for a clock edge, replays them in an untimed golden model, and
//! compares the outcomes.

use golden::hybrid::bank::{Bank, Destination, SupplierResponse, TrackedRequest};
use golden::hybrid::{self, SharerList, TrackerConfig as TwinConfig};
use golden::index::{Function, SetIndex};
use golden::untimed::Geometry;
use rtl::cells::line::LINE_BYTES;
use rtl::noc::interleave::Interleave;
use rtl::noc::packet::{RequestKind, Sharing};
use rtl::tracker::{self, BankObservation, ForwardResult, Probes, Protections, RequestDestination, TrackerConfig};

use super::l1::policy;

/// Golden model of one bank of the sharing tracker.
#[derive(Debug)]
pub struct TrackerLockstep {
    twin: Bank,
    probes: Probes,
    interleave: Interleave,
}

impl TrackerLockstep {
    /// Creates an empty golden model of one tracker bank.
    ///
    /// # Errors
    /// Fails if the index function does not support the number of sets of a tracker bank, or if the replacement
    /// policy has no golden model.
    pub fn new(
        config: &TrackerConfig,
        cus: usize,
        interleave: Interleave,
        protections: Protections,
    ) -> Result<Self, String> {
        let sets = config.sets / config.count;
        let bits = sets.ilog2();
        let index =
            SetIndex::new(Function::Linear { bits }, LINE_BYTES.ilog2(), 64).map_err(|error| error.to_string())?;
        let list = match config.sharers {
            tracker::SharerList::All => SharerList::All,
            tracker::SharerList::Last => SharerList::Last,
        };
        let geometry = Geometry { index, ways: config.ways as usize };
        let twin = TwinConfig { count: config.count as usize, geometry, list };
        let Protections { stores, coherent, fills } = protections;
        let protections = hybrid::Protections {
            store_untracks: stores,
            coherent_untracks: coherent,
            poisons_fills: fills,
            ..hybrid::Protections::ALL
        };
        let mut twin = Bank::new(&twin, cus, config.transfers as usize, protections);
        twin.replace_by(|| policy(&config.replacement, sets, config.ways))
            .map_err(|reason| format!("tracker.{reason}"))?;
        Ok(Self { twin, probes: config.probes, interleave })
    }

    /// Checks the events of the tracker bank after a clock edge.
    ///
    /// # Errors
    /// Fails at the first event with different outcomes in the bank and in the golden model.
    pub fn step(&mut self, seen: &BankObservation) -> Result<(), String> {
        let BankObservation { answer, reply, resent, request } = *seen;
        if let Some((sm, ticket, supplier, found)) = answer {
            let found = match found {
                ForwardResult::Here => SupplierResponse::Here,
                ForwardResult::Coming => SupplierResponse::Coming,
                ForwardResult::Gone => SupplierResponse::Gone,
            };
            self.twin.answer(sm.into(), ticket, supplier.into(), found)?;
        }
        if let Some((sm, ticket, listed)) = reply {
            let expected = self.twin.reply(sm.into(), ticket)?;
            if expected != listed {
                return Err(format!("load {ticket:#x} of SM {sm}: listed is {listed}, the twin says {expected}"));
            }
        }
        if let Some((sm, ticket)) = resent {
            self.twin.resend(sm.into(), ticket)?;
        }
        let Some((sm, line, ticket, kind, sharing, chosen)) = request else { return Ok(()) };
        let asked = match (kind, sharing) {
            (RequestKind::Write, _) => TrackedRequest::Stores,
            (RequestKind::Atomic | RequestKind::Reduce, _) | (_, Sharing::Coherent) => TrackedRequest::Coherent,
            (_, Sharing::Keeps) => TrackedRequest::Keeps,
            (_, Sharing::Takes) if self.probes == Probes::All => TrackedRequest::Takes,
            (_, Sharing::Drops) => TrackedRequest::Drops,
            (_, Sharing::Aside | Sharing::Takes) if chosen == RequestDestination::Memory => return Ok(()),
            (_, Sharing::Aside | Sharing::Takes) => {
                return Err(format!("line {line:#x}, which needs no lookup: {chosen:?}"));
            }
        };
        let expected = match self.twin.request(sm.into(), self.interleave.local(line), ticket, asked)? {
            Destination::Supplier(supplier) => RequestDestination::Supplier(supplier as u8),
            Destination::Memory => RequestDestination::Memory,
            Destination::Nowhere => RequestDestination::Nowhere,
        };
        if expected == chosen {
            return Ok(());
        }
        Err(format!("line {line:#x} of SM {sm}, {asked:?}: the bank says {chosen:?}, the twin {expected:?}"))
    }

    /// Checks and resets the golden model at the end of a kernel.
    ///
    /// # Errors
    /// Fails if a load is still in flight.
    pub fn flush(&mut self) -> Result<(), String> {
        self.twin.flush()
    }
}
