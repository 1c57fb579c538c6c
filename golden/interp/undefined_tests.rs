//! Tests with reads of unwritten registers: harmful uses that must be reported, and harmless reads that
//! compilers emit.

use ptx::Source;

use super::super::{InterpError, Launch, Sms, UndefinedRead, run_finding_undefined};
use crate::memory::FlatMemory;

const OUT: u64 = 0x1000;
/// Source line on which the kernel text of each test starts.
const FIRST: u32 = 6;

/// Runs `body` in one warp per CTA and returns the undefined reads found. `%rd0` holds the address of a
/// buffer of 4 KiB, and `%r0` the lane number. `%p0` is true in lanes 0 to 15.
fn find_reads(body: &str) -> Vec<UndefinedRead> {
    find_reads_with(body, 32)
}

/// Runs `body` with `threads` threads per CTA and returns the undefined reads found.
fn find_reads_with(body: &str, threads: u32) -> Vec<UndefinedRead> {
    let text = format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.entry k(.param .u64 out) {{ .reg .pred %p<9>; .reg .b16 %h<9>; \
         .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b64 %rd<20>; .local .align 8 .b8 l[64]; .shared .align 8 .b8 s[64];\n\
         ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 16;\n{body}\nret; }}"
    );
    let program = Source::new("k.ptx", &text).kernel("k").unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut memory = FlatMemory::new();
    memory.place("out", OUT, vec![0; 4096]).unwrap();
    let params = OUT.to_le_bytes();
    let (grid, block) = ([2, 1, 1], [threads, 1, 1]);
    let launch =
        Launch { program: &program, grid, block, dynamic_shared: 0, params: &params, max_instructions: 1 << 20 };
    let ran: Result<_, InterpError> = run_finding_undefined(&launch, Sms { count: 1, ctas: 4 }, &mut memory);
    ran.unwrap_or_else(|error| panic!("{error}\n{text}")).1
}

#[test]
fn a_use_of_a_register_that_nothing_has_written_is_found_with_name_and_lines() {
    for (body, register, line, use_line) in [
        ("add.u32 %r2, %r1, 1;\nst.global.u32 [%rd0], %r2;", "%r1", 0, 1),
        ("st.global.u32 [%rd0], %r1;", "%r1", 0, 0),
        ("st.shared.f32 [s], %f3;", "%f3", 0, 0),
        ("and.b64 %rd6, %rd5, 0xff8; add.u64 %rd6, %rd0, %rd6;\nld.global.u32 %r1, [%rd6];", "%rd5", 0, 1),
        ("atom.global.add.u32 %r2, [%rd0], %r1;", "%r1", 0, 0),
        ("@%p3 st.global.u32 [%rd0], 1;", "%p3", 0, 0),
        ("@%p3 bra over;\nst.global.u32 [%rd0], 1;\nover:", "%p3", 0, 0),
        ("setp.eq.u32 %p1, %r7, 0;\n@%p1 st.global.u32 [%rd0], 1;", "%r7", 0, 1),
        ("selp.u32 %r2, 1, 2, %p4;\nst.global.u32 [%rd0], %r2;", "%p4", 0, 1),
        // Must be reported: registers that are written on only one side of a branch, or in only some lanes.
        ("@%p0 mov.u32 %r1, 1;\nst.global.u32 [%rd0], %r1;", "%r1", 1, 1),
        ("@%p0 bra over;\nmov.u32 %r1, 1;\nover:\nst.global.u32 [%rd0], %r1;", "%r1", 3, 3),
        // Must be reported: undefined values that reach their use through a copy, a conversion, half of a
        // register pair, or another lane.
        ("mov.b64 %rd1, {%r1, %r2};\nst.global.u64 [%rd0], %rd1;", "%r1", 0, 1),
        ("mov.b64 %rd1, {%r0, %r2};\nshr.u64 %rd2, %rd1, 32;\nst.global.u64 [%rd0], %rd2;", "%r2", 0, 2),
        ("cvt.s64.s32 %rd1, %r1;\nst.global.u64 [%rd0], %rd1;", "%r1", 0, 1),
        ("shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;\nst.global.u32 [%rd0], %r2;", "%r1", 0, 1),
        ("vote.sync.ballot.b32 %r2, %p5, -1;\nst.global.u32 [%rd0], %r2;", "%p5", 0, 1),
        ("st.global.v2.u32 [%rd0], {%r0, %r1};", "%r1", 0, 0),
        ("mov.u32 %r3, 48;\nbar.sync %r9;", "%r9", 1, 1),
        ("and.b32 %r2, %r1, 255;\nst.global.u32 [%rd0], %r2;", "%r1", 0, 1),
    ] {
        let reads = find_reads(body);
        let [read] = reads.as_slice() else { panic!("{body}: {reads:?}") };
        let place = (&*read.register, read.line - FIRST, read.use_line - FIRST);
        assert_eq!(place, (register, line, use_line), "{body}");
        assert!(read.to_string().starts_with(&format!("k.ptx:{}: kernel `k`, CTA [", read.line)), "{read}");
        assert!(read.to_string().contains(&format!("reads `{register}`, which the thread has not written")), "{read}");
    }
}

#[test]
fn a_used_result_of_a_shuffle_from_a_lane_that_does_not_take_part_is_found() {
    let upper_half =
        "@%p0 bra over;\nshfl.sync.idx.b32 %r2, %r0, 3, 31, 0xffff0000;\nst.global.u32 [%rd0], %r2;\nover:";
    let reads = find_reads(upper_half);
    let [read] = reads.as_slice() else { panic!("{reads:?}") };
    assert_eq!((read.is_shuffled, read.line - FIRST, read.use_line - FIRST), (true, 1, 2));
    assert_eq!((read.thread, &*read.register), ([16, 0, 0], ""));
    let said = "the source lane of its shuffle does not take part: the result is undefined, and line 8 depends on it";
    assert!(read.to_string().ends_with(said), "{read}");
    // Reduction over lanes 0 to 7. Lanes 1 to 7 also read from lanes above 7, which do not take part, so the
    // sums of lanes 1 to 7 are undefined. This is harmless if only lane 0 stores its sum.
    let of_eight = "setp.gt.u32 %p1, %r0, 7; @%p1 bra over; mov.u32 %r1, %r0;\n\
                    shfl.sync.down.b32 %r2, %r1, 4, 31, 0xff; add.u32 %r1, %r1, %r2;\n\
                    shfl.sync.down.b32 %r2, %r1, 2, 31, 0xff; add.u32 %r1, %r1, %r2;\n\
                    shfl.sync.down.b32 %r2, %r1, 1, 31, 0xff; add.u32 %r1, %r1, %r2;\n";
    assert_eq!(find_reads(&format!("{of_eight}setp.eq.u32 %p2, %r0, 0; @%p2 st.global.u32 [%rd0], %r1;\nover:")), []);
    assert_eq!(find_reads(&format!("{of_eight}st.global.u32 [%rd0], %r1;\nover:")).len(), 1);
}

#[test]
fn the_first_thread_that_reads_it_is_named() {
    let reads = find_reads("@%p0 mov.u32 %r1, 1;\nst.global.u32 [%rd0], %r1;");
    assert_eq!((reads[0].cta, reads[0].thread), ([0; 3], [16, 0, 0]));
}

#[test]
fn what_compilers_leave_undefined_without_harm_is_not_found() {
    for body in [
        // Must not be reported: registers that are written under a guard and under its inverse. Also
        // registers that are read under the same guard under which they were written.
        "@%p0 mov.u32 %r1, 1;\n@!%p0 mov.u32 %r1, 2;\nst.global.u32 [%rd0], %r1;",
        "@%p0 mov.u32 %r1, 1;\n@%p0 st.global.u32 [%rd0], %r1;",
        "mov.pred %p1, %p0; @%p0 mov.u32 %r1, 1;\n@!%p1 bra over;\nst.global.u32 [%rd0], %r1;\nover:",
        // Must not be reported: a register pair with one undefined half, of which only the other half is
        // used.
        "mov.b64 %rd1, {%r0, %r2};\ncvt.u32.u64 %r3, %rd1;\nst.global.u32 [%rd0], %r3;",
        "mov.b64 %rd1, {%r0, %r2};\nmov.b64 {%r3, %r4}, %rd1;\nst.global.u32 [%rd0], %r3;",
        "mov.b32 %r1, {%h1, %h2};\nmov.u16 %h3, 5; mov.b32 %r2, {%h3, %h1}; and.b32 %r3, %r2, 0xffff;\nst.global.u32 [%rd0], %r3;",
        "mov.u16 %h3, 5; mov.b32 %r2, {%h3, %h1}; prmt.b32 %r3, %r2, %r0, 0x1010;\nst.global.u32 [%rd0], %r3;",
        "mov.u16 %h3, 5; mov.b32 %r2, {%h1, %h3}; shr.u32 %r3, %r2, 16;\nst.global.u32 [%rd0], %r3;",
        // Must not be reported: undefined operands that are not selected, or that cannot affect the result
        // because the other operand determines it.
        "add.u32 %r2, %r1, 1; setp.ge.u32 %p1, %r0, 0; selp.u32 %r3, %r0, %r2, %p1;\nst.global.u32 [%rd0], %r3;",
        "setp.lt.u32 %p1, %r1, 3; setp.gt.u32 %p2, %r0, 99; and.pred %p3, %p1, %p2;\n@%p3 st.global.u32 [%rd0], 1;",
        "setp.gt.u32 %p2, %r0, 99; setp.lt.and.u32 %p3, %r1, 3, %p2;\n@%p3 st.global.u32 [%rd0], 1;",
        "and.b32 %r2, %r1, 0;\nst.global.u32 [%rd0], %r2;",
        "xor.b32 %r2, %r1, %r1;\nst.global.u32 [%rd0], %r2;",
        "lop3.b32 %r2, %r1, %r0, %r0, 0xaa;\nst.global.u32 [%rd0], %r2;",
        // Must not be reported: undefined results that are never used, or that are stored only to local
        // memory.
        "add.u32 %r2, %r1, 1;",
        "st.local.u32 [l], %r1;",
        // Must not be reported: a shuffle in which no lane reads from the lanes whose value is undefined.
        "@%p0 mov.u32 %r1, 1; and.b32 %r2, %r0, 15;\nshfl.sync.idx.b32 %r3, %r1, %r2, 31, -1;\nst.global.u32 [%rd0], %r3;",
        // Must not be reported: a loop that writes a register in its first iteration and reads it in the
        // second.
        "mov.u32 %r3, 0;\nagain: setp.eq.u32 %p1, %r3, 0; @%p1 mov.u32 %r1, 7;\n@!%p1 st.global.u32 [%rd0], %r1;\n\
         add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 3; @%p2 bra again;",
    ] {
        assert_eq!(find_reads(body), [], "{body}");
    }
}

#[test]
fn a_warp_with_fewer_threads_than_lanes_is_followed() {
    for body in [
        "selp.u32 %r2, 1, %r1, %p0;",
        "or.pred %p2, %p0, %p3;",
        "setp.lt.u32 %p1, %r1, 3;",
        "setp.lt.and.u32 %p1, %r0, 3, %p3;",
        "set.lt.u32.u32 %r2, %r9, 5;",
        "testp.notanumber.f32 %p1, %f1;",
        "mov.u32 %r3, s; setp.ne.u32 %p1, %r0, 0; @%p1 cp.async.ca.shared.global [%r3], [%rd0], 4, 4;",
    ] {
        assert_eq!([1, 20, 33].map(|threads| find_reads_with(body, threads)), [const { vec![] }; 3], "{body}");
    }
    let reads = find_reads_with("selp.u32 %r2, 1, %r1, %p0;\nst.global.u32 [%rd0], %r2;", 20);
    assert_eq!((reads.len(), reads[0].thread, &*reads[0].register), (1, [16, 0, 0], "%r1"));
}
