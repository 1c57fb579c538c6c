//! # SM dueling
//! Measures at run time whether the decoupled or an ordinary L1D serves a kernel better, and switches the SMs
//! accordingly (li2015 section 4.3, Table 3). Two SMs lead: SM 0 has the decoupled L1D, and SM 1 is in the
//! *original* mode, in which the L1D behaves like an ordinary one. All other SMs switch to the mode of the
//! leader that wins.
//!
//! | port   | dir              | payload | contract                                           |
//! |--------|------------------|---------|----------------------------------------------------|
//! | `seen` | in, two leaders  | `LoadReport` | a load that the leader's L1D accepted; never stalls |
//! | `mode` | out, every SM    | `Mode`  | the new mode of the SM; sent when it changes       |
//!
//! The original mode wins only if its miss rate is lower by more than a margin; otherwise the decoupled L1D
//! wins. A kernel that nearly always misses has almost equal rates in both modes, yet it gains from the
//! decoupled L1D.
//!
//! Rates are compared without a division. In the formulas, m0 and a0 are the misses and accesses of the
//! leader with the decoupled L1D, and m1 and a1 those of the leader in the original mode. With a relative
//! margin, m0 / a0 > (1 + margin / 100) m1 / a1 becomes 100 m0 a1 > (100 + margin) m1 a0. With a margin in
//! percentage points, m0 / a0 > m1 / a1 + margin / 100 becomes 100 m0 a1 > 100 m1 a0 + margin a0 a1.
//!
//! The paper gives a "miss rate difference threshold" of 10 %, but not the base of the percentage. A margin
//! of ten percentage points would keep the decoupled L1D even if it misses 15 % of the loads and the original
//! mode only 5 %. But in section 4.3 the mode with the higher miss rate loses, and section 6.1 (b) reports no
//! slowdown of cache-friendly kernels. A margin of a tenth of the original mode's miss rate agrees with both
//! sections.
//!
//! The interval timer runs freely, and the counters restart at the end of each interval. An interval in which
//! a leader made too few accesses leaves the modes unchanged. Pinned leaders keep their modes for the whole
//! kernel. Leaders that are not pinned adopt the first decision of a kernel, like all other SMs. No second
//! decision follows, because all SMs are then in the same mode and there is nothing left to compare.
//!
//! The paper suggests that the leaders adopt the decision: "all the SMs" follow (section 4.3), and bypassing
//! turns on or off "in all SMs" without a loss (section 6.1 (b)). A leader pinned to the worse mode would
//! cause a loss. A drawback of unpinned leaders: the first interval, which alone decides, compares two cold
//! caches.
//!
//! In one cycle, in this order:
//! 1. The modes are sent, at the end of an interval.
//! 2. The loads of the leaders are counted, for the next interval.
//!
//! Latency: an access is counted in the cycle after it was accepted; a mode takes effect in the cycle after
//! the decision. The simulator does not evaluate this hardware block while there are no loads to count; the
//! end of the interval wakes it.
//! Area, mainly: four counters, and multipliers for two products.
//!
//! Bench: its own tests.

use serde::{Deserialize, Serialize};

use crate::config::{Rules, Side};
use crate::kernel::{
    Block, Describe, Edge, FieldsExt, HasPorts, In, Logic, Many, Out, Payload, Ports, RxBank, Sleep, TxBank,
};

/// Longest allowed interval in core cycles.
const MAX_INTERVAL: u32 = 65_536;

/// Configuration of SM dueling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DuelingConfig {
    /// Mode of SM dueling. Two leading SMs (leaders) compare two modes: SM 0 uses the decoupled L1D, and SM 1
    /// the original mode, which behaves like an ordinary L1D. The field selects whether there are leaders,
    /// and whether they keep their modes.
    pub leaders: Leaders,
    /// Length in core cycles of the intervals in which the miss rates of the leaders are measured.
    pub interval: u32,
    /// Margin in percent. The original mode wins only if its miss rate is lower than that of the decoupled
    /// L1D by more than this margin.
    pub margin: u32,
    /// Unit of `margin`: percentage points, or percent of the miss rate of the original mode.
    pub margin_of: MarginOf,
    /// Minimum number of accesses of each leader in an interval. An interval in which a leader makes fewer
    /// accesses decides nothing.
    pub min_accesses: u32,
}

/// Quantity of which the margin between two miss rates is a percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarginOf {
    /// Percentage points: with a margin of 10, the two miss rates must differ by more than 0.1.
    Points,
    /// Percent of the miss rate of the original mode: with a margin of 10, the two miss rates must differ by
    /// more than a tenth of that rate.
    Misses,
}

/// Mode of SM dueling. Two leading SMs (leaders) compare two modes: SM 0 uses the decoupled L1D, and SM 1 the
/// original mode, which behaves like an ordinary L1D. The field selects whether there are leaders, and
/// whether they keep their modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leaders {
    /// No leaders and no dueling: every SM uses `l1.decoupled.threshold`.
    None,
    /// The leaders keep their modes. At the end of each interval, all other SMs switch to the mode of the
    /// leader that won.
    Pinned,
    /// The first decision of a kernel applies to all SMs, including the leaders, until the kernel ends.
    JoinOnce,
}

impl DuelingConfig {
    /// Configuration without SM dueling. The unused parameters have the values of li2015 Table 3.
    pub const OFF: Self =
        Self { leaders: Leaders::None, interval: 500, margin: 10, margin_of: MarginOf::Misses, min_accesses: 16 };

    /// Checks that every field has a legal value.
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

    /// True if SM number `sm` starts a kernel in the original mode, in which every load is admitted to the
    /// L1D.
    #[must_use]
    pub fn starts_original(&self, sm: u8) -> bool {
        self.leaders != Leaders::None && sm != 0
    }

    /// True if the miss rate of the original mode is lower than that of the decoupled mode by more than the
    /// margin. `new` holds the counts of the leader with the decoupled L1D, `old` those of the leader in the
    /// original mode.
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
    /// True if the load missed in the L1D or bypassed it.
    pub missed: bool,
}

/// Message to an SM: the mode of its L1D.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct Mode {
    /// True for the original mode, in which every load is admitted; false for the configured threshold.
    pub original: bool,
}

/// Number of leader SMs in the duel.
pub const LEADERS: usize = 2;

/// Ports of the hardware block that performs SM dueling.
#[derive(Default, Ports)]
pub struct DuelingPorts {
    /// Reports of accepted loads, one input port per leading SM.
    pub seen: Many<In<LoadReport>>,
    /// New modes of the L1Ds, one output port per SM.
    pub mode: Many<Out<Mode>>,
}

impl HasPorts for Dueling {
    type Ports = DuelingPorts;
}

/// Channel ends that the hardware block for SM dueling reads and writes at one clock edge.
pub struct DuelingIo<'a> {
    /// Input channels from the leading SMs: reports of the loads that their L1Ds accepted.
    pub seen: RxBank<'a, LoadReport>,
    /// New modes for the L1Ds of all SMs.
    pub mode: TxBank<'a, Mode>,
}

/// Number of accesses and misses of one leader in the current interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Number of loads that the leader's L1D accepted.
    pub accesses: u32,
    /// Number of accepted loads that missed or bypassed the L1D.
    pub misses: u32,
}

/// Hardware block that performs SM dueling for all SMs of a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dueling {
    config: DuelingConfig,
    num_sms: usize,
    tallies: [Tally; LEADERS],
    /// Cycle in which the current interval ends; `None` while all counters are zero.
    ends: Option<u64>,
    /// True if the SMs that are not leaders are in the original mode, in which every load is admitted to the
    /// L1D.
    original: bool,
    decided: bool,
}

impl Dueling {
    /// Creates the hardware block that performs SM dueling for `num_sms` SMs.
    ///
    /// # Panics
    /// Panics if there are fewer SMs than leaders.
    #[must_use]
    pub fn new(config: DuelingConfig, num_sms: u32) -> Self {
        assert!(num_sms as usize >= LEADERS, "{num_sms} SMs, expected {LEADERS} or more for the leaders");
        let num_sms = num_sms as usize;
        let tallies = [Tally::default(); LEADERS];
        Self { config, num_sms, tallies, ends: None, original: true, decided: false }
    }

    /// Resets the counters, the mode and the decision for a new kernel. Each SM resets its own mode.
    pub fn restart(&mut self) {
        (self.tallies, self.ends) = ([Tally::default(); LEADERS], None);
        (self.original, self.decided) = (true, false);
    }

    /// Ends an interval: decides which mode wins, and sends that mode to the SMs that must switch to it.
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
        // The hardware has a free-running interval timer. The model stores the cycle in which the interval
        // ends instead.
        to.sized("ends", ends.unwrap_or(0) & ((1 << bits) - 1), bits);
        to.flag("original", *original);
        // The flag `decided` exists in hardware only if the leaders also adopt the winning mode, since the
        // first decision is then final. With pinned leaders, every interval ends with a new decision.
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
        // Constant multipliers of the comparison of miss rates: two multiply its sides by 100, and one
        // computes the margin, which is added to one side.
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
