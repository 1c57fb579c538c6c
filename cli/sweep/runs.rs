//! Performs the runs of a plan, except those whose results are in the cache.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use miette::{Report, miette};
use papers::measured::RunMeasurement;
use papers::progress::progress_bar;
use papers::runs::{Job, RunFailure, Runner};
use papers::store::Store;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rtl::kernel::Mode;
use serde_json::Value;

use super::super::args::Shard;
use super::super::output::{format_count, noun};
use super::super::progress::Heartbeat;
use super::super::{Exit, interrupt, output};
use super::plan::{Id, Run, why};
use super::table::Row;
use super::tidy;
use warpsieve::config::ResolvedMachine;
use warpsieve::crash;
use warpsieve::limit;
use warpsieve::run::{Outcome, RunError, RunOptions, Verdict};

/// Results of the completed runs of a plan.
pub type Results = BTreeMap<Id, Arc<Record>>;

/// Minimum interval between two updates of the output files and tables.
const SHOW_EVERY: Duration = Duration::from_secs(2);

/// Result of a run of a sweep.
pub struct Record {
    /// Row of the run in the printed table.
    pub row: Row,
    /// Values of the run for the CSV file, each with the name of its column, in column order.
    pub cells: Vec<(String, Value)>,
    /// Messages to the user about the run.
    pub notes: Vec<String>,
    exit: Exit,
}

/// Options that apply to all runs of a plan.
pub struct SweepOptions {
    pub check: bool,
    pub max_cycles: Option<u64>,
    pub is_quiet: bool,
}

/// Outcome of all runs of a plan.
#[derive(Default)]
pub struct SweepOutcome {
    pub results: Results,
    /// Reason for each run that could not start or complete, by the index of its job.
    failed: BTreeMap<usize, RunFailure>,
}

/// Returns the jobs of a shard, which is one of several equal shares; without a shard, returns all jobs.
pub fn share<'a>(jobs: Vec<Job<Run<'a>>>, shard: Option<Shard>) -> Vec<Job<Run<'a>>> {
    let is_ours = |number: usize| shard.is_none_or(|shard| number % shard.of == shard.number - 1);
    jobs.into_iter().enumerate().filter(|(number, _)| is_ours(*number)).map(|(_, job)| job).collect()
}

/// Jobs of a plan, after the cache has been searched and before the first run.
pub struct PreparedJobs<'a> {
    /// Jobs that have a cached result or can run.
    pub jobs: Vec<Job<Run<'a>>>,
    /// Results that were found in the cache.
    pub done: SweepOutcome,
    /// Reasons why jobs cannot run, one for each job that its machine rejects.
    pub refused: Vec<String>,
}

/// Finds the jobs with cached results. Among the other jobs, finds those that cannot run because their
/// machine rejects them.
pub fn prepare<'a>(runners: &[Runner], jobs: Vec<Job<Run<'a>>>) -> PreparedJobs<'a> {
    let kept = |job: &Job<Run<'_>>| runners.iter().find_map(|runner| runner.read_stored(&job.key));
    let fits = |run: &Run<'_>| match crash::catch_panic(|| run.workload.subject.fits(&run.resolved.config)) {
        Ok(fits) => fits.map_err(|error| why(&error)),
        Err(internal) => Err(internal),
    };
    let record = |job: &Job<Run<'_>>| match kept(job) {
        Some(measured) => Ok(Some(Arc::new(Record::of(&job.what.resolved, &measured)))),
        None => fits(&job.what).map(|()| None),
    };
    let found: Vec<_> = runners[0].pool().install(|| jobs.par_iter().map(record).collect());
    let mut looked = PreparedJobs { jobs: Vec::new(), done: SweepOutcome::default(), refused: Vec::new() };
    for (job, found) in jobs.into_iter().zip(found) {
        match found {
            Ok(record) => {
                record.into_iter().for_each(|record| looked.done.take(&job.what, &record));
                looked.jobs.push(job);
            }
            Err(why) => looked.refused.push(format!("{}: {why}", job.name)),
        }
    }
    looked
}

/// Prints the runs or machines that are skipped because they were rejected.
///
/// # Errors
/// Returns an error if any were rejected, unless `leaves_out` allows skipping them.
pub fn report_skipped(refused: &[String], leaves_out: bool) -> Result<(), Report> {
    if leaves_out {
        limit::lines(refused, "refusal").iter().for_each(|line| output::print_error(&format!("left out: {line}")));
    } else if !refused.is_empty() {
        let lines = limit::lines(refused, "refusal").join("\n");
        return Err(miette!("nothing was run, because some runs were rejected:\n{lines}"));
    }
    Ok(())
}

/// Performs the runs that have no cached result, several of them in parallel. At intervals, calls `show`,
/// which outputs the results that are complete. Also calls it once if the process is interrupted.
///
/// # Errors
/// Returns an error if a result cannot be written to the cache.
pub fn run(
    runner: &Runner,
    jobs: &[Job<Run<'_>>],
    done: SweepOutcome,
    how: &SweepOptions,
    show: &(dyn Fn(&Results, bool) -> Result<(), Report> + Sync),
) -> Result<SweepOutcome, Report> {
    let (check, max_cycles) = (how.check, how.max_cycles);
    let options = RunOptions { check, max_cycles, mode: Mode::FAST, ..RunOptions::default() };
    let work = |run: &Run<'_>| RunMeasurement::of(&run.workload.subject, &run.resolved.config, &options);
    let done = Mutex::new(done);
    let lock = || done.lock().unwrap_or_else(PoisonError::into_inner);
    let shown = Mutex::new(Instant::now());
    let show = |is_last| {
        let complete = lock().results.clone();
        if let Err(report) = show(&complete, is_last) {
            output::print_report(&report);
        }
        complete
    };
    let ended = |number: usize, result: Result<RunMeasurement, RunFailure>| {
        match result {
            Ok(measured) => {
                let Job { what, .. } = &jobs[number];
                let record = Arc::new(Record::of(&what.resolved, &measured));
                lock().take(what, &record);
            }
            Err(trouble) => drop(lock().failed.insert(number, trouble)),
        }
        // Another thread may be executing `show` and miss this result. The next call of `show` then outputs
        // it.
        if let Ok(mut last) = shown.try_lock()
            && last.elapsed() >= SHOW_EVERY
        {
            show(false);
            *last = Instant::now();
        }
    };
    let bar = progress_bar(how.is_quiet, jobs.len());
    let (progress, started) = (bar.clone(), Instant::now());
    let _heartbeat = Heartbeat::off_terminal(how.is_quiet, move || {
        let (ended, all) = (progress.position(), progress.length().unwrap_or(0));
        format!("{ended} of {} after {} s", format_count(all, "run", "runs"), started.elapsed().as_secs())
    });
    interrupt::run_interruptible(
        || runner.each(jobs, &bar, &work, &ended),
        || {
            bar.finish_and_clear();
            let complete = show(true);
            let runs = jobs.iter().filter(|job| complete.contains_key(&job.what.ids[0])).count();
            let (all, are) = (format_count(jobs.len() as u64, "run", "runs"), noun(runs, "is", "are"));
            output::print_error(&format!("interrupted: {runs} of {all} {are} complete, the others are missing"));
        },
    )??;
    bar.finish_and_clear();
    Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Checks that the caches contain a result for every job, and that all caches agree on it.
///
/// # Errors
/// Returns an error if a result is missing, or if two caches have different results for a job.
pub fn check_complete(runners: &[Runner], jobs: &[Job<Run<'_>>]) -> Result<(), Report> {
    let (mut missing, mut contradictory) = (Vec::new(), Vec::new());
    for job in jobs {
        let kept: Vec<Value> = runners.iter().filter_map(|runner| runner.read_stored(&job.key)).collect();
        if kept.is_empty() {
            missing.push(job.name.clone());
        } else if kept.windows(2).any(|two| two[0] != two[1]) {
            contradictory.push(job.name.clone());
        }
    }
    let problem_of = |one: &str, several: &str, names: &[String]| {
        let lines = limit::lines(names, "run").join("\n");
        let (all, what) = (format_count(jobs.len() as u64, "run", "runs"), noun(names.len(), one, several));
        (!names.is_empty()).then(|| format!("{} of {all} {what}:\n{lines}", names.len()))
    };
    let problems = [
        problem_of("is missing", "are missing", &missing),
        problem_of("has more than one result", "have more than one result", &contradictory),
    ];
    let problems: Vec<_> = problems.into_iter().flatten().collect();
    if problems.is_empty() { Ok(()) } else { Err(miette!("{}", problems.join("\n"))) }
}

impl SweepOutcome {
    fn take(&mut self, run: &Run<'_>, record: &Arc<Record>) {
        self.results.extend(run.ids.iter().map(|id| (*id, Arc::clone(record))));
    }

    /// Prints the notes and failures of the runs on stderr, and returns the exit status of the sweep.
    pub fn judge(self, jobs: &[Job<Run<'_>>]) -> Exit {
        let mut exit = print_notes(&self.results, jobs);
        for (number, trouble) in self.failed {
            let (ended, why) = match trouble {
                RunFailure::Input(error @ RunError::NoProgress(_)) => (Exit::NoProgress, why(&error)),
                RunFailure::Input(error) => (Exit::BadInput, why(&error)),
                RunFailure::Failed(why) => (Exit::CheckFailed, why),
                RunFailure::Interrupted => continue,
            };
            output::print_error(&format!("{}: {why}", jobs[number].name));
            exit = worst_exit(exit, ended);
        }
        exit
    }
}

/// Prints the notes of the complete runs on stderr. Returns the worst exit status among these runs.
pub fn print_notes(results: &Results, jobs: &[Job<Run<'_>>]) -> Exit {
    let mut exit = Exit::Done;
    for job in jobs {
        let Some(record) = results.get(&job.what.ids[0]) else { continue };
        record.notes.iter().for_each(|note| output::print_error(&format!("{}: {note}", job.name)));
        exit = worst_exit(exit, record.exit);
    }
    exit
}

impl Record {
    /// Builds the record of a run that completed, made no more progress, or reached its cycle limit.
    pub fn of(resolved: &ResolvedMachine, measured: &RunMeasurement) -> Self {
        let report = &measured.report;
        let mut notes = report.notes.clone();
        let exit = match (&report.outcome, &report.verdict) {
            (Outcome::NoProgress(waiting), _) => {
                notes.push(format!("no progress: deadlock or livelock\n{waiting}"));
                Exit::NoProgress
            }
            (Outcome::CycleLimit(limit), _) => {
                let cycles = format_count(*limit, "cycle", "cycles");
                notes.push(format!("stopped after {cycles}, before the kernels were done"));
                Exit::NoProgress
            }
            (Outcome::Finished, Verdict::Failed(checks)) => {
                notes.push(format!("check failed:\n{}", checks.join("\n")));
                Exit::CheckFailed
            }
            (Outcome::Interrupted(signal), _) => Exit::Interrupted(*signal as u8),
            (Outcome::Finished, Verdict::Off | Verdict::Passed | Verdict::OrderDependent | Verdict::Undefined) => {
                Exit::Done
            }
        };
        Self { row: Row::new(report), cells: tidy::cells(resolved, measured), notes, exit }
    }
}

/// Returns the worse of two exit statuses. The order from worst to best is: interrupted, bad input, failed
/// check, no progress, done.
pub fn worst_exit(one: Exit, other: Exit) -> Exit {
    let weight = |exit| match exit {
        Exit::Done | Exit::Program(_) => 0,
        Exit::NoProgress => 1,
        Exit::CheckFailed => 2,
        Exit::BadInput => 3,
        Exit::Interrupted(_) => 4,
    };
    if weight(other) > weight(one) { other } else { one }
}

/// Returns a runner that performs jobs and uses the given cache folder.
pub fn runner(cache: Option<&Path>, jobs: Option<u16>, is_quiet: bool) -> Result<Runner, Report> {
    Runner::new(Store::new(cache)?, jobs.unwrap_or(0), is_quiet, Arc::default())
}
