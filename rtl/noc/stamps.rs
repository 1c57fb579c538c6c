//! # Stamps of a read
//! Records the simulator ticks at which a read moves from one stage of the memory system to the next. The
//! stamps serve only statistics and are not hardware. Messages carry them back to the L1 that started the
//! measurement ([`crate::l1::stages`]). Comparisons of messages ignore them.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

/// Simulator ticks at which a read has entered the stages of the memory system so far. Valid only if the L1
/// has recorded the send time.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Stamps {
    /// Tick at which the L1 sent the request to the network.
    sent: u64,
    /// Tick at which the L2 bank accepted the request.
    reached: u64,
    /// Tick at which the L2 bank sent the reply to the network.
    left: u64,
}

impl Stamps {
    /// Creates the stamps of a read that its L1 sends at tick `tick`, which is never 0.
    #[must_use]
    pub fn from_send_tick(tick: u64) -> Self {
        Self { sent: tick, ..Self::default() }
    }

    /// Records that the L2 bank accepts the read at tick `tick`. If called again for the same read, replaces
    /// the tick.
    pub fn reach(&mut self, tick: u64) {
        self.reached = tick;
    }

    /// Records that the L2 bank sends the reply to the network at tick `tick`.
    pub fn leave(&mut self, tick: u64) {
        self.left = tick;
    }

    /// Returns three durations in ticks: from the L1 to the L2 bank, within the bank, and from the bank until
    /// `now`. Returns `None` unless the request was a measured read that the L2 bank answered.
    #[must_use]
    pub fn spans(&self, now: u64) -> Option<[u64; 3]> {
        let &Self { sent, reached, left } = self;
        (sent != 0 && left != 0).then(|| [reached - sent, left - reached, now - left])
    }
}

/// Stamps always compare equal, so that a comparison of messages covers only the fields that the hardware
/// carries.
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
        let mut stamps = Stamps::from_send_tick(66);
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
        assert_eq!(Stamps::from_send_tick(5), Stamps::default());
    }
}
