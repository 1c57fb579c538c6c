//! Soak test (long random test) of the SM core: random kernels on two SM cores, with a memory that replies
//! late and out of order. The final memory contents must equal those of the functional interpreter, for warps
//! of 32 and 64 lanes and in every evaluation mode of the simulator.

use super::Work;
use crate::kit::coverage::Cross;
use crate::sm::random;

pub(super) const ABOUT: &str = "random kernels on SM cores, any scheduler: interpreter, warps of 64 lanes, modes agree";

pub(super) fn crosses() -> Vec<Cross> {
    vec![random::cross()]
}

/// Maximum number of statements of the random kernel in a test case.
pub(super) const STATEMENTS: u64 = random::STATEMENTS;

/// Runs the random kernel that a seed determines, with at most `statements` statements.
pub(super) fn run(seed: u64, statements: u64) -> Result<Work, String> {
    let (warp_instructions, cycles) = random::run(seed, statements);
    Ok(Work { runs: 1, cycles, warp_instructions })
}
