//! # Model of the L1s that use an L2 bank
//! Accepts every recall of a line from the bank, and acknowledges it after a random latency.

use crate::kit::{Monitor, Random};
use rtl::kernel::{Block, Describe, Edge, FieldsExt, Rx, Sleep, Tx, digest_of};
use rtl::l2::{Invalidate, InvalidateAck};

/// Ends of the channels that the L1 model uses.
pub struct L1sIo<'a> {
    pub inv: Rx<'a, Invalidate>,
    pub inv_ack: Tx<'a, InvalidateAck>,
}

/// Model of all L1s, as a single hardware block.
pub struct L1s {
    random: Random,
    latency: std::ops::Range<u64>,
    /// Outstanding acknowledgments, each with the first cycle in which it may be sent.
    waiting: Vec<(u64, InvalidateAck)>,
    taken: Monitor<Invalidate>,
    answered: Monitor<InvalidateAck>,
}

impl L1s {
    /// Creates a model of the L1s. The latency of each acknowledgment is a random number of cycles in the
    /// range `latency`.
    pub fn new(seed: u64, latency: std::ops::Range<u64>) -> Self {
        Self { random: Random::new(seed), latency, waiting: Vec::new(), taken: Vec::new(), answered: Vec::new() }
    }

    /// Returns every recall received so far, with its cycle.
    pub fn taken(&self) -> &Monitor<Invalidate> {
        &self.taken
    }

    /// Returns every acknowledgment sent so far, with its cycle.
    #[cfg(test)]
    pub fn answered(&self) -> &Monitor<InvalidateAck> {
        &self.answered
    }

    /// Returns a hash of all recalls received and acknowledgments sent, with their cycles.
    pub fn digest(&self) -> u64 {
        digest_of(&(&self.taken, &self.answered))
    }
}

impl Block for L1s {
    type Io<'a> = L1sIo<'a>;

    fn eval(&mut self, mut io: L1sIo<'_>, at: &mut Edge<'_>) -> Sleep {
        let first = (0..self.waiting.len()).min_by_key(|&n| self.waiting[n].0);
        if let Some(n) = first.filter(|&n| self.waiting[n].0 <= at.cycle)
            && io.inv_ack.is_ready(at)
        {
            let (_, answer) = self.waiting.remove(n);
            self.answered.push((at.cycle, answer));
            io.inv_ack.push(at, answer);
        }
        if io.inv.peek(at).is_some() {
            let message = io.inv.pop(at);
            let due = at.cycle + self.latency.start + self.random.below(self.latency.end - self.latency.start);
            self.waiting.push((due, InvalidateAck { partition: super::PARTITION, leaver: message.leaver }));
            self.taken.push((at.cycle, message));
        }
        let mut sleep = if io.inv.has_beat(at) { Sleep::Next } else { Sleep::UntilEvent };
        if let Some(due) = self.waiting.iter().map(|(due, _)| *due).min() {
            sleep = sleep.min(Sleep::At(due));
        }
        sleep
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { random: _, latency: _, waiting, taken, answered } = self;
        to.sized("waiting", waiting.len() as u64, 8);
        to.sized("taken", taken.len() as u64, 32);
        to.sized("answered", answered.len() as u64, 32);
    }
}
