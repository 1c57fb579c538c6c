//! Sharing profile of a launch file. For each memory instruction, the profile tells how many CTAs share the
//! accessed data, how well the accesses coalesce, and whether the addresses depend on loaded values, as in
//! anssari2012 Table 4.2. No caches or timing are modeled.

use std::path::Path;

use golden::interp::{Access, WarpStep, run_steps};
use isa::program::{Inst, Op, Program};
use isa::types::Space;
use rtl::cells::line::LINE_BYTES;
use rtl::machine::MachineConfig;
use rustc_hash::{FxHashMap, FxHashSet};

use super::prepare::prepare;
use super::untimed::each_launch;
use super::{RunError, open};

/// Size of a word in bytes. A word corresponds to an element in anssari2012: the CTAs that share data are
/// counted for each word.
pub const WORD_BYTES: u64 = 4;

/// Accesses of one instruction to global or constant memory, over all launches of its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessSharing {
    /// Line of the instruction in the PTX file.
    pub line: u32,
    /// Kind of the memory access: load, store or atomic.
    pub access: Access,
    /// True if the address depends on a value that the kernel has loaded from memory.
    pub is_dependent: bool,
    /// Number of warps that executed the instruction.
    pub warps: u64,
    /// Number of line accesses, summed over all executions of the instruction by a warp.
    pub touched: u64,
    /// Minimum number of line accesses: the number that would suffice if the bytes that a warp accesses at
    /// once were contiguous, summed over all executions of the instruction by a warp.
    pub least: u64,
    /// Number of distinct words accessed in a launch, summed over the launches.
    pub words: u64,
    /// Number of sharers, summed over the words that the instruction accessed. A sharer of a word is a CTA of
    /// the launch that accessed the word by any of its instructions.
    pub sharers: u64,
}

/// Sharing profile of one kernel, over all its launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSharing {
    /// Name of the kernel.
    pub name: String,
    /// Instructions that accessed global or constant memory, in program order.
    pub accesses: Vec<AccessSharing>,
}

/// Computes the sharing profile of a launch file. The kernels are in the order of their first launch.
/// `machine` determines which CTAs run at the same time. This affects the order of accesses, but not the
/// profile.
///
/// # Errors
/// Fails on bad input or an illegal access by the kernel.
pub fn sharing(launch: &Path, machine: &MachineConfig) -> Result<Vec<KernelSharing>, RunError> {
    let prepared = prepare(open(launch, None)?, machine)?;
    let mut kernels: Vec<(String, Vec<Option<AccessSharing>>)> = Vec::new();
    each_launch(&prepared, machine, &mut |launch, sms, memory| {
        let program = launch.program;
        let at = kernels.iter().position(|(name, _)| *name == program.name).unwrap_or_else(|| {
            kernels.push((program.name.clone(), empty(program)));
            kernels.len() - 1
        });
        let accesses = &mut kernels[at].1;
        let mut touched = LaunchAccesses::default();
        run_steps(launch, sms, memory, &mut |step| touched.step(step, launch.grid, accesses))?;
        touched.add_to(accesses);
        Ok(())
    })?;
    let ran = |accesses: Vec<Option<AccessSharing>>| accesses.into_iter().flatten().filter(|access| access.warps > 0);
    Ok(kernels.into_iter().map(|(name, accesses)| KernelSharing { name, accesses: ran(accesses).collect() }).collect())
}

/// Creates an entry without counts for each instruction that may access global or constant memory.
fn empty(program: &Program) -> Vec<Option<AccessSharing>> {
    let dependent = dependent_addresses(program);
    let place = |(inst, is_dependent): (&Inst, bool)| {
        let access = match inst.op {
            Op::Load(_) => Access::Load,
            Op::Store(_) => Access::Store,
            Op::Atomic(..) => Access::Atomic,
            _ => return None,
        };
        let none = AccessSharing {
            line: inst.line,
            access,
            is_dependent,
            warps: 0,
            touched: 0,
            least: 0,
            words: 0,
            sharers: 0,
        };
        Some(none)
    };
    program.insts.iter().zip(dependent).map(place).collect()
}

/// Determines for each instruction whether its address depends on a value loaded from memory. Only
/// dependences through registers are followed. Three things are ignored: dependences through memory,
/// predicates that decide whether an instruction executes, and loads of kernel parameters.
fn dependent_addresses(program: &Program) -> Vec<bool> {
    let mut tainted = FxHashSet::default();
    let reads_memory = |inst: &Inst| match inst.op {
        Op::Load(mem) => mem.space != Space::Param,
        Op::Atomic(..) | Op::LoadMatrix(..) | Op::Texture(_) => true,
        _ => false,
    };
    loop {
        let before = tainted.len();
        for inst in &program.insts {
            if reads_memory(inst) || inst.source_regs().any(|reg| tainted.contains(&reg.index)) {
                tainted.extend(inst.dest_regs().map(|reg| reg.index));
            }
        }
        if tainted.len() == before {
            break;
        }
    }
    let base = |inst: &Inst| inst.mem().and_then(|mem| mem.base);
    program.insts.iter().map(|inst| base(inst).is_some_and(|base| tainted.contains(&base.index))).collect()
}

/// Memory accesses of one launch.
#[derive(Default)]
struct LaunchAccesses {
    /// Pairs of a word and a CTA that accessed the word.
    by_cta: FxHashSet<(u64, u32)>,
    /// For each word, the number of CTAs that accessed it.
    ctas: FxHashMap<u64, u32>,
    /// Pairs of an instruction and a word that the instruction accessed.
    by_inst: FxHashSet<(u32, u64)>,
    words: Vec<u64>,
}

/// Bit that is set in the number of a word in constant memory, and clear in the number of a word in global
/// memory.
const CONSTANT: u64 = 1 << 63;

impl LaunchAccesses {
    fn step(&mut self, step: &WarpStep<'_>, grid: [u32; 3], accesses: &mut [Option<AccessSharing>]) {
        let Some((_, mem)) = step.access else { return };
        let (mask, addresses, space) = match (mem.space, step.global()) {
            (Space::Const, _) => (step.mask, *step.addresses, CONSTANT),
            (_, Some(global)) => (global.mask, global.addresses, 0),
            (_, None) => return,
        };
        let Some(access) = &mut accesses[step.pc as usize] else { return };
        let lanes = || (0..addresses.len()).filter(|lane| mask >> lane & 1 != 0);
        if mask == 0 {
            return;
        }
        let bytes = u64::from(mem.bytes());
        self.words.clear();
        let in_words = |lane: usize| (addresses[lane] / WORD_BYTES)..=((addresses[lane] + bytes - 1) / WORD_BYTES);
        self.words.extend(lanes().flat_map(in_words));
        self.words.sort_unstable();
        self.words.dedup();
        let words_of_line = LINE_BYTES as u64 / WORD_BYTES;
        let lines = self.words.chunk_by(|a, b| a / words_of_line == b / words_of_line).count();
        let mut distinct: Vec<u64> = lanes().map(|lane| addresses[lane]).collect();
        distinct.sort_unstable();
        distinct.dedup();
        access.warps += 1;
        access.touched += lines as u64;
        access.least += (distinct.len() as u64 * bytes).div_ceil(LINE_BYTES as u64);
        let [x, y, z] = step.cta;
        let cta = (z * grid[1] + y) * grid[0] + x;
        for word in self.words.iter().map(|word| word | space) {
            if self.by_cta.insert((word, cta)) {
                *self.ctas.entry(word).or_default() += 1;
            }
            self.by_inst.insert((step.pc, word));
        }
    }

    fn add_to(&self, accesses: &mut [Option<AccessSharing>]) {
        for (pc, word) in &self.by_inst {
            if let Some(access) = &mut accesses[*pc as usize] {
                access.words += 1;
                access.sharers += u64::from(self.ctas[word]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Request, ResolvedMachine};

    fn profile(kernel: &str) -> Vec<KernelSharing> {
        let request = Request { machine: "hybrid".to_owned(), ..Request::default() };
        let machine = ResolvedMachine::new(&request).unwrap().config;
        let launch = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../kernels/{kernel}/small"));
        sharing(&launch, &machine).unwrap()
    }

    #[test]
    fn a_stream_is_touched_once_by_one_cta_in_the_least_lines() {
        let [vadd] = &profile("vadd")[..] else { panic!("one kernel") };
        assert_eq!(
            vadd.accesses.iter().map(|one| one.access).collect::<Vec<_>>(),
            [Access::Load, Access::Load, Access::Store]
        );
        for one in &vadd.accesses {
            assert_eq!((one.touched, one.least, one.sharers), (one.warps, one.warps, one.words), "{one:?}");
            // The kernel of vadd/small adds 5,000 floats, so each of its two loads and its store accesses
            // 5,000 distinct words, summed over all threads.
            assert_eq!(one.words, 5_000);
            assert!(!one.is_dependent);
        }
    }

    #[test]
    fn an_address_that_was_read_is_told_from_one_that_was_computed() {
        let [spmv] = &profile("spmv_jds")[..] else { panic!("one kernel") };
        let gathers = spmv.accesses.iter().filter(|one| one.is_dependent && one.touched > 4 * one.warps).count();
        let streams = spmv.accesses.iter().filter(|one| one.touched <= 2 * one.warps).count();
        assert!(gathers == 1 && streams > 1, "{spmv:?}");
    }

    #[test]
    fn a_matrix_is_shared_by_the_ctas_of_a_row_or_column_of_tiles() {
        let [sgemm] = &profile("sgemm_cache")[..] else { panic!("one kernel") };
        let stored: Vec<_> = sgemm.accesses.iter().filter(|one| one.access == Access::Store).collect();
        // The result matrix is divided into 3 x 2 tiles, one per CTA. The rows of a tile are not aligned to
        // sectors, so adjacent tiles share some sectors, but they share no word.
        assert!(stored.iter().all(|one| one.sharers == one.words), "{stored:?}");
        assert!(sgemm.accesses.iter().any(|one| one.sharers == 3 * one.words), "{sgemm:?}");
    }

    #[test]
    fn cells_side_by_side_are_nobody_elses_though_their_lines_are() {
        let [lbm] = &profile("lbm_aos")[..] else { panic!("one kernel") };
        let loads = lbm.accesses.iter().filter(|one| one.access == Access::Load && one.touched > 8 * one.warps);
        let loads: Vec<_> = loads.collect();
        assert_eq!(loads.len(), 19, "a load for each direction");
        assert!(loads.iter().all(|one| one.sharers == one.words), "{loads:?}");
    }
}
