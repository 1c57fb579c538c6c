//! Tests atomics on whole machines, with and without an atomic buffer. Each L2 bank may have such a buffer,
//! which holds the line that atomics accessed last (anssari2012 section 3.4).

use std::path::PathBuf;

use rtl::kernel::Mode;
use rtl::l2::{L2Stats, Stall};
use warpsieve::run::{Counters, Outcome, RunOptions};

use super::{MIN_QUEUES, Setup, launch, root};

const OFF: [&str; 1] = ["l2.atomic_buffer=false"];
const ON: [&str; 1] = ["l2.atomic_buffer=true"];

fn parts() -> PathBuf {
    root().join("tests/machine/ptx/parts.toml")
}

fn sum(counters: &Counters, count: fn(&L2Stats) -> u64) -> u64 {
    counters.l2.iter().map(count).sum()
}

#[test]
fn words_shared_by_bytes_and_sums_pass_every_check_on_every_machine() {
    for machine in ["fermi", "kepler", "southern-islands", "hybrid"] {
        for buffer in [OFF, ON] {
            Setup::run_checked().machine(machine).sets(&buffer).passes(&parts());
            Setup::run_checked().machine(machine).sets(&buffer).sets(&MIN_QUEUES).passes(&parts());
        }
    }
    for design in ["transient", "frc", "mrpb-all", "bypass-all", "streaming-l2"] {
        Setup::run_checked().designs(&[design]).sets(&ON).passes(&parts());
        Setup::run_checked().designs(&[design]).sets(&ON).passes(&launch("histo", "small"));
    }
    for design in ["tracker", "tracker-4"] {
        Setup::run_checked().machine("hybrid").designs(&[design]).passes(&parts());
    }
}

#[test]
fn the_machine_of_the_thesis_serves_atomics_from_the_buffer_and_one_without_does_not() {
    let hybrid = || Setup::run_checked().machine("hybrid");
    let served = hybrid().passes(&parts()).counters;
    let without = hybrid().sets(&OFF).passes(&parts()).counters;
    assert_eq!(sum(&served, L2Stats::atomics), sum(&without, L2Stats::atomics));
    let counts: [fn(&L2Stats) -> u64; 3] =
        [|bank| bank.atomic_buffer.hits, |bank| bank.atomic_buffer.fills, |bank| bank.atomic_buffer.flushes];
    let [hits, fills, flushes] = counts.map(|count| sum(&served, count));
    assert_eq!(hits + fills, sum(&served, L2Stats::atomics));
    assert_eq!(fills, flushes, "the end of a kernel empties the buffers");
    assert!(hits > 50 && fills > 50, "{hits} hits, {fills} fills");
    assert_eq!(
        sum(&without, |bank| bank.atomic_buffer.hits + bank.atomic_buffer.fills + bank.atomic_buffer.flushes),
        0
    );
    // A load that bypasses the L1 stalls while the atomic buffer holds its line.
    assert!(sum(&served, |bank| bank.stall_cycles(Stall::AtomicBuffer)) > 0);
}

#[test]
fn a_buffer_does_not_depend_on_how_the_host_evaluates_it_nor_on_checks() {
    let run = |mode: Mode, check| {
        let options = RunOptions { mode, check, ..RunOptions::default() };
        let report = Setup { options, ..Setup::default() }.machine("hybrid").run(&parts());
        (report.counters, report.digests)
    };
    let fast = Mode { digest: true, ..Mode::default() };
    let expected = run(fast, false);
    for mode in [Mode { evaluate_all: true, ..fast }, Mode { shuffle: Some(3), ..fast }, Mode { lint: true, ..fast }] {
        assert_eq!(run(mode, false), expected);
    }
    assert_eq!(run(fast, true), expected);
}

/// The atomic buffer flushes its line between two kernels. At that time, no clock edge is evaluated and no
/// memory port is in use.
#[test]
fn a_line_left_in_the_buffer_by_one_kernel_after_another_goes_back_whoever_looks() {
    for mode in [Mode::FAST, Mode::default()] {
        let options = RunOptions { mode, ..RunOptions::default() };
        let setup = Setup { options, ..Setup::default() }.machine("hybrid");
        let report = setup.run(&root().join("tests/machine/ptx/sums.toml"));
        assert_eq!(report.outcome, Outcome::Finished, "{mode:?}");
        assert_eq!(sum(&report.counters, |bank| bank.atomic_buffer.flushes), 3, "{mode:?}");
    }
}
