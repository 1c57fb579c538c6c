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
    /// Program counter of the load instruction.
    pub pc: u32,
    /// Line of the load instruction in the PTX file.
    pub line: u32,
    /// Column of the opcode in that line, in bytes, counted from 1.
    pub column: u32,
    /// Cache outcomes of the line requests that the instruction made.
    pub stats: LoadStats,
}

/// Adds the counters of a launch to the counters of earlier launches.
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

/// Returns the differences between two states of the counters. Loads that were not executed in between are
/// omitted.
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
