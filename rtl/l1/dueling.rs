//! # SM dueling
//! Finds out while a kernel runs whether its loads are served better by the decoupled L1D or by an
//! ordinary one, and switches the SMs accordingly (li2015 section 4.3, Table 3): SM 0 leads with the
//! decoupled L1D, SM 1 with the original mode, and the others follow the leader with fewer misses.
//!
//! | port   | dir              | payload | contract                                           |
//! |--------|------------------|---------|----------------------------------------------------|
//! | `seen` | in, two leaders  | `Seen`  | a load that the leader's L1D accepted; always taken |
//! | `mode` | out, every SM    | `Mode`  | the mode of the SM from now on; sent when it changes |
//!
//! The original mode wins if its miss rate is lower by more than a margin, otherwise the decoupled one:
//! on kernels that miss nearly always the two rates are equal but for chance, and the decoupled L1D
//! gains there nevertheless. Rates are compared without a division: m0 / a0 > (1 + margin / 100) m1 / a1
//! is 100 m0 a1 > (100 + margin) m1 a0, and with a margin in points, m0 / a0 > m1 / a1 + margin / 100 is
//! 100 m0 a1 > 100 m1 a0 + margin a0 a1. The paper gives a "miss rate difference threshold" of 10 % and
//! does not say of what. Ten points would keep the decoupled L1D where it misses 15 % of the loads and
//! the original 5 %, while section 4.3 has the higher miss rate lose and section 6.1 (b) sees no friendly
//! kernel slowed down; a tenth of the original's rate agrees with both.
//!
//! The timer runs freely; at each of its ends the counters start anew. An interval in which a leader
//! made too few accesses leaves the modes as they are. Leaders keep their modes if they are pinned;
//! otherwise the first decision of a kernel holds for them too, and is the last: nobody is left to
//! compare. The paper has "all the SMs" follow (section 4.3), turns bypassing on or off "in all SMs" and
//! sees no loss (section 6.1 (b)), which an SM that keeps the wrong mode to the end would cause; a first
//! interval, on the other hand, compares two cold caches.
//! One cycle: the modes, where an interval ends, then what the leaders see, which counts for the next.
//! Latency: an access counts in the cycle after it was accepted, a mode is in force in the cycle
//! after the decision. A sleeping block has nothing to count until its timer ends.
//! Area order: four counters, two products.
//!
//! Bench: its own tests.

use serde::{Deserialize, Serialize};

use crate::config::{Rules, Side};
use crate::kernel::{
    Block, Describe, Edge, FieldsExt, HasPorts, In, Logic, Many, Out, Payload, Ports, RxBank, Sleep, TxBank,
};

/// Most cycles of an interval.
const MOST_INTERVAL: u32 = 65_536;

/// SM dueling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DuelingConfig {
    /// What becomes of the leaders.
    pub leaders: Leaders,
    /// Core cycles of an interval.
    pub interval: u32,
    /// Percent by which the original mode must miss less to win.
    pub margin: u32,
    /// What the margin is a part of.
    pub margin_of: MarginOf,
    /// Accesses that each leader must make in an interval for it to count.
    pub min_accesses: u32,
}

/// What the margin between two miss rates is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarginOf {
    /// The loads: percentage points.
    Points,
    /// The misses of the original mode.
    Misses,
}

/// What becomes of the leaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leaders {
    /// There are none: every SM keeps the configured threshold.
    None,
    /// They keep their modes, and every interval decides anew.
    Pinned,
    /// They join the others after the first decision of a kernel, which is the last.
    JoinOnce,
}

impl DuelingConfig {
    /// Table 3 of li2015, without leaders.
    pub const OFF: Self =
        Self { leaders: Leaders::None, interval: 500, margin: 10, margin_of: MarginOf::Misses, min_accesses: 16 };

    /// Checks every field.
    pub fn validate(&self, rules: &mut Rules) {
        rules.range(
            "interval",
            u64::from(self.interval),
            2..=MOST_INTERVAL.into(),
            "counters are as wide as the timer",
        );
        rules.range("margin", u64::from(self.margin), 0..=100, "two miss rates are compared in percent");
        let why = "an interval without accesses has no miss rate";
        let (least, interval) = (self.min_accesses, self.interval);
        rules.range("min_accesses", u64::from(least), 1..=u64::from(MOST_INTERVAL), why);
        if !rules.is_broken("interval") && !rules.is_broken("min_accesses") {
            let longer = format!("{} to {MOST_INTERVAL} with min_accesses = {least}", least.max(2));
            let sides =
                [Side::new("min_accesses", least, format!("1 to {interval}")), Side::new("interval", interval, longer)];
            rules.between(least <= interval, sides, "there is an access a cycle at most");
        }
    }

    /// Whether an SM starts a kernel in the original mode.
    #[must_use]
    pub fn starts_original(&self, sm: u8) -> bool {
        self.leaders != Leaders::None && sm != 0
    }

    /// Whether the original mode, whose counters come second, misses less by more than the margin.
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

/// A load that a leader's L1D accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct Seen {
    /// It missed or went past.
    pub missed: bool,
}

/// The mode of an L1D.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
pub struct Mode {
    /// Every load is admitted.
    pub original: bool,
}

/// SMs that lead.
pub const LEADERS: usize = 2;

/// Ports of SM dueling.
#[derive(Default, Ports)]
pub struct DuelingPorts {
    /// Loads, of each leader.
    pub seen: Many<In<Seen>>,
    /// To every SM.
    pub mode: Many<Out<Mode>>,
}

impl HasPorts for Dueling {
    type Ports = DuelingPorts;
}

/// Channel ends of the block.
pub struct DuelingIo<'a> {
    /// What the leaders see.
    pub seen: RxBank<'a, Seen>,
    /// Modes of all SMs.
    pub mode: TxBank<'a, Mode>,
}

/// Accesses and misses of a leader in this interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Loads accepted.
    pub accesses: u32,
    /// Those that missed or went past.
    pub misses: u32,
}

/// The duel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dueling {
    config: DuelingConfig,
    num_sms: usize,
    tallies: [Tally; LEADERS],
    /// Cycle in which the interval ends that the counters belong to, if they are not all zero.
    ends: Option<u64>,
    /// Mode of those that follow.
    original: bool,
    decided: bool,
}

impl Dueling {
    /// A duel for `num_sms` SMs.
    ///
    /// # Panics
    /// If there are not even two leaders.
    #[must_use]
    pub fn new(config: DuelingConfig, num_sms: u32) -> Self {
        assert!(num_sms as usize >= LEADERS, "{num_sms} SMs, expected {LEADERS} or more to lead");
        let num_sms = num_sms as usize;
        let tallies = [Tally::default(); LEADERS];
        Self { config, num_sms, tallies, ends: None, original: true, decided: false }
    }

    /// Starts anew with a kernel; the SMs do so themselves.
    pub fn restart(&mut self) {
        (self.tallies, self.ends) = ([Tally::default(); LEADERS], None);
        (self.original, self.decided) = (true, false);
    }

    /// The interval is over.
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
            if let Some(&Seen { missed }) = seen.peek(at) {
                seen.drop_head(at);
                tally.accesses += 1;
                tally.misses += u32::from(missed);
                let interval = u64::from(self.config.interval);
                self.ends = Some((at.cycle / interval + 1) * interval);
            }
            more |= seen.waiting(at);
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
        // The timer itself runs freely: where it stands follows from the cycle.
        to.sized("ends", ends.unwrap_or(0) & ((1 << bits) - 1), bits);
        to.flag("original", *original);
        // Leaders that keep their modes are compared for ever.
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
        // Both sides in percent, the margin on one of them.
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
