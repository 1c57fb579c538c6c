//! # Lockstep test of SM dueling
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                            | where                |
//! |----------------------------------------------------------------------|----------------------|
//! | miss rates above and below the margin, for both margin definitions   | modes of the leaders |
//! | intervals without enough accesses                                    | traffic modes        |
//! | a decision that includes the leaders is final                        | random size          |
//! | an access in the cycle of a decision counts for the next interval    | `cycle`              |
//! | the golden model selects the same modes                              | `cycle`              |

use golden::l1::dueling as twin;
use rtl::kernel::{Block as _, BlockId, Chan, ChanSpec, Describe, Edge, Payload, RxBank, TxBank, Wake};
use rtl::l1::dueling::{Dueling, DuelingConfig, DuelingIo, LEADERS, Leaders, LoadReport, MarginOf, Mode};

use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("end_1 = timer_q == 0", "end_1 = timer_q == 1"),
        Mistake::new("P_BITS'(new_misses_q) * P_BITS'(original_accesses_q)", "P_BITS'(new_misses_q) * P_BITS'(new_accesses_q)"),
        Mistake::new("P_BITS'(original_misses_q) * P_BITS'(new_accesses_q)", "P_BITS'(original_misses_q) * P_BITS'(original_accesses_q)"),
        Mistake::new("(IN_POINTS ? a0_a1 : m1_a0)", "(IN_POINTS ? m1_a0 : a0_a1)"),
        Mistake::new("P_BITS'(100) * m1_a0 + margin;", "P_BITS'(100) * m1_a0;"),
        Mistake::new("m0_a1 > P_BITS'(100)", "m0_a1 >= P_BITS'(100)"),
        Mistake::new("&& original_accesses_q >= C_BITS'(MIN_ACCESSES)", ""),
        Mistake::new("new_accesses_q >= C_BITS'(MIN_ACCESSES) &&", "new_accesses_q > C_BITS'(MIN_ACCESSES) &&"),
        Mistake::new("decides && original_q != wins", "decides"),
        Mistake::new("(end_1 ? '0 : count)", "count"),
        Mistake::new("seen_valid_i[1] && seen_missed_i[1]", "seen_valid_i[1] && seen_missed_i[0]"),
        Mistake::new("if (decides) original_q <= wins;", "if (end_1) original_q <= wins;"),
        Mistake::new("original_q <= 1;", "original_q <= 0;"),
        Mistake::equivalent("decided_q <= decided_q || decides && JOIN_ONCE", "decided_q <= 0", "no SM joins at the small size"),
    ]
}

const OWN: BlockId = BlockId { domain: 0, slot: 0 };

struct Unit {
    num_sms: u32,
    config: DuelingConfig,
    dut: Dueling,
    golden: twin::Duel,
    seen: Vec<Chan<LoadReport>>,
    mode: Vec<Chan<Mode>>,
    /// Load reports in flight from the two leader SMs to the dueling block. `Some(true)` reports a miss,
    /// `Some(false)` a hit, and `None` means that no report is in flight.
    coming: [Option<bool>; LEADERS],
    wake: Wake,
    moods: TrafficModes<4>,
    random: Random,
}

fn links<T: Payload<Shape = ()>>(count: u32) -> Vec<Chan<T>> {
    let spec = |i| ChanSpec { path: format!("link{i}"), depth: 2, latency: 1, credit: 1, from: OWN, to: OWN };
    (0..count).map(|i| Chan::new(spec(i), ())).collect()
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let li2015 = DuelingConfig { leaders: Leaders::JoinOnce, ..DuelingConfig::OFF };
        let (num_sms, config) = match size {
            Size::Small => {
                (3, DuelingConfig { leaders: Leaders::Pinned, interval: 24, margin: 50, min_accesses: 5, ..li2015 })
            }
            Size::Fermi | Size::Synthesised => (15, li2015),
            Size::Any => {
                let interval = 2 + random.below(300) as u32;
                let leaders = if random.percent(50) { Leaders::Pinned } else { Leaders::JoinOnce };
                let margin_of = if random.percent(50) { MarginOf::Points } else { MarginOf::Misses };
                let min_accesses = 1 + random.below(interval.into()) as u32;
                let margin = random.below(101) as u32;
                (2 + random.below(15) as u32, DuelingConfig { leaders, interval, margin, margin_of, min_accesses })
            }
        };
        let rules = twin::Rules {
            interval: config.interval.into(),
            margin: config.margin.into(),
            in_points: config.margin_of == MarginOf::Points,
            min_accesses: config.min_accesses.into(),
            join_once: config.leaders == Leaders::JoinOnce,
        };
        Self {
            num_sms,
            config,
            dut: Dueling::new(config, num_sms),
            golden: twin::Duel::new(rules),
            seen: links(LEADERS as u32),
            mode: links(num_sms),
            coming: [None; LEADERS],
            wake: Wake::new(&[1]),
            moods: TrafficModes::default(),
            random,
        }
    }
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let DuelingConfig { leaders, interval, margin, margin_of, min_accesses } = self.config;
        vec![
            ("NUM_SMS", self.num_sms.to_string()),
            ("INTERVAL", interval.to_string()),
            ("MARGIN", margin.to_string()),
            ("IN_POINTS", u32::from(margin_of == MarginOf::Points).to_string()),
            ("MIN_ACCESSES", min_accesses.to_string()),
            ("JOIN_ONCE", u32::from(leaders == Leaders::JoinOnce).to_string()),
        ]
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let Self { dut, golden, seen, mode, coming, wake, moods, random, .. } = self;
        // The dueling block receives the load reports that the SMs sent in the previous cycle.
        let bit = |of: fn(bool) -> bool| {
            let bits = coming.iter().enumerate().filter(|(_, seen)| seen.is_some_and(of));
            bits.fold(0u32, |bits, (leader, _)| bits | 1 << leader)
        };
        ports.input("seen_valid", LEADERS as u32, bit(|_| true));
        ports.input("seen_missed", LEADERS as u32, bit(|missed| missed));
        let was: Vec<_> = (0..self.num_sms as usize).map(|sm| golden.is_original(sm)).collect();
        golden.advance(at.cycle);
        for (leader, missed) in coming.iter().enumerate().filter_map(|(leader, missed)| Some((leader, (*missed)?))) {
            golden.record(at.cycle, leader, missed);
        }
        dut.eval(DuelingIo { seen: RxBank::of(seen), mode: TxBank::of(mode) }, &mut Edge::new(at.tick, at.cycle, wake));
        let moods = moods.next(random);
        for (leader, (link, coming)) in seen.iter_mut().zip(coming).enumerate() {
            let [often, misses] = [moods[2 * leader], moods[2 * leader + 1]];
            *coming = random.percent(often).then(|| random.percent(misses));
            if let Some(missed) = *coming {
                link.tx().push(&mut Edge::new(at.tick, at.cycle, wake), LoadReport { missed });
            }
        }
        // The SMs receive the new modes one cycle after the dueling block sends them.
        let (mut valid, mut original) = (0u64, None);
        let next = &mut Edge::new(at.tick + 1, at.cycle + 1, wake);
        for (sm, link) in mode.iter_mut().enumerate() {
            let mut sent = link.rx();
            if let Some(mode) = sent.peek(next).copied() {
                sent.drop_head(next);
                (valid, original) = (valid | 1 << sm, Some(mode.original));
            }
            let now = golden.is_original(sm);
            assert_eq!((now != was[sm]).then_some(now), original.filter(|_| valid >> sm & 1 != 0), "SM {sm}");
        }
        ports.output("mode_valid", self.num_sms, valid);
        ports.output_if("mode_original", 1, original);
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(to);
    }

    /// Returns the names of the registers that are not compared, here a timer. The simulator stores the cycle
    /// in which the timer expires, while the SystemVerilog module counts down.
    fn other_form(&self) -> &'static [&'static str] {
        &["ends"]
    }
}
