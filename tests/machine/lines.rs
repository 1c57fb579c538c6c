//! Machines whose L2 has shorter lines than their L1s, whose lines are short, whose partitions take
//! several lines in turn, and whose bypassing loads read sectors.

use tb::run::Counters;

use super::{Setup, launch};

fn flits(counters: &Counters) -> u64 {
    counters.replies.iter().map(|output| output.flits).sum()
}

/// Reads that the L2 looked up.
fn l2_reads(counters: &Counters) -> u64 {
    counters.l2.iter().map(|bank| bank.accesses).sum()
}

fn l1_misses(counters: &Counters) -> u64 {
    counters.l1.iter().map(|l1| l1.misses).sum()
}

#[test]
fn kepler_gives_every_result_with_each_size_of_its_l1() {
    for kernel in ["backprop", "bfs", "cutcp", "histo", "kmeans", "mrigridding", "reduction", "syrk"] {
        Setup::checked().machine("kepler").passes(&launch(kernel, "small.toml"));
    }
    for design in ["kepler-l1-32k", "kepler-l1-48k"] {
        Setup::checked().machine("kepler").designs(&[design]).passes(&launch("syrk", "small.toml"));
    }
}

#[test]
fn every_pair_of_line_sizes_gives_every_result() {
    for (l1, l2) in [(128, 128), (128, 64), (128, 32), (64, 64), (64, 32)] {
        let sizes = [format!("l1.line_bytes={l1}"), format!("l2.line_bytes={l2}"), "dram.bus_bits=32".to_owned()];
        let sizes = sizes.each_ref().map(String::as_str);
        for kernel in ["bfs", "histo", "syrk"] {
            let sets = [&sizes[..], &["l1.bypass_sectors=32", "interleave_bytes=256"]].concat();
            Setup::checked().sets(&sets).passes(&launch(kernel, "small.toml"));
            let flow = [&sets[..], &["l2.split_requests=1", "l2.replacement_flow=transient"]].concat();
            Setup::checked().sets(&flow).passes(&launch(kernel, "small.toml"));
        }
    }
}

/// anssari2012: a line of 128 bytes is four requests of 32, each of which hits or misses by itself.
#[test]
fn an_l1_miss_is_as_many_l2_reads_as_its_line_has_l2_lines() {
    let counters = |l2: &str| {
        let sets = [l2, "dram.bus_bits=32"];
        Setup::checked().sets(&sets).passes(&launch("vadd", "small.toml")).counters
    };
    for (set, parts) in [("l2.line_bytes=128", 1), ("l2.line_bytes=64", 2), ("l2.line_bytes=32", 4)] {
        let counters = counters(set);
        assert_eq!(l2_reads(&counters), parts * l1_misses(&counters), "{set}");
    }
}

#[test]
fn loads_that_bypass_the_l1_bring_the_sectors_that_they_touch_and_no_more() {
    let counters = |sectors: &str| {
        let setup = Setup::checked().designs(&["bypass-all"]).sets(&[sectors]);
        setup.passes(&launch("kmeans", "small.toml")).counters
    };
    let (lines, sectors) = (counters("l1.bypass_sectors=0"), counters("l1.bypass_sectors=32"));
    let bypasses = |counters: &Counters| counters.l1.iter().map(|l1| l1.bypasses).sum::<u64>();
    assert_eq!(bypasses(&lines), bypasses(&sectors));
    // Rows of 34 words a lane: nearly every request is one sector, two flits for five.
    assert!(5 * flits(&sectors) < 3 * flits(&lines), "{} and {} flits", flits(&sectors), flits(&lines));
}
