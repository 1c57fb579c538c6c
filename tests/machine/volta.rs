//! Tests the machine preset of a V100: results, traces, memory bandwidth, and issue rate of an SM.

use std::path::PathBuf;

use rtl::kernel::Mode;
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::run::{Counters, RunOptions};
use warpsieve::trace::synthetic::KINDS;

use super::replay::{AccessCounts, SMALL, TraceFolder, exported_as, lines};
use super::{Setup, launch, root, some_kernels};

/// Index of the tensor pipe among the pipe counters.
const TENSOR: usize = 8;

fn volta() -> Setup {
    Setup::run_checked().machine("volta")
}

fn file(name: &str) -> PathBuf {
    root().join("tests/machine/ptx").join(name)
}

#[test]
fn every_kernel_gives_its_results() {
    for kernel in &some_kernels(5) {
        // The machine has twelve SMs instead of the V100's 80. They are enough for small launches, and the
        // checks take less time.
        volta().sets(&["num_sms=12"]).passes(&launch(kernel, "small"));
    }
}

#[test]
fn products_of_matrices_give_their_results_on_its_own_tensor_pipes() {
    for kernel in ["hmma", "wmma"] {
        let report = volta().passes(&launch("tensor", &format!("{kernel}.toml/small")));
        assert!(report.counters.cores.iter().any(|core| core.per_pipe[TENSOR] > 0), "{kernel}");
    }
}

/// Binary versions of the GPUs from Volta to Ampere.
const VERSIONS: [u32; 3] = [70, 75, 80];

#[test]
fn traces_from_volta_to_ampere_ask_for_what_the_program_asks_for() {
    let setup = volta().sets(&["num_sms=12"]);
    for kernel in ["vadd", "histo", "scan", "sgemm", "barneshut"] {
        let small = launch(kernel, "small");
        let program = AccessCounts::of(&setup.passes(&small).counters);
        for version in VERSIONS {
            let trace = exported_as(version, &small, &[]).passes(&setup).counters;
            assert_eq!(AccessCounts::of(&trace), program, "{kernel}, version {version}");
        }
    }
}

#[test]
fn traces_of_older_gpus_are_replayed_too() {
    for kind in KINDS {
        let lines = |setup: Setup| lines(&TraceFolder::synthetic(kind, SMALL).passes(&setup).counters);
        assert_eq!(lines(volta()), lines(Setup::default()), "{kind:?}");
    }
}

#[test]
fn opcodes_of_traces_take_as_long_as_on_the_gpu_that_recorded_them() {
    let cycles = |version, text: &str| {
        let traced = TraceFolder::of_version(version, format!("{text}\n0030 ffffffff 0 EXIT 0 0 0"));
        traced.passes(&volta().sets(&["num_sms=1"])).counters.cycles
    };
    // Number of cycles that the second of two instructions waits for the result of the first.
    let waits = |opcode: &str| {
        VERSIONS.map(|version| {
            let first = format!("0000 ffffffff 1 R2 {opcode} 1 R4 0 0");
            cycles(version, &format!("{first}\n0010 ffffffff 1 R3 {opcode} 1 R2 0 0")) - cycles(version, &first)
        })
    };
    let [int, special, double] = ["IADD3", "MUFU", "DFMA"].map(waits);
    assert_eq!(int, [int[0]; 3]);
    // Expected latencies on the GPUs of versions 70, 75 and 80: 2 cycles each for `IADD3`; 20, 21 and 21 for
    // `MUFU`; 8, 64 and 64 for `DFMA`. Operand collectors and register file add the same delay to all of
    // them.
    let around = int[0] - 2;
    assert_eq!(special.map(|cycles| cycles - around), [20, 21, 21]);
    assert_eq!(double.map(|cycles| cycles - around), [8, 64, 64]);
}

#[test]
fn a_stream_of_reads_has_more_than_85_percent_of_what_the_channels_can_bring() {
    let config = ResolvedMachine::new(&Request { machine: "volta".to_owned(), ..Request::default() }).unwrap().config;
    let report = Setup::default().machine("volta").run(&file("stream.toml"));
    let bytes: u64 = report.counters.totals().dram.bytes;
    // The peak bandwidth of each DRAM channel is one burst of 32 bytes per DRAM clock cycle.
    let bytes_per_clock = config.dram.burst_bytes() / config.dram.timing.burst * config.num_channels();
    let clocks = report.counters.cycles as f64 * f64::from(config.clock.dram_khz) / f64::from(config.clock.core_khz);
    let part = bytes as f64 / (clocks * f64::from(bytes_per_clock));
    assert!(part > 0.85 && part < 1.0, "{:.1} % of the bandwidth", 100.0 * part);
}

#[test]
fn four_schedulers_issue_four_instructions_a_cycle() {
    let issued = |sets: &[&str]| {
        let counters =
            Setup::default().machine("volta").sets(&["num_sms=1"]).sets(sets).run(&file("peak.toml")).counters;
        counters.cores[0].warp_instructions as f64 / counters.cycles as f64
    };
    // In each iteration of the loop, the integer instructions occupy their pipe for 36 cycles, and a
    // scheduler can issue in 35 of these cycles. The required issue rate is lower with round robin, because
    // more warps then need this pipe at once.
    for (policy, least) in [("greedy-then-oldest", 3.6), ("loose-round-robin", 3.5)] {
        let peak = issued(&[&format!("sm.scheduler.kind={policy}")]);
        assert!(peak > least && peak <= 4.0, "{policy}: {peak:.2} a cycle");
    }
    // Without the integer pipe, all arithmetic shares one pipe of 16 lanes per scheduler, which accepts an
    // instruction every other cycle. Branches do not use this pipe.
    let without = issued(&["sm.pipes.int_pipe=false"]);
    assert!(without > 1.8 && without < 2.1, "{without:.2} a cycle");
}

#[test]
fn an_l1d_of_four_lookups_serves_the_same_loads_in_fewer_cycles() {
    let run = |lookups: u32, mode: Mode| {
        let options = RunOptions { mode, ..RunOptions::default() };
        let setup = Setup { options, ..Setup::default() }.machine("volta");
        let report = setup.sets(&["num_sms=12", &format!("l1.lookups={lookups}")]).run(&launch("likelihood", "small"));
        report.counters
    };
    let [one, two, four] = [1, 2, 4].map(|lookups| run(lookups, Mode::default()));
    assert!(four.cycles < two.cycles && two.cycles < one.cycles, "{} {} {}", one.cycles, two.cycles, four.cycles);
    let loads = |counters: &Counters| counters.totals().l1.accesses;
    assert_eq!([loads(&two), loads(&four)], [loads(&one); 2]);
    assert_eq!(run(4, Mode { shuffle: Some(7), ..Mode::default() }), four);
    assert_eq!(run(4, Mode { evaluate_all: true, ..Mode::default() }), four);
    assert_eq!(run(4, Mode::FAST), four);
}

/// The three kernels load 4, 8 and 16 bytes per lane. Only in the first kernel do the lanes of a load access
/// distant addresses.
#[test]
fn word_banks_give_the_same_results_in_fewer_cycles() {
    for (kernel, is_faster) in [("kmeans", true), ("fft", false), ("sgemm_cache", false)] {
        let run = |mode: Mode, sets: &[&str]| {
            let setup = volta().mode(mode).sets(&["num_sms=12"]).sets(sets);
            setup.passes(&launch(kernel, "small")).counters
        };
        let words = run(Mode::default(), &["l1.banks.kind=words"]);
        let sectors = run(Mode::default(), &[]);
        let (words_take, sectors_take) = (words.cycles, sectors.cycles);
        assert!(words_take <= sectors_take, "{kernel}: {words_take} and {sectors_take} cycles");
        assert!(!is_faster || words_take < sectors_take, "{kernel}: {words_take} and {sectors_take} cycles");
        for mode in [Mode { shuffle: Some(7), ..Mode::default() }, Mode { evaluate_all: true, ..Mode::default() }] {
            assert_eq!(run(mode, &["l1.banks.kind=words"]), words, "{kernel}, {mode:?}");
        }
    }
}

#[test]
fn a_kernel_takes_of_the_l1_what_its_shared_memory_needs() {
    // Returns the number of L1 hits of a loop over 48 KB of data, if each CTA uses `shared` bytes of shared
    // memory.
    let hits = |sets: &[&str], shared: u64| {
        let folder = tempfile::tempdir().unwrap();
        let text = std::fs::read_to_string(file("again.toml")).unwrap();
        let ptx = std::fs::canonicalize(file("again.ptx")).unwrap();
        let text = text
            .replace("again.ptx", ptx.to_str().unwrap())
            .replace("shared_bytes = 0", &format!("shared_bytes = {shared}"));
        let launch = folder.path().join("again.toml");
        std::fs::write(&launch, text).unwrap();
        let counters = volta().sets(&["num_sms=1"]).sets(sets).run(&launch).counters;
        counters.l1[0].hits
    };
    let all = hits(&[], 0);
    // With 1 KB of shared memory per CTA, an SM runs up to 32 CTAs, which leaves 96 of 128 KB for the L1.
    // With 40 KB, it runs two CTAs. They need the carve-out of 96 KB, which leaves 32 KB.
    assert_eq!(hits(&[], 1 << 10), all);
    let few = hits(&[], 40 << 10);
    assert!(few < all / 2, "{few} of {all}");
    // Without carve-outs, the size of the L1 does not depend on the amount of shared memory that CTAs use.
    assert_eq!(hits(&["sm.shared.carve_outs=[]"], 40 << 10), all);
}
