//! # Metrics of a run
//! Cycles, loads, DRAM traffic and energy of a run. The results pages compare designs by these metrics.

use ::area::{Node, Technology};
use serde::{Deserialize, Serialize};

use crate::runs::{Point, RunFailure};
use crate::{FigureError, Session};
use warpsieve::estimate::{Activity, Energy};
use warpsieve::run::{RunOptions, RunReport, Totals, ratio};

/// Technology node for which all area and energy is estimated.
pub(crate) const NODE: Node = Node::N45;

/// Metrics of one kernel run on one machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunMetrics {
    pub cycles: u64,
    /// Number of lines that loads requested.
    pub loads: u64,
    /// Number of lines that loads requested and that were in the L1 or already in flight to it.
    pub found: u64,
    /// Number of lines evicted from the L1s.
    pub l1_evictions: u64,
    /// Number of lines evicted from the L2.
    pub l2_evictions: u64,
    /// Bytes moved over the DRAM data buses.
    pub dram_bytes: u64,
    /// Dynamic energy of all events, in pJ.
    pub dynamic_pj: f64,
    /// Leakage energy of all structures, in pJ.
    pub leakage_pj: f64,
}

impl RunMetrics {
    /// Names of the columns that [`Self::cells`] fills.
    pub const HEAD: [&str; 6] = ["cycles", "loads", "found", "dram_bytes", "dynamic_pj", "leakage_pj"];

    /// Formats the metrics named in [`Self::HEAD`] as text.
    pub fn cells(&self) -> [String; 6] {
        let &Self { cycles, loads, found, dram_bytes, dynamic_pj, leakage_pj, .. } = self;
        let [cycles, loads, found, dram_bytes] = [cycles, loads, found, dram_bytes].map(|count| count.to_string());
        let [dynamic_pj, leakage_pj] = [dynamic_pj, leakage_pj].map(|pj| format!("{pj:.0}"));
        [cycles, loads, found, dram_bytes, dynamic_pj, leakage_pj]
    }

    /// True if lines were evicted from the L1s and from the L2. Without evictions, a run cannot show how well
    /// a design retains lines.
    pub fn has_evictions(&self) -> bool {
        self.l1_evictions > 0 && self.l2_evictions > 0
    }

    pub fn pj(&self) -> f64 {
        self.dynamic_pj + self.leakage_pj
    }

    /// Returns the hit rate of loads in percent, counting hits on lines in flight. Returns `None` if there
    /// were no loads.
    pub fn hits(&self) -> Option<f64> {
        (self.loads > 0).then(|| 100.0 * ratio(self.found, self.loads))
    }
}

/// Returns, for each kernel, the metric on machine `with` divided by the metric on machine `without`.
pub(crate) fn parts(with: &[RunMetrics], without: &[RunMetrics], of: impl Fn(&RunMetrics) -> f64) -> Vec<f64> {
    let parts = with.iter().zip(without).map(|(with, without)| (of(with), of(without)));
    // If the metric is 0 on machine `without`, the ratio is undefined and is set to 1 (unchanged).
    parts.map(|(with, without)| if without > 0.0 { with / without } else { 1.0 }).collect()
}

/// Returns the speedup of each kernel: its cycles on machine `without` divided by its cycles on machine
/// `with`.
pub(crate) fn speedups(with: &[RunMetrics], without: &[RunMetrics]) -> Vec<f64> {
    parts(with, without, |one| one.cycles as f64).into_iter().map(f64::recip).collect()
}

/// Runs simulation points (a launch file on a machine) and returns their metrics.
pub(crate) fn run_metrics(session: &Session, points: &[Point]) -> Result<Vec<RunMetrics>, FigureError> {
    let options = RunOptions { structures: true, ..RunOptions::default() };
    session.runner.run_reports("measured", points, &options, &|report| extract_metrics(&report))
}

/// Extracts the metrics from the report of a run and computes its energy.
fn extract_metrics(report: &RunReport) -> Result<RunMetrics, RunFailure> {
    let failed = |why: &dyn ToString| RunFailure::Failed(why.to_string());
    let technology = Technology::built_in().map_err(|e| failed(&e))?;
    let activity = Activity::of(report).ok_or_else(|| failed(&"its structures were not counted"))?;
    let Energy { dynamic_pj, leakage_pj, .. } = Energy::of(&activity, technology, NODE, technology.hop_mm());
    let Totals { l1, l2, dram, .. } = report.counters.totals();
    Ok(RunMetrics {
        cycles: report.counters.cycles,
        loads: l1.accesses,
        found: l1.hits + l1.hit_pending,
        l1_evictions: l1.evictions,
        l2_evictions: l2.evictions,
        dram_bytes: dram.bytes,
        dynamic_pj,
        leakage_pj,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::runs::resolve_config;
    use warpsieve::run::run;

    #[test]
    fn a_run_is_measured_if_its_structures_are_counted() {
        let launch = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/vadd/small");
        let config = resolve_config("volta", &[], &["num_sms=2"]).unwrap().config;
        let of = |structures| {
            let options = RunOptions { structures, ..RunOptions::default() };
            extract_metrics(&run(&launch, &config, &options, &mut |_| {}).unwrap())
        };
        let one = of(true).unwrap();
        assert!(one.loads > 0 && one.found <= one.loads && one.dram_bytes > 0);
        assert!(one.dynamic_pj > 0.0 && one.leakage_pj > 0.0);
        // The data of this small vector addition fit into the L1 and the L2, so nothing is evicted.
        assert!(!one.has_evictions());
        assert!(matches!(of(false), Err(RunFailure::Failed(why)) if why.contains("not counted")));
    }

    #[test]
    fn a_number_that_the_other_machine_has_nothing_of_counts_as_unchanged() {
        let one = |cycles, dram_bytes| RunMetrics { cycles, dram_bytes, ..RunMetrics::default() };
        let (without, with) = ([one(100, 0), one(100, 64)], [one(50, 64), one(200, 32)]);
        assert_eq!(speedups(&with, &without), [2.0, 0.5]);
        assert_eq!(parts(&with, &without, |one| one.dram_bytes as f64), [1.0, 0.5]);
        assert_eq!(without[0].hits(), None);
    }
}
