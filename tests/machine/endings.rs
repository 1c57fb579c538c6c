//! Tests runs that end early, fail, or make no progress.

use std::path::PathBuf;
use std::process::Command;
use std::{fs, panic};

use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::run::{Outcome, RunOptions, Verdict, WaveOptions, run};

use super::{Setup, launch, root};

fn barriers() -> PathBuf {
    root().join("tests/machine/ptx/barriers.toml")
}

#[test]
fn a_run_stops_at_its_cycle_limit_and_keeps_its_counters() {
    let options = RunOptions { check: true, max_cycles: Some(300), ..RunOptions::default() };
    let report = Setup { options, ..Setup::default() }.run(&launch("syrk", "small"));
    assert_eq!(report.outcome, Outcome::CycleLimit(300));
    assert_eq!(report.verdict, Verdict::Off);
    assert!(report.counters.cycles <= 300);
    assert!(report.counters.warp_instructions() > 0);
}

/// Two warps wait at different barriers forever. The reported program counters are those of the instructions
/// after the barriers.
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

/// The warps spin on a lock, so cycles pass and instructions issue, but the run makes no progress. It must
/// detect this from the fact that all warps return to an earlier state.
#[test]
fn warps_that_wait_for_a_lock_for_ever_are_noticed_and_named() {
    let report = Setup::default().run(&root().join("tests/machine/ptx/spin.toml"));
    let Outcome::NoProgress(waiting) = &report.outcome else { panic!("{:?}", report.outcome) };
    assert!(waiting.starts_with("  every running warp loops or waits at a barrier, "), "{waiting}");
    for sm in 0..2 {
        assert!(waiting.contains(&format!("  sm{sm}: warp 0 at pc ")), "{waiting}");
        assert!(waiting.contains(&format!("  sm{sm}: warp 1 at pc 8, line 22: barrier\n")), "{waiting}");
    }
    assert!(report.counters.cycles < 3_000_000, "{} cycles", report.counters.cycles);
}

/// Of 80 warps, 79 spin in a loop. The remaining warp counts, and finally releases the spinning warps.
#[test]
fn warps_that_wait_for_one_that_works_are_left_alone() {
    let report = Setup::default().run(&root().join("tests/machine/ptx/patient.toml"));
    assert_eq!(report.outcome, Outcome::Finished);
    assert!(report.counters.cycles > 1_000_000, "{} cycles", report.counters.cycles);
}

/// If the simulator panics during a run, the waveform up to that cycle must be written, and the panic must
/// propagate.
#[test]
fn a_broken_rule_of_the_model_leaves_the_last_cycles() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.fst");
    let wave = WaveOptions { path: path.clone(), last: Some(20), ..WaveOptions::default() };
    let options = RunOptions { wave: Some(wave), ..RunOptions::default() };
    let config = ResolvedMachine::new(&Request { machine: "fermi".to_owned(), ..Request::default() }).unwrap().config;
    let spin = root().join("tests/machine/ptx/spin.toml");
    let broken = panic::catch_unwind(|| run(&spin, &config, &options, &mut |_| panic!("a rule is broken")));
    let message = broken.unwrap_err().downcast_ref::<&str>().map(|&text| text.to_owned());
    assert_eq!(message.as_deref(), Some("a rule is broken"));
    assert!(path.exists());
    let save = fs::read_to_string(path.with_extension("gtkw")).unwrap();
    assert!(save.contains("[markername] Ainternal error"), "{save}");
}

/// Runs another test in a separate process with the variable `WAVES`, and checks the waveform files that it
/// writes.
#[test]
fn with_the_variable_waves_a_test_leaves_the_waveform_of_its_machine() {
    let folder = tempfile::tempdir().unwrap();
    let name = "endings::a_run_stops_at_its_cycle_limit_and_keeps_its_counters";
    let mut test = Command::new(std::env::current_exe().unwrap());
    assert!(test.args([name, "--exact"]).env("WAVES", folder.path()).output().unwrap().status.success());
    let save = fs::read_to_string(folder.path().join(format!("{name}.gtkw"))).unwrap();
    assert!(save.contains("[markername] Acycle limit"), "{save}");
    let view = fs::read_to_string(folder.path().join(format!("{name}.l1d.gtkw"))).unwrap();
    assert!(view.contains(&format!("{name}.vcd")), "{view}");
    assert!(folder.path().join(format!("{name}.vcd")).exists());
}
