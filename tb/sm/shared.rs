//! Tests of shared memory and barriers.

use super::bench::Kernel;

/// Creates a kernel in which each thread stores its index in shared memory, and then reads the value that
/// thread `tid ^ partner` has stored.
fn exchange(partner: u32) -> Kernel {
    let mut kernel = Kernel::new(&format!(
        "mov.u32 %r3, %tid.x; shl.b32 %r4, %r3, 2; mov.u32 %r5, window; add.u32 %r4, %r5, %r4;
         st.shared.u32 [%r4], %r0; bar.sync 0;
         xor.b32 %r6, %r3, {partner}; shl.b32 %r6, %r6, 2; add.u32 %r6, %r5, %r6; ld.shared.u32 %r7, [%r6];
         bar.sync 0; add.u32 %r7, %r7, 1; st.shared.u32 [%r6], %r7; bar.sync 1; ld.shared.u32 %r8, [%r4];
         st.global.v2.u32 [%rd2], {{%r7, %r8}};"
    ));
    kernel.ptx = kernel.ptx.replacen(".reg", ".shared .align 4 .b8 window[1024]; .reg", 1);
    kernel
}

#[test]
fn threads_exchange_values_across_warps_through_shared_memory() {
    let bench = exchange(0x61).grid(6, 128).check();
    assert_eq!([bench.out(0), bench.out(1)], [0x62, 1]);
}

#[test]
fn ctas_on_one_sm_do_not_see_each_others_shared_memory() {
    let bench = exchange(1).grid(8, 128).check();
    assert_eq!([bench.out((7 * 128) * 16), bench.out((7 * 128) * 16 + 1)], [7 * 128 + 2, 7 * 128 + 1]);
}

#[test]
fn warps_that_have_exited_are_not_waited_for() {
    let kernel = Kernel::new("setp.ge.u32 %p0, %r0, 64; @%p0 exit; bar.sync 0; st.global.u32 [%rd2], 3;");
    let bench = kernel.grid(1, 128).check();
    assert_eq!([bench.out(63 * 16), bench.out(64 * 16)], [3, 0]);
}

#[test]
fn a_barrier_orders_global_stores_of_one_cta() {
    let kernel = Kernel::new(
        "st.global.u32 [%rd2], %r0; bar.sync 0;
         mov.u32 %r3, %tid.x; xor.b32 %r4, %r0, 64; mul.wide.u32 %rd3, %r4, 64; add.u64 %rd3, %rd0, %rd3;
         ld.global.u32 %r5, [%rd3]; st.global.u32 [%rd2+4], %r5;",
    );
    let bench = kernel.grid(2, 128).check();
    assert_eq!(bench.out(3 * 16 + 1), 67);
}

#[test]
fn conflicts_are_counted_and_take_their_cycles() {
    let strided = |stride: u32| {
        let mut kernel = Kernel::bare(&format!(
            "mov.u32 %r0, %tid.x; mul.lo.u32 %r1, %r0, {stride}; ld.shared.u32 %r2, [%r1]; add.u32 %r2, %r2, 1;"
        ));
        kernel.dynamic_shared = 32 * 128;
        kernel
    };
    let (free, all) = (strided(4).check(), strided(128).check());
    assert_eq!(free.cores[0].counters().shared_conflicts, 0);
    assert_eq!(all.cores[0].counters().shared_conflicts, 31);
    assert_eq!(all.cycles - free.cycles, 31);
}

#[test]
fn an_atomic_is_as_late_as_a_load_and_as_many_cycles_as_it_keeps_shared_memory() {
    let run = |inst: &str| {
        let mut kernel =
            Kernel::bare(&format!("mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2; {inst}; add.u32 %r2, %r2, 1;"));
        kernel.dynamic_shared = 32 * 4;
        let bench = kernel.check();
        (bench.cycles, bench.cores[0].counters().shared_conflicts)
    };
    let load = run("ld.shared.u32 %r2, [%r1]");
    for atomic in [run("atom.shared.add.u32 %r2, [%r1], 1"), run("atom.shared.add.u32 %r2, [0], 1")] {
        assert_eq!(atomic.0 - load.0, atomic.1 - load.1);
    }
}

#[test]
fn narrow_and_vector_accesses_keep_their_bytes_in_shared_memory() {
    let mut kernel = Kernel::new(
        "mov.u32 %r3, %tid.x; shl.b32 %r4, %r3, 4; mul.wide.u32 %rd3, %r0, 16; add.u64 %rd3, %rd1, %rd3;
         ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd3]; st.shared.v4.u32 [%r4], {%r10, %r11, %r12, %r13};
         st.shared.u8 [%r4+5], %r13; st.shared.u16 [%r4+10], %r10; ld.shared.v2.u64 {%rd5, %rd6}, [%r4];
         ld.shared.s8 %r14, [%r4+5]; ld.shared.v2.s16 {%r15, %r16}, [%r4+8];
         st.global.v2.u64 [%rd2], {%rd5, %rd6}; st.global.v4.u32 [%rd2+16], {%r14, %r15, %r16, %r3};",
    );
    kernel.dynamic_shared = 64 * 16;
    kernel.grid(3, 64).check();
}
