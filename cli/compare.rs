//! `warpsieve compare`: the same launch files on several designs and configurations, side by side.

mod table;
mod variants;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use indicatif::ProgressBar;
use miette::{IntoDiagnostic, Report, WrapErr};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use rtl::kernel::Mode;
use waves::part_file::PartFile;

use super::args::CompareArguments;
use super::files::Files;
use super::{Exit, interrupt, output};
use papers::progress::progress_bar;
use table::Row;
use variants::{Variant, variants};
use warpsieve::config::Resolved;
use warpsieve::crash;
use warpsieve::run::{Outcome, RunError, RunOptions, RunReport, Verdict};

/// One run of the table.
struct Job<'a> {
    launch: &'a Path,
    variant: &'a Variant,
    resolved: &'a Resolved,
    /// Place of the first job of this launch file.
    first: usize,
}

pub(super) fn compare(arguments: &CompareArguments) -> Result<Exit, Report> {
    let variants = variants(arguments)?;
    let requests: Vec<_> = variants.iter().map(|variant| (variant.request.clone(), variant.design)).collect();
    let resolved = Resolved::compared(&requests, &arguments.design_set)?;
    let output = arguments.output.as_deref().filter(|path| !output::is_stdout(path));
    check(arguments, &resolved, output)?;
    let asked = interrupt::listen()?;
    // Opened ahead of the runs: a name that cannot be written is found out now, not hours later.
    let mut file = output.map(open).transpose()?;
    let configured: Vec<_> = variants.iter().zip(&resolved).collect();
    let jobs: Vec<_> = arguments
        .launches
        .iter()
        .enumerate()
        .flat_map(|(number, launch)| {
            let first = number * configured.len();
            configured.iter().map(move |&(variant, resolved)| Job { launch, variant, resolved, first })
        })
        .collect();
    let done = Mutex::default();
    let take = || std::mem::take(&mut *done.lock().unwrap_or_else(PoisonError::into_inner));
    let bar = progress_bar(arguments.quiet, jobs.len());
    interrupt::guarded(
        &asked,
        || run_all(arguments, &jobs, &bar, &done),
        || {
            bar.finish_and_clear();
            let done: Runs = take();
            let complete = done.len();
            if complete > 0
                && let Err(report) = tabulate(arguments, &jobs, done, file.take())
            {
                output::print_report(&report);
            }
            let all = jobs.len();
            output::complain(&format!("interrupted: {complete} of {all} runs are complete, the others are missing"));
        },
    )??;
    bar.finish_and_clear();
    tabulate(arguments, &jobs, take(), file)
}

/// Runs that are complete, by the place of their job.
type Runs = BTreeMap<usize, Result<Result<RunReport, RunError>, String>>;

/// Prints or writes the table of complete runs.
fn tabulate(
    arguments: &CompareArguments,
    jobs: &[Job<'_>],
    runs: Runs,
    file: Option<PartFile>,
) -> Result<Exit, Report> {
    let (mut rows, mut cycles) = (Vec::new(), BTreeMap::new());
    let mut exit = Exit::Done;
    for (idx, run) in runs {
        let job = &jobs[idx];
        let report = match run {
            Ok(report) => report?,
            Err(internal) => {
                output::complain(&format!("{}: {internal}", job.name()));
                return Ok(Exit::CheckFailed);
            }
        };
        exit = worse(exit, complain(job, &report));
        cycles.insert(idx, report.counters.cycles);
        rows.push(Row::new(job.launch, &job.variant.label, &report, cycles.get(&job.first).copied()));
    }
    let text = table::render(&rows, arguments.format)?;
    match file {
        Some(file) => {
            let path = output::keep(file, &text).wrap_err("the table cannot be written")?;
            output::wrote(arguments.quiet, [path])?;
        }
        None => output::print(&text)?,
    }
    Ok(exit)
}

/// Refuses a table that would take the place of what is read.
fn check(arguments: &CompareArguments, resolved: &[Resolved], output: Option<&Path>) -> Result<(), Report> {
    let mut files = Files::default();
    resolved.iter().for_each(|resolved| files.reads_machine(resolved));
    for launch in &arguments.launches {
        files.reads_launch(&warpsieve::run::open(launch, None)?);
    }
    files.writes("`--output`", output);
    files.check()
}

/// Runs all jobs, several at a time.
fn run_all(
    arguments: &CompareArguments,
    jobs: &[Job<'_>],
    bar: &ProgressBar,
    done: &Mutex<Runs>,
) -> Result<(), Report> {
    let options = RunOptions {
        check: arguments.check,
        max_cycles: arguments.max_cycles,
        mode: Mode::FAST,
        ..RunOptions::default()
    };
    let threads = usize::from(arguments.jobs.unwrap_or(0));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().into_diagnostic()?;
    let run = |(idx, job): (usize, &Job<'_>)| {
        let ran = crash::caught(|| warpsieve::run::run(job.launch, &job.resolved.config, &options, &mut |_| {}));
        bar.set_message(job.name());
        bar.inc(1);
        done.lock().unwrap_or_else(PoisonError::into_inner).insert(idx, ran);
    };
    pool.install(|| jobs.par_iter().enumerate().for_each(run));
    Ok(())
}

/// Says what went wrong with a run, on stderr.
fn complain(job: &Job<'_>, report: &RunReport) -> Exit {
    let name = job.name();
    report.notes.iter().for_each(|note| output::complain(&format!("{name}: {note}")));
    match (&report.outcome, &report.verdict) {
        (Outcome::NoProgress(waiting), _) => {
            output::complain(&format!("{name}: no progress: nothing can move any more\n{waiting}"));
            Exit::NoProgress
        }
        (Outcome::CycleLimit(limit), _) => {
            output::complain(&format!("{name}: stopped after {} cycles (`--max-cycles`)", output::grouped(*limit)));
            Exit::NoProgress
        }
        (Outcome::Finished, Verdict::Failed(checks)) => {
            output::complain(&format!("{name}: check failed:\n{}", checks.join("\n")));
            Exit::CheckFailed
        }
        (Outcome::Interrupted(signal), _) => Exit::Interrupted(*signal as u8),
        (Outcome::Finished, Verdict::Off | Verdict::Passed | Verdict::OrderDependent) => Exit::Done,
    }
}

/// A wrong result outweighs a run that did not end, and that one a run that did.
pub(super) fn worse(one: Exit, other: Exit) -> Exit {
    let weight = |exit| match exit {
        Exit::Done => 0,
        Exit::NoProgress => 1,
        Exit::CheckFailed => 2,
        Exit::Interrupted(_) => 3,
    };
    if weight(other) > weight(one) { other } else { one }
}

impl Job<'_> {
    fn name(&self) -> String {
        format!("{} on {}", self.launch.display(), self.variant.label)
    }
}

fn open(path: &Path) -> Result<PartFile, Report> {
    PartFile::create(path).into_diagnostic().wrap_err("the table cannot be written")
}
