//! Random kernels on two SM cores with a memory that answers late and out of order: what they leave in memory is what the
//! interpreter has, with warps of 32 and of 64 lanes and in every mode of evaluation.

use super::Work;
use crate::kit::coverage::Cross;
use crate::sm::random;

pub(super) const ABOUT: &str = "random kernels on SM cores, any scheduler: interpreter, warps of 64 lanes, modes agree";

pub(super) fn crosses() -> Vec<Cross> {
    vec![random::cross()]
}

/// Statements of a case at most.
pub(super) const STATEMENTS: u64 = random::STATEMENTS;

/// Runs the first `statements` of the kernel of a seed.
pub(super) fn run(seed: u64, statements: u64) -> Result<Work, String> {
    let (warp_instructions, cycles) = random::run(seed, statements);
    Ok(Work { runs: 1, cycles, warp_instructions })
}
