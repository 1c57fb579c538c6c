//! `warpsieve run` and `warpsieve replay`.

use std::io::Write;
use std::path::Path;

use ::area::Technology;
use miette::{Context, IntoDiagnostic, Report, miette};
use waves::part_file::PartFile;

use super::args::{ReplayArguments, RunArguments, SimulationArguments};
use super::progress::ProgressLine;
use super::stats::Stats;
use super::summary::Summary;
use super::{Exit, interrupt, output};
use warpsieve::config::Resolved;
use warpsieve::crash;
use warpsieve::estimate::{Activity, Energy};
use warpsieve::run::{
    Outcome, Progress, Recording, RunError, RunOptions, RunReport, SeriesOptions, Verdict, WaveOptions,
};

pub(super) fn run(arguments: &RunArguments) -> Result<Exit, Report> {
    let RunArguments { launch, ptx, simulation } = arguments;
    let resolved = Resolved::new(&simulation.machine.request())?;
    let options = RunOptions { ptx: ptx.clone(), ..options(simulation)? };
    simulate(simulation, launch, &resolved, &mut |progress| {
        warpsieve::run::run(launch, &resolved.config, &options, progress)
    })
}

pub(super) fn replay(arguments: &ReplayArguments) -> Result<Exit, Report> {
    let ReplayArguments { list, simulation } = arguments;
    let options = options(simulation)?;
    let mut request = simulation.machine.request();
    let mut resolved = Resolved::new(&request)?;
    let recording = Recording::open(list)?;
    output::warn(recording.warnings());
    let (given, needed) = (resolved.config.addr_bits, recording.address_bits());
    if needed > given {
        output::complain(&format!("addr_bits is {needed} instead of {given}: the trace has addresses of so many bits"));
        request.sets.retain(|set| set.split('=').next().map(str::trim) != Some("addr_bits"));
        request.sets.push(format!("addr_bits={needed}"));
        resolved = Resolved::new(&request)?;
    }
    simulate(simulation, list, &resolved, &mut |progress| {
        warpsieve::run::replay(&recording, &resolved.config, &options, progress)
    })
}

/// What a command simulates.
type Simulation<'a> = dyn FnMut(&mut dyn FnMut(Progress)) -> Result<RunReport, RunError> + 'a;

/// Runs a simulation and reports on it; `file` is what it came from.
fn simulate(
    arguments: &SimulationArguments,
    file: &Path,
    resolved: &Resolved,
    simulation: &mut Simulation<'_>,
) -> Result<Exit, Report> {
    // Opened ahead of the run: a name that cannot be written is found out now, not hours later.
    let stats = arguments.stats.as_deref().map(open).transpose()?;
    let mut progress = ProgressLine::new(arguments.quiet);
    let ran = crash::caught(|| simulation(&mut |at| progress.show(at)));
    drop(progress);
    let report = match ran {
        Ok(report) => report?,
        Err(internal) => {
            output::complain(&internal);
            return Ok(Exit::CheckFailed);
        }
    };
    let energy = energy(arguments, &report)?;
    if let Some(file) = stats {
        write(file, &Stats::new(resolved, &report, energy.as_ref()))?;
    }
    if !arguments.quiet {
        let energy = energy.as_ref().filter(|_| arguments.energy);
        output::print(&Summary { launch: file, resolved, report: &report, energy }.to_string())?;
    }
    report.notes.iter().for_each(|note| output::complain(note));
    Ok(judge(&report))
}

/// The energy of a run that counted its structures.
fn energy(arguments: &SimulationArguments, report: &RunReport) -> Result<Option<Energy>, Report> {
    let Some(activity) = Activity::of(report) else { return Ok(None) };
    let technology = Technology::built_in().into_diagnostic()?;
    let hop_mm = arguments.hop_mm.unwrap_or_else(|| technology.hop_mm());
    Ok(Some(Energy::of(&activity, &technology, arguments.node, hop_mm)))
}

fn options(arguments: &SimulationArguments) -> Result<RunOptions, Report> {
    let SimulationArguments { wave_from, wave_to, wave_scopes, wave_trigger, wave_last, wave_limit, .. } = arguments;
    if let (Some(from), Some(to)) = (wave_from, wave_to)
        && from > to
    {
        return Err(miette!("`--wave-from` is {from}, expected at most {to}, which is `--wave-to`"));
    }
    output::apart(&[
        ("--stats", arguments.stats.as_deref()),
        ("--wave", arguments.wave.as_deref()),
        ("--series", arguments.series.as_deref()),
        ("--timeline", arguments.timeline.as_deref()),
        ("--pipeline", arguments.pipeline.as_deref()),
    ])?;
    let wave = arguments.wave.clone().map(|path| WaveOptions {
        path,
        from: *wave_from,
        to: *wave_to,
        scopes: wave_scopes.clone(),
        trigger: wave_trigger.clone(),
        last: *wave_last,
        limit: *wave_limit,
    });
    Ok(RunOptions {
        check: arguments.check,
        max_cycles: arguments.max_cycles,
        wave,
        series: arguments.series.clone().map(|path| SeriesOptions { path, interval: arguments.interval }),
        timeline: arguments.timeline.clone(),
        pipeline: arguments.pipeline.clone(),
        two_threads: arguments.threads == 2,
        structures: arguments.energy || arguments.stats.is_some(),
        interrupt: interrupt::listen().into_diagnostic().wrap_err("signals cannot be caught")?,
        ..RunOptions::default()
    })
}

/// Says what went wrong, on stderr, and chooses the exit status.
fn judge(report: &RunReport) -> Exit {
    if let Verdict::Failed(checks) = &report.verdict {
        output::complain(&format!("check failed:\n{}", checks.join("\n")));
    }
    match (&report.outcome, &report.verdict) {
        (Outcome::NoProgress(waiting), _) => {
            let cycle = output::grouped(report.counters.cycles);
            output::complain(&format!("no progress after cycle {cycle}: nothing can move any more\n{waiting}"));
            Exit::NoProgress
        }
        (Outcome::CycleLimit(limit), _) => {
            let limit = output::grouped(*limit);
            output::complain(&format!("stopped after {limit} cycles (`--max-cycles`), before the kernels were done"));
            Exit::NoProgress
        }
        (Outcome::Interrupted(signal), _) => {
            let cycle = output::grouped(report.counters.cycles);
            output::complain(&format!("interrupted after cycle {cycle}, before the kernels were done"));
            Exit::Interrupted(*signal as u8)
        }
        (Outcome::Finished, Verdict::Failed(_)) => Exit::CheckFailed,
        (Outcome::Finished, Verdict::Off | Verdict::Passed | Verdict::OrderDependent) => Exit::Done,
    }
}

fn open(path: &Path) -> Result<PartFile, Report> {
    PartFile::create(path).into_diagnostic().wrap_err("the statistics cannot be written")
}

fn write(mut file: PartFile, stats: &Stats<'_>) -> Result<(), Report> {
    let text = serde_json::to_string_pretty(stats).into_diagnostic()?;
    let written = writeln!(file, "{text}").and_then(|()| file.keep().map(drop));
    written.into_diagnostic().wrap_err("the statistics cannot be written")
}
