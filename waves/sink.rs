//! # Sink: what takes the samples of a run
//!
//! A simulator gives times, strictly increasing, and after each the values of that time; which signals a sink keeps
//! is its own affair. Dumps are sinks ([`crate::vcd`], [`crate::fst`], either by file name [`crate::dump`]), and so is
//! the memory of the last cycles ([`crate::history`]).

use std::io;

use crate::signal::{MAX_WIDTH, SignalId};

/// Takes samples.
pub trait Sink {
    /// Moves to a later time.
    ///
    /// # Errors
    /// If the output fails.
    fn time(&mut self, now: u64) -> io::Result<()>;

    /// Takes a value of a signal of at most 64 bits; nothing is written if it is the last one again.
    ///
    /// # Errors
    /// If the output fails.
    fn sample(&mut self, id: SignalId, value: u64) -> io::Result<()>;

    /// [`Sink::sample`] for any width, least significant word first; unused bits of the last word are 0.
    ///
    /// # Errors
    /// If the output fails.
    fn sample_wide(&mut self, id: SignalId, value: &[u64]) -> io::Result<()>;

    /// [`Sink::sample`] of whole bytes, least significant byte first.
    ///
    /// # Errors
    /// If the output fails.
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

/// Words that hold so many bits.
pub(crate) const fn words(width: u32) -> usize {
    width.div_ceil(64) as usize
}
