//! Runs a launch file on a machine with a design, by calling the library, and prints cycles and hits.
//! `cargo run --profile fast --example machine -- fermi kernels/syrk/launch.toml pric`

use std::path::Path;

use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::run::{Outcome, RunOptions, Verdict, run};

/// Runs the launch file with every check, and returns a summary.
pub fn report(machine: &str, launch: &str, design: &str) -> miette::Result<String> {
    let request = Request { machine: machine.to_owned(), designs: vec![design.to_owned()], sets: vec![] };
    let config = ResolvedMachine::new(&request)?.config;
    let options = RunOptions { check: true, ..RunOptions::default() };
    let report = run(Path::new(launch), &config, &options, &mut |progress| eprint!("\r{} cycles", progress.cycles))?;
    eprintln!();
    if report.outcome != Outcome::Finished || report.verdict != Verdict::Passed {
        miette::bail!("{launch}: {:?}, {:?}", report.outcome, report.verdict);
    }
    let l1 = report.counters.totals().l1;
    let (hits, loads) = (l1.hits, l1.accesses);
    Ok(format!("{} cycles, {hits} of {loads} loads hit in the L1s, checks passed", report.counters.cycles))
}

fn main() -> miette::Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [machine, launch, design] = &arguments[..] else {
        miette::bail!(
            "expected three arguments: a machine, a launch file and a design, as fermi kernels/syrk/launch.toml pric"
        );
    };
    println!("{}", report(machine, launch, design)?);
    Ok(())
}
