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

use serde::{Deserialize, Serialize};

use super::side_network::{SideNames, SideNetwork};
use super::wiring::Channels;
use crate::kernel::{Block, Chan, Describe, Edge, Sleep};
use crate::noc::packet::{Reply, Request};
use crate::tracker::{Answer, Forward, SupplyIo, Tracker, TrackerIo};

/// The tracker with its channels.
#[derive(Serialize, Deserialize)]
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
    pub const NAMES: SideNames = SideNames {
        wish_xbar: "xbar_fwd",
        answer_xbar: "xbar_ans",
        wish: "forward",
        answer: "answer",
        from_partition: "from_tracker",
    };

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

    /// The ends that a load-store unit uses, with its way into the reply crossbar.
    pub fn of_lsu<'a>(&'a mut self, sm: usize, supply: &'a mut Chan<Reply>) -> SupplyIo<'a> {
        let (forward, answer) = self.network.of_l1(sm);
        SupplyIo { forward, answer, supply: supply.tx() }
    }

    /// Evaluates a bank, with its links to the SMs.
    pub fn eval(&mut self, i: usize, req: &mut Chan<Request>, rsp: &mut Chan<Reply>, at: &mut Edge<'_>) -> Sleep {
        let (forward, answer) = self.network.of_partition(i);
        let (to_bank, from_bank) = (self.to_bank[i].tx(), self.from_bank[i].rx());
        self.trackers[i].eval(TrackerIo { req: req.rx(), to_bank, from_bank, rsp: rsp.tx(), forward, answer }, at)
    }

    /// Lists a bank with the links that end there, but for that of its requests.
    pub fn describe(&self, i: usize, to: &mut dyn Describe) {
        self.from_bank[i].describe("from_bank", None, to);
        self.network.describe_to_partition(i, to);
        self.trackers[i].describe(to);
    }
}
