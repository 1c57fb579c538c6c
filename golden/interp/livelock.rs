//! Detects livelock: warps that spin forever, for example on a lock that is never released.
//!
//! If no value in memory changes and no warp ends for a long time, every warp is observed for a while. A warp
//! that returns to an earlier state (same next instruction, lanes and registers) reads the same memory again,
//! so it loops forever. If every warp loops in this way, or waits for a warp that does, the launch never
//! ends.
//! A loop that increments a counter or stores new values changes a register or memory, so it is never
//! reported.

use std::fmt;

use rustc_hash::FxHashMap;

use super::registers::Registers;
use super::warp::Entry;
use super::{Cta, InterpError};

/// Number of warp instructions without progress after which the detector starts to observe the warps.
const PATIENCE: u64 = 1 << 18;
/// Number of warp instructions for which the warps are observed. This number and [`PATIENCE`] double each
/// time that no livelock is proven.
const STEPS: u64 = 1 << 17;
/// Maximum number of warps that the error message lists.
const LISTED: usize = 16;

/// Livelocked launch, with the warps that loop and the warps that wait for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Livelocked {
    /// Source file of the kernel.
    pub file: String,
    /// Name of the livelocked kernel.
    pub kernel: String,
    /// Number of warp instructions that the launch has executed.
    pub warp_instructions: u64,
    /// Number of resident CTAs that have not ended.
    pub resident: usize,
    /// All warps of the resident CTAs that have not ended.
    pub warps: Vec<LoopingWarp>,
}

/// Warp of a livelocked launch, with the position where it loops or waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopingWarp {
    /// Index of the CTA to which the warp belongs.
    pub cta: [u32; 3],
    /// Number of the warp in its CTA.
    pub warp: usize,
    /// Program counter of the warp's next instruction.
    pub pc: u32,
    /// Source line of the warp's next instruction.
    pub line: u32,
    /// Name of the synchronization at which the warp waits, such as `barrier`; `None` if the warp is looping.
    pub waits: Option<&'static str>,
}

impl fmt::Display for Livelocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Livelocked { file, kernel, warp_instructions, resident, warps } = self;
        let ctas = if *resident == 1 { "one CTA".to_owned() } else { format!("{resident} CTAs") };
        write!(
            f,
            "{file}: no progress in kernel `{kernel}` after {warp_instructions} warp instructions, {ctas} at a time\n  \
             every running warp loops or waits at a barrier, and memory does not change"
        )?;
        for LoopingWarp { cta, warp, pc, line, waits } in warps.iter().take(LISTED) {
            let does = waits.unwrap_or("loops");
            write!(f, "\n  CTA {cta:?}: warp {warp} at pc {pc}, line {line}: {does}")?;
        }
        match warps.len().saturating_sub(LISTED) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

/// Livelock detector for one launch.
pub(super) struct Livelock {
    /// Number of warp instructions since the last progress, such as a changed value in memory, the end of a
    /// warp or a new CTA.
    quiet: u64,
    patience: u64,
    steps: u64,
    watched: Option<FxHashMap<Name, WatchedWarp>>,
}

/// Identifier of a warp: index of its CTA, and number of the warp in the CTA.
type Name = ([u32; 3], usize);

struct WatchedWarp {
    seen: State,
    /// True if the warp has returned to its recorded state, so that it loops forever.
    back: bool,
}

/// State of a warp that, together with the contents of memory, determines what the warp does next.
#[derive(PartialEq, Eq)]
struct State {
    stack: Vec<Entry>,
    registers: Registers,
}

impl Default for Livelock {
    fn default() -> Self {
        Self { quiet: 0, patience: PATIENCE, steps: STEPS, watched: None }
    }
}

impl Livelock {
    /// Restarts the detection after progress, such as a change of memory or a new CTA.
    pub(super) fn restart(&mut self) {
        self.quiet = 0;
        self.watched = None;
    }

    /// Called before a warp runs an instruction. Returns true if the warp has just returned to its recorded
    /// state.
    #[inline]
    pub(super) fn on_instruction(&mut self, cta: &Cta<'_>, warp: usize) -> bool {
        self.quiet += 1;
        self.quiet > self.patience && self.watch(cta, warp)
    }

    #[inline(never)]
    fn watch(&mut self, cta: &Cta<'_>, warp: usize) -> bool {
        if self.quiet > self.patience + self.steps {
            self.patience = self.patience.saturating_mul(2);
            self.steps = self.steps.saturating_mul(2);
            self.restart();
            return false;
        }
        let watched = self.watched.get_or_insert_default();
        let Some(known) = watched.get_mut(&(cta.index, warp)) else {
            watched.insert((cta.index, warp), WatchedWarp { seen: State::of(cta, warp), back: false });
            return false;
        };
        if known.back || !known.seen.is_at(cta, warp) {
            return false;
        }
        known.back = known.seen == State::of(cta, warp);
        known.back
    }

    /// True if the recorded states prove that none of the given CTAs will ever end.
    pub(super) fn is_proven(&self, ctas: &[Cta<'_>]) -> bool {
        let is_back = |name: Name| self.watched.as_ref().is_some_and(|all| all.get(&name).is_some_and(|one| one.back));
        let running = |cta: &Cta<'_>| (0..cta.warps.len()).filter(|warp| cta.can_run(*warp)).collect::<Vec<_>>();
        ctas.iter().all(|cta| running(cta).into_iter().all(|warp| is_back((cta.index, warp))))
    }
}

impl State {
    fn of(cta: &Cta<'_>, warp: usize) -> Self {
        let one = &cta.warps[warp];
        Self { stack: one.stack.clone(), registers: one.registers.clone() }
    }

    /// True if the SIMT stack of the warp equals the recorded one. This quick check precedes the comparison
    /// of all registers.
    fn is_at(&self, cta: &Cta<'_>, warp: usize) -> bool {
        self.stack == cta.warps[warp].stack
    }
}

/// Returns the error for a livelocked launch.
pub(super) fn livelock(ctas: &[Cta<'_>], warp_instructions: u64) -> InterpError {
    let program = ctas[0].launch.program;
    let place = |cta: &Cta<'_>, warp: usize| {
        let one = &cta.warps[warp];
        let waits = one.barrier.map(|_| "barrier");
        LoopingWarp { cta: cta.index, warp, pc: one.pc(), line: program.insts[one.pc() as usize].line, waits }
    };
    let live = |cta: &Cta<'_>| (0..cta.warps.len()).filter(|warp| !cta.warps[*warp].is_done()).collect::<Vec<_>>();
    let warps: Vec<_> = ctas.iter().flat_map(|cta| live(cta).into_iter().map(move |warp| place(cta, warp))).collect();
    InterpError::Livelock(Box::new(Livelocked {
        file: program.file.to_string(),
        kernel: program.name.clone(),
        warp_instructions,
        resident: ctas.iter().filter(|cta| !cta.is_done()).count(),
        warps,
    }))
}
