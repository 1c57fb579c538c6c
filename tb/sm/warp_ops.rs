//! Exchanges between lanes, sums with carry, barriers with operands.

use rtl::kernel::Mode;
use rtl::sm::StallReason;

use super::bench::Kernel;

#[test]
fn lanes_exchange_words_votes_and_matches() {
    Kernel::new(
        "shfl.sync.down.b32 %r3|%p1, %r0, 5, 31, -1; shfl.sync.bfly.b32 %r4, %r0, 9, 0x1f, -1;
         shfl.sync.idx.b32 %r5, %r0, 3, 0x181f, -1; shfl.sync.up.b32 %r6|%p2, %r0, 2, 0, -1;
         and.b32 %r7, %r0, 3; setp.eq.u32 %p3, %r7, 1; vote.sync.ballot.b32 %r8, %p3, -1; vote.sync.any.pred %p4, %p3, -1;
         selp.u32 %r9, 1, 0, %p1; selp.u32 %r10, 1, 0, %p2; selp.u32 %r11, 1, 0, %p4; activemask.b32 %r12;
         st.global.v4.u32 [%rd2], {%r3, %r4, %r5, %r6}; st.global.v4.u32 [%rd2+16], {%r8, %r9, %r10, %r11};
         st.global.u32 [%rd2+32], %r12;",
    )
    .grid(2, 80)
    .check();
}

#[test]
fn only_the_lanes_in_which_it_acts_take_part() {
    let kernel = Kernel::new(
        "setp.lt.u32 %p0, %r0, 10; mov.u32 %r3, 0; @%p0 bra LOW;
         activemask.b32 %r3; vote.all.pred %p1, 1; bra END;
         LOW: activemask.b32 %r3; vote.ballot.b32 %r4, 1;
         END: st.global.u32 [%rd2], %r3; @%p0 st.global.u32 [%rd2+4], %r4;",
    );
    let bench = kernel.check();
    assert_eq!([bench.out(0), bench.out(1), bench.out(16 * 31)], [0x3ff, 0x3ff, !0x3ff]);
}

#[test]
fn carries_go_from_word_to_word() {
    Kernel::new(
        "mul.lo.u32 %r3, %r0, 0x10000001; not.b32 %r4, %r3; add.u32 %r4, %r4, 2; add.cc.u32 %r5, %r3, %r4; addc.cc.u32 %r6, %r0, -1;
         addc.u32 %r7, 0, 0; sub.cc.u32 %r8, %r0, 5; subc.cc.u32 %r9, 0, 0; subc.u32 %r10, %r3, %r0;
         st.global.v4.u32 [%rd2], {%r5, %r6, %r7, %r8}; st.global.v2.u32 [%rd2+16], {%r9, %r10};",
    )
    .grid(1, 64)
    .check();
}

#[test]
fn a_reduction_over_a_barrier_reaches_every_thread() {
    let bench = Kernel::new(
        "and.b32 %r3, %r0, 7; setp.eq.u32 %p1, %r3, 2; setp.lt.u32 %p2, %r0, 10000;
         barrier.sync 1; barrier.red.popc.u32 %r4, 0, %p1; barrier.red.and.pred %p3, 0, %p2; barrier.red.or.pred %p4, 3, %p1;
         barrier.red.and.pred %p5, 0, !%p1; selp.u32 %r5, 1, 0, %p3; selp.u32 %r6, 1, 0, %p4; selp.u32 %r7, 1, 0, %p5;
         st.global.v4.u32 [%rd2], {%r4, %r5, %r6, %r7};",
    )
    .grid(3, 112)
    .check();
    assert_eq!([bench.out(0), bench.out(1), bench.out(2), bench.out(3)], [14, 1, 1, 0]);
}

#[test]
fn producers_arrive_and_go_on_while_consumers_wait() {
    let bench = Kernel::new(
        ".shared .align 4 .b8 s[512]; mov.u32 %r3, %tid.x; and.b32 %r4, %r3, 63; shl.b32 %r4, %r4, 2; mov.u32 %r5, s;
         add.u32 %r4, %r4, %r5; setp.ge.u32 %p0, %r3, 64; @%p0 bra CONSUMER;
         mul.lo.u32 %r6, %r3, 3; st.shared.u32 [%r4], %r6; barrier.arrive 1, 128; bra END;
         CONSUMER: barrier.sync 1, 128; ld.shared.u32 %r7, [%r4]; st.global.u32 [%rd2], %r7;
         END: ret;",
    )
    .grid(4, 128)
    .check();
    assert_eq!(bench.out(70 * 16), 18);
}

#[test]
fn a_cta_does_not_meet_those_who_arrived_in_its_slot_before() {
    // The first CTA of each core leaves an arrival behind; in the second, one half of the CTA produces slowly.
    let mut kernel = Kernel::new(
        ".shared .align 4 .u32 s; mov.u32 %r3, %tid.x; setp.lt.u32 %p1, %r3, 64; @%p1 bra CONSUMER;
         div.u32 %r4, %r1, 1; div.u32 %r4, %r4, 1; add.u32 %r4, %r4, 7; st.shared.u32 [s], %r4; barrier.arrive 2, 128;
         bra END;
         CONSUMER: setp.lt.u32 %p2, %r1, 2; @%p2 bra END;
         barrier.sync 2, 128; ld.shared.u32 %r5, [s]; st.global.u32 [%rd2], %r5;
         END: ret;",
    )
    .grid(4, 128);
    kernel.config.ctas = 1;
    assert_eq!(kernel.check().out(2 * 128 * 16), 9);
}

#[test]
fn a_barrier_that_expects_more_threads_than_come_shows_who_waits() {
    let bench = Kernel::new("barrier.sync 2, 128;").grid(1, 64).run(Mode::default());
    assert!(!bench.dispatcher.is_done());
    let waiting = bench.cores[0].waiting();
    assert_eq!(waiting.len(), 2);
    assert!(waiting.iter().all(|warp| warp.reason == StallReason::Barrier));
}
