//! Runs a kernel with each scheme. The machine and the golden models must agree in every cycle.

use std::path::Path;

use warpsieve::config::{Request, ResolvedMachine, add_designs};
use warpsieve::kernels::launch_file;
use warpsieve::run::{Outcome, RunOptions, RunReport, Verdict, run};

fn run_with(design: Option<&str>) -> RunReport {
    add_designs(new_scheme::DESIGNS);
    let designs = design.into_iter().map(str::to_owned).collect();
    // The caches are small, so that lines are evicted from the L1 to the L2 and from the L2 to the DRAM.
    let sets = ["l1.sets=8", "l2.sets=4"].map(str::to_owned).into();
    let config = ResolvedMachine::new(&Request { machine: "fermi".to_owned(), designs, sets }).unwrap().config;
    let launch = launch_file(Path::new("bfs/small")).unwrap();
    let options = RunOptions { check: true, ..RunOptions::default() };
    run(&launch, &config, &options, &mut |_| ()).unwrap()
}

#[test]
fn each_scheme_changes_the_run_and_every_check_passes() {
    let without = run_with(None);
    for design in new_scheme::DESIGNS {
        let report = run_with(Some(design.name));
        assert_eq!((&report.outcome, &report.verdict), (&Outcome::Finished, &Verdict::Passed), "{}", design.name);
        assert!(report.notes.is_empty(), "{}: {:?}", design.name, report.notes);
        assert!(report.counters != without.counters, "{} changes nothing", design.name);
    }
}
