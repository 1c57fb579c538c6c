//! What the host loads into a core: a kernel with its launch shape and arguments.

use std::sync::Arc;

use isa::program::{Dst, Form, Program, Unit};
use thiserror::Error;

use crate::l1::access::LANES;
use crate::sm::{AddressMap, CtaSource, SmConfig};

/// Words of one warp result: what an unpacking move or a vector access of 16 bytes fills.
pub(in crate::sm) const RESULT_WORDS: usize = 4;
/// Shared memory is given to CTAs in pieces of this size, in bytes.
const SHARED_GRANULE: u32 = 128;
/// Most threads of a CTA (PTX ISA, compute capability 2.0 and up).
const MAX_BLOCK: u64 = 1024;

/// Why a kernel cannot be launched.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LaunchError {
    /// The program still has virtual registers.
    #[error("kernel `{kernel}` has virtual registers, expected an allocated program")]
    Virtual {
        /// Kernel name.
        kernel: String,
    },
    /// A grid or a block without threads, or a block that is too large.
    #[error("{what} is {}x{}x{}, expected {legal}", .given[0], .given[1], .given[2])]
    Shape {
        /// `grid` or `block`.
        what: &'static str,
        /// The shape given.
        given: [u32; 3],
        /// What is legal.
        legal: String,
    },
    /// The parameter block has the wrong size.
    #[error("kernel `{kernel}` takes {expected} bytes of parameters, got {given}")]
    Params {
        /// Kernel name.
        kernel: String,
        /// Bytes the kernel declares.
        expected: u32,
        /// Bytes given.
        given: usize,
    },
    /// An instruction whose result the pipes cannot hold.
    #[error("{file}:{line}: a result of {words} words is not supported, expected at most {RESULT_WORDS}")]
    ResultTooWide {
        /// PTX file.
        file: Arc<str>,
        /// Line in it.
        line: u32,
        /// 32-bit words per lane.
        words: usize,
    },
    /// Products of matrices on a machine without a pipe for them.
    #[error(
        "{file}:{line}: kernel `{kernel}` multiplies matrices, and the machine has no tensor pipe \
         (`sm.pipes.tensor` is 0); choose the design `tensor`, or set its latency and interval"
    )]
    NoTensor {
        /// PTX file.
        file: Arc<str>,
        /// Line in it.
        line: u32,
        /// Kernel name.
        kernel: String,
    },
    /// A trace on warps of another size than it was recorded with.
    #[error("kernel `{kernel}` is a trace of warps of {LANES} lanes, expected to run on such, not of {lanes}")]
    TraceLanes {
        /// Kernel name.
        kernel: String,
        /// Lanes of a warp of the machine.
        lanes: u32,
    },
    /// Not even one CTA fits an SM.
    #[error("kernel `{kernel}` needs {needed} {what} per CTA, SM has {available}")]
    DoesNotFit {
        /// Kernel name.
        kernel: String,
        /// The resource.
        what: &'static str,
        /// What a CTA takes.
        needed: u64,
        /// What an SM has.
        available: u64,
    },
}

/// A kernel ready to launch.
#[derive(Clone, Debug)]
pub struct KernelImage {
    pub(in crate::sm) program: Program,
    pub(in crate::sm) params: Vec<u8>,
    pub(in crate::sm) grid: [u32; 3],
    pub(in crate::sm) block: [u32; 3],
    pub(in crate::sm) dynamic_shared: u32,
    pub(in crate::sm) launch: u64,
    pub(in crate::sm) map: Arc<AddressMap>,
    /// Thread index x, y, z of every lane, for each 32 lanes of a CTA.
    pub(in crate::sm) tid: Vec<[[u32; LANES]; 3]>,
    /// Where local memory begins in device memory.
    local: u64,
    /// Where its instructions begin.
    code: u64,
    /// Where its CTAs come from, if it is a kernel of a trace.
    pub(in crate::sm) source: Option<Arc<dyn CtaSource>>,
}

impl KernelImage {
    /// Checks and prepares a launch. `program` is in the physical form, `params` the parameter
    /// block, `dynamic_shared` the bytes behind the static shared memory, `launch` the number of
    /// the launch (`%gridid`).
    ///
    /// # Errors
    /// A program, shape or parameter block that no SM can run.
    pub fn new(
        program: Program,
        params: Vec<u8>,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        launch: u64,
        map: Arc<AddressMap>,
    ) -> Result<Self, LaunchError> {
        if program.form != Form::Physical {
            return Err(LaunchError::Virtual { kernel: program.name });
        }
        let volume = |shape: [u32; 3]| shape.iter().try_fold(1u64, |product, &n| product.checked_mul(n.into()));
        if !volume(grid).is_some_and(|ctas| (1..=u64::from(u32::MAX)).contains(&ctas)) {
            return Err(LaunchError::Shape { what: "grid", given: grid, legal: "1 to 2^32 - 1 CTAs".to_owned() });
        }
        if !volume(block).is_some_and(|threads| (1..=MAX_BLOCK).contains(&threads)) {
            let legal = format!("1 to {MAX_BLOCK} threads");
            return Err(LaunchError::Shape { what: "block", given: block, legal });
        }
        let shape = |what, given| {
            move |(legal, directive)| LaunchError::Shape {
                what,
                given,
                legal: format!("{legal}: the kernel declares `{directive}`"),
            }
        };
        program.limits.check_block(block).map_err(shape("block", block))?;
        program.limits.check_grid(grid).map_err(shape("grid", grid))?;
        if params.len() != program.param_bytes as usize {
            let (kernel, expected) = (program.name, program.param_bytes);
            return Err(LaunchError::Params { kernel, expected, given: params.len() });
        }
        for inst in &program.insts {
            let words = inst.dsts.iter().map(result_words).sum();
            if words > RESULT_WORDS {
                return Err(LaunchError::ResultTooWide { file: program.file.clone(), line: inst.line, words });
            }
        }
        let tid = thread_indices(block);
        Ok(Self { program, params, grid, block, dynamic_shared, launch, map, tid, local: 0, code: 0, source: None })
    }

    /// The same with its local memory at `base` in device memory: [`Self::local_bytes`] from there on.
    #[must_use]
    pub fn with_local(self, base: u64) -> Self {
        Self { local: base, ..self }
    }

    /// The same with its first instruction at `code` in device memory, the beginning of a line.
    #[must_use]
    pub fn with_code(self, code: u64) -> Self {
        Self { code, ..self }
    }

    /// Where its first instruction lies.
    pub(in crate::sm) fn code(&self) -> u64 {
        self.code
    }

    /// The same with another parameter block of the same size.
    ///
    /// # Panics
    /// If it has another size.
    #[must_use]
    pub fn with_params(&self, params: Vec<u8>) -> Self {
        assert_eq!(params.len(), self.params.len(), "bytes of parameters of `{}`", self.program.name);
        let (program, map, tid) = (self.program.clone(), self.map.clone(), self.tid.clone());
        Self { program, params, map, tid, source: self.source.clone(), ..*self }
    }

    /// Bytes of local memory for `warps` warp slots.
    #[must_use]
    pub fn local_bytes(&self, warps: u32) -> u64 {
        u64::from(warps) * LANES as u64 * u64::from(self.program.local_bytes)
    }

    /// Where the local memory of a warp slot begins, counted over all SMs.
    pub(in crate::sm) fn local_of(&self, slot: u32) -> u64 {
        self.local + self.local_bytes(slot)
    }

    /// Where its CTAs come from, if it is a kernel of a trace.
    pub(crate) fn source(&self) -> Option<&Arc<dyn CtaSource>> {
        self.source.as_ref()
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What tells kernels apart in hardware that remembers them: 16 bits of a hash of the name, which
    /// stands for the address of the entry.
    #[must_use]
    pub fn key(&self) -> u16 {
        let hash = self
            .program
            .name
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        (hash ^ hash >> 16) as u16
    }

    /// Instructions that statistics tell apart: those of the program; none of a trace, whose code comes
    /// with its CTAs.
    #[must_use]
    pub fn counted_instructions(&self) -> usize {
        if self.source.is_some() { 0 } else { self.program.insts.len() }
    }

    /// CTAs along x, y, z.
    #[must_use]
    pub fn grid(&self) -> [u32; 3] {
        self.grid
    }

    /// Threads along x, y, z.
    #[must_use]
    pub fn block(&self) -> [u32; 3] {
        self.block
    }

    /// Threads of a CTA.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Warps of a CTA, of 32 lanes as kernels see them.
    #[must_use]
    pub fn warps(&self) -> u32 {
        self.warps_of(LANES as u32)
    }

    /// Warps of a CTA, of so many lanes.
    pub(in crate::sm) fn warps_of(&self, lanes: u32) -> u32 {
        self.threads().div_ceil(lanes)
    }

    /// Shared bytes of a CTA, static and dynamic.
    #[must_use]
    pub fn shared_bytes(&self) -> u32 {
        self.program.shared_bytes.saturating_add(self.dynamic_shared)
    }

    /// Shared bytes that a CTA takes from its SM.
    #[must_use]
    pub fn shared_footprint(&self) -> u64 {
        u64::from(self.shared_bytes()).next_multiple_of(u64::from(SHARED_GRANULE))
    }

    /// `bytes` bytes of the parameter block, at most 8, zero extended.
    pub(in crate::sm) fn param(&self, at: usize, bytes: u32) -> u64 {
        self.params[at..][..bytes as usize].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    /// Lanes of warp `index` of a CTA that have a thread, where warps have so many lanes.
    pub(in crate::sm) fn lanes_of(&self, index: u32, lanes: u32) -> u64 {
        let threads = self.threads() - index * lanes;
        u64::MAX >> (u64::BITS - threads.min(lanes))
    }
}

fn result_words(dst: &Dst) -> usize {
    match dst {
        Dst::Reg(reg) => 1 + usize::from(reg.wide),
        Dst::Pred(_) | Dst::None => 0,
    }
}

fn thread_indices([nx, ny, nz]: [u32; 3]) -> Vec<[[u32; LANES]; 3]> {
    let warps = (nx * ny * nz).div_ceil(LANES as u32);
    let lanes_of = |warp: u32| {
        let mut tid = [[0; LANES]; 3];
        let [x, y, z] = &mut tid;
        let first = warp * LANES as u32;
        for (thread, ((x, y), z)) in (first..).zip(x.iter_mut().zip(y).zip(z)) {
            (*x, *y, *z) = (thread % nx, thread / nx % ny, thread / nx / ny);
        }
        tid
    };
    (0..warps).map(lanes_of).collect()
}

/// CTAs of a kernel that an SM holds at once: the tightest of CTA slots, warp slots, threads,
/// registers and shared memory.
///
/// # Errors
/// Not even one fits; the first resource that is short is named. Or the machine lacks what the kernel needs.
pub fn occupancy(config: &SmConfig, image: &KernelImage) -> Result<u32, LaunchError> {
    if config.halves() > 1 && image.source.is_some() {
        return Err(LaunchError::TraceLanes { kernel: image.program.name.clone(), lanes: config.warp_lanes });
    }
    let program = &image.program;
    let product = program.insts.iter().find(|inst| inst.unit == Unit::Tensor);
    if let Some(inst) = product.filter(|_| !config.pipes.has_tensor()) {
        let (file, kernel) = (program.file.clone(), program.name.clone());
        return Err(LaunchError::NoTensor { file, line: inst.line, kernel });
    }
    let warps = u64::from(image.warps_of(config.warp_lanes));
    let demands = [
        ("warps", warps, u64::from(config.warps)),
        ("threads", u64::from(image.threads()), u64::from(config.threads)),
        (
            "registers",
            warps * u64::from(image.program.regs) * u64::from(config.warp_lanes),
            u64::from(config.registers),
        ),
        ("bytes of shared memory", u64::from(image.shared_bytes()), u64::from(config.shared.bytes)),
        ("bytes of shared memory", image.shared_footprint(), u64::from(config.shared.bytes)),
    ];
    let mut fit = u64::from(config.ctas);
    for (what, needed, available) in demands {
        if needed > available {
            return Err(LaunchError::DoesNotFit { kernel: image.program.name.clone(), what, needed, available });
        }
        if let Some(limit) = available.checked_div(needed) {
            fit = fit.min(limit);
        }
    }
    Ok(fit as u32)
}
