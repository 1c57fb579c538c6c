//! # One DRAM bank
//! Tracks the open row of a bank, if any, and the earliest cycle in which each command to the bank is legal.
//! Each command updates these earliest cycles. [`timing`](super::timing) tracks the distances between
//! commands to different banks.
//!
//! A bank gets at most one command per cycle. For an RD or WR, the channel calls two functions, in any order:
//! `use_row`, and `read` or `write`.
//!
//! Part of `rtl/dram/channel.rs`.
//! Twin: `golden/dram/checker.rs`.
//! Bench: its own tests, `tb/dram/mutants.rs`, and `tb/hdl/dram/bank.rs` with `rtl/hdl/dram/ws_dram_bank.sv`.

use serde::{Deserialize, Serialize};

use super::config::DramTiming;
use crate::kernel::{Describe, FieldsExt, Logic};

/// State of one DRAM bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bank {
    open: Option<u32>,
    /// True if an RD or WR has accessed the open row since its ACT.
    served: bool,
    /// Number of RD and WR commands to the open row that overtook an older request to this bank.
    overtaken: u16,
    act_from: u64,
    rd_from: u64,
    wr_from: u64,
    pre_from: u64,
}

impl Bank {
    /// State of a closed bank to which no command was ever issued.
    pub const CLOSED: Self =
        Self { open: None, served: false, overtaken: 0, act_from: 0, rd_from: 0, wr_from: 0, pre_from: 0 };

    /// Returns the number of the open row; `None` if the bank is closed.
    #[must_use]
    pub fn open(&self) -> Option<u32> {
        self.open
    }

    /// True if an RD or WR has accessed the open row since its ACT.
    #[must_use]
    pub fn was_served(&self) -> bool {
        self.served
    }

    /// Returns the number of RD and WR commands to the open row that overtook an older request to this bank.
    #[must_use]
    pub fn overtake_count(&self) -> u32 {
        u32::from(self.overtaken)
    }

    /// Returns the earliest cycle in which this bank allows ACT.
    #[must_use]
    pub fn act_from(&self) -> u64 {
        self.act_from
    }

    /// Returns the earliest cycle in which this bank allows RD.
    #[must_use]
    pub fn rd_from(&self) -> u64 {
        self.rd_from
    }

    /// Returns the earliest cycle in which this bank allows WR.
    #[must_use]
    pub fn wr_from(&self) -> u64 {
        self.wr_from
    }

    /// Returns the earliest cycle in which this bank allows PRE.
    #[must_use]
    pub fn pre_from(&self) -> u64 {
        self.pre_from
    }

    /// Records an ACT in `cycle`: opens row `row`.
    pub fn activate(&mut self, cycle: u64, row: u32, t: &DramTiming) {
        self.open = Some(row);
        self.served = false;
        self.overtaken = 0;
        self.rd_from = cycle + u64::from(t.rcd_rd);
        self.wr_from = cycle + u64::from(t.rcd_wr);
        self.pre_from = self.pre_from.max(cycle + u64::from(t.ras));
        self.act_from = cycle + u64::from(t.rc);
    }

    /// Records an RD in `cycle`, which delays the next PRE.
    pub fn read(&mut self, cycle: u64, t: &DramTiming) {
        self.pre_from = self.pre_from.max(cycle + u64::from(t.rtp));
    }

    /// Records a WR in `cycle`, which delays the next PRE.
    pub fn write(&mut self, cycle: u64, t: &DramTiming) {
        self.pre_from = self.pre_from.max(cycle + u64::from(t.write_latency() + t.wr));
    }

    /// Records a PRE in `cycle`: closes the open row.
    pub fn precharge(&mut self, cycle: u64, t: &DramTiming) {
        self.open = None;
        self.act_from = self.act_from.max(cycle + u64::from(t.rp));
    }

    /// Records a REF (refresh of all banks) in `cycle`, which delays the next ACT.
    pub fn refresh(&mut self, cycle: u64, t: &DramTiming) {
        self.act_from = cycle + u64::from(t.rfc);
    }

    /// Records that an RD or WR accessed the open row. `overtakes` is true if this command overtook an older
    /// request to this bank.
    pub fn use_row(&mut self, overtakes: bool) {
        self.served = true;
        if overtakes {
            self.overtaken = self.overtaken.saturating_add(1);
        }
    }

    /// Lists the registers and logic of the DRAM bank for waveforms, digests and area estimates.
    pub fn describe(&self, row_bits: u32, to: &mut dyn Describe) {
        let Self { open, served, overtaken, act_from, rd_from, wr_from, pre_from } = self;
        to.flag("open", open.is_some());
        to.sized("row", u64::from(open.unwrap_or(0)), row_bits);
        to.flag("served", *served);
        to.bits("overtaken", *overtaken);
        to.bits("act_from", *act_from);
        to.bits("rd_from", *rd_from);
        to.bits("wr_from", *wr_from);
        to.bits("pre_from", *pre_from);
        let width = u64::BITS;
        to.logic("may", Logic::Less { width, count: 4 });
        // For PRE and ACT: logic that compares the stored earliest cycle of the command with the one that the
        // current command imposes, and keeps the later one.
        to.logic("later", Logic::Less { width, count: 2 });
        to.logic("later_of", Logic::Mux { ways: 3, width });
        // Adders that compute the earliest cycles of later commands: three for an ACT, one for a PRE and one
        // for a REF. ACT, RD and WR share another adder, for the earliest PRE.
        for _ in 0..6 {
            to.logic("from", Logic::Counter { width });
        }
        to.logic("act_from", Logic::Mux { ways: 3, width });
        to.logic("overtaken", Logic::Counter { width: u16::BITS });
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::reference;
    use super::*;

    #[test]
    fn a_row_can_be_used_after_trcd_and_closed_after_tras() {
        let mut bank = Bank::CLOSED;
        bank.activate(100, 7, &reference().timing);
        assert_eq!((bank.open(), bank.rd_from(), bank.wr_from()), (Some(7), 112, 110));
        assert_eq!((bank.pre_from(), bank.act_from()), (128, 140));
    }

    #[test]
    fn a_late_read_delays_the_precharge_by_trtp_and_a_late_write_by_its_recovery() {
        let t = reference().timing;
        let mut bank = Bank::CLOSED;
        bank.activate(0, 7, &t);
        bank.read(26, &t);
        assert_eq!(bank.pre_from(), 28);
        bank.read(27, &t);
        assert_eq!(bank.pre_from(), 29);
        bank.write(39, &t);
        assert_eq!(bank.pre_from(), 39 + 4 + 2 + 12);
    }

    #[test]
    fn a_closed_bank_opens_again_after_both_trp_and_trc() {
        let t = reference().timing;
        let (mut early, mut late) = (Bank::CLOSED, Bank::CLOSED);
        early.activate(0, 7, &t);
        late.activate(0, 7, &t);
        early.precharge(28, &t);
        late.precharge(29, &t);
        assert_eq!((early.open(), early.act_from(), late.act_from()), (None, 40, 41));
    }

    #[test]
    fn overtaking_hits_are_counted_until_the_row_closes() {
        let t = reference().timing;
        let mut bank = Bank::CLOSED;
        bank.activate(0, 7, &t);
        bank.use_row(true);
        bank.use_row(false);
        bank.use_row(true);
        assert_eq!(bank.overtake_count(), 2);
        bank.precharge(40, &t);
        bank.activate(52, 8, &t);
        assert_eq!((bank.overtake_count(), bank.was_served()), (0, false));
    }
}
