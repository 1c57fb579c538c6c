//! # A machine from its configuration
//! Builds the blocks and opens the channels between them: a function for each role.

use super::Machine;
use super::channels::open;
use super::memory::Memory;
use super::parts::{CORE, Part, block_id};
use crate::dram::channel::DramChannel;
use crate::dram::message::DramShape;
use crate::kernel::{BlockId, Chan, ChanSpec, Clocks};
use crate::l1::access::AccessShape;
use crate::l1::lsu::{Lsu, LsuPlace};
use crate::l2::{L2Bank, RecallShape};
use crate::machine::duel::Duel;
use crate::machine::fetching::Fetching;
use crate::machine::places::bits_for;
use crate::machine::side_network::{RecallNetwork, SideLinks, SideNetwork};
use crate::machine::tracking::Tracking;
use crate::machine::{LinkConfig, MachineConfig};
use crate::noc::interleave::Interleave;
use crate::noc::packet::{PacketShape, Reply};
use crate::noc::xbar::Xbar;
use crate::sm::{Dispatcher, InstructionCacheConfig, InstructionStore, SmCore};
use crate::throttle::side::{Ends, SideBand};
use crate::throttle::{CorePlace, Hub};
use crate::tracker::{TrackShape, Tracker, TrackerPlace};

/// Bits of a program counter: instructions of one kernel.
const PC_BITS: u32 = 20;

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
        let build = Builder { config, clocks: &clocks, packets: config.packets(), link: &config.link };
        let (sms, partitions) = (config.num_sms, config.num_partitions);
        let dispatcher = build.id(Part::Dispatcher);
        let (request_xbar, reply_xbar) = (build.id(Part::RequestXbar), build.id(Part::ReplyXbar));
        let (packets, access) = (build.packets, build.access());
        let (core, l1) = (|i| build.core_id(i), |i| build.l1_id(i));
        let (to_lsu, to_core) = (config.lsu.request_latency, config.lsu.reply_latency);
        let coordinator = build.coordinator();
        Self {
            recalls: build.is_recalled().then(|| build.recalls()),
            tracking: build.is_tracked().then(|| build.tracking()),
            dispatcher: Dispatcher::new("dispatcher", sms as usize),
            cores: (0..sms).map(|i| build.core(i)).collect(),
            lsus: (0..sms).map(|i| build.lsu(i)).collect(),
            request_xbar: Xbar::new("xbar_req", &config.xbar, sms, partitions, &packets),
            reply_xbar: Xbar::new("xbar_rsp", &config.xbar, partitions + build.supplies(), sms, &packets),
            memory: build.memory(),
            launch: open(build.per_sm(|i| build.deliver_link(format!("sm{i}.core.launch"), dispatcher, core(i))), &()),
            done: open(build.per_sm(|i| build.inject_link(format!("dispatcher.done{i}"), core(i), dispatcher)), &()),
            mem: open(
                build.per_sm(|i| build.delayed(format!("sm{i}.l1.core_req"), (to_lsu, 1), core(i), l1(i))),
                &access,
            ),
            wb: open(build.per_sm(|i| build.delayed(format!("sm{i}.core.wb"), (to_core, 1), l1(i), core(i))), &access),
            inject: open(
                build.per_sm(|i| build.inject_link(format!("xbar_req.inject{i}"), l1(i), request_xbar)),
                &packets,
            ),
            to_l2: open(
                build.per_partition(|i| build.request_link(build.beyond_path(i), request_xbar, build.beyond(i))),
                &packets,
            ),
            from_l2: build.replies(reply_xbar),
            deliver: open(
                build.per_sm(|i| build.deliver_link(format!("sm{i}.l1.mem_rsp"), reply_xbar, l1(i))),
                &packets,
            ),
            duel: config.has_duel().then(|| Box::new(build.duel())),
            fetching: build.icache().map(|icache| Box::new(build.fetching(icache))),
            side: build.side_bands(coordinator.as_deref()),
            coordinator,
            has_schemes: build.has_schemes(),
            faulted: None,
            config: config.clone(),
            clocks,
        }
    }
}

/// A plain link is seen at the receiver's next edge, one tick being less than any period.
fn plain(path: String, from: BlockId, to: BlockId) -> ChanSpec {
    ChanSpec { path, depth: 2, latency: 1, credit: 1, from, to }
}

/// What the roles share while they are built.
struct Builder<'a> {
    config: &'a MachineConfig,
    clocks: &'a Clocks,
    packets: PacketShape,
    link: &'a LinkConfig,
}

impl Builder<'_> {
    fn id(&self, part: Part) -> BlockId {
        block_id(self.config.num_sms, self.config.num_partitions, part)
    }

    fn core_id(&self, sm: u32) -> BlockId {
        self.id(Part::Core(sm as usize))
    }

    fn l1_id(&self, sm: u32) -> BlockId {
        self.id(Part::Lsu(sm as usize))
    }

    fn l2_id(&self, partition: u32) -> BlockId {
        self.id(Part::L2(partition as usize))
    }

    fn tracker_id(&self, partition: u32) -> BlockId {
        self.id(Part::Tracker(partition as usize))
    }

    fn is_recalled(&self) -> bool {
        self.config.l2.recalls()
    }

    fn is_tracked(&self) -> bool {
        self.config.tracker.is_on()
    }

    fn has_schemes(&self) -> bool {
        self.config.throttle.is_on()
            || self.is_recalled()
            || self.is_tracked()
            || self.config.has_duel()
            || self.icache().is_some()
    }

    fn icache(&self) -> Option<&InstructionCacheConfig> {
        match &self.config.sm.icache {
            InstructionStore::Perfect {} => None,
            InstructionStore::Cache(icache) => Some(icache),
        }
    }

    /// SMs that supply others through the reply crossbar.
    fn supplies(&self) -> u32 {
        if self.is_tracked() { self.config.num_sms } else { 0 }
    }

    /// Whoever stands at the memory's end of the links.
    fn beyond(&self, partition: u32) -> BlockId {
        if self.is_tracked() { self.tracker_id(partition) } else { self.l2_id(partition) }
    }

    /// Where requests come out there.
    fn beyond_path(&self, partition: u32) -> String {
        format!("partition{partition}.{}.req", if self.is_tracked() { "tracker" } else { "l2" })
    }

    fn core_cycles(&self, cycles: u32) -> u64 {
        u64::from(cycles) * u64::from(self.clocks.period(usize::from(CORE)))
    }

    fn per_sm(&self, new: impl Fn(u32) -> ChanSpec) -> Vec<ChanSpec> {
        (0..self.config.num_sms).map(new).collect()
    }

    fn per_partition(&self, new: impl Fn(u32) -> ChanSpec) -> Vec<ChanSpec> {
        (0..self.config.num_partitions).map(new).collect()
    }

    /// A delayed link keeps a beat a core cycle in flight; its delays, there and of credits, are in core cycles.
    fn delayed(&self, path: String, (cycles, credit): (u32, u32), from: BlockId, to: BlockId) -> ChanSpec {
        let (latency, credit_ticks) = (self.core_cycles(cycles), self.core_cycles(credit));
        ChanSpec { path, depth: cycles + credit + 2, latency, credit: credit_ticks, from, to }
    }

    /// A link from an SM to what is between SMs and partitions.
    fn inject_link(&self, path: String, from: BlockId, to: BlockId) -> ChanSpec {
        self.near((self.link.inject, self.link.deliver), plain(path, from, to))
    }

    /// A link from there to an SM.
    fn deliver_link(&self, path: String, from: BlockId, to: BlockId) -> ChanSpec {
        self.near((self.link.deliver, self.link.inject), plain(path, from, to))
    }

    /// A plain link that may have delays.
    fn near(&self, (cycles, credit): (u32, u32), plain: ChanSpec) -> ChanSpec {
        let ChanSpec { path, depth, latency, credit: at_once, from, to } = plain;
        let [latency, credit_ticks] =
            [(cycles, latency), (credit, at_once)].map(|(cycles, least)| self.core_cycles(cycles).max(least));
        ChanSpec { path, depth: depth + cycles + credit, latency, credit: credit_ticks, from, to }
    }

    /// A link from a crossbar to a partition.
    fn request_link(&self, path: String, from: BlockId, to: BlockId) -> ChanSpec {
        self.delayed(path, (self.link.request, self.link.reply), from, to)
    }

    /// A link from a partition to a crossbar.
    fn reply_link(&self, path: String, from: BlockId, to: BlockId) -> ChanSpec {
        self.delayed(path, (self.link.reply, self.link.request), from, to)
    }

    /// Widths of the messages between a core and its LSU.
    fn access(&self) -> AccessShape {
        AccessShape {
            addr_bits: self.config.addr_bits,
            pc_bits: PC_BITS,
            halves: self.config.sm.halves(),
            counts_warps: self.config.l1.bypass.judges(),
        }
    }

    fn core(&self, sm: u32) -> SmCore {
        let mut core = SmCore::new(&self.config.sm, &format!("sm{sm}.core"), sm, self.config.num_sms);
        core.set_throttle(&self.config.throttle);
        core.set_instruction_cache(self.packets);
        core
    }

    fn lsu(&self, sm: u32) -> Lsu {
        let config = self.config;
        let place = LsuPlace {
            path: format!("sm{sm}.l1"),
            sm: sm as u8,
            interleave: config.interleave(config.l1.line_bytes),
            line_bits: self.packets.line_bits,
            access: self.access(),
            is_recalled: self.is_recalled(),
            is_tracked: self.is_tracked(),
            has_instructions: self.icache().is_some(),
        };
        let mut lsu = Lsu::new(place, &config.l1, [&config.const_cache, &config.texture_cache], &config.lsu);
        lsu.set_throttle(&config.throttle, &config.l1, config.sm.warps);
        if !config.sm.shared.carve_outs.is_empty() {
            lsu.set_ways(config.l1.ways);
        }
        lsu
    }

    fn duel(&self) -> Duel {
        let own = self.id(Part::Dueling);
        let seen = |i: u32| self.inject_link(format!("dueling.seen{i}"), self.l1_id(i), own);
        let mode = |i: u32| self.deliver_link(format!("sm{i}.l1.mode"), own, self.l1_id(i));
        Duel::new(self.config, seen, mode)
    }

    /// Links with room for as many lines as can be on their way, so that neither side ever has to wait.
    fn fetching(&self, icache: &InstructionCacheConfig) -> Fetching {
        let link = |path, from, to| ChanSpec { depth: icache.mshr_entries.max(2), ..plain(path, from, to) };
        let wanted = self.per_sm(|i| link(format!("sm{i}.l1.wanted"), self.core_id(i), self.l1_id(i)));
        let brought = self.per_sm(|i| link(format!("sm{i}.core.brought"), self.l1_id(i), self.core_id(i)));
        Fetching::new(wanted, brought, &self.packets)
    }

    fn coordinator(&self) -> Option<Box<dyn Hub>> {
        let MachineConfig { throttle, sm, num_sms, .. } = self.config;
        throttle.hub(*num_sms, &CorePlace { path: "coordinator", warps: sm.warps, schedulers: sm.schedulers })
    }

    fn side_bands(&self, hub: Option<&dyn Hub>) -> Vec<SideBand> {
        let side = |i: u32| {
            let ends = Ends { core: self.core_id(i), l1: self.l1_id(i), hub: self.id(Part::Coordinator) };
            SideBand::new(&self.config.throttle, hub, i, self.core_cycles(1), ends)
        };
        (0..self.config.num_sms).filter_map(side).collect()
    }

    /// Into the reply crossbar: from the partitions and, behind them, from the SMs that supply others.
    fn replies(&self, xbar: BlockId) -> Vec<Chan<Reply>> {
        let mut specs = self.per_partition(|i| self.reply_link(format!("xbar_rsp.from_l2_{i}"), self.beyond(i), xbar));
        specs.extend((0..self.supplies()).map(|i| plain(format!("xbar_rsp.supply{i}"), self.l1_id(i), xbar)));
        open(specs, &self.packets)
    }

    /// L2 banks, DRAM channels and the links between them.
    fn memory(&self) -> Memory {
        let config = self.config;
        let dram = DramShape { burst_bits: config.burst_bits(), acknowledges: config.l2.acknowledges() };
        let bank = |i: u32| L2Bank::new(&format!("partition{i}.l2"), &config.l2, config.bank_place(i));
        // Links of a bank are side by side, and so are those of a channel.
        let (per_partition, sharers) = (config.channels_per_partition, config.partitions_per_channel);
        let channel_id = |link: u32| self.id(Part::Dram((link / sharers) as usize));
        let bank_of = |link: u32| self.l2_id(link / per_partition);
        let links = 0..config.num_partitions * per_partition;
        let request = |link: u32| {
            let channel = config.channel_path(link / sharers);
            let nth = if sharers > 1 { (link % sharers).to_string() } else { String::new() };
            plain(format!("{channel}.req{nth}"), bank_of(link), channel_id(link))
        };
        let reply = |link: u32| {
            let nth = if per_partition > 1 { (link % per_partition).to_string() } else { String::new() };
            let path = format!("partition{}.l2.dram_rsp{nth}", link / per_partition);
            self.delayed(path, (self.link.dram_return, 1), channel_id(link), bank_of(link))
        };
        let rounds = Interleave::new(sharers, config.interleave_bytes, config.dram.burst_bytes());
        let channel = |i| DramChannel::shared(&config.dram, &config.channel_path(i), rounds);
        Memory {
            banks: (0..config.num_partitions).map(bank).collect(),
            dram_req: open(links.clone().map(request).collect(), &dram),
            dram_rsp: open(links.map(reply).collect(), &dram),
            drams: (0..config.num_channels()).map(channel).collect(),
        }
    }

    /// The network of the recalls.
    fn recalls(&self) -> Box<RecallNetwork> {
        let l2 = &self.config.l2;
        let shape = RecallShape {
            line_bits: self.packets.line_bits,
            sm_bits: self.packets.sm_bits,
            partition_bits: self.packets.partition_bits,
            leaver_bits: bits_for(l2.mshr_entries + l2.frc_entries()),
        };
        let (wishes, answers) = (self.id(Part::InvXbar), self.id(Part::AckXbar));
        let links = SideLinks {
            from_partition: self
                .per_partition(|i| self.reply_link(format!("xbar_inv.from_l2_{i}"), self.l2_id(i), wishes)),
            to_l1: self.per_sm(|i| self.deliver_link(format!("sm{i}.l1.inv"), wishes, self.l1_id(i))),
            from_l1: self.per_sm(|i| self.inject_link(format!("xbar_ack.inject{i}"), self.l1_id(i), answers)),
            to_partition: self
                .per_partition(|i| self.request_link(format!("partition{i}.l2.inv_ack"), answers, self.l2_id(i))),
        };
        Box::new(RecallNetwork::new(RecallNetwork::NAMES, &self.config.xbar, links, &shape))
    }

    /// The sharing tracker with its links to the L2 banks and its network.
    fn tracking(&self) -> Box<Tracking> {
        let shape = TrackShape {
            line_bits: self.packets.line_bits,
            sm_bits: self.packets.sm_bits,
            partition_bits: self.packets.partition_bits,
            row_bits: bits_for(self.config.tracker.transfers),
        };
        let to_bank = self.per_partition(|i| plain(format!("partition{i}.l2.req"), self.tracker_id(i), self.l2_id(i)));
        let from_bank =
            self.per_partition(|i| plain(format!("partition{i}.tracker.from_bank"), self.l2_id(i), self.tracker_id(i)));
        Box::new(Tracking {
            trackers: (0..self.config.num_partitions).map(|i| self.tracker(i, shape)).collect(),
            to_bank: open(to_bank, &self.config.bank_place(0).packets),
            from_bank: open(from_bank, &self.packets),
            network: SideNetwork::new(Tracking::NAMES, &self.config.xbar, self.forward_links(), &shape),
        })
    }

    fn tracker(&self, partition: u32, shape: TrackShape) -> Tracker {
        let config = self.config;
        let place = TrackerPlace {
            path: format!("partition{partition}.tracker"),
            shape,
            interleave: config.interleave(config.l1.line_bytes),
            num_sms: config.num_sms,
        };
        Tracker::new(place, &config.tracker, config.tracker.scheme.protections())
    }

    /// The links around the crossbars of forwards and their answers.
    fn forward_links(&self) -> SideLinks {
        let (wishes, answers) = (self.id(Part::ForwardXbar), self.id(Part::AnswerXbar));
        SideLinks {
            from_partition: self
                .per_partition(|i| self.reply_link(format!("xbar_fwd.from_tracker{i}"), self.tracker_id(i), wishes)),
            to_l1: self.per_sm(|i| self.deliver_link(format!("sm{i}.l1.forward"), wishes, self.l1_id(i))),
            from_l1: self.per_sm(|i| self.inject_link(format!("xbar_ans.inject{i}"), self.l1_id(i), answers)),
            to_partition: self.per_partition(|i| {
                self.request_link(format!("partition{i}.tracker.answer"), answers, self.tracker_id(i))
            }),
        }
    }
}
