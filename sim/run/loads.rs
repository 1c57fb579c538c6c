//! What each load instruction found in the caches, over all SMs and launches.

use rtl::kernel::Counted;
use rtl::l1::loads::LoadStats;
use rtl::machine::Machine;
use rtl::sm::KernelImage;

/// The counters of one load instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct LoadCounters {
    /// Kernel.
    pub kernel: String,
    /// Program counter.
    pub pc: u32,
    /// Line in the PTX file.
    pub line: u32,
    /// Column of its opcode there in bytes, from 1.
    pub column: u32,
    /// What its line requests found.
    pub stats: LoadStats,
}

/// Adds what a launch counted.
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
