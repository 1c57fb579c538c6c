//! Soak test (long random test) of crossbars with few and with very many ports, with random stalls at the
//! inputs and outputs. Every packet must arrive exactly once and unchanged. Packets with the same input and
//! output must stay in order, in every evaluation mode of the simulator.

use super::Work;
use crate::kit::coverage::Cross;
use crate::noc::xbar;

pub(super) const ABOUT: &str =
    "random traffic through crossbars: every packet once, unchanged, in order, in every mode";

pub(super) fn crosses() -> Vec<Cross> {
    vec![xbar::cross()]
}

/// Maximum number of packets that a test case sends to each crossbar input.
pub(super) const PACKETS: u64 = xbar::PACKETS;

/// Runs the first `packets` packets of each input in the test case that a seed determines.
pub(super) fn run(seed: u64, packets: u64) -> Result<Work, String> {
    Ok(Work { runs: xbar::run(seed, packets), cycles: 0, warp_instructions: 0 })
}
