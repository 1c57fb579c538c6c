//! Configuration of the schemes that throttle warps.

use serde::{Deserialize, Serialize};

use crate::config::Rules;

/// Who decides which warps may issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Nobody, or a fixed limit.
    None,
    /// Dynamic warp throttling via cores sampling (khairy2015 section 4.2).
    DwtCs,
    /// Cache-conscious wavefront scheduling, with which khairy2015 compares in section 5.
    Ccws,
}

/// Whose counts tell that the L1s thrash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// The sums over all cores.
    Sum,
    /// Those of any core alone.
    AnyCore,
    /// Those of the coordinator's core.
    CoordinatorOnly,
}

/// What outlives the end of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Persist {
    /// Only the memo.
    Off,
    /// Timer, counts and phase, for the next launch of the same kernel.
    Kernel,
}

/// Which warps may issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThrottleConfig {
    /// Who decides.
    pub scheme: Scheme,
    /// Of `dwt-cs`.
    pub dwt: DwtConfig,
    /// Of `ccws`.
    pub ccws: CcwsConfig,
}

/// Dynamic warp throttling via cores sampling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DwtConfig {
    /// Core cycles of a sampling period (khairy2015 Table 4: 10K).
    pub period: u32,
    /// Misses per thousand thread instructions above which a period counts (Table 4: 10).
    pub mpki: u32,
    /// Such periods in a row that start the sampling.
    pub above: u32,
    /// Periods for which every core tries its limit.
    pub sample: u32,
    /// Core cycles of a message between a core and the coordinator.
    pub latency: u32,
    /// Whose counts start the sampling.
    pub trigger: Trigger,
    /// Number of the coordinator's core, the first being 1.
    pub coordinator: u32,
    /// Kernels whose limits are remembered.
    pub memo: u32,
    /// What outlives the end of a kernel.
    pub persist: Persist,
}

/// Cache-conscious wavefront scheduling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CcwsConfig {
    /// Tags of the lines that each warp lost last (khairy2015 Table 4: 16).
    pub victims: u32,
    /// Ways among which such a tag is sought (Table 4: 8).
    pub victim_ways: u32,
    /// Score of a warp that has lost no locality (Table 4: 100).
    pub base_score: u32,
    /// Weight of lost locality against instructions (Table 4: 8).
    pub k: u32,
}

/// Most instructions and cycles that a count of 24 bits must hold: four schedulers of 32 lanes.
const THREADS_A_CYCLE: u64 = 4 * 32;

impl ThrottleConfig {
    /// Checks every field, for so many cores.
    pub fn validate(&self, num_sms: u32, rules: &mut Rules) {
        rules.group("dwt", |rules| self.dwt.validate(num_sms, rules));
        rules.group("ccws", |rules| self.ccws.validate(rules));
    }
}

impl DwtConfig {
    /// khairy2015 Table 4, with as many periods to start as to sample, of which section 4.2 gives the sum.
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

    fn validate(&self, num_sms: u32, rules: &mut Rules) {
        let Self { period, mpki, above, sample, latency, trigger, coordinator, memo, persist: _ } = self;
        rules.range("period", u64::from(*period), 1..=16_383, "the timer has 14 bits");
        rules.range("mpki", u64::from(*mpki), 1..=1000, "misses per thousand instructions");
        rules.range("above", u64::from(*above), 1..=7, "the streak is counted in 3 bits");
        rules.range("sample", u64::from(*sample), 1..=7, "the periods of a sample are counted in 3 bits");
        let most = THREADS_A_CYCLE.saturating_mul(u64::from(*period)).saturating_mul(u64::from(*sample));
        let why = "24 bits count the thread instructions of a sample, 128 a cycle";
        rules.expect(most < 1 << 24, "sample", sample, "fewer periods", why);
        rules.range("latency", u64::from(*latency), 1..=1000, "a registered link takes a cycle");
        let why = "the answer to a period's counts comes within the next period";
        rules.expect(*latency < period.div_ceil(2), "latency", latency, "less than half of `period`", why);
        let cores = if *trigger == Trigger::CoordinatorOnly { u64::from(num_sms) } else { 64 };
        rules.range("coordinator", u64::from(*coordinator), 1..=cores, "it is one of the cores");
        rules.range("memo", u64::from(*memo), 1..=64, "a kernel is sought in all entries at once");
    }
}

impl CcwsConfig {
    /// khairy2015 Table 4.
    pub const KHAIRY2015: Self = Self { victims: 16, victim_ways: 8, base_score: 100, k: 8 };

    fn validate(&self, rules: &mut Rules) {
        let Self { victims, victim_ways, base_score, k } = self;
        rules.range("victim_ways", u64::from(*victim_ways), 1..=64, "a set is searched in one cycle");
        let sets = victims / (*victim_ways).max(1);
        rules.expect(
            sets.is_power_of_two() && sets * victim_ways == *victims && *victims <= 1024,
            "victims",
            victims,
            "a power of two times `victim_ways`, at most 1024",
            "the set is a field of the line address",
        );
        rules.range("base_score", u64::from(*base_score), 1..=1000, "a score has 18 bits");
        rules.range("k", u64::from(*k), 1..=1000, "a score has 18 bits");
    }
}
