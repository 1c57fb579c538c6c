//! Code that the figures with clocked results share: the paper's benchmarks and L1 sizes, and functions that
//! run a PTX program with a given set of cached loads.

use std::collections::BTreeSet;
use std::path::Path;

use compiler::solve::Method;

use crate::judge::geometric_mean;
use crate::runs::Point;
use warpsieve::optimize::{Clocked, Optimization};
use warpsieve::run::{RunError, ratio};

use crate::Session;

/// Benchmark of the paper's Table 2, with our kernel that corresponds to it.
pub(super) struct Benchmark {
    /// Name of the benchmark in the paper.
    pub theirs: &'static str,
    /// Name of the folder of our kernel.
    pub kernel: &'static str,
    launch: &'static str,
    /// Number of CTAs, and number of threads per CTA, in the paper's Table 2.
    pub geometry: (u32, u32),
    /// Number of L1 sizes for which the paper gives results of this benchmark. They are the smallest sizes in
    /// [`SIZES`].
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

/// Returns the benchmark with the given name in the paper.
pub(super) fn benchmark(theirs: &str) -> Option<&'static Benchmark> {
    BENCHMARKS.iter().find(|benchmark| benchmark.theirs == theirs)
}

impl Benchmark {
    /// Returns the simulation point that runs the benchmark with an L1 of the given size.
    pub fn point(&self, session: &Session, size: &Size) -> Point {
        Point::new(&session.launch(self.kernel, self.launch), MACHINE, &[size.design], &[])
    }
}

/// Name of the machine with the parameters of the paper's Table 1.
pub(super) const MACHINE: &str = "kepler";

/// One size of the L1, with the results that section 6 of the paper gives for this size.
pub(super) struct Size {
    pub kilobytes: u32,
    pub design: &'static str,
    /// Two mean speedups in percent (geometric means over the benchmarks), relative to runs in which all
    /// loads bypass the L1: with all loads cached, and with only the loads cached that the heuristic chooses.
    pub theirs: [f64; 2],
    /// Speedup of the benchmark MRQ over a run in which all loads bypass the L1, in percent.
    pub mrq: f64,
}

pub(super) const SIZES: [Size; 3] = [
    Size { kilobytes: 16, design: "baseline", theirs: [4.4, 12.9], mrq: 11.9 },
    Size { kilobytes: 32, design: "kepler-l1-32k", theirs: [10.6, 17.1], mrq: 10.6 },
    Size { kilobytes: 48, design: "kepler-l1-48k", theirs: [18.3, 21.4], mrq: 10.6 },
];

/// Returns the number of cycles of a run for each set of cached loads. Sets that occur twice are simulated
/// only once.
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

/// Returns the loads that a method (heuristic, integer programming or exhaustive search) chooses to cache.
pub(crate) fn chosen(optimised: &Optimization<'_>, method: Method, launch: &Path) -> Result<BTreeSet<usize>, RunError> {
    let choice = optimised.solution(method).choice.as_ref();
    let choice = choice.map_err(|why| RunError::Input { path: launch.to_owned(), reason: why.clone() })?;
    let cached = optimised.graph.loads().iter().zip(&choice.cached).filter(|(_, cached)| **cached);
    Ok(cached.map(|(load, _)| *load).collect())
}

/// Returns by how many percent a run of `cycles` cycles is faster than a run of `than` cycles.
pub(super) fn gain(than: u64, cycles: u64) -> f64 {
    100.0 * (ratio(than, cycles) - 1.0)
}

/// Returns the geometric mean of speedups. The speedups and the mean are in percent.
pub(super) fn mean(gains: &[f64]) -> f64 {
    let factors: Vec<_> = gains.iter().map(|gain| 1.0 + gain / 100.0).collect();
    geometric_mean(&factors).map_or(f64::NAN, |mean| 100.0 * (mean - 1.0))
}

pub(super) fn percent(gain: f64) -> String {
    format!("{gain:+.1}")
}
