use proptest::prelude::*;

use super::*;
use crate::program::Guard;

/// Kind of an instruction in a test program. `Jump(t)` always branches to instruction `t`; `Maybe(t)` is a
/// guarded branch to `t`.
#[derive(Clone, Copy, Debug)]
enum Step {
    Plain,
    Jump(u32),
    Maybe(u32),
    Exit,
    MaybeExit,
}

use Step::{Exit, Jump, Maybe, MaybeExit, Plain};

fn program(steps: &[Step]) -> Vec<Inst> {
    let guard = Some(Guard { pred: 0, negated: false });
    let branch = |target| Op::Branch { target, reconverge: NO_PC, uniform: false };
    let inst = |op, guard| Inst { guard, ..Inst::new(op) };
    let lower = |step: &Step| match *step {
        Plain => inst(Op::Nop, None),
        Jump(target) => inst(branch(target), None),
        Maybe(target) => inst(branch(target), guard),
        Exit => inst(Op::Exit, None),
        MaybeExit => inst(Op::Exit, guard),
    };
    steps.iter().map(lower).collect()
}

fn meets(steps: &[Step], pc: u32) -> u32 {
    Cfg::new(&program(steps)).reconvergence(pc)
}

#[test]
fn the_sides_of_a_diamond_meet_behind_it() {
    let steps = [Maybe(3), Plain, Jump(4), Plain, Exit];
    assert_eq!(meets(&steps, 0), 4);
    assert_eq!(meets(&steps, 2), 4);
}

#[test]
fn an_if_without_else_meets_at_its_target() {
    assert_eq!(meets(&[Maybe(2), Plain, Exit], 0), 2);
}

#[test]
fn the_lanes_of_a_loop_meet_at_its_exit() {
    let steps = [Plain, Plain, Maybe(1), Plain, Exit];
    assert_eq!(meets(&steps, 2), 3);
}

#[test]
fn nested_diamonds_meet_each_behind_itself() {
    let steps = [Maybe(6), Maybe(4), Plain, Jump(5), Plain, Jump(7), Plain, Exit];
    assert_eq!(meets(&steps, 1), 5);
    assert_eq!(meets(&steps, 0), 7);
}

#[test]
fn a_loop_with_a_break_meets_where_both_ways_out_lead() {
    let steps = [Plain, Maybe(4), Plain, Maybe(1), Plain, Exit];
    assert_eq!(meets(&steps, 1), 4);
    assert_eq!(meets(&steps, 3), 4);
}

#[test]
fn a_loop_with_two_entries_is_no_obstacle() {
    // The branch at instruction 0 enters a loop at instruction 4, or falls through and enters the same loop
    // at instruction 2.
    let steps = [Maybe(4), Plain, Plain, Maybe(6), Plain, Maybe(2), Exit];
    assert_eq!(meets(&steps, 0), 6);
    assert_eq!(meets(&steps, 3), 6);
    assert_eq!(meets(&steps, 5), 6);
}

#[test]
fn paths_that_exit_apart_never_meet() {
    assert_eq!(meets(&[Maybe(2), Exit, Plain, Exit], 0), NO_PC);
}

#[test]
fn an_exit_under_a_guard_does_not_keep_the_others_apart() {
    let steps = [Maybe(3), MaybeExit, Jump(4), Plain, Exit];
    assert_eq!(meets(&steps, 0), 4);
}

#[test]
fn an_endless_loop_leaves_the_rest_in_order() {
    let steps = [Maybe(2), Jump(1), Maybe(4), Plain, Exit];
    assert_eq!(meets(&steps, 0), 2);
    assert_eq!(meets(&steps, 1), NO_PC);
    assert_eq!(meets(&steps, 2), 4);
}

#[test]
fn a_long_chain_of_blocks_needs_no_stack() {
    let mut steps: Vec<Step> = (1..=100_000).map(Maybe).collect();
    steps.push(Exit);
    assert_eq!(meets(&steps, 0), 1);
}

/// True if some path from basic block `from` to the end of the thread avoids basic block `without`. By
/// definition, `d` post-dominates `b` if no path from `b` to the end avoids `d`.
fn reaches_end(cfg: &Cfg, from: usize, without: usize) -> bool {
    let mut seen = vec![false; cfg.blocks.len()];
    let mut work = vec![from];
    while let Some(b) = work.pop() {
        if b == without || std::mem::replace(&mut seen[b], true) {
            continue;
        }
        if cfg.blocks[b].succs.is_empty() {
            return true;
        }
        work.extend(cfg.blocks[b].succs.iter().map(|&s| s as usize));
    }
    false
}

fn step(len: u32) -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Plain),
        1 => (0..len).prop_map(Jump),
        3 => (0..len).prop_map(Maybe),
        1 => Just(Exit),
    ]
}

proptest! {
    #[test]
    fn post_dominators_agree_with_their_definition(
        mut steps in prop::collection::vec(step(20), 20),
    ) {
        steps.push(Exit);
        let cfg = Cfg::new(&program(&steps));
        let count = cfg.blocks.len();
        for b in 0..count {
            if !reaches_end(&cfg, b, count) {
                continue;
            }
            let strict: Vec<usize> =
                (0..count).filter(|&d| d != b && !reaches_end(&cfg, b, d)).collect();
            // The immediate post-dominator of a basic block is its nearest strict post-dominator. All other
            // strict post-dominators of the basic block post-dominate the nearest one.
            let nearest = strict.iter().copied().find(|&d| {
                strict.iter().all(|&other| other == d || !reaches_end(&cfg, d, other))
            });
            prop_assert_eq!(cfg.blocks[b].ipdom, nearest.map(|d| d as u32), "block {}", b);
        }
    }
}
