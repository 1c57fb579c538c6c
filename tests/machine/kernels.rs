//! Every kernel gives its results while the functional interpreter compares all of memory, the golden
//! L1Ds follow in lockstep, and the DRAM commands are checked.

use super::{KERNELS, Setup, launch, root};

#[test]
fn every_small_launch_passes_every_check() {
    for kernel in KERNELS {
        Setup::checked().passes(&launch(kernel, "small.toml"));
    }
}

#[test]
fn the_main_sizes_of_the_regular_kernels_pass_every_check_under_pric() {
    for kernel in ["vadd", "syrk"] {
        Setup::checked().designs(&["pric"]).passes(&launch(kernel, "launch.toml"));
    }
}

#[test]
fn no_kernel_folder_is_left_out_here() {
    let entries = std::fs::read_dir(root().join("kernels")).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = entries.filter(|path| path.join("small.toml").is_file()).collect();
    found.sort();
    let names: Vec<_> = found.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, KERNELS);
}
