//! # Criticality-aware warp scheduling (CAWS)
//! The most critical warp comes first (Lee and Wu, PACT 2014). The criticality of a warp is the number of its
//! remaining instructions times its average cycles per instruction, plus its stall cycles (Lee et al., CAWA,
//! ISCA 2015). The model computes all three from the list of instructions that the warp has issued. The
//! average is a moving average in which the last instruction has the weight 2^-`decay`. Its unit is 1/16
//! cycle; fractions of that are rounded down.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{Launched, Policy, Scheme};

/// Largest number of remaining instructions that the hardware can count.
const INSTRUCTIONS: u64 = 65_535;
/// Maximum number of cycles that one instruction contributes to the average; higher numbers are reduced to
/// it.
const CYCLES: u64 = 4095;
/// Largest number of stall cycles that the hardware can count.
const STALLS: u64 = 16_777_215;

/// Configuration of criticality-aware warp scheduling.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Config {
    /// The last instruction has the weight 2^-`decay` in the average number of cycles per instruction.
    pub decay: u32,
    /// True if the warp issued last comes first while it is ready, however critical other warps are.
    pub greedy: bool,
}

#[typetag::deserialize(name = "caws")]
impl Scheme for Config {
    fn twin(&self) -> Box<dyn Policy> {
        Box::new(Caws { config: *self, launched: Launched::default(), warps: BTreeMap::new() })
    }
}

/// History of a warp since its launch.
#[derive(Clone, Debug)]
struct Life {
    launch: u64,
    length: u64,
    /// For each issued instruction: cycle, position in the program, and position of the next instruction.
    issues: Vec<(u64, u64, u64)>,
}

impl Life {
    fn criticality(&self, decay: u32) -> u64 {
        let begun = self.issues.iter().map(|(cycle, ..)| *cycle);
        let cycles: Vec<u64> = std::iter::once(self.launch)
            .chain(begun.clone())
            .zip(begun)
            .map(|(before, cycle)| cycle - before)
            .collect();
        let remaining = self.issues.iter().fold(self.length.min(INSTRUCTIONS), |left, (_, position, next)| {
            (left + position).saturating_sub(*next).min(INSTRUCTIONS)
        });
        let average = cycles
            .iter()
            .fold(16, |average, &cycles| average - average / (1 << decay) + 16 * cycles.min(CYCLES) / (1 << decay));
        let stalls: u64 = cycles.iter().map(|cycles| cycles - 1).sum();
        remaining * average / 16 + stalls.min(STALLS)
    }
}

/// Reference model of CAWS.
#[derive(Clone, Debug)]
struct Caws {
    config: Config,
    launched: Launched,
    warps: BTreeMap<u8, Life>,
}

impl Policy for Caws {
    fn launch(&mut self, cycle: u64, warp: u8, length: u64) {
        self.launched.launch(warp);
        self.warps.insert(warp, Life { launch: cycle, length, issues: Vec::new() });
    }

    fn issue(&mut self, cycle: u64, warp: u8, position: u64, next: u64) {
        self.launched.last = Some(warp);
        if let Some(life) = self.warps.get_mut(&warp) {
            life.issues.push((cycle, position, next));
        }
    }

    fn choose(&self, ready: &BTreeSet<u8>) -> Option<u8> {
        let preferred = if self.config.greedy { self.launched.preferred(ready) } else { None };
        let criticality = |warp: &u8| self.warps.get(warp).map(|life| life.criticality(self.config.decay));
        // If several warps are equally critical, `max_by_key` returns the last, so the oldest warp must come
        // last.
        preferred.or_else(|| self.launched.ready(ready).rev().max_by_key(criticality))
    }
}
