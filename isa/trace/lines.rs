//! Reader that splits a text into lines. The text may be larger than the memory of the host computer.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use memchr::memchr;

use super::error::{Fault, TraceError, Warnings};

/// Number of bytes that are read from the input at a time.
const ROOM: usize = 256 << 10;

/// Line reader that keeps only the current line and the data read ahead in memory.
pub(super) struct Lines {
    input: Box<dyn Read + Send>,
    pub name: Arc<str>,
    /// Buffer that holds the current line, the text already read after it, and free space.
    text: Vec<u8>,
    /// Start of the free space in the buffer.
    end: usize,
    /// Range of the current line in the buffer, without its line end.
    line: Range<usize>,
    /// Start of the next line in the buffer.
    next: usize,
    /// Number of the current line, counted from 1; 0 before the first line.
    pub number: u64,
    /// Maximum length of a line in bytes.
    longest: usize,
    pub warnings: Warnings,
}

impl Lines {
    pub fn new(input: Box<dyn Read + Send>, name: &str, longest: usize) -> Self {
        let (name, warnings) = (name.into(), Warnings::default());
        Lines { input, name, text: vec![0; ROOM], end: 0, line: 0..0, next: 0, number: 0, longest, warnings }
    }

    /// Returns the current line, without its line end.
    pub fn line(&self) -> &[u8] {
        &self.text[self.line.clone()]
    }

    /// Advances to the next line that is not blank. Returns false at the end of the text.
    #[inline]
    pub fn advance(&mut self) -> Result<bool, TraceError> {
        loop {
            self.number += 1;
            match memchr(b'\n', &self.text[self.next..self.end]).filter(|&length| length <= self.longest) {
                Some(length) => {
                    self.line = self.next..self.next + length;
                    self.next += length + 1;
                }
                None if self.read_on()? => {}
                None => return Ok(false),
            }
            if !self.line().iter().all(u8::is_ascii_whitespace) {
                return Ok(true);
            }
        }
    }

    /// Reads a line whose end is not yet in the buffer. Returns false at the end of the text.
    #[inline(never)]
    fn read_on(&mut self) -> Result<bool, TraceError> {
        self.text.copy_within(self.next..self.end, 0);
        self.end -= self.next;
        self.next = 0;
        let mut looked_at = 0;
        loop {
            let found = memchr(b'\n', &self.text[looked_at..self.end]).map(|length| looked_at + length);
            if let Some(length) = found.filter(|&length| length <= self.longest) {
                (self.line, self.next) = (0..length, length + 1);
                return Ok(true);
            }
            (self.line, self.next) = (0..self.end, self.end);
            if self.end > self.longest {
                return Err(self.too_long());
            }
            looked_at = self.end;
            match self.read_more() {
                Ok(0) => return Ok(self.end > 0),
                Ok(_) => {}
                Err(reason) => {
                    let place = self.end..self.end;
                    return Err(self.fault(Fault::new(place, "here", format!("cannot be read further: {reason}"))));
                }
            }
        }
    }

    fn too_long(&mut self) -> TraceError {
        self.line.end = self.longest + 1;
        let message = format!("the line has more than {} bytes", self.longest);
        self.fault(
            Fault::new(0..1, "this line", message)
                .with_help("no instruction needs that many: the file is damaged or not a trace"),
        )
    }

    /// Reads more input into the buffer. Returns the number of bytes read, which is 0 at the end of the text.
    fn read_more(&mut self) -> io::Result<usize> {
        if self.end == self.text.len() {
            self.text.resize(self.end + ROOM, 0);
        }
        loop {
            match self.input.read(&mut self.text[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => {
                    self.end += *read.as_ref().unwrap_or(&0);
                    return read;
                }
            }
        }
    }

    /// Returns an error about the part of the current line that `fault` describes.
    pub fn fault(&self, fault: Fault) -> TraceError {
        fault.at(&self.name, self.number, self.line())
    }

    /// Returns an error about the whole current line.
    pub fn refuse(&self, message: String) -> TraceError {
        self.fault(Fault::new(0..self.line().trim_ascii_end().len(), "this", message))
    }

    /// Adds a warning about the current line.
    pub fn warn(&mut self, message: impl Into<String> + AsRef<str>) {
        self.warnings.add(&self.name, self.number, message);
    }
}
