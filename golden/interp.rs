//! # Functional kernel interpreter
//! Runs a kernel for its result alone: CTAs one after the other, the threads of a CTA in
//! turn, each on its own until it exits or waits at a barrier. There are no warps, no masks
//! and no reconvergence here, so that a mistake in those cannot hide in both models.
//!
//! What the machine leaves open reads as follows: fresh registers and shared memory are zero,
//! the clock stands at zero, there is one SM, and a thread's lane and warp follow from its
//! number in the CTA with 32 lanes a warp.
//!
//! Exchanges between the lanes of a warp are the exception: threads wait for each other there.
//! Where the instruction names its members, for all of those that have not exited; else for
//! all that could still come to it (`gather.rs`).
//!
//! [`run_warps`] runs the same instructions warp by warp instead, for those who want to know what
//! warps ask of memory, and in which order.
//!
//! Both forms of a program run: the virtual form is what kernels are checked with, the
//! physical one lets a test compare the two.

mod code;
mod gather;
mod spaces;
mod warps;

use std::fmt;

use isa::program::{BarrierKind, Op, Program};

use self::code::{Code, decode, special};
use self::gather::Gather;
use crate::memory::{AccessError, FlatMemory};

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
    /// Waits at a barrier or in an exchange for threads that never come.
    Waits,
    /// An address in no space.
    Generic(u64),
    /// Nothing is bound to this texture handle.
    Texture(u64),
    /// An atomic operation on memory that knows none.
    Atomic(&'static str),
    /// The kernel gave up: `trap`, or a failed assertion.
    Trap,
}

impl fmt::Display for InterpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InterpError::Launch(message) => f.write_str(message),
            InterpError::Fault(fault) => fault.fmt(f),
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
            FaultKind::Waits => f.write_str("waits for threads that never come here"),
            FaultKind::Generic(address) => write!(f, "the generic address {address:#x} lies in no state space"),
            FaultKind::Texture(handle) => write!(f, "no texture has the handle {handle:#x}"),
            FaultKind::Atomic(space) => write!(f, "an atomic operation on {space} memory"),
            FaultKind::Trap => f.write_str("trap: the kernel stopped itself, as a failed assertion does"),
        }
    }
}

/// Runs a launch to its end.
pub fn run(launch: &Launch<'_>, memory: &mut FlatMemory) -> Result<Counts, InterpError> {
    check(launch)?;
    let code = decode(launch.program);
    let mut cta = Cta::new(launch, &code)?;
    std::mem::swap(&mut cta.memory, memory);
    let ran = ctas(launch.grid).try_for_each(|index| cta.run(index));
    std::mem::swap(&mut cta.memory, memory);
    ran.map(|()| Counts { thread_instructions: cta.executed })
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
    if let Some(limit) = program.max_ntid {
        let most = limit.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
        if threads > most {
            return refuse(format!(
                "kernel `{name}`: block {block:?} has {threads} threads, expected at most {most}: \
                 the kernel says `.maxntid`"
            ));
        }
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

/// Where a thread stands.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    pc: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Running,
    /// At a barrier.
    Waiting(u8),
    /// In an exchange between lanes.
    Meeting,
    Done,
}

/// A CTA that runs, and what it works on.
struct Cta<'a> {
    launch: &'a Launch<'a>,
    code: &'a Code,
    /// On loan while this CTA runs.
    memory: FlatMemory,
    shared: Vec<u8>,
    /// The local memory of all threads, one after the other.
    local: Vec<u8>,
    gather: Gather,
    /// The frames of all threads, one after the other.
    values: Vec<u64>,
    threads: Vec<Thread>,
    index: [u32; 3],
    executed: u64,
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
            gather: Gather::new(launch.program),
            values: vec![0; values],
            threads: vec![Thread::default(); threads],
            index: [0; 3],
            executed: 0,
        })
    }

    /// Puts the CTA at `index` in this room, about to start.
    fn begin(&mut self, index: [u32; 3]) {
        self.index = index;
        self.shared.fill(0);
        self.local.fill(0);
        self.gather.reset();
        let frame = self.code.frame.len();
        for number in 0..self.threads.len() {
            self.threads[number] = Thread::default();
            let values = &mut self.values[number * frame..][..frame];
            values.copy_from_slice(&self.code.frame);
            let thread = thread_index(self.launch.block, number);
            for &(name, slot) in &self.code.specials {
                values[slot] = special(name, self.launch, index, thread, number);
            }
        }
    }

    fn run(&mut self, index: [u32; 3]) -> Result<(), InterpError> {
        self.begin(index);
        loop {
            for number in 0..self.threads.len() {
                while self.threads[number].state == State::Running {
                    self.step(number)?;
                }
            }
            if !self.release()? {
                return Ok(());
            }
        }
    }

    /// Runs the next instruction of a thread.
    #[inline(always)]
    fn step(&mut self, number: usize) -> Result<(), InterpError> {
        let max_instructions = self.launch.max_instructions;
        let frame = self.code.frame.len();
        let code = self.code;
        let pc = self.threads[number].pc;
        let inst = &code.insts[pc as usize];
        if self.executed == max_instructions {
            return Err(self.fault(number, pc, FaultKind::Runaway(max_instructions)));
        }
        self.executed += 1;
        let thread = &mut self.threads[number];
        thread.pc = pc + 1;
        let values = &mut self.values[number * frame..][..frame];
        if inst.guard.is_some_and(|guard| !guard.truth(values)) {
            return Ok(());
        }
        let done = match &inst.op {
            Op::Branch { target, .. } => {
                thread.pc = *target;
                Ok(())
            }
            Op::Barrier { id } => {
                thread.state = State::Waiting(*id);
                Ok(())
            }
            Op::BarrierWith(kind) => {
                let id = (inst.srcs[0].read(values) % 16) as u8;
                if *kind == BarrierKind::Arrive {
                    self.arrive(number, id);
                } else {
                    thread.state = State::Waiting(id);
                }
                Ok(())
            }
            Op::Warp(_) => {
                thread.state = State::Meeting;
                Ok(())
            }
            Op::Exit => {
                thread.state = State::Done;
                Ok(())
            }
            Op::Trap => Err(FaultKind::Trap),
            Op::Load(mem) => self.load(number, inst, mem),
            Op::Store(mem) => self.store(number, inst, mem),
            Op::Atomic(f, mem) => self.atomic(number, inst, *f, mem),
            Op::Texture(op) => self.texture(number, inst, op),
            Op::Fence(_) | Op::Nop => Ok(()),
            _ => {
                inst.compute(values);
                Ok(())
            }
        };
        done.map_err(|kind| self.fault(number, pc, kind))
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
