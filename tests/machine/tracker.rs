//! Tests L1s that supply lines to each other, as directed by a sharing tracker (anssari2012 chapter 3).

use rtl::kernel::{Counted, Mode};
use rtl::tracker::TrackerStats;
use tb::kit::sample;
use warpsieve::run::{Counters, RunOptions, Verdict};

use super::{MIN_QUEUES, Setup, launch};

/// Setting for L1s that are so small that they evict lines all the time.
const SMALL: [&str; 1] = ["l1.sets=1"];
/// Kernels with loads shared by compute units (SMs), atomics, local memory, constants, and textures.
const KERNELS: [&str; 8] = ["vadd", "bfs", "syrk", "histo", "srad1", "binomial", "kmeans", "btree"];

fn hybrid(designs: &[&str]) -> Setup {
    Setup::run_checked().machine("hybrid").designs(designs)
}

fn tracker_counters(counters: &Counters) -> TrackerStats {
    TrackerStats::total(&counters.trackers)
}

#[test]
fn every_result_is_right_with_each_tracker() {
    for design in ["tracker", "tracker-2", "tracker-4", "tracker-last"] {
        for kernel in sample(KERNELS, 2) {
            hybrid(&[design]).passes(&launch(kernel, "small"));
            hybrid(&[design]).sets(&SMALL).passes(&launch(kernel, "small"));
        }
    }
}

/// When an L1 prefetches a line, the tracker must record the L1 as a sharer of the line, as after a miss. The
/// tracker must also be notified of the line that the prefetch evicts from the L1.
#[test]
fn every_result_is_right_with_a_tracker_and_each_prefetcher() {
    for prefetcher in ["next-line", "stride", "many-thread-aware", "stream"] {
        for kernel in ["syrk", "bfs"] {
            let small = launch(kernel, "small");
            let counters = hybrid(&["tracker", prefetcher]).passes(&small).counters;
            let of_small_l1s = hybrid(&["tracker", prefetcher]).sets(&SMALL).passes(&small).counters;
            let issued = [counters, of_small_l1s].map(|counters| counters.totals().l1.prefetch.issued);
            assert!(prefetcher != "next-line" || issued.iter().all(|issued| *issued > 0), "{kernel}: {issued:?}");
        }
    }
}

/// On this machine, one crossbar has 144 inputs: 80 L1s and 64 L2 banks.
#[test]
fn the_l1s_of_a_v100_supply_each_other() {
    for kernel in ["bfs", "sgemm_cache", "btree"] {
        let counters = Setup::run_checked().machine("volta").designs(&["tracker"]).passes(&launch(kernel, "small"));
        let TrackerStats { supplied, .. } = tracker_counters(&counters.counters);
        assert!(supplied > 0, "{kernel}");
    }
}

/// Under `hybrid-policy`, each warp has an equal share of the L1, and a load that would fill the share of its
/// warp bypasses the L1. With L1s of the normal size, some loads bypass. With L1s of four lines, nearly all
/// do.
#[test]
fn every_result_is_right_with_the_policy_and_each_tracker() {
    let trackers: [&[&str]; 4] = [&["tracker"], &["tracker-4"], &["tracker-exclusive"], &[]];
    for tracker in trackers {
        let designs = [tracker, &["hybrid-policy"]].concat();
        for kernel in sample(KERNELS, 2) {
            hybrid(&designs).passes(&launch(kernel, "small"));
            hybrid(&designs).sets(&SMALL).passes(&launch(kernel, "small"));
        }
    }
    let kept = ["tracker.probes=kept"];
    hybrid(&["tracker", "hybrid-policy"]).sets(&SMALL).sets(&kept).passes(&launch("bfs", "small"));
}

/// Each lane of the kernel `gesummv` reads a different matrix row, so one load accesses 32 of 512 lines. With
/// two compute units, many warps share these lines in one L1. With sixteen, few warps share them.
#[test]
fn scattered_loads_that_contend_fetch_their_sectors_alone_and_others_whole_lines() {
    let run = |designs: &[&str], sets: &[&str]| {
        let setup = Setup::default().machine("hybrid").designs(designs).sets(sets);
        let counters = setup.passes(&launch("gesummv", "launch.toml")).counters;
        let bypasses: u64 = counters.totals().l1.bypasses;
        let fetches: u64 = counters.totals().l2.fetches;
        (bypasses, fetches, counters)
    };
    let two = ["num_sms=2"];
    let (none, lines, slow) = run(&["tracker"], &two);
    let (many, sectors, fast) = run(&["tracker", "hybrid-policy"], &two);
    assert!(none == 0 && many > 100_000, "{none} and {many} bypasses");
    assert!(2 * sectors < lines, "{sectors} and {lines} sectors from DRAM");
    assert!(2 * fast.cycles < slow.cycles, "{} and {} cycles", fast.cycles, slow.cycles);
    let (bypasses, ..) = run(&["tracker", "hybrid-policy"], &[]);
    assert_eq!(bypasses, 0);
}

#[test]
fn a_kernel_without_contention_takes_the_cycles_that_it_takes_without_the_policy() {
    for kernel in ["vadd", "bfs", "sgemm"] {
        let run = |designs: &[&str]| hybrid(designs).passes(&launch(kernel, "small")).counters;
        assert!(run(&["tracker", "hybrid-policy"]) == run(&["tracker"]), "{kernel}");
    }
}

/// anssari2012 section 4.3, on the second part of the policy (the L2 does not allocate lines that L1s keep):
/// after an L1 has evicted such a line, it must be fetched from DRAM again.
#[test]
fn an_l2_without_what_l1s_keep_fetches_it_again() {
    let fetches = |design: &str| {
        let counters = hybrid(&[design, "hybrid-policy"]).passes(&launch("bfs", "small")).counters;
        counters.totals().l2.fetches
    };
    let (both, one) = (fetches("tracker"), fetches("tracker-exclusive"));
    assert!(2 * both < one, "{both} and {one} sectors from DRAM");
}

/// In the kernel `btree`, a thread reads a flag that another thread of its CTA has written. The naive tracker
/// forwards this read to an L1 with an older copy of the line. The test shows this flaw of anssari2012
/// section 3.2 with an ordinary kernel.
#[test]
fn the_naive_tracker_gives_btree_a_value_that_its_own_block_has_overwritten() {
    let small = launch("btree", "small");
    let sets = ["l1.sets=2"];
    hybrid(&["tracker"]).sets(&sets).passes(&small);
    let report = hybrid(&["tracker-naive"]).sets(&sets).run(&small);
    let Verdict::Failed(reports) = report.verdict else { panic!("{:?}", report.verdict) };
    let all = reports.join("\n");
    assert!(all.contains("or newer: a compute unit sees its own stores"), "{all}");
}

#[test]
fn lines_that_others_hold_are_supplied_by_them_and_not_by_the_l2() {
    let run = |designs: &[&str]| hybrid(designs).passes(&launch("syrk", "padded")).counters;
    let (alone, tracker) = (run(&[]), run(&["tracker"]));
    let reads = |counters: &Counters| counters.totals().l2.accesses;
    let TrackerStats { supplied, refused, forwards, .. } = tracker_counters(&tracker);
    assert!(supplied > 500 && refused < 20, "{supplied} supplied, {refused} refused");
    assert_eq!(forwards, supplied + refused);
    assert!(2 * reads(&tracker) < reads(&alone), "{} and {} reads", reads(&tracker), reads(&alone));
    let packets = |outputs: &[rtl::noc::xbar::OutputStats]| outputs.iter().map(|output| output.packets).sum::<u64>();
    assert_eq!((packets(&tracker.forwards), packets(&tracker.answers)), (forwards, forwards));
    assert_eq!((alone.trackers.len(), alone.forwards.len()), (0, 0));
}

#[test]
fn the_least_queues_on_all_ways_do_not_stop_it() {
    let least = [
        "l1.ways=1",
        "tracker.sets=4",
        "tracker.ways=1",
        "tracker.transfers=1",
        "l2.split_requests=1",
        "l2.flow.miss_queue=1",
        "l2.flow.write_back_queue=1",
    ];
    let designs: [&[&str]; 5] = [
        &["tracker"],
        &["tracker-4"],
        &["tracker-last"],
        &["tracker", "hybrid-policy"],
        &["tracker-exclusive", "hybrid-policy"],
    ];
    for designs in designs {
        for kernel in ["bfs", "syrk", "histo"] {
            hybrid(designs).sets(&SMALL).sets(&MIN_QUEUES).sets(&least).passes(&launch(kernel, "small"));
        }
    }
}

#[test]
fn a_tracker_does_not_depend_on_how_the_host_evaluates_it_nor_on_checks() {
    runs_alike(&["tracker"], "l1.sets=1");
    let bypasses = |counters: &Counters| counters.totals().l1.bypasses;
    assert!(bypasses(&runs_alike(&["tracker-exclusive", "hybrid-policy"], "l1.sets=16")) > 100);
}

/// Runs a kernel with the given designs and number of L1 sets (`sets`) in every evaluation mode of the
/// simulator. Checks that the results are equal, and returns the counters.
fn runs_alike(designs: &[&str], sets: &str) -> Counters {
    let run = |mode: Mode, check| {
        let options = RunOptions { check, mode: Mode { digest: true, ..mode }, ..RunOptions::default() };
        let setup = Setup { options, ..Setup::default() }.machine("hybrid").designs(designs).sets(&[sets]);
        let report = setup.sets(&["num_sms=4", "num_partitions=2"]).passes(&launch("btree", "small"));
        (report.counters, report.digests)
    };
    let plain = run(Mode::default(), false);
    assert!(tracker_counters(&plain.0).supplied > 0);
    for mode in [
        Mode { evaluate_all: true, ..Mode::default() },
        Mode { shuffle: Some(5), ..Mode::default() },
        Mode { lint: true, ..Mode::default() },
    ] {
        assert!(run(mode, false) == plain, "{mode:?}");
    }
    assert!(run(Mode::default(), true) == plain);
    plain.0
}
