//! All kernels of the suite: what the machine does with them, and what they ask of caches without time,
//! beside reference figures.

mod page;
mod reference;

use std::path::{Path, PathBuf};

use golden::untimed::{Load, Profile};
use miette::{IntoDiagnostic, Report};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rtl::sm::StallReason;

use super::super::args::ReproduceArguments;
use super::super::compare::{progress_bar, worse};
use super::super::list::{name_of, sorted};
use super::super::profile::{L2, l2};
use super::super::{Exit, crash, output};
use super::Page;
use crate::config::{Request, Resolved};
use crate::run::{Outcome, RunError, RunOptions, RunReport, Verdict, profile, ratio, run};
use reference::{Reference, references};

/// A launch file to measure.
struct Job<'a> {
    kernel: String,
    path: PathBuf,
    /// Whether the clocked machine runs it too.
    is_clocked: bool,
    reference: Option<&'a Reference>,
}

/// What was measured.
struct Row<'a> {
    kernel: String,
    file: String,
    untimed: Untimed,
    clocked: Option<Clocked>,
    reference: Option<&'a Reference>,
}

/// Caches without time.
struct Untimed {
    warp_instructions: u64,
    loads: Load,
    l2: L2,
}

/// The clocked machine. Rates are parts of one, and none where nothing was asked for.
struct Clocked {
    cycles: u64,
    ipc: f64,
    warp_instructions: u64,
    /// Hits and pending hits of loads.
    l1: Option<f64>,
    /// Hits and pending hits of loads and stores.
    l2: Option<f64>,
    shares: Vec<(StallReason, f64)>,
    check: &'static str,
}

pub(super) fn suite(arguments: &ReproduceArguments, kernels: &Path) -> Result<Page, Report> {
    let references = references(&kernels.join("suite.csv"))?;
    let jobs = jobs(kernels, arguments.quick, &references)?;
    let request = Request { machine: "fermi".to_owned(), designs: Vec::new(), sets: Vec::new() };
    let resolved = Resolved::new(&request)?;
    let threads = usize::from(arguments.jobs.unwrap_or(0));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().into_diagnostic()?;
    let bar = progress_bar(arguments.quiet, jobs.len());
    let measured: Vec<_> = pool.install(|| {
        let measured = |job: &Job<'_>| {
            let ran = crash::caught(|| measure(job, &resolved));
            bar.set_message(job.path.display().to_string());
            bar.inc(1);
            ran
        };
        jobs.par_iter().map(measured).collect()
    });
    bar.finish_and_clear();
    let mut rows = Vec::new();
    let mut exit = Exit::Done;
    for (job, measured) in jobs.into_iter().zip(measured) {
        let Job { kernel, path, reference, .. } = job;
        match measured {
            Ok(measured) => {
                let (untimed, report) = measured?;
                let clocked = report.map(|report| {
                    exit = worse(exit, complain(&path, &report));
                    Clocked::new(&report)
                });
                rows.push(Row { kernel, file: name_of(&path), untimed, clocked, reference });
            }
            Err(internal) => {
                output::complain(&format!("{}: {internal}", path.display()));
                exit = Exit::CheckFailed;
            }
        }
    }
    let name = if arguments.quick { "suite-quick" } else { "suite" };
    Ok(Page { name: name.to_owned(), markdown: page::markdown(&rows, arguments.quick), csv: page::csv(&rows)?, exit })
}

/// The main size of every kernel on both models; other sizes with a reference without time only. The
/// small sizes have no references.
fn jobs<'a>(kernels: &Path, quick: bool, references: &'a [Reference]) -> Result<Vec<Job<'a>>, Report> {
    let main = if quick { "small.toml" } else { "launch.toml" };
    let mut jobs = Vec::new();
    for folder in sorted(kernels)?.into_iter().filter(|folder| folder.join(main).is_file()) {
        let kernel = name_of(&folder);
        let of_kernel = || references.iter().filter(|reference| reference.kernel == kernel);
        let reference = of_kernel().find(|reference| reference.launch == main);
        jobs.push(Job { kernel: kernel.clone(), path: folder.join(main), is_clocked: true, reference });
        for other in of_kernel().filter(|other| other.launch != main && !quick) {
            let path = folder.join(&other.launch);
            jobs.push(Job { kernel: kernel.clone(), path, is_clocked: false, reference: Some(other) });
        }
    }
    Ok(jobs)
}

fn measure(job: &Job<'_>, resolved: &Resolved) -> Result<(Untimed, Option<RunReport>), RunError> {
    let mut all = Profile::default();
    let mut loads = Load::default();
    for kernel in profile(&job.path, None, &resolved.config)? {
        let kernel = kernel.all();
        loads.add(&kernel.all_loads());
        all.add(&kernel);
    }
    let untimed = Untimed { warp_instructions: all.warp_instructions, loads, l2: l2(&all) };
    let clocked = job.is_clocked.then(|| run(&job.path, &resolved.config, &RunOptions::default(), &mut |_| {}));
    Ok((untimed, clocked.transpose()?))
}

/// Says what went wrong with a run, on stderr.
fn complain(path: &Path, report: &RunReport) -> Exit {
    let name = path.display();
    match (&report.outcome, &report.verdict) {
        (Outcome::NoProgress(waiting), _) => {
            output::complain(&format!("{name}: no progress: nothing can move any more\n{waiting}"));
            Exit::NoProgress
        }
        (_, Verdict::Failed(checks)) => {
            output::complain(&format!("{name}: check failed:\n{}", checks.join("\n")));
            Exit::CheckFailed
        }
        _ => Exit::Done,
    }
}

impl Clocked {
    fn new(report: &RunReport) -> Self {
        let counters = &report.counters;
        let l1 = |count: fn(&rtl::l1::stats::L1Stats) -> u64| counters.l1.iter().map(count).sum::<u64>();
        let l2 = |count: fn(&rtl::l2::L2Stats) -> u64| counters.l2.iter().map(count).sum::<u64>();
        let l2_hits = l2(|unit| unit.hits + unit.hit_pending + unit.write_hits + unit.write_pending)
            + l2(|unit| unit.atomic_hits + unit.atomic_pending);
        let l2_misses = l2(|unit| unit.misses + unit.write_misses + unit.atomic_misses);
        let part = |part, whole| (whole > 0).then(|| ratio(part, whole));
        Self {
            cycles: counters.cycles,
            ipc: counters.ipc(),
            warp_instructions: counters.warp_instructions(),
            l1: part(l1(|unit| unit.hits + unit.hit_pending), l1(|unit| unit.accesses)),
            l2: part(l2_hits, l2_hits + l2_misses),
            shares: counters.scheduler_shares(),
            check: match (&report.outcome, &report.verdict) {
                (Outcome::Finished, Verdict::Passed) => "passed",
                (Outcome::Finished, Verdict::Off) => "off",
                (Outcome::Finished, Verdict::Failed(_)) => "FAILED",
                _ => "no progress",
            },
        }
    }
}
