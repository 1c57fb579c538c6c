//! Lines of a text that may be longer than memory.

use std::io::{BufRead, Read};
use std::sync::Arc;

use super::error::{Fault, TraceError, Warnings};

/// One line at a time.
pub(super) struct Lines {
    input: Box<dyn BufRead + Send>,
    pub name: Arc<str>,
    /// The line that was read last, without its end.
    pub line: Vec<u8>,
    /// Its number, from 1; 0 before the first.
    pub number: u64,
    /// Longest line in bytes.
    longest: usize,
    pub warnings: Warnings,
}

impl Lines {
    pub fn new(input: Box<dyn BufRead + Send>, name: &str, longest: usize) -> Self {
        Lines { input, name: name.into(), line: Vec::new(), number: 0, longest, warnings: Warnings::default() }
    }

    /// Reads the next line that is not blank; false at the end.
    pub fn advance(&mut self) -> Result<bool, TraceError> {
        loop {
            self.line.clear();
            self.number += 1;
            let limit = self.longest as u64 + 1;
            let read = self.input.by_ref().take(limit).read_until(b'\n', &mut self.line);
            if let Err(reason) = read {
                let end = self.line.len();
                return Err(self.fault(Fault::new(end..end, "here", format!("cannot be read further: {reason}"))));
            }
            if self.line.last() == Some(&b'\n') {
                self.line.pop();
            } else if self.line.len() > self.longest {
                let message = format!("the line has more than {} bytes", self.longest);
                return Err(self.fault(
                    Fault::new(0..1, "this line", message)
                        .with_help("no instruction needs as many: the file is damaged, or it is no trace"),
                ));
            } else if self.line.is_empty() {
                return Ok(false);
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    /// An error about the line that was read last.
    pub fn fault(&self, fault: Fault) -> TraceError {
        fault.at(&self.name, self.number, &self.line)
    }

    /// An error about that whole line.
    pub fn refuse(&self, message: String) -> TraceError {
        self.fault(Fault::new(0..self.line.trim_ascii_end().len(), "this", message))
    }

    /// A warning about the line that was read last.
    pub fn warn(&mut self, message: impl Into<String> + AsRef<str>) {
        self.warnings.add(&self.name, self.number, message);
    }
}
