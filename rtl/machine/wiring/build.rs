//! # A machine from its configuration
//! Builds the blocks and opens the channels between them.

use super::Machine;
use super::channels::open;
use super::memory::Memory;
use super::parts::{CORE, Part, block_id};
use crate::dram::channel::DramChannel;
use crate::dram::message::DramShape;
use crate::kernel::ChanSpec;
use crate::l1::access::AccessShape;
use crate::l1::lsu::{Lsu, LsuPlace};
use crate::l2::{L2Bank, RecallShape};
use crate::machine::MachineConfig;
use crate::machine::duel::Duel;
use crate::machine::places::bits_for;
use crate::machine::side_network::{RecallNetwork, SideLinks, SideNetwork};
use crate::machine::tracking::Tracking;
use crate::noc::xbar::Xbar;
use crate::sm::{Dispatcher, SmCore};
use crate::throttle::config::Scheme;
use crate::throttle::coordinator::Coordinator;
use crate::throttle::side::{Ends, SideBand};
use crate::tracker::{TrackShape, Tracker, TrackerPlace};

/// Bits of a program counter: instructions of one kernel.
const PC_BITS: u32 = 20;

/// Path of the link from a channel back to its bank.
fn dram_rsp_path(config: &MachineConfig, channel: u32) -> String {
    match config.channels_per_partition {
        1 => format!("partition{channel}.l2.dram_rsp"),
        per => format!("partition{}.l2.dram_rsp{}", channel / per, channel % per),
    }
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
        let packets = config.packets();
        let access = AccessShape {
            addr_bits: config.addr_bits,
            pc_bits: PC_BITS,
            halves: config.sm.halves(),
            counts_warps: config.l1.bypass.judges(),
        };
        let is_recalled = config.l2.recalls();
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
                leaver_bits: bits_for(config.l2.mshr_entries + config.l2.frc_entries()),
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
                    &config.bank_place(0).packets,
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
            memory: Memory {
                banks: partitions
                    .clone()
                    .map(|partition| {
                        L2Bank::new(&format!("partition{partition}.l2"), &config.l2, config.bank_place(partition))
                    })
                    .collect(),
                drams: (0..config.num_channels())
                    .map(|i| DramChannel::new(&config.dram, &config.channel_path(i)))
                    .collect(),
                dram_req: open(
                    per_channel(&|i| plain(format!("{}.req", config.channel_path(i)), 2, bank_of(i), channel(i))),
                    &dram,
                ),
                dram_rsp: open(
                    per_channel(&|i| delayed(dram_rsp_path(config, i), link.dram_return, 1, channel(i), bank_of(i))),
                    &dram,
                ),
            },
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
            duel: config.has_duel().then(|| Box::new(Duel::new(config, id(Part::Dueling), l1))),
            side: sms
                .clone()
                .filter_map(|i| {
                    let ends = Ends { core: core(i), l1: l1(i), coordinator: id(Part::Coordinator) };
                    SideBand::new(&config.throttle, i, core_cycles(1), ends)
                })
                .collect(),
            has_schemes: config.throttle.scheme != Scheme::None || is_recalled || is_tracked || config.has_duel(),
            faulted: false,
            config: config.clone(),
            clocks,
        }
    }
}
