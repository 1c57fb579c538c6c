//! What the figures of clocked runs have in common: the paper's benchmarks and sizes of the L1, and runs of
//! a PTX text with sets of loads cached.

use std::collections::BTreeSet;
use std::path::Path;

use compiler::solve::Method;

use crate::judge::geometric_mean;
use crate::runs::Point;
use warpsieve::optimize::{Clocked, Optimised};
use warpsieve::run::{RunError, ratio};

use crate::Desk;

/// A row of table 2, and our kernel for it.
pub(super) struct Benchmark {
    /// Its name in the paper.
    pub theirs: &'static str,
    /// Folder of ours.
    pub kernel: &'static str,
    launch: &'static str,
    /// CTAs and threads of a CTA in table 2.
    pub geometry: (u32, u32),
    /// How many of the three sizes the paper has it at.
    pub sizes: usize,
}

pub(super) const BENCHMARKS: [Benchmark; 11] = [
    row("BAA", "backprop", "xie", (16_384, 256)),
    row("BFS", "bfs", "xie", (1954, 512)),
    row("EUF", "cfd", "launch", (1212, 192)),
    row("KMI", "kmeans", "launch", (3249, 256)),
    Benchmark { sizes: 1, ..row("PFFL", "particlefilter", "xie", (2, 512)) },
    row("SRP", "srad1_sums", "xie_prepare", (450, 512)),
    row("SRR", "srad1_sums", "xie_reduce", (1, 512)),
    row("SRS", "srad1", "xie", (450, 512)),
    row("SPM", "spmv_jds", "launch", (765, 192)),
    row("MGR", "mrigridding", "launch", (5188, 512)),
    row("MRQ", "mriq_global", "xie", (4, 32)),
];

const fn row(theirs: &'static str, kernel: &'static str, launch: &'static str, geometry: (u32, u32)) -> Benchmark {
    Benchmark { theirs, kernel, launch, geometry, sizes: SIZES.len() }
}

/// The benchmark of this name in the paper.
pub(super) fn benchmark(theirs: &str) -> Option<&'static Benchmark> {
    BENCHMARKS.iter().find(|benchmark| benchmark.theirs == theirs)
}

impl Benchmark {
    /// Its launch file on a machine with an L1 of this size.
    pub fn point(&self, desk: &Desk, size: &Size) -> Point {
        Point::new(&desk.launch(self.kernel, self.launch), MACHINE, &[size.design], &[])
    }
}

/// The machine that has what table 1 states.
pub(super) const MACHINE: &str = "kepler";

/// An L1, and what section 6 states for it.
pub(super) struct Size {
    pub kilobytes: u32,
    pub design: &'static str,
    /// Geometric means of the speedup in percent: cache all, heuristic.
    pub theirs: [f64; 2],
    /// Speedup of MRQ.
    pub mrq: f64,
}

pub(super) const SIZES: [Size; 3] = [
    Size { kilobytes: 16, design: "baseline", theirs: [4.4, 12.9], mrq: 11.9 },
    Size { kilobytes: 32, design: "kepler-l1-32k", theirs: [10.6, 17.1], mrq: 10.6 },
    Size { kilobytes: 48, design: "kepler-l1-48k", theirs: [18.3, 21.4], mrq: 10.6 },
];

/// Cycles with each of these sets of loads cached; sets that are equal run once.
pub(super) fn cycles<const N: usize>(clocked: &Clocked<'_>, sets: &[BTreeSet<usize>; N]) -> Result<[u64; N], RunError> {
    let mut cycles = [0; N];
    for (i, cached) in sets.iter().enumerate() {
        cycles[i] = match sets[..i].iter().position(|before| before == cached) {
            Some(before) => cycles[before],
            None => clocked.run(cached)?.counters.cycles,
        };
    }
    Ok(cycles)
}

/// The loads that a method caches.
pub(super) fn chosen(optimised: &Optimised<'_>, method: Method, launch: &Path) -> Result<BTreeSet<usize>, RunError> {
    let choice = optimised.solution(method).choice.as_ref();
    let choice = choice.map_err(|why| RunError::Input { path: launch.to_owned(), reason: why.clone() })?;
    let cached = optimised.graph.loads().iter().zip(&choice.cached).filter(|(_, cached)| **cached);
    Ok(cached.map(|(load, _)| *load).collect())
}

/// How much faster than these, in percent.
pub(super) fn gain(than: u64, cycles: u64) -> f64 {
    100.0 * (ratio(than, cycles) - 1.0)
}

/// Geometric mean of speedups in percent.
pub(super) fn mean(gains: &[f64]) -> f64 {
    let factors: Vec<_> = gains.iter().map(|gain| 1.0 + gain / 100.0).collect();
    geometric_mean(&factors).map_or(f64::NAN, |mean| 100.0 * (mean - 1.0))
}

pub(super) fn percent(gain: f64) -> String {
    format!("{gain:+.1}")
}
