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
//! Beside them, in machines whose SMs duel: dueling, told by the L1s of two SMs, telling all.
//! With a throttle there is a side band beside these: `side`, with the coordinator of `dwt-cs` at its end.
//!
//! Every arrow is a registered channel. The two links between crossbars and L2 banks are the
//! boundary between the SM side and the memory side: either side sees the other only after the
//! link's delay, credits included. Where the L2 recalls lines from L1s, these have a network of their
//! own (`side_network`). A sharing tracker stands between the links and the L2 banks (`tracking`).

use std::iter::once;
use std::mem::take;

use super::MachineConfig;
use super::duel::Duel;
use super::side_network::{RecallNetwork, SideLinks, SideNetwork};
use super::tracking::Tracking;
use crate::dram::channel::{DramChannel, DramIo};
use crate::dram::message::{DramReply, DramRequest, DramShape};
use crate::kernel::{
    Block, BlockId, Blocks, Chan, ChanSpec, Clocks, Describe, DescribeExt, Due, Edge, Payload, RxBank, Sleep, TxBank,
};
use crate::l1::access::{AccessShape, WarpAccess, WarpReply};
use crate::l1::lsu::{Lsu, LsuIo, LsuPlace};
use crate::l2::{BankPlace, Coherence, L2Bank, L2Io, RecallShape};
use crate::noc::interleave::Interleave;
use crate::noc::packet::{PacketShape, Reply, Request};
use crate::noc::xbar::{Xbar, XbarIo};
use crate::sm::{CtaDone, CtaLaunch, Dispatcher, DispatcherIo, SmCore, SmIo};
use crate::throttle::config::Scheme;
use crate::throttle::coordinator::{Coordinator, CoordinatorIo};
use crate::throttle::side::{Ends, SideBand};
use crate::tracker::{TrackShape, Tracker, TrackerPlace};

/// Clock domain of SM cores, LSUs and the dispatcher.
pub const CORE: u8 = 0;
/// Clock domain of the crossbars.
pub const XBAR: u8 = 1;
/// Clock domain of the L2 banks.
pub const L2: u8 = 2;
/// Clock domain of the DRAM channels.
pub const DRAM: u8 = 3;

/// Bits of a program counter: instructions of one kernel.
const PC_BITS: u32 = 20;

/// A block of the machine by its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Core of an SM.
    Core(usize),
    /// Load-store unit and L1D of an SM.
    Lsu(usize),
    /// CTA dispatcher.
    Dispatcher,
    /// Coordinator of a throttle that searches.
    Coordinator,
    /// Request crossbar.
    RequestXbar,
    /// Reply crossbar.
    ReplyXbar,
    /// Crossbar of the recalls, where the L2 keeps the L1s coherent.
    InvXbar,
    /// Crossbar of the answers to them.
    AckXbar,
    /// Crossbar of the forwards, where there is a sharing tracker.
    ForwardXbar,
    /// Crossbar of the answers to them.
    AnswerXbar,
    /// Bank of the sharing tracker, of a partition.
    Tracker(usize),
    /// L2 bank of a partition.
    L2(usize),
    /// DRAM channel, those of a partition side by side.
    Dram(usize),
    /// SM dueling.
    Dueling,
}

/// All blocks and all channels.
pub struct Machine {
    pub(super) config: MachineConfig,
    pub(super) clocks: Clocks,
    pub(super) dispatcher: Dispatcher,
    pub(super) cores: Vec<SmCore>,
    pub(super) lsus: Vec<Lsu>,
    pub(super) coordinator: Option<Coordinator>,
    pub(super) request_xbar: Xbar<Request>,
    pub(super) reply_xbar: Xbar<Reply>,
    pub(super) banks: Vec<L2Bank>,
    pub(super) drams: Vec<DramChannel>,
    launch: Vec<Chan<CtaLaunch>>,
    done: Vec<Chan<CtaDone>>,
    mem: Vec<Chan<WarpAccess>>,
    wb: Vec<Chan<WarpReply>>,
    inject: Vec<Chan<Request>>,
    to_l2: Vec<Chan<Request>>,
    /// From the partitions; behind them, where L1s supply each other, from the SMs.
    from_l2: Vec<Chan<Reply>>,
    deliver: Vec<Chan<Reply>>,
    dram_req: Vec<Chan<DramRequest>>,
    dram_rsp: Vec<Chan<DramReply>>,
    pub(super) duel: Option<Box<Duel>>,
    /// By SM; none without a throttle that needs it.
    side: Vec<SideBand>,
    /// Where the L2 keeps the L1s coherent.
    pub(super) recalls: Option<Box<RecallNetwork>>,
    /// Where L1s supply each other.
    pub(super) tracking: Option<Box<Tracking>>,
    /// Some core has stopped at a fault: the host asks after every edge.
    pub(super) faulted: bool,
}

/// Path of the link from a channel back to its bank.
fn dram_rsp_path(config: &MachineConfig, channel: u32) -> String {
    match config.channels_per_partition {
        1 => format!("partition{channel}.l2.dram_rsp"),
        per => format!("partition{}.l2.dram_rsp{}", channel / per, channel % per),
    }
}

/// Bits that number `count` things.
fn bits_for(count: u32) -> u32 {
    count.max(2).next_power_of_two().ilog2()
}

impl Machine {
    /// Wires a machine.
    ///
    /// # Panics
    /// If the configuration breaks a rule: validate it first.
    #[must_use]
    pub fn new(config: &MachineConfig) -> Self {
        let broken = config.validate();
        assert!(broken.is_empty(), "configuration was not validated: {}", broken[0]);
        let Some(clocks) = config.clocks() else { unreachable!("validated") };
        let packets = PacketShape {
            tracked: config.tracker.is_on(),
            line_bits: config.line_bits(),
            line_bytes: config.l1.line_bytes,
            sm_bits: bits_for(config.num_sms),
            partition_bits: bits_for(config.num_partitions),
        };
        let access = AccessShape { addr_bits: config.addr_bits, pc_bits: PC_BITS, halves: config.sm.halves() };
        let is_recalled = config.l2.coherence == Coherence::Sharers;
        let bank_place = BankPlace {
            packets: PacketShape { tracked: false, ..packets },
            interleave: config.interleave(config.l2.line_bytes),
            partition: 0,
            channels: Interleave::new(
                config.channels_per_partition,
                config.interleave_bytes,
                config.dram.burst_bytes(),
            ),
            line_bytes: config.l2.line_bytes,
            burst_bytes: config.dram.burst_bytes(),
            coherent_l1s: if is_recalled { config.num_sms } else { 0 },
        };
        let dram = DramShape { burst_bits: config.burst_bits() };
        let sms = 0..config.num_sms;
        let partitions = 0..config.num_partitions;
        let core_cycles = |cycles: u32| u64::from(cycles) * u64::from(clocks.period(usize::from(CORE)));
        let id = |part| block_id(config.num_sms, config.num_partitions, part);
        let lsu = |i: u32| {
            let place = LsuPlace {
                path: format!("sm{i}.l1"),
                sm: i as u8,
                interleave: config.interleave(config.l1.line_bytes),
                line_bits: packets.line_bits,
                access,
                is_recalled,
                is_tracked: config.tracker.is_on(),
            };
            let mut lsu = Lsu::new(place, &config.l1, [&config.const_cache, &config.texture_cache], &config.lsu);
            lsu.set_throttle(&config.throttle, &config.l1, config.sm.warps);
            lsu
        };
        let sm_core = |i: u32| {
            let mut core = SmCore::new(&config.sm, &format!("sm{i}.core"), i, config.num_sms);
            core.set_throttle(&config.throttle);
            core
        };
        let most = (config.sm.warps / config.sm.schedulers) as u8;
        let coordinates = config.throttle.scheme == Scheme::DwtCs;
        // A plain link is seen at the receiver's next edge, one tick being less than any period.
        let plain = |path: String, depth, from, to| ChanSpec { path, depth, latency: 1, credit: 1, from, to };
        // A delayed link keeps a beat a core cycle in flight.
        let delayed = |path, cycles: u32, credit: u32, from, to| {
            let (latency, credit_ticks) = (core_cycles(cycles), core_cycles(credit));
            ChanSpec { path, depth: cycles + credit + 2, latency, credit: credit_ticks, from, to }
        };
        let link = &config.link;
        let core = |i: u32| id(Part::Core(i as usize));
        let l1 = |i: u32| id(Part::Lsu(i as usize));
        let l2 = |i: u32| id(Part::L2(i as usize));
        let channel = |i: u32| id(Part::Dram(i as usize));
        let per_channel =
            |new: &dyn Fn(u32) -> ChanSpec| -> Vec<ChanSpec> { (0..config.num_channels()).map(new).collect() };
        let bank_of = |channel: u32| l2(channel / config.channels_per_partition);
        let dispatcher = id(Part::Dispatcher);
        let (request_xbar, reply_xbar) = (id(Part::RequestXbar), id(Part::ReplyXbar));
        let per_sm = |new: &dyn Fn(u32) -> ChanSpec| -> Vec<ChanSpec> { sms.clone().map(new).collect() };
        let per_partition = |new: &dyn Fn(u32) -> ChanSpec| -> Vec<ChanSpec> { partitions.clone().map(new).collect() };
        let recall_network = || {
            let shape = RecallShape {
                line_bits: packets.line_bits,
                sm_bits: packets.sm_bits,
                partition_bits: packets.partition_bits,
                leaver_bits: bits_for(config.l2.mshr_entries + config.l2.frc.entries),
            };
            let (inv_xbar, ack_xbar) = (id(Part::InvXbar), id(Part::AckXbar));
            let links = SideLinks {
                from_partition: per_partition(&|i| {
                    delayed(format!("xbar_inv.from_l2_{i}"), link.reply, link.credit, l2(i), inv_xbar)
                }),
                to_l1: per_sm(&|i| plain(format!("sm{i}.l1.inv"), 2, inv_xbar, l1(i))),
                from_l1: per_sm(&|i| plain(format!("xbar_ack.inject{i}"), 2, l1(i), ack_xbar)),
                to_partition: per_partition(&|i| {
                    delayed(format!("partition{i}.l2.inv_ack"), link.request, link.credit, ack_xbar, l2(i))
                }),
            };
            Box::new(RecallNetwork::new(RecallNetwork::NAMES, &config.xbar, links, &shape))
        };
        let is_tracked = config.tracker.is_on();
        let tracker = |i: u32| id(Part::Tracker(i as usize));
        let tracking = || {
            let shape = TrackShape {
                line_bits: packets.line_bits,
                sm_bits: packets.sm_bits,
                partition_bits: packets.partition_bits,
                row_bits: bits_for(config.tracker.transfers),
            };
            let (forwards, answers) = (id(Part::ForwardXbar), id(Part::AnswerXbar));
            let links = SideLinks {
                from_partition: per_partition(&|i| {
                    delayed(format!("xbar_fwd.from_tracker{i}"), link.reply, link.credit, tracker(i), forwards)
                }),
                to_l1: per_sm(&|i| plain(format!("sm{i}.l1.forward"), 2, forwards, l1(i))),
                from_l1: per_sm(&|i| plain(format!("xbar_ans.inject{i}"), 2, l1(i), answers)),
                to_partition: per_partition(&|i| {
                    delayed(format!("partition{i}.tracker.answer"), link.request, link.credit, answers, tracker(i))
                }),
            };
            let bank = |i: u32| {
                let place = TrackerPlace {
                    path: format!("partition{i}.tracker"),
                    shape,
                    interleave: config.interleave(config.l1.line_bytes),
                    num_sms: config.num_sms,
                };
                Tracker::new(place, &config.tracker, config.tracker.scheme.protections())
            };
            Box::new(Tracking {
                trackers: partitions.clone().map(bank).collect(),
                to_bank: open(
                    per_partition(&|i| plain(format!("partition{i}.l2.req"), 2, tracker(i), l2(i))),
                    &bank_place.packets,
                ),
                from_bank: open(
                    per_partition(&|i| plain(format!("partition{i}.tracker.from_bank"), 2, l2(i), tracker(i))),
                    &packets,
                ),
                network: SideNetwork::new(Tracking::NAMES, &config.xbar, links, &shape),
            })
        };
        // Whoever stands at the memory's end of the links.
        let beyond = |i: u32| if is_tracked { tracker(i) } else { l2(i) };
        let beyond_path = |i: u32| format!("partition{i}.{}.req", if is_tracked { "tracker" } else { "l2" });
        let supplies = if is_tracked { config.num_sms } else { 0 };
        Self {
            recalls: is_recalled.then(recall_network),
            tracking: is_tracked.then(tracking),
            dispatcher: Dispatcher::new("dispatcher", config.num_sms as usize),
            cores: sms.clone().map(sm_core).collect(),
            lsus: sms.clone().map(lsu).collect(),
            coordinator: coordinates
                .then(|| Coordinator::new(&config.throttle.dwt, "coordinator", config.num_sms, most)),
            request_xbar: Xbar::new("xbar_req", &config.xbar, config.num_sms, config.num_partitions, &packets),
            reply_xbar: Xbar::new("xbar_rsp", &config.xbar, config.num_partitions + supplies, config.num_sms, &packets),
            banks: partitions
                .clone()
                .map(|partition| {
                    L2Bank::new(&format!("partition{partition}.l2"), &config.l2, BankPlace { partition, ..bank_place })
                })
                .collect(),
            drams: (0..config.num_channels())
                .map(|i| DramChannel::new(&config.dram, &config.channel_path(i)))
                .collect(),
            launch: open(per_sm(&|i| plain(format!("sm{i}.core.launch"), 2, dispatcher, core(i))), &()),
            done: open(per_sm(&|i| plain(format!("dispatcher.done{i}"), 2, core(i), dispatcher)), &()),
            mem: open(
                per_sm(&|i| delayed(format!("sm{i}.l1.core_req"), config.lsu.request_latency, 1, core(i), l1(i))),
                &access,
            ),
            wb: open(
                per_sm(&|i| delayed(format!("sm{i}.core.wb"), config.lsu.reply_latency, 1, l1(i), core(i))),
                &access,
            ),
            inject: open(per_sm(&|i| plain(format!("xbar_req.inject{i}"), 2, l1(i), request_xbar)), &packets),
            to_l2: open(
                per_partition(&|i| delayed(beyond_path(i), link.request, link.credit, request_xbar, beyond(i))),
                &packets,
            ),
            from_l2: {
                let from_l2 = per_partition(&|i| {
                    delayed(format!("xbar_rsp.from_l2_{i}"), link.reply, link.credit, beyond(i), reply_xbar)
                });
                let supply = (0..supplies).map(|i| plain(format!("xbar_rsp.supply{i}"), 2, l1(i), reply_xbar));
                open(from_l2.into_iter().chain(supply).collect(), &packets)
            },
            deliver: open(per_sm(&|i| plain(format!("sm{i}.l1.mem_rsp"), 2, reply_xbar, l1(i))), &packets),
            dram_req: open(
                per_channel(&|i| plain(format!("{}.req", config.channel_path(i)), 2, bank_of(i), channel(i))),
                &dram,
            ),
            dram_rsp: open(
                per_channel(&|i| delayed(dram_rsp_path(config, i), link.dram_return, 1, channel(i), bank_of(i))),
                &dram,
            ),
            duel: config.has_duel().then(|| Box::new(Duel::new(config, id(Part::Dueling), l1))),
            side: sms
                .clone()
                .filter_map(|i| {
                    let ends = Ends { core: core(i), l1: l1(i), coordinator: id(Part::Coordinator) };
                    SideBand::new(&config.throttle, i, core_cycles(1), ends)
                })
                .collect(),
            faulted: false,
            config: config.clone(),
            clocks,
        }
    }

    /// The block behind an id.
    #[must_use]
    pub fn part(&self, block: BlockId) -> Part {
        let (slot, sms) = (usize::from(block.slot), self.cores.len());
        match block.domain {
            CORE if slot < sms => Part::Core(slot),
            CORE if slot < 2 * sms => Part::Lsu(slot - sms),
            CORE if slot == 2 * sms => Part::Dispatcher,
            CORE if slot == 2 * sms + 1 => Part::Coordinator,
            CORE => Part::Dueling,
            XBAR => XBARS[slot],
            L2 if slot < self.banks.len() => Part::L2(slot),
            L2 => Part::Tracker(slot - self.banks.len()),
            _ => Part::Dram(slot),
        }
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
        self.banks.iter_mut().for_each(L2Bank::record);
        self.drams.iter_mut().for_each(DramChannel::record);
        self.tracking.iter_mut().for_each(|tracking| tracking.trackers.iter_mut().for_each(Tracker::record));
        self.for_channels(|channels| channels.record());
    }

    /// Digest of every beat that crossed any channel, since [`Self::record`].
    #[must_use]
    pub fn beat_digest(&self) -> u64 {
        self.channels().fold(0, |sum: u64, channels| sum.rotate_left(1) ^ channels.history())
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

    /// True when no channel holds a beat.
    #[must_use]
    pub(super) fn channels_empty(&self) -> bool {
        self.channels().all(|channels| channels.are_empty())
    }

    /// Every channel of the machine, like by like.
    fn channels(&self) -> impl Iterator<Item = &dyn Channels> {
        let always: [&dyn Channels; 11] = [
            &self.launch,
            &self.done,
            &self.mem,
            &self.wb,
            &self.inject,
            &self.to_l2,
            &self.from_l2,
            &self.deliver,
            &self.dram_req,
            &self.dram_rsp,
            &self.side,
        ];
        let duel = self.duel.iter().flat_map(|duel| [&duel.seen as &dyn Channels, &duel.mode]);
        let recalls = self.recalls.iter().flat_map(|recalls| recalls.channels());
        let tracking = self.tracking.iter().flat_map(|tracking| tracking.channels());
        always.into_iter().chain(duel).chain(recalls).chain(tracking)
    }

    fn for_channels(&mut self, each: impl FnMut(&mut dyn Channels)) {
        let always: [&mut dyn Channels; 11] = [
            &mut self.launch,
            &mut self.done,
            &mut self.mem,
            &mut self.wb,
            &mut self.inject,
            &mut self.to_l2,
            &mut self.from_l2,
            &mut self.deliver,
            &mut self.dram_req,
            &mut self.dram_rsp,
            &mut self.side,
        ];
        let duel = self.duel.iter_mut().flat_map(|duel| [&mut duel.seen as &mut dyn Channels, &mut duel.mode]);
        let recalls = self.recalls.iter_mut().flat_map(|recalls| recalls.channels_mut());
        let tracking = self.tracking.iter_mut().flat_map(|tracking| tracking.channels_mut());
        always.into_iter().chain(duel).chain(recalls).chain(tracking).for_each(each);
    }
}

/// Like channels, whatever they carry.
pub(super) trait Channels {
    /// Starts to keep digests of all beats.
    fn record(&mut self);
    /// Digest of all beats so far.
    fn history(&self) -> u64;
    /// True when none holds a beat.
    fn are_empty(&self) -> bool;
}

impl Channels for Vec<SideBand> {
    fn record(&mut self) {
        self.iter_mut().for_each(SideBand::record);
    }

    fn history(&self) -> u64 {
        self.iter().fold(0, |sum: u64, side| sum.rotate_left(7) ^ side.history())
    }

    fn are_empty(&self) -> bool {
        self.iter().all(SideBand::is_empty)
    }
}

impl<T: Payload> Channels for Vec<Chan<T>> {
    fn record(&mut self) {
        self.iter_mut().for_each(Chan::record);
    }

    fn history(&self) -> u64 {
        self.iter().fold(0, |sum: u64, channel| sum.rotate_left(7) ^ channel.history())
    }

    fn are_empty(&self) -> bool {
        self.iter().all(Chan::is_empty)
    }
}

/// Blocks of the crossbars' clock domain, in the order of their slots.
const XBARS: [Part; 6] =
    [Part::RequestXbar, Part::ReplyXbar, Part::InvXbar, Part::AckXbar, Part::ForwardXbar, Part::AnswerXbar];

fn block_id(num_sms: u32, num_partitions: u32, part: Part) -> BlockId {
    let sms = num_sms as usize;
    let (domain, slot) = match part {
        Part::Core(i) => (CORE, i),
        Part::Lsu(i) => (CORE, sms + i),
        Part::Dispatcher => (CORE, 2 * sms),
        Part::Coordinator => (CORE, 2 * sms + 1),
        Part::Dueling => (CORE, 2 * sms + 2),
        Part::RequestXbar => (XBAR, 0),
        Part::ReplyXbar => (XBAR, 1),
        Part::InvXbar => (XBAR, 2),
        Part::AckXbar => (XBAR, 3),
        Part::ForwardXbar => (XBAR, 4),
        Part::AnswerXbar => (XBAR, 5),
        Part::L2(i) => (L2, i),
        Part::Tracker(i) => (L2, num_partitions as usize + i),
        Part::Dram(i) => (DRAM, i),
    };
    BlockId { domain, slot: slot as u8 }
}

pub(super) fn open<T: Payload>(specs: Vec<ChanSpec>, shape: &T::Shape) -> Vec<Chan<T>> {
    specs.into_iter().map(|spec| Chan::new(spec, shape.clone())).collect()
}

/// Every block with the channel ends that it is lent for an edge.
impl Machine {
    fn wired_cores(&mut self) -> impl Iterator<Item = (&mut SmCore, SmIo<'_>)> {
        let links = self.launch.iter_mut().zip(&mut self.done).zip(&mut self.mem).zip(&mut self.wb);
        self.cores.iter_mut().zip(links).map(|(core, (((launch, done), mem), wb))| {
            (core, SmIo { launch: launch.rx(), done: done.tx(), mem: mem.tx(), wb: wb.rx() })
        })
    }

    fn wired_lsus(&mut self) -> impl Iterator<Item = (&mut Lsu, LsuIo<'_>)> {
        let links = self.mem.iter_mut().zip(&mut self.wb).zip(&mut self.inject).zip(&mut self.deliver);
        self.lsus.iter_mut().zip(links).map(|(lsu, (((mem, wb), inject), deliver))| {
            let (core_req, core_rsp, mem_req, mem_rsp) = (mem.rx(), wb.tx(), inject.tx(), deliver.rx());
            (lsu, LsuIo { core_req, core_rsp, mem_req, mem_rsp, duel: None, recall: None, supply: None })
        })
    }

    /// The same in a machine whose SMs may duel or supply each other, and whose L2 may recall lines.
    fn wired_lsus_of_schemes(&mut self) -> impl Iterator<Item = (&mut Lsu, LsuIo<'_>)> {
        let links = self.mem.iter_mut().zip(&mut self.wb).zip(&mut self.inject).zip(&mut self.deliver);
        let mut duels = self.duel.iter_mut().flat_map(|duel| duel.of_lsus());
        let mut recalls = RecallNetwork::of_lsus(&mut self.recalls);
        let mut supplies = Tracking::of_lsus(&mut self.tracking, &mut self.from_l2[self.banks.len()..]);
        self.lsus.iter_mut().zip(links).map(move |(lsu, (((mem, wb), inject), deliver))| {
            let (duel, recall, supply) = (duels.next(), recalls.next(), supplies.next());
            let (core_req, core_rsp, mem_req, mem_rsp) = (mem.rx(), wb.tx(), inject.tx(), deliver.rx());
            (lsu, LsuIo { core_req, core_rsp, mem_req, mem_rsp, duel, recall, supply })
        })
    }

    /// Evaluates the SMs that are due of a machine with side bands, and the coordinator.
    #[inline(never)]
    fn eval_throttled(&mut self, due: &mut Due, at: &mut Edge<'_>) {
        let sms = self.cores.len() as u8;
        let mut faulted = false;
        let mut sides = take(&mut self.side);
        due.each(0, self.wired_cores().zip(&mut sides), at, |((core, io), side), at| {
            let sleep = core.eval_throttled(io, side, at);
            faulted |= core.fault().is_some();
            sleep
        });
        due.each(sms, self.wired_lsus_of_schemes().zip(&mut sides), at, |((lsu, io), side), at| {
            lsu.eval_throttled(io, side, at)
        });
        self.faulted |= faulted;
        self.side = sides;
        if self.coordinator.is_some() {
            due.each(2 * sms + 1, once(self), at, Self::eval_coordinator);
        }
    }

    fn wired_banks(&mut self) -> impl Iterator<Item = (&mut L2Bank, L2Io<'_>)> {
        let channels = self.config.channels_per_partition as usize;
        let to_drams = self.dram_req.chunks_mut(channels).zip(self.dram_rsp.chunks_mut(channels));
        let (to_banks, from_banks) = match &mut self.tracking {
            None => (&mut self.to_l2, &mut self.from_l2),
            Some(tracking) => (&mut tracking.to_bank, &mut tracking.from_bank),
        };
        let links = to_banks.iter_mut().zip(from_banks).zip(to_drams);
        let mut recalls = RecallNetwork::of_banks(&mut self.recalls);
        self.banks.iter_mut().zip(links).map(move |(bank, ((req, rsp), (dram_req, dram_rsp)))| {
            let recall = recalls.next();
            let (dram_req, dram_rsp) = (TxBank(dram_req), RxBank(dram_rsp));
            (bank, L2Io { req: req.rx(), rsp: rsp.tx(), dram_req, dram_rsp, recall })
        })
    }

    fn wired_drams(&mut self) -> impl Iterator<Item = (&mut DramChannel, DramIo<'_>)> {
        let links = self.dram_req.iter_mut().zip(&mut self.dram_rsp);
        self.drams.iter_mut().zip(links).map(|(dram, (req, rsp))| (dram, DramIo { req: req.rx(), rsp: rsp.tx() }))
    }

    fn eval_dispatcher(&mut self, at: &mut Edge<'_>) -> Sleep {
        let io = DispatcherIo { launch: TxBank(&mut self.launch), done: RxBank(&mut self.done) };
        self.dispatcher.eval(io, at)
    }

    fn eval_coordinator(&mut self, at: &mut Edge<'_>) -> Sleep {
        let Some(coordinator) = &mut self.coordinator else { return Sleep::UntilEvent };
        coordinator.eval(CoordinatorIo(&mut self.side), at)
    }

    fn eval_request_xbar(&mut self, at: &mut Edge<'_>) -> Sleep {
        let io = XbarIo { from: RxBank(&mut self.inject), to: TxBank(&mut self.to_l2) };
        self.request_xbar.eval(io, at)
    }

    fn eval_reply_xbar(&mut self, at: &mut Edge<'_>) -> Sleep {
        let io = XbarIo { from: RxBank(&mut self.from_l2), to: TxBank(&mut self.deliver) };
        self.reply_xbar.eval(io, at)
    }

    fn eval_inv_xbar(&mut self, at: &mut Edge<'_>) -> Sleep {
        self.recalls.as_mut().map_or(Sleep::UntilEvent, |recalls| recalls.eval_wishes(at))
    }

    fn eval_ack_xbar(&mut self, at: &mut Edge<'_>) -> Sleep {
        self.recalls.as_mut().map_or(Sleep::UntilEvent, |recalls| recalls.eval_answers(at))
    }

    fn eval_forward_xbar(&mut self, at: &mut Edge<'_>) -> Sleep {
        self.tracking.as_mut().map_or(Sleep::UntilEvent, |tracking| tracking.network.eval_wishes(at))
    }

    fn eval_answer_xbar(&mut self, at: &mut Edge<'_>) -> Sleep {
        self.tracking.as_mut().map_or(Sleep::UntilEvent, |tracking| tracking.network.eval_answers(at))
    }
}

impl Machine {
    fn describe_channel(&self, channel: usize, to: &mut dyn Describe) {
        self.dram_req[channel].describe("req", None, to);
        self.drams[channel].describe(to);
    }

    fn describe_recalls(&self, name: &'static str, list: fn(&RecallNetwork, &mut dyn Describe), to: &mut dyn Describe) {
        if let Some(recalls) = &self.recalls {
            to.part(name, |to| list(recalls, to));
        }
    }
}

/// One of like parts.
fn nth<P>(mut parts: impl Iterator<Item = P>, i: usize) -> P {
    match parts.nth(i) {
        Some(part) => part,
        None => unreachable!("block {i} of its kind is beyond the population"),
    }
}

impl Blocks for Machine {
    fn population(&self) -> Vec<u8> {
        let (sms, partitions) = (self.config.num_sms as u8, self.config.num_partitions as u8);
        // The slot of an absent coordinator stays empty below that of dueling.
        let beside = if self.duel.is_some() { 2 } else { u8::from(self.coordinator.is_some()) };
        // So do those of the crossbars of absent recalls below those of forwards.
        let (xbars, per_partition) = match (&self.recalls, &self.tracking) {
            (_, Some(_)) => (6, 2),
            (Some(_), None) => (4, 1),
            (None, None) => (2, 1),
        };
        vec![2 * sms + 1 + beside, xbars, per_partition * partitions, self.drams.len() as u8]
    }

    fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
        match self.part(block) {
            Part::Core(i) => {
                let mut sides = take(&mut self.side);
                let (core, io) = nth(self.wired_cores(), i);
                let sleep = match sides.get_mut(i) {
                    Some(side) => core.eval_throttled(io, side, at),
                    None => core.eval(io, at),
                };
                self.side = sides;
                self.faulted |= self.cores[i].fault().is_some();
                sleep
            }
            Part::Lsu(i) => {
                let mut sides = take(&mut self.side);
                let (lsu, io) = nth(self.wired_lsus_of_schemes(), i);
                let sleep = match sides.get_mut(i) {
                    Some(side) => lsu.eval_throttled(io, side, at),
                    None => lsu.eval(io, at),
                };
                self.side = sides;
                sleep
            }
            Part::Dispatcher => self.eval_dispatcher(at),
            Part::Coordinator => self.eval_coordinator(at),
            Part::Dueling => self.duel.as_mut().map_or(Sleep::UntilEvent, |duel| duel.eval(at)),
            Part::RequestXbar => self.eval_request_xbar(at),
            Part::ReplyXbar => self.eval_reply_xbar(at),
            Part::InvXbar => self.eval_inv_xbar(at),
            Part::AckXbar => self.eval_ack_xbar(at),
            Part::ForwardXbar => self.eval_forward_xbar(at),
            Part::AnswerXbar => self.eval_answer_xbar(at),
            Part::Tracker(i) => {
                let Some(tracking) = &mut self.tracking else { return Sleep::UntilEvent };
                tracking.eval(i, &mut self.to_l2, &mut self.from_l2, at)
            }
            Part::L2(i) => {
                let (bank, io) = nth(self.wired_banks(), i);
                bank.eval(io, at)
            }
            Part::Dram(i) => {
                let (dram, io) = nth(self.wired_drams(), i);
                dram.eval(io, at)
            }
        }
    }

    fn eval_due(&mut self, due: &mut Due, at: &mut Edge<'_>) {
        match due.domain() {
            CORE => {
                let sms = self.cores.len() as u8;
                if self.side.is_empty() {
                    let mut faulted = false;
                    due.each(0, self.wired_cores(), at, |(core, io), at| {
                        let sleep = core.eval(io, at);
                        faulted |= core.fault().is_some();
                        sleep
                    });
                    self.faulted |= faulted;
                    if self.duel.is_none() && self.recalls.is_none() && self.tracking.is_none() {
                        due.each(sms, self.wired_lsus(), at, |(lsu, io), at| lsu.eval(io, at));
                    } else {
                        due.each(sms, self.wired_lsus_of_schemes(), at, |(lsu, io), at| lsu.eval(io, at));
                    }
                } else {
                    self.eval_throttled(due, at);
                }
                if self.duel.is_some() {
                    due.each(2 * sms + 2, self.duel.iter_mut(), at, |duel, at| duel.eval(at));
                }
                due.each(2 * sms, once(self), at, Self::eval_dispatcher);
            }
            XBAR => {
                due.each(0, once(&mut *self), at, Self::eval_request_xbar);
                due.each(1, once(&mut *self), at, Self::eval_reply_xbar);
                if self.recalls.is_some() {
                    due.each(2, once(&mut *self), at, Self::eval_inv_xbar);
                    due.each(3, once(&mut *self), at, Self::eval_ack_xbar);
                }
                if self.tracking.is_some() {
                    due.each(4, once(&mut *self), at, Self::eval_forward_xbar);
                    due.each(5, once(self), at, Self::eval_answer_xbar);
                }
            }
            L2 => {
                due.each(0, self.wired_banks(), at, |(bank, io), at| bank.eval(io, at));
                if let Some(tracking) = &mut self.tracking {
                    tracking.eval_due(&mut self.to_l2, &mut self.from_l2, due, at);
                }
            }
            _ => due.each(0, self.wired_drams(), at, |(dram, io), at| dram.eval(io, at)),
        }
    }

    fn describe(&self, block: BlockId, to: &mut dyn Describe) {
        let coordinates = self.coordinator.is_some();
        match self.part(block) {
            Part::Core(i) => to.parts("sm", i as u32, |to| {
                to.part("core", |to| {
                    self.launch[i].describe("launch", None, to);
                    self.wb[i].describe("wb", None, to);
                    if let Some(side) = self.side.get(i) {
                        side.misses.describe("misses", None, to);
                        if coordinates {
                            side.orders.describe("orders", None, to);
                        }
                    }
                    self.cores[i].describe(to);
                });
            }),
            Part::Lsu(i) => to.parts("sm", i as u32, |to| {
                to.part("l1", |to| {
                    self.mem[i].describe("core_req", None, to);
                    self.deliver[i].describe("mem_rsp", None, to);
                    if let Some(side) = self.side.get(i).filter(|_| coordinates) {
                        side.periods.describe("periods", None, to);
                    }
                    if let Some(duel) = &self.duel {
                        duel.mode[i].describe("mode", None, to);
                    }
                    if let Some(recalls) = &self.recalls {
                        recalls.describe_to_l1(i, to);
                    }
                    if let Some(tracking) = &self.tracking {
                        tracking.network.describe_to_l1(i, to);
                    }
                    self.lsus[i].describe(to);
                });
            }),
            Part::Dueling => {
                if let Some(duel) = &self.duel {
                    duel.describe(to);
                }
            }
            Part::Dispatcher => to.part("dispatcher", |to| {
                for (i, done) in (0..).zip(&self.done) {
                    done.describe("done", Some(i), to);
                }
                self.dispatcher.describe(to);
            }),
            Part::Coordinator => to.part("coordinator", |to| {
                for (i, side) in (0..).zip(&self.side) {
                    side.reports.describe("reports", Some(i), to);
                }
                if let Some(coordinator) = &self.coordinator {
                    coordinator.describe(to);
                }
            }),
            Part::RequestXbar => to.part("xbar_req", |to| {
                for (i, inject) in (0..).zip(&self.inject) {
                    inject.describe("inject", Some(i), to);
                }
                self.request_xbar.describe(to);
            }),
            Part::ReplyXbar => to.part("xbar_rsp", |to| {
                let (from_l2, supplies) = self.from_l2.split_at(self.banks.len());
                for (i, from) in (0..).zip(from_l2) {
                    from.describe("from_l2_", Some(i), to);
                }
                for (i, supply) in (0..).zip(supplies) {
                    supply.describe("supply", Some(i), to);
                }
                self.reply_xbar.describe(to);
            }),
            Part::InvXbar => self.describe_recalls("xbar_inv", RecallNetwork::describe_wishes, to),
            Part::AckXbar => self.describe_recalls("xbar_ack", RecallNetwork::describe_answers, to),
            Part::ForwardXbar => {
                if let Some(tracking) = &self.tracking {
                    to.part("xbar_fwd", |to| tracking.network.describe_wishes(to));
                }
            }
            Part::AnswerXbar => {
                if let Some(tracking) = &self.tracking {
                    to.part("xbar_ans", |to| tracking.network.describe_answers(to));
                }
            }
            Part::Tracker(i) => {
                if let Some(tracking) = &self.tracking {
                    to.parts("partition", i as u32, |to| {
                        to.part("tracker", |to| {
                            self.to_l2[i].describe("req", None, to);
                            tracking.describe(i, to);
                        });
                    });
                }
            }
            Part::L2(i) => to.parts("partition", i as u32, |to| {
                to.part("l2", |to| {
                    self.tracking.as_ref().map_or(&self.to_l2, |tracking| &tracking.to_bank)[i]
                        .describe("req", None, to);
                    let channels = self.config.channels_per_partition as usize;
                    for (c, rsp) in (0..).zip(&self.dram_rsp[i * channels..][..channels]) {
                        rsp.describe("dram_rsp", (channels > 1).then_some(c), to);
                    }
                    if let Some(recalls) = &self.recalls {
                        recalls.describe_to_partition(i, to);
                    }
                    self.banks[i].describe(to);
                });
            }),
            Part::Dram(i) => {
                let channels = self.config.channels_per_partition;
                to.parts("partition", i as u32 / channels, |to| match channels {
                    1 => to.part("dram", |to| self.describe_channel(i, to)),
                    _ => to.parts("dram", i as u32 % channels, |to| self.describe_channel(i, to)),
                });
            }
        }
    }
}
