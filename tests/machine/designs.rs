//! Tests the effects of designs on the results of runs, and combinations of several designs.

use rtl::kernel::Mode;
use rtl::l1::watch::Fail;
use tb::kit::sample;
use warpsieve::config::{designs, machines};
use warpsieve::run::Counters;

use super::{Setup, hit_rate, launch, rotate};

fn counters(kernel: &str, file: &str, designs: &[&str]) -> Counters {
    Setup::default().designs(designs).passes(&launch(kernel, file)).counters
}

fn times(slow: &Counters, fast: &Counters) -> f64 {
    slow.cycles as f64 / fast.cycles as f64
}

/// khairy2015 section 4: matrix rows conflict if the distance between them is a multiple of the number of
/// cache sets. With a linear index they map to one set, and with a pseudo-random index they do not.
#[test]
fn pric_cures_the_conflicts_of_syrk() {
    let linear = counters("syrk", "launch.toml", &[]);
    let pric = counters("syrk", "launch.toml", &["pric"]);
    assert!(hit_rate(&linear) < 0.01, "linear: {}", hit_rate(&linear));
    assert!(hit_rate(&pric) > 0.95, "pric: {}", hit_rate(&pric));
    assert!(times(&linear, &pric) > 5.0, "{} and {} cycles", linear.cycles, pric.cycles);
}

#[test]
fn without_conflicts_pric_changes_little() {
    let linear = counters("syrk", "padded", &[]);
    let pric = counters("syrk", "padded", &["pric"]);
    assert!(hit_rate(&linear) > 0.95, "{}", hit_rate(&linear));
    assert!((0.9..1.1).contains(&times(&linear, &pric)), "{} and {} cycles", linear.cycles, pric.cycles);
}

#[test]
fn gesummv_shows_the_same_signs() {
    let linear = counters("gesummv", "launch.toml", &[]);
    let pric = counters("gesummv", "launch.toml", &["pric"]);
    let padded = counters("gesummv", "padded", &[]);
    assert!(hit_rate(&linear) < 0.05 && hit_rate(&pric) > 0.7, "{} and {}", hit_rate(&linear), hit_rate(&pric));
    assert!(times(&linear, &pric) > 5.0, "{} and {} cycles", linear.cycles, pric.cycles);
    assert!((0.9..1.2).contains(&times(&pric, &padded)), "{} and {} cycles", pric.cycles, padded.cycles);
}

#[test]
fn past_the_l1_nothing_hits_and_everything_is_counted_as_bypass() {
    let l1 = counters("syrk", "small", &["bypass-all"]).l1;
    assert!(l1.iter().all(|l1| l1.hits == 0 && l1.misses == 0 && l1.bypasses == l1.accesses));
    assert!(l1.iter().any(|l1| l1.bypasses > 0));
}

/// Designs that do not go with an L1 whose ways serve as shared memory, or with an L2 that fetches sectors.
const UNIFIED: &[&str] = &[
    "fetch-on-write",
    "fully-associative",
    "kepler-l1-32k",
    "kepler-l1-48k",
    "l1-128k",
    "unbounded",
    "ways-16",
    "ways-32",
    "ways-64",
];

/// Designs that a machine rejects. The reasons are:
///
/// - The Fermi hash requires 32 or 64 sets of 128-byte lines.
/// - The sharing tracker cannot supply lines that the L2 recalls.
/// - The contention test needs all lines that a warp accesses. On Southern Islands, it would see only those
///   of half a warp.
/// - Only the overlapped flow of the L2 can choose which data a miss fetches.
/// - On a V100, an A100 and an H100, some ways of the L1 serve as shared memory, so the L1 must have enough ways.
/// - Each link of a cluster leads to its own partitions, and two machines have only one partition.
/// - A partitioned L2 needs sets of 16 ways.
/// - Hawkeye needs 8 sampled sets.
const DO_NOT_GO: [(&str, &[&str]); 8] = [
    ("gddr5-reference", &["two-level-noc"]),
    ("hbm2", &["two-level-noc"]),
    (
        "southern-islands",
        &[
            "fermi-hash",
            "gtx480",
            "fetch-on-write",
            "l2-sectored",
            "streaming-l2",
            "l2-next-line",
            "l2-partition",
            "l2-utility",
            "no-caches",
            "tracker",
            "tracker-naive",
            "tracker-2",
            "tracker-4",
            "tracker-last",
            "tracker-exclusive",
            "hybrid-policy",
        ],
    ),
    ("hybrid", &["fermi-hash", "gtx480", "l2-partition", "l2-utility"]),
    ("volta", &["fermi-hash", "gtx480", "drrip", "hawkeye", "frc-512"]),
    ("volta", UNIFIED),
    ("ampere", UNIFIED),
    ("hopper", UNIFIED),
];

#[test]
fn every_machine_runs_with_every_design() {
    // Not all combinations are tested: each design runs on some of the machines, and each machine runs some
    // of the designs.
    for (number, machine) in machines().iter().enumerate() {
        for design in sample(rotate(designs(), number), machines().len()) {
            if DO_NOT_GO.iter().any(|(other, designs)| *other == machine.name && designs.contains(&design.name)) {
                continue;
            }
            let setup = Setup::run_checked().machine(machine.name).designs(&[design.name]);
            setup.passes(&launch("vadd", "small"));
        }
    }
}

#[test]
fn designs_of_different_slots_compose() {
    let all = ["pric", "bypass-all", "ideal-operands", "li2015-clocks"];
    let both = Setup::run_checked().designs(&all).passes(&launch("syrk", "small"));
    assert_eq!(both.counters.core_khz, 1_400_000);
    assert_eq!(hit_rate(&both.counters), 0.0);
}

#[test]
fn the_transient_flow_and_the_frc_give_every_result() {
    let least = ["l2.flow.pending_queue=1", "l2.ways=1", "l2.mshr_entries=2"];
    for design in ["transient", "frc"] {
        for kernel in ["bfs", "syrk", "transpose"] {
            let small = launch(kernel, "small");
            Setup::run_checked().designs(&[design]).passes(&small);
            Setup::run_checked().designs(&[design]).sets(&least).passes(&small);
        }
    }
}

/// Tests bypass schemes of the L1 with three settings: the default, buffers so small that queues fill up and
/// block each other, and another order of the prioritization buffer (MRPB).
#[test]
fn schemes_that_send_loads_past_the_l1_give_every_result() {
    let least = ["l1.mrpb.depth=1", "l1.mshr_entries=2", "l1.mshr_merges=1", "l1.ways=2", "l1.miss_queue=2"];
    let other = ["l1.mrpb.order=\"round-robin\"", "l1.mrpb.greedy=true"];
    for design in ["mrpb", "mrpb-all", "pdp", "profiled"] {
        for kernel in ["bfs", "syrk", "transpose"] {
            let small = launch(kernel, "small");
            Setup::run_checked().designs(&[design]).passes(&small);
            Setup::run_checked().designs(&[design]).sets(&least).passes(&small);
            Setup::run_checked().designs(&[design]).sets(&other).passes(&small);
        }
    }
    for designs in [&["mrpb", "pdp"][..], &["mrpb-all", "pdp"], &["mrpb-all", "profiled"]] {
        let sets = if designs.contains(&"pdp") { &["l1.bypass.distance=5"][..] } else { &[] };
        for kernel in ["bfs", "syrk", "transpose"] {
            Setup::run_checked().designs(designs).sets(&[&other, sets].concat()).passes(&launch(kernel, "small"));
        }
    }
}

/// khairy2015 section 5: with memory request prioritization buffers (MRPB), the requests of one warp reach
/// the cache together. A load whose set is fully reserved bypasses the L1, so no load stalls for a way.
#[test]
fn mrpb_ends_the_wait_for_ways_of_a_set() {
    let fails = |design| {
        let counters = counters("syrk", "launch.toml", &[design]);
        counters.l1.iter().map(|l1| l1.fails[Fail::LineAlloc as usize]).sum::<u64>()
    };
    assert!(fails("baseline") > 1000 && fails("mrpb") == 0, "{} and {}", fails("baseline"), fails("mrpb"));
}

/// candel2018 section 5: with a Fetch and Replacement Cache (FRC), misses that map to the same set are
/// fetched in parallel.
#[test]
fn with_an_frc_no_miss_waits_for_a_way() {
    let small_l2 = ["l2.sets=8", "l2.ways=2"];
    let counters =
        |design| Setup::run_checked().designs(&[design]).sets(&small_l2).passes(&launch("vadd", "small")).counters;
    let (conventional, frc) = (counters("transient"), counters("frc"));
    let sum = |counters: &Counters, count: fn(&rtl::l2::L2Stats) -> u64| counters.l2.iter().map(count).sum::<u64>();
    assert_eq!(sum(&conventional, |bank| bank.frc.misses), 0);
    assert_eq!(sum(&frc, |bank| bank.frc.misses), sum(&frc, |bank| bank.fetches));
    assert!(sum(&conventional, |bank| bank.put_down) > 100 && sum(&frc, |bank| bank.put_down) == 0);
    assert!(sum(&conventional, |bank| bank.miss_delay) > 5 * sum(&frc, |bank| bank.miss_delay));
    assert!(times(&conventional, &frc) > 1.1, "{} and {} cycles", conventional.cycles, frc.cycles);
}

const DECOUPLED: [&str; 3] = ["decoupled", "decoupled-t0", "decoupled-dueling"];
const REPLACEMENT: [&str; 6] = ["srrip", "brrip", "drrip", "ship", "ship-mem", "hawkeye"];

#[test]
fn decoupled_tags_and_replacement_policies_pass_every_check() {
    for kernel in ["bfs", "gesummv", "histo", "sgemm", "transpose"] {
        let small = launch(kernel, "small");
        for design in DECOUPLED.iter().chain(&REPLACEMENT) {
            Setup::run_checked().designs(&[design]).passes(&small);
        }
        Setup::run_checked().designs(&["decoupled-dueling", "ship", "pric"]).passes(&small);
        Setup::run_checked().designs(&["decoupled-dueling"]).sets(&["l1.dueling.leaders=pinned"]).passes(&small);
    }
}

/// li2015 section 4.3: with a threshold of zero, no access bypasses the L1D.
#[test]
fn with_threshold_0_every_kernel_takes_the_cycles_of_the_baseline() {
    for kernel in ["bfs", "gesummv", "sgemm", "vadd"] {
        let (mut decoupled, baseline) = (counters(kernel, "small", &["decoupled-t0"]), counters(kernel, "small", &[]));
        for l1 in &mut decoupled.l1 {
            (l1.promotions, l1.demotions) = (0, 0);
        }
        assert!(decoupled == baseline, "{kernel}: {decoupled:?}\n{baseline:?}");
    }
}

#[test]
fn one_sm_has_nobody_to_duel_with() {
    let alone = |design| {
        let setup = Setup::run_checked().designs(&[design]).sets(&["num_sms=1"]);
        setup.passes(&launch("bfs", "small")).counters
    };
    assert!(alone("decoupled-dueling") == alone("decoupled"));
}

#[test]
fn dueling_does_not_depend_on_how_the_machine_is_evaluated() {
    let run = |mode| {
        let setup = Setup::default().designs(&["decoupled-dueling"]).sets(&[
            "num_sms=4",
            "l1.dueling.interval=50",
            "l1.dueling.leaders=pinned",
        ]);
        setup.mode(mode).passes(&launch("gesummv", "small"))
    };
    let fast = run(Mode { digest: true, ..Mode::default() });
    for (evaluate_all, lint, shuffle) in [(true, false, None), (false, true, None), (false, false, Some(1))] {
        let other = run(Mode { evaluate_all, lint, shuffle, digest: true, unchecked: false });
        assert!(other.counters == fast.counters, "{:?}\n{:?}", other.counters, fast.counters);
        assert_eq!(other.digests, fast.digests, "evaluate all {evaluate_all}, lint {lint}, shuffle {shuffle:?}");
    }
}

#[test]
fn a_line_asked_for_once_goes_past_decoupled_tags() {
    let l1 = counters("vadd", "small", &["decoupled"]).l1;
    assert!(l1.iter().all(|l1| l1.misses == 0 && l1.hits == 0 && l1.bypasses == l1.accesses));
}

#[test]
fn every_throttle_gives_every_result_and_answers_for_every_cycle() {
    let short = ["throttle.period=300"];
    for kernel in ["bfs", "syrk", "gesummv", "sgemm", "mm2"] {
        for design in ["swl-1", "dwt-cs", "ccws", "streaming", "streaming-l2", "dwt-pric"] {
            let of_l1 = ["streaming", "dwt-pric"].contains(&design).then_some("l1.bypass.period=300");
            let of_l2 = (design == "streaming-l2").then_some("l2.bypass.period=300");
            let of_search = short.into_iter().filter(|_| design.starts_with("dwt"));
            let sets: Vec<_> = of_search.chain(of_l1).chain(of_l2).collect();
            Setup::run_checked().designs(&[design]).sets(&sets).passes(&launch(kernel, "small"));
        }
    }
}

/// khairy2015 section 5: the design `dwt-pric`, which combines three schemes, outperforms its index function
/// (`pric`) alone.
#[test]
fn dwt_pric_is_better_than_pric_where_warps_thrash() {
    let pric = counters("gesummv", "launch.toml", &["pric"]);
    let both = counters("gesummv", "launch.toml", &["dwt-pric"]);
    assert!(hit_rate(&both) > hit_rate(&pric), "{} and {}", hit_rate(&both), hit_rate(&pric));
    assert!(times(&pric, &both) > 1.05, "{} and {} cycles", pric.cycles, both.cycles);
}
