//! Runs the islands of a machine, in one thread or in several. All come to a meeting every few cycles, before anything
//! that crosses between them can be seen on the other side, so that the result is that of a machine run in step,
//! edge for edge, whoever ran which island.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crossbeam_utils::Backoff;
use rtl::kernel::Simulator;
use rtl::machine::{Islands, Machine, Reached};

/// The round of a thread that is to end.
const LEAVE: u64 = u64::MAX;
/// How long a thread that has nothing to do looks for the next round before it sleeps.
const PATIENCE: Duration = Duration::from_micros(50);
/// Time for which several threads are tried, and one beside them.
const TRIAL: Duration = Duration::from_millis(2);
/// Time for which what was faster goes on. Where that is one thread, twice as long each time, up to the most.
const SETTLED: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(2)];

/// Who runs the blocks of a machine. The results are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// One thread, all blocks of an edge together.
    InStep,
    /// So many threads, island by island where the machine has any and nobody looks at every cycle.
    Of(NonZeroUsize),
    /// As many as there are processors, while that pays.
    Auto,
}

impl Default for Threads {
    fn default() -> Self {
        Self::Of(NonZeroUsize::MIN)
    }
}

impl Threads {
    /// Threads for so many islands.
    fn count(self, islands: usize) -> usize {
        let most = match self {
            Self::InStep => 1,
            Self::Of(threads) => threads.get(),
            Self::Auto => thread::available_parallelism().map_or(1, NonZeroUsize::get),
        };
        most.min(islands)
    }
}

/// What the islands of a machine took from one meeting to the next, in one thread.
#[derive(Clone, Debug)]
pub struct Round {
    /// By island, in the order in which they are run.
    pub islands: Vec<Duration>,
    /// The meeting.
    pub meeting: Duration,
}

/// Finds out whether several threads pay. That changes nothing but the time that a run takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Team {
    phase: Phase,
    /// Rounds of this phase, and their time.
    rounds: u32,
    took: Duration,
    /// How long one thread stays alone if that was faster.
    alone: Duration,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Several threads are tried.
    Together,
    /// One is, several having taken so long for a round.
    Alone { together: Duration },
    /// What was faster goes on for so long.
    Settled { alone: bool, time: Duration },
}

impl Default for Team {
    fn default() -> Self {
        Self { phase: Phase::Together, rounds: 0, took: Duration::ZERO, alone: SETTLED[0] }
    }
}

impl Team {
    fn is_alone(&self) -> bool {
        match self.phase {
            Phase::Together => false,
            Phase::Alone { .. } => true,
            Phase::Settled { alone, .. } => alone,
        }
    }

    /// Notes what a round took.
    fn note(&mut self, took: Duration) {
        self.took += took;
        self.rounds += 1;
        let end = if let Phase::Settled { time, .. } = self.phase { time } else { TRIAL };
        if self.took < end {
            return;
        }
        let mean = self.took / self.rounds;
        self.phase = match self.phase {
            Phase::Together => Phase::Alone { together: mean },
            Phase::Alone { together } if 10 * together < 9 * mean => {
                self.alone = SETTLED[0];
                Phase::Settled { alone: false, time: SETTLED[0] }
            }
            Phase::Alone { .. } => {
                let time = self.alone;
                self.alone = SETTLED[1].min(2 * time);
                Phase::Settled { alone: true, time }
            }
            Phase::Settled { .. } => Phase::Together,
        };
        (self.took, self.rounds) = (Duration::ZERO, 0);
    }
}

/// What the threads share.
struct Shared<'i, 'm> {
    islands: &'i Islands<'m>,
    /// Number of the round under way, and where it leads.
    round: AtomicU64,
    goal: Mutex<Reached>,
    /// The last round in which somebody took an island.
    taken: Vec<AtomicU64>,
    /// Islands that have not come to the end of the round.
    left: AtomicUsize,
    helpers: Vec<Helper>,
}

/// A thread beside the first.
#[derive(Default)]
struct Helper {
    sleeps: AtomicBool,
}

impl Shared<'_, '_> {
    fn goal(&self) -> MutexGuard<'_, Reached> {
        self.goal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the islands of a round that nobody has taken, in one's own order.
    fn work(&self, round: u64, order: &[usize]) {
        let goal = *self.goal();
        for &island in order {
            let taken = &self.taken[island];
            if taken.compare_exchange(round - 1, round, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                self.islands.run(island, goal);
                self.left.fetch_sub(1, Ordering::Release);
            }
        }
    }

    /// A helper's life.
    fn help(&self, helper: &Helper, order: &[usize]) {
        let mut known = 0;
        loop {
            let round = self.next_round(known, helper);
            if round == LEAVE {
                return;
            }
            self.work(round, order);
            known = round;
        }
    }

    /// Waits for a round behind the one known.
    fn next_round(&self, known: u64, helper: &Helper) -> u64 {
        let since = Instant::now();
        let backoff = Backoff::new();
        loop {
            let round = self.round.load(Ordering::Acquire);
            if round != known {
                return round;
            }
            if !backoff.is_completed() {
                backoff.snooze();
            } else if since.elapsed() < PATIENCE {
                std::hint::spin_loop();
            } else {
                helper.sleeps.store(true, Ordering::SeqCst);
                if self.round.load(Ordering::SeqCst) == known {
                    thread::park();
                }
                helper.sleeps.store(false, Ordering::SeqCst);
            }
        }
    }

    /// Begins a round, or the end.
    fn begin(&self, round: u64, threads: &[Thread]) {
        self.round.store(round, Ordering::SeqCst);
        for (helper, thread) in self.helpers.iter().zip(threads) {
            if helper.sleeps.load(Ordering::SeqCst) {
                thread.unpark();
            }
        }
    }
}

/// Lets the helpers end, however the first thread leaves.
struct Dismissal<'a, 'i, 'm> {
    shared: &'a Shared<'i, 'm>,
    threads: Vec<Thread>,
}

impl Drop for Dismissal<'_, '_, '_> {
    fn drop(&mut self) {
        self.shared.begin(LEAVE, &self.threads);
    }
}

/// Runs a machine that has islands up to the tick `end`, or less far: until nothing is due, a core has stopped at a
/// fault, or the kernel might end, because one who asks for that must be asked after every edge.
///
/// In one thread with `rounds` to put down what each took.
pub(super) fn run(
    machine: &mut Machine,
    sim: &mut Simulator,
    mut end: u64,
    (threads, team): (Threads, &mut Team),
    rounds: Option<&mut Vec<Round>>,
) {
    let Some(islands) = machine.separate(sim) else { return };
    let count = threads.count(islands.count());
    if let Some(rounds) = rounds {
        while let Some(goal) = islands.next(&mut end) {
            let times = (0..islands.count()).map(|island| timed(|| islands.run(island, goal))).collect();
            rounds.push(Round { islands: times, meeting: timed(|| islands.meet()) });
        }
    } else if count == 1 {
        while let Some(goal) = islands.next(&mut end) {
            run_in_turn(&islands, goal);
        }
    } else {
        run_together(&islands, &mut end, count, team);
    }
    islands.rejoin(sim);
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn run_in_turn(islands: &Islands<'_>, goal: Reached) {
    (0..islands.count()).for_each(|island| islands.run(island, goal));
    islands.meet();
}

fn run_together(islands: &Islands<'_>, end: &mut u64, count: usize, team: &mut Team) {
    let shared = Shared {
        islands,
        round: AtomicU64::new(0),
        goal: Mutex::new(islands.reached()),
        taken: (0..islands.count()).map(|_| AtomicU64::new(0)).collect(),
        left: AtomicUsize::new(0),
        helpers: (1..count).map(|_| Helper::default()).collect(),
    };
    let orders: Vec<_> = (0..count).map(|thread| shares(islands.count(), count, thread)).collect();
    thread::scope(|scope| {
        let shared = &shared;
        let helpers = shared.helpers.iter().zip(&orders[1..]);
        let handles: Vec<_> = helpers.map(|(helper, order)| scope.spawn(move || shared.help(helper, order))).collect();
        let threads = handles.iter().map(|handle| handle.thread().clone()).collect();
        let dismissal = Dismissal { shared, threads };
        let mut round = 0;
        while let Some(goal) = islands.next(end) {
            let begun = Instant::now();
            if team.is_alone() {
                run_in_turn(islands, goal);
                team.note(begun.elapsed());
                continue;
            }
            round += 1;
            *shared.goal() = goal;
            shared.left.store(islands.count(), Ordering::Relaxed);
            shared.begin(round, &dismissal.threads);
            shared.work(round, &orders[0]);
            let backoff = Backoff::new();
            while shared.left.load(Ordering::Acquire) > 0 && !handles.iter().any(|handle| handle.is_finished()) {
                backoff.snooze();
            }
            if shared.left.load(Ordering::Acquire) > 0 {
                break;
            }
            islands.meet();
            team.note(begun.elapsed());
        }
        drop(dismissal);
        for helper in handles {
            helper.join().unwrap_or_else(|broken| resume_unwind(broken));
        }
    });
}

/// The order in which one of `count` threads looks for islands to run: its own share, then the others' from behind.
#[must_use]
pub fn shares(islands: usize, count: usize, thread: usize) -> Vec<usize> {
    let own = islands * thread / count..islands * (thread + 1) / count;
    let others = (0..islands).rev().filter(|island| !own.contains(island));
    own.clone().chain(others).collect()
}
