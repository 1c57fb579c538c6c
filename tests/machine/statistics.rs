//! Checks that counters agree with the cycles of a run, with its time series, and with the work of the
//! kernel. The tests in `tests/laws` check the relations between counters.

use rtl::kernel::Mode;
use rtl::sm::StallReason;
use warpsieve::run::{Interval, RunOptions};

use super::{Setup, launch};

const SCHEDULERS: u64 = 2;

/// In every clock cycle of a run, each scheduler must count exactly one issue or stall reason. This must hold
/// however the run ends, and in every evaluation mode of the simulator.
#[test]
fn every_scheduler_spends_the_cycles_of_the_run_however_it_ends() {
    let limits = [None, Some(0), Some(1), Some(777), Some(1500)];
    for mode in [Mode::default(), Mode::FAST, Mode { evaluate_all: true, ..Mode::default() }] {
        for max_cycles in limits {
            let setup = Setup { options: RunOptions { max_cycles, mode, ..RunOptions::default() }, ..Setup::default() };
            let counters = setup.run(&launch("reduction", "small")).counters;
            assert!(max_cycles.is_none_or(|limit| counters.cycles == limit), "{max_cycles:?}: {}", counters.cycles);
            for (core, reasons) in counters.cores.iter().zip(&counters.stalls) {
                assert_eq!(reasons.sum(), SCHEDULERS * counters.cycles, "{max_cycles:?}");
                assert_eq!(core.warp_instructions, reasons.of(StallReason::Issued), "{max_cycles:?}");
            }
        }
    }
}

#[test]
fn the_course_of_a_run_adds_up_to_its_counters() {
    let setup = Setup { options: RunOptions { history: true, ..RunOptions::default() }, ..Setup::default() };
    for kernel in ["bfs", "gesummv", "histo"] {
        let report = setup.passes(&launch(kernel, "small"));
        let sum = |count: fn(&Interval) -> u64| report.history.iter().map(count).sum::<u64>();
        let counters = &report.counters;
        assert!(sum(|i| i.cycles) >= counters.cycles, "{kernel}: the last stores reach memory after the end");
        assert_eq!(sum(|i| i.thread_instructions), counters.thread_instructions(), "{kernel}");
        let [accesses, hits] = [sum(|i| i.l1_accesses), sum(|i| i.l1_hits)];
        assert_eq!(accesses, counters.totals().l1.accesses, "{kernel}");
        assert_eq!(hits, counters.totals().l1.hits, "{kernel}");
        let [accesses, hits] = [sum(|i| i.l2_accesses), sum(|i| i.l2_hits)];
        assert_eq!(accesses, counters.totals().l2.accesses, "{kernel}");
        assert_eq!(hits, counters.totals().l2.hits, "{kernel}");
        let busy = counters.totals().dram.bus_busy_cycles;
        assert_eq!(sum(|i| i.bus_busy_cycles), busy, "{kernel}");
        let most = report.history.iter().map(|i| i.running_warps.div_ceil(i.looks)).max();
        assert!((1..=15 * 48).contains(&most.unwrap()), "{kernel}: {most:?} warps");
    }
}

#[test]
fn vadd_counts_what_its_source_says() {
    let counters = Setup::default().passes(&launch("vadd", "small")).counters;
    // The 5000 elements of an array occupy 157 lines of 32 elements. Two arrays are loaded (2 * 157 = 314
    // line accesses), and one is stored.
    let sum = |count: fn(&rtl::l1::stats::L1Stats) -> u64| counters.l1.iter().map(count).sum::<u64>();
    assert_eq!((sum(|s| s.accesses), sum(|s| s.store_hits + s.store_misses)), (314, 157));
    // Each of the 160 warps executes 8 instructions: 7 up to the branch, and a return. The 157 warps that
    // have elements execute 14 more instructions in between.
    assert_eq!(counters.warp_instructions(), 160 * 8 + 157 * 14);
}

/// The ten CTAs of the first grid run on the SMs 0 to 9. The single CTA of the second grid must run on SM 10.
#[test]
fn a_grid_begins_behind_the_sm_that_was_served_last() {
    let counters = Setup::default().passes(&launch("reduction", "small")).counters;
    let worked = counters.cores.iter().map(|core| core.per_pipe.iter().sum::<u64>() > 0);
    assert!(worked.eq((0..15).map(|sm| sm <= 10)));
}
