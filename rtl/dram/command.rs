//! # What stands on a command bus

use serde::{Deserialize, Serialize};

use crate::kernel::{Describe, Encoding, FieldsExt};

/// What a command does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(3)]
pub enum CommandKind {
    /// Nothing.
    #[default]
    Nop,
    /// Opens a row.
    Act,
    /// Reads a burst of the open row.
    Rd,
    /// Writes a burst to the open row.
    Wr,
    /// Closes the row of one bank.
    Pre,
    /// Closes the rows of all banks.
    Prea,
    /// Refreshes all banks.
    Ref,
}

impl CommandKind {
    /// True of RD and WR, which move data of an open row; the others open, close and refresh rows.
    #[must_use]
    pub fn is_column(self) -> bool {
        matches!(self, Self::Rd | Self::Wr)
    }
}

/// A command; fields that its kind does not use are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Command {
    /// Command clock.
    pub cycle: u64,
    /// What it does.
    pub kind: CommandKind,
    /// Bank of the channel: group times banks per group, plus the bank in its group.
    pub bank: u8,
    /// Row that is opened, closed, read or written.
    pub row: u32,
    /// Burst of the row that is read or written.
    pub column: u32,
    /// The request for which it is issued.
    pub id: u32,
}

impl Command {
    /// Lists what is on a bus that carries the bank, and row and column with so many bits if it does.
    pub(super) fn describe(&self, bank: u32, row: Option<u32>, column: Option<u32>, to: &mut dyn Describe) {
        let widths = [Some(bank), row, column];
        let Self { cycle: _, kind, bank, row, column, id } = self;
        to.state("kind", *kind);
        let fields = [("bank", u64::from(*bank)), ("row", u64::from(*row)), ("column", u64::from(*column))];
        for ((name, value), width) in fields.into_iter().zip(widths) {
            if let Some(width) = width {
                to.sized(name, value, width);
            }
        }
        to.bits("id", *id);
    }
}
