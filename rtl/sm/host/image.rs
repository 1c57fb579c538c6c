//! Kernel images that the simulator (host code) loads into a core: a program with its launch shape and
//! arguments.

use std::sync::Arc;

use isa::program::{Dst, Form, Program, Unit};
use thiserror::Error;

use crate::l1::access::LANES;
use crate::sm::{AddressMap, CtaSource, SmConfig};

/// Maximum number of result words per warp instruction: an unpacking move or a 16-byte vector access writes
/// four.
pub(in crate::sm) const RESULT_WORDS: usize = 4;
/// Granularity in which shared memory is allocated to CTAs, in bytes.
const SHARED_GRANULE: u32 = 128;
/// Maximum number of threads per CTA (PTX ISA, compute capability 2.0 and up).
const MAX_BLOCK: u64 = 1024;

/// Reason for which a kernel cannot be launched.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LaunchError {
    /// The program still has virtual registers: register allocation has not run.
    #[error("kernel `{kernel}` has virtual registers, expected an allocated program")]
    Virtual {
        /// Name of the kernel.
        kernel: String,
    },
    /// The grid or block (CTA) has no threads, or the block has too many.
    #[error("{what} is {}x{}x{}, expected {legal}", .given[0], .given[1], .given[2])]
    Shape {
        /// Name of the illegal shape: `grid` or `block`.
        what: &'static str,
        /// Dimensions of the grid or block in the launch: x, y, z.
        given: [u32; 3],
        /// Description of the legal dimensions.
        legal: String,
    },
    /// The parameters given to the launch have the wrong total size.
    #[error("kernel `{kernel}` takes {expected} bytes of parameters, got {given}")]
    Params {
        /// Name of the kernel.
        kernel: String,
        /// Total size of the parameters that the kernel declares, in bytes.
        expected: u32,
        /// Total size of the parameters given to the launch, in bytes.
        given: usize,
    },
    /// An instruction has more result words than the pipes can hold.
    #[error("{file}:{line}: a result of {words} words is not supported, expected at most {RESULT_WORDS}")]
    ResultTooWide {
        /// PTX file of the kernel.
        file: Arc<str>,
        /// Line of the instruction in the PTX file.
        line: u32,
        /// Number of 32-bit result words per lane.
        words: usize,
    },
    /// The kernel multiplies matrices and the machine has no tensor pipe.
    #[error(
        "{file}:{line}: kernel `{kernel}` multiplies matrices, and the machine has no tensor pipe \
         (`sm.pipes.tensor` is 0); choose the design `tensor`, or set its latency and interval"
    )]
    NoTensor {
        /// PTX file of the kernel.
        file: Arc<str>,
        /// Line of the instruction in the PTX file.
        line: u32,
        /// Name of the kernel.
        kernel: String,
    },
    /// The warps of the trace have a different number of lanes than the warps of the machine.
    #[error(
        "kernel `{kernel}` is a trace with warps of {LANES} lanes, expected a machine with such warps, not with \
         {lanes} lanes"
    )]
    TraceLanes {
        /// Name of the kernel.
        kernel: String,
        /// Lanes per warp of the machine.
        lanes: u32,
    },
    /// Not even one CTA fits on an SM.
    #[error("kernel `{kernel}` needs {needed} {what} per CTA, SM has {available}")]
    DoesNotFit {
        /// Name of the kernel.
        kernel: String,
        /// Name of the scarce resource.
        what: &'static str,
        /// Amount of the scarce resource that one CTA needs.
        needed: u64,
        /// Amount of the scarce resource that one SM has.
        available: u64,
    },
}

/// Kernel that is ready to launch, with its grid and parameters.
#[derive(Clone, Debug)]
pub struct KernelImage {
    pub(in crate::sm) program: Program,
    pub(in crate::sm) params: Vec<u8>,
    pub(in crate::sm) grid: [u32; 3],
    pub(in crate::sm) block: [u32; 3],
    pub(in crate::sm) dynamic_shared: u32,
    pub(in crate::sm) launch: u64,
    pub(in crate::sm) map: Arc<AddressMap>,
    /// Thread index x, y, z of every lane, for each 32-lane warp of a CTA.
    pub(in crate::sm) tid: Vec<[[u32; LANES]; 3]>,
    /// Address in device memory at which the local memory of the launch begins.
    local: u64,
    /// Address in device memory of the first instruction.
    code: u64,
    /// Source of the CTAs of a traced kernel; `None` for a PTX kernel.
    pub(in crate::sm) source: Option<Arc<dyn CtaSource>>,
}

impl KernelImage {
    /// Checks and prepares a launch. `program` is in physical form, with allocated registers. `params` is the
    /// memory contents of the kernel parameters. `dynamic_shared` is the size of the dynamic shared memory in
    /// bytes. `launch` is the number of the launch (`%gridid`).
    ///
    /// # Errors
    /// Returns an error if no SM can run the program with this grid, block and parameters.
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

    /// Returns the image with its local memory at address `base` of device memory. The size of that memory is
    /// [`Self::local_bytes`].
    #[must_use]
    pub fn with_local(self, base: u64) -> Self {
        Self { local: base, ..self }
    }

    /// Returns the image with its first instruction at address `code` of device memory, which is the start of
    /// a cache line.
    #[must_use]
    pub fn with_code(self, code: u64) -> Self {
        Self { code, ..self }
    }

    /// Returns the address in device memory of the first instruction.
    pub(in crate::sm) fn code(&self) -> u64 {
        self.code
    }

    /// Returns the image with other kernel parameters of the same total size.
    ///
    /// # Panics
    /// Panics if the sizes differ.
    #[must_use]
    pub fn with_params(&self, params: Vec<u8>) -> Self {
        assert_eq!(params.len(), self.params.len(), "bytes of parameters of `{}`", self.program.name);
        let (program, map, tid) = (self.program.clone(), self.map.clone(), self.tid.clone());
        Self { program, params, map, tid, source: self.source.clone(), ..*self }
    }

    /// Returns the total size in bytes of the local memory of `warps` warp slots of 32 lanes each.
    #[must_use]
    pub fn local_bytes(&self, warps: u32) -> u64 {
        u64::from(warps) * LANES as u64 * u64::from(self.program.local_bytes)
    }

    /// Returns the address at which the local memory of warp slot `slot` begins. Slots have 32 lanes and are
    /// numbered over all SMs.
    pub(in crate::sm) fn local_of(&self, slot: u32) -> u64 {
        self.local + self.local_bytes(slot)
    }

    /// Returns the source of the CTAs of a traced kernel; `None` for a PTX kernel.
    pub(crate) fn source(&self) -> Option<&Arc<dyn CtaSource>> {
        self.source.as_ref()
    }

    /// Returns the program of the kernel, which is empty for a traced kernel.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns a 16-bit hash of the kernel name. Hardware that keeps state per kernel distinguishes kernels
    /// by this hash, which takes the place of the entry point's address.
    #[must_use]
    pub fn key(&self) -> u16 {
        let hash = self
            .program
            .name
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        (hash ^ hash >> 16) as u16
    }

    /// Returns the number of instructions for which statistics are kept per instruction. For a program, these
    /// are all its instructions. For a trace the number is 0, because its instructions are not known before
    /// its CTAs are read.
    #[must_use]
    pub fn counted_instructions(&self) -> usize {
        if self.source.is_some() { 0 } else { self.program.insts.len() }
    }

    /// Returns the number of CTAs along x, y and z.
    #[must_use]
    pub fn grid(&self) -> [u32; 3] {
        self.grid
    }

    /// Returns the number of threads of a CTA along x, y and z.
    #[must_use]
    pub fn block(&self) -> [u32; 3] {
        self.block
    }

    /// Returns the number of threads per CTA.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Returns the number of 32-lane warps per CTA. This is the number that kernels see, even on a machine
    /// with 64-lane warps.
    #[must_use]
    pub fn warps(&self) -> u32 {
        self.warps_of(LANES as u32)
    }

    /// Returns the number of warps per CTA, with `lanes` lanes per warp.
    pub(in crate::sm) fn warps_of(&self, lanes: u32) -> u32 {
        self.threads().div_ceil(lanes)
    }

    /// Returns the size of the static and dynamic shared memory that a CTA uses, in bytes.
    #[must_use]
    pub fn shared_bytes(&self) -> u32 {
        self.program.shared_bytes.saturating_add(self.dynamic_shared)
    }

    /// Returns the size of the shared memory that is allocated for a CTA, in bytes. This is the size that it
    /// uses, rounded up to the allocation granularity.
    #[must_use]
    pub fn shared_footprint(&self) -> u64 {
        u64::from(self.shared_bytes()).next_multiple_of(u64::from(SHARED_GRANULE))
    }

    /// Reads `bytes` bytes (at most 8) of the kernel parameters at byte offset `at`, zero extended to 64
    /// bits.
    pub(in crate::sm) fn param(&self, at: usize, bytes: u32) -> u64 {
        self.params[at..][..bytes as usize].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    /// Returns the mask of the lanes that have a thread, in warp `index` of a CTA. Each warp has `lanes`
    /// lanes; the last warp may be only partly filled.
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

/// Returns the number of CTAs that fit on an SM at once. The limits are CTA slots, warp slots, threads,
/// registers and shared memory.
///
/// # Errors
/// Returns an error if not even one CTA fits; the error names the first resource that is too small. Also
/// returns an error if the machine lacks hardware that the kernel needs.
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
