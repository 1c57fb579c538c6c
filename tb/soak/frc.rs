//! Random banks of the transient flow with an FRC of every size: every byte, every line that goes to
//! memory or comes from it, every copy recalled.
//!
//! A case is ten thousand requests to one bank; some cases run in every mode of evaluation.

use super::Work;
use crate::kit::coverage::Cross;
use crate::l2::frc::{Load, SIZES, counters};

pub(super) const ABOUT: &str =
    "random requests to L2 banks with an FRC of any size: bytes, fetches, write-backs, recalls";

pub(super) fn crosses() -> Vec<Cross> {
    vec![counters()]
}

/// Requests of a case.
pub(super) const REQUESTS: u64 = 10_000;
/// Requests of a case that runs in every mode: the lint mode looks at all registers in every cycle.
const REQUESTS_IN_ALL_MODES: u64 = 500;
/// One of so many cases runs in every mode.
const ALL_MODES: u64 = 16;

/// Runs the first `requests` of the case of a seed.
pub(super) fn run(seed: u64, requests: u64) -> Result<Work, String> {
    let size = SIZES[(seed % SIZES.len() as u64) as usize];
    let in_all_modes = seed.is_multiple_of(ALL_MODES);
    let count = if in_all_modes { REQUESTS_IN_ALL_MODES } else { REQUESTS };
    let load = Load::draw(seed, size, count).first(requests);
    if in_all_modes {
        load.run_in_all_modes()
    } else {
        load.run()
    };
    Ok(Work { runs: count.min(requests), cycles: 0, warp_instructions: 0 })
}
