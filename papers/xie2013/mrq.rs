//! xie2013 section 6, benchmark MRQ. A rule that considers each load on its own would let all loads bypass
//! the L1, and performance would drop.

use std::collections::BTreeSet;
use std::path::Path;

use compiler::characterise::{BypassTrafficModel, KernelMetrics};
use compiler::solve::Method;
use miette::miette;
use serde::{Deserialize, Serialize};

use super::speedup::{SIZES, Size, benchmark, chosen, cycles, gain, percent};
use crate::FigureError;
use crate::Session;
use crate::judge::{Class, ComparisonRow, Effect};
use crate::page::{Page, comma_separated};
use warpsieve::config::ResolvedMachine;
use warpsieve::optimize::{Clocked, Optimization, Subject};
use warpsieve::run::{RunError, open, ratio};
use warpsieve::text::format_thousands;

const TEXT: &str = "`mriq_global` runs on `kepler` with 4 CTAs of 32 threads, as in table 2. Every lane reads the same sample, word by word,
from global memory: four successive loads access the same line, and so do eight iterations of the loop. The suite's `mriq`
has its samples in constant memory, like Parboil's source, so bypassing its loads of global memory makes no difference.

According to sections 6 and 7 of the paper, the rule of Jia et al. assumes that no load hits a line that another load or an
earlier iteration fetched; only warps of one CTA may share the line that a load fetches. With one warp per CTA, nothing is
shared: a cached load moves one line per requested line, and a bypassed load moves its sectors. The rule is computed here
from the same counts as the heuristic's choice, and the choice of the rule is run. Our kernel gains more than the paper's:
each SM has a single warp, so no other warp hides the latency of each word from the L2.";

/// Results with one size of the L1.
#[derive(Clone, Serialize, Deserialize)]
struct SizeResults {
    loads: Vec<Load>,
    /// Numbers of cycles in four runs, which differ in the loads that are cached in the L1: no loads, the
    /// loads that the paper's rule for single loads chooses, all loads, and the loads that the heuristic
    /// chooses.
    cycles: [u64; 4],
}

#[derive(Clone, Serialize, Deserialize)]
struct Load {
    line: u32,
    text: String,
    accesses: u64,
    hits_alone: u64,
    /// Two predictions of the rule for the traffic of the load, in bytes: if the load is cached, and if it
    /// bypasses the L1.
    expected: [u64; 2],
    is_cached_by_rule: bool,
    is_cached: bool,
}

/// Number of threads in a warp.
const WARP: u32 = 32;

/// Column headings of the table with one row per load.
const LOADS: [&str; 8] = [
    "line",
    "load",
    "lines requested",
    "hits alone",
    "Jia et al.: bytes cached",
    "bytes bypassed",
    "choice",
    "heuristic",
];

pub(in super::super) fn mrq(session: &Session) -> Result<Page, FigureError> {
    let subject = benchmark("MRQ").ok_or_else(|| miette!("table 2 has no MRQ"))?;
    let points = SIZES.each_ref().map(|size| subject.point(session, size));
    let found = session.runner.measure("mrq", &points, &|launch, resolved| Ok(measure(launch, resolved)?))?;
    let (ctas, threads) = subject.geometry;
    draw(session.is_quick, &found, u64::from(ctas * threads.div_ceil(WARP)))
}

/// Explains why the benchmark MRQ gains much more on our machine than in the paper.
fn waits(found: &SizeResults, warps: u64) -> String {
    let cached = found.loads.iter().filter(|load| load.is_cached);
    let lines = cached.map(|load| load.accesses).sum::<u64>() / warps;
    let [bypassed, _, _, cached] = found.cycles.map(|cycles| ratio(cycles, lines));
    format!(
        "the only warp of an SM loads {} words one after another; each takes {bypassed:.0} cycles from the L2 and \
         {cached:.0} from the L1, and nothing else is issued meanwhile",
        format_thousands(lines)
    )
}

fn measure(launch: &Path, machine: &ResolvedMachine) -> Result<SizeResults, RunError> {
    let config = &machine.config;
    let subject = Subject::new(open(launch, None)?, config)?;
    let optimised = Optimization::new(&subject, subject.characterise(&|| ()), BypassTrafficModel::Uniform);
    let heuristic = chosen(&optimised, Method::Heuristic, launch)?;
    let of_kernel =
        optimised.kernels.iter().flat_map(|kernel| kernel.loads.iter().enumerate().map(move |at| (kernel, at)));
    let load = |(kernel, (i, number)): (&KernelMetrics, (usize, &usize))| {
        let expected = kernel.bytes_without_reuse(i);
        Load {
            line: subject.loads[*number].line,
            text: subject.loads[*number].text.replace('\t', " "),
            accesses: kernel.alone[i].accesses,
            hits_alone: kernel.alone[i].hits,
            expected,
            is_cached_by_rule: expected[0] < expected[1],
            is_cached: heuristic.contains(number),
        }
    };
    let loads: Vec<Load> = of_kernel.map(load).collect();
    let all: BTreeSet<usize> = optimised.graph.loads().iter().copied().collect();
    let by_rule =
        all.iter().zip(&loads).filter(|(_, load)| load.is_cached_by_rule).map(|(number, _)| *number).collect();
    let sets = [BTreeSet::new(), by_rule, all, heuristic];
    let cycles = cycles(&Clocked { subject: &subject, launch, config }, &sets)?;
    Ok(SizeResults { loads, cycles })
}

fn draw(quick: bool, found: &[SizeResults], warps: u64) -> Result<Page, FigureError> {
    let gains = |found: &SizeResults| {
        let [bypass_all, others @ ..] = found.cycles;
        others.map(|cycles| gain(bypass_all, cycles))
    };
    let list = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(percent).collect::<Vec<_>>().join(", ");
    let [rule, _, heuristic] = [0, 1, 2].map(|which| move |found: &SizeResults| gains(found)[which]);
    let rows = vec![
        ComparisonRow::claim(
            Class::Sign,
            "heuristic over bypass all at 16, 32, 48 KB, percent",
            &list(&mut found.iter().map(heuristic)),
            &list(&mut SIZES.iter().map(|size| size.mrq)),
            found.iter().zip(&SIZES).all(|(found, size)| Effect::PERCENT.shows(heuristic(found), size.mrq)),
        )
        .with_reason(&found.first().map_or_else(String::new, |found| waits(found, warps))),
        ComparisonRow::claim(
            Class::Sign,
            "rule of Jia et al. over bypass all, percent",
            &list(&mut found.iter().map(rule)),
            "the same as bypass all",
            found.iter().all(|found| found.loads.iter().all(|load| !load.is_cached_by_rule)),
        ),
    ];
    let title = "xie2013, section 6: MRQ and the rule of Jia et al.";
    let mut page = Page::with_comparison("xie2013/mrq", quick, title, TEXT, rows);
    let row = |(size, found): (&Size, &SizeResults)| {
        let kilobytes = format!("{} KB", size.kilobytes);
        let [rule, cache_all, heuristic] = gains(found).map(percent);
        vec![kilobytes, format_thousands(found.cycles[0]), rule, cache_all, heuristic, percent(size.mrq)]
    };
    page.text("## Speedup");
    let head = ["L1", "cycles, bypass all", "Jia et al., %", "cache all, %", "heuristic, %", "paper, %"];
    page.table(&head, SIZES.iter().zip(found).map(row).collect(), 1);
    page.text(&format!("## Loads at {} KB", SIZES[0].kilobytes));
    let decision = |is_cached| if is_cached { "cached" } else { "bypassed" }.to_owned();
    let row = |load: &Load| {
        let counts = [load.accesses, load.hits_alone, load.expected[0], load.expected[1]].map(format_thousands);
        let named = [load.line.to_string(), format!("`{}`", load.text)];
        named.into_iter().chain(counts).chain([load.is_cached_by_rule, load.is_cached].map(decision)).collect()
    };
    let loads = found.first().map_or(&[][..], |found| &found.loads);
    page.table(&LOADS, loads.iter().map(row).collect(), 2);
    let numbers = |(size, found): (&Size, &SizeResults)| {
        [vec![size.kilobytes.to_string()], found.cycles.map(|cycles| cycles.to_string()).to_vec()].concat()
    };
    let head = ["l1_kb", "bypass_all_cycles", "jia_cycles", "cache_all_cycles", "heuristic_cycles"];
    page.csv = comma_separated(&head, &SIZES.iter().zip(found).map(numbers).collect::<Vec<_>>())?;
    Ok(page)
}
