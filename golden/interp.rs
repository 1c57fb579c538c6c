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

use isa::lanes::{alu, compare, convert};
use isa::program::{MemOp, NO_PC, Op, Program};
use isa::types::{Logic, Space};

use self::code::{Code, Slot, decode};
use crate::memory::{AccessError, FlatMemory};

/// Most threads of a CTA (PTX ISA, limits of the target).
pub const MAX_THREADS: u64 = 1024;

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
    let shared_bytes = launch.program.shared_bytes as usize + launch.dynamic_shared as usize;
    let mut cta = Cta {
        launch,
        code: &code,
        memory,
        shared: vec![0; shared_bytes],
        values: vec![0; threads * code.frame.len()],
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
            for &(special, slot) in &self.code.specials {
                values[slot] = code::special(special, self.launch, index, thread, number);
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
        let frame = self.code.frame.len();
        let mut pc = self.threads[number].pc;
        let mut left = self.launch.max_instructions - self.executed;
        let budget = left;
        let outcome = loop {
            let values = &mut self.values[number * frame..][..frame];
            let inst = &self.code.insts[pc as usize];
            if left == 0 {
                break Err(FaultKind::Runaway(self.launch.max_instructions));
            }
            left -= 1;
            let here = pc;
            pc += 1;
            if inst.guard.is_some_and(|guard| !guard.truth(values)) {
                continue;
            }
            let [a, b, c, _] = inst.srcs;
            match &inst.op {
                Op::Alu(op) => {
                    let inputs = [a, b, c].map(|slot| [slot.read(values)]);
                    let [result] = alu(op, &inputs[0], &inputs[1], &inputs[2]);
                    inst.dsts[0].write(values, result);
                }
                Op::Mov(_) => inst.dsts[0].write(values, a.read(values)),
                Op::Compare(op) => {
                    let holds = compare(op, &[a.read(values)], &[b.read(values)]);
                    let third = u64::from(c.truth(values));
                    let (first, second) = op.combined(holds, third);
                    inst.dsts[0].write(values, first & 1);
                    inst.dsts[1].write(values, second & 1);
                }
                Op::Select(_) => {
                    let chosen = if c.truth(values) { a } else { b };
                    inst.dsts[0].write(values, chosen.read(values));
                }
                Op::Convert(op) => {
                    let [result] = convert(op, &[a.read(values)]);
                    inst.dsts[0].write(values, result);
                }
                Op::Pred(logic) => {
                    let (a, b) = (a.truth(values), b.truth(values));
                    let result = match logic {
                        None => a,
                        Some(Logic::And) => a & b,
                        Some(Logic::Or) => a | b,
                        Some(Logic::Xor) => a ^ b,
                    };
                    inst.dsts[0].write(values, u64::from(result));
                }
                Op::Pack { part_bits } => {
                    let mut whole = 0;
                    for (i, part) in inst.srcs.iter().enumerate().take(64 / *part_bits as usize) {
                        let mask = (1 << part_bits) - 1;
                        whole |= (part.read(values) & mask) << (i * *part_bits as usize);
                    }
                    inst.dsts[0].write(values, whole);
                }
                Op::Unpack { part_bits } => {
                    let whole = a.read(values);
                    for (i, part) in inst.dsts.iter().enumerate().take(64 / *part_bits as usize) {
                        let mask = (1 << part_bits) - 1;
                        part.write(values, whole >> (i * *part_bits as usize) & mask);
                    }
                }
                Op::Load(mem) => {
                    let address = mem.address(inst.base.read(values));
                    let bytes = match mem.space {
                        Space::Global => self.memory.read(address, mem.bytes()).map_err(FaultKind::Global),
                        Space::Shared => window("shared memory", &self.shared, address, mem.bytes()),
                        Space::Param => window("the parameters", self.launch.params, address, mem.bytes()),
                    };
                    match bytes {
                        Ok(bytes) => load(mem, bytes, &inst.dsts, &inst.wide, values),
                        Err(kind) => break Err(kind).map_err(|kind| (here, kind)).map_err(|(_, k)| k),
                    }
                }
                _ => {}
            }
        };
        let _ = (budget, outcome);
        Ok(())
    }
}
