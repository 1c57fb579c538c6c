//! Tests with netlists of stations that pass tokens around a ring network, run in lockstep and as islands.

use serde::{Deserialize, Serialize};

use super::*;
use crate::kernel::sim::tests::Token;
use crate::kernel::{Block, Describe, DescribeExt, Fields, FieldsExt, Mode, Simulator};

/// Beat that reports a token that was dropped.
#[derive(Clone, Debug, Default, Hash, Serialize, Deserialize, Payload)]
struct DroppedToken {
    station: u8,
}

#[derive(Default, derive::Links, Serialize, Deserialize)]
struct Wires {
    tokens: Pool<Token>,
    gone: Pool<DroppedToken>,
}

#[derive(derive::Kinds, Serialize, Deserialize)]
enum Roles {
    Stations(Of<Station, Wires>),
    Offices(Of<Office, Wires>),
}

/// Hardware block that delays each token for some cycles and forwards it; after 60 hops it drops the token.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Station {
    number: u8,
    held: Option<(u64, u16)>,
    passed: u32,
    /// Number of forwarded tokens after which the station requests attention from the simulator.
    calls_at: Option<u32>,
    /// Cycle up to which the station's statistics include the cycles that it slept.
    settled_to: u64,
}

#[derive(Default, derive::Ports)]
struct StationPorts {
    from: In<Token>,
    to: Out<Token>,
    gone: Out<DroppedToken>,
}

impl HasPorts for Station {
    type Ports = StationPorts;
}

impl Block for Station {
    type Io<'a> = ();
    fn eval(&mut self, (): (), _: &mut Edge<'_>) -> Sleep {
        unreachable!("evaluated as a unit")
    }
    fn describe(&self, to: &mut dyn Describe) {
        let Self { number, held, passed, calls_at: _, settled_to: _ } = self;
        to.bits("number", *number);
        to.flag("busy", held.is_some());
        to.bits("hops", held.map_or(0, |(_, hops)| hops));
        to.stat("passed", u64::from(*passed));
    }
}

impl Unit<Wires> for Station {
    fn edge(&mut self, ports: &StationPorts, wires: &mut Wires, at: &mut impl AnyEdge) -> Sleep {
        let Wires { tokens, gone } = wires;
        let (mut from, mut to) = tokens.both(&ports.from, &ports.to);
        if let Some((due, hops)) = self.held {
            if at.cycle() < due {
                return Sleep::At(due);
            }
            if hops == 60 {
                let mut gone = gone.tx(&ports.gone);
                if gone.is_ready(at) {
                    gone.push(at, DroppedToken { station: self.number });
                    self.held = None;
                }
            } else if to.is_ready(at) {
                to.push(at, Token { hops: hops + 1 });
                self.passed += 1;
                self.held = None;
            }
        } else if from.peek(at).is_some() {
            let hops = from.pop(at).hops;
            self.held = Some((at.cycle() + 3 + u64::from(hops % 5), hops));
        }
        match self.held {
            Some((due, _)) if due > at.cycle() => Sleep::At(due),
            Some(_) => Sleep::Next,
            None if from.has_beat(at) => Sleep::Next,
            None => Sleep::UntilEvent,
        }
    }

    fn calls(&self) -> bool {
        self.calls_at.is_some_and(|many| self.passed >= many)
    }

    fn is_idle(&self) -> bool {
        self.held.is_none()
    }

    fn settle(&mut self, cycle: u64) {
        self.settled_to = cycle;
    }
}

/// Hardware block that collects the reports of dropped tokens.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Office {
    from: Vec<u8>,
}

#[derive(Default, derive::Ports)]
struct OfficePorts {
    gone: Many<In<DroppedToken>>,
}

impl HasPorts for Office {
    type Ports = OfficePorts;
}

impl Block for Office {
    type Io<'a> = ();
    fn eval(&mut self, (): (), _: &mut Edge<'_>) -> Sleep {
        unreachable!("evaluated as a unit")
    }
    fn describe(&self, to: &mut dyn Describe) {
        to.stat("gone", self.from.len() as u64);
    }
}

impl Unit<Wires> for Office {
    fn is_idle(&self) -> bool {
        true
    }

    fn edge(&mut self, ports: &OfficePorts, wires: &mut Wires, at: &mut impl AnyEdge) -> Sleep {
        let mut gone = wires.gone.rx_bank(&ports.gone);
        for end in 0..gone.len() {
            if gone.at(end).peek(at).is_some() {
                // The ends of a port are in the order in which the links were connected, which is the order
                // of stations.
                let DroppedToken { station } = gone.at(end).pop(at);
                assert_eq!(usize::from(station), end);
                self.from.push(station);
            }
        }
        if gone.has_beat(at) { Sleep::Next } else { Sleep::UntilEvent }
    }
}

const STATIONS: usize = 6;
const PERIODS: [u32; 2] = [7, 5];

/// Ring network of stations in two clock domains. All stations are also linked to one office, which collects
/// reports. All links have the given latencies of beats and of credits in ticks.
struct Ring {
    net: Net<Wires, Roles>,
    stations: [Family<Station>; 2],
    office: Family<Office>,
}

impl Ring {
    fn new([latency, credit]: [u64; 2], tokens: usize) -> Self {
        let mut net = Net::new(&Clocks::of_periods(&PERIODS), 2);
        let station = |number: usize| {
            let held = (number < tokens).then_some((number as u64, 0));
            (vec![("station", Some(number as u32))], Station { number: number as u8, held, ..Station::default() })
        };
        let stations = [0, 1].map(|clock| net.add(clock as u8, (0..STATIONS / 2).map(|i| station(2 * i + clock))));
        let office = net.add(0, [(vec![("office", None)], Office::default())]);
        let at = |number: usize| (stations[number % 2], number / 2);
        let spec = LinkSpec { depth: 4, latency, credit };
        // Connects the links of the ring in reverse order, alternating with the links to the office, so that
        // `finish` has to sort them.
        for number in 0..STATIONS {
            let ((from, i), (to, j)) = (at(STATIONS - 1 - number), at((2 * STATIONS - number) % STATIONS));
            net.link(from.at(i, |p| &mut p.to), to.at(j, |p| &mut p.from), ("from", None), spec, &());
            let (from, i) = at(number);
            let name = ("gone", Some(number as u32));
            net.link(from.at(i, |p| &mut p.gone), office.at(0, |p| &mut p.gone), name, spec, &());
        }
        net.finish([(office, 0)]);
        net.record();
        Self { net, stations, office }
    }

    fn dropped_tokens(&self) -> &[u8] {
        &self.net.all(self.office)[0].from
    }

    fn forwarded_counts(&self) -> Vec<u32> {
        self.stations.iter().flat_map(|&kind| self.net.all(kind)).map(|station| station.passed).collect()
    }

    /// Returns the dropped tokens, the number of tokens that each station forwarded, the digests of beats and
    /// state, and the final tick.
    fn outcome(&self, sim: &Simulator) -> (Vec<u8>, Vec<u32>, u64, u64, u64) {
        let digests = (self.net.beat_digest(), sim.state_digest(&self.net));
        (self.dropped_tokens().to_vec(), self.forwarded_counts(), digests.0, digests.1, sim.tick())
    }

    fn simulator(&self, mode: Mode) -> Simulator {
        Simulator::new(&PERIODS, &self.net, mode)
    }

    /// Runs the netlist as islands until no hardware block is scheduled, or until a block requests attention
    /// from the simulator.
    fn run_apart(&mut self, sim: &mut Simulator, mut end: u64) {
        let islands = self.net.separate(sim).expect("the ring has islands");
        while islands.plan_round(&mut end, false) {
            (0..islands.count()).for_each(|island| islands.run(island));
            (0..islands.num_sync_points()).for_each(|meeting| islands.synchronize(meeting));
        }
        self.net.rejoin(islands, sim);
    }
}

const DIGESTS: Mode = Mode { evaluate_all: false, lint: false, shuffle: None, digest: true, unchecked: false };

fn in_step(delays: [u64; 2], tokens: usize) -> (Vec<u8>, Vec<u32>, u64, u64, u64) {
    let mut ring = Ring::new(delays, tokens);
    let mut sim = ring.simulator(DIGESTS);
    while sim.step(&mut ring.net).is_some() {}
    ring.outcome(&sim)
}

#[test]
fn islands_that_meet_do_what_blocks_do_in_step() {
    for delays in [[7, 7], [20, 20], [40, 9], [9, 40], [100, 100]] {
        for tokens in [1, 4, STATIONS] {
            let expected = in_step(delays, tokens);
            assert_eq!(expected.0.len(), tokens, "every token dies");
            let mut ring = Ring::new(delays, tokens);
            let mut sim = ring.simulator(DIGESTS);
            ring.run_apart(&mut sim, u64::MAX);
            assert_eq!(ring.outcome(&sim), expected, "{delays:?}, {tokens} tokens");
        }
    }
}

/// Checks that the netlist is not idle until the only token, which is in a station or on a link, has been
/// dropped.
#[test]
fn a_netlist_is_idle_when_no_block_and_no_link_holds_anything() {
    let mut ring = Ring::new([20, 20], 1);
    let mut sim = ring.simulator(Mode::default());
    let (mut on_links, mut in_stations) = (0, 0);
    assert!(!ring.net.is_idle());
    while ring.dropped_tokens().is_empty() && sim.step(&mut ring.net).is_some() {
        let is_held = ring.stations.iter().flat_map(|&kind| ring.net.all(kind)).any(|station| station.held.is_some());
        if ring.dropped_tokens().is_empty() {
            assert!(!ring.net.is_idle(), "tick {}", sim.tick());
            *(if is_held { &mut in_stations } else { &mut on_links }) += 1;
        }
    }
    assert!(on_links > 0 && in_stations > 0, "{on_links}, {in_stations}");
    assert!(ring.net.is_idle());
}

#[test]
fn blocks_settle_up_to_the_cycle_of_their_own_clock() {
    let mut ring = Ring::new([20, 20], 1);
    ring.net.settle(36);
    let settled = |ring: &Ring| {
        ring.stations.map(|kind| ring.net.all(kind).iter().map(|station| station.settled_to).collect::<Vec<_>>())
    };
    let of = |[first, second]: [u64; 2]| [vec![first; STATIONS / 2], vec![second; STATIONS / 2]];
    assert_eq!(settled(&ring), of([36 / 7 + 1, 36 / 5 + 1]));
    ring.net.settle_others(ring.stations[0], 70);
    assert_eq!(settled(&ring), of([36 / 7 + 1, 70 / 5 + 1]));
}

#[test]
fn a_netlist_may_be_taken_apart_again_and_again() {
    let expected = in_step([20, 20], 4);
    let mut ring = Ring::new([20, 20], 4);
    let mut sim = ring.simulator(DIGESTS);
    for end in (1..).map(|i| i * 137) {
        ring.run_apart(&mut sim, end);
        // Runs three ticks in lockstep; afterward, `run_apart` splits the netlist into islands again.
        for _ in 0..3 {
            sim.step(&mut ring.net);
        }
        if sim.next_tick().is_none() {
            break;
        }
    }
    assert_eq!(ring.outcome(&sim), expected);
}

#[test]
fn whoever_calls_the_host_stops_its_island_and_all_meet_soon_after() {
    let mut ring = Ring::new([20, 20], 4);
    let [first, _] = ring.stations;
    ring.net.all_mut(first)[1].calls_at = Some(5);
    let mut sim = ring.simulator(Mode::FAST);
    ring.run_apart(&mut sim, u64::MAX);
    assert!(ring.net.is_called());
    assert_eq!(ring.net.caller(first), Some(1));
    assert_eq!(ring.net.caller(ring.office), None);
    assert_eq!(ring.net.all(first)[1].passed, 5);
    assert!(ring.dropped_tokens().is_empty(), "the others have not gone on to the end");
    ring.net.answer();
    assert!(!ring.net.is_called());
}

#[test]
fn of_several_who_call_at_one_edge_the_first_is_named() {
    let mut ring = Ring::new([20, 20], 4);
    let [first, _] = ring.stations;
    ring.net.all_mut(first).iter_mut().for_each(|station| station.calls_at = Some(0));
    let mut sim = ring.simulator(Mode::default());
    sim.step(&mut ring.net);
    assert_eq!(ring.net.caller(first), Some(0));
}

#[test]
fn how_far_islands_run_follows_from_the_delays_of_their_links() {
    let window = |delays| {
        let ring = Ring::new(delays, 1);
        let [first, second] = ring.stations;
        let of = |family, block| ring.net.pace_of(ring.net.id(family, block));
        (of(first, 0), of(second, 2), ring.net.pace_of(ring.net.id(ring.office, 0)))
    };
    // The window (time between synchronization points) is the largest multiple of the 7-tick core cycle that
    // does not exceed the delay of the links.
    assert_eq!(window([20, 20]), (Some((14, 0)), Some((14, 0)), Some((14, 0))));
    assert_eq!(window([100, 100]), (Some((98, 0)), Some((98, 0)), Some((98, 0))));
    // Beats take 40 ticks and credits only 9. No island of the ring can run ahead of the others, so the
    // shorter delay limits the window.
    assert_eq!(window([40, 9]), (Some((7, 0)), Some((7, 0)), Some((7, 0))));
    // The netlist is never cut at links with a delay of less than one core cycle, which is 7 ticks.
    assert_eq!(window([6, 6]), (None, None, None));
    assert_eq!(Ring::new([6, 6], 1).net.num_islands(), None);
    assert_eq!(Ring::new([7, 7], 1).net.num_islands(), Some(STATIONS + 1));
}

#[test]
fn whoever_slow_ways_lead_to_is_ahead() {
    let mut net: Net<Wires, Roles> = Net::new(&Clocks::of_periods(&[1]), 1);
    let path = |number| vec![("station", Some(number))];
    let stations = net.add(0, (0..2).map(|i| (path(i), Station::default())));
    let office = net.add(0, [(vec![("office", None)], Office::default())]);
    for i in 0..2 {
        let spec = LinkSpec { depth: 4, latency: 50, credit: 10 };
        net.link(stations.at(i, |p| &mut p.gone), office.at(0, |p| &mut p.gone), ("gone", None), spec, &());
    }
    net.finish([(stations, 0)]);
    // Beats take 50 ticks and credits 10. The window between synchronization points is (50 + 10) / 2 = 30
    // ticks, and the office runs 50 - 30 = 20 ticks ahead of the stations.
    assert_eq!(net.pace_of(net.id(stations, 0)), Some((30, 0)));
    assert_eq!(net.pace_of(net.id(office, 0)), Some((30, 20)));
}

#[test]
fn nobody_runs_beyond_what_tells_the_end_of_a_run() {
    let pace = |heard: fn(Family<Office>, Family<Station>) -> bool| {
        let mut net: Net<Wires, Roles> = Net::new(&Clocks::of_periods(&[1]), 1);
        let stations = net.add(0, (0..2).map(|i| (vec![("station", Some(i))], Station::default())));
        let office = net.add(0, [(vec![("office", None)], Office::default())]);
        for (i, latency) in [(0, 12), (1, 50)] {
            let spec = LinkSpec { depth: 4, latency, credit: 50 };
            net.link(stations.at(i, |p| &mut p.gone), office.at(0, |p| &mut p.gone), ("gone", None), spec, &());
        }
        if heard(office, stations) {
            net.finish([(office, 0)])
        } else {
            net.finish([(stations, 1)])
        }
        net.pace_of(net.id(stations, 1)).map(|(window, _)| window)
    };
    // If no message to the office can end the run, the window is 50 ticks: the delay of the link from the
    // second station. The first station, whose beats take 12 ticks, is in the office's island. If a message
    // from the first station can end the run, the delay of 12 ticks limits the window.
    assert_eq!(pace(|_, _| false), Some(50));
    assert_eq!(pace(|_, _| true), Some(12));
}

#[test]
fn a_saved_state_goes_on_and_that_of_another_netlist_is_refused() {
    let expected = in_step([20, 20], 4);
    let mut ring = Ring::new([20, 20], 4);
    let mut sim = ring.simulator(DIGESTS);
    for _ in 0..100 {
        sim.step(&mut ring.net);
    }
    let saved = serde_json::to_string(&ring.net.state()).unwrap();
    let mut other = Ring::new([20, 20], 0);
    assert!(other.net.adopt(serde_json::from_str(&saved).unwrap()));
    while sim.step(&mut other.net).is_some() {}
    assert_eq!(other.outcome(&sim), expected);

    let [first, _] = ring.stations;
    ring.net.all_mut(first)[2].calls_at = Some(0);
    let saved_call = serde_json::to_string(&ring.net.state()).unwrap();
    assert!(other.net.adopt(serde_json::from_str(&saved_call).unwrap()));
    assert_eq!(other.net.caller(first), Some(2), "who has called is heard again");

    let mut small: Net<Wires, Roles> = Net::new(&Clocks::of_periods(&PERIODS), 2);
    let office = small.add(0, [(vec![("office", None)], Office::default())]);
    small.finish([(office, 0)]);
    assert!(!small.adopt(serde_json::from_str(&saved).unwrap()));
}

#[test]
fn blocks_that_a_domain_has_no_room_for_are_in_the_next_with_its_clock() {
    let mut net: Net<Wires, Roles> = Net::new(&Clocks::of_periods(&[3, 5, 3, 3]), 2);
    let many = |count: u32| (0..count).map(|i| (vec![("station", Some(i))], Station::default()));
    let first = net.add(0, many(130));
    let second = net.add(0, many(130));
    let other = net.add(1, many(100));
    assert_eq!(net.population(), [120, 100, 120, 20]);
    // Blocks with the same number, one of each kind, are in the same clock domain.
    for i in [0, 59, 60, 119, 120, 129] {
        assert_eq!(net.id(first, i).domain, net.id(second, i).domain);
    }
    assert_eq!(net.id(first, 60), BlockId { domain: 2, slot: 0 });
    assert_eq!(net.id(other, 99), BlockId { domain: 1, slot: 99 });
}

#[test]
#[should_panic(expected = "the domains of clock 1 have no room for 129 more blocks")]
fn a_domain_has_no_more_blocks_than_bits() {
    let mut net: Net<Wires, Roles> = Net::new(&Clocks::of_periods(&[3, 5]), 2);
    net.add(1, (0..129).map(|i| (vec![("station", Some(i))], Station::default())));
}

#[test]
#[should_panic(expected = "station1.from: its receiver already has a link at this port")]
fn a_port_with_one_end_is_connected_once() {
    let mut net: Net<Wires, Roles> = Net::new(&Clocks::of_periods(&PERIODS), 2);
    let stations = net.add(0, (0..3).map(|i| (vec![("station", Some(i))], Station::default())));
    let spec = LinkSpec { depth: 2, latency: 1, credit: 1 };
    for from in [0, 2] {
        net.link(stations.at(from, |p| &mut p.to), stations.at(1, |p| &mut p.from), ("from", None), spec, &());
    }
}

#[test]
fn a_description_shows_a_block_in_its_scopes_with_the_links_that_it_receives_from() {
    #[derive(Default)]
    struct Scopes(Vec<String>, String);
    impl Fields for Scopes {
        fn field(&mut self, _: crate::kernel::Field) {}
        fn wide(&mut self, _: &'static str, _: &[u8]) {}
    }
    impl Describe for Scopes {
        fn enter(&mut self, name: &'static str, index: Option<u32>) {
            let index = index.map_or(String::new(), |index| index.to_string());
            self.1 += &format!("/{name}{index}");
            self.0.push(self.1.clone());
        }
        fn leave(&mut self) {
            self.1.truncate(self.1.rfind('/').unwrap_or(0));
        }
        fn probe(&mut self, _: crate::kernel::Field) {}
        fn stat_in(&mut self, _: Option<&'static str>, _: &'static str, _: u64) {}
        fn array(&mut self, _: &'static str, _: &dyn crate::kernel::ArrayView) {}
        fn channel(&mut self, _: &'static str, _: u32, _: u32) {}
        fn logic(&mut self, _: &'static str, _: crate::kernel::Logic) {}
    }
    let ring = Ring::new([20, 20], 1);
    let mut shown = Scopes::default();
    ring.net.describe(ring.net.id(ring.office, 0), &mut shown);
    let ends = (0..STATIONS).map(|i| format!("/office/gone{i}"));
    assert_eq!(shown.0, ["/office".to_owned()].into_iter().chain(ends).collect::<Vec<_>>());
}

#[test]
fn an_outline_has_a_group_for_each_kind_and_a_bundle_for_links_alike() {
    let outline = Ring::new([20, 9], 1).net.outline();
    let groups: Vec<_> = outline.groups.iter().map(|group| (&*group.name, group.blocks, group.clock)).collect();
    assert_eq!(groups, [("station", 3, 0), ("station", 3, 1), ("office", 1, 0)]);
    let bundles = outline.bundles.iter().map(|Bundle { from, to, name, links, spec }| {
        assert_eq!((spec.latency, spec.credit), (20, 9));
        (*from, *to, *name, *links)
    });
    assert_eq!(
        bundles.collect::<Vec<_>>(),
        [(0, 1, "from", 3), (0, 2, "gone", 3), (1, 0, "from", 3), (1, 2, "gone", 3)]
    );
    assert_eq!(outline.islands, Some(STATIONS + 1));
}

/// Ports of a station, including optional ports that most stations lack.
#[derive(Default, derive::Ports)]
struct RarePorts {
    plain: In<Token>,
    extra: Extra<StationPorts>,
}

#[test]
fn ports_that_few_have_are_there_once_they_are_connected() {
    let mut ports = RarePorts::default();
    assert!(ports.extra.get().is_none());
    let mut find = Find { beats: TypeId::of::<DroppedToken>(), link: 7, ports: 0, found: None };
    ports.visit(&mut find);
    assert_eq!((find.ports, find.found), (1, None));
    assert!(ports::Connects::connect(&mut ports.extra.open().gone, 7));
    ports.visit(&mut find);
    assert_eq!(find.found, Some(1 + 3));
    assert!(ports.extra.get().is_some_and(|extra| extra.gone.is_connected() && !extra.to.is_connected()));
    assert!(!ports.plain.is_connected());
}
