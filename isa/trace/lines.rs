//! Lines of a text that may be longer than memory.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use memchr::memchr;

use super::error::{Fault, TraceError, Warnings};

/// Bytes read at a time.
const ROOM: usize = 256 << 10;

/// One line at a time.
pub(super) struct Lines {
    input: Box<dyn Read + Send>,
    pub name: Arc<str>,
    /// The line that was read last, what has been read behind it, and room for more.
    text: Vec<u8>,
    /// Where in the text that room begins.
    end: usize,
    /// Where in the text that line stands, without its end.
    line: Range<usize>,
    /// Where in the text the next one begins.
    next: usize,
    /// Number of the line, from 1; 0 before the first.
    pub number: u64,
    /// Longest line in bytes.
    longest: usize,
    pub warnings: Warnings,
}

impl Lines {
    pub fn new(input: Box<dyn Read + Send>, name: &str, longest: usize) -> Self {
        let (name, warnings) = (name.into(), Warnings::default());
        Lines { input, name, text: vec![0; ROOM], end: 0, line: 0..0, next: 0, number: 0, longest, warnings }
    }

    /// The line that was read last, without its end.
    pub fn line(&self) -> &[u8] {
        &self.text[self.line.clone()]
    }

    /// Reads the next line that is not blank; false at the end.
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

    /// Reads a line that has not been read whole; false at the end.
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
                .with_help("no instruction needs as many: the file is damaged, or it is no trace"),
        )
    }

    /// Reads what is there; returns how many bytes, none at the end.
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

    /// An error about the line that was read last.
    pub fn fault(&self, fault: Fault) -> TraceError {
        fault.at(&self.name, self.number, self.line())
    }

    /// An error about that whole line.
    pub fn refuse(&self, message: String) -> TraceError {
        self.fault(Fault::new(0..self.line().trim_ascii_end().len(), "this", message))
    }

    /// A warning about the line that was read last.
    pub fn warn(&mut self, message: impl Into<String> + AsRef<str>) {
        self.warnings.add(&self.name, self.number, message);
    }
}
