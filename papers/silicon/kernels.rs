//! Kernels of the suite on our machine and on a real GPU: cycles, hit rates and DRAM traffic.

use miette::miette;
use rtl::dram::counts::Counts;
use rtl::l1::stats::L1Stats;
use rtl::l2::L2Stats;
use warpsieve::run::Counters;
use warpsieve::text::format_thousands;

use super::gpu::{GpuMeasurement, ProfilerCounters, read_measurements};
use super::{GPU, MACHINE};
use crate::apart::{Deviation, list_deviating};
use crate::judge::mean;
use crate::page::{Drawing, Page};
use crate::runs::{Point, resolve_config};
use crate::scatter::{Dot, Scatter};
use crate::{FigureError, Session};

/// Prefix of the names of the matrix multiplication kernels that need a machine with tensor cores.
const TENSOR: &str = "tensor-";
/// Number of GPU core cycles in ten microseconds. A kernel that takes fewer cycles spends most of its time on
/// the overhead of the launch.
const LONG: f64 = 19_800.0;
/// Relative difference in cycles between our machine and the GPU above which a kernel is listed.
const FAR: f64 = 0.2;
/// Number of kernels that run in quick mode: those with the fewest cycles on the GPU. Quick mode usually uses
/// small problem sizes, but these were not measured on the GPU.
const QUICK: usize = 6;

const ABOUT: &str = "The same launch files run from cold caches on an H100 SXM (`machines/silicon/data/h100-sxm`, measured by
`machines/silicon/run.sh`) and on the machine `hopper`. No field of the machine was tuned to match these numbers. The cycles of the
GPU are those of the shortest of ten runs in the driver's activity records, minus those of an empty kernel, at the clock that the
same run measured. Its counters are Nsight Compute's.";

/// Results of a launch file on the GPU and on our machine.
struct Pair {
    name: String,
    gpu: GpuMeasurement,
    ours: Ours,
}

/// Cycles and counters of a launch file on our machine.
#[derive(Clone, Copy)]
struct Ours {
    cycles: f64,
    counted: ProfilerCounters,
}

impl Ours {
    fn of(counters: &Counters, burst_bytes: u32) -> Self {
        let l1 = |count: fn(&L1Stats) -> u64| counters.l1.iter().map(count).sum::<u64>() as f64;
        let l2 = |count: fn(&L2Stats) -> u64| counters.l2.iter().map(count).sum::<u64>() as f64;
        let reads = counters.dram.iter().map(|Counts { reads, .. }| reads).sum::<u64>() as f64;
        let counted = ProfilerCounters {
            l1: [l1(|l1| l1.hits + l1.hit_pending + l1.misses + l1.sector_misses), l1(|l1| l1.hits + l1.hit_pending)],
            l2: [l2(|l2| l2.hits + l2.hit_pending + l2.misses), l2(|l2| l2.hits + l2.hit_pending)],
            dram_read: reads * f64::from(burst_bytes),
            instructions: counters.cores.iter().map(|core| core.warp_instructions).sum::<u64>() as f64,
        };
        Self { cycles: counters.cycles as f64, counted }
    }
}

/// Returns the hit rate in percent, given the number of lookups and the number of hits; `None` if there are
/// no lookups.
fn percent([all, had]: [f64; 2]) -> Option<f64> {
    (all > 0.0).then(|| 100.0 * had / all)
}

pub(super) fn draw(session: &Session) -> Result<Page, FigureError> {
    let folder = session.kernels.join("../machines/silicon/data").join(GPU);
    let mut gpu: Vec<(String, GpuMeasurement)> = read_measurements(&folder)?.into_iter().collect();
    gpu.retain(|(name, _)| !name.starts_with(TENSOR));
    if session.is_quick {
        gpu.sort_by(|(_, one), (_, other)| one.cycles.total_cmp(&other.cycles));
        gpu.truncate(QUICK);
    }
    let launch = |name: &str| session.kernels.join(name).join("launch.toml");
    let points: Vec<_> = gpu.iter().map(|(name, _)| Point::new(&launch(name), MACHINE, &[], &[])).collect();
    let burst_bytes = resolve_config(MACHINE, &[], &[])?.config.dram.burst_bytes();
    let ours = session.runner.run_clocked(&points)?;
    let pairs = gpu.into_iter().zip(ours);
    let pairs: Vec<_> =
        pairs.map(|((name, gpu), ours)| Pair { name, gpu, ours: Ours::of(&ours.counters, burst_bytes) }).collect();
    page(session.is_quick, &pairs)
}

fn page(is_quick: bool, pairs: &[Pair]) -> Result<Page, FigureError> {
    let mut page = Page::new("silicon/kernels", is_quick, "Kernels compared with an H100");
    page.text(ABOUT);
    page.text("## Deviation");
    let apart = |least: f64, which: &str| -> Option<Vec<String>> {
        let of: Vec<_> = pairs.iter().filter(|pair| pair.gpu.cycles >= least).collect();
        let cycles: Vec<_> = of.iter().map(|pair| [pair.ours.cycles, pair.gpu.cycles]).collect();
        let count = of.len().to_string();
        Some(Deviation::of(&cycles)?.cells(which, &count))
    };
    let rows: Vec<_> = [(0.0, "all"), (LONG, "ten microseconds or longer")]
        .into_iter()
        .filter_map(|(least, which)| apart(least, which))
        .collect();
    let head = ["kernels", "count", "ratio of cycles, geometric mean", "mean error, %", "rank correlation"];
    page.table(&head, rows, 1);
    page.text(&hits(pairs).ok_or_else(|| miette!("no kernel has counters of the profiler"))?);
    page.text("## Kernels");
    let head = [
        "kernel",
        "launches",
        "cycles, H100",
        "ours",
        "ratio",
        "instructions, ratio",
        "L1 %, H100",
        "ours",
        "L2 %, H100",
        "ours",
        "DRAM KB, H100",
        "ours",
    ];
    page.numbers(&head, pairs.iter().map(cells).collect(), 1)?;
    page.text(&far(pairs));
    page.text(
        "Our machine executes the PTX itself; the GPU executes the output of `ptxas`. Where the ratio of instructions is well above 1, `ptxas`
unrolled a loop or merged code, and loads wait for each other less. The L1 of `hopper` takes as many cycles for a load as measured
on an H200: the lines in the fullest of four tag banks or the words in the fullest of 32 data banks, whichever is more
(`machines/silicon/README.md`).",
    );
    let dots = pairs.iter().map(|pair| Dot {
        name: pair.name.clone(),
        at: (pair.gpu.cycles.log10(), pair.ours.cycles.log10()),
        is_on_line: false,
    });
    let scatter = Scatter {
        title: "Cycles compared with an H100".to_owned(),
        across: "cycles of the H100, power of ten".to_owned(),
        up: "our cycles, power of ten".to_owned(),
        dots: dots.collect(),
    };
    page.drawing("", Drawing::Scatter(scatter));
    Ok(page)
}

/// Formats the row of a launch file in the table.
fn cells(pair: &Pair) -> Vec<String> {
    let Pair { name, gpu, ours } = pair;
    let ratio = format!("{:.2}", ours.cycles / gpu.cycles);
    let instructions = gpu.counted.map(|counted| ours.counted.instructions / counted.instructions);
    let instructions = instructions.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
    let rate = |rates: Option<[f64; 2]>| rates.and_then(percent).map_or("-".to_owned(), |part| format!("{part:.1}"));
    let kilobytes =
        |bytes: Option<f64>| bytes.map_or("-".to_owned(), |bytes| format_thousands((bytes / 1024.0).round() as u64));
    let cycles = [gpu.cycles, ours.cycles].map(|cycles| format_thousands(cycles.round() as u64));
    let both =
        |of: fn(&ProfilerCounters) -> [f64; 2]| [rate(gpu.counted.as_ref().map(of)), rate(Some(of(&ours.counted)))];
    let dram = [kilobytes(gpu.counted.map(|counted| counted.dram_read)), kilobytes(Some(ours.counted.dram_read))];
    let start = [name.clone(), gpu.launches.to_string()].into_iter().chain(cycles).chain([ratio, instructions]);
    start.chain(both(|counted| counted.l1)).chain(both(|counted| counted.l2)).chain(dram).collect()
}

/// Describes the average difference between our hit rates and those of the GPU.
fn hits(pairs: &[Pair]) -> Option<String> {
    let off = |of: fn(&ProfilerCounters) -> [f64; 2]| {
        let points = pairs.iter().filter_map(|pair| {
            let theirs = percent(of(pair.gpu.counted.as_ref()?))?;
            Some((percent(of(&pair.ours.counted))? - theirs).abs())
        });
        mean(&points.collect::<Vec<_>>())
    };
    let (l1, l2) = (off(|counted| counted.l1)?, off(|counted| counted.l2)?);
    Some(format!(
        "Hit rates differ by {l1:.1} percentage points in the L1 and {l2:.1} in the L2, on average over the kernels that have hit rates. The GPU
counts sectors, in the L2 only those of loads. Our machine counts a pending hit, an access that waits for data in flight, as a hit."
    ))
}

/// Lists the kernels whose cycles on our machine differ from those on the GPU by more than [`FAR`].
fn far(pairs: &[Pair]) -> String {
    let mut ratios: Vec<_> = pairs.iter().map(|pair| (pair.name.clone(), pair.ours.cycles / pair.gpu.cycles)).collect();
    ratios.sort_by(|(_, one), (_, other)| (other - 1.0).abs().total_cmp(&(one - 1.0).abs()));
    format!("Kernels whose cycles deviate by more than {} %: {}.", 100.0 * FAR, list_deviating(FAR, ratios))
}
