//! Checks that every kernel computes correct results. During each run, the functional interpreter checks the
//! contents of memory, golden models of the L1Ds run in lockstep, and the DRAM commands are checked.

use super::{Setup, kernels, launch, root};

#[test]
fn every_small_launch_passes_every_check() {
    for kernel in &kernels() {
        Setup::run_checked().passes(&launch(kernel, "small"));
    }
}

#[test]
fn every_small_launch_passes_with_the_other_compilers_ptx() {
    for kernel in &kernels() {
        let mut setup = Setup::default();
        setup.options.ptx = Some(launch(kernel, &format!("{kernel}.nvrtc.ptx")));
        setup.passes(&launch(kernel, "small"));
    }
}

#[test]
fn the_main_sizes_of_the_regular_kernels_pass_every_check_under_pric() {
    for kernel in ["vadd", "syrk"] {
        Setup::run_checked().designs(&["pric"]).passes(&launch(kernel, "launch.toml"));
    }
}

#[test]
fn what_compilers_write_seldom_runs_as_in_the_interpreter() {
    Setup::run_checked().passes(&root().join("tests/machine/ptx/compiled.toml"));
}
