//! `warpsieve compare`: runs launch files on several designs and settings of one machine. It is the short
//! form of `sweep`.

mod variants;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use miette::{IntoDiagnostic, Report, WrapErr};
use papers::measured::{RunMeasurement, WorkloadFile};
use papers::runs::{Job, Runner};
use waves::atomic_file::AtomicFile;

use super::args::CompareArguments;
use super::explain::sources::Sources;
use super::files::Files;
use super::report::{self, side};
use super::sweep::plan::{Column, Id, Plan, Run, Variant, Workload, kind};
use super::sweep::plot::Plot;
use super::sweep::runs::{self, PreparedJobs, Results, SweepOptions};
use super::sweep::table::ColumnSelection;
use super::sweep::tidy::ResultTable;
use super::sweep::{rows, table};
use super::{Exit, output};
use variants::variants;
use warpsieve::config::ResolvedMachine;

pub(super) fn compare(arguments: &CompareArguments) -> Result<Exit, Report> {
    let CompareArguments { launches, check, max_cycles, jobs, cache, quiet, .. } = arguments;
    let variants = variants(arguments)?;
    let requests: Vec<_> = variants.iter().map(|variant| (variant.request.clone(), variant.design)).collect();
    let resolved = ResolvedMachine::resolve_set(&requests, &arguments.design_set)?;
    let output = arguments.output.as_deref().filter(|path| !output::is_stdout(path));
    let mut files = Files::default();
    resolved.iter().for_each(|resolved| files.reads_machine(resolved));
    let mut workloads = Vec::new();
    for launch in launches {
        workloads.push(Workload::launch(&launch.display().to_string(), launch, &mut files)?);
    }
    files.writes("`--output`", output);
    files.writes("`--plot`", arguments.plot.plot.as_deref());
    files.writes("`--report`", arguments.report.as_deref());
    files.check()?;
    let variants = variants.into_iter().zip(resolved).map(|(variant, resolved)| Variant {
        label: variant.label,
        values: Vec::new(),
        baseline: 0,
        request: variant.request,
        resolved: Some(resolved.into()),
    });
    let columns = vec![Column { name: "launch".to_owned(), group: 0 }];
    let plan = Plan { columns, workloads, variants: variants.collect(), kind: kind(*check, *max_cycles) };
    let runners = [runs::runner(cache.as_deref(), *jobs, *quiet)?];
    let PreparedJobs { jobs, done, refused } = runs::prepare(&runners, plan.jobs()?);
    runs::report_skipped(&refused, false)?;
    // The output files are opened before the runs, so that a name that cannot be written is reported at once
    // and not hours later.
    let file = Mutex::new(output.map(open).transpose()?);
    let report = arguments.report.as_deref().map(report::open).transpose()?;
    let plot = match &arguments.plot.plot {
        Some(path) => {
            let plot = Plot::new(&arguments.plot, &[], &plan)?;
            let file = AtomicFile::create(path).into_diagnostic().wrap_err("the picture cannot be written")?;
            Some((path, file, plot))
        }
        None => None,
    };
    // A table that is written to a file has all columns, unless `--columns` selects some.
    let shown = match arguments.columns.is_empty() && output.is_some() {
        true => ColumnSelection::Fitting(usize::MAX),
        false => ColumnSelection::of(&arguments.columns)?,
    };
    let tabulate = |results: &Results| {
        let text = table::render(&rows(&plan, results), arguments.format, &shown)?;
        match file.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(file) => {
                let path = output::keep(file, &text).wrap_err("the table cannot be written")?;
                output::print_written(*quiet, [path])
            }
            None => output::print(&text),
        }
    };
    let show = |results: &Results, is_last: bool| {
        if !is_last || results.is_empty() {
            return Ok(());
        }
        runs::print_notes(results, &jobs);
        tabulate(results)
    };
    let how = SweepOptions { check: *check, max_cycles: *max_cycles, is_quiet: *quiet };
    let done = runs::run(&runners[0], &jobs, done, &how, &show)?;
    if !done.results.is_empty() {
        tabulate(&done.results)?;
        if let Some((path, file, plot)) = plot {
            let content = plot.file(path, &plan, &ResultTable::new(&plan, &done.results));
            let path = output::keep(file, content).wrap_err("the picture cannot be written")?;
            if !quiet {
                output::print_error(&format!("wrote {}", path.display()));
            }
        }
        if let Some(report) = report {
            let text = build_report(&plan, &runners[0], &jobs, &done.results)?;
            let path = report::keep(report, &text)?;
            // Stdout carries the table, so this message goes to stderr.
            if !quiet {
                output::print_error(&format!("wrote {}", path.display()));
            }
        }
    }
    Ok(done.judge(&jobs))
}

/// Returns the report page of the completed runs.
fn build_report(plan: &Plan, runner: &Runner, jobs: &[Job<Run<'_>>], results: &Results) -> Result<String, Report> {
    let mut sources = Vec::new();
    for workload in &plan.workloads {
        sources.push(match &workload.subject {
            WorkloadFile::Launch(path) => Sources::of_launch(&warpsieve::run::open(path, None)?),
            WorkloadFile::Trace(_) => Sources::default(),
        });
    }
    let mut runs = Vec::new();
    for job in jobs {
        let Some(measured) = runner.read_stored::<RunMeasurement>(&job.key) else { continue };
        let ids = job.what.ids.iter().filter(|id| results.contains_key(id));
        let run = |&id: &Id| side::Run { id, name: &job.name, measured: measured.clone(), sources: &sources[id.0] };
        runs.extend(ids.map(run));
    }
    side::page(plan, results, &runs)
}

fn open(path: &Path) -> Result<AtomicFile, Report> {
    AtomicFile::create(path).into_diagnostic().wrap_err("the table cannot be written")
}
