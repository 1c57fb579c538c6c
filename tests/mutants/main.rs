//! # Mutants
//! Mutation test: injects one fault (mutant) at a time into the hardware model, the golden models, the lane
//! operations (`isa/lanes`), the compiler or the area model. Checks if a test detects the fault. All mutants
//! of a sample are compiled into one build, in which a switch selects the active mutant. This saves time,
//! since compiling takes minutes and a test seconds.
//!
//! | module      | holds                                                         |
//! |-------------|---------------------------------------------------------------|
//! | `operators` | the places where a file can be mutated, and the mutations     |
//! | `context`   | classification of code for the search for mutants             |
//! | `rules`     | excluded code, and mutants known to be equivalent             |
//! | `scan`      | all mutants of the workspace                                  |
//! | `sample`    | the random order in which mutants are tested                  |
//! | `weave`     | a file with all its mutants, and a switch for each            |
//! | `tree`      | the mutated copy of the workspace                             |
//! | `cargo`     | builds of the copy, and mutants that do not compile           |
//! | `process`   | test processes, with limits on time and memory                |
//! | `suite`     | the tests, their durations, and the mutants that each reaches |
//! | `judge`     | the decision if the tests detect a mutant                     |
//! | `report`    | results, saved and printed                                    |

mod cargo;
mod context;
mod judge;
mod operators;
mod process;
mod report;
mod rules;
mod sample;
mod scan;
mod suite;
mod tree;
mod weave;

use std::fs::{self, File};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use clap::Parser;

use crate::judge::{Judge, Outcome};
use crate::process::Runner;
use crate::report::{Results, summary};
use crate::rules::{Rules, is_below, read};
use crate::scan::{Scan, Site};
use crate::tree::Tree;

/// Injects faults into the code, one at a time, and lists those that no test notices.
#[derive(Debug, Parser)]
#[command(name = "mutants")]
struct Arguments {
    /// Number of mutants to select at random
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    sample: u32,
    /// Seed of the sample; the same seed selects the same mutants
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder or file to select mutants from, such as rtl/l1; several may be given [default: all of
    /// mutants.toml]
    #[arg(long = "in", value_name = "PATH")]
    within: Vec<String>,
    /// Only list all mutants that could be selected
    #[arg(long)]
    list: bool,
    /// Number of mutants tested in parallel
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..))]
    jobs: u8,
    /// Total test time in seconds after which a mutant counts as surviving
    #[arg(long, default_value_t = 90.0)]
    patience: f64,
    /// Continue an earlier run, reusing its results in target/mutants/results.jsonl
    #[arg(long)]
    resume: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("mutants: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let (root, start) = (scan::root(), Instant::now());
    let files = scan::list_tracked(&root)?;
    let Scan { mut sites, equivalent, stale } = scan::scan(&root, &files)?;
    stale.iter().for_each(|entry| eprintln!("matches nothing any more, or has no reason: {entry}"));
    for path in &arguments.within {
        if !sites.iter().any(|site| is_below(&site.file, path)) {
            return Err(format!(
                "--in {path}: no mutants there, expected a folder or file below those of mutants.toml"
            ));
        }
    }
    let is_wanted = |site: &Site| arguments.within.iter().any(|path| is_below(&site.file, path));
    sites.retain(|site| arguments.within.is_empty() || is_wanted(site));
    if arguments.list {
        sites.iter().for_each(|site| println!("{}", site.line()));
        return Ok(());
    }
    eprintln!("{} mutants to draw from", sites.len());
    let folder = root.join("target/mutants");
    fs::create_dir_all(folder.join("logs")).map_err(|e| format!("{}: {e}", folder.display()))?;
    let lock = File::create(folder.join("lock")).map_err(|e| format!("{}: {e}", folder.display()))?;
    lock.try_lock().map_err(|_| format!("{}: another run is under way", folder.display()))?;
    let results = Results::open(&folder.join("results.jsonl"), arguments.resume)?;
    let drawn = sample::drawn(sites, arguments.seed);
    let (sample, tree) = woven(&root, &files, &drawn, arguments.sample as usize, &results)?;
    eprintln!("{} mutants woven after {:.0?}", sample.len(), start.elapsed());
    judge(arguments, &root, &sample, &tree, &results)?;
    let judged: Vec<_> = sample.iter().filter_map(|site| Some((site, results.of(site)?))).collect();
    print!("{}", summary(&judged, equivalent));
    eprintln!("{:.0?} in all", start.elapsed());
    Ok(())
}

/// Returns the first `count` mutants in the random order of `drawn` that compile, and the copy of the
/// workspace that contains them.
fn woven(
    root: &Path,
    files: &[String],
    drawn: &[Site],
    count: usize,
    results: &Results,
) -> Result<(Vec<Site>, Tree), String> {
    loop {
        let is_built = |site: &&Site| results.of(site) != Some(Outcome::NotBuilt);
        let sample: Vec<_> = drawn.iter().filter(is_built).take(count).cloned().collect();
        let tree = Tree::new(root, files, &sample)?;
        tree.restore()?;
        let refused = cargo::find_refused(root, &tree)?;
        if refused.is_empty() {
            return Ok((sample, tree));
        }
        eprintln!("{} mutants do not compile; others are drawn", refused.len());
        for number in refused {
            results.keep(&sample[number as usize - 1], &Outcome::NotBuilt, 0.0)?;
        }
    }
}

/// Builds and runs the tests for the mutants of the sample that have no result yet.
fn judge(arguments: &Arguments, root: &Path, sample: &[Site], tree: &Tree, results: &Results) -> Result<(), String> {
    let rules: Rules = read(root, "mutants.toml")?;
    let left: Vec<_> = (1..).zip(sample).filter(|(_, site)| results.of(site).is_none()).collect();
    if left.is_empty() {
        return Ok(());
    }
    let binaries = cargo::binaries(root, tree, &rules)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(|e| format!("signals: {e}"))?;
    }
    let temporary = tempfile::tempdir().map_err(|e| format!("temporary folder: {e}"))?;
    let folder = root.join("target/mutants/logs");
    let runner = Runner { stop: &stop, folder, temporary: temporary.path().to_owned() };
    let jobs = usize::from(arguments.jobs);
    let tests = suite::baseline(&runner, &binaries, &suite::list_tests(&binaries, &rules)?, jobs)?;
    let seconds: f64 = tests.iter().map(|test| test.seconds).sum();
    eprintln!("{} tests pass without a mutant, and take {seconds:.0} s", tests.len());
    let judge = Judge { runner: &runner, binaries: &binaries, tests: &tests, patience: arguments.patience };
    let done = AtomicUsize::new(0);
    suite::for_each(&left, jobs, |job, (number, site)| {
        let (outcome, seconds) = judge.judge(*number, site, job)?;
        results.keep(site, &outcome, seconds)?;
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        eprintln!("[{done}/{}] {seconds:.1} s {outcome:?} {}", left.len(), site.line());
        // A failing test saves its case in the copy of the workspace, where it would affect the test of the
        // next mutant. The copy is therefore restored.
        if matches!(outcome, Outcome::Caught { .. } | Outcome::TimedOut { .. }) { tree.restore() } else { Ok(()) }
    })
}
