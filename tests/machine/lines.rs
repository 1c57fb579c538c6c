//! Tests machines with unusual line sizes: L2 lines that are shorter than L1 lines, short lines in all
//! caches, memory partitions that interleave several lines, and bypassing loads that read sectors.

use warpsieve::config::{Request, ResolvedMachine};
use warpsieve::run::{Counters, profile};

use super::{Setup, launch, root};

fn flits(counters: &Counters) -> u64 {
    counters.replies.iter().map(|output| output.flits).sum()
}

/// Returns the number of reads that were looked up in the L2.
fn l2_reads(counters: &Counters) -> u64 {
    counters.totals().l2.accesses
}

fn l1_misses(counters: &Counters) -> u64 {
    counters.totals().l1.misses
}

#[test]
fn kepler_gives_every_result_with_each_size_of_its_l1() {
    for kernel in ["backprop", "bfs", "cutcp", "histo", "kmeans", "mrigridding", "reduction", "syrk"] {
        Setup::run_checked().machine("kepler").passes(&launch(kernel, "small"));
    }
    for design in ["kepler-l1-32k", "kepler-l1-48k"] {
        Setup::run_checked().machine("kepler").designs(&[design]).passes(&launch("syrk", "small"));
    }
}

#[test]
fn every_pair_of_line_sizes_gives_every_result() {
    for (l1, l2) in [(128, 128), (128, 64), (128, 32), (64, 64), (64, 32)] {
        let sizes = [format!("l1.line_bytes={l1}"), format!("l2.line_bytes={l2}"), "dram.bus_bits=32".to_owned()];
        let sizes = sizes.each_ref().map(String::as_str);
        for kernel in ["bfs", "histo", "syrk"] {
            let sets = [&sizes[..], &["l1.bypass_sectors=32", "interleave_bytes=256"]].concat();
            Setup::run_checked().sets(&sets).passes(&launch(kernel, "small"));
            let flow = [&sets[..], &["l2.split_requests=1", "l2.flow.kind=transient"]].concat();
            Setup::run_checked().sets(&flow).passes(&launch(kernel, "small"));
        }
    }
}

/// anssari2012: a read of a 128-byte L1 line becomes four L2 requests of 32 bytes. Each of them hits or
/// misses independently.
#[test]
fn an_l1_miss_is_as_many_l2_reads_as_its_line_has_l2_lines() {
    let counters = |l2: &str| {
        let sets = [l2, "dram.bus_bits=32"];
        Setup::run_checked().sets(&sets).passes(&launch("vadd", "small")).counters
    };
    for (set, parts) in [("l2.line_bytes=128", 1), ("l2.line_bytes=64", 2), ("l2.line_bytes=32", 4)] {
        let counters = counters(set);
        assert_eq!(l2_reads(&counters), parts * l1_misses(&counters), "{set}");
    }
}

/// xie2013 section 4.1: loads that bypass the L1 transfer 32 bytes each.
#[test]
fn loads_that_bypass_the_l1_bring_the_sectors_that_they_touch_and_no_more() {
    let file = launch("kmeans", "small");
    // Number of data flits in the replies. Each packet also has one header flit, which is subtracted.
    let data = |setup: &Setup| {
        let counters = setup.passes(&file).counters;
        flits(&counters) - counters.replies.iter().map(|output| output.packets).sum::<u64>()
    };
    let past = |sectors| Setup::run_checked().designs(&["bypass-all"]).sets(&[sectors]);
    let request = Request { machine: "fermi".to_owned(), designs: vec!["bypass-all".to_owned()], ..Request::default() };
    let kernels = profile(&file, None, &ResolvedMachine::new(&request).unwrap().config).unwrap();
    let asked = kernels[0].all().all_loads();
    assert_eq!(data(&past("l1.bypass_sectors=0")), 4 * asked.bypasses);
    assert_eq!(data(&past("l1.bypass_sectors=32")), asked.bypassed_sectors);
    assert!(asked.bypassed_sectors < 4 * asked.bypasses);
}

/// Each of two launches reads one line 16 times. Before each further read of the line, it reads as many new
/// lines of the same set as the set has ways, which is four. Only the hint `evict_last` on the line, or `.cs`
/// on the other lines, keeps the line in the L1.
#[test]
fn eviction_hints_keep_a_line_that_is_read_again_if_the_l1_obeys_them() {
    let hits = |hints: &str| {
        let setup = Setup::run_checked().sets(&[hints]);
        setup.passes(&root().join("tests/machine/ptx/hints.toml")).counters.totals().l1.hits
    };
    assert_eq!(["l1.hints=false", "l1.hints=true"].map(hits), [0, 2 * 15]);
}

/// The same launches without an L1D, on an L2 in which all lines of a bank lie in one set of four ways. There,
/// too, only the hints keep the line. The L2 keeps its lines between launches. In the second launch, the first read
/// of that line is therefore a hit too. Two of the lines that the first launch read last are also hits, because
/// lines with `.cs` replace only each other.
#[test]
fn eviction_hints_keep_a_line_that_is_read_again_if_the_l2_obeys_them() {
    let hits = |hints: &str| {
        let sets = ["l1.bypass.kind=all", "num_partitions=1", "l2.sets=32", "l2.ways=4", hints];
        let setup = Setup::run_checked().sets(&sets);
        setup.passes(&root().join("tests/machine/ptx/hints.toml")).counters.totals().l2.hits
    };
    assert_eq!(["l2.hints=false", "l2.hints=true"].map(hits), [0, 2 * 15 + 3]);
}
