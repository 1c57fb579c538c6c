//! # Criticality-aware warp scheduling (CAWS)
//! Issues the most critical warp first, which is the warp that is expected to end last (Lee and Wu, "CAWS:
//! criticality-aware warp scheduling for GPGPU workloads", PACT 2014). The criticality of a warp is predicted
//! as in CAWA (Lee, Arunkumar and Wu, ISCA 2015): number of remaining instructions times average cycles per
//! instruction (CPI), plus stall cycles. As in CAWA's greedy variant, the scheduler continues to issue the
//! same warp while this warp is ready; with `greedy = false`, it selects the most critical ready warp in
//! every cycle.
//!
//! | hook        | what it updates                                                                      |
//! |-------------|--------------------------------------------------------------------------------------|
//! | `on_launch` | the remaining instructions are those of the program, the CPI is 1, no stalls         |
//! | `on_issue`  | remaining instructions, CPI and stall cycles of the warp, and the warp issued last    |
//!
//! From the papers: the sum above, and the count of remaining instructions. Each instruction decreases this
//! count by one, and each jump changes it by the number of instructions that the jump repeats or skips. Stall
//! cycles are the cycles between two issues of the warp.
//!
//! Chosen by this model: the count starts with the length of the program, so that it is never negative. On a
//! divergent branch, the count follows the warp's pc when it jumps from one path to the other. The average
//! CPI is a moving average that needs no division: `cpi - cpi / 2^decay + cycles / 2^decay`, each quotient
//! rounded down, in units of 1/16 cycle. A criticality covers the time up to the warp's last issue; the
//! current wait is added only when it ends. All counters saturate: 16 bits of instructions, 12 bits of cycles
//! per instruction, 24 bits of stall cycles.
//!
//! Part of `rtl/sm/front/scheduler.rs`.
//! Bench: its own tests and `tb/sm/scheduler.rs`.

use arbitrary_int::traits::Integer;
use arbitrary_int::u24;
use serde::{Deserialize, Serialize};

use super::{Hooks, Order, SchedulerPlace, Scheme, WarpIssue, WarpLaunch, describe_ranks};
use crate::config::Rules;
use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic};

/// Number of fractional bits of the average cycles per instruction.
const FRACTION: u32 = 4;
/// Largest number of cycles per instruction that the average takes into account.
const MOST_CYCLES: u64 = (1 << 12) - 1;
/// Width of a criticality in bits: 16 bits of instructions times 12 bits of cycles, plus a carry.
const CRITICALITY_BITS: u32 = 29;

/// Configuration of criticality-aware warp scheduling.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CawsConfig {
    /// Weight of the last instruction in the moving average of the cycles per instruction, as a negative
    /// power of two: the weight is 2^-`decay`.
    pub decay: u32,
    /// True if a scheduler continues to issue the same warp while this warp is ready, even if another ready
    /// warp is more critical.
    pub greedy: bool,
}

/// Default configuration. The weight of 1/8 is an assumption of this model.
impl Default for CawsConfig {
    fn default() -> Self {
        Self { decay: 3, greedy: true }
    }
}

#[typetag::serde(name = "caws")]
impl Scheme for CawsConfig {
    fn order(&self, place: &SchedulerPlace<'_>) -> Order {
        Order::Ranked(Box::new(Caws::new(self, place)))
    }

    fn validate(&self, rules: &mut Rules) {
        rules.range("decay", u64::from(self.decay), 0..=8, "the average is shifted by at most 8 bits");
    }
}

/// Data from which the criticality of one warp is predicted.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Warp {
    /// Number of instructions from the warp's next instruction to the end of the program.
    remaining: u16,
    /// Average cycles per instruction, in units of 1/16 cycle.
    cpi: u16,
    /// Number of cycles in which the warp waited between its issues.
    stalls: u24,
    /// Cycle in which the warp was issued last, or launched.
    last: u64,
}

impl Warp {
    fn criticality(&self) -> u64 {
        ((u64::from(self.remaining) * u64::from(self.cpi)) >> FRACTION) + u64::from(self.stalls)
    }
}

/// State of CAWS for one scheduler.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Caws {
    config: CawsConfig,
    warps: Box<[Warp]>,
    /// Warp issued last; `None` if another warp has since been launched in its slot.
    greedy: Option<u8>,
}

impl Caws {
    /// Creates the state of a scheduler without warps.
    #[must_use]
    pub fn new(config: &CawsConfig, place: &SchedulerPlace<'_>) -> Self {
        Self { config: *config, warps: vec![Warp::default(); place.warps as usize].into(), greedy: None }
    }
}

#[typetag::serde]
impl Hooks for Caws {
    fn rank(&self, warp: u8) -> u64 {
        let is_first = self.config.greedy && self.greedy == Some(warp);
        u64::from(is_first) << CRITICALITY_BITS | self.warps[usize::from(warp)].criticality()
    }

    fn on_launch(&mut self, cycle: u64, &WarpLaunch { warp, length }: &WarpLaunch) {
        let remaining = u16::try_from(length).unwrap_or(u16::MAX);
        let started = Warp { remaining, cpi: 1 << FRACTION, stalls: u24::default(), last: cycle };
        self.warps[usize::from(warp)] = started;
        self.greedy = self.greedy.filter(|&last| last != warp);
    }

    fn on_issue(&mut self, cycle: u64, &WarpIssue { warp, position, next, .. }: &WarpIssue) {
        let Warp { remaining, cpi, stalls, last } = &mut self.warps[usize::from(warp)];
        let left = (u64::from(*remaining) + u64::from(position)).saturating_sub(next.into());
        *remaining = u16::try_from(left).unwrap_or(u16::MAX);
        let cycles = cycle - *last;
        let (average, newest) = (u64::from(*cpi), cycles.min(MOST_CYCLES) << FRACTION);
        let decay = self.config.decay;
        *cpi = u16::try_from(average - (average >> decay) + (newest >> decay)).unwrap_or(u16::MAX);
        let waited = u32::try_from(cycles - 1).ok().and_then(|waited| u24::try_new(waited).ok()).unwrap_or(u24::MAX);
        *stalls = stalls.saturating_add(waited);
        *last = cycle;
        self.greedy = Some(warp);
    }

    fn clear(&mut self) {
        self.warps.fill(Warp::default());
        self.greedy = None;
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { config: _, warps, greedy } = self;
        to.entries("warp", warps.iter(), |Warp { remaining, cpi, stalls, last }, to| {
            to.bits("remaining", *remaining);
            to.bits("cpi", *cpi);
            to.bits("stalls", *stalls);
            to.bits("last", *last);
        });
        to.flag("greedy", greedy.is_some());
        to.sized("greedy_warp", greedy.unwrap_or(0).into(), 6);
        let count = warps.len() as u32;
        to.logic("remaining", Logic::Adder { width: u16::BITS });
        to.logic("cycles", Logic::Adder { width: u64::BITS });
        to.logic("cpi", Logic::Adder { width: u16::BITS });
        to.logic("cpi_decay", Logic::Adder { width: u16::BITS });
        to.logic("stalls", Logic::Adder { width: 24 });
        for _ in 0..count {
            // The product of remaining instructions and average CPI is computed as a sum of partial products,
            // one for each bit of the average.
            for _ in 0..u16::BITS {
                to.logic("product", Logic::Adder { width: CRITICALITY_BITS });
            }
            to.logic("criticality", Logic::Adder { width: CRITICALITY_BITS });
        }
        describe_ranks(count, CRITICALITY_BITS + 1, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm::Pipe;

    fn caws(config: CawsConfig) -> Caws {
        let mut caws = Caws::new(&config, &SchedulerPlace { path: "", warps: 3 });
        (0..3).for_each(|warp| caws.on_launch(10, &WarpLaunch { warp, length: 100 }));
        caws
    }

    fn issue(caws: &mut Caws, cycle: u64, warp: u8, position: u32, next: u32) {
        caws.on_issue(cycle, &WarpIssue { warp, pipe: Pipe::Sp, position, next, ends: false });
    }

    #[test]
    fn a_warp_that_skips_instructions_becomes_less_critical_and_one_that_repeats_them_more() {
        let mut caws = caws(CawsConfig { greedy: false, ..CawsConfig::default() });
        assert_eq!([0, 1, 2].map(|warp| caws.rank(warp)), [100; 3]);
        issue(&mut caws, 11, 0, 0, 1);
        issue(&mut caws, 11, 1, 0, 41);
        assert_eq!([0, 1, 2].map(|warp| caws.rank(warp)), [99, 59, 100]);
        issue(&mut caws, 12, 1, 41, 11);
        assert_eq!(caws.rank(1), 89);
    }

    #[test]
    fn a_wait_counts_as_stall_cycles_and_raises_the_average_that_the_remaining_instructions_take() {
        let mut caws = caws(CawsConfig { decay: 3, greedy: false });
        issue(&mut caws, 10 + 33, 0, 0, 1);
        // The new average, in sixteenths of a cycle, is 16 - 16 / 8 + 16 * 33 / 8 = 80, which is 5 cycles.
        // The warp has 99 instructions left, and 32 stall cycles.
        assert_eq!(caws.rank(0), 99 * 5 + 32);
        issue(&mut caws, 10 + 34, 0, 1, 2);
        assert_eq!(caws.rank(0), ((98 * (80 - 10 + 2)) >> 4) + 32);
    }

    #[test]
    fn the_warp_issued_last_stays_first_until_another_one_takes_its_slot() {
        let mut caws = caws(CawsConfig::default());
        issue(&mut caws, 11, 1, 0, 90);
        assert!(caws.rank(1) > caws.rank(0));
        caws.on_launch(50, &WarpLaunch { warp: 1, length: 100 });
        assert_eq!(caws.rank(1), caws.rank(0));
    }

    #[test]
    fn counters_saturate() {
        let mut caws = caws(CawsConfig { decay: 0, greedy: false });
        caws.on_launch(0, &WarpLaunch { warp: 0, length: 1 << 20 });
        issue(&mut caws, 1 << 40, 0, 0, 0);
        issue(&mut caws, 1 << 41, 0, 0, 0);
        assert_eq!(caws.rank(0), 65_535 * 4095 + (1 << 24) - 1);
        assert!(caws.rank(0) < 1 << CRITICALITY_BITS);
        issue(&mut caws, (1 << 41) + 1, 0, 0, 100_000);
        assert_eq!(caws.rank(0), (1 << 24) - 1);
    }
}
