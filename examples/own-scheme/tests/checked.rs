//! Runs kernels with each scheme alone, and with several schemes together. The machine and the golden models
//! must agree in every cycle. The binary must also accept the same command lines as `warpsieve`.

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use own_scheme::mshr_gears::MshrGears;
use own_scheme::sm_round_robin::SmRoundRobin;
use rtl::kernel::Counted;
use rtl::l1::prefetch::PrefetchStats;
use rtl::l1::watch::Fail;
use rtl::l2::Stall;
use tb::dram::policies::find_difference;
use tb::mshr_policy;
use warpsieve::config::{Request, ResolvedMachine, add_designs};
use warpsieve::run::{Counters, Outcome, RunOptions, RunReport, Verdict, run};

fn kernel(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../kernels/{name}/small"))
}

fn request(designs: &[&str], sets: &[&str]) -> Request {
    add_designs(&own_scheme::DESIGNS);
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    Request { machine: "fermi".to_owned(), designs: owned(designs), sets: owned(sets) }
}

fn run_checked(kernel_name: &str, designs: &[&str], sets: &[&str]) -> RunReport {
    let config = ResolvedMachine::new(&request(designs, sets)).unwrap().config;
    let options = RunOptions { check: true, ..RunOptions::default() };
    let report = run(&kernel(kernel_name), &config, &options, &mut |_| ()).unwrap();
    assert_eq!((&report.outcome, &report.verdict), (&Outcome::Finished, &Verdict::Passed), "{designs:?}");
    assert!(report.notes.is_empty(), "{:?}", report.notes);
    report
}

/// Returns the numbers of L1 hits and of loads that bypassed the L1, each summed over all SMs.
fn l1(report: &RunReport) -> (u64, u64) {
    report.counters.l1.iter().fold((0, 0), |(hits, past), l1| (hits + l1.hits, past + l1.bypasses))
}

#[test]
fn loads_of_instructions_that_miss_go_past() {
    for kernel in ["syrk", "bfs"] {
        let (_, past) = l1(&run_checked(kernel, &["by-pc"], &["l1.bypass.bits=4"]));
        assert!(past > 0, "{kernel}");
    }
}

#[test]
fn reuse_distances_choose_other_victims() {
    // Small kernels cause no evictions in the default L1, so the test reduces its number of sets.
    let small = ["l1.sets=2"];
    assert_ne!(l1(&run_checked("bfs", &[], &small)), l1(&run_checked("bfs", &["reuse-distance"], &small)));
    run_checked("bfs", &["reuse-distance", "decoupled"], &small);
}

#[test]
fn neighbors_of_missing_lines_are_prefetched_and_used() {
    let mut all = PrefetchStats::default();
    for kernel in ["vadd", "bfs", "syrk"] {
        all.add(&run_checked(kernel, &["neighbor"], &["l1.sets=8"]).counters.totals().l1.prefetch);
    }
    assert!(all.issued > 0 && all.useful + all.late > 0, "{all:?}");
    run_checked("bfs", &["neighbor", "reuse-distance"], &["l1.sets=2"]);
}

#[test]
fn sms_in_turn_change_the_order_of_dram_requests() {
    // Small kernels cause too few DRAM requests with the default L2, so the test reduces its number of sets.
    let small = ["l1.sets=2", "l2.sets=4"];
    let cycles = |designs: &[&str]| run_checked("bfs", designs, &small).counters.cycles;
    assert_ne!(cycles(&[]), cycles(&["sm-round-robin"]));
    run_checked("bfs", &["neighbor", "reuse-distance", "sm-round-robin"], &small);
}

#[test]
fn sms_in_turn_are_chosen_as_the_golden_model_says() {
    for seed in 0..20 {
        let difference = find_difference(&SmRoundRobin {}.into(), seed, 200);
        assert_eq!(difference, Ok(None), "seed {seed}");
    }
}

#[test]
fn gears_stall_sms_and_change_the_run() {
    // With few MSHR entries, even small kernels contend for them. `--check` compares the L1D's policy with
    // its twin.
    let small = ["l1.sets=2", "l2.sets=4", "l2.mshr_entries=4"];
    let [without, with] = [&[][..], &["mshr-gears"]].map(|designs| run_checked("bfs", designs, &small).counters);
    let stalls = |counters: &Counters| counters.totals().l2.stall_cycles(Stall::MshrPolicy);
    assert_eq!(stalls(&without), 0);
    assert!(stalls(&with) > 0 && with.cycles != without.cycles, "{} stalls", stalls(&with));
    let l1 = ["l1.sets=2", "l1.mshr_entries=12", "l1.mshr_policy.kind=mshr-gears"];
    let fails = run_checked("bfs", &["neighbor"], &l1).counters.totals().l1.fails[Fail::MshrPolicy as usize];
    assert!(fails > 0);
}

#[test]
fn gears_refuse_what_the_golden_model_refuses() {
    let mut refused = 0;
    for seed in 0..100 {
        let [gears, share] = [1 + seed % 4, 1 + seed / 4 % 5].map(|key| key as u32);
        let entries = share.max([1, 6, 8, 32][seed as usize / 20 % 4]);
        let [allocations, merges] =
            mshr_policy::find_difference(&MshrGears { gears, share }.into(), [entries, 4], seed).unwrap();
        assert_eq!(merges, 0, "seed {seed}");
        refused += allocations;
    }
    assert!(refused > 1000, "{refused}");
}

#[test]
fn both_go_together_and_with_a_scheme_of_another_slot() {
    let (_, past) = l1(&run_checked("syrk", &["by-pc", "reuse-distance", "pric"], &[]));
    assert!(past > 0);
}

#[test]
fn a_key_that_is_wrong_is_refused_like_any_other() {
    let refused = |set: &str| ResolvedMachine::new(&request(&["by-pc"], &[set])).unwrap_err().lines().join("\n");
    let text = refused("l1.bypass.bits=17");
    assert!(text.contains("l1.bypass.bits is 17, expected 1 to 16: each value of the hash has a counter"), "{text}");
    let text = refused("l1.bypass.bit=4");
    assert!(text.contains("unknown key `bit` (did you mean `bits`?)"), "{text}");
}

#[test]
fn the_binary_is_the_whole_command_line() {
    let command = |arguments: &[&str]| {
        let output = Command::cargo_bin("own-scheme").unwrap().args(arguments).output().unwrap();
        // The exit code is 0, or 3 if `--max-cycles` stopped the run.
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(command(&["list", "designs"]).contains("reuse-distance"));
    let both = ["--design", "by-pc", "--design", "reuse-distance"];
    let total =
        |designs: &[&str]| command(&[&["area", "--machine", "fermi", "--format", "json"][..], designs].concat());
    assert_ne!(total(&[]), total(&both));
    let folder = tempfile::tempdir().unwrap();
    let vcd = folder.path().join("wave.vcd").display().to_string();
    let syrk = kernel("syrk").display().to_string();
    let array = "sm0.l1.tags.reuse_distance.lines[0]";
    let scopes = ["--wave-scope", "sm0.l1.**", "--wave-scope", array];
    command(&[&["run", &syrk, "--wave", &vcd, "--max-cycles", "500"][..], &both, &scopes].concat());
    let text = std::fs::read_to_string(&vcd).unwrap();
    assert!(text.contains("by_pc") && text.contains("reuse_distance"));
}
