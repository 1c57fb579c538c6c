//! Tests machines at the limits that the configuration rules allow. They are slow, but their results must be
//! correct.

use super::{MIN_QUEUES, Setup, launch, some_kernels};

/// Smallest legal values of those configuration fields that `MIN_QUEUES` does not set.
const MIN_FIELDS: [&str; 37] = [
    "num_sms=1",
    "num_partitions=1",
    "sm.warps=16",
    "sm.threads=512",
    "sm.ctas=1",
    "sm.schedulers=1",
    "sm.scheduler.kind=loose-round-robin",
    "sm.pipes.result_bus=1",
    "sm.operands.banks=1",
    "sm.operands.sp_collectors=1",
    "sm.operands.sfu_collectors=1",
    "sm.operands.memory_collectors=1",
    "sm.shared.banks=1",
    "sm.shared.latency=1",
    "lsu.request_latency=1",
    "lsu.reply_latency=1",
    "l1.sets=1",
    "l1.ways=1",
    "const_cache.sets=1",
    "const_cache.ways=1",
    "const_cache.mshr_entries=1",
    "const_cache.mshr_merges=1",
    "texture_cache.sets=1",
    "texture_cache.ways=1",
    "texture_cache.mshr_entries=1",
    "texture_cache.mshr_merges=1",
    "l2.sets=1",
    "l2.ways=1",
    "l2.lookup_latency=1",
    "l2.flow.miss_queue=1",
    "l2.flow.write_back_queue=1",
    "dram.policy.kind=fcfs",
    "dram.bus_bits=32",
    "dram.bank_groups=1",
    "dram.banks_per_group=2",
    "dram.columns=16",
    "dram.mapping.fields=[\"column\", \"bank\", \"row\"]",
];

#[test]
fn the_least_machine_runs_every_kernel() {
    for kernel in &some_kernels(4) {
        Setup::run_checked().sets(&MIN_QUEUES).sets(&MIN_FIELDS).passes(&launch(kernel, "small"));
    }
}

#[test]
fn warps_of_64_lanes_on_pipes_of_16_run_every_kernel() {
    let wide = ["sm.warp_lanes=64", "sm.simd_width=16", "sm.schedulers=4", "sm.pipes.result_bus=4"];
    for kernel in &some_kernels(4) {
        Setup::run_checked().sets(&wide).passes(&launch(kernel, "small"));
    }
}

#[test]
fn the_largest_machine_runs_every_kernel() {
    let most = [
        "num_sms=128",
        "num_partitions=32",
        "channels_per_partition=2",
        "addr_bits=49",
        "sm.warps=64",
        "sm.threads=2048",
        "sm.ctas=32",
        "sm.schedulers=4",
        "sm.scheduler.kind=two-level",
        "sm.pipes.result_bus=4",
        "lsu.access_queue=64",
        "l1.sets=4096",
        "l1.ways=2",
        "l1.mshr_entries=64",
        "l1.mshr_merges=64",
        "l1.miss_queue=64",
        "const_cache.mshr_entries=64",
        "const_cache.mshr_merges=64",
        "texture_cache.sets=64",
        "texture_cache.ways=256",
        "texture_cache.mshr_entries=64",
        "texture_cache.mshr_merges=64",
        "xbar.buffer_flits=64",
        "l2.mshr_entries=64",
        "l2.mshr_merges=64",
        "l2.flow.miss_queue=64",
        "l2.flow.write_back_queue=64",
        "l2.reply_queue=64",
        "l2.data_ports=2",
        "dram.queue_entries=64",
        "dram.reply_entries=64",
        "dram.bank_groups=8",
        "dram.banks_per_group=8",
        "dram.rows=65536",
        "dram.columns=256",
    ];
    for kernel in &some_kernels(4) {
        Setup::run_checked().sets(&most).passes(&launch(kernel, "small"));
    }
}

#[test]
fn refresh_at_its_fastest_slows_a_run_but_breaks_nothing() {
    let refreshed = ["dram.refresh=all-bank", "dram.timing.refi=200"];
    let plain = Setup::run_checked().passes(&launch("vadd", "small")).counters;
    let slowed = Setup::run_checked().sets(&refreshed).passes(&launch("vadd", "small")).counters;
    assert!(slowed.dram.iter().all(|dram| dram.refreshes > 0));
    assert!(slowed.cycles > plain.cycles, "{} and {} cycles", slowed.cycles, plain.cycles);
}

#[test]
fn clocks_of_any_simple_ratio_run() {
    for clocks in [[350_000, 1_400_000, 350_000, 1_848_000], [1_400_000, 350_000, 1_400_000, 462_000]] {
        let [core, xbar, l2, dram] = clocks;
        let sets = [("core", core), ("xbar", xbar), ("l2", l2), ("dram", dram)];
        let sets = sets.map(|(clock, khz)| format!("clock.{clock}_khz={khz}"));
        Setup::run_checked().sets(&sets.each_ref().map(String::as_str)).passes(&launch("syrk", "small"));
    }
}

/// With 72 SMs, the list of the SMs that share a line has more than 64 entries. Golden models check these
/// lists.
#[test]
fn lists_of_sharers_hold_more_sms_than_a_word_of_the_host_has_bits() {
    let many = ["num_sms=72", "num_partitions=8"];
    let launch = launch("pathfinder", "launch.toml");
    let tracked = Setup::run_checked().machine("hybrid").designs(&["tracker"]).sets(&many).passes(&launch).counters;
    let supplied: u64 = tracked.trackers.iter().map(|bank| bank.supplied).sum();
    assert!(supplied > 200, "{supplied}");
    let sets = ["l2.sets=8", "l2.ways=2", "l2.flow.coherence=sharers"];
    let recalled = Setup::run_checked().designs(&["transient"]).sets(&many).sets(&sets).passes(&launch).counters;
    assert!(recalled.l1[64..].iter().all(|l1| l1.recalls > 0));
}
