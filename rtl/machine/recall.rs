//! # Network of the recalls
//! A crossbar from the L2 banks to the L1s for the lines that they recall, one back for the answers, and
//! the links around them: there only where the banks keep the L1s coherent.
//!
//! ```text
//!  sm0..n         l1
//!          inv_ack │ ▲ inv
//!                  ▼ │                       crossbar clock
//!          xbar_ack    xbar_inv
//!          inv_ack │ ▲ inv                   credit links of fixed delay
//!                  ▼ │                       L2 clock
//!  partition0..m   l2
//! ```
//! The links have the delays of those that requests and replies take.

use super::wiring::{Channels, open};
use crate::kernel::{Block, Chan, ChanSpec, Describe, Edge, RxBank, Sleep, TxBank};
use crate::l2::{Invalidate, InvalidateAck, RecallIo, RecallShape, RecalledIo};
use crate::noc::xbar::{Xbar, XbarConfig, XbarIo};

/// The links of the network, one an SM or a partition.
pub(super) struct RecallLinks {
    /// From a bank to the crossbar.
    pub from_l2: Vec<ChanSpec>,
    /// From the crossbar to an L1.
    pub to_l1: Vec<ChanSpec>,
    /// From an L1 to the crossbar of the answers.
    pub from_l1: Vec<ChanSpec>,
    /// From there to a bank.
    pub to_l2: Vec<ChanSpec>,
}

/// The network.
pub(super) struct RecallNetwork {
    pub inv_xbar: Xbar<Invalidate>,
    pub ack_xbar: Xbar<InvalidateAck>,
    from_l2: Vec<Chan<Invalidate>>,
    to_l1: Vec<Chan<Invalidate>>,
    from_l1: Vec<Chan<InvalidateAck>>,
    to_l2: Vec<Chan<InvalidateAck>>,
}

impl RecallNetwork {
    /// An empty network.
    pub fn new(config: &XbarConfig, links: RecallLinks, shape: &RecallShape) -> Self {
        let (sms, partitions) = (links.to_l1.len() as u32, links.to_l2.len() as u32);
        Self {
            inv_xbar: Xbar::new("xbar_inv", config, partitions, sms, shape),
            ack_xbar: Xbar::new("xbar_ack", config, sms, partitions, shape),
            from_l2: open(links.from_l2, shape),
            to_l1: open(links.to_l1, shape),
            from_l1: open(links.from_l1, shape),
            to_l2: open(links.to_l2, shape),
        }
    }

    /// Every channel, like by like.
    pub fn channels(&self) -> [&dyn Channels; 4] {
        [&self.from_l2, &self.to_l1, &self.from_l1, &self.to_l2]
    }

    /// The same, to be changed.
    pub fn channels_mut(&mut self) -> [&mut dyn Channels; 4] {
        [&mut self.from_l2, &mut self.to_l1, &mut self.from_l1, &mut self.to_l2]
    }

    /// True if no packet is in a crossbar.
    pub fn is_idle(&self) -> bool {
        self.inv_xbar.is_idle() && self.ack_xbar.is_idle()
    }

    /// Charges slept spans to the statistics.
    pub fn settle(&mut self, cycle: u64) {
        self.inv_xbar.settle(cycle);
        self.ack_xbar.settle(cycle);
    }

    /// The ends that the L1s use, in their order: none without a network.
    pub fn of_l1s(network: &mut Option<Box<Self>>) -> impl Iterator<Item = RecalledIo<'_>> {
        let (to_l1, from_l1) = match network {
            Some(network) => (&mut network.to_l1[..], &mut network.from_l1[..]),
            None => Default::default(),
        };
        to_l1.iter_mut().zip(from_l1).map(|(inv, inv_ack)| RecalledIo { inv: inv.rx(), inv_ack: inv_ack.tx() })
    }

    /// The ends that the banks use, in their order: none without a network.
    pub fn of_banks(network: &mut Option<Box<Self>>) -> impl Iterator<Item = RecallIo<'_>> {
        let (from_l2, to_l2) = match network {
            Some(network) => (&mut network.from_l2[..], &mut network.to_l2[..]),
            None => Default::default(),
        };
        from_l2.iter_mut().zip(to_l2).map(|(inv, inv_ack)| RecallIo { inv: inv.tx(), inv_ack: inv_ack.rx() })
    }

    pub fn eval_inv(&mut self, at: &mut Edge<'_>) -> Sleep {
        let io = XbarIo { from: RxBank(&mut self.from_l2), to: TxBank(&mut self.to_l1) };
        self.inv_xbar.eval(io, at)
    }

    pub fn eval_ack(&mut self, at: &mut Edge<'_>) -> Sleep {
        let io = XbarIo { from: RxBank(&mut self.from_l1), to: TxBank(&mut self.to_l2) };
        self.ack_xbar.eval(io, at)
    }

    /// Lists the crossbar to the L1s behind its links.
    pub fn describe_inv(&self, to: &mut dyn Describe) {
        for (i, from) in (0..).zip(&self.from_l2) {
            from.describe("from_l2_", Some(i), to);
        }
        self.inv_xbar.describe(to);
    }

    /// Lists the crossbar to the banks behind its links.
    pub fn describe_ack(&self, to: &mut dyn Describe) {
        for (i, from) in (0..).zip(&self.from_l1) {
            from.describe("inject", Some(i), to);
        }
        self.ack_xbar.describe(to);
    }

    /// Lists the link to an L1.
    pub fn describe_to_l1(&self, sm: usize, to: &mut dyn Describe) {
        self.to_l1[sm].describe("inv", None, to);
    }

    /// Lists the link to a bank.
    pub fn describe_to_l2(&self, partition: usize, to: &mut dyn Describe) {
        self.to_l2[partition].describe("inv_ack", None, to);
    }
}
