//! # Wiring of the machine
//! ```text
//!              dispatcher
//!              launch │ ▲ done
//!                     ▼ │                       core clock
//!   sm0..n   core ──mem──▶ l1 (LSU + L1D)
//!                 ◀──wb───
//!              inject │ ▲ deliver
//!                     ▼ │                       crossbar clock
//!            xbar_req     xbar_rsp
//!              to_l2  │ ▲ from_l2               credit links of fixed delay
//!                     ▼ │                       L2 clock
//!  partition0..m      l2
//!             dram_req│ ▲ dram_rsp             a pair a channel
//!                     ▼ │                       DRAM clock
//!                    dram0..c
//! ```
//! Where the cores have instruction caches, two links more beside `mem` and `wb`: `wanted`, `brought`.
//! Beside them, in machines whose SMs duel: dueling, told by the L1s of two SMs, telling all.
//! With a throttle there is a side band beside these: `side`, with a coordinator at its end if the scheme has one.
//!
//! Every arrow is a registered channel. The two links between crossbars and L2 banks are the
//! boundary between the SM side and the memory side: either side sees the other only after the
//! link's delay, credits included. Where the L2 recalls lines from L1s, these have a network of their
//! own (`side_network`). A sharing tracker stands between the links and the L2 banks (`tracking`).

mod build;
mod channels;
mod crossbars;
pub(super) mod islands;
mod memory;
mod parts;
mod sms;

pub(super) use channels::{Channels, open};
use memory::Memory;
pub(super) use parts::num_groups;
pub use parts::{CLOCKS, CORE, DRAM, L2, Part, XBAR};
use parts::{XBARS, block_id, domain_of, group_of, sms_of};

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::MachineConfig;
use super::duel::Duel;
use super::fetching::Fetching;
use super::side_network::RecallNetwork;
use super::tracking::Tracking;
use crate::kernel::{AnyEdge, BlockId, Blocks, Chan, Clocks, Describe, Due, Edge, FastEdge, Simulator, Sleep};
use crate::l1::access::{WarpAccess, WarpReply};
use crate::l1::lsu::Lsu;
use crate::noc::packet::{Reply, Request};
use crate::noc::xbar::Xbar;
use crate::sm::{CtaDone, CtaLaunch, Dispatcher, SmCore};
use crate::throttle::Hub;
use crate::throttle::side::SideBand;
use crate::tracker::Tracker;

/// All blocks and all channels.
#[derive(Serialize, Deserialize)]
pub struct Machine {
    #[serde(with = "crate::config::text")]
    pub(super) config: MachineConfig,
    pub(super) clocks: Clocks,
    pub(super) dispatcher: Dispatcher,
    pub(super) cores: Vec<SmCore>,
    pub(super) lsus: Vec<Lsu>,
    pub(super) coordinator: Option<Box<dyn Hub>>,
    pub(super) request_xbar: Xbar<Request>,
    pub(super) reply_xbar: Xbar<Reply>,
    pub(super) memory: Memory,
    launch: Vec<Chan<CtaLaunch>>,
    done: Vec<Chan<CtaDone>>,
    mem: Vec<Chan<WarpAccess>>,
    wb: Vec<Chan<WarpReply>>,
    inject: Vec<Chan<Request>>,
    to_l2: Vec<Chan<Request>>,
    /// From the partitions; behind them, where L1s supply each other, from the SMs.
    from_l2: Vec<Chan<Reply>>,
    deliver: Vec<Chan<Reply>>,
    pub(super) duel: Option<Box<Duel>>,
    /// Where the cores have instruction caches.
    pub(super) fetching: Option<Box<Fetching>>,
    /// By SM; none without a throttle that needs it.
    side: Vec<SideBand>,
    /// Where the L2 keeps the L1s coherent.
    pub(super) recalls: Option<Box<RecallNetwork>>,
    /// Where L1s supply each other.
    pub(super) tracking: Option<Box<Tracking>>,
    /// Any of the parts above that most machines do not have.
    has_schemes: bool,
    /// The core that stopped at a fault first, with the tick: the host asks after every edge.
    pub(super) faulted: Option<(u64, usize)>,
}

impl Machine {
    /// The block behind an id.
    #[must_use]
    pub fn part(&self, block: BlockId) -> Part {
        let slot = usize::from(block.slot);
        match group_of(block.domain) {
            Some(group) => self.part_beside(sms_of(self.cores.len(), group), slot),
            None if block.domain == XBAR => XBARS[slot],
            None if block.domain == DRAM => Part::Dram(slot),
            None if slot < self.config.num_partitions as usize => Part::L2(slot),
            None => Part::Tracker(slot - self.config.num_partitions as usize),
        }
    }

    /// The part in a slot of the domain of these SMs.
    fn part_beside(&self, sms: Range<usize>, slot: usize) -> Part {
        let count = sms.len();
        match slot {
            _ if slot < count => Part::Core(sms.start + slot),
            _ if slot < 2 * count => Part::Lsu(sms.start + slot - count),
            _ if slot == 2 * count => Part::Dispatcher,
            _ if slot == 2 * count + 1 => Part::Coordinator,
            _ => Part::Dueling,
        }
    }

    /// The SMs whose LSUs were evaluated at the last tick, a bit for each.
    #[must_use]
    pub fn lsus_evaluated(&self, sim: &Simulator) -> u128 {
        (0..num_groups(self.config.num_sms)).fold(0, |all, group| {
            let sms = sms_of(self.cores.len(), group);
            // Behind as many cores, and before what is beside the SMs.
            let lsus = sim.evaluated(usize::from(domain_of(group))) >> sms.len() & ((1 << sms.len()) - 1);
            all | lsus << sms.start
        })
    }

    /// The id of a block.
    #[must_use]
    pub fn id(&self, part: Part) -> BlockId {
        block_id(self.config.num_sms, self.config.num_partitions, part)
    }

    /// Starts to keep digests of all memories and channels.
    pub fn record(&mut self) {
        self.cores.iter_mut().for_each(SmCore::record);
        self.lsus.iter_mut().for_each(Lsu::record);
        self.memory.record();
        self.tracking.iter_mut().for_each(|tracking| tracking.trackers.iter_mut().for_each(Tracker::record));
        self.for_channels(|channels| channels.record());
    }

    /// Digest of every beat that crossed any channel, since [`Self::record`].
    #[must_use]
    pub fn beat_digest(&self) -> u64 {
        self.channels().fold(0, |sum: u64, channels| sum.rotate_left(1) ^ channels.history())
    }

    /// CTAs on their way to their SMs.
    pub(super) fn launches_under_way(&self) -> impl Iterator<Item = &CtaLaunch> {
        self.launch.iter().flat_map(Chan::beats)
    }

    /// Warp instructions that load-store units took at a tick, with their SMs: for those who watch from outside.
    pub fn warps_taken(&self, tick: u64) -> impl Iterator<Item = (usize, &WarpAccess)> {
        self.mem.iter().enumerate().filter_map(move |(sm, link)| Some((sm, link.taken_at(tick)?)))
    }

    /// What load-store units answered to them at a tick.
    pub fn warps_answered(&self, tick: u64) -> impl Iterator<Item = (usize, &WarpReply)> {
        self.wb.iter().enumerate().filter_map(move |(sm, link)| Some((sm, link.sent_at(tick)?)))
    }

    /// Requests that L2 banks took at a tick.
    pub fn requests_taken(&self, tick: u64) -> impl Iterator<Item = &Request> {
        let links = self.tracking.as_ref().map_or(&self.to_l2, |tracking| &tracking.to_bank);
        links.iter().filter_map(move |link| link.taken_at(tick))
    }
}

impl Machine {
    /// One edge of the blocks of a domain that are due. `SCHEMES`: there may be parts and ends besides those that every
    /// machine has; without them nothing asks for them.
    #[inline(always)]
    fn eval_domain<const SCHEMES: bool>(&mut self, due: &mut Due, at: &mut impl AnyEdge) {
        match due.domain() {
            CORE => self.eval_sms::<SCHEMES>(due, at),
            XBAR => self.eval_xbars::<SCHEMES>(due, at),
            L2 => self.eval_l2::<SCHEMES>(due, at),
            DRAM => self.memory.eval_drams(due, at),
            _ => self.eval_more_sms::<SCHEMES>(due, at),
        }
    }

    #[inline(never)]
    fn eval_with_schemes(&mut self, due: &mut Due, at: &mut impl AnyEdge) {
        self.eval_domain::<true>(due, at);
    }

    /// One edge of the blocks of a domain that are due, checked or not.
    #[inline(always)]
    fn eval_any(&mut self, due: &mut Due, at: &mut impl AnyEdge) {
        if self.has_schemes {
            self.eval_with_schemes(due, at);
        } else {
            self.eval_domain::<false>(due, at);
        }
    }
}

impl Blocks for Machine {
    fn population(&self) -> Vec<u8> {
        let mut groups =
            (0..num_groups(self.config.num_sms)).map(|group| 2 * sms_of(self.cores.len(), group).len() as u8);
        let (first, partitions) = (groups.next().unwrap_or(0), self.config.num_partitions as u8);
        // The slot of an absent coordinator stays empty below that of dueling.
        let beside = if self.duel.is_some() { 2 } else { u8::from(self.coordinator.is_some()) };
        // So do those of the crossbars of absent recalls below those of forwards.
        let (xbars, per_partition) = match (&self.recalls, &self.tracking) {
            (_, Some(_)) => (6, 2),
            (Some(_), None) => (4, 1),
            (None, None) => (2, 1),
        };
        let others = [xbars, per_partition * partitions, self.config.num_channels() as u8];
        [first + 1 + beside].into_iter().chain(others).chain(groups).collect()
    }

    fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
        let mut due = Due::one(block);
        self.eval_due(&mut due, at);
        due.sleep()
    }

    fn eval_due(&mut self, due: &mut Due, at: &mut Edge<'_>) {
        self.eval_any(due, at);
    }

    // Both ways are compiled in this crate, for all who run a machine.
    fn eval_due_fast(&mut self, due: &mut Due, at: &mut FastEdge<'_>) {
        self.eval_any(due, at);
    }

    fn describe(&self, block: BlockId, to: &mut dyn Describe) {
        match self.part(block) {
            Part::Core(i) => self.describe_core(i, to),
            Part::Lsu(i) => self.describe_lsu(i, to),
            Part::Dueling => {
                if let Some(duel) = &self.duel {
                    duel.describe(to);
                }
            }
            Part::Dispatcher => self.describe_dispatcher(to),
            Part::Coordinator => self.describe_coordinator(to),
            Part::RequestXbar => self.describe_request_xbar(to),
            Part::ReplyXbar => self.describe_reply_xbar(to),
            Part::InvXbar => self.describe_recalls("xbar_inv", RecallNetwork::describe_wishes, to),
            Part::AckXbar => self.describe_recalls("xbar_ack", RecallNetwork::describe_answers, to),
            Part::ForwardXbar => self.describe_forward_xbar(to),
            Part::AnswerXbar => self.describe_answer_xbar(to),
            Part::Tracker(i) => self.describe_tracker(i, to),
            Part::L2(i) => self.describe_bank(i, to),
            Part::Dram(i) => self.describe_dram(i, to),
        }
    }
}
