//! Checks that the results of a run do not depend on the evaluation mode of the simulator.

use std::ops::Range;
use std::path::Path;

use rtl::kernel::Mode;
use tb::kit::{is_thorough, sample};
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::readers::Counts;
use warpsieve::run::{Checkpoints, RunOptions, RunReport, SeriesOptions, Threads, WaveOptions, run};

use super::{MIN_QUEUES, Setup, launch, root, rotate, some_kernels};

const FAST: Mode = Mode { evaluate_all: false, lint: false, shuffle: None, digest: true, unchecked: false };

/// Returns a small machine. Hashing and checking the whole state of every hardware block would take long on
/// 15 SMs.
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
    for kernel in &some_kernels(6) {
        let run = |mode| small().mode(mode).passes(&launch(kernel, "small"));
        let fast = run(FAST);
        assert!(fast.digests.is_some_and(|(state, beats)| state != 0 && beats != 0));
        assert_same(&fast, &run(Mode { evaluate_all: true, ..FAST }), kernel);
    }
}

#[test]
fn skipping_changes_nothing_on_the_whole_machine() {
    for kernel in &some_kernels(6) {
        let run = |mode| Setup::default().mode(mode).passes(&launch(kernel, "small"));
        assert_same(&run(Mode::default()), &run(Mode { evaluate_all: true, ..Mode::default() }), kernel);
    }
}

#[test]
fn the_order_of_evaluation_within_a_cycle_changes_nothing() {
    for kernel in ["vadd", "sgemm"] {
        let run = |mode| Setup::default().mode(mode).passes(&launch(kernel, "small"));
        let fast = run(FAST);
        for seed in [1, 2, 3] {
            assert_same(&fast, &run(Mode { shuffle: Some(seed), ..FAST }), &format!("{kernel}, seed {seed}"));
        }
    }
}

/// A resumed run must equal an uninterrupted one. The test compares hashes of all registers and all messages,
/// since a checkpoint must also save state that no counter shows.
#[test]
fn a_run_that_goes_on_from_a_checkpoint_is_in_the_state_of_one_that_never_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.checkpoint");
    for (number, kernel) in (1..).zip(&some_kernels(6)) {
        let run = |max_cycles, checkpoints| {
            let options = RunOptions { max_cycles, checkpoints, mode: FAST, ..RunOptions::default() };
            Setup { options, ..small() }.run(&launch(kernel, "small"))
        };
        let whole = run(None, Checkpoints::default());
        // The checkpoint is saved at a different point of each kernel: near its beginning, in its middle, or
        // shortly before its end.
        let cycle = 1 + whole.counters.cycles * (number * 7 % 20) / 20;
        run(Some(cycle), Checkpoints { write: Some(file.clone()), ..Checkpoints::default() });
        let resumed = run(None, Checkpoints { resume: Some(file.clone()), ..Checkpoints::default() });
        assert_same(&whole, &resumed, &format!("{kernel}, from cycle {cycle}"));
    }
}

/// Saves checkpoints after the last CTA has ended, while its stores are still in flight. The resumed run is
/// not notified again that the CTA ended.
#[test]
fn a_run_goes_on_from_each_of_its_last_cycles() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.checkpoint");
    let run = |max_cycles, checkpoints| {
        let options = RunOptions { max_cycles, checkpoints, mode: FAST, ..RunOptions::default() };
        Setup { options, ..small() }.run(&launch("vadd", "small"))
    };
    let whole = run(None, Checkpoints::default());
    for back in [1, 2, 5, 20, 60, 61, 62, 100] {
        let cycle = whole.counters.cycles - back;
        run(Some(cycle), Checkpoints { write: Some(file.clone()), ..Checkpoints::default() });
        let resumed = run(None, Checkpoints { resume: Some(file.clone()), ..Checkpoints::default() });
        assert_same(&whole, &resumed, &format!("{back} cycles before the end"));
    }
}

#[test]
fn no_block_acts_without_having_been_woken() {
    for kernel in ["vadd", "gesummv"] {
        let run = |mode| small().mode(mode).passes(&launch(kernel, "small"));
        assert_same(&run(FAST), &run(Mode { lint: true, ..FAST }), kernel);
    }
}

/// The timers, messages and decaying scores of throttles and monitors must work in the same way whichever
/// hardware blocks the simulator evaluates.
#[test]
fn throttles_and_monitors_do_not_depend_on_who_is_evaluated() {
    let short = ["throttle.period=200", "throttle.latency=7"];
    let designs = ["swl-1", "dwt-cs", "ccws", "streaming", "streaming-l2", "dwt-pric"];
    let pairs = ["gesummv", "bfs"].into_iter().flat_map(|kernel| designs.map(|design| (design, kernel)));
    for (design, kernel) in sample(pairs, 5) {
        let of_l1 = ["streaming", "dwt-pric"].contains(&design).then_some("l1.bypass.period=150");
        let of_l2 = (design == "streaming-l2").then_some("l2.bypass.period=150");
        let of_search = short.into_iter().filter(|_| design.starts_with("dwt"));
        let sets: Vec<_> = of_search.chain(of_l1).chain(of_l2).collect();
        let run = |mode| small().designs(&[design]).sets(&sets).mode(mode).passes(&launch(kernel, "small"));
        let (fast, what) = (run(FAST), format!("{design}, {kernel}"));
        assert_same(&fast, &run(Mode { evaluate_all: true, ..FAST }), &what);
        assert_same(&fast, &run(Mode { lint: true, shuffle: Some(4), ..FAST }), &what);
    }
}

/// If a warp waits for an instruction line or an MSHR entry, the instruction cache must be evaluated when the
/// wait can end.
#[test]
fn instruction_caches_do_not_depend_on_who_is_evaluated() {
    let cases = [("scan", vec!["sm.icache.ways=1"]), ("gesummv", vec![]), ("bfs", vec!["sm.icache.mshr_entries=1"])];
    for (kernel, sets) in sample(cases, 3) {
        let run = |mode| small().designs(&["icache"]).sets(&sets).mode(mode).passes(&launch(kernel, "small"));
        let fast = run(FAST);
        assert_same(&fast, &run(Mode { evaluate_all: true, ..FAST }), kernel);
        assert_same(&fast, &run(Mode { lint: true, shuffle: Some(4), ..FAST }), kernel);
    }
}

/// The L2 has a single set, and every line in the Fetch and Replacement Cache (FRC) waits for a way in it. A
/// line that finds no way retries later. The number of retries must not depend on the order of evaluation.
#[test]
fn a_line_that_finds_no_way_looks_for_one_no_more_often_in_another_order() {
    let one_set = ["num_partitions=1", "l2.sets=1", "l2.line_bytes=32", "dram.bus_bits=128", "dram.burst_length=2"];
    let frc = ["l2.flow.frc.entries=4", "l2.flow.frc.swap_latency=0", "l2.flow.frc.victim_bind=alloc"];
    let setup = Setup::default().designs(&["frc"]).sets(&one_set).sets(&frc);
    let setup = setup.sets(&["l2.flow.coherence=sharers", "clock.dram_khz=462000"]);
    let run = |shuffle| {
        let options =
            RunOptions { structures: true, mode: Mode { shuffle, ..Mode::default() }, ..RunOptions::default() };
        Setup { options, ..setup.clone() }.passes(&launch("sssp", "small"))
    };
    let plain = run(None);
    (1..4).for_each(|seed| assert_same_statistics(&run(Some(seed)), &plain, "sssp"));
}

/// Compares a lockstep run with runs that simulate parts of the machine independently, on one to three
/// threads. If `long` is true, some cycles of these runs must be simulated outside of lockstep.
#[track_caller]
fn assert_same_in_islands(setup: &Setup, launch: &Path, long: bool, what: &str) {
    assert_same_in_threads(setup, launch, long, what, 1..4);
}

#[track_caller]
fn assert_same_in_threads(setup: &Setup, launch: &Path, long: bool, what: &str, threads: Range<usize>) {
    let run = |threads| {
        let options = RunOptions { threads, mode: FAST, ..setup.options.clone() };
        Setup { options, ..setup.clone() }.run(launch)
    };
    let together = run(Threads::InStep);
    assert_eq!(together.cycles_apart, 0, "{what}");
    for threads in threads {
        let apart = run(threads_of(threads));
        let what = format!("{what}, {threads} threads");
        assert_eq!((&together.outcome, &together.verdict), (&apart.outcome, &apart.verdict), "{what}");
        assert_same(&together, &apart, &what);
        let (cycles, all) = (apart.cycles_apart, apart.counters.cycles);
        assert!(cycles <= all && (cycles > 0 || !long), "{what}: {cycles} of {all} cycles in islands");
    }
}

fn threads_of(threads: usize) -> Threads {
    Threads::Of(threads.try_into().unwrap())
}

#[test]
fn islands_and_threads_change_nothing() {
    for (number, kernel) in some_kernels(4).iter().enumerate() {
        let one = 1 + number % 3;
        let threads = if is_thorough() { 1..4 } else { one..one + 1 };
        assert_same_in_threads(&Setup::default(), &launch(kernel, "small"), true, kernel, threads);
    }
}

#[test]
fn islands_and_threads_change_nothing_with_other_machines_and_designs() {
    let designs = [
        "dwt-pric",
        "decoupled-dueling",
        "ccws",
        "mrpb",
        "frc",
        "streaming-l2",
        "l2-next-line",
        "no-caches",
        "fetch-on-write",
        "icache",
        "stride",
        "caws",
        "mshr-by-warp",
        "two-level-noc",
    ];
    for design in designs {
        let setup = Setup::default().designs(&[design]);
        assert_same_in_islands(&setup, &launch("gesummv", "small"), true, design);
    }
    for machine in ["kepler", "hybrid"] {
        let setup = Setup::default().machine(machine);
        assert_same_in_islands(&setup, &launch("sgemm", "small"), true, machine);
    }
    // With the shortest links, the independently simulated parts of the machine synchronize in every cycle.
    // Other links have delays that differ widely between the two directions.
    let least = Setup::default().sets(&MIN_QUEUES);
    for [inject, deliver, request, reply] in [[1, 1, 1, 1], [9, 1, 2, 30], [1, 9, 30, 2]] {
        let links = [("inject", inject), ("deliver", deliver), ("request", request), ("reply", reply)];
        let links = links.map(|(link, cycles)| format!("link.{link}={cycles}"));
        let setup = least.clone().sets(&links.each_ref().map(String::as_str));
        assert_same_in_islands(&setup, &launch("vadd", "small"), true, &links.join(" "));
    }
}

/// Sharing trackers and recalls have networks of their own between SMs and memory partitions. Independently
/// simulated parts of the machine also synchronize over the links of these networks.
#[test]
fn islands_meet_over_every_network() {
    let tracker = Setup::default().machine("hybrid").designs(&["tracker"]);
    let recalls = Setup::default().machine("southern-islands").sets(&["link.inject=9", "link.deliver=4"]);
    for (what, setup) in [("tracker", tracker), ("recalls", recalls)] {
        for kernel in ["vadd", "syrk"] {
            assert_same_in_islands(&setup, &launch(kernel, "small"), true, &format!("{what}, {kernel}"));
        }
    }
}

/// Without link delays at the SMs, a kernel ends in the same cycle as its last CTA. No part of the machine
/// may be simulated beyond that cycle, so the run stays in lockstep.
#[test]
fn a_machine_whose_kernels_end_at_once_runs_in_step() {
    let options = RunOptions { threads: threads_of(2), ..RunOptions::default() };
    let setup = Setup { options, ..Setup::default() };
    let without = ["link.inject=0", "link.deliver=0"];
    for (what, setup) in
        [("southern-islands", setup.clone().machine("southern-islands")), ("fermi", setup.sets(&without))]
    {
        assert_eq!(setup.passes(&launch("vadd", "small")).cycles_apart, 0, "{what}");
    }
}

/// A run stops at its cycle limit, or when it makes no progress. With independently simulated parts, it must
/// stop at the same clock edge as in lockstep.
#[test]
fn a_run_that_is_stopped_is_stopped_at_the_same_edge_in_islands() {
    for cycles in [1500, 1501, 1700, 2009] {
        let options = RunOptions { max_cycles: Some(cycles), ..RunOptions::default() };
        let setup = Setup { options, ..Setup::default() };
        assert_same_in_islands(&setup, &launch("vadd", "launch.toml"), true, &format!("{cycles} cycles"));
    }
    for stuck in ["barriers", "spin"] {
        let launch = root().join(format!("tests/machine/ptx/{stuck}.toml"));
        assert_same_in_islands(&Setup::default(), &launch, false, stuck);
    }
}

/// Several SMs fault within a few cycles, and different threads simulate them. The fault in the earliest
/// simulated cycle must end the run, whichever thread reports its fault first. A core may then have results
/// in flight that never arrive.
#[test]
fn the_first_fault_is_the_same_in_islands() {
    let fault = |launch: &str, threads| {
        let launch = root().join("tests/machine/ptx").join(launch);
        let options = RunOptions { threads, ..RunOptions::default() };
        let config = ResolvedMachine::new(&Request { machine: "fermi".to_owned(), designs: vec![], sets: vec![] })
            .unwrap()
            .config;
        run(&launch, &config, &options, &mut |_| {}).unwrap_err().to_string()
    };
    for (launch, place) in [("traps.toml", "SM 11"), ("trap_in_flight.toml", "SM 0 warp 0 lane 0 pc 1")] {
        let together = fault(launch, Threads::InStep);
        assert!(together.contains(place), "{together}");
        for threads in 1..4 {
            assert_eq!(fault(launch, threads_of(threads)), together, "{launch}, {threads} threads");
        }
    }
}

/// Checks, output files and threads must not change the statistics: the counters, and the port accesses of
/// every memory, from which the energy is computed.
#[test]
fn neither_checks_nor_files_nor_threads_change_a_statistic() {
    let folder = tempfile::tempdir().unwrap();
    let wave = WaveOptions { path: folder.path().join("wave.fst"), ..WaveOptions::default() };
    let series = SeriesOptions { path: folder.path().join("series.csv"), interval: 100, columns: Vec::new() };
    let plain = RunOptions { structures: true, ..RunOptions::default() };
    let watched = [
        ("--check", RunOptions { check: true, ..plain.clone() }),
        ("--wave", RunOptions { wave: Some(wave), ..plain.clone() }),
        ("--series", RunOptions { series: Some(series), ..plain.clone() }),
        ("--report", RunOptions { history: true, ..plain.clone() }),
        ("--threads step", RunOptions { threads: Threads::InStep, ..plain.clone() }),
        ("--threads 2", RunOptions { threads: threads_of(2), ..plain.clone() }),
        ("contracts unlooked at", RunOptions { mode: Mode::FAST, ..plain.clone() }),
        ("both", RunOptions { threads: threads_of(2), mode: Mode::FAST, ..plain.clone() }),
    ];
    for (number, kernel) in some_kernels(2).iter().enumerate() {
        let run = |options: &RunOptions| {
            Setup { options: options.clone(), ..Setup::default() }.passes(&launch(kernel, "small"))
        };
        let without = run(&plain);
        // Not all combinations are tested: each kernel runs with some of the options, and each option with
        // some of the kernels.
        for (option, options) in sample(rotate(&watched, number), 8) {
            assert_same_statistics(&without, &run(options), &format!("{kernel} {option}"));
        }
    }
}

/// Turning off the checks of port contracts must not change the statistics. The designs cover schemes of
/// every kind. They include sharing trackers, recalls and side bands, which have two kinds of ports: ports
/// whose checks can be turned off, and ports that are always checked.
#[test]
fn looking_at_contracts_changes_no_statistic_whatever_the_design() {
    let of_fermi = [
        "pric",
        "dwt-pric",
        "decoupled-dueling",
        "ccws",
        "mrpb",
        "frc",
        "streaming-l2",
        "l2-next-line",
        "ship",
        "pdp",
        "icache",
        "stream",
        "caws",
        "hawkeye",
        "l2-partition",
        "l2-utility",
        "mshr-by-warp",
    ];
    let of_fermi = of_fermi.map(|design| ("fermi", vec![design]));
    let others = [("hybrid", vec!["tracker"]), ("southern-islands", vec![]), ("kepler", vec![])];
    for (machine, designs) in of_fermi.into_iter().chain(others) {
        for (max_cycles, threads) in [(None, Threads::InStep), (Some(2_500), threads_of(1)), (None, threads_of(2))] {
            let run = |mode| {
                let options = RunOptions { structures: true, max_cycles, threads, mode, ..RunOptions::default() };
                let setup = Setup { options, ..Setup::default() }.machine(machine).designs(&designs);
                setup.run(&launch("gesummv", "small"))
            };
            let (checked, fast) = (run(Mode::default()), run(Mode::FAST));
            let what = format!("{machine} {designs:?}, {max_cycles:?}, {threads:?}");
            assert_eq!((&checked.outcome, &checked.verdict), (&fast.outcome, &fast.verdict), "{what}");
            assert_same_statistics(&checked, &fast, &what);
        }
    }
}

#[track_caller]
fn assert_same_statistics(one: &RunReport, other: &RunReport, what: &str) {
    assert!(one.counters == other.counters, "{what}: {one:?}\n{other:?}");
    assert!(one.loads == other.loads, "{what}: {:?}\n{:?}", one.loads, other.loads);
    let ports = differing(one.structures.as_ref().unwrap(), other.structures.as_ref().unwrap());
    assert!(ports.is_empty(), "{what}: {ports:?}");
}

/// Returns the memories (SRAM arrays) whose numbers of accesses differ between two runs.
fn differing(one: &Counts, other: &Counts) -> Vec<String> {
    let memories = one.arrays.iter().zip(&other.arrays).filter(|(one, other)| one != other);
    let own = memories.map(|(one, other)| format!("{}: {:?}, {:?}", one.name, one.accesses, other.accesses));
    let inside = one.children.iter().zip(&other.children);
    let inside = inside.flat_map(|(a, b)| differing(a, b).into_iter().map(|text| format!("{}.{text}", a.block)));
    own.chain(inside).collect()
}
