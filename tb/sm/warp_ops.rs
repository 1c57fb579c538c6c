//! Tests of shuffles, votes and other exchanges between lanes, sums with carry, and barriers with operands.

use golden::interp::{self, InterpError};
use rtl::kernel::Mode;
use rtl::sm::{SmCore, StallReason};

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

/// Tests tiles of 16, 8 and 4 lanes that all execute the same instruction, as in code that uses CUDA
/// cooperative groups.
#[test]
fn tiles_of_a_warp_exchange_among_their_own_members() {
    for (lanes, segment) in [(16u32, "0x101f"), (8, "0x181f"), (4, "0x1c1f")] {
        let ones = u32::MAX >> (32 - lanes);
        let bench = Kernel::new(&format!(
            "mov.u32 %r3, %laneid; and.b32 %r4, %r3, {first}; mov.u32 %r5, {ones}; shl.b32 %r5, %r5, %r4;
             redux.sync.add.u32 %r6, %r3, %r5; and.b32 %r7, %r3, 3; setp.eq.u32 %p1, %r7, 1; vote.sync.ballot.b32 %r7, %p1, %r5;
             setp.eq.u32 %p1, %r3, 5; vote.sync.any.pred %p2, %p1, %r5; vote.sync.uni.pred %p3, %p1, %r5;
             shfl.sync.down.b32 %r8|%p4, %r3, 3, {segment}, %r5; shfl.sync.idx.b32 %r9, %r3, 2, {segment}, %r5;
             shr.u32 %r10, %r3, 1; match.any.sync.b32 %r10, %r10, %r5; match.all.sync.b32 %r11|%p5, %r4, %r5; bar.warp.sync %r5;
             selp.u32 %r12, 1, 0, %p2; selp.u32 %r13, 1, 0, %p3; selp.u32 %r14, 1, 0, %p4; selp.u32 %r15, 1, 0, %p5;
             st.global.v4.u32 [%rd2], {{%r6, %r7, %r8, %r9}}; st.global.v4.u32 [%rd2+16], {{%r10, %r11, %r12, %r13}};
             st.global.v2.u32 [%rd2+32], {{%r14, %r15}};",
            first = 32 - lanes,
        ))
        .grid(2, 80)
        .check();
        for thread in 0..80u32 {
            let (lane, first) = (thread % 32, (thread % 32) & !(lanes - 1));
            // The last warp of the CTA is only partly filled: it has 16 threads.
            let tile = ones << first;
            let sum: u32 = (first..first + lanes).sum();
            let (down, inside) = if lane + 3 < first + lanes { (lane + 3, 1) } else { (lane, 0) };
            let has_five = u32::from(first <= 5 && 5 < first + lanes);
            let expected = [
                sum,
                0x2222_2222 & tile,
                down,
                first + 2,
                0b11 << (lane & !1),
                tile,
                has_five,
                1 - has_five,
                inside,
                1,
            ];
            let got: Vec<u32> = (0..10).map(|word| bench.out(16 * thread as usize + word)).collect();
            assert_eq!(got, expected, "lane {lane} of tiles of {lanes}");
        }
    }
}

/// Runs a kernel that must fault in the same way on the core and in the interpreter. Returns the fault
/// message.
fn fault_of_both(kernel: &Kernel) -> String {
    let program = kernel.program();
    let launch = interp::Launch {
        program: &program,
        grid: kernel.grid,
        block: kernel.block,
        dynamic_shared: kernel.dynamic_shared,
        params: &kernel.params,
        max_instructions: 1 << 20,
    };
    let Err(InterpError::Fault(expected)) = interp::run(&launch, &mut kernel.memory.clone()) else {
        panic!("the interpreter runs {}", kernel.ptx)
    };
    let bench = kernel.run(Mode::default());
    let fault = bench.cores.iter().find_map(SmCore::fault).unwrap_or_else(|| panic!("runs:\n{}", kernel.ptx));
    let (kind, expected_kind) = (fault.kind.to_string(), expected.to_string());
    assert!(expected_kind.ends_with(&kind) && fault.line == expected.line, "{fault}\n{expected}");
    fault.to_string()
}

#[test]
fn lanes_that_need_others_which_are_elsewhere_stop_the_core() {
    // Lanes 10 and above take a different path from lanes 0 to 9. Lanes 20 and above exit.
    let parted = |there: &str| {
        format!(
            "mov.u32 %r3, %laneid; setp.ge.u32 %p0, %r3, 10; setp.ge.u32 %p1, %r3, 20; @%p1 exit; mov.u32 %r4, %r3; @%p0 bra END;
             {there}
             END: st.global.u32 [%rd2], %r4;"
        )
    };
    let missing = |op: &str, members: &str, missing: &str| {
        format!(
            "`{op}` names the members {members}, but the lanes {missing} of these do not execute it together with the \
             lanes 0x000003ff: paths of a diverged warp cannot wait for each other"
        )
    };
    let split = |op: &str| {
        format!(
            "`{op}` in the lanes 0x000003ff of a warp in which 0x000fffff have not exited: paths of a diverged warp \
             cannot wait for each other"
        )
    };
    for (there, wrong) in [
        ("shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1;", missing("shfl.sync", "0xffffffff", "0x000ffc00")),
        ("shfl.sync.up.b32 _|%p2, %r3, 1, 0, 0xfff003ff;", String::new()),
        ("vote.sync.uni.pred %p2, %p0, 0x7ff;", missing("vote.sync", "0x000007ff", "0x00000400")),
        ("match.all.sync.b32 %r4, %r3, -1;", missing("match.sync", "0xffffffff", "0x000ffc00")),
        ("redux.sync.xor.b32 %r4, %r3, -1;", missing("redux.sync", "0xffffffff", "0x000ffc00")),
        ("bar.warp.sync -1;", missing("bar.warp.sync", "0xffffffff", "0x000ffc00")),
        ("activemask.b32 %r4; bar.warp.sync %r4; redux.sync.add.u32 %r4, %r3, %r4;", String::new()),
        ("bar.sync 0;", split("barrier.sync")),
        ("barrier.sync %r4, 32;", split("barrier.sync")),
        ("bar.arrive 1, 64;", split("barrier.arrive")),
        ("barrier.red.popc.u32 %r4, 0, %p0;", split("barrier.red")),
        (
            "vote.sync.ballot.b32 %r4, %p0, 0x3f0;",
            "`vote.sync` in the lanes 0x0000000f, which are not among the members 0x000003f0 that they name: the PTX ISA \
             leaves the result undefined"
                .to_owned(),
        ),
    ] {
        let kernel = Kernel::new(&parted(there)).grid(1, 32);
        if wrong.is_empty() {
            kernel.check();
        } else {
            let line = kernel.ptx.lines().position(|line| line.contains(there)).unwrap() + 1;
            let fault = fault_of_both(&kernel);
            let place = format!("k.ptx:{line}: kernel `k`, SM 0 warp 0 lane 0 pc ");
            assert!(fault.starts_with(&place) && fault.ends_with(&wrong), "{there}: {fault}");
        }
    }
}

/// Tests kernels that begin with a bounds check, as most kernels do. Threads beyond the bound jump to the
/// end, and no barrier or exchange may wait for them.
#[test]
fn lanes_that_do_nothing_more_but_exit_are_not_waited_for() {
    for (end, first) in [
        ("END: ret;", "@%p0 bra END;"),
        ("END: bra LAST; LAST: ret;", "@%p0 bra END;"),
        ("END: ret;", "@!%p0 bra ON; exit; ON:"),
        ("END: ret;", "@%p0 ret;"),
    ] {
        let body = format!(
            "setp.ge.u32 %p0, %r0, 75; {first} mov.u32 %r4, 0; mov.u32 %r3, %tid.x; redux.sync.add.u32 %r3, %r3, -1; bar.sync 0;
             setp.ne.u32 %p1, %r0, 74; @%p1 bra SKIP; mov.u32 %r4, 1; SKIP: shfl.sync.idx.b32 %r4, %r4, 10, 31, -1;
             barrier.red.popc.u32 %r5, 1, 1; st.global.v2.u32 [%rd2], {{%r3, %r4}}; st.global.u32 [%rd2+8], %r5; {end}"
        );
        let bench = Kernel::new(&body).grid(1, 96).check();
        let last: u32 = (64..75).sum();
        assert_eq!([0, 1, 2].map(|word| bench.out(16 * 70 + word)), [last, 1, 75], "{first} {end}");
        assert_eq!(bench.out(16 * 80), 0);
    }
}

/// Lanes that a guard predicate disables count as divergent, like lanes on another path of a branch.
#[test]
fn members_that_a_guard_switches_off_are_missing() {
    let of = |guarded: &str| {
        let body =
            format!("mov.u32 %r3, %tid.x; setp.lt.u32 %p0, %r3, 40;\n@%p0 {guarded}\nst.global.u32 [%rd2], %r3;");
        Kernel::new(&body).grid(1, 64)
    };
    // The guard enables threads 0 to 39: all lanes of warp 0, but only 8 lanes of warp 1. Therefore only warp
    // 1 faults.
    let fault = fault_of_both(&of("shfl.sync.idx.b32 %r3, %r3, 0, 31, -1;"));
    assert!(fault.contains("warp 1 lane 0") && fault.contains("the lanes 0xffffff00 of these"), "{fault}");
    assert!(fault_of_both(&of("bar.sync 0;")).contains("in the lanes 0x000000ff of a warp"));
    of("redux.sync.max.u32 %r3, %r3, 0xff;").grid(1, 8).check();
}

#[test]
fn halves_of_a_wide_warp_are_whole_each_by_itself() {
    // Threads 32 to 63 take a different path from threads 0 to 31. In a warp of 64 lanes, each path has one
    // half of the lanes.
    let body =
        "mov.u32 %r3, %tid.x; setp.ge.u32 %p0, %r3, 32; @%p0 bra UPPER; shfl.sync.idx.b32 %r3, %r3, 3, 31, -1; bra END;
                UPPER: redux.sync.add.u32 %r3, %r3, -1;
                END: st.global.u32 [%rd2], %r3;";
    let bench = Kernel::new(body).grid(1, 64).check();
    assert_eq!([bench.out(0), bench.out(16 * 40)], [3, (32..64).sum()]);
    // A barrier for all threads faults if only one half of the warp arrives, because it would open without
    // the other half. A barrier with a thread count accepts one half of a warp, which counts as 32 threads.
    let parted = |from: u32, barrier: &str| {
        let body = format!(
            "mov.u32 %r3, %tid.x; setp.ge.u32 %p0, %r3, {from}; @!%p0 bra END;\n{barrier}\nEND: st.global.u32 [%rd2], %r3;"
        );
        let bench = Kernel::new(&body).grid(1, 64).wide().run(Mode::default());
        bench.cores.iter().find_map(SmCore::fault).map(ToString::to_string)
    };
    assert_eq!(parted(32, "bar.sync 0, 32;"), None);
    for (from, barrier, lanes) in [
        (32, "bar.sync 0;", "0xffffffff00000000"),
        (48, "bar.sync 0;", "0xffff000000000000"),
        (48, "bar.sync 0, 32;", "0xffff000000000000"),
    ] {
        let fault = parted(from, barrier).unwrap_or_else(|| panic!("{barrier} from {from} runs"));
        let wrong = format!("in the lanes {lanes} of a warp in which 0xffffffffffffffff have not exited");
        assert!(fault.contains(&format!("lane {from} pc")) && fault.contains(&wrong), "{fault}");
    }
}

#[test]
fn lanes_that_do_not_agree_on_a_barrier_stop_the_core() {
    let one = "mov.u32 %r3, %tid.x; setp.lt.u32 %p0, %r3, 3; selp.u32 %r4, 1, 2, %p0; selp.u32 %r5, 0, 32, %p0;";
    let differ = |op: &str, what: &str| {
        format!(
            "`{op}` with the {what} in the lanes 0x00000007 of a warp and another in the lanes 0xfffffff8: a whole \
             warp arrives at the same barrier"
        )
    };
    for (barrier, wrong) in [
        ("barrier.sync %r4;", differ("barrier.sync", "number 1")),
        ("barrier.red.popc.u32 %r6, %r4, 1;", differ("barrier.red", "number 1")),
        ("barrier.sync 1, %r5;", differ("barrier.sync", "thread count 0")),
        ("barrier.arrive %r4, %r5;", differ("barrier.arrive", "number 1")),
        ("mov.u32 %r4, 17; bar.sync %r4;", "a barrier with the number 17, expected one from 0 to 15".to_owned()),
    ] {
        let fault = fault_of_both(&Kernel::new(&format!("{one}\n{barrier}")).grid(1, 32));
        assert!(fault.contains("lane 0 pc") && fault.ends_with(&wrong), "{barrier}: {fault}");
    }
    // Different warps of a CTA may wait at different barriers.
    Kernel::new("mov.u32 %r3, %tid.x; shr.u32 %r3, %r3, 6; bar.sync %r3, 64;").grid(1, 192).check();
}

#[test]
fn the_halves_of_a_wide_warp_agree_on_a_barrier() {
    let run = |barrier: &str| {
        let body = format!("mov.u32 %r3, %tid.x; shr.u32 %r3, %r3, 5;\n{barrier}\nst.global.u32 [%rd2], %r3;");
        let bench = Kernel::new(&body).grid(1, 64).wide().run(Mode::default());
        bench.cores.iter().find_map(SmCore::fault).map(ToString::to_string)
    };
    assert_eq!(run("mov.u32 %r4, 3; bar.sync %r4, 64;"), None);
    let fault = run("bar.sync %r3, 32;").unwrap_or_default();
    let wrong = "with the number 0 in the lanes 0xffffffff of a warp and another in the lanes 0xffffffff00000000";
    assert!(fault.contains(wrong) && fault.contains("lane 0 pc"), "{fault}");
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
    // When the first CTA of a core ends, its barrier still has one arrival that no thread has waited for. In
    // the second CTA, the producing half of the threads arrives late. The consuming half must wait for it,
    // and must not be released by the arrival of the first CTA.
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
    let kernel = Kernel::new("mov.u32 %r3, %tid.x; setp.ge.u32 %p0, %r3, 64; @%p0 exit; barrier.sync 2, 128;");
    let bench = kernel.grid(1, 128).run(Mode::default());
    assert!(!bench.dispatcher.is_done());
    let waiting = bench.cores[0].waiting();
    assert_eq!(waiting.len(), 2);
    assert!(waiting.iter().all(|warp| warp.reason == StallReason::Barrier));
}
