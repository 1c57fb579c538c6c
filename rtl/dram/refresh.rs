//! # All-bank refresh
//! Refreshes all banks at once, every tREFI. Once a refresh is due, no row is opened or closed for a request.
//! First the row hits that wait at this time are served, then all banks are precharged, and then REF is
//! issued. Requests that arrive later wait for the end of the refresh, and so do reads without a free reply
//! entry. Therefore neither traffic nor a stalled receiver can postpone a refresh indefinitely.
//!
//! In one cycle, in this order:
//! 1. `prepare`, once a refresh is due.
//! 2. `choose`, once no row hit is left.
//! 3. `remove_served` after a column command, or `finish` after REF.
//!
//! Part of `rtl/dram/channel.rs`.
//! Twin: `golden/dram/checker.rs` and `golden/dram/arbiter.rs`.
//! Bench: `tb/dram/directed.rs`, and `tb/hdl/dram/refresh.rs` with `rtl/hdl/dram/ws_dram_refresh.sv`.

use serde::{Deserialize, Serialize};

use super::bank::Bank;
use super::command::CommandKind;
use super::config::{DramConfig, Refresh};
use super::queue::Queue;
use super::timing::Timing;
use crate::kernel::{Describe, FieldsExt, Logic};

/// Control of refreshes: the cycle of the next refresh, and the progress of the current one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Refresher {
    interval: u64,
    /// Cycle in which the next refresh must start; `u64::MAX` if refresh is disabled.
    due: u64,
    /// True while the channel is draining for a refresh: of the waiting requests, it serves only the row hits
    /// in `last`.
    draining: bool,
    /// Row hits that must still be served before the refresh, one bit per queue slot.
    last: u64,
}

impl Refresher {
    /// Creates the refresh control. The first refresh is due after one refresh interval.
    #[must_use]
    pub fn new(config: &DramConfig) -> Self {
        let interval = u64::from(config.timing.refi);
        let due = match config.refresh {
            Refresh::Off => u64::MAX,
            Refresh::AllBank => interval,
        };
        Self { interval, due, draining: false, last: 0 }
    }

    /// Returns the cycle in which the next refresh must start; `u64::MAX` if refresh is disabled or the
    /// channel is already draining for it.
    #[must_use]
    pub fn due(&self) -> u64 {
        if self.draining { u64::MAX } else { self.due }
    }

    /// True while the channel is draining for a refresh, and serves only the row hits that must be served
    /// before it.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining
    }

    /// Returns a bit mask of the queue slots whose row hits must still be served before the refresh.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.last
    }

    /// True if, from `cycle` on, a refresh is due or in progress. Only its commands, and the row hits that
    /// must be served before it, may then be issued.
    #[must_use]
    pub fn stops_requests(&self, cycle: u64) -> bool {
        cycle >= self.due
    }

    /// Starts to drain the channel for a refresh, if it is not draining yet. If the reply buffer is full
    /// (`reads` is false), reads need not be served before the refresh. `eligible` is a mask of the slots
    /// that the policy could serve without opening another row.
    pub fn prepare(&mut self, queue: &Queue, eligible: u64, reads: bool) {
        if !self.draining {
            self.draining = true;
            self.last = queue.hits() & eligible;
        }
        if !reads {
            self.last &= queue.writes();
            // If a read need not be served before the refresh, a younger write to the same burst need not be
            // served either, because the write must wait for the read.
            self.last &= !queue.blocked_slots();
        }
    }

    /// Removes the request in `slot` from the row hits to be served before the refresh, because it has been
    /// served.
    pub fn remove_served(&mut self, slot: usize) {
        self.last &= !(1u64 << slot);
    }

    /// Returns the next command of the refresh (PREA or REF) if it is legal now. Otherwise returns the cycle
    /// from which it is legal.
    #[must_use]
    pub fn choose(&self, cycle: u64, banks: &[Bank], timing: &Timing) -> (Option<CommandKind>, u64) {
        let open = banks.iter().filter(|bank| bank.open().is_some());
        let (kind, from) = match open.map(|bank| timing.pre_from(bank)).max() {
            Some(from) => (CommandKind::Prea, from),
            None => (CommandKind::Ref, timing.ref_from()),
        };
        if from <= cycle { (Some(kind), u64::MAX) } else { (None, from) }
    }

    /// Ends the refresh, after REF was issued.
    pub fn finish(&mut self) {
        self.draining = false;
        self.due += self.interval;
    }

    /// Lists the registers and logic of the refresh control for waveforms, digests and area estimates.
    pub fn describe(&self, num_slots: u32, num_banks: u32, to: &mut dyn Describe) {
        let Self { interval: _, due, draining, last } = self;
        to.bits("due", *due);
        to.flag("draining", *draining);
        to.sized("last", *last, num_slots);
        to.logic("is_due", Logic::Less { width: u64::BITS, count: 1 });
        to.logic("next_due", Logic::Counter { width: u64::BITS });
        // Gates that update the mask of row hits to be served before the refresh. Also gates that find open
        // banks whose PRE is not legal yet.
        to.logic("last", Logic::Gates { count: 8 * num_slots });
        to.logic("served", Logic::Decoder { outputs: num_slots });
        to.logic("open", Logic::Gates { count: 2 * num_banks });
    }
}
