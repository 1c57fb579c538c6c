//! # Loads on their way
//! What a bank of the tracker must remember of a load that it has sent on: of one whose line will stay in
//! its L1, so that it is listed when it arrives, unless it is written meanwhile (`poisoned`); of one that was
//! sent to another L1, so that it can still go to the L2 if the line is gone there.
//!
//! | port         | dir | payload        | contract                                                  |
//! |--------------|-----|----------------|-----------------------------------------------------------|
//! | 1 `answered` | in  | row, found     | the row was forwarded; it is closed, or waits for the L2  |
//! | 2 `arrived`  | in  | SM, ticket     | closes the row of the reply that passes, if it has one: `of_reply` |
//! | 3 `refused`  | out | `Transfer`     | one that must go to the L2; `resent` takes it             |
//! | 4 `poison`   | in  | line           | the rows of the line will not be listed; not before none is forwarded: `is_forwarded` |
//! | 4 `open`     | in  | `Transfer`     | a row is free: `free`                                     |
//!
//! In one cycle in this order, of the last two one; each sees what those before it did.
//!
//! Area order: two comparators a row, of lines for `poison` and of tickets for `arrived`.
//!
//! Part of `rtl/tracker/bank.rs`.
//! Twin: none; `golden/consistency.rs` judges what loads return.
//! Bench: `tb/tracker`, and `tb/hdl/tracker/transfers.rs` beside `hdl/tracker/transfers.sv`.

use serde::{Deserialize, Serialize};

use super::message::{Found, TrackShape};
use crate::cells::line::SECTORS;
use crate::kernel::{Describe, DescribeExt, Encoding, FieldsExt, Logic};
use crate::noc::packet::TICKET_BITS;

/// A load on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// Its number in its SM.
    pub id: u32,
    /// Line address.
    pub line: u64,
    /// SM that asked.
    pub sm: u8,
    /// The ticket of its request.
    pub ticket: u64,
    /// Sectors wanted.
    pub sectors: u8,
    /// The line will stay in the L1.
    pub keeps: bool,
    /// It was written meanwhile.
    pub poisoned: bool,
    /// SM that is to supply it.
    pub supplier: u8,
}

/// Where a load is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encoding)]
#[width(2)]
enum State {
    Free,
    AtMemory,
    AtSupplier,
    Refused,
}

/// The rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transfers {
    rows: Box<[Transfer]>,
    used: u64,
    /// Rows that wait for an answer.
    forwarded: u64,
    /// Rows that wait for the link to the L2.
    refused: u64,
}

impl Transfers {
    /// So many free rows, 64 at most.
    #[must_use]
    pub fn new(rows: u32) -> Self {
        Self { rows: vec![Transfer::default(); rows as usize].into(), used: 0, forwarded: 0, refused: 0 }
    }

    /// True if no load is on its way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// A free row.
    #[must_use]
    pub fn free(&self) -> Option<u8> {
        let row = (!self.used).trailing_zeros();
        (row < self.rows.len() as u32).then_some(row as u8)
    }

    /// Notes a load in a free row; `is_forwarded` if it goes to another L1.
    pub fn open(&mut self, row: u8, transfer: Transfer, is_forwarded: bool) {
        debug_assert!(self.used >> row & 1 == 0, "row {row} is free");
        self.rows[usize::from(row)] = transfer;
        self.used |= 1 << row;
        self.forwarded |= u64::from(is_forwarded) << row;
    }

    /// Marks the loads of a line by some of the SMs.
    pub fn poison(&mut self, line: u64, served: impl Fn(u8) -> bool) {
        for transfer in &mut self.rows {
            transfer.poisoned |= transfer.line == line && served(transfer.sm);
        }
    }

    /// True if a load of the line by this SM is at another L1, or comes back from there.
    #[must_use]
    pub fn is_forwarded(&self, sm: u8, line: u64) -> bool {
        let is_same = |row: usize| (self.rows[row].sm, self.rows[row].line) == (sm, line);
        (0..self.rows.len()).any(|row| (self.forwarded | self.refused) >> row & 1 != 0 && is_same(row))
    }

    /// An answer has come. Returns the load.
    pub fn answered(&mut self, row: u8, found: Found) -> Option<Transfer> {
        if self.forwarded >> row & 1 == 0 {
            return None;
        }
        self.forwarded &= !(1 << row);
        if found == Found::Here {
            self.used &= !(1 << row);
        } else {
            self.refused |= 1 << row;
        }
        Some(self.rows[usize::from(row)])
    }

    /// A load that must go to the L2, and its row.
    #[must_use]
    pub fn refused(&self) -> Option<(u8, &Transfer)> {
        let row = self.refused.trailing_zeros();
        (row < u64::BITS).then(|| (row as u8, &self.rows[row as usize]))
    }

    /// It has gone there.
    pub fn resent(&mut self, row: u8) {
        self.refused &= !(1 << row);
        if !self.rows[usize::from(row)].keeps {
            self.used &= !(1 << row);
        }
    }

    /// The load that a reply of the L2 is for, if it has a row.
    #[must_use]
    pub fn of_reply(&self, sm: u8, ticket: u64) -> Option<u8> {
        let at_memory = self.used & !self.forwarded & !self.refused;
        let is_for = |row: &usize| (self.rows[*row].sm, self.rows[*row].ticket) == (sm, ticket);
        (0..self.rows.len()).filter(|row| at_memory >> row & 1 != 0).find(is_for).map(|row| row as u8)
    }

    /// Its reply has passed.
    pub fn arrived(&mut self, row: u8) -> Transfer {
        self.used &= !(1 << row);
        self.rows[usize::from(row)]
    }

    /// Lists the rows.
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
        // Which SMs' loads are poisoned, in each row.
        to.logic("poison", Logic::Mux { ways: 1 << shape.sm_bits, width: n });
        // What an answer of an L1 needs of its row, what a reply does, and what goes to the L2.
        to.logic("read", Logic::Mux { ways: n, width: shape.line_bits + 2 * shape.sm_bits + 2 });
        to.logic("read", Logic::Mux { ways: n, width: shape.line_bits + 2 });
        let resent = 32 + shape.line_bits + shape.sm_bits + TICKET_BITS + SECTORS + 1;
        to.logic("read", Logic::Mux { ways: n, width: resent });
        // Rows answered, replied to, resent and opened.
        for _ in 0..4 {
            to.logic("write", Logic::Decoder { outputs: n });
        }
        to.logic("state", Logic::Gates { count: 10 * n });
    }
}
