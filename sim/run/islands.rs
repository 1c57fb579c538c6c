//! Simulates a machine as islands in one thread or in several. An island is a group of hardware blocks that
//! one thread simulates; islands are connected by links with a delay. Every few cycles, all islands
//! synchronize and exchange messages, before a message could become visible in its destination. The result is
//! therefore the same as if all hardware blocks were evaluated in lockstep at every edge, whichever thread
//! simulates an island.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crossbeam_utils::Backoff;
use rtl::kernel::Simulator;
use rtl::machine::{Machine, MachineIslands};

/// Round number with which helper threads are told to exit.
const LEAVE: u64 = u64::MAX;
/// Time for which an idle helper thread spins before it goes to sleep.
const PATIENCE: Duration = Duration::from_micros(50);
/// A trial alternates between multithreaded and single-threaded execution every `TURN` rounds, so that both
/// modes are measured in the same phase of the program. `TURN` rounds in one mode are a turn; the slowest
/// turn of each mode is not counted. `TRIAL` is the minimum duration of a trial.
const TURN: u32 = 4;
const TRIAL: Duration = Duration::from_millis(2);
/// Time for which the faster mode is used after a trial, as a multiple of the trial's duration. The multiple
/// is `SETTLED` at first, and doubles each time the same mode wins again. `MAX_SETTLED` holds the limits for
/// multithreaded and for single-threaded execution.
const SETTLED: u32 = 24;
const MAX_SETTLED: [u32; 2] = [96, 960];

/// Choice of the threads that simulate a machine. The choice does not affect the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// One thread that evaluates all hardware blocks in lockstep.
    InStep,
    /// The given number of threads, which simulate islands (groups of hardware blocks). Requires a machine
    /// that can be divided into islands, and no observer that needs every cycle. Otherwise one thread is
    /// used.
    Of(NonZeroUsize),
    /// One thread per processor, or a single thread whenever this is faster.
    Auto,
}

impl Default for Threads {
    fn default() -> Self {
        Self::Of(NonZeroUsize::MIN)
    }
}

impl Threads {
    /// Maximum number of threads that may be used.
    fn most(self) -> usize {
        match self {
            Self::InStep => 1,
            Self::Of(threads) => threads.get(),
            Self::Auto => processors(),
        }
    }

    /// True if at least one processor of the computer is left idle.
    pub(super) fn leave_one_idle(self) -> bool {
        self.most() < processors()
    }
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Times that the simulator takes for the tasks of a round, which is executed in one thread. A round is the
/// interval between two synchronizations of all islands (groups of hardware blocks).
#[derive(Clone, Debug)]
pub struct Round {
    /// Time taken by each island (group of hardware blocks), in the order in which the islands are simulated.
    pub islands: Vec<Duration>,
    /// Time taken by each synchronization at the end of the round, in which islands exchange messages.
    pub meetings: Vec<Duration>,
}

/// Chooses between multithreaded and single-threaded simulation by measuring both. The choice affects only
/// the speed of the simulator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Team {
    /// Trial in progress; `None` while the winning mode of the last trial is used.
    trial: Option<Trial>,
    winner: usize,
    /// Time for which the faster mode is used, as a multiple of the duration of the last trial. The next
    /// field, `left`, is the rest of this time.
    settled: u32,
    left: Duration,
}

/// Trial that alternates between multithreaded and single-threaded simulation and measures both.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    rounds: u32,
    /// Time of the current turn so far. The next two fields contain, for each mode, the total time of its
    /// turns and the time of its slowest turn. The slowest turn is not counted, because other programs on the
    /// computer may have delayed it.
    turn: Duration,
    took: [Duration; 2],
    slowest: [Duration; 2],
}

const TOGETHER: usize = 0;
const ALONE: usize = 1;

impl Trial {
    /// Mode of the current turn: multithreaded or single-threaded.
    fn turn(&self) -> usize {
        (self.rounds / TURN) as usize % 2
    }

    /// Adds the measured time of a round to the trial.
    fn note(&mut self, took: Duration) {
        let turn = self.turn();
        self.turn += took;
        self.rounds += 1;
        if self.rounds.is_multiple_of(TURN) {
            let time = std::mem::take(&mut self.turn);
            self.took[turn] += time;
            self.slowest[turn] = self.slowest[turn].max(time);
        }
    }

    /// Returns the total time of each mode without its slowest turn. Returns `None` if the trial must
    /// continue.
    fn outcome(&self) -> Option<[Duration; 2]> {
        let outcome = [TOGETHER, ALONE].map(|who| self.took[who] - self.slowest[who]);
        (self.rounds.is_multiple_of(2 * TURN) && outcome.iter().sum::<Duration>() >= TRIAL).then_some(outcome)
    }
}

impl Default for Team {
    fn default() -> Self {
        Self { trial: Some(Trial::default()), winner: TOGETHER, settled: 0, left: Duration::ZERO }
    }
}

impl Team {
    fn is_alone(&self) -> bool {
        self.trial.map_or(self.winner, |trial| trial.turn()) == ALONE
    }

    /// Adds the measured time of a round. Starts or ends a trial if it is time to do so.
    fn note(&mut self, took: Duration) {
        if let Some(trial) = &mut self.trial {
            trial.note(took);
            if let Some(outcome) = trial.outcome() {
                self.settle(outcome);
            }
        } else {
            self.left = self.left.saturating_sub(took);
            self.trial = self.left.is_zero().then(Trial::default);
        }
    }

    /// Ends a trial. Single-threaded simulation wins unless multithreaded simulation takes at least 10 % less
    /// time.
    fn settle(&mut self, [together, alone]: [Duration; 2]) {
        let winner = if 10 * together < 9 * alone { TOGETHER } else { ALONE };
        let again = winner == self.winner;
        self.settled = if again { SETTLED.max(2 * self.settled).min(MAX_SETTLED[winner]) } else { SETTLED };
        (self.trial, self.winner, self.left) = (None, winner, self.settled * (together + alone));
    }
}

/// Tasks of a round. Each task is executed by the first thread that claims it.
struct Tasks {
    /// For each task, the number of the last round in which a thread claimed it.
    taken: Vec<AtomicU64>,
    /// Number of tasks that are not finished in the current round.
    left: AtomicUsize,
}

impl Tasks {
    fn new(count: usize) -> Self {
        Self { taken: (0..count).map(|_| AtomicU64::new(0)).collect(), left: AtomicUsize::new(0) }
    }

    /// Makes all tasks available again, for the next round.
    fn renew(&self) {
        self.left.store(self.taken.len(), Ordering::Relaxed);
    }

    /// Claims and executes tasks of a round in the given order, and then waits until all tasks are finished.
    /// Returns false if the function `is_lost` reports that the round has been abandoned.
    fn share(
        &self,
        round: u64,
        order: impl IntoIterator<Item = usize>,
        work: impl Fn(usize),
        is_lost: impl Fn() -> bool,
    ) -> bool {
        for task in order {
            let taken = &self.taken[task];
            if taken.compare_exchange(round - 1, round, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                work(task);
                self.left.fetch_sub(1, Ordering::Release);
            }
        }
        let backoff = Backoff::new();
        while self.left.load(Ordering::Acquire) > 0 {
            if is_lost() {
                return self.left.load(Ordering::Acquire) == 0;
            }
            backoff.snooze();
        }
        true
    }
}

/// State shared by all threads that simulate the machine.
struct SharedState<'i> {
    islands: &'i MachineIslands,
    /// Number of the current round.
    round: AtomicU64,
    runs: Tasks,
    meetings: Tasks,
    helpers: Vec<Helper>,
}

/// State of a helper thread: `sleeps` is true if the thread sleeps and must be woken up for the next round.
#[derive(Default)]
struct Helper {
    sleeps: AtomicBool,
}

impl SharedState<'_> {
    /// Executes a thread's share of the work in a round: it runs islands, then synchronizes them. Returns
    /// false if the function `is_lost` reports that the round has been abandoned.
    fn work(&self, round: u64, order: &[usize], is_lost: impl Fn() -> bool) -> bool {
        let meetings = 0..self.islands.num_sync_points();
        self.runs.share(round, order.iter().copied(), |island| self.islands.run(island), &is_lost)
            && self.meetings.share(round, meetings, |meeting| self.islands.synchronize(meeting), is_lost)
    }

    /// Main loop of a helper thread.
    fn help(&self, helper: &Helper, order: &[usize]) {
        let mut known = 0;
        loop {
            let round = self.next_round(known, helper);
            if round == LEAVE {
                return;
            }
            self.work(round, order, || self.round.load(Ordering::Relaxed) != round);
            known = round;
        }
    }

    /// Waits until the number of the current round differs from `known`, and returns the new number.
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

    /// Starts the round with the number `round`. The number `LEAVE` makes the helper threads exit.
    fn begin(&self, round: u64, threads: &[Thread]) {
        self.round.store(round, Ordering::SeqCst);
        for (helper, thread) in self.helpers.iter().zip(threads) {
            if helper.sleeps.load(Ordering::SeqCst) {
                thread.unpark();
            }
        }
    }
}

/// Guard that makes the helper threads exit when the first thread leaves the guard's scope, normally or by a
/// panic.
struct Dismissal<'a, 'i> {
    shared: &'a SharedState<'i>,
    threads: Vec<Thread>,
}

impl Drop for Dismissal<'_, '_> {
    fn drop(&mut self) {
        self.shared.begin(LEAVE, &self.threads);
    }
}

/// Simulates a machine as islands (groups of hardware blocks) up to tick `end`. Stops earlier if no hardware
/// block needs evaluation any more, if a core has stopped at a fault, or if the kernel might end. If the
/// kernel might end, the caller must then check at every edge whether it has ended.
///
/// If `interrupt` becomes nonzero, stops at the next tick at which all islands can synchronize. If `rounds`
/// is given, uses one thread and records the time of each round.
pub(super) fn run(
    machine: &mut Machine,
    sim: &mut Simulator,
    mut end: u64,
    (threads, team): (Threads, &mut Team),
    interrupt: &AtomicUsize,
    rounds: Option<&mut Vec<Round>>,
) {
    let Some(islands) = machine.separate(sim) else { return };
    let mut next = || islands.plan_round(&mut end, interrupt.load(Ordering::Relaxed) != 0);
    let count = threads.most().min(islands.count());
    if let Some(rounds) = rounds {
        while next() {
            rounds.push(timed_round(&islands));
        }
    } else if count == 1 {
        while next() {
            run_in_turn(&islands);
        }
    } else {
        run_together(&islands, &mut next, count, team);
    }
    machine.rejoin(islands, sim);
}

fn timed_round(islands: &MachineIslands) -> Round {
    fn time(work: impl FnOnce()) -> Duration {
        let start = Instant::now();
        work();
        start.elapsed()
    }
    Round {
        islands: (0..islands.count()).map(|island| time(|| islands.run(island))).collect(),
        meetings: (0..islands.num_sync_points()).map(|meeting| time(|| islands.synchronize(meeting))).collect(),
    }
}

fn run_in_turn(islands: &MachineIslands) {
    (0..islands.count()).for_each(|island| islands.run(island));
    (0..islands.num_sync_points()).for_each(|meeting| islands.synchronize(meeting));
}

fn run_together(islands: &MachineIslands, next: &mut dyn FnMut() -> bool, count: usize, team: &mut Team) {
    let shared = SharedState {
        islands,
        round: AtomicU64::new(0),
        runs: Tasks::new(islands.count()),
        meetings: Tasks::new(islands.num_sync_points()),
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
        while next() {
            let begun = Instant::now();
            if team.is_alone() {
                run_in_turn(islands);
                team.note(begun.elapsed());
                continue;
            }
            round += 1;
            shared.runs.renew();
            shared.meetings.renew();
            shared.begin(round, &dismissal.threads);
            if !shared.work(round, &orders[0], || handles.iter().any(|handle| handle.is_finished())) {
                break;
            }
            team.note(begun.elapsed());
        }
        drop(dismissal);
        for helper in handles {
            helper.join().unwrap_or_else(|broken| resume_unwind(broken));
        }
    });
}

/// Returns the order in which one of `count` threads claims islands (groups of hardware blocks) to simulate.
/// Islands are sorted by descending run time. The thread first claims its own share, which is every `count`th
/// island. Then it claims the islands of other threads, from the shortest run time to the longest.
#[must_use]
pub fn shares(islands: usize, count: usize, thread: usize) -> Vec<usize> {
    let is_own = |island: &usize| island % count == thread;
    let others = (0..islands).rev().filter(|island| !is_own(island));
    (0..islands).filter(is_own).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: Duration = Duration::from_micros(100);

    /// Runs a trial in which the rounds take the given times: `together` with several threads, `alone` with
    /// one thread. Returns true if single-threaded simulation won, and the time for which the winning mode
    /// will be used.
    fn try_trial(team: &mut Team, together: impl Fn(u32) -> Duration, alone: Duration) -> (bool, Duration) {
        let mut rounds = 0;
        while team.trial.is_some() {
            team.note(if team.is_alone() { alone } else { together(rounds) });
            rounds += 1;
        }
        (team.is_alone(), team.left)
    }

    #[test]
    fn several_threads_go_on_if_they_save_a_tenth() {
        for (together, is_alone) in [(60, false), (88, false), (92, true), (150, true)] {
            let (alone, _) = try_trial(&mut Team::default(), |_| Duration::from_micros(together), ROUND);
            assert_eq!(alone, is_alone, "{together} of 100 us");
        }
    }

    #[test]
    fn one_turn_that_takes_long_decides_nothing() {
        let reading = |round| if round == 0 { 200 * ROUND } else { ROUND / 2 };
        assert!(!try_trial(&mut Team::default(), reading, ROUND).0);
    }

    #[test]
    fn who_wins_again_goes_on_twice_as_long_up_to_the_most() {
        let mut team = Team::default();
        let mut spans = Vec::new();
        for _ in 0..8 {
            let (_, left) = try_trial(&mut team, |_| 2 * ROUND, ROUND);
            spans.push(left);
            team.note(left);
            assert!(team.trial.is_some());
        }
        let [first, second, .., last] = spans[..] else { panic!("{spans:?}") };
        assert_eq!((second, last), (2 * first, MAX_SETTLED[ALONE] / SETTLED * first));
        let (is_alone, left) = try_trial(&mut team, |_| ROUND / 2, ROUND);
        assert!(!is_alone && left <= first, "{left:?}");
    }

    #[test]
    fn every_thread_may_run_every_island_and_begins_with_its_own() {
        for count in 1..6 {
            let orders: Vec<_> = (0..count).map(|thread| shares(11, count, thread)).collect();
            let own = |thread: usize| orders[thread].iter().take_while(|island| **island % count == thread).count();
            assert_eq!((0..count).map(own).sum::<usize>(), 11);
            for mut order in orders {
                order.sort_unstable();
                assert!(order.into_iter().eq(0..11));
            }
        }
    }
}
