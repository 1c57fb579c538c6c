//! Random programs of compute units whose L1s supply each other under a sharing tracker, with or without
//! contending loads. The memory model checks the values read, and the L1s and the tracker must equal their
//! twins.
//!
//! A case is ten thousand accesses to a few lines. Some cases run a second time with every block evaluated at
//! every edge in shuffled order, with equal results.

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
/// Number of kernels in a case.
const KERNELS: usize = 5;
/// Number of accesses per compute unit and kernel.
const OPS: usize = 125;
/// Number of accesses per compute unit in all kernels.
pub(super) const ACCESSES: u64 = (KERNELS * OPS) as u64;
/// One out of `TWICE` cases runs twice.
const TWICE: u64 = 16;

/// Runs the first `accesses` accesses of each compute unit of a seed's case.
pub(super) fn run(seed: u64, accesses: u64) -> Result<Work, String> {
    let protections = TrackerScheme::Corrected.protections();
    let case = tracker::Case {
        seed,
        cus: CUS,
        ops: OPS,
        kernels: KERNELS,
        accesses: accesses as usize,
        protections,
        drops_overtaken: true,
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
