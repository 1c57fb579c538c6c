//! Random traffic through crossbars with few and with very many ports, and random stalls on both sides. Every
//! packet must arrive once, unchanged and in the order of its input-output pair, in every mode of evaluation.

use super::Work;
use crate::kit::coverage::Cross;
use crate::noc::xbar;

pub(super) const ABOUT: &str =
    "random traffic through crossbars: every packet once, unchanged, in order, in every mode";

pub(super) fn crosses() -> Vec<Cross> {
    vec![xbar::cross()]
}

/// Maximum number of packets per input.
pub(super) const PACKETS: u64 = xbar::PACKETS;

/// Runs the first `packets` packets of each input of a seed's case.
pub(super) fn run(seed: u64, packets: u64) -> Result<Work, String> {
    Ok(Work { runs: xbar::run(seed, packets), cycles: 0, warp_instructions: 0 })
}
