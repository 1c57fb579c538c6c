//! # All-bank refresh
//! Refreshes all banks at once, due every tREFI. From then on no row is opened or closed for a
//! request; the row hits that wait at this moment are served, all banks are precharged, and REF
//! follows. Later arrivals wait, and so do reads that find no room for their data, so that neither
//! traffic nor a stalled receiver can put a refresh off.
//!
//! In one cycle: `prepare` once one is due, `choose` once no row hit is left, `served` or, for a REF, `done`.
//!
//! Part of `rtl/dram/channel.rs`.
//! Twin: `golden/dram/checker.rs`.
//! Bench: `tb/dram/directed.rs`, and `tb/hdl/dram/refresh.rs` beside `hdl/dram/refresh.sv`.

use serde::{Deserialize, Serialize};

use super::bank::Bank;
use super::command::CommandKind;
use super::config::{DramConfig, Refresh};
use super::queue::Queue;
use super::timing::Timing;
use crate::kernel::{Describe, FieldsExt, Logic};

/// When the next refresh is due and how far it has come.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Refresher {
    interval: u64,
    /// Cycle from which the next refresh is due; never without refresh.
    due: u64,
    /// Requests make way for the refresh.
    draining: bool,
    /// Row hits still to be served before it.
    last: u64,
}

impl Refresher {
    /// The first refresh is due after one interval.
    #[must_use]
    pub fn new(config: &DramConfig) -> Self {
        let interval = u64::from(config.timing.refi);
        let due = match config.refresh {
            Refresh::Off => u64::MAX,
            Refresh::AllBank => interval,
        };
        Self { interval, due, draining: false, last: 0 }
    }

    /// The cycle from which the next refresh is due, while it does not drain yet.
    #[must_use]
    pub fn due(&self) -> u64 {
        if self.draining { u64::MAX } else { self.due }
    }

    /// True while requests make way.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining
    }

    /// Row hits that are still to be served.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.last
    }

    /// True if requests make way from `cycle` on at the latest.
    #[must_use]
    pub fn stops_requests(&self, cycle: u64) -> bool {
        cycle >= self.due
    }

    /// Begins to drain if it does not yet; lets reads without room for their data go. `eligible`
    /// are the slots that the policy would serve before it needs another row.
    pub fn prepare(&mut self, queue: &Queue, eligible: u64, reads: bool) {
        if !self.draining {
            self.draining = true;
            self.last = queue.hits() & eligible;
        }
        if !reads {
            self.last &= queue.writes();
            // A write behind a read that was let go cannot go first.
            self.last &= !queue.blocked();
        }
    }

    /// A request was served.
    pub fn served(&mut self, slot: usize) {
        self.last &= !(1u64 << slot);
    }

    /// The next command of a drained channel: the command if it is legal now, else when it will be.
    #[must_use]
    pub fn choose(&self, cycle: u64, banks: &[Bank], timing: &Timing) -> (Option<CommandKind>, u64) {
        let open = banks.iter().filter(|bank| bank.open().is_some());
        let (kind, from) = match open.map(|bank| timing.pre_from(bank)).max() {
            Some(from) => (CommandKind::Prea, from),
            None => (CommandKind::Ref, timing.ref_from()),
        };
        if from <= cycle { (Some(kind), u64::MAX) } else { (None, from) }
    }

    /// REF was issued.
    pub fn done(&mut self) {
        self.draining = false;
        self.due += self.interval;
    }

    /// Lists the registers.
    pub fn describe(&self, num_slots: u32, num_banks: u32, to: &mut dyn Describe) {
        let Self { interval: _, due, draining, last } = self;
        to.bits("due", *due);
        to.flag("draining", *draining);
        to.sized("last", *last, num_slots);
        to.logic("is_due", Logic::Less { width: u64::BITS, count: 1 });
        to.logic("next_due", Logic::Counter { width: u64::BITS });
        // Who begins, who is let go, who is served; open banks that may not be precharged.
        to.logic("last", Logic::Gates { count: 8 * num_slots });
        to.logic("served", Logic::Decoder { outputs: num_slots });
        to.logic("open", Logic::Gates { count: 2 * num_banks });
    }
}
