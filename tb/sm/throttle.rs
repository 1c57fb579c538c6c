//! Tests of the static limit on the number of warps that may issue.

use golden::throttle::oldest;
use rtl::kernel::Mode;
use rtl::sm::StallReason;
use rtl::sm::scheduler::SchedulerConfig;
use rtl::sm::scheduler::caws::CawsConfig;
use rtl::sm::scheduler::greedy_then_oldest::GreedyThenOldest;
use rtl::sm::scheduler::greedy_then_youngest::GreedyThenYoungest;
use rtl::sm::scheduler::loose_round_robin::LooseRoundRobin;

use super::bench::{Bench, Kernel};
use super::issue_log::{Issue, last_issues};

/// Creates a kernel with `warps` warps on two schedulers. Each scheduler may issue from at most `limit`
/// warps.
fn limited_kernel(body: &str, warps: u32, limit: u32) -> Kernel {
    let mut kernel = Kernel::new(body).grid(1, 32 * warps);
    kernel.config.warp_limit = limit;
    kernel
}

/// Body of a kernel that computes, loads, synchronizes at a barrier, and stores.
const BODY: &str = "add.u64 %rd3, %rd1, %rd2; ld.global.u32 %r3, [%rd1]; add.u32 %r3, %r3, %r0;
                    bar.sync 0; mul.lo.u32 %r4, %r3, %r3; st.global.u32 [%rd2], %r4;
                    bar.sync 1; add.u32 %r5, %r4, %r3; st.global.u32 [%rd2+4], %r5;";

/// Checks that core 0 only issues from warps that the limit admitted, given the core's state in the previous
/// cycle. All warps are launched at once, in the order of their slots.
fn assert_oldest(kernel: &Kernel, limit: usize) {
    let (mut bench, mut sim) = kernel.start(Mode::default());
    let able = |bench: &Bench| -> Vec<u64> {
        let waiting = bench.cores[0].waiting();
        waiting.iter().filter(|w| w.reason != StallReason::Barrier).map(|w| u64::from(w.warp)).collect()
    };
    let mut before = able(&bench);
    while let Some(cycle) = sim.step(&mut bench) {
        for Issue { scheduler, warp, .. } in last_issues(&bench.cores[0], cycle) {
            let launched: Vec<u64> = (0..48).filter(|warp| warp % 2 == u64::from(scheduler)).collect();
            let may = oldest(&launched, |warp| before.contains(&warp), limit);
            assert!(may.contains(&warp), "cycle {cycle}: warp {warp} issues, expected one of {may:?}");
        }
        before = able(&bench);
    }
}

#[test]
fn only_the_oldest_warps_that_can_go_on_issue() {
    for limit in 1..=3 {
        let schedulers: [SchedulerConfig; 4] = [
            GreedyThenOldest {}.into(),
            GreedyThenYoungest {}.into(),
            LooseRoundRobin {}.into(),
            CawsConfig::default().into(),
        ];
        for scheduler in schedulers {
            let mut kernel = limited_kernel(BODY, 16, limit);
            kernel.config.scheduler = scheduler;
            assert_oldest(&kernel, limit as usize);
        }
    }
}

#[test]
fn a_barrier_of_more_warps_than_may_issue_opens() {
    for limit in [1, 2, 7] {
        let bench = limited_kernel(BODY, 32, limit).check();
        assert!(bench.cores[0].stall_cycles(StallReason::Throttled) > 0, "limit {limit}");
    }
}

#[test]
fn a_limit_of_all_warps_changes_nothing_and_none_is_charged_to_it() {
    let free = limited_kernel(BODY, 32, 0).check();
    let bound = limited_kernel(BODY, 32, 24).check();
    assert_eq!(bound.cycles, free.cycles);
    assert_eq!(bound.cores[0].counters(), free.cores[0].counters());
    assert_eq!(bound.cores[0].stall_cycles(StallReason::Throttled), 0);
}

#[test]
fn one_warp_at_a_time_is_slower_where_others_would_hide_its_latency() {
    let body = "div.u32 %r3, %r0, 3; add.u32 %r3, %r3, 1; st.global.u32 [%rd2], %r3;";
    let (alone, together) = (limited_kernel(body, 16, 1).check(), limited_kernel(body, 16, 0).check());
    assert!(alone.cycles > 3 * together.cycles, "{} and {} cycles", alone.cycles, together.cycles);
}
