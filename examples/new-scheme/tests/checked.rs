//! Runs a kernel with the scheme. The golden models must agree in every cycle.

use std::path::Path;

use warpsieve::config::{Request, ResolvedMachine, add_designs};
use warpsieve::kernels::launch_file;
use warpsieve::run::{Outcome, RunOptions, RunReport, Verdict, run};

fn run_with(designs: &[&str]) -> RunReport {
    add_designs(&new_scheme::DESIGNS);
    let designs = designs.iter().map(|&design| design.to_owned()).collect();
    let request = Request { machine: "fermi".to_owned(), designs, sets: Vec::new() };
    let config = ResolvedMachine::new(&request).unwrap().config;
    let launch = launch_file(Path::new("syrk/small")).unwrap();
    let options = RunOptions { check: true, ..RunOptions::default() };
    run(&launch, &config, &options, &mut |_| ()).unwrap()
}

#[test]
fn the_scheme_sends_loads_past_and_every_check_passes() {
    let report = run_with(&["new-scheme"]);
    assert_eq!((&report.outcome, &report.verdict), (&Outcome::Finished, &Verdict::Passed));
    assert!(report.notes.is_empty(), "{:?}", report.notes);
    let bypasses = |report: &RunReport| report.counters.totals().l1.bypasses;
    assert!(bypasses(&report) > 0);
    assert_eq!(bypasses(&run_with(&[])), 0);
}
