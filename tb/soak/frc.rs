//! Soak test (long random test) of L2 banks in the transient flow, with Fetch and Replacement Caches (FRCs)
//! of all sizes. Checks every byte, every transfer to and from memory, and every recall of a line from an L1.
//!
//! A test case is ten thousand requests to one random bank. Some test cases have fewer requests, and run in
//! every evaluation mode of the simulator.

use super::Work;
use crate::kit::coverage::Cross;
use crate::l2::frc::{BankWorkload, SIZES, counters};

pub(super) const ABOUT: &str =
    "random requests to L2 banks with an FRC of any size: bytes, fetches, write-backs, recalls";

pub(super) fn crosses() -> Vec<Cross> {
    vec![counters()]
}

/// Number of requests in a test case that runs in one evaluation mode.
pub(super) const REQUESTS: u64 = 10_000;
/// Number of requests in a test case that runs in every evaluation mode. It is smaller because the mode that
/// detects missed wake-ups (lint) compares all registers in every cycle.
const REQUESTS_IN_ALL_MODES: u64 = 500;
/// One out of `ALL_MODES` test cases runs in every evaluation mode of the simulator.
const ALL_MODES: u64 = 16;

/// Runs the first `requests` requests of the test case that a seed determines.
pub(super) fn run(seed: u64, requests: u64) -> Result<Work, String> {
    let size = SIZES[(seed % SIZES.len() as u64) as usize];
    let in_all_modes = seed.is_multiple_of(ALL_MODES);
    let count = if in_all_modes { REQUESTS_IN_ALL_MODES } else { REQUESTS };
    let load = BankWorkload::draw(seed, size, count).first(requests);
    if in_all_modes {
        load.run_in_all_modes()
    } else {
        load.run()
    };
    Ok(Work { runs: count.min(requests), cycles: 0, warp_instructions: 0 })
}
