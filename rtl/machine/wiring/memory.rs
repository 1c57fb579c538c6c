//! # The side of the memory
//! Banks of tracker and L2, and DRAM channels, with the channel ends that they are lent for an edge.

use super::Machine;
use crate::dram::channel::{DramChannel, DramIo};
use crate::dram::message::{DramReply, DramRequest};
use crate::kernel::{Block, Chan, Describe, DescribeExt, RxBank, TxBank};
use crate::l2::{L2Bank, L2Io};
use crate::machine::side_network::RecallNetwork;
use crate::noc::packet::{Reply, Request};

/// L2 banks and DRAM channels, with the links between them.
#[derive(Default)]
pub(in crate::machine) struct Memory {
    pub banks: Vec<L2Bank>,
    pub drams: Vec<DramChannel>,
    pub dram_req: Vec<Chan<DramRequest>>,
    pub dram_rsp: Vec<Chan<DramReply>>,
}

impl Memory {
    /// Starts to keep digests of all memories.
    pub fn record(&mut self) {
        self.banks.iter_mut().for_each(L2Bank::record);
        self.drams.iter_mut().for_each(DramChannel::record);
    }

    /// Each bank with its channel ends, of which the links to and from the SMs and the recalls are lent.
    #[inline(always)]
    pub fn wired_banks<'a>(
        &'a mut self,
        to_banks: &'a mut [Chan<Request>],
        from_banks: &'a mut [Chan<Reply>],
        recalls: &'a mut Option<Box<RecallNetwork>>,
    ) -> impl Iterator<Item = (&'a mut L2Bank, L2Io<'a>)> {
        let channels = self.drams.len() / self.banks.len();
        let to_drams = self.dram_req.chunks_mut(channels).zip(self.dram_rsp.chunks_mut(channels));
        let links = to_banks.iter_mut().zip(from_banks).zip(to_drams);
        let mut recalls = RecallNetwork::of_banks(recalls);
        self.banks.iter_mut().zip(links).map(move |(bank, ((req, rsp), (dram_req, dram_rsp)))| {
            let recall = recalls.next();
            let (dram_req, dram_rsp) = (TxBank(dram_req), RxBank(dram_rsp));
            (bank, L2Io { req: req.rx(), rsp: rsp.tx(), dram_req, dram_rsp, recall })
        })
    }

    /// Each DRAM channel with its channel ends.
    #[inline(always)]
    pub fn wired_drams(&mut self) -> impl Iterator<Item = (&mut DramChannel, DramIo<'_>)> {
        let links = self.dram_req.iter_mut().zip(&mut self.dram_rsp);
        self.drams.iter_mut().zip(links).map(|(dram, (req, rsp))| (dram, DramIo { req: req.rx(), rsp: rsp.tx() }))
    }

    fn describe_channel(&self, channel: usize, to: &mut dyn Describe) {
        self.dram_req[channel].describe("req", None, to);
        self.drams[channel].describe(to);
    }
}

impl Machine {
    #[inline(always)]
    pub(super) fn wired_banks(&mut self) -> impl Iterator<Item = (&mut L2Bank, L2Io<'_>)> {
        let (to_banks, from_banks) = match &mut self.tracking {
            None => (&mut self.to_l2, &mut self.from_l2),
            Some(tracking) => (&mut tracking.to_bank, &mut tracking.from_bank),
        };
        self.memory.wired_banks(to_banks, from_banks, &mut self.recalls)
    }

    pub(super) fn describe_tracker(&self, i: usize, to: &mut dyn Describe) {
        if let Some(tracking) = &self.tracking {
            to.parts("partition", i as u32, |to| {
                to.part("tracker", |to| {
                    self.to_l2[i].describe("req", None, to);
                    tracking.describe(i, to);
                });
            });
        }
    }

    pub(super) fn describe_bank(&self, i: usize, to: &mut dyn Describe) {
        to.parts("partition", i as u32, |to| {
            to.part("l2", |to| {
                self.tracking.as_ref().map_or(&self.to_l2, |tracking| &tracking.to_bank)[i].describe("req", None, to);
                let channels = self.config.channels_per_partition as usize;
                for (c, rsp) in (0..).zip(&self.memory.dram_rsp[i * channels..][..channels]) {
                    rsp.describe("dram_rsp", (channels > 1).then_some(c), to);
                }
                if let Some(recalls) = &self.recalls {
                    recalls.describe_to_partition(i, to);
                }
                self.memory.banks[i].describe(to);
            });
        });
    }

    pub(super) fn describe_dram(&self, i: usize, to: &mut dyn Describe) {
        let channels = self.config.channels_per_partition;
        to.parts("partition", i as u32 / channels, |to| match channels {
            1 => to.part("dram", |to| self.memory.describe_channel(i, to)),
            _ => to.parts("dram", i as u32 % channels, |to| self.memory.describe_channel(i, to)),
        });
    }
}
