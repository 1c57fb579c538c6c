//! # FST: the dump for long runs
//!
//! Compressed, and opened at once by GTKWave and Surfer whatever its size. The format is written by the `fst-writer`
//! crate; here are the protocol of [`Sink`], the same scopes and names as in a VCD, and the sections: value changes
//! gather in memory and go out compressed whenever they fill [`SECTION_BYTES`].
//!
//! What has no value yet is unknown (`x`) from time 0 on; the header names the first time that was given, where
//! viewers begin. As in a VCD, no date and no version number is written: equal runs give equal bytes.

use std::io::{self, Seek, SeekFrom, Write};

use fst_writer::{
    FstBodyWriter, FstFileType, FstHeaderWriter, FstInfo, FstScopeType, FstSignalId, FstSignalType, FstVarDirection,
    FstVarType, FstWriteError,
};

use crate::digits::put_digits;
use crate::scope::Selection;
use crate::signal::{Kind, MAX_WIDTH, ScopeId, SignalId, Tree, is_entry};
use crate::sink::Sink;
use crate::values::Values;
use crate::vcd::Timescale;

/// Changes gathered in memory before they are compressed and written.
const SECTION_BYTES: usize = 16 << 20;
/// Where the header holds the first time: behind the kind and the length of its block.
const START_TIME_AT: u64 = 9;
/// The widest signal as text, with room to write whole chunks of eight.
const TEXT_BYTES: usize = MAX_WIDTH as usize + 8;

/// Writes one dump to `W`.
pub struct FstWriter<W: Write + Seek> {
    body: FstBodyWriter<W>,
    values: Values,
    /// By signal of the tree.
    ids: Vec<Option<FstSignalId>>,
    first: Option<u64>,
    now: u64,
    /// Nothing has changed yet in this time: it waits for a change.
    due: bool,
    /// Bytes of the sections written so far, before compression.
    gathered: u64,
    text: Box<[u8]>,
    failed: Option<(io::ErrorKind, String)>,
}

impl<W: Write + Seek> FstWriter<W> {
    /// Writes the header: the selected signals and the scopes that hold them.
    ///
    /// # Errors
    /// If the output fails.
    pub fn new(out: W, tree: &Tree, selection: &Selection, timescale: Timescale) -> io::Result<FstWriter<W>> {
        let info = FstInfo {
            // Not the first time, but what viewers add to every time.
            start_time: 0,
            timescale_exponent: timescale.exponent(),
            version: "warpsieve".to_owned(),
            date: String::new(),
            file_type: FstFileType::Verilog,
        };
        let mut ids = vec![None; tree.len()];
        let mut header = FstHeaderWriter::new(out, &info).map_err(io_error)?;
        declare(&mut header, tree, selection, &mut ids, ScopeId::ROOT).map_err(io_error)?;
        let mut body = header.finish().map_err(io_error)?;
        // [`Values`] has compared already.
        body.set_deduplicate(false);
        Ok(FstWriter {
            body,
            values: Values::new(tree, selection),
            ids,
            first: None,
            now: 0,
            due: false,
            gathered: 0,
            text: vec![0; TEXT_BYTES].into_boxed_slice(),
            failed: None,
        })
    }

    /// Bytes of the dump so far, before compression.
    pub fn bytes(&self) -> u64 {
        self.gathered + self.body.size() as u64
    }

    /// Writes what is left and hands the output back.
    ///
    /// # Errors
    /// If the output fails, now or earlier.
    pub fn into_inner(mut self) -> io::Result<W> {
        self.check()?;
        // The values of time 0 are written when a later time begins.
        let end = self.now.max(1);
        self.body.time_change(end).map_err(io_error)?;
        let mut out = self.body.finish().map_err(io_error)?;
        // The crate leaves this field 0.
        out.seek(SeekFrom::Start(START_TIME_AT))?;
        out.write_all(&self.first.unwrap_or(0).to_be_bytes())?;
        out.seek(SeekFrom::End(0))?;
        out.flush()?;
        Ok(out)
    }

    /// Writes the digits of a signal's new value.
    #[inline]
    fn put(&mut self, id: SignalId) -> io::Result<()> {
        if std::mem::take(&mut self.due) {
            self.stamp()?;
        }
        let width = self.values.width(id);
        let Some(value) = self.values.get(id) else { return Ok(()) };
        let mut end = 0;
        for (at, &word) in value.iter().enumerate().rev() {
            let digits = if at + 1 == value.len() { (width - 1) % 64 + 1 } else { 64 };
            end = put_digits(&mut self.text, end, word << (64 - digits), digits);
        }
        match self.ids[id.index()] {
            Some(id) => self.body.signal_change(id, &self.text[..end]).map_err(io_error),
            None => Ok(()),
        }
    }

    fn stamp(&mut self) -> io::Result<()> {
        self.check()?;
        // A section may end only right ahead of a new time.
        if self.body.size() >= SECTION_BYTES {
            self.gathered += self.body.size() as u64;
            if let Err(error) = self.body.flush().map_err(io_error) {
                self.failed = Some((error.kind(), error.to_string()));
                return Err(error);
            }
        }
        self.body.time_change(self.now).map_err(io_error)
    }

    /// An error of the output comes back from every later call that has to write.
    fn check(&self) -> io::Result<()> {
        match &self.failed {
            Some((kind, text)) => Err(io::Error::new(*kind, text.clone())),
            None => Ok(()),
        }
    }
}

impl<W: Write + Seek> Sink for FstWriter<W> {
    fn time(&mut self, now: u64) -> io::Result<()> {
        self.first.get_or_insert(now);
        self.now = now;
        self.due = true;
        Ok(())
    }

    #[inline]
    fn sample(&mut self, id: SignalId, value: u64) -> io::Result<()> {
        if self.values.take(id, value) { self.put(id) } else { Ok(()) }
    }

    fn sample_wide(&mut self, id: SignalId, value: &[u64]) -> io::Result<()> {
        if self.values.take_wide(id, value) { self.put(id) } else { Ok(()) }
    }
}

/// The input's own error, where there is one: the crate hides it behind a general sentence.
fn io_error(error: FstWriteError) -> io::Error {
    match error {
        FstWriteError::Io(error) => error,
        other => io::Error::other(other),
    }
}

/// Declares the selected signals of a scope and of the scopes inside it; a scope without any is left out.
fn declare<W: Write + Seek>(
    header: &mut FstHeaderWriter<W>,
    tree: &Tree,
    selection: &Selection,
    ids: &mut [Option<FstSignalId>],
    scope: ScopeId,
) -> fst_writer::Result<()> {
    if !selection.touches(tree, scope) {
        return Ok(());
    }
    let about = tree.scope(scope);
    header.scope(&about.name, "", FstScopeType::Module)?;
    for &id in about.signals.iter().filter(|&&id| selection.contains(id)) {
        let signal = tree.signal(id);
        let kind = match signal.kind {
            Kind::Wire => FstVarType::Wire,
            Kind::Reg => FstVarType::Reg,
        };
        // The range is part of the name, and keeps viewers from reading the `[5]` of an entry as a bit number.
        let ranged = signal.width > 1 || is_entry(&signal.name);
        let range = if ranged { format!(" [{}:0]", signal.width - 1) } else { String::new() };
        let bits = FstSignalType::bit_vec(signal.width);
        let name = format!("{}{range}", signal.name);
        ids[id.index()] = Some(header.var(name, bits, kind, FstVarDirection::Implicit, None)?);
    }
    for &inner in &about.scopes {
        declare(header, tree, selection, ids, inner)?;
    }
    header.up_scope()
}
