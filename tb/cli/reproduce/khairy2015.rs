//! Figures of khairy2015: its applications, and what they have in common.

mod fig12;
mod fig2;

use super::Desk;
use crate::reproduce::Halt;
use crate::reproduce::judge::harmonic_mean;
use crate::reproduce::runs::{Clocked, Point};

pub(super) use fig2::fig2;
pub(super) use fig12::fig12;

/// The machine that the paper ran on.
const MACHINE: &str = "fermi";

/// What keeps an application from its caches, by Table 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// No cache helps it.
    Streaming,
    /// It streams through the L1, and the L2 helps it, or would if it were larger.
    StreamingL1,
    Conflict,
    Thrashing,
    /// Thrashing and conflicts within a warp.
    Both,
    Friendly,
}

impl Kind {
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

/// Those that contend for the L1.
const CONTENTION: [Kind; 3] = [Kind::Conflict, Kind::Thrashing, Kind::Both];

/// An application of the paper and our kernel of the same algorithm.
struct App {
    name: &'static str,
    kernel: &'static str,
    size: &'static str,
    kind: Kind,
}

const fn app(name: &'static str, kernel: &'static str, size: &'static str, kind: Kind) -> App {
    App { name, kernel, size, kind }
}

/// The applications of Table 2 in its order.
const APPS: [App; 22] = [
    app("BLK", "blackscholes", "launch", Kind::Streaming),
    app("Sprod", "scalarprod", "launch", Kind::Streaming),
    app("VAdd", "vadd", "launch", Kind::Streaming),
    app("FWT", "fwt", "launch", Kind::StreamingL1),
    app("NW", "nw", "launch", Kind::StreamingL1),
    app("HS", "hotspot", "launch", Kind::StreamingL1),
    app("CONV", "conv", "launch", Kind::StreamingL1),
    app("SRAD", "srad2", "paper", Kind::Conflict),
    app("3DS", "stencil3d", "paper", Kind::Conflict),
    app("2DCONV", "conv2d", "paper", Kind::Conflict),
    app("MM", "mm2", "paper", Kind::Conflict),
    app("SCLUSTER", "streamcluster", "paper", Kind::Conflict),
    app("BFS", "bfs", "launch", Kind::Thrashing),
    app("SpMV", "spmv_csr", "launch", Kind::Thrashing),
    app("IIX", "invindex", "launch", Kind::Thrashing),
    app("KM", "kmeans", "launch", Kind::Thrashing),
    app("SYRK", "syrk", "launch", Kind::Both),
    app("GESUMMV", "gesummv", "launch", Kind::Both),
    app("PEst", "pest", "launch", Kind::Friendly),
    app("B+tree", "btree", "launch", Kind::Friendly),
    app("BP", "backprop", "launch", Kind::Friendly),
    app("NN", "nn", "launch", Kind::Friendly),
];

const KERNELS: &str = "Kernels are our own sources of the same algorithms, sizes those of `kernels/README.md`.";

/// The applications of some kinds.
fn apps(kinds: &[Kind]) -> Vec<&'static App> {
    APPS.iter().filter(|app| kinds.contains(&app.kind)).collect()
}

/// What each application counts on each machine, which are given by their designs and settings.
fn measured(desk: &Desk, apps: &[&App], machines: &[(&[&str], &[&str])]) -> Result<Vec<Vec<Clocked>>, Halt> {
    let point = |app: &App, (designs, sets): &(&[&str], &[&str])| {
        Point::new(&desk.launch(app.kernel, app.size), MACHINE, designs, sets)
    };
    let points: Vec<_> = apps.iter().flat_map(|app| machines.iter().map(|machine| point(app, machine))).collect();
    let done = desk.runner.clocked(&points)?;
    Ok(done.chunks(machines.len()).map(<[Clocked]>::to_vec).collect())
}

/// The harmonic mean over the applications of some kinds.
fn mean_of(kinds: &[Kind], apps: &[&App], values: &[f64]) -> f64 {
    let of_kinds = apps.iter().zip(values).filter(|(app, _)| kinds.contains(&app.kind));
    harmonic_mean(&of_kinds.map(|(_, value)| *value).collect::<Vec<_>>()).unwrap_or(f64::NAN)
}
