//! # Stamps of a read
//! The ticks at which a read passes from one part of the machine to the next: statistics, no hardware. A message
//! carries them for the L1 that asked to count from ([`crate::l1::stages`]), and is the same message whatever they say.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

/// What is known of the way of a read so far: nothing of it unless the L1 has put down when it was sent.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Stamps {
    /// The L1 gave it to the network.
    sent: u64,
    /// The L2 bank took it.
    reached: u64,
    /// The L2 bank gave the reply to the network.
    left: u64,
}

impl Stamps {
    /// A read that leaves its L1; none does at tick 0.
    #[must_use]
    pub fn sent(tick: u64) -> Self {
        Self { sent: tick, ..Self::default() }
    }

    /// The L2 bank takes it, or the last part of it that it answers apart.
    pub fn reach(&mut self, tick: u64) {
        self.reached = tick;
    }

    /// The L2 bank gives its reply to the network.
    pub fn leave(&mut self, tick: u64) {
        self.left = tick;
    }

    /// Ticks on the way to the bank, in it, and on the way back until this one; `None` of what was never sent as a
    /// read, or was answered by another.
    #[must_use]
    pub fn spans(&self, now: u64) -> Option<[u64; 3]> {
        let &Self { sent, reached, left } = self;
        (sent != 0 && left != 0).then(|| [reached - sent, left - reached, now - left])
    }
}

/// Whoever compares messages asks what the hardware carries.
impl PartialEq for Stamps {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Stamps {}

impl Hash for Stamps {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spans_of_a_read_make_up_its_way() {
        let mut stamps = Stamps::sent(66);
        stamps.reach(100);
        assert_eq!(stamps.spans(120), None, "it has not been answered");
        stamps.leave(170);
        assert_eq!(stamps.spans(200), Some([34, 70, 30]));
    }

    #[test]
    fn what_was_not_sent_as_a_read_has_no_spans() {
        let mut stamps = Stamps::default();
        stamps.reach(100);
        stamps.leave(170);
        assert_eq!(stamps.spans(200), None);
    }

    #[test]
    fn messages_are_the_same_whatever_their_stamps_say() {
        assert_eq!(Stamps::sent(5), Stamps::default());
    }
}
