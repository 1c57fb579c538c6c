//! Tests machines whose SMs and memory partitions are connected by routers instead of crossbars: a mesh, a
//! ring or a two-level network.

use std::num::NonZeroUsize;

use rtl::kernel::Mode;
use rtl::noc::xbar::OutputStats;
use warpsieve::run::{Counters, Threads};

use super::{Setup, launch};

const MESH: &[&str] = &["noc.kind=mesh"];
const RING: &[&str] = &["noc.kind=ring"];
const TWO_LEVEL: &[&str] = &["noc.kind=two-level"];

fn sum(outputs: &[OutputStats], of: fn(&OutputStats) -> u64) -> u64 {
    outputs.iter().map(of).sum()
}

#[test]
fn networks_of_routers_give_every_result() {
    for kernel in ["bfs", "histo", "sgemm", "syrk"] {
        Setup::run_checked().sets(MESH).passes(&launch(kernel, "small"));
        Setup::run_checked().sets(RING).passes(&launch(kernel, "small"));
        Setup::run_checked().designs(&["two-level-noc"]).passes(&launch(kernel, "small"));
    }
    for sets in [
        ["noc.kind=two-level", "noc.clusters=15", "noc.links=6"],
        ["noc.kind=two-level", "noc.clusters=1", "noc.hop_latency=3"],
        ["noc.kind=mesh", "noc.virtual_channels=1", "noc.hop_latency=3"],
        ["noc.kind=mesh", "noc.virtual_channels=4", "xbar.buffer_flits=5"],
        ["noc.kind=ring", "noc.virtual_channels=4", "noc.hop_latency=2"],
    ] {
        Setup::run_checked().sets(&sets).passes(&launch("syrk", "small"));
    }
}

#[test]
fn recalls_and_forwards_have_routers_of_their_own() {
    for kind in [MESH, RING, TWO_LEVEL] {
        let small = ["l2.sets=8", "l2.ways=2", "l2.flow.coherence=sharers"];
        let recalled = Setup::run_checked().designs(&["transient"]).sets(&small).sets(kind);
        let recalled = recalled.passes(&launch("syrk", "padded"));
        assert!(sum(&recalled.counters.recalls, |output| output.hop_bytes) > 0);
        let tracked = Setup::run_checked().machine("hybrid").designs(&["tracker"]).sets(kind);
        let tracked = tracked.passes(&launch("bfs", "small"));
        assert!(sum(&tracked.counters.forwards, |output| output.hop_bytes) > 0);
    }
}

#[test]
fn a_gpu_of_eighty_sms_has_a_mesh_too() {
    let sets = ["noc.kind=mesh", "num_partitions=32", "partitions_per_channel=1"];
    Setup::run_checked().machine("volta").sets(&sets).passes(&launch("vadd", "small"));
}

/// The topology changes the latency of packets, but not which packets are sent.
#[test]
fn the_way_through_the_network_costs_cycles_and_is_counted() {
    let run = |sets: &[&str]| Setup::run_checked().sets(sets).passes(&launch("vadd", "small")).counters;
    let [crossbar, mesh, ring, two_level] = [&[][..], MESH, RING, TWO_LEVEL].map(run);
    let sent = |counters: &Counters| [&counters.requests, &counters.replies].map(|outputs| sum(outputs, |o| o.bytes));
    let passed_on =
        |counters: &Counters| [&counters.requests, &counters.replies].map(|outputs| sum(outputs, |o| o.hop_bytes));
    assert_eq!([&mesh, &ring, &two_level].map(sent), [sent(&crossbar); 3]);
    // In the two-level network, each packet crosses one link, between its cluster and the center.
    assert_eq!(passed_on(&two_level), sent(&crossbar));
    assert_eq!(passed_on(&crossbar), [0, 0]);
    for (of_mesh, of_ring) in passed_on(&mesh).into_iter().zip(passed_on(&ring)) {
        assert!(0 < of_mesh && of_mesh < of_ring, "{of_mesh} and {of_ring}");
    }
    assert!(crossbar.cycles < mesh.cycles && mesh.cycles < ring.cycles);
}

/// Routers are ordinary hardware blocks. Neither the order of their evaluation nor the number of threads that
/// simulate them may change results.
#[test]
fn a_mesh_is_the_same_in_every_mode_and_on_threads() {
    let file = launch("syrk", "small");
    let plain = Setup::default().sets(MESH).passes(&file).counters;
    let shuffled = Mode { shuffle: Some(7), lint: true, ..Mode::default() };
    assert_eq!(Setup::default().sets(MESH).mode(shuffled).passes(&file).counters, plain);
    let mut threaded = Setup::default().sets(MESH);
    threaded.options.threads = Threads::Of(NonZeroUsize::new(2).unwrap());
    assert_eq!(threaded.passes(&file).counters, plain);
}
