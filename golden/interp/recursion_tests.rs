//! Functions that call themselves, written in PTX. Each result is worked out beside the test.

use super::spaces::tests::{ran, results};

/// `fib(n)` with registers as parameters.
const FIBONACCI: &str = ".func (.reg .u32 %out) fib(.reg .u32 %n) { .reg .pred %p; .reg .u32 %r<4>;\n\
    mov.u32 %out, %n; setp.lt.u32 %p, %n, 2; @%p ret; sub.u32 %r0, %n, 1; call (%r1), fib, (%r0);\n\
    sub.u32 %r0, %n, 2; call (%r2), fib, (%r0); add.u32 %out, %r1, %r2; }";

#[test]
fn each_lane_calls_itself_as_deep_as_it_needs() {
    let body = "call (%r1), fib, (%r0);";
    assert_eq!(results(FIBONACCI, 10, body), [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]);
    // Two calls from outside, one of them under a guard, each inlined.
    let body = "mov.u32 %r1, 100; call (%r2), fib, (%r0); setp.ge.u32 %p1, %r0, 4; @%p1 call (%r1), fib, (%r2);\n\
        add.u32 %r1, %r1, %r2;";
    assert_eq!(results(FIBONACCI, 7, body), [100, 101, 101, 102, 2 + 3, 5 + 5, 21 + 8]);
}

#[test]
fn predicates_and_wide_registers_are_those_of_the_own_call_afterwards() {
    // f(n) = f(n - 1) + (n odd ? n << 32 : 0), and 1 for 0. Bits 32 and higher are summed in `%r1`.
    let file = ".func (.param .b64 out) f(.param .b32 n) { .reg .pred %p<3>; .reg .u32 %r<3>; .reg .u64 %rd<4>;\n\
        ld.param.u32 %r0, [n]; mov.u64 %rd0, 1; setp.eq.u32 %p0, %r0, 0; @%p0 bra done;\n\
        and.b32 %r1, %r0, 1; setp.ne.u32 %p1, %r1, 0; cvt.u64.u32 %rd1, %r0; shl.b64 %rd1, %rd1, 32;\n\
        sub.u32 %r2, %r0, 1; { .param .b32 a; st.param.b32 [a], %r2; .param .b64 b;\n\
        call.uni (b), f, (a); ld.param.b64 %rd0, [b]; } @%p1 add.u64 %rd0, %rd0, %rd1;\n\
        done: st.param.b64 [out], %rd0; ret; }";
    let body = "{ .param .b32 a; st.param.b32 [a], %r0; .param .b64 b; call.uni (b), f, (a);\n\
        ld.param.b64 %rd1, [b]; } shr.u64 %rd2, %rd1, 32; cvt.u32.u64 %r1, %rd2; cvt.u32.u64 %r2, %rd1;\n\
        mad.lo.u32 %r1, %r1, 10, %r2;";
    assert_eq!(results(file, 7, body), [1, 11, 11, 41, 41, 91, 91]);
}

#[test]
fn local_variables_and_their_addresses_belong_to_one_call() {
    // Each call has a variable `x` with its depth, and adds it to the variables of all callers: the address of
    // the caller's variable is passed on. The result is the value of the outermost variable, which each of the
    // `n` deeper calls increments by its depth.
    let file = ".func f(.param .b64 to, .param .b32 n) { .local .align 4 .b8 x[4]; .reg .pred %p; .reg .u32 %r<4>;\n\
        .reg .u64 %rd<4>; ld.param.u64 %rd0, [to]; ld.param.u32 %r0, [n]; mov.u64 %rd1, x;\n\
        cvta.local.u64 %rd2, %rd1; st.local.u32 [x], %r0; setp.eq.u32 %p, %r0, 0; @%p bra sum;\n\
        sub.u32 %r1, %r0, 1; { .param .b64 a; st.param.b64 [a], %rd2; .param .b32 b; st.param.b32 [b], %r1;\n\
        call.uni f, (a, b); } sum: ld.local.u32 %r2, [%rd1]; ld.u32 %r3, [%rd0]; add.u32 %r3, %r3, %r2;\n\
        st.u32 [%rd0], %r3; ret; }";
    let body = ".local .align 4 .b8 y[4]; mov.u32 %r2, 1000; st.local.u32 [y], %r2; mov.u64 %rd1, y;\n\
        cvta.local.u64 %rd1, %rd1; { .param .b64 a; st.param.b64 [a], %rd1; .param .b32 b; st.param.b32 [b], %r0;\n\
        call.uni f, (a, b); } ld.local.u32 %r1, [y];";
    // A call at depth n ends with x = n + (n - 1) + ... + 0, and adds it to its caller's variable.
    assert_eq!(results(file, 5, body), [1000, 1001, 1003, 1006, 1010]);
}

#[test]
fn structs_are_passed_and_returned_in_local_memory() {
    // f({a, b}, n) = n == 0 ? {a, b} : f({b, a + b}, n - 1) with its halves exchanged.
    let file = ".func (.param .align 8 .b8 out[12]) f(.param .align 8 .b8 in[8], .param .b32 n) {\n\
        .reg .pred %p; .reg .u32 %r<6>; ld.param.v2.u32 {%r0, %r1}, [in]; ld.param.u32 %r2, [n];\n\
        setp.eq.u32 %p, %r2, 0; @%p bra done; add.u32 %r3, %r0, %r1; sub.u32 %r4, %r2, 1;\n\
        { .param .align 8 .b8 a[8]; st.param.b32 [a], %r1; st.param.b32 [a+4], %r3; .param .b32 b;\n\
        st.param.b32 [b], %r4; .param .align 8 .b8 c[12]; call.uni (c), f, (a, b);\n\
        ld.param.u32 %r1, [c]; ld.param.u32 %r0, [c+4]; ld.param.u32 %r5, [c+8]; }\n\
        done: st.param.b32 [out], %r0; st.param.b32 [out+4], %r1; st.param.b32 [out+8], %r2; ret; }";
    let body = "mov.u32 %r2, 1; mov.u32 %r3, 2; { .param .align 8 .b8 a[8]; st.param.v2.b32 [a], {%r2, %r3};\n\
        .param .b32 b; st.param.b32 [b], %r0; .param .align 8 .b8 c[12]; call.uni (c), f, (a, b);\n\
        ld.param.v2.u32 {%r4, %r5}, [c]; ld.param.u32 %r6, [c+8]; } mad.lo.u32 %r1, %r4, 100, %r5;\n\
        mad.lo.u32 %r1, %r6, 10000, %r1;";
    // Pairs (1, 2), (2, 3), (3, 5), (5, 8), exchanged as often as the function was called again.
    assert_eq!(results(file, 4, body), [102, 10302, 20305, 30805]);
}

#[test]
fn functions_that_call_each_other_share_a_stack() {
    // even(n) = n == 0 ? 0 : odd(n - 1) + n, odd(n) = n == 0 ? 1 : 3 * even(n - 1).
    let file = ".func (.reg .u32 %o) odd(.reg .u32 %n);\n\
        .func (.reg .u32 %o) even(.reg .u32 %n) { .reg .pred %p; .reg .u32 %r<2>; mov.u32 %o, 0;\n\
        setp.eq.u32 %p, %n, 0; @%p ret; sub.u32 %r0, %n, 1; call (%r1), odd, (%r0); add.u32 %o, %r1, %n; }\n\
        .func (.reg .u32 %o) odd(.reg .u32 %n) { .reg .pred %p; .reg .u32 %r<2>; mov.u32 %o, 1;\n\
        setp.eq.u32 %p, %n, 0; @%p ret; sub.u32 %r0, %n, 1; call (%r1), even, (%r0); mul.lo.u32 %o, %r1, 3; }";
    let expected = |lane: u32| {
        let values = (0..=lane).fold((0u32, 1u32), |(even, odd), n| match n {
            0 => (0, 1),
            n => (odd + n, 3 * even),
        });
        values.0 + 1000 * values.1
    };
    let body = "call (%r2), even, (%r0); call (%r3), odd, (%r0); mad.lo.u32 %r1, %r3, 1000, %r2;";
    assert_eq!(results(file, 9, body), (0..9).map(expected).collect::<Vec<_>>());
}

#[test]
fn a_call_through_a_pointer_can_reach_its_own_function() {
    let file = ".func (.reg .u32 %o) f(.reg .u32 %n, .reg .u64 %g) { .reg .pred %p; .reg .u32 %r<2>; mov.u32 %o, 1;\n\
        setp.eq.u32 %p, %n, 0; @%p ret; sub.u32 %r0, %n, 1; call (%r1), %g, (%r0, %g), t;\n\
        t: .callprototype (.reg .u32 _) _ (.reg .u32 _, .reg .u64 _); mul.lo.u32 %o, %r1, %n; }";
    let body = "mov.u64 %rd1, f; call (%r1), f, (%r0, %rd1);";
    assert_eq!(results(file, 6, body), [1, 1, 2, 6, 24, 120]);
}

#[test]
fn a_stack_that_is_too_small_is_a_fault_at_the_call() {
    let error = ran(".func f() { call f; ret; }", 1, "call f;").unwrap_err();
    assert!(error.contains("k.ptx:4") && error.contains("local memory"), "{error}");
    // A frame of `fib` has the parameter, the number of the caller, and one result: 16 bytes. The stack of
    // 1,024 bytes holds 64 of them, besides the first.
    let deep = FIBONACCI.replace("sub.u32 %r0, %n, 2", "mov.u32 %r0, 0");
    assert_eq!(results(&deep, 1, "add.u32 %r0, %r0, 64; call (%r1), fib, (%r0);"), [1]);
    let error = ran(&deep, 1, "add.u32 %r0, %r0, 67; call (%r1), fib, (%r0);").unwrap_err();
    assert!(error.contains("local memory"), "{error}");
}

#[test]
fn a_function_beside_a_cycle_is_inlined_as_before() {
    let file = format!(
        "{FIBONACCI}\n.func (.reg .u32 %o) twice(.reg .u32 %n) {{ .reg .u32 %r; call (%r), fib, (%n);\n\
         add.u32 %o, %r, %r; }}"
    );
    assert_eq!(results(&file, 8, "call (%r1), twice, (%r0);"), [0, 2, 2, 4, 6, 10, 16, 26]);
}
