//! Comparison of our machines with measurements on real GPUs.

mod gpu;
mod kernels;
mod microbenchmarks;

use crate::Figure;

/// Name of our machine that models the GPU.
const MACHINE: &str = "hopper";
/// Name of the folder with the measurements on the GPU.
const GPU: &str = "h100-sxm";

/// List of the figures that compare our machines with real GPUs.
pub(super) const FIGURES: &[Figure] = &[
    Figure {
        name: "silicon/latency",
        description: "Latencies of dependent loads, compared with an H100",
        draw: microbenchmarks::draw_latency,
    },
    Figure {
        name: "silicon/bandwidth",
        description: "Bandwidth of the L2 and of DRAM, compared with an H100",
        draw: microbenchmarks::draw_bandwidth,
    },
    Figure {
        name: "silicon/kernels",
        description: "Cycles, hit rates and DRAM traffic of the suite, compared with an H100",
        draw: kernels::draw,
    },
];
