//! Effect of the papers' designs on a V100, whose L1 has 128 KB and whose L2 is sectored. This effect is
//! compared with the effect of the same designs on a machine from the time of the papers.

mod design;
mod page;
mod size;
mod verdict;

use crate::counted::{RunMetrics, run_metrics};
use crate::page::Page;
use crate::runs::Point;
use crate::{Figure, FigureError, Session};

use design::Design;
use page::PageResults;

/// List of the figures about the V100; there is only one.
pub(super) const FIGURES: &[Figure] = &[Figure {
    name: "volta",
    description: "Designs of the papers on a V100: speed-up, hits, traffic, area and energy",
    draw: volta,
}];

/// Name of the machine that models the V100.
const VOLTA: &str = "volta";
/// Name of the older machine with which most of the papers evaluate their designs.
const FERMI: &str = "fermi";

/// Results of every kernel with one design on the old and on the new machine.
struct Runs {
    design: &'static Design,
    volta: Vec<RunMetrics>,
    fermi: Vec<RunMetrics>,
}

fn volta(session: &Session) -> Result<Page, FigureError> {
    let (kernels, left_out) = size::kernels(&session.kernels, session.is_quick)?;
    let designs = design::find_composing();
    let mut points = Vec::new();
    for design in &designs {
        for machine in [VOLTA, FERMI] {
            let point = |kernel: &size::Kernel| Point::new(&kernel.path, machine, design.parts, design.sets(machine));
            points.extend(kernels.iter().map(point));
        }
    }
    let done = run_metrics(session, &points)?;
    let mut done = done.chunks(kernels.len().max(1)).map(<[_]>::to_vec);
    let mut next = || done.next().unwrap_or_default();
    let runs = designs.iter().map(|&design| Runs { design, volta: next(), fermi: next() }).collect();
    page::draw(session.is_quick, &PageResults { kernels, left_out, runs })
}
