//! Random programs of compute units whose L1s supply each other under a sharing tracker, with loads that contend
//! past them or none: what they read as the memory model allows, L1s and tracker as their twins.
//!
//! A case is ten thousand accesses to a few lines; some cases run a second time with every block evaluated at
//! every edge in an order of its own, which must agree.

use rtl::kernel::Mode;
use rtl::tracker::TrackerScheme;

use super::Work;
use crate::kit::coverage::Cross;
use crate::tracker::{self, Ran, races};

pub(super) const ABOUT: &str = "random compute units under a sharing tracker of any shape: memory model, twins, modes";

pub(super) fn crosses() -> Vec<Cross> {
    vec![races::cross()]
}

/// Compute units.
const CUS: usize = 16;
/// Kernels of a case.
const KERNELS: usize = 5;
/// Accesses of a compute unit in a kernel.
const OPS: usize = 125;
/// Accesses of a compute unit in all kernels.
pub(super) const ACCESSES: u64 = (KERNELS * OPS) as u64;
/// One of so many cases runs twice.
const TWICE: u64 = 16;

/// Runs the first `accesses` of each compute unit of the case of a seed.
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
            return Err(format!("the mode of evaluation matters:\n{ran:?}\n{again:?}"));
        }
        runs = 2;
    }
    let Ran { cycles, ops, .. } = ran;
    Ok(Work { runs, cycles: runs * cycles, warp_instructions: runs * ops })
}
