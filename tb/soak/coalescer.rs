//! Random warp accesses: the coalescer's requests must equal its golden twin's, in lane order.
//!
//! A case is ten thousand accesses with one line length.

use super::Work;
use crate::kit::coverage::Cross;
use crate::l1::coalescer;

pub(super) const ABOUT: &str = "random accesses of warps: lines, lanes, byte masks and bytes of their requests";

pub(super) fn crosses() -> Vec<Cross> {
    vec![coalescer::cross()]
}

/// Number of accesses in a case.
pub(super) const ACCESSES: u64 = 10_000;

/// Runs the first `accesses` accesses of a seed's case.
pub(super) fn run(seed: u64, accesses: u64) -> Result<Work, String> {
    coalescer::run(seed, accesses);
    Ok(Work { runs: 1, cycles: 0, warp_instructions: accesses })
}
