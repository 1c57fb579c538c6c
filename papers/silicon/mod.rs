//! Our machines beside GPUs that were measured.

mod gpu;
mod kernels;

use crate::Figure;

/// What is compared, and what draws it.
pub(super) const FIGURES: &[Figure] = &[Figure {
    name: "silicon/kernels",
    shows: "Cycles, hit rates and DRAM traffic of the suite beside an H100",
    draw: kernels::draw,
}];
