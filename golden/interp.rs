//! # Functional kernel interpreter
//! Runs a kernel for its result alone: CTAs one after the other, the threads of a CTA in
//! turn, each on its own until it exits or waits at a barrier. There are no warps, no masks
//! and no reconvergence here, so that a mistake in those cannot hide in both models.
//!
//! What the machine leaves open reads as follows: fresh registers and shared memory are zero,
//! the clock stands at zero, there is one SM, and a thread's lane and warp follow from its
//! number in the CTA with 32 lanes a warp.
//!
//! Both forms of a program run: the virtual form is what kernels are checked with, the
//! physical one lets a test compare the two.

mod code;

use std::fmt;
use std::ops::Range;

use isa::program::{MemOp, Op, Program};
use isa::types::Space;

use self::code::{Code, decode, special};
use crate::memory::{AccessError, FlatMemory};

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
        /// `shared memory` or `parameters`.
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
        }
    }
}

/// Runs a launch to its end.
pub fn run(launch: &Launch<'_>, memory: &mut FlatMemory) -> Result<Counts, InterpError> {
    check(launch)?;
    let code = decode(launch.program);
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
    let mut cta = Cta {
        launch,
        code: &code,
        memory,
        shared: vec![0; shared_bytes],
        values: vec![0; values],
        threads: vec![Thread::default(); threads],
        index: [0; 3],
        executed: 0,
    };
    let [x, y, z] = launch.grid;
    for z in 0..z {
        for y in 0..y {
            for x in 0..x {
                cta.run([x, y, z])?;
            }
        }
    }
    let thread_instructions = cta.executed;
    Ok(Counts { thread_instructions })
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
    Waiting(u8),
    Done,
}

/// The CTA that runs now, and what it works on.
struct Cta<'a> {
    launch: &'a Launch<'a>,
    code: &'a Code,
    memory: &'a mut FlatMemory,
    shared: Vec<u8>,
    /// The frames of all threads, one after the other.
    values: Vec<u64>,
    threads: Vec<Thread>,
    index: [u32; 3],
    executed: u64,
}

impl Cta<'_> {
    fn run(&mut self, index: [u32; 3]) -> Result<(), InterpError> {
        self.index = index;
        self.shared.fill(0);
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
        loop {
            for number in 0..self.threads.len() {
                if self.threads[number].state == State::Running {
                    self.step(number)?;
                }
            }
            if !self.release()? {
                return Ok(());
            }
        }
    }

    /// Every thread waits or is done: lets those who wait go on. False if all are done.
    fn release(&mut self) -> Result<bool, InterpError> {
        let mut barrier = None;
        for (number, thread) in self.threads.iter().enumerate() {
            if let State::Waiting(id) = thread.state
                && *barrier.get_or_insert(id) != id
            {
                return Err(self.fault(number, thread.pc - 1, FaultKind::Barrier(id)));
            }
        }
        for thread in &mut self.threads {
            if let State::Waiting(_) = thread.state {
                thread.state = State::Running;
            }
        }
        Ok(barrier.is_some())
    }

    /// Runs a thread until it waits or exits.
    fn step(&mut self, number: usize) -> Result<(), InterpError> {
        let Launch { params, max_instructions, .. } = *self.launch;
        let frame = self.code.frame.len();
        let values = &mut self.values[number * frame..][..frame];
        let mut pc = self.threads[number].pc;
        let mut state = State::Running;
        let mut executed = self.executed;
        while state == State::Running {
            let inst = &self.code.insts[pc as usize];
            if executed == max_instructions {
                return Err(self.fault(number, pc, FaultKind::Runaway(max_instructions)));
            }
            executed += 1;
            pc += 1;
            if inst.guard.is_some_and(|guard| !guard.truth(values)) {
                continue;
            }
            match &inst.op {
                Op::Branch { target, .. } => pc = *target,
                Op::Barrier { id } => state = State::Waiting(*id),
                Op::Exit => state = State::Done,
                Op::Load(mem) => {
                    let address = mem.address(inst.base.read(values));
                    let bytes = match mem.space {
                        Space::Global => self.memory.read(address, mem.bytes()).map_err(global),
                        Space::Shared => {
                            let at = window("shared memory", self.shared.len(), mem, address);
                            at.map(|at| &self.shared[at])
                        }
                        Space::Param => {
                            let at = window("the parameters", params.len(), mem, address);
                            at.map(|at| &params[at])
                        }
                    };
                    match bytes {
                        Ok(bytes) => inst.load(mem, bytes, values),
                        Err(kind) => return Err(self.fault(number, pc - 1, kind)),
                    }
                }
                Op::Store(mem) => {
                    let address = mem.address(inst.base.read(values));
                    let bytes = match mem.space {
                        Space::Global => self.memory.write(address, mem.bytes()).map_err(global),
                        // Lowering refuses stores to parameters; the window has no room for any.
                        Space::Param => window("writable parameters", 0, mem, address).map(|_| [].as_mut_slice()),
                        Space::Shared => {
                            let at = window("shared memory", self.shared.len(), mem, address);
                            at.map(|at| &mut self.shared[at])
                        }
                    };
                    match bytes {
                        Ok(bytes) => inst.store(mem, bytes, values),
                        Err(kind) => return Err(self.fault(number, pc - 1, kind)),
                    }
                }
                _ => inst.compute(values),
            }
        }
        self.executed = executed;
        self.threads[number] = Thread { pc, state };
        Ok(())
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

fn global(error: AccessError) -> FaultKind {
    FaultKind::Global(error)
}

/// The bytes of an aligned access to a window that begins at address 0.
fn window(what: &'static str, size: usize, mem: &MemOp, address: u64) -> Result<Range<usize>, FaultKind> {
    let bytes = mem.bytes();
    let end = address.checked_add(u64::from(bytes));
    if end.is_some_and(|end| end <= size as u64) && address.is_multiple_of(u64::from(bytes)) {
        return Ok(address as usize..address as usize + bytes as usize);
    }
    Err(FaultKind::Window { what, address, bytes, size })
}

#[cfg(test)]
#[path = "interp/tests.rs"]
mod tests;
