//! # Networks beside that of requests and replies
//! A crossbar from the partitions to the SMs, one back for what they answer, and the links around them: of the
//! recalls, where the L2 keeps the L1s coherent, and of the forwards, where a sharing tracker has an L1 supply
//! another.
//!
//! ```text
//!  sm0..n             l1
//!              answer │ ▲ wish
//!                     ▼ │                       crossbar clock
//!     xbar_ack, xbar_ans  xbar_inv, xbar_fwd
//!              answer │ ▲ wish                  credit links of fixed delay
//!                     ▼ │                       L2 clock
//!  partition0..m   l2, tracker
//! ```
//! The links have the delays of those that requests and replies take.

use serde::{Deserialize, Serialize};

use super::wiring::{Channels, open};
use crate::kernel::name::Name;
use crate::kernel::{Block, Chan, ChanSpec, Describe, Edge, Payload, Rx, RxBank, Sleep, Tx, TxBank};
use crate::l2::{Invalidate, InvalidateAck, RecallIo, RecalledIo};
use crate::noc::packet::Packet;
use crate::noc::xbar::{Xbar, XbarConfig, XbarIo};

/// The links of a network, one an SM or a partition.
pub(super) struct SideLinks {
    /// From a partition to the crossbar.
    pub from_partition: Vec<ChanSpec>,
    /// From the crossbar to an L1.
    pub to_l1: Vec<ChanSpec>,
    /// From an L1 to the crossbar of the answers.
    pub from_l1: Vec<ChanSpec>,
    /// From there to a partition.
    pub to_partition: Vec<ChanSpec>,
}

/// What its crossbars and its links are called: towards the SMs, and back.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct SideNames {
    #[serde(with = "crate::kernel::name")]
    pub wish_xbar: Name,
    #[serde(with = "crate::kernel::name")]
    pub answer_xbar: Name,
    #[serde(with = "crate::kernel::name")]
    pub wish: Name,
    #[serde(with = "crate::kernel::name")]
    pub answer: Name,
    /// Channels into the first crossbar.
    #[serde(with = "crate::kernel::name")]
    pub from_partition: Name,
}

/// A network that carries wishes `W` to the SMs and answers `A` back.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct SideNetwork<W: Packet, A: Packet> {
    names: SideNames,
    pub wish_xbar: Xbar<W>,
    pub answer_xbar: Xbar<A>,
    from_partition: Vec<Chan<W>>,
    to_l1: Vec<Chan<W>>,
    from_l1: Vec<Chan<A>>,
    to_partition: Vec<Chan<A>>,
}

/// The network of the recalls.
pub(super) type RecallNetwork = SideNetwork<Invalidate, InvalidateAck>;

impl<S: Clone, W, A> SideNetwork<W, A>
where
    W: Packet + Payload<Shape = S> + 'static,
    A: Packet + Payload<Shape = S> + 'static,
{
    /// An empty network.
    pub fn new(names: SideNames, config: &XbarConfig, links: SideLinks, shape: &S) -> Self {
        let (sms, partitions) = (links.to_l1.len() as u32, links.to_partition.len() as u32);
        Self {
            names,
            wish_xbar: Xbar::new(names.wish_xbar, config, partitions, sms, shape),
            answer_xbar: Xbar::new(names.answer_xbar, config, sms, partitions, shape),
            from_partition: open(links.from_partition, shape),
            to_l1: open(links.to_l1, shape),
            from_l1: open(links.from_l1, shape),
            to_partition: open(links.to_partition, shape),
        }
    }

    /// Every channel, like by like.
    pub fn channels(&self) -> [&dyn Channels; 4] {
        [&self.from_partition, &self.to_l1, &self.from_l1, &self.to_partition]
    }

    /// The same, to be changed.
    pub fn channels_mut(&mut self) -> [&mut dyn Channels; 4] {
        [&mut self.from_partition, &mut self.to_l1, &mut self.from_l1, &mut self.to_partition]
    }

    /// True if no packet is in a crossbar.
    pub fn is_idle(&self) -> bool {
        self.wish_xbar.is_idle() && self.answer_xbar.is_idle()
    }

    /// Charges slept spans to the statistics.
    pub fn settle(&mut self, cycle: u64) {
        self.wish_xbar.settle(cycle);
        self.answer_xbar.settle(cycle);
    }

    /// The ends that an L1 uses.
    pub fn of_l1(&mut self, sm: usize) -> (Rx<'_, W>, Tx<'_, A>) {
        (self.to_l1[sm].rx(), self.from_l1[sm].tx())
    }

    /// The ends that a partition uses.
    pub fn of_partition(&mut self, partition: usize) -> (Tx<'_, W>, Rx<'_, A>) {
        (self.from_partition[partition].tx(), self.to_partition[partition].rx())
    }

    pub fn eval_wishes(&mut self, at: &mut Edge<'_>) -> Sleep {
        let io = XbarIo { from: RxBank(&mut self.from_partition), to: TxBank(&mut self.to_l1) };
        self.wish_xbar.eval(io, at)
    }

    pub fn eval_answers(&mut self, at: &mut Edge<'_>) -> Sleep {
        let io = XbarIo { from: RxBank(&mut self.from_l1), to: TxBank(&mut self.to_partition) };
        self.answer_xbar.eval(io, at)
    }

    /// Lists the crossbar to the L1s behind its links.
    pub fn describe_wishes(&self, to: &mut dyn Describe) {
        for (i, from) in (0..).zip(&self.from_partition) {
            from.describe(self.names.from_partition, Some(i), to);
        }
        self.wish_xbar.describe(to);
    }

    /// Lists the crossbar to the partitions behind its links.
    pub fn describe_answers(&self, to: &mut dyn Describe) {
        for (i, from) in (0..).zip(&self.from_l1) {
            from.describe("inject", Some(i), to);
        }
        self.answer_xbar.describe(to);
    }

    /// Lists the link to an L1.
    pub fn describe_to_l1(&self, sm: usize, to: &mut dyn Describe) {
        self.to_l1[sm].describe(self.names.wish, None, to);
    }

    /// Lists the link to a partition.
    pub fn describe_to_partition(&self, partition: usize, to: &mut dyn Describe) {
        self.to_partition[partition].describe(self.names.answer, None, to);
    }
}

impl RecallNetwork {
    /// What its parts are called.
    pub const NAMES: SideNames = SideNames {
        wish_xbar: "xbar_inv",
        answer_xbar: "xbar_ack",
        wish: "inv",
        answer: "inv_ack",
        from_partition: "from_l2_",
    };

    /// The ends that a load-store unit uses.
    pub fn of_lsu(&mut self, sm: usize) -> RecalledIo<'_> {
        let (inv, inv_ack) = self.of_l1(sm);
        RecalledIo { inv, inv_ack }
    }

    /// The ends that an L2 bank uses.
    pub fn of_bank(&mut self, partition: usize) -> RecallIo<'_> {
        let (inv, inv_ack) = self.of_partition(partition);
        RecallIo { inv, inv_ack }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{BlockId, Wake};
    use crate::l2::RecallShape;

    #[test]
    fn a_stall_that_still_lasts_is_charged_at_the_end() {
        let [partition, xbar, l1] = [0, 1, 2].map(|slot| BlockId { domain: 0, slot });
        let link =
            |path: &str, from, to| vec![ChanSpec { path: path.to_owned(), depth: 2, latency: 1, credit: 1, from, to }];
        let links = SideLinks {
            from_partition: link("from_partition", partition, xbar),
            to_l1: link("to_l1", xbar, l1),
            from_l1: link("from_l1", l1, xbar),
            to_partition: link("to_partition", xbar, partition),
        };
        let shape = RecallShape { line_bits: 25, sm_bits: 1, partition_bits: 1, leaver_bits: 1 };
        let mut network =
            RecallNetwork::new(RecallNetwork::NAMES, &XbarConfig { flit_bytes: 32, buffer_flits: 8 }, links, &shape);
        let mut wake = Wake::new(&[1]);
        // Nobody takes the recalls from the link of the L1: the third is stuck.
        for cycle in 1..20 {
            let (mut recalls, _) = network.of_partition(0);
            let at = &mut Edge::new(cycle, cycle, &mut wake);
            if recalls.ready(at) {
                recalls.push(at, Invalidate::default());
            }
            network.eval_wishes(&mut Edge::new(cycle, cycle, &mut wake));
        }
        let blocked = [20, 100].map(|cycle| {
            network.settle(cycle);
            network.wish_xbar.stats(0).blocked
        });
        assert!(blocked[0] > 0);
        assert_eq!(blocked[1] - blocked[0], 80);
    }
}
