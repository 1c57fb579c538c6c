//! `warpsieve sweep`: runs all combinations that a sweep file lists. It caches each result, and writes tables
//! and pictures.

pub(super) mod file;
pub(super) mod plan;
pub(super) mod plot;
pub(super) mod runs;
mod slurm;
pub(super) mod table;
pub(super) mod tidy;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use miette::{IntoDiagnostic, Report, WrapErr, miette};
use papers::picture::Width;
use papers::runs::{Job, Runner};
use waves::atomic_file::AtomicFile;

use super::args::{GatherArguments, SweepArguments, SweepCommand, SweepHereArguments, SweepOutput, TableFormat};
use super::files::Files;
use super::output::{format_count, noun};
use super::progress::Heartbeat;
use super::report::sweep as report;
use super::{Exit, output};
use file::SweepFile;
use plan::{Id, Plan, Run};
use plot::Plot;
use runs::{PreparedJobs, Record, Results, SweepOptions, SweepOutcome};
use table::ColumnSelection;
use tidy::ResultTable;

pub(super) fn sweep(arguments: &SweepArguments) -> Result<Exit, Report> {
    match &arguments.command {
        None => here(&arguments.here),
        Some(SweepCommand::Gather(arguments)) => gather(arguments),
        Some(SweepCommand::Slurm(arguments)) => {
            let mut files = Files::default();
            let (_, plan) = read(&arguments.file, arguments.leave_out_refused, &mut files)?;
            files.writes("the script", Some(&slurm::script_of(arguments)));
            files.check()?;
            let runners = [runs::runner(Some(&arguments.cache), None, true)?];
            let looked = look_up(&runners, plan.jobs()?, arguments.leave_out_refused)?;
            slurm::submit(arguments, looked.jobs.len())
        }
    }
}

/// Performs the runs of a sweep in this process, or only those of one shard.
fn here(arguments: &SweepHereArguments) -> Result<Exit, Report> {
    let SweepHereArguments { leave_out_refused, shard, jobs, cache, output, quiet, .. } = arguments;
    let mut files = Files::default();
    // The argument parser lets the sweep file be missing only before a subcommand such as `slurm`. There is
    // no subcommand here, so the file is given.
    let path = arguments.file.as_deref().unwrap_or(Path::new(""));
    let (file, plan) = read(path, *leave_out_refused, &mut files)?;
    let outputs = Outputs::new(path, output, *quiet, &plan, files)?;
    let runners = [runs::runner(cache.as_deref(), *jobs, *quiet)?];
    let PreparedJobs { jobs, done, .. } = look_up(&runners, runs::share(plan.jobs()?, *shard), *leave_out_refused)?;
    let how = SweepOptions { check: file.check, max_cycles: file.max_cycles, is_quiet: *quiet };
    let show = |results: &Results, is_last: bool| {
        if is_last {
            runs::print_notes(results, &jobs);
            return outputs.write(&plan, results);
        }
        outputs.write_csv(&ResultTable::new(&plan, results)).map(drop)
    };
    // Results that are already in the cache are output before the first run starts.
    show(&done.results, false)?;
    let kept = done.results.len();
    if kept > 0 && !quiet {
        let (all, were) = (format_count(jobs.len() as u64, "run", "runs"), noun(kept, "was", "were"));
        output::print_error(&format!("{kept} of {all} {were} cached"));
    }
    let done = runs::run(&runners[0], &jobs, done, &how, &show)?;
    finish(&outputs, &plan, &jobs, done)
}

/// Combines the cached results that all shards of a sweep have written.
fn gather(arguments: &GatherArguments) -> Result<Exit, Report> {
    let GatherArguments { cache, leave_out_refused, output, .. } = arguments;
    let mut files = Files::default();
    let (_, plan) = read(&arguments.file, *leave_out_refused, &mut files)?;
    let outputs = Outputs::new(&arguments.file, output, false, &plan, files)?;
    let folders =
        if cache.is_empty() { vec![None] } else { cache.iter().map(|folder| Some(folder.as_path())).collect() };
    let mut runners = Vec::new();
    for folder in folders {
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return Err(miette!("`--cache` is {}, expected a folder", folder.display()));
        }
        runners.push(runs::runner(folder, None, true)?);
    }
    let PreparedJobs { jobs, done, .. } = look_up(&runners, plan.jobs()?, *leave_out_refused)?;
    runs::check_complete(&runners, &jobs)?;
    finish(&outputs, &plan, &jobs, done)
}

fn finish(outputs: &Outputs<'_>, plan: &Plan, jobs: &[Job<Run<'_>>], done: SweepOutcome) -> Result<Exit, Report> {
    outputs.write(plan, &done.results)?;
    Ok(done.judge(jobs))
}

/// Reads a sweep file, and checks that its machines violate no configuration rule.
fn read(path: &Path, leaves_out: bool, files: &mut Files) -> Result<(SweepFile, Plan), Report> {
    files.reads("the sweep file", path);
    let file = SweepFile::read(path)?;
    let (plan, refused) = Plan::of(&file, files)?;
    if !refused.is_empty() {
        let refusal = file.refusal(&refused);
        if !leaves_out {
            return Err(refusal.into());
        }
        runs::report_skipped(&refusal.lines(), leaves_out)?;
    }
    Ok((file, plan))
}

/// Returns the jobs that have a cached result, and those that can run on their machine.
///
/// # Errors
/// Returns an error if a machine rejects some jobs, unless rejected jobs may be skipped.
fn look_up<'a>(runners: &[Runner], jobs: Vec<Job<Run<'a>>>, leaves_out: bool) -> Result<PreparedJobs<'a>, Report> {
    let all = jobs.len();
    let all = format_count(all as u64, "run", "runs");
    let heartbeat =
        Heartbeat::off_terminal(false, move || format!("checking which of {all} are cached or can be made"));
    let looked = runs::prepare(runners, jobs);
    drop(heartbeat);
    runs::report_skipped(&looked.refused, leaves_out)?;
    Ok(looked)
}

/// Outputs of a sweep: the options that select them, and the opened files.
struct Outputs<'a> {
    /// Path of the sweep file.
    file: &'a Path,
    options: &'a SweepOutput,
    is_quiet: bool,
    /// Picture of the results to draw; `None` if no output contains one.
    plot: Option<Plot>,
    /// Columns of the printed table.
    shown: ColumnSelection,
}

impl<'a> Outputs<'a> {
    /// Creates the outputs. Fails if one of them would overwrite an input file or another output.
    fn new(
        file: &'a Path,
        options: &'a SweepOutput,
        is_quiet: bool,
        plan: &Plan,
        mut files: Files,
    ) -> Result<Self, Report> {
        let SweepOutput { csv, json, plot, report, plot_over, columns } = options;
        let shown = ColumnSelection::of(columns)?;
        for (option, path) in [("`--csv`", csv), ("`--json`", json), ("`--plot`", &plot.plot), ("`--report`", report)] {
            files.writes(option, path.as_deref());
        }
        files.check()?;
        // The outputs are opened before the runs, so that a name that cannot be written is reported at once
        // and not hours later.
        [csv, json, &plot.plot, report].into_iter().flatten().try_for_each(|path| begin(path).map(drop))?;
        let is_drawn = plot.plot.is_some() || report.is_some();
        let plot = is_drawn.then(|| Plot::new(plot, plot_over, plan)).transpose()?;
        Ok(Self { file, options, is_quiet, plot, shown })
    }

    /// Writes all output files, and prints the table.
    fn write(&self, plan: &Plan, results: &Results) -> Result<(), Report> {
        let tidy = ResultTable::new(plan, results);
        let mut written: Vec<PathBuf> = self.write_csv(&tidy)?.into_iter().collect();
        if let Some(path) = &self.options.json {
            written.push(keep(path, &tidy.json_lines()?)?);
        }
        if let Some(plot) = &self.plot {
            if let Some(path) = &self.options.plot.plot {
                written.push(keep(path, plot.file(path, plan, &tidy))?);
            }
            if let Some(path) = &self.options.report {
                let name = self.file.display().to_string();
                let picture = plot.picture(plan, &tidy, Width::Free).svg();
                written.push(keep(path, report::page(&name, plan, results, &tidy, &picture))?);
            }
        }
        output::print(&table::render(&rows(plan, results), TableFormat::Table, &self.shown)?)?;
        output::print_written(self.is_quiet, written)
    }

    /// Rewrites the CSV file with one row for each run that is complete so far, in the order of the plan.
    fn write_csv(&self, tidy: &ResultTable) -> Result<Option<PathBuf>, Report> {
        self.options.csv.as_ref().map(|path| keep(path, &tidy.csv()?)).transpose()
    }
}

/// Returns the rows for the printed table.
pub(super) fn rows(plan: &Plan, results: &Results) -> Vec<table::Row> {
    let row = |(id, record): (&Id, &Arc<Record>)| {
        let (workload, variant) = (&plan.workloads[id.0], &plan.variants[id.1]);
        record.row.add_names(&workload.name, &variant.label, tidy::speedup(plan, results, *id))
    };
    results.iter().map(row).collect()
}

fn begin(path: &Path) -> Result<AtomicFile, Report> {
    AtomicFile::create(path).into_diagnostic().wrap_err("the results cannot be written")
}

fn keep(path: &Path, content: impl AsRef<[u8]>) -> Result<PathBuf, Report> {
    output::keep(begin(path)?, content).wrap_err("the results cannot be written")
}
