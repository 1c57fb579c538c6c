//! # Functional kernel interpreter
//! Runs a kernel for its result alone, without time. The lanes of a warp run together, as on the
//! machine: a branch that parts them has one path run after the other until both meet again at its
//! reconvergence point. In which order warps and CTAs run is up to the caller: [`run`] has one CTA
//! after the other, [`run_in`] any [`Order`], so that a result that depends on it shows, and
//! [`run_steps`] the turns that the SMs of a machine take, for those who want to know what warps ask
//! of memory.
//!
//! What the machine leaves open reads as follows: fresh registers and shared memory are zero,
//! the clock stands at zero, there is one SM, and a thread's lane and warp follow from its
//! number in the CTA with 32 lanes a warp.
//!
//! Exchanges between the lanes of a warp take place among those that come to them together. Where the
//! instruction names its members, all of those that have not exited must be there (`gather.rs`): paths that a
//! branch has parted do not wait for each other, as on the machine.
//!
//! Warps that go round in circles for ever end a launch (`livelock.rs`).
//!
//! Both forms of a program run: the virtual form is what kernels are checked with, the
//! physical one lets a test compare the two.

mod code;
mod gather;
mod livelock;
mod order;
mod spaces;
mod undefined;
mod warp;
mod warps;

use std::fmt;

use isa::lanes::ConvergenceFault;
use isa::program::Program;

use self::code::{Code, special};
use self::undefined::Undefined;
use self::warp::Warp;
use crate::memory::{AccessError, FlatMemory};

pub use self::livelock::{Circling, Stuck};
pub use self::order::{Order, run, run_finding_undefined, run_in};
pub use self::undefined::UndefinedRead;
pub use self::warps::{Access, LANES, Sms, WarpMemory, WarpStep, run_steps, run_warps};

/// Most threads of a CTA (PTX ISA, limits of the target).
pub const MAX_THREADS: u64 = 1024;

/// Most registers and constants of all threads of a CTA: 512 MiB of them. The machine's own
/// limit of 255 words a thread lies far below.
const MAX_VALUES: usize = 1 << 26;

/// A kernel and how it is started.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The kernel.
    pub program: &'a Program,
    /// CTAs per axis.
    pub grid: [u32; 3],
    /// Threads of a CTA per axis.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The parameter block, `program.param_bytes` long.
    pub params: &'a [u8],
    /// Thread instructions after which the launch counts as runaway.
    pub max_instructions: u64,
}

/// What a launch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions executed, summed over threads; those that a guard switched off included.
    pub thread_instructions: u64,
}

/// Why a launch did not end well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterpError {
    /// The launch does not fit the kernel.
    Launch(String),
    /// A thread did something illegal.
    Fault(Box<Fault>),
    /// Warps go round in circles for ever.
    Livelock(Box<Stuck>),
}

/// An illegal act and who did it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Source file.
    pub file: String,
    /// Source line.
    pub line: u32,
    /// Kernel name.
    pub kernel: String,
    /// Instruction.
    pub pc: u32,
    /// CTA index.
    pub cta: [u32; 3],
    /// Thread index in the CTA.
    pub thread: [u32; 3],
    /// What happened.
    pub kind: FaultKind,
}

/// What a thread did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Touched global memory where it must not.
    Global(AccessError),
    /// Touched shared memory or parameters where it must not; the window's size is given.
    Window {
        /// `shared memory`, `the parameters` ...
        what: &'static str,
        /// First address.
        address: u64,
        /// Bytes of the access.
        bytes: u32,
        /// Bytes of the window.
        size: usize,
    },
    /// The launch ran for too long.
    Runaway(u64),
    /// Waits at this barrier while another thread waits at a different one: none can be
    /// released.
    Barrier(u8),
    /// Came to a barrier that cannot expect this number of threads.
    BarrierCount(u32),
    /// Came to a barrier with a number that no barrier has.
    BarrierNumber(u32),
    /// Waits at a barrier for threads that never come.
    Waits,
    /// An address in no space.
    Generic(u64),
    /// Wrote to constants, at this address in device memory.
    ReadOnly(u64),
    /// Nothing is bound to this texture handle.
    Texture(u64),
    /// An atomic operation on memory that knows none.
    Atomic(&'static str),
    /// An instruction that all lanes of a warp carry out together, come to by these.
    Lanes(u32),
    /// Lanes that need others of their warp, which are elsewhere.
    Convergence(ConvergenceFault),
    /// The kernel gave up: `trap`, or a failed assertion.
    Trap,
}

impl FaultKind {
    /// True if threads wait for others that cannot come.
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
            FaultKind::Waits => f.write_str("waits for threads that never come here"),
            FaultKind::Generic(address) => write!(f, "the generic address {address:#x} lies in no state space"),
            FaultKind::Texture(handle) => write!(f, "no texture has the handle {handle:#x}"),
            FaultKind::Atomic(space) => write!(f, "an atomic operation on {space} memory"),
            FaultKind::Lanes(mask) => {
                write!(f, "a matrix instruction in the lanes {mask:#010x} of the warp, expected all 32")
            }
            FaultKind::Convergence(fault) => fault.fmt(f),
            FaultKind::Trap => f.write_str("trap: the kernel stopped itself, as a failed assertion does"),
        }
    }
}

/// The CTAs of a grid in order, x fastest.
fn ctas([x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])))
}

fn check(launch: &Launch<'_>) -> Result<(), InterpError> {
    let Launch { program, grid, block, params, .. } = launch;
    let name = &program.name;
    let refuse = |message: String| Err(InterpError::Launch(message));
    if grid.contains(&0) || block.contains(&0) {
        return refuse(format!("kernel `{name}`: grid {grid:?}, block {block:?}, expected no 0"));
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
            "kernel `{name}`: {what} {given:?}, expected {expected}: the kernel says `{directive}`"
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

/// Arrivals at the barriers of a CTA that did not wait are counted for each of these.
const BARRIERS: usize = 16;

/// A CTA that runs, and what it works on.
struct Cta<'a> {
    launch: &'a Launch<'a>,
    code: &'a Code,
    /// On loan while this CTA runs.
    memory: FlatMemory,
    shared: Vec<u8>,
    /// The local memory of all threads, one after the other.
    local: Vec<u8>,
    /// The frames of all threads, one after the other.
    values: Vec<u64>,
    warps: Vec<Warp>,
    /// Threads that arrived at a barrier and went on.
    arrived: [u32; BARRIERS],
    index: [u32; 3],
    executed: u64,
    /// A value in memory has changed since this was last cleared.
    has_changed: bool,
    /// Undefined registers of all threads, if they are followed.
    undefined: Option<Undefined>,
}

impl<'a> Cta<'a> {
    /// Room for one CTA after the other.
    fn new(launch: &'a Launch<'a>, code: &'a Code) -> Result<Self, InterpError> {
        let threads = launch.block.iter().product::<u32>() as usize;
        let values = threads * code.frame.len();
        if values > MAX_VALUES {
            return Err(InterpError::Launch(format!(
                "kernel `{}`: {threads} threads with {} registers and constants each, expected at most \
                 {MAX_VALUES} in all",
                launch.program.name,
                code.frame.len()
            )));
        }
        let shared_bytes = launch.program.shared_bytes as usize + launch.dynamic_shared as usize;
        let local_bytes = threads * launch.program.local_bytes as usize;
        Ok(Cta {
            launch,
            code,
            memory: FlatMemory::new(),
            shared: vec![0; shared_bytes],
            local: vec![0; local_bytes],
            values: vec![0; values],
            warps: (0..threads).step_by(LANES).map(|first| Warp::new(first, threads)).collect(),
            arrived: [0; BARRIERS],
            index: [0; 3],
            executed: 0,
            has_changed: false,
            undefined: code.follows_undefined.then(|| Undefined::new(launch.program, code, threads)),
        })
    }

    /// Puts the CTA at `index` in this room, about to start.
    fn begin(&mut self, index: [u32; 3]) {
        self.index = index;
        self.shared.fill(0);
        self.local.fill(0);
        self.arrived = [0; BARRIERS];
        self.has_changed = true;
        let frame = self.code.frame.len();
        for (number, values) in self.values.chunks_exact_mut(frame).enumerate() {
            values.copy_from_slice(&self.code.frame);
            let thread = thread_index(self.launch.block, number);
            for &(name, slot) in &self.code.specials {
                values[slot] = special(name, self.launch, index, thread, number);
            }
        }
        self.warps.iter_mut().for_each(Warp::begin);
        self.undefined.iter_mut().for_each(Undefined::begin);
    }

    fn is_done(&self) -> bool {
        self.warps.iter().all(Warp::is_done)
    }

    fn threads(&self) -> usize {
        self.launch.block.iter().product::<u32>() as usize
    }

    /// The frame of a thread.
    #[inline(always)]
    fn frame(&self, number: usize) -> &[u64] {
        let frame = self.code.frame.len();
        &self.values[number * frame..][..frame]
    }

    #[inline(always)]
    fn frame_mut(&mut self, number: usize) -> &mut [u64] {
        let frame = self.code.frame.len();
        &mut self.values[number * frame..][..frame]
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

/// Index of the thread with this number in its CTA.
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
#[path = "interp/tensor_tests.rs"]
mod tensor_tests;
