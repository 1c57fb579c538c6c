//! Tests of atomics in shared and global memory, and of fences.

use rtl::kernel::Mode;

use super::bench::Kernel;
use super::issue_log::issues;

#[test]
fn atomics_of_all_lanes_on_one_shared_word_take_place_one_after_the_other() {
    let kernel = Kernel::new(
        ".shared .align 8 .b8 s[16]; st.shared.u64 [s], 0; bar.sync 0; atom.shared.add.u32 %r3, [s], 3; bar.sync 0;
         ld.shared.u32 %r4, [s]; st.global.u32 [%rd2], %r4;",
    );
    let bench = kernel.grid(2, 128).check();
    assert_eq!(bench.out(0), 3 * 128);
    assert!(bench.cores[0].counters().shared_conflicts >= 4 * 31);
}

#[test]
fn lanes_of_a_warp_get_old_values_in_ascending_order() {
    let kernel = Kernel::new(
        ".shared .align 8 .b8 s[16]; st.shared.u64 [s+8], 5; bar.warp.sync -1;
         atom.shared.inc.u32 %r3, [s+8], 20; atom.global.add.u64 %rd4, [%rd0+8192], %rd0; st.global.u32 [%rd2], %r3;",
    );
    let bench = kernel.check();
    assert_eq!([bench.out(0), bench.out(15 * 16), bench.out(16 * 16)], [5, 20, 0]);
}

#[test]
fn warps_wait_for_each_other_at_an_mbarrier() {
    // Each thread passes its number to a thread of the next warp, twice. The first wait names the barrier
    // phase by the state that the arrival returned. The second wait names it by its parity, and the barrier
    // by a generic address.
    let kernel = Kernel::new(
        ".shared .align 8 .b8 s[1024]; mov.u32 %r3, %tid.x; setp.eq.u32 %p1, %r3, 0; mov.u32 %r4, %ntid.x;
         @%p1 mbarrier.init.shared.b64 [s], %r4; bar.sync 0; mov.u32 %r5, s; mad.lo.u32 %r6, %r3, 4, %r5;
         add.u32 %r7, %r3, 32; rem.u32 %r7, %r7, %r4; mad.lo.u32 %r7, %r7, 4, %r5; st.shared.u32 [%r6+8], %r0;
         mbarrier.arrive.shared.b64 %rd4, [s]; FIRST: mbarrier.test_wait.shared.b64 %p2, [s], %rd4; @!%p2 bra FIRST;
         ld.shared.u32 %r8, [%r7+8]; mul.lo.u32 %r9, %r8, 3; st.shared.u32 [%r6+512], %r9;
         mov.u64 %rd5, s; cvta.shared.u64 %rd5, %rd5; mbarrier.arrive.b64 _, [%rd5];
         SECOND: mbarrier.try_wait.parity.b64 %p2, [%rd5], 1; @!%p2 bra SECOND;
         ld.shared.u32 %r10, [%r7+512]; st.global.v2.u32 [%rd2], {%r8, %r10};",
    );
    let bench = kernel.grid(2, 96).check();
    assert_eq!([bench.out(0), bench.out(1)], [32, 3 * 64]);
    assert_eq!([bench.out(16 * 95), bench.out(16 * 95 + 1)], [31, 3 * 63]);
}

#[test]
fn every_function_and_width_agrees_in_both_spaces() {
    let mut body = String::from(
        ".shared .align 8 .b8 s[2048]; mov.u32 %r3, %tid.x; shl.b32 %r4, %r3, 3; mov.u32 %r5, s; add.u32 %r4, %r4, %r5;
         and.b32 %r6, %r0, 7; mul.wide.u32 %rd5, %r0, 0x40000003; st.shared.u64 [%r4], %rd5;
         cvt.rn.f32.u32 %f1, %r0; cvt.rn.f64.u32 %fd1, %r0; mov.u32 %r7, 0; mov.u64 %rd7, 0;\n",
    );
    let narrow =
        ["add.u32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32", "exch.b32", "inc.u32", "dec.u32", "add.s32"];
    for op in narrow {
        for place in ["shared", "global"] {
            let address = if place == "shared" { "%r4" } else { "%rd2" };
            body.push_str(&format!(
                "atom.{place}.{op} %r8, [{address}], %r6; xor.b32 %r7, %r7, %r8; add.u32 %r6, %r6, 3;\n"
            ));
        }
    }
    for op in ["add.u64", "min.s64", "max.u64", "exch.b64", "xor.b64"] {
        body.push_str(&format!(
            "atom.shared.{op} %rd8, [%r4], %rd5; xor.b64 %rd7, %rd7, %rd8; add.u64 %rd5, %rd5, 9;\n"
        ));
        body.push_str(&format!("atom.global.{op} %rd8, [%rd2+8], %rd5; xor.b64 %rd7, %rd7, %rd8;\n"));
    }
    body.push_str(
        "atom.global.add.f32 %f2, [%rd2+16], %f1; red.global.add.f64 [%rd2+24], %fd1; atom.shared.cas.b32 %r9, [%r4], %r8, 77;
         ld.shared.u32 %r10, [%r4]; atom.shared.cas.b32 %r11, [%r4], %r10, 78; atom.global.cas.b64 %rd9, [%rd2+32], 0, %rd7;
         atom.global.cas.b64 %rd10, [%rd2+32], %rd7, 5; red.global.add.u32 [%rd2+40], 4; membar.gl;
         ld.shared.u32 %r12, [%r4]; ld.global.u32 %r13, [%rd2+40];
         st.global.v4.u32 [%rd2+48], {%r7, %r11, %r12, %r13};",
    );
    Kernel::new(&body).grid(2, 64).check();
}

#[test]
fn a_generic_atomic_goes_to_shared_or_global_memory() {
    let kernel = Kernel::new(
        ".shared .align 8 .b8 s[8]; st.shared.u64 [s], 0; bar.sync 0; mov.u64 %rd4, s; cvta.shared.u64 %rd4, %rd4;
         and.b32 %r3, %r0, 1; setp.eq.u32 %p1, %r3, 1; add.u64 %rd5, %rd0, 16384; selp.b64 %rd4, %rd4, %rd5, %p1;
         atom.add.u32 %r4, [%rd4], 1; bar.sync 0; ld.shared.u32 %r5, [s]; st.global.u32 [%rd2], %r5;",
    );
    let bench = kernel.grid(2, 96).check();
    assert_eq!([bench.out(0), bench.out(4096)], [48, 96]);
}

#[test]
fn a_barrier_waits_for_atomics_as_it_does_for_stores() {
    let kernel = Kernel::new(
        "atom.global.add.u32 %r3, [%rd0+32768], 1; bar.sync 0; ld.global.u32 %r4, [%rd0+32768]; st.global.u32 [%rd2], %r4;",
    );
    let bench = kernel.grid(1, 256).check();
    assert_eq!([bench.out(0), bench.out(255 * 16)], [256, 256]);
}

/// Returns the number of cycles from the issue of a global load to the issue of an addition that does not use
/// the loaded value. The instructions `between` are executed between the two.
fn delay_behind(between: &str) -> u64 {
    let mut kernel =
        Kernel::bare(&format!("ld.param.u64 %rd0, [out]; ld.global.u32 %r3, [%rd0]; {between} add.u32 %r4, %r5, 1;"));
    kernel.delay = 1000;
    kernel.seed = 3;
    let log = issues(&kernel);
    let add = kernel.program().insts.len() as u64 - 2;
    let cycle = |pc| log.iter().find(|issue| issue.pc == pc).map_or(0, |issue| issue.cycle);
    cycle(add) - cycle(1)
}

#[test]
fn a_fence_waits_until_the_loads_before_it_are_answered() {
    let (without, with) = (delay_behind(""), delay_behind("membar.gl;"));
    assert!(without < 10 && with > 50, "{without} and {with} cycles");
}

#[test]
fn a_fence_waits_until_the_stores_before_it_are_acknowledged() {
    let (without, with) =
        (delay_behind("st.global.u32 [%rd0], 1;"), delay_behind("st.global.u32 [%rd0], 1; membar.cta;"));
    assert!(without < 10 && with > 50, "{without} and {with} cycles");
}

#[test]
fn reductions_of_many_warps_add_up() {
    let bench = Kernel::new("red.global.add.u32 [%rd0+32768], %r0;").grid(8, 96).run(Mode::default());
    assert_eq!(bench.out(8192), (0..768).sum::<u32>());
}

#[test]
fn an_atomic_holds_its_collector_until_it_has_its_operands_as_a_store_does() {
    let apart = |body: &str| {
        let mut kernel = Kernel::bare(&format!("ld.param.u64 %rd0, [out]; {body}")).grid(1, 64);
        (kernel.config.operands.banks, kernel.config.operands.memory_collectors) = (1, 1);
        let log: Vec<u64> = issues(&kernel).iter().filter(|issue| issue.pc == 1).map(|issue| issue.cycle).collect();
        kernel.check();
        log[1] - log[0]
    };
    let (store, atomic) = (apart("st.global.u32 [%rd0], %r3;"), apart("red.global.add.u32 [%rd0], %r3;"));
    assert_eq!((store, atomic), (3, 3));
}
