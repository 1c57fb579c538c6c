//! # DWT-CS monitor of a core
//! Counts misses and thread instructions and reports them at the end of every period (khairy2015 section
//! 4.2). Holds the limit on the warps that the core's schedulers may issue.
//!
//! | port     | dir | payload    | contract                                                        |
//! |----------|-----|------------|-----------------------------------------------------------------|
//! | `on_order` | in  | `Order`    | limit for a sample or for the rest of the kernel                 |
//! | `tick`   | out | `Tick`     | called once per cycle; returns messages only at the end of a period |
//! | `count`  | in  | counts     | instructions that the core issued, misses of its L1D             |
//! | `admit`  | out | limit      | warps of each scheduler that may issue                           |
//!
//! In one cycle, in this order:
//! 1. `tick`
//! 2. `on_order`
//! 3. Misses are counted.
//! 4. Issued instructions are counted.
//! 5. The kernel ends.
//!
//! Each step sees the effects of the steps before it.
//!
//! A period counts the instructions issued in its cycles. A miss is counted one cycle after it happened, when
//! the core receives it. The first period begins with the first cycle of the kernel.
//!
//! The instruction count of a sample includes all periods of the sample, because the cores are compared by
//! this count. The miss count restarts in every period, because it only determines whether the period has too
//! many misses. The report of a sample therefore contains the misses of its last period, and the coordinator
//! ignores them.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/throttle/dwt_cs.rs`.
//! Bench: its own tests, `tb/throttle/coordinator.rs`, and `tb/hdl/throttle/monitor.rs` with
//! `rtl/hdl/throttle/ws_throttle_monitor.sv`.

use arbitrary_int::traits::Integer;
use serde::{Deserialize, Serialize};

use super::{DwtConfig, Periods, Persist, Time};
use crate::kernel::{Describe, DescribeExt, Encoding, FieldsExt, Logic, bits_of};
use crate::throttle::message::{Instructions, Limit, Miss, Misses, Order, OrderKind, PeriodEnd, Report};
use crate::throttle::{CycleState, Hooks, IssueLimit, Tick};

/// Phase of the core in the search for its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encoding)]
#[width(2)]
pub enum Phase {
    /// All warps may issue, and every period is reported.
    #[default]
    Monitor,
    /// The core tries a limit for the periods of a sample.
    Sample,
    /// The core has reported the counts of the sample and waits for an order.
    Wait,
    /// The core keeps the limit that the search found.
    Fixed,
}

/// Timer that determines the end of the current period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Timer {
    /// No kernel runs; the first period of the next kernel lasts the given number of cycles.
    Stopped(u32),
    /// The period ends at the given cycle.
    Ends(u64),
}

/// DWT-CS monitor of one core.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Monitor {
    config: DwtConfig,
    /// Number of warps that each scheduler has. A limit of this value throttles no warp.
    most: Limit,
    phase: Phase,
    limit: Limit,
    timer: Timer,
    /// Misses of the current period.
    misses: Misses,
    /// Thread instructions of the current period, or of the current sample.
    instructions: Instructions,
    /// Total number of thread instructions that the core had issued when `instructions` was last updated. Not
    /// a register: the hardware adds the instructions of each cycle directly.
    counted: u64,
    /// Number of completed periods of the sample.
    sampled: Periods,
    /// Key of the kernel that was loaded last: a hash of the kernel name.
    key: u16,
}

impl Monitor {
    /// Creates a monitor for a core whose schedulers have `most` warps each.
    #[must_use]
    pub fn new(config: &DwtConfig, most: u8) -> Self {
        let most = Limit::new(most);
        Self {
            most,
            phase: Phase::Monitor,
            limit: most,
            timer: Timer::Stopped(config.period),
            misses: Misses::default(),
            instructions: Instructions::default(),
            counted: 0,
            sampled: Periods::default(),
            key: 0,
            config: config.clone(),
        }
    }

    /// Returns the phase of the core in the search for its limit.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns the number of warps per scheduler that may issue.
    #[must_use]
    pub fn limit(&self) -> u8 {
        self.limit.value()
    }

    fn reset(&mut self) {
        *self = Self { counted: self.counted, ..Self::new(&self.config, self.most.value()) };
    }

    fn end_period(&mut self) -> Tick {
        let Self { misses, instructions, .. } = *self;
        let counts = Report { sampled: self.phase == Phase::Sample, misses, instructions };
        let is_above = self.config.is_above(misses.into(), instructions.into());
        let may_close = match self.phase {
            Phase::Monitor => !is_above,
            // The L1D must be open (not bypassed) during a sample, so that the result of the sample does not
            // depend on the streaming monitor.
            Phase::Sample | Phase::Wait => false,
            // If the limit that was found throttles warps, misses are due to thrashing. If the limit allows
            // all warps to issue, misses are due to streaming, and the L1D may be bypassed.
            Phase::Fixed => self.limit == self.most,
        };
        self.misses = Misses::default();
        let report = match self.phase {
            Phase::Monitor => {
                self.instructions = Instructions::default();
                Some(counts)
            }
            Phase::Sample => {
                self.sampled += Periods::new(1);
                let is_over = u32::from(self.sampled) == self.config.sample;
                if is_over {
                    self.phase = Phase::Wait;
                }
                is_over.then_some(counts)
            }
            Phase::Wait | Phase::Fixed => None,
        };
        Tick { period: PeriodEnd { may_close }, report }
    }

    /// Counts a miss that the core receives in this cycle.
    pub fn count_miss(&mut self) {
        self.misses += Misses::new(1);
    }

    /// Counts the thread instructions issued up to the end of this cycle. `all` is the total number that the
    /// core has issued so far. Instructions are counted only in the phases `Monitor` and `Sample`.
    pub fn count_to(&mut self, all: u64) {
        if matches!(self.phase, Phase::Monitor | Phase::Sample) {
            self.instructions += Instructions::from_u64(all - self.counted);
        }
        self.counted = all;
    }
}

#[typetag::serde]
impl Hooks for Monitor {
    fn load(&mut self, key: u16) {
        if self.config.persist == Persist::Off || self.key != key {
            self.reset();
        }
        self.key = key;
    }

    fn end_kernel(&mut self, cycle: u64) {
        match (self.config.persist, self.timer) {
            (Persist::Kernel, Timer::Ends(end)) => self.timer = Timer::Stopped(end.saturating_sub(cycle).max(1) as u32),
            (Persist::Kernel, Timer::Stopped(_)) => {}
            (Persist::Off, _) => self.reset(),
        }
    }

    fn due(&self) -> Option<u64> {
        match self.timer {
            Timer::Stopped(_) => None,
            Timer::Ends(end) => Some(end),
        }
    }

    fn tick(&mut self, cycle: u64) -> Option<Tick> {
        match self.timer {
            Timer::Stopped(left) => {
                self.timer = Timer::Ends(cycle + u64::from(left));
                None
            }
            Timer::Ends(end) if cycle < end => None,
            Timer::Ends(_) => {
                self.timer = Timer::Ends(cycle + u64::from(self.config.period));
                Some(self.end_period())
            }
        }
    }

    fn on_order(&mut self, order: Order, cycle: u64) {
        self.limit = order.limit;
        self.misses = Misses::default();
        self.instructions = Instructions::default();
        match order.kind {
            OrderKind::Sample => {
                self.phase = Phase::Sample;
                self.sampled = Periods::default();
                self.timer = Timer::Ends(cycle + u64::from(self.config.period));
            }
            OrderKind::Fixed => self.phase = Phase::Fixed,
        }
    }

    fn on_miss(&mut self, _miss: Miss, _cycle: u64, _live: u64) {
        self.count_miss();
    }

    fn admit(&mut self, seen: &CycleState) -> IssueLimit {
        self.count_to(seen.thread_instructions);
        IssueLimit::Oldest(self.limit.into())
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { config, most: _, phase, limit, timer, misses, instructions, counted: _, sampled, key } = self;
        to.part("dwt", |to| {
            to.state("phase", *phase);
            to.bits("limit", *limit);
            // In hardware, the timer counts down. The simulator (host code) stores the cycle in which the
            // period ends.
            let (runs, end) = match timer {
                Timer::Stopped(left) => (false, u64::from(*left)),
                Timer::Ends(end) => (true, *end),
            };
            to.flag("timer_runs", runs);
            to.bits("timer", Time::masked_new(end));
            to.bits("misses", *misses);
            to.bits("instructions", *instructions);
            to.bits("sampled", *sampled);
            to.bits("key", *key);
            config.describe_is_above(bits_of::<Misses>(), bits_of::<Instructions>(), to);
            to.logic("timer", Logic::Counter { width: bits_of::<Time>() });
            to.logic("missed", Logic::Counter { width: bits_of::<Misses>() });
            to.logic("issued", Logic::Adder { width: bits_of::<Instructions>() });
            // Gates that clear the counts at the end of a period, when an order arrives, and when a new
            // kernel starts.
            let counts = bits_of::<Time>() + bits_of::<Misses>() + bits_of::<Instructions>();
            to.logic("anew", Logic::Gates { count: 3 * counts });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misses_count_against_a_hundredth_of_the_instructions_and_equality_does_not() {
        assert!(DwtConfig::KHAIRY2015.is_above(101, 10_000));
        assert!(!DwtConfig::KHAIRY2015.is_above(100, 10_000));
    }

    #[test]
    fn a_period_ends_ten_thousand_cycles_after_the_kernel_began_and_counts_anew() {
        let mut monitor = Monitor::new(&DwtConfig::KHAIRY2015, 24);
        assert_eq!(monitor.tick(7), None);
        monitor.count_to(64);
        monitor.count_miss();
        assert_eq!(monitor.tick(10_006), None);
        let report = Report { sampled: false, misses: Misses::new(1), instructions: Instructions::new(64) };
        let period = PeriodEnd { may_close: false };
        assert_eq!(monitor.tick(10_007), Some(Tick { period, report: Some(report) }));
        let report = Report::default();
        assert_eq!(monitor.tick(20_007), Some(Tick { period: PeriodEnd { may_close: true }, report: Some(report) }));
    }

    #[test]
    fn a_sample_is_reported_once_after_its_periods_and_keeps_its_limit() {
        let mut monitor = Monitor::new(&DwtConfig::KHAIRY2015, 24);
        monitor.tick(0);
        monitor.count_to(500);
        monitor.on_order(Order { kind: OrderKind::Sample, limit: Limit::new(5) }, 30_032);
        monitor.count_to(532);
        let reports = [40_032, 50_032, 60_032, 70_032].map(|cycle| monitor.tick(cycle).and_then(|tick| tick.report));
        let report = Report { sampled: true, misses: Misses::default(), instructions: Instructions::new(32) };
        assert_eq!(reports, [None, None, Some(report), None]);
        assert_eq!((monitor.phase(), monitor.limit()), (Phase::Wait, 5));
        monitor.on_order(Order { kind: OrderKind::Fixed, limit: Limit::new(2) }, 60_064);
        assert_eq!((monitor.phase(), monitor.limit()), (Phase::Fixed, 2));
    }

    #[test]
    fn misses_count_as_a_streams_once_it_is_known_that_all_warps_do_best() {
        for (limit, may_close) in [(Limit::new(24), true), (Limit::new(23), false)] {
            let mut monitor = Monitor::new(&DwtConfig::KHAIRY2015, 24);
            monitor.tick(0);
            monitor.on_order(Order { kind: OrderKind::Fixed, limit }, 5_000);
            assert_eq!(monitor.tick(10_000), Some(Tick { period: PeriodEnd { may_close }, report: None }));
        }
    }

    #[test]
    fn the_end_of_a_kernel_lifts_the_limit() {
        let mut monitor = Monitor::new(&DwtConfig::KHAIRY2015, 24);
        monitor.tick(0);
        monitor.on_order(Order { kind: OrderKind::Fixed, limit: Limit::new(2) }, 50);
        monitor.end_kernel(70);
        assert_eq!((monitor.phase(), monitor.limit(), monitor.due()), (Phase::Monitor, 24, None));
    }

    #[test]
    fn a_timer_that_persists_goes_on_with_the_next_launch_of_its_kernel() {
        let mut monitor = Monitor::new(&DwtConfig { persist: Persist::Kernel, ..DwtConfig::KHAIRY2015 }, 24);
        monitor.load(9);
        monitor.tick(0);
        monitor.count_to(32);
        monitor.end_kernel(4_000);
        monitor.load(9);
        monitor.tick(5_000);
        assert_eq!(monitor.due(), Some(11_000));
        assert_eq!(
            monitor.tick(11_000).and_then(|tick| tick.report).map(|report| report.instructions),
            Some(Instructions::new(32))
        );
        monitor.end_kernel(12_000);
        monitor.load(8);
        monitor.tick(12_001);
        assert_eq!(monitor.due(), Some(22_001));
    }

    #[test]
    fn a_launch_that_ends_before_its_first_cycle_takes_nothing_of_the_period() {
        let mut monitor = Monitor::new(&DwtConfig { persist: Persist::Kernel, ..DwtConfig::KHAIRY2015 }, 24);
        monitor.load(9);
        monitor.tick(0);
        monitor.end_kernel(4_000);
        monitor.load(9);
        monitor.end_kernel(4_500);
        monitor.load(9);
        monitor.tick(5_000);
        assert_eq!(monitor.due(), Some(11_000));
    }
}
