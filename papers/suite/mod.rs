//! Results of all kernels of the suite on the clocked machine and on models of the caches without timing. The
//! results without timing are shown next to reference results.

mod page;
mod reference;

use std::path::{Path, PathBuf};

use golden::untimed::{Load, Profile};
use miette::Report;
use rtl::sm::StallReason;
use serde::{Deserialize, Serialize};

use crate::Session;
use crate::page::Page;
use crate::runs::{Point, RunFailure, RunResult};
use crate::{Figure, FigureError};
use reference::{Reference, references};
use warpsieve::config::ResolvedMachine;
use warpsieve::kernels::name_of;
use warpsieve::run::l2;
use warpsieve::run::{profile, ratio};

/// List of the figures about the suite of kernels; there is only one.
pub(super) const FIGURES: &[Figure] = &[Figure {
    name: "suite",
    description: "All kernels: statistics of the machine, and caches without timing compared with reference figures",
    draw: suite,
}];

/// Launch file to measure, with the models that run it.
struct Job<'a> {
    kernel: String,
    path: PathBuf,
    /// True if the launch file runs not only on the model of the caches without timing, but also on the
    /// clocked machine.
    is_clocked: bool,
    reference: Option<&'a Reference>,
}

/// Results of one launch file.
struct Row<'a> {
    kernel: String,
    size: String,
    untimed: UntimedResults,
    clocked: Option<ClockedResults>,
    reference: Option<&'a Reference>,
}

/// Numbers of loads and cache accesses of one launch file, on caches without timing.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct UntimedResults {
    warp_instructions: u64,
    /// Number of load instructions that warps executed.
    loads: u64,
    /// Number of lines that all loads requested.
    lines: u64,
    /// Maximum number of lines that one load of a warp requested.
    most: u64,
    l1_hits: u64,
    l2_accesses: u64,
    l2_hits: u64,
}

/// Results of a launch file on the clocked machine. Rates are fractions from 0 to 1; a rate is `None` if
/// there are no accesses.
struct ClockedResults {
    cycles: u64,
    ipc: f64,
    warp_instructions: u64,
    /// Hit rate of loads in the L1. Includes hits on lines in flight.
    l1: Option<f64>,
    /// Hit rate of loads, stores and atomic operations in the L2. Includes hits on lines in flight.
    l2: Option<f64>,
    shares: Vec<(StallReason, f64)>,
    check: &'static str,
}

pub(super) fn suite(session: &Session) -> Result<Page, FigureError> {
    let references = references(&session.kernels.join("suite.csv"))?;
    let jobs = jobs(session, &references)?;
    let point = |job: &Job<'_>| Point::new(&job.path, "fermi", &[], &[]);
    let points: Vec<_> = jobs.iter().map(point).collect();
    let untimed = session.runner.measure("untimed", &points, &run_untimed)?;
    let points: Vec<_> = jobs.iter().filter(|job| job.is_clocked).map(point).collect();
    let mut clocked = session.runner.run_clocked(&points)?.into_iter();
    let mut rows = Vec::new();
    for (job, untimed) in jobs.into_iter().zip(untimed) {
        let Job { kernel, path, is_clocked, reference } = job;
        let clocked = if is_clocked { clocked.next() } else { None };
        rows.push(Row {
            kernel,
            size: name_of(&path),
            untimed,
            clocked: clocked.as_ref().map(ClockedResults::new),
            reference,
        });
    }
    let markdown = page::markdown(&rows, session.is_quick);
    Ok(Page { name: Page::name("suite", session.is_quick), markdown, csv: page::csv(&rows)?, ..Page::default() })
}

/// Returns the launch files to measure. The main problem size of each kernel runs on both models. Other sizes
/// run only on the caches without timing, and only if there is a reference result for them. In quick mode,
/// there are no reference results.
fn jobs<'a>(session: &Session, references: &'a [Reference]) -> Result<Vec<Job<'a>>, Report> {
    let mut jobs = Vec::new();
    for (kernel, path) in session.suite()? {
        let main = name_of(&path);
        let of_kernel = || references.iter().filter(|reference| reference.kernel == kernel);
        let reference = of_kernel().find(|reference| reference.launch == main);
        jobs.push(Job { kernel: kernel.clone(), path, is_clocked: true, reference });
        for other in of_kernel().filter(|other| other.launch != main && !session.is_quick) {
            let path = session.kernels.join(&kernel).join(&other.launch);
            jobs.push(Job { kernel: kernel.clone(), path, is_clocked: false, reference: Some(other) });
        }
    }
    Ok(jobs)
}

fn run_untimed(launch: &Path, resolved: &ResolvedMachine) -> Result<UntimedResults, RunFailure> {
    let mut all = Profile::default();
    let mut loads = Load::default();
    for kernel in profile(launch, None, &resolved.config)? {
        let kernel = kernel.all();
        loads.add(&kernel.all_loads());
        all.add(&kernel);
    }
    let l2 = l2(&all);
    Ok(UntimedResults {
        warp_instructions: all.warp_instructions,
        loads: loads.warps,
        lines: loads.transactions,
        most: loads.most,
        l1_hits: loads.l1_hits,
        l2_accesses: l2.accesses,
        l2_hits: l2.hits,
    })
}

impl ClockedResults {
    fn new(clocked: &RunResult) -> Self {
        let counters = &clocked.counters;
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
            check: if clocked.is_checked { "passed" } else { "off" },
        }
    }
}
