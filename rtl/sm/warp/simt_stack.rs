//! # SIMT stack
//! Tracks the program counter and active lanes of each warp, and reconverges divergent lanes at
//! post-dominators. A divergent branch splits the top entry into two entries, one per path. Each path runs
//! until it reaches the immediate post-dominator of the branch. An entry below the two, with all lanes of the
//! branch, continues there.
//!
//! The top entry is stored in flip-flops, and the entries below it in a memory with one row per warp. A lane
//! that exits disappears from all entries at once: its `alive` bit masks every entry read from the memory,
//! and entries without lanes are skipped.
//!
//! A branch reuses the top entry if the branch and the entry have the same reconvergence point. A loop that
//! lanes leave one by one therefore needs only two entries. Every divergence splits the lanes of the top
//! entry and adds at most two entries, and 32 lanes can be split 31 times. Hence 1 + 2 * 31 = 63 entries
//! suffice for any program; warps of 64 lanes need 1 + 2 * 63 = 127 entries. GPGPU-Sim's 33 entries suffice
//! if branches nest no deeper than 16.
//!
//! In each cycle, a scheduler performs at most one of `advance`, `branch` and `exit`, on one of its own
//! warps. `start` applies only to warps that do not run.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: its own tests, `tb/sm/control.rs`, and `tb/hdl/sm/simt_stack.rs` with `rtl/hdl/sm/ws_sm_simt_stack.sv`.

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use crate::kernel::{AnyEdge, Array, ArraySpec, Collide, Describe, DescribeExt, FieldsExt, Logic, Payload, Storage};
use crate::sm::MAX_WARPS;
use isa::program::NO_PC;

/// Entry of a SIMT stack. The parameter `shape` of the payload is the number of lanes per warp, which is the
/// width of `mask` in bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
pub struct StackEntry {
    /// Index of the next instruction of the entry's lanes.
    pub pc: u32,
    /// Reconvergence point: index of the instruction at which the entry is popped, before its lanes execute
    /// it.
    pub rpc: u32,
    /// Mask of the active lanes of the entry.
    #[payload(width = *shape)]
    pub mask: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Stack {
    top: StackEntry,
    /// Number of entries below the top entry of the stack.
    below: u8,
    /// Mask of the lanes of the warp that have not exited.
    alive: u64,
}

/// SIMT stacks of all warps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SimtStacks {
    /// Number of lanes per warp.
    lanes: u32,
    #[serde(with = "BigArray")]
    stacks: [Stack; MAX_WARPS],
    memory: Array<StackEntry>,
}

impl SimtStacks {
    /// Creates the stacks of `warps` warps. The stacks are updated by `schedulers` schedulers, each of which
    /// updates at most one stack per cycle.
    #[must_use]
    pub fn new(path: &str, warps: usize, lanes: u32, schedulers: u32) -> Self {
        let spec = ArraySpec {
            path: format!("{path}.simt_stack"),
            storage: Storage::RegisterFile,
            rows: warps as u32,
            columns: 2 * lanes - 2,
            reads: schedulers,
            writes: 2 * schedulers,
            collide: Collide::New,
        };
        Self { lanes, stacks: [Stack::default(); MAX_WARPS], memory: Array::new(spec, lanes) }
    }

    /// Starts a warp at instruction 0 with the lanes of `mask`.
    pub fn start(&mut self, warp: u8, mask: u64) {
        let top = StackEntry { pc: 0, rpc: NO_PC, mask };
        self.stacks[usize::from(warp) % MAX_WARPS] = Stack { top, below: 0, alive: mask };
    }

    /// Sets the next instruction and the active lanes of a warp of a traced kernel.
    pub fn set(&mut self, warp: u8, pc: u32, mask: u64) {
        let top = &mut self.stacks[usize::from(warp) % MAX_WARPS].top;
        (top.pc, top.mask) = (pc, mask);
    }

    /// Returns the index of the next instruction of the warp.
    #[must_use]
    pub fn pc(&self, warp: u8) -> u32 {
        self.stacks[usize::from(warp) % MAX_WARPS].top.pc
    }

    /// Returns the mask of the active lanes, which execute the next instruction.
    #[must_use]
    pub fn active(&self, warp: u8) -> u64 {
        self.stacks[usize::from(warp) % MAX_WARPS].top.mask
    }

    /// Returns the mask of the lanes that have not exited.
    #[must_use]
    pub fn alive(&self, warp: u8) -> u64 {
        self.stacks[usize::from(warp) % MAX_WARPS].alive
    }

    /// Returns the mask of the lanes of a warp that have not exited, and all its stack entries, top first.
    /// For reports only: the read occupies no memory port.
    #[must_use]
    pub fn entries(&self, warp: u8) -> (u64, Vec<StackEntry>) {
        (self.alive(warp), self.all(warp).collect())
    }

    /// Returns all stack entries of a warp, top first.
    pub(in crate::sm) fn all(&self, warp: u8) -> impl Iterator<Item = StackEntry> {
        let Stack { top, below, .. } = self.stacks[usize::from(warp) % MAX_WARPS];
        let below = &self.memory.row(warp.into())[..usize::from(below)];
        std::iter::once(top).chain(below.iter().rev().copied())
    }

    /// Advances the warp to the next instruction.
    ///
    /// # Panics
    /// Panics if the warp has no lanes left.
    pub fn advance(&mut self, at: &impl AnyEdge, warp: u8) {
        let next = self.pc(warp) + 1;
        self.jump(at, warp, next);
    }

    /// Executes a branch to `target`. `taken` is the mask of the active lanes that take the branch. The two
    /// paths reconverge at `reconverge`.
    ///
    /// # Panics
    /// Panics if the stack is full.
    pub fn branch(&mut self, at: &impl AnyEdge, warp: u8, taken: u64, target: u32, reconverge: u32) {
        let StackEntry { pc, rpc, mask } = self.stacks[usize::from(warp) % MAX_WARPS].top;
        let next = pc + 1;
        if taken == mask || target == next {
            return self.jump(at, warp, target);
        }
        if taken == 0 {
            return self.jump(at, warp, next);
        }
        if reconverge != rpc {
            self.push(at, warp, StackEntry { pc: reconverge, rpc, mask });
        }
        let not_taken = StackEntry { pc: next, rpc: reconverge, mask: mask & !taken };
        let taken = StackEntry { pc: target, rpc: reconverge, mask: taken };
        self.stacks[usize::from(warp) % MAX_WARPS].top = if next == reconverge {
            taken
        } else if target == reconverge {
            not_taken
        } else {
            self.push(at, warp, not_taken);
            taken
        };
    }

    /// Ends the active lanes in `mask`. Lanes of the top entry that remain advance to the next instruction.
    /// Returns true if the warp has no lanes left.
    pub fn exit(&mut self, at: &impl AnyEdge, warp: u8, mask: u64) -> bool {
        let stack = &mut self.stacks[usize::from(warp) % MAX_WARPS];
        stack.alive &= !mask;
        stack.top.mask &= !mask;
        if stack.alive == 0 {
            stack.below = 0;
            return true;
        }
        if stack.top.mask == 0 {
            self.pop(at, warp);
        } else {
            self.advance(at, warp);
        }
        false
    }

    fn jump(&mut self, at: &impl AnyEdge, warp: u8, pc: u32) {
        let top = &mut self.stacks[usize::from(warp) % MAX_WARPS].top;
        top.pc = pc;
        if pc == top.rpc {
            self.pop(at, warp);
        }
    }

    fn push(&mut self, at: &impl AnyEdge, warp: u8, entry: StackEntry) {
        let stack = &mut self.stacks[usize::from(warp) % MAX_WARPS];
        assert!(
            u32::from(stack.below) < self.memory.spec().columns,
            "cycle {}, {}: warp {warp} needs more than {} entries",
            at.cycle(),
            self.memory.spec().path,
            2 * self.lanes - 1
        );
        self.memory.write(at, warp.into(), stack.below.into(), entry);
        stack.below += 1;
    }

    /// Pops the top entry, and then every entry that has no live lanes or has reached its reconvergence
    /// point.
    #[inline(never)]
    fn pop(&mut self, at: &impl AnyEdge, warp: u8) {
        let stack = &mut self.stacks[usize::from(warp) % MAX_WARPS];
        let row = self.memory.read(at, warp.into());
        while stack.below > 0 {
            stack.below -= 1;
            let entry = row[usize::from(stack.below)];
            let mask = entry.mask & stack.alive;
            if mask != 0 && entry.pc != entry.rpc {
                stack.top = StackEntry { mask, ..entry };
                return;
            }
        }
        panic!("cycle {}, {}: warp {warp} lost its lanes", at.cycle(), self.memory.spec().path);
    }

    /// Starts to maintain a digest (hash) of the memory contents.
    pub fn record(&mut self) {
        self.memory.record();
    }

    /// Lists the registers, memory and logic of the SIMT stacks for waveforms, digests and area estimates.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { lanes, stacks, memory } = self;
        to.array("entries", memory);
        let spec = memory.spec();
        let stacks = stacks.iter().take(spec.rows as usize);
        to.entries("warp", stacks, |Stack { top: StackEntry { pc, rpc, mask }, below, alive }, to| {
            to.bits("pc", *pc);
            to.bits("rpc", *rpc);
            to.sized("active", *mask, *lanes);
            to.sized("below", u64::from(*below), spec.columns.ilog2() + 1);
            to.sized("alive", *alive, *lanes);
        });
        let warps = spec.rows;
        let entry = 64 + *lanes;
        for _ in 0..spec.reads {
            to.logic("top", Logic::Mux { ways: warps, width: entry + *lanes + spec.columns.ilog2() + 1 });
            to.logic("next_pc", Logic::Counter { width: 32 });
            // Comparators for three tests: Does the branch have the same reconvergence point as the top
            // entry? Does each of its two paths have instructions before that point? Has the top entry
            // reached its own reconvergence point?
            to.logic("reconverged", Logic::Comparator { width: 32, count: 5 });
            to.logic("lanes_left", Logic::Gates { count: 6 * *lanes });
            // Logic that tests, for each entry below the top, whether it has live lanes and whether it has
            // instructions left before its reconvergence point.
            to.logic("has_lanes", Logic::Gates { count: 2 * *lanes * spec.columns });
            to.logic("has_ended", Logic::Comparator { width: 32, count: spec.columns });
            to.logic("below_top", Logic::Less { width: spec.columns.ilog2() + 1, count: spec.columns });
            to.logic("next_entry", Logic::PriorityEncoder { inputs: spec.columns });
            to.logic("uncovered", Logic::Mux { ways: spec.columns, width: entry });
            to.logic("new_top", Logic::Mux { ways: 4, width: entry });
            to.logic("place", Logic::Decoder { outputs: 2 * spec.columns });
        }
        to.logic("start", Logic::Mux { ways: 2, width: warps * (entry + *lanes) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Edge, Wake};

    const W: u8 = 0;

    /// Runs `script` on the SIMT stack of one warp of 32 lanes; each step of the script has its own clock
    /// edge.
    fn run(mask: u64, script: &mut dyn FnMut(&mut SimtStacks, &mut dyn FnMut() -> u64)) -> SimtStacks {
        run_wide(32, mask, script)
    }

    fn run_wide(lanes: u32, mask: u64, script: &mut dyn FnMut(&mut SimtStacks, &mut dyn FnMut() -> u64)) -> SimtStacks {
        let mut stacks = SimtStacks::new("sm0", 1, lanes, 1);
        stacks.start(W, mask);
        let mut cycle = 0;
        script(&mut stacks, &mut || {
            cycle += 1;
            cycle
        });
        stacks
    }

    fn edge(cycle: u64, act: impl FnOnce(&Edge<'_>)) {
        let mut wake = Wake::new(&[1]);
        act(&Edge::new(cycle, cycle, &mut wake));
    }

    fn state(stacks: &SimtStacks) -> (u32, u64, u8) {
        (stacks.pc(W), stacks.active(W), stacks.stacks[0].below + 1)
    }

    #[test]
    fn the_taken_path_runs_first_and_both_meet_at_the_post_dominator() {
        run(0b1111, &mut |s, cycle| {
            edge(cycle(), |at| s.branch(at, W, 0b0011, 5, 7));
            assert_eq!(state(s), (5, 0b0011, 3));
            edge(cycle(), |at| s.advance(at, W));
            edge(cycle(), |at| s.advance(at, W));
            assert_eq!(state(s), (1, 0b1100, 2));
            edge(cycle(), |at| s.branch(at, W, 0b1100, 7, 7));
            assert_eq!(state(s), (7, 0b1111, 1));
        });
    }

    #[test]
    fn a_path_that_leads_straight_to_the_meeting_point_is_not_pushed() {
        run(0b1111, &mut |s, cycle| {
            edge(cycle(), |at| s.branch(at, W, 0b0001, 3, 3));
            assert_eq!(state(s), (1, 0b1110, 2));
        });
    }

    #[test]
    fn a_loop_whose_lanes_leave_one_by_one_does_not_grow_the_stack() {
        // Program: `0: ...; 1: @p bra 0`, reconverging at 2. One lane leaves the loop in each iteration.
        let all = u64::from(u32::MAX);
        run(all, &mut |s, cycle| {
            for round in 1..32 {
                let left = all & all << round;
                edge(cycle(), |at| s.advance(at, W));
                edge(cycle(), |at| s.branch(at, W, left, 0, 2));
                assert_eq!(state(s), (0, left, 2));
            }
            edge(cycle(), |at| s.advance(at, W));
            edge(cycle(), |at| s.branch(at, W, 0, 0, 2));
            assert_eq!(state(s), (2, all, 1));
        });
    }

    #[test]
    fn lanes_that_exit_vanish_from_the_entries_below() {
        run(0b1111, &mut |s, cycle| {
            edge(cycle(), |at| s.branch(at, W, 0b0011, 5, 7));
            edge(cycle(), |at| assert!(!s.exit(at, W, 0b0011)));
            assert_eq!(state(s), (1, 0b1100, 2));
            edge(cycle(), |at| s.branch(at, W, 0b1100, 7, 7));
            assert_eq!(state(s), (7, 0b1100, 1));
            edge(cycle(), |at| assert!(s.exit(at, W, 0b1100)));
        });
    }

    #[test]
    fn paths_that_never_meet_end_by_exit_alone() {
        run(0b11, &mut |s, cycle| {
            edge(cycle(), |at| s.branch(at, W, 0b01, 9, NO_PC));
            assert_eq!(state(s), (9, 0b01, 2));
            edge(cycle(), |at| assert!(!s.exit(at, W, 0b01)));
            assert_eq!(state(s), (1, 0b10, 1));
        });
    }

    #[test]
    fn splitting_lane_by_lane_in_nested_branches_stays_within_the_depth() {
        // Each branch splits off the lowest remaining lane. Each branch has a reconvergence point of its own,
        // so it adds two entries.
        for lanes in [32, 64] {
            let all = u64::MAX >> (64 - lanes);
            run_wide(lanes, all, &mut |s, cycle| {
                for level in 0..lanes - 1 {
                    let stay = all & all << (level + 1);
                    edge(cycle(), |at| s.branch(at, W, stay, s.pc(W) + 10, 1000 - level));
                }
                assert_eq!(state(s), (10 * (lanes - 1), 1 << (lanes - 1), 2 * lanes as u8 - 1));
            });
        }
    }
}
