//! Random accesses of warps: the coalescer makes its golden twin's requests of them, in the order of lanes.
//!
//! A case is ten thousand accesses with lines of one length.

use super::Work;
use crate::kit::coverage::Cross;
use crate::l1::coalescer;

pub(super) const ABOUT: &str = "random accesses of warps: lines, lanes, byte masks and bytes of their requests";

pub(super) fn crosses() -> Vec<Cross> {
    vec![coalescer::cross()]
}

/// Accesses of a case.
pub(super) const ACCESSES: u64 = 10_000;

/// Runs the first `accesses` of the case of a seed.
pub(super) fn run(seed: u64, accesses: u64) -> Result<Work, String> {
    coalescer::run(seed, accesses);
    Ok(Work { runs: 1, cycles: 0, warp_instructions: accesses })
}
