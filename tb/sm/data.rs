//! Tests of data handling: access widths, sign and zero extension, vectors, parameters and arithmetic.

use super::bench::Kernel;

#[test]
fn loads_extend_and_stores_cut_at_every_width() {
    let body: String = ["u8", "s8", "u16", "s16"]
        .iter()
        .enumerate()
        .map(|(index, ty)| {
            let at = index * 8;
            format!(
                "ld.global.{ty} %r10, [%rd3+{at}]; st.global.u32 [%rd2+{at}], %r10;
                 st.global.{ty} [%rd2+{}], %r10;\n",
                at + 4
            )
        })
        .collect();
    let wide = "ld.global.s32 %rd5, [%rd3+48]; st.global.u64 [%rd2+32], %rd5;
                ld.global.s8 %rd6, [%rd3+50]; st.global.u64 [%rd2+40], %rd6;
                ld.global.u64 %rd7, [%rd3+56]; st.global.u64 [%rd2+48], %rd7;";
    let kernel = Kernel::new(&format!("mul.wide.u32 %rd3, %r0, 64; add.u64 %rd3, %rd1, %rd3;{body}{wide}"));
    kernel.grid(2, 64).check();
}

#[test]
fn vectors_of_every_shape_reach_memory_and_come_back() {
    let kernel = Kernel::new(
        "mul.wide.u32 %rd3, %r0, 64; add.u64 %rd3, %rd1, %rd3;
         ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd3];
         ld.global.v2.u32 {%r14, %r15}, [%rd3+16]; ld.global.v2.u64 {%rd5, %rd6}, [%rd3+32];
         ld.global.v4.u8 {%r20, %r21, %r22, %r23}, [%rd3+24]; ld.global.v4.u16 {%r24, %r25, %r26, %r27}, [%rd3+48];
         st.global.v4.u32 [%rd2], {%r13, %r12, %r11, %r10}; st.global.v2.u32 [%rd2+16], {%r15, %r14};
         st.global.v2.u64 [%rd2+32], {%rd6, %rd5}; st.global.v4.u8 [%rd2+24], {%r23, %r22, %r21, %r20};
         st.global.v4.u16 [%rd2+48], {%r27, %r26, %r25, %r24};",
    );
    kernel.grid(2, 64).check();
}

#[test]
fn cached_and_uncached_operators_are_told_apart_on_the_port() {
    let kernel = Kernel::new(
        "ld.global.u32 %r3, [%rd1]; ld.global.cg.u32 %r4, [%rd1+4]; ld.volatile.global.u32 %r5, [%rd1+8];
         add.u32 %r3, %r3, %r4; add.u32 %r3, %r3, %r5; st.global.u32 [%rd2], %r3;",
    );
    assert_eq!(kernel.check().memory.uncached, 2);
}

#[test]
fn arithmetic_of_every_pipe_agrees_with_the_interpreter() {
    let kernel = Kernel::new(
        "mul.wide.u32 %rd3, %r0, 8; add.u64 %rd3, %rd1, %rd3; ld.global.u64 %rd4, [%rd3];
         cvt.u32.u64 %r3, %rd4; shr.u64 %rd5, %rd4, 32; cvt.u32.u64 %r4, %rd5; or.b32 %r4, %r4, 1;
         div.u32 %r5, %r3, %r4; rem.s32 %r6, %r3, %r4; mul.hi.u32 %r7, %r3, %r4; max.s32 %r8, %r3, %r4;
         cvt.rn.f32.u32 %f0, %r3; cvt.rn.f32.s32 %f1, %r4; div.rn.f32 %f2, %f0, %f1; sqrt.rn.f32 %f3, %f0;
         fma.rn.f32 %f4, %f0, %f1, %f2; cvt.f64.f32 %fd0, %f4; cvt.rn.f64.u32 %fd1, %r3;
         div.rn.f64 %fd2, %fd0, %fd1; fma.rn.f64 %fd3, %fd0, %fd1, %fd2; mul.lo.u64 %rd6, %rd4, %rd5;
         setp.lt.f64 %p0, %fd2, %fd3; selp.b64 %rd7, %rd4, %rd6, %p0; selp.b32 %r9, %r3, %r4, %p0;
         mov.b64 {%r10, %r11}, %fd2; mov.b64 %rd8, {%r11, %r10}; popc.b32 %r12, %r3; clz.b64 %r13, %rd4;
         setp.gt.and.u32 %p1, %r3, %r4, !%p0; @%p1 add.u32 %r12, %r12, 64;
         st.global.u32 [%rd2], %r5; st.global.u32 [%rd2+4], %r6; st.global.u32 [%rd2+8], %r7;
         st.global.u32 [%rd2+12], %r8; st.global.f32 [%rd2+16], %f4; st.global.f32 [%rd2+20], %f3;
         st.global.f64 [%rd2+24], %fd3; st.global.u64 [%rd2+32], %rd7; st.global.u64 [%rd2+40], %rd8;
         st.global.u32 [%rd2+48], %r9; st.global.u32 [%rd2+52], %r12; st.global.u32 [%rd2+56], %r13;",
    );
    kernel.grid(3, 96).check();
}

#[test]
fn special_registers_show_where_a_thread_runs() {
    let kernel = Kernel::new(
        "mov.u32 %r3, %laneid; mov.u32 %r4, %warpid; mov.u32 %r5, %lanemask_lt; mov.u32 %r6, %nctaid.x;
         st.global.v4.u32 [%rd2], {%r3, %r4, %r5, %r6};",
    );
    let bench = kernel.grid(2, 96).check();
    let at = (96 + 70) * 16;
    assert_eq!([bench.out(at), bench.out(at + 1), bench.out(at + 2), bench.out(at + 3)], [6, 2, 63, 2]);
}

/// Checks the special registers against fixed values. The interpreter simulates a single SM and cannot return
/// these values.
#[test]
fn special_registers_show_the_launch_and_the_machine() {
    let mut kernel = Kernel::new(
        ".shared .align 4 .b8 s[48];
         mov.u32 %r3, %nwarpid; mov.u32 %r4, %nsmid; mov.u32 %r5, %dynamic_smem_size; mov.u32 %r6, %total_smem_size;
         mov.u32 %r7, %smid; mov.u64 %rd4, %gridid; st.global.v4.u32 [%rd2], {%r3, %r4, %r5, %r6};
         st.global.u32 [%rd2+16], %r7; st.global.u64 [%rd2+24], %rd4; mov.u32 %r8, s; st.shared.u32 [%r8], %r8;",
    )
    .grid(2, 32);
    kernel.dynamic_shared = 64;
    let bench = kernel.run(rtl::kernel::Mode::default());
    for cta in 0..2 {
        let shown: Vec<u32> = (0..8).map(|word| bench.out(cta * 32 * 16 + word)).collect();
        assert_eq!(shown, [kernel.config.warps, 2, 64, 112, cta as u32, 0, 0, 0]);
    }
}

#[test]
fn the_wide_clock_is_the_narrow_one_with_its_upper_half() {
    let kernel = Kernel::new(
        "mov.u32 %r3, %clock; mov.u64 %rd4, %clock64; mov.u32 %r4, %clock_hi;
         cvt.u64.u32 %rd5, %r3; sub.u64 %rd4, %rd4, %rd5; st.global.u64 [%rd2], %rd4; st.global.u32 [%rd2+8], %r4;",
    );
    let bench = kernel.run(rtl::kernel::Mode::default());
    assert!((1..=9).contains(&bench.out(0)), "{} cycles apart", bench.out(0));
    assert_eq!([bench.out(1), bench.out(2)], [0, 0]);
}

#[test]
fn the_clock_advances_with_the_core() {
    let mut kernel =
        Kernel::new("mov.u32 %r3, %clock; mov.u32 %r4, %clock; sub.u32 %r3, %r4, %r3; st.global.u32 [%rd2], %r3;");
    kernel.delay = 1;
    let bench = kernel.run(rtl::kernel::Mode::default());
    assert!((1..=3).contains(&bench.out(0)), "{} cycles apart", bench.out(0));
}
