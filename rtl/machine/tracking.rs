//! # Wiring of the sharing tracker
//! A bank of the tracker before each L2 bank, the network of its forwards, and a way for each L1 into the reply
//! crossbar, on which it supplies others. There only in machines that have a tracker.
//!
//! ```text
//!          l1 ──supply──▶ xbar_rsp
//!    answer │ ▲ forward      ▲
//!           ▼ │              │
//!    xbar_ans xbar_fwd       │
//!           ▼ │              │
//!         tracker ───────────┘ ◀── xbar_req
//!           │ ▲
//!           ▼ │
//!           l2
//! ```

use super::side_network::{SideNames, SideNetwork};
use super::wiring::Channels;
use crate::kernel::{Block, Chan, Describe, Due, Edge};
use crate::noc::packet::{Reply, Request};
use crate::tracker::{Answer, Forward, SupplyIo, Tracker, TrackerIo};

/// The tracker with its channels.
pub(super) struct Tracking {
    /// By partition.
    pub trackers: Vec<Tracker>,
    /// Between each of them and its L2 bank.
    pub to_bank: Vec<Chan<Request>>,
    pub from_bank: Vec<Chan<Reply>>,
    pub network: SideNetwork<Forward, Answer>,
}

impl Tracking {
    /// What the parts of its network are called.
    pub const NAMES: SideNames =
        SideNames { xbars: ["xbar_fwd", "xbar_ans"], links: ["forward", "answer"], from_partition: "from_tracker" };

    /// Every channel, like by like.
    pub fn channels(&self) -> impl Iterator<Item = &dyn Channels> {
        let own: [&dyn Channels; 2] = [&self.to_bank, &self.from_bank];
        own.into_iter().chain(self.network.channels())
    }

    /// The same, to be changed.
    pub fn channels_mut(&mut self) -> impl Iterator<Item = &mut dyn Channels> {
        let own: [&mut dyn Channels; 2] = [&mut self.to_bank, &mut self.from_bank];
        own.into_iter().chain(self.network.channels_mut())
    }

    /// True if nothing is under way in it.
    pub fn is_idle(&self) -> bool {
        self.network.is_idle() && self.trackers.iter().all(Tracker::is_idle)
    }

    /// The ends that load-store units use, with their ways into the reply crossbar: none without a tracker.
    pub fn of_lsus<'a>(
        tracking: &'a mut Option<Box<Self>>,
        supplies: &'a mut [Chan<Reply>],
    ) -> impl Iterator<Item = SupplyIo<'a>> {
        let ends = tracking.iter_mut().flat_map(|tracking| tracking.network.of_l1s());
        ends.zip(supplies).map(|((forward, answer), supply)| SupplyIo { forward, answer, supply: supply.tx() })
    }

    /// Each bank of the tracker with its channel ends.
    fn wired<'a>(
        &'a mut self,
        to_l2: &'a mut [Chan<Request>],
        from_l2: &'a mut [Chan<Reply>],
    ) -> impl Iterator<Item = (&'a mut Tracker, TrackerIo<'a>)> {
        let outer = to_l2.iter_mut().zip(from_l2);
        let inner = self.to_bank.iter_mut().zip(&mut self.from_bank);
        let links = outer.zip(inner).zip(self.network.of_partitions());
        self.trackers.iter_mut().zip(links).map(|(tracker, (((req, rsp), (to_bank, from_bank)), (forward, answer)))| {
            let (req, rsp, to_bank, from_bank) = (req.rx(), rsp.tx(), to_bank.tx(), from_bank.rx());
            (tracker, TrackerIo { req, to_bank, from_bank, rsp, forward, answer })
        })
    }

    /// Evaluates the banks that are due.
    pub fn eval_due(
        &mut self,
        to_l2: &mut [Chan<Request>],
        from_l2: &mut [Chan<Reply>],
        due: &mut Due,
        at: &mut Edge<'_>,
    ) {
        let first = self.trackers.len() as u8;
        due.each(first, self.wired(to_l2, from_l2), at, |(tracker, io), at| tracker.eval(io, at));
    }

    /// Lists a bank with the links that end there, but for that of its requests.
    pub fn describe(&self, i: usize, to: &mut dyn Describe) {
        self.from_bank[i].describe("from_bank", None, to);
        self.network.describe_to_partition(i, to);
        self.trackers[i].describe(to);
    }
}
