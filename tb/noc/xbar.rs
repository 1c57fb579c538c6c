//! # Testbench of the crossbar
//!
//! | testpoint         | intent                                                                                   | test |
//! |-------------------|------------------------------------------------------------------------------------------|-----|
//! | random traffic    | per (input, output), every packet arrives once, unchanged, in order                      | `every_packet_*` |
//! | saturation        | an output that all inputs send to passes a flit per cycle and serves them in round robin | `an_output_wanted_*` |
//! | disjoint pairs    | all outputs pass a flit per cycle at the same time                                       | `disjoint_pairs_*` |
//! | earliest delivery | a packet of F flits is delivered in the cycle of its contract, never earlier             | `a_packet_is_delivered_*` |
//! | wormhole          | packets do not interleave; the next header follows the tail without a gap                | `a_header_follows_*` |
//! | back-pressure     | a full receiver stalls its own packets and those queued behind them, but no others       | `a_full_receiver_*` |
//! | misrouting        | a packet to an output that does not exist is a contract breach that names the input      | `a_packet_to_*` |

use crate::kit::coverage::{Axis, Cross, hit};
use crate::kit::{Bench, DeviceLinks, Random, Sink, Source, Stall, link, run_in_all_modes};
use golden::noc::xbar::{Class, Route, Scoreboard};
use rtl::kernel::{Block, BlockId, Blocks, Describe, DescribeExt, Edge, Sleep, digest_of};
use rtl::noc::config::XbarConfig;
use rtl::noc::packet::{Packet, PacketShape, Request, RequestKind};
use rtl::noc::xbar::{Xbar, XbarIo};

const SHAPE: PacketShape =
    PacketShape { tracked: false, hints: false, line_bits: 25, line_bytes: 128, sm_bits: 8, partition_bits: 8 };
const XBAR: BlockId = BlockId { domain: 0, slot: 0 };
const LIMIT: u64 = 10_000_000;

/// Maximum number of sources in a clock domain, and maximum number of sinks. The remaining ones are in a
/// second clock domain with the same period.
const OF_DOMAIN: usize = 100;

fn source(i: usize) -> BlockId {
    BlockId { domain: 1 + 2 * (i / OF_DOMAIN) as u8, slot: (i % OF_DOMAIN) as u8 }
}

fn sink(o: usize) -> BlockId {
    BlockId { domain: 2 + 2 * (o / OF_DOMAIN) as u8, slot: (o % OF_DOMAIN) as u8 }
}

/// Returns the index of a source among all sources, or of a sink among all sinks, given its hardware block
/// id.
fn place(block: BlockId) -> usize {
    usize::from(block.slot) + if block.domain > 2 { OF_DOMAIN } else { 0 }
}

struct Rig {
    periods: Vec<u32>,
    sources: Vec<Source<Request>>,
    xbar: Xbar<Request>,
    sinks: Vec<Sink<Request>>,
    links: DeviceLinks<Request>,
}

impl Rig {
    /// Creates a crossbar with one input per source and one output per sink. `periods` are the clock periods
    /// of the crossbar, the sources and the sinks, in ticks.
    fn new(periods: [u32; 3], sources: Vec<Source<Request>>, sinks: Vec<Sink<Request>>) -> Self {
        let [xbar, source_period, sink_period] = periods;
        let periods = [xbar, source_period, sink_period, source_period, sink_period];
        let from = (0..sources.len()).map(|i| link(&format!("from{i}"), 4, &periods, source(i), XBAR, SHAPE));
        let to = (0..sinks.len()).map(|o| link(&format!("to{o}"), 4, &periods, XBAR, sink(o), SHAPE));
        let config = XbarConfig { flit_bytes: 32, buffer_flits: 8 };
        Self {
            links: DeviceLinks::new(from, to),
            xbar: Xbar::new("xbar", &config, sources.len() as u32, sinks.len() as u32, &SHAPE),
            periods: periods.into(),
            sources,
            sinks,
        }
    }
}

impl Blocks for Rig {
    fn population(&self) -> Vec<u8> {
        let of = |all: usize| (all.min(OF_DOMAIN) as u8, all.saturating_sub(OF_DOMAIN) as u8);
        let ((sources, more_sources), (sinks, more_sinks)) = (of(self.sources.len()), of(self.sinks.len()));
        vec![1, sources, sinks, more_sources, more_sinks]
    }

    fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
        let slot = place(block);
        match block.domain {
            0 => self.xbar.eval(XbarIo { ends: self.links.ends() }, at),
            1 | 3 => self.sources[slot].eval(self.links.input(slot).tx(), at),
            _ => self.sinks[slot].eval(self.links.output(slot).rx(), at),
        }
    }

    fn describe(&self, block: BlockId, to: &mut dyn Describe) {
        let slot = place(block);
        match block.domain {
            0 => to.part("xbar", |to| self.xbar.describe(to)),
            1 | 3 => to.parts("source", slot as u32, |to| self.sources[slot].describe(to)),
            _ => to.parts("sink", slot as u32, |to| self.sinks[slot].describe(to)),
        }
    }
}

impl Bench for Rig {
    fn periods(&self) -> Vec<u32> {
        self.periods.clone()
    }
    fn history(&self) -> u64 {
        let sent: Vec<u64> = self.sources.iter().map(Source::digest).collect();
        let received: Vec<u64> = self.sinks.iter().map(Sink::digest).collect();
        digest_of(&(sent, received))
    }
    fn settle(&mut self, tick: u64) {
        self.xbar.settle(tick / u64::from(self.periods[0]));
    }
}

/// Creates a packet of `flits` flits (1 to 5), from an input to an output of the crossbar.
pub(super) fn packet(from: usize, to: usize, id: u32, flits: u32) -> Request {
    let sectors = flits - 1;
    let byte_mask = if sectors == 0 { 0 } else { u128::MAX >> (128 - 32 * sectors) };
    let kind = if sectors == 0 { RequestKind::Read } else { RequestKind::Write };
    let packet = Request { kind, id, sm: from as u8, partition: to as u8, byte_mask, ..Request::default() };
    assert_eq!(packet.bytes().div_ceil(32), flits);
    packet
}

/// Checks that every packet arrived exactly once and unchanged, and that packets with the same input and
/// output arrived in order.
///
/// # Panics
/// Panics if a packet is missing, duplicated, changed or out of order.
pub(super) fn expect_all_to_arrive(sources: &[Source<Request>], sinks: &[Sink<Request>]) {
    let mut board = Scoreboard::new();
    let route = |packet: &Request| Route {
        source: packet.sm.into(),
        destination: packet.partition.into(),
        class: Class::Request,
    };
    for (_, packet) in sources.iter().flat_map(|source| source.sent()) {
        board.send(route(packet), packet.clone());
    }
    for (destination, sink) in sinks.iter().enumerate() {
        for (_, packet) in sink.received() {
            assert_eq!(board.receive(Route { destination, ..route(packet) }, packet), Ok(()));
        }
    }
    assert_eq!(board.finish(), []);
}

const NAME: &str = "packets that crossbars deliver";

/// Numbers of inputs and outputs of the tested crossbars. Above 64 ports, and again above 128 ports, the
/// simulator uses wider port masks.
const PORTS: [(usize, usize, &str); 5] = [
    (15, 6, "15 x 6 ports"),
    (100, 6, "100 x 6 ports"),
    (6, 100, "6 x 100 ports"),
    (190, 6, "190 x 6 ports"),
    (6, 190, "6 x 190 ports"),
];
const FLITS: [&str; 5] = ["1 flit", "2 flits", "3 flits", "4 flits", "5 flits"];
const BEFORE: [&str; 2] = ["the same input", "another input"];

/// Declares the functional coverage: on each crossbar, packets of each length, both after a packet from the
/// same input and after a packet from another input.
pub(crate) fn cross() -> Cross {
    let axes = vec![
        Axis::new("crossbar", PORTS.map(|(.., name)| name)),
        Axis::new("the previous packet at its output is from", BEFORE),
        Axis::new("flits", FLITS),
    ];
    Cross { name: NAME, axes, excluded: Vec::new() }
}

/// Maximum number of packets that a test sends to each crossbar input.
pub(crate) const PACKETS: u64 = 120;

/// Runs random traffic with random stalls of sources and sinks. Each input sends the first `packets` packets
/// of its sequence. Returns the number of packets that arrived.
///
/// # Panics
/// Panics if a packet does not arrive exactly once, unchanged, and in order with the packets of the same
/// input and output, in any evaluation mode of the simulator.
pub(crate) fn run(seed: u64, packets: u64) -> u64 {
    let (inputs, outputs, name) = PORTS[(seed % PORTS.len() as u64) as usize];
    let build = || {
        let mut random = Random::new(seed);
        let stall = |seed, percent| Stall::Random { seed, percent, longest: 30 };
        let script = |random: &mut Random, i: usize| -> Vec<Request> {
            let count = random.below(PACKETS) as u32;
            let one = |id| packet(i, random.below(outputs as u64) as usize, id, 1 + random.below(5) as u32);
            let mut script: Vec<_> = (0..count).map(one).collect();
            script.truncate(packets as usize);
            script
        };
        let chance = random.below(60);
        let sources = (0..inputs).map(|i| Source::new(script(&mut random, i), stall(seed + i as u64, chance)));
        let sources = sources.collect();
        let sinks = (0..outputs as u64).map(|o| Sink::new(stall(seed * 31 + o, 70 - chance))).collect();
        Rig::new([33, 66, 50], sources, sinks)
    };
    let rig = run_in_all_modes(build, LIMIT);
    expect_all_to_arrive(&rig.sources, &rig.sinks);
    let mut arrived = 0;
    for (o, sink) in rig.sinks.iter().enumerate() {
        let mut before = None;
        for (_, packet) in sink.received() {
            if let Some(before) = before.replace(packet.sm) {
                let flits = FLITS[packet.bytes().div_ceil(32) as usize - 1];
                hit(NAME, &[name, BEFORE[usize::from(before != packet.sm)], flits]);
            }
        }
        assert_eq!(rig.xbar.stats(o).packets, sink.received().len() as u64);
        arrived += sink.received().len() as u64;
    }
    assert!(rig.xbar.is_idle() && rig.sources.iter().all(|source| source.left() == 0));
    arrived
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::{CycleTable, assert_table, for_each_seed};

    /// Returns the ids of the packets delivered at output `o`, each with its cycle of delivery.
    fn list_delivered(rig: &Rig, o: usize) -> Vec<(u64, u32)> {
        rig.sinks[o].received().iter().map(|(cycle, packet)| (*cycle, packet.id)).collect()
    }

    fn eager(script: Vec<Request>) -> Source<Request> {
        Source::new(script, Stall::Never)
    }

    fn open() -> Sink<Request> {
        Sink::new(Stall::Never)
    }

    #[test]
    fn every_packet_arrives_once_unchanged_and_in_the_order_of_its_pair() {
        for_each_seed(15, |seed| assert!(run(seed, PACKETS) > 0));
    }

    /// Clock periods for testbenches in which the crossbar, the sources and the sinks share one clock.
    const ONE_CLOCK: [u32; 3] = [1, 1, 1];

    #[test]
    fn an_output_wanted_by_all_inputs_passes_a_flit_a_cycle_and_serves_them_in_turn() {
        let scripts = |i| eager((0..20).map(|id| packet(i, 0, id, 5)).collect());
        let rig = run_in_all_modes(|| Rig::new(ONE_CLOCK, (0..15).map(scripts).collect(), vec![open()]), LIMIT);
        let received = rig.sinks[0].received();
        assert_eq!(received.len(), 15 * 20);
        for (n, (cycle, packet)) in received.iter().enumerate() {
            assert_eq!(*cycle, received[0].0 + 5 * n as u64, "packet {n}");
            assert_eq!(usize::from(packet.sm), n % 15, "packet {n}");
        }
        assert_eq!(rig.xbar.stats(0).flits, 5 * 300);
        assert_eq!(rig.xbar.stats(0).bytes, 5 * 300 * 32);
    }

    #[test]
    fn disjoint_pairs_each_pass_a_flit_a_cycle() {
        let rig = run_in_all_modes(
            || {
                let script = |i: usize| eager((0..30).map(|id| packet(i, 5 - i, id, 1 + i as u32 % 5)).collect());
                Rig::new(ONE_CLOCK, (0..6).map(script).collect(), (0..6).map(|_| open()).collect())
            },
            LIMIT,
        );
        for o in 0..6 {
            let flits = 1 + (5 - o as u64) % 5;
            let cycles: Vec<u64> = list_delivered(&rig, o).iter().map(|(cycle, _)| *cycle).collect();
            let expected: Vec<u64> = (0..30).map(|n| 2 + flits + n * flits).collect();
            assert_eq!(cycles, expected, "output {o}");
        }
    }

    #[test]
    fn a_packet_is_delivered_at_the_cycle_of_its_contract_and_not_before() {
        for flits in 1..=5 {
            for sent in [0, 1, 2, 7] {
                let source = Source::new([packet(0, 0, 0, flits)], Stall::NotBefore(vec![sent]));
                let rig = run_in_all_modes(|| Rig::new(ONE_CLOCK, vec![source.clone()], vec![open()]), LIMIT);
                // A packet of F flits takes one cycle to the crossbar, F cycles inside, and one cycle to the
                // sink.
                assert_eq!(list_delivered(&rig, 0), [(sent + 1 + u64::from(flits) + 1, 0)]);
            }
        }
    }

    #[test]
    fn a_header_follows_the_tail_before_it_without_a_gap() {
        let build = || {
            let sources = vec![
                Source::new([packet(0, 0, 10, 5), packet(0, 0, 11, 1)], Stall::Never),
                Source::new([packet(1, 0, 20, 1), packet(1, 0, 21, 2)], Stall::NotBefore(vec![1])),
            ];
            Rig::new(ONE_CLOCK, sources, vec![open()])
        };
        let rig = run_in_all_modes(build, LIMIT);
        let mut table = CycleTable::new();
        for (i, source) in rig.sources.iter().enumerate() {
            table.column(&format!("from{i}"), source.sent().iter().map(|(cycle, packet)| (*cycle, packet.id)));
        }
        table.column("to0", list_delivered(&rig, 0));
        // Packet 10 passes the crossbar from cycle 2 (header) to cycle 6 (tail). Then the inputs are served
        // in round robin: packet 20 in cycle 7, packet 11 in cycle 8, and packet 21 in cycles 9 and 10.
        assert_table(
            &table,
            "cycle  from0  from1  to0
             0      10     .      .
             1      11     20     .
             2      .      21     .
             3      .      .      .
             4      .      .      .
             5      .      .      .
             6      .      .      .
             7      .      .      10
             8      .      .      20
             9      .      .      11
             10     .      .      .
             11     .      .      21",
        );
    }

    #[test]
    fn a_full_receiver_stops_its_own_packets_and_those_behind_them_only() {
        let build = || {
            // Input 0 first fills the channel of output 0, which holds four packets. Only then does it send a
            // packet to output 1.
            let mut script: Vec<Request> = (0..6).map(|id| packet(0, 0, id, 1)).collect();
            script.push(packet(0, 1, 6, 1));
            let other = (0..5).map(|id| packet(1, 1, 100 + id, 1)).collect();
            let sinks = vec![Sink::new(Stall::NotBefore(vec![50])), open()];
            Rig::new(ONE_CLOCK, vec![eager(script), eager(other)], sinks)
        };
        let rig = run_in_all_modes(build, LIMIT);
        let own: Vec<(u64, u32)> = (0..6).map(|n| (50 + n, n as u32)).collect();
        assert_eq!(list_delivered(&rig, 0), own);
        let others = list_delivered(&rig, 1);
        assert_eq!(others[..5], [(3, 100), (4, 101), (5, 102), (6, 103), (7, 104)]);
        // Output 0 accepts packets from cycle 50 on. In cycle 51, the crossbar detects a free slot at output
        // 0 and passes the fifth packet. It passes the sixth packet in cycle 52 and the packet to output 1 in
        // cycle 53.
        assert_eq!(others[5..], [(54, 6)]);
        // Output 0 is full and blocks the fifth packet from cycle 6 on. The packet passes in cycle 51, so it
        // was blocked for 51 - 6 = 45 cycles.
        assert_eq!((rig.xbar.stats(0).blocked, rig.xbar.stats(1).blocked), (51 - 6, 0));
    }

    #[test]
    #[should_panic(expected = "xbar: a packet at input 1 requests output 5 of 2")]
    fn a_packet_to_an_output_that_is_not_there_is_a_breach() {
        let sources = vec![eager(vec![]), eager(vec![packet(1, 5, 0, 1)])];
        crate::kit::run(&mut Rig::new(ONE_CLOCK, sources, vec![open(), open()]), Default::default(), LIMIT);
    }
}
