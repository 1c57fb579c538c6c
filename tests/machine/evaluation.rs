//! What a run computes does not depend on how the host evaluates it.

use rtl::kernel::Mode;
use tb::run::{RunOptions, RunReport};

use super::{Setup, kernels, launch};

const FAST: Mode = Mode { evaluate_all: false, lint: false, shuffle: None, digest: true };

/// Digests and lint look at every block's whole state, which takes long on fifteen SMs.
fn small() -> Setup {
    Setup::default().sets(&["num_sms=2", "num_partitions=2", "l2.sets=8"])
}

#[track_caller]
fn assert_same(one: &RunReport, other: &RunReport, what: &str) {
    assert!(one.counters == other.counters, "{what}: {:?}\n{:?}", one.counters, other.counters);
    assert_eq!(one.digests, other.digests, "{what}");
}

#[test]
fn skipping_blocks_and_dead_time_changes_nothing() {
    for kernel in &kernels() {
        let run = |mode| small().mode(mode).passes(&launch(kernel, "small.toml"));
        let fast = run(FAST);
        assert!(fast.digests.is_some_and(|(state, beats)| state != 0 && beats != 0));
        assert_same(&fast, &run(Mode { evaluate_all: true, ..FAST }), kernel);
    }
}

#[test]
fn skipping_changes_nothing_on_the_whole_machine() {
    for kernel in &kernels() {
        let run = |mode| Setup::default().mode(mode).passes(&launch(kernel, "small.toml"));
        assert_same(&run(Mode::default()), &run(Mode { evaluate_all: true, ..Mode::default() }), kernel);
    }
}

#[test]
fn the_order_of_evaluation_within_a_cycle_changes_nothing() {
    for kernel in ["vadd", "sgemm"] {
        let run = |mode| Setup::default().mode(mode).passes(&launch(kernel, "small.toml"));
        let fast = run(FAST);
        for seed in [1, 2, 3] {
            assert_same(&fast, &run(Mode { shuffle: Some(seed), ..FAST }), &format!("{kernel}, seed {seed}"));
        }
    }
}

#[test]
fn no_block_acts_without_having_been_woken() {
    for kernel in ["vadd", "gesummv"] {
        let run = |mode| small().mode(mode).passes(&launch(kernel, "small.toml"));
        assert_same(&run(FAST), &run(Mode { lint: true, ..FAST }), kernel);
    }
}

/// Timers, messages and scores that fall with time must not care who looks.
#[test]
fn throttles_and_monitors_do_not_depend_on_who_is_evaluated() {
    let short =
        ["throttle.dwt.period=200", "throttle.dwt.latency=7", "l1.streaming.period=150", "l2.streaming.period=150"];
    for design in ["swl-1", "dwt-cs", "ccws", "streaming", "streaming-l2", "dwt-pric"] {
        for kernel in ["gesummv", "bfs"] {
            let run = |mode| small().designs(&[design]).sets(&short).mode(mode).passes(&launch(kernel, "small.toml"));
            let (fast, what) = (run(FAST), format!("{design}, {kernel}"));
            assert_same(&fast, &run(Mode { evaluate_all: true, ..FAST }), &what);
            assert_same(&fast, &run(Mode { lint: true, shuffle: Some(4), ..FAST }), &what);
        }
    }
}

#[test]
fn checking_changes_no_counter() {
    for kernel in &kernels() {
        let run = |check| {
            let options = RunOptions { check, ..RunOptions::default() };
            Setup { options, ..Setup::default() }.passes(&launch(kernel, "small.toml")).counters
        };
        let (without, with) = (run(false), run(true));
        assert!(without == with, "{kernel}: {without:?}\n{with:?}");
    }
}
