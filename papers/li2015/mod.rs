//! Figures of li2015: the applications of the paper, and code that several figures use.

mod cost;
mod fig10;
mod fig2;
mod fig5;
mod fig8;
mod fig9;
mod reuse;
mod schemes;
mod table1;
mod variants;
mod watched;

use std::path::PathBuf;

use miette::Report;

use crate::judge::{Effect, geometric_mean};
use crate::runs::{Point, RunResult};
use crate::table::Table;
use crate::{Figure, FigureError, Named, SECTORS, Session, index_of};
use warpsieve::launch::LaunchFile;

use cost::cost;
use fig2::fig2;
use fig5::fig5;
use fig8::fig8;
use fig9::fig9;
use fig10::fig10;
use reuse::{fig3, fig4};
use table1::table1;
use variants::{fig12, fig13, fig14, fig15};
use watched::{contention, fig11};

/// List of the figures of li2015.
pub(super) const FIGURES: &[Figure] = &[
    Figure {
        name: "li2015/table1",
        description: "IPC if all loads bypass the L1, which tells friendly applications from unfriendly ones",
        draw: table1,
    },
    Figure { name: "li2015/fig2", description: "Larger and more associative caches: L1 or L2", draw: fig2 },
    Figure { name: "li2015/fig3", description: "How often lines are requested", draw: fig3 },
    Figure { name: "li2015/fig4", description: "How soon lines are requested again", draw: fig4 },
    Figure { name: "li2015/fig5", description: "Hit rates, and requests without reuse", draw: fig5 },
    Figure {
        name: "li2015/fig8",
        description: "Bypass schemes and the decoupled L1: the unfriendly applications",
        draw: fig8,
    },
    Figure {
        name: "li2015/fig9",
        description: "Bypass schemes and the decoupled L1: the friendly applications",
        draw: fig9,
    },
    Figure {
        name: "li2015/fig10",
        description: "Bypass schemes and the decoupled L1: L1 hits and traffic below the L1",
        draw: fig10,
    },
    Figure { name: "li2015/fig11", description: "Loads of the particle filter that enter the L1", draw: fig11 },
    Figure { name: "li2015/fig12", description: "Replacement policies", draw: fig12 },
    Figure { name: "li2015/fig13", description: "Tags, ways and thresholds of the decoupled L1", draw: fig13 },
    Figure { name: "li2015/fig14", description: "The decoupled L1 at 16 to 128 KB", draw: fig14 },
    Figure { name: "li2015/fig15", description: "The decoupled L1 under three schedulers", draw: fig15 },
    Figure {
        name: "li2015/contention",
        description: "Stalls, footprint and misses with and without the decoupled L1",
        draw: contention,
    },
    Figure { name: "li2015/cost", description: "Bits, area and energy of the decoupled L1", draw: cost },
];

/// Machine that models the paper's GPU.
const MACHINE: &str = "fermi";
/// Name of the design that sets the clocks of the paper.
const DESIGN: &str = "li2015-clocks";

/// Class of an application by how sensitive its performance is to the L1 (Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unfriendly,
    Insensitive,
    Friendly,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Unfriendly, Self::Insensitive, Self::Friendly];

    fn name(self) -> &'static str {
        match self {
            Self::Unfriendly => "unfriendly",
            Self::Insensitive => "insensitive",
            Self::Friendly => "friendly",
        }
    }
}

/// Application of the paper, and our kernel with the same algorithm.
#[derive(Clone, Copy, Debug)]
struct App {
    name: &'static str,
    kernel: &'static str,
    size: &'static str,
    kind: Kind,
    /// Published ratio from Table 1: IPC with all loads bypassing the L1 divided by IPC with no load
    /// bypassing it.
    bypassed: f64,
}

impl Named for App {
    fn name(&self) -> &'static str {
        self.name
    }
}

const fn app(name: &'static str, kernel: &'static str, size: &'static str, kind: Kind, bypassed: f64) -> App {
    App { name, kernel, size, kind, bypassed }
}

/// Applications of Table 1, in the order of the table.
const APPS: [App; 18] = [
    app("PTF", "likelihood", "launch", Kind::Unfriendly, 1.36),
    app("SD2", "srad2", "li", Kind::Unfriendly, 1.36),
    app("NW", "nw", "suite", Kind::Unfriendly, 1.24),
    app("SSSP", "sssp", "li", Kind::Unfriendly, 1.21),
    app("LUD", "lud", "launch", Kind::Unfriendly, 1.17),
    app("HS", "hotspot", "suite", Kind::Unfriendly, 1.05),
    app("BH", "octree", "li", Kind::Unfriendly, 1.04),
    app("CFD", "cfd", "li", Kind::Insensitive, 1.00),
    app("LFK", "leukocyte", "launch", Kind::Insensitive, 1.00),
    app("GS", "gaussian", "small", Kind::Insensitive, 1.00),
    app("FFT", "fft", "launch", Kind::Insensitive, 1.00),
    app("MYC", "myocyte", "launch", Kind::Insensitive, 1.00),
    app("PF", "pathfinder", "li", Kind::Insensitive, 1.00),
    app("SD1", "srad1", "launch", Kind::Friendly, 0.97),
    app("HT", "heartwall", "launch", Kind::Friendly, 0.55),
    app("MM", "sgemm_cache", "launch", Kind::Friendly, 0.54),
    app("BT", "btree", "launch", Kind::Friendly, 0.41),
    app("BP", "backprop", "launch", Kind::Friendly, 0.23),
];

const KERNELS: &str = "The kernels are our own implementations of the same algorithms; `kernels/README.md` lists\n\
    their sizes. SD2, NW, LUD and HS have the default inputs of their suite, as section 5 of the paper says, although\n\
    Table 1 counts fewer instructions for NW and LUD. PTF is the likelihood step of the particle filter. In BH, each\n\
    warp walks a tree whose nodes are in the order in which a parallel construction leaves them. There are enough\n\
    bodies to fill all SMs; the smallest run of the suite has twice as many. CFD is the single kernel whose\n\
    instruction count matches the paper's; it has no loads. LFK computes the vector field by which the original\n\
    tracks its cells, and MYC the rates of a smaller model of the cell. A load that bypasses the L1 requests only the\n\
    32-byte sectors that it touches, because the paper's simulator coalesces to the part of a line that a warp needs.\n\
    That simulator fetches a whole line only for a miss in the L1.";

/// Returns the applications that belong to one of the given classes.
fn apps(kinds: &[Kind]) -> Vec<&'static App> {
    APPS.iter().filter(|app| kinds.contains(&app.kind)).collect()
}

impl App {
    fn launch(&self, session: &Session) -> PathBuf {
        session.launch(self.kernel, self.size)
    }

    /// Creates a simulation point with the given designs and settings. Loads that bypass the L1 request
    /// single sectors, unless one of the settings in `sets` selects otherwise.
    fn point(&self, session: &Session, designs: &[&str], sets: &[&str]) -> Point {
        let field = SECTORS.split('=').next();
        let says = sets.iter().any(|set| set.split('=').next() == field);
        let sectors: &[&str] = if says { &[] } else { &[SECTORS] };
        Point::new(&self.launch(session), MACHINE, &[&[DESIGN], designs].concat(), &[sectors, sets].concat())
    }
}

/// Returns the number of tree nodes in the launch file of application BH, and the number of warps that
/// traverse the tree.
fn walk(session: &Session) -> Result<(usize, u32), Report> {
    let file = LaunchFile::read(&APPS[index_of(&APPS, "BH")].launch(session))?;
    let nodes = file.buffers.iter().find(|buffer| buffer.name == "place").map_or(0, |buffer| buffer.elements);
    let threads = file.launches().map(|launch| launch.grid.iter().chain(&launch.block).product::<u32>()).max();
    Ok((nodes, threads.unwrap_or_default() / WARP))
}

/// Effect on a hit rate in percent. Hit rates of up to 1 % are regarded as no effect, because the paper's
/// text calls them zero.
const BELOW_ONE: Effect = Effect { neutral: 0.0, none: 1.0 };

/// Number of threads in a warp.
const WARP: u32 = 32;

/// Runs each application on each machine. A machine is given by its designs and settings.
fn measure(
    session: &Session,
    apps: &[&App],
    machines: &[(Vec<&str>, Vec<&str>)],
) -> Result<Vec<Vec<RunResult>>, FigureError> {
    session.runner.table(apps, machines, |app, (designs, sets)| app.point(session, designs, sets))
}

/// Creates a table with one row per application. Each row begins with the name of the application.
fn app_table(apps: &[&App], places: usize, columns: impl IntoIterator<Item = (impl Into<String>, Vec<f64>)>) -> Table {
    Table::new(["app"], apps.iter().map(|app| [app.name])).columns(places, columns)
}

/// Creates a table of IPC relative to a baseline. Its last row is the geometric mean over the applications of
/// one class.
fn relative_sheet(
    kind: Kind,
    apps: &[&App],
    columns: impl IntoIterator<Item = (impl Into<String>, Vec<f64>)>,
) -> Table {
    app_table(apps, 3, columns).below(["mean"], |row| apps[row].kind == kind, geometric)
}

/// Label of the vertical axis in charts of relative IPC.
const RELATIVE_IPC: &str = "IPC, relative";

/// Returns the geometric mean of a metric over the applications of a class.
fn mean_of(kind: Kind, apps: &[&App], values: &[f64]) -> f64 {
    let of_kind = apps.iter().zip(values).filter(|(app, _)| app.kind == kind);
    geometric(&of_kind.map(|(_, value)| *value).collect::<Vec<_>>())
}

fn geometric(values: &[f64]) -> f64 {
    geometric_mean(values).unwrap_or(f64::NAN)
}
