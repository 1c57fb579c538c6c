//! The DRAM channels behind an L2 bank (candel2018 section 2: two channels). The lines of the bank are
//! interleaved over the channels in runs of consecutive lines. All bursts of a line go to one channel, so the
//! channel can keep the bank's order of accesses to an address. If several banks share a channel, its lines
//! are interleaved over these banks, also in runs.

use super::super::config::BankPlace;
use super::core::Core;
use crate::dram::message::{DramReply, DramRequest};
use crate::kernel::{AnyEdge, Rx, RxBank, Tx, TxBank};
use crate::noc::interleave::Interleave;

impl Core {
    /// Returns the link to the DRAM channel that contains burst `burst`, and the number of the burst within
    /// that channel.
    #[inline(always)]
    pub(super) fn channel_of<'a>(&self, burst: u64, to: &'a mut TxBank<'_, DramRequest>) -> (Tx<'a, DramRequest>, u64) {
        let BankPlace { channels, sharers, partition, .. } = &self.place;
        match sharers {
            Interleave { num_partitions: 1, .. } if to.len() == 1 => (to.at(0), burst),
            Interleave { num_partitions: 1, .. } => (to.at(channels.partition(burst) as usize), channels.local(burst)),
            Interleave { num_partitions, .. } => (to.at(0), sharers.unit(partition % num_partitions, burst)),
        }
    }

    /// Selects the DRAM channel whose burst is accepted in this cycle, in round-robin order, and returns the
    /// link from it.
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
