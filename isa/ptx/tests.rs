use miette::GraphicalReportHandler;
use proptest::prelude::*;

use super::ast::{OperandKind, Statement, Storage};
use super::*;
use isa::alloc::allocate;
use isa::lanes::{AluFn, AluOp, AtomicFn, CompareOp, ConvertOp, WarpOp};
use isa::program::{BarrierKind, Dst, Guard, Inst, LaunchLimits, MemOp, NO_PC, Op, Param, Reg, Src, Unit};
use isa::spill::spill;
use isa::texture::{Bounds, SurfaceOp};
use isa::types::{Axis, CacheOp, Cmp, Logic, Rounding, Scope, Space, Special, Type};

const HEADER: &str = ".version 7.1\n.target sm_35\n.address_size 64\n";

const REGISTERS: &str = ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; \
                         .reg .b64 %rd<9>; .reg .f64 %fd<9>;\n";

fn source(text: &str) -> Source {
    Source::new("k.ptx", &format!("{HEADER}{text}"))
}

/// Returns the source of a kernel `k` with the given body, and with declarations of commonly used registers
/// and parameters.
fn around(body: &str) -> Source {
    source(&format!(".entry k(.param .u64 a, .param .u32 n) {{\n{REGISTERS}{body}\n}}"))
}

fn lower(body: &str) -> Program {
    match around(body).kernel("k") {
        Ok(program) => program,
        Err(error) => panic!("{error}: {:?}", error.help_text()),
    }
}

fn op(body: &str) -> Op {
    lower(body).insts[0].op
}

fn error(body: &str) -> String {
    match around(body).kernel("k") {
        Ok(program) => panic!("accepted as {:?}", program.insts),
        Err(error) => error.to_string(),
    }
}

fn reg(index: u16) -> Reg {
    Reg { index, wide: false }
}

#[test]
fn every_directive_and_oddity_of_the_syntax_is_read() {
    let text = r#"
/* a block * comment ** over
   two lines */
.version 8.4
.target sm_90a, texmode_independent // trailing
.address_size 64
	.file	1 "dir/a b.cu", 123456, 78
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);
.visible .global .align 4 .b8 table[24] = {1, 0x2, -3, 0b101, 017, {5, 6U}, 0f3F800000};
.weak .const .align 8 .u64 pointers[] = {generic(table)+8, table, 0};
.global .attribute(.managed) .align 4 .u32 managed;
.global .texref image;
.extern .shared .align 16 .b8 dynamic[];
.shared .align 4 .b8 tile[16][17];
.common .global .f32 one = 1.5e0;
.func (.reg .u32 %res) helper (.reg .u32 %in) { ret; }
.func .noreturn stop() ;
.visible .entry _Z3kernPfi(
	.param .u64 .ptr .global .align 1 _Z3kernPfi_param_0,
	.param .align 8 .b8 _Z3kernPfi_param_1[24],
	.param .f64 last
)
.maxntid 256, 2, 1
.minnctapersm 2
.maxnreg 64
.pragma "nounroll";
{
	.local .align 16 .b8 	__local_depot0[64];
	.reg .b64 	%SP, %SPL;
	.reg .pred 	%p<3>;
	.reg .v4 .f32 %quad;
	.loc	1 7 3, function_name $L__info_string0+4, inlined_at 1 12 5
$L__BB0_2:
LBB0_2: @!%p1 bra.uni $L__BB0_2;
	{ // callseq 0, 0
	.reg .b32 temp_param_reg;
	.param .b64 param0;
	st.param.b64 	[param0+0], %rd1;
	call.uni (retval0), vprintf, (param0, param1);
	} // callseq 0
prototype_0 : .callprototype ()_ (.param .b64 _);
	setp.lt.and.s32 %p1|%p2, %r1, -4, !%p0;
	ld.global.v4.f32 {%f1, _, %f3, %f4}, [%rd1+-16];
	tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [image, {%f5, %f6}];
	mov.u64 %rd1, tile+4;
	mov.u32 %r1, %tid.x;
	add.f64 %fd1, 0d3FF0000000000000, 1.5;
	add.s32 %r1, %r1, ~0x0F;
	.pragma "nounroll";
	;
	ret;
}
	.section	.debug_abbrev
	{
.b8 1                                   // Abbreviation Code
.b32 .debug_info
Lend:
	}
@@DWARF dwarf-1.0
"#;
    let source = Source::new("odd.ptx", text);
    let module = source.parse().unwrap();
    assert_eq!((module.version, module.address_size), ((8, 4), 64));
    assert_eq!(module.target.len(), 2);
    let names: Vec<_> = module.variables.iter().map(|v| v.name.text).collect();
    let expected = ["table", "pointers", "managed", "image", "dynamic", "tile", "one"];
    assert_eq!(names, expected);
    assert_eq!(module.variables[5].elements, Some(16 * 17));
    assert!(!module.variables[0].initial.is_empty() && module.variables[4].is_extern);
    let functions: Vec<_> = module.functions.iter().map(|f| (f.name.text, f.has_body)).collect();
    let expected = [("vprintf", false), ("helper", true), ("stop", false), ("_Z3kernPfi", true)];
    assert_eq!(functions, expected);
    let kernel = &module.functions[3];
    let directives: Vec<_> = kernel.directives.iter().map(|d| d.name.text).collect();
    assert_eq!(directives, ["maxntid", "minnctapersm", "maxnreg", "pragma"]);
    assert_eq!(kernel.directives[0].values, [256, 2, 1]);
    assert_eq!(kernel.params.len(), 3);
    assert_eq!(kernel.params[1].elements, Some(24));
    let labels = kernel.body.iter().filter(|s| matches!(s, Statement::Label(_))).count();
    assert_eq!(labels, 3);
    assert_eq!(kernel.body.iter().filter(|s| **s == Statement::Open).count(), 1);
    assert_eq!(kernel.body.iter().filter(|s| **s == Statement::Close).count(), 1);
    let local = kernel
        .body
        .iter()
        .any(|s| matches!(s, Statement::Declare(v) if v.storage == Storage::Local && v.elements == Some(64)));
    assert!(local);
}

#[test]
fn operands_keep_sign_offset_and_bits() {
    let source = around("st.global.u32 [%rd1+-4], -1; st.global.f32 [a+0], 0f3FC00000; st.global.f64 [16], -1.5;");
    let module = source.parse().unwrap();
    let operands: Vec<_> = module.functions[0]
        .body
        .iter()
        .filter_map(|s| match s {
            Statement::Instruction(inst) => Some(&inst.operands),
            _ => None,
        })
        .flatten()
        .map(|o| o.kind.clone())
        .collect();
    assert!(matches!(operands[0], OperandKind::Address(Some(name), -4) if name.text == "%rd1"));
    assert_eq!(operands[1], OperandKind::Integer(u64::MAX));
    assert!(matches!(operands[2], OperandKind::Address(Some(name), 0) if name.text == "a"));
    assert_eq!(operands[3], OperandKind::Single(0x3fc0_0000));
    assert_eq!(operands[4], OperandKind::Address(None, 16));
    assert_eq!(operands[5], OperandKind::Double((-1.5f64).to_bits()));
}

#[test]
fn parameters_are_laid_out_by_their_alignment() {
    let source = source(".entry k(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[20], .param .f32 d) { ret; }");
    let program = source.kernel("k").unwrap();
    let param = |name: &str, ty, offset, bytes, align| Param { name: name.into(), ty, offset, bytes, align };
    assert_eq!(
        program.params,
        [
            param("a", Type::U8, 0, 1, 1),
            param("b", Type::U64, 8, 8, 8),
            param("c", Type::B8, 16, 20, 16),
            param("d", Type::F32, 36, 4, 4),
        ]
    );
    assert_eq!(program.param_bytes, 40);
}

#[test]
fn shared_variables_that_are_named_get_addresses_and_the_dynamic_one_comes_last() {
    let source = source(
        ".extern .shared .align 16 .b8 dyn[]; .shared .align 4 .b8 unused[400];\n\
         .shared .align 4 .b8 first[6];\n\
         .entry k() { .shared .align 8 .b8 second[8]; .reg .b64 %rd<4>; .reg .b32 %r<2>;\n\
         mov.u64 %rd0, dyn; mov.u64 %rd1, first+4; mov.u64 %rd2, second;\n\
         ld.shared.u32 %r1, [second+4]; ret; }",
    );
    let program = source.kernel("k").unwrap();
    let addresses: Vec<_> = program.insts[..3].iter().map(|i| i.srcs[0]).collect();
    assert_eq!(addresses, [Src::Imm(16), Src::Imm(4), Src::Imm(8)]);
    let mem = program.insts[3].mem().unwrap();
    assert_eq!((mem.base, mem.offset), (None, 12));
    assert_eq!((program.shared_bytes, program.shared_align), (16, 16));
}

#[test]
fn a_register_name_means_its_innermost_declaration() {
    let program = lower(
        "mov.u32 %r1, 1; { .reg .b32 %r<3>; mov.u32 %r1, 2; } mov.u32 %r1, 3; \
         { .reg .b32 %r1<5>; mov.u32 %r14, 4; }",
    );
    let dsts: Vec<_> = program.insts[..4].iter().map(|i| i.dsts[0]).collect();
    assert_eq!(dsts, [0, 1, 0, 2].map(|i| Dst::Reg(reg(i))));
    assert_eq!(program.regs, 3);
}

#[test]
fn a_register_with_the_name_of_a_special_one_is_itself() {
    for name in ["%pmax", "%pmask1", "%pm0", "%envregx", "%reserved_smem_offset_x", "%laneid", "%clock64"] {
        let program = lower(&format!(".reg .b32 {name}; mov.u32 {name}, 5; add.u32 %r1, {name}, 1;"));
        assert_eq!(program.insts[1].srcs[0], Src::Reg(reg(0)), "{name}");
    }
    let family = lower(".reg .b32 %pm<4>; .reg .b32 %pmask<3>; mov.u32 %r1, %pm3; mov.u32 %r1, %pmask2;");
    assert!(family.insts[..2].iter().all(|inst| matches!(inst.srcs[0], Src::Reg(_))));
}

#[test]
fn special_registers_without_a_counter_read_as_0() {
    for name in ["%pm0", "%pm7", "%envreg0", "%envreg31", "%reserved_smem_offset_cap", "%reserved_smem_offset_1"] {
        assert_eq!(lower(&format!("mov.u32 %r1, {name};")).insts[0].srcs[0], Src::Imm(0), "{name}");
    }
    assert_eq!(lower("mov.u64 %rd1, %pm7_64;").insts[0].srcs[0], Src::Imm(0));
    for name in ["%pm", "%pm8", "%pmx", "%pm0_6", "%pm07", "%envreg", "%envreg32", "%envreg+1", "%reserved_smem_offset"]
    {
        assert!(around(&format!("mov.u32 %r1, {name};")).kernel("k").is_err(), "{name}");
    }
}

#[test]
fn arithmetic_takes_its_modifiers() {
    let plain = AluOp::new;
    assert_eq!(op("add.s32 %r1, %r2, -1;"), Op::Alu(plain(AluFn::Add, Type::S32)));
    assert_eq!(op("mul.wide.s32 %rd1, %r2, 4;"), Op::Alu(plain(AluFn::MulWide, Type::S32)));
    assert_eq!(op("mad.lo.s32 %r1, %r2, %r3, %r4;"), Op::Alu(plain(AluFn::Mad, Type::S32)));
    assert_eq!(op("mul.hi.u64 %rd1, %rd2, %rd3;"), Op::Alu(plain(AluFn::MulHi, Type::U64)));
    assert_eq!(op("fma.rn.f32 %f1, %f2, %f3, %f4;"), Op::Alu(plain(AluFn::Fma, Type::F32)));
    let up = AluOp { rounding: Rounding::Up, ftz: true, sat: true, ..plain(AluFn::Add, Type::F32) };
    assert_eq!(op("add.rp.ftz.sat.f32 %f1, %f2, 0f3F800000;"), Op::Alu(up));
    let fast = AluOp { approx: true, ftz: true, ..plain(AluFn::Div, Type::F32) };
    assert_eq!(op("div.approx.ftz.f32 %f1, %f2, %f3;"), Op::Alu(fast));
    let full = plain(AluFn::Div, Type::F32);
    assert_eq!(op("div.full.f32 %f1, %f2, %f3;"), Op::Alu(full));
    let root = AluOp { rounding: Rounding::Zero, ..plain(AluFn::Sqrt, Type::F64) };
    assert_eq!(op("sqrt.rz.f64 %fd1, %fd2;"), Op::Alu(root));
    let clamped = AluOp { sat: true, ..plain(AluFn::Sub, Type::S32) };
    assert_eq!(op("sub.sat.s32 %r1, %r2, %r3;"), Op::Alu(clamped));
    assert_eq!(op("shl.b64 %rd1, %rd2, %r3;"), Op::Alu(plain(AluFn::Shl, Type::B64)));
    let rotate = plain(AluFn::FunnelRight, Type::B32);
    assert_eq!(op("shf.r.wrap.b32 %r1, %r2, %r2, 7;"), Op::Alu(rotate));
    assert_eq!(op("shf.l.clamp.b32 %r1, %r2, %r2, 7;"), Op::Alu(plain(AluFn::FunnelLeftClamp, Type::B32)));
    assert_eq!(op("popc.b64 %r1, %rd2;"), Op::Alu(plain(AluFn::Popc, Type::B64)));
    assert_eq!(op("add.f32 %r1, %r2, %f3;"), Op::Alu(plain(AluFn::Add, Type::F32)));
}

#[test]
fn an_mbarrier_is_a_word_of_shared_memory() {
    let ops = |body: &str| lower(body).insts.iter().map(|inst| inst.op).collect::<Vec<_>>();
    let arrive = ops("mbarrier.arrive.shared.b64 %rd1, [%r1];");
    assert!(matches!(arrive[..], [Op::Fence(Scope::Cta), Op::Atomic(AtomicFn::Arrive, _), Op::Exit]), "{arrive:?}");
    let relaxed = ops("mbarrier.arrive_drop.relaxed.cta.shared::cta.b64 _, [%r1], %r2;");
    assert!(matches!(relaxed[..], [Op::Atomic(AtomicFn::ArriveAndDrop, _), Op::Exit]), "{relaxed:?}");
    let test = ops("mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 1;");
    assert!(matches!(test[..], [Op::Load(_), Op::Fence(Scope::Cta), Op::Alu(_), Op::Compare(_), Op::Exit]), "{test:?}");
    let init = lower("mbarrier.init.shared.b64 [%r1], 7;");
    assert_eq!(init.insts[0].srcs[0], Src::Imm(7 << 32 | 7));
    // Without `.noinc`, the instruction adds one pending arrival that the completed copies of the thread take
    // back. The copies are complete at once, so it becomes a no-op.
    assert_eq!(ops("cp.async.mbarrier.arrive.shared.b64 [%r1];")[0], Op::Nop);
    let cases = [
        ("mbarrier.init.shared.b64 [%r1], 0;", "an mbarrier object with a count of 0, expected 1 to 1048575"),
        (
            "mbarrier.init.shared.b64 [%r1], 1048576;",
            "an mbarrier object with a count of 1048576, expected 1 to 1048575",
        ),
        ("mbarrier.arrive.shared.b64 %rd1, [%r1], -5;", "an arrival with a count of -5, expected 1 to 1048575"),
        (
            "mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1], 0x1ffffffff;",
            "an arrival with a count of 8589934591, expected 1 to 1048575",
        ),
        ("mbarrier.arrive_drop.shared.b64 _, [%r1], 0;", "an arrival with a count of 0, expected 1 to 1048575"),
        ("mbarrier.init.global.b64 [%rd1], 1;", "an mbarrier object in `.global`, expected `.shared`"),
        ("mbarrier.init.b64 [%r1], 1;", "expected a generic address in a 64-bit register"),
        ("mbarrier.init.shared.b32 [%r1], 1;", "instruction `mbarrier.init.shared.b32` is not supported"),
        ("mbarrier.arrive.shared.b64 %r2, [%r1];", "register `%r2` is `.b32`, expected 64 bits for `.b64`"),
        ("mbarrier.arrive.acquire.cta.shared.b64 _, [%r1];", "`.acquire` is not supported on `mbarrier`"),
        ("mbarrier.test_wait.release.shared.b64 %p1, [%r1], %rd1;", "`.release` is not supported on `mbarrier`"),
        (
            "mbarrier.arrive.expect_tx.shared.b64 %rd1, [%r1], 8;",
            "`mbarrier.arrive.expect_tx.shared.b64` is not modeled",
        ),
        ("mbarrier.arrive.shared::cluster.b64 _, [%r1];", "`mbarrier.arrive.shared::cluster.b64` is not modeled"),
        ("mbarrier.complete_tx.shared.b64 [%r1], 8;", "`mbarrier.complete_tx.shared.b64` is not modeled"),
    ];
    for (body, message) in cases {
        assert_eq!(around(body).kernel("k").unwrap_err().message(), message, "{body}");
    }
    assert!(error("mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1];").contains("expected 3"));
    assert!(error("mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1, 5;").contains("expected 3"));
}

#[test]
fn fences_between_proxies_are_fences_of_the_one_proxy_that_there_is() {
    for form in [
        "fence.proxy.async",
        "fence.proxy.async.shared::cta",
        "membar.proxy.alias",
        "fence.mbarrier_init.release.cluster",
    ] {
        assert_eq!(op(&format!("{form};")), Op::Fence(Scope::Device), "{form}");
    }
    let refused = |form: &str| around(&format!("{form};")).kernel("k").unwrap_err().message().to_owned();
    for form in ["fence.proxy.tensormap::generic.release.gpu", "fence.proxy.async.shared::cluster"] {
        assert_eq!(refused(form), format!("`{form}` is not modeled"));
    }
    for (body, message) in [
        ("elect.sync %p1, -1;", "expected a register or `_`, and a predicate"),
        ("elect.sync %rd1|%p1, -1;", "register `%rd1` is `.b64`, expected 32 bits for `.b32`"),
        ("max.relu.u16x2 %r1, %r2, %r3;", "`.relu` is not supported on `max`"),
        ("add.relu.s16x2 %r1, %r2, %r3;", "`.relu` is not supported on `add`"),
        ("add.sat.u16x2 %r1, %r2, %r3;", "`.sat` is not supported on `add`"),
    ] {
        assert_eq!(around(body).kernel("k").unwrap_err().message(), message, "{body}");
    }
}

#[test]
fn every_form_of_the_table_is_lowered_or_said_not_to_be_modelled() {
    // `tex` is excluded, because the table of forms does not restrict its modifiers.
    for (is_modelled, form) in forms::simplest().filter(|(_, form)| form != "tex") {
        // The instructions under test have no operands. A modeled form may therefore be rejected for its
        // missing operands, but for no other reason. Instructions that are only hints need no operands and
        // are accepted.
        let refused = around(&format!("{form};")).kernel("k").err().map(|e| e.to_string()).unwrap_or_default();
        let is_form = ["is not modeled", "is not supported", "expected a type", "needs", "without", "no modifier"];
        let said = is_form.iter().find(|part| refused.contains(**part));
        let expected = if is_modelled { None } else { Some(&"is not modeled") };
        assert_eq!(said, expected, "{form}: {refused}");
    }
}

#[test]
fn a_mistake_is_told_from_an_instruction_that_is_not_modelled() {
    let cases = [
        ("ad.s32 %r1, %r2, 3;", "k.ptx:6:1: PTX has no instruction `ad`", "did you mean `add`?"),
        ("ld.globl.u32 %r1, [%rd1];", "k.ptx:6:3: `ld` takes no modifier `.globl`", "did you mean `.global`?"),
        ("add.s33 %r1, %r2, 3;", "k.ptx:6:4: `add` takes no modifier `.s33`", "did you mean `.s32`?"),
        (
            "red.global.v4.f32.add [%rd1], {%f1, %f1, %f1, %f1};",
            "k.ptx:6:1: `red.global.v4.f32.add` is not modeled",
            "instead: one `red` for each element, or code for `-arch=sm_80`",
        ),
        (
            "ld.global.v8.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, [%rd1];",
            "k.ptx:6:1: `ld.global.v8.f32` is not modeled",
            "instead: two vectors of 16 bytes, or code for `-arch=sm_90`",
        ),
        (
            "@%p1 wgmma.fence.sync.aligned;",
            "k.ptx:6:6: `wgmma.fence.sync.aligned` is not modeled",
            "instead: `mma.sync`, or code for `-arch=sm_80`",
        ),
    ];
    for (body, message, help) in cases {
        let error = around(body).kernel("k").unwrap_err();
        assert_eq!((error.to_string().as_str(), error.help_text()), (message, Some(help)));
    }
}

#[test]
fn what_is_legal_and_not_modelled_says_so() {
    let refused = |body: &str| {
        let error = around(body).kernel("k").unwrap_err();
        (error.message().to_owned(), error.help_text().unwrap_or_default().to_owned())
    };
    for (body, message, help) in [
        (".reg .b128 %q;", "`.b128` is not modeled", "use two elements of `.b64` instead"),
        (
            "vadd.u32.u32.u32 %r1.b1, %r2, %r3, %r4;",
            "a part of a register as the result of `vadd` is not modeled",
            "write to a register and insert the part with `bfi`",
        ),
        (
            "vset.u32.u32.lt %r1.h0, %r2, %r3, %r4;",
            "a part of a register as the result of `vset` is not modeled",
            "write to a register and insert the part with `bfi`",
        ),
        ("vmad.s32.s32.s32 %r1, %r2, -%r3, %r4;", "`vmad.s32.s32.s32` is not modeled", "instead: `mad`"),
        (
            "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}|%p1, [%rd1, {%f5, %f6}];",
            "`tex` with a predicate for resident memory, `%p1`, is not modeled",
            "a texture is always resident: leave the predicate out",
        ),
        (
            "tex.base.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];",
            "`tex.base.2d.v4.f32.f32` is not modeled",
            "instead: `tex` without `.base`: a texture has one level; \
             supported are tex.1d .2d .3d .a1d .a2d, with or without .level and .grad",
        ),
    ] {
        let (found, advice) = refused(body);
        assert_eq!(found, message, "{body}");
        assert!(advice.starts_with(help.split("; ").next().unwrap()), "{body}: {advice}");
    }
    for form in ["tex.cube.v4.f32.f32", "tex.2dms.v4.f32.s32", "tex.2d.v2.f16x2.f32", "tex.level.acube.v4.u32.f32"] {
        let (found, _) = refused(&format!("{form} {{%f1, %f2, %f3, %f4}}, [%rd1, {{%f5, %f6, %f7, %f8}}];"));
        assert_eq!(found, format!("`{form}` is not modeled"));
    }
    assert!(source(".global .align 16 .b128 g;").parse().unwrap_err().to_string().ends_with("`.b128` is not modeled"));
    // A minus sign before a register is legal only in the instructions for which PTX defines it.
    assert_eq!(error("add.s32 %r1, %r2, -%r3;"), "k.ptx:6:19: expected a register or a constant");
    assert_eq!(lower("add.s32 %r1, %r2, -WARP_SZ;").insts[0].srcs[1], Src::Imm(0xffff_ffe0));
}

#[test]
fn what_says_nothing_of_results_is_read_past() {
    let text = ".global .attribute(.managed, .unified(19, 95)) .u32 x;\n\
        .func .attribute(.unified(0xAB, 0xCD)) f() .abi_preserve 4 .abi_preserve_control 2 { ret; }\n\
        .entry k() { call f, (); ret; }";
    assert_eq!(source(text).kernel("k").unwrap().insts.len(), 1);
    let open = source(".global .attribute(.unified(19, 95) .u32 x;").parse().unwrap_err().to_string();
    assert_eq!(open, "k.ptx:4:19: the text ends within this directive");
}

#[test]
fn a_launch_without_clusters_and_graphs_knows_so() {
    assert_eq!(lower("mov.pred %p1, %is_explicit_cluster;").insts[0].srcs[0], Src::Imm(0));
    assert_eq!(lower("mov.pred %p1, !%is_explicit_cluster;").insts[0].srcs[0], Src::Imm(1));
    assert_eq!(lower("mov.u64 %rd1, %current_graph_exec;").insts[0].srcs[0], Src::Imm(0));
}

#[test]
fn modifiers_stand_in_any_order() {
    let pairs = [
        ("rcp.approx.ftz.f32 %f1, %f2;", "rcp.f32.ftz.approx %f1, %f2;"),
        ("setp.eq.b32 %p1, %r1, 1;", "setp.b32.eq %p1, %r1, 1;"),
        ("setp.lt.and.s32 %p1, %r1, 1, %p2;", "setp.s32.and.lt %p1, %r1, 1, %p2;"),
        ("cvt.rn.f32.u32 %f1, %r1;", "cvt.f32.u32.rn %f1, %r1;"),
        ("cvt.rn.relu.bf16x2.f32 %r1, %f1, %f2;", "cvt.bf16x2.relu.f32.rn %r1, %f1, %f2;"),
        ("ld.global.v2.f32 {%f1, %f2}, [%rd1];", "ld.f32.v2.global {%f1, %f2}, [%rd1];"),
        ("st.global.cg.b32 [%rd1], %r1;", "st.b32.cg.global [%rd1], %r1;"),
        ("atom.relaxed.gpu.global.add.u32 %r1, [%rd1], %r2;", "atom.add.u32.global.gpu.relaxed %r1, [%rd1], %r2;"),
        ("shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;", "shfl.b32.sync.idx %r1, %r2, 0, 31, -1;"),
        ("vote.sync.ballot.b32 %r1, %p1, -1;", "vote.b32.ballot.sync %r1, %p1, -1;"),
        ("bar.red.popc.u32 %r1, 0, %p1;", "bar.red.u32.popc %r1, 0, %p1;"),
        ("fma.rn.ftz.relu.f16x2 %r1, %r2, %r3, %r4;", "fma.f16x2.relu.ftz.rn %r1, %r2, %r3, %r4;"),
        ("set.lt.bf16x2.bf16x2 %r1, %r2, %r3;", "set.bf16x2.bf16x2.lt %r1, %r2, %r3;"),
        (
            "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r1, %r2}, [%r3];",
            "ldmatrix.shared.b16.sync.aligned.trans.x2.m8n8 {%r1, %r2}, [%r3];",
        ),
        ("mad.lo.cc.u32 %r1, %r2, %r3, %r4;", "mad.cc.u32.lo %r1, %r2, %r3, %r4;"),
    ];
    for (usual, other) in pairs {
        let [usual, other] = [usual, other].map(|text| {
            let insts = lower(text).insts;
            insts.into_iter().map(|inst| (inst.op, inst.dsts, inst.srcs)).collect::<Vec<_>>()
        });
        assert_eq!(usual, other);
    }
}

#[test]
fn vector_registers_stand_for_their_elements() {
    let vectors = ".reg .v2 .b16 v; .reg .v2 .b32 w<3>; .reg .v4 .f32 q;";
    let same = [
        ("mov.b32 v, %r1;", "mov.b32 {v.x, v.y}, %r1;"),
        ("mov.b32 %r2, v;", "mov.b32 %r2, {v.r, v.g};"),
        ("mov.v2.b32 w1, {%r1, %r2};", "mov.b32 w1.x, %r1; mov.b32 w1.y, %r2;"),
        ("mov.v2.b32 {%r1, _}, w0;", "mov.b32 %r1, w0.x;"),
        ("mov.v2.b32 w0, w1;", "mov.b32 w0.x, w1.x; mov.b32 w0.y, w1.y;"),
        ("mov.b64 %rd1, w2;", "mov.b64 %rd1, {w2.x, w2.y};"),
        ("ld.global.v4.f32 q, [%rd1];", "ld.global.v4.f32 {q.x, q.y, q.z, q.w}, [%rd1];"),
        ("st.global.v2.b32 [%rd1], w1;", "st.global.v2.b32 [%rd1], {w1.x, w1.y};"),
        ("{ .reg .b32 v; mov.b32 v, %r1; }", "{ .reg .b32 u; mov.b32 u, %r1; }"),
        ("{ .reg .v2 .b32 %r1; } mov.b32 %r1, 5;", "mov.b32 %r1, 5;"),
    ];
    for (whole, elements) in same {
        let [whole, elements] = [whole, elements].map(|text| {
            let insts = lower(&format!("{vectors}{text}")).insts;
            insts.into_iter().map(|inst| (inst.op, inst.dsts, inst.srcs)).collect::<Vec<_>>()
        });
        assert_eq!(whole, elements);
    }
    // All source elements must be read before the first destination element is written, so swapping two
    // registers needs temporary copies.
    assert_eq!(lower("mov.v2.b32 {%r1, %r2}, {%r2, %r1};").insts.len(), 5);
    assert_eq!(lower("mov.v2.b32 {%r1, %r2}, {%r1, %r2};").insts.len(), 3);
    assert!(error(&format!("{vectors}add.f32 %f1, q, %f2;")).contains("expected a register or a constant"));
    assert!(error(&format!("{vectors}mov.v4.f32 q, w0;")).contains("expected a vector of 4 elements"));
}

#[test]
fn a_function_may_be_declared_ahead_with_and_without_a_semicolon() {
    let define = ".func (.param .b32 r) f (.param .b32 x) { ret; }\n.entry k() { ret; }";
    for ahead in [
        ".func (.param .b32 r) f (.param .b32 x)",
        ".visible .func (.param .b32 r) f (.param .b32 x);",
        ".extern .func f",
        ".func f .noreturn",
        ".weak .func () f ()\n.func g\n.global .u32 v;",
        ".func f ()\n.file 1 \"a.cu\"",
        ".func f ()\n.pragma \"nounroll\";",
    ] {
        let whole = source(&format!("{ahead}\n{define}"));
        let functions = whole.parse().unwrap_or_else(|error| panic!("{error}")).functions.len();
        assert!(functions >= 3, "{ahead}");
    }
    assert_eq!(source(".entry k() { ret; }\n.func f").kernel("k").unwrap().insts.len(), 1);
    let error = |text: &str| source(text).parse().unwrap_err().to_string();
    assert_eq!(error(".func f () junk"), "k.ptx:4:12: expected a body in braces, or `;`, found `junk`");
    assert!(error(".entry k ()\n.entry j () { ret; }").contains("expected a body in braces, or `;`"));
}

#[test]
fn files_of_old_versions_are_read_by_their_own_rules() {
    let old = |version: &str, body: &str| {
        let text = format!(".version {version}\n.target sm_13\n.entry k(.param .u64 a) {{ .reg .f32 %f<3>; {body} }}");
        Source::new("k.ptx", &text).kernel("k").map_err(|error| error.to_string())
    };
    let approximate = |f| Op::Alu(AluOp { approx: true, ftz: true, ..AluOp::new(f, Type::F32) });
    assert_eq!(old("1.3", "sin.f32 %f1, %f2;").unwrap().insts[0].op, approximate(AluFn::Sin));
    assert_eq!(old("1.2", "div.f32 %f1, %f2, %f1;").unwrap().insts[0].op, approximate(AluFn::Div));
    assert!(old("1.4", "sin.f32 %f1, %f2;").unwrap_err().contains("`sin` without `.approx`"));
    assert!(old("2.3", "ret;").unwrap_err().contains("`.address_size 32`, expected 64"));
}

#[test]
fn hints_and_levels_change_nothing() {
    let plain = op("ld.global.u32 %r1, [%rd1];");
    assert_eq!(op("ld.global.L2::cache_hint.u32 %r1, [%rd1], %rd2;"), plain);
    assert_eq!(op("createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0;"), Op::Mov(Type::B64));
    assert_eq!(op("griddepcontrol.wait;"), Op::Nop);
    let fetch = "{%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}]";
    let texture = op(&format!("tex.2d.v4.f32.f32 {fetch};"));
    assert!(matches!(texture, Op::Texture(_)), "{texture:?}");
    assert_eq!(op(&format!("tex.level.2d.v4.f32.f32 {fetch}, %f7;")), texture);
    assert_eq!(op(&format!("tex.grad.2d.v4.f32.f32 {fetch}, {{%f1, %f2}}, {{%f3, %f4}};")), texture);
}

#[test]
fn a_texture_fetch_keeps_its_coordinates_until_the_last_result() {
    let program = lower("tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f2}];");
    let [copy, fetch, ..] = &program.insts[..] else { panic!("{:?}", program.insts) };
    assert!(matches!(copy.op, Op::Mov(Type::B32)) && copy.dsts[0] != Dst::None, "{copy:?}");
    assert!(!fetch.dest_regs().any(|result| fetch.source_regs().any(|source| source.index == result.index)));
    // Without the rule, the allocation would give a result the register of a coordinate that dies here.
    let allocated = allocate(&lower(
        "mov.f32 %f5, 0f3F800000; tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5}]; st.global.f32 [%rd1], %f1;",
    ));
    let fetch = &allocated.unwrap().insts[1];
    assert!(matches!(fetch.op, Op::Texture(_)) && !fetch.reads.intersects(&fetch.writes), "{fetch:?}");
}

#[test]
fn a_surface_access_is_an_address_and_an_access_to_global_memory() {
    let program = lower("@%p1 suld.b.2d.cg.v2.b32.zero {%r1, %r2}, [%rd1, {%r3, %r4}];");
    let [clear, address, first, second, load, ..] = &program.insts[..] else { panic!("{:?}", program.insts) };
    let bounds = Bounds::Zero;
    assert_eq!(address.op, Op::SurfaceAddress(SurfaceOp { dims: 2, layered: false, bytes: 8, bounds }));
    // The predicate of the address guards the load, and is false where the guard is.
    let (Dst::Pred(inside), Some(guard)) = (address.dsts[1], load.guard) else { panic!("{address:?} {load:?}") };
    assert_eq!((guard.pred, guard.negated, clear.dsts[0], clear.guard), (inside, false, Dst::Pred(inside), None));
    assert_eq!([first.op, second.op], [Op::Mov(Type::B32); 2]);
    assert!(address.guard.is_some_and(|of| of.pred != inside));
    assert_eq!([first.guard, second.guard], [address.guard; 2]);
    let Op::Load(mem) = load.op else { panic!("{load:?}") };
    assert_eq!((mem.space, mem.lanes, mem.cache), (Space::Global, 2, CacheOp::Cg));
    let Dst::Reg(base) = address.dsts[0] else { panic!("{address:?}") };
    assert_eq!(mem.base, Some(base));
    let program = lower("sured.b.min.1d.s32.clamp [%rd1, {%r3}], %r4;");
    assert!(matches!(program.insts[1].op, Op::Atomic(AtomicFn::Min, _)) && program.insts[1].guard.is_none());
}

#[test]
fn video_instructions_name_what_they_do_not_know() {
    let cases = [
        ("vset4.u32.u32 %r1, %r2, %r3, 0;", "k.ptx:6:1: `vset4` without a supported comparison"),
        ("vadd4.u32.u32.u32 %r1, %r2.b99, %r3, 0;", "k.ptx:6:27: `.b99` is not a selector of this instruction"),
        ("vadd2.u32.u32.u32 %r1.b1, %r2, %r3, 0;", "k.ptx:6:22: `.b1` is not a selector of this instruction"),
        ("vadd.u32.u32.u32 %r1, %r2.h2, %r3;", "k.ptx:6:26: `.h2` is not a selector of this instruction"),
        ("cp.async.bulk.commit_group.read;", "k.ptx:6:1: `cp.async.bulk.commit_group.read` is not modeled"),
        ("cp.async.ca.shared.global [%r1], [%rd1], 12;", "k.ptx:6:42: expected a size of 4, 8 or 16 bytes"),
    ];
    for (body, message) in cases {
        assert_eq!(error(body), message);
    }
}

#[test]
fn moves_pack_and_select() {
    assert_eq!(op("mov.u32 %r1, %ntid.y;"), Op::Mov(Type::U32));
    assert_eq!(lower("mov.u32 %r1, %ntid.y;").insts[0].srcs[0], Src::Special(Special::Ntid(Axis::Y)));
    let pack = lower("mov.b64 %rd1, {%r1, %r2};").insts[0].clone();
    assert_eq!(pack.op, Op::Pack { part_bits: 32 });
    assert_eq!(pack.srcs[..2], [Src::Reg(reg(1)), Src::Reg(reg(2))]);
    let unpack = lower("mov.b64 {%rs1, %rs2, _, %rs4}, %rd1;").insts[0].clone();
    assert_eq!(unpack.op, Op::Unpack { part_bits: 16 });
    assert_eq!(unpack.dsts[2], Dst::None);
    assert_eq!(op("selp.b32 %r1, %r2, 5, %p1;"), Op::Select(Type::B32));
    assert_eq!(op("cvta.to.global.u64 %rd1, %rd2;"), Op::Mov(Type::U64));
    let not = lower("not.pred %p1, %p2;").insts[0].clone();
    assert_eq!(not.op, Op::Pred(None));
    assert_eq!(not.srcs[0], Src::Pred(Guard { pred: 1, negated: true }));
    assert_eq!(op("xor.pred %p1, %p2, %p3;"), Op::Pred(Some(Logic::Xor)));
}

#[test]
fn comparisons_take_two_results_and_a_combination() {
    let inst = lower("setp.ltu.or.ftz.f32 %p1|%p2, %f1, 0f00000000, !%p3;").insts[0].clone();
    let compare = CompareOp { cmp: Cmp::Ltu, ty: Type::F32, ftz: true, combine: Some(Logic::Or) };
    assert_eq!(inst.op, Op::Compare(compare));
    assert_eq!(inst.dsts[..2], [Dst::Pred(0), Dst::Pred(1)]);
    assert_eq!(inst.srcs[2], Src::Pred(Guard { pred: 2, negated: true }));
    assert!(matches!(op("setp.hs.u32 %p1, %r1, 3;"), Op::Compare(c) if c.cmp == Cmp::Ge));
    assert!(error("setp.hs.s32 %p1, %r1, 3;").contains("without a supported comparison"));
}

#[test]
fn conversions_need_rounding_exactly_where_they_are_inexact() {
    let base = ConvertOp::new(Type::F32, Type::S32);
    assert_eq!(op("cvt.rn.f32.s32 %f1, %r1;"), Op::Convert(base));
    let to_int =
        ConvertOp { to: Type::S32, from: Type::F32, rounding: Rounding::Zero, integral: true, ftz: true, ..base };
    assert_eq!(op("cvt.rzi.ftz.s32.f32 %r1, %f1;"), Op::Convert(to_int));
    let floor = ConvertOp { from: Type::F32, rounding: Rounding::Down, integral: true, ..base };
    assert_eq!(op("cvt.rmi.f32.f32 %f1, %f1;"), Op::Convert(floor));
    assert_eq!(lower("cvt.s64.s32 %rd1, %r1; cvt.u16.u32 %rs1, %r1; cvt.s8.s32 %r1, %r1;").insts.len(), 4);
    let pack = |bits, signed| Op::Alu(AluOp::new(AluFn::PackSaturated { bits, signed }, Type::S32));
    for (name, bits, signed) in
        [("u8", 8, false), ("s8", 8, true), ("u4", 4, false), ("s4", 4, true), ("u2", 2, false), ("s2", 2, true)]
    {
        let packs = lower(&format!("cvt.pack.sat.{name}.s32.b32 %r1, %r2, -3, %r4;"));
        assert_eq!((packs.insts[0].op, packs.insts[0].srcs[1]), (pack(bits, signed), Src::Imm(0xffff_fffd)));
        let short = format!("cvt.pack.sat.{name}.s32 %r1, %r2, %r3;");
        assert!(error(&short).ends_with("is not supported"), "{short}");
    }
    assert_eq!(op("cvt.pack.sat.u16.s32 %r1, %r2, %r3;"), pack(16, false));
    assert_eq!(op("cvt.pack.sat.s16.s32 %r1, %r2, %r3;"), pack(16, true));
    for form in ["cvt.pack.sat.u16.s32.b32", "cvt.pack.u16.s32", "cvt.pack.sat.u16.u32", "cvt.pack.sat.u32.s32"] {
        let text = format!("{form} %r1, %r2, %r3, %r4;");
        assert!(error(&text).ends_with(&format!("instruction `{form}` is not supported")), "{form}");
    }
    assert!(error("cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3;").contains("expected 4"));
    assert!(error("cvt.f32.s32 %f1, %r1;").contains("needs one of `.rn .rz .rm .rp`"));
    assert!(error("cvt.s32.f32 %r1, %f1;").contains("needs one of `.rni .rzi .rmi .rpi`"));
    assert!(error("cvt.rn.s64.s32 %rd1, %r1;").contains("does not round"));
    assert!(error("cvt.rn.f64.f32 %fd1, %f1;").contains("is exact"));
}

#[test]
fn memory_accesses_keep_space_type_vector_and_cache_operator() {
    let mem = MemOp {
        space: Space::Global,
        ty: Type::F32,
        lanes: 4,
        cache: CacheOp::Cg,
        l2_priority: None,
        volatile: false,
        base: Some(Reg { index: 0, wide: true }),
        offset: -16,
    };
    let load = lower("ld.global.cg.v4.f32 {%f1, %f2, _, %f4}, [%rd1+-16];").insts[0].clone();
    assert_eq!(load.op, Op::Load(mem));
    assert_eq!(load.dsts[2], Dst::None);
    let store = lower("st.volatile.shared.u8 [%r1+3], %rs1;").insts[0].clone();
    let Op::Store(mem) = store.op else { panic!("{:?}", store.op) };
    assert!(mem.volatile && mem.base == Some(reg(0)) && mem.bytes() == 1);
    let param = lower("ld.param.u32 %r1, [n];").insts[0].clone();
    assert_eq!(param.mem().unwrap().offset, 8);
    assert!(matches!(op("ld.global.nc.f32 %f1, [%rd1];"), Op::Load(m) if m.cache == CacheOp::Nc));
    for (modifiers, cache) in [
        ("L1::evict_first", CacheOp::EvictFirst),
        ("nc.L1::evict_last", CacheOp::EvictLast),
        ("nc.L1::no_allocate", CacheOp::Nc),
        ("L1::evict_unchanged", CacheOp::Default),
        ("cs", CacheOp::Cs),
        ("cs.nc", CacheOp::Cs),
        ("cg.nc", CacheOp::Cg),
        ("ca.nc", CacheOp::Nc),
    ] {
        let found = op(&format!("ld.global.{modifiers}.f32 %f1, [%rd1];"));
        assert!(matches!(found, Op::Load(m) if m.cache == cache), "{modifiers}: {found:?}");
    }
    for (modifiers, cache, l2_priority) in [
        ("L2::evict_last", CacheOp::Default, Some(CacheOp::EvictLast)),
        ("L1::evict_first.L2::evict_normal", CacheOp::EvictFirst, Some(CacheOp::Default)),
        ("L1::evict_last.L2::128B", CacheOp::EvictLast, None),
    ] {
        let found = op(&format!("ld.global.{modifiers}.f32 %f1, [%rd1];"));
        assert!(matches!(found, Op::Load(m) if (m.cache, m.l2_priority) == (cache, l2_priority)), "{found:?}");
    }
    assert_eq!(MemOp { base: Some(reg(0)), offset: -4, ..mem }.address(0), 0xffff_fffc);
}

#[test]
fn an_access_has_one_order_that_goes_with_it() {
    let volatile = |body: &str| lower(body).insts.iter().find_map(Inst::mem).map(|mem| mem.volatile);
    for (body, expected) in [
        ("ld.weak.global.u32 %r1, [%rd1];", false),
        ("ld.volatile.global.u32 %r1, [%rd1];", true),
        ("ld.acquire.gpu.global.u32 %r1, [%rd1];", true),
        ("ld.mmio.relaxed.sys.global.u32 %r1, [%rd1];", true),
        ("st.release.gpu.global.u32 [%rd1], %r1;", true),
        ("st.mmio.relaxed.sys.global.u32 [%rd1], %r1;", true),
    ] {
        assert_eq!(volatile(body), Some(expected), "{body}");
    }
    for (body, word) in [
        ("ld.release.gpu.global.u32 %r1, [%rd1];", "release"),
        ("st.acquire.gpu.global.u32 [%rd1], %r1;", "acquire"),
        ("ld.weak.volatile.global.u32 %r1, [%rd1];", "volatile"),
        ("st.relaxed.release.gpu.global.u32 [%rd1], %r1;", "release"),
    ] {
        assert!(error(body).contains(&format!("`.{word}` is not supported on")), "{body}: {}", error(body));
    }
}

#[test]
fn forms_that_ptx_does_not_have_are_refused() {
    for (body, message) in [
        ("red.global.exch.b32 [%rd1], %r1;", "`red` has no `.exch`"),
        ("red.global.cas.b32 [%rd1], %r1, %r2;", "`red` has no `.cas`"),
        ("ld.global.f16 %rs1, [%rd1];", "`ld` with `.f16`, expected a type"),
        ("st.shared.f16 [%rd1], %rs1;", "`st` with `.f16`, expected a type"),
        ("ld.shared.nc.u32 %r1, [%rd1];", "`.nc` on `.shared`, expected `.global`"),
        ("ld.global.cs.L1::evict_last.u32 %r1, [%rd1];", "`.cs` with `.L1::evict_last`, expected only one of the two"),
        (
            "ld.global.L1::no_allocate.ca.nc.u32 %r1, [%rd1];",
            "`.ca` with `.L1::no_allocate`, expected only one of the two",
        ),
        (
            "st.global.wt.L2::evict_first.u32 [%rd1], %r1;",
            "`.wt` with `.L2::evict_first`, expected only one of the two",
        ),
        ("ld.global.L1::evict_last.L1::evict_first.u32 %r1, [%rd1];", "`.L1::evict_first` is not supported on `ld`"),
        ("fma.f32 %f1, %f2, %f3, %f4;", "`fma` needs a rounding mode"),
        ("fma.ftz.f16 %rs1, %rs2, %rs3, %rs4;", "`fma` needs a rounding mode"),
        ("tanh.approx.ftz.f32 %f1, %f2;", "`.ftz` is not supported on `tanh`"),
        ("cp.async.cg.shared.global [%r2], [%rd1], 4;", "`cp.async.cg` of 4 bytes, expected 16"),
        (
            "cp.async.ca.shared.global [%r2], [%rd1], 4, 5;",
            "5 bytes from the source, expected no more than the 4 that are copied",
        ),
        ("mov.u32 %r1, %clock64;", "`%clock64` has 64 bits, expected 32 for `.u32`"),
        ("mov.u64 %rd1, %tid.x;", "`%tid.x` has 32 bits, expected 64 for `.u64`"),
    ] {
        assert!(error(body).ends_with(message), "{body}: {}", error(body));
    }
    for body in [
        "mad.f32 %f1, %f2, %f3, %f4;",
        "atom.global.exch.b32 _, [%rd1], %r1;",
        "ld.global.nc.u32 %r1, [%rd1];",
        "ld.global.L1::evict_last.u32 %r1, [%rd1];",
        "ld.global.nc.L1::no_allocate.L2::256B.u32 %r1, [%rd1];",
        "ld.global.nc.L1::evict_last.L2::evict_last.L2::128B.u32 %r1, [%rd1];",
        "ld.volatile.global.L1::no_allocate.u32 %r1, [%rd1];",
        "ld.global.cg.nc.L2::128B.u32 %r1, [%rd1];",
        "ld.global.cs.L2::cache_hint.u32 %r1, [%rd1], %rd2;",
        "st.global.L1::no_allocate.L2::evict_first.u32 [%rd1], %r1;",
        "st.global.cs.u32 [%rd1], %r1;",
        "cp.async.ca.shared.global [%r2], [%rd1], 4, 0;",
        "cp.async.cg.shared.global [%r2], [%rd1], 16, %r1;",
        "mov.u64 %rd1, %clock64;",
        "cvt.u32.u64 %r1, %clock64;",
        "cvt.u64.u32 %rd1, %tid.x;",
        "mov.u16 %rs1, %tid.x;",
        "mov.u32 %r1, %gridid;",
        "mov.u64 %rd1, %gridid;",
    ] {
        lower(body);
    }
    let call = |formal: &str, actual: &str| {
        source(&format!(
            ".func (.param .b32 r) f(.param {formal} a) {{ .reg .b32 x; ld.param.b32 x, [a]; st.param.b32 [r], x; ret; }}\n\
             .entry k() {{ .param {actual} z; .param .b32 y; st.param.b32 [z], 5; call (y), f, (z); ret; }}"
        ))
        .kernel("k")
        .map_err(|error| error.to_string())
    };
    assert!(call(".b32", ".b32").is_ok() && call(".b32", ".align 4 .f32").is_ok());
    assert_eq!(call(".b32", ".b64").unwrap_err(), "k.ptx:5:79: `z` has another size than the parameter `a`");
}

#[test]
fn bitwise_atomics_take_bits_only() {
    for name in ["and", "or", "xor"] {
        for (opcode, result) in [("atom", "%r1, "), ("red", "")] {
            for ty in ["u32", "s32", "u64", "s64"] {
                let body = format!("{opcode}.global.{name}.{ty} {result}[%rd1], %r2;");
                let error = around(&body).kernel("k").unwrap_err();
                let message = format!("`{opcode}.{name}` with `.{ty}`, expected a type");
                assert!(error.to_string().ends_with(&message), "{body}: {error}");
                let help = format!("`{opcode}.{name}` takes .b32 .b64");
                assert_eq!(error.help_text(), Some(&*help), "{body}");
            }
            lower(&format!("{opcode}.global.{name}.b32 {result}[%rd1], %r2;"));
            lower(&format!("{opcode}.shared.{name}.b64 {}[%rd1], %rd3;", result.replace("%r1", "%rd2")));
        }
    }
}

#[test]
fn branches_know_their_target_and_where_their_paths_meet() {
    let program = lower(
        "@%p1 bra $A; mov.u32 %r1, 1; bra.uni $B; $A: mov.u32 %r1, 2; $B: @!%p2 bra $B; \
         { bra $C; $C: ret; } $D:",
    );
    let branch = |pc: usize| match program.insts[pc].op {
        Op::Branch { target, reconverge, uniform } => (target, reconverge, uniform),
        ref other => panic!("{other:?}"),
    };
    assert_eq!(branch(0), (3, 4, false));
    assert_eq!(branch(2), (4, 4, true));
    assert_eq!(branch(4), (4, 5, false));
    assert_eq!(program.insts[4].guard, Some(Guard { pred: 1, negated: true }));
    assert_eq!(branch(5), (6, 6, false));
    assert_eq!(program.insts.last().unwrap().op, Op::Exit);
    let apart = lower("@%p1 bra $A; ret; $A: ret;");
    assert!(matches!(apart.insts[0].op, Op::Branch { reconverge: NO_PC, .. }));
}

#[test]
fn barriers_have_a_number() {
    assert_eq!(op("bar.sync 3;"), Op::Barrier { id: 3 });
    assert_eq!(op("barrier.sync.aligned 0;"), Op::Barrier { id: 0 });
    assert!(error("bar.sync 16;").contains("from 0 to 15"));
    assert_eq!(op("bar.sync 0, 64;"), Op::BarrierWith(BarrierKind::Sync));
    assert_eq!(op("bar.sync %r1;"), Op::BarrierWith(BarrierKind::Sync));
    assert_eq!(op("bar.arrive 1, 64;"), Op::BarrierWith(BarrierKind::Arrive));
    assert_eq!(op("bar.red.popc.u32 %r1, 1, !%p1;"), Op::BarrierWith(BarrierKind::Count));
    assert_eq!(op("barrier.cta.red.and.pred.aligned %p2, 1, 64, %p1;"), Op::BarrierWith(BarrierKind::All));
    assert_eq!(op("bar.warp.sync -1;"), Op::Warp(WarpOp::Sync));
    assert_eq!(op("membar.gl;"), Op::Fence(Scope::Device));
    assert_eq!(op("fence.acq_rel.cta;"), Op::Fence(Scope::Cta));
}

/// The number of threads that a barrier expects must be a multiple of the warp size (PTX ISA, `bar`). A count
/// of 0 stands for all threads; it is illegal for `bar.arrive`, which does not wait.
#[test]
fn a_barrier_expects_whole_warps() {
    for (barrier, least) in [
        ("bar.sync 0, {};", 0),
        ("barrier.sync 1, {};", 0),
        ("bar.arrive 2, {};", 32),
        ("bar.red.or.pred %p1, 3, {}, %p2;", 0),
        ("bar.red.popc.u32 %r1, 3, {}, %p2;", 0),
    ] {
        for count in [0_u32, 1, 31, 32, 48, 64, 96, 1000, 1024, 1056, 0xffff_ffe0] {
            let body = barrier.replace("{}", &count.to_string());
            let lowered = around(&body).kernel("k");
            if count % 32 == 0 && (least..=1024).contains(&count) {
                assert!(lowered.is_ok(), "{body}: {lowered:?}");
            } else {
                let message = lowered.expect_err(&body).to_string();
                let unit = input::noun(count, "thread", "threads");
                let says = format!("a barrier of {count} {unit}, expected a multiple of 32 from {least} to 1024");
                assert!(message.starts_with("k.ptx:6:") && message.ends_with(&says), "{body}: {message}");
            }
        }
        assert!(around(&barrier.replace("{}", "%r2")).kernel("k").is_ok(), "a register is looked at when it runs");
    }
}

#[test]
fn what_directives_say_of_launches_is_kept() {
    let limits =
        |directives: &str| source(&format!(".entry k() {directives} {{ ret; }}")).kernel("k").map(|k| k.limits);
    let of = |directives: &str| limits(directives).unwrap();
    assert_eq!(of(""), LaunchLimits::default());
    assert_eq!(of(".reqntid 64").required_block, Some([64, 1, 1]));
    assert_eq!(of(".reqntid 8, 4, 2 .reqnctapercluster 2").cluster, Some([2, 1, 1]));
    assert_eq!(of(".maxntid 8, 4").largest_block, Some([8, 4, 1]));
    for (directives, message) in [
        (".reqntid 64 .maxntid 64", "k.ptx:4:24: kernel `k` has both `.reqntid` and `.maxntid`"),
        (".reqntid 0", "k.ptx:4:12: `.reqntid` has the numbers [0], expected 1 to 3 from 1 to 2^32 - 1"),
        (
            ".maxntid 1, 2, 3, 4",
            "k.ptx:4:12: `.maxntid` has the numbers [1, 2, 3, 4], expected 1 to 3 from 1 to 2^32 - 1",
        ),
    ] {
        assert_eq!(limits(directives).unwrap_err().to_string(), message);
    }
}

#[test]
fn a_name_is_defined_once_in_a_file() {
    let kernel = |name: &str| format!(".visible .entry {name}() {{ ret; }}\n");
    let function = |name: &str| format!(".func {name}() {{ ret; }}\n");
    let global = |name: &str| format!(".global .u32 {name};\n");
    for (text, what) in [
        (kernel("x") + &kernel("y") + &kernel("x"), "6:17: kernel"),
        (kernel("x") + &kernel("y") + &function("x"), "6:7: function"),
        (function("x") + &function("y") + &function("x"), "6:7: function"),
        (global("x") + &global("y") + &global("x"), "6:14: variable"),
        (global("x") + &global("y") + ".const .u32 x = 3;", "6:13: variable"),
        (kernel("x") + &kernel("y") + &global("x"), "6:14: variable"),
    ] {
        let error = source(&text).parse().unwrap_err().to_string();
        assert_eq!(error, format!("k.ptx:{what} `x` is defined twice: line 4 defines it already"), "{text}");
    }
    let declared = ".extern .global .u32 g; .global .u32 g; .func f(); .func f() { ret; } .extern .shared .u32 s[]; \
                    .extern .shared .u32 s[]; .entry k() { ret; }";
    assert!(source(declared).kernel("k").is_ok(), "declarations may be repeated");
}

#[test]
fn a_token_or_comment_of_any_length_is_read_on_a_small_stack() {
    let long = |part: &str| part.repeat(100_000);
    let passed = [
        format!("/*\n{}*/", long(" * x\n")),
        format!("/{}/", long("*")),
        format!("//{}", long("é")),
        format!("@@DWARF {}", long("é")),
        long(" \n"),
    ];
    let tokens = [
        long("a"),
        format!("%{}", long("_")),
        format!(".a{}", long("::a")),
        long("1"),
        format!("0x{}", long("f")),
        format!("1.{}e+{}", long("5"), long("3")),
        format!("\"{}\"", long("aé")),
    ];
    let read = move || {
        for text in passed {
            let text = format!("ret;\n{text}\nret;");
            assert_eq!(tokens_of(&text), ["ret", ";", "ret", ";"]);
        }
        for token in tokens {
            assert_eq!(tokens_of(&format!("ret {token};")), ["ret", &token, ";"]);
        }
        let open = Source::new("k.ptx", &format!("/*{}", long("*a")));
        assert_eq!(lexer::tokens(&open).unwrap_err().to_string(), "k.ptx:1:1: this comment does not end");
    };
    std::thread::Builder::new().stack_size(128 << 10).spawn(read).unwrap().join().unwrap();
}

#[test]
fn a_word_of_any_length_is_refused_without_being_compared_with_others() {
    let long = "a".repeat(1_000_000);
    for text in [format!("{long};"), format!("add.{long}.u32 %r1, %r1, %r1;"), format!("mov.u32 %r1, %{long};")] {
        let text = format!(".entry k() {{ .reg .u32 %r<4>; {text} }}");
        let start = std::time::Instant::now();
        let refused = source(&text).kernel("k").map(|_| ()).unwrap_err();
        assert!(start.elapsed().as_secs() < 5, "{:.80}: {:?}", refused.to_string(), start.elapsed());
    }
}

fn tokens_of(text: &str) -> Vec<String> {
    let tokens = lexer::tokens(&Source::new("k.ptx", text)).unwrap();
    tokens.into_iter().map(|(_, span)| text[span.start as usize..span.end as usize].to_owned()).collect()
}

#[test]
fn units_follow_what_is_computed() {
    let unit = |body: &str| lower(body).insts[0].unit;
    assert_eq!(unit("add.f32 %f1, %f1, %f1;"), Unit::Sp);
    assert_eq!(unit("div.rn.f32 %f1, %f1, %f1;"), Unit::Sfu);
    assert_eq!(unit("add.f64 %fd1, %fd1, %fd1;"), Unit::Dp);
    assert_eq!(unit("cvt.f64.f32 %fd1, %f1;"), Unit::Dp);
    assert_eq!(unit("ld.global.u32 %r1, [%rd1];"), Unit::Mem);
    assert_eq!(unit("bar.sync 0;"), Unit::Control);
}

#[test]
fn an_unsupported_instruction_is_named_with_its_place_and_an_excerpt() {
    let source = around("mov.u32 %r1, 1;\n  vmad.u32.u32.u32 %r1, %r1, 1, 2;");
    let error = source.kernel("k").unwrap_err();
    assert_eq!(error.to_string(), "k.ptx:7:3: `vmad.u32.u32.u32` is not modeled");
    assert_eq!(error.help_text(), Some("instead: `mad`"));
    let mut report = String::new();
    let handler = GraphicalReportHandler::new_themed(miette::GraphicalTheme::unicode_nocolor());
    handler.render_report(&mut report, &error).unwrap();
    assert!(report.contains("7 │   vmad.u32.u32.u32 %r1, %r1, 1, 2;"), "{report}");
    assert!(report.contains("[k.ptx:7:3]"), "{report}");
}

#[test]
fn syntax_errors_name_line_column_and_what_was_expected() {
    let cases = [
        ("add.s32 %r1, %r2", "k.ptx:6:17: expected `,` or `;` after `add`, found `}`"),
        ("add.s32 %r1 %r2;", "k.ptx:6:12: expected `,` or `;` after `add`, found `%r2`"),
        ("add.s32 %r1, , %r2;", "k.ptx:6:14: expected an operand, found `,`"),
        ("ld.global.u32 %r1, [%rd1+];", "k.ptx:6:26: expected an offset in bytes, found `]`"),
        (".reg .b33 %x;", "k.ptx:6:6: unknown type `.b33`"),
        (
            "mov.u32 %r1, 99999999999999999999;",
            "k.ptx:6:14: `99999999999999999999` is not an integer of at most 64 bits",
        ),
        ("mov.u32 %r1, 09;", "k.ptx:6:14: `09` is not an integer of at most 64 bits"),
        ("mov.u32 %r1, #;", "k.ptx:6:14: `#` does not start a PTX token"),
        ("/* open", "k.ptx:6:1: this comment does not end"),
        (".nonsense;", "k.ptx:6:1: unknown directive `.nonsense` in a body"),
    ];
    for (body, message) in cases {
        assert_eq!(error(body), message);
    }
    let whole = |text: &str| Source::new("k.ptx", text).parse().unwrap_err().to_string();
    assert_eq!(whole(""), "k.ptx:1:1: expected `.version` as the first directive, the text ends");
    assert_eq!(source(".entry k() { ret;").parse().unwrap_err().to_string(), "k.ptx:4:12: this `{` is never closed");
    assert_eq!(
        source(".entri k() {}").parse().unwrap_err().to_string(),
        "k.ptx:4:1: unknown directive `.entri` at file level"
    );
}

#[test]
fn errors_of_meaning_name_the_operand() {
    let cases = [
        ("add.s32 %r1, %r2, %r99;", "k.ptx:6:19: `%r99` is not declared"),
        ("add.s32 %r1, %rd2, 3;", "k.ptx:6:14: register `%rd2` is `.b64`, expected 32 bits for `.s32`"),
        ("ld.global.u64 %r1, [%rd1];", "k.ptx:6:15: register `%r1` is `.b32`, expected at least 64 bits for `.u64`"),
        ("add.f32 %f1, %f2, 1;", "k.ptx:6:19: constant `1` does not fit type `.f32`"),
        ("@%r1 ret;", "k.ptx:6:2: `%r1` is not a predicate"),
        ("bra nowhere;", "k.ptx:6:5: label `nowhere` is not defined"),
        ("a: a: ret;", "k.ptx:6:4: label `a` is defined twice"),
        ("add.s32 %r1, %r2;", "k.ptx:6:1: `add` has 2 operands, expected 3"),
        ("add.rn.s32 %r1, %r2, 1;", "k.ptx:6:4: `.rn` is not supported on `add`"),
        ("and.f64 %fd1, %fd2, %fd3;", "k.ptx:6:4: `and` with `.f64`, expected a type"),
        ("st.const.u32 [%rd1], %r1;", "k.ptx:6:1: `.const` is read only"),
        ("atom.local.add.u32 %r1, [%rd1], 1;", "k.ptx:6:1: `atom` on `.local`"),
        ("atom.add.b32 %r1, [%rd1], 1;", "k.ptx:6:9: `atom.add` with `.b32`, expected a type"),
        ("call f;", "k.ptx:6:6: function `f` is not declared"),
        (
            "call (%r1), %rd1, (%r2), p;",
            "k.ptx:6:13: no function of this file whose address is taken fits this call through a pointer",
        ),
        ("brx.idx %r1, table;", "k.ptx:6:14: `table` is not a label of `.branchtargets`"),
        (
            "suld.p.2d.b32.trap {%r1}, [%rd1, {%r2, %r3}];",
            "k.ptx:6:1: instruction `suld.p.2d.b32.trap` is not supported",
        ),
        ("sust.p.2d.b32.trap [%rd1, {%r2, %r3}], {%r1};", "k.ptx:6:1: `sust.p.2d.b32.trap` is not modeled"),
        ("suld.b.2d.b32.trap {%r1}, [%rd1, {%r2}];", "k.ptx:6:27: 1 coordinate, expected 2"),
        ("suld.b.2d.b32.trap {%r1}, [%rd1];", "k.ptx:6:27: expected `[texture or surface, {coordinates}]`"),
        (
            "sust.b.1d.v4.b64.trap [%rd1, {%r2}], {%rd1, %rd1, %rd1, %rd1};",
            "k.ptx:6:1: a vector of 32 bytes, expected at most 16",
        ),
        ("ld.global.v4.f64 {%fd1, %fd2, %fd3, %fd4}, [%rd1];", "k.ptx:6:1: `ld.global.v4.f64` is not modeled"),
        (
            "ld.global.v4.f32 {%f1, %f2, _, %f1}, [%rd1];",
            "k.ptx:6:32: appears twice in one vector, expected a register for each element",
        ),
        ("ld.global.v2.f32 %f1, [%rd1];", "k.ptx:6:18: 1 data operands, expected 2"),
        ("mul.s32 %r1, %r2, 3;", "k.ptx:6:1: the `.s32` product does not select a half"),
        ("sin.f32 %f1, %f2;", "k.ptx:6:1: `sin` without `.approx`"),
        (".reg .b32 %r<3>;", "k.ptx:6:11: `%r` is declared twice in this block, first on line 5"),
    ];
    for (body, message) in cases {
        assert_eq!(error(body), message);
    }
    let typo = around(".reg .b32 counter; mov.u32 %r1, conter;").kernel("k").unwrap_err();
    assert_eq!(typo.help_text(), Some("did you mean `counter`?"));
    let missing = around("ret;").kernel("q").unwrap_err();
    assert_eq!(missing.message(), "there is no kernel `q` in this file");
    assert_eq!(missing.help_text(), Some("it defines k"));
    let outside = source(".extern .global .u32 g; .entry k() { .reg .b32 %r<2>; ld.global.u32 %r1, [g]; }");
    let message = outside.kernel("k").unwrap_err().to_string();
    assert_eq!(message, "k.ptx:4:75: `g`: is declared `.extern`, and nothing in this file defines it");
}

#[test]
fn hostile_texts_are_refused_without_harm() {
    let deep = "{".repeat(1 << 20);
    assert!(error(&deep).contains("nested more than 256 deep"));
    assert!(error(&"{[(".repeat(1 << 18)).contains("expected"));
    let many = "ret;".repeat(lower::MAX_INSTRUCTIONS + 1);
    assert!(error(&many).contains("more than 262144 instructions"));
    let digits = format!("mov.u32 %r{}, 1;", "1".repeat(1 << 20));
    assert!(error(&digits).contains("is not declared"));
    assert_eq!(lower(".reg .b32 %big<18446744073709551615>; mov.u32 %big9, 1;").regs, 1);
    let huge = error(".shared .align 8 .b64 x[2305843009213693952]; mov.u64 %rd1, x;");
    assert!(huge.contains("over 2^64 bytes"), "{huge}");
    let wide = error(".shared .b8 x[4294967296]; mov.u64 %rd1, x;");
    assert!(wide.contains("expected at most 1073741824"), "{wide}");
    let long = Source::new("k.ptx", &" ".repeat(MAX_SOURCE_BYTES + 1));
    assert!(long.parse().is_err());
}

/// Kernels with tiles of a matrix in registers, which need more registers than all others.
const TILED: [&str; 2] = ["gemm", "flash"];

/// It must be possible to lower all kernels in the folder `kernels`, and they must fit in the registers of
/// the machine.
#[test]
fn every_committed_kernel_lowers_and_fits_the_machine() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels");
    let mut seen = 0;
    for entry in std::fs::read_dir(root).unwrap() {
        let dir = entry.unwrap().path();
        let Ok(files) = std::fs::read_dir(&dir) else { continue };
        for file in files {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|e| e != "ptx") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let source = Source::new(&path.display().to_string(), &text);
            for kernel in source.kernels().unwrap() {
                let program = source.kernel(&kernel).unwrap_or_else(|e| panic!("{e}"));
                let physical = allocate(&program).unwrap();
                // A thread of an NVIDIA GPU has at most 255 registers of 32 bits.
                let most = if TILED.contains(&&*kernel) { 255 } else { 95 };
                assert!(physical.regs <= most, "{kernel} takes {} words", physical.regs);
                let spilled = allocate(&spill(program, 24).unwrap()).unwrap();
                assert!(spilled.regs <= 24, "{kernel} takes {} words, limit 24", spilled.regs);
                seen += 1;
            }
        }
    }
    assert!(seen >= 6, "only {seen} kernels found");
}

proptest! {
    #[test]
    fn any_mix_of_ptx_words_is_read_or_refused_but_never_panics(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "{", "}", "[", "]", "(", ")", "<", ">", ",", ";", ":", "=", "+", "-", "~", "!", "|",
                "@", "_", "%r1", "%rd1", "%p1", "%f1", "a", "k", "add", ".s32", ".f32", "mov", ".u64",
                "ld", "st", ".global", ".shared", ".param", ".v4", "bra", "ret", "setp", ".lt", "cvt",
                ".rn", "selp", "bar", ".sync", "1", "0x7", "0f3F800000", "1.5", ".reg", ".b32",
                ".align", ".loc", ".section", ".pragma", ".entry", ".func", "\"x\"", "%tid", ".x",
            ]),
            0..60,
        ),
    ) {
        let body = words.join(" ");
        let _ = around(&body).kernel("k");
        let _ = source(&body).parse();
    }

    #[test]
    fn any_text_is_read_or_refused_but_never_panics(text in "\\PC{0,80}") {
        let _ = around(&text).kernel("k");
        let _ = Source::new("k.ptx", &text).parse();
    }
}

#[test]
fn a_file_of_very_many_kernels_takes_the_time_of_its_text() {
    // Lowering must take time proportional to the text. An earlier version took quadratic time: 15 minutes
    // for these kernels.
    const KERNELS: usize = 20_000;
    let text: String = (0..KERNELS).map(|k| format!(".global .u32 g{k}; .entry k{k}() {{ ret; }}\n")).collect();
    let source = source(&text);
    let module = source.parse().unwrap();
    let prepared = lower::PreparedModule::new(&source, &module).unwrap();
    let names: Vec<&str> = module.kernels().map(|kernel| kernel.name.text).collect();
    assert_eq!(names.len(), KERNELS);
    for name in names {
        assert_eq!(prepared.lower(name).unwrap().insts.len(), 1);
        assert!(prepared.refusals(name).is_empty());
    }
}
