//! Runs the islands of a machine, in one thread or in several. All meet every few cycles, before anything
//! that crosses between them can be seen on the other side, so that the result is that of a machine run in step,
//! edge for edge, whoever ran which island.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crossbeam_utils::Backoff;
use rtl::kernel::Simulator;
use rtl::machine::{Machine, MachineIslands};

/// The round of a thread that is to end.
const LEAVE: u64 = u64::MAX;
/// How long a thread that has nothing to do looks for the next round before it sleeps.
const PATIENCE: Duration = Duration::from_micros(50);
/// Rounds that several threads and one run by turns while they are compared, so that both see the same part of the
/// program, and the time that all turns but the slowest of either take in all.
const TURN: u32 = 4;
const TRIAL: Duration = Duration::from_millis(2);
/// How long the winner goes on at first, and twice as long each time that it has won again: up to the most for several
/// threads, and for one. In times of a trial.
const SETTLED: u32 = 24;
const SETTLED_MOST: [u32; 2] = [96, 960];

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
    /// Threads, of machines that have islands for all.
    fn most(self) -> usize {
        match self {
            Self::InStep => 1,
            Self::Of(threads) => threads.get(),
            Self::Auto => processors(),
        }
    }

    /// Whether a processor has nothing to do.
    pub(super) fn leave_one_idle(self) -> bool {
        self.most() < processors()
    }
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// What the islands of a machine took from one meeting to the next, in one thread.
#[derive(Clone, Debug)]
pub struct Round {
    /// By island, in the order in which they are run.
    pub islands: Vec<Duration>,
    /// The meetings behind them.
    pub meetings: Vec<Duration>,
}

/// Finds out whether several threads pay. That changes nothing but the time that a run takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Team {
    /// Of the trial under way; `None` while its winner goes on.
    trial: Option<Trial>,
    winner: usize,
    /// For how many times of a trial the winner goes on, and how long it still does.
    settled: u32,
    left: Duration,
}

/// Several threads and one take turns.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    rounds: u32,
    /// Time of this turn; of all turns; of the slowest, in which something else may have happened.
    turn: Duration,
    took: [Duration; 2],
    slowest: [Duration; 2],
}

const TOGETHER: usize = 0;
const ALONE: usize = 1;

impl Trial {
    /// Whose turn it is.
    fn turn(&self) -> usize {
        (self.rounds / TURN) as usize % 2
    }

    /// Notes what a round took.
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

    /// What either took but for its slowest turn, once that is enough to tell.
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

    /// Notes what a round took.
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

    /// Goes on with the winner: one thread, unless several take a tenth less time.
    fn settle(&mut self, [together, alone]: [Duration; 2]) {
        let winner = if 10 * together < 9 * alone { TOGETHER } else { ALONE };
        let again = winner == self.winner;
        self.settled = if again { SETTLED.max(2 * self.settled).min(SETTLED_MOST[winner]) } else { SETTLED };
        (self.trial, self.winner, self.left) = (None, winner, self.settled * (together + alone));
    }
}

/// What is to be done in a round, each task by whoever takes it first.
struct Tasks {
    /// The last round in which somebody took a task.
    taken: Vec<AtomicU64>,
    /// Tasks that are not done.
    left: AtomicUsize,
}

impl Tasks {
    fn new(count: usize) -> Self {
        Self { taken: (0..count).map(|_| AtomicU64::new(0)).collect(), left: AtomicUsize::new(0) }
    }

    /// All are to be done again.
    fn renew(&self) {
        self.left.store(self.taken.len(), Ordering::Relaxed);
    }

    /// Does those of a round that nobody has taken, in one's own order, and waits for the others. False if they are
    /// given up.
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

/// What the threads share.
struct Shared<'i> {
    islands: &'i MachineIslands,
    /// Number of the round under way.
    round: AtomicU64,
    runs: Tasks,
    meetings: Tasks,
    helpers: Vec<Helper>,
}

/// A thread beside the first.
#[derive(Default)]
struct Helper {
    sleeps: AtomicBool,
}

impl Shared<'_> {
    /// Takes part in a round. False if it is given up.
    fn work(&self, round: u64, order: &[usize], is_lost: impl Fn() -> bool) -> bool {
        let meetings = 0..self.islands.meetings();
        self.runs.share(round, order.iter().copied(), |island| self.islands.run(island), &is_lost)
            && self.meetings.share(round, meetings, |meeting| self.islands.meet(meeting), is_lost)
    }

    /// A helper's life.
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
struct Dismissal<'a, 'i> {
    shared: &'a Shared<'i>,
    threads: Vec<Thread>,
}

impl Drop for Dismissal<'_, '_> {
    fn drop(&mut self) {
        self.shared.begin(LEAVE, &self.threads);
    }
}

/// Runs a machine that has islands up to the tick `end`, or less far: until nothing is due, a core has stopped at a
/// fault, or the kernel might end, because one who asks for that must be asked after every edge.
///
/// Ends at the next tick at which all islands can meet once `interrupt` is not 0. In one thread with `rounds` to put down what each took.
pub(super) fn run(
    machine: &mut Machine,
    sim: &mut Simulator,
    mut end: u64,
    (threads, team): (Threads, &mut Team),
    interrupt: &AtomicUsize,
    rounds: Option<&mut Vec<Round>>,
) {
    let Some(islands) = machine.separate(sim) else { return };
    let mut next = || islands.set_out(&mut end, interrupt.load(Ordering::Relaxed) != 0);
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
    fn timed(work: impl FnOnce()) -> Duration {
        let start = Instant::now();
        work();
        start.elapsed()
    }
    Round {
        islands: (0..islands.count()).map(|island| timed(|| islands.run(island))).collect(),
        meetings: (0..islands.meetings()).map(|meeting| timed(|| islands.meet(meeting))).collect(),
    }
}

fn run_in_turn(islands: &MachineIslands) {
    (0..islands.count()).for_each(|island| islands.run(island));
    (0..islands.meetings()).for_each(|meeting| islands.meet(meeting));
}

fn run_together(islands: &MachineIslands, next: &mut dyn FnMut() -> bool, count: usize, team: &mut Team) {
    let shared = Shared {
        islands,
        round: AtomicU64::new(0),
        runs: Tasks::new(islands.count()),
        meetings: Tasks::new(islands.meetings()),
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

/// The order in which one of `count` threads looks for islands to run: its own share, every `count`th, then the others'
/// from behind. The first islands are the longest.
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

    /// Notes rounds that take so long in several threads and in one until the trial is over, and who goes on for how long.
    fn tried(team: &mut Team, together: impl Fn(u32) -> Duration, alone: Duration) -> (bool, Duration) {
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
            let (alone, _) = tried(&mut Team::default(), |_| Duration::from_micros(together), ROUND);
            assert_eq!(alone, is_alone, "{together} of 100 us");
        }
    }

    #[test]
    fn one_turn_that_takes_long_decides_nothing() {
        let reading = |round| if round == 0 { 200 * ROUND } else { ROUND / 2 };
        assert!(!tried(&mut Team::default(), reading, ROUND).0);
    }

    #[test]
    fn who_wins_again_goes_on_twice_as_long_up_to_the_most() {
        let mut team = Team::default();
        let mut spans = Vec::new();
        for _ in 0..8 {
            let (_, left) = tried(&mut team, |_| 2 * ROUND, ROUND);
            spans.push(left);
            team.note(left);
            assert!(team.trial.is_some());
        }
        let [first, second, .., last] = spans[..] else { panic!("{spans:?}") };
        assert_eq!((second, last), (2 * first, SETTLED_MOST[ALONE] / SETTLED * first));
        let (is_alone, left) = tried(&mut team, |_| ROUND / 2, ROUND);
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
