use isa::program::Program;
use ptx::Source;

use super::*;

const OUT: u64 = 0x1000_0000;
const SMS: Sms = Sms { count: 2, ctas: 2 };

/// Creates a kernel with a race. Its warps increment word 0 without synchronization, and its threads
/// increment word 1 with an atomic. From word 8 on, each thread writes its own word.
fn racing() -> Program {
    let text = ".version 7.0\n.target sm_35\n.address_size 64\n.entry k(.param .u64 out) {\n\
        .reg .b32 %r<4>; .reg .b64 %rd<4>; ld.param.u64 %rd1, [out]; ld.global.u32 %r1, [%rd1]; add.u32 %r1, %r1, 1;\n\
        st.global.u32 [%rd1], %r1; red.global.add.u32 [%rd1+4], 1; mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4;\n\
        add.s64 %rd2, %rd1, %rd2; st.global.u32 [%rd2+32], %r2; ret; }";
    Source::new("k.ptx", text).kernel("k").unwrap()
}

fn memory() -> FlatMemory {
    let mut memory = FlatMemory::new();
    memory.place("out", OUT, vec![0; 4 * 72]).unwrap();
    memory
}

/// Imitates a machine with two warps. `words` replace values in the machine's memory. Returns the difference
/// between this memory and the interpreter's, if there is one.
fn settle(words: &[(usize, u32)], rule: &Rule) -> Option<Difference> {
    let (program, params) = (racing(), OUT.to_le_bytes());
    let (grid, block) = ([1; 3], [64, 1, 1]);
    let launch =
        Launch { program: &program, grid, block, dynamic_shared: 0, params: &params, max_instructions: 1 << 20 };
    let mut after = memory();
    let ran = interp::run_in(Order::Forward, &launch, SMS, &mut after).unwrap();
    let expected = after.buffer("out").unwrap().bytes.clone();
    let mut got = expected.clone();
    for (at, word) in words {
        got[4 * at..][..4].copy_from_slice(&word.to_le_bytes());
    }
    let part = Part::words("out", rule, expected.len() / 4);
    let mut disputed = Vec::from_iter(Difference::new("buffer", "out", part, &got, &expected));
    ask(&mut disputed, &launch, SMS, &memory(), ran.thread_instructions);
    disputed.pop()
}

#[test]
fn what_agrees_is_not_disputed() {
    assert!(settle(&[(0, 2), (1, 64)], &Rule::Exact).is_none());
}

#[test]
fn a_value_of_another_order_is_no_mismatch() {
    let disputed = settle(&[(0, 1)], &Rule::Exact).unwrap();
    assert_eq!(disputed.mismatch(), None);
    let note = "after kernel `k`, buffer `out` depends on the order of warps in 1 element, [0] at offset 0: \
                1 on the machine, 2 in another order";
    assert_eq!(disputed.dependence("k").as_deref(), Some(note));
}

#[test]
fn a_wrong_byte_that_no_order_explains_is_a_mismatch() {
    for (word, wrong) in [(1, 63), (8, 7), (71, 0)] {
        let disputed = settle(&[(word, wrong)], &Rule::Exact).unwrap();
        let Some(Mismatch::Elements { differing: 1, first, .. }) = disputed.mismatch().map(|found| *found) else {
            panic!("word {word}")
        };
        assert_eq!((first[0].index, &first[0].got), (word, &wrong.to_string()));
        assert_eq!(disputed.dependence("k"), None);
    }
}

#[test]
fn beside_what_depends_on_the_order_a_mistake_still_shows() {
    let disputed = settle(&[(0, 1), (9, 5)], &Rule::Exact).unwrap();
    assert!(disputed.dependence("k").unwrap().contains("in 1 element, [0] at offset 0"));
    let text = disputed.mismatch().unwrap().to_string();
    assert!(text.starts_with("1 of 72 elements differ") && text.contains("expected"), "{text}");
}

/// Tests a word whose value depends on the order of warps, compared by a rule with a tolerance. A mismatch
/// must still be reported if the machine's value differs by more than the tolerance from the value of every
/// order.
#[test]
fn a_tolerance_bounds_what_the_order_of_warps_explains() {
    let within = Rule::Tolerance { relative: 0.0, absolute: 1.0 };
    assert!(settle(&[(0, 1)], &within).is_none());
    let disputed = settle(&[(0, 9)], &within).unwrap();
    assert!(disputed.mismatch().is_some() && disputed.dependence("k").is_none());
}

#[test]
fn a_multiset_depends_on_the_order_as_a_whole() {
    let disputed = settle(&[(0, 1)], &Rule::Multiset).unwrap();
    assert_eq!(disputed.mismatch(), None);
    assert!(disputed.dependence("k").unwrap().contains("in 1 element, [0]"));
}
