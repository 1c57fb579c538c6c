//! # Commands on a DRAM command bus

use serde::{Deserialize, Serialize};

use crate::kernel::{Describe, Encoding, FieldsExt};

/// Kind of a DRAM command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(3)]
pub enum CommandKind {
    /// No command: the bus is idle.
    #[default]
    Nop,
    /// ACT: opens a row.
    Act,
    /// RD: reads a burst of the open row.
    Rd,
    /// WR: writes a burst to the open row.
    Wr,
    /// PRE: closes the row of one bank.
    Pre,
    /// PREA: closes the rows of all banks.
    Prea,
    /// REF: refreshes all banks.
    Ref,
}

impl CommandKind {
    /// True for RD and WR, which transfer data of an open row; false for commands that open, close or refresh
    /// rows.
    #[must_use]
    pub fn is_column(self) -> bool {
        matches!(self, Self::Rd | Self::Wr)
    }
}

/// DRAM command; fields that its kind does not use are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Command {
    /// Cycle of the command clock (CK) in which the command is issued.
    pub cycle: u64,
    /// Kind of the command.
    pub kind: CommandKind,
    /// Bank number within the channel: number of the bank group times banks per group, plus the number within
    /// the group.
    pub bank: u8,
    /// Row that is opened, closed, read or written.
    pub row: u32,
    /// Position of the accessed burst within the row.
    pub column: u32,
    /// Serial number of the request for which the command is issued.
    pub id: u32,
}

impl Command {
    /// Lists the state of a command bus for waveforms and digests. Bank numbers have `bank` bits. `row` and
    /// `column` are the widths of these fields in bits, or `None` if the bus lacks the field.
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
