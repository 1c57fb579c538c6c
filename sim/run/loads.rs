//! Cache outcomes of each load instruction, over all SMs and launches.

use rtl::kernel::Counted;
use rtl::l1::loads::LoadStats;
use rtl::machine::Machine;
use rtl::sm::KernelImage;

/// Counters of one load instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct LoadCounters {
    /// Name of the kernel.
    pub kernel: String,
    /// Program counter.
    pub pc: u32,
    /// Line in the PTX file.
    pub line: u32,
    /// Column of the opcode in that line, in bytes from 1.
    pub column: u32,
    /// Outcomes of the line requests of the instruction.
    pub stats: LoadStats,
}

/// Adds the counters of a launch.
pub(super) fn add(loads: &mut Vec<LoadCounters>, kernel: &str, image: &KernelImage, machine: &Machine) {
    for (pc, inst) in (0..).zip(&image.program().insts[..image.counted_instructions()]) {
        let mut stats = LoadStats::default();
        for lsu in machine.lsus() {
            if let Some(load) = lsu.loads().get(pc as usize) {
                stats.add(load);
            }
        }
        if stats.accesses == 0 {
            continue;
        }
        match loads.iter_mut().find(|known| known.pc == pc && known.kernel == kernel) {
            Some(known) => known.stats.add(&stats),
            None => {
                loads.push(LoadCounters { kernel: kernel.to_owned(), pc, line: inst.line, column: inst.column, stats })
            }
        }
    }
}

/// Returns the counters since an earlier state, without loads that were not executed since.
pub(super) fn since(loads: &[LoadCounters], earlier: &[LoadCounters]) -> Vec<LoadCounters> {
    let mut loads = loads.to_vec();
    for load in &mut loads {
        if let Some(known) = earlier.iter().find(|known| known.pc == load.pc && known.kernel == load.kernel) {
            load.stats.subtract(&known.stats);
        }
    }
    loads.retain(|load| load.stats.accesses > 0);
    loads
}
