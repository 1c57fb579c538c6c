//! `warpsieve optimize`: measures the loads of a PTX file and writes the file again with cache operators. The
//! operators determine which loads bypass the L1 (xie2013).

use std::path::{Path, PathBuf};

use compiler::Triangle;
use compiler::characterise::KernelMetrics;
use compiler::solve::Method;
use indicatif::ProgressBar;
use miette::{IntoDiagnostic, Report, WrapErr, miette};
use waves::atomic_file::AtomicFile;

use super::args::{OptimizeArguments, ProfileSource};
use super::files::Files;
use super::output::{columns, format_count, format_thousands};
use super::{Exit, interrupt, output};
use papers::progress::progress_bar;
use warpsieve::config::ResolvedMachine;
use warpsieve::crash;
use warpsieve::launch::LaunchFile;
use warpsieve::optimize::{Clocked, Decision, Optimization, Subject};
use warpsieve::run::{RunError, ratio};

pub(super) fn optimize(arguments: &OptimizeArguments) -> Result<Exit, Report> {
    let resolved = ResolvedMachine::new(&arguments.machine.request())?;
    let launch = warpsieve::run::open(&arguments.launch, arguments.ptx.as_deref())?;
    let mut files = Files::of(&resolved);
    files.reads_launch(&launch);
    files.writes("`--output`", Some(&arguments.output));
    files.writes("`--report`", arguments.report.as_deref());
    files.writes("`--graph`", arguments.graph.as_deref());
    files.check()?;
    // The output files are opened before the runs, so that a name that cannot be written is reported at once.
    let outputs = Outputs {
        ptx: open(&arguments.output)?,
        report: arguments.report.as_deref().map(open).transpose()?,
        dot: arguments.graph.as_deref().map(open).transpose()?,
    };
    let bar = progress_bar(arguments.quiet, 0);
    interrupt::run_interruptible(
        || optimize_launch(arguments, &resolved, launch, outputs, &bar),
        || {
            let (done, all) = (bar.position(), bar.length().unwrap_or(0));
            bar.finish_and_clear();
            let all = format_count(all, "profiling run", "profiling runs");
            output::print_error(&format!("interrupted after {done} of {all}: nothing is written"));
        },
    )?
}

/// Output files of the command, which are opened before the runs.
struct Outputs {
    ptx: AtomicFile,
    report: Option<AtomicFile>,
    dot: Option<AtomicFile>,
}

fn optimize_launch(
    arguments: &OptimizeArguments,
    resolved: &ResolvedMachine,
    launch: LaunchFile,
    outputs: Outputs,
    bar: &ProgressBar,
) -> Result<Exit, Report> {
    let profiled = crash::catch_panic(|| profile(arguments, resolved, launch, bar));
    bar.finish_and_clear();
    interrupt::finish(profiled, |profile| written(arguments, resolved, profile, outputs))
}

/// Kernels to optimize, and the measurements of their loads. The user chooses where the loads are measured:
/// on the clocked machine, or on caches without timing. After measurements on the clocked machine, the third
/// element holds those without timing, for comparison.
type Profile = (Subject, Vec<KernelMetrics>, Option<Vec<KernelMetrics>>);

fn profile(
    arguments: &OptimizeArguments,
    resolved: &ResolvedMachine,
    launch: LaunchFile,
    bar: &ProgressBar,
) -> Result<Profile, RunError> {
    let subject = Subject::new(launch, &resolved.config)?;
    bar.set_length(subject.runs() as u64);
    let tick = || bar.inc(1);
    let (kernels, untimed) = match arguments.profile {
        ProfileSource::Untimed => (subject.characterise(&tick), None),
        ProfileSource::Clocked => {
            let clocked = Clocked { subject: &subject, launch: &arguments.launch, config: &resolved.config };
            (clocked.characterise(&tick)?, Some(subject.characterise(&|| ())))
        }
    };
    Ok((subject, kernels, untimed))
}

/// Chooses, from a profile, the loads that stay cached. Writes and prints the results.
fn written(
    arguments: &OptimizeArguments,
    resolved: &ResolvedMachine,
    (subject, kernels, untimed): Profile,
    Outputs { ptx, report, dot }: Outputs,
) -> Result<Exit, Report> {
    let optimised = Optimization::new(&subject, kernels, arguments.t_off.into());
    let method = arguments.method.into();
    let decisions = optimised.decisions(method).map_err(|why| miette!("--method {method}: {why}"))?;
    let text = optimised.text(&decisions)?;
    let mut written = Vec::new();
    if let Some(file) = report {
        let report = warpsieve::optimize::Report::new(
            &arguments.launch,
            resolved,
            &optimised,
            method,
            &decisions,
            untimed.as_deref(),
        );
        written.push(keep(file, &(serde_json::to_string_pretty(&report).into_diagnostic()? + "\n"))?);
    }
    if let (Some(file), Ok(choice)) = (dot, &optimised.solution(method).choice) {
        written.push(keep(file, &optimised.graph.dot(&choice.cached))?);
    }
    written.insert(0, keep(ptx, &text)?);
    if !arguments.quiet {
        output::print(&(format_result(&optimised, method, &decisions, untimed.as_deref()) + "\n"))?;
    }
    output::print_written(arguments.quiet, written)?;
    Ok(Exit::Done)
}

fn open(path: &Path) -> Result<AtomicFile, Report> {
    AtomicFile::create(path).into_diagnostic().wrap_err("the result cannot be written")
}

fn keep(file: AtomicFile, text: &str) -> Result<PathBuf, Report> {
    output::keep(file, text).wrap_err("the result cannot be written")
}

/// Maximum number of edges of the traffic reduction graph that are printed; the report contains all edges.
const EDGES: usize = 12;

/// Returns the text to print: the loads with the decision for each, the heaviest edges, and the result of
/// each method.
fn format_result(
    optimised: &Optimization<'_>,
    method: Method,
    decisions: &[Decision],
    untimed: Option<&[KernelMetrics]>,
) -> String {
    let Optimization { subject, graph, .. } = optimised;
    let kernels: Vec<_> = subject.kernels().collect();
    let mut text = format!("{}: {}\n\n", subject.source.name, kernels.join(", "));
    text += &loads(optimised, decisions);
    let mut edges: Vec<_> = Triangle::<f64>::pairs(graph.len()).filter(|&(i, j)| graph.edge(i, j) != 0.0).collect();
    edges.sort_by(|&(a, b), &(c, d)| graph.edge(c, d).abs().total_cmp(&graph.edge(a, b).abs()));
    let hidden = edges.len().saturating_sub(EDGES);
    let edge = |&(i, j): &(usize, usize)| {
        let [from, to] = [i, j].map(|node| graph.loads()[node].to_string());
        vec![from, to, format!("{:.0}", graph.edge(i, j))]
    };
    let shown: Vec<_> = edges.iter().take(EDGES).map(edge).collect();
    if !shown.is_empty() {
        text += &format!("\n{}", columns(&["load", "with", "bytes saved together"], &shown));
    }
    if hidden > 0 {
        text += &format!(
            "and {}\n",
            format_count(hidden as u64, "pair with smaller savings", "pairs with smaller savings")
        );
    }
    if let Some(untimed) = untimed {
        text += &format!("\n{}", compare_hits(&optimised.kernels, untimed));
    }
    text + "\n" + &methods(optimised, method)
}

/// Returns a table that compares the clocked machine with the untimed profile. For each load, it gives the
/// number of hits that the load has if it is the only cached load.
fn compare_hits(clocked: &[KernelMetrics], untimed: &[KernelMetrics]) -> String {
    let row = |(clocked, untimed): (&KernelMetrics, &KernelMetrics), i: usize| {
        let [clocked_hits, untimed_hits] = [clocked, untimed].map(|kernel| kernel.alone[i].hits);
        let change = (untimed_hits > 0).then(|| 100.0 * (ratio(clocked_hits, untimed_hits) - 1.0));
        let change = change.map_or("-".to_owned(), |change| format!("{change:+.1} %"));
        vec![clocked.loads[i].to_string(), format_thousands(clocked_hits), format_thousands(untimed_hits), change]
    };
    let kernels = clocked.iter().zip(untimed);
    let rows: Vec<_> = kernels.flat_map(|both| (0..both.0.loads.len()).map(move |i| row(both, i))).collect();
    columns(&["load", "hits clocked", "untimed", "difference"], &rows)
}

const LOADS: [&str; 9] = ["load", "line", "lines requested", "hits alone", "sectors", "T_on", "T_off", "", "why"];

fn loads(optimised: &Optimization<'_>, decisions: &[Decision]) -> String {
    let Optimization { subject, kernels, how, .. } = optimised;
    let row = |(number, decision): (usize, &Decision)| {
        let mut cells = vec![number.to_string(), subject.loads[number].line.to_string()];
        // If several kernels contain a load, the counts of the load in these kernels are added up.
        let mut sums = [0.0; 5];
        for kernel in kernels {
            let Ok(i) = kernel.loads.binary_search(&number) else { continue };
            let load = kernel.alone[i];
            let counts = [load.accesses, load.hits, load.sectors, kernel.cached_bytes(i)].map(|count| count as f64);
            let of_kernel = counts.into_iter().chain([kernel.bypassed_bytes(i, *how)]);
            sums.iter_mut().zip(of_kernel).for_each(|(sum, count)| *sum += count);
        }
        cells.extend(sums.map(|sum| format_thousands(sum.round() as u64)));
        cells.push(decision.operator.map_or("-".to_owned(), |operator| operator.to_string()));
        cells.push(decision.reason.clone());
        cells
    };
    columns(&LOADS, &decisions.iter().enumerate().map(row).collect::<Vec<_>>())
}

/// Returns a table with one row per method of choosing the loads to cache. It compares the saving that the
/// graph predicts with the L2 traffic measured with these loads cached.
fn methods(optimised: &Optimization<'_>, method: Method) -> String {
    let all = optimised.graph.value(&vec![true; optimised.graph.len()]);
    let bytes = optimised.bypass_all_bytes;
    let relative = |l2: u64| if bytes == 0 { "-".to_owned() } else { format!("{:.1}", 100.0 * ratio(l2, bytes)) };
    let row = |name: String, objective: f64, l2: u64| {
        vec![name, format!("{objective:.0}"), format_thousands(l2), relative(l2)]
    };
    let mut rows =
        vec![row("bypass all".to_owned(), 0.0, bytes), row("cache all".to_owned(), all, optimised.cache_all_bytes)];
    let mut refused = String::new();
    for solution in &optimised.solutions {
        let mark = if solution.method == method { " *" } else { "" };
        match (&solution.choice, solution.l2_bytes) {
            (Ok(choice), Some(l2)) => rows.push(row(format!("{}{mark}", solution.method), choice.value, l2)),
            (choice, _) => {
                let why = choice.as_ref().err().map_or("", String::as_str);
                refused += &format!("{}: {why}\n", solution.method);
            }
        }
    }
    columns(&["method", "predicted bytes saved", "L2 bytes of loads", "% of bypass all"], &rows) + &refused
}
