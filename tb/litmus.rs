//! # Litmus tests
//! Generates small racing programs with one thread per SM. Computes all outcomes that the memory model
//! allows, and runs the programs on a machine to see the outcomes that occur. The allowed outcomes are
//! computed by trying every order of operations, without knowledge of any machine.
//!
//! The memory model is that of `golden/consistency.rs`:
//!
//! - Accesses of a thread to one location keep their order.
//! - A fence orders all operations of its thread before the fence ahead of all operations after it.
//! - Stores and atomics become visible to all threads at once.
//! - A coherent load returns the current value in memory.
//! - A weak load may return any value that the location has had since the thread's own last store to it,
//!   because L1s are not coherent.
//! - Later loads of a thread may overtake a weak load of the same thread, because they may bypass the L1.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::{self, Write as _};
use std::fs;

use golden::reference::ElementType;
use serde::{Deserialize, Serialize};
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::launch::read_npy;
use warpsieve::run::{Outcome, RunOptions, run};

use crate::kit::{MIN_QUEUES, Random};

/// Maximum number of memory locations that a litmus program uses.
pub const LOCATIONS: usize = 3;
/// Number of times (rounds) that a litmus program is executed in one run. Each round uses its own memory
/// locations.
const ROUNDS: usize = 100;
/// Number of core cycles from the start of one round to the start of the next.
const ROUND_CYCLES: u32 = 3000;
/// Maximum number of words that one thread of a litmus program reads.
const MAX_READS: usize = 6;
/// Limit of a run in core cycles. It is a hundred times the duration of all rounds.
const MAX_CYCLES: u64 = 100 * ROUNDS as u64 * ROUND_CYCLES as u64;

/// Operation of a thread in a litmus program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// Stores a value to a memory location.
    Store {
        /// Index of the memory location.
        at: usize,
        /// Value to store.
        value: u32,
    },
    /// Loads the value of a memory location. A coherent load bypasses the L1.
    Load {
        /// Index of the memory location.
        at: usize,
        /// True if the load must return the current value in memory.
        is_coherent: bool,
    },
    /// Adds a value to a memory location atomically, and returns the old value.
    Add {
        /// Index of the memory location.
        at: usize,
        /// Value to add.
        value: u32,
    },
    /// Fence: orders all earlier operations of the thread before all later ones.
    Fence,
}

impl Op {
    fn location(self) -> Option<usize> {
        match self {
            Self::Store { at, .. } | Self::Load { at, .. } | Self::Add { at, .. } => Some(at),
            Self::Fence => None,
        }
    }

    fn reads(self) -> bool {
        matches!(self, Self::Load { .. } | Self::Add { .. })
    }

    /// True if this operation may take effect only after `before`, which is an earlier operation of the same
    /// thread.
    fn follows(self, before: Self) -> bool {
        match (self, before) {
            (Self::Load { .. }, Self::Load { is_coherent: false, .. }) => false,
            _ => self.location().zip(before.location()).is_none_or(|(at, then)| at == then),
        }
    }
}

/// Litmus program: a list of operations for each thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program(pub Vec<Vec<Op>>);

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(number, ops)| writeln!(f, "  thread {number}: {ops:?}"))
    }
}

/// Outcome of a litmus program: the values that each thread read, in program order, then the final value of
/// each location.
pub type LitmusOutcome = Vec<u32>;

/// State of a litmus program in the search for all outcomes, after some of its operations.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// For each thread, a bit mask of its completed operations.
    done: Vec<u16>,
    /// Values that each memory location has had, from oldest to current.
    versions: Vec<Vec<u32>>,
    /// For each thread and memory location, the index in `versions` of the value that the thread stored last.
    own: Vec<[usize; LOCATIONS]>,
    read: Vec<Vec<Option<u32>>>,
}

impl Program {
    /// Generates a random litmus program of two or three threads with two to four operations each.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut below = |limit: usize| random.below(limit as u64) as usize;
        let (threads, locations) = (2 + below(2), 1 + below(LOCATIONS));
        let mut value = 0;
        let mut op = |below: &mut dyn FnMut(usize) -> usize| {
            let at = below(locations);
            value += 1;
            match below(8) {
                0..3 => Op::Store { at, value },
                3 | 4 => Op::Load { at, is_coherent: true },
                5 => Op::Load { at, is_coherent: false },
                // Values to add are shifted left by 8 bits, so that no sum equals a stored value.
                6 => Op::Add { at, value: value << 8 },
                _ => Op::Fence,
            }
        };
        Self((0..threads).map(|_| (0..2 + below(3)).map(|_| op(&mut below)).collect()).collect())
    }

    /// Returns all outcomes of the program that the memory model allows.
    #[must_use]
    pub fn allowed_outcomes(&self) -> BTreeSet<LitmusOutcome> {
        let first = State {
            done: vec![0; self.0.len()],
            versions: vec![vec![0]; LOCATIONS],
            own: vec![[0; LOCATIONS]; self.0.len()],
            read: self.0.iter().map(|ops| vec![None; ops.len()]).collect(),
        };
        let (mut known, mut open, mut outcomes) = (HashSet::new(), vec![first], BTreeSet::new());
        while let Some(state) = open.pop() {
            if !known.insert(state.clone()) {
                continue;
            }
            let next = self.next(&state);
            if next.is_empty() {
                let read = state.read.iter().flatten().copied().flatten();
                outcomes.insert(read.chain(state.versions.iter().map(|held| held[held.len() - 1])).collect());
            }
            open.extend(next);
        }
        outcomes
    }

    /// Returns all states that can follow a state after one more operation of any thread has taken effect.
    fn next(&self, state: &State) -> Vec<State> {
        let mut all = Vec::new();
        for (thread, ops) in self.0.iter().enumerate() {
            for (number, &op) in ops.iter().enumerate() {
                let is_done = |number: usize| state.done[thread] >> number & 1 != 0;
                let waits = || (0..number).any(|before| !is_done(before) && op.follows(ops[before]));
                if !is_done(number) && !waits() {
                    all.extend(state.after(thread, number, op));
                }
            }
        }
        all
    }

    /// Returns the outcomes under sequential consistency. They are computed from a copy of the program that
    /// has only coherent loads, and a fence after every operation.
    #[must_use]
    pub fn in_order(&self) -> BTreeSet<LitmusOutcome> {
        let strong = |op: &Op| match *op {
            Op::Load { at, .. } => Op::Load { at, is_coherent: true },
            other => other,
        };
        Self(self.0.iter().map(|ops| ops.iter().flat_map(|op| [strong(op), Op::Fence]).collect()).collect())
            .allowed_outcomes()
    }

    /// Returns a copy of the program without its fences.
    #[must_use]
    pub fn remove_fences(&self) -> Self {
        Self(self.0.iter().map(|ops| ops.iter().copied().filter(|op| *op != Op::Fence).collect()).collect())
    }
}

impl State {
    /// Returns all states that can follow this state when a thread executes the operation `op`. A weak load
    /// may return one of several values.
    fn after(&self, thread: usize, number: usize, op: Op) -> Vec<Self> {
        let mut done = self.clone();
        done.done[thread] |= 1 << number;
        let with = |read: u32| {
            let mut state = done.clone();
            state.read[thread][number] = Some(read);
            state
        };
        match op {
            Op::Fence => vec![done],
            Op::Store { at, value } => {
                done.change(thread, at, value);
                vec![done]
            }
            Op::Add { at, value } => {
                let old = self.versions[at][self.versions[at].len() - 1];
                let mut state = with(old);
                state.change(thread, at, old.wrapping_add(value));
                vec![state]
            }
            Op::Load { at, is_coherent: true } => vec![with(self.versions[at][self.versions[at].len() - 1])],
            Op::Load { at, is_coherent: false } => {
                self.versions[at][self.own[thread][at]..].iter().map(|value| with(*value)).collect()
            }
        }
    }

    fn change(&mut self, thread: usize, at: usize, value: u32) {
        self.versions[at].push(value);
        self.own[thread][at] = self.versions[at].len() - 1;
    }
}

/// Generates a PTX kernel that executes a litmus program. Thread 0 of each CTA executes one thread of the
/// program.
///
/// In each round, thread 0 first loads some of the round's locations into its L1. Then the threads 0 of all
/// CTAs wait until the same clock cycle, and execute their operations on these locations. The preloaded
/// locations and the delays of the threads differ from round to round. The other warps of each CTA keep
/// storing to lines of one memory partition. Their stores wait in the L1's miss queue, where loads that
/// bypass the L1 can overtake them.
fn ptx(program: &Program) -> String {
    let threads = program.0.len();
    let mut text = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n\
         .visible .entry litmus(.param .u64 memory, .param .u64 results, .param .u64 noise, .param .u32 seed)\n{{\n\
         .reg .b32 %r<16>;\n.reg .b32 %v<{MAX_READS}>;\n.reg .pred %p<4>;\n.reg .b64 %rd<12>;\n\
         mov.u32 %r0, %tid.x;\nmov.u32 %r2, %ctaid.x;\nld.param.u64 %rd4, [noise];\n\
         mul.wide.u32 %rd5, %r2, {noise_bytes};\nadd.u64 %rd4, %rd4, %rd5;\nsetp.ge.u32 %p0, %r0, 32;\n@%p0 bra NOISE;\n\
         setp.ne.u32 %p0, %r0, 0;\n@%p0 ret;\nld.param.u64 %rd0, [memory];\nld.param.u64 %rd1, [results];\nld.param.u32 %r1, [seed];\n\
         mul.wide.u32 %rd3, %r2, {result_bytes};\nadd.u64 %rd1, %rd1, %rd3;\nmov.u32 %r3, 0;\nmov.u32 %r5, 0;\nROUND:\n",
        result_bytes = 4 * MAX_READS,
        noise_bytes = NOISE_BYTES,
    );
    // Every thread begins a round in the same cycle, except for a pseudorandom delay of up to 63 cycles.
    let meet = format!(
        "add.u32 %r5, %r5, {ROUND_CYCLES};\nmad.lo.u32 %r1, %r1, 1664525, 1013904223;\nadd.u32 %r4, %r1, %r2;\n\
         mul.lo.u32 %r4, %r4, 0x9e3779b1;\nshr.u32 %r4, %r4, 26;\nadd.u32 %r4, %r4, %r5;\n\
         WAIT:\nmov.u32 %r8, %clock;\nsetp.lt.u32 %p1, %r8, %r4;\n@%p1 bra WAIT;\n"
    );
    // Bits of the seed select the locations that a thread loads into its L1 before the round.
    let warm = |text: &mut String, thread: usize| {
        for at in 0..LOCATIONS {
            let bit = 10 + 4 * thread + at;
            let _ = write!(
                text,
                "shr.u32 %r8, %r1, {bit};\nand.b32 %r8, %r8, 1;\nsetp.ne.u32 %p1, %r8, 0;\n\
                 @%p1 ld.global.ca.u32 %r6, [%rd0+{}];\nadd.u32 %r7, %r7, %r6;\n",
                at * LOCATION_BYTES
            );
        }
    };
    let each = |text: &mut String, name: &str, body: &dyn Fn(&mut String, usize)| {
        for thread in 0..threads {
            let _ = writeln!(text, "setp.ne.u32 %p2, %r2, {thread};\n@%p2 bra NO_{name}_{thread};");
            body(text, thread);
            let _ = writeln!(text, "NO_{name}_{thread}:");
        }
    };
    each(&mut text, "WARM", &warm);
    text.push_str(&meet);
    each(&mut text, "DO", &|text, thread| {
        let mut reads = 0;
        for op in &program.0[thread] {
            let at = op.location().unwrap_or(0) * LOCATION_BYTES;
            let _ = match op {
                Op::Store { value, .. } => writeln!(text, "st.global.u32 [%rd0+{at}], {value};"),
                Op::Load { is_coherent: true, .. } => writeln!(text, "ld.volatile.global.u32 %v{reads}, [%rd0+{at}];"),
                Op::Load { .. } => writeln!(text, "ld.global.ca.u32 %v{reads}, [%rd0+{at}];"),
                Op::Add { value, .. } => writeln!(text, "atom.global.add.u32 %v{reads}, [%rd0+{at}], {value};"),
                Op::Fence => writeln!(text, "membar.gl;"),
            };
            reads += usize::from(op.reads());
        }
        for read in 0..reads {
            let _ = writeln!(text, "st.global.u32 [%rd1+{}], %v{read};", 4 * read);
        }
    });
    let _ = write!(
        text,
        "add.u64 %rd0, %rd0, {round_bytes};\nadd.u64 %rd1, %rd1, {results};\n\
         add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p3, %r3, {ROUNDS};\n@%p3 bra ROUND;\n\
         st.global.u32 [%rd4], 1;\nret;\n\
         NOISE:\nmul.wide.u32 %rd5, %r0, 1536;\nadd.u64 %rd5, %rd5, %rd4;\n\
         AGAIN:\nst.global.u32 [%rd5], %r0;\nst.global.u32 [%rd5+4], %r0;\nst.global.u32 [%rd5+8], %r0;\nld.volatile.global.u32 %r9, [%rd4];\nsetp.eq.u32 %p3, %r9, 0;\n@%p3 bra AGAIN;\nret;\n}}\n",
        round_bytes = ROUND_BYTES,
        results = 4 * MAX_READS * threads,
    );
    text
}

/// Distance between two memory locations in bytes. It puts them into different lines of different memory
/// partitions.
const LOCATION_BYTES: usize = 384;
/// Size in bytes of all memory locations of one round.
const ROUND_BYTES: usize = 2048;

/// Size in bytes of the buffer to which a CTA's other warps store. Each thread has 1536 bytes, which is one
/// stride over the six memory partitions. The thread stores only to the first line of its 1536 bytes, so that
/// all stores of all threads go to one partition.
const NOISE_BYTES: usize = 160 * 1536;

/// Result of running a litmus program on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LitmusReport {
    /// Number of times that each outcome occurred.
    pub seen: BTreeMap<LitmusOutcome, u32>,
    /// Duration of the run in core cycles.
    pub cycles: u64,
    /// Number of warp instructions executed.
    pub warp_instructions: u64,
}

/// Runs a litmus program on a machine and counts how often each outcome occurs.
///
/// # Errors
/// Returns an error if the program exceeds the limits of this module, or the run fails or does not finish.
pub fn run_on_machine(program: &Program, seed: u32, request: &Request) -> Result<LitmusReport, String> {
    if let Some(ops) = program.0.iter().find(|ops| reads(ops) > MAX_READS) {
        return Err(format!("a thread reads {} words, expected at most {MAX_READS}", reads(ops)));
    }
    let out_of_bounds = |op: &&Op| op.location().is_some_and(|at| at >= LOCATIONS);
    if let Some(op) = program.0.iter().flatten().find(out_of_bounds) {
        return Err(format!("{op:?} has no location, expected one below {LOCATIONS}"));
    }
    let told = |error: &dyn fmt::Display| error.to_string();
    let config = ResolvedMachine::new(request).map_err(|error| error.lines().join("\n"))?.config;
    let folder = tempfile::tempdir().map_err(|error| told(&error))?;
    let threads = program.0.len();
    fs::write(folder.path().join("litmus.ptx"), ptx(program)).map_err(|error| told(&error))?;
    let buffer =
        |name: &str, elements: usize| format!("[[buffer]]\nname = \"{name}\"\ntype = \"u32\"\nelements = {elements}\n");
    let launch = format!(
        "ptx = \"litmus.ptx\"\n{}{}{}[[step]]\n[[step.launch]]\nkernel = \"litmus\"\ngrid = [{threads}]\nblock = [160]\n\
         args = [\"memory\", \"results\", \"noise\", {{ u32 = {seed} }}]\n\
         [[output]]\nbuffer = \"memory\"\nwrite = \"memory.npy\"\n[[output]]\nbuffer = \"results\"\nwrite = \"results.npy\"\n",
        buffer("memory", ROUNDS * ROUND_BYTES / 4),
        buffer("results", ROUNDS * threads * MAX_READS),
        buffer("noise", threads * NOISE_BYTES / 4),
    );
    let path = folder.path().join("launch.toml");
    fs::write(&path, launch).map_err(|error| told(&error))?;
    let options = RunOptions { outputs: true, max_cycles: Some(MAX_CYCLES), ..RunOptions::default() };
    let report = run(&path, &config, &options, &mut |_| {}).map_err(|error| told(&error))?;
    if report.outcome != Outcome::Finished {
        return Err(format!("the run did not end: {:?}", report.outcome));
    }
    let words = |name: &str| {
        let array = read_npy(&folder.path().join(name), ElementType::U32).map_err(|error| told(&error))?;
        Ok::<Vec<_>, String>(array.bytes().as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    };
    let (memory, results) = (words("memory.npy")?, words("results.npy")?);
    let mut seen = BTreeMap::new();
    for round in 0..ROUNDS {
        let read = program.0.iter().enumerate().flat_map(|(thread, ops)| {
            let first = (round * threads + thread) * MAX_READS;
            results[first..first + reads(ops)].iter().copied()
        });
        let last = (0..LOCATIONS).map(|at| memory[(round * ROUND_BYTES + at * LOCATION_BYTES) / 4]);
        *seen.entry(read.chain(last).collect()).or_default() += 1;
    }
    let (cycles, warp_instructions) = (report.counters.cycles, report.counters.warp_instructions());
    Ok(LitmusReport { seen, cycles, warp_instructions })
}

/// Returns the number of words that a thread's operations read.
fn reads(ops: &[Op]) -> usize {
    ops.iter().filter(|op| op.reads()).count()
}

/// Returns machines whose L1s and L2s differ in their handling of stores, of cached copies, and of loads that
/// bypass the L1.
#[must_use]
pub fn machines() -> Vec<Request> {
    let designs: [&[&str]; 7] = [
        &[],
        &["bypass-all"],
        &["decoupled"],
        &["pric", "frc-16"],
        &["l1-sectored", "l2-sectored"],
        &["transient"],
        &["mrpb-all"],
    ];
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let request = |designs: &[&str], sets: &[&str]| Request {
        machine: "fermi".to_owned(),
        designs: owned(designs),
        sets: owned(sets),
    };
    let mut all: Vec<_> = designs.iter().map(|designs| request(designs, &[])).collect();
    all.extend([request(&[], &["l1.store_hit=update"]), request(&[], &MIN_QUEUES)]);
    all
}
