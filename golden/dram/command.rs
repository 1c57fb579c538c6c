//! DRAM commands and requests as recorded in a trace.

use std::fmt;

/// Type of a DRAM command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Activate: opens a row.
    Act,
    /// Reads a burst of the open row.
    Rd,
    /// Reads a burst, then precharges the bank automatically.
    Rda,
    /// Writes a burst to the open row.
    Wr,
    /// Writes a burst, then precharges the bank automatically.
    Wra,
    /// Precharge: closes the row of one bank.
    Pre,
    /// Precharge all: closes the rows of all banks.
    Prea,
    /// Refreshes all banks.
    Ref,
}

impl Kind {
    /// True if the command transfers data.
    pub fn is_column(self) -> bool {
        self.is_read() || self.is_write()
    }

    /// True for RD and RDA.
    pub fn is_read(self) -> bool {
        matches!(self, Kind::Rd | Kind::Rda)
    }

    /// True for WR and WRA.
    pub fn is_write(self) -> bool {
        matches!(self, Kind::Wr | Kind::Wra)
    }

    /// True if the command applies to the whole channel and names no bank.
    pub fn is_channel_wide(self) -> bool {
        matches!(self, Kind::Prea | Kind::Ref)
    }
}

/// Bank of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BankId {
    /// Bank group number.
    pub group: u32,
    /// Bank number within the group.
    pub bank: u32,
}

impl fmt::Display for BankId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bank {}.{}", self.group, self.bank)
    }
}

/// Command on the command bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Cycle of the command [command clocks].
    pub cycle: u64,
    /// Type of the command.
    pub kind: Kind,
    /// Bank; `None` for channel-wide commands.
    pub bank: Option<BankId>,
    /// Row: always present for ACT, and for column commands if the trace records it.
    pub row: Option<u32>,
    /// Burst number within the row, for column commands.
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
    /// Read of one burst.
    Read,
    /// Write of one burst.
    Write,
}

/// Way in which the controller served a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Served by a column command of its own.
    Column,
    /// Served without a command: forwarded from a queued write, or merged with another request to the same
    /// burst.
    Forwarded,
}

/// Request to the memory controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Position in the trace; requests to one address take effect in this order.
    pub number: u64,
    /// Direction of the transfer.
    pub op: Op,
    /// Byte address within the channel.
    pub address: u64,
    /// Cycle in which the controller accepted the request; its first command may follow in the next cycle.
    pub accept: u64,
    /// Cycle of completion, if the controller reports it.
    pub complete: Option<u64>,
    /// Way in which the controller served the request.
    pub service: Service,
}
