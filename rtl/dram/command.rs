//! # What stands on the command bus

use crate::kernel::Encoding;

/// What a command does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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

impl Encoding for CommandKind {
    const WIDTH: u32 = 3;
    const NAMES: &'static [&'static str] = &["NOP", "ACT", "RD", "WR", "PRE", "PREA", "REF"];
    fn code(self) -> u8 {
        self as u8
    }
}

/// A command; fields that its kind does not use are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
