//! Tests of the timing of warps with 64 lanes. The results of these warps need no test here, since every
//! other check of this testbench compares them with those of 32-lane warps.

use rtl::kernel::Mode;

use super::bench::Kernel;
use super::issue_log::{cycles_of, issues};

#[test]
fn a_pipe_of_16_lanes_keeps_a_warp_of_64_for_four_cycles() {
    let cycles = |body| cycles_of(&Kernel::bare(body).grid(1, 64).wide());
    // Each instruction is issued for 32 lanes first, and two cycles later for the other 32 lanes.
    assert_eq!(cycles("add.u32 %r1, %r2, %r3; add.u32 %r4, %r5, %r6; add.u32 %r1, %r1, %r4;")[..4], [0, 2, 4, 6]);
    // A 16-lane pipe processes 32 lanes in two cycles. A result is therefore available one cycle later than
    // from a 32-lane pipe.
    assert_eq!(cycles("add.u32 %r1, %r2, %r3; add.u32 %r4, %r1, 1;")[..4], [0, 2, 9, 11]);
}

#[test]
fn a_half_without_active_lanes_is_not_issued() {
    let body = "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 40; @%p1 add.u32 %r2, %r1, 1; @!%p1 add.u32 %r3, %r1, 1;";
    let log = issues(&Kernel::bare(body).grid(1, 64).wide());
    let times = |pc| log.iter().filter(|issue| issue.pc == pc).count();
    assert_eq!([0, 1, 2, 3].map(times), [2, 2, 1, 2]);
}

#[test]
fn each_scheduler_issues_to_a_pipe_of_its_own() {
    let log = issues(&Kernel::bare("add.u32 %r1, %r2, %r3;").grid(1, 256).wide());
    let first: Vec<(u64, u64)> =
        log.iter().filter(|issue| issue.pc == 0).map(|issue| (issue.cycle, issue.warp)).collect();
    assert_eq!(first.len(), 8);
    for (scheduler, pair) in (0..4).map(|of| (of, first.iter().filter(|issue| issue.1 == of).collect::<Vec<_>>())) {
        assert_eq!(pair[1].0 - pair[0].0, 2, "scheduler {scheduler}");
    }
}

#[test]
fn an_instruction_issued_in_halves_counts_once_with_all_its_lanes() {
    let kernel = Kernel::new("add.u32 %r3, %r0, 1; st.global.u32 [%rd2], %r3;").grid(1, 96);
    let [narrow, wide] = [kernel.clone(), kernel.wide()].map(|kernel| *kernel.run(Mode::default()).cores[0].counters());
    assert_eq!(3 * wide.warp_instructions, 2 * narrow.warp_instructions);
    assert_eq!(wide.thread_instructions, narrow.thread_instructions);
}

#[test]
fn a_branch_may_part_the_halves_and_the_lanes_within_them() {
    for at in [31, 32, 33, 63] {
        let body = format!(
            "mov.u32 %r3, 0; setp.lt.u32 %p1, %r0, {at}; @%p1 bra LOW; add.u32 %r3, %r0, 5; bra END;
             LOW: mul.lo.u32 %r3, %r0, 3; END: shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1;
             mov.u32 %r5, %laneid; mov.u32 %r6, %warpid; st.global.v4.u32 [%rd2], {{%r3, %r4, %r5, %r6}};"
        );
        let bench = Kernel::new(&body).grid(2, 128).check();
        assert_eq!([bench.out(16 * 70 + 2), bench.out(16 * 70 + 3)], [6, 2]);
    }
}
