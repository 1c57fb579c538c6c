//! What is counted in a run.

use ::area::{Node, Technology};
use serde::{Deserialize, Serialize};

use crate::runs::Trouble;
use warpsieve::estimate::{Activity, Energy};
use warpsieve::run::RunReport;

/// The node of all area and energy of the page.
pub(super) const NODE: Node = Node::N45;

/// What a kernel did on a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    pub cycles: u64,
    /// Line requests of loads, and those that found the line in the L1 or on its way there.
    pub loads: u64,
    pub found: u64,
    /// Bytes over the DRAM's buses.
    pub dram_bytes: u64,
    /// Energy of the events and of leakage, in pJ.
    pub dynamic_pj: f64,
    pub leakage_pj: f64,
}

impl Measured {
    pub fn pj(&self) -> f64 {
        self.dynamic_pj + self.leakage_pj
    }
}

/// What a run counted, and the energy of it.
pub(super) fn measured(report: &RunReport) -> Result<Measured, Trouble> {
    let failed = |why: &dyn ToString| Trouble::Failed(why.to_string());
    let technology = Technology::built_in().map_err(|e| failed(&e))?;
    let activity = Activity::of(report).ok_or_else(|| failed(&"its structures were not counted"))?;
    let Energy { dynamic_pj, leakage_pj, .. } = Energy::of(&activity, &technology, NODE, technology.hop_mm());
    let counters = &report.counters;
    Ok(Measured {
        cycles: counters.cycles,
        loads: counters.l1.iter().map(|l1| l1.accesses).sum(),
        found: counters.l1.iter().map(|l1| l1.hits + l1.hit_pending).sum(),
        dram_bytes: counters.dram.iter().map(|channel| channel.bytes).sum(),
        dynamic_pj,
        leakage_pj,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::VOLTA;
    use super::*;
    use crate::runs::resolved;
    use warpsieve::run::{RunOptions, run};

    #[test]
    fn a_run_is_measured_if_its_structures_are_counted() {
        let launch = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/vadd/small.toml");
        let config = resolved(VOLTA, &[], &["num_sms=2"]).unwrap().config;
        let of = |structures| {
            let options = RunOptions { structures, ..RunOptions::default() };
            measured(&run(&launch, &config, &options, &mut |_| {}).unwrap())
        };
        let one = of(true).unwrap();
        assert!(one.loads > 0 && one.found <= one.loads && one.dram_bytes > 0);
        assert!(one.dynamic_pj > 0.0 && one.leakage_pj > 0.0);
        assert!(matches!(of(false), Err(Trouble::Failed(why)) if why.contains("not counted")));
    }
}
