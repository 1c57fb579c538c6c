//! `warpsieve run` and `warpsieve replay`: simulate a launch file or a trace and report the results.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use ::area::Technology;
use miette::{Context, IntoDiagnostic, Report, miette};
use papers::measured::BlockEnergy;
use papers::store::digest;
use rtl::kernel::Mode;
use waves::atomic_file::AtomicFile;

use super::args::{ReplayArguments, RunArguments, SimulationArguments};
use super::explain::sources::Sources;
use super::files::Files;
use super::progress::ProgressLine;
use super::report::{self, single};
use super::{Exit, interrupt, output};
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::crash;
use warpsieve::estimate::{Activity, Energy};
use warpsieve::limit;
use warpsieve::run::{
    Checkpoints, Identity, Outcome, Progress, RunError, RunOptions, RunReport, SeriesOptions, Trace, Verdict,
    WaveOptions,
};
use warpsieve::statistics::{StatisticsTable, of_run};
use warpsieve::summary::Summary;

pub(super) fn run(arguments: &RunArguments) -> Result<Exit, Report> {
    let RunArguments { launch, ptx, simulation } = arguments;
    let resolved = ResolvedMachine::new(&simulation.machine.request())?;
    let mut options = RunOptions { outputs: true, ..options(simulation)? };
    let file = warpsieve::run::open(launch, ptx.as_deref())?;
    options.checkpoints = checkpoints(simulation, &resolved, file.reads())?;
    let size = file.size().unwrap_or_else(|| "the main size".to_owned());
    options.checkpoints.identity.files.insert("the problem size".to_owned(), size);
    let mut files = Files::of(&resolved);
    files.reads_launch(&file);
    files.writes_outputs(&file);
    let sources = if simulation.report.is_some() { Sources::of_launch(&file) } else { Sources::default() };
    let subject = Subject { file: launch, resolved: &resolved, sources, warnings: Vec::new() };
    simulate(simulation, files, &subject, |progress| {
        warpsieve::run::run_file(file, &resolved.config, &options, progress)
    })
}

pub(super) fn replay(arguments: &ReplayArguments) -> Result<Exit, Report> {
    let ReplayArguments { trace, simulation } = arguments;
    let mut options = options(simulation)?;
    let mut resolved = ResolvedMachine::new(&simulation.machine.request())?;
    let recording = Trace::open(trace)?;
    output::warn(recording.warnings());
    let mut warnings = limit::lines(recording.warnings(), "warning");
    let (given, needed) = (resolved.config.addr_bits, recording.address_bits());
    if needed > given {
        let wider = format!("addr_bits is {needed} instead of {given}: the width of the addresses in the trace");
        output::print_error(&wider);
        warnings.push(wider);
        resolved = ResolvedMachine::new(&widen_addresses(simulation.machine.request(), needed))?;
    }
    options.checkpoints = checkpoints(simulation, &resolved, recording.files().map(|path| ("the trace", path)))?;
    let mut files = Files::of(&resolved);
    recording.files().for_each(|path| files.reads("the trace", path));
    let subject = Subject { file: trace, resolved: &resolved, sources: Sources::default(), warnings };
    simulate(simulation, files, &subject, |progress| {
        warpsieve::run::replay(&recording, &resolved.config, &options, progress)
    })
}

/// Returns the request for a machine, with the address width set to `needed` bits, the width that a trace
/// needs.
pub(super) fn widen_addresses(mut request: Request, needed: u32) -> Request {
    request.sets.retain(|set| set.split('=').next().map(str::trim) != Some("addr_bits"));
    request.sets.push(format!("addr_bits={needed}"));
    request
}

/// Workload of a simulation, with its sources and the warnings about it.
pub(super) struct Subject<'a> {
    /// Path of the launch file, trace or program.
    pub file: &'a Path,
    pub resolved: &'a ResolvedMachine,
    /// PTX sources of the kernels, for the lines shown in the report.
    pub sources: Sources,
    /// Warnings that were issued before the run.
    pub warnings: Vec<String>,
}

/// Destination of the statistics.
enum StatsTo {
    Stdout,
    File(AtomicFile),
}

/// Runs a simulation and reports the results. `files` lists the input and output files of the command, except
/// the output files that options name.
pub(super) fn simulate(
    arguments: &SimulationArguments,
    mut files: Files,
    subject: &Subject<'_>,
    simulation: impl FnOnce(&mut dyn FnMut(Progress)) -> Result<RunReport, RunError>,
) -> Result<Exit, Report> {
    writes(arguments, &mut files);
    files.check()?;
    // The outputs are opened before the run, so that a name that cannot be written is reported at once and
    // not hours later.
    let stats = arguments.stats.as_deref().map(open).transpose()?;
    let html = arguments.report.as_deref().map(report::open).transpose()?;
    let mut progress = ProgressLine::new(arguments.quiet);
    let ran = crash::catch_panic(|| simulation(&mut |at| progress.show(at)));
    drop(progress);
    interrupt::finish(ran, |report| report_results(arguments, subject, report, stats, html))
}

/// Writes and prints the results of a simulation.
fn report_results(
    arguments: &SimulationArguments,
    subject: &Subject<'_>,
    mut report: RunReport,
    stats: Option<StatsTo>,
    html: Option<AtomicFile>,
) -> Result<Exit, Report> {
    let Subject { file, resolved, sources, warnings } = subject;
    let energy = energy(arguments, &report)?;
    let mut written = Vec::new();
    let is_taken = matches!(stats, Some(StatsTo::Stdout));
    if let Some(to) = stats {
        let file = write(to, &of_run(resolved, &report, energy.as_ref()))?;
        written.extend(file);
    }
    if let Some(html) = html {
        let energy = energy.as_ref().map(BlockEnergy::all).unwrap_or_default();
        let notes = [warnings.clone(), report.notes.clone(), troubles(&report)].concat();
        let (report, node, energy, notes) = (&report, arguments.node, &energy, &notes);
        let text = single::page(&single::ReportedRun { file, resolved, report, energy, node, sources, notes })?;
        written.push(report::keep(html, &text)?);
    }
    report.written.extend(written);
    if !arguments.quiet {
        let energy = energy.as_ref().filter(|_| arguments.energy);
        let width = output::width();
        let summary = Summary { launch: file, resolved, report: &report, energy, width }.to_string();
        // If the statistics go to stdout, where a program reads them, the summary goes to stderr.
        if is_taken { output::print_error(&summary) } else { output::print(&summary)? }
    }
    report.notes.iter().for_each(|note| output::print_error(note));
    Ok(judge(&report))
}

/// Returns the energy estimate of a run; `None` if the run did not count the uses of the hardware structures.
fn energy(arguments: &SimulationArguments, report: &RunReport) -> Result<Option<Energy>, Report> {
    let Some(activity) = Activity::of(report) else { return Ok(None) };
    let technology = Technology::built_in().into_diagnostic()?;
    let hop_mm = arguments.hop_mm.unwrap_or_else(|| technology.hop_mm());
    Ok(Some(Energy::of(&activity, technology, arguments.node, hop_mm)))
}

/// Adds the output files that the simulation options name to `files`, the list of the command's files.
fn writes(arguments: &SimulationArguments, files: &mut Files) {
    let SimulationArguments { stats, report, wave, series, timeline, pipeline, checkpoint, resume, .. } = arguments;
    files.writes("`--stats`", stats.as_deref().filter(|path| !output::is_stdout(path)));
    files.writes("`--report`", report.as_deref());
    if let Some(wave) = wave {
        files.writes_wave("`--wave`", wave);
    }
    files.writes("`--series`", series.as_deref());
    files.writes("`--timeline`", timeline.as_deref());
    files.writes("`--pipeline`", pipeline.as_deref());
    // A run may overwrite the checkpoint from which it was resumed.
    let is_same = checkpoint == resume;
    files.writes("`--checkpoint`", checkpoint.as_deref());
    if let Some(path) = resume.as_deref().filter(|_| !is_same) {
        files.reads("`--resume`", path);
    }
}

/// Returns the checkpoint settings that the options give. The settings contain digests (hashes) of this
/// program and of all files that the run reads.
fn checkpoints<'a, W: AsRef<str>>(
    arguments: &SimulationArguments,
    resolved: &ResolvedMachine,
    reads: impl Iterator<Item = (W, &'a Path)>,
) -> Result<Checkpoints, Report> {
    let SimulationArguments { checkpoint, checkpoint_every, resume, .. } = arguments;
    if checkpoint.is_none() && resume.is_none() {
        return Ok(Checkpoints::default());
    }
    if let Some(path) = checkpoint.as_deref().filter(|path| Some(*path) != resume.as_deref() && path.exists()) {
        let path = path.display();
        return Err(miette!("{path} already exists: continue from it with `--resume {path}`, or remove it"));
    }
    let digest = |path: &Path| {
        let (hash, bytes) =
            digest(path).into_diagnostic().wrap_err_with(|| format!("{} cannot be read", path.display()))?;
        Ok::<_, Report>(format!("{hash:016x} {bytes}"))
    };
    let program = env::current_exe().into_diagnostic().wrap_err("the program cannot find its own file")?;
    let mut files = BTreeMap::new();
    for (what, path) in reads {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        files.insert(format!("{} {name}", what.as_ref()), digest(path)?);
    }
    let identity = Identity { program: digest(&program)?, configuration: resolved.values(), files };
    Ok(Checkpoints { identity, write: checkpoint.clone(), every: *checkpoint_every, resume: resume.clone() })
}

pub(super) fn options(arguments: &SimulationArguments) -> Result<RunOptions, Report> {
    let SimulationArguments {
        wave_from, wave_to, wave_scopes, wave_trigger, wave_last, wave_after, wave_limit, ..
    } = arguments;
    if let (Some(from), Some(to)) = (wave_from, wave_to)
        && from > to
    {
        return Err(miette!("`--wave-from` is {from}, expected at most {to}, the value of `--wave-to`"));
    }
    let wave = arguments.wave.clone().map(|path| WaveOptions {
        path,
        from: *wave_from,
        to: *wave_to,
        scopes: wave_scopes.clone(),
        trigger: wave_trigger.clone(),
        last: *wave_last,
        after: *wave_after,
        limit: *wave_limit,
    });
    Ok(RunOptions {
        check: arguments.check,
        max_cycles: arguments.max_cycles,
        wave,
        series: arguments.series.clone().map(|path| SeriesOptions {
            path,
            interval: arguments.interval,
            columns: arguments.series_columns.clone(),
        }),
        timeline: arguments.timeline.clone(),
        pipeline: arguments.pipeline.clone(),
        threads: arguments.threads,
        history: arguments.report.is_some(),
        structures: arguments.energy || arguments.stats.is_some() || arguments.report.is_some(),
        interrupt: interrupt::signal_cell(),
        mode: Mode::FAST,
        ..RunOptions::default()
    })
}

/// Returns the messages about failed checks, and about kernels that did not run to their end.
fn troubles(report: &RunReport) -> Vec<String> {
    let mut troubles = Vec::new();
    if let Verdict::Failed(checks) = &report.verdict {
        troubles.push(format!("check failed:\n{}", checks.join("\n")));
    }
    let cycle = output::format_thousands(report.counters.cycles);
    troubles.extend(match &report.outcome {
        Outcome::Finished => None,
        Outcome::NoProgress(waiting) => {
            Some(format!("no progress after cycle {cycle}: deadlock or livelock\n{waiting}"))
        }
        Outcome::CycleLimit(limit) => {
            let cycles = output::format_count(*limit, "cycle", "cycles");
            Some(format!("stopped after {cycles} (`--max-cycles`), before the kernels were done"))
        }
        Outcome::Interrupted(_) => Some(format!("interrupted after cycle {cycle}, before the kernels were done")),
    });
    troubles
}

/// Prints the messages about failures on stderr, and returns the exit status.
fn judge(report: &RunReport) -> Exit {
    troubles(report).iter().for_each(|trouble| output::print_error(trouble));
    match (&report.outcome, &report.verdict) {
        (Outcome::NoProgress(_) | Outcome::CycleLimit(_), _) => Exit::NoProgress,
        (Outcome::Interrupted(signal), _) => Exit::Interrupted(*signal as u8),
        (Outcome::Finished, Verdict::Failed(_)) => Exit::CheckFailed,
        (Outcome::Finished, Verdict::Off | Verdict::Passed | Verdict::OrderDependent | Verdict::Undefined) => {
            Exit::Done
        }
    }
}

fn open(path: &Path) -> Result<StatsTo, Report> {
    if output::is_stdout(path) {
        return Ok(StatsTo::Stdout);
    }
    AtomicFile::create(path).map(StatsTo::File).into_diagnostic().wrap_err("the statistics cannot be written")
}

/// Writes the statistics. Returns the path of the file, or `None` if they go to stdout.
fn write(to: StatsTo, statistics: &StatisticsTable) -> Result<Option<PathBuf>, Report> {
    let text = serde_json::to_string_pretty(statistics).into_diagnostic()? + "\n";
    match to {
        StatsTo::Stdout => output::print(&text).map(|()| None),
        StatsTo::File(file) => output::keep(file, &text).map(Some).wrap_err("the statistics cannot be written"),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Arguments, Command};

    #[test]
    fn a_plain_run_does_not_look_at_contracts_but_one_that_is_looked_at_does() {
        let is_checked = |further: &[&str]| {
            let words = ["warpsieve", "run", "a.toml"].iter().chain(further);
            let Command::Run(run) = Arguments::parse_from(words).command else { panic!("`run`") };
            options(&run.simulation).unwrap().evaluation().is_checked()
        };
        for plain in [&[][..], &["--stats", "a.json"], &["--series", "a.csv"], &["--threads", "2"]] {
            assert!(!is_checked(plain), "{plain:?}");
        }
        for looked_at in [&["--check"][..], &["--wave", "a.vcd"], &["--wave", "a.fst", "--wave-last", "100"]] {
            assert!(is_checked(looked_at), "{looked_at:?}");
        }
    }
}
