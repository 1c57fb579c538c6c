//! DRAM commands and memory requests, as recorded in a trace.

use std::fmt;

/// Type of a DRAM command: ACT, RD, RDA, WR, WRA, PRE, PREA or REF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    /// Number of types of commands.
    pub(super) const COUNT: usize = Self::Ref as usize + 1;

    /// True if the command transfers data.
    pub fn is_column(self) -> bool {
        self.is_read() || self.is_write()
    }

    /// True if the command is a read: RD or RDA.
    pub fn is_read(self) -> bool {
        matches!(self, Kind::Rd | Kind::Rda)
    }

    /// True if the command is a write: WR or WRA.
    pub fn is_write(self) -> bool {
        matches!(self, Kind::Wr | Kind::Wra)
    }

    /// True if the command applies to all banks of the channel and names no bank.
    pub fn is_channel_wide(self) -> bool {
        matches!(self, Kind::Prea | Kind::Ref)
    }
}

/// Identifier of a bank within a DRAM channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BankId {
    /// Number of the bank group.
    pub group: u32,
    /// Number of the bank within its bank group.
    pub bank: u32,
}

impl fmt::Display for BankId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bank {}.{}", self.group, self.bank)
    }
}

/// DRAM command on the command bus, as recorded in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Cycle in which the command is issued, in command clocks.
    pub cycle: u64,
    /// Type of the DRAM command.
    pub kind: Kind,
    /// Bank to which the command applies; `None` for a command to all banks of the channel.
    pub bank: Option<BankId>,
    /// Row number. Always present for ACT; present for a column command if the trace records it.
    pub row: Option<u32>,
    /// Number of the burst within the row; present only for column commands.
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

/// Direction of a memory request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Read of one burst.
    Read,
    /// Write of one burst.
    Write,
}

/// Way in which the memory controller served a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// The request was served by its own column command.
    Column,
    /// No command served the request. Its data came from a queued write, or it was merged with another
    /// request to the same burst.
    Forwarded,
}

/// Request to the memory controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Position of the request in the trace; requests to the same address take effect in this order.
    pub number: u64,
    /// Direction of the transfer.
    pub op: Op,
    /// Byte address within the address space of the channel.
    pub address: u64,
    /// Cycle in which the controller accepted the request. Its first command may be issued in the next cycle.
    pub accept: u64,
    /// Cycle in which the request completed, if the controller reports it.
    pub complete: Option<u64>,
    /// Way in which the memory controller served the request.
    pub service: Service,
}
