//! `warpsieve dram`: drives the DRAM channels of a machine from a trace of requests.

use std::fmt::{self, Write as _};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use indicatif::ProgressBar;
use miette::{Context, IntoDiagnostic, Report};
use rtl::dram::counts::Counts;
use waves::atomic_file::AtomicFile;

use super::args::DramArguments;
use super::files::Files;
use super::output::{columns, format_count, format_thousands, wrap_text};
use super::{Exit, interrupt, output};
use papers::progress::progress_line;
use warpsieve::config::ResolvedMachine;
use warpsieve::crash;
use warpsieve::dram::alone::{self, Event, RunResult};
use warpsieve::dram::figures::Latencies;
use warpsieve::dram::judge::CommandRecorder;
use warpsieve::dram::tables::Table;
use warpsieve::dram::trace::{self, TraceRequest};
use warpsieve::run::{HostTime, Stopwatch, ratio};

/// Maximum number of timing violations printed; further violations are only counted.
const MAX_REPORTS: usize = 8;
/// Position of the progress line when the run is complete; it starts at 0.
const PROGRESS: u64 = 1_000_000;
/// Length of the longest bar of the latency histogram, in characters.
const BAR: u64 = 40;

type File = Table<BufWriter<AtomicFile>>;

pub(super) fn dram(arguments: &DramArguments) -> Result<Exit, Report> {
    let resolved = ResolvedMachine::new(&arguments.machine.request())?;
    let config = &resolved.config;
    let trace = trace::read(&arguments.trace, config.memory_bytes()).into_diagnostic()?;
    let mut files = Files::of(&resolved);
    files.reads("the trace", &arguments.trace);
    files.writes("`--commands`", arguments.commands.as_deref());
    files.writes("`--requests`", arguments.requests.as_deref());
    files.check()?;
    let interrupt = interrupt::signal_cell();
    // The outputs are opened before the run, so that a name that cannot be written is reported at once and
    // not hours later.
    let channels = config.num_channels() as usize;
    let commands = open(arguments.commands.as_deref(), |to| Table::of_commands(to, channels))?;
    let requests = open(arguments.requests.as_deref(), |to| Table::of_requests(to, channels))?;
    let witness = arguments.check.then(|| CommandRecorder::new(config, &trace));
    let mut run =
        Run { resolved: &resolved, trace: &trace, commands, requests, witness, latencies: Latencies::default() };
    let bar = progress_line(arguments.quiet, Some(PROGRESS), "{msg}{left}");
    let stopwatch = Stopwatch::start();
    let ended = crash::catch_panic(|| {
        let ended = alone::run(config, &trace, &interrupt, &mut |event| run.tell(event, &bar));
        ended.into_diagnostic().wrap_err("the results cannot be written")
    });
    let simulating = stopwatch.time();
    bar.finish_and_clear();
    let signal = || interrupt.load(Ordering::Relaxed);
    interrupt::finish(ended, |ended| report_results(arguments, run, &ended, simulating, signal()))
}

/// Writes and prints the results of a run. `signal` is the number of the signal that interrupted the run, or
/// 0.
fn report_results(
    arguments: &DramArguments,
    mut run: Run<'_>,
    ended: &RunResult,
    simulating: HostTime,
    signal: usize,
) -> Result<Exit, Report> {
    // If the run ended before all requests were served, the timing check gives no verdict.
    let violations = run.witness.as_ref().filter(|_| ended.unserved == 0).map(CommandRecorder::violations);
    let written = [run.commands.take(), run.requests.take()].into_iter().flatten().map(keep);
    let written = written.collect::<Result<Vec<_>, _>>()?;
    if !arguments.quiet {
        let check = violations.as_ref().map(Vec::is_empty);
        output::print(&Summary { run: &run, name: &arguments.trace, ended, check, simulating, written }.to_string())?;
    }
    if ended.unserved == 0 {
        return Ok(judge(&violations.unwrap_or_default()));
    }
    let unserved = format_count(ended.unserved, "request is", "requests are");
    let cycle = format_thousands(ended.cycles);
    Ok(match signal {
        0 => {
            output::print_error(&format!("no progress after cycle {cycle}: {unserved} not served"));
            Exit::NoProgress
        }
        signal => {
            output::print_error(&format!("interrupted after cycle {cycle}: {unserved} not served"));
            Exit::Interrupted(signal as u8)
        }
    })
}

fn judge(violations: &[String]) -> Exit {
    if violations.is_empty() {
        return Exit::Done;
    }
    let shown = violations[..violations.len().min(MAX_REPORTS)].join("\n");
    let more = violations.len().saturating_sub(MAX_REPORTS);
    let more = if more > 0 { format!("\nand {} more", format_thousands(more as u64)) } else { String::new() };
    output::print_error(&format!("check failed:\n{shown}{more}"));
    Exit::CheckFailed
}

fn open(
    path: Option<&Path>,
    table: impl Fn(BufWriter<AtomicFile>) -> io::Result<File>,
) -> Result<Option<File>, Report> {
    let opened = path.map(|path| AtomicFile::create(path).and_then(|file| table(BufWriter::new(file)))).transpose();
    opened.into_diagnostic().wrap_err("the results cannot be written")
}

fn keep(file: File) -> Result<PathBuf, Report> {
    let kept = file.finish().and_then(|file| file.into_inner().map_err(io::IntoInnerError::into_error));
    kept.and_then(AtomicFile::commit).into_diagnostic().wrap_err("the results cannot be written")
}

/// One run of the DRAM channels on a trace of requests, with its output files.
struct Run<'a> {
    resolved: &'a ResolvedMachine,
    trace: &'a [TraceRequest],
    commands: Option<File>,
    requests: Option<File>,
    witness: Option<CommandRecorder<'a>>,
    latencies: Latencies,
}

impl Run<'_> {
    fn tell(&mut self, event: Event<'_>, bar: &ProgressBar) -> io::Result<()> {
        if let Some(witness) = &mut self.witness {
            witness.see(&event);
        }
        match event {
            Event::Command { channel, command } => match &mut self.commands {
                Some(table) => table.command(&self.resolved.config.dram, channel, command),
                None => Ok(()),
            },
            Event::Served(served) => {
                self.latencies.add(&served);
                match &mut self.requests {
                    Some(table) => table.request(&self.trace[served.index as usize], &served),
                    None => Ok(()),
                }
            }
            Event::Progress { cycle, taken } => {
                let last = self.trace.last().map_or(0, |request| request.cycle);
                let requests = self.trace.len() as u64;
                // A request is offered to the DRAM when its cycle has come and all earlier requests are
                // accepted, so the run waits for the later of the two. Its progress is therefore the smaller
                // of two fractions: the share of the trace's cycles that have passed, and the share of its
                // requests that were accepted.
                let done = ratio(taken, requests).min(if cycle < last { ratio(cycle, last) } else { 1.0 });
                bar.set_position((done * PROGRESS as f64) as u64);
                let [taken, requests, cycle] = [taken, requests, cycle].map(format_thousands);
                bar.set_message(format!("request {taken} of {requests}, cycle {cycle}"));
                Ok(())
            }
        }
    }
}

/// Summary of a run for people to read.
struct Summary<'a> {
    run: &'a Run<'a>,
    name: &'a Path,
    ended: &'a RunResult,
    check: Option<bool>,
    simulating: HostTime,
    written: Vec<PathBuf>,
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, name, ended, check, simulating, written } = self;
        let config = &run.resolved.config;
        let machine = std::iter::once(&run.resolved.machine.name).chain(&run.resolved.designs);
        let machine: Vec<_> = machine.map(String::as_str).collect();
        writeln!(f, "{} on {}", name.display(), machine.join(" + "))?;
        let sum = |count: fn(&Counts) -> u64| ended.channels.iter().map(count).sum::<u64>();
        let (reads, writes) = (sum(|c| c.reads), sum(|c| c.writes));
        row(f, "requests", &[format_count(reads, "read", "reads"), format_count(writes, "write", "writes")])?;
        let mhz = f64::from(config.clock.dram_khz) / 1e3;
        let time = format!("{:.1} us at {mhz} MHz", ended.cycles as f64 / mhz);
        row(f, "cycles", &[format_thousands(ended.cycles), time])?;
        let kinds = [("ACT", sum(|c| c.activates)), ("RD", reads), ("WR", writes), ("REF", sum(|c| c.refreshes))];
        let kinds: Vec<_> = kinds.iter().map(|(kind, count)| format!("{} {kind}", format_thousands(*count))).collect();
        row(f, "commands", &[format_thousands(ended.commands), kinds.join("  ")])?;
        let (hits, bytes) = (sum(|c| c.row_hits), sum(|c| c.bytes));
        row(f, "row hits", &[percent(hits, reads + writes)])?;
        let banks = ratio(sum(|c| c.banks_waiting), sum(|c| c.waiting_cycles));
        row(f, "banks", &[format!("{banks:.2} with requests, on average while any request waits")])?;
        let peak = ended.cycles * u64::from(config.dram.burst_bytes() / config.dram.timing.burst);
        let peak = peak * ended.channels.len() as u64;
        let rate = ratio(bytes, ended.cycles) * mhz / 1e3;
        row(f, "bandwidth", &[format!("{rate:.1} GB/s"), format!("{} of the peak", percent(bytes, peak))])?;
        self.latencies(f)?;
        if ended.channels.len() > 1 {
            self.channels(f)?;
        }
        let check = match check {
            None => "off",
            Some(true) => "passed: every command obeys the rules, every request is served once",
            Some(false) => "FAILED",
        };
        row(f, "check", &[check.to_owned()])?;
        row(f, "host", &output::host(*simulating, ended.commands, "commands"))?;
        written.iter().try_for_each(|path| row(f, "wrote", &[path.display().to_string()]))
    }
}

impl Summary<'_> {
    fn latencies(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let latencies = &self.run.latencies;
        let Some(mean) = latencies.mean() else { return Ok(()) };
        let at = |part| format_thousands(latencies.quantile(part).unwrap_or(0));
        let ends = format!("min {}  mean {mean:.1}  max {} cycles", at(0.0), at(1.0));
        row(f, "latency", &[ends])?;
        let parts = [("50 %", 0.5), ("90 %", 0.9), ("99 %", 0.99), ("99.9 %", 0.999)];
        let parts: Vec<_> = parts.iter().map(|(name, part)| format!("{name} within {}", at(*part))).collect();
        row(f, "", &[parts.join("  ")])?;
        let classes = latencies.classes();
        let most = classes.iter().map(|(.., requests)| *requests).max().unwrap_or(1);
        for (first, last, requests) in classes {
            // The bar length is rounded up, so that a latency class with a single request has a visible bar.
            let bar = "#".repeat((requests * BAR).div_ceil(most) as usize);
            let class = format!("{} to {}", format_thousands(first), format_thousands(last));
            row(f, "", &[format!("{class:<20} {:>12} {bar}", format_thousands(requests))])?;
        }
        Ok(())
    }

    /// Writes a table with one row per DRAM channel.
    fn channels(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = |(channel, c): (usize, &Counts)| {
            let requests = c.reads + c.writes;
            let latency = ratio(c.read_latency, c.reads);
            let bytes = percent(c.bus_busy_cycles, self.ended.cycles);
            let banks = format!("{:.2}", ratio(c.banks_waiting, c.waiting_cycles));
            let counts = [channel as u64, c.reads, c.writes].map(format_thousands);
            counts.into_iter().chain([percent(c.row_hits, requests), banks, bytes, format!("{latency:.1}")]).collect()
        };
        let rows: Vec<Vec<String>> = self.ended.channels.iter().enumerate().map(cells).collect();
        let head = ["CHANNEL", "READS", "WRITES", "ROW HITS", "BANKS", "BUS BUSY", "READ LATENCY"];
        let mut text = String::new();
        for line in columns(&head, &rows).lines() {
            writeln!(text, "  {line}")?;
        }
        f.write_str(&text)
    }
}

fn row(f: &mut fmt::Formatter<'_>, label: &str, cells: &[String]) -> fmt::Result {
    let cells: Vec<_> = cells.iter().map(|cell| format!("{cell:<20}")).collect();
    writeln!(f, "{}", wrap_text(format!("  {label:<13} {}", cells.join(" ")).trim_end(), 16))
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * ratio(part, whole))
}
