//! The DRAM channels behind a bank (candel2018 section 2: two of them). Its runs of lines go round among
//! them in turn, and a line's bursts are all in one, so that a channel's order of accesses to an address is
//! the bank's.

use super::core::Core;
use crate::dram::message::{DramReply, DramRequest};
use crate::kernel::{AnyEdge, Rx, RxBank, Tx, TxBank};

impl Core {
    /// The link to the channel of a burst, and the burst's number there.
    #[inline(always)]
    pub(super) fn channel_of<'a>(&self, burst: u64, to: &'a mut TxBank<'_, DramRequest>) -> (Tx<'a, DramRequest>, u64) {
        if to.0.len() == 1 {
            return (to.at(0), burst);
        }
        let channels = self.place.channels;
        (to.at(channels.partition(burst) as usize), channels.local(burst))
    }

    /// The link whose burst is taken in this cycle: of each channel in turn.
    #[inline(always)]
    pub(super) fn arriving<'a>(
        &mut self,
        from: &'a mut RxBank<'_, DramReply>,
        at: &impl AnyEdge,
    ) -> Option<Rx<'a, DramReply>> {
        let channel = match from.0.len() {
            1 => 0,
            _ => self.channel_turn.grant(waiting(from, at))?,
        };
        Some(from.at(channel as usize)).filter(|from| from.peek(at).is_some())
    }
}

/// Channels with a burst for the bank.
fn waiting(from: &mut RxBank<'_, DramReply>, at: &impl AnyEdge) -> u64 {
    (0..from.0.len()).fold(0, |waiting, i| waiting | u64::from(from.at(i).peek(at).is_some()) << i)
}

/// True if a channel has a burst for the bank in the next cycle or before.
#[inline(always)]
pub(super) fn any_waiting(from: &mut RxBank<'_, DramReply>, at: &impl AnyEdge) -> bool {
    (0..from.0.len()).any(|i| from.at(i).waiting(at))
}
