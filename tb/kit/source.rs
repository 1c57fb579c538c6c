//! # Source
//! Sends a list of payloads in order, each as soon as the stall policy and the channel allow.

use std::collections::VecDeque;
use std::hash::Hash;

use super::{Monitor, Stall};
use rtl::kernel::{Block, Describe, Edge, FieldsExt, Payload, Sleep, Tx, digest_of};

/// Testbench block that drives one input port of a device under test.
#[derive(Clone, Debug)]
pub struct Source<T> {
    script: VecDeque<T>,
    stall: Stall,
    not_before: u64,
    sent: Monitor<T>,
}

impl<T> Source<T> {
    /// Creates a source that sends the payloads of `script` in order.
    pub fn new(script: impl IntoIterator<Item = T>, stall: Stall) -> Self {
        Self { script: script.into_iter().collect(), not_before: stall.earliest(0, 0), stall, sent: Vec::new() }
    }

    /// Returns the payloads sent, each with its cycle in the source's clock domain.
    pub fn sent(&self) -> &Monitor<T> {
        &self.sent
    }

    /// Returns a hash of the payloads sent and their cycles.
    pub fn digest(&self) -> u64
    where
        T: Hash,
    {
        digest_of(&self.sent)
    }

    /// Returns the number of payloads that the source has not sent yet.
    pub fn left(&self) -> usize {
        self.script.len()
    }
}

impl<T: Payload + 'static> Block for Source<T> {
    type Io<'a> = Tx<'a, T>;

    fn eval(&mut self, mut to: Tx<'_, T>, at: &mut Edge<'_>) -> Sleep {
        if self.script.is_empty() {
            return Sleep::UntilEvent;
        }
        if at.cycle < self.not_before {
            return Sleep::At(self.not_before);
        }
        if !to.is_ready(at) {
            return Sleep::UntilEvent;
        }
        if let Some(beat) = self.script.pop_front() {
            self.sent.push((at.cycle, beat.clone()));
            self.not_before = self.stall.earliest(self.sent.len(), at.cycle + 1);
            to.push(at, beat);
        }
        if self.script.is_empty() { Sleep::UntilEvent } else { Sleep::At(self.not_before) }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { script, stall: _, not_before, sent } = self;
        to.sized("left", script.len() as u64, 32);
        to.sized("not_before", *not_before, 64);
        to.stat_in(None, "sent", sent.len() as u64);
    }
}
