//! Commands and requests as they stand in a trace.

use std::fmt;

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Opens a row.
    Act,
    /// Reads a burst of the open row.
    Rd,
    /// Reads a burst, then closes the row by itself.
    Rda,
    /// Writes a burst to the open row.
    Wr,
    /// Writes a burst, then closes the row by itself.
    Wra,
    /// Closes the row of one bank.
    Pre,
    /// Closes the rows of all banks.
    Prea,
    /// Refreshes all banks.
    Ref,
}

impl Kind {
    /// Whether it moves data.
    pub fn is_column(self) -> bool {
        self.is_read() || self.is_write()
    }

    /// RD or RDA.
    pub fn is_read(self) -> bool {
        matches!(self, Kind::Rd | Kind::Rda)
    }

    /// WR or WRA.
    pub fn is_write(self) -> bool {
        matches!(self, Kind::Wr | Kind::Wra)
    }

    /// Whether it concerns the whole channel and names no bank.
    pub fn is_channel_wide(self) -> bool {
        matches!(self, Kind::Prea | Kind::Ref)
    }
}

/// One of the banks of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BankId {
    /// Bank group.
    pub group: u32,
    /// Bank within the group.
    pub bank: u32,
}

impl fmt::Display for BankId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bank {}.{}", self.group, self.bank)
    }
}

/// A command on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Command clock.
    pub cycle: u64,
    /// What it does.
    pub kind: Kind,
    /// The bank, unless it concerns all.
    pub bank: Option<BankId>,
    /// The row: of an ACT always, of a column command if the trace tells.
    pub row: Option<u32>,
    /// The burst within the row, of a column command.
    pub col: Option<u32>,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Command { cycle, kind, bank, row, col } = self;
        write!(f, "{kind:?}")?;
        if let Some(bank) = bank {
            write!(f, " {bank}")?;
        }
        if let Some(row) = row {
            write!(f, " row {row}")?;
        }
        if let Some(col) = col {
            write!(f, " col {col}")?;
        }
        write!(f, " at {cycle}")
    }
}

/// Direction of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Wants a burst.
    Read,
    /// Brings a burst.
    Write,
}

/// How a request was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// By a column command of its own.
    Column,
    /// By data of a queued write, or together with another request to the same burst: no command.
    Forwarded,
}

/// What was asked of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number in the trace; requests to one address take effect in this order.
    pub number: u64,
    /// Direction.
    pub op: Op,
    /// Byte address within the channel.
    pub address: u64,
    /// Cycle of acceptance; the first command may follow in the next one.
    pub accept: u64,
    /// Cycle of completion, if the controller tells.
    pub complete: Option<u64>,
    /// How it was served.
    pub service: Service,
}
