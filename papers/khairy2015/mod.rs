//! Figures of khairy2015: the applications of the paper, and code that several figures use.

mod counters;
mod fig10;
mod fig11;
mod fig12;
mod fig2;
mod fig3;
mod fig4;
mod fig5;
mod fig6;
mod fig8;
mod fig9;
mod table3;

use rtl::l1::stats::L1Stats;
use rtl::sm::StallReason;

use crate::judge::harmonic_mean;
use crate::runs::{Point, RunResult};
use crate::table::Table;
use crate::{Figure, FigureError, Named, SECTORS, Session, index_of};
use warpsieve::run::{Counters, ratio};

use counters::counters;
use fig2::fig2;
use fig3::fig3;
use fig4::fig4;
use fig5::fig5;
use fig6::fig6;
use fig8::fig8;
use fig9::fig9;
use fig10::fig10;
use fig11::fig11;
use fig12::fig12;
use table3::table3;

/// List of the figures of khairy2015.
pub(super) const FIGURES: &[Figure] = &[
    Figure { name: "khairy2015/fig2", description: "No caches, bounded caches and unbounded caches", draw: fig2 },
    Figure {
        name: "khairy2015/fig3",
        description: "Hits in L1 and L2 by the last user of the line: thread, warp, CTA, SM, launch",
        draw: fig3,
    },
    Figure {
        name: "khairy2015/fig4",
        description: "Reservation fails of the L1 by reason, and its misses",
        draw: fig4,
    },
    Figure {
        name: "khairy2015/fig5",
        description: "Sets that lines map to, with sequential and pseudo-random interleaving",
        draw: |_| fig5(),
    },
    Figure { name: "khairy2015/fig6", description: "Sets that the rows of a matrix map to", draw: |_| fig6() },
    Figure { name: "khairy2015/fig8", description: "IPC of DWT-PRIC and of its components", draw: fig8 },
    Figure { name: "khairy2015/fig9", description: "DWT-PRIC compared with CCWS and MRPB", draw: fig9 },
    Figure { name: "khairy2015/fig10", description: "Misses that DWT-PRIC avoids", draw: fig10 },
    Figure { name: "khairy2015/fig11", description: "Reservation fails that DWT-PRIC avoids", draw: fig11 },
    Figure {
        name: "khairy2015/fig12",
        description: "Pseudo-random set indices compared with higher associativity",
        draw: fig12,
    },
    Figure {
        name: "khairy2015/table3",
        description: "Warps per scheduler: exhaustive search and DWT-CS",
        draw: table3,
    },
    Figure { name: "khairy2015/counters", description: "Hardware state of DWT-CS and of CCWS", draw: |_| counters() },
];

/// Machine that models the paper's GPU.
const MACHINE: &str = "fermi";
/// Design that models a property of the paper's simulator: a write miss fetches the line.
const DESIGN: &str = "fetch-on-write";
/// Designs that together form the paper's scheme DWT-PRIC: streaming bypass of L1 and L2, DWT-CS and PRIC.
const DWT_PRIC: &[&str] = &["dwt-pric", "streaming-l2"];

/// Class of an application by its behavior in the caches (Table 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Application that streams through the L1 and the L2, so no cache helps.
    Streaming,
    /// Application that streams through the L1, but not through the L2: it profits from the L2, or would
    /// profit from a larger one.
    StreamingL1,
    Conflict,
    Thrashing,
    /// Application that thrashes the L1 and also has conflicts in the L1 between the threads of a warp.
    Both,
    Friendly,
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Streaming, Self::StreamingL1, Self::Conflict, Self::Thrashing, Self::Both, Self::Friendly];

    fn name(self) -> &'static str {
        match self {
            Self::Streaming => "streaming",
            Self::StreamingL1 => "streaming in L1",
            Self::Conflict => "conflict",
            Self::Thrashing => "thrashing",
            Self::Both => "thrashing + conflict",
            Self::Friendly => "friendly",
        }
    }
}

/// Classes of applications that Table 2 calls streaming.
const STREAMING: [Kind; 2] = [Kind::Streaming, Kind::StreamingL1];
/// Classes of applications whose warps or threads compete for lines of the L1.
const CONTENTION: [Kind; 3] = [Kind::Conflict, Kind::Thrashing, Kind::Both];

/// Application of the paper, and our kernel with the same algorithm.
struct App {
    name: &'static str,
    kernel: &'static str,
    size: &'static str,
    kind: Kind,
}

const fn app(name: &'static str, kernel: &'static str, size: &'static str, kind: Kind) -> App {
    App { name, kernel, size, kind }
}

impl Named for App {
    fn name(&self) -> &'static str {
        self.name
    }
}

/// Applications of Table 2, in the order of the table.
const APPS: [App; 22] = [
    app("BLK", "blackscholes", "paper", Kind::Streaming),
    app("Sprod", "scalarprod", "paper", Kind::Streaming),
    app("VAdd", "vadd", "paper", Kind::Streaming),
    app("FWT", "fwt", "launch", Kind::StreamingL1),
    app("NW", "nw", "launch", Kind::StreamingL1),
    app("HS", "hotspot", "launch", Kind::StreamingL1),
    app("CONV", "conv", "launch", Kind::StreamingL1),
    app("SRAD", "srad2", "paper", Kind::Conflict),
    app("3DS", "stencil3d", "paper", Kind::Conflict),
    app("2DCONV", "conv2d", "paper", Kind::Conflict),
    app("MM", "mm2", "paper", Kind::Conflict),
    app("SCLUSTER", "streamcluster", "paper", Kind::Conflict),
    app("BFS", "bfs", "thesis", Kind::Thrashing),
    app("SpMV", "spmv_csr", "paper", Kind::Thrashing),
    app("IIX", "invindex", "launch", Kind::Thrashing),
    app("KM", "kmeans", "paper", Kind::Thrashing),
    app("SYRK", "syrk", "paper", Kind::Both),
    app("GESUMMV", "gesummv", "paper", Kind::Both),
    app("PEst", "pest_states", "launch", Kind::Friendly),
    app("B+tree", "btree", "launch", Kind::Friendly),
    app("BP", "backprop", "launch", Kind::Friendly),
    app("NN", "nn", "launch", Kind::Friendly),
];

const KERNELS: &str = "The kernels are our own implementations of the same algorithms; `kernels/README.md` lists their \
    sizes.";
/// Text for the pages with results of the clocked machine that describes how they were measured.
const METHOD: &str = "The baseline is `fermi` with `fetch-on-write`, as the paper's simulator fetches every line that\n\
    a write misses. A load that bypasses the L1 requests only the 32-byte sectors that it touches\n\
    (`l1.bypass_sectors=32`), because that simulator coalesces to the part of a line that a warp needs. The kernels\n\
    are our own implementations of the same algorithms; `kernels/README.md` lists their sizes. For the applications\n\
    with conflicts and streaming, we chose the sizes (`paper`) at which we measured the effects of the paper.\n\
    This is a selection: [strides](../beyond/strides.md) shows what remains of the effects with padded rows.";

/// Returns the applications that belong to one of the given classes.
fn apps(kinds: &[Kind]) -> Vec<&'static App> {
    APPS.iter().filter(|app| kinds.contains(&app.kind)).collect()
}

/// Returns the applications with the given names, in the order of the names.
fn apps_named(names: &[&str]) -> Vec<&'static App> {
    names.iter().map(|name| &APPS[index_of(&APPS, name)]).collect()
}

/// Variant of the machine: names of its designs, and its settings.
type Machine<'a> = (&'a [&'a str], &'a [&'a str]);

/// Returns the machine variant with the given designs and no settings.
fn with<'a>(designs: &'a [&'a str]) -> Machine<'a> {
    (designs, &[])
}

fn point(session: &Session, app: &App, (designs, sets): Machine<'_>) -> Point {
    let [designs, sets] = [[&[DESIGN], designs].concat(), [&[SECTORS], sets].concat()];
    Point::new(&session.launch(app.kernel, app.size), MACHINE, &designs, &sets)
}

/// Runs each application on each variant of the machine.
fn measure(session: &Session, apps: &[&App], machines: &[Machine<'_>]) -> Result<Vec<Vec<RunResult>>, FigureError> {
    session.runner.table(apps, machines, |app, machine| point(session, app, *machine))
}

/// Runs one application on the machine with the given designs, up to core cycle `last`.
fn measured_until(session: &Session, app: &App, designs: &[&str], last: u64) -> Result<RunResult, FigureError> {
    Ok(session.runner.run_clocked_until(&[point(session, app, with(designs))], Some(last))?.remove(0))
}

/// Creates a table with one row per application. Each row begins with the name and the class of the
/// application.
fn app_table<'a>(apps: &[&App], places: usize, columns: impl IntoIterator<Item = (&'a str, Vec<f64>)>) -> Table {
    Table::new(["app", "class"], apps.iter().map(|app| [app.name, app.kind.name()])).columns(places, columns)
}

/// Creates a table of ratios, one row per application. The last rows are the harmonic means of each class and
/// of all applications.
fn with_means(apps: &[&App], columns: impl IntoIterator<Item = (&'static str, Vec<f64>)>) -> Table {
    let kinds = Kind::ALL.into_iter().filter(|kind| apps.iter().any(|app| app.kind == *kind));
    let of_kinds = kinds.fold(app_table(apps, 3, columns), |table, kind| {
        table.below(["harmonic mean", kind.name()], |row| apps[row].kind == kind, harmonic)
    });
    of_kinds.below(["harmonic mean", "all"], |_| true, harmonic)
}

/// Returns a metric of every application on the variant of the machine with index `machine`.
fn each(done: &[Vec<RunResult>], machine: usize, of: impl Fn(&RunResult) -> f64) -> Vec<f64> {
    done.iter().map(|runs| of(&runs[machine])).collect()
}

fn harmonic(values: &[f64]) -> f64 {
    harmonic_mean(values).unwrap_or(f64::NAN)
}

/// Returns the harmonic mean of a metric over the applications of the given classes.
fn mean_of(kinds: &[Kind], apps: &[&App], values: &[f64]) -> f64 {
    let of_kinds = apps.iter().zip(values).filter(|(app, _)| kinds.contains(&app.kind));
    harmonic(&of_kinds.map(|(_, value)| *value).collect::<Vec<_>>())
}

/// Returns, for each application, the IPC on machine variant `machine` divided by the IPC on machine variant
/// `to`. Both are indices into the list of measured variants.
fn relative(done: &[Vec<RunResult>], machine: usize, to: usize) -> Vec<f64> {
    done.iter().map(|runs| runs[machine].counters.ipc() / runs[to].counters.ipc()).collect()
}

/// Returns the number of line requests of loads that the L1s did not serve, because the requests missed or
/// bypassed the L1.
fn misses(counters: &Counters) -> u64 {
    let l1 = counters.totals().l1;
    l1.misses + l1.bypasses
}

/// Returns the line requests of loads that the L1s did not serve, in percent of all line requests of loads.
fn miss_percent(run: &RunResult) -> f64 {
    100.0 * ratio(misses(&run.counters), run.counters.totals().l1.accesses)
}

/// Number of reasons for reservation fails that the paper distinguishes: the first ones of
/// [`rtl::l1::watch::Fail`].
const PAPER_FAILS: usize = 4;

/// Returns, for each reason, the reservation fails per thousand cycles, averaged over all L1s. A reservation
/// fail is a cycle in which the oldest access of an L1 was stalled.
fn fails_per_kilocycle(run: &RunResult) -> [f64; PAPER_FAILS] {
    let Counters { l1, cycles, .. } = &run.counters;
    let fails = |reason: usize| l1.iter().map(|unit: &L1Stats| unit.fails[reason]).sum::<u64>();
    std::array::from_fn(|reason| 1000.0 * ratio(fails(reason), cycles * l1.len() as u64))
}

/// Returns by how many percent `after` is smaller than `before`. Returns 0 if `before` is 0.
fn cut(before: f64, after: f64) -> f64 {
    if before == 0.0 { 0.0 } else { 100.0 * (1.0 - after / before) }
}

/// Returns the percentage of scheduler cycles in which no warp issued because all ready warps were throttled.
fn throttled_percent(run: &RunResult) -> f64 {
    let shares = run.counters.scheduler_shares();
    shares.iter().find(|(reason, _)| *reason == StallReason::Throttled).map_or(0.0, |(_, share)| 100.0 * share)
}

/// Formats the limits on warps that DWT-CS found, one for each kernel.
fn limits(run: &RunResult) -> String {
    if run.warp_limits.is_empty() {
        return "none".to_owned();
    }
    run.warp_limits.iter().map(|(_, limit)| limit.to_string()).collect::<Vec<_>>().join(", ")
}
