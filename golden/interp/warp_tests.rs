use isa::program::Program;
use ptx::Source;

use super::*;

const OUT: u64 = 0x1000_0000;
const BYTES: usize = 4096;

/// A kernel `k(out)`: `%rd0` holds `out`, `%r0` the thread's number, `%r1` the CTA's, and `%rd1` the
/// place of the thread in an array of words.
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

/// An access to global memory: SM, mask, and the word of the lowest lane.
type Seen = (usize, u32, u64);

/// What an observer sees, and what memory holds in the end, with and without warps.
fn observed(body: &str, grid: u32, block: u32, sms: Sms) -> (Vec<Seen>, [FlatMemory; 2]) {
    let program = kernel(body);
    let launch = Launch {
        program: &program,
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        dynamic_shared: 0,
        params: &OUT.to_le_bytes(),
        max_instructions: 100_000,
    };
    let mut memories = [FlatMemory::new(), FlatMemory::new()];
    memories.iter_mut().for_each(|memory| memory.place("out", OUT, vec![0; BYTES]).unwrap());
    let mut seen = Vec::new();
    let mut observer = |access: &WarpMemory<'_>| {
        let first = access.addresses[access.mask.trailing_zeros() as usize];
        seen.push((access.sm, access.mask, (first - OUT) / 4));
    };
    run_warps(&launch, sms, &mut memories[0], &mut observer).unwrap();
    super::super::run(&launch, &mut memories[1]).unwrap();
    (seen, memories)
}

const ONE: Sms = Sms { count: 1, ctas: 1 };

#[test]
fn lanes_that_jump_go_first_and_both_paths_meet_again() {
    let body = "setp.lt.u32 %p1, %r0, 2; @%p1 bra LOW; st.global.u32 [%rd1], %r0; bra MEET;\n\
                LOW: st.global.u32 [%rd1], %r2;\n\
                MEET: ld.global.u32 %r4, [%rd1];";
    let (seen, _) = observed(body, 1, 4, ONE);
    assert_eq!(seen, [(0, 0b0011, 0), (0, 0b1100, 2), (0, 0b1111, 0)]);
}

#[test]
fn lanes_that_a_guard_switches_off_ask_for_nothing() {
    let body = "setp.eq.u32 %p1, %r0, 1; @%p1 st.global.u32 [%rd1], %r0; setp.eq.u32 %p2, %r0, 9; @%p2 st.global.u32 [%rd1], %r0;";
    assert_eq!(observed(body, 1, 4, ONE).0, [(0, 0b10, 1)]);
}

#[test]
fn lanes_leave_a_loop_one_by_one_and_go_on_together() {
    let body = "mov.u32 %r4, 0; LOOP: add.u32 %r4, %r4, 1; st.global.u32 [%rd1], %r4; setp.le.u32 %p1, %r4, %r0; @%p1 bra LOOP;\n\
                ld.global.u32 %r5, [%rd1];";
    let masks: Vec<u32> = observed(body, 1, 3, ONE).0.iter().map(|(_, mask, _)| *mask).collect();
    assert_eq!(masks, [0b111, 0b110, 0b100, 0b111]);
}

#[test]
fn the_warps_of_an_sm_take_turns() {
    let body = "ld.global.u32 %r4, [%rd1]; ld.global.u32 %r4, [%rd1];";
    let words: Vec<u64> = observed(body, 2, 64, Sms { count: 1, ctas: 2 }).0.iter().map(|(_, _, word)| *word).collect();
    assert_eq!(words, [0, 32, 64, 96, 0, 32, 64, 96]);
}

#[test]
fn ctas_go_round_the_sms_and_then_to_the_one_that_ends_first() {
    // CTA 1 of 4 runs longest; one CTA fits on each of the two SMs.
    let body = "setp.ne.u32 %p1, %r1, 1; mov.u32 %r4, 0; @%p1 bra STORE; LOOP: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 50; @%p2 bra LOOP;\n\
                STORE: st.global.u32 [%rd1], %r0;";
    let (seen, _) = observed(body, 4, 1, Sms { count: 2, ctas: 1 });
    let of_sm = |sm: usize| seen.iter().filter(|(s, ..)| *s == sm).map(|(.., word)| *word).collect::<Vec<_>>();
    assert_eq!((of_sm(0), of_sm(1)), (vec![0, 2, 3], vec![1]));
}

#[test]
fn memory_ends_as_when_threads_run_one_by_one() {
    let body = "shl.b32 %r4, %r0, 2; mov.u32 %r5, tile; add.u32 %r4, %r4, %r5; st.shared.u32 [%r4], %r3; bar.sync 0;\n\
                xor.b32 %r4, %r4, 124; ld.shared.u32 %r6, [%r4]; and.b32 %r7, %r0, 3; setp.eq.u32 %p1, %r7, 1; @%p1 bra ODD;\n\
                mul.lo.u32 %r6, %r6, 7; ODD: bar.sync 1; setp.gt.u32 %p2, %r0, 90; @%p2 ret; st.global.u32 [%rd1], %r6;";
    let (seen, [by_warps, by_threads]) = observed(body, 5, 100, Sms { count: 2, ctas: 2 });
    assert_eq!(by_warps.buffers()[0].bytes, by_threads.buffers()[0].bytes);
    assert_eq!(seen.iter().map(|(_, mask, _)| mask.count_ones()).sum::<u32>(), 5 * 91);
}
