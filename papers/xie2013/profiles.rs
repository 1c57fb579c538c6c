//! xie2013 section 4.3: the profile of loads, obtained in two ways: from models of the caches without timing,
//! and from runs of the clocked machine.

use std::collections::BTreeSet;
use std::path::Path;

use compiler::characterise::{BypassTrafficModel, KernelMetrics};
use compiler::solve::Method;
use serde::{Deserialize, Serialize};

use super::speedup::{MACHINE, chosen, cycles, gain, percent};
use crate::FigureError;
use crate::Session;
use crate::page::{Page, comma_separated};
use crate::runs::Point;
use warpsieve::config::ResolvedMachine;
use warpsieve::optimize::{Clocked, Optimization, Subject};
use warpsieve::run::{RunError, open};
use warpsieve::text::format_thousands;

/// Kernels and problem sizes that take only seconds to profile. A profile has one run per load and per pair
/// of loads.
const SUBJECTS: [(&str, &str); 6] = [
    ("bfs", "launch"),
    ("kmeans", "launch"),
    ("mriq_global", "xie"),
    ("particlefilter", "xie"),
    ("spmv_jds", "launch"),
    ("srad1_sums", "launch"),
];

const TEXT: &str = "`kepler` with an L1 of 16 KB. A profile counts hits for each load and each pair of loads, with only these loads cached. The
untimed profile is taken on the golden L1, which runs the CTAs of an SM one after another and fills a line at once. On the
clocked machine, warps run concurrently, and a load whose line is in flight (a pending hit) counts as a hit, because it
sends no request to the L2. The hits here are those of each load alone, summed over all loads. The heuristic chooses loads
from each profile, and both choices run on the clocked machine. The paper profiles on hardware. By default,
`warpsieve optimize` profiles on untimed caches, which takes one run in all instead of one per pair.";

/// Results of one kernel with both ways of profiling.
#[derive(Clone, Serialize, Deserialize)]
struct KernelResults {
    loads: usize,
    runs: usize,
    /// Number of line requests of all loads together.
    accesses: u64,
    /// Sum over all loads of the hits that each load has if it is the only cached load. The first sum is for
    /// the caches without timing, the second for the clocked machine.
    hits: [u64; 2],
    /// Number of loads on which the two profiles disagree: the load is cached according to one profile, and
    /// bypasses the L1 according to the other.
    differ: usize,
    /// Numbers of cycles in three runs, which differ in the loads that are cached in the L1: no loads, the
    /// loads that the profile without timing chooses, and the loads that the profile of the clocked machine
    /// chooses.
    cycles: [u64; 3],
}

pub(in super::super) fn profiles(session: &Session) -> Result<Page, FigureError> {
    let points = SUBJECTS.map(|(kernel, size)| Point::new(&session.launch(kernel, size), MACHINE, &[], &[]));
    let found = session.runner.measure("profiles", &points, &|launch, resolved| Ok(measure(launch, resolved)?))?;
    draw(session.is_quick, &found)
}

fn measure(launch: &Path, machine: &ResolvedMachine) -> Result<KernelResults, RunError> {
    let config = &machine.config;
    let subject = Subject::new(open(launch, None)?, config)?;
    let clocked = Clocked { subject: &subject, launch, config };
    let hits = |kernels: &[KernelMetrics]| kernels.iter().flat_map(|kernel| &kernel.alone).map(|load| load.hits).sum();
    let solved = |kernels| Optimization::new(&subject, kernels, BypassTrafficModel::Uniform);
    let both = [solved(subject.characterise(&|| ())), solved(clocked.characterise(&|| ())?)];
    let choice = |optimised| chosen(optimised, Method::Heuristic, launch);
    let sets = [BTreeSet::new(), choice(&both[0])?, choice(&both[1])?];
    Ok(KernelResults {
        loads: both[0].graph.len(),
        runs: subject.runs(),
        accesses: both[0].kernels.iter().flat_map(|kernel| &kernel.alone).map(|load| load.accesses).sum(),
        hits: both.each_ref().map(|optimised| hits(&optimised.kernels)),
        differ: sets[1].symmetric_difference(&sets[2]).count(),
        cycles: cycles(&clocked, &sets)?,
    })
}

const HEAD: [&str; 9] = [
    "kernel",
    "loads",
    "runs",
    "lines requested",
    "untimed hits",
    "clocked hits",
    "loads chosen differently",
    "speedup over bypass all, untimed, %",
    "clocked, %",
];

fn draw(quick: bool, found: &[KernelResults]) -> Result<Page, FigureError> {
    let mut page = Page::new("xie2013/profiles", quick, "xie2013, section 4.3: untimed and clocked profiles");
    page.text(TEXT);
    let row = |((kernel, _), found): (&(&str, &str), &KernelResults)| {
        let KernelResults { loads, runs, accesses, hits, differ, cycles: [bypass_all, chosen @ ..] } = found;
        let counts = [*accesses, hits[0], hits[1]].map(format_thousands);
        let named = [(*kernel).to_owned(), loads.to_string(), runs.to_string()];
        let gains = chosen.map(|cycles| percent(gain(*bypass_all, cycles)));
        named.into_iter().chain(counts).chain([differ.to_string()]).chain(gains).collect()
    };
    page.table(&HEAD, SUBJECTS.iter().zip(found).map(row).collect(), 1);
    let numbers = |((kernel, _), found): (&(&str, &str), &KernelResults)| {
        let counts = [found.accesses, found.hits[0], found.hits[1]];
        let counts = counts.iter().chain(&found.cycles).map(u64::to_string);
        [(*kernel).to_owned()].into_iter().chain(counts).collect::<Vec<_>>()
    };
    let head =
        ["kernel", "lines", "untimed_hits", "clocked_hits", "bypass_all_cycles", "untimed_cycles", "clocked_cycles"];
    page.csv = comma_separated(&head, &SUBJECTS.iter().zip(found).map(numbers).collect::<Vec<_>>())?;
    Ok(page)
}
