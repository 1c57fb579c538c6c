//! Tests the command `warpsieve hdl`: lists of SystemVerilog modules, test vectors, and errors for unknown
//! components.

use std::fs;

use super::{CommandResult, warpsieve};

#[test]
fn every_part_is_listed_with_its_registers() {
    let CommandResult { status, out, err } = warpsieve(&["hdl", "list"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let mshr = out.lines().find(|line| line.starts_with("l1/mshr ")).unwrap();
    // Number of flip-flops: 32 MSHR entries of 352 bits, and a count of ready entries with 6 bits. An entry
    // has 3 flags, the fields line, location, count, head and order (45 bits in all), and 8 waiters of 38
    // bits.
    assert!(mshr.contains("11,270") && mshr.contains("ENTRIES=32 MERGES=8"), "{mshr}");
}

#[test]
fn vectors_are_a_bench_and_a_row_a_cycle_and_depend_on_the_seed() {
    let folder = tempfile::tempdir().unwrap();
    let written = |seed: &str| {
        let to = folder.path().join(seed);
        let options = ["--cycles", "20", "--small", "--seed", seed];
        let CommandResult { status, out, .. } =
            warpsieve(&[&["hdl", "vectors", "l1/miss_queue", "-o", to.to_str().unwrap()], &options[..]].concat());
        assert_eq!((status, out.lines().count()), (Some(0), 2), "{out}");
        let bench = fs::read_to_string(to.join("l1_miss_queue_bench.sv")).unwrap();
        assert!(bench.contains("miss_queue #("), "{bench}");
        fs::read_to_string(to.join("l1_miss_queue_rows.hex")).unwrap()
    };
    let rows = written("1");
    assert_eq!(rows.lines().count(), 20);
    assert_ne!(rows, written("2"));
}

#[test]
fn proofs_are_listed_with_sizes_and_mistakes_and_others_refused() {
    let CommandResult { status, out, err } = warpsieve(&["hdl", "prove", "l1/mshr", "--list"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(out.starts_with("l1/mshr: every waiter of the MSHR leaves once, after the fill of its line\n"), "{out}");
    assert!(out.contains("\n  at ENTRIES=2 MERGES=2\n") && out.contains("\n  mistake 1: `"), "{out}");
    let CommandResult { status, err, .. } = warpsieve(&["hdl", "prove", "l1/mhsr"]);
    assert_eq!(status, Some(2));
    assert!(err.contains("there is no proof of `l1/mhsr`") && err.contains("did you mean `l1/mshr`?"), "{err}");
}

#[test]
fn a_cell_library_that_is_not_there_is_refused() {
    warpsieve(&["hdl", "synth", "l1/mshr", "--liberty", "nowhere.lib"]).assert_refused(&["nowhere.lib"]);
}

#[test]
fn only_a_block_that_the_machine_has_and_the_module_implements_runs_next_to_it() {
    let lockstep =
        |block: &str, options: &[&str]| warpsieve(&[&["hdl", "lockstep", block, "bfs/small"], options].concat());
    lockstep("l1/mshr", &[]).assert_refused(&["`l1/mshr` cannot run in a machine", "dram/channel"]);
    lockstep("dram/chanel", &[]).assert_refused(&["there is no block `dram/chanel`", "did you mean `dram/channel`?"]);
    lockstep("dram/channel", &["--number", "6"]).assert_refused(&["the machine has 6 channels, numbered from 0"]);
    lockstep("dram/channel", &["--set", "dram.policy.kind=fcfs"]).assert_refused(&["dram.policy is not `fr-fcfs`"]);
}

#[test]
fn a_part_that_is_not_there_is_refused_with_one_that_is() {
    for command in ["synth", "vectors", "waves"] {
        let options: &[&str] = if command == "synth" { &[] } else { &["-o", "nowhere"] };
        let CommandResult { status, out, err } = warpsieve(&[&["hdl", command, "l1/mhsr"], options].concat());
        assert_eq!((status, out.as_str()), (Some(2), ""));
        assert!(
            err.contains("there is no block `l1/mhsr` in rtl/hdl/") && err.contains("did you mean `l1/mshr`?"),
            "{err}"
        );
    }
}
