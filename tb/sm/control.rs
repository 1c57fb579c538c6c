//! Tests of control flow: the result of each lane must not depend on the paths that other lanes take.

use super::bench::Kernel;

#[test]
fn nested_branches_run_every_lane_through_its_own_path() {
    let kernel = Kernel::new(
        "and.b32 %r3, %r0, 1; setp.eq.u32 %p0, %r3, 0; mov.u32 %r4, 0;
         @%p0 bra EVEN;
         and.b32 %r5, %r0, 2; setp.eq.u32 %p1, %r5, 0;
         @%p1 bra ODD_LOW;
         add.u32 %r4, %r4, 7; bra ODD_END;
         ODD_LOW: add.u32 %r4, %r4, 11;
         ODD_END: add.u32 %r4, %r4, 100; bra END;
         EVEN: add.u32 %r4, %r4, 1000;
         END: add.u32 %r4, %r4, 1; st.global.u32 [%rd2], %r4;",
    );
    let bench = kernel.grid(3, 96).check();
    assert_eq!([bench.out(0), bench.out(16), bench.out(48)], [1001, 112, 108]);
    assert!(bench.cores[0].counters().divergent_branches > 0);
}

#[test]
fn loops_run_as_often_as_each_lane_asks() {
    let kernel = Kernel::new(
        "mov.u32 %r3, 0; mov.u32 %r4, 0; and.b32 %r5, %r0, 15;
         LOOP: add.u32 %r4, %r4, %r3; add.u32 %r3, %r3, 1; setp.le.u32 %p0, %r3, %r5;
         @%p0 bra LOOP;
         st.global.u32 [%rd2], %r4;",
    );
    let bench = kernel.grid(2, 64).check();
    assert_eq!(bench.out(16 * 13), 13 * 14 / 2);
}

#[test]
fn lanes_that_exit_early_leave_the_others_alone() {
    let kernel = Kernel::new(
        "setp.lt.u32 %p0, %r0, 5; @%p0 exit;
         and.b32 %r3, %r0, 3; setp.eq.u32 %p1, %r3, 1; @%p1 bra GONE;
         setp.gt.u32 %p2, %r0, 40; @%p2 bra LATE;
         st.global.u32 [%rd2], %r0; bra END;
         GONE: st.global.u32 [%rd2+4], %r0; exit;
         LATE: st.global.u32 [%rd2+8], %r0;
         END: st.global.u32 [%rd2+12], 9;",
    );
    let bench = kernel.grid(1, 64).check();
    assert_eq!([bench.out(4 * 16), bench.out(5 * 16 + 1), bench.out(6 * 16 + 3)], [0, 5, 9]);
}

#[test]
fn guards_switch_single_instructions_off_lane_by_lane() {
    let kernel = Kernel::new(
        "and.b32 %r3, %r0, 1; setp.eq.u32 %p0|%p1, %r3, 0; mov.u32 %r4, 5;
         @%p0 add.u32 %r4, %r4, 1; @!%p0 mul.lo.u32 %r4, %r4, %r0; @%p1 st.global.u32 [%rd2], %r4;
         @%p0 st.global.u32 [%rd2+4], %r4;",
    );
    let bench = kernel.grid(1, 40).check();
    assert_eq!([bench.out(16), bench.out(2 * 16), bench.out(2 * 16 + 1)], [5, 0, 6]);
}

#[test]
fn a_branch_taken_by_no_lane_changes_nothing() {
    let kernel = Kernel::new(
        "setp.gt.u32 %p0, %r0, 1000; mov.u32 %r3, 1; @%p0 bra NEVER;
         add.u32 %r3, %r3, 1;
         NEVER: st.global.u32 [%rd2], %r3;",
    );
    let bench = kernel.check();
    assert_eq!(bench.out(16), 2);
    assert_eq!(bench.cores[0].counters().divergent_branches, 0);
}

#[test]
fn a_partial_last_warp_runs_its_threads_only() {
    let bench = Kernel::new("st.global.u32 [%rd2], 7;").grid(1, 37).check();
    assert_eq!([bench.out(36 * 16), bench.out(37 * 16)], [7, 0]);
}

#[test]
fn every_cta_of_a_grid_runs_once_in_its_own_place() {
    let mut kernel = Kernel::bare(
        "ld.param.u64 %rd0, [out]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ctaid.y; mov.u32 %r2, %ctaid.z;
         mov.u32 %r3, %nctaid.x; mov.u32 %r4, %nctaid.y; mad.lo.u32 %r5, %r2, %r4, %r1; mad.lo.u32 %r5, %r5, %r3, %r0;
         mov.u32 %r6, %tid.y; mov.u32 %r7, %ntid.x; mov.u32 %r8, %tid.x; mad.lo.u32 %r6, %r6, %r7, %r8;
         mad.lo.u32 %r9, %r5, 12, %r6; mul.wide.u32 %rd3, %r9, 4; add.u64 %rd3, %rd0, %rd3;
         ld.global.u32 %r10, [%rd3]; add.u32 %r10, %r10, %r9; add.u32 %r10, %r10, 1; st.global.u32 [%rd3], %r10;",
    );
    kernel.grid = [5, 3, 4];
    kernel.block = [4, 3, 1];
    let bench = kernel.check();
    assert!((0..720).all(|index| bench.out(index) == index as u32 + 1));
    assert!(bench.cores.iter().all(|core| core.counters().warp_instructions > 0));
}

#[test]
fn ctas_go_to_the_sms_in_turn_and_to_whoever_has_room() {
    let kernel = Kernel::new("mov.u32 %r3, %smid; st.global.u32 [%rd2], %r3;");
    let bench = kernel.clone().grid(6, 32).run(rtl::kernel::Mode::default());
    let sms: Vec<u32> = (0..6).map(|cta| bench.out(cta * 32 * 16)).collect();
    assert_eq!(sms, [0, 1, 0, 1, 0, 1]);
    let crowded = kernel.grid(20, 48).run(rtl::kernel::Mode::default());
    assert_eq!(crowded.dispatcher.progress(), (20, 20));
}

#[test]
fn a_constant_predicate_holds_in_every_lane() {
    let kernel = Kernel::new(
        "mov.pred %p0, 1; mov.pred %p1, 0; mov.u32 %r4, 5;
         @%p0 add.u32 %r4, %r4, 1; @%p1 add.u32 %r4, %r4, 100; st.global.u32 [%rd2], %r4;",
    );
    let bench = kernel.grid(1, 40).check();
    assert_eq!([bench.out(0), bench.out(16 * 33)], [6, 6]);
}
