//! xie2013 Figure 5: speedup over a run in which every load bypasses the L1, for three sizes of the L1.

use std::collections::BTreeSet;
use std::path::Path;

use compiler::characterise::BypassTrafficModel;
use compiler::solve::Method;
use rtl::l1::watch::Fail;
use serde::{Deserialize, Serialize};

use super::speedup::{BENCHMARKS, Benchmark, SIZES, chosen, cycles, gain, mean, percent};
use crate::FigureError;
use crate::Session;
use crate::judge::{Class, ComparisonRow, Effect};
use crate::page::{Page, comma_separated};
use warpsieve::config::ResolvedMachine;
use warpsieve::launch::LaunchFile;
use warpsieve::optimize::{Clocked, Optimization, Subject};
use warpsieve::run::{RunError, open};
use warpsieve::text::format_thousands;

const TEXT: &str = "Cycles of `kepler` with every load bypassed, and the speedup over that run in percent with every load cached, with
the loads cached that the heuristic selects, and with the loads cached that integer programming selects. Both methods use
one profile on untimed caches, with one efficiency for all loads, as in section 4. The paper measured single kernels on a
GTX 680; here a whole launch file runs. Launches are as large as in table 2, with four exceptions, whose CTAs have the
paper's size or the nearest size that the kernel supports. At full size, a run of KMI or MGR would take two minutes of one
core; a run of BFS takes 50 seconds and all others less than 10. EUF and SPM read a mesh and a sorted matrix from files,
which would take megabytes at full size.
";

/// Results of a benchmark with one size of the L1.
#[derive(Clone, Serialize, Deserialize)]
struct BenchmarkResults {
    launch: String,
    loads: usize,
    /// Number of loads that the heuristic caches.
    cached: usize,
    bypass_all: u64,
    /// Numbers of cycles in three runs, which differ in the loads that are cached in the L1: all loads, the
    /// loads that the heuristic chooses, and the loads that integer programming chooses.
    cycles: [u64; 3],
}

impl BenchmarkResults {
    /// Returns the speedup of each of the three runs over a run in which every load bypasses the L1, in
    /// percent.
    fn gains(&self) -> [f64; 3] {
        self.cycles.map(|cycles| gain(self.bypass_all, cycles))
    }
}

pub(in super::super) fn fig5(session: &Session) -> Result<Page, FigureError> {
    // Simulation points are ordered by the size of the L1, then by benchmark, like the rows of the tables.
    let has_size = |size: usize| BENCHMARKS.iter().filter(move |benchmark| size < benchmark.sizes);
    let jobs = || (0..SIZES.len()).flat_map(|size| has_size(size).map(move |benchmark| (size, benchmark)));
    let points: Vec<_> = jobs().map(|(size, benchmark)| benchmark.point(session, &SIZES[size])).collect();
    let found = session.runner.measure("fig5", &points, &|launch, resolved| Ok(measure(launch, resolved)?))?;
    let bars: Vec<Bar<'_>> =
        jobs().zip(&found).map(|((size, benchmark), found)| Bar { size, benchmark, found }).collect();
    draw(session, &bars)
}

fn measure(launch: &Path, machine: &ResolvedMachine) -> Result<BenchmarkResults, RunError> {
    let config = &machine.config;
    let subject = Subject::new(open(launch, None)?, config)?;
    let optimised = Optimization::new(&subject, subject.characterise(&|| ()), BypassTrafficModel::Uniform);
    let all: BTreeSet<usize> = optimised.graph.loads().iter().copied().collect();
    let heuristic = chosen(&optimised, Method::Heuristic, launch)?;
    let (loads, cached) = (all.len(), heuristic.len());
    let sets = [BTreeSet::new(), all, heuristic, chosen(&optimised, Method::Ilp, launch)?];
    let [bypass_all, cycles @ ..] = cycles(&Clocked { subject: &subject, launch, config }, &sets)?;
    Ok(BenchmarkResults { launch: geometry(launch)?, loads, cached, bypass_all, cycles })
}

/// Returns a text with the number of CTAs and the number of threads per CTA of the largest launch.
fn geometry(launch: &Path) -> Result<String, RunError> {
    let file = LaunchFile::read(launch)?;
    let sizes = file.launches().map(|launch| {
        let of = |extents: &[u32; 3]| extents.iter().map(|&extent| u64::from(extent)).product::<u64>();
        (of(&launch.grid), of(&launch.block))
    });
    let largest = sizes.max_by_key(|(ctas, threads)| ctas * threads).unwrap_or_default();
    Ok(format!("{} x {}", largest.0, largest.1))
}

/// Bar of the figure: a benchmark with one size of the L1, and its results.
struct Bar<'a> {
    size: usize,
    benchmark: &'a Benchmark,
    found: &'a BenchmarkResults,
}

impl Bar<'_> {
    fn cells(&self) -> Vec<String> {
        let Benchmark { theirs, kernel, geometry: (ctas, threads), .. } = self.benchmark;
        let BenchmarkResults { launch, loads, cached, bypass_all, .. } = self.found;
        let name = format!("{kernel} ({theirs})");
        let [loads, cached] = [loads, cached].map(usize::to_string);
        let cells = [name, launch.clone(), format!("{ctas} x {threads}"), loads, cached, format_thousands(*bypass_all)];
        cells.into_iter().chain(self.found.gains().map(percent)).collect()
    }

    fn numbers(&self) -> Vec<String> {
        let BenchmarkResults { bypass_all, cycles: [cache_all, heuristic, ilp], .. } = self.found;
        let names = [SIZES[self.size].kilobytes.to_string(), self.benchmark.theirs.to_owned()];
        let cycles = [bypass_all, cache_all, heuristic, ilp].map(u64::to_string);
        names.into_iter().chain(cycles).collect()
    }
}

const HEAD: [&str; 9] = [
    "kernel",
    "CTAs x threads",
    "in the paper",
    "loads",
    "cached",
    "cycles, bypass all",
    "cache all, %",
    "heuristic, %",
    "ILP, %",
];

fn draw(session: &Session, bars: &[Bar<'_>]) -> Result<Page, FigureError> {
    let mut page =
        Page::new("xie2013/fig5", session.is_quick, "xie2013, figure 5: cached loads at three sizes of the L1");
    page.text(TEXT);
    let mut means = Vec::new();
    for (number, size) in SIZES.iter().enumerate() {
        let of_size: Vec<_> = bars.iter().filter(|bar| bar.size == number).collect();
        let mut rows: Vec<_> = of_size.iter().map(|bar| bar.cells()).collect();
        let mean_of = |which: usize| mean(&of_size.iter().map(|bar| bar.found.gains()[which]).collect::<Vec<_>>());
        let ours = [0, 1, 2].map(mean_of);
        let blank = |name: &str| [name, "", "", "", "", ""].map(str::to_owned).to_vec();
        rows.push([blank("geometric mean"), ours.map(percent).to_vec()].concat());
        rows.push([blank("paper"), size.theirs.map(percent).to_vec(), vec![String::new()]].concat());
        page.text(&format!("## L1 of {} KB", size.kilobytes));
        page.table(&HEAD, rows, 3);
        means.push(ours);
    }
    let mut rows = verdicts(&means, || losing(session, bars))?;
    rows.push(most(bars));
    page.add_rows(rows);
    let head = ["l1_kb", "benchmark", "bypass_all_cycles", "cache_all_cycles", "heuristic_cycles", "ilp_cycles"];
    page.csv = comma_separated(&head, &bars.iter().map(Bar::numbers).collect::<Vec<_>>())?;
    Ok(page)
}

/// Highest speedup that the paper states. It does not say for which benchmark.
const PUBLISHED_MAX: f64 = 2.62;
/// Benchmark that slows down so much with all loads cached in an L1 of 16 KB that the mean over all
/// benchmarks is a loss.
const LOSING: &str = "SRR";
/// Name of the design whose L1 has a hashed set index.
const HASHED: &str = "fermi-hash";

/// Result of a run in which every load is cached in the L1.
#[derive(Clone, Serialize, Deserialize)]
struct CachedAll {
    cycles: u64,
    /// Number of cycles in which the L1 stalled a load because all ways of its set were reserved.
    without_way: u64,
}

fn cache_all(launch: &Path, machine: &ResolvedMachine) -> Result<CachedAll, RunError> {
    let config = &machine.config;
    let subject = Subject::new(open(launch, None)?, config)?;
    let all = subject.lines_asked().into_keys().collect();
    let counters = Clocked { subject: &subject, launch, config }.run(&all)?.counters;
    let without_way = counters.l1.iter().map(|unit| unit.fails[Fail::LineAlloc as usize]).sum();
    Ok(CachedAll { cycles: counters.cycles, without_way })
}

/// Explains why caching all loads is a loss with an L1 of 16 KB. The explanation is based on runs of the
/// benchmark [`LOSING`] with a linear and with a hashed set index.
fn losing(session: &Session, bars: &[Bar<'_>]) -> Result<String, FigureError> {
    let size = &SIZES[0];
    let at_size = || bars.iter().filter(|bar| bar.size == 0);
    let Some(bar) = at_size().find(|bar| bar.benchmark.theirs == LOSING) else { return Ok(String::new()) };
    let plain = bar.benchmark.point(session, size);
    let mut hashed = plain.clone();
    hashed.request.designs.push(HASHED.to_owned());
    let found =
        session.runner.measure("cache-all", &[plain, hashed], &|launch, resolved| Ok(cache_all(launch, resolved)?))?;
    let others = at_size().filter(|bar| bar.benchmark.theirs != LOSING).map(|bar| bar.found.gains()[0]);
    Ok(format!(
        "{LOSING} reads 900 elements that are 2 KB apart and map to two of the 32 sets. Of its {} cycles at {} KB, the L1 \
         stalls a load for {} because no way can be reserved. With a hashed set index (`{HASHED}`) it takes {} cycles, \
         and {} with all loads bypassed. Without {LOSING}, the mean at {} KB is {}",
        format_thousands(found[0].cycles),
        size.kilobytes,
        format_thousands(found[0].without_way),
        format_thousands(found[1].cycles),
        format_thousands(bar.found.bypass_all),
        size.kilobytes,
        percent(mean(&others.collect::<Vec<_>>()))
    ))
}

/// Compares the highest speedup of the heuristic over all benchmarks and L1 sizes with the highest speedup in
/// the paper.
fn most(bars: &[Bar<'_>]) -> ComparisonRow {
    let gain = |bar: &Bar<'_>| bar.found.gains()[1];
    let most = bars.iter().max_by(|one, other| gain(one).total_cmp(&gain(other)));
    let (times, name) = most.map_or((f64::NAN, ""), |bar| (1.0 + gain(bar) / 100.0, bar.benchmark.theirs));
    let others = bars.iter().filter(|bar| bar.benchmark.theirs != name).map(gain);
    let next = 1.0 + others.fold(f64::NEG_INFINITY, f64::max) / 100.0;
    ComparisonRow::factor("heuristic over bypass all, highest", times, PUBLISHED_MAX, 1.0)
        .with_reason(&format!("the highest is {name}; without it {next:.2}"))
}

/// Compares our mean speedups with the paper's statements about them.
fn verdicts(
    means: &[[f64; 3]],
    losing: impl FnOnce() -> Result<String, FigureError>,
) -> Result<Vec<ComparisonRow>, FigureError> {
    let list = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(percent).collect::<Vec<_>>().join(", ");
    let listed = |of: &dyn Fn(&[f64; 3]) -> f64| list(&mut means.iter().map(of));
    let all = |holds: &dyn Fn(&[f64; 3]) -> bool| means.iter().all(holds);
    let gains = |what: &str, which: usize| {
        let published = || SIZES.iter().map(|size| size.theirs[which]);
        let what = format!("{what} over bypass all, geometric means in percent");
        let mut pairs = means.iter().map(|means| means[which]).zip(published());
        let holds = pairs.all(|(ours, theirs)| Effect::PERCENT.shows(ours, theirs));
        ComparisonRow::claim(Class::Sign, &what, &listed(&|means| means[which]), &list(&mut published()), holds)
    };
    let cache_all = gains("cache all", 0);
    let cache_all = if cache_all.passed { cache_all } else { cache_all.with_reason(&losing()?) };
    let lead = |[cache_all, heuristic, _]: &[f64; 3]| heuristic - cache_all;
    let shrinks = means.windows(2).all(|sizes| lead(&sizes[1]) <= lead(&sizes[0]));
    let over_better = |[cache_all, heuristic, _]: &[f64; 3]| heuristic - cache_all.max(0.0);
    let over_ilp = |[_, heuristic, ilp]: &[f64; 3]| 100.0 * ((100.0 + heuristic) / (100.0 + ilp) - 1.0);
    let row = |class, what: &str, of: &dyn Fn(&[f64; 3]) -> f64, published: &str, holds| {
        ComparisonRow::claim(class, what, &listed(of), published, holds)
    };
    Ok(vec![
        cache_all,
        gains("heuristic", 1),
        row(
            Class::Ordering,
            "heuristic over the better of cache all and bypass all, points",
            &over_better,
            "none below 0",
            all(&|means| over_better(means) >= 0.0),
        ),
        row(Class::Ordering, "heuristic over cache all, points", &lead, "shrinks as the L1 grows", shrinks),
        row(
            Class::Sign,
            "heuristic over integer programming, percent",
            &over_ilp,
            "within 2",
            all(&|means| over_ilp(means).abs() <= 2.0),
        ),
    ])
}
