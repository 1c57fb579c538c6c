//! Comparison of our kernel cycles with those of the simulator Accel-Sim.

mod modern;

use std::path::Path;

use miette::miette;
use warpsieve::config::ResolvedMachine;
use warpsieve::run::{Outcome, RunOptions, Trace, TraceForm, export, open, replay};
use warpsieve::text::format_thousands;
use waves::atomic_file::Scratch;

use crate::apart::Deviation;
use crate::page::Page;
use crate::runs::{Point, RunFailure};
use crate::{Figure, FigureError, Session};

/// List of the figures that compare our simulator with Accel-Sim.
pub(super) const FIGURES: &[Figure] = &[
    Figure {
        name: "accelsim/cycles",
        description: "Cycles of 18 kernels, compared with Accel-Sim on traces of the same programs",
        draw: cycles,
    },
    Figure { name: "accelsim/modern", description: "The same for a V100, an A100 and an H100", draw: modern::draw },
];

/// Kernel with two cycle counts from Accel-Sim: one with its stock configuration, and one with an instruction
/// cache that always hits.
struct Kernel {
    name: &'static str,
    stock: u64,
    perfect: u64,
}

const fn kernel(name: &'static str, stock: u64, perfect: u64) -> Kernel {
    Kernel { name, stock, perfect }
}

/// Kernel cycles measured with Accel-Sim (GPGPU-Sim 4.2, `SM2_GTX480`, `-gpgpu_perf_sim_memcpy 0`). Accel-Sim
/// ran traces that we exported from the size `small` of each kernel.
const KERNELS: [Kernel; 18] = [
    kernel("backprop", 6_703, 3_268),
    kernel("bfs", 37_332, 31_064),
    kernel("conv2d", 3_687, 2_021),
    kernel("gesummv", 6_127, 4_633),
    kernel("histo", 17_482, 12_763),
    kernel("hotspot", 9_319, 4_865),
    kernel("kmeans", 5_166, 2_629),
    kernel("lud", 171_903, 145_949),
    kernel("nn", 18_307, 13_853),
    kernel("nw", 133_749, 122_557),
    kernel("pathfinder", 10_549, 6_651),
    kernel("reduction", 5_810, 2_348),
    kernel("scan", 15_425, 5_868),
    kernel("sgemm", 8_386, 5_709),
    kernel("spmv_csr", 4_668, 3_011),
    kernel("syrk", 4_628, 2_747),
    kernel("transpose", 1_848, 1_020),
    kernel("vadd", 1_764, 923),
];

/// Our machines that are compared with Accel-Sim: name on the results page, and list of designs.
const OURS: [(&str, &[&str]); 3] = [("fermi", &[]), ("gtx480, icache", &["gtx480", "icache"]), ("gtx480", &["gtx480"])];
/// Index in [`OURS`] of the machine with the same instruction cache as Accel-Sim's stock configuration.
const STOCK: usize = 1;
/// Index in [`OURS`] of the machine without an instruction cache. It is compared with Accel-Sim running with
/// an instruction cache that always hits.
const PERFECT: usize = 2;
/// Relative difference in cycles between our machine and Accel-Sim above which the results page lists a
/// kernel.
const FAR: f64 = 0.2;

const ABOUT: &str = "Both simulators replay the same traces, which `trace export` wrote for the small launch files. The designs `gtx480` and
`icache` add what Accel-Sim's configuration of a GTX 480 states and `fermi`, the machine of the papers, lacks. No field was
tuned to match these numbers. Accel-Sim's cycles were measured once, with its instruction cache (*stock*) and with an
instruction cache that always hits (*perfect*).";

fn cycles(session: &Session) -> Result<Page, FigureError> {
    let launches = KERNELS.iter().map(|kernel| session.kernels.join(kernel.name).join("small"));
    let points: Vec<_> =
        launches.flat_map(|launch| OURS.map(|(_, designs)| Point::new(&launch, "fermi", designs, &[]))).collect();
    let cycles = session.runner.measure("replayed", &points, &export_and_replay)?;
    let (rows, _) = cycles.as_chunks::<{ OURS.len() }>();
    draw(session.is_quick, rows)
}

/// Exports a launch file as a trace, replays the trace on our machine, and returns the cycles.
fn export_and_replay(launch: &Path, resolved: &ResolvedMachine) -> Result<u64, RunFailure> {
    replay_as(launch, resolved, TraceForm::default())
}

/// Exports a launch file as a trace of the given form, replays the trace on our machine, and returns the cycles.
fn replay_as(launch: &Path, resolved: &ResolvedMachine, form: TraceForm) -> Result<u64, RunFailure> {
    let folder = Scratch::new().map_err(|e| RunFailure::Failed(format!("no folder for a trace: {e}")))?;
    export(open(launch, None)?, &resolved.config, folder.path(), form)?;
    let recording = Trace::open(folder.path())?;
    let report = replay(&recording, &resolved.config, &RunOptions::default(), &mut |_| {})?;
    match report.outcome {
        Outcome::Finished => Ok(report.counters.cycles),
        other => Err(RunFailure::Failed(format!("the replay ended with {other:?}"))),
    }
}

fn draw(is_quick: bool, rows: &[[u64; OURS.len()]]) -> Result<Page, FigureError> {
    let mut page = Page::new("accelsim/cycles", is_quick, "Cycles compared with Accel-Sim");
    page.text(ABOUT);
    page.text("## Deviation");
    let stock = |kernel: &Kernel| kernel.stock;
    let perfect = |kernel: &Kernel| kernel.perfect;
    let summary = [(STOCK, "stock", stock as fn(&Kernel) -> u64), (PERFECT, "perfect", perfect), (0, "stock", stock)];
    let summary = summary.map(|(ours, theirs, of)| {
        let pairs: Vec<_> =
            rows.iter().zip(&KERNELS).map(|(row, kernel)| [row[ours] as f64, of(kernel) as f64]).collect();
        Deviation::of(&pairs).map(|apart| apart.cells(OURS[ours].0, theirs))
    });
    let summary = summary.into_iter().collect::<Option<Vec<_>>>().ok_or_else(|| miette!("no kernel took a cycle"))?;
    page.table(&["ours", "Accel-Sim", "ratio, geometric mean", "mean error, %", "rank correlation"], summary, 2);
    page.text("## Kernels");
    let head =
        [&["kernel", "stock", "perfect"][..], &OURS.map(|(name, _)| name), &["ratio to stock", "ratio to perfect"]];
    let cells = rows.iter().zip(&KERNELS).map(|(row, kernel)| {
        let cycles = [kernel.stock, kernel.perfect].into_iter().chain(*row).map(format_thousands);
        let ratios = [(STOCK, kernel.stock), (PERFECT, kernel.perfect)];
        let ratios = ratios.map(|(ours, theirs)| format!("{:.2}", row[ours] as f64 / theirs as f64));
        [kernel.name.to_owned()].into_iter().chain(cycles).chain(ratios).collect()
    });
    page.numbers(&head.concat(), cells.collect(), 1)?;
    page.text(&far(rows));
    Ok(page)
}

/// Lists the kernels whose cycles differ from Accel-Sim's by more than [`FAR`].
fn far(rows: &[[u64; OURS.len()]]) -> String {
    let off = |row: &[u64; OURS.len()], kernel: &Kernel| row[STOCK] as f64 / kernel.stock as f64 - 1.0;
    let far = rows.iter().zip(&KERNELS).filter(|(row, kernel)| off(row, kernel).abs() > FAR);
    let far: Vec<_> =
        far.map(|(row, kernel)| format!("{} ({:+.0} %)", kernel.name, 100.0 * off(row, kernel))).collect();
    let limit = 100.0 * FAR;
    if far.is_empty() {
        format!("No kernel deviates from the stock cycles by more than {limit} %.")
    } else {
        format!("Kernels that deviate from the stock cycles by more than {limit} %: {}.", far.join(", "))
    }
}
