//! Random inputs for the components of CCWS and DWT-CS, each in lockstep with its golden twin: victim tags,
//! scores, streaming monitor of an L1D, coordinator.

use super::Work;
use crate::kit::coverage::Cross;
use crate::throttle::{ccws, coordinator, streaming};

pub(super) const ABOUT: &str = "random warps and counts for CCWS and DWT-CS: victim tags, scores, monitor, coordinator";

pub(super) fn crosses() -> Vec<Cross> {
    let mut crosses = ccws::crosses();
    crosses.extend([streaming::cross(), coordinator::cross()]);
    crosses
}

/// Number of steps of each component.
pub(super) const STEPS: u64 = 60_000;
/// Steps of the other components per kernel launch of the coordinator.
const LAUNCH: u64 = 7_500;

/// Runs the first `steps` steps of each component of a seed's case.
pub(super) fn run(seed: u64, steps: u64) -> Result<Work, String> {
    ccws::lose(seed, steps);
    ccws::score(seed, steps);
    streaming::follow(seed, seed.is_multiple_of(2), steps);
    coordinator::search(seed, steps.div_ceil(LAUNCH));
    Ok(Work { runs: 4, cycles: 0, warp_instructions: 0 })
}
