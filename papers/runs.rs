//! # Running simulations for figures
//! A simulation point is a launch file together with a machine, designs and settings. Points are simulated on
//! several threads; a point with a stored result is not simulated again. Results are returned in the order of
//! the points and do not depend on the number of threads.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::ProgressBar;
use miette::{Context, IntoDiagnostic, Report};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use rtl::kernel::Mode;
use rustc_hash::FxHashMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::FigureError;
use super::store::{Input, Key, Store};
use crate::progress::progress_bar;
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::crash;
use warpsieve::run::{Counters, Outcome, RunError, RunOptions, RunReport, Verdict, run};

/// Simulation point: a launch file and the machine that runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Path of the launch file to run.
    pub launch: PathBuf,
    /// Machine with its designs and settings.
    pub request: Request,
}

/// Results of a finished run on the clocked machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResult {
    /// All counters of the run's statistics.
    pub counters: Counters,
    /// True if the run finished and its results were checked and found correct.
    pub is_checked: bool,
    /// Kernels for which a throttling scheme chose a warp limit: name of each kernel, and its limit in warps
    /// per scheduler.
    pub warp_limits: Vec<(String, u8)>,
}

/// Reason why a simulation point has no result.
#[derive(Debug)]
pub enum RunFailure {
    /// The launch file, machine or another input is invalid.
    Input(RunError),
    /// The run failed, for the given reason.
    Failed(String),
    /// A signal interrupted the run.
    Interrupted,
}

impl From<RunError> for RunFailure {
    fn from(error: RunError) -> Self {
        Self::Input(error)
    }
}

/// Simulation or other work whose result can be stored and reused.
#[derive(Debug)]
pub struct Job<W> {
    /// Name of the job, for messages to the user.
    pub name: String,
    /// Key under which the result is stored.
    pub key: Key,
    /// Input of the job, such as a launch file and a machine.
    pub what: W,
}

/// Runner that simulates points in parallel and stores their results.
#[derive(Debug)]
pub struct Runner {
    store: Store,
    pool: rayon::ThreadPool,
    is_quiet: bool,
    interrupt: Arc<AtomicUsize>,
}

/// Creates a machine request from a machine name, designs and settings.
fn request(machine: &str, designs: &[&str], sets: &[&str]) -> Request {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Request { machine: machine.to_owned(), designs: owned(designs), sets: owned(sets) }
}

/// Returns the configuration of a machine after its designs and settings have been applied.
///
/// # Errors
/// Returns an error if a name is unknown or a setting violates a rule.
pub fn resolve_config(machine: &str, designs: &[&str], sets: &[&str]) -> Result<ResolvedMachine, Report> {
    Ok(ResolvedMachine::new(&request(machine, designs, sets))?)
}

impl Point {
    /// Creates a simulation point from a launch file and a machine with its designs and settings.
    #[must_use]
    pub fn new(launch: &Path, machine: &str, designs: &[&str], sets: &[&str]) -> Self {
        Self { launch: launch.to_owned(), request: request(machine, designs, sets) }
    }

    fn name(&self) -> String {
        let Request { machine, designs, sets } = &self.request;
        let on: Vec<_> = [machine].into_iter().chain(designs).chain(sets).map(String::as_str).collect();
        format!("{} on {}", self.launch.display(), on.join(" "))
    }
}

impl Runner {
    /// Creates a runner with `jobs` threads, or with one thread per processor if `jobs` is 0. The runner
    /// stops once `interrupt` contains a signal number.
    ///
    /// # Errors
    /// Returns an error if the threads cannot be started.
    pub fn new(store: Store, jobs: u16, is_quiet: bool, interrupt: Arc<AtomicUsize>) -> Result<Self, Report> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.into()).build().into_diagnostic()?;
        Ok(Self { store, pool, is_quiet, interrupt })
    }

    /// Returns the runner's thread pool, for work other than simulations.
    #[must_use]
    pub fn pool(&self) -> &rayon::ThreadPool {
        &self.pool
    }

    /// Runs simulation points on the clocked machine, and returns their results.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::measure`]. A run that does not finish or computes wrong results is
    /// a failure.
    pub fn run_clocked(&self, points: &[Point]) -> Result<Vec<RunResult>, FigureError> {
        self.run_clocked_until(points, None)
    }

    /// Runs simulation points on the clocked machine up to core cycle `last`. For a run that has not finished
    /// by then, returns the counters up to that cycle, and does not check its results.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::run_clocked`].
    pub fn run_clocked_until(&self, points: &[Point], last: Option<u64>) -> Result<Vec<RunResult>, FigureError> {
        let options = RunOptions { max_cycles: last, ..RunOptions::default() };
        let kind = last.map_or_else(|| "clocked".to_owned(), |last| format!("clocked-until-{last}"));
        self.run_reports(&kind, points, &options, &|report| {
            let is_checked = report.outcome == Outcome::Finished && report.verdict == Verdict::Passed;
            Ok(RunResult { counters: report.counters, is_checked, warp_limits: report.warp_limits })
        })
    }

    /// Runs simulation points on the clocked machine. `of` extracts a result from the report of each run, and
    /// this result is stored. `kind` distinguishes the result from other stored results of the same point.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::run_clocked`]. A run that stops at the cycle limit given in the
    /// options is not an error: its counters up to the limit are used.
    pub fn run_reports<T: Clone + Send + Serialize + DeserializeOwned>(
        &self,
        kind: &str,
        points: &[Point],
        options: &RunOptions,
        of: &(dyn Fn(RunReport) -> Result<T, RunFailure> + Sync),
    ) -> Result<Vec<T>, FigureError> {
        let options = RunOptions { interrupt: Arc::clone(&self.interrupt), mode: Mode::FAST, ..options.clone() };
        self.measure(kind, points, &|launch, resolved| {
            let report = run(launch, &resolved.config, &options, &mut |_| {})?;
            match (&report.outcome, &report.verdict) {
                (Outcome::Finished, Verdict::Failed(checks)) => {
                    Err(RunFailure::Failed(format!("check failed:\n{}", checks.join("\n"))))
                }
                (Outcome::NoProgress(waiting), _) => {
                    Err(RunFailure::Failed(format!("no progress: deadlock or livelock\n{waiting}")))
                }
                (Outcome::Interrupted(_), _) => Err(RunFailure::Interrupted),
                (Outcome::Finished | Outcome::CycleLimit(_), _) => of(report),
            }
        })
    }

    /// Runs one simulation point for each combination of an element of `rows` and an element of `columns`.
    /// Returns the results row by row.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::run_clocked`].
    pub fn table<R, C>(
        &self,
        rows: &[R],
        columns: &[C],
        point: impl Fn(&R, &C) -> Point,
    ) -> Result<Vec<Vec<RunResult>>, FigureError> {
        let points: Vec<_> = rows.iter().flat_map(|row| columns.iter().map(|column| point(row, column))).collect();
        Ok(self.run_clocked(&points)?.chunks(columns.len()).map(<[RunResult]>::to_vec).collect())
    }

    /// Applies `work` to each simulation point that has no stored result. `kind` distinguishes these results
    /// from stored results of other kinds of work.
    ///
    /// # Errors
    /// Fails if the input is invalid, a point fails, or the run is interrupted. An invalid configuration is
    /// reported before any point runs, and failed points after all other points are done.
    pub fn measure<T: Clone + Send + Serialize + DeserializeOwned>(
        &self,
        kind: &str,
        points: &[Point],
        work: &(dyn Fn(&Path, &ResolvedMachine) -> Result<T, RunFailure> + Sync),
    ) -> Result<Vec<T>, FigureError> {
        let mut jobs: Vec<Job<(&Path, ResolvedMachine)>> = Vec::new();
        let (mut numbers, mut inputs) = (FxHashMap::default(), FxHashMap::default());
        let mut wanted = Vec::new();
        for point in points {
            let resolved = ResolvedMachine::new(&point.request).map_err(Report::from)?;
            let input = match inputs.entry(&*point.launch) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(Input::launch(&point.launch)?),
            };
            let key = Key::new(kind, input, &resolved);
            wanted.push(*numbers.entry(key.clone()).or_insert_with(|| {
                jobs.push(Job { name: point.name(), key, what: (&point.launch, resolved) });
                jobs.len() - 1
            }));
        }
        let bar = progress_bar(self.is_quiet, jobs.len());
        let done = Mutex::new(BTreeMap::new());
        let ended = |number, result| {
            done.lock().unwrap_or_else(PoisonError::into_inner).insert(number, result);
        };
        let all = self.each(&jobs, &bar, &|(launch, resolved)| work(launch, resolved), &ended);
        bar.finish_and_clear();
        all?;
        if let signal @ 1.. = self.interrupt.load(Ordering::Relaxed) {
            return Err(FigureError::Interrupted(signal));
        }
        let (mut results, mut failed) = (Vec::new(), Vec::new());
        let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (done, job) in done.into_values().zip(&jobs) {
            match done {
                Ok(result) => results.push(result),
                Err(RunFailure::Input(error)) => return Err(FigureError::Input(error.into())),
                Err(RunFailure::Failed(why)) => failed.push(format!("{}: {why}", job.name)),
                Err(RunFailure::Interrupted) => failed.push(format!("{}: interrupted", job.name)),
            }
        }
        if !failed.is_empty() {
            return Err(FigureError::Failed(failed.join("\n")));
        }
        Ok(wanted.into_iter().map(|number| results[number].clone()).collect())
    }

    /// Runs all jobs in parallel, except those with a stored result. Calls `ended` with the result of each
    /// job and the index of the job.
    ///
    /// # Errors
    /// Returns an error if a result cannot be stored.
    pub fn each<W: Sync, T: Serialize + DeserializeOwned>(
        &self,
        jobs: &[Job<W>],
        bar: &ProgressBar,
        work: &(dyn Fn(&W) -> Result<T, RunFailure> + Sync),
        ended: &(dyn Fn(usize, Result<T, RunFailure>) + Sync),
    ) -> Result<(), Report> {
        let one = |(number, job): (usize, &Job<W>)| {
            ended(number, self.one(job, work)?);
            bar.set_message(input::escape_hidden(&job.name).into_owned());
            bar.inc(1);
            Ok(())
        };
        // Jobs are assigned to threads one at a time, because some jobs take a thousand times longer than
        // others.
        self.pool.install(|| jobs.par_iter().with_max_len(1).enumerate().map(one).collect())
    }

    /// Returns the stored result of a job; `None` if there is none.
    #[must_use]
    pub fn read_stored<T: DeserializeOwned>(&self, key: &Key) -> Option<T> {
        self.store.get(key)
    }

    /// Returns the stored result of a job. If there is no stored result, runs the job and stores its result.
    /// The outer `Result` is an error if the result could not be stored.
    fn one<W, T: Serialize + DeserializeOwned>(
        &self,
        job: &Job<W>,
        work: &(dyn Fn(&W) -> Result<T, RunFailure> + Sync),
    ) -> Result<Result<T, RunFailure>, Report> {
        if let Some(kept) = self.store.get(&job.key) {
            return Ok(Ok(kept));
        }
        if self.interrupt.load(Ordering::Relaxed) != 0 {
            return Ok(Err(RunFailure::Interrupted));
        }
        let done = crash::catch_panic(|| work(&job.what)).unwrap_or_else(|why| Err(RunFailure::Failed(why)));
        if let Ok(result) = &done {
            self.store.put(&job.key, result).into_diagnostic().wrap_err("a result cannot be kept")?;
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Creates a runner whose store is a new temporary folder, which also contains two launch files.
    fn runner(jobs: u16) -> (tempfile::TempDir, Runner, Vec<Point>) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(Some(folder.path())).unwrap();
        let runner = Runner::new(store, jobs, true, Arc::default()).unwrap();
        let points = ["a", "b", "a"].map(|name| {
            let launch = folder.path().join(format!("{name}.toml"));
            fs::write(&launch, format!("title = \"{name}\"\n")).unwrap();
            Point::new(&launch, "fermi", &[], &[])
        });
        (folder, runner, points.into())
    }

    fn name(launch: &Path) -> String {
        launch.file_stem().unwrap().to_string_lossy().into_owned()
    }

    #[test]
    fn a_point_is_measured_once_and_results_keep_the_order_of_the_points() {
        for jobs in [1, 4] {
            let (_folder, runner, points) = runner(jobs);
            let ran = AtomicUsize::new(0);
            let work = |launch: &Path, _: &ResolvedMachine| {
                ran.fetch_add(1, Ordering::Relaxed);
                Ok(name(launch))
            };
            for _ in 0..2 {
                assert_eq!(runner.measure("test", &points, &work).unwrap(), ["a", "b", "a"]);
            }
            assert_eq!(ran.load(Ordering::Relaxed), 2);
        }
    }

    #[test]
    fn what_was_done_before_a_failure_is_kept() {
        let (_folder, runner, points) = runner(1);
        let fails = |launch: &Path, _: &ResolvedMachine| match name(launch).as_str() {
            "a" => Err(RunFailure::Failed("broken".to_owned())),
            other => Ok(other.to_owned()),
        };
        let Err(FigureError::Failed(why)) = runner.measure("test", &points, &fails) else { panic!("a failed") };
        assert!(why.ends_with("a.toml on fermi: broken"), "{why}");
        let again = |launch: &Path, _: &ResolvedMachine| match name(launch).as_str() {
            "b" => panic!("measured twice"),
            other => Ok(other.to_owned()),
        };
        assert_eq!(runner.measure("test", &points, &again).unwrap(), ["a", "b", "a"]);
    }

    #[test]
    fn an_interrupted_runner_measures_nothing_more() {
        let (_folder, runner, points) = runner(1);
        let stops = |launch: &Path, _: &ResolvedMachine| {
            runner.interrupt.store(2, Ordering::Relaxed);
            Ok(name(launch))
        };
        assert!(matches!(runner.measure("test", &points, &stops), Err(FigureError::Interrupted(2))));
        runner.interrupt.store(0, Ordering::Relaxed);
        let only_b = |launch: &Path, _: &ResolvedMachine| {
            assert_eq!(name(launch), "b");
            Ok(name(launch))
        };
        assert_eq!(runner.measure("test", &points, &only_b).unwrap(), ["a", "b", "a"]);
    }
}
