//! Tests L2 banks that recall a line from the L1s with copies of it when they evict the line (candel2018
//! section 3).

use std::collections::BTreeSet;

use rtl::kernel::Mode;
use rtl::l1::stats::L1Stats;
use tb::kit::is_thorough;
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::run::{Counters, RunOptions};

use super::{MIN_QUEUES, Setup, launch};

/// Settings for L2 banks that are so small that they evict lines all the time, and that recall lines from
/// sharers.
const SHARERS: [&str; 3] = ["l2.flow.coherence=sharers", "l2.sets=8", "l2.ways=2"];

fn sum(counters: &Counters, count: fn(&L1Stats) -> u64) -> u64 {
    counters.l1.iter().map(count).sum()
}

#[test]
fn every_result_is_right_with_an_frc_and_without() {
    for design in ["transient", "frc"] {
        // Kernels with loads shared by SMs, atomics, local memory, constants, and textures.
        for kernel in ["vadd", "bfs", "syrk", "transpose", "histo", "srad1", "binomial", "kmeans", "conv"] {
            let setup = Setup::run_checked().designs(&[design]).sets(&SHARERS);
            setup.passes(&launch(kernel, "small"));
        }
    }
}

#[test]
fn every_scheme_of_the_l1_lets_its_lines_be_recalled() {
    for scheme in ["decoupled", "decoupled-dueling", "streaming", "mrpb-all", "pdp", "ship", "ccws", "dwt-pric"] {
        for kernel in ["vadd", "bfs", "transpose"] {
            let setup = Setup::run_checked().designs(&["frc", scheme]).sets(&SHARERS);
            setup.passes(&launch(kernel, "small"));
        }
    }
}

#[test]
fn an_l1_line_goes_with_the_first_of_its_l2_lines() {
    for l2 in [64, 32] {
        let lines = [format!("l2.line_bytes={l2}"), "dram.bus_bits=32".to_owned(), "l2.sets=16".to_owned()];
        let setup =
            Setup::run_checked().designs(&["transient"]).sets(&SHARERS).sets(&lines.each_ref().map(String::as_str));
        let counters = setup.passes(&launch("bfs", "small")).counters;
        assert!(sum(&counters, |l1| l1.recalls) > 0);
    }
}

#[test]
fn the_least_queues_on_all_ways_do_not_stop_it() {
    let least = ["l2.flow.coherence=sharers", "l2.sets=8", "l2.ways=1", "l2.flow.pending_queue=1"];
    for design in ["transient", "frc"] {
        for kernel in ["bfs", "syrk", "histo"] {
            let setup = Setup::run_checked().designs(&[design]);
            setup.sets(&MIN_QUEUES).sets(&least).passes(&launch(kernel, "small"));
        }
    }
}

#[test]
fn lines_that_leave_the_l2_leave_the_l1s_as_well_and_every_recall_is_answered() {
    let run = |sets: &[&str]| {
        let setup = Setup::run_checked().designs(&["transient"]).sets(&["l2.sets=8", "l2.ways=2"]).sets(sets);
        setup.passes(&launch("syrk", "padded")).counters
    };
    let (kept, recalled) = (run(&[]), run(&["l2.flow.coherence=sharers"]));
    assert_eq!((sum(&kept, |l1| l1.recalls), kept.recalls.len(), kept.recall_acks.len()), (0, 0, 0));
    let packets = |outputs: &[rtl::noc::xbar::OutputStats]| outputs.iter().map(|output| output.packets).sum::<u64>();
    assert!(packets(&recalled.recalls) > 1000);
    assert_eq!(packets(&recalled.recalls), packets(&recalled.recall_acks));
    assert!(sum(&recalled, |l1| l1.recalls) > 1000);
    assert!(sum(&recalled, |l1| l1.hits) < sum(&kept, |l1| l1.hits));
}

#[test]
fn recalls_do_not_depend_on_how_the_host_evaluates_them_nor_on_checks() {
    let run = |mode: Mode, check| {
        let max_cycles = (!is_thorough()).then_some(10_000);
        let options = RunOptions { check, max_cycles, mode: Mode { digest: true, ..mode }, ..RunOptions::default() };
        let setup = Setup { options, ..Setup::default() }.designs(&["frc"]).sets(&SHARERS);
        let report = setup.sets(&["num_sms=3", "num_partitions=2", "l2.flow.frc.entries=4"]);
        let report = report.run(&launch("bfs", "small"));
        (report.counters, report.digests)
    };
    let plain = run(Mode::default(), false);
    assert!(sum(&plain.0, |l1| l1.recalls) > 0);
    for mode in [
        Mode { evaluate_all: true, ..Mode::default() },
        Mode { shuffle: Some(5), ..Mode::default() },
        Mode { lint: true, ..Mode::default() },
    ] {
        assert!(run(mode, false) == plain, "{mode:?}");
    }
    assert!(run(Mode::default(), true) == plain);
}

#[test]
fn a_partition_of_two_channels_gives_every_result_and_uses_both() {
    for design in ["baseline", "frc"] {
        for kernel in ["vadd", "bfs", "transpose"] {
            let two = Setup::run_checked().designs(&[design]).sets(&["channels_per_partition=2", "num_partitions=2"]);
            for run in ["interleave_bytes=128", "interleave_bytes=512"] {
                let counters = two.clone().sets(&[run]).passes(&launch(kernel, "small")).counters;
                assert_eq!(counters.dram.len(), 4);
                assert!(counters.dram.iter().all(|channel| channel.reads > 0), "{design}, {kernel}, {run}");
            }
        }
    }
}

/// Checks a case in which a request could get lost. An L2 bank evicts a dirty line to one DRAM channel, and
/// thereby frees a way for a line of another channel. The bank serves its channels one after another, and has
/// already served that other channel in the same cycle.
#[test]
fn a_line_that_leaves_to_one_channel_lets_its_successor_be_asked_of_another() {
    for ways in ["l2.ways=1", "l2.ways=2"] {
        let two = Setup::default().sets(&["channels_per_partition=2", "l2.flow.kind=transient"]);
        two.sets(&["l2.sets=1", ways]).passes(&launch("particlefilter", "small"));
    }
}

#[test]
fn every_line_has_one_place_in_a_channel_of_its_partition() {
    let sets = ["num_partitions=3", "channels_per_partition=4"].map(str::to_owned).to_vec();
    let request = Request { machine: "southern-islands".to_owned(), designs: Vec::new(), sets };
    let config = ResolvedMachine::new(&request).unwrap().config;
    let (unit, lines) = (config.l2.line_bytes, 12 * 7 * config.interleave_bytes / config.l2.line_bytes);
    let places: BTreeSet<_> = (0..u64::from(lines))
        .map(|line| {
            let (channel, local) = config.channels(unit).place(line);
            assert_eq!(channel as u32 / config.channels_per_partition, config.interleave(unit).partition(line));
            assert_eq!(config.channels(unit).unit(channel as u32, local), line);
            (channel, local)
        })
        .collect();
    assert_eq!(places.len(), lines as usize);
    assert!(places.iter().all(|(_, local)| *local < u64::from(lines / 12)));
}

#[test]
fn southern_islands_gives_every_result_with_each_l2_of_candel2018() {
    for designs in [&[][..], &["frc-4"], &["frc-64"], &["l2-256k"]] {
        for kernel in ["vadd", "bfs", "syrk", "histo", "transpose"] {
            let setup = Setup::run_checked().machine("southern-islands").designs(designs);
            setup.passes(&launch(kernel, "small"));
        }
    }
}
