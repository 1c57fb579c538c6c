//! # Testbench of the router
//! Tests whole networks of routers: meshes, rings and two-level networks. A source is connected at each place
//! where packets enter the network, and a sink at each place where they leave it.
//!
//! | testpoint         | intent                                                                | test |
//! |-------------------|-----------------------------------------------------------------------|-----|
//! | random traffic    | each packet arrives in the cycle in which the golden model's flits do | `random_traffic_*` |
//! | order             | per (input, output), every packet arrives once, unchanged, in order   | `random_traffic_*` |
//! | earliest delivery | N routers and F flits take 2N + F - 2 cycles                          | `a_lone_packet_*` |
//! | saturation        | a destination to which all others send receives a flit per cycle      | `a_site_wanted_by_all_*` |
//! | channels          | a stalled packet does not stall packets of other virtual channels     | `a_full_site_*` |
//! | links             | a cluster sends a flit per cycle on each of its links                 | `a_cluster_sends_*` |
//! | no deadlock       | a ring full of long packets keeps moving                              | `a_ring_full_of_*` |
//! | counts            | the bytes forwarded are counted on every link of the route            | `random_traffic_*` |

use crate::kit::{Bench, Sink, Source, link};
use rtl::kernel::{Block, BlockId, Blocks, Chan, Describe, DescribeExt, Edge, Ends, Sleep, digest_of};
use rtl::noc::config::XbarConfig;
use rtl::noc::packet::{PacketShape, Request};
use rtl::noc::router::{Router, RouterPlace};
use rtl::noc::topology::{NocConfig, RoutedConfig, Topology, TwoLevelConfig};
use rtl::noc::xbar::{OutputStats, XbarIo};

const SHAPE: PacketShape =
    PacketShape { tracked: false, hints: false, line_bits: 25, line_bytes: 128, sm_bits: 8, partition_bits: 8 };
/// Capacity in packets of a link between the network and a source or sink.
const SITE_DEPTH: u32 = 4;

/// Number of SMs and memory partitions that the network connects, and the direction of the traffic between
/// them.
#[derive(Clone, Copy, Debug)]
struct Sites {
    sms: u32,
    partitions: u32,
    /// True if the traffic goes from the partitions to the SMs (replies). False if it goes from the SMs to
    /// the partitions (requests).
    is_back: bool,
    /// True if SMs send replies too, as they do under a sharing tracker.
    has_supplies: bool,
}

/// Configuration of a network of routers.
#[derive(Clone, Debug)]
struct Config {
    noc: NocConfig,
    xbar: XbarConfig,
}

impl Config {
    fn routed_config(&self) -> RoutedConfig {
        self.noc.as_routed().unwrap()
    }
}

struct Rig {
    routers: Vec<Router<Request>>,
    sources: Vec<Source<Request>>,
    sinks: Vec<Sink<Request>>,
    /// All links of the network. The links into one router are adjacent, and the links to the sinks come
    /// last.
    links: Vec<Chan<Request>>,
    /// For each router, the range of indices in `links` of the links into it.
    into: Vec<std::ops::Range<usize>>,
    /// For each router, the indices in `links` of the links out of it.
    out: Vec<Vec<u32>>,
    /// For each source, the index in `links` of the link from it into the network.
    from_sites: Vec<usize>,
    first_to_site: usize,
}

/// Returns the router to which each source is connected, and the router to which each sink is connected.
fn ends(topology: &Topology, sites: Sites) -> [Vec<usize>; 2] {
    let sms: Vec<_> = (0..sites.sms as usize).map(|sm| topology.router_of_sm(sm)).collect();
    let partitions: Vec<_> =
        (0..sites.partitions as usize).map(|partition| topology.router_of_partition(partition)).collect();
    match (sites.is_back, sites.has_supplies) {
        (false, _) => [sms, partitions],
        (true, false) => [partitions, sms],
        (true, true) => [[partitions, sms.clone()].concat(), sms],
    }
}

impl Rig {
    fn new(config: &Config, sites: Sites, sources: Vec<Source<Request>>, sinks: Vec<Sink<Request>>) -> Self {
        let topology = Topology::new(&config.noc, sites.sms, sites.partitions).unwrap();
        let [inputs, outputs] = ends(&topology, sites);
        assert_eq!((inputs.len(), outputs.len()), (sources.len(), sinks.len()));
        let (all, channels) = (topology.routers(), topology.channels());
        let router = |slot: usize| BlockId { domain: 0, slot: slot as u8 };
        let mut rig = Self {
            routers: Vec::new(),
            links: Vec::new(),
            into: Vec::new(),
            out: vec![Vec::new(); all],
            from_sites: vec![0; inputs.len()],
            first_to_site: 0,
            sources,
            sinks,
        };
        let hop_latency = config.routed_config().hop_latency;
        let hop = u64::from(hop_latency);
        let mut numbers = vec![Vec::new(); all];
        for to in 0..all {
            let first = rig.links.len();
            for from in (0..all).filter(|from| topology.neighbours(*from).contains(&to)) {
                numbers[from].push((to, rig.links.len() as u32));
                rig.links.extend((0..channels).map(|channel| {
                    let path = format!("router{to}.vc{channel}_from{from}");
                    let spec = rtl::kernel::ChanSpec {
                        path,
                        depth: 2 * hop_latency,
                        latency: hop,
                        credit: hop,
                        from: router(from),
                        to: router(to),
                    };
                    Chan::new(spec, SHAPE)
                }));
            }
            for (source, _) in inputs.iter().enumerate().filter(|(_, at)| **at == to) {
                rig.from_sites[source] = rig.links.len();
                let id = BlockId { domain: 1, slot: source as u8 };
                rig.links.push(link(&format!("from{source}"), SITE_DEPTH, &[1; 3], id, router(to), SHAPE));
            }
            rig.into.push(first..rig.links.len());
        }
        rig.first_to_site = rig.links.len();
        for (sink, &at) in outputs.iter().enumerate() {
            let id = BlockId { domain: 2, slot: sink as u8 };
            rig.links.push(link(&format!("to{sink}"), SITE_DEPTH, &[1; 3], router(at), id, SHAPE));
        }
        for (from, numbers) in numbers.iter().enumerate() {
            for neighbour in topology.neighbours(from) {
                let first = numbers.iter().find(|(to, _)| *to == neighbour).unwrap().1;
                rig.out[from].extend(first..first + channels as u32);
            }
            let to_sites = (0u32..).zip(&outputs).filter(|(_, at)| **at == from);
            rig.out[from].extend(to_sites.map(|(sink, _)| rig.first_to_site as u32 + sink));
            let inputs = inputs.iter().filter(|at| **at == from).count();
            let place =
                RouterPlace { path: format!("router{from}"), inputs, destinations: outputs.clone(), router: from };
            rig.routers.push(Router::new(place, &config.xbar, &topology, &SHAPE));
        }
        rig
    }

    fn stats(&self, output: usize) -> Vec<OutputStats> {
        self.routers.iter().map(|router| router.stats(output)).collect()
    }
}

impl Blocks for Rig {
    fn population(&self) -> Vec<u8> {
        [self.routers.len(), self.sources.len(), self.sinks.len()].map(|count| count as u8).into()
    }

    fn eval(&mut self, block: BlockId, at: &mut Edge<'_>) -> Sleep {
        let slot = usize::from(block.slot);
        match block.domain {
            0 => {
                let ends = Ends::among(&mut self.links, self.into[slot].clone(), &self.out[slot]);
                self.routers[slot].eval(XbarIo { ends }, at)
            }
            1 => self.sources[slot].eval(self.links[self.from_sites[slot]].tx(), at),
            _ => self.sinks[slot].eval(self.links[self.first_to_site + slot].rx(), at),
        }
    }

    fn describe(&self, block: BlockId, to: &mut dyn Describe) {
        let slot = usize::from(block.slot);
        match block.domain {
            0 => to.parts("router", block.slot.into(), |to| self.routers[slot].describe(to)),
            1 => to.parts("source", block.slot.into(), |to| self.sources[slot].describe(to)),
            _ => to.parts("sink", block.slot.into(), |to| self.sinks[slot].describe(to)),
        }
    }
}

impl Bench for Rig {
    fn periods(&self) -> Vec<u32> {
        vec![1; 3]
    }
    fn history(&self) -> u64 {
        let sent: Vec<u64> = self.sources.iter().map(Source::digest).collect();
        let received: Vec<u64> = self.sinks.iter().map(Sink::digest).collect();
        digest_of(&(sent, received))
    }
    fn settle(&mut self, tick: u64) {
        self.routers.iter_mut().for_each(|router| router.settle(tick));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::{Random, Stall, for_each_seed, run_in_all_modes};
    use crate::noc::xbar::{expect_all_to_arrive, packet};
    use golden::noc::flits;
    use rtl::noc::packet::Packet;

    const LIMIT: u64 = 1_000_000;

    fn config(kind: fn(RoutedConfig) -> NocConfig, virtual_channels: u32) -> Config {
        let noc = kind(RoutedConfig { virtual_channels, hop_latency: 1 });
        Config { noc, xbar: XbarConfig { flit_bytes: 32, buffer_flits: 8 } }
    }

    const MESH: fn(RoutedConfig) -> NocConfig = NocConfig::Mesh;
    const RING: fn(RoutedConfig) -> NocConfig = NocConfig::Ring;
    const TWO_LEVEL: fn(RoutedConfig) -> NocConfig = NocConfig::two_level;

    fn is_legal(noc: NocConfig) -> bool {
        let mut rules = rtl::config::Rules::default();
        noc.validate(16, 8, &mut rules);
        rules.into_violations().is_empty()
    }

    fn flits_of(packet: &Request) -> usize {
        packet.bytes().div_ceil(32) as usize
    }

    /// Builds the golden model of the network.
    fn twin(config: &Config, sites: Sites) -> flits::Network {
        let topology = Topology::new(&config.noc, sites.sms, sites.partitions).unwrap();
        let shape = match config.noc {
            NocConfig::TwoLevel(TwoLevelConfig { clusters, links, .. }) => {
                flits::Shape::TwoLevel { clusters: clusters as usize, links: links as usize }
            }
            _ => flits::Shape::of_kind(config.noc.name(), (sites.sms + sites.partitions) as usize).unwrap(),
        };
        let [inputs, outputs] = ends(&topology, sites);
        flits::Network {
            shape,
            channels: config.routed_config().virtual_channels as usize,
            buffer: config.xbar.buffer_flits as usize,
            hop: config.routed_config().hop_latency.into(),
            site_depth: SITE_DEPTH as usize,
            inputs,
            outputs,
        }
    }

    /// Packets that a source sends, each with the first cycle in which it may be sent.
    type Script = Vec<(u64, Request)>;

    /// Runs packet scripts in all evaluation modes of the simulator, and compares the arrival of every packet
    /// with the golden model.
    fn compare(config: &Config, sites: Sites, scripts: &[Script], takes: &[Vec<u64>]) -> Rig {
        let build = || {
            let sources = scripts.iter().map(|script| {
                let (cycles, packets): (Vec<u64>, Vec<Request>) = script.iter().cloned().unzip();
                Source::new(packets, Stall::NotBefore(cycles))
            });
            let sinks = takes.iter().map(|cycles| Sink::new(Stall::NotBefore(cycles.clone())));
            Rig::new(config, sites, sources.collect(), sinks.collect())
        };
        let rig = run_in_all_modes(build, LIMIT);
        let of_twin = |(not_before, packet): &(u64, Request)| flits::Packet {
            id: packet.id,
            to: packet.partition.into(),
            flits: flits_of(packet),
            not_before: *not_before,
        };
        let scripts: Vec<Vec<_>> = scripts.iter().map(|script| script.iter().map(of_twin).collect()).collect();
        let expected = twin(config, sites).deliver(&scripts, takes);
        for (output, (sink, expected)) in rig.sinks.iter().zip(expected).enumerate() {
            let received: Vec<_> = sink.received().iter().map(|(cycle, packet)| (*cycle, packet.id)).collect();
            assert_eq!(received, expected, "output {output} of {config:?}, {sites:?}");
        }
        rig
    }

    #[test]
    fn random_traffic_arrives_when_the_flits_of_the_twin_do() {
        for_each_seed(36, |seed| {
            let mut random = Random::new(seed);
            let kind = NocConfig::ROUTED[seed as usize % NocConfig::ROUTED.len()];
            let of = |virtual_channels, hop_latency| kind(RoutedConfig { virtual_channels, hop_latency });
            let channels: Vec<u32> = [1, 2, 4].into_iter().filter(|channels| is_legal(of(*channels, 1))).collect();
            let channels = channels[random.below(channels.len() as u64) as usize];
            let mut noc = of(channels, 1 + random.below(3) as u32);
            let sites = Sites {
                sms: 1 + random.below(16) as u32,
                partitions: 1 + random.below(8) as u32,
                is_back: random.percent(50),
                has_supplies: random.percent(50),
            };
            if let NocConfig::TwoLevel(TwoLevelConfig { clusters, links, .. }) = &mut noc {
                *clusters = 1 + random.below(sites.sms.into()) as u32;
                *links = 1 + random.below(sites.partitions.into()) as u32;
            }
            let config = Config { noc, xbar: XbarConfig { flit_bytes: 32, buffer_flits: 5 + random.below(8) as u32 } };
            let topology = Topology::new(&noc, sites.sms, sites.partitions).unwrap();
            let [inputs, outputs] = ends(&topology, sites).map(|ends| ends.len() as u32);
            let (busy, mut id) = (random.below(100), 0);
            let scripts: Vec<Script> = (0..inputs)
                .map(|input| {
                    let mut cycle = 0;
                    let mut next = |random: &mut Random| {
                        cycle += if random.percent(busy) { 0 } else { random.below(40) };
                        id += 1;
                        let to = random.below(outputs.into()) as usize;
                        (cycle, packet(input as usize, to, id, 1 + random.below(5) as u32))
                    };
                    (0..random.below(60)).map(|_| next(&mut random)).collect()
                })
                .collect();
            let takes = (0..outputs).map(|_| {
                let mut cycle = 0;
                let mut next = |random: &mut Random| {
                    cycle += random.below(12);
                    cycle
                };
                (0..random.below(40)).map(|_| next(&mut random)).collect()
            });
            let takes: Vec<Vec<u64>> = takes.collect();
            let rig = compare(&config, sites, &scripts, &takes);
            expect_all_to_arrive(&rig.sources, &rig.sinks);
            let way = twin(&config, sites);
            for (o, sink) in rig.sinks.iter().enumerate() {
                let (mut bytes, mut passed_on) = (0, 0);
                for (_, packet) in sink.received() {
                    let links = way.hops(packet.sm.into(), o) as u64;
                    bytes += 32 * flits_of(packet) as u64;
                    passed_on += 32 * flits_of(packet) as u64 * links;
                }
                let stats = rig.stats(o);
                let sum = |of: fn(&OutputStats) -> u64| stats.iter().map(of).sum::<u64>();
                assert_eq!(sum(|stats| stats.packets), sink.received().len() as u64);
                assert_eq!((sum(|stats| stats.bytes), sum(|stats| stats.hop_bytes)), (bytes, passed_on));
            }
            assert!(rig.routers.iter().all(Router::is_idle));
        });
    }

    const REQUESTS: Sites = Sites { sms: 15, partitions: 6, is_back: false, has_supplies: false };

    #[test]
    fn a_lone_packet_takes_two_cycles_a_router_and_one_a_flit() {
        for (kind, channels) in [(MESH, 1), (MESH, 3), (RING, 2), (TWO_LEVEL, 1)] {
            let config = config(kind, channels);
            let network = twin(&config, REQUESTS);
            for (from, to) in (0..15).flat_map(|from| (0..6).map(move |to| (from, to))) {
                let flits = 1 + (from + to) % 5;
                let mut scripts = vec![Script::new(); 15];
                scripts[from].push((7, packet(from, to, 0, flits as u32)));
                let rig = compare(&config, REQUESTS, &scripts, &vec![Vec::new(); 6]);
                let routers = network.hops(from, to) + 1;
                // In addition to the cycles in the routers, a packet takes one cycle from the source to the
                // first router, and one cycle from the last router to the sink.
                let arrival = 7 + 1 + (2 * routers + flits - 2) + 1;
                assert_eq!(rig.sinks[to].received()[0].0, arrival as u64, "{config:?}: from {from} to {to}");
            }
        }
    }

    #[test]
    fn a_site_wanted_by_all_gets_a_flit_a_cycle() {
        for (kind, channels) in [(MESH, 1), (RING, 2), (TWO_LEVEL, 2)] {
            let script = |from| (0..20).map(|n| (0, packet(from, 3, 20 * from as u32 + n, 5))).collect();
            let scripts: Vec<Script> = (0..15).map(script).collect();
            let rig = compare(&config(kind, channels), REQUESTS, &scripts, &vec![Vec::new(); 6]);
            let cycles: Vec<u64> = rig.sinks[3].received().iter().map(|(cycle, _)| *cycle).collect();
            assert_eq!(cycles.len(), 300);
            assert!(cycles.windows(2).all(|pair| pair[1] == pair[0] + 5), "{channels}: {cycles:?}");
        }
    }

    #[test]
    fn a_cluster_sends_a_flit_a_cycle_on_each_link() {
        let sites = Sites { sms: 4, partitions: 4, ..REQUESTS };
        let last = |links| {
            let noc = NocConfig::TwoLevel(TwoLevelConfig { clusters: 1, links, ..TwoLevelConfig::default() });
            let config = Config { noc, xbar: XbarConfig { flit_bytes: 32, buffer_flits: 20 } };
            let script = |from: usize| (0..40).map(|n| (0, packet(from, from, 40 * from as u32 + n, 5))).collect();
            let scripts: Vec<Script> = (0..4).map(script).collect();
            let rig = compare(&config, sites, &scripts, &vec![Vec::new(); 4]);
            rig.sinks.iter().filter_map(|sink| Some(sink.received().last()?.0)).max().unwrap()
        };
        // In all, the four SMs send 800 flits, each SM to a different partition. The parallel links carry
        // equal shares of these flits.
        for (links, flits_of_a_link) in [(1, 800), (2, 400), (4, 200)] {
            assert!((flits_of_a_link..flits_of_a_link + 10).contains(&last(links)), "{links} links: {}", last(links));
        }
    }

    /// Returns the cycle in which the last packet for memory partition 2 arrives. Packets for partition 1 use
    /// the same link, but partition 1 accepts none before cycle 2000.
    fn last_beside_a_full_site(virtual_channels: u32) -> u64 {
        let sites = Sites { sms: 3, partitions: 3, ..REQUESTS };
        let script = |from: usize| (0..40).map(|n| (0, packet(from, from + 1, 100 * from as u32 + n, 5))).collect();
        let scripts: [Script; 3] = [script(0), script(1), Script::new()];
        let takes = [vec![], vec![2000], vec![]];
        let rig = compare(&config(RING, virtual_channels), sites, &scripts, &takes);
        rig.sinks[2].received().last().unwrap().0
    }

    #[test]
    fn a_full_site_stops_those_behind_on_its_channel_only() {
        assert!(last_beside_a_full_site(2) > 2000);
        assert!(last_beside_a_full_site(4) < 500);
    }

    #[test]
    fn a_ring_full_of_long_packets_keeps_moving() {
        let sites = Sites { sms: 5, partitions: 5, ..REQUESTS };
        for hop_latency in [1, 3] {
            let noc = NocConfig::Ring(RoutedConfig { virtual_channels: 2, hop_latency });
            let config = Config { noc, xbar: XbarConfig { flit_bytes: 32, buffer_flits: 5 } };
            // The ring has five hops, and each packet takes two of them, so that packets compete for every
            // link.
            let script = |from: usize| (0..100).map(|n| (0, packet(from, (from + 2) % 5, n, 5))).collect();
            let scripts: Vec<Script> = (0..5).map(script).collect();
            let rig = compare(&config, sites, &scripts, &vec![Vec::new(); 5]);
            assert_eq!(rig.sinks.iter().map(|sink| sink.received().len()).sum::<usize>(), 500);
        }
    }

    #[test]
    #[should_panic(expected = "router0: a packet at input 2 requests destination 6 of 6")]
    fn a_packet_to_a_site_that_is_not_there_is_a_breach() {
        let mut scripts: Vec<Source<Request>> = (0..15).map(|_| Source::new([], Stall::Never)).collect();
        scripts[0] = Source::new([packet(0, 6, 0, 1)], Stall::Never);
        let sinks = (0..6).map(|_| Sink::new(Stall::Never)).collect();
        crate::kit::run(&mut Rig::new(&config(MESH, 1), REQUESTS, scripts, sinks), Default::default(), LIMIT);
    }
}
