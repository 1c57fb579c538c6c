//! # The side of the memory
//! Banks of tracker and L2, and DRAM channels, with the channel ends that they are lent for an edge.

use serde::{Deserialize, Serialize};

use super::Machine;
use crate::dram::channel::{DramChannel, DramIo};
use crate::dram::message::{DramReply, DramRequest};
use crate::kernel::{AnyEdge, Block, Chan, Describe, DescribeExt, Due, RxBank, TxBank};
use crate::l2::{L2Bank, L2Io};
use crate::machine::side_network::RecallNetwork;
use crate::noc::packet::{Reply, Request};

/// L2 banks and DRAM channels, with the links between them.
#[derive(Default, Serialize, Deserialize)]
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

    /// Evaluates the banks that are due; the links to and from the SMs, and the ends of recalls, are lent.
    #[inline(always)]
    pub fn eval_banks(
        &mut self,
        to_banks: &mut [Chan<Request>],
        from_banks: &mut [Chan<Reply>],
        mut recalls: Option<&mut RecallNetwork>,
        due: &mut Due,
        at: &mut impl AnyEdge,
    ) {
        let Self { banks, drams: _, dram_req, dram_rsp } = self;
        let parts = || {
            let channels = dram_req.len() / banks.len();
            let to_drams = dram_req.chunks_mut(channels).zip(dram_rsp.chunks_mut(channels));
            banks.iter_mut().zip(to_banks.iter_mut().zip(from_banks).zip(to_drams)).enumerate()
        };
        due.each(0, parts, at, |(i, (bank, ((req, rsp), (to_dram, from_dram)))), at| {
            let (dram_req, dram_rsp) = (TxBank(to_dram), RxBank(from_dram));
            let recall = recalls.as_mut().map(|recalls| recalls.of_bank(i));
            bank.eval_any(L2Io { req: req.rx(), rsp: rsp.tx(), dram_req, dram_rsp, recall }, at)
        });
    }

    /// Evaluates the DRAM channels that are due.
    #[inline(always)]
    pub fn eval_drams(&mut self, due: &mut Due, at: &mut impl AnyEdge) {
        let Self { drams, dram_req, dram_rsp, .. } = self;
        let banks = dram_req.len() / drams.len();
        let links = dram_req.chunks_mut(banks).zip(dram_rsp.chunks_mut(banks));
        let parts = || drams.iter_mut().zip(links);
        due.each(0, parts, at, |(dram, (req, rsp)), at| {
            dram.eval_any(DramIo { req: RxBank(req), rsp: TxBank(rsp) }, at)
        });
    }

    fn describe_channel(&self, channel: usize, to: &mut dyn Describe) {
        let banks = self.dram_req.len() / self.drams.len();
        for (bank, req) in (0..).zip(&self.dram_req[channel * banks..][..banks]) {
            req.describe("req", (banks > 1).then_some(bank), to);
        }
        self.drams[channel].describe(to);
    }
}

impl Machine {
    /// Evaluates the banks of the L2 that are due, and those of a tracker.
    #[inline(always)]
    pub(super) fn eval_l2<const SCHEMES: bool>(&mut self, due: &mut Due, at: &mut impl AnyEdge) {
        let Self { memory, recalls, tracking, to_l2, from_l2, .. } = self;
        let recalls = recalls.as_deref_mut().filter(|_| SCHEMES);
        let Some(tracking) = tracking.as_mut().filter(|_| SCHEMES) else {
            return memory.eval_banks(to_l2, from_l2, recalls, due, at);
        };
        memory.eval_banks(&mut tracking.to_bank, &mut tracking.from_bank, recalls, due, at);
        let banks = memory.banks.len();
        at.with_edge(|at| {
            due.each(banks as u8, || 0..banks, at, |i, at| tracking.eval(i, &mut to_l2[i], &mut from_l2[i], at));
        });
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
        if self.config.partitions_per_channel > 1 {
            to.parts("channel", i as u32, |to| to.part("dram", |to| self.memory.describe_channel(i, to)));
            return;
        }
        let channels = self.config.channels_per_partition;
        to.parts("partition", i as u32 / channels, |to| match channels {
            1 => to.part("dram", |to| self.memory.describe_channel(i, to)),
            _ => to.parts("dram", i as u32 % channels, |to| self.memory.describe_channel(i, to)),
        });
    }
}
