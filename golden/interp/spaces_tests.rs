use isa::alloc::allocate;
use isa::program::{Addresses, Program};
use isa::spill::spill;
use isa::texture::{AddressMode, Filter, Texture};
use isa::types::Type;
use ptx::Source;
use ptx::data::data;

use crate::interp::{Launch, run};
use crate::memory::FlatMemory;

const OUT: u64 = 0x10_0000;
const DATA: u64 = 0x20_0000;
const CONSTANTS: u64 = 0x30_0000;

const REGISTERS: &str = ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<20>; .reg .f32 %f<9>;\n\
     .reg .b64 %rd<20>; .reg .f64 %fd<9>;\n";

/// Runs kernel `k(out)` with the given body: with virtual registers, after register allocation, and with as
/// few registers as possible, so that most values are spilled. Returns one word per thread: the value that `body` leaves in `%r1`. `%r0` holds the thread number.
pub(in crate::interp) fn ran(file: &str, threads: u32, body: &str) -> Result<Vec<u32>, String> {
    let text = format!(
        ".version 7.1\n.target sm_35\n.address_size 64\n{file}\n.entry k(.param .u64 out) {{\n{REGISTERS}\
         ld.param.u64 %rd10, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd11, %r0, 4;\n\
         add.s64 %rd11, %rd10, %rd11;\n{body}\nst.global.u32 [%rd11], %r1; ret; }}"
    );
    let source = Source::new("k.ptx", &text);
    let module = source.parse().map_err(|e| e.to_string())?;
    let mut program = source.kernel("k").map_err(|e| e.to_string())?;
    let mut module = data(&source, &module).map_err(|e| e.to_string())?;
    let globals = (0..module.globals.len() as u64).map(|i| DATA + 0x1000 * i).collect();
    let texture = Texture {
        name: "t".into(),
        base: DATA,
        extent: [4, 2, 1],
        ty: Type::S32,
        channels: 1,
        outside: AddressMode::Clamp,
        normalized: false,
        unit: false,
        filter: Filter::Point,
    };
    let filtered = Texture { name: "f".into(), ty: Type::F32, filter: Filter::Linear, ..texture.clone() };
    let textures = vec![Some(1); module.textures.len()];
    let addresses = Addresses { globals, constants: CONSTANTS, textures, bound: [texture, filtered].into() };
    module.link(&addresses);
    let mut spilled = spill(program.clone(), 1).map_err(|e| e.to_string())?;
    spilled.link(&addresses).map_err(|e| e.to_string())?;
    program.link(&addresses).map_err(|e| e.to_string())?;
    let physical = allocate(&program).map_err(|e| e.to_string())?;
    let run = |program: &Program| {
        let mut memory = FlatMemory::new();
        memory.place("out", OUT, vec![0; 4 * threads as usize]).unwrap();
        memory.place("constants", CONSTANTS, module.constants.bytes.clone()).unwrap();
        for (block, at) in module.globals.iter().zip(&addresses.globals) {
            memory.place(&block.name, *at, block.bytes.clone()).unwrap();
        }
        let (grid, block) = ([1; 3], [threads, 1, 1]);
        let params = &OUT.to_le_bytes();
        let launch = Launch { program, grid, block, dynamic_shared: 64, params, max_instructions: 1 << 20 };
        run(&launch, &mut memory).map_err(|e| e.to_string())?;
        let bytes = memory.buffer("out").unwrap().bytes.chunks_exact(4);
        Ok::<_, String>(bytes.map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect())
    };
    let words = run(&program)?;
    assert_eq!(run(&physical)?, words, "virtual and physical registers differ");
    let spilled = allocate(&spilled).map_err(|e| e.to_string())?;
    assert_eq!(run(&spilled)?, words, "spilled registers differ");
    Ok(words)
}

pub(in crate::interp) fn results(file: &str, threads: u32, body: &str) -> Vec<u32> {
    ran(file, threads, body).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn variables_of_the_file_hold_what_it_says_and_pointers_lead_to_them() {
    let file = ".global .u32 a[3] = {10, 20, 30}; .const .u32 c[2] = {5, 6};\n\
                .global .u64 p = generic(a)+8; .const .u64 q = generic(c)+4;";
    let body = "ld.global.u32 %r1, [a+4]; ld.global.u64 %rd1, [p]; ld.u32 %r2, [%rd1]; ld.const.u64 %rd2, [q];\n\
                ld.u32 %r3, [%rd2]; mov.u64 %rd3, c; ld.const.u32 %r4, [%rd3]; cvta.const.u64 %rd4, %rd3;\n\
                ld.u32 %r5, [%rd4+4]; isspacep.const %p1, %rd4; selp.u32 %r6, 100, 0, %p1;\n\
                add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4; add.u32 %r1, %r1, %r5;\n\
                add.u32 %r1, %r1, %r6;";
    assert_eq!(results(file, 1, body), [20 + 30 + 6 + 5 + 6 + 100]);
}

#[test]
fn every_thread_has_local_memory_of_its_own() {
    let body = ".local .align 8 .b8 __local_depot0[16]; .reg .b64 %SP, %SPL;\n\
                mov.u64 %SPL, __local_depot0; cvta.local.u64 %SP, %SPL; st.u32 [%SP+4], %r0;\n\
                st.local.u32 [%SPL+8], 7; bar.sync 0; ld.local.u32 %r1, [%SPL+4]; ld.u32 %r2, [%SP+8];\n\
                mad.lo.u32 %r1, %r1, 10, %r2;";
    assert_eq!(results("", 4, body), [7, 17, 27, 37]);
}

#[test]
fn a_generic_address_finds_its_space() {
    let file = ".extern .shared .align 4 .b8 dynamic[]; .global .u32 g = 3;";
    let body = ".local .u32 l; .shared .u32 s;\n\
                st.local.u32 [l], 1; st.shared.u32 [s], 2; mov.u64 %rd1, l; cvta.local.u64 %rd1, %rd1;\n\
                mov.u64 %rd2, s; cvta.shared.u64 %rd2, %rd2; mov.u64 %rd3, g; cvta.global.u64 %rd3, %rd3;\n\
                mov.u64 %rd5, dynamic; cvta.shared.u64 %rd5, %rd5; st.u32 [%rd5+60], 4;\n\
                setp.eq.u32 %p1, %r0, 1; setp.eq.u32 %p2, %r0, 2; setp.eq.u32 %p3, %r0, 3; mov.u64 %rd4, %rd1;\n\
                selp.b64 %rd4, %rd2, %rd4, %p1; selp.b64 %rd4, %rd3, %rd4, %p2; add.s64 %rd5, %rd5, 60;\n\
                selp.b64 %rd4, %rd5, %rd4, %p3; ld.u32 %r1, [%rd4]; isspacep.shared %p4, %rd4;\n\
                selp.u32 %r2, 10, 0, %p4; cvta.to.shared.u64 %rd6, %rd2; mov.u64 %rd7, s;\n\
                setp.ne.u64 %p5, %rd6, %rd7; add.u32 %r1, %r1, %r2; @%p5 mov.u32 %r1, 99;";
    assert_eq!(results(file, 4, body), [1, 12, 3, 14]);
    let fault = ran("", 1, "mov.u64 %rd1, -8; ld.u32 %r1, [%rd1];").unwrap_err();
    assert!(fault.ends_with("the generic address 0xfffffffffffffff8 lies in no state space"), "{fault}");
}

#[test]
fn an_address_is_in_the_spaces_that_hold_it() {
    // Each bit of the result stands for one state space, from bit 0 upward: global, const, shared, local,
    // param.
    let asks: String = ["global", "const", "shared", "local", "param"]
        .into_iter()
        .enumerate()
        .map(|(bit, space)| {
            format!("isspacep.{space} %p1, %rd1; selp.u32 %r2, {}, 0, %p1; or.b32 %r1, %r1, %r2;\n", 1 << bit)
        })
        .collect();
    let file = ".const .u32 c[2] = {5, 6}; .global .u32 g = 3;";
    for (address, expected) in [
        ("mov.u64 %rd1, g; cvta.global.u64 %rd1, %rd1;", 0b00001),
        ("mov.u64 %rd1, c; cvta.const.u64 %rd1, %rd1;", 0b00010),
        ("mov.u64 %rd1, c; cvta.const.u64 %rd1, %rd1; add.u64 %rd1, %rd1, 7;", 0b00010),
        ("mov.u64 %rd1, c; cvta.const.u64 %rd1, %rd1; add.u64 %rd1, %rd1, 8;", 0b00001),
        (".shared .u32 s; mov.u64 %rd1, s; cvta.shared.u64 %rd1, %rd1;", 0b00100),
        (".local .u32 l; mov.u64 %rd1, l; cvta.local.u64 %rd1, %rd1;", 0b01000),
        // The address window of parameters lies within that of global memory, so both bits are set.
        ("cvta.param.u64 %rd1, out;", 0b10001),
        ("mov.u64 %rd1, 0; cvta.param.u64 %rd1, %rd1;", 0b10001),
    ] {
        assert_eq!(results(file, 1, &format!("{address} mov.u32 %r1, 0;\n{asks}")), [expected], "{address}");
    }
    // Runs the `isspacep` queries in a file that declares no constants.
    assert_eq!(results("", 1, &format!("ld.param.u64 %rd1, [out]; mov.u32 %r1, 0;\n{asks}")), [1]);
}

#[test]
fn a_converted_integer_is_extended_to_the_width_of_its_register() {
    let of = |conversion: &str| {
        let body = format!(
            "mov.u64 %rd1, -1; mov.u32 %r2, -3; mov.u64 %rd2, 0x7fffffff8001fffe; mov.f32 %f1, 0fC0A00000;\n\
            {conversion}\nshr.u64 %rd3, %rd1, 28; cvt.u32.u64 %r1, %rd3; cvt.u32.u64 %r3, %rd1; shl.b32 %r3, %r3, 16;\n\
            xor.b32 %r1, %r1, %r3;"
        );
        results("", 1, &body)[0]
    };
    let seen = |value: u64| (value >> 28) as u32 ^ (value as u32) << 16;
    for (conversion, value) in [
        ("cvt.u16.u32 %rd1, %r2;", 0xfffd),
        ("cvt.s16.s32 %rd1, %r2;", -3i64 as u64),
        ("cvt.s32.s64 %rd1, %rd2;", 0xffff_ffff_8001_fffe),
        ("cvt.u32.u64 %rd1, %rd2;", 0x8001_fffe),
        ("cvt.sat.s8.s64 %rd1, %rd2;", 127),
        ("cvt.u8.u64 %rd1, %rd2;", 0xfe),
        ("cvt.rzi.s32.f32 %rd1, %f1;", -5i64 as u64),
    ] {
        assert_eq!(of(conversion), seen(value), "{conversion}");
    }
    assert!(ran("", 1, "cvt.rn.f32.u32 %rd1, %r0;").unwrap_err().contains("expected 32 bits for `.f32`"));
}

#[test]
fn halves_of_16_bits_and_halves_as_constants_are_moved_and_added() {
    let body = ".reg .b8 %b<3>; mov.b16 %rs1, 0x1234; mov.b16 {%b1, %b2}, %rs1; mov.b16 %rs2, {%b2, %b1};\n\
        mov.b16 %rs3, 0x3C00; add.f16 %rs3, %rs3, 0x4000; mov.b32 %r1, {%rs2, %rs3};";
    assert_eq!(results("", 1, body), [0x4200_3412]);
}

#[test]
fn spaces_end_where_they_end() {
    let local = ran("", 1, ".local .u32 l; ld.local.u32 %r1, [l+16];").unwrap_err();
    assert!(local.ends_with("4 bytes at 0x10 of local memory: out of range, it has 16 bytes"), "{local}");
    let constant = ran(".const .u32 c;", 1, "ld.const.u32 %r1, [c+4];").unwrap_err();
    assert!(constant.ends_with("4 bytes at 0x4 of the constants: out of range, it has 4 bytes"), "{constant}");
    let trap = ran("", 1, "trap;").unwrap_err();
    assert!(trap.ends_with("trap: the kernel stopped itself, as a failed assertion does"), "{trap}");
}

#[test]
fn functions_take_parameters_and_return_values_by_every_path() {
    let file = ".func (.param .b32 r) pick(.param .b32 a, .param .b32 b) {\n\
        .reg .b32 %r<4>; .reg .pred %p1; ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b];\n\
        setp.lt.u32 %p1, %r1, 2; @%p1 bra small; add.u32 %r3, %r1, %r2; st.param.b32 [r], %r3; ret;\n\
        small: st.param.b32 [r], %r2; ret; }";
    let call = |a: &str, out: &str| {
        format!(
            "{{ .param .b32 p0; .param .b32 p1; .param .b32 r0; st.param.b32 [p0], {a}; st.param.b32 [p1], 50;\n\
             call.uni (r0), pick, (p0, p1); ld.param.b32 {out}, [r0]; }}"
        )
    };
    let body = format!("{} {} shl.b32 %r2, %r2, 8; or.b32 %r1, %r1, %r2;", call("%r0", "%r1"), call("9", "%r2"));
    let nine = 59 << 8;
    assert_eq!(results(file, 4, &body), [50 | nine, 50 | nine, 52 | nine, 53 | nine]);
}

#[test]
fn a_struct_is_stored_in_pieces_and_loaded_in_others() {
    let file = ".func (.param .align 8 .b8 r[8]) swap(.param .align 8 .b8 s[8]) {\n\
        .reg .b32 %r<4>; .reg .b16 %h<4>; ld.param.v2.u16 {%h1, %h2}, [s]; ld.param.s8 %r1, [s+7];\n\
        st.param.v2.b16 [r], {%h2, %h1}; st.param.b32 [r+4], %r1; ret; }";
    let body = "{ .param .align 8 .b8 s0[8]; .param .align 8 .b8 r0[8]; st.param.b64 [s0], 0x8700000000020001;\n\
        call (r0), swap, (s0); ld.param.u32 %r1, [r0]; ld.param.u32 %r2, [r0+4]; } sub.u32 %r1, %r1, %r2;";
    assert_eq!(results(file, 1, body), [0x0001_0002 + 0x79]);
}

#[test]
fn a_parameter_whose_address_is_taken_lies_in_local_memory() {
    let file = ".func (.reg .u32 %out) at(.param .align 4 .b8 s[16], .reg .u32 %i) {\n\
        .reg .b64 %rd<4>; mov.b64 %rd1, s; mul.wide.u32 %rd2, %i, 4; add.s64 %rd3, %rd1, %rd2;\n\
        ld.param.u32 %out, [%rd3]; ret; }";
    let body = "{ .param .align 4 .b8 s0[16]; st.param.b32 [s0], 10; st.param.b32 [s0+4], 11;\n\
        st.param.v2.b32 [s0+8], {12, 13}; call (%r1), at, (s0, %r0); }";
    assert_eq!(results(file, 4, body), [10, 11, 12, 13]);
}

#[test]
fn a_variable_can_be_argument_and_result_of_a_call() {
    let file = ".func (.param .u32 r) f(.param .u32 a) { .reg .u32 t; st.param.u32 [r], 10; ld.param.u32 t, [a];\n\
        add.u32 t, t, 1; st.param.u32 [r], t; ret; }\n\
        .func (.param .b8 r[8]) swap(.param .b8 a[8]) { .reg .u32 t; ld.param.u32 t, [a]; st.param.u32 [r+4], t;\n\
        ld.param.u32 t, [a+4]; st.param.u32 [r], t; ret; }";
    let body = "mov.u32 %r1, 3; { .param .u32 z; st.param.u32 [z], %r1; call (z), f, (z); ld.param.u32 %r1, [z]; }\n\
        { .param .b8 s[8]; st.param.u32 [s], 100; st.param.u32 [s+4], 20; call (s), swap, (s);\n\
        ld.param.u32 %r2, [s]; ld.param.u32 %r3, [s+4]; } sub.u32 %r2, %r3, %r2; add.u32 %r1, %r1, %r2;";
    assert_eq!(results(file, 1, body), [84]);
}

#[test]
fn a_function_can_return_a_predicate() {
    let file = ".func (.reg .pred r, .reg .u32 n) f(.reg .u32 a) { setp.eq.u32 r, a, 2; mov.u32 n, 7; ret; }";
    let body = "call (%p1, %r2), f, (%r0); selp.u32 %r1, 5, %r2, %p1; setp.eq.u32 %p2, %r0, 3; mov.pred %p3, %p2;\n\
        @%p2 call (%p3, _), f, (%r0); @%p3 add.u32 %r1, %r1, 100;";
    assert_eq!(results(file, 4, body), [7, 7, 5, 7]);
}

#[test]
fn calls_under_a_guard_nest_and_leave_the_caller_its_registers() {
    let file = ".func (.reg .u32 %o) inner(.reg .u32 %i) { .reg .b32 %r<3>; add.u32 %r1, %i, 1; mov.u32 %o, %r1; ret; }\n\
        .func (.reg .u32 %o) outer(.reg .u32 %i) { .reg .b32 %r<3>; mov.u32 %r1, 100; call (%r2), inner, (%i);\n\
        add.u32 %o, %r1, %r2; }";
    let body = "mov.u32 %r1, 5; setp.gt.u32 %p1, %r0, 1; @%p1 call (%r1), outer, (%r0);";
    assert_eq!(results(file, 4, body), [5, 5, 103, 104]);
    let error = ran(".extern .func f();", 1, "call f;").unwrap_err();
    assert!(error.contains("`f` is declared but has no body in this file"), "{error}");
}

#[test]
fn an_indexed_branch_reaches_each_of_its_targets() {
    let body = "t: .branchtargets A, B, C, D, E; brx.idx %r0, t;\n\
        A: mov.u32 %r1, 10; bra done; B: mov.u32 %r1, 11; bra done; C: mov.u32 %r1, 12; bra done;\n\
        D: mov.u32 %r1, 13; bra done; E: mov.u32 %r1, 14; done:";
    assert_eq!(results("", 5, body), [10, 11, 12, 13, 14]);
}

#[test]
fn atomics_return_what_was_there_before() {
    let body = ".shared .u32 s; .shared .align 8 .f64 d; mov.u64 %rd1, s; cvta.shared.u64 %rd1, %rd1;\n\
        atom.shared.add.u32 %r1, [s], 2; atom.max.u32 %r2, [%rd1], 3; red.shared.add.f64 [d], 0d3FE0000000000000;\n\
        atom.acq_rel.gpu.shared.cas.b32 %r3, [s], 8, 100; bar.sync 0; ld.shared.f64 %fd1, [d];\n\
        cvt.rzi.u32.f64 %r4, %fd1; ld.shared.u32 %r5, [s]; mad.lo.u32 %r1, %r4, 1000, %r5;";
    // The shared word is 0 at first. Four additions of 2 make it 8, and the maximum with 3 leaves it at 8.
    // Then lane 0 swaps it from 8 to 100, and the compare-and-swap of the other lanes fails.
    assert_eq!(results("", 4, body), [2100; 4]);
}

#[test]
fn textures_are_read_by_coordinates() {
    let file = ".global .s32 texels[8] = {0, 1, 2, 3, 10, 11, 12, 13}; .global .texref t;";
    let body = "cvt.rn.f32.u32 %f1, %r0; mov.f32 %f2, 0f3FC00000;\n\
        tex.2d.v4.s32.f32 {%r1, _, _, %r2}, [t, {%f1, %f2}]; mov.u64 %rd1, 1;\n\
        tex.1d.v4.s32.s32 {%r3, %r4, %r5, %r6}, [%rd1, {%r0}]; mad.lo.u32 %r1, %r3, 100, %r1;";
    assert_eq!(results(file, 5, body), [10, 111, 212, 313, 13]);
}

#[test]
fn a_filtered_fetch_returns_the_weighted_sum_of_the_texels_around_the_point() {
    let file = ".global .f32 texels[8] = {0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0};";
    // Thread t fetches at x = t + 0.75 and y = 1: a quarter of the way to the next column, half way between
    // the rows. The fifth thread lies outside, where the last column continues.
    let fetch = "cvt.rn.f32.u32 %f1, %r0; add.f32 %f1, %f1, 0f3F400000; mov.f32 %f2, 0f3F800000; mov.u64 %rd1, 2;";
    let body = format!("{fetch} tex.2d.v4.f32.f32 {{%f1, %f2, %f3, %f4}}, [%rd1, {{%f1, %f2}}]; mov.b32 %r1, %f1;");
    assert_eq!(results(file, 5, &body), [5.25, 6.25, 7.25, 8.0, 8.0].map(f32::to_bits));
    let integer = format!("{fetch} tex.2d.v4.s32.f32 {{%r1, %r2, %r3, %r4}}, [%rd1, {{%f1, %f2}}];");
    let error = ran(file, 1, &integer).unwrap_err();
    assert!(error.ends_with("an integer result from texture `f`, which is filtered linearly"), "{error}");
}

#[test]
fn a_surface_is_loaded_stored_and_reduced_by_bytes_of_its_rows() {
    let file = ".global .s32 texels[8] = {0, 1, 2, 3, 10, 11, 12, 13}; .global .surfref s;";
    let load = |form: &str| format!("shl.b32 %r2, %r0, 2; mov.u32 %r1, 77; suld.b.{form} {{%r1}}, [s, {{%r2, 1}}];");
    assert_eq!(results(file, 5, &load("2d.b32.zero")), [10, 11, 12, 13, 0]);
    assert_eq!(results(file, 5, &load("2d.b32.clamp")), [10, 11, 12, 13, 13]);
    assert_eq!(results(file, 4, &load("2d.ca.b8.trap")), [10, 11, 12, 13]);
    let error = ran(file, 5, &load("2d.b32.trap")).unwrap_err();
    assert!(error.ends_with("thread [4, 0, 0]: an access to surface `t` at [16, 1, 0], which is outside"), "{error}");
    // The guard keeps the second thread from loading.
    let guarded = "setp.ne.u32 %p1, %r0, 1; shl.b32 %r2, %r0, 2; mov.u32 %r1, 77; mov.u64 %rd1, 1;\n\
        @%p1 suld.b.1d.v2.b32.zero {%r1, %r3}, [%rd1, %r2]; @%p1 add.u32 %r1, %r1, %r3;";
    assert_eq!(results(file, 4, guarded), [1, 77, 5, 0]);
    let stored = "shl.b32 %r2, %r0, 3; add.u32 %r4, %r0, 20; mul.lo.u32 %r5, %r0, 30;\n\
        sust.b.2d.v2.b32.zero [s, {%r2, 1}], {%r4, %r5}; sured.b.add.2d.u32.clamp [s, {0, 7}], 100;\n\
        shl.b32 %r2, %r0, 2; suld.b.2d.b32.clamp {%r1}, [s, {%r2, 1}];";
    // The stores of the last two of four threads lie outside. All threads add to the first word.
    assert_eq!(results(file, 4, stored), [420, 0, 21, 30]);
}

#[test]
fn carries_go_from_word_to_word() {
    let body = "mov.u32 %r2, -1; add.cc.u32 %r3, %r2, %r0; addc.cc.u32 %r4, %r2, 0; addc.u32 %r5, 0, 0;\n\
        mad.lo.cc.u32 %r6, %r2, %r2, %r2; madc.hi.u32 %r7, %r2, %r2, 0; sub.cc.u32 %r8, %r0, 1; subc.u32 %r9, 5, 0;\n\
        mad.lo.u32 %r1, %r5, 1000, %r9; sub.u32 %r7, %r7, %r2; add.u32 %r1, %r1, %r7;";
    // The multiply-add with carry yields (2^32-1)^2 + 2^32-1 = 2^64 - 2^32: its high word is 2^32-1, its low
    // word 0.
    assert_eq!(results("", 2, body), [4, 1005]);
}

#[test]
fn what_has_no_operation_of_its_own_is_made_of_others() {
    let body = "set.lt.u32.s32 %r2, %r0, 2; and.b32 %r2, %r2, 1; set.gt.f32.u32 %f1, %r0, 0; cvt.rzi.u32.f32 %r3, %f1;\n\
        sub.s32 %r4, %r0, 2; slct.u32.s32 %r5, 4, 8, %r4; cnot.b32 %r6, %r0; mad24.lo.u32 %r7, %r0, 3, 16;\n\
        bfi.b32 %r8, 1, 0, %r0, 1; mov.f32 %f2, 0f00000001; testp.subnormal.f32 %p1, %f2;\n\
        testp.normal.f32 %p2, %f2; selp.u32 %r9, 256, 0, %p1; @%p2 mov.u32 %r9, 0;\n\
        add.u32 %r1, %r2, %r3; add.u32 %r1, %r1, %r5; add.u32 %r1, %r1, %r6; add.u32 %r1, %r1, %r7;\n\
        add.u32 %r1, %r1, %r8; add.u32 %r1, %r1, %r9;";
    let expected = |t: u32| {
        u32::from(t < 2)
            + u32::from(t > 0)
            + if t >= 2 { 4 } else { 8 }
            + u32::from(t == 0)
            + 3 * t
            + 16
            + (1 << t)
            + 256
    };
    assert_eq!(results("", 4, body), [0, 1, 2, 3].map(expected));
}
