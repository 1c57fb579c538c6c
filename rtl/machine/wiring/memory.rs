//! # The side of the memory
//! Banks of tracker and L2, and DRAM channels, with the channel ends that they are lent for an edge.

use super::Machine;
use crate::dram::channel::{DramChannel, DramIo};
use crate::dram::message::{DramReply, DramRequest};
use crate::kernel::{Block, Chan, Describe, DescribeExt, Due, Edge, RxBank, TxBank};
use crate::l2::{L2Bank, L2Io, RecallIo};
use crate::noc::packet::{Reply, Request};

/// L2 banks and DRAM channels, with the links between them.
#[derive(Default)]
pub(in crate::machine) struct Memory {
    pub banks: Vec<L2Bank>,
    pub drams: Vec<DramChannel>,
    pub dram_req: Vec<Chan<DramRequest>>,
    pub dram_rsp: Vec<Chan<DramReply>>,
}

type BankLinks<'a> =
    ((&'a mut Chan<Request>, &'a mut Chan<Reply>), (&'a mut [Chan<DramRequest>], &'a mut [Chan<DramReply>]));

fn bank_io<'a>(((req, rsp), (to_dram, from_dram)): BankLinks<'a>, recall: Option<RecallIo<'a>>) -> L2Io<'a> {
    L2Io { req: req.rx(), rsp: rsp.tx(), dram_req: TxBank(to_dram), dram_rsp: RxBank(from_dram), recall }
}

impl Memory {
    /// Starts to keep digests of all memories.
    pub fn record(&mut self) {
        self.banks.iter_mut().for_each(L2Bank::record);
        self.drams.iter_mut().for_each(DramChannel::record);
    }

    /// Each bank with its links, of which those to and from the SMs are lent.
    fn linked_banks<'a>(
        &'a mut self,
        to_banks: &'a mut [Chan<Request>],
        from_banks: &'a mut [Chan<Reply>],
    ) -> impl Iterator<Item = (&'a mut L2Bank, BankLinks<'a>)> {
        let channels = self.drams.len() / self.banks.len();
        let to_drams = self.dram_req.chunks_mut(channels).zip(self.dram_rsp.chunks_mut(channels));
        self.banks.iter_mut().zip(to_banks.iter_mut().zip(from_banks).zip(to_drams))
    }

    /// Evaluates the banks that are due, of a machine whose L2 recalls no lines.
    #[inline(always)]
    pub fn eval_banks(
        &mut self,
        to_banks: &mut [Chan<Request>],
        from_banks: &mut [Chan<Reply>],
        due: &mut Due,
        at: &mut Edge<'_>,
    ) {
        due.each(0, self.linked_banks(to_banks, from_banks), at, |(bank, links), at| {
            bank.eval(bank_io(links, None), at)
        });
    }

    /// Evaluates the DRAM channels that are due.
    #[inline(always)]
    pub fn eval_drams(&mut self, due: &mut Due, at: &mut Edge<'_>) {
        let links = self.dram_req.iter_mut().zip(&mut self.dram_rsp);
        due.each(0, self.drams.iter_mut().zip(links), at, |(dram, (req, rsp)), at| {
            dram.eval(DramIo { req: req.rx(), rsp: rsp.tx() }, at)
        });
    }

    fn describe_channel(&self, channel: usize, to: &mut dyn Describe) {
        self.dram_req[channel].describe("req", None, to);
        self.drams[channel].describe(to);
    }
}

impl Machine {
    /// Evaluates the banks that are due, with those of a tracker before them.
    #[inline(never)]
    pub(super) fn eval_banks_of_schemes(&mut self, due: &mut Due, at: &mut Edge<'_>) {
        let Self { memory, recalls, tracking, to_l2, from_l2, .. } = self;
        let (to_banks, from_banks) = match tracking {
            None => (&mut *to_l2, &mut *from_l2),
            Some(tracking) => (&mut tracking.to_bank, &mut tracking.from_bank),
        };
        match recalls {
            None => memory.eval_banks(to_banks, from_banks, due, at),
            Some(recalls) => {
                let ends = recalls.of_partitions().map(|(inv, inv_ack)| RecallIo { inv, inv_ack });
                due.each(0, memory.linked_banks(to_banks, from_banks).zip(ends), at, |((bank, links), recall), at| {
                    bank.eval(bank_io(links, Some(recall)), at)
                });
            }
        }
        if let Some(tracking) = tracking {
            tracking.eval_due(to_l2, from_l2, due, at);
        }
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
