//! The DRAM channels behind a bank (candel2018 section 2: two of them). Its runs of lines go round among
//! them in turn, and a line's bursts are all in one, so that a channel's order of accesses to an address is
//! the bank's. Of a channel that banks share, each has the runs whose turn is its own.

use super::super::config::BankPlace;
use super::core::Core;
use crate::dram::message::{DramReply, DramRequest};
use crate::kernel::{AnyEdge, Rx, RxBank, Tx, TxBank};
use crate::noc::interleave::Interleave;

impl Core {
    /// The link to the channel of a burst, and the burst's number there.
    #[inline(always)]
    pub(super) fn channel_of<'a>(&self, burst: u64, to: &'a mut TxBank<'_, DramRequest>) -> (Tx<'a, DramRequest>, u64) {
        let BankPlace { channels, sharers, partition, .. } = self.place;
        match sharers {
            Interleave { num_partitions: 1, .. } if to.len() == 1 => (to.at(0), burst),
            Interleave { num_partitions: 1, .. } => (to.at(channels.partition(burst) as usize), channels.local(burst)),
            Interleave { num_partitions, .. } => (to.at(0), sharers.unit(partition % num_partitions, burst)),
        }
    }

    /// The link whose burst is taken in this cycle: of each channel in turn.
    #[inline(always)]
    pub(super) fn arriving<'a>(
        &mut self,
        from: &'a mut RxBank<'_, DramReply>,
        at: &impl AnyEdge,
    ) -> Option<Rx<'a, DramReply>> {
        let channel = match from.len() {
            1 => 0,
            _ => self.channel_turn.grant(from.visible(at))?,
        };
        Some(from.at(channel as usize)).filter(|from| from.peek(at).is_some())
    }
}
