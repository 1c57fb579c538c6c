//! # Sink: the receiver of signal values
//!
//! A simulator passes strictly increasing times and, after each time, the signal values at that time. Each
//! sink ignores the values of signals that were not selected for it. The dump writers ([`crate::vcd`],
//! [`crate::fst`], or [`crate::dump`], which chooses by file name) are sinks. [`crate::history`], which
//! stores the last cycles in memory, is a sink too.

use std::io;

use crate::signal::{MAX_WIDTH, SignalId};

/// Receiver of times and signal values.
pub trait Sink {
    /// Advances to a later time.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    fn time(&mut self, now: u64) -> io::Result<()>;

    /// Records the value of a signal of at most 64 bits. If the value has not changed, writes nothing.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    fn sample(&mut self, id: SignalId, value: u64) -> io::Result<()>;

    /// Records the value of a signal of any width, given as 64-bit words, least significant word first.
    /// Unused bits of the last word must be 0.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    fn sample_wide(&mut self, id: SignalId, value: &[u64]) -> io::Result<()>;

    /// Records the value of a signal, given as whole bytes, least significant byte first.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    fn sample_bytes(&mut self, id: SignalId, bytes: &[u8]) -> io::Result<()> {
        let mut value = [0; words(MAX_WIDTH)];
        for (word, chunk) in value.iter_mut().zip(bytes.chunks(8)) {
            let mut eight = [0; 8];
            eight[..chunk.len()].copy_from_slice(chunk);
            *word = u64::from_le_bytes(eight);
        }
        self.sample_wide(id, &value[..bytes.len().div_ceil(8)])
    }
}

/// Number of 64-bit words that hold `width` bits.
pub(crate) const fn words(width: u32) -> usize {
    width.div_ceil(64) as usize
}
