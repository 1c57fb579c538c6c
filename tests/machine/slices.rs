//! Tests machines in which several L2 banks share a DRAM channel. In most of these machines, a hash of the
//! address selects the memory partition.

use rtl::kernel::Mode;
use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::run::{RunOptions, Threads};

use super::{MIN_QUEUES, Setup, launch, some_kernels};

/// Settings for eight L2 banks. Every two banks share a DRAM channel, and every two consecutive lines are in
/// the same bank.
const SLICES: [&str; 4] =
    ["num_partitions=8", "partitions_per_channel=2", "interleave_bytes=256", "partition_index.kind=i-poly"];

fn slices() -> Setup {
    Setup::run_checked().sets(&SLICES)
}

#[test]
fn every_kernel_gives_its_results() {
    for kernel in &some_kernels(5) {
        slices().passes(&launch(kernel, "small"));
    }
}

#[test]
fn schemes_of_the_l2_and_the_least_queues_give_the_results_too() {
    for kernel in ["bfs", "histo", "transpose"] {
        let small = launch(kernel, "small");
        slices().sets(&MIN_QUEUES).passes(&small);
        slices().sets(&["partitions_per_channel=8", "partition_index.kind=modulo"]).passes(&small);
        for designs in [&["l2-sectored"][..], &["frc"], &["tracker"], &["pric", "streaming-l2"]] {
            slices().designs(designs).passes(&small);
        }
    }
}

#[test]
fn neither_evaluation_nor_checks_nor_islands_change_anything() {
    let run = |mode: Mode, check, threads| {
        let options = RunOptions { mode, check, threads, ..RunOptions::default() };
        let setup = Setup { options, ..Setup::default() }.sets(&SLICES);
        let report = setup.passes(&launch("transpose", "small"));
        (report.counters, report.digests)
    };
    let digest = Mode { digest: true, ..Mode::default() };
    let plain = run(digest, false, Threads::InStep);
    assert!(plain.1.is_some());
    assert_eq!(run(Mode { shuffle: Some(7), ..digest }, false, Threads::InStep), plain);
    assert_eq!(run(Mode { evaluate_all: true, ..digest }, true, Threads::InStep), plain);
    for threads in [1, 2, 5] {
        let threads = Threads::Of(threads.try_into().unwrap());
        assert_eq!(run(Mode::FAST, false, threads).0, plain.0);
    }
}

#[test]
fn lines_of_a_channel_alternate_between_its_banks() {
    let sets = SLICES.map(str::to_owned).to_vec();
    let request = Request { machine: "fermi".to_owned(), designs: Vec::new(), sets };
    let config = ResolvedMachine::new(&request).unwrap().config;
    assert_eq!(config.num_channels(), 4);
    let channels = config.channels(config.interleave_bytes);
    for run in 0..1000 {
        let (channel, local) = channels.place(run);
        let bank = channels.partitions.partition(run);
        assert_eq!((bank / 2, u64::from(bank % 2)), (channel as u32, local % 2), "run {run}");
        assert_eq!(channels.unit(channel as u32, local), run);
    }
}
