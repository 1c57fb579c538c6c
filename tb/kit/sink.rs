//! # Sink
//! Receives every payload as soon as its stall policy allows, and records it.

use std::hash::Hash;

use super::{Monitor, Stall};
use rtl::kernel::{Block, Describe, Edge, FieldsExt, Payload, Rx, Sleep, digest_of};

/// Testbench block that receives from one output port of a device under test.
#[derive(Clone, Debug)]
pub struct Sink<T> {
    stall: Stall,
    not_before: u64,
    received: Monitor<T>,
}

impl<T> Sink<T> {
    /// Creates a sink that has not received any payload yet.
    #[must_use]
    pub fn new(stall: Stall) -> Self {
        Self { not_before: stall.earliest(0, 0), stall, received: Vec::new() }
    }

    /// Returns the payloads received, each with its cycle in the sink's clock domain.
    #[must_use]
    pub fn received(&self) -> &Monitor<T> {
        &self.received
    }

    /// Returns a hash of the payloads received and their cycles.
    pub fn digest(&self) -> u64
    where
        T: Hash,
    {
        digest_of(&self.received)
    }
}

impl<T: Payload + 'static> Block for Sink<T> {
    type Io<'a> = Rx<'a, T>;

    fn eval(&mut self, mut from: Rx<'_, T>, at: &mut Edge<'_>) -> Sleep {
        if from.peek(at).is_some() && at.cycle >= self.not_before {
            self.received.push((at.cycle, from.pop(at)));
            self.not_before = self.stall.earliest(self.received.len(), at.cycle + 1);
        }
        if from.has_beat(at) { Sleep::At(self.not_before) } else { Sleep::UntilEvent }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { stall: _, not_before, received } = self;
        to.sized("not_before", *not_before, 64);
        to.sized("received", received.len() as u64, 32);
    }
}
