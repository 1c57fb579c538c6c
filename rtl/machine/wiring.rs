//! # Wiring of the machine
//! Builds the netlist of a machine from its configuration.
//! ```text
//!              dispatcher
//!              launch │ ▲ done
//!                     ▼ │                       core clock
//!   sm0..n   core ──mem──▶ l1 (LSU + L1D)
//!                 ◀──wb───
//!             mem_req │ ▲ mem_rsp
//!                     ▼ │                       crossbar clock
//!            xbar_req     xbar_rsp
//!                 req │ ▲ rsp                   credit links of fixed delay
//!                     ▼ │                       L2 clock
//!  partition0..m      l2
//!             dram_req│ ▲ dram_rsp              one pair per channel
//!                     ▼ │                       DRAM clock
//!                    dram0..c
//! ```
//! Every arrow is a link of the netlist, a registered channel. Depending on the configuration, there are
//! additional links for instruction caches (`wanted`, `brought`), for the messages between a throttle and its
//! coordinator, and for SM dueling. If the L2 keeps the L1s coherent, there is a network of recalls. A
//! sharing tracker, if there is one, is connected between the crossbars and the L2 banks, and has additional
//! networks to the L1s.

use super::MachineConfig;
use super::node::Node;
use super::units::{Coordinator, Roles, Wires};
use crate::dram::channel::DramChannel;
use crate::kernel::{Carries, Clocks, Family, HasPorts, In, LinkSpec, Net, Of, Out, Path, Payload, Unit, bits_for};
use crate::l1::access::AccessShape;
use crate::l1::dueling::{Dueling, LEADERS};
use crate::l1::lsu::{Lsu, LsuPlace};
use crate::l2::{Invalidate, InvalidateAck, L2Bank, RecallShape};
use crate::noc::interleave::Interleave;
use crate::noc::packet::{Packet, PacketShape, Reply, Request};
use crate::noc::router::{Router, RouterPlace};
use crate::noc::topology::Topology;
use crate::noc::xbar::Xbar;
use crate::sm::{Dispatcher, InstructionStore, SmCore};
use crate::throttle::CorePlace;
use crate::tracker::{Answer, Forward, TrackShape, Tracker, TrackerPlace};

/// Clock domain of the SM cores, the load-store units and the CTA dispatcher.
pub const CORE: u8 = 0;
/// Clock domain of the networks (crossbars or routers).
pub const XBAR: u8 = 1;
/// Clock domain of the L2 banks.
pub const L2: u8 = 2;
/// Clock domain of the DRAM channels.
pub const DRAM: u8 = 3;

/// Names of the clocks of the domains [`CORE`], [`XBAR`], [`L2`] and [`DRAM`], in this order. Waveforms use
/// these names.
pub const CLOCKS: [&str; 4] = ["core_clk", "xbar_clk", "l2_clk", "dram_clk"];

/// Width of a program counter in bits. A program counter is an instruction number within one kernel.
const PC_BITS: u32 = 20;

/// Netlist of a machine, which contains its hardware blocks and links.
pub(super) type MachineNet = Net<Wires, Roles>;

/// Handles for the kinds of hardware blocks of a machine.
#[derive(Clone, Copy)]
pub(super) struct Kinds {
    pub cores: Family<SmCore>,
    pub lsus: Family<Lsu>,
    pub dispatchers: Family<Dispatcher>,
    pub requests: Family<Node<Request>>,
    pub replies: Family<Node<Reply>>,
    pub banks: Family<L2Bank>,
    pub drams: Family<DramChannel>,
    /// Central unit (hub) of the throttle, to which all cores report; `None` if the throttle has no such
    /// unit.
    pub hub: Option<Family<Coordinator>>,
    /// Controller of SM dueling; `None` if SMs do not duel.
    pub duel: Option<Family<Dueling>>,
    /// Networks of recalls and acknowledgments; `None` if the L2 does not keep the L1s coherent.
    pub recalls: Option<Recalls>,
    /// Sharing tracker and its networks; `None` if L1s do not supply lines to each other.
    pub tracking: Option<Tracking>,
}

/// Networks of recalls from the L2 banks to the L1s, and of their acknowledgments.
#[derive(Clone, Copy)]
pub(super) struct Recalls {
    pub wishes: Family<Node<Invalidate>>,
    pub answers: Family<Node<InvalidateAck>>,
}

/// Sharing tracker in front of the L2 banks, with two networks: for the loads that it forwards to L1s, and
/// for the answers of the L1s.
#[derive(Clone, Copy)]
pub(super) struct Tracking {
    pub trackers: Family<Tracker>,
    pub forwards: Family<Node<Forward>>,
    pub answers: Family<Node<Answer>>,
}

/// Builds the netlist of a machine from its configuration, which must have been validated.
pub(super) fn wire(config: &MachineConfig, clocks: &Clocks) -> (MachineNet, Kinds) {
    let mut net = Net::new(clocks, CLOCKS.len());
    let [cycle, hop] = [CORE, XBAR].map(|clock| u64::from(clocks.period(usize::from(clock))));
    let links = Links { config, cycle, hop, topology: config.topology(), packets: config.packets() };
    let kinds = add_blocks(&mut net, &links);
    link_sms(&mut net, &kinds, &links);
    link_partitions(&mut net, &kinds, &links);
    link_drams(&mut net, &kinds, &links);
    link_instruction_caches(&mut net, &kinds, &links);
    link_throttle(&mut net, &kinds, &links);
    link_dueling(&mut net, &kinds, &links);
    link_recalls(&mut net, &kinds, &links);
    link_forwards(&mut net, &kinds, &links);
    let dispatchers = net.all(kinds.dispatchers).len();
    net.finish((0..dispatchers).map(|i| (kinds.dispatchers, i)));
    (net, kinds)
}

fn root_path(name: &'static str) -> Path {
    vec![(name, None)]
}

fn add_blocks(net: &mut MachineNet, links: &Links<'_>) -> Kinds {
    let config = links.config;
    let (sms, partitions, packets) = (config.num_sms as usize, config.num_partitions as usize, config.packets());
    let at_sms: Vec<usize> = (0..sms).map(|i| links.at_sm(i)).collect();
    let at_partitions: Vec<usize> = (0..partitions).map(|i| links.at_partition(i)).collect();
    let in_sm = |i: usize, unit| vec![("sm", Some(i as u32)), (unit, None)];
    let in_partition = |i: usize, unit| vec![("partition", Some(i as u32)), (unit, None)];
    let is_tracked = config.tracker.is_on();
    let supplies: &[usize] = if is_tracked { &at_sms } else { &[] };
    let bank = |i: usize| L2Bank::new(&format!("partition{i}.l2"), &config.l2, config.bank_place(i as u32));
    let rounds = Interleave::new(config.partitions_per_channel, config.interleave_bytes, config.dram.burst_bytes());
    let channel = |i| DramChannel::with_sharers(&config.dram, &config.channel_path(i), rounds, config.num_sms);
    let core_place = CorePlace { path: "coordinator", warps: config.sm.warps, schedulers: config.sm.schedulers };
    let hub = config.throttle.hub(config.num_sms, &core_place);
    Kinds {
        cores: net.add(CORE, (0..sms).map(|i| (in_sm(i, "core"), new_core(config, i)))),
        lsus: net.add(CORE, (0..sms).map(|i| (in_sm(i, "l1"), new_lsu(config, i)))),
        dispatchers: net.add(CORE, [(root_path("dispatcher"), Dispatcher::new("dispatcher", sms))]),
        hub: hub.map(|hub| net.add(CORE, [(root_path("coordinator"), Coordinator(hub))])),
        duel: config
            .has_duel()
            .then(|| net.add(CORE, [(root_path("dueling"), Dueling::new(config.l1.dueling, config.num_sms))])),
        requests: add_network(net, links, ["xbar_req", "noc_req"], [&at_sms, &at_partitions], &packets),
        replies: add_network(
            net,
            links,
            ["xbar_rsp", "noc_rsp"],
            [&[&at_partitions, supplies].concat(), &at_sms],
            &packets,
        ),
        recalls: config.l2.recalls().then(|| {
            let shape = recall_shape(config);
            let wishes = add_network(net, links, ["xbar_inv", "noc_inv"], [&at_partitions, &at_sms], &shape);
            Recalls {
                wishes,
                answers: add_network(net, links, ["xbar_ack", "noc_ack"], [&at_sms, &at_partitions], &shape),
            }
        }),
        banks: net.add(L2, (0..partitions).map(|i| (in_partition(i, "l2"), bank(i)))),
        tracking: is_tracked.then(|| {
            let shape = track_shape(config);
            Tracking {
                forwards: add_network(net, links, ["xbar_fwd", "noc_fwd"], [&at_partitions, &at_sms], &shape),
                answers: add_network(net, links, ["xbar_ans", "noc_ans"], [&at_sms, &at_partitions], &shape),
                trackers: net.add(L2, (0..partitions).map(|i| (in_partition(i, "tracker"), new_tracker(config, i)))),
            }
        }),
        drams: net.add(DRAM, (0..config.num_channels()).map(|i| (dram_path(config, i), channel(i)))),
    }
}

/// Adds a network: a crossbar named `crossbar`, or routers named `routed` and the links between them.
/// `inputs` and `outputs` give, for each endpoint of the network, the number of the crossbar or router to
/// which it is connected.
fn add_network<P: Packet + 'static>(
    net: &mut MachineNet,
    links: &Links<'_>,
    [crossbar, routed]: [&'static str; 2],
    [inputs, outputs]: [&[usize]; 2],
    shape: &P::Shape,
) -> Family<Node<P>>
where
    Wires: Carries<P>,
    Roles: From<Of<Node<P>, Wires>>,
{
    let xbar = &links.config.xbar;
    let Some(topology) = &links.topology else {
        let block = Xbar::new(crossbar, xbar, inputs.len() as u32, outputs.len() as u32, shape);
        return net.add(XBAR, [(root_path(crossbar), Node::Crossbar(block))]);
    };
    let routers = (0..topology.routers()).map(|router| {
        let inputs = inputs.iter().filter(|input| **input == router).count();
        let path = format!("{routed}.router{router}");
        let place = RouterPlace { path, inputs, destinations: outputs.to_vec(), router };
        let path = vec![(routed, None), ("router", Some(router as u32))];
        (path, Node::Router(Router::new(place, xbar, topology, shape)))
    });
    let routers: Family<Node<P>> = net.add(XBAR, routers);
    for router in 0..topology.routers() {
        for neighbour in topology.neighbours(router) {
            for channel in CHANNELS.iter().take(topology.channels()) {
                let (from, to) = (routers.at(router, |p| &mut p.to), routers.at(neighbour, |p| &mut p.from));
                net.link(from, to, (channel, Some(router as u32)), links.router_to_router(), shape);
            }
        }
    }
    routers
}

/// Names of the links from one router to another router, one name per virtual channel.
const CHANNELS: [&str; 4] = ["vc0_from", "vc1_from", "vc2_from", "vc3_from"];

/// Links the SM cores to the CTA dispatcher and to their load-store units, and the load-store units to the
/// networks.
fn link_sms(net: &mut MachineNet, kinds: &Kinds, links: &Links<'_>) {
    let &Kinds { cores, lsus, dispatchers, requests, replies, .. } = kinds;
    let (lsu, access) = (&links.config.lsu, new_access(links.config));
    let (there, back) = (links.delayed_link(lsu.request_latency, 1), links.delayed_link(lsu.reply_latency, 1));
    let (to_sm, from_sm) = (links.net_to_sm(), links.sm_to_net());
    for i in 0..links.config.num_sms as usize {
        let number = Some(i as u32);
        net.link(dispatchers.at(0, |p| &mut p.launch), cores.at(i, |p| &mut p.launch), ("launch", None), to_sm, &());
        net.link(cores.at(i, |p| &mut p.done), dispatchers.at(0, |p| &mut p.done), ("done", number), from_sm, &());
        net.link(cores.at(i, |p| &mut p.mem), lsus.at(i, |p| &mut p.core_req), ("core_req", None), there, &access);
        net.link(lsus.at(i, |p| &mut p.core_rsp), cores.at(i, |p| &mut p.wb), ("wb", None), back, &access);
        let (request, reply) = (("inject", number), ("mem_rsp", None));
        let packets = &links.packets;
        let node = links.at_sm(i);
        net.link(lsus.at(i, |p| &mut p.mem_req), requests.at(node, |p| &mut p.from), request, from_sm, packets);
        net.link(replies.at(node, |p| &mut p.to), lsus.at(i, |p| &mut p.mem_rsp), reply, to_sm, packets);
    }
}

/// Links the networks to the L2 banks. With a sharing tracker, links the networks to the tracker, and the
/// tracker to the L2 banks.
fn link_partitions(net: &mut MachineNet, kinds: &Kinds, links: &Links<'_>) {
    let &Kinds { requests, replies, banks, tracking, .. } = kinds;
    let (there, back, packets) = (links.net_to_partition(), links.partition_to_net(), &links.packets);
    for i in 0..links.config.num_partitions as usize {
        let (request, reply, node) = (("req", None), ("from_l2_", Some(i as u32)), links.at_partition(i));
        let Some(Tracking { trackers, .. }) = tracking else {
            net.link(requests.at(node, |p| &mut p.to), banks.at(i, |p| &mut p.req), request, there, packets);
            net.link(banks.at(i, |p| &mut p.rsp), replies.at(node, |p| &mut p.from), reply, back, packets);
            continue;
        };
        let own = links.config.bank_place(0).packets;
        let from_bank = ("from_bank", None);
        net.link(requests.at(node, |p| &mut p.to), trackers.at(i, |p| &mut p.req), request, there, packets);
        net.link(trackers.at(i, |p| &mut p.to_bank), banks.at(i, |p| &mut p.req), request, PLAIN, &own);
        net.link(banks.at(i, |p| &mut p.rsp), trackers.at(i, |p| &mut p.from_bank), from_bank, PLAIN, packets);
        net.link(trackers.at(i, |p| &mut p.rsp), replies.at(node, |p| &mut p.from), reply, back, packets);
    }
}

/// Links the L2 banks to the DRAM channels, with one request link and one reply link for each connected pair.
fn link_drams(net: &mut MachineNet, kinds: &Kinds, links: &Links<'_>) {
    let (&Kinds { banks, drams, .. }, config) = (kinds, links.config);
    let shape = config.bursts();
    let (per_partition, sharers) = (config.channels_per_partition as usize, config.partitions_per_channel as usize);
    let back = links.delayed_link(config.link.dram_return, 1);
    for link in 0..config.num_partitions as usize * per_partition {
        let (bank, channel) = (link / per_partition, link / sharers);
        let nth = |of: usize| (of > 1).then_some((link % of) as u32);
        let (request, reply) = (("req", nth(sharers)), ("dram_rsp", nth(per_partition)));
        net.link(banks.at(bank, |p| &mut p.dram_req), drams.at(channel, |p| &mut p.req), request, PLAIN, &shape);
        net.link(drams.at(channel, |p| &mut p.rsp), banks.at(bank, |p| &mut p.dram_rsp), reply, back, &shape);
    }
}

/// Links the SM cores to their load-store units for instruction fetches, if they have instruction caches.
fn link_instruction_caches(net: &mut MachineNet, &Kinds { cores, lsus, .. }: &Kinds, links: &Links<'_>) {
    let InstructionStore::Cache(icache) = &links.config.sm.icache else { return };
    // The link can hold as many beats as instruction lines can be in flight, so it never stalls.
    let (spec, packets) = (LinkSpec { depth: icache.mshr_entries.max(2), ..PLAIN }, &links.packets);
    for i in 0..links.config.num_sms as usize {
        let (wanted, brought) = (("wanted", None), ("brought", None));
        net.link(
            cores.at(i, |p| &mut p.extra.open().wanted),
            lsus.at(i, |p| &mut p.extra.open().wanted),
            wanted,
            spec,
            packets,
        );
        net.link(
            lsus.at(i, |p| &mut p.extra.open().brought),
            cores.at(i, |p| &mut p.extra.open().brought),
            brought,
            spec,
            packets,
        );
    }
}

/// Links the sideband signals of a throttle: between the L1D and the core of each SM, and between all cores
/// and the central unit (hub).
fn link_throttle(net: &mut MachineNet, &Kinds { cores, lsus, hub, .. }: &Kinds, links: &Links<'_>) {
    let throttle = &links.config.throttle;
    if !throttle.is_on() {
        return;
    }
    for i in 0..links.config.num_sms as usize {
        net.link(
            lsus.at(i, |p| &mut p.extra.open().misses),
            cores.at(i, |p| &mut p.extra.open().misses),
            ("misses", None),
            PLAIN,
            &(),
        );
        if throttle.ends_periods() {
            net.link(
                cores.at(i, |p| &mut p.extra.open().periods),
                lsus.at(i, |p| &mut p.extra.open().periods),
                ("periods", None),
                PLAIN,
                &(),
            );
        }
    }
    let Some(hub) = hub else { return };
    let cycles = net.all(hub)[0].0.latency();
    let latency = u64::from(cycles) * links.cycle;
    let spec = LinkSpec { depth: 2 * cycles + 2, latency, credit: latency };
    for i in 0..links.config.num_sms as usize {
        let report = ("reports", Some(i as u32));
        net.link(cores.at(i, |p| &mut p.extra.open().reports), hub.at(0, |p| &mut p.reports), report, spec, &());
        net.link(
            hub.at(0, |p| &mut p.orders),
            cores.at(i, |p| &mut p.extra.open().orders),
            ("orders", None),
            spec,
            &(),
        );
    }
}

/// Links the controller of SM dueling: the L1Ds of the leader SMs to the controller, and the controller to
/// the L1Ds of all SMs.
fn link_dueling(net: &mut MachineNet, &Kinds { lsus, duel, .. }: &Kinds, links: &Links<'_>) {
    let Some(duel) = duel else { return };
    for i in 0..LEADERS {
        let name = ("seen", Some(i as u32));
        net.link(lsus.at(i, |p| &mut p.extra.open().seen), duel.at(0, |p| &mut p.seen), name, links.sm_to_net(), &());
    }
    for i in 0..links.config.num_sms as usize {
        net.link(
            duel.at(0, |p| &mut p.mode),
            lsus.at(i, |p| &mut p.extra.open().mode),
            ("mode", None),
            links.net_to_sm(),
            &(),
        );
    }
}

/// Links two networks: the network that carries recalls from L2 banks to L1s, and the network that carries
/// the L1s' acknowledgments.
fn link_recalls(net: &mut MachineNet, &Kinds { lsus, banks, recalls, .. }: &Kinds, links: &Links<'_>) {
    let Some(Recalls { wishes, answers }) = recalls else { return };
    let bank = SideEnds { blocks: banks, sends: |p| &mut p.inv, receives: |p| &mut p.inv_ack };
    let lsu = SideEnds { blocks: lsus, sends: |p| &mut p.extra.open().inv_ack, receives: |p| &mut p.extra.open().inv };
    let names = ["from_l2_", "inv", "inv_ack"];
    link_side_network(net, links, (wishes, answers), (bank, lsu), names, &recall_shape(links.config));
}

/// Links the network of the loads that the sharing tracker forwards to L1s, and the network of the L1s'
/// answers. Also links the path for the lines that L1s supply.
fn link_forwards(net: &mut MachineNet, &Kinds { lsus, replies, tracking, .. }: &Kinds, links: &Links<'_>) {
    let Some(Tracking { trackers, forwards, answers }) = tracking else { return };
    let tracker = SideEnds { blocks: trackers, sends: |p| &mut p.forward, receives: |p| &mut p.answer };
    let lsu =
        SideEnds { blocks: lsus, sends: |p| &mut p.extra.open().answer, receives: |p| &mut p.extra.open().forward };
    let names = ["from_tracker", "forward", "answer"];
    link_side_network(net, links, (forwards, answers), (tracker, lsu), names, &track_shape(links.config));
    for i in 0..links.config.num_sms as usize {
        let (from, to) = (lsus.at(i, |p| &mut p.extra.open().supply), replies.at(links.at_sm(i), |p| &mut p.from));
        net.link(from, to, ("supply", Some(i as u32)), PLAIN, &links.packets);
    }
}

/// Hardware blocks at one end of a side network (for recalls or forwarded loads), and the ports that connect
/// them to this network.
struct SideEnds<B: HasPorts, S, R> {
    blocks: Family<B>,
    sends: fn(&mut B::Ports) -> &mut Out<S>,
    receives: fn(&mut B::Ports) -> &mut In<R>,
}

/// Links a side network (for recalls or forwarded loads) in both directions: for messages from partitions to
/// SMs, and for answers from SMs to partitions.
fn link_side_network<W, A, B, L>(
    net: &mut MachineNet,
    links: &Links<'_>,
    (wishes, answers): (Family<Node<W>>, Family<Node<A>>),
    (partition, lsu): (SideEnds<B, W, A>, SideEnds<L, A, W>),
    [from_partition, to_lsu, to_partition]: [&'static str; 3],
    shape: &W::Shape,
) where
    W: Packet + 'static,
    A: Packet + Payload<Shape = W::Shape> + 'static,
    B: Unit<Wires>,
    L: Unit<Wires>,
    Wires: Carries<W> + Carries<A>,
{
    for i in 0..links.config.num_partitions as usize {
        let (name, back) = ((from_partition, Some(i as u32)), (to_partition, None));
        let (from, to) = (links.partition_to_net(), links.net_to_partition());
        let node = links.at_partition(i);
        net.link(partition.blocks.at(i, partition.sends), wishes.at(node, |p| &mut p.from), name, from, shape);
        net.link(answers.at(node, |p| &mut p.to), partition.blocks.at(i, partition.receives), back, to, shape);
    }
    for i in 0..links.config.num_sms as usize {
        let (name, back) = ((to_lsu, None), ("inject", Some(i as u32)));
        let node = links.at_sm(i);
        net.link(wishes.at(node, |p| &mut p.to), lsu.blocks.at(i, lsu.receives), name, links.net_to_sm(), shape);
        net.link(lsu.blocks.at(i, lsu.sends), answers.at(node, |p| &mut p.from), back, links.sm_to_net(), shape);
    }
}

fn recall_shape(config: &MachineConfig) -> RecallShape {
    let packets = config.packets();
    RecallShape {
        line_bits: packets.line_bits,
        sm_bits: packets.sm_bits,
        partition_bits: packets.partition_bits,
        leaver_bits: bits_for(config.l2.mshr_entries + config.l2.frc_entries()),
    }
}

fn track_shape(config: &MachineConfig) -> TrackShape {
    let packets = config.packets();
    TrackShape {
        line_bits: packets.line_bits,
        sm_bits: packets.sm_bits,
        partition_bits: packets.partition_bits,
        row_bits: bits_for(config.tracker.transfers),
    }
}

fn new_tracker(config: &MachineConfig, partition: usize) -> Tracker {
    let place = TrackerPlace {
        path: format!("partition{partition}.tracker"),
        shape: track_shape(config),
        interleave: config.interleave(config.l1.line_bytes),
        num_sms: config.num_sms,
    };
    Tracker::new(place, &config.tracker, config.tracker.scheme.protections())
}

/// Parameters of a link without additional delay. Its delay is one tick, which is less than any clock period,
/// so the receiver sees a beat at its next edge.
const PLAIN: LinkSpec = LinkSpec { depth: 2, latency: 1, credit: 1 };

/// Data from which the parameters of all links are computed.
struct Links<'a> {
    config: &'a MachineConfig,
    /// Period of the SM core clock in ticks.
    cycle: u64,
    /// Period of the network clock (crossbars or routers) in ticks.
    hop: u64,
    /// Topology of the networks; `None` if they are crossbars.
    topology: Option<Topology>,
    packets: PacketShape,
}

impl Links<'_> {
    /// Returns the number of the router to which an SM is connected; 0 if the network is a crossbar.
    fn at_sm(&self, sm: usize) -> usize {
        self.topology.map_or(0, |topology| topology.router_of_sm(sm))
    }

    /// Returns the number of the router to which a partition is connected; 0 if the network is a crossbar.
    fn at_partition(&self, partition: usize) -> usize {
        self.topology.map_or(0, |topology| topology.router_of_partition(partition))
    }

    /// Returns the parameters of a link between routers. The link can transfer one packet in every cycle, as
    /// long as the next router accepts packets.
    fn router_to_router(&self) -> LinkSpec {
        let cycles = self.config.noc.as_routed().map_or(1, |routed| routed.hop_latency);
        // The last cycle of the delay is shortened to one tick, which is less than any clock period, so that
        // the receiving router sees the packet at the next clock edge.
        let ticks = u64::from(cycles - 1) * self.hop + 1;
        LinkSpec { depth: 2 * cycles, latency: ticks, credit: ticks }
    }

    /// Returns the parameters of a link that can transfer one beat in every core cycle. `cycles` is the delay
    /// of beats and `credit` the delay of credits, both in core cycles.
    fn delayed_link(&self, cycles: u32, credit: u32) -> LinkSpec {
        let [latency, credit_ticks] = [cycles, credit].map(|cycles| u64::from(cycles) * self.cycle);
        LinkSpec { depth: cycles + credit + 2, latency, credit: credit_ticks }
    }

    fn net_to_partition(&self) -> LinkSpec {
        self.delayed_link(self.config.link.request, self.config.link.reply)
    }

    fn partition_to_net(&self) -> LinkSpec {
        self.delayed_link(self.config.link.reply, self.config.link.request)
    }

    fn sm_to_net(&self) -> LinkSpec {
        self.near(self.config.link.inject, self.config.link.deliver)
    }

    fn net_to_sm(&self) -> LinkSpec {
        self.near(self.config.link.deliver, self.config.link.inject)
    }

    /// Returns the parameters of a link with the given delays of beats and of credits in core cycles. With a
    /// delay of 0, a beat or credit is visible at the next edge.
    fn near(&self, cycles: u32, credit: u32) -> LinkSpec {
        let [latency, credit_ticks] = [cycles, credit].map(|cycles| (u64::from(cycles) * self.cycle).max(1));
        LinkSpec { depth: PLAIN.depth + cycles + credit, latency, credit: credit_ticks }
    }
}

fn new_access(config: &MachineConfig) -> AccessShape {
    AccessShape {
        addr_bits: config.addr_bits,
        pc_bits: PC_BITS,
        halves: config.sm.halves(),
        counts_warps: config.l1.bypass.tests_contention(),
        wide: config.l1.banks.as_words().is_some(),
        hints: config.hints(),
    }
}

fn new_core(config: &MachineConfig, sm: usize) -> SmCore {
    let mut core = SmCore::new(&config.sm, &format!("sm{sm}.core"), sm as u32, config.num_sms);
    core.set_throttle(&config.throttle);
    core.set_instruction_cache(config.packets());
    if config.l1.banks.as_words().is_some() {
        core.widen_loads();
    }
    core.send_hints(config.hints());
    core
}

fn new_lsu(config: &MachineConfig, sm: usize) -> Lsu {
    let place = LsuPlace {
        path: format!("sm{sm}.l1"),
        sm: sm as u8,
        interleave: config.interleave(config.l1.line_bytes),
        line_bits: config.packets().line_bits,
        access: new_access(config),
        is_recalled: config.l2.recalls(),
        is_tracked: config.tracker.is_on(),
        has_instructions: matches!(config.sm.icache, InstructionStore::Cache(_)),
    };
    let mut lsu = Lsu::new(place, &config.l1, [&config.const_cache, &config.texture_cache], &config.lsu);
    lsu.set_throttle(&config.throttle, &config.l1, config.sm.warps);
    if !config.sm.shared.carve_outs.is_empty() {
        lsu.set_ways(config.l1.ways);
    }
    lsu
}

fn dram_path(config: &MachineConfig, channel: u32) -> Path {
    if config.partitions_per_channel > 1 {
        return vec![("channel", Some(channel)), ("dram", None)];
    }
    let channels = config.channels_per_partition;
    vec![("partition", Some(channel / channels)), ("dram", (channels > 1).then_some(channel % channels))]
}
