//! # Dump: a waveform file whose name selects the format

use std::fmt;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::atomic_file::AtomicFile;
use crate::fst::FstWriter;
use crate::scope::Selection;
use crate::signal::{SignalId, Tree};
use crate::sink::Sink;
use crate::vcd::{Timescale, VcdWriter};

/// File format of a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Text that every viewer reads: [`crate::vcd`].
    Vcd,
    /// Compressed binary for long runs: [`crate::fst`].
    Fst,
}

/// Error for a file name that ends in neither `.vcd` nor `.fst`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a file name ending in .vcd (text, read by every viewer) or .fst (compressed, opens at once)")]
pub struct UnknownFormat;

impl Format {
    /// Returns the format for the extension of a file name.
    ///
    /// # Errors
    /// Returns an error if the extension is neither `.vcd` nor `.fst`.
    pub fn of(path: &Path) -> Result<Format, UnknownFormat> {
        path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().parse()
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(ending: &str) -> Result<Format, UnknownFormat> {
        match ending {
            "vcd" => Ok(Format::Vcd),
            "fst" => Ok(Format::Fst),
            _ => Err(UnknownFormat),
        }
    }
}

/// Waveform dump in one of the two formats.
pub enum Dump<W: Write + Seek> {
    /// Dump in VCD format.
    Vcd(Box<VcdWriter<W>>),
    /// Dump in FST format.
    Fst(Box<FstWriter<W>>),
}

impl<W: Write + Seek> fmt::Debug for Dump<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Dump::Vcd(_) => "Vcd",
            Dump::Fst(_) => "Fst",
        };
        write!(f, "Dump::{name}, {} bytes", self.bytes())
    }
}

impl Dump<AtomicFile> {
    /// Writes the remaining data, renames the temporary file to its final name and returns that name.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn finish(self) -> io::Result<PathBuf> {
        self.into_inner()?.commit()
    }
}

impl<W: Write + Seek> Dump<W> {
    /// Starts a dump of the selected signals.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub fn new(
        out: W,
        format: Format,
        tree: &Tree,
        selection: &Selection,
        timescale: Timescale,
    ) -> io::Result<Dump<W>> {
        Ok(match format {
            Format::Vcd => Dump::Vcd(Box::new(VcdWriter::new(out, tree, selection, timescale)?)),
            Format::Fst => Dump::Fst(Box::new(FstWriter::new(out, tree, selection, timescale)?)),
        })
    }

    /// Size of the dump so far, in bytes; for FST, the size before compression.
    pub fn bytes(&self) -> u64 {
        match self {
            Dump::Vcd(dump) => dump.bytes(),
            Dump::Fst(dump) => dump.bytes(),
        }
    }

    /// True if a value has changed at the current time.
    pub fn has_changed(&self) -> bool {
        match self {
            Dump::Vcd(dump) => dump.has_changed(),
            Dump::Fst(dump) => dump.has_changed(),
        }
    }

    /// Writes the remaining data and returns the output.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub fn into_inner(self) -> io::Result<W> {
        match self {
            Dump::Vcd(dump) => dump.into_inner(),
            Dump::Fst(dump) => dump.into_inner(),
        }
    }
}

impl<W: Write + Seek> Sink for Dump<W> {
    fn time(&mut self, now: u64) -> io::Result<()> {
        match self {
            Dump::Vcd(dump) => dump.time(now),
            Dump::Fst(dump) => dump.time(now),
        }
    }

    #[inline]
    fn sample(&mut self, id: SignalId, value: u64) -> io::Result<()> {
        match self {
            Dump::Vcd(dump) => dump.sample(id, value),
            Dump::Fst(dump) => dump.sample(id, value),
        }
    }

    fn sample_wide(&mut self, id: SignalId, value: &[u64]) -> io::Result<()> {
        match self {
            Dump::Vcd(dump) => dump.sample_wide(id, value),
            Dump::Fst(dump) => dump.sample_wide(id, value),
        }
    }
}
