//! # Lockstep test of the CCWS scores
//! Drives the SystemVerilog module and the Rust model with the same random inputs, and compares them in every
//! cycle. The following table lists the tested situations, with the code of this file that generates each of
//! them.
//!
//! | testpoint                                                               | where                            |
//! |-------------------------------------------------------------------------|----------------------------------|
//! | events worth nothing, less than the base, more than the score's maximum | `lost`, few or many instructions |
//! | warps that run, have ended, end or begin with an event                  | `live`                           |
//! | scores that fall, are equal, are at the base                            | `admitted`                       |
//! | all warps, a single warp, or the warps below the cutoff are admitted    | traffic modes                    |
//! | the golden scores are equal and admit the same warps                    | `cycle`                          |

use golden::throttle::Admission as _;
use golden::throttle::ccws as twin;
use rtl::kernel::{Describe, Edge};
use rtl::throttle::ccws::CcwsConfig;
use rtl::throttle::ccws::scores::Scores;
use rtl::throttle::message::Miss;
use rtl::throttle::{CycleState, Hooks, IssueLimit};

use crate::{Bench, Mistake, Ports, Random, Size, TrafficModes};

block! {
    |size, random| Box::new(Unit::new(size, random)),
    [
        Mistake::new("SUM'(lost_valid_i && lost_live_i[lost_warp_i])", "SUM'(lost_valid_i)"),
        Mistake::new("SUM'(lost_valid_i && lost_live_i[lost_warp_i])", "'0"),
        Mistake::new("loses[w] = lost_valid_i && lost_warp_i", "loses[w] = lost_warp_i"),
        Mistake::new("if (lost_live_i[w]) begin", "if (live_i[w]) begin"),
        Mistake::new("dividend = WORTH'(all_hits) * WORTH'(WEIGHT'(running)", "dividend = WORTH'(all_hits) * WORTH'(WEIGHT'(WARPS)"),
        Mistake::new("worth[b] = rest >= {1'b0, divisor}", "worth[b] = rest > {1'b0, divisor}"),
        Mistake::new("if (worth < 18'(BASE)) worth = 18'(BASE);", ""),
        Mistake::new("score_2 == 18'(BASE) ? score_2 : score_2 - 1'b1", "score_2 - 1'b1"),
        Mistake::new("starts_i[w] ? 18'(BASE) : loses[w]", "loses[w]"),
        Mistake::new("hits_q[w] <= starts_i[w] ? '0 :", "hits_q[w] <="),
        Mistake::new("starts_i[w] ? 32'(issued_i[w]) : instr", "starts_i[w] ? '0 : instr"),
        Mistake::new("score_3[v] >= score_3[w]", "score_3[v] > score_3[w]"),
        Mistake::new("if (live_i[w]) cutoff += TOTAL'(BASE)", "cutoff += TOTAL'(BASE)"),
        Mistake::new("&& live_i[v]) sum", ") sum"),
        Mistake::new("live_i[w] && sum < cutoff", "live_i[w] && sum <= cutoff"),
        Mistake::new("live_i[w] && sum < cutoff", "sum < cutoff"),
        Mistake::new("all_instructions == '0 ? SUM'(1) : all_instructions", "all_instructions"),
        Mistake::equivalent(
            "dividend >> 18 >= WORTH'(divisor)",
            "0",
            "every bit is set, unless the remainder overflows, which takes more hits than there are cycles",
        ),
    ]
}

struct Unit {
    config: CcwsConfig,
    warps: u32,
    dut: Scores,
    golden: twin::Scores,
    /// Bit mask of the running warps.
    live: u64,
    moods: TrafficModes<3>,
    random: Random,
}

fn each(set: u64) -> impl Iterator<Item = u8> {
    (0..64).filter(move |warp| set >> warp & 1 != 0)
}

impl Unit {
    fn new(size: Size, mut random: Random) -> Self {
        let khairy2015 = CcwsConfig::KHAIRY2015;
        let (warps, config) = match size {
            // With this small `k`, the score that a lost-locality event gives to a warp is below the base
            // score, or so little above it that it soon falls back to the base score.
            Size::Small => (3, CcwsConfig { base_score: 50, k: 40, ..khairy2015 }),
            Size::Fermi => (48, khairy2015),
            Size::Synthesised => (6, khairy2015),
            Size::Any => {
                let (base_score, k) = (1 + random.below(1000) as u32, 1 + random.below(1000) as u32);
                (2 + random.below(63) as u32, CcwsConfig { base_score, k, ..khairy2015 })
            }
        };
        Self {
            dut: Scores::new(&config, warps),
            golden: twin::Scores::new(config.base_score.into(), config.k.into()),
            config,
            warps,
            live: 0,
            moods: TrafficModes::default(),
            random,
        }
    }

    /// Returns a random set of warps. Each warp is in the set with a probability of `often` percent.
    fn some(&mut self, often: u64) -> u64 {
        (0..self.warps).fold(0, |set, warp| set | u64::from(self.random.percent(often)) << warp)
    }
}

/// Concatenates scores of 18 bits each into a byte string. The first score is in the lowest bits.
fn pack(scores: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (place, score) in scores.enumerate() {
        for bit in 0..18 {
            let at = place * 18 + bit;
            bytes.resize(bytes.len().max(at / 8 + 1), 0);
            bytes[at / 8] |= ((score >> bit & 1) as u8) << (at % 8);
        }
    }
    bytes
}

impl Bench for Unit {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let CcwsConfig { base_score, k, .. } = self.config;
        vec![("WARPS", self.warps.to_string()), ("BASE", base_score.to_string()), ("K", k.to_string())]
    }

    fn cycle(&mut self, at: &Edge<'_>, ports: &mut Ports) {
        let [loses, issues, begins] = self.moods.next(&mut self.random);
        let (warps, cycle) = (self.warps, at.cycle);
        let scores: Vec<_> = (0..warps as u8).map(|warp| self.dut.score(warp, cycle)).collect();
        ports.wide_output("now_scores", warps * 18, Some(&pack(scores.iter().copied())));
        for warp in each(self.live) {
            assert_eq!(self.golden.score(warp), Some(scores[usize::from(warp)]), "warp {warp}");
        }

        let (lost, warp) = (self.random.below(40_000) < loses * loses, self.random.below(warps.into()) as u8);
        ports.input("lost_valid", 1, lost);
        ports.input("lost_warp", warps.next_power_of_two().ilog2(), warp);
        ports.input("lost_live", warps, self.live);
        if lost {
            self.dut.on_miss(Miss { warp, lost: true }, cycle, self.live);
            if self.live >> warp & 1 != 0 {
                self.golden.on_lost_locality(warp);
            }
        }
        // Some warps end while other warps begin. Depending on the traffic mode, warps issue often or hardly
        // ever.
        let ends = if self.random.below(8000) < begins { self.some(50) & self.live } else { 0 };
        let starts = if self.random.below(4000) < begins { self.some(50) & !self.live } else { 0 };
        let hardly = u64::from(self.random.below(30) == 0);
        let issued = self.some(if issues < 10 { hardly } else { issues / 3 }) & (self.live | starts);
        ports.input("starts", warps, starts);
        ports.input("issued", warps, issued);
        each(ends).for_each(|warp| self.golden.end(warp));
        for warp in each(starts) {
            self.dut.start(warp);
            self.golden.start(warp);
        }
        each(issued).for_each(|warp| self.golden.on_issue(warp));
        self.live = self.live & !ends | starts;
        ports.input("live", warps, self.live);
        let seen = CycleState { cycle, live: self.live, waiting: 0, issued, thread_instructions: 0 };
        let IssueLimit::Load(admitted) = self.dut.admit(&seen) else { unreachable!("scores are about loads") };
        self.golden.tick();
        assert_eq!(self.golden.admitted_warps(), each(admitted).collect::<Vec<_>>());
        ports.output("admitted", warps, admitted);
    }

    fn describe(&self, to: &mut dyn Describe) {
        self.dut.describe(to);
    }

    /// Returns the names of the registers that are not compared, here the scores. The simulator stores the
    /// cycle in which a score returns to its base value, while the SystemVerilog module counts down. Instead
    /// of these registers, the output `now_scores` is compared.
    fn other_form(&self) -> &'static [&'static str] {
        &["score"]
    }
}
