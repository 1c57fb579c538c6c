//! # Sink
//! Takes every beat as soon as its stall allows and keeps it.

use std::hash::Hash;

use super::{Monitor, Stall};
use rtl::kernel::{Block, Describe, Edge, FieldsExt, Payload, Rx, Sleep, digest_of};

/// The block.
#[derive(Clone, Debug)]
pub struct Sink<T> {
    stall: Stall,
    not_before: u64,
    received: Monitor<T>,
}

impl<T> Sink<T> {
    /// A sink with nothing in it.
    #[must_use]
    pub fn new(stall: Stall) -> Self {
        Self { not_before: stall.earliest(0, 0), stall, received: Vec::new() }
    }

    /// What was taken, and in which cycle of the sink.
    #[must_use]
    pub fn received(&self) -> &Monitor<T> {
        &self.received
    }

    /// Digest of what was taken, and when.
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
        if from.waiting(at) { Sleep::At(self.not_before) } else { Sleep::UntilEvent }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { stall: _, not_before, received } = self;
        to.sized("not_before", *not_before, 64);
        to.sized("received", received.len() as u64, 32);
    }
}
