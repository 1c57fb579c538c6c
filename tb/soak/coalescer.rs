//! Soak test (long random test) of the coalescer with random warp accesses. The coalescer's requests must
//! equal those of its golden model, ordered by their lowest lanes.
//!
//! A test case is ten thousand accesses with one line length.

use super::Work;
use crate::kit::coverage::Cross;
use crate::l1::coalescer;

pub(super) const ABOUT: &str = "random accesses of warps: lines, lanes, byte masks and bytes of their requests";

pub(super) fn crosses() -> Vec<Cross> {
    vec![coalescer::cross()]
}

/// Number of warp accesses in a test case.
pub(super) const ACCESSES: u64 = 10_000;

/// Runs the first `accesses` warp accesses of the test case that a seed determines.
pub(super) fn run(seed: u64, accesses: u64) -> Result<Work, String> {
    coalescer::run(seed, accesses);
    Ok(Work { runs: 1, cycles: 0, warp_instructions: accesses })
}
