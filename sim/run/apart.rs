//! Runs the two sides of a machine in two threads: this one has the SMs and crossbars, the other the L2 banks and DRAM
//! channels. They meet every few cycles, before anything that crosses between them can be seen on the other side, so
//! that the result is that of one thread, edge for edge.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_utils::Backoff;
use rtl::kernel::Simulator;
use rtl::machine::{Apart, Machine};

/// The goal of a thread that is to end.
const LEAVE: u64 = u64::MAX;
/// What it takes to have another thread begin and to hear that it is done. Less work is done by this one: who does it
/// changes nothing but the time it takes.
const HANDOVER: Duration = Duration::from_micros(2);

/// What the two threads share. A goal is a tick up to which both run; `reached` is how far the other has come, in
/// `nanoseconds`.
struct Shared {
    apart: Mutex<Apart>,
    goal: AtomicU64,
    reached: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Shared {
    fn apart(&self) -> MutexGuard<'_, Apart> {
        self.apart.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread of the memory.
    fn serve(&self) {
        let mut reached = 0;
        loop {
            let backoff = Backoff::new();
            let goal = loop {
                match self.goal.load(Ordering::Acquire) {
                    goal if goal != reached => break goal,
                    _ => backoff.snooze(),
                }
            };
            if goal == LEAVE {
                return;
            }
            let took = timed(|| self.apart().run(goal));
            self.nanoseconds.store(took.as_nanos() as u64, Ordering::Relaxed);
            self.reached.store(goal, Ordering::Release);
            reached = goal;
        }
    }
}

/// Lets the other thread end, however this one leaves.
struct Dismissal<'a>(&'a Shared);

impl Drop for Dismissal<'_> {
    fn drop(&mut self) {
        self.0.goal.store(LEAVE, Ordering::Release);
    }
}

/// Runs a machine whose sides can be apart up to the tick `end`, or less far: until nothing is due, a core has
/// stopped at a fault, or the kernel might end, because one who asks for that must be asked after every edge.
pub(super) fn run(machine: &mut Machine, sim: &mut Simulator, end: u64) {
    let distance = machine.distance();
    let apart = Mutex::new(machine.separate(sim));
    let zero = || AtomicU64::new(0);
    let shared = Shared { apart, goal: zero(), reached: zero(), nanoseconds: zero() };
    thread::scope(|scope| {
        let memory = scope.spawn(|| shared.serve());
        let dismissal = Dismissal(&shared);
        let mut pays = false;
        loop {
            // The lock is for this line alone.
            let Some(goal) = next_goal(machine, sim, &shared.apart(), distance, end) else { break };
            if pays {
                shared.goal.store(goal, Ordering::Release);
            }
            let here = timed(|| while machine.fault().is_none() && sim.step_before(goal, machine).is_some() {});
            let there = if pays {
                let backoff = Backoff::new();
                while shared.reached.load(Ordering::Acquire) != goal && !memory.is_finished() {
                    backoff.snooze();
                }
                if memory.is_finished() {
                    break;
                }
                Duration::from_nanos(shared.nanoseconds.load(Ordering::Relaxed))
            } else {
                timed(|| shared.apart().run(goal))
            };
            pays = here.min(there) > HANDOVER;
            machine.meet(sim, &mut shared.apart(), goal);
        }
        drop(dismissal);
        memory.join().unwrap_or_else(|broken| resume_unwind(broken));
    });
    machine.rejoin(sim, shared.apart.into_inner().unwrap_or_else(PoisonError::into_inner));
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// The tick up to which both sides can go on, if they can.
fn next_goal(machine: &Machine, sim: &Simulator, apart: &Apart, distance: u64, end: u64) -> Option<u64> {
    let start = [sim.next_tick(), apart.next_tick()].into_iter().flatten().min()?;
    if start >= end || machine.fault().is_some() {
        return None;
    }
    let goal = (start + distance).min(end);
    (apart.is_awaited(goal) || machine.has_warps_for(goal - start)).then_some(goal)
}
