//! # Dynamic warp throttling via cores sampling
//! DWT-CS (khairy2015 section 4.2): while the L1Ds thrash, each core tries a different limit on the number of
//! warps that may issue. Then all cores use the limit of the core that executed the most instructions. A
//! monitor in each core counts and reports; one coordinator decides for all cores.

pub mod coordinator;
mod memo;
pub mod monitor;

use arbitrary_int::traits::Integer;
use arbitrary_int::{u3, u14};
use serde::{Deserialize, Serialize};

use self::coordinator::Coordinator;
use self::monitor::Monitor;
use super::message::Instructions;
use super::{CorePlace, Hooks, Hub, Scheme};
use crate::config::Rules;
use crate::kernel::{Describe, Logic};

/// Number of core cycles in a period.
type Time = u14;
/// Type of two counts of periods: the consecutive thrashing periods, and the periods of a sample.
type Periods = u3;

/// Selection of the counts that detect thrashing of the L1Ds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// Sums of misses and instructions over all cores.
    Sum,
    /// Misses and instructions of any single core.
    AnyCore,
    /// Misses and instructions of the core given by `coordinator`.
    CoordinatorOnly,
}

/// Part of the throttle's state that is retained after the end of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Persist {
    /// Only the memo, which is the table of the limits found for kernels.
    Off,
    /// The memo, which is the table of the limits found for kernels, and, if the next launch is of the same
    /// kernel, the timer, the counts and the phase of the search.
    Kernel,
}

/// Parameters of dynamic warp throttling via cores sampling (DWT-CS).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DwtConfig {
    /// Length of a monitoring or sampling period in core cycles (khairy2015 Table 4: 10K).
    pub period: u32,
    /// Number of misses per thousand thread instructions (MPKI) above which a period counts as thrashing
    /// (khairy2015 Table 4: 10).
    pub mpki: u32,
    /// Number of consecutive thrashing periods that start the sampling.
    pub above: u32,
    /// Number of periods for which each core tries its limit.
    pub sample: u32,
    /// Latency of a message between a core and the coordinator in core cycles.
    pub latency: u32,
    /// Selection of the cores whose counts can start the sampling.
    pub trigger: Trigger,
    /// Number of the core whose counts start the sampling if `trigger` is `coordinator-only`. The first core
    /// has the number 1.
    pub coordinator: u32,
    /// Number of kernels whose limits the memo holds. The memo is the table of the limits found for kernels.
    pub memo: u32,
    /// Part of the throttle's state that is retained after the end of a kernel.
    pub persist: Persist,
}

/// Maximum number of thread instructions that a core issues per cycle: four schedulers with 32 lanes each.
/// This number limits the counts, so that they fit in 24 bits.
const THREADS_A_CYCLE: u64 = 4 * 32;

impl DwtConfig {
    /// Values of khairy2015 Table 4. Section 4.2 gives only the sum of `above` and `sample`; this model sets
    /// each of the two to half of the sum.
    pub const KHAIRY2015: Self = Self {
        period: 10_000,
        mpki: 10,
        above: 3,
        sample: 3,
        latency: 16,
        trigger: Trigger::Sum,
        coordinator: 8,
        memo: 8,
        persist: Persist::Off,
    };

    /// True if the misses per thousand instructions exceed the threshold.
    #[must_use]
    pub fn is_above(&self, misses: u64, instructions: u64) -> bool {
        1000 * misses > u64::from(self.mpki) * instructions
    }

    /// Lists the logic of [`Self::is_above`] for area estimates. The counts have the given widths in bits;
    /// the factors 1000 and `mpki` are reduced to lowest terms.
    fn describe_is_above(&self, misses: u32, instructions: u32, to: &mut dyn Describe) {
        let common = (1..=self.mpki).rev().find(|d| 1000 % d == 0 && self.mpki.is_multiple_of(*d)).unwrap_or(1);
        let [per_miss, per_instruction] = [1000 / common, self.mpki / common];
        let width = (misses + u32::BITS - per_miss.leading_zeros()).max(instructions);
        to.logic("per_miss", Logic::ConstantMultiplier { width: misses, factor: per_miss });
        to.logic("per_instruction", Logic::ConstantMultiplier { width: instructions, factor: per_instruction });
        to.logic("is_above", Logic::Less { width, count: 1 });
    }
}

impl Default for DwtConfig {
    fn default() -> Self {
        Self::KHAIRY2015
    }
}

#[typetag::serde(name = "dwt-cs")]
impl Scheme for DwtConfig {
    fn core(&self, place: &CorePlace<'_>) -> Option<Box<dyn Hooks>> {
        Some(Box::new(Monitor::new(self, place.most())))
    }

    fn hub(&self, num_sms: u32, core: &CorePlace<'_>) -> Option<Box<dyn Hub>> {
        Some(Box::new(Coordinator::new(self, core.path, num_sms, core.most())))
    }

    fn ends_periods(&self) -> bool {
        true
    }

    fn validate(&self, num_sms: u32, rules: &mut Rules) {
        let Self { period, mpki, above, sample, latency, trigger, coordinator, memo, persist: _ } = self;
        rules.range("period", u64::from(*period), 1..=u64::from(Time::MAX), "the timer has 14 bits");
        rules.range("mpki", u64::from(*mpki), 1..=1000, "misses per thousand instructions");
        rules.range("above", u64::from(*above), 1..=u64::from(Periods::MAX), "the streak is counted in 3 bits");
        rules.range(
            "sample",
            u64::from(*sample),
            1..=u64::from(Periods::MAX),
            "the periods of a sample are counted in 3 bits",
        );
        let most = THREADS_A_CYCLE.saturating_mul(u64::from(*period)).saturating_mul(u64::from(*sample));
        let why = "24 bits count the thread instructions of a sample, at most 128 per cycle";
        rules.expect(most <= u64::from(Instructions::MAX), "sample", sample, "fewer periods", why);
        rules.range("latency", u64::from(*latency), 1..=1000, "a registered link takes one cycle");
        let why = "the answer to the counts of a period must arrive within the next period";
        rules.expect(*latency < period.div_ceil(2), "latency", latency, "less than half of `period`", why);
        let cores = if *trigger == Trigger::CoordinatorOnly { u64::from(num_sms) } else { 64 };
        rules.range("coordinator", u64::from(*coordinator), 1..=cores, "it is the number of a core");
        rules.range("memo", u64::from(*memo), 1..=64, "the search for a kernel compares all entries at once");
    }
}
