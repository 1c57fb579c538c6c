use crate::interp::spaces::tests::{ran, results};

#[test]
fn lanes_exchange_words_within_their_warp() {
    let body = "shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1; shfl.up.b32 %r2|%p1, %r0, 2, 0; @!%p1 add.u32 %r2, %r2, 1000;\n\
                mad.lo.u32 %r1, %r2, 10000, %r1;";
    let words = results("", 40, body);
    let expected = |t: u32| (t ^ 1) + 10000 * if t % 32 < 2 { t + 1000 } else { t - 2 };
    assert_eq!(words, (0..40).map(expected).collect::<Vec<u32>>());
}

#[test]
fn votes_and_masks_name_the_lanes_that_are_there() {
    let body = "setp.lt.u32 %p1, %r0, 5; vote.sync.ballot.b32 %r2, %p1, -1; vote.all.pred %p2, %p1; selp.u32 %r3, 256, 0, %p2;\n\
                vote.any.pred %p3, %p1; selp.u32 %r4, 512, 0, %p3; add.u32 %r1, %r2, %r3; add.u32 %r1, %r1, %r4;";
    assert_eq!(results("", 8, body), [31 + 512; 8]);
    assert_eq!(results("", 5, body), [31 + 256 + 512; 5]);
    let parted = "mov.u32 %r1, 0; setp.ge.u32 %p1, %r0, 2; @%p1 bra L; activemask.b32 %r1; L:";
    assert_eq!(results("", 4, parted), [3, 3, 0, 0]);
    let redux =
        "redux.sync.max.u32 %r1, %r0, -1; match.any.sync.b32 %r2, 7, -1; bar.warp.sync -1; add.u32 %r1, %r1, %r2;";
    assert_eq!(results("", 4, redux), [18; 4]);
}

#[test]
fn lanes_that_have_run_ahead_wait_for_those_still_in_the_loop() {
    // Lane t runs t iterations of the loop; after the loop, all lanes have reconverged.
    let body = "mov.u32 %r2, 0; mov.u32 %r3, 0; L: setp.ge.u32 %p1, %r2, %r0; @%p1 bra E; vote.ballot.b32 %r4, %p1;\n\
                activemask.b32 %r5; add.u32 %r3, %r3, %r5; add.u32 %r2, %r2, 1; bra L;\n\
                E: activemask.b32 %r6; mad.lo.u32 %r1, %r6, 1000, %r3;";
    assert_eq!(results("", 4, body), [15_000, 15_014, 15_026, 15_034]);
}

#[test]
fn an_exchange_among_named_members_does_not_wait_for_others() {
    let body =
        "mov.u32 %r1, 0; setp.ge.u32 %p1, %r0, 2; @%p1 bra L; shfl.sync.idx.b32 %r1, %r0, 1, 31, 3; L: bar.sync 0;";
    assert_eq!(results("", 4, body), [1, 1, 0, 0]);
    // An exchange does not wait for lanes that exit on the other path of a branch, whichever path runs first.
    let left = "setp.ge.u32 %p1, %r0, 2; @!%p1 bra L; exit; L: vote.sync.ballot.b32 %r1, 1, -1;";
    assert_eq!(results("", 4, left)[..2], [3, 3]);
    let right = "setp.ge.u32 %p1, %r0, 2; @%p1 bra END; vote.sync.ballot.b32 %r1, 1, -1; bar.sync 0; st.global.u32 [%rd11], %r1; END: ret;";
    assert_eq!(results("", 4, right)[..2], [3, 3]);
}

#[test]
fn tiles_of_a_warp_exchange_among_their_own_members() {
    // A warp of 10 threads is divided into tiles of 4 lanes; the last tile has only two lanes.
    let body = "and.b32 %r2, %r0, 28; mov.u32 %r3, 15; shl.b32 %r3, %r3, %r2; redux.sync.add.u32 %r1, %r0, %r3;\n\
                setp.eq.u32 %p1, %r0, 5; vote.sync.ballot.b32 %r4, %p1, %r3; vote.sync.any.pred %p2, %p1, %r3;\n\
                and.b32 %r5, %r0, 1; match.any.sync.b32 %r6, %r5, %r3; match.all.sync.b32 %r7|%p3, %r2, %r3; bar.warp.sync %r3;\n\
                shfl.sync.bfly.b32 %r8, %r0, 1, 0x1c1f, %r3; mad.lo.u32 %r1, %r1, 100, %r8; mad.lo.u32 %r1, %r6, 10000, %r1;\n\
                @%p2 add.u32 %r1, %r1, %r4; @!%p3 add.u32 %r1, %r1, 0x80000000;";
    let expected = |lane: u32| {
        let first = lane & !3;
        let sum: u32 = (first..10.min(first + 4)).sum();
        let equal: u32 = (first..10.min(first + 4)).filter(|other| other % 2 == lane % 2).map(|other| 1 << other).sum();
        10_000 * equal + 100 * sum + (lane ^ 1) + if first == 4 { 1 << 5 } else { 0 }
    };
    assert_eq!(results("", 10, body), (0..10).map(expected).collect::<Vec<u32>>());
}

#[test]
fn lanes_that_need_others_which_are_elsewhere_stop_the_launch() {
    let parted = |there: &str| format!("setp.ge.u32 %p1, %r0, 3; mov.u32 %r1, 0; @%p1 bra L;\n{there}\nL:");
    let missing = |op: &str, members: &str, missing: &str| {
        let of =
            format!("`{op}` names the members {members}, but the lanes {missing} of these do not execute it together");
        of + " with the lanes 0x00000007"
    };
    for (body, fault) in [
        (parted("shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;"), missing("shfl.sync", "0xffffffff", "0x000000f8")),
        (parted("vote.sync.all.pred %p2, 1, 15;"), missing("vote.sync", "0x0000000f", "0x00000008")),
        (parted("match.any.sync.b64 %r1, %rd11, 255;"), missing("match.sync", "0x000000ff", "0x000000f8")),
        (parted("redux.sync.or.b32 %r1, %r0, 23;"), missing("redux.sync", "0x00000017", "0x00000010")),
        (parted("elect.sync _|%p2, 255;"), missing("elect.sync", "0x000000ff", "0x000000f8")),
        (parted("bar.warp.sync -1;"), missing("bar.warp.sync", "0xffffffff", "0x000000f8")),
        (
            parted("vote.sync.ballot.b32 %r1, 1, 6;"),
            "`vote.sync` in the lanes 0x00000001, which are not among the members 0x00000006 that they name".to_owned(),
        ),
        (parted("bar.sync 0;"), "`barrier.sync` in the lanes 0x00000007 of a warp in which 0x000000ff".to_owned()),
        (parted("bar.arrive 1, 32;"), "`barrier.arrive` in the lanes 0x00000007 of a warp".to_owned()),
        (parted("barrier.red.popc.u32 %r1, 0, 1;"), "`barrier.red` in the lanes 0x00000007 of a warp".to_owned()),
        // The member mask of each lane names this lane and the next one, so neighboring lanes have different
        // member masks.
        (
            "mov.u32 %r2, 3; shl.b32 %r2, %r2, %r0; redux.sync.add.u32 %r1, %r0, %r2;".to_owned(),
            "names the members 0x00000003, but the lanes 0x00000002 of these".to_owned(),
        ),
    ] {
        let error = ran("", 8, &body).unwrap_err();
        assert!(error.contains(&fault), "{error}\n{fault}");
    }
}

#[test]
fn barriers_count_threads_and_reduce_predicates() {
    let reduce = "setp.lt.u32 %p1, %r0, 3; bar.red.popc.u32 %r1, 0, %p1; bar.red.and.pred %p2, 0, %p1;\n\
                  bar.red.or.pred %p3, 1, %p1; @%p2 add.u32 %r1, %r1, 100; @%p3 add.u32 %r1, %r1, 10;";
    assert_eq!(results("", 8, reduce), [13; 8]);
    assert_eq!(results("", 2, reduce), [112; 2]);
    // The first warp stores a value and arrives at the barrier without waiting. The second warp waits at the
    // barrier, then loads the value.
    let pair = ".shared .u32 s; setp.ge.u32 %p1, %r0, 32; @%p1 bra TAKE; st.shared.u32 [s], 7; bar.arrive 1, 64;\n\
                mov.u32 %r1, 1; bra DONE; TAKE: bar.sync 1, 64; ld.shared.u32 %r1, [s]; DONE:";
    let words = results("", 48, pair);
    assert_eq!((words[0], words[31], words[32], words[47]), (1, 1, 7, 7));
}

#[test]
fn the_lanes_of_a_warp_agree_on_a_barrier() {
    let one = "setp.lt.u32 %p1, %r0, 3; selp.u32 %r2, 1, 2, %p1; selp.u32 %r3, 0, 32, %p1; mov.u32 %r1, 7;\n";
    let differ = |op: &str, what: &str| {
        format!("`{op}` with the {what} in the lanes 0x00000007 of a warp and another in the lanes 0x000000f8")
    };
    for (barrier, fault) in [
        ("barrier.sync %r2;", differ("barrier.sync", "number 1")),
        ("barrier.red.popc.u32 %r1, %r2, 1;", differ("barrier.red", "number 1")),
        ("barrier.sync 1, %r3;", differ("barrier.sync", "thread count 0")),
        ("barrier.arrive %r2, %r3;", differ("barrier.arrive", "number 1")),
        ("mov.u32 %r2, 17; bar.sync %r2;", "a barrier with the number 17, expected one from 0 to 15".to_owned()),
        ("mov.u32 %r2, -1; bar.arrive %r2, 32;", "a barrier with the number 4294967295, expected".to_owned()),
    ] {
        let error = ran("", 8, &format!("{one}{barrier}")).unwrap_err();
        assert!(error.contains(&fault), "{error}\n{fault}");
    }
    // The lanes of a warp must use the same barrier: here, all three threads use barrier 1. Different warps
    // may use different barriers.
    assert_eq!(results("", 3, &format!("{one}barrier.sync %r2;")), [7; 3]);
    let each = "mov.u32 %r1, 7; shr.u32 %r2, %r0, 5; bar.sync %r2, 32;";
    assert_eq!(results("", 64, each), [7; 64]);
}
