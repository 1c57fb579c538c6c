//! Notices that a machine runs in circles: warps that spin for ever on a lock that nobody will open.
//!
//! Time goes on, instructions are issued, but no value in memory changes and no CTA ends. When that has
//! lasted for long, every running warp is watched for a while. One that comes back to a state in which
//! it was, with the same next instruction, lanes and registers, reads the same memory again and goes
//! round for ever. If all do, or wait at a barrier for one that does, the machine is stuck. A kernel that
//! counts, stores or reads the clock changes a register or memory and is never taken for it.

use rtl::machine::Machine;
use rtl::sm::WarpState;
use serde::{Deserialize, Serialize};

/// Looks without a change after which the warps are watched for the first time.
const PATIENCE: u32 = 1;
/// Simulator steps for which they are watched then; both double with every watch in vain.
const STEPS: u64 = 1 << 16;

/// The watch over a launch.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Livelock {
    changes: u64,
    /// Looks since the last change.
    quiet: u32,
    patience: u32,
    steps: u64,
    watch: Option<Watch>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Watch {
    steps_left: u64,
    warps: Vec<Watched>,
}

/// A warp under watch.
#[derive(Clone, Serialize, Deserialize)]
struct Watched {
    sm: usize,
    warp: u8,
    /// A state that it was in while nothing of it was under way.
    seen: Option<WarpState>,
    /// It has gone on since.
    left: bool,
    /// It has come back.
    back: bool,
}

impl Default for Livelock {
    fn default() -> Self {
        Self { changes: 0, quiet: 0, patience: PATIENCE, steps: STEPS, watch: None }
    }
}

impl Livelock {
    /// One look, now and then: starts a watch if nothing has changed for long.
    pub(super) fn look(&mut self, machine: &Machine) {
        let changes = machine.changes();
        self.quiet = if changes == self.changes { self.quiet + 1 } else { 0 };
        self.changes = changes;
        if self.watch.is_none() && self.quiet >= self.patience {
            self.watch = Some(Watch { steps_left: self.steps, warps: running(machine) });
        }
    }

    /// True while the machine must be shown after every step.
    pub(super) fn is_watching(&self) -> bool {
        self.watch.is_some()
    }

    /// The machine after a step, during a watch. True if it will go round for ever.
    pub(super) fn step(&mut self, machine: &Machine) -> bool {
        let Some(watch) = &mut self.watch else { return false };
        watch.steps_left -= 1;
        if machine.changes() != self.changes {
            self.watch = None;
        } else if watch.is_proven(machine) {
            return true;
        } else if watch.steps_left == 0 {
            self.watch = None;
            self.quiet = 0;
            self.patience = self.patience.saturating_mul(2);
            self.steps = self.steps.saturating_mul(2);
        }
        false
    }
}

fn running(machine: &Machine) -> Vec<Watched> {
    let warps = machine.cores().iter().enumerate().flat_map(|(sm, core)| {
        let live = core.live_warps();
        (0..u64::BITS as u8).filter(move |warp| live >> warp & 1 != 0).map(move |warp| Watched {
            sm,
            warp,
            seen: None,
            left: false,
            back: false,
        })
    });
    warps.collect()
}

impl Watch {
    fn is_proven(&mut self, machine: &Machine) -> bool {
        let (mut all, mut any) = (true, false);
        for watched in &mut self.warps {
            let core = &machine.cores()[watched.sm];
            if !watched.back {
                watched.follow(core);
            }
            any |= watched.back;
            all &= watched.back || core.warps_at_barrier() >> watched.warp & 1 != 0;
        }
        all && any
    }
}

impl Watched {
    fn follow(&mut self, core: &rtl::sm::SmCore) {
        match &self.seen {
            None => self.seen = core.warp_state(self.warp),
            Some(seen) if core.pc(self.warp) != seen.pc() => self.left = true,
            // A branch to itself leaves no trace, and needs none.
            Some(seen) if self.left || core.branches_to_itself(self.warp) => {
                self.back = core.warp_state(self.warp).is_some_and(|state| state == *seen);
            }
            Some(_) => {}
        }
    }
}
