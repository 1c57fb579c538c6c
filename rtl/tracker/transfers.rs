//! # Transfers of a sharing tracker
//! Table of the in-flight loads that a bank of the tracker sent to the L2 or to another L1. An L1 that will
//! allocate the line of its load is listed as a sharer when the reply passes the tracker, unless the line was
//! written in the meantime (`poisoned`). A load that was forwarded to an L1 can still go to the L2 if that L1
//! no longer has the line.
//!
//! | port         | dir | payload        | contract                                                  |
//! |--------------|-----|----------------|-----------------------------------------------------------|
//! | 1 `on_answer` | in  | row, found    | the row was forwarded; it is freed, or waits for the link to the L2 |
//! | 2 `on_reply` | in  | row            | frees the row of a passing reply; `of_reply` finds that row |
//! | 3 `refused_load` | out | `Transfer` | a load that must go to the L2; `on_resend` removes it     |
//! | 4 `poison`   | in  | line           | loads of the line will not be listed; only while no load of the writer's SM and line is forwarded: `is_forwarded` |
//! | 4 `open`     | in  | `Transfer`     | a row is free: `free`                                     |
//!
//! In one cycle, in this order:
//! 1. `on_answer`
//! 2. `on_reply`
//! 3. `refused_load`
//! 4. Either `poison` or `open`.
//!
//! Each step sees the effects of the steps before it.
//!
//! Area: two comparators per row, of lines for `poison` and of tickets for `of_reply`.
//!
//! Part of `rtl/tracker/bank.rs`.
//! Twin: none; `golden/consistency.rs` checks the values that loads return.
//! Bench: `tb/tracker`, and `tb/hdl/tracker/transfers.rs` with `rtl/hdl/tracker/ws_tracker_transfers.sv`.

use serde::{Deserialize, Serialize};

use super::message::{ForwardResult, TrackShape};
use crate::cells::line::SECTORS;
use crate::kernel::{Describe, DescribeExt, Encoding, FieldsExt, Logic};
use crate::noc::packet::TICKET_BITS;

/// Load in flight to the L2 or to another L1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// Serial number of the request in its SM.
    pub id: u32,
    /// Address of the requested line.
    pub line: u64,
    /// Number of the requesting SM.
    pub sm: u8,
    /// Ticket of the request, returned with the reply.
    pub ticket: u64,
    /// Mask of the requested sectors of the line.
    pub sectors: u8,
    /// True if the requesting L1 will allocate the line.
    pub keeps: bool,
    /// True if the line was written after the load passed the tracker.
    pub poisoned: bool,
    /// SM whose L1 must supply the line.
    pub supplier: u8,
}

/// State of a row of the transfer table; depends on where the row's load was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encoding)]
#[width(2)]
enum State {
    Free,
    AtMemory,
    AtSupplier,
    Refused,
}

/// Table of the in-flight loads of a tracker bank.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transfers {
    rows: Box<[Transfer]>,
    used: u64,
    /// Mask of the rows whose load was forwarded to an L1 that has not answered yet.
    forwarded: u64,
    /// Mask of the rows whose load was refused by an L1 and waits for the link to the L2.
    refused: u64,
}

impl Transfers {
    /// Returns a transfer table of `rows` free rows, at most 64.
    #[must_use]
    pub fn new(rows: u32) -> Self {
        Self { rows: vec![Transfer::default(); rows as usize].into(), used: 0, forwarded: 0, refused: 0 }
    }

    /// True if no load is in flight.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Returns the number of the lowest free row; `None` if all rows are in use.
    #[must_use]
    pub fn free(&self) -> Option<u8> {
        let row = (!self.used).trailing_zeros();
        (row < self.rows.len() as u32).then_some(row as u8)
    }

    /// Allocates a free row to a load. `is_forwarded` is true if the load goes to another L1.
    pub fn open(&mut self, row: u8, transfer: Transfer, is_forwarded: bool) {
        debug_assert!(self.used >> row & 1 == 0, "row {row} is free");
        self.rows[usize::from(row)] = transfer;
        self.used |= 1 << row;
        self.forwarded |= u64::from(is_forwarded) << row;
    }

    /// Marks the in-flight loads of a line as poisoned, because a write to the line passed the tracker after
    /// them. Applies only to loads of SMs for which `served` returns true.
    pub fn poison(&mut self, line: u64, served: impl Fn(u8) -> bool) {
        for transfer in &mut self.rows {
            transfer.poisoned |= transfer.line == line && served(transfer.sm);
        }
    }

    /// True if a load of the line by SM `sm` was forwarded to another L1 and is not finished. This is the
    /// case until the other L1 has answered or, if it refused, until the load has been sent to the L2.
    #[must_use]
    pub fn is_forwarded(&self, sm: u8, line: u64) -> bool {
        let is_same = |row: usize| (self.rows[row].sm, self.rows[row].line) == (sm, line);
        (0..self.rows.len()).any(|row| (self.forwarded | self.refused) >> row & 1 != 0 && is_same(row))
    }

    /// Records the answer of an L1, and returns the load of the row; `None` if no forwarded load in the row
    /// awaits an answer.
    pub fn on_answer(&mut self, row: u8, found: ForwardResult) -> Option<Transfer> {
        if self.forwarded >> row & 1 == 0 {
            return None;
        }
        self.forwarded &= !(1 << row);
        if found == ForwardResult::Here {
            self.used &= !(1 << row);
        } else {
            self.refused |= 1 << row;
        }
        Some(self.rows[usize::from(row)])
    }

    /// Returns a load that an L1 refused and that must go to the L2, with its row; `None` if there is no such
    /// load.
    #[must_use]
    pub fn refused_load(&self) -> Option<(u8, &Transfer)> {
        let row = self.refused.trailing_zeros();
        (row < u64::BITS).then(|| (row as u8, &self.rows[row as usize]))
    }

    /// Records that a refused load was sent to the L2. Frees the row unless the requesting L1 will allocate
    /// the line.
    pub fn on_resend(&mut self, row: u8) {
        self.refused &= !(1 << row);
        if !self.rows[usize::from(row)].keeps {
            self.used &= !(1 << row);
        }
    }

    /// Returns the row of the load to which a reply of the L2 belongs; `None` if the load has no row.
    #[must_use]
    pub fn of_reply(&self, sm: u8, ticket: u64) -> Option<u8> {
        let at_memory = self.used & !self.forwarded & !self.refused;
        let is_for = |row: &usize| (self.rows[*row].sm, self.rows[*row].ticket) == (sm, ticket);
        (0..self.rows.len()).filter(|row| at_memory >> row & 1 != 0).find(is_for).map(|row| row as u8)
    }

    /// Frees the row of a load whose reply passes the tracker, and returns the load.
    pub fn on_reply(&mut self, row: u8) -> Transfer {
        self.used &= !(1 << row);
        self.rows[usize::from(row)]
    }

    /// Lists the rows and logic of the transfer table for waveforms, digests and area estimates.
    pub fn describe(&self, shape: &TrackShape, to: &mut dyn Describe) {
        let Self { rows, used, forwarded, refused } = self;
        let n = rows.len() as u32;
        to.sized("used", *used, n);
        to.sized("forwarded", *forwarded, n);
        to.sized("refused", *refused, n);
        to.entries("row", 0..rows.len(), |row, to| {
            let Transfer { id, line, sm, ticket, sectors, keeps, poisoned, supplier } = rows[row];
            let state = match (used >> row & 1 != 0, forwarded >> row & 1 != 0, refused >> row & 1 != 0) {
                (false, ..) => State::Free,
                (_, true, _) => State::AtSupplier,
                (_, _, true) => State::Refused,
                _ => State::AtMemory,
            };
            to.probe_state("state", state);
            to.bits("id", id);
            to.sized("line", line, shape.line_bits);
            to.sized("sm", u64::from(sm), shape.sm_bits);
            to.sized("ticket", ticket, TICKET_BITS);
            to.sized("sectors", u64::from(sectors), SECTORS);
            to.flag("keeps", keeps);
            to.flag("poisoned", poisoned);
            to.sized("supplier", u64::from(supplier), shape.sm_bits);
        });
        to.logic("line", Logic::Comparator { width: shape.line_bits, count: n });
        to.logic("ticket", Logic::Comparator { width: TICKET_BITS + shape.sm_bits, count: n });
        for first in ["free_row", "replied", "refused"] {
            to.logic(first, Logic::PriorityEncoder { inputs: n });
        }
        to.logic("sm", Logic::Comparator { width: shape.sm_bits, count: n });
        // Multiplexers that determine for each row whether its load belongs to an SM whose loads the write
        // poisons.
        to.logic("poison", Logic::Mux { ways: 1 << shape.sm_bits, width: n });
        // Read ports for an answer of an L1, for a reply, and for a load sent to the L2.
        to.logic("read", Logic::Mux { ways: n, width: shape.line_bits + 2 * shape.sm_bits + 2 });
        to.logic("read", Logic::Mux { ways: n, width: shape.line_bits + 2 });
        let resent = 32 + shape.line_bits + shape.sm_bits + TICKET_BITS + SECTORS + 1;
        to.logic("read", Logic::Mux { ways: n, width: resent });
        // Write decoders for the rows: one each for an answer of an L1, a reply, a load that is resent to the
        // L2, and the allocation of a row.
        for _ in 0..4 {
            to.logic("write", Logic::Decoder { outputs: n });
        }
        to.logic("state", Logic::Gates { count: 10 * n });
    }
}
