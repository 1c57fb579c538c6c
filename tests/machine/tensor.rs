//! Tests matrix products on whole machines. The kernels in `kernels/tensor` run with and without the design
//! `tensor`.

use std::path::PathBuf;

use rtl::kernel::Mode;
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::run::{RunOptions, TraceForm, export, open, run};

use super::replay::{AccessCounts, TraceFolder, exported_from};
use super::{MIN_QUEUES, Setup, fermi, launch};

const KERNELS: [&str; 2] = ["hmma", "wmma"];
/// Number of tensor steps of each kernel in its small launch. `hmma` has six CTAs of four warps, each with
/// three rounds of two products of 2 steps. `wmma` has nine tiles, each with two products of 16 steps.
const STEPS: [u64; 2] = [6 * 4 * 3 * 2 * 2, 9 * 2 * 16];
/// Kernels that copy tiles to shared memory by `cp.async`, with the number of tensor steps of each in its small
/// launch. `gemm` has four CTAs of four warps, each with four rounds of sixteen products of 2 steps. `flash` has
/// four CTAs of four warps with ten tiles of keys in total, each with 32 products of 2 steps per warp.
const COPYING: [(&str, u64); 2] = [("gemm", 4 * 4 * 4 * 16 * 2), ("flash", 10 * 4 * 32 * 2)];
/// Index of the tensor pipe among the pipe counters.
const TENSOR: usize = 8;

fn file(name: &str) -> PathBuf {
    launch("tensor", name)
}

fn with_pipes() -> Setup {
    Setup::run_checked().designs(&["tensor"])
}

#[test]
fn every_kernel_of_both_compilers_passes_every_check() {
    for (kernel, steps) in KERNELS.into_iter().zip(STEPS).chain(COPYING) {
        for ptx in ["ptx", "nvrtc.ptx"] {
            let mut setup = with_pipes();
            setup.options.ptx = Some(file(&format!("{kernel}.{ptx}")));
            let report = setup.passes(&file(&format!("{kernel}.toml/small")));
            let found: u64 = report.counters.cores.iter().map(|core| core.per_pipe[TENSOR]).sum();
            assert_eq!(found, steps, "{kernel}.{ptx}");
        }
    }
}

#[test]
fn the_main_sizes_pass_on_small_and_on_banked_machines() {
    for kernel in KERNELS {
        let path = file(&format!("{kernel}.toml"));
        with_pipes().sets(&["num_sms=4"]).passes(&path);
        with_pipes().designs(&["tensor", "ideal-operands"]).passes(&path);
        with_pipes().sets(&MIN_QUEUES).passes(&file(&format!("{kernel}.toml/small")));
        let wide = ["sm.warp_lanes=64", "sm.simd_width=16", "sm.schedulers=4", "sm.pipes.result_bus=4"];
        with_pipes().sets(&wide).passes(&file(&format!("{kernel}.toml/small")));
    }
}

#[test]
fn ways_of_evaluation_change_nothing() {
    let digest = Mode { digest: true, ..Mode::default() };
    for kernel in KERNELS {
        let run = |mode| {
            let small = Setup::default().designs(&["tensor"]).sets(&["num_sms=2", "num_partitions=2", "l2.sets=8"]);
            let report = small.mode(mode).passes(&file(&format!("{kernel}.toml/small")));
            (report.counters, report.digests)
        };
        let plain = run(digest);
        assert!(plain == run(Mode { evaluate_all: true, ..digest }), "{kernel}");
        assert!(plain == run(Mode { shuffle: Some(3), lint: true, ..digest }), "{kernel}");
    }
}

#[test]
fn a_machine_without_tensor_pipes_refuses_the_kernel_by_its_line() {
    let resolved = ResolvedMachine::new(&Request { machine: "fermi".to_owned(), ..Request::default() }).unwrap();
    let refused = run(&file("wmma.toml/small"), &resolved.config, &RunOptions::default(), &mut |_| {});
    let Err(error) = refused else { panic!("it runs") };
    let text = format!("{error:?}");
    for part in ["wmma.ptx:", "kernel `wmma` multiplies matrices", "`sm.pipes.tensor`", "design `tensor`"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn faster_pipes_take_less_time_and_half_a_pipe_is_refused() {
    let cycles = |pipe: &str| {
        let setup = with_pipes().sets(&["num_sms=1", pipe]);
        setup.passes(&file("wmma.toml/small")).counters.cycles
    };
    let [fast, plain, slow] = [(1, 1), (4, 4), (64, 48)].map(|(latency, interval)| {
        cycles(&format!("sm.pipes.tensor={{ latency = {latency}, interval = {interval} }}"))
    });
    assert!(fast < plain && plain < slow, "{fast}, {plain} and {slow} cycles");
    for (latency, interval) in [(4, 0), (0, 4), (129, 4), (4, 49)] {
        let sets = vec![format!("sm.pipes.tensor={{ latency = {latency}, interval = {interval} }}")];
        let request = Request { machine: "fermi".to_owned(), designs: Vec::new(), sets };
        let error = format!("{:?}", ResolvedMachine::new(&request).map(drop).unwrap_err());
        assert!(error.contains("sm.pipes.tensor.") && error.contains("expected"), "{error}");
    }
}

#[test]
fn an_exported_kernel_asks_for_what_the_kernel_asks_for() {
    for kernel in KERNELS {
        let setup = with_pipes();
        let path = file(&format!("{kernel}.toml/small"));
        let program = setup.passes(&path).counters;
        let trace = exported_from(&path, &["tensor"]).passes(&setup).counters;
        assert_eq!(AccessCounts::of(&trace), AccessCounts::of(&program), "{kernel}");
    }
}

#[test]
fn a_recorded_product_goes_to_the_tensor_pipe_if_there_is_one() {
    let text = |opcode: &str, count: u32| {
        let line = |at: u32| format!("{:04x} ffffffff 1 R4 {opcode} 3 R8 R10 R4 0\n", 16 * at);
        let products: String = (0..count).map(line).collect();
        TraceFolder::ampere(format!("{products}{:04x} ffffffff 0 EXIT 0 0 0", 16 * count))
    };
    let [with, without] = [with_pipes(), Setup::run_checked()].map(|setup| setup.sets(&["num_sms=1"]));
    let pipes = |setup: &Setup| text("HMMA.16816.F32", 8).passes(setup).counters.cores[0].per_pipe;
    assert!(pipes(&without)[TENSOR] == 0 && pipes(&with)[TENSOR] == pipes(&without)[0], "{:?}", pipes(&with));
    // Matrix products with more elements must take longer, in proportion to the number of multiplications.
    let cycles = |opcode: &str| {
        let [few, many] = [8, 16].map(|count| text(opcode, count).passes(&with).counters.cycles);
        many - few
    };
    assert_eq!(cycles("HMMA.16816.F32") - cycles("HMMA.1688.F32"), 8 * (8 - 4) * 4);
}

#[test]
fn an_export_without_opcodes_for_products_is_refused_at_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let config = fermi();
    let error = export(open(&file("hmma.toml/small"), None).unwrap(), &config, folder.path(), TraceForm::default());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("hmma.ptx:") && error.contains("version 60") && error.contains("70 or later"), "{error}");
}
