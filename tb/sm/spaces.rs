//! Tests of constants, local memory, generic addresses, textures and surfaces.

use isa::texture::{AddressMode, Filter, Texture};
use isa::types::Type;
use rtl::kernel::Mode;
use rtl::l1::access::MemorySpace;
use rtl::sm::SmCore;

use super::bench::{INPUT, Kernel};

#[test]
fn constants_come_through_their_own_space() {
    let kernel = Kernel::new(
        "and.b32 %r3, %r0, 3; mul.wide.u32 %rd3, %r3, 4; mov.u64 %rd4, table; add.u64 %rd4, %rd4, %rd3;
         ld.const.u32 %r4, [%rd4]; ld.const.u64 %rd5, [table+8]; ld.const.v2.u64 {%rd6, %rd7}, [table];
         st.global.u32 [%rd2], %r4; st.global.u64 [%rd2+8], %rd5; st.global.v2.u64 [%rd2+16], {%rd6, %rd7};",
    );
    let bench = kernel.declare(".const .align 16 .u32 table[4] = {5, 6, 7, 8};").grid(2, 48).check();
    assert_eq!([bench.out(16), bench.out(2), bench.out(3)], [6, 7, 8]);
    assert!(bench.memory.spaces[MemorySpace::Const as usize] >= 4 * 4);
}

/// Creates a kernel that stores values of all widths in local memory and reads them back.
fn spilling() -> Kernel {
    Kernel::new(
        ".local .align 16 .b8 spill[48]; mov.u64 %rd4, spill; mul.wide.u32 %rd5, %r0, %r0;
         st.local.u64 [%rd4], %rd5; st.local.u8 [%rd4+13], %r0; st.local.u16 [%rd4+14], %r0; st.local.u8 [%rd4+12], 200;
         and.b32 %r3, %r0, 3; mul.wide.u32 %rd6, %r3, 4; add.u64 %rd6, %rd4, %rd6; st.local.u32 [%rd6+16], %r0;
         st.local.v4.u32 [%rd4+32], {%r0, %r1, %r2, %r3}; st.local.v4.u8 [%rd4+8], {%r0, %r1, %r2, %r3};
         ld.local.u64 %rd7, [%rd4]; ld.local.s8 %r4, [%rd4+12]; ld.local.v2.u16 {%r5, %r6}, [%rd4+12];
         ld.local.u32 %r7, [%rd6+16]; ld.local.v2.u64 {%rd8, %rd9}, [%rd4+32]; ld.local.v4.u8 {%r8, %r9, %r10, %r11}, [%rd4+8];
         ld.local.v4.u32 {%r12, %r13, %r14, %r15}, [%rd4+32]; ld.local.u32 %r16, [%rd4];
         st.global.u64 [%rd2], %rd7; st.global.v4.u32 [%rd2+16], {%r4, %r5, %r6, %r7};
         st.global.v2.u64 [%rd2+32], {%rd8, %rd9}; st.global.v4.u32 [%rd2+48], {%r12, %r15, %r10, %r11};
         st.global.u32 [%rd2+8], %r16; st.global.u32 [%rd2+12], %r8;",
    )
}

#[test]
fn every_thread_finds_its_own_local_memory_at_every_width() {
    let bench = spilling().grid(6, 96).check();
    let at = 100 * 16;
    assert_eq!([bench.out(at), bench.out(at + 4), bench.out(at + 7)], [10_000, -56i32 as u32, 100]);
}

#[test]
fn a_lane_that_is_switched_off_leaves_its_local_memory_alone() {
    let kernel = Kernel::new(
        ".local .u64 mine; st.local.u64 [mine], 5; and.b32 %r3, %r0, 1; setp.eq.u32 %p0, %r3, 0;
         @%p0 st.local.u64 [mine], 6; ld.local.u64 %rd4, [mine]; @%p0 ld.local.u64 %rd4, [mine];
         st.global.u64 [%rd2], %rd4;",
    );
    let bench = kernel.grid(1, 64).check();
    assert_eq!([bench.out(0), bench.out(16)], [6, 5]);
}

/// Creates a kernel with generic accesses. The low bits of a thread's index select whether the thread
/// accesses global, shared or local memory.
fn generic() -> Kernel {
    let mut kernel = Kernel::new(
        ".local .align 8 .b8 l[16]; .shared .align 8 .b8 s[2048];
         mov.u32 %r3, %tid.x; shl.b32 %r4, %r3, 3; cvt.u64.u32 %rd3, %r4; mov.u64 %rd4, s; add.u64 %rd4, %rd4, %rd3;
         cvta.shared.u64 %rd4, %rd4; mov.u64 %rd5, l; cvta.local.u64 %rd5, %rd5; cvta.global.u64 %rd6, %rd2;
         and.b32 %r5, %r0, 3; setp.eq.u32 %p1, %r5, 1; setp.eq.u32 %p2, %r5, 2;
         selp.b64 %rd7, %rd4, %rd6, %p1; selp.b64 %rd7, %rd5, %rd7, %p2;
         mul.wide.u32 %rd8, %r0, 7; st.u64 [%rd7], %rd8; ld.u64 %rd9, [%rd7]; ld.u16 %r6, [%rd7];
         setp.gt.u32 %p3, %r0, 5; mov.u32 %r7, 0; @%p3 ld.u32 %r7, [%rd7]; ld.u64 %rd7, [%rd7];
         st.global.u64 [%rd2+16], %rd9; st.global.v2.u32 [%rd2+32], {%r6, %r7}; st.global.u64 [%rd2+40], %rd7;",
    );
    kernel.delay = 20;
    kernel
}

#[test]
fn generic_addresses_of_one_instruction_may_lie_in_different_spaces() {
    let bench = generic().grid(3, 96).check();
    for thread in [4, 9, 14, 200] {
        assert_eq!([bench.out(thread * 16 + 4), bench.out(thread * 16 + 10)], [thread as u32 * 7; 2]);
    }
}

#[test]
fn an_instruction_issued_in_parts_counts_once() {
    let bench = generic().grid(1, 64).run(Mode::default());
    let counters = bench.cores[0].counters();
    let instructions = generic().program().insts.len() as u64;
    assert_eq!(counters.warp_instructions, 2 * instructions);
}

#[test]
fn parameters_can_be_read_through_a_generic_address() {
    let kernel = Kernel::new(
        "mov.b64 %rd3, out; cvta.param.u64 %rd3, %rd3; setp.gt.u32 %p1, %r0, 7;
         selp.b64 %rd3, %rd3, %rd1, %p1; ld.u64 %rd4, [%rd3]; st.global.u64 [%rd2], %rd4;",
    );
    let bench = kernel.grid(1, 40).check();
    assert_eq!(bench.out(16 * 9), super::bench::OUT as u32);
}

fn texture() -> Texture {
    Texture {
        name: "t".into(),
        base: INPUT,
        extent: [13, 5, 1],
        ty: Type::F32,
        channels: 1,
        outside: AddressMode::Clamp,
        normalized: false,
        unit: false,
        filter: Filter::Point,
    }
}

/// Creates a kernel that fetches texels around the corner of a texture, with floating-point and integer
/// coordinates.
fn fetching(textures: Vec<Texture>) -> Kernel {
    let mut kernel = Kernel::new(
        "and.b32 %r3, %r0, 15; shr.u32 %r4, %r0, 4; sub.u32 %r5, %r3, 1; cvt.rn.f32.s32 %f1, %r5; cvt.rn.f32.u32 %f2, %r4;
         add.f32 %f1, %f1, 0f3F000000;
         tex.2d.v4.u32.f32 {%r8, %r9, %r10, %r11}, [t, {%f1, %f2}];
         tex.2d.v4.u32.s32 {%r12, %r13, %r14, %r15}, [t, {%r5, %r4}];
         st.global.v4.u32 [%rd2], {%r8, %r9, %r10, %r11}; st.global.v4.u32 [%rd2+16], {%r12, %r13, %r14, %r15};",
    );
    kernel.textures = textures;
    kernel.declare(".global .texref t;").grid(2, 96)
}

/// Runs a kernel that causes a fault, and returns the text of the fault.
fn complaint(kernel: &Kernel) -> String {
    let bench = kernel.run(Mode::default());
    bench.cores.iter().find_map(SmCore::fault).expect("no fault").kind.to_string()
}

#[test]
fn a_fetch_of_no_texture_or_from_outside_of_every_buffer_is_a_fault() {
    let outside = fetching(vec![Texture { base: 0x7000_0000, ..texture() }]);
    assert_eq!(
        complaint(&outside),
        "texture fetch of 4 bytes at 0x70000000 is outside every buffer; nearest is `input`, 0x20000000 to 0x2000ffff"
    );
    let none = Kernel::new(
        "mov.u64 %rd4, 9; mov.u32 %r3, 0; tex.2d.v4.u32.s32 {%r4, %r5, %r6, %r7}, [%rd4, {%r3, %r3}];
         st.global.u32 [%rd2], %r4;",
    );
    assert_eq!(complaint(&none), "texture handle 0x9 is not a texture of the launch file");
}

#[test]
fn texels_are_what_the_interpreter_finds_in_every_format() {
    for (ty, channels) in [(Type::F32, 1), (Type::U8, 4), (Type::S16, 2), (Type::F32, 4), (Type::U32, 2), (Type::S8, 1)]
    {
        for outside in [AddressMode::Clamp, AddressMode::Zero] {
            let bench = fetching(vec![Texture { ty, channels, outside, ..texture() }]).check();
            assert!(bench.memory.spaces[MemorySpace::Texture as usize] > 0);
        }
    }
}

/// Creates a kernel whose threads fetch with real coordinates around the borders of a filtered texture. Results
/// overwrite the coordinates.
fn filtering(texture: Texture) -> Kernel {
    let mut kernel = Kernel::new(
        "and.b32 %r3, %r0, 15; shr.u32 %r4, %r0, 4; cvt.rn.f32.u32 %f1, %r3; cvt.rn.f32.u32 %f2, %r4;
         mov.f32 %f5, 0f3F666666; fma.rn.f32 %f1, %f1, %f5, 0fBF000000; fma.rn.f32 %f2, %f2, %f5, 0fBF000000;
         mov.f32 %f6, %f1; mov.f32 %f7, %f2;
         tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f1, %f2}]; st.global.v4.f32 [%rd2], {%f1, %f2, %f3, %f4};
         tex.1d.v4.f32.f32 {%f1, _, _, %f4}, [t, {%f6}]; tex.3d.v4.f32.f32 {%f2, %f3, _, _}, [t, {%f6, %f7, %f6, %f6}];
         st.global.v4.f32 [%rd2+16], {%f1, %f2, %f3, %f4};",
    );
    kernel.textures = vec![Texture { filter: Filter::Linear, ..texture }];
    kernel.declare(".global .texref t;").grid(2, 96)
}

#[test]
fn filtered_fetches_return_the_sums_that_the_interpreter_finds() {
    let cases = [
        (Type::F32, 1, AddressMode::Clamp, false),
        (Type::F32, 4, AddressMode::Zero, false),
        (Type::U8, 4, AddressMode::Clamp, false),
        (Type::F16, 2, AddressMode::Wrap, true),
        (Type::S16, 2, AddressMode::Mirror, true),
    ];
    for (ty, channels, outside, normalized) in cases {
        let texture = Texture { extent: [5, 3, 2], ty, channels, outside, normalized, unit: true, ..texture() };
        filtering(texture).check();
    }
}

#[test]
fn an_integer_result_of_a_filtered_texture_is_a_fault() {
    let texture = Texture { filter: Filter::Linear, ..texture() };
    assert_eq!(
        complaint(&fetching(vec![texture])),
        "an integer result from texture `t`, which is filtered linearly; expected `.f32`"
    );
}

/// Creates a kernel that stores to a surface in the row of a register, loads from it, and reduces it.
fn accessing(surface: Texture, bounds: &str, row: &str) -> Kernel {
    let mut kernel = Kernel::new(&format!(
        "and.b32 %r3, %r0, 15; shl.b32 %r3, %r3, 2; shr.u32 %r4, %r0, 4; sub.u32 %r5, %r4, 1; setp.ne.u32 %p1, %r3, 8;
         @%p1 sust.b.2d.b32.{bounds} [s, {{%r3, {row}}}], {{%r0}}; bar.sync 0;
         mov.u32 %r8, 1; mov.u32 %r9, 2;
         @%p1 suld.b.2d.v2.b16.{bounds} {{%r8, %r9}}, [s, {{%r3, %r4}}]; suld.b.2d.b32.{bounds} %r10, [s, {{%r3, %r5}}];
         bar.sync 0; mov.u64 %rd4, 1; sured.b.max.2d.s32.{bounds} [%rd4, {{%r3, %r5}}], %r4;
         st.global.u32 [%rd2], %r8; st.global.u32 [%rd2+4], %r9; st.global.u32 [%rd2+8], %r10;"
    ));
    kernel.textures = vec![surface];
    kernel.declare(".global .surfref s;").grid(1, 96)
}

#[test]
fn surface_accesses_do_what_the_interpreter_does_inside_and_outside() {
    let surface = Texture { ty: Type::S32, ..texture() };
    // The threads of the first row, whose `y` is -1, and those beyond column 12 are outside.
    accessing(surface.clone(), "zero", "%r5").check();
    // All stores are inside, so that no two threads store to the same element.
    accessing(Texture { extent: [16, 8, 1], ..surface.clone() }, "clamp", "%r4").check();
    assert_eq!(
        complaint(&accessing(surface, "trap", "%r5")),
        "surface access of 4 bytes at [0, -1] is outside of `t`, whose extent is 52 bytes x 5 x 1"
    );
}

#[test]
fn a_fetch_with_no_lane_inside_asks_nobody() {
    let mut kernel = Kernel::new(
        "add.u32 %r3, %r0, 100; tex.1d.v4.u32.s32 {%r8, %r9, %r10, %r11}, [t, {%r3}];
         st.global.v4.u32 [%rd2], {%r8, %r9, %r10, %r11};",
    );
    kernel.textures = vec![texture()];
    let bench = kernel.declare(".global .texref t;").check();
    assert_eq!(bench.memory.spaces[MemorySpace::Texture as usize], 0);
}

#[test]
fn lanes_may_bring_handles_of_different_textures() {
    let mut kernel = Kernel::new(
        "and.b32 %r3, %r0, 1; add.u32 %r3, %r3, 1; cvt.u64.u32 %rd4, %r3; and.b32 %r4, %r0, 7;
         tex.1d.v4.u32.s32 {%r8, %r9, %r10, %r11}, [%rd4, {%r4}]; st.global.v4.u32 [%rd2], {%r8, %r9, %r10, %r11};",
    );
    let other = Texture { base: INPUT + 0x400, ty: Type::U8, channels: 2, ..texture() };
    kernel.textures = vec![texture(), other];
    kernel.grid(2, 64).check();
}
