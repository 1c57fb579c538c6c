//! Random traffic through crossbars of few and of very many ports, whose ends hold back at random: every packet arrives
//! once, unchanged and in the order of its pair, in every mode of evaluation.

use super::Work;
use crate::kit::coverage::Cross;
use crate::noc::xbar;

pub(super) const ABOUT: &str =
    "random traffic through crossbars: every packet once, unchanged, in order, in every mode";

pub(super) fn crosses() -> Vec<Cross> {
    vec![xbar::cross()]
}

/// Packets of an input at most.
pub(super) const PACKETS: u64 = xbar::PACKETS;

/// Runs the first `packets` of each input of the case of a seed.
pub(super) fn run(seed: u64, packets: u64) -> Result<Work, String> {
    Ok(Work { runs: xbar::run(seed, packets), cycles: 0, warp_instructions: 0 })
}
