//! What the papers' designs do on a V100, whose L1 is of 128 KB and whose L2 has sectors, beside what they do on the
//! machine of their time.

mod design;
mod page;
mod size;
mod verdict;

use crate::counted::{Measured, counted};
use crate::page::Page;
use crate::runs::Point;
use crate::{Desk, Figure, Halt};

use design::Design;
use page::Found;

/// What is compared, and what draws it.
pub(super) const FIGURES: &[Figure] = &[Figure {
    name: "volta",
    shows: "Designs of the papers on a V100: speed-up, hits, traffic, area and energy",
    draw: volta,
}];

/// The machine asked about.
const VOLTA: &str = "volta";
/// The one that most of the papers had.
const FERMI: &str = "fermi";

/// What every kernel did with a design on both machines.
struct Runs {
    design: &'static Design,
    volta: Vec<Measured>,
    fermi: Vec<Measured>,
}

fn volta(desk: &Desk) -> Result<Page, Halt> {
    let (kernels, left_out) = size::kernels(&desk.kernels, desk.is_quick)?;
    let designs = design::composed();
    let mut points = Vec::new();
    for design in &designs {
        for machine in [VOLTA, FERMI] {
            let point = |kernel: &size::Kernel| Point::new(&kernel.path, machine, design.parts, design.sets(machine));
            points.extend(kernels.iter().map(point));
        }
    }
    let done = counted(desk, &points)?;
    let mut done = done.chunks(kernels.len().max(1)).map(<[_]>::to_vec);
    let mut next = || done.next().unwrap_or_default();
    let runs = designs.iter().map(|&design| Runs { design, volta: next(), fermi: next() }).collect();
    page::draw(desk.is_quick, &Found { kernels, left_out, runs })
}
