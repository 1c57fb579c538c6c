//! Tests the DWT-CS coordinator, which decides the limit on warps. It runs with the monitors of the cores,
//! and in lockstep with its golden model.

use golden::throttle::{Answer, Counts, Scheme};
use rtl::kernel::{BlockId, Chan, ChanSpec, Edge, Payload, RxBank, TxBank, Wake};
use rtl::throttle::dwt_cs::coordinator::Coordinator;
use rtl::throttle::dwt_cs::{DwtConfig, Trigger};
use rtl::throttle::message::{Instructions, Limit, Misses, Order, OrderKind, Report};
use rtl::throttle::side::HubIo;
use rtl::throttle::{Hub, ThrottleConfig};
use warpsieve::check::twin::twin;

use crate::kit::Random;
use crate::kit::coverage::{Axis, Cross, hit};

const NAME: &str = "orders of the coordinator of DWT-CS";
const TRIGGERS: [(Trigger, &str); 3] =
    [(Trigger::Sum, "sum"), (Trigger::AnyCore, "any core"), (Trigger::CoordinatorOnly, "coordinator only")];
const ORDERS: [&str; 5] = ["none", "to sample", "to sample once more", "a limit", "a remembered limit"];

/// Declares the functional coverage: each order of the coordinator, under each trigger.
pub(crate) fn cross() -> Cross {
    let axes = vec![Axis::new("misses of", TRIGGERS.map(|(_, name)| name)), Axis::new("order", ORDERS)];
    Cross { name: NAME, axes, excluded: Vec::new() }
}

/// Links between the cores and the coordinator. Their clock has a period of one tick.
struct Links {
    reports: Vec<Chan<Report>>,
    orders: Vec<Chan<Order>>,
}

impl Links {
    fn new(hub: &dyn Hub, cores: u32) -> Self {
        let (core, hub, cycles) = (BlockId { domain: 0, slot: 0 }, BlockId { domain: 0, slot: 2 }, hub.latency());
        let (depth, latency) = (2 * cycles + 2, u64::from(cycles));
        let spec = |path: String, from, to| ChanSpec { path, depth, latency, credit: latency, from, to };
        fn open<T: Payload<Shape = ()>>(cores: u32, spec: impl Fn(u32) -> ChanSpec) -> Vec<Chan<T>> {
            (0..cores).map(|core| Chan::new(spec(core), ())).collect()
        }
        Self {
            reports: open(cores, |i| spec(format!("coordinator.reports{i}"), core, hub)),
            orders: open(cores, |i| spec(format!("sm{i}.core.orders"), hub, core)),
        }
    }

    fn of_hub(&mut self) -> HubIo<'_> {
        HubIo { reports: RxBank::of(&mut self.reports), orders: TxBank::of(&mut self.orders) }
    }
}

/// Runs `launches` kernel launches, in which a random number of cores report random counts at random times.
/// Checks that the coordinator sends the same orders as its golden model.
///
/// # Panics
/// Panics if an order differs from that of the golden model.
pub(crate) fn search(seed: u64, launches: u64) {
    let mut random = Random::new(seed);
    let cores = 1 + random.below(if seed % 8 == 7 { 128 } else { 20 }) as u32;
    let most = 1 + random.below(32) as u8;
    let number = 1 + random.below(cores.into()) as u32;
    let above = 1 + random.below(3) as u32;
    let (trigger, of) = TRIGGERS[random.below(3) as usize];
    let config = DwtConfig { above, trigger, coordinator: number, memo: 2, latency: 3, ..DwtConfig::KHAIRY2015 };
    let mut coordinator = Coordinator::new(&config, "coordinator", cores, most);
    let golden: Box<dyn Scheme> = twin(&ThrottleConfig::from(config.clone())).expect("DWT-CS has a twin");
    let mut twin = golden.search(cores as usize, most.into()).expect("DWT-CS searches");
    let mut links = Links::new(&coordinator, cores);
    let (mut wake, mut cycle) = (Wake::new(&[1]), 0);
    for _launch in 0..launches {
        let key = random.below(4) as u16;
        coordinator.load(key);
        twin.begin(key);
        let (mut is_sampled, mut turns) = (false, 0);
        loop {
            turns += 1;
            let counts: Vec<Counts> = (0..cores)
                .map(|_| Counts { misses: random.below(160), instructions: random.below(40) * 250 })
                .collect();
            let answer = if is_sampled {
                twin.end_round(&counts.iter().map(|counts| counts.instructions).collect::<Vec<_>>())
            } else {
                twin.period(&counts)
            };
            let times: Vec<u64> = (0..cores).map(|_| cycle + random.below(4)).collect();
            let mut got: Vec<Option<Order>> = vec![None; cores as usize];
            let end = cycle + 12;
            while cycle < end {
                let at = &mut Edge::new(cycle, cycle, &mut wake);
                for core in (0..cores as usize).filter(|core| times[*core] == cycle) {
                    let Counts { misses, instructions } = counts[core];
                    let (misses, instructions) = (Misses::new(misses as u32), Instructions::new(instructions as u32));
                    links.reports[core].tx().push(at, Report { sampled: is_sampled, misses, instructions });
                }
                for (got, orders) in got.iter_mut().zip(&mut links.orders) {
                    let mut orders = orders.rx();
                    if orders.has_beat(at) {
                        *got = Some(orders.pop(at));
                    }
                }
                Hub::eval(&mut coordinator, links.of_hub(), at);
                cycle += 1;
            }
            let order = |kind, limit: &usize| Some(Order { kind, limit: Limit::new(*limit as u8) });
            let expected = match &answer {
                Answer::Nothing => vec![None; cores as usize],
                Answer::Sample(limits) => limits.iter().map(|limit| order(OrderKind::Sample, limit)).collect(),
                Answer::Fixed(limit) => vec![order(OrderKind::Fixed, limit); cores as usize],
            };
            assert_eq!(got, expected, "seed {seed}, cycle {cycle}");
            let order = match (&answer, is_sampled) {
                (Answer::Nothing, _) => ORDERS[0],
                (Answer::Sample(_), false) => ORDERS[1],
                (Answer::Sample(_), true) => ORDERS[2],
                (Answer::Fixed(_), true) => ORDERS[3],
                (Answer::Fixed(_), false) => ORDERS[4],
            };
            hit(NAME, &[of, order]);
            is_sampled = matches!(answer, Answer::Sample(_));
            if turns > 12 || matches!(answer, Answer::Fixed(_)) {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rtl::throttle::Hooks;
    use rtl::throttle::dwt_cs::Persist;
    use rtl::throttle::dwt_cs::monitor::{Monitor, Phase};
    use rtl::throttle::message::Miss;

    use super::*;

    /// Testbench: the monitors of several cores with their coordinator. A function given by the test
    /// determines how many instructions the cores execute.
    struct Bench {
        monitors: Vec<Monitor>,
        coordinator: Coordinator,
        links: Links,
        /// For each core, the number of thread instructions issued so far.
        issued: Vec<u64>,
        wake: Wake,
        cycle: u64,
        /// Log of the phase and the warp limit of every core. Whenever one of these values changes, an entry
        /// with the cycle is added.
        log: Vec<(u64, Vec<(Phase, u8)>)>,
    }

    impl Bench {
        fn new(config: &DwtConfig, cores: u32, most: u8) -> Self {
            let coordinator = Coordinator::new(config, "coordinator", cores, most);
            Self {
                monitors: (0..cores).map(|_| Monitor::new(config, most)).collect(),
                links: Links::new(&coordinator, cores),
                coordinator,
                issued: vec![0; cores as usize],
                wake: Wake::new(&[1]),
                cycle: 0,
                log: Vec::new(),
            }
        }

        /// Runs one kernel launch for the given number of cycles, and logs it from cycle 0 on. In each cycle,
        /// core `i` with the warp limit `k` issues `threads(i, k)` thread instructions. Each core misses once
        /// in `miss_every` cycles.
        fn launch(&mut self, key: u16, cycles: u64, miss_every: u64, threads: impl Fn(usize, u8) -> u32) {
            let start = self.cycle;
            self.monitors.iter_mut().for_each(|monitor| monitor.load(key));
            self.coordinator.load(key);
            self.log.clear();
            while self.cycle < start + cycles {
                let at = &mut Edge::new(self.cycle, self.cycle, &mut self.wake);
                for (core, monitor) in self.monitors.iter_mut().enumerate() {
                    if let Some(report) = monitor.tick(self.cycle).and_then(|tick| tick.report) {
                        self.links.reports[core].tx().push(at, report);
                    }
                    let mut order = self.links.orders[core].rx();
                    if order.has_beat(at) {
                        monitor.on_order(order.pop(at), self.cycle);
                    }
                    if self.cycle.is_multiple_of(miss_every) {
                        monitor.on_miss(Miss::default(), self.cycle, u64::MAX);
                    }
                    self.issued[core] += u64::from(threads(core, monitor.limit()));
                    monitor.count_to(self.issued[core]);
                }
                Hub::eval(&mut self.coordinator, self.links.of_hub(), at);
                let state: Vec<_> = self.monitors.iter().map(|monitor| (monitor.phase(), monitor.limit())).collect();
                if self.log.last().is_none_or(|(_, last)| *last != state) {
                    self.log.push((self.cycle - start, state));
                }
                self.cycle += 1;
            }
            self.monitors.iter_mut().for_each(|monitor| monitor.end_kernel(self.cycle - 1));
        }

        /// Returns the log entries in which all cores are in the given phase, each as its cycle and the warp
        /// limits of the cores.
        fn of(&self, phase: Phase) -> Vec<(u64, Vec<u8>)> {
            let all = |state: &[(Phase, u8)]| state.iter().all(|(of, _)| *of == phase);
            let found = self.log.iter().filter(|(_, state)| all(state));
            found.map(|(cycle, state)| (*cycle, state.iter().map(|(_, limit)| *limit).collect())).collect()
        }
    }

    /// Returns the number of thread instructions per cycle of a core, as a function of its warp limit. It is
    /// largest for a limit of five warps.
    fn best_at_five(_: usize, limit: u8) -> u32 {
        32 - u32::from(limit.abs_diff(5))
    }

    #[test]
    fn cores_sample_in_cycle_30_032_and_know_the_limit_in_60_064() {
        let mut bench = Bench::new(&DwtConfig::KHAIRY2015, 15, 24);
        bench.launch(1, 70_000, 3, best_at_five);
        assert_eq!(bench.of(Phase::Sample), [(30_032, (1..=15).collect())]);
        assert_eq!(bench.of(Phase::Wait), [(60_032, (1..=15).collect())]);
        assert_eq!(bench.of(Phase::Fixed), [(60_064, vec![5; 15])]);
    }

    #[test]
    fn a_kernel_known_from_before_gets_its_limit_without_sampling() {
        let mut bench = Bench::new(&DwtConfig::KHAIRY2015, 15, 24);
        bench.launch(1, 61_000, 3, best_at_five);
        bench.launch(1, 31_000, 3, |_, _| 7);
        assert_eq!(bench.of(Phase::Sample), []);
        assert_eq!(bench.of(Phase::Fixed), [(30_032, vec![5; 15])]);
        bench.launch(2, 31_000, 3, |_, _| 7);
        assert_eq!(bench.of(Phase::Sample), [(30_032, (1..=15).collect())]);
    }

    #[test]
    fn a_kernel_that_ends_while_it_is_sampled_leaves_nothing_behind() {
        let mut bench = Bench::new(&DwtConfig::KHAIRY2015, 15, 24);
        bench.launch(1, 50_000, 3, best_at_five);
        assert_eq!(bench.coordinator.limit_of(1), None);
        bench.launch(1, 61_000, 3, best_at_five);
        assert_eq!(bench.of(Phase::Sample), [(30_032, (1..=15).collect())]);
        assert_eq!(bench.coordinator.limit_of(1), Some(5));
    }

    #[test]
    fn if_the_last_core_wins_nine_cores_try_more_warps_beside_six_that_keep_to_fifteen() {
        let mut bench = Bench::new(&DwtConfig::KHAIRY2015, 15, 24);
        bench.launch(1, 100_000, 2, |_, limit| 40 - u32::from(limit.abs_diff(19)));
        let second: Vec<u8> = (16..=24).chain([15; 6]).collect();
        assert_eq!(bench.of(Phase::Sample), [(30_032, (1..=15).collect()), (60_064, second)]);
        assert_eq!(bench.of(Phase::Fixed), [(90_096, vec![19; 15])]);
    }

    #[test]
    fn two_periods_above_the_bound_start_nothing_nor_does_the_bound_itself() {
        let mut bench = Bench::new(&DwtConfig::KHAIRY2015, 15, 24);
        // In ten cycles, a core issues 100 thread instructions and misses once, which is exactly 10 misses
        // per thousand instructions.
        bench.launch(1, 100_000, 10, |_, _| 10);
        assert_eq!(bench.of(Phase::Sample), []);
        bench.launch(2, 29_999, 3, best_at_five);
        bench.launch(2, 29_999, 3, best_at_five);
        assert_eq!(bench.of(Phase::Sample), []);
    }

    #[test]
    fn a_search_that_persists_goes_on_with_the_next_launch() {
        let mut bench = Bench::new(&DwtConfig { persist: Persist::Kernel, ..DwtConfig::KHAIRY2015 }, 15, 24);
        bench.launch(2, 25_000, 3, best_at_five);
        bench.launch(2, 25_000, 3, best_at_five);
        assert_eq!(bench.of(Phase::Sample), [(5_033, (1..=15).collect())]);
    }

    #[test]
    fn a_core_without_warps_cannot_win() {
        let mut bench = Bench::new(&DwtConfig::KHAIRY2015, 15, 24);
        bench.launch(1, 70_000, 3, |core, limit| if core == 4 { 0 } else { best_at_five(core, limit) });
        assert_eq!(bench.of(Phase::Fixed), [(60_064, vec![4; 15])]);
    }

    /// While a message is in flight, a core and the coordinator may be in different phases. The coordinator
    /// must ignore a report from the wrong phase.
    #[test]
    fn the_count_of_a_sample_that_nobody_asked_for_is_no_period() {
        let config = DwtConfig { above: 1, ..DwtConfig::KHAIRY2015 };
        let mut coordinator = Coordinator::new(&config, "coordinator", 1, 24);
        let mut links = Links::new(&coordinator, 1);
        let (mut wake, mut cycle) = (Wake::new(&[1]), 0);
        let mut answer = |sampled| {
            let at = &mut Edge::new(cycle, cycle, &mut wake);
            let report = Report { sampled, misses: Misses::new(100), instructions: Instructions::new(10) };
            links.reports[0].tx().push(at, report);
            for _ in 0..=2 * config.latency {
                let at = &mut Edge::new(cycle, cycle, &mut wake);
                Hub::eval(&mut coordinator, links.of_hub(), at);
                cycle += 1;
            }
            let at = &mut Edge::new(cycle, cycle, &mut wake);
            let mut order = links.orders[0].rx();
            order.has_beat(at).then(|| order.pop(at).kind)
        };
        assert_eq!([true, false].map(&mut answer), [None, Some(OrderKind::Sample)]);
    }

    #[test]
    fn the_coordinator_does_what_its_twin_says() {
        (0..60).for_each(|seed| search(seed, 8));
    }
}
