use isa::program::Program;
use ptx::Source;

use super::super::{Order, run_in};
use super::*;

const OUT: u64 = 0x1000_0000;
const BYTES: usize = 4096;

/// Compiles a kernel `k(out)` with the given body. `%rd0` holds the parameter `out`, `%r0` the thread number,
/// and `%r1` the CTA number. `%rd1` holds the address of the word in `out` that belongs to the thread.
fn kernel(body: &str) -> Program {
    let text = format!(
        ".version 7.1\n.target sm_35\n.address_size 64\n.entry k(.param .u64 out) {{\n\
         .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .align 4 .b8 tile[512];\n\
         ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;\n\
         mad.lo.u32 %r3, %r1, %r2, %r0; mul.wide.u32 %rd1, %r3, 4; add.s64 %rd1, %rd0, %rd1;\n\
         {body}\n}}"
    );
    match Source::new("k.ptx", &text).kernel("k") {
        Ok(program) => program,
        Err(error) => panic!("{error}\n{text}"),
    }
}

/// Access to global memory as seen by the observer: SM, lane mask, and index of the word that the lowest lane
/// accesses.
type ObservedAccess = (usize, u32, u64);

fn launch(program: &Program, grid: u32, block: u32) -> Launch<'_> {
    const PARAMS: [u8; 8] = OUT.to_le_bytes();
    Launch {
        program,
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        dynamic_shared: 0,
        params: &PARAMS,
        max_instructions: 100_000_000,
    }
}

fn memory() -> FlatMemory {
    let mut memory = FlatMemory::new();
    memory.place("out", OUT, vec![0; BYTES]).unwrap();
    memory
}

fn words_of(memory: &FlatMemory) -> Vec<u32> {
    memory.buffers()[0].bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Runs a kernel and returns the contents of memory afterward. `order` is the order in which warps and CTAs
/// run; up to four CTAs are resident.
fn words(body: &str, grid: u32, block: u32, order: Order) -> Vec<u32> {
    let (program, mut memory) = (kernel(body), memory());
    run_in(order, &launch(&program, grid, block), Sms { count: 2, ctas: 2 }, &mut memory).unwrap();
    words_of(&memory)
}

/// Runs a kernel and returns its accesses to global memory and the contents of memory afterward.
fn run_observed(body: &str, grid: u32, block: u32, sms: Sms) -> (Vec<ObservedAccess>, Vec<u32>) {
    let (program, mut memory) = (kernel(body), memory());
    let mut seen = Vec::new();
    let mut observer = |access: &WarpMemory<'_>| {
        let first = access.addresses[access.mask.trailing_zeros() as usize];
        seen.push((access.sm, access.mask, (first - OUT) / 4));
    };
    run_warps(&launch(&program, grid, block), sms, &mut memory, &mut observer).unwrap();
    (seen, words_of(&memory))
}

const ONE: Sms = Sms { count: 1, ctas: 1 };

#[test]
fn lanes_that_jump_go_first_and_both_paths_meet_again() {
    let body = "setp.lt.u32 %p1, %r0, 2; @%p1 bra LOW; st.global.u32 [%rd1], %r0; bra MEET;\n\
                LOW: st.global.u32 [%rd1], %r2;\n\
                MEET: ld.global.u32 %r4, [%rd1];";
    let (seen, _) = run_observed(body, 1, 4, ONE);
    assert_eq!(seen, [(0, 0b0011, 0), (0, 0b1100, 2), (0, 0b1111, 0)]);
}

#[test]
fn lanes_that_a_guard_switches_off_ask_for_nothing() {
    let body = "setp.eq.u32 %p1, %r0, 1; @%p1 st.global.u32 [%rd1], %r0; setp.eq.u32 %p2, %r0, 9; @%p2 st.global.u32 [%rd1], %r0;";
    assert_eq!(run_observed(body, 1, 4, ONE).0, [(0, 0b10, 1)]);
}

#[test]
fn lanes_leave_a_loop_one_by_one_and_go_on_together() {
    let body = "mov.u32 %r4, 0; LOOP: add.u32 %r4, %r4, 1; st.global.u32 [%rd1], %r4; setp.le.u32 %p1, %r4, %r0; @%p1 bra LOOP;\n\
                ld.global.u32 %r5, [%rd1];";
    let masks: Vec<u32> = run_observed(body, 1, 3, ONE).0.iter().map(|(_, mask, _)| *mask).collect();
    assert_eq!(masks, [0b111, 0b110, 0b100, 0b111]);
}

#[test]
fn the_warps_of_an_sm_take_turns() {
    let body = "ld.global.u32 %r4, [%rd1]; ld.global.u32 %r4, [%rd1];";
    let words: Vec<u64> =
        run_observed(body, 2, 64, Sms { count: 1, ctas: 2 }).0.iter().map(|(_, _, word)| *word).collect();
    assert_eq!(words, [0, 32, 64, 96, 0, 32, 64, 96]);
}

#[test]
fn ctas_go_round_the_sms_and_then_to_the_one_that_ends_first() {
    // CTA 1 of the four CTAs runs longest, and each of the two SMs holds one CTA at a time. SM 1 is still
    // busy with CTA 1 when CTAs 2 and 3 start, so both run on SM 0.
    let body = "setp.ne.u32 %p1, %r1, 1; mov.u32 %r4, 0; @%p1 bra STORE; LOOP: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 50; @%p2 bra LOOP;\n\
                STORE: st.global.u32 [%rd1], %r0;";
    let (seen, _) = run_observed(body, 4, 1, Sms { count: 2, ctas: 1 });
    let of_sm = |sm: usize| seen.iter().filter(|(s, ..)| *s == sm).map(|(.., word)| *word).collect::<Vec<_>>();
    assert_eq!((of_sm(0), of_sm(1)), (vec![0, 2, 3], vec![1]));
}

#[test]
fn no_order_changes_what_barriers_keep_apart() {
    let body = "shl.b32 %r4, %r0, 2; mov.u32 %r5, tile; add.u32 %r4, %r4, %r5; st.shared.u32 [%r4], %r3; bar.sync 0;\n\
                xor.b32 %r4, %r4, 124; ld.shared.u32 %r6, [%r4]; and.b32 %r7, %r0, 3; setp.eq.u32 %p1, %r7, 1; @%p1 bra ODD;\n\
                mul.lo.u32 %r6, %r6, 7; ODD: bar.sync 1; setp.gt.u32 %p2, %r0, 90; @%p2 ret; st.global.u32 [%rd1], %r6;";
    let (seen, memory) = run_observed(body, 5, 100, Sms { count: 2, ctas: 2 });
    assert_eq!(seen.iter().map(|(_, mask, _)| mask.count_ones()).sum::<u32>(), 5 * 91);
    let word = |thread: u32| {
        let (cta, number) = (thread / 100, thread % 100);
        let other = cta * 100 + (number ^ 31);
        // The CTA has 100 threads, so words 100 to 127 of the shared array are never written and read as 0.
        let other = if number ^ 31 < 100 { other } else { 0 };
        if number > 90 { 0 } else { other * if number & 3 == 1 { 1 } else { 7 } }
    };
    assert_eq!(memory[..500], (0..500).map(word).collect::<Vec<u32>>());
    for order in Order::OTHERS {
        assert_eq!(words(body, 5, 100, order), memory, "{order:?}");
    }
}

/// Tests a warp-synchronous reduction without a barrier. In successive steps, each thread adds the value of
/// the thread 16, 8, 4, 2 and 1 positions above it.
#[test]
fn lanes_of_a_warp_run_together_without_a_barrier() {
    let step = |distance: u32, qualifier: &str| {
        format!(
            "ld{qualifier}.shared.u32 %r6, [%r5+{}]; add.u32 %r4, %r4, %r6; st{qualifier}.shared.u32 [%r5], %r4;\n",
            4 * distance
        )
    };
    for qualifier in ["", ".volatile"] {
        let steps: String = [16, 8, 4, 2, 1].map(|distance| step(distance, qualifier)).concat();
        let body = format!(
            "mov.u32 %r5, tile; shl.b32 %r6, %r0, 2; add.u32 %r5, %r5, %r6; mov.u32 %r4, %r3;\n\
             st{qualifier}.shared.u32 [%r5], %r4;\n{steps} setp.ne.u32 %p1, %r0, 0; @%p1 ret; st.global.u32 [%rd1], %r4;"
        );
        for order in Order::OTHERS.into_iter().chain([Order::Forward]) {
            let words = words(&body, 3, 32, order);
            assert_eq!([words[0], words[32], words[64]], [496, 1520, 2544], "{order:?}");
        }
    }
}

/// Lanes leave a loop by a break or by an early exit, and the loop is on one side of a branch. The remaining
/// lanes must reconverge after the loop and after the branch.
#[test]
fn lanes_meet_again_behind_nested_branches_breaks_and_exits() {
    let body = "mov.u32 %r4, 0; setp.ge.u32 %p1, %r0, 6; @%p1 bra ELSE;\n\
                LOOP: setp.eq.u32 %p2, %r4, %r0; @%p2 bra BREAK; add.u32 %r4, %r4, 1; setp.eq.u32 %p3, %r4, 3; @%p3 bra OUT;\n\
                bra LOOP; BREAK: st.global.u32 [%rd1], %r4;\n\
                OUT: ld.global.u32 %r5, [%rd1]; bra END;\n\
                ELSE: setp.eq.u32 %p2, %r0, 7; @%p2 exit; st.global.u32 [%rd1+64], %r4;\n\
                END: ld.global.u32 %r5, [%rd1];";
    let masks: Vec<u32> = run_observed(body, 1, 9, ONE).0.iter().map(|(_, mask, _)| *mask).collect();
    assert_eq!(masks, [0b1_0100_0000, 0b001, 0b010, 0b100, 0b11_1111, 0b1_0111_1111]);
}

#[test]
fn backward_the_cta_that_began_last_goes_first() {
    // Each CTA draws its number in the order from an atomic counter.
    let body = "atom.global.add.u32 %r4, [%rd0+1024], 1; st.global.u32 [%rd1], %r4;";
    let drawn = |order| {
        let (program, mut memory) = (kernel(body), memory());
        run_in(order, &launch(&program, 5, 1), Sms { count: 2, ctas: 1 }, &mut memory).unwrap();
        words_of(&memory)[..5].to_vec()
    };
    assert_eq!(drawn(Order::Forward), [0, 1, 2, 3, 4]);
    assert_eq!(drawn(Order::Backward), [4, 0, 1, 2, 3]);
}

/// Tests that every order makes progress even if a warp or CTA waits for another one that comes later in the
/// order.
#[test]
fn an_order_lets_nobody_wait_in_vain() {
    // Every thread except the last waits until the next thread has written its word.
    let chain = "add.u32 %r4, %r3, 1; setp.eq.u32 %p1, %r4, 6; @%p1 bra PUT;\n\
                 WAIT: ld.volatile.global.u32 %r5, [%rd1+4]; setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT;\n\
                 PUT: st.volatile.global.u32 [%rd1], %r4;";
    for order in [Order::Forward, Order::Backward, Order::Turns, Order::Random(3)] {
        let program = kernel(chain);
        let mut memory = memory();
        run_in(order, &launch(&program, 6, 1), Sms { count: 2, ctas: 3 }, &mut memory).unwrap();
        assert_eq!(words_of(&memory)[..6], [1, 2, 3, 4, 5, 6], "{order:?}");
    }
    let warps = "setp.ge.u32 %p1, %r0, 32; @%p1 bra PUT; WAIT: ld.volatile.global.u32 %r5, [%rd0]; setp.eq.u32 %p2, %r5, 0;\n\
                 @%p2 bra WAIT; bra END; PUT: st.volatile.global.u32 [%rd0], 9; END:";
    for order in Order::OTHERS.into_iter().chain([Order::Forward]) {
        assert_eq!(words(warps, 1, 64, order)[0], 9, "{order:?}");
    }
}

#[test]
fn a_warp_that_polls_shared_memory_yields_to_the_others() {
    // Each round ends when all four warps have arrived at the mbarrier object.
    let body = ".shared .align 8 .b64 bar; setp.ne.u32 %p1, %r0, 0;\n\
                @!%p1 mbarrier.init.shared.b64 [bar], 128; bar.sync 0; mov.u32 %r4, 0; ROUND: mbarrier.arrive.shared.b64 %rd2, [bar];\n\
                WAIT: mbarrier.test_wait.shared.b64 %p2, [bar], %rd2; @!%p2 bra WAIT;\n\
                add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 10; @%p3 bra ROUND; st.global.u32 [%rd1], %r4;";
    let program = kernel(body);
    for order in [Order::Forward, Order::Backward, Order::Random(1), Order::Random(2)] {
        let mut memory = memory();
        let counts = run_in(order, &launch(&program, 1, 128), ONE, &mut memory).unwrap();
        assert_eq!(words_of(&memory)[..128], [10; 128], "{order:?}");
        // In each round, a warp polls a few times. A wait for the end of a full turn would take thousands of
        // instructions.
        let of_a_warp = counts.thread_instructions / 128;
        assert!(of_a_warp < 1000, "{order:?}: {of_a_warp} instructions");
    }
}

#[test]
fn orders_differ_where_warps_race() {
    let last = "st.global.u32 [%rd0], %r3;";
    let lost = "ld.global.u32 %r4, [%rd0]; add.u32 %r4, %r4, 1; st.global.u32 [%rd0], %r4;";
    let first = |body, order| words(body, 2, 64, order)[0];
    assert_eq!([Order::Forward, Order::Backward].map(|order| first(last, order)), [127, 31]);
    assert_eq!([Order::Forward, Order::Backward, Order::Turns].map(|order| first(lost, order)), [4, 4, 1]);
}

fn livelock_message(body: &str, grid: u32, block: u32) -> String {
    let (program, mut memory) = (kernel(body), memory());
    let launch = launch(&program, grid, block);
    let launch = Launch { max_instructions: u64::MAX, ..launch };
    let turns = run_in(Order::Turns, &launch, Sms { count: 2, ctas: 1 }, &mut memory).unwrap_err().to_string();
    let forward = super::super::run(&launch, &mut memory).unwrap_err().to_string();
    assert!(forward.contains("loops"), "{forward}");
    turns
}

#[test]
fn a_lock_that_nobody_opens_is_noticed_and_named() {
    let lock = "mov.u32 %r4, 1; st.global.u32 [%rd0], %r4; setp.ge.u32 %p1, %r0, 32; @%p1 bra WAIT;\n\
                SPIN: atom.global.cas.b32 %r5, [%rd0], 0, 1;\nsetp.ne.u32 %p2, %r5, 0; @%p2 bra SPIN;\nWAIT: bar.sync 0;";
    let text = livelock_message(lock, 2, 64);
    assert!(text.starts_with("k.ptx: no progress in kernel `k` after "), "{text}");
    assert!(text.contains(" warp instructions, 2 CTAs at a time\n"), "{text}");
    for cta in 0..2 {
        assert!(text.contains(&format!("CTA [{cta}, 0, 0]: warp 0 at pc ")), "{text}");
        assert!(text.contains(&format!("CTA [{cta}, 0, 0]: warp 1 at pc 14, line 11: barrier")), "{text}");
    }
    // The lane that takes the lock waits for reconvergence, and thus never releases the lock. The other lanes
    // of its warp spin on the lock forever, so a livelock must be reported.
    let within =
        "SPIN: atom.global.cas.b32 %r5, [%rd0], 0, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra SPIN; st.global.u32 [%rd0], 0;";
    assert!(livelock_message(within, 1, 32).contains("warp 0 at pc "), "{within}");
}

#[test]
fn a_kernel_that_counts_for_long_is_no_livelock() {
    let body = "mov.u32 %r4, 0; or.b32 %r6, %r0, %r1; setp.ge.u32 %p1, %r3, 32; @%p1 bra WAIT;\n\
                COUNT: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 100000; @%p2 bra COUNT; st.volatile.global.u32 [%rd0], %r4; bra END;\n\
                WAIT: ld.volatile.global.u32 %r4, [%rd0]; setp.eq.u32 %p2, %r4, 0; @%p2 bra WAIT; END:";
    for order in [Order::Forward, Order::Backward, Order::Turns] {
        assert_eq!(words(body, 2, 64, order)[0], 100_000, "{order:?}");
    }
}
