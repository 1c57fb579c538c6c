//! Tests of register allocation on PTX kernels.

use isa::alloc::{AllocError, allocate};
use isa::program::{Program, Reg};

use crate::Source;

/// Lowers a kernel `k` with body `body` and allocates its registers.
fn allocate_body(body: &str) -> Result<Program, AllocError> {
    let text = format!(
        ".version 7.1\n.target sm_35\n.address_size 64\n.entry k() {{\n.reg .pred %p<99>; \
         .reg .b32 %r<999>; .reg .b64 %rd<999>;\n{body}\nret; }}"
    );
    allocate(&Source::new("k.ptx", &text).kernel("k").unwrap())
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
