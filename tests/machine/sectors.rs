//! Tests a sectored L2, which fetches only the requested sectors of a line and writes back only the written
//! ones. In some tests, the L1s also request single sectors.

use rtl::kernel::Mode;
use rtl::l2::L2Stats;
use tb::kit::sample;
use warpsieve::run::{Counters, RunOptions};

use super::{MIN_QUEUES, Setup, launch, some_kernels};

/// Settings under which a load that bypasses the L1 requests single sectors instead of a whole line. Each
/// sector is one DRAM burst.
const NARROW: [&str; 2] = ["l1.bypass_sectors=32", "dram.bus_bits=32"];

fn sectored_setup() -> Setup {
    Setup::run_checked().designs(&["l2-sectored"])
}

fn sum(counters: &Counters, count: fn(&L2Stats) -> u64) -> u64 {
    counters.l2.iter().map(count).sum()
}

/// Returns the numbers of bursts that were read from DRAM and written to it, over all channels.
fn bursts(counters: &Counters) -> (u64, u64) {
    let sum = |count: fn(&rtl::dram::counts::Counts) -> u64| counters.dram.iter().map(count).sum();
    (sum(|channel| channel.reads), sum(|channel| channel.writes))
}

#[test]
fn every_kernel_gives_its_results_and_the_channels_move_the_bytes_that_the_banks_count() {
    for kernel in &some_kernels(4) {
        let small = launch(kernel, "small");
        sectored_setup().passes(&small);
        let past = Setup::run_checked().designs(&["l2-sectored", "bypass-all"]).sets(&NARROW);
        let counters = past.passes(&small).counters;
        let (reads, writes) = bursts(&counters);
        assert_eq!(32 * reads, sum(&counters, |bank| bank.sectors.fetched_bytes), "{kernel}");
        assert_eq!(32 * writes, sum(&counters, |bank| bank.sectors.written_bytes), "{kernel}");
    }
}

#[test]
fn with_the_least_queues_small_lines_buffers_and_bypasses_it_gives_every_result() {
    let least = ["l2.flow.miss_queue=1", "l2.flow.write_back_queue=1", "l2.ways=1", "l2.sets=4"];
    let lines = ["l1.line_bytes=128", "l2.line_bytes=64", "interleave_bytes=256"];
    for kernel in ["bfs", "histo", "spmv_csr", "transpose"] {
        let small = launch(kernel, "small");
        let past = || Setup::run_checked().designs(&["l2-sectored", "bypass-all"]).sets(&NARROW);
        past().sets(&MIN_QUEUES).sets(&least).passes(&small);
        past().sets(&lines).sets(&["l2.atomic_buffer=true"]).passes(&small);
        past().sets(&["l2.bypass={ kind = \"all\" }"]).passes(&small);
        Setup::run_checked().designs(&["l2-sectored", "streaming-l2"]).sets(&["l2.bypass.period=500"]).passes(&small);
        sectored_setup().sets(&["l2.mshr_entries=192", "channels_per_partition=2"]).passes(&small);
        Setup::run_checked().machine("hybrid").designs(&["l2-sectored", "tracker"]).passes(&small);
    }
}

#[test]
fn it_fetches_less_where_loads_of_few_words_go_past_the_l1() {
    let counters =
        |designs: &[&str]| Setup::run_checked().designs(designs).sets(&NARROW).passes(&launch("spmv_csr", "small"));
    let (whole, sectors) = (counters(&["bypass-all"]).counters, counters(&["l2-sectored", "bypass-all"]).counters);
    let ((whole, _), (reads, _)) = (bursts(&whole), bursts(&sectors));
    assert!(reads < whole, "{reads} bursts instead of {whole}");
}

#[test]
fn l1s_that_fetch_sectors_give_every_result_with_every_scheme() {
    for kernel in sample(["backprop", "bfs", "histo", "kmeans", "spmv_csr", "srad1"], 2) {
        let small = launch(kernel, "small");
        for designs in [
            &["l1-sectored"][..],
            &["l1-sectored", "l2-sectored", "pric"],
            &["l1-sectored", "decoupled-dueling", "ship"],
            &["l1-sectored", "l2-sectored", "streaming"],
            &["l1-sectored", "pdp"],
            &["l1-sectored", "mrpb-all"],
            &["l1-sectored", "ccws"],
            &["l1-sectored", "frc-16"],
            &["l1-sectored", "dwt-pric", "l2-sectored"],
        ] {
            Setup::run_checked().designs(designs).passes(&small);
            let least = ["l1.sets=4", "l1.ways=1", "l1.mshr_entries=2", "l1.mshr_merges=1"];
            Setup::run_checked().designs(designs).sets(&MIN_QUEUES).sets(&least).passes(&small);
        }
        Setup::run_checked().machine("hybrid").designs(&["l1-sectored", "tracker"]).passes(&small);
    }
}

#[test]
fn l1s_that_fetch_sectors_move_fewer_bytes_where_warps_touch_few_words() {
    let moved = |designs: &[&str]| {
        let counters = Setup::run_checked().designs(designs).passes(&launch("spmv_csr", "small")).counters;
        (sum(&counters, |bank| bank.sectors.fetched_bytes), counters)
    };
    let ((whole, lines), (part, sectors)) = (moved(&["l2-sectored"]), moved(&["l2-sectored", "l1-sectored"]));
    assert!(part < whole, "{part} bytes instead of {whole}");
    let sum = |counters: &Counters| counters.totals().l1.sector_misses;
    assert_eq!(sum(&lines), 0);
    assert!(sum(&sectors) > 0);
}

#[test]
fn it_does_not_depend_on_how_the_host_evaluates_it_nor_on_checks() {
    let run = |mode: Mode, check| {
        let options = RunOptions { mode, check, ..RunOptions::default() };
        let setup = Setup { options, ..Setup::default() }.designs(&["l2-sectored", "bypass-all"]);
        let report =
            setup.sets(&NARROW).sets(&["l2.sets=2", "l2.atomic_buffer=true"]).passes(&launch("histo", "small"));
        (report.counters, report.digests)
    };
    let digest = Mode { digest: true, ..Mode::default() };
    let plain = run(digest, false);
    assert!(plain.1.is_some());
    assert_eq!(run(Mode { shuffle: Some(7), ..digest }, false), plain);
    assert_eq!(run(Mode { evaluate_all: true, ..digest }, true), plain);
    assert_eq!(run(Mode::FAST, false).0, plain.0);
}

#[test]
fn nor_do_l1s_that_fetch_sectors() {
    let run = |mode: Mode, check| {
        let options = RunOptions { mode, check, ..RunOptions::default() };
        let setup = Setup { options, ..Setup::default() }.designs(&["l1-sectored", "l2-sectored", "decoupled-dueling"]);
        let report = setup.sets(&["l1.mshr_entries=4"]).passes(&launch("kmeans", "small"));
        (report.counters, report.digests)
    };
    let digest = Mode { digest: true, ..Mode::default() };
    let plain = run(digest, false);
    assert!(plain.1.is_some());
    assert_eq!(run(Mode { shuffle: Some(7), ..digest }, false), plain);
    assert_eq!(run(Mode { evaluate_all: true, ..digest }, true), plain);
    assert_eq!(run(Mode::FAST, false).0, plain.0);
}
