//! xie2013 section 6: run time of the compiler framework, which is a few seconds for every benchmark
//! according to the paper.

use compiler::characterise::BypassTrafficModel;
use compiler::solve::Method;
use miette::{Report, miette};

use super::speedup::{BENCHMARKS, Benchmark, SIZES};
use crate::FigureError;
use crate::Session;
use crate::judge::{Class, ComparisonRow};
use crate::page::{Page, comma_separated};
use crate::progress::progress_bar;
use warpsieve::config::ResolvedMachine;
use warpsieve::optimize::{Optimization, Subject};
use warpsieve::run::{Stopwatch, open};

/// Number of loads of the kernel that the paper's introduction describes.
const MANY: usize = 14;
/// Maximum run time in seconds that is regarded as "a few seconds", the words of the paper.
const FEW: u64 = 60;
/// Run times are rounded up to one of these numbers of seconds. Exact run times depend on the computer; with
/// rounded run times, the results page changes only if the program changes.
const STEPS: [u64; 7] = [1, 2, 5, 10, 20, 30, FEW];

const TEXT: &str = "Seconds to optimize each benchmark for `kepler` with an L1 of 16 KB: one run of the launch file on the functional
interpreter, the profile of every load and every pair of loads on untimed caches, the graph, all three solvers, and the
rewritten PTX. These are processor seconds, summed over all threads: a single core takes no longer, whatever else the host
does, and two cores take less. They depend on the host and are rounded up to 1, 2, 5, 10, 20, 30 or 60.";

/// Result of optimizing one benchmark.
struct OptimizationResult {
    benchmark: &'static Benchmark,
    loads: usize,
    runs: usize,
    /// Run time of the optimization in seconds, rounded up to a number in [`STEPS`]; `None` if it exceeds the
    /// largest number in [`STEPS`].
    seconds: Option<u64>,
}

pub(in super::super) fn efficiency(session: &Session) -> Result<Page, FigureError> {
    let bar = progress_bar(session.is_quiet, BENCHMARKS.len());
    // The benchmarks are optimized one after the other, because CPU time is measured for the whole process.
    let one = |benchmark| {
        let found = optimize(session, benchmark);
        bar.inc(1);
        found
    };
    let found: Vec<OptimizationResult> = BENCHMARKS.iter().map(one).collect::<Result<_, _>>()?;
    bar.finish_and_clear();
    draw(session.is_quick, &found)
}

fn optimize(session: &Session, benchmark: &'static Benchmark) -> Result<OptimizationResult, Report> {
    let point = benchmark.point(session, &SIZES[0]);
    let resolved = ResolvedMachine::new(&point.request)?;
    let stopwatch = Stopwatch::start();
    let subject = Subject::new(open(&point.launch, None)?, &resolved.config)?;
    let profile = session.runner.pool().install(|| subject.characterise(&|| ()));
    let optimised = Optimization::new(&subject, profile, BypassTrafficModel::Uniform);
    let decisions = optimised.decisions(Method::Heuristic).map_err(|why| miette!("{why}"))?;
    optimised.text(&decisions)?;
    let seconds = stopwatch.time().cpu.as_secs_f64();
    let seconds = STEPS.into_iter().find(|step| seconds <= *step as f64);
    Ok(OptimizationResult { benchmark, loads: optimised.graph.len(), runs: subject.runs(), seconds })
}

fn draw(quick: bool, found: &[OptimizationResult]) -> Result<Page, FigureError> {
    let told = |seconds: Option<u64>| seconds.map_or(format!("more than {FEW}"), |seconds| seconds.to_string());
    let longest = |found: &mut dyn Iterator<Item = &OptimizationResult>| {
        let seconds = found.map(|found| found.seconds.unwrap_or(u64::MAX)).max().unwrap_or_default();
        (seconds <= FEW).then_some(seconds)
    };
    let row = |what: &str, longest: Option<u64>, theirs: &str| {
        ComparisonRow::claim(Class::Sign, what, &told(longest), theirs, longest.is_some())
    };
    let large = longest(&mut found.iter().filter(|found| found.loads >= MANY));
    let rows = vec![
        row("longest of all, seconds", longest(&mut found.iter()), "a few; here at most 60"),
        row(&format!("longest with {MANY} loads or more, seconds"), large, "at most 60")
            .mark_no_evidence("it is not longer than the longest of all"),
    ];
    let title = "xie2013, section 6: seconds to optimize a kernel";
    let mut page = Page::with_comparison("xie2013/efficiency", quick, title, TEXT, rows);
    let cells = |found: &OptimizationResult| {
        let Benchmark { theirs, kernel, .. } = found.benchmark;
        vec![format!("{kernel} ({theirs})"), found.loads.to_string(), found.runs.to_string(), told(found.seconds)]
    };
    page.table(&["kernel", "loads", "cache runs", "processor seconds, at most"], found.iter().map(cells).collect(), 1);
    let numbers = |found: &OptimizationResult| {
        vec![found.benchmark.theirs.to_owned(), found.loads.to_string(), told(found.seconds)]
    };
    page.csv =
        comma_separated(&["benchmark", "loads", "seconds_at_most"], &found.iter().map(numbers).collect::<Vec<_>>())?;
    Ok(page)
}
