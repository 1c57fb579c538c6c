//! # Functional kernel interpreter
//! Executes a kernel for its result only, without time. The lanes of a warp run in lockstep, as on the
//! modeled machine: after a divergent branch, one path runs after the other until both meet at the
//! reconvergence point.
//! The caller selects the order of warps and CTAs:
//! - [`run`] runs one CTA after the other;
//! - [`run_in`] runs them in any [`Order`], which exposes results that depend on the order;
//! - [`run_steps`] interleaves them as the SMs of a machine do, so that the memory accesses of warps can be
//!   observed.
//!
//! Values that the machine leaves undefined are fixed here: new registers and shared memory are zero, the
//! clock reads zero, and there is one SM. The lane and the warp of a thread follow from the number of the
//! thread in its CTA, with 32 lanes per warp.
//!
//! Warp-level exchanges take place among the lanes that execute them together. If the instruction has a
//! member mask, all members that have not exited must execute it together (`gather.rs`). As on the machine,
//! the two paths of a divergent branch do not wait for each other.
//!
//! A launch whose warps loop forever without progress is stopped (`livelock.rs`).
//!
//! The interpreter runs programs in virtual form (before register allocation) and in physical form (after
//! it). Kernels are checked in virtual form; a test compares both forms.

mod code;
mod gather;
mod livelock;
mod order;
mod registers;
mod spaces;
mod undefined;
mod warp;
mod warps;

use std::fmt;

use isa::lanes::ConvergenceFault;
use isa::program::{MemOp, Program};
use isa::types::{Space, Special};

use self::code::{Code, special};
use self::registers::Slot;
use self::undefined::UndefinedBits;
use self::warp::Warp;
use crate::memory::AccessError;

pub use self::livelock::{Livelocked, LoopingWarp};
pub use self::order::{Order, run, run_finding_undefined, run_in};
pub use self::undefined::UndefinedRead;
pub use self::warps::{Access, LANES, Sms, WarpMemory, WarpStep, run_steps, run_warps};

/// Maximum number of threads per CTA, a limit of the PTX target.
pub const MAX_THREADS: u64 = 1024;

/// Maximum number of register and constant values in all threads of a CTA, which together occupy 512 MiB. The
/// modeled machine has a far lower limit: 255 words per thread.
const MAX_VALUES: usize = 1 << 26;

/// Kernel launch: the program together with its launch parameters.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Program of the kernel to run.
    pub program: &'a Program,
    /// Number of CTAs along each axis of the grid.
    pub grid: [u32; 3],
    /// Number of threads along each axis of a CTA.
    pub block: [u32; 3],
    /// Size of the dynamic shared memory in bytes.
    pub dynamic_shared: u32,
    /// Kernel parameters as bytes, `program.param_bytes` long.
    pub params: &'a [u8],
    /// Maximum number of thread instructions per slot. A slot runs one resident CTA after another, and the
    /// instructions of all these CTAs are added up. A launch that exceeds the maximum is stopped as a
    /// runaway.
    pub max_instructions: u64,
}

/// Counters of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of thread instructions executed, including those that a false guard disables.
    pub thread_instructions: u64,
}

/// Reason why a launch failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterpError {
    /// The launch configuration does not fit the kernel.
    Launch(String),
    /// A thread performed an illegal operation.
    Fault(Box<Fault>),
    /// Warps loop forever without making progress.
    Livelock(Box<Livelocked>),
}

/// Illegal operation in a kernel, with the thread that performed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Source file of the kernel.
    pub file: String,
    /// Source line of the instruction.
    pub line: u32,
    /// Name of the kernel that faulted.
    pub kernel: String,
    /// Program counter of the instruction.
    pub pc: u32,
    /// Index of the CTA to which the thread belongs.
    pub cta: [u32; 3],
    /// Index of the thread in its CTA.
    pub thread: [u32; 3],
    /// Kind of the illegal operation.
    pub kind: FaultKind,
}

/// Kind of an illegal operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Illegal access to global memory.
    Global(AccessError),
    /// Illegal access to a memory window other than global memory, such as shared memory or parameters.
    Window {
        /// Name of the window for error messages, such as `shared memory` or `the parameters`.
        what: &'static str,
        /// Address of the first byte of the access, within the window.
        address: u64,
        /// Size of the access in bytes.
        bytes: u32,
        /// Size of the window in bytes.
        size: usize,
    },
    /// The launch exceeded its limit of thread instructions. The number is that limit.
    Runaway(u64),
    /// A thread waits at the barrier with this number while another thread waits at a different barrier, so
    /// that neither barrier can open.
    Barrier(u8),
    /// A barrier instruction has this illegal thread count.
    BarrierCount(u32),
    /// A barrier instruction has this barrier number, which is out of range.
    BarrierNumber(u32),
    /// A thread waits at a barrier for threads that never arrive.
    Waits,
    /// A thread accesses this generic address, which lies in no state space.
    Generic(u64),
    /// A thread writes to read-only constants, at this address in device memory.
    ReadOnly(u64),
    /// An instruction uses a handle to which no texture or surface is bound.
    Texture(u64),
    /// A fetch with an integer result reads the texture with this name, which is filtered linearly.
    Filter(String),
    /// An instruction accesses a surface outside of its bounds.
    Surface {
        /// Name of the surface.
        name: String,
        /// Coordinates of the access, in the order of the instruction.
        at: [i32; 3],
    },
    /// An atomic operation accesses a state space that does not support atomics; the string names the space.
    Atomic(&'static str),
    /// An instruction that all lanes of a warp must execute is executed only by the lanes in this mask.
    Lanes(u32),
    /// A warp-level exchange or a barrier lacks lanes that must take part.
    Convergence(ConvergenceFault),
    /// The kernel executed the instruction `trap`, for example because an assertion failed.
    Trap,
}

impl FaultKind {
    /// True if the fault is that threads wait for other threads that never arrive.
    #[must_use]
    pub fn is_wait(&self) -> bool {
        matches!(self, FaultKind::Barrier(_) | FaultKind::Waits | FaultKind::Lanes(_) | FaultKind::Convergence(_))
    }
}

impl fmt::Display for InterpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InterpError::Launch(message) => f.write_str(message),
            InterpError::Fault(fault) => fault.fmt(f),
            InterpError::Livelock(stuck) => stuck.fmt(f),
        }
    }
}

impl std::error::Error for InterpError {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { file, line, kernel, pc, cta, thread, kind } = self;
        write!(f, "{file}:{line}: kernel `{kernel}`, pc {pc}, CTA {cta:?}, thread {thread:?}: ")?;
        match kind {
            FaultKind::Global(error) => error.fmt(f),
            FaultKind::Window { what, address, bytes, size } => {
                write!(f, "{bytes} bytes at {address:#x} of {what}: ")?;
                if address.is_multiple_of(u64::from((*bytes).max(1))) {
                    write!(f, "out of range, it has {size} bytes")
                } else {
                    write!(f, "misaligned, expected a multiple of {bytes}")
                }
            }
            FaultKind::Runaway(limit) => {
                write!(f, "no end in sight after {limit} thread instructions")
            }
            FaultKind::Barrier(id) => {
                write!(f, "waits at barrier {id} while another thread waits at a different one")
            }
            FaultKind::BarrierCount(count) => {
                write!(f, "a barrier of {count} threads, expected whole warps of 32, no more than the CTA has")
            }
            FaultKind::BarrierNumber(number) => {
                write!(f, "a barrier with the number {number}, expected one from 0 to 15")
            }
            FaultKind::ReadOnly(address) => write!(f, "a write to {address:#x}, which lies in read-only constants"),
            FaultKind::Waits => f.write_str("waits for threads that never arrive"),
            FaultKind::Generic(address) => write!(f, "the generic address {address:#x} lies in no state space"),
            FaultKind::Texture(handle) => write!(f, "no texture or surface has the handle {handle:#x}"),
            FaultKind::Filter(name) => write!(f, "an integer result from texture `{name}`, which is filtered linearly"),
            FaultKind::Surface { name, at } => write!(f, "an access to surface `{name}` at {at:?}, which is outside"),
            FaultKind::Atomic(space) => write!(f, "an atomic operation on {space} memory"),
            FaultKind::Lanes(mask) => {
                write!(f, "a matrix instruction in the lanes {mask:#010x} of the warp, expected all 32")
            }
            FaultKind::Convergence(fault) => fault.fmt(f),
            FaultKind::Trap => f.write_str("trap: the kernel stopped itself, as a failed assertion does"),
        }
    }
}

/// Yields the CTA indices of a grid in order; the x coordinate varies fastest.
fn ctas([x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])))
}

fn check(launch: &Launch<'_>) -> Result<(), InterpError> {
    let Launch { program, grid, block, params, .. } = launch;
    let name = &program.name;
    let refuse = |message: String| Err(InterpError::Launch(message));
    if grid.contains(&0) || block.contains(&0) {
        return refuse(format!("kernel `{name}`: grid {grid:?}, block {block:?}, expected sizes of 1 or more"));
    }
    let threads: u64 = block.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
    if threads > MAX_THREADS {
        return refuse(format!(
            "kernel `{name}`: block {block:?} has {threads} threads, expected at most {MAX_THREADS}"
        ));
    }
    let broken = program.limits.check_block(*block).map_err(|refused| (refused, "block", block));
    let broken = broken.and(program.limits.check_grid(*grid).map_err(|refused| (refused, "grid", grid)));
    if let Err(((expected, directive), what, given)) = broken {
        return refuse(format!(
            "kernel `{name}`: {what} {given:?}, expected {expected}: the kernel declares `{directive}`"
        ));
    }
    if !program.relocations.is_empty() {
        return refuse(format!("kernel `{name}` names variables of its file, expected a linked program"));
    }
    if params.len() != program.param_bytes as usize {
        return refuse(format!(
            "kernel `{name}`: {} bytes of parameters, expected {}",
            params.len(),
            program.param_bytes
        ));
    }
    Ok(())
}

/// Number of named barriers per CTA.
const BARRIERS: usize = 16;

/// Volatile loads from shared memory during the turn of a warp. If the warp executes the same one twice, it
/// probably polls: it waits in a loop for another warp, for example for the arrivals at an mbarrier object
/// (`mbarrier.test_wait`). The turn then ends, so that the other warp can run.
#[derive(Clone, Copy, Default)]
struct Polls {
    /// Program counter of the first volatile load.
    first: Option<u32>,
    /// True if the warp has executed that load again.
    is_repeated: bool,
}

impl Polls {
    /// Records a load.
    #[inline]
    fn note(&mut self, pc: u32, mem: &MemOp) {
        if mem.volatile && matches!(mem.space, Space::Shared | Space::Generic) {
            self.is_repeated |= self.first == Some(pc);
            self.first.get_or_insert(pc);
        }
    }
}

/// Resident CTA with its memory, warps and barriers.
struct Cta<'a> {
    launch: &'a Launch<'a>,
    code: &'a Code,
    shared: Vec<u8>,
    /// Local memory of all threads of the CTA, concatenated.
    local: Vec<u8>,
    warps: Vec<Warp>,
    /// Number of warps of the CTA that have not ended.
    live: usize,
    /// For each barrier, number of threads that arrived without waiting (`bar.arrive`).
    arrived: [u32; BARRIERS],
    index: [u32; 3],
    executed: u64,
    /// Polls of the current turn of a warp.
    polls: Polls,
    /// True if the CTA has made progress since the flag was last cleared: it started, a warp ended, a value
    /// in memory changed, or a barrier reduction completed.
    has_changed: bool,
    /// Undefined register bits of all threads of the CTA; `None` if they are not tracked.
    undefined: Option<UndefinedBits>,
}

impl<'a> Cta<'a> {
    /// Allocates the state of a resident CTA. [`Cta::begin`] then reuses it for one CTA of the grid after
    /// another.
    fn new(launch: &'a Launch<'a>, code: &'a Code) -> Result<Self, InterpError> {
        let threads = launch.block.iter().product::<u32>() as usize;
        let values = threads * code.places;
        if values > MAX_VALUES {
            return Err(InterpError::Launch(format!(
                "kernel `{}`: {threads} threads with {} registers and constants each, expected at most \
                 {MAX_VALUES} in all",
                launch.program.name, code.places
            )));
        }
        let shared_bytes = launch.program.shared_bytes as usize + launch.dynamic_shared as usize;
        let local_bytes = threads * launch.program.local_bytes as usize;
        let warp = |first| Warp::new(first, threads, code.initial.clone());
        let mut cta = Cta {
            launch,
            code,
            shared: vec![0; shared_bytes],
            local: vec![0; local_bytes],
            warps: (0..threads).step_by(LANES).map(warp).collect(),
            live: 0,
            arrived: [0; BARRIERS],
            index: [0; 3],
            executed: 0,
            polls: Polls::default(),
            has_changed: false,
            undefined: code.follows_undefined.then(|| UndefinedBits::new(code, threads.div_ceil(LANES))),
        };
        code.specials.iter().for_each(|(name, slot)| cta.define(*name, *slot));
        Ok(cta)
    }

    /// Resets the state, so that the CTA with the given index in the grid can start.
    fn begin(&mut self, index: [u32; 3]) {
        self.index = index;
        self.shared.fill(0);
        self.local.fill(0);
        self.arrived = [0; BARRIERS];
        self.has_changed = true;
        let code = self.code;
        self.warps.iter_mut().for_each(|warp| warp.begin(code.register_rows));
        self.live = self.warps.len();
        for (name, slot) in &code.specials {
            // Only the CTA index must be set again. Other special registers are the same in all CTAs of a
            // launch.
            if let Special::Ctaid(_) = name {
                self.define(*name, *slot);
            }
        }
        self.undefined.iter_mut().for_each(|bits| bits.begin(code));
    }

    /// Sets a special register in all threads of the CTA.
    fn define(&mut self, name: Special, slot: Slot) {
        let (launch, index) = (self.launch, self.index);
        for warp in &mut self.warps {
            for (lane, number) in (warp.first..).take(LANES).enumerate() {
                let value = special(name, launch, index, thread_index(launch.block, number), number);
                warp.registers.write(slot, lane, value);
            }
        }
    }

    fn is_done(&self) -> bool {
        self.live == 0
    }

    fn threads(&self) -> usize {
        self.launch.block.iter().product::<u32>() as usize
    }

    #[cold]
    fn fault(&self, number: usize, pc: u32, kind: FaultKind) -> InterpError {
        let program = self.launch.program;
        InterpError::Fault(Box::new(Fault {
            file: program.file.to_string(),
            line: program.insts[pc as usize].line,
            kernel: program.name.clone(),
            pc,
            cta: self.index,
            thread: thread_index(self.launch.block, number),
            kind,
        }))
    }
}

/// Returns the three-dimensional index of a thread in its CTA, given its linear number.
fn thread_index(block: [u32; 3], number: usize) -> [u32; 3] {
    let number = number as u32;
    let [x, y, _] = block;
    [number % x, number / x % y, number / x / y]
}

#[cfg(test)]
#[path = "interp/tests.rs"]
mod tests;

#[cfg(test)]
#[path = "interp/compiled_tests.rs"]
mod compiled_tests;

#[cfg(test)]
#[path = "interp/modifier_tests.rs"]
mod modifier_tests;

#[cfg(test)]
#[path = "interp/recursion_tests.rs"]
mod recursion_tests;

#[cfg(test)]
#[path = "interp/tensor_tests.rs"]
mod tensor_tests;
