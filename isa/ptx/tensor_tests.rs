//! Tests of `mma`, `ldmatrix` and `wmma`: the operations that they become, and the forms that are rejected.

use super::*;
use isa::program::{Dst, Inst, MatrixLoad, Op, Reg, Src};
use isa::tensor::{BitProduct, FORMS, Factor, Form, MatrixOrder, Sum, TILINGS, TensorOp};
use isa::types::{Space, Type};

fn source(body: &str) -> Source {
    let registers = ".reg .pred %p<4>; .reg .b32 %r<64>; .reg .f32 %f<64>; .reg .b64 %rd<32>; .reg .b16 %rs<4>;";
    let text = format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n.global .align 32 .b8 matrix[1024];\n
         .entry k(.param .u64 a) {{\n.shared .align 32 .b8 tile[2048]; {registers}\n{body}\n}}"
    );
    Source::new("k.ptx", &text)
}

fn lower(body: &str) -> Vec<Inst> {
    match source(body).kernel("k") {
        Ok(program) => program.insts,
        Err(error) => panic!("{error}: {:?}", error.help_text()),
    }
}

/// Returns the message and the help text of the error that a kernel with body `body` causes.
fn find_error(body: &str) -> (String, String) {
    match source(body).kernel("k") {
        Ok(program) => panic!("accepted as {:?}", program.insts),
        Err(error) => (error.message().to_owned(), error.help_text().unwrap_or_default().to_owned()),
    }
}

fn braces(kind: &str, numbers: std::ops::Range<u32>) -> String {
    let names: Vec<_> = numbers.map(|number| format!("%{kind}{number}")).collect();
    format!("{{{}}}", names.join(", "))
}

fn steps(insts: &[Inst]) -> Vec<(TensorOp, [Src; 6], [Dst; 2])> {
    let of = |inst: &Inst| match inst.op {
        Op::Tensor(op) => Some((op, inst.srcs, [inst.dsts[0], inst.dsts[1]])),
        _ => None,
    };
    insts.iter().filter_map(of).collect()
}

fn mma(form: &Form, types: &str, d: &str, a: &str, b: &str, c: &str) -> String {
    let [alayout, blayout] = form.majors.map(|major| if major == MatrixOrder::Row { "row" } else { "col" });
    format!("mma.sync.aligned.{}.{alayout}.{blayout}.{types} {d}, {a}, {b}, {c};", form.shape)
}

#[test]
fn every_form_and_type_becomes_its_steps() {
    let (wraps, saturates) = (Sum::S32 { saturates: false }, Sum::S32 { saturates: true });
    for form in &FORMS {
        let all = [
            (16, "f32.f16.f16.f32", [Factor::F16; 2], Sum::F32),
            (16, "f16.f16.f16.f16", [Factor::F16; 2], Sum::F16),
            (16, "f32.bf16.bf16.f32", [Factor::Bf16; 2], Sum::F32),
            (32, "f32.tf32.tf32.f32", [Factor::Tf32; 2], Sum::F32),
            (8, "s32.u8.s8.s32", [Factor::U8, Factor::S8], wraps),
            (8, "satfinite.s32.s8.s8.s32", [Factor::S8; 2], saturates),
            (8, "f32.e4m3.e5m2.f32", [Factor::E4m3, Factor::E5m2], Sum::F32),
            (8, "f16.e5m2.e5m2.f16", [Factor::E5m2; 2], Sum::F16),
            (1, "s32.b1.b1.s32.and.popc", [Factor::B1(BitProduct::And); 2], wraps),
            (1, "s32.b1.b1.s32.xor.popc", [Factor::B1(BitProduct::Xor); 2], wraps),
            (4, "s32.u4.s4.s32", [Factor::U4, Factor::S4], wraps),
            (4, "satfinite.s32.s4.s4.s32", [Factor::S4; 2], saturates),
            (64, "f64.f64.f64.f64", [Factor::F64; 2], Sum::F64),
        ];
        for (_, types, factors, sum) in all.into_iter().filter(|(bits, ..)| *bits == form.factor_bits) {
            let sums = form.sums(sum).elements() / sum.per_register();
            let registers = |elements: u32| elements / form.per_register();
            let kind = if form.is_double() { "rd" } else { "r" };
            let (a, b) =
                (braces(kind, 0..registers(form.a.elements())), braces(kind, 8..8 + registers(form.b.elements())));
            let c = braces(kind, 16..16 + sums);
            let text = mma(form, types, &c, &a, &b, &c);
            if types.contains("bf16") && form.products > 1 || types.contains("e5m2") && form.shape == "m8n8k16" {
                assert!(find_error(&text).0.contains("is not supported"), "{text}");
                continue;
            }
            let insts = lower(&text);
            let ops: Vec<_> = steps(&insts).into_iter().map(|(op, ..)| op).collect();
            assert_eq!(ops, form.steps(factors, sum), "{} {types}", form.shape);
            // In the tested instruction, D and C are in the same registers, so no copies are needed. The
            // program consists of the steps of the product and the final exit.
            assert_eq!(insts.len(), ops.len() + 1);
        }
    }
}

#[test]
fn a_step_reads_the_registers_of_its_rows() {
    let insts = lower(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, \
         {%f4, %f5, %f6, 0f00000000};",
    );
    // Expected register numbers: registers are numbered in the order in which their names first occur in the
    // instruction, which is D, A, B, C.
    let src = |index| Src::Reg(Reg { index, wide: false });
    let dst = |index| Dst::Reg(Reg { index, wide: false });
    let [(_, first, to), (_, second, then)] = steps(&insts)[..] else { panic!("{insts:?}") };
    assert_eq!((first, to), ([src(4), src(6), src(8), src(9), src(10), src(11)], [dst(0), dst(1)]));
    assert_eq!((second, then), ([src(5), src(7), src(8), src(9), src(12), Src::Imm(0)], [dst(2), dst(3)]));
}

#[test]
fn a_step_of_doubles_reads_four_columns_and_adds_to_the_step_before_it() {
    let insts = lower(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%rd0, %rd1, %rd2, %rd3}, {%rd4, %rd5, %rd6, %rd7}, \
         {%rd8, %rd9}, {%rd10, %rd11, %rd12, 0d3FF0000000000000};",
    );
    // Registers are numbered in the order in which their names first occur: those of D, A, B, then C.
    let src = |index| Src::Reg(Reg { index, wide: true });
    let step =
        |a, b, c, d| ([src(a), Src::None, src(b), Src::None, c, Src::None], Dst::Reg(Reg { index: d, wide: true }));
    let of_c = [src(10), src(11), src(12), Src::Imm(0x3ff0_0000_0000_0000)];
    let expected = [
        step(4, 8, of_c[0], 0),
        step(4, 8, of_c[1], 1),
        step(5, 8, of_c[2], 2),
        step(5, 8, of_c[3], 3),
        step(6, 9, src(0), 0),
        step(6, 9, src(1), 1),
        step(7, 9, src(2), 2),
        step(7, 9, src(3), 3),
    ];
    let found: Vec<_> = steps(&insts).into_iter().map(|(_, srcs, dsts)| (srcs, dsts[0])).collect();
    assert_eq!(found, expected);
    let (message, _) =
        find_error("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%rd0, %rd1}, {%r0}, {%rd3}, {%rd4, %rd5};");
    assert_eq!(message, "register `%r0` is `.b32`, expected 64 bits for `.b64`");
    // If a register of D is also a register of a factor, the result is first written to a temporary register.
    let late = lower("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%rd2, %rd1}, {%rd2}, {%rd3}, {%rd4, %rd5};");
    assert_eq!(late.iter().filter(|inst| inst.op == Op::Mov(Type::B64)).count(), 2);
}

#[test]
fn what_a_later_step_reads_is_not_written_before() {
    for (d, copies) in [
        ("{%r8, %r9, %r10, %r11}", 0),  // C
        ("{%r9, %r8, %r10, %r11}", 4),  // C, but in another order
        ("{%r0, %r1, %r2, %r3}", 4),    // A
        ("{%r20, %r21, %r22, %r4}", 4), // B
        ("{%r20, %r21, %r22, %r23}", 0),
    ] {
        let insts = lower(&format!(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d}, {{%r0, %r1, %r2, %r3}}, {{%r4, %r5}}, \
             {{%r8, %r9, %r10, %r11}};"
        ));
        assert_eq!(insts.iter().filter(|inst| matches!(inst.op, Op::Mov(_))).count(), copies, "{d}");
    }
}

#[test]
fn other_products_are_refused_with_those_that_there_are() {
    let registers = "{%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r6}, {%r0, %r1, %r2, %r3}";
    for (form, is_legal) in [
        ("mma.sync.aligned.m16n8k32.row.col.s32.s4.s8.s32", false),
        ("mma.sync.aligned.m16n8k16.row.col.s32.s4.s4.s32", false),
        ("mma.sync.aligned.m16n8k64.row.col.f32.u4.u4.f32", false),
        ("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32", false),
        ("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor", false),
        ("mma.sync.aligned.m16n8k256.row.col.satfinite.s32.b1.b1.s32.xor.popc", false),
        ("mma.sync.aligned.m16n8k64.row.col.s32.b1.b1.s32.and.popc", false),
        ("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e2m1.f32", true),
        ("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", true),
        ("mma.sync.aligned.m8n8k4.row.row.f64.f64.f64.f64", false),
        ("mma.sync.aligned.m16n8k32.row.col.f64.f64.f64.f64", false),
        ("mma.sync.aligned.m8n8k4.row.col.f32.f64.f64.f32", false),
        ("mma.sync.aligned.m16n8k16.row.col.f32.s8.s8.f32", false),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.bf16.f32", false),
        ("mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16", false),
        ("mma.sync.aligned.m16n8k8.row.row.f32.f16.f16.f32", false),
        ("mma.sync.aligned.m8n8k4.row.col.f32.bf16.bf16.f32", false),
        ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16", false),
        ("mma.sync.m16n8k8.row.col.f32.f16.f16.f32", false),
        ("mma.aligned", false),
    ] {
        let (message, help) = find_error(&format!("{form} {registers};"));
        let refusal = ["instruction `FORM` is not supported", "`FORM` is not modeled"][usize::from(is_legal)];
        assert_eq!(message, refusal.replace("FORM", form));
        assert!(FORMS.iter().all(|form| help.contains(&format!(".{}", form.shape))), "{help}");
        assert!(help.contains(".f32.f16.f16.f32") && help.contains(".f32.bf16.bf16.f32"), "{help}");
    }
    let form = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32";
    let (message, _) = find_error(&format!("{form} {{%r0, %r1}}, {{%r4, %r5}}, {{%r6}}, {{%r0, %r1}};"));
    assert_eq!(message, "a fragment of 2 registers, expected 4");
    let (message, _) =
        find_error(&format!("{form} {{%r0, %r1, %r2, _}}, {{%r4, %r5}}, {{%r6}}, {{%r0, %r1, %r2, %r3}};"));
    assert_eq!(message, "expected a register for each element of the result");
    let (message, _) =
        find_error(&format!("{form} {{%r0, %r1, %r2, %rd1}}, {{%r4, %r5}}, {{%r6}}, {{%r0, %r1, %r2, %r3}};"));
    assert_eq!(message, "register `%rd1` is `.b64`, expected 32 bits for `.b32`");
    let (message, _) = find_error(
        "mma.sync.aligned.m16n8k8.row.col.satfinite.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r6}, {%r0, %r1, %r2, %r3};",
    );
    assert_eq!(message, "`.satfinite` is not supported on `mma`");
}

#[test]
fn matrices_are_loaded_by_their_rows() {
    for (count, registers) in [(1, "{%r1}"), (2, "{%r1, %r2}"), (4, "{%r1, %r2, %r3, %r4}")] {
        for (trans, transposed) in [("", false), (".trans", true)] {
            let insts = lower(&format!("ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {registers}, [%r9+32];"));
            let Op::LoadMatrix(load, mem) = insts[0].op else { panic!("{:?}", insts[0]) };
            assert_eq!(load, MatrixLoad { count, transposed });
            assert_eq!((mem.space, mem.bytes(), mem.offset), (Space::Shared, 16, 32));
            assert_eq!(load.rows().count_ones(), 8 * u32::from(count));
            assert_eq!(insts[0].dest_regs().count(), usize::from(count));
        }
    }
    let by_name = lower("ldmatrix.sync.aligned.x1.m8n8.shared::cta.b16 {%r1}, [tile+16];");
    assert_eq!(by_name[0].mem().map(|mem| (mem.base, mem.offset)), Some((None, 16)));
    // A generic address must be in the window of shared memory. The base of the window is subtracted from it.
    let generic = lower("ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%rd1+16];");
    assert_eq!(generic[0].srcs[1], Src::Imm(isa::map::window(Space::Shared)));
    assert!(matches!(generic[1].op, Op::LoadMatrix(_, mem) if mem.space == Space::Shared && mem.offset == 16));
    let refusal = |form: &str| find_error(&format!("ldmatrix.{form} {{%r1}}, [%r9];"));
    assert_eq!(refusal("sync.aligned.m8n8.x3.shared.b16").0, "`ldmatrix` takes no modifier `.x3`");
    let global = "instruction `ldmatrix.sync.aligned.m8n8.x1.global.b16` is not supported";
    assert_eq!(refusal("sync.aligned.m8n8.x1.global.b16").0, global);
    assert_eq!(refusal("sync.aligned.m8n8.x1.b16").0, "expected a generic address in a 64-bit register");
    let (message, help) = refusal("sync.aligned.m16n16.x1.trans.shared.b8");
    assert_eq!(message, "`ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8` is not modeled");
    assert!(help.contains("ldmatrix.sync.aligned.m8n8 with .x1, .x2 or .x4"), "{help}");
    assert_eq!(
        find_error("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1}, [%r9];").0,
        "a fragment of 1 register, expected 2"
    );
}

#[test]
fn a_matrix_in_registers_is_transposed_by_all_lanes() {
    let insts = lower("movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;");
    assert_eq!(insts[0].op, Op::Warp(isa::lanes::WarpOp::Transpose));
    assert_eq!((insts[0].dest_regs().count(), insts[0].source_regs().count()), (1, 1));
    for form in ["movmatrix.sync.aligned.m8n8.b16", "movmatrix.aligned.m8n8.trans.b16"] {
        let (message, help) = find_error(&format!("{form} %r1, %r2;"));
        assert_eq!(message, format!("instruction `{form}` is not supported"));
        assert_eq!(help, "supported is movmatrix.sync.aligned.m8n8.trans.b16");
    }
    let (message, _) = find_error("movmatrix.sync.aligned.m16n8.trans.b16 %r1, %r2;");
    assert_eq!(message, "instruction `movmatrix.sync.aligned.m16n8.trans.b16` is not supported");
    let (message, _) = find_error("movmatrix.sync.aligned.m8n8.trans.b16 %rd1, %r2;");
    assert_eq!(message, "register `%rd1` is `.b64`, expected 32 bits for `.b32`");
}

/// Returns the number of memory accesses to which an instruction is lowered, and the size of each access in
/// bytes.
fn accesses(body: &str) -> (usize, u32) {
    let insts = lower(body);
    let all: Vec<_> = insts.iter().filter_map(|inst| inst.mem().map(|mem| mem.bytes())).collect();
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{insts:?}");
    (all.len(), all[0])
}

#[test]
fn fragments_are_loaded_and_stored_by_the_widest_accesses_of_their_layout() {
    let eight = braces("r", 0..8);
    for tiling in &TILINGS {
        let shape = tiling.shape;
        let load = |matrix: &str, order: &str, ty: &str, registers: &str| {
            accesses(&format!("wmma.load.{matrix}.sync.aligned.{order}.{shape}.global.{ty} {registers}, [%rd1], %r9;"))
        };
        assert_eq!([load("a", "row", "f16", &eight), load("b", "col", "f16", &eight)], [(2, 16); 2]);
        assert_eq!([load("a", "col", "f16", &eight), load("b", "row", "f16", &eight)], [(4, 8); 2]);
        assert_eq!(load("c", "row", "f32", &eight), (4, 8));
        assert_eq!(load("c", "col", "f32", &eight), (8, 4));
        assert_eq!(load("c", "row", "f16", "{%r0, %r1, %r2, %r3}"), (1, 16));
        assert_eq!(load("c", "col", "f16", "{%r0, %r1, %r2, %r3}"), (8, 2));
        let store = |order: &str| {
            accesses(&format!("wmma.store.d.sync.aligned.{order}.{shape}.shared.f32 [%r9], {eight}, 24;"))
        };
        assert_eq!([store("row"), store("col")], [(4, 8), (8, 4)]);
    }
}

#[test]
fn a_fragment_may_come_from_a_variable() {
    let insts = source(&format!("wmma.load.a.sync.aligned.row.m16n16k16.f16 {}, [matrix+32];", braces("r", 0..8)));
    let program = insts.kernel("k").unwrap();
    // The copy of the address must be the only instruction with a relocation, so that the address is added
    // only once.
    let [relocation] = program.relocations[..] else { panic!("{:?}", program.relocations) };
    assert!(matches!(program.insts[relocation.pc as usize].op, Op::Mov(Type::B64)));
}

#[test]
fn a_product_of_fragments_is_four_of_m8n8k4() {
    for (sum, registers, count) in [("f32", 8, 16), ("f16", 4, 8)] {
        let (a, b, c) = (braces("r", 0..8), braces("r", 8..16), braces("r", 16..16 + registers));
        let body = format!("wmma.mma.sync.aligned.col.row.m16n16k16.{sum}.{sum} {c}, {a}, {b}, {c};");
        let insts = lower(&body);
        let steps = steps(&insts);
        assert_eq!(steps.len(), count);
        assert!(steps.iter().all(|(op, ..)| op.form.majors == [MatrixOrder::Column, MatrixOrder::Row]));
        let every: Vec<u16> = steps
            .iter()
            .flat_map(|(_, srcs, _)| &srcs[..4])
            .filter_map(|src| match src {
                Src::Reg(reg) => Some(reg.index),
                _ => None,
            })
            .collect();
        let named = every.iter().collect::<std::collections::BTreeSet<_>>();
        assert_eq!(named.len(), 16, "all of A and B is read");
    }
}

#[test]
fn other_fragments_are_refused_with_those_that_there_are() {
    let eight = braces("r", 0..8);
    for form in [
        "wmma.load.a.sync.aligned.row.m16n16k16.global.s8",
        "wmma.load.a.sync.aligned.row.m16n16k8.global.f16",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f32",
        "wmma.load.d.sync.aligned.row.m16n16k16.global.f32",
        "wmma.load.a.aligned.row.m16n16k16.global.f16",
        "wmma.load.a.sync.aligned.m16n16k16.global.f16",
        "wmma.store.c.sync.aligned.row.m16n16k16.global.f32",
    ] {
        let (message, help) = find_error(&format!("{form} {eight}, [%rd1];"));
        let is_legal = form.ends_with("s8");
        let refusal = ["instruction `FORM` is not supported", "`FORM` is not modeled"][usize::from(is_legal)];
        assert_eq!(message, refusal.replace("FORM", form));
        assert!(TILINGS.iter().all(|tiling| help.contains(&format!(".{}", tiling.shape))), "{help}");
    }
    for space in ["const", "local", "param"] {
        let (message, _) = find_error(&format!("wmma.load.a.sync.aligned.row.m16n16k16.{space}.f16 {eight}, [%rd1];"));
        assert_eq!(message, format!("a matrix in `.{space}` memory, expected `.global` or `.shared`"));
    }
    let product =
        |form: &str| find_error(&format!("wmma.mma.sync.aligned.{form} {eight}, {eight}, {eight}, {eight};")).0;
    assert_eq!(
        product("row.col.m16n16k16.f32.f16"),
        "instruction `wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16` is not supported"
    );
    assert_eq!(product("row.col.m16n16k16.f32.f32.satfinite"), "`.satfinite` is not supported on `wmma`");
    assert_eq!(product("row.col.m16n16k16.f16.f16"), "a fragment of 8 registers, expected 4");
}
