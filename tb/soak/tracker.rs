//! Soak test (long random test) of the sharing tracker: random programs on compute units whose L1s supply
//! lines to each other, with or without contending loads. A memory-model checker checks the values read. The
//! L1s and the tracker must behave as their golden models.
//!
//! A test case is ten thousand accesses to a few lines. Some test cases also run with every hardware block
//! evaluated at every clock edge, in shuffled order, and must give equal results.

use rtl::kernel::Mode;
use rtl::tracker::TrackerScheme;

use super::Work;
use crate::kit::coverage::Cross;
use crate::tracker::{self, CaseResult, races};

pub(super) const ABOUT: &str = "random compute units under a sharing tracker of any shape: memory model, twins, modes";

pub(super) fn crosses() -> Vec<Cross> {
    vec![races::cross()]
}

/// Number of compute units.
const CUS: usize = 16;
/// Number of kernels in a test case.
const KERNELS: usize = 5;
/// Number of accesses that each compute unit makes in a kernel.
const OPS: usize = 125;
/// Number of accesses that each compute unit makes in all kernels together.
pub(super) const ACCESSES: u64 = (KERNELS * OPS) as u64;
/// One out of `TWICE` test cases runs a second time, with every hardware block evaluated at every clock edge.
const TWICE: u64 = 16;

/// Runs the first `accesses` accesses of each compute unit in the test case that a seed determines.
pub(super) fn run(seed: u64, accesses: u64) -> Result<Work, String> {
    let protections = TrackerScheme::Corrected.protections();
    let case = tracker::Case {
        seed,
        cus: CUS,
        ops: OPS,
        kernels: KERNELS,
        accesses: accesses as usize,
        protections,
        flushes: true,
    };
    let ran = case.run(Mode::default())?;
    let mut runs = 1;
    if seed.is_multiple_of(TWICE) {
        let again = case.run(Mode { evaluate_all: true, shuffle: Some(seed), ..Mode::default() })?;
        if again != ran {
            return Err(format!("results depend on the mode of evaluation:\n{ran:?}\n{again:?}"));
        }
        runs = 2;
    }
    let CaseResult { cycles, ops, .. } = ran;
    Ok(Work { runs, cycles: runs * cycles, warp_instructions: runs * ops })
}
