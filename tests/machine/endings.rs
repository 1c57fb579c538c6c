//! Runs that do not come to a good end.

use std::path::PathBuf;
use std::process::Command;

use tb::run::{Outcome, RunOptions, Verdict};

use super::{Setup, launch, root};

fn barriers() -> PathBuf {
    root().join("tests/machine/ptx/barriers.toml")
}

#[test]
fn a_run_stops_at_its_cycle_limit_and_keeps_its_counters() {
    let options = RunOptions { check: true, max_cycles: Some(300), ..RunOptions::default() };
    let report = Setup { options, ..Setup::default() }.run(&launch("syrk", "small.toml"));
    assert_eq!(report.outcome, Outcome::CycleLimit(300));
    assert_eq!(report.verdict, Verdict::Off);
    assert!(report.counters.cycles <= 300);
    assert!(report.counters.warp_instructions() > 0);
}

/// The pc is that of the instruction behind the barrier.
#[test]
fn warps_that_wait_for_each_other_are_named() {
    for sets in [&[][..], &["dram.refresh=all-bank"]] {
        let report = Setup::default().sets(sets).run(&barriers());
        let Outcome::NoProgress(waiting) = &report.outcome else { panic!("{:?}", report.outcome) };
        assert_eq!(
            *waiting, "  sm0: warp 0 at pc 4, line 16: barrier\n  sm0: warp 1 at pc 6, line 19: barrier\n",
            "{sets:?}"
        );
    }
}

#[test]
fn a_program_that_hangs_ends_with_status_3() {
    let launch = barriers().display().to_string();
    let ended = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve")).args(["run", &launch]).output().unwrap();
    assert_eq!(ended.status.code(), Some(3));
    let message = String::from_utf8(ended.stderr).unwrap();
    assert!(message.starts_with("no progress after cycle "), "{message}");
    assert!(message.contains("sm0: warp 1 at pc 6, line 19: barrier"), "{message}");
}
