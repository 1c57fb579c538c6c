//! Soak test (long random test) of SystemVerilog modules of random sizes, in lockstep with their Rust models.
//! Compares every output and every register.

use ::hdl::{Lockstep, Size, blocks};

use super::Work;

pub(super) const ABOUT: &str = "SystemVerilog blocks of any size against their twins: every output and register";

/// Number of cycles in a test case. A test case tests one module; consecutive seeds test the modules in turn.
pub(super) const CYCLES: u64 = 100_000;

/// Runs the first `cycles` cycles of the test case that a seed determines.
pub(super) fn run(seed: u64, cycles: u64) -> Result<Work, String> {
    let blocks = blocks();
    let block = blocks[(seed % blocks.len() as u64) as usize];
    let ended = Lockstep::new(block, Size::Any, seed, &[]).and_then(|lockstep| lockstep.run(0, cycles));
    match ended {
        Ok(Ok(agreed)) => Ok(Work { runs: 1, cycles: agreed.cycles, warp_instructions: 0 }),
        Ok(Err(differs)) => Err(format!("{}: {differs}", block.path())),
        Err(report) => Err(format!("{report:?}")),
    }
}
