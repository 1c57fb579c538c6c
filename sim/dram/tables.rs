//! Output of DRAM commands and served requests as CSV.
//!
//! | table    | columns                                                                            |
//! |----------|------------------------------------------------------------------------------------|
//! | commands | `cycle,cmd,bankgroup,bank,row,col`; PRE has neither row nor column, PREA and REF no bank |
//! | requests | `idx,op,addr,arrival,accept,complete`                                              |
//!
//! If the machine has several DRAM channels, each table has `channel` as an additional last column.

use std::io::{self, Write};

use golden::dram::command::Kind;
use rtl::dram::command::Command;
use rtl::dram::config::DramConfig;

use super::alone::ServedRequest;
use super::judge;
use super::trace::TraceRequest;

/// CSV table under construction.
#[derive(Debug)]
pub struct Table<W> {
    to: W,
    with_channel: bool,
}

impl<W: Write> Table<W> {
    /// Starts a table of commands; `channels` is the number of channels.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn of_commands(to: W, channels: usize) -> io::Result<Self> {
        Self::new(to, "cycle,cmd,bankgroup,bank,row,col", channels)
    }

    /// Starts a table of requests; `channels` is the number of channels.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn of_requests(to: W, channels: usize) -> io::Result<Self> {
        Self::new(to, "idx,op,addr,arrival,accept,complete", channels)
    }

    fn new(mut to: W, heading: &str, channels: usize) -> io::Result<Self> {
        let with_channel = channels > 1;
        writeln!(to, "{heading}{}", if with_channel { ",channel" } else { "" })?;
        Ok(Self { to, with_channel })
    }

    /// Writes a command.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn command(&mut self, config: &DramConfig, channel: usize, command: &Command) -> io::Result<()> {
        let Some(command) = judge::command(config, command) else { return Ok(()) };
        let name = match command.kind {
            Kind::Act => "ACT",
            Kind::Rd | Kind::Rda => "RD",
            Kind::Wr | Kind::Wra => "WR",
            Kind::Pre => "PRE",
            Kind::Prea => "PREA",
            Kind::Ref => "REF",
        };
        write!(self.to, "{},{name},", command.cycle)?;
        match command.bank {
            Some(bank) => write!(self.to, "{},{},", bank.group, bank.bank)?,
            None => self.to.write_all(b",,")?,
        }
        match (command.row, command.col) {
            (Some(row), Some(col)) => write!(self.to, "{row},{col}")?,
            (Some(row), None) => write!(self.to, "{row},")?,
            (None, _) => self.to.write_all(b",")?,
        }
        self.end(channel)
    }

    /// Writes a served request.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn request(&mut self, request: &TraceRequest, served: &ServedRequest) -> io::Result<()> {
        let TraceRequest { cycle, write, address } = request;
        let ServedRequest { index, channel, accept, complete } = served;
        let op = if *write { 'W' } else { 'R' };
        write!(self.to, "{index},{op},0x{address:08x},{cycle},{accept},{complete}")?;
        self.end(*channel)
    }

    fn end(&mut self, channel: usize) -> io::Result<()> {
        if self.with_channel { writeln!(self.to, ",{channel}") } else { self.to.write_all(b"\n") }
    }

    /// Flushes the output and returns it.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::preset;
    use rtl::dram::command::CommandKind::{Act, Pre, Prea, Rd, Ref};

    fn text(table: Table<Vec<u8>>) -> String {
        String::from_utf8(table.finish().unwrap()).unwrap()
    }

    #[test]
    fn commands_leave_out_what_their_kind_does_not_have() {
        let mut table = Table::of_commands(Vec::new(), 1).unwrap();
        for (cycle, kind) in (1..).zip([Act, Rd, Pre, Prea, Ref]) {
            let command = Command { cycle, kind, bank: 9, row: 7, column: 3, id: 0 };
            table.command(&preset("gddr5-reference").dram, 0, &command).unwrap();
        }
        let expected =
            "cycle,cmd,bankgroup,bank,row,col\n1,ACT,2,1,7,\n2,RD,2,1,7,3\n3,PRE,2,1,,\n4,PREA,,,,\n5,REF,,,,\n";
        assert_eq!(text(table), expected);
    }

    #[test]
    fn several_channels_are_told_apart_by_a_last_column() {
        let mut table = Table::of_requests(Vec::new(), 6).unwrap();
        let served = ServedRequest { index: 3, channel: 5, accept: 8, complete: 35 };
        table.request(&TraceRequest { cycle: 7, write: true, address: 0x1c0 }, &served).unwrap();
        assert_eq!(text(table), "idx,op,addr,arrival,accept,complete,channel\n3,W,0x000001c0,7,8,35,5\n");
    }
}
