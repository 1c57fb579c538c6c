//! Random warps, accesses and counts for the parts of CCWS and of DWT-CS, each in lockstep with its golden twin: victim tags
//! and scores, the watch over an L1D's misses, the coordinator.

use super::Work;
use crate::kit::coverage::Cross;
use crate::throttle::{ccws, coordinator, streaming};

pub(super) const ABOUT: &str = "random warps and counts for CCWS and DWT-CS: victim tags, scores, monitor, coordinator";

pub(super) fn crosses() -> Vec<Cross> {
    let mut crosses = ccws::crosses();
    crosses.extend([streaming::cross(), coordinator::cross()]);
    crosses
}

/// Steps of each part.
pub(super) const STEPS: u64 = 60_000;
/// Of a coordinator, a launch is a step for so many of the others.
const LAUNCH: u64 = 7_500;

/// Runs the first `steps` of each part of the case of a seed.
pub(super) fn run(seed: u64, steps: u64) -> Result<Work, String> {
    ccws::lose(seed, steps);
    ccws::score(seed, steps);
    streaming::follow(seed, seed.is_multiple_of(2), steps);
    coordinator::search(seed, steps.div_ceil(LAUNCH));
    Ok(Work { runs: 4, cycles: 0, warp_instructions: 0 })
}
