//! Counters of different blocks agree with each other and with what the kernel does.

use warpsieve::run::{Interval, RunOptions};

use super::{Setup, kernels, launch};

const SCHEDULERS: u64 = 2;

#[test]
fn every_scheduler_cycle_has_exactly_one_reason() {
    for kernel in &kernels() {
        let counters = Setup::default().passes(&launch(kernel, "small.toml")).counters;
        let sums: Vec<u64> = counters.stalls.iter().map(|reasons| reasons.iter().sum()).collect();
        // All cores are charged up to the same edge, the last one of the run, which lies behind the end
        // of the last launch by the time that write-backs take to reach memory.
        assert!(sums.iter().all(|&sum| sum == sums[0]), "{kernel}: {sums:?}");
        assert!(sums[0] >= SCHEDULERS * counters.cycles, "{kernel}: {} cycles, {sums:?}", counters.cycles);
        assert!(sums[0] < SCHEDULERS * (counters.cycles + 2000), "{kernel}: {} cycles, {sums:?}", counters.cycles);
        for (core, reasons) in counters.cores.iter().zip(&counters.stalls) {
            // The first reason is an issued instruction.
            assert_eq!(core.warp_instructions, reasons[0], "{kernel}");
            assert_eq!(core.warp_instructions, core.per_pipe.iter().sum::<u64>(), "{kernel}");
        }
    }
}

#[test]
fn what_leaves_one_block_arrives_at_the_next() {
    for kernel in &kernels() {
        let counters = Setup::default().passes(&launch(kernel, "small.toml")).counters;
        let l1 = |count: fn(&rtl::l1::stats::L1Stats) -> u64| counters.l1.iter().map(count).sum::<u64>();
        let read_only = counters.const_cache.iter().chain(&counters.texture_cache);
        let read_only_misses = read_only.map(|cache| cache.misses).sum::<u64>();
        let l2 = |count: fn(&rtl::l2::L2Stats) -> u64| counters.l2.iter().map(count).sum::<u64>();
        let dram = |count: fn(&rtl::dram::counts::Counts) -> u64| counters.dram.iter().map(count).sum::<u64>();
        let packets = |outputs: &[rtl::noc::xbar::OutputStats]| outputs.iter().map(|o| o.packets).sum::<u64>();

        assert_eq!(l1(|s| s.accesses), l1(|s| s.hits + s.hit_pending + s.misses + s.bypasses), "{kernel}");
        let (reads, stores) = (l1(|s| s.misses + s.bypasses), l1(|s| s.store_hits + s.store_misses));
        let (reads, atomics) = (reads + read_only_misses, l1(|s| s.atomics));
        assert_eq!(packets(&counters.requests), reads + stores + atomics, "{kernel}");
        assert_eq!(packets(&counters.replies), reads + stores + atomics, "{kernel}");
        assert_eq!(l2(rtl::l2::L2Stats::atomics), atomics, "{kernel}");
        assert_eq!(l2(|s| s.accesses), reads, "{kernel}");
        assert_eq!(l2(|s| s.accesses), l2(|s| s.hits + s.hit_pending + s.misses), "{kernel}");
        assert_eq!(l2(|s| s.write_hits + s.write_pending + s.write_misses), stores, "{kernel}");
        // A line is two bursts.
        assert_eq!(dram(|s| s.reads), 2 * l2(|s| s.fetches), "{kernel}");
        assert!(dram(|s| s.writes) <= 2 * l2(|s| s.writebacks), "{kernel}");
    }
}

#[test]
fn the_course_of_a_run_adds_up_to_its_counters() {
    let setup = Setup { options: RunOptions { history: true, ..RunOptions::default() }, ..Setup::default() };
    for kernel in ["bfs", "gesummv", "histo"] {
        let report = setup.passes(&launch(kernel, "small.toml"));
        let sum = |count: fn(&Interval) -> u64| report.history.iter().map(count).sum::<u64>();
        let counters = &report.counters;
        assert!(sum(|i| i.cycles) >= counters.cycles, "{kernel}: the last stores reach memory after the end");
        assert_eq!(sum(|i| i.thread_instructions), counters.thread_instructions(), "{kernel}");
        let [accesses, hits] = [sum(|i| i.l1_accesses), sum(|i| i.l1_hits)];
        assert_eq!(accesses, counters.l1.iter().map(|l1| l1.accesses).sum::<u64>(), "{kernel}");
        assert_eq!(hits, counters.l1.iter().map(|l1| l1.hits).sum::<u64>(), "{kernel}");
        let [accesses, hits] = [sum(|i| i.l2_accesses), sum(|i| i.l2_hits)];
        assert_eq!(accesses, counters.l2.iter().map(|l2| l2.accesses).sum::<u64>(), "{kernel}");
        assert_eq!(hits, counters.l2.iter().map(|l2| l2.hits).sum::<u64>(), "{kernel}");
        let busy = counters.dram.iter().map(|channel| channel.bus_busy_cycles).sum::<u64>();
        assert_eq!(sum(|i| i.bus_busy_cycles), busy, "{kernel}");
        let most = report.history.iter().map(|i| i.running_warps.div_ceil(i.looks)).max();
        assert!((1..=15 * 48).contains(&most.unwrap()), "{kernel}: {most:?} warps");
    }
}

#[test]
fn vadd_counts_what_its_source_says() {
    let counters = Setup::default().passes(&launch("vadd", "small.toml")).counters;
    // 5000 elements are 157 lines of 32, each loaded from two arrays and stored to one.
    let sum = |count: fn(&rtl::l1::stats::L1Stats) -> u64| counters.l1.iter().map(count).sum::<u64>();
    assert_eq!((sum(|s| s.accesses), sum(|s| s.store_hits + s.store_misses)), (314, 157));
    // 160 warps run 7 instructions up to the branch and a return; 157 of them 14 in between.
    assert_eq!(counters.warp_instructions(), 160 * 8 + 157 * 14);
}

/// Ten CTAs, then one.
#[test]
fn a_grid_begins_behind_the_sm_that_was_served_last() {
    let counters = Setup::default().passes(&launch("reduction", "small.toml")).counters;
    let worked = counters.cores.iter().map(|core| core.per_pipe.iter().sum::<u64>() > 0);
    assert!(worked.eq((0..15).map(|sm| sm <= 10)));
}
