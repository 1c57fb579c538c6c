//! # Testbench of the warp scheduler
//! Runs random warps on a single scheduler, in lockstep with the golden model of its scheme. The warps are
//! launched, issue, jump, and have short and long waits, and a throttle may exclude some of them. Each choice
//! of a warp must equal the choice of the golden model. A comparison of kernel results would find no mistake,
//! because the order of issue does not change them.
//!
//! | testpoint                                                                       | test                     |
//! |---------------------------------------------------------------------------------|--------------------------|
//! | each choice is that of the golden model, for every scheme and any interleaving  | `each_choice_*`          |
//! | cycles in which no warp can issue may be skipped                                | `skipped_cycles_*`       |
//! | a scheme with another parameter or order than its golden model is caught        | `a_scheme_with_*`        |
//! | every registered scheme is drawn                                                | `every_scheme_*`         |
//! | on a core, each cycle is reported exactly once, in every evaluation mode        | `a_core_reports_*`       |
//! | ranks that prefer the warp issued last give the cycles of greedy-then-oldest    | `ranks_that_prefer_*`    |

use std::collections::{BTreeMap, BTreeSet};

use golden::sm::scheduler::{Policy, Scheme};
use rtl::sm::scheduler::caws::CawsConfig;
use rtl::sm::scheduler::greedy_then_oldest::GreedyThenOldest;
use rtl::sm::scheduler::greedy_then_youngest::GreedyThenYoungest;
use rtl::sm::scheduler::loose_round_robin::LooseRoundRobin;
use rtl::sm::scheduler::two_level::TwoLevel;
use rtl::sm::scheduler::{SchedulerConfig, SchedulerPlace, WarpIssue};
use rtl::sm::{Ages, MAX_WARPS, Pipe, Scheduler, StallReason};
use warpsieve::check::twin::twin;

use crate::kit::Random;

/// Number of instructions that a random program issues.
const ISSUES: usize = 1500;

/// Generates a random warp scheduler. Every scheme can occur.
pub fn draw(random: &mut Random) -> SchedulerConfig {
    match random.below(6) {
        0 => GreedyThenOldest {}.into(),
        1 => GreedyThenYoungest {}.into(),
        2 => LooseRoundRobin {}.into(),
        3 => TwoLevel {}.into(),
        _ => CawsConfig { decay: random.below(9) as u32, greedy: random.percent(50) }.into(),
    }
}

/// State of one warp slot of the scheduler.
#[derive(Clone, Copy, Debug)]
enum Warp {
    /// No warp is in the slot. A warp will be launched in cycle `until`.
    Absent { until: u64 },
    /// A warp is running. `position` is the position of its next instruction, and `ready_at` the first cycle
    /// in which it is ready. `is_long` is true if the wait until then counts as long, like a wait for device
    /// memory.
    Running { position: u32, ready_at: u64, is_long: bool },
}

/// Scheduler under test, with its golden model and the simulated warps.
struct Player {
    /// State of each warp slot of the scheduler, by slot number in the SM.
    warps: BTreeMap<u8, Warp>,
    /// Number of instructions in the program that each warp runs.
    length: u32,
    ages: Ages,
    dut: Scheduler,
    twin: Box<dyn Policy>,
    random: Random,
    /// True if a throttle limits the pool of warps that may issue.
    is_throttled: bool,
}

impl Player {
    fn new(hardware: &SchedulerConfig, twin: Box<dyn Policy>, mut random: Random) -> Self {
        let stride = 1 << random.below(3);
        let first = random.below(stride);
        let most = (MAX_WARPS as u64 - first).div_ceil(stride);
        let slots = (0..1 + random.below(most.min(24))).map(|warp| (first + stride * warp) as u8);
        let slots: BTreeSet<u8> = slots.collect();
        let warps = slots.iter().map(|&slot| (slot, Warp::Absent { until: 1 + random.below(20) })).collect();
        let place = SchedulerPlace { path: "sm0.core.scheduler0", warps: slots.len() as u32 };
        let mut dut = Scheduler::new(hardware.watch(&place), mask(&slots));
        let is_throttled = !dut.is_two_level() && random.percent(30);
        if is_throttled {
            dut.throttle();
        }
        let length = 5 + random.below(200) as u32;
        Self { warps, length, ages: Ages::new(MAX_WARPS), dut, twin, random, is_throttled }
    }

    /// Returns the slots of the running warps for which the function `is` returns true. It receives
    /// `ready_at` and `is_long` of the warp.
    fn running(&self, is: impl Fn(u64, bool) -> bool) -> BTreeSet<u8> {
        let holds = |warp: &Warp| matches!(*warp, Warp::Running { ready_at, is_long, .. } if is(ready_at, is_long));
        self.warps.iter().filter(|(_, warp)| holds(warp)).map(|(slot, _)| *slot).collect()
    }

    /// Lets the scheduler and its golden model each choose a warp, and compares the choices. If the pipe of
    /// the chosen warp counts as busy, which is random, both choose again among the remaining warps. Returns
    /// the slot of the warp that issues.
    fn choose(&mut self, cycle: u64) -> Result<Option<u8>, String> {
        let mut ready = self.running(|ready_at, _| ready_at <= cycle);
        if self.is_throttled {
            let pool = self.dut.pool();
            ready.retain(|&slot| pool >> slot & 1 != 0);
        }
        loop {
            let open = mask(&ready) & self.dut.pool();
            let ours = (open != 0).then(|| self.dut.pick(open, &self.ages));
            let golden = self.twin.choose(&ready);
            if ours != golden {
                return Err(format!("cycle {cycle}: {ours:?} of {ready:?} issues, expected {golden:?}"));
            }
            match ours {
                Some(slot) if self.random.percent(10) => ready.remove(&slot),
                ours => return Ok(ours),
            };
        }
    }

    /// Issues an instruction of a warp. Returns the report of the issue that the scheduler receives.
    fn issue(&mut self, cycle: u64, slot: u8) -> Result<WarpIssue, String> {
        let missing = || format!("cycle {cycle}: no warp runs in slot {slot}, which issues");
        let warp = self.warps.get_mut(&slot).ok_or_else(missing)?;
        let Warp::Running { position, .. } = *warp else { return Err(missing()) };
        let (random, length) = (&mut self.random, u64::from(self.length));
        let next = match random.below(20) {
            0 => position,
            1 => position + 1 + random.below(length) as u32,
            2 => random.below(u64::from(position) + 1) as u32,
            _ => position + 1,
        };
        let ends = next >= self.length;
        *warp = if ends {
            Warp::Absent { until: cycle + 2 + random.below(60) }
        } else {
            let (wait, is_long) = match random.below(10) {
                0 => (20 + random.below(300), true),
                1 => (5000 * random.below(2), true),
                2..5 => (random.below(30), false),
                _ => (0, false),
            };
            Warp::Running { position: next, ready_at: cycle + 1 + wait, is_long }
        };
        if self.is_throttled && random.percent(20) {
            // At least one warp is not blocked, so that the program makes progress.
            let free = self.warps.keys().nth(random.below(self.warps.len() as u64) as usize);
            self.dut.block(random.below(u64::MAX) & !free.map_or(0, |slot| 1 << slot));
        }
        Ok(WarpIssue { warp: slot, pipe: Pipe::Sp, position, next: if ends { position } else { next }, ends })
    }

    /// Launches the warps that are due in `cycle`.
    fn launch(&mut self, cycle: u64) {
        for (&slot, warp) in &mut self.warps {
            if matches!(warp, Warp::Absent { until } if *until <= cycle) {
                *warp = Warp::Running { position: 0, ready_at: cycle + 3, is_long: false };
                self.ages.renew(slot);
                self.dut.on_launch(slot);
                self.dut.report_launch(cycle, slot, self.length);
                self.twin.launch(cycle, slot, self.length.into());
            }
        }
    }

    /// Returns the next cycle in which a warp may become ready, be launched, or leave a long wait.
    fn next_event(&self, cycle: u64) -> u64 {
        let events = self.warps.values().map(|warp| match *warp {
            Warp::Absent { until } => until,
            Warp::Running { ready_at, .. } if ready_at > cycle + 1 => ready_at - 1,
            Warp::Running { .. } => cycle + 1,
        });
        events.min().unwrap_or(cycle + 1).max(cycle + 1)
    }

    /// Runs one cycle. Returns the slot of the warp that issued in it, if any.
    fn step(&mut self, cycle: u64) -> Result<Option<u8>, String> {
        let chosen = self.choose(cycle)?;
        let report = chosen.map(|slot| self.issue(cycle, slot)).transpose()?;
        if let Some(report) = &report {
            self.dut.on_issue(report.warp);
            self.twin.issue(cycle, report.warp, report.position.into(), report.next.into());
        }
        self.launch(cycle);
        self.dut.report_outcome(cycle, if report.is_some() { StallReason::Issued } else { StallReason::ScoreboardAlu });
        if let Some(report) = &report {
            self.dut.report_issue(cycle, report);
        }
        let running = self.running(|_, _| true);
        let waiting = self.running(|ready_at, is_long| is_long && ready_at > cycle + 1);
        if self.dut.is_two_level() {
            self.dut.refill(mask(&running), mask(&waiting), &mut self.ages);
        }
        self.twin.end_cycle(&running, &waiting);
        Ok(chosen)
    }
}

/// Converts a set of slots to a bit mask.
fn mask(slots: &BTreeSet<u8>) -> u64 {
    slots.iter().fold(0, |mask, slot| mask | 1 << slot)
}

/// Runs a random program on a scheduler in lockstep with the golden model of the configuration `golden`,
/// which usually equals `hardware`. If `skip` is true, cycles without an event are skipped. Returns the cycle
/// and the slot of each issue.
///
/// # Errors
/// Returns an error if the golden model chooses another warp, or does not exist.
fn play(hardware: &SchedulerConfig, golden: &SchedulerConfig, seed: u64, skip: bool) -> Result<Vec<(u64, u8)>, String> {
    let scheme: Box<dyn Scheme> = twin(golden)?;
    let mut player = Player::new(hardware, scheme.twin(), Random::new(seed));
    let (mut issues, mut cycle) = (Vec::new(), 1);
    while issues.len() < ISSUES && cycle < 1_000_000 {
        let issued = player.step(cycle).map_err(|wrong| format!("seed {seed}: {wrong}"))?;
        issues.extend(issued.map(|warp| (cycle, warp)));
        cycle = if skip && issued.is_none() { player.next_event(cycle) } else { cycle + 1 };
    }
    Ok(issues)
}

/// Runs `seeds` random programs on a scheduler in lockstep with the golden model of its scheme. Other crates
/// test their own schemes with this function.
///
/// # Errors
/// Returns an error if the golden model chooses another warp or does not exist, or if the issues change when
/// idle cycles are skipped.
pub fn compare_with_twin(config: &SchedulerConfig, seeds: u64) -> Result<(), String> {
    for seed in 0..seeds {
        let all = play(config, config, seed, false)?;
        if play(config, config, seed, true)? != all {
            return Err(format!("seed {seed}: other warps issue if idle cycles are skipped"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rtl::kernel::{Describe, FieldsExt, Mode};
    use rtl::sm::scheduler::{Hooks, Order, Stall, WarpLaunch};
    use serde::{Deserialize, Serialize};

    use super::super::random;
    use super::*;
    use crate::kit::for_each_seed;

    fn kind(config: &SchedulerConfig) -> String {
        toml::Value::try_from(config).unwrap()["kind"].as_str().unwrap().to_owned()
    }

    #[test]
    fn each_choice_is_that_of_the_twin() {
        for_each_seed(200, |seed| {
            let config = draw(&mut Random::new(seed));
            let issues = play(&config, &config, seed, false).unwrap_or_else(|wrong| panic!("{config:?}, {wrong}"));
            assert_eq!(issues.len(), ISSUES, "{config:?}, seed {seed}");
        });
    }

    #[test]
    fn skipped_cycles_change_no_choice() {
        for_each_seed(60, |seed| {
            let config = draw(&mut Random::new(seed));
            assert_eq!(play(&config, &config, seed, true), play(&config, &config, seed, false), "{config:?}");
        });
    }

    #[test]
    fn every_scheme_of_the_repository_is_drawn() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../rtl/sm/scheduler");
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let files: BTreeSet<String> =
            names.filter(|name| name != "mod.rs").map(|name| name.trim_end_matches(".rs").replace('_', "-")).collect();
        let random = &mut Random::new(1);
        let drawn: BTreeSet<String> = (0..100).map(|_| kind(&draw(random))).collect();
        assert_eq!(drawn, files);
    }

    #[test]
    fn a_scheme_with_any_mistake_is_caught_by_its_twin() {
        let caws = CawsConfig { decay: 3, greedy: true };
        let mistakes: [(SchedulerConfig, SchedulerConfig); 6] = [
            (GreedyThenOldest {}.into(), GreedyThenYoungest {}.into()),
            (GreedyThenYoungest {}.into(), LooseRoundRobin {}.into()),
            (LooseRoundRobin {}.into(), TwoLevel {}.into()),
            (caws.into(), GreedyThenOldest {}.into()),
            (caws.into(), CawsConfig { decay: 2, ..caws }.into()),
            (caws.into(), CawsConfig { greedy: false, ..caws }.into()),
        ];
        for (right, wrong) in mistakes {
            let is_caught = (0..20).any(|seed| play(&wrong, &right, seed, false).is_err());
            assert!(is_caught, "{wrong:?} passes for {right:?}");
        }
    }

    /// Test scheme that checks the reports it receives from a core. Each cycle must be reported exactly once,
    /// as an issue or as part of a sequence of cycles without an issue.
    #[derive(Clone, Copy, Debug, Serialize, Deserialize)]
    struct FollowConfig {}

    #[typetag::serde(name = "test-follow")]
    impl rtl::sm::scheduler::Scheme for FollowConfig {
        fn order(&self, place: &SchedulerPlace<'_>) -> Order {
            Order::Ranked(Box::new(Follow { running: vec![None; place.warps as usize], ..Follow::default() }))
        }
    }

    #[derive(Clone, Debug, Default, Serialize, Deserialize)]
    struct Follow {
        /// First cycle that has not been reported yet.
        unknown: u64,
        /// For each running warp, the position of its next instruction.
        running: Vec<Option<u32>>,
        /// Number of instructions of the kernel.
        length: u32,
        /// Numbers of reported launches, issues, ends of warps, and cycles without an issue.
        counts: [u64; 4],
    }

    #[typetag::serde]
    impl Hooks for Follow {
        fn rank(&self, warp: u8) -> u64 {
            assert!(self.running[usize::from(warp)].is_some(), "warp {warp} is ready without having been launched");
            u64::from(warp) * self.counts[1] % 7
        }

        fn on_launch(&mut self, cycle: u64, launch: &WarpLaunch) {
            let warp = &mut self.running[usize::from(launch.warp)];
            assert_eq!(*warp, None, "cycle {cycle}: {launch:?}");
            *warp = Some(0);
            self.length = launch.length;
            self.counts[0] += 1;
        }

        fn on_stall(&mut self, cycle: u64, stall: &Stall) {
            assert_eq!(self.unknown + stall.cycles, cycle, "{stall:?}");
            assert_ne!(stall.reason, StallReason::Issued);
            self.unknown = cycle;
            self.counts[3] += stall.cycles;
        }

        fn on_issue(&mut self, cycle: u64, issue: &WarpIssue) {
            assert_eq!(self.unknown, cycle, "{issue:?}");
            self.unknown = cycle + 1;
            let warp = &mut self.running[usize::from(issue.warp)];
            assert_eq!(*warp, Some(issue.position), "cycle {cycle}: {issue:?}");
            assert!(issue.position.max(issue.next) < self.length, "{issue:?}");
            *warp = (!issue.ends).then_some(issue.next);
            self.counts[1] += 1;
            self.counts[2] += u64::from(issue.ends);
        }

        fn describe(&self, to: &mut dyn Describe) {
            to.bits("unknown", self.unknown);
            self.counts.iter().for_each(|count| to.bits("count", *count));
        }
    }

    #[test]
    fn a_core_reports_each_cycle_of_a_scheduler_once_in_every_evaluation_mode() {
        for_each_seed(24, |seed| {
            let mut kernel = random::kernel(rtl::kernel::digest_of(&seed), random::STATEMENTS);
            kernel.config.scheduler = FollowConfig {}.into();
            kernel.check();
        });
    }

    /// Test scheme that orders warps like greedy-then-oldest. The warp that issued last has the highest rank,
    /// and all other warps have equal ranks.
    #[derive(Clone, Copy, Debug, Serialize, Deserialize)]
    struct GreedyRanks {
        last: Option<u8>,
    }

    #[typetag::serde(name = "test-greedy-ranks")]
    impl rtl::sm::scheduler::Scheme for GreedyRanks {
        fn order(&self, _place: &SchedulerPlace<'_>) -> Order {
            Order::Ranked(Box::new(*self))
        }
    }

    #[typetag::serde]
    impl Hooks for GreedyRanks {
        fn rank(&self, warp: u8) -> u64 {
            (self.last == Some(warp)).into()
        }

        fn on_launch(&mut self, _cycle: u64, launch: &WarpLaunch) {
            self.last = self.last.filter(|&last| last != launch.warp);
        }

        fn on_issue(&mut self, _cycle: u64, issue: &WarpIssue) {
            // If the same instruction will issue again for other lanes, this issue does not change the warp
            // that greedy-then-oldest prefers.
            if issue.next != issue.position || issue.ends {
                self.last = Some(issue.warp);
            }
        }
    }

    #[test]
    fn ranks_that_prefer_the_warp_issued_last_give_the_cycles_of_greedy_then_oldest() {
        for_each_seed(24, |seed| {
            let mut kernel = random::kernel(rtl::kernel::digest_of(&(seed, 1)), 100);
            let cycles = [GreedyThenOldest {}.into(), SchedulerConfig::from(GreedyRanks { last: None })].map(|order| {
                kernel.config.scheduler = order;
                kernel.run(Mode::default()).cycles
            });
            assert_eq!(cycles[0], cycles[1]);
        });
    }
}
