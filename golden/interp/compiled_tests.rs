//! Tests of PTX instructions that compilers emit but handwritten code rarely uses. Results are compared with
//! values that these tests compute themselves.

use super::spaces::tests::{ran, results};

/// PTX code that sets `%r2` and `%r3` to words that differ between threads. Their bytes and halves include
/// positive and negative values.
const WORDS: &str = "mad.lo.u32 %r2, %r0, 0x9e3779b9, 0x80ff7f01; mad.lo.u32 %r3, %r0, 0x85ebca6b, 0x7f80ff02;\n";
const THREADS: u32 = 32;

fn words(thread: u32) -> [u32; 2] {
    let word = |step: u32, first: u32| thread.wrapping_mul(step).wrapping_add(first);
    [word(0x9e37_79b9, 0x80ff_7f01), word(0x85eb_ca6b, 0x7f80_ff02)]
}

/// Runs one SIMD video instruction on the two words that [`WORDS`] sets in each thread, and compares the
/// results with `expected`.
fn video(instruction: &str, expected: impl Fn(u32, u32) -> u32) {
    let wanted: Vec<u32> = (0..THREADS).map(words).map(|[a, b]| expected(a, b)).collect();
    assert_eq!(results("", THREADS, &format!("{WORDS}{instruction}")), wanted, "{instruction}");
}

/// Applies `f` to each pair of corresponding bytes of two words, and returns the word that consists of the
/// four results.
fn bytewise(a: u32, b: u32, f: impl Fn(u8, u8) -> u8) -> u32 {
    let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
    u32::from_le_bytes([0, 1, 2, 3].map(|i| f(a[i], b[i])))
}

#[test]
fn simd_video_instructions_work_on_bytes_and_halves() {
    video("vadd4.u32.u32.u32 %r1, %r2, %r3, %r0;", |a, b| bytewise(a, b, u8::wrapping_add));
    video("vsub4.u32.u32.u32.sat %r1, %r2, %r3, 0;", |a, b| bytewise(a, b, u8::saturating_sub));
    video("vadd4.s32.s32.s32.sat %r1, %r2, %r3, 0;", |a, b| {
        bytewise(a, b, |x, y| (x as i8).saturating_add(y as i8) as u8)
    });
    video("vmax4.s32.s32.s32 %r1, %r2, %r3, 0;", |a, b| bytewise(a, b, |x, y| (x as i8).max(y as i8) as u8));
    video("vmin4.u32.u32.u32 %r1, %r2, %r3, 0;", |a, b| bytewise(a, b, u8::min));
    video("vset4.u32.u32.gt %r1, %r2, %r3, 0;", |a, b| bytewise(a, b, |x, y| u8::from(x > y)));
    video("vavrg4.u32.u32.u32 %r1, %r2, %r3, 0;", |a, b| {
        bytewise(a, b, |x, y| (u16::from(x) + u16::from(y)).div_ceil(2) as u8)
    });
    let distances = |a: u32, b: u32| (0..4).map(move |i| u32::from(a.to_le_bytes()[i].abs_diff(b.to_le_bytes()[i])));
    video("vabsdiff4.u32.u32.u32.add %r1, %r2, %r3, 7;", |a, b| 7 + distances(a, b).sum::<u32>());
    video("vsub2.u32.u32.u32 %r1, %r2, %r3, 0;", |a, b| {
        let low = (a as u16).wrapping_sub(b as u16);
        let high = ((a >> 16) as u16).wrapping_sub((b >> 16) as u16);
        u32::from(high) << 16 | u32::from(low)
    });
}

#[test]
fn selectors_and_masks_of_video_instructions_pick_parts() {
    // The selector `.b7610` forms a word from bytes 3 and 2 of the second input and bytes 1 and 0 of the
    // first. The second input is added to it bytewise. The mask `.b30` replaces only bytes 3 and 0 of the
    // destination.
    video("vadd4.u32.u32.u32 %r1.b30, %r2.b7610, %r3, 0xaabbccdd;", |a, b| {
        let picked = b & 0xffff_0000 | a & 0xffff;
        bytewise(picked, b, u8::wrapping_add) & 0xff00_00ff | 0x00bb_cc00
    });
    video("vmax2.s32.s32.s32 %r1, %r2.h01, %r3, 0;", |a, b| {
        let largest = |x: u32, y: u32| u32::from((x as i16).max(y as i16) as u16);
        largest(a, b >> 16) << 16 | largest(a >> 16, b)
    });
}

#[test]
fn scalar_video_instructions_pick_clamp_and_add() {
    video("vadd.s32.s32.u32 %r1, %r2.b3, %r3.h0;", |a, b| (a as i32 >> 24).wrapping_add(i32::from(b as u16)) as u32);
    video("vsub.u32.u32.u32.sat %r1, %r2, %r3;", u32::saturating_sub);
    video("vadd.s32.s32.s32.sat.add %r1, %r2, %r3, 5;", |a, b| {
        (a as i32).saturating_add(b as i32).wrapping_add(5) as u32
    });
    video("vabsdiff.u32.s32.s32 %r1, %r2, %r3;", |a, b| (a as i32).abs_diff(b as i32));
    video("vmin.s32.s32.s32.max %r1, %r2, %r3, 0;", |a, b| (a as i32).min(b as i32).max(0) as u32);
    video("vset.u32.s32.lt %r1, %r2, %r3;", |a, b| u32::from(i64::from(a) < i64::from(b as i32)));
}

#[test]
fn pairs_of_halves_are_two_operations_in_one() {
    // Thread t operates on the half-precision pairs (t, 2) and (3, t). Sums and products of such small
    // integers are exact.
    let pairs = "cvt.rn.f16.u32 %rs1, %r0; cvt.rn.f16.u32 %rs2, 2; cvt.rn.f16.u32 %rs3, 3;\n\
                 mov.b32 %r2, {%rs1, %rs2}; mov.b32 %r3, {%rs3, %rs1};\n";
    let back = "mov.b32 {%rs4, %rs5}, %r4; cvt.rzi.s32.f16 %r5, %rs4; cvt.rzi.s32.f16 %r6, %rs5; mad.lo.s32 %r1, %r6, 1000, %r5;";
    let check = |instruction: &str, low: fn(i32) -> i32, high: fn(i32) -> i32| {
        let found = results("", 8, &format!("{pairs}{instruction}{back}"));
        let wanted: Vec<u32> = (0..8).map(|t| (1000 * high(t) + low(t)) as u32).collect();
        assert_eq!(found, wanted, "{instruction}");
    };
    check("add.f16x2 %r4, %r2, %r3;", |t| t + 3, |t| 2 + t);
    check("sub.rn.f16x2 %r4, %r2, %r3;", |t| t - 3, |t| 2 - t);
    check("fma.rn.f16x2 %r4, %r2, %r3, %r2;", |t| 3 * t + t, |t| 2 * t + 2);
    check("neg.f16x2 %r4, %r2;", |t| -t, |_| -2);
    check("max.f16x2 %r4, %r2, %r3;", |t| t.max(3), |t| t.max(2));
    check("mul.f16x2 %r4, %r2, 0x40003c00;", |t| t, |_| 4);
    check("set.lt.f16x2.f16x2 %r4, %r2, %r3;", |t| i32::from(t < 3), |t| i32::from(2 < t));
    check(
        "setp.gt.f16x2 %p1|%p2, %r2, %r3; selp.b32 %r4, 0x3c00, 0, %p1; @%p2 or.b32 %r4, %r4, 0x3c000000;",
        |t| i32::from(t > 3),
        |t| i32::from(2 > t),
    );
    check(
        "mov.u32 %r4, 0; set.ge.u32.f16x2 %r7, %r2, %r3; and.b32 %r4, %r7, 0x3c003c00;",
        |t| i32::from(t >= 3),
        |t| i32::from(2 >= t),
    );
}

#[test]
fn single_halves_compare_to_one_or_all_bits() {
    let body = "cvt.rn.f16.u32 %rs1, %r0; cvt.rn.f16.u32 %rs2, 2; set.lt.f16.f16 %rs3, %rs1, %rs2; cvt.rzi.u32.f16 %r2, %rs3;\n\
                set.eq.u16.f16 %rs4, %rs1, %rs2; cvt.u32.u16 %r3, %rs4; mov.b16 %rs5, 0x7fff; min.NaN.f16 %rs6, %rs1, %rs5;\n\
                min.f16 %rs7, %rs1, %rs5; setp.nan.f16 %p1, %rs6, %rs6; setp.eq.f16 %p2, %rs7, %rs1;\n\
                add.u32 %r1, %r2, %r3; @%p1 add.u32 %r1, %r1, 10; @%p2 add.u32 %r1, %r1, 20;";
    assert_eq!(results("", 4, body), [31, 31, 30 + 0xffff, 30]);
}

#[test]
fn asynchronous_copies_arrive_as_far_as_they_were_asked_for() {
    let file = ".global .align 16 .u32 table[8] = {0x11111111, 0x22222222, 0x33333333, 0x44444444, 5, 6, 7, 8};";
    let head = ".shared .align 16 .b8 s[64]; mov.u64 %rd1, table; cvta.global.u64 %rd2, table; mov.u32 %r2, s;\n";
    let sum = "cp.async.commit_group; cp.async.wait_group 0; ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [s];\n\
               xor.b32 %r1, %r3, %r4; xor.b32 %r1, %r1, %r5; xor.b32 %r1, %r1, %r6;";
    let copied = |copy: &str| results(file, 1, &format!("{head}st.shared.v4.u32 [s], {{9, 9, 9, 9}};{copy}{sum}"))[0];
    assert_eq!(copied("cp.async.cg.shared.global [%r2], [%rd1], 16;"), 0x4444_4444);
    assert_eq!(copied("cp.async.ca.shared.global.L2::128B [%r2+4], [%rd1+4], 4;"), 0x2222_2222 ^ 9);
    assert_eq!(copied("mov.u32 %r7, 6; cp.async.cg.shared.global [%r2], [%rd1], 16, %r7;"), 0x1111_1111 ^ 0x2222);
    assert_eq!(copied("mov.u32 %r7, 0; cp.async.ca.shared.global [%r2], [%rd1], 8, %r7;"), 0);
    assert_eq!(copied("mov.u32 %r7, 16; cp.async.cg.shared.global [%r2], [%rd1], 16, %r7;"), 0x4444_4444);
    assert_eq!(copied("setp.eq.u32 %p1, %r0, 0; cp.async.cg.shared.global [%r2], [%rd1], 16, %p1;"), 0);
    let off = "setp.ne.u32 %p2, %r0, 0; mov.u32 %r7, 8;";
    assert_eq!(copied(&format!("{off} @%p2 cp.async.cg.shared.global [%r2], [%rd1], 16, %r7;")), 0);
}

#[test]
fn calls_through_a_pointer_reach_the_function_that_it_means() {
    let file = ".visible .func (.param .b32 r) add(.param .b32 a, .param .b32 b) { .reg .b32 %r<4>;\n\
        ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b]; add.s32 %r3, %r1, %r2; st.param.b32 [r], %r3; ret; }\n\
        .func (.param .b32 r) mul(.param .b32 a, .param .b32 b) { .reg .b32 %r<4>; .shared .align 4 .u32 s;\n\
        ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b]; mul.lo.s32 %r3, %r1, %r2; st.shared.u32 [s], 1;\n\
        ld.shared.u32 %r2, [s]; add.s32 %r3, %r3, %r2; st.param.b32 [r], %r3; ret; }\n\
        .func other(.param .b64 a) { ret; }\n\
        .global .align 8 .u64 table[4] = {add, mul, other, 0};";
    let call = "{ .param .b32 a; .param .b32 b; .param .b32 r; st.param.b32 [a], %r0; st.param.b32 [b], 7;\n\
        call (r), %rd1, (a, b), proto; ld.param.b32 %r1, [r]; }\n\
        proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);";
    let table = "and.b32 %r2, %r0, 1; mul.wide.u32 %rd2, %r2, 8; mov.u64 %rd3, table; add.s64 %rd3, %rd3, %rd2; ld.global.u64 %rd1, [%rd3];";
    assert_eq!(results(file, 4, &format!("{table}{call}")), [7, 8, 9, 22]);
    assert_eq!(results(file, 2, &format!("mov.u64 %rd1, add; {call}")), [7, 8]);
    let guarded = format!(
        "mov.u32 %r1, 5; mov.u64 %rd1, add; setp.eq.u32 %p1, %r0, 1;{}",
        call.replace("call (r)", "@%p1 call (r)")
    );
    assert_eq!(results(file, 2, &guarded)[1], 8);
    let nowhere = ran(file, 1, &format!("mov.u64 %rd1, 0; {call}")).unwrap_err();
    assert!(nowhere.contains("trap"), "{nowhere}");
}

#[test]
fn vectors_of_registers_are_their_elements() {
    let file = ".global .align 16 .u32 table[4] = {10, 20, 30, 40};";
    let body = ".reg .v4 .b32 quad; .reg .v2 .b32 pair<3>; ld.global.v4.u32 quad, [table]; mov.b32 pair2.x, quad.w; mov.b32 pair2.g, 3;\n\
                st.global.v2.u32 [table], pair2; ld.global.v2.u32 {%r2, %r3}, [table]; add.u32 %r1, quad.y, %r2; mad.lo.u32 %r1, %r3, 1000, %r1;";
    assert_eq!(results(file, 1, body), [3060]);
}

#[test]
fn constant_expressions_follow_the_rules_of_c() {
    let file = ".global .s32 table[2*4] = {1+2*3, (1<<4)|3, -7/2, -7%3, 10%4, ~0&0xff, 3>2 && !(1 == 2), 0 ? 8 : 1 ? 9 : 7};\n\
                .global .u64 last = table+4*(9-2);";
    let expected = [7, 19, -3, -1, 2, 255, 1, 9].map(|value: i32| value as u32);
    let body =
        "mul.wide.u32 %rd1, %r0, 4; mov.u64 %rd2, table; add.s64 %rd1, %rd1, %rd2; ld.global.u32 %r1, [%rd1+4*2-8];";
    assert_eq!(results(file, 8, body), expected);
    assert_eq!(results(file, 1, "ld.global.u64 %rd1, [last]; ld.global.u32 %r1, [%rd1];"), [9]);
    assert_eq!(results("", 1, "mov.u32 %r1, WARP_SZ*2-(0xffffffffffffffff > 0) - (-1 < 0U);"), [63]);
    let nothing = ran("", 1, "mov.u32 %r1, 4/(2-2);").unwrap_err();
    assert_eq!(nothing, "k.ptx:10:15: division by zero");
}

#[test]
fn brains_compute_like_the_upper_halves_of_singles() {
    // Thread t operates on the numbers t and -2, which bfloat16 represents exactly.
    let body =
        "cvt.rn.f32.u32 %f1, %r0; mov.f32 %f2, 0fC0000000; cvt.rn.bf16.f32 %rs1, %f1; cvt.rn.bf16.f32 %rs2, %f2;\n";
    let single = |value: f32| value.to_bits() >> 16;
    let check = |instruction: &str, expected: fn(f32) -> f32| {
        let found = results("", 8, &format!("{body}{instruction} cvt.u32.u16 %r1, %rs3;"));
        let wanted: Vec<u32> = (0..8).map(|t| single(expected(t as f32))).collect();
        assert_eq!(found, wanted, "{instruction}");
    };
    check("add.rn.bf16 %rs3, %rs1, %rs2;", |t| t - 2.0);
    check("sub.bf16 %rs3, %rs1, %rs2;", |t| t + 2.0);
    check("mul.bf16 %rs3, %rs1, %rs2;", |t| t * -2.0);
    check("fma.rn.bf16 %rs3, %rs1, %rs2, %rs1;", |t| t.mul_add(-2.0, t));
    check("fma.rn.relu.bf16 %rs3, %rs1, %rs1, %rs2;", |t| (t * t - 2.0).max(0.0));
    check("min.bf16 %rs3, %rs1, %rs2;", |_| -2.0);
    check("max.NaN.bf16 %rs3, %rs1, %rs2;", |t| t);
    check("min.xorsign.abs.bf16 %rs3, %rs1, %rs2;", |t| -t.min(2.0));
    check("neg.bf16 %rs3, %rs1;", |t| -t);
    check("abs.bf16 %rs3, %rs2;", |_| 2.0);
    check("mov.b16 %rs4, 0x4000; setp.gt.bf16 %p1, %rs1, %rs4; selp.b16 %rs3, 0x3f80, 0, %p1;", |t| f32::from(t > 2.0));
    check("mov.b16 %rs4, 0x4000; set.gt.bf16.bf16 %rs3, %rs1, %rs4;", |t| f32::from(t > 2.0));
    check("cvt.rzi.s32.bf16 %r2, %rs1; cvt.rn.bf16.s32 %rs3, %r2;", |t| t);
    check(
        "add.f16x2 %r2, 0, 0; cvt.rn.bf16x2.f32 %r2, %f1, %f2; fma.rn.bf16x2 %r2, %r2, %r2, %r2; mov.b32 {_, %rs3}, %r2;",
        |t| t.mul_add(t, t),
    );
}

#[test]
fn conversions_to_pairs_put_the_first_number_above() {
    let numbers = "cvt.rn.f32.u32 %f1, %r0; mov.f32 %f2, 0f3FC00000;";
    let found = results("", 3, &format!("{numbers} cvt.rn.f16x2.f32 %r1, %f1, %f2;"));
    assert_eq!(found, [0x0000_3e00, 0x3c00_3e00, 0x4000_3e00]);
    let found = results(
        "",
        3,
        &format!("{numbers} cvt.rn.satfinite.e4m3x2.f32 %rs1, %f1, %f2; cvt.rn.f16x2.e4m3x2 %r1, %rs1;"),
    );
    assert_eq!(found, [0x0000_3e00, 0x3c00_3e00, 0x4000_3e00]);
}

#[test]
fn what_triton_writes_for_a_softmax_of_sm_100_runs() {
    let numbers = "cvt.rn.f32.u32 %f1, %r0; neg.f32 %f2, %f1; mov.f32 %f3, 0f40400000;";
    let of = |body: &str| results("", 32, &format!("{numbers}{body} cvt.rzi.s32.f32 %r1, %f4;"));
    let signed = |f: fn(i32) -> i32| (0..32).map(|t| f(t) as u32).collect::<Vec<u32>>();
    assert_eq!(of("max.f32 %f4, %f1, %f2, %f3;"), signed(|t| t.max(3)));
    assert_eq!(of("min.abs.f32 %f4, %f1, %f2, %f3;"), signed(|t| t.min(3)));
    assert_eq!(of("redux.sync.min.f32 %f4, %f2, -1;"), signed(|_| -31));
    assert_eq!(of("redux.sync.max.abs.f32 %f4, %f2, -1;"), signed(|_| 31));
    let pair = "mov.b64 %rd1, {%f1, %f3}; fma.rn.f32x2 %rd2, %rd1, %rd1, %rd1; mov.b64 {%f4, %f5}, %rd2;";
    assert_eq!(of(pair), signed(|t| t * t + t));
    assert_eq!(of(&format!("{pair} mov.f32 %f4, %f5;")), signed(|_| 12));
    assert_eq!(results("", 32, "bmsk.clamp.b32 %r1, %r0, 3;"), (0..32).map(|t| 7 << t).collect::<Vec<u32>>());
}

#[test]
fn atomics_of_halves_change_their_own_half_of_a_word() {
    let file = ".global .align 4 .u32 word;";
    // Each of the 32 threads atomically adds 1 to the lower half of a word, and 2 to its upper half.
    let add = |ty: &str, one: u32, two: u32| {
        format!(
            "mov.b16 %rs1, {one}; mov.b16 %rs2, {two}; mov.u64 %rd1, word; red.global.add.noftz.{ty} [%rd1], %rs1;\n\
             atom.global.add.noftz.{ty} %rs3, [%rd1+2], %rs2; bar.sync 0; ld.global.u32 %r1, [word];"
        )
    };
    assert_eq!(results(file, 32, &add("f16", 0x3c00, 0x4000)), [0x5400_5000; 32]);
    assert_eq!(results(file, 32, &add("bf16", 0x3f80, 0x4000)), [0x4280_4200; 32]);
    let pairs = "mov.u64 %rd1, word; red.add.noftz.bf16x2 [%rd1], 0x40003f80; bar.sync 0; ld.global.u32 %r1, [word];";
    assert_eq!(results(file, 32, pairs), [0x4280_4200; 32]);
    // Each of the 32 threads increments the same 16-bit counter by one, with a compare-and-swap loop.
    let swap = "mov.u64 %rd1, word; mov.b16 %rs1, 0;\n\
                again: add.u16 %rs2, %rs1, 1; atom.cas.b16 %rs3, [%rd1+2], %rs1, %rs2; setp.ne.b16 %p1, %rs3, %rs1;\n\
                mov.b16 %rs1, %rs3; @%p1 bra again; bar.sync 0; ld.global.u32 %r1, [word];";
    assert_eq!(results(file, 32, swap), [32 << 16; 32]);
}

#[test]
fn matrices_are_loaded_through_a_generic_address() {
    let file = ".shared .align 16 .b8 tile[128];";
    // Each word in row t of the matrix has the value t.
    let body = "shl.b32 %r2, %r0, 4; and.b32 %r3, %r2, 127; cvt.u64.u32 %rd1, %r3; mov.u64 %rd2, tile; cvta.shared.u64 %rd3, %rd2;\n\
                add.s64 %rd4, %rd3, %rd1; and.b32 %r4, %r0, 7; st.v4.u32 [%rd4], {%r4, %r4, %r4, %r4}; bar.sync 0;";
    let found = results(file, 32, &format!("{body} ldmatrix.sync.aligned.m8n8.x1.b16 {{%r1}}, [%rd4];"));
    assert_eq!(found, (0..32).map(|t| t / 4).collect::<Vec<u32>>());
    let outside = ran(file, 32, &format!("{body} ldmatrix.sync.aligned.m8n8.x1.b16 {{%r1}}, [%rd10];"));
    assert!(outside.unwrap_err().contains("shared memory"));
}

/// Returns PTX code that declares an mbarrier object and one word per thread, and initializes the object for
/// `arrivals` arrivals. The code sets `%r5` to the address of the thread's own word, and `%r6` to that of a
/// word of another warp.
fn mbarrier(threads: u32, arrivals: u32) -> String {
    format!(
        ".shared .align 8 .b64 bar; .shared .align 4 .b32 words[96]; setp.ne.u32 %p1, %r0, 0; mov.u32 %r9, {arrivals};\n\
         @!%p1 mbarrier.init.shared::cta.b64 [bar], %r9; bar.sync 0; mov.u32 %r4, words; mad.lo.u32 %r5, %r0, 4, %r4;\n\
         add.u32 %r6, %r0, 32; rem.u32 %r6, %r6, {threads}; mad.lo.u32 %r6, %r6, 4, %r4;\n"
    )
}

#[test]
fn the_arrivals_of_all_threads_complete_a_phase_of_an_mbarrier() {
    // The kernel has three rounds, each with one phase after the stores and one after the loads. The test
    // runs it with three ways to wait for a phase: by its state, by its parity, and by its state with a
    // generic address.
    let waits = [
        "mbarrier.arrive.shared.b64 %rd1, [bar]; W: mbarrier.test_wait.shared.b64 %p2, [bar], %rd1; @!%p2 bra W;",
        "mbarrier.arrive.release.cta.shared::cta.b64 _, [bar], 1; and.b32 %r7, %r3, 1;\n\
         W: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [bar], %r7, 1000; @!%p2 bra W;",
        "mov.u64 %rd3, bar; cvta.shared.u64 %rd3, %rd3; mbarrier.arrive.b64 %rd1, [%rd3];\n\
         W: mbarrier.test_wait.relaxed.cta.b64 %p2, [%rd3], %rd1; @!%p2 bra W;",
    ];
    for wait in waits {
        let [first, second] =
            ["W", "V"].map(|label| wait.replace("W:", &format!("{label}:")).replace("bra W", &format!("bra {label}")));
        let body = format!(
            "{} mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u32 %r3, 0;\n\
             ROUND: mad.lo.u32 %r8, %r2, 1000, %r0; st.shared.u32 [%r5], %r8; {first} add.u32 %r3, %r3, 1;\n\
             ld.shared.u32 %r8, [%r6]; mad.lo.u32 %r1, %r1, 3, %r8; {second} add.u32 %r3, %r3, 1;\n\
             add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 3; @%p3 bra ROUND;",
            mbarrier(64, 64)
        );
        let round = |thread: u32, round: u32| 1000 * round + (thread + 32) % 64;
        let expected = |thread: u32| (0..3).fold(0, |sum, at| 3 * sum + round(thread, at));
        assert_eq!(results("", 64, &body), (0..64).map(expected).collect::<Vec<_>>(), "{wait}");
    }
}

#[test]
fn a_thread_that_drops_out_is_not_waited_for_again() {
    // The 32 threads of the first warp arrive only in the first phase and drop out. The other 64 threads
    // arrive in both phases.
    let body = format!(
        "{} setp.lt.u32 %p2, %r0, 32; mov.u32 %r1, 5; @%p2 mbarrier.arrive_drop.shared.b64 %rd1, [bar]; @%p2 bra DONE;\n\
         mbarrier.arrive.shared.b64 %rd1, [bar]; W: mbarrier.test_wait.shared.b64 %p3, [bar], %rd1; @!%p3 bra W;\n\
         mbarrier.arrive.shared.b64 %rd2, [bar]; V: mbarrier.test_wait.shared.b64 %p3, [bar], %rd2; @!%p3 bra V;\n\
         mov.u32 %r1, 7; DONE:",
        mbarrier(96, 96)
    );
    assert_eq!(results("", 96, &body), (0..96).map(|thread| if thread < 32 { 5 } else { 7 }).collect::<Vec<u32>>());
}

#[test]
fn a_state_has_the_number_of_arrivals_that_were_pending() {
    let body = format!(
        "{} mbarrier.arrive.noComplete.shared.b64 %rd1, [bar], 2; mbarrier.pending_count.b64 %r1, %rd1;\n\
         bar.sync 0; @!%p1 mbarrier.inval.shared.b64 [bar]; bar.sync 0; ld.shared.u32 %r2, [bar]; add.u32 %r1, %r1, %r2;",
        mbarrier(32, 1_048_575)
    );
    // The lanes of a warp arrive one after the other, each twice.
    assert_eq!(results("", 32, &body), (0..32).map(|thread| 1_048_575 - 2 * thread).collect::<Vec<u32>>());
}

#[test]
fn copies_arrive_at_an_mbarrier_when_they_are_complete() {
    let file = ".global .align 16 .b32 data[96] = {1, 2, 3};";
    for arrive in [
        "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];",
        "cp.async.mbarrier.arrive.b64 [%rd4]; mbarrier.arrive.shared.b64 %rd1, [bar];",
    ] {
        let body = format!(
            "{} mov.u64 %rd4, bar; cvta.shared.u64 %rd4, %rd4; mov.u64 %rd3, data; mul.wide.u32 %rd2, %r0, 4;\n\
             add.u64 %rd3, %rd3, %rd2; cp.async.ca.shared.global [%r5], [%rd3], 4; {arrive}\n\
             W: mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra W;\n\
             ld.shared.u32 %r1, [%r6]; add.u32 %r1, %r1, 10;",
            mbarrier(96, 96)
        );
        let expected = |thread: u32| 10 + [1, 2, 3].get((thread as usize + 32) % 96).copied().unwrap_or(0);
        assert_eq!(results(file, 96, &body), (0..96).map(expected).collect::<Vec<u32>>(), "{arrive}");
    }
}

#[test]
fn pairs_of_integers_wrap_around_and_have_an_order() {
    let halves = |a: u32, b: u32, f: fn(u16, u16) -> u16| {
        u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16 | u32::from(f(a as u16, b as u16))
    };
    video("add.u16x2 %r1, %r2, %r3;", |a, b| halves(a, b, u16::wrapping_add));
    video("add.s16x2 %r1, %r2, %r3;", |a, b| halves(a, b, u16::wrapping_add));
    video("min.u16x2 %r1, %r2, %r3;", |a, b| halves(a, b, u16::min));
    video("max.u16x2 %r1, %r2, %r3;", |a, b| halves(a, b, u16::max));
    video("min.s16x2 %r1, %r2, %r3;", |a, b| halves(a, b, |x, y| (x as i16).min(y as i16) as u16));
    video("max.s16x2 %r1, %r2, %r3;", |a, b| halves(a, b, |x, y| (x as i16).max(y as i16) as u16));
    video("min.relu.s16x2 %r1, %r2, %r3;", |a, b| halves(a, b, |x, y| (x as i16).min(y as i16).max(0) as u16));
    video("max.s16x2.relu %r1, %r2, %r3;", |a, b| halves(a, b, |x, y| (x as i16).max(y as i16).max(0) as u16));
    video("min.relu.s32 %r1, %r2, %r3;", |a, b| (a as i32).min(b as i32).max(0) as u32);
    video("max.relu.s32 %r1, %r2, %r3;", |a, b| (a as i32).max(b as i32).max(0) as u32);
    // The destination register may also be a source.
    video("mov.u32 %r1, %r2; min.relu.s16x2 %r1, %r3, %r1;", |a, b| {
        halves(a, b, |x, y| (x as i16).min(y as i16).max(0) as u16)
    });
}

#[test]
fn the_lowest_member_is_elected() {
    let body = "setp.ge.u32 %p1, %r0, 5; mov.u32 %r1, 99; @!%p1 bra DONE; elect.sync %r2|%p2, 0xffffffe0;\n\
                selp.u32 %r3, 1000, 0, %p2; add.u32 %r1, %r2, %r3; elect.sync _|%p2, 0xffffffe0; @%p2 add.u32 %r1, %r1, 1;\n\
                DONE:";
    let expected = |thread: u32| match thread {
        0..5 => 99,
        5 => 1006,
        _ => 5,
    };
    assert_eq!(results("", 32, body), (0..32).map(expected).collect::<Vec<u32>>());
}

#[test]
fn a_member_that_has_exited_is_not_elected() {
    for (exited, leader) in [("eq.u32 %p1, %r0, 0", 1), ("lt.u32 %p1, %r0, 7", 7)] {
        let body = format!(
            "setp.{exited}; @%p1 exit; elect.sync %r2|%p2, 0xffffffff;\n\
             selp.u32 %r3, 1000, 0, %p2; add.u32 %r1, %r2, %r3;"
        );
        let expected = |thread: u32| leader + if thread == leader { 1000 } else { 0 };
        let words = results("", 32, &body);
        assert_eq!(words[leader as usize..], (leader..32).map(expected).collect::<Vec<u32>>(), "{exited}");
    }
}
