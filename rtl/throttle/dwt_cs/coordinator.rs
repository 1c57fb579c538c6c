//! # DWT-CS coordinator
//! Detects from the counts of all cores that the L1Ds thrash, and finds the best limit on warps by sampling
//! (khairy2015 section 4.2). Each core tries a different limit. All cores then get the limit of the core that
//! executed the most instructions.
//!
//! | port     | dir         | payload  | contract                                                    |
//! |----------|-------------|----------|-------------------------------------------------------------|
//! | `report` | in, per SM  | `Report` | one per period of the monitor, one per sample; always accepted |
//! | `order`  | out, per SM | `Order`  | to all cores in one cycle; a core receives none before its next report |
//!
//! Latency: the last report of a period or a sample is answered in the cycle in which it arrives. Example:
//! links take 16 cycles in each direction, a period has 10,000 cycles, and `above` and `sample` (N and M in
//! the paper) are 3. Then sampling starts in cycle 3 * 10,000 + 2 * 16 = 30,032 of a kernel, and the cores
//! receive their limit in cycle 2 * 30,032 = 60,064.
//!
//! Limits: in the first round, core `i`, counted from 1, tries `i` warps per scheduler. If the highest tried
//! limit wins, an even higher limit may be better. The next round then tries the limits above the winner, on
//! as many cores as needed. All other cores, always including the last core, use the winner again for
//! comparison. A machine with only one core cannot try two limits in one round, so it compares with the best
//! count of the earlier rounds.
//!
//! The limit with the most thread instructions wins; of equal counts, the limit with fewer warps. A core
//! without warps counts no instructions and cannot win. If no core counted any instruction, no warp is
//! throttled and the memo stores no limit.
//!
//! Area: the sums, the best count, the memo.
//!
//! Twin: `golden/throttle/dwt_cs.rs`.
//! Bench: `tb/throttle/coordinator.rs`, and `tb/hdl/throttle/coordinator.rs` with
//! `rtl/hdl/throttle/ws_throttle_coordinator.sv`.

use arbitrary_int::u28;
use serde::{Deserialize, Serialize};

use super::memo::Memo;
use super::{DwtConfig, Periods, Persist, Trigger};
use crate::cells::lines::{Lines, Wide};
use crate::kernel::{Block, Describe, DescribeExt, Edge, Encoding, FieldsExt, Logic, Sleep, bits_of};
use crate::throttle::Hub;
use crate::throttle::message::{Instructions, Limit, Misses, Order, OrderKind, Report};
use crate::throttle::side::HubIo;

/// Maximum number of cores that report to the coordinator.
const MAX_CORES: u32 = 144;
/// Sum of the misses of all cores: 8 bits wider than the count of one core.
type AllMisses = u28;
/// Sum of the thread instructions of all cores.
type AllInstructions = u32;

/// Phase of the search for the best limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encoding)]
#[width(2)]
enum Phase {
    /// First phase: the coordinator waits for the required number of consecutive periods in which the L1Ds
    /// thrash.
    #[default]
    Monitor,
    /// Second phase: the coordinator waits for the cores to report the counts of a sample.
    Sample,
    /// Last phase: the limit has been found, and the coordinator waits for the end of the kernel.
    Fixed,
}

/// State of the search during a kernel.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Search {
    phase: Phase,
    /// Cores that have reported, one bit per core.
    got: Wide,
    misses: AllMisses,
    instructions: AllInstructions,
    /// True if, in this period, a single core has exceeded the miss threshold and its counts alone can start
    /// the sampling.
    hot: bool,
    /// Number of consecutive thrashing periods.
    streak: Periods,
    /// Limit that won the previous round, or 0 in the first round. In phase `Fixed`, the limit that was
    /// found.
    base: Limit,
    /// Highest instruction count in a sample, and the limit with which it was reached.
    best: Option<(Instructions, Limit)>,
}

/// DWT-CS coordinator: finds the limit on warps for all cores.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Coordinator {
    path: String,
    config: DwtConfig,
    num_cores: u32,
    /// Number of warps that each scheduler has. A limit of this value throttles no warp.
    most: Limit,
    key: u16,
    search: Search,
    memo: Memo,
    /// Statistic: number of samples started so far.
    rounds: u64,
}

impl Coordinator {
    /// Creates a coordinator for cores whose schedulers have `most` warps each; `path` appears in messages.
    ///
    /// # Panics
    /// Panics if there are no cores or more than 144.
    #[must_use]
    pub fn new(config: &DwtConfig, path: &str, num_cores: u32, most: u8) -> Self {
        assert!(
            (1..=MAX_CORES).contains(&num_cores),
            "{path}: {num_cores} cores, expected 1 to {MAX_CORES}: the sums have room for their counts"
        );
        Self {
            path: path.to_owned(),
            num_cores,
            most: Limit::new(most),
            key: 0,
            search: Search::default(),
            memo: Memo::new(config.memo),
            rounds: 0,
            config: config.clone(),
        }
    }

    /// Returns the limit that core `core`, counted from 0, tries in a round. `base` is the limit that won the
    /// previous round, or 0 for the first round.
    fn limit_in(&self, core: u32, base: Limit) -> Limit {
        let (number, base) = (core + 1, u32::from(base));
        let above = base + number;
        let most = u32::from(self.most);
        let limit = match base {
            0 => number.min(most),
            _ if above <= most && (number < self.num_cores || self.num_cores == 1) => above,
            _ => base,
        };
        Limit::from_u32(limit)
    }

    /// Returns the highest limit that any core tries in a round. `base` is the limit that won the previous
    /// round, or 0 for the first round.
    fn highest_in(&self, base: Limit) -> Limit {
        (0..self.num_cores).map(|core| self.limit_in(core, base)).max().unwrap_or(self.most)
    }

    fn take(&mut self, core: u32, report: &Report) {
        let &Report { sampled, misses, instructions } = report;
        let limit = self.limit_in(core, self.search.base);
        let search = &mut self.search;
        if sampled != (search.phase == Phase::Sample) {
            return;
        }
        search.got |= Wide::line(core);
        if sampled {
            let (most, of) = search.best.unwrap_or((Instructions::default(), self.most));
            if instructions > most || instructions == most && most > Instructions::default() && limit < of {
                search.best = Some((instructions, limit));
            }
        } else {
            search.misses += misses.widen();
            search.instructions += u32::from(instructions);
            let counts_alone = match self.config.trigger {
                Trigger::Sum => false,
                Trigger::AnyCore => true,
                Trigger::CoordinatorOnly => core + 1 == self.config.coordinator,
            };
            search.hot |= counts_alone && self.config.is_above(misses.into(), instructions.into());
        }
    }

    /// Evaluates a period or a sample after all cores have reported. Returns the kind of the orders to send;
    /// `None` if the search continues without orders. The limits in the orders are computed from `base`.
    fn decide(&mut self) -> Option<OrderKind> {
        let Search { phase, misses, instructions, hot, best, base, .. } = self.search;
        let search = &mut self.search;
        (search.got, search.misses, search.instructions, search.hot) = Default::default();
        if phase == Phase::Sample {
            let highest = self.highest_in(base);
            let Some((_, winner)) = best else { return Some(self.fix(self.most)) };
            if winner == highest && highest < self.most {
                return Some(self.sample(highest));
            }
            self.memo.note(self.key, winner);
            return Some(self.fix(winner));
        }
        let above =
            hot || self.config.trigger == Trigger::Sum && self.config.is_above(misses.into(), instructions.into());
        search.streak = if above { search.streak + Periods::new(1) } else { Periods::default() };
        if u32::from(search.streak) < self.config.above {
            return None;
        }
        search.streak = Periods::default();
        Some(match self.memo.find(self.key) {
            Some(limit) => self.fix(limit),
            None => self.sample(Limit::default()),
        })
    }

    fn sample(&mut self, base: Limit) -> OrderKind {
        let search = &mut self.search;
        search.phase = Phase::Sample;
        search.base = base;
        if self.num_cores > 1 {
            search.best = None;
        }
        self.rounds += 1;
        OrderKind::Sample
    }

    fn fix(&mut self, limit: Limit) -> OrderKind {
        self.search.phase = Phase::Fixed;
        self.search.base = limit;
        OrderKind::Fixed
    }
}

#[typetag::serde]
impl Hub for Coordinator {
    fn latency(&self) -> u32 {
        self.config.latency
    }

    fn load(&mut self, key: u16) {
        if self.config.persist == Persist::Off || self.key != key {
            self.search = Search::default();
        }
        self.key = key;
    }

    fn limit_of(&self, key: u16) -> Option<u8> {
        self.memo.find(key).map(u8::from)
    }

    fn eval(&mut self, io: HubIo<'_>, at: &mut Edge<'_>) -> Sleep {
        Block::eval(self, io, at)
    }

    fn describe(&self, to: &mut dyn Describe) {
        Block::describe(self, to);
    }
}

impl Block for Coordinator {
    type Io<'a> = HubIo<'a>;

    fn eval(&mut self, mut io: HubIo<'_>, at: &mut Edge<'_>) -> Sleep {
        let mut more = false;
        for core in 0..self.num_cores {
            let mut link = io.reports.at(core as usize);
            if let Some(&report) = link.peek(at) {
                link.drop_head(at);
                self.take(core, &report);
                more |= link.has_beat(at);
            }
        }
        if self.search.got == !Wide::all_from(self.num_cores)
            && let Some(kind) = self.decide()
        {
            for core in 0..self.num_cores {
                let base = self.search.base;
                let limit = if kind == OrderKind::Fixed { base } else { self.limit_in(core, base) };
                let mut link = io.orders.at(core as usize);
                let ready = link.is_ready(at);
                assert!(ready, "cycle {}, {}: core {core} has not received its last order yet", at.cycle, self.path);
                link.push(at, Order { kind, limit });
            }
        }
        if more { Sleep::Next } else { Sleep::UntilEvent }
    }

    fn describe(&self, to: &mut dyn Describe) {
        let Self { path: _, config, num_cores, most: _, key, search, memo, rounds } = self;
        let Search { phase, got, misses, instructions, hot, streak, base, best } = search;
        to.state("phase", *phase);
        to.bits("key", *key);
        got.describe("got", *num_cores, to);
        to.bits("misses", *misses);
        to.bits("instructions", *instructions);
        to.flag("hot", *hot);
        to.bits("streak", *streak);
        to.bits("base", *base);
        let (count, limit) = best.unwrap_or_default();
        to.bits("best_count", count);
        to.bits("best_limit", limit);
        to.part("memo", |to| memo.describe(to));
        to.stat("rounds", *rounds);
        for core in 0..*num_cores {
            to.parts("report", core, |to| {
                let instructions = bits_of::<Instructions>();
                to.logic("misses", Logic::Adder { width: bits_of::<AllMisses>() });
                to.logic("instructions", Logic::Adder { width: bits_of::<AllInstructions>() });
                to.logic("counts", Logic::Gates { count: bits_of::<Misses>() + instructions });
                // Logic that keeps the best count so far; of two equal counts, it keeps the count with the
                // lower limit.
                to.logic("better", Logic::Less { width: instructions, count: 1 });
                to.logic("equal", Logic::Comparator { width: instructions, count: 1 });
                to.logic("lower", Logic::Less { width: bits_of::<Limit>(), count: 1 });
                to.logic("best", Logic::Mux { ways: 2, width: instructions + bits_of::<Limit>() });
                // Logic that computes the limits that a core tries in the current round and in the next
                // round.
                for _ in 0..2 {
                    to.logic("limit", Logic::Adder { width: bits_of::<Limit>() });
                    to.logic("most", Logic::Less { width: bits_of::<Limit>(), count: 1 });
                    to.logic("limited", Logic::Mux { ways: 3, width: bits_of::<Limit>() });
                }
                to.logic("order", Logic::Mux { ways: 2, width: bits_of::<Limit>() });
            });
        }
        config.describe_is_above(bits_of::<AllMisses>(), bits_of::<AllInstructions>(), to);
        // Gates that clear the sums at the end of a round and for a new kernel.
        to.logic("anew", Logic::Gates { count: 2 * (bits_of::<AllMisses>() + bits_of::<AllInstructions>()) });
    }
}
