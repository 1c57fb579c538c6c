//! Notices warps that go round in circles: spin for ever on a lock that nobody will open.
//!
//! Where for long no value in memory changes and no CTA ends, every warp is watched for a while. One that
//! comes back to a state in which it was, with the same next instruction, lanes and registers, reads the
//! same memory again and goes round for ever. If all do, or wait for one that does, the launch has no end.
//! A kernel that counts or stores changes a register or memory and is never taken for it.

use std::fmt;

use rustc_hash::FxHashMap;

use super::warp::Entry;
use super::{Cta, InterpError};

/// Instructions of warps without a change after which the warps are watched for the first time.
const PATIENCE: u64 = 1 << 18;
/// Instructions for which they are watched then; both double with every watch in vain.
const STEPS: u64 = 1 << 17;
/// Warps that the message lists.
const LISTED: usize = 16;

/// Warps that go round in circles, and those that wait for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Source file.
    pub file: String,
    /// Kernel name.
    pub kernel: String,
    /// Instructions that warps have run.
    pub warp_instructions: u64,
    /// CTAs that run at once.
    pub resident: usize,
    /// All warps of these that have not ended.
    pub warps: Vec<Circling>,
}

/// Where a warp stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circling {
    /// CTA index.
    pub cta: [u32; 3],
    /// Number of the warp in its CTA.
    pub warp: usize,
    /// Instruction.
    pub pc: u32,
    /// Source line.
    pub line: u32,
    /// What it waits at, if it does not run.
    pub waits: Option<&'static str>,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stuck { file, kernel, warp_instructions, resident, warps } = self;
        let ctas = if *resident == 1 { "one CTA".to_owned() } else { format!("{resident} CTAs") };
        write!(
            f,
            "{file}: no progress in kernel `{kernel}` after {warp_instructions} warp instructions, {ctas} at a \
             time\n  every running warp goes round in circles or waits at a barrier, and nothing in memory changes"
        )?;
        for Circling { cta, warp, pc, line, waits } in warps.iter().take(LISTED) {
            let does = waits.unwrap_or("goes round in circles");
            write!(f, "\n  CTA {cta:?}: warp {warp} at pc {pc}, line {line}: {does}")?;
        }
        match warps.len().saturating_sub(LISTED) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

/// The watch over a launch.
pub(super) struct Livelock {
    /// Instructions since the last change.
    quiet: u64,
    patience: u64,
    steps: u64,
    watched: Option<FxHashMap<Name, Watched>>,
}

/// A warp: the place of its CTA in the grid, and its number there.
type Name = ([u32; 3], usize);

struct Watched {
    seen: State,
    /// It has come back there.
    back: bool,
}

/// All that decides what a warp does next, but for memory.
#[derive(PartialEq, Eq)]
struct State {
    stack: Vec<Entry>,
    values: Vec<u64>,
}

impl Default for Livelock {
    fn default() -> Self {
        Self { quiet: 0, patience: PATIENCE, steps: STEPS, watched: None }
    }
}

impl Livelock {
    /// A value in memory has changed.
    pub(super) fn changed(&mut self) {
        self.quiet = 0;
        self.watched = None;
    }

    /// A warp is about to run an instruction. True if it has come back to where it was.
    #[inline]
    pub(super) fn look(&mut self, cta: &Cta<'_>, warp: usize) -> bool {
        self.quiet += 1;
        self.quiet > self.patience && self.watch(cta, warp)
    }

    #[inline(never)]
    fn watch(&mut self, cta: &Cta<'_>, warp: usize) -> bool {
        if self.quiet > self.patience + self.steps {
            self.patience = self.patience.saturating_mul(2);
            self.steps = self.steps.saturating_mul(2);
            self.changed();
            return false;
        }
        let watched = self.watched.get_or_insert_default();
        let Some(known) = watched.get_mut(&(cta.index, warp)) else {
            watched.insert((cta.index, warp), Watched { seen: State::of(cta, warp), back: false });
            return false;
        };
        if known.back || !known.seen.is_at(cta, warp) {
            return false;
        }
        known.back = known.seen == State::of(cta, warp);
        known.back
    }

    /// Whether none of these CTAs will ever end.
    pub(super) fn is_proven(&self, ctas: &[Cta<'_>]) -> bool {
        let is_back = |name: Name| self.watched.as_ref().is_some_and(|all| all.get(&name).is_some_and(|one| one.back));
        let running = |cta: &Cta<'_>| (0..cta.warps.len()).filter(|warp| cta.can_run(*warp)).collect::<Vec<_>>();
        ctas.iter().all(|cta| running(cta).into_iter().all(|warp| is_back((cta.index, warp))))
    }
}

impl State {
    fn of(cta: &Cta<'_>, warp: usize) -> Self {
        let one = &cta.warps[warp];
        let numbers = one.first..(one.first + super::LANES).min(cta.threads());
        let values = numbers.flat_map(|number| cta.frame(number)).copied().collect();
        Self { stack: one.stack.clone(), values }
    }

    /// Whether the warp stands where this was taken, at least: what is quick to see.
    fn is_at(&self, cta: &Cta<'_>, warp: usize) -> bool {
        self.stack == cta.warps[warp].stack
    }
}

/// The error of a launch whose warps go round in circles.
pub(super) fn livelock(ctas: &[Cta<'_>], warp_instructions: u64) -> InterpError {
    let program = ctas[0].launch.program;
    let place = |cta: &Cta<'_>, warp: usize| {
        let one = &cta.warps[warp];
        let waits = one.barrier.map(|_| "barrier");
        Circling { cta: cta.index, warp, pc: one.pc(), line: program.insts[one.pc() as usize].line, waits }
    };
    let live = |cta: &Cta<'_>| (0..cta.warps.len()).filter(|warp| !cta.warps[*warp].is_done()).collect::<Vec<_>>();
    let warps: Vec<_> = ctas.iter().flat_map(|cta| live(cta).into_iter().map(move |warp| place(cta, warp))).collect();
    InterpError::Livelock(Box::new(Stuck {
        file: program.file.to_string(),
        kernel: program.name.clone(),
        warp_instructions,
        resident: ctas.iter().filter(|cta| !cta.is_done()).count(),
        warps,
    }))
}
