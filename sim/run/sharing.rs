//! Which CTAs of a launch share what an instruction touches, how well it coalesces, and whether its addresses depend
//! on what was read: the profile of anssari2012 Table 4.2, without caches and time.

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

/// Bytes of a word, for which sharers are counted: what anssari2012 calls an element.
pub const WORD_BYTES: u64 = 4;

/// What an instruction asks of global memory or of constants, over all launches of its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessSharing {
    /// Its line in the PTX file.
    pub line: u32,
    /// What it does.
    pub access: Access,
    /// Its address depends on a value that the kernel has read.
    pub is_dependent: bool,
    /// Warps that ran it.
    pub warps: u64,
    /// Lines that they touched, each counted once for each of them.
    pub touched: u64,
    /// The least lines that hold as many bytes.
    pub least: u64,
    /// Words touched in each launch.
    pub words: u64,
    /// CTAs of the launch that touched these words, by whatever instruction, summed over them.
    pub sharers: u64,
}

/// All launches of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSharing {
    /// Its name.
    pub name: String,
    /// Its accesses to global memory and constants that ran, in program order.
    pub accesses: Vec<AccessSharing>,
}

/// Profiles a launch file, whose kernels come in the order of their first launch. `machine` says what runs at once,
/// which decides nothing but the order of accesses.
///
/// # Errors
/// Bad input, or an illegal access of the kernel.
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
        let mut touched = Touched::default();
        run_steps(launch, sms, memory, &mut |step| touched.step(step, launch.grid, accesses))?;
        touched.add_to(accesses);
        Ok(())
    })?;
    let ran = |accesses: Vec<Option<AccessSharing>>| accesses.into_iter().flatten().filter(|access| access.warps > 0);
    Ok(kernels.into_iter().map(|(name, accesses)| KernelSharing { name, accesses: ran(accesses).collect() }).collect())
}

/// A place for each instruction that may touch global memory or constants.
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

/// For each instruction, whether its address comes from a value read from memory, through registers; what goes
/// through memory, or decides only whether the instruction runs, is not followed. Parameters are no memory.
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

/// What a launch has touched.
#[derive(Default)]
struct Touched {
    /// Words and CTAs.
    by_cta: FxHashSet<(u64, u32)>,
    /// CTAs of each word.
    ctas: FxHashMap<u64, u32>,
    /// Instructions and words.
    by_inst: FxHashSet<(u32, u64)>,
    words: Vec<u64>,
}

/// Set in the number of a word of constants.
const CONSTANT: u64 = 1 << 63;

impl Touched {
    fn step(&mut self, step: &WarpStep<'_>, grid: [u32; 3], accesses: &mut [Option<AccessSharing>]) {
        let Some((_, mem)) = step.access else { return };
        let (mask, addresses, space) = match (mem.space, step.global()) {
            (Space::Const, _) => (step.mask, step.addresses, CONSTANT),
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
    use crate::config::{Request, Resolved};

    fn profile(kernel: &str) -> Vec<KernelSharing> {
        let request = Request { machine: "hybrid".to_owned(), ..Request::default() };
        let machine = Resolved::new(&request).unwrap().config;
        let launch = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../kernels/{kernel}/small.toml"));
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
            // 5,000 floats.
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
        // 3 x 2 tiles, whose rows are not aligned: neighbours meet in some sectors of the result, but in no word.
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
