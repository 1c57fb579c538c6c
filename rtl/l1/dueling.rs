//! # SM dueling
//! Measures at run time whether the decoupled or an ordinary L1D serves a kernel better, and switches the SMs
//! accordingly (li2015 section 4.3, Table 3). SM 0 leads with the decoupled L1D, SM 1 leads in the original
//! mode, and the other SMs follow the leader with fewer misses.
//!
//! | port   | dir              | payload | contract                                           |
//! |--------|------------------|---------|----------------------------------------------------|
//! | `seen` | in, two leaders  | `LoadReport` | a load that the leader's L1D accepted; never stalls |
//! | `mode` | out, every SM    | `Mode`  | the new mode of the SM; sent when it changes       |
//!
//! The original mode wins only if its miss rate is lower by more than a margin; otherwise the decoupled L1D
//! wins. A kernel that nearly always misses has equal rates in both modes, up to chance, yet it gains from
//! the decoupled L1D.
//!
//! Rates are compared without a division. With a relative margin, m0 / a0 > (1 + margin / 100) m1 / a1
//! becomes 100 m0 a1 > (100 + margin) m1 a0. With a margin in percentage points, m0 / a0 > m1 / a1 + margin /
//! 100 becomes 100 m0 a1 > 100 m1 a0 + margin a0 a1.
//!
//! The paper gives a "miss rate difference threshold" of 10 %, but not the base of the percentage. A margin
//! of ten percentage points would keep the decoupled L1D even if it misses 15 % of the loads and the original
//! mode only 5 %. But in section 4.3 the higher miss rate loses, and section 6.1 (b) reports no slowdown of
//! cache-friendly kernels. A margin of a tenth of the original mode's miss rate agrees with both sections.
//!
//! The interval timer runs freely, and the counters restart at the end of each interval. An interval in which
//! a leader made too few accesses leaves the modes unchanged. Pinned leaders keep their modes. Leaders that
//! are not pinned adopt the first decision of a kernel. That decision is then the last, because no two modes
//! remain to compare.
//!
//! The paper suggests that the leaders adopt the decision: "all the SMs" follow (section 4.3), and bypassing
//! turns on or off "in all SMs" without a loss (section 6.1 (b)). A pinned SM in the wrong mode would cause a
//! loss. A drawback of adopting it: the first interval, which alone decides, compares two cold caches.
//!
//! In one cycle, in this order:
//! 1. The modes are sent, at the end of an interval.
//! 2. The loads of the leaders are counted, for the next interval.
//!
//! Latency: an access is counted in the cycle after it was accepted; a mode takes effect in the cycle after
//! the decision. The block sleeps while there are no loads to count, and wakes when the timer ends.
//! Area order: four counters, two products.
//!
//! Bench: its own tests.

use serde::{Deserialize, Serialize};

use crate::config::{Rules, Side};
use crate::kernel::{
    Block, Describe, Edge, FieldsExt, HasPorts, In, Logic, Many, Out, Payload, Ports, RxBank, Sleep, TxBank,
};

/// Largest interval [core cycles].
const MAX_INTERVAL: u32 = 65_536;

/// Configuration of SM dueling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DuelingConfig {
    /// Role of the leaders after a decision.
    pub leaders: Leaders,
    /// Length of an interval [core cycles].
    pub interval: u32,
    /// Margin in percent: the miss rate of the original mode must be lower by more than this margin for it to
    /// win.
    pub margin: u32,
    /// Base of the percentage `margin`.
    pub margin_of: MarginOf,
    /// Smallest number of accesses that each leader must make in an interval for the interval to decide.
    pub min_accesses: u32,
}

/// Base of the percentage of the margin between two miss rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarginOf {
    /// All loads: the margin is in percentage points.
    Points,
    /// Misses of the original mode: the margin is relative to its miss rate.
    Misses,
}

/// Role of the leaders after a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leaders {
    /// No leaders: every SM uses the configured threshold.
    None,
    /// Leaders keep their modes, and every interval decides anew.
    Pinned,
    /// Leaders adopt the first decision of a kernel like all other SMs; no further decision follows.
    JoinOnce,
}

impl DuelingConfig {
    /// Parameters of Table 3 of li2015, without leaders.
    pub const OFF: Self =
        Self { leaders: Leaders::None, interval: 500, margin: 10, margin_of: MarginOf::Misses, min_accesses: 16 };

    /// Checks every field.
    pub fn validate(&self, rules: &mut Rules) {
        rules.range("interval", u64::from(self.interval), 2..=MAX_INTERVAL.into(), "counters are as wide as the timer");
        rules.range("margin", u64::from(self.margin), 0..=100, "the margin between two miss rates is in percent");
        let why = "an interval without accesses has no miss rate";
        let (least, interval) = (self.min_accesses, self.interval);
        rules.range("min_accesses", u64::from(least), 1..=u64::from(MAX_INTERVAL), why);
        if !rules.is_broken("interval") && !rules.is_broken("min_accesses") {
            let longer = format!("{} to {MAX_INTERVAL} with min_accesses = {least}", least.max(2));
            let sides =
                [Side::new("min_accesses", least, format!("1 to {interval}")), Side::new("interval", interval, longer)];
            rules.expect_relation(least <= interval, sides, "there is at most one access per cycle");
        }
    }

    /// True if an SM starts a kernel in the original mode.
    #[must_use]
    pub fn starts_original(&self, sm: u8) -> bool {
        self.leaders != Leaders::None && sm != 0
    }

    /// True if the miss rate of the original mode is lower than that of the decoupled mode by more than the
    /// margin. The array holds the counters of the decoupled leader, then those of the original leader.
    #[must_use]
    pub fn original_wins(&self, [new, old]: [Tally; LEADERS]) -> bool {
        let [m0, a0, m1, a1] = [new.misses, new.accesses, old.misses, old.accesses].map(i64::from);
        let of = match self.margin_of {
            MarginOf::Points => a0 * a1,
            MarginOf::Misses => m1 * a0,
        };
        100 * (m0 * a1 - m1 * a0) > i64::from(self.margin) * of
    }
}

/// Message from a leading SM: a load that its L1D accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct LoadReport {
    /// True if the load missed or bypassed.
    pub missed: bool,
}

/// Message to an SM: the mode of its L1D.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct Mode {
    /// True for the original mode, in which every load is admitted; false for the configured threshold.
    pub original: bool,
}

/// Number of leading SMs.
pub const LEADERS: usize = 2;

/// Ports of SM dueling.
#[derive(Default, Ports)]
pub struct DuelingPorts {
    /// Accepted loads, one port per leader.
    pub seen: Many<In<LoadReport>>,
    /// Modes, one port per SM.
    pub mode: Many<Out<Mode>>,
}

impl HasPorts for Dueling {
    type Ports = DuelingPorts;
}

/// Channel ends of SM dueling at one clock edge.
pub struct DuelingIo<'a> {
    /// Accepted loads of the leaders.
    pub seen: RxBank<'a, LoadReport>,
    /// Modes of all SMs.
    pub mode: TxBank<'a, Mode>,
}

/// Accesses and misses of a leader in the current interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Loads accepted.
    pub accesses: u32,
    /// Loads that missed or bypassed.
    pub misses: u32,
}

/// Block that runs SM dueling for a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dueling {
    config: DuelingConfig,
    num_sms: usize,
    tallies: [Tally; LEADERS],
    /// Cycle in which the interval of the current counters ends; `None` while all counters are zero.
    ends: Option<u64>,
    /// True if the SMs that follow are in the original mode.
    original: bool,
    decided: bool,
}

impl Dueling {
    /// Creates a duel for `num_sms` SMs.
    ///
    /// # Panics
    /// If there are fewer SMs than leaders.
    #[must_use]
    pub fn new(config: DuelingConfig, num_sms: u32) -> Self {
        assert!(num_sms as usize >= LEADERS, "{num_sms} SMs, expected {LEADERS} or more for the leaders");
        let num_sms = num_sms as usize;
        let tallies = [Tally::default(); LEADERS];
        Self { config, num_sms, tallies, ends: None, original: true, decided: false }
    }

    /// Restarts the duel for a new kernel. Each SM resets its own mode.
    pub fn restart(&mut self) {
        (self.tallies, self.ends) = ([Tally::default(); LEADERS], None);
        (self.original, self.decided) = (true, false);
    }

    /// Ends an interval: decides which mode wins, and sends it to the SMs that must switch.
    fn decide(&mut self, mode: &mut TxBank<'_, Mode>, at: &mut Edge<'_>) {
        let tallies = std::mem::take(&mut self.tallies);
        self.ends = None;
        if self.decided || tallies.iter().any(|tally| tally.accesses < self.config.min_accesses) {
            return;
        }
        let original = self.config.original_wins(tallies);
        let joins = self.config.leaders == Leaders::JoinOnce;
        self.decided = joins;
        for sm in 0..self.num_sms {
            let is = if sm < LEADERS { sm == 1 } else { self.original };
            if is != original && (joins || sm >= LEADERS) {
                mode.at(sm).push(at, Mode { original });
            }
        }
        self.original = original;
    }
}

impl Block for Dueling {
    type Io<'a> = DuelingIo<'a>;

    fn eval(&mut self, mut io: DuelingIo<'_>, at: &mut Edge<'_>) -> Sleep {
        if self.ends.is_some_and(|ends| ends <= at.cycle) {
            self.decide(&mut io.mode, at);
        }
        let mut more = false;
        for (leader, tally) in self.tallies.iter_mut().enumerate() {
            let mut seen = io.seen.at(leader);
            if let Some(&LoadReport { missed }) = seen.peek(at) {
                seen.drop_head(at);
                tally.accesses += 1;
                tally.misses += u32::from(missed);
                let interval = u64::from(self.config.interval);
                self.ends = Some((at.cycle / interval + 1) * interval);
            }
            more |= seen.has_beat(at);
        }
        match self.ends {
            _ if more => Sleep::Next,
            Some(ends) => Sleep::At(ends),
            None => Sleep::UntilEvent,
        }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { config, num_sms: _, tallies: [new, old], ends, original, decided } = self;
        let bits = u32::BITS - config.interval.leading_zeros();
        for (accesses, misses, Tally { accesses: a, misses: m }) in
            [("new_accesses", "new_misses", new), ("original_accesses", "original_misses", old)]
        {
            to.sized(accesses, u64::from(*a), bits);
            to.sized(misses, u64::from(*m), bits);
        }
        // The timer itself runs freely, so its state follows from the cycle.
        to.sized("ends", ends.unwrap_or(0) & ((1 << bits) - 1), bits);
        to.flag("original", *original);
        // Pinned leaders are compared in every interval, so there is no decision to remember.
        if config.leaders == Leaders::JoinOnce {
            to.flag("decided", *decided);
        }
        let products: &[_] = match config.margin_of {
            MarginOf::Points => &["m0_a1", "m1_a0", "a0_a1"],
            MarginOf::Misses => &["m0_a1", "m1_a0"],
        };
        for product in products {
            to.logic(product, Logic::Multiplier { width: bits, by: bits });
        }
        // Both sides are multiplied by 100, and the margin is added to one of them.
        for _ in 0..2 {
            to.logic("percent", Logic::ConstantMultiplier { width: 2 * bits, factor: 100 });
        }
        to.logic("margin", Logic::ConstantMultiplier { width: 2 * bits, factor: config.margin });
        let width = 2 * bits + 8;
        to.logic("with_margin", Logic::Adder { width });
        to.logic("wins", Logic::Less { width, count: 1 });
        to.logic("enough", Logic::Less { width: bits, count: 2 });
        for _ in 0..5 {
            to.logic("count", Logic::Counter { width: bits });
        }
    }
}

#[cfg(test)]
mod tests;
