//! # VCD: the dump format that every viewer reads
//!
//! The `vcd` crate writes the header. Its writer of value changes formats bit by bit, which would cost more
//! than the simulation. This module therefore writes the changes itself: eight digits at a time into a fixed
//! buffer, without allocation.
//!
//! Order of calls: [`Sink::time`] with strictly increasing times, each followed by the values at that time.
//! Values given at the first time are the initial ones (`$dumpvars`). A signal without an initial value is
//! unknown (`x`) until its first value. A time at which no value changes takes no space in the file. Values
//! of unselected signals are accepted and ignored. No date and no version number is written: equal runs give
//! equal bytes.
//!
//! An output error is returned by the call that caused it and by every later call that has to write, so that
//! it cannot be lost.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::atomic_file::AtomicFile;
use crate::digits::put_digits;
use crate::scope::Selection;
use crate::signal::{Kind, MAX_WIDTH, ScopeId, SignalId, Tree, fits, is_entry};
use crate::sink::{Sink, words};

pub use vcd::TimescaleUnit as TimeUnit;

/// Size of the output buffer in bytes: large enough to make system calls rare, small enough to stay in the L2
/// cache of the host CPU.
const BUFFER_BYTES: usize = 64 * 1024;
/// Buffer space in bytes that is reserved for one change of a signal of at most 64 bits: for a time stamp,
/// the letter `b`, 64 digits, and the identifier code. A few bytes more are needed because bytes are written
/// eight at a time.
const NARROW_BYTES: usize = 128;
/// Buffer space in bytes that is reserved for one change of the widest signal.
const WIDE_BYTES: usize = MAX_WIDTH as usize + NARROW_BYTES;

/// Timescale of a dump: the duration of one time unit of [`Sink::time`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timescale {
    count: u32,
    unit: TimeUnit,
}

impl Timescale {
    /// Creates a timescale of `count` (1, 10 or 100) units.
    pub fn new(count: u32, unit: TimeUnit) -> Timescale {
        assert!(matches!(count, 1 | 10 | 100), "timescale is {count} {unit}, expected 1, 10 or 100 of a unit");
        Timescale { count, unit }
    }

    /// Returns the exponent `e` such that one time unit lasts 10^e seconds.
    pub(crate) fn exponent(self) -> i8 {
        let unit = match self.unit {
            TimeUnit::S => 0,
            TimeUnit::MS => -3,
            TimeUnit::US => -6,
            TimeUnit::NS => -9,
            TimeUnit::PS => -12,
            TimeUnit::FS => -15,
        };
        unit + self.count.ilog10() as i8
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The signal is not in the dump.
    Unselected,
    /// The signal is in the dump, but has no value yet.
    Unknown,
    /// The signal is in the dump, and `last` is the value that the viewer shows.
    Known,
}

/// Data that the writer needs for a change of one signal, in 24 bytes.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Last value of the signal. For a signal wider than 64 bits, the index of its first word in `wide`.
    last: u64,
    /// End of the line for a change of this signal: a space, the identifier code and a newline.
    tail: [u8; 8],
    tail_len: u8,
    width: u16,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// [`Sink::time`] has not been called yet.
    Header,
    /// The current time is the first one. Its values are written between `$dumpvars` and the `$end` that
    /// follows.
    Initial,
    /// No value has changed yet at the current time. The time stamp is written with the first change.
    Unstamped,
    /// The time stamp of the current time has been written.
    Stamped,
}

/// Writer of one VCD dump to `W`.
#[derive(Debug)]
pub struct VcdWriter<W: Write> {
    out: W,
    buffer: Box<[u8]>,
    used: usize,
    flushed: u64,
    slots: Vec<Slot>,
    /// Last values of the signals wider than 64 bits, least significant word first.
    wide: Vec<u64>,
    /// Paths of the selected signals, for error messages.
    paths: Vec<String>,
    phase: Phase,
    now: u64,
    failed: Option<(io::ErrorKind, String)>,
}

impl VcdWriter<AtomicFile> {
    /// Starts a dump. The file appears at `path` when the dump is finished.
    pub fn create(path: &Path, tree: &Tree, selection: &Selection, timescale: Timescale) -> io::Result<Self> {
        VcdWriter::new(AtomicFile::create(path)?, tree, selection, timescale)
    }

    /// Writes the remaining data, renames the temporary file to its final name and returns that name.
    pub fn finish(self) -> io::Result<PathBuf> {
        self.into_inner()?.commit()
    }
}

impl<W: Write> VcdWriter<W> {
    /// Writes the header: the selected signals and the scopes that contain them.
    pub fn new(mut out: W, tree: &Tree, selection: &Selection, timescale: Timescale) -> io::Result<Self> {
        let unselected = Slot { last: 0, tail: [0; 8], tail_len: 0, width: 0, state: State::Unselected };
        let mut slots = vec![unselected; tree.len()];
        let mut paths = vec![String::new(); tree.len()];
        let mut codes = vec![None; tree.len()];
        let mut wide = Vec::new();
        for (number, id) in selection.ids().enumerate() {
            let code = vcd::IdCode::from(number as u64);
            codes[id.index()] = Some(code);
            let width = tree.signal(id).width;
            let last = if width > 64 { wide.len() as u64 } else { 0 };
            if width > 64 {
                wide.resize(wide.len() + words(width), 0);
            }
            let text = format!(" {code}\n");
            let mut tail = [0; 8];
            // An identifier code has at most six characters out of 94. The 94^6 possible codes are more than
            // the values of a `SignalId`.
            tail[..text.len()].copy_from_slice(text.as_bytes());
            slots[id.index()] =
                Slot { last, tail, tail_len: text.len() as u8, width: width as u16, state: State::Unknown };
            paths[id.index()] = tree.path(id);
        }

        let mut header = vcd::Writer::new(Vec::new());
        header.version("warpsieve")?;
        header.timescale(timescale.count, timescale.unit)?;
        declare(&mut header, tree, &codes, ScopeId::ROOT)?;
        header.enddefinitions()?;
        out.write_all(header.writer())?;
        let flushed = header.writer().len() as u64;

        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        Ok(VcdWriter { out, buffer, used: 0, flushed, slots, wide, paths, phase: Phase::Header, now: 0, failed: None })
    }

    /// Writes the value of a signal of at most 64 bits without comparing it to the last value. The caller
    /// guarantees that it changed.
    #[inline]
    pub fn change(&mut self, id: SignalId, value: u64) -> io::Result<()> {
        let slot = &mut self.slots[id.index()];
        if slot.state == State::Unselected {
            return Ok(());
        }
        let width = u32::from(slot.width);
        if width > 64 || !fits(value, width) {
            panic!("{}: value {value:#x} given to a signal of {width} bits", self.paths[id.index()]);
        }
        slot.last = value;
        slot.state = State::Known;
        let Slot { tail, tail_len, .. } = *slot;
        self.make_room(NARROW_BYTES)?;
        if width == 1 {
            // The line for a change of a one-bit signal has neither the letter `b` nor a space.
            self.used = put_word(&mut self.buffer, self.used, [b'0' + value as u8, 0, 0, 0, 0, 0, 0, 0], 1);
            self.used =
                put_word(&mut self.buffer, self.used, (u64::from_le_bytes(tail) >> 8).to_le_bytes(), tail_len - 1);
        } else {
            self.buffer[self.used] = b'b';
            self.used = put_number(&mut self.buffer, self.used + 1, value);
            self.used = put_word(&mut self.buffer, self.used, tail, tail_len);
        }
        Ok(())
    }

    /// Writes the value of a signal of any width, given as 64-bit words, least significant word first. The
    /// value is not compared to the last value. Unused bits of the last word must be 0.
    pub fn change_wide(&mut self, id: SignalId, value: &[u64]) -> io::Result<()> {
        let Some((width, start)) = self.wide_slot(id, value) else {
            return Ok(());
        };
        if width <= 64 {
            return self.change(id, value[0]);
        }
        self.wide[start..start + value.len()].copy_from_slice(value);
        let slot = &mut self.slots[id.index()];
        slot.state = State::Known;
        let Slot { tail, tail_len, .. } = *slot;
        self.make_room(WIDE_BYTES)?;
        self.buffer[self.used] = b'b';
        let top = value.iter().rposition(|&word| word != 0).unwrap_or(0);
        self.used = put_number(&mut self.buffer, self.used + 1, value[top]);
        for &word in value[..top].iter().rev() {
            self.used = put_digits(&mut self.buffer, self.used, word, 64);
        }
        self.used = put_word(&mut self.buffer, self.used, tail, tail_len);
        Ok(())
    }

    /// Size of the dump so far, in bytes.
    pub fn bytes(&self) -> u64 {
        self.flushed + self.used as u64
    }

    /// True if a value has been written at the current time, or if the current time is the first one of the
    /// dump.
    pub fn has_changed(&self) -> bool {
        matches!(self.phase, Phase::Stamped | Phase::Initial)
    }

    /// Writes the remaining data and returns the output.
    pub fn into_inner(mut self) -> io::Result<W> {
        match self.phase {
            Phase::Header | Phase::Stamped => {}
            Phase::Initial => self.close_initial()?,
            // The last time stamp is written even without a change, so that the viewer shows the dump up to
            // the last time.
            Phase::Unstamped => self.make_room(NARROW_BYTES)?,
        }
        self.flush()?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Checks the number of words and the width of `value`. Returns the signal's width in bits and the index
    /// of its words in `wide`, or `None` if the signal is not selected.
    fn wide_slot(&self, id: SignalId, value: &[u64]) -> Option<(u32, usize)> {
        let slot = &self.slots[id.index()];
        if slot.state == State::Unselected {
            return None;
        }
        let width = u32::from(slot.width);
        let top_bits = (width - 1) % 64 + 1;
        if value.len() != words(width) || !fits(value[value.len() - 1], top_bits) {
            panic!("{}: value {value:#x?} given to a signal of {width} bits", self.paths[id.index()]);
        }
        Some((width, slot.last as usize))
    }

    /// Ensures that `bytes` bytes fit into the buffer. Writes the time stamp of the current time if it has
    /// not been written yet.
    #[inline]
    fn make_room(&mut self, bytes: usize) -> io::Result<()> {
        if self.buffer.len() - self.used < bytes {
            self.flush()?;
        }
        match self.phase {
            Phase::Stamped | Phase::Initial => {}
            Phase::Unstamped => {
                self.stamp();
                self.phase = Phase::Stamped;
            }
            Phase::Header => panic!("waveform: a value before the first time"),
        }
        Ok(())
    }

    fn stamp(&mut self) {
        self.put(b"#");
        // Decimal digits are generated from the last to the first; 20 digits suffice for any 64-bit time.
        let mut digits = [0; 20];
        let mut first = digits.len();
        let mut rest = self.now;
        loop {
            first -= 1;
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.put(&digits[first..]);
        self.put(b"\n");
    }

    fn put(&mut self, bytes: &[u8]) {
        self.buffer[self.used..self.used + bytes.len()].copy_from_slice(bytes);
        self.used += bytes.len();
    }

    /// Ends the list of initial values, `$dumpvars`. Signals without a value are written as unknown.
    fn close_initial(&mut self) -> io::Result<()> {
        for at in 0..self.slots.len() {
            let Slot { tail, tail_len, width, state, .. } = self.slots[at];
            if state == State::Unknown {
                self.make_room(NARROW_BYTES)?;
                let tail = &tail[..usize::from(tail_len)];
                self.put(if width == 1 { b"x" } else { b"bx" });
                self.put(if width == 1 { &tail[1..] } else { tail });
            }
        }
        self.make_room(NARROW_BYTES)?;
        self.put(b"$end\n");
        self.phase = Phase::Unstamped;
        Ok(())
    }

    #[cold]
    fn flush(&mut self) -> io::Result<()> {
        if let Some((kind, text)) = &self.failed {
            return Err(io::Error::new(*kind, text.clone()));
        }
        let done = self.out.write_all(&self.buffer[..self.used]);
        if let Err(error) = &done {
            self.failed = Some((error.kind(), error.to_string()));
        }
        self.flushed += self.used as u64;
        self.used = 0;
        done
    }
}

impl<W: Write> Sink for VcdWriter<W> {
    fn time(&mut self, now: u64) -> io::Result<()> {
        let later = self.phase == Phase::Header || now > self.now;
        assert!(later, "waveform: time {now} after time {}, expected a later one", self.now);
        self.now = now;
        match self.phase {
            Phase::Header => {
                self.stamp();
                self.put(b"$dumpvars\n");
                self.phase = Phase::Initial;
            }
            Phase::Initial => self.close_initial()?,
            Phase::Stamped => self.phase = Phase::Unstamped,
            Phase::Unstamped => {}
        }
        Ok(())
    }

    #[inline]
    fn sample(&mut self, id: SignalId, value: u64) -> io::Result<()> {
        let slot = &self.slots[id.index()];
        if slot.state == State::Known && slot.last == value && slot.width <= 64 {
            return Ok(());
        }
        self.change(id, value)
    }

    fn sample_wide(&mut self, id: SignalId, value: &[u64]) -> io::Result<()> {
        let Some((width, start)) = self.wide_slot(id, value) else {
            return Ok(());
        };
        if width <= 64 {
            return self.sample(id, value[0]);
        }
        let known = self.slots[id.index()].state == State::Known;
        if known && self.wide[start..start + value.len()] == *value {
            return Ok(());
        }
        self.change_wide(id, value)
    }
}

/// Writes all eight bytes of `word`, but returns the index after the first `count` bytes. Later output
/// overwrites the excess bytes.
#[inline]
fn put_word(buffer: &mut [u8], at: usize, word: [u8; 8], count: u8) -> usize {
    buffer[at..at + 8].copy_from_slice(&word);
    at + usize::from(count)
}

/// Writes a number in binary without leading zeros.
#[inline]
fn put_number(buffer: &mut [u8], at: usize, value: u64) -> usize {
    let digits = 64 - (value | 1).leading_zeros();
    put_digits(buffer, at, value << (64 - digits), digits)
}

/// Declares those signals in a scope, and in the scopes inside it, that have an identifier code. Scopes
/// without such a signal are omitted.
fn declare<W: Write>(
    header: &mut vcd::Writer<W>,
    tree: &Tree,
    codes: &[Option<vcd::IdCode>],
    scope: ScopeId,
) -> io::Result<()> {
    if tree.below(scope).all(|id| codes[id.index()].is_none()) {
        return Ok(());
    }
    let about = tree.scope(scope);
    header.add_module(&about.name)?;
    for &id in &about.signals {
        let Some(code) = codes[id.index()] else { continue };
        let signal = tree.signal(id);
        let kind = match signal.kind {
            Kind::Wire => vcd::VarType::Wire,
            Kind::Reg => vcd::VarType::Reg,
        };
        // Without a bit range such as `[31:0]`, viewers would take the `[5]` of an array entry for a bit
        // number.
        let ranged = signal.width > 1 || is_entry(&signal.name);
        let range = ranged.then_some(vcd::ReferenceIndex::Range(signal.width as i32 - 1, 0));
        header.var_def(kind, signal.width, code, &signal.name, range)?;
    }
    for &inner in &about.scopes {
        declare(header, tree, codes, inner)?;
    }
    header.upscope()
}
