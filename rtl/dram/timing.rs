//! # Distances between banks
//! Tracks the minimum distances that a command in one bank imposes on commands to its bank group and to the
//! channel. These distances result from the data bus, the charge pumps (tRRD and the windows of 4 and 32
//! activates) and the precharge spacing. [`Bank`] tracks the distances within a bank. A command is legal once
//! its bank, its bank group and the channel all allow it.
//!
//! In one cycle, at most one of `activate`, `precharge` and `refresh` is called, and at most one of `read`
//! and `write`. With a single command bus, at most one of all five is called. Legality is checked before
//! these calls. A row command does not affect whether a column command is legal in the same cycle, or vice
//! versa.
//!
//! Part of `rtl/dram/channel.rs`.
//! Twin: `golden/dram/rules.rs`.
//! Bench: its own tests, `tb/dram/mutants.rs`, and `tb/hdl/dram/timing.rs` with
//! `rtl/hdl/dram/ws_dram_timing.sv`.

use arbitrary_int::traits::Integer;
use arbitrary_int::{u5, u6};
use serde::{Deserialize, Serialize};

use super::bank::Bank;
use super::config::{DramConfig, DramTiming};
use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic};

/// Number of ACTs that the long activation window can contain.
const WINDOW: usize = 32;
/// Maximum number of bank groups in a channel.
const GROUPS: usize = 8;
/// Number of ACTs that the short activation window can contain.
const SHORT_WINDOW: usize = 4;

/// Earliest cycles in which one bank group allows ACT, RD and WR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Group {
    act_from: u64,
    rd_from: u64,
    wr_from: u64,
}

/// Minimum distances between RD and WR commands in command clock cycles, derived from the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Columns {
    /// Distance from RD to RD and from WR to WR in different bank groups; `like_in_group` is the distance
    /// within one group.
    like: u64,
    like_in_group: u64,
    /// Distance from RD to WR, for any two banks.
    read_to_write: u64,
    /// Distance from WR to RD in different bank groups; `write_to_read_in_group` is the distance within one
    /// group.
    write_to_read: u64,
    write_to_read_in_group: u64,
}

/// Earliest cycles in which the bank groups and the channel allow each command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    config: DramTiming,
    columns: Columns,
    /// Width in bits of a bank's number within its bank group.
    inner_bits: u32,
    groups: [Group; GROUPS],
    num_groups: u32,
    act_from: u64,
    rd_from: u64,
    wr_from: u64,
    pre_from: u64,
    ref_from: u64,
    /// Cycles of the last ACTs, as a ring buffer.
    acts: [u64; WINDOW],
    /// Position of the next ACT in the ring buffer.
    next_act: u5,
    /// Number of ACTs that the ring buffer contains.
    num_acts: u6,
}

impl Timing {
    /// Creates the timing state of a channel to which no command was ever issued.
    #[must_use]
    pub fn new(config: &DramConfig) -> Self {
        let t = &config.timing;
        let columns = Columns {
            like: t.column_to_column().into(),
            like_in_group: t.ccd_l.into(),
            read_to_write: t.read_to_write().into(),
            write_to_read: (t.write_latency() + t.wtr_s).into(),
            write_to_read_in_group: (t.write_latency() + t.wtr_l).into(),
        };
        Self {
            config: config.timing,
            columns,
            inner_bits: config.banks_per_group.trailing_zeros(),
            groups: [Group::default(); GROUPS],
            num_groups: config.bank_groups,
            act_from: 0,
            rd_from: 0,
            wr_from: 0,
            pre_from: 0,
            ref_from: 0,
            acts: [0; WINDOW],
            next_act: u5::default(),
            num_acts: u6::default(),
        }
    }

    fn group(&self, index: usize) -> &Group {
        &self.groups[(index >> self.inner_bits) % GROUPS]
    }

    /// Returns the earliest cycle in which ACT is legal in `bank`, the bank with number `index`.
    #[must_use]
    pub fn act_from(&self, index: usize, bank: &Bank) -> u64 {
        bank.act_from().max(self.group(index).act_from).max(self.act_from)
    }

    /// Returns the earliest cycle that the channel as a whole allows for RD; a bank or bank group may require
    /// a later cycle.
    #[must_use]
    pub fn any_rd_from(&self) -> u64 {
        self.rd_from
    }

    /// Returns the earliest cycle that the channel as a whole allows for WR; a bank or bank group may require
    /// a later cycle.
    #[must_use]
    pub fn any_wr_from(&self) -> u64 {
        self.wr_from
    }

    /// Returns the earliest cycle in which RD is legal in `bank`, the bank with number `index`.
    #[must_use]
    pub fn rd_from(&self, index: usize, bank: &Bank) -> u64 {
        bank.rd_from().max(self.group(index).rd_from).max(self.rd_from)
    }

    /// Returns the earliest cycle in which WR is legal in `bank`, the bank with number `index`.
    #[must_use]
    pub fn wr_from(&self, index: usize, bank: &Bank) -> u64 {
        bank.wr_from().max(self.group(index).wr_from).max(self.wr_from)
    }

    /// Returns the earliest cycle in which PRE is legal in `bank`.
    #[must_use]
    pub fn pre_from(&self, bank: &Bank) -> u64 {
        bank.pre_from().max(self.pre_from)
    }

    /// Returns the earliest cycle in which REF is legal, provided that all banks are closed.
    #[must_use]
    pub fn ref_from(&self) -> u64 {
        self.ref_from
    }

    /// Records an ACT of bank number `index` in `cycle`, which delays commands to other banks.
    pub fn activate(&mut self, cycle: u64, index: usize) {
        let t = self.config;
        self.acts[self.next_act.as_usize()] = cycle;
        self.next_act = self.next_act.wrapping_add(u5::new(1));
        self.num_acts = (self.num_acts + u6::new(1)).min(u6::new(WINDOW as u8));
        self.act_from = cycle + u64::from(t.rrd_s);
        for (window, reach) in [(t.faw, SHORT_WINDOW), (t.aw32, WINDOW)] {
            if self.num_acts.as_usize() >= reach {
                let first = self.acts[(self.next_act.as_usize() + WINDOW - reach) % WINDOW];
                self.act_from = self.act_from.max(first + u64::from(window));
            }
        }
        self.groups[(index >> self.inner_bits) % GROUPS].act_from = cycle + u64::from(t.rrd_l);
        self.ref_from = self.ref_from.max(cycle + u64::from(t.rc));
    }

    /// Records an RD of bank number `index` in `cycle`, which delays commands to other banks.
    pub fn read(&mut self, cycle: u64, index: usize) {
        let t = self.columns;
        // The new `rd_from` is always later than the old one: the RD was legal, so `cycle` is not before the
        // old value. Taking the maximum of both is therefore unnecessary.
        self.rd_from = cycle + t.like;
        self.wr_from = self.wr_from.max(cycle + t.read_to_write);
        self.groups[(index >> self.inner_bits) % GROUPS].rd_from = cycle + t.like_in_group;
    }

    /// Records a WR of bank number `index` in `cycle`, which delays commands to other banks.
    pub fn write(&mut self, cycle: u64, index: usize) {
        let t = self.columns;
        self.wr_from = cycle + t.like;
        self.rd_from = self.rd_from.max(cycle + t.write_to_read);
        let group = &mut self.groups[(index >> self.inner_bits) % GROUPS];
        group.wr_from = cycle + t.like_in_group;
        group.rd_from = group.rd_from.max(cycle + t.write_to_read_in_group);
    }

    /// Records in `cycle` a PRE of one bank or a PREA of all banks.
    pub fn precharge(&mut self, cycle: u64) {
        self.pre_from = cycle + u64::from(self.config.ppd);
        self.ref_from = self.ref_from.max(cycle + u64::from(self.config.rp));
    }

    /// Records a REF of all banks in `cycle`.
    pub fn refresh(&mut self, cycle: u64) {
        self.ref_from = cycle + u64::from(self.config.rfc);
    }

    /// Lists, for waveforms, digests and area estimates, the registers and logic that track the distances
    /// between commands.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self {
            config: _,
            columns: _,
            inner_bits: _,
            groups,
            num_groups,
            act_from,
            rd_from,
            wr_from,
            pre_from,
            ref_from,
            acts,
            next_act,
            num_acts,
        } = self;
        let groups = groups.iter().take(*num_groups as usize);
        to.entries("group", groups, |Group { act_from, rd_from, wr_from }, to| {
            to.bits("act_from", *act_from);
            to.bits("rd_from", *rd_from);
            to.bits("wr_from", *wr_from);
        });
        to.bits("act_from", *act_from);
        to.bits("rd_from", *rd_from);
        to.bits("wr_from", *wr_from);
        to.bits("pre_from", *pre_from);
        to.bits("ref_from", *ref_from);
        to.entries("act", acts.iter(), |act, to| to.bits("cycle", *act));
        to.bits("next_act", *next_act);
        to.bits("num_acts", *num_acts);
        let width = u64::BITS;
        let ways = *num_groups;
        // Multiplexer that reads the earliest cycles of ACT, RD and WR of a bank group. They decide whether a
        // command is legal. A WR also needs the old earliest cycle of RD, because it may delay RD further.
        to.logic("of_group", Logic::Mux { ways, width: 3 * width });
        to.logic("may", Logic::Less { width, count: 8 });
        // Multiplexers that read the earlier ACTs that limit the windows of 4 and 32 ACTs; the decoder
        // selects the entry to write.
        to.logic("window", Logic::Mux { ways: acts.len() as u32, width: 2 * width });
        to.logic("place", Logic::Decoder { outputs: acts.len() as u32 });
        // For ACT: logic that selects the latest of three earliest cycles: those from the two windows, and
        // the one from the minimum distance. For REF, RD and WR: logic that selects the later of two earliest
        // cycles: the stored one, and the one that the current command imposes.
        to.logic("later", Logic::Less { width, count: 7 });
        to.logic("later_of", Logic::Mux { ways: 8, width });
        // Adders that add a distance to the current cycle: five for ACT, three each for RD and WR, two for
        // PRE, one for REF.
        for _ in 0..14 {
            to.logic("from", Logic::Counter { width });
        }
        // Several kinds of commands (RD, WR, PRE, REF) update the same registers. These multiplexers select
        // the distance that the issued command imposes.
        to.logic("imposed", Logic::Mux { ways: 5, width });
        to.logic("imposed_on_group", Logic::Mux { ways: 2, width: ways * width });
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::reference;
    use super::*;

    /// Bank without timing constraints. In the test configuration, banks 0 and 1 are in one bank group, and
    /// bank 4 is in the next group.
    const FRESH: Bank = Bank::CLOSED;

    fn timing(change: impl FnOnce(&mut DramTiming)) -> Timing {
        let mut config = reference();
        change(&mut config.timing);
        Timing::new(&config)
    }

    #[test]
    fn columns_of_one_group_are_farther_apart_than_those_of_two() {
        let mut timing = timing(|_| ());
        timing.read(10, 0);
        assert_eq!((timing.rd_from(1, &FRESH), timing.rd_from(4, &FRESH)), (13, 12));
        timing.write(50, 0);
        assert_eq!((timing.wr_from(1, &FRESH), timing.wr_from(4, &FRESH)), (53, 52));
    }

    #[test]
    fn the_bus_turns_round_after_the_data_of_the_other_direction() {
        let mut timing = timing(|t| t.wtr_l = 7);
        timing.read(10, 0);
        assert_eq!(timing.wr_from(4, &FRESH), 10 + 12 + 2 + 2 - 4);
        timing.write(30, 0);
        assert_eq!((timing.rd_from(4, &FRESH), timing.rd_from(1, &FRESH)), (30 + 6 + 5, 30 + 6 + 7));
    }

    #[test]
    fn the_fifth_activate_waits_for_the_window_of_four() {
        let mut timing = timing(|t| t.faw = 60);
        for (cycle, bank) in [(0, 0), (10, 4), (20, 8), (30, 12)] {
            assert!(timing.act_from(bank, &FRESH) <= cycle);
            timing.activate(cycle, bank);
        }
        assert_eq!(timing.act_from(1, &FRESH), 60);
        timing.activate(60, 1);
        assert_eq!(timing.act_from(5, &FRESH), 70, "the window slides: it began at 10 by now");
    }

    #[test]
    fn the_thirty_third_activate_waits_for_the_window_of_thirty_two() {
        let mut timing = timing(|t| t.aw32 = 300);
        for i in 0..32 {
            timing.activate(i * 6, (i % 16) as usize);
        }
        assert_eq!(timing.act_from(0, &FRESH), 300);
    }

    #[test]
    fn a_refresh_waits_for_the_last_precharge_and_the_last_activate() {
        let mut timing = timing(|_| ());
        timing.activate(100, 0);
        timing.precharge(130);
        assert_eq!((timing.ref_from(), timing.pre_from(&FRESH)), (142, 131));
    }
}
