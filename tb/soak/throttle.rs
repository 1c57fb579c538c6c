//! Soak test (long random test) of the components of CCWS and DWT-CS, each in lockstep with its golden model.
//! The components are the victim tags, the scores, the streaming monitor of an L1D, and the coordinator.

use super::Work;
use crate::kit::coverage::Cross;
use crate::throttle::{ccws, coordinator, streaming};

pub(super) const ABOUT: &str = "random warps and counts for CCWS and DWT-CS: victim tags, scores, monitor, coordinator";

pub(super) fn crosses() -> Vec<Cross> {
    let mut crosses = ccws::crosses();
    crosses.extend([streaming::cross(), coordinator::cross()]);
    crosses
}

/// Number of random steps that each component makes in a test case.
pub(super) const STEPS: u64 = 60_000;
/// Number of steps per kernel launch: the coordinator handles one launch for every `LAUNCH` steps of each
/// other component.
const LAUNCH: u64 = 7_500;

/// Runs the first `steps` steps of each component in the test case that a seed determines.
pub(super) fn run(seed: u64, steps: u64) -> Result<Work, String> {
    ccws::lose(seed, steps);
    ccws::score(seed, steps);
    streaming::follow(seed, seed.is_multiple_of(2), steps);
    coordinator::search(seed, steps.div_ceil(LAUNCH));
    Ok(Work { runs: 4, cycles: 0, warp_instructions: 0 })
}
