//! Comparison of our machines with measurements on real GPUs.

mod gpu;
mod kernels;

use crate::Figure;

/// List of the figures that compare our machines with real GPUs.
pub(super) const FIGURES: &[Figure] = &[Figure {
    name: "silicon/kernels",
    description: "Cycles, hit rates and DRAM traffic of the suite, compared with an H100",
    draw: kernels::draw,
}];
