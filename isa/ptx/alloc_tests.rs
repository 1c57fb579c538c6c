//! Tests of register allocation on PTX kernels.

use isa::alloc::{AllocError, allocate};
use isa::program::{Op, Program, Reg};
use isa::spill::spill;
use isa::types::Space;

use crate::Source;

/// Lowers a kernel `k` with body `body` and allocates its registers.
fn allocate_body(body: &str) -> Result<Program, AllocError> {
    allocate(&lower_body(body))
}

/// Lowers a kernel `k` whose body begins in line 6 of the file.
fn lower_body(body: &str) -> Program {
    let text = format!(
        ".version 7.1\n.target sm_35\n.address_size 64\n.entry k() {{\n.reg .pred %p<99>; \
         .reg .b32 %r<999>; .reg .b64 %rd<999>;\n{body}\nret; }}"
    );
    Source::new("k.ptx", &text).kernel("k").unwrap()
}

/// Lowers a kernel `k` with body `body`, spills values beyond `limit` registers, and allocates registers.
fn spill_body(body: &str, limit: u16) -> Program {
    allocate(&spill(lower_body(body), limit).unwrap()).unwrap()
}

/// Returns the lines of a program's loads from local memory, and of its stores to it.
fn spills(program: &Program) -> [Vec<u32>; 2] {
    let lines = |is_store: bool| {
        let local = program.insts.iter().filter(|inst| inst.mem().is_some_and(|mem| mem.space == Space::Local));
        local.filter(|inst| matches!(inst.op, Op::Store(_)) == is_store).map(|inst| inst.line).collect()
    };
    [false, true].map(lines)
}

fn reg(index: u16, wide: bool) -> Reg {
    Reg { index, wide }
}

fn dst(program: &Program, pc: usize) -> Reg {
    program.insts[pc].dest_regs().next().unwrap()
}

#[test]
fn a_result_takes_the_place_of_an_operand_that_dies() {
    let program = allocate_body("mov.u32 %r1, 1; add.u32 %r2, %r1, 1; add.u32 %r3, %r2, %r2;").unwrap();
    assert_eq!([0, 1, 2].map(|pc| dst(&program, pc)), [reg(0, false); 3]);
    assert_eq!(program.regs, 1);
}

#[test]
fn wide_values_take_even_pairs_and_words_fill_the_halves() {
    let program = allocate_body(
        "mov.u32 %r1, 1; mov.u64 %rd1, 2; mov.u32 %r2, 3;\n\
         st.shared.u32 [0], %r1; st.shared.u64 [8], %rd1; st.shared.u32 [4], %r2;",
    )
    .unwrap();
    let dsts = [0, 1, 2].map(|pc| dst(&program, pc));
    assert_eq!(dsts, [reg(0, false), reg(2, true), reg(1, false)]);
    assert_eq!(program.regs, 4);
}

#[test]
fn a_value_live_around_a_loop_keeps_its_place_through_all_of_it() {
    let program = allocate_body(
        "mov.u32 %r1, 7; L: mov.u32 %r2, 1; st.shared.u32 [0], %r2; mov.u32 %r3, 2;\n\
         st.shared.u32 [%r1], %r3; @%p1 bra L; mov.u32 %r4, 3;",
    )
    .unwrap();
    let outer = dst(&program, 0);
    assert_ne!(dst(&program, 1), outer);
    assert_ne!(dst(&program, 3), outer);
    assert_eq!(dst(&program, 6), outer);
}

#[test]
fn a_write_under_a_guard_keeps_the_old_value_alive_around_the_loop() {
    let program = allocate_body(
        "mov.u32 %r1, 7; L: @%p1 mov.u32 %r1, 9; st.shared.u32 [4], %r1; mov.u32 %r2, 8;\n\
         st.shared.u32 [0], %r2; @%p2 bra L;",
    )
    .unwrap();
    assert_eq!(dst(&program, 0), dst(&program, 1));
    assert_ne!(dst(&program, 0), dst(&program, 3));
}

#[test]
fn a_result_that_nobody_reads_disturbs_nobody() {
    let program = allocate_body("mov.u32 %r1, 7; mov.u64 %rd1, 8; st.shared.u32 [0], %r1;").unwrap();
    assert_eq!(dst(&program, 1), reg(2, true));
}

#[test]
fn masks_hold_every_register_that_an_instruction_touches() {
    let program = allocate_body(
        "mov.u64 %rd1, 0; mov.u32 %r1, 1; mov.u32 %r2, 2;\n\
         @!%p2 st.global.v2.u32 [%rd1], {%r1, %r2}; setp.eq.u32 %p1, %r1, %r2; @%p1 bra L; L:",
    )
    .unwrap();
    let store = &program.insts[3];
    assert_eq!(store.reads.words, [0b1111, 0, 0, 0]);
    assert_eq!(store.reads.preds.count_ones(), 1);
    assert!(store.writes.is_empty());
    let setp = &program.insts[4];
    assert_eq!(setp.reads.words, [0b1100, 0, 0, 0]);
    assert_eq!(setp.writes.preds, program.insts[5].reads.preds);
    assert!(setp.writes.intersects(&program.insts[5].reads));
    assert!(!setp.writes.intersects(&program.insts[5].writes));
    assert_eq!(program.insts[0].writes.words, [0b11, 0, 0, 0]);
}

#[test]
fn all_255_words_and_31_predicates_can_be_used_and_no_more() {
    let body = |count: u32| {
        let set: String = (0..count).map(|i| format!("mov.u32 %r{i}, {i};\n")).collect();
        let get: String = (0..count).map(|i| format!("st.shared.u32 [0], %r{i};\n")).collect();
        set + &get
    };
    assert_eq!(allocate_body(&body(255)).unwrap().regs, 255);
    assert_eq!(
        allocate_body(&body(256)).unwrap_err().to_string(),
        "k.ptx:261: kernel `k` needs more than 255 32-bit registers at this point, expected at most 255: a thread \
         cannot address more"
    );
    let preds = |count: u32| {
        let set: String = (0..count).map(|i| format!("mov.pred %p{i}, 1;\n")).collect();
        let get: String = (0..count).map(|i| format!("@%p{i} mov.u32 %r1, 1;\n")).collect();
        set + &get
    };
    assert_eq!(allocate_body(&preds(31)).unwrap().preds, 31);
    assert_eq!(allocate_body(&preds(32)).unwrap_err().what, "predicates");
}

#[test]
fn the_value_that_is_used_least_is_spilled_outside_of_a_loop() {
    // In the loop, three registers are used in each iteration; `%r1` is live around it, but used only before
    // and after it.
    let body = "mov.u32 %r1, 7;\nmov.u32 %r2, 1;\nmov.u32 %r3, 2;\nL: add.u32 %r2, %r2, %r3;\n\
                st.shared.u32 [0], %r2;\nadd.u32 %r3, %r3, %r2;\n@%p1 bra L;\nst.shared.u32 [4], %r1;";
    assert_eq!(spill_body(body, 4).spill_bytes, 0);
    let program = spill_body(body, 2);
    assert_eq!(program.regs, 2);
    assert_eq!((program.spill_bytes, program.local_bytes), (16, 16));
    assert_eq!(spills(&program), [vec![13], vec![6]]);
    // The branch leads to the first instruction of the loop, behind the store.
    let branch = program.insts.iter().find_map(|inst| match inst.op {
        Op::Branch { target, .. } => Some(program.insts[target as usize].line),
        _ => None,
    });
    assert_eq!(branch, Some(9));
}

#[test]
fn a_branch_to_an_instruction_that_reads_a_spilled_value_leads_to_the_load() {
    let used = "st.shared.v2.u32 [8], {%r2, %r3};\n".repeat(5);
    let body = format!(
        "mov.u32 %r1, 7;\nmov.u32 %r2, 1;\nmov.u32 %r3, 2;\n@%p1 bra L;\nst.shared.u32 [0], %r2;\n\
         L: st.shared.u32 [4], %r1;\n{used}"
    );
    let program = spill_body(&body, 2);
    // `%r1` is spilled first. The load of `%r1` needs a register, so that one of the two others is spilled, too.
    assert_eq!((program.regs, spills(&program)), (2, [vec![11, 12, 13, 14, 15, 16], vec![6, 8]]));
    let Some(Op::Branch { target, .. }) =
        program.insts.iter().map(|inst| inst.op).find(|op| matches!(op, Op::Branch { .. }))
    else {
        panic!("a branch")
    };
    let target = &program.insts[target as usize];
    assert!(matches!(target.op, Op::Load(_)) && target.line == 11, "{target:?}");
}

#[test]
fn values_that_are_never_live_together_share_local_memory() {
    let part = "mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r3, 3;\n\
                st.shared.u32 [0], %r1; st.shared.u32 [0], %r2; st.shared.u32 [0], %r3;\n";
    let other = part.replace("%r", "%r1");
    let [once, twice] = [part, &format!("{part}{other}")].map(|body| spill_body(body, 2));
    assert_eq!(spills(&twice).map(|lines| lines.len()), spills(&once).map(|lines| 2 * lines.len()));
    assert_eq!(twice.spill_bytes, once.spill_bytes);
    let wide = part.replace("%r", "%rd").replace("u32", "u64");
    // The only pair of registers holds one of the three 64-bit values, and local memory the two others.
    let program = spill_body(&wide, 2);
    assert_eq!((program.regs, program.local_bytes), (2, 32));
}

#[test]
fn more_values_than_an_instruction_can_address_are_spilled_and_a_lower_limit_is_kept_if_possible() {
    let set: String = (0..600).map(|i| format!("mov.u32 %r{i}, {i};\n")).collect();
    let get: String = (0..600).map(|i| format!("st.shared.u32 [0], %r{i};\n")).collect();
    let program = spill_body(&format!("{set}{get}"), u16::MAX);
    assert_eq!(program.regs, 255);
    assert!(program.spill_bytes >= 4 * (600 - 255), "{}", program.spill_bytes);
    // A multiplication and addition needs its three operands at once.
    let sum = "mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r3, 3; mad.lo.u32 %r4, %r1, %r2, %r3; st.shared.u32 [0], %r4;";
    assert_eq!(spill_body(sum, 1).regs, 3);
}
