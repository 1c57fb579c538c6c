//! Estimates how much faster the simulator would run with several threads, from a single-threaded run of the
//! machine preset `fermi`.
//!
//! The simulator divides a machine into partitions, called islands. Between two synchronization points, each
//! island can be simulated by a thread of its own. The benchmark measures how long each island takes. From
//! these times, it computes how long a given number of threads would take. Each thread first runs the islands
//! assigned to it. Then it steals islands that no thread has started, beginning at the end of the list. After
//! the islands, the threads share the work of the synchronization point. Each round is charged two thread
//! hand-overs: one to start the round, and one to go on to the synchronization point. Cycles in which the
//! machine runs without islands (at the ends of launches) count at their measured time. Run with `cargo bench
//! -p tb --bench islands [-- KERNEL...]`.

use std::path::Path;
use std::time::Duration;

use rtl::kernel::Mode;
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::run::{Outcome, Round, RunOptions, RunReport, run, shares};

/// Assumed cost of one thread hand-over: waking the other threads for a round, and waiting until they are
/// done.
const HANDOVER: Duration = Duration::from_micros(1);
const THREADS: [usize; 5] = [2, 4, 8, 16, 32];
const KERNELS: [&str; 6] = ["vadd", "sgemm", "bfs", "kmeans", "syrk", "mm2"];

/// Returns the time that several threads need to complete a list of tasks. `orders` holds, for each thread,
/// the order in which the thread picks tasks.
fn share_tasks(tasks: &[Duration], orders: &[Vec<usize>]) -> Duration {
    let mut taken = vec![false; tasks.len()];
    let mut clocks = vec![Duration::ZERO; orders.len()];
    while taken.iter().any(|taken| !taken) {
        // The thread that becomes idle first picks the first task in its order that no thread has started.
        let (thread, _) = clocks.iter().enumerate().min_by_key(|(_, clock)| **clock).expect("one thread at least");
        let task = *orders[thread].iter().find(|task| !taken[**task]).expect("every thread may do every task");
        taken[task] = true;
        clocks[thread] += tasks[task];
    }
    clocks.into_iter().max().unwrap_or_default()
}

/// Returns the total simulation time of all rounds if `threads` threads share the work.
fn in_threads(rounds: &[Round], threads: usize) -> Duration {
    let orders: Vec<_> = (0..threads).map(|thread| shares(rounds[0].islands.len(), threads, thread)).collect();
    let anyone = vec![(0..rounds[0].meetings.len()).collect(); threads];
    let handovers = if threads > 1 { 2 * HANDOVER } else { Duration::ZERO };
    let time = |Round { islands, meetings }: &Round| {
        share_tasks(islands, &orders) + share_tasks(meetings, &anyone) + handovers
    };
    rounds.iter().map(time).sum()
}

fn measure(kernel: &str) -> RunReport {
    let request = Request { machine: "fermi".to_owned(), ..Request::default() };
    let resolved = ResolvedMachine::new(&request).expect("the preset is valid");
    let launch = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels").join(kernel).join("launch.toml");
    let options = RunOptions { time_rounds: true, mode: Mode::FAST, ..RunOptions::default() };
    let report =
        run(&launch, &resolved.config, &options, &mut |_| {}).unwrap_or_else(|error| panic!("{kernel}: {error}"));
    assert_eq!(report.outcome, Outcome::Finished, "{kernel}");
    report
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let kernels = if wanted.is_empty() { KERNELS.map(str::to_owned).to_vec() } else { wanted };
    println!(
        "| kernel | cycles in islands | time per round | longest island | synchronization | {} |",
        THREADS.map(|n| format!("{n} threads")).join(" | ")
    );
    println!("|---|---|---|---|---|{}", "---|".repeat(THREADS.len()));
    for kernel in kernels {
        let report = measure(&kernel);
        let rounds = &report.rounds;
        assert!(!rounds.is_empty(), "{kernel}: no cycle in islands");
        let mean = |of: &dyn Fn(&Round) -> Duration| {
            rounds.iter().map(of).sum::<Duration>().as_secs_f64() * 1e6 / rounds.len() as f64
        };
        let meetings = |round: &Round| round.meetings.iter().sum::<Duration>();
        let work = |round: &Round| round.islands.iter().sum::<Duration>() + meetings(round);
        let in_rounds: Duration = rounds.iter().map(work).sum();
        let in_step = report.simulating.wall.saturating_sub(in_rounds);
        let gains = THREADS.map(|threads| {
            let time = in_threads(rounds, threads);
            format!("{:.2}", (in_rounds + in_step).as_secs_f64() / (time + in_step).as_secs_f64())
        });
        println!(
            "| {kernel} | {:.1} % | {:.1} us | {:.1} us | {:.1} us | {} |",
            100.0 * report.cycles_apart as f64 / report.counters.cycles as f64,
            mean(&work),
            mean(&|round| round.islands.iter().max().copied().unwrap_or_default()),
            mean(&meetings),
            gains.join(" | ")
        );
    }
}
