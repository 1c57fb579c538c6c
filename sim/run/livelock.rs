//! Detects livelocks, such as warps that spin forever on a lock that no warp will release.
//!
//! In a livelock, instructions are issued, but no value in memory changes and no CTA ends. If a machine is in
//! this condition for long, every running warp is monitored for a while. The state of a warp consists of its
//! next instruction, its lanes and its registers. A warp that returns to an earlier state will loop forever,
//! because it reads the same memory again. The machine is stuck if every warp returns to an earlier state, or
//! waits at a barrier for a warp that does. A kernel that counts, stores or reads the clock changes a
//! register or memory and is never reported.

use rtl::machine::Machine;
use rtl::sm::WarpState;
use serde::{Deserialize, Serialize};

/// Number of consecutive progress checks without a change after which warps are monitored for the first time.
const PATIENCE: u32 = 1;
/// Number of simulation steps for which warps are monitored the first time. If no livelock is found, this
/// number is doubled for the next time, and so is the number of progress checks until then ([`PATIENCE`]).
const STEPS: u64 = 1 << 16;

/// Livelock detector for one kernel launch.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Livelock {
    changes: u64,
    /// Number of progress checks in succession in which no value in memory had changed and no CTA had ended.
    quiet: u32,
    patience: u32,
    steps: u64,
    watch: Option<Watch>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Watch {
    steps_left: u64,
    warps: Vec<WatchedWarp>,
}

/// Warp that is monitored for a livelock.
#[derive(Clone, Serialize, Deserialize)]
struct WatchedWarp {
    sm: usize,
    warp: u8,
    /// Reference state of the warp, with which later states are compared. It is taken when no instruction of
    /// the warp is in flight.
    seen: Option<WarpState>,
    /// True if the warp has been in another state since the reference state was taken.
    left: bool,
    /// True if the warp has returned to the reference state, which means that the warp loops.
    back: bool,
}

impl Default for Livelock {
    fn default() -> Self {
        Self { changes: 0, quiet: 0, patience: PATIENCE, steps: STEPS, watch: None }
    }
}

impl Livelock {
    /// Performs a periodic progress check. If nothing has changed for long enough, starts to monitor the
    /// warps.
    pub(super) fn look(&mut self, machine: &Machine) {
        let changes = machine.changes();
        self.quiet = if changes == self.changes { self.quiet + 1 } else { 0 };
        self.changes = changes;
        if self.watch.is_none() && self.quiet >= self.patience {
            self.watch = Some(Watch { steps_left: self.steps, warps: running(machine) });
        }
    }

    /// True while warps are monitored, so that `step` must be called after every simulation step.
    pub(super) fn is_watching(&self) -> bool {
        self.watch.is_some()
    }

    /// Checks the monitored warps after a simulation step. Returns true if the machine is in a livelock.
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

fn running(machine: &Machine) -> Vec<WatchedWarp> {
    let warps = machine.cores().iter().enumerate().flat_map(|(sm, core)| {
        let live = core.live_warps();
        (0..u64::BITS as u8).filter(move |warp| live >> warp & 1 != 0).map(move |warp| WatchedWarp {
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

impl WatchedWarp {
    fn follow(&mut self, core: &rtl::sm::SmCore) {
        match &self.seen {
            None => self.seen = core.warp_state(self.warp),
            Some(seen) if core.pc(self.warp) != seen.pc() => self.left = true,
            // The program counter of a warp never changes if an instruction branches to itself. `left` then
            // stays false, although the warp loops, so this case is treated separately.
            Some(seen) if self.left || core.branches_to_itself(self.warp) => {
                self.back = core.warp_state(self.warp).is_some_and(|state| state == *seen);
            }
            Some(_) => {}
        }
    }
}
