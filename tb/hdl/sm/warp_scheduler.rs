//! # Lockstep test of a warp scheduler
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                                | where                         |
//! |--------------------------------------------------------------------------|-------------------------------|
//! | greedy-then-oldest; loose round robin                                    | random size                   |
//! | the warp issued last stalls, becomes ready again, or has been replaced   | slots that are launched again |
//! | several warps launch in one cycle, like the warps of a CTA               | `launch`                      |
//! | an issue and a launch in one cycle                                       | `cycle`                       |
//! | the pick is the first ready warp in launch order, or the next ready slot | `expected`                    |

use rtl::kernel::{Describe, Edge};
use rtl::sm::scheduler::{Order, Rule};
use rtl::sm::{Ages, Scheduler};

use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("if (greedy_q && (ready_i", "if ((ready_i"),
        Mistake::new("(ready_i & WARPS'(1) << last_q) != '0) first", "ready_i != '0) first"),
        Mistake::new("else first[w] = ready_i[w] && (older_q", "else first[w] = (older_q"),
        Mistake::new("(older_q[w] & ready_i) == '0", "(older_q[w] & ~ready_i) == '0"),
        Mistake::new("issued = pick_valid_o && issues_i", "issued = issues_i"),
        Mistake::new("last_1 = issued ? pick_o : last_q", "last_1 = pick_valid_o ? pick_o : last_q"),
        Mistake::new("greedy_1 = issued || greedy_q", "greedy_1 = issued"),
        Mistake::new("WARPS'(1) << last_1) == '0", "WARPS'(1) << last_q) == '0"),
        Mistake::new("greedy_q <= greedy_1 && (launch_i & WARPS'(1) << last_1) == '0", "greedy_q <= greedy_1"),
        Mistake::new("OTHERS & ~(launch_i & ABOVE)", "OTHERS"),
        Mistake::new("OTHERS & ~(launch_i & ABOVE)", "OTHERS & ~launch_i"),
        Mistake::new("older_q[w] <= older_q[w] & ~launch_i;", "older_q[w] <= older_q[w];"),
        Mistake::equivalent("issued = pick_valid_o && issues_i", "issued = ready_i != '0 && issues_i", "exactly then a pick is valid"),
    ]
}

struct Unit {
    warps: u32,
    /// Policy of the scheduler: true for greedy-then-oldest, false for loose round robin.
    is_greedy: bool,
    ages: Ages,
    dut: Scheduler,
    /// Running warps in launch order, from oldest to newest.
    running: Vec<u8>,
    /// Slot of the warp that issued last, and a flag that is true if that warp still occupies the slot.
    last: (u8, bool),
    moods: TrafficModes<4>,
    random: Random,
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let (warps, is_greedy) = match size {
            Size::Small => (4, true),
            Size::Fermi | Size::Synthesised => (48, true),
            Size::Any if random.percent(50) => (1 + random.below(64) as u32, true),
            Size::Any => (1 + random.below(64) as u32, false),
        };
        let rule = if is_greedy { Rule::GreedyThenOldest } else { Rule::LooseRoundRobin };
        let (ages, dut) = (Ages::new(warps as usize), Scheduler::new(Order::BuiltIn(rule), u64::MAX >> (64 - warps)));
        Self {
            warps,
            is_greedy,
            ages,
            dut,
            running: Vec::new(),
            last: (0, false),
            moods: TrafficModes::default(),
            random,
        }
    }

    fn compute_expected(&self, ready: u64) -> u8 {
        let is_ready = |warp: u8| ready >> warp & 1 != 0;
        let (last, is_same) = self.last;
        match self.is_greedy {
            true if is_same && is_ready(last) => last,
            true => *self.running.iter().find(|warp| is_ready(**warp)).expect("one is ready"),
            false => (1..=64).map(|step| (last + step) % 64).find(|warp| is_ready(*warp)).expect("one is ready"),
        }
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        vec![("WARPS", self.warps.to_string()), ("GREEDY_THEN_OLDEST", u32::from(self.is_greedy).to_string())]
    }

    fn cycle(&mut self, _: &Edge<'_>, ports: &mut Ports) {
        let [waits, issues, ends, begins] = self.moods.next(&mut self.random);
        let ready = self.running.iter().fold(0u64, |set, warp| set | u64::from(!self.random.percent(waits)) << warp);
        let issues = self.random.percent(issues);
        let pick = (ready != 0).then(|| self.dut.pick(ready, &self.ages));
        assert_eq!(pick, (ready != 0).then(|| self.compute_expected(ready)));
        ports.input("ready", self.warps, ready);
        ports.input("issues", 1, issues);
        ports.output("pick_valid", 1, pick.is_some());
        ports.output_if("pick", 6, pick);
        if let Some(warp) = pick.filter(|_| issues) {
            self.dut.on_issue(warp);
            self.last = (warp, true);
        }
        // The scheduler receives no signal when a warp ends. In this cycle, warps may end and new warps may
        // be launched in their slots, except in the slot of the warp that has just issued.
        let issued = pick.filter(|_| issues);
        let (random, running) = (&mut self.random, &mut self.running);
        running.retain(|warp| Some(*warp) == issued || !random.percent(ends / 3));
        let free: Vec<_> = (0..self.warps as u8).filter(|warp| !running.contains(warp)).collect();
        let begins = if random.percent(begins) { begins } else { 0 };
        let launched: Vec<_> = free.into_iter().filter(|_| random.percent(begins)).collect();
        ports.input("launch", self.warps, launched.iter().fold(0u64, |set, warp| set | 1 << warp));
        for warp in launched {
            self.ages.renew(warp);
            self.dut.on_launch(warp);
            self.running.push(warp);
            self.last.1 &= self.last.0 != warp;
        }
    }

    /// Returns the number of constant register bits. The diagonal of the age matrix is constant, since no
    /// warp is older than itself.
    fn constant_bits(&self) -> u64 {
        self.warps.into()
    }

    fn describe(&self, to: &mut dyn Describe) {
        if self.is_greedy {
            self.ages.describe(to);
        }
        self.dut.describe(to);
    }
}
