//! Tests SMs in which each warp scheduler has its own execution pipes, register banks and operand collectors.

use rtl::kernel::Mode;
use warpsieve::run::{RunOptions, Threads};

use super::{Setup, launch, some_kernels};

#[test]
fn every_kernel_gives_its_results() {
    for kernel in &some_kernels(5) {
        Setup::run_checked().designs(&["sub-cores"]).passes(&launch(kernel, "small"));
    }
}

#[test]
fn with_an_instruction_cache_a_throttle_and_the_least_of_everything_too() {
    let least = ["sm.operands.banks=4", "sm.operands.generic_collectors=4", "sm.pipes.result_bus=1"];
    for kernel in ["bfs", "lud", "histo", "nn"] {
        let small = launch(kernel, "small");
        Setup::run_checked().designs(&["sub-cores", "icache"]).passes(&small);
        Setup::run_checked().designs(&["sub-cores", "ccws"]).passes(&small);
        Setup::run_checked().designs(&["sub-cores"]).sets(&["sm.operands.banks=0"]).passes(&small);
        Setup::run_checked().designs(&["sub-cores", "tensor"]).sets(&least).passes(&small);
        let classes = ["sm.operands.generic_collectors=0", "sm.operands.sp_collectors=4"];
        let memory = ["sm.operands.memory_collectors=4", "sm.scheduler.kind=two-level"];
        Setup::run_checked().designs(&["sub-cores"]).sets(&classes).sets(&memory).passes(&small);
    }
}

#[test]
fn neither_evaluation_nor_checks_nor_islands_change_anything() {
    let run = |mode: Mode, check, threads| {
        let options = RunOptions { mode, check, threads, ..RunOptions::default() };
        let setup = Setup { options, ..Setup::default() }.designs(&["sub-cores"]);
        let report = setup.passes(&launch("sgemm", "small"));
        (report.counters, report.digests)
    };
    let digest = Mode { digest: true, ..Mode::default() };
    let plain = run(digest, false, Threads::InStep);
    assert!(plain.1.is_some());
    assert_eq!(run(Mode { shuffle: Some(7), ..digest }, false, Threads::InStep), plain);
    assert_eq!(run(Mode { evaluate_all: true, ..digest }, true, Threads::InStep), plain);
    let threads = Threads::Of(2.try_into().unwrap());
    assert_eq!(run(Mode::FAST, false, threads).0, plain.0);
}
