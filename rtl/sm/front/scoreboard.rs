//! # Scoreboard
//! Tracks the registers of each warp that have a pending write, and detects hazards. The head instruction of
//! a warp's buffer has a hazard while it reads or writes a register with a pending write.
//!
//! The hazard bits of all warps form one mask for the schedulers. A warp's bits are updated only when it
//! issues, receives a result or gets a new head instruction.
//!
//! In one cycle, in this order:
//! 1. `reserve` for each issued instruction.
//! 2. `release` for each result.
//! 3. `show` for new head instructions. For the successor of an issued instruction, `show` may also precede
//!    `release`; the resulting hazards are the same.
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: its own tests, `tb/sm/timing.rs`, and `tb/hdl/sm/scoreboard.rs` with `rtl/hdl/sm/ws_sm_scoreboard.sv`.

use isa::program::RegMask;
use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use crate::kernel::{Describe, DescribeExt, FieldsExt, Logic};
use crate::sm::MAX_WARPS;

/// Number of registers and predicates per warp that can have a pending write.
const REGISTERS: u32 = 4 * u64::BITS + u32::BITS;

/// Scoreboards (sets of registers with a pending write) of all warps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scoreboard {
    num_warps: u32,
    /// True if the first element of `RegMask::words` covers all registers of the kernel, so that the
    /// functions here can skip the other elements.
    narrow: bool,
    /// For each warp, set of the registers with a pending write.
    #[serde(with = "BigArray")]
    pending: [RegMask; MAX_WARPS],
    /// For each warp, set of the registers with a pending write from device memory; a subset of `pending`.
    #[serde(with = "BigArray")]
    memory: [RegMask; MAX_WARPS],
    /// Mask of the warps whose head instruction has a hazard.
    hazard: u64,
    /// Mask of the warps whose head instruction has a hazard with a pending write from device memory.
    hazard_memory: u64,
}

impl Scoreboard {
    /// Creates the scoreboards of `warps` warps, without pending writes.
    #[must_use]
    pub fn new(warps: usize) -> Self {
        let none = [RegMask::default(); MAX_WARPS];
        Self { num_warps: warps as u32, narrow: false, pending: none, memory: none, hazard: 0, hazard_memory: 0 }
    }

    /// Prepares the scoreboards for a kernel with `regs` registers per lane; no write may be pending.
    pub fn size(&mut self, regs: u16) {
        self.narrow = u32::from(regs) <= u64::BITS;
    }

    /// Returns the mask of the warps whose head instruction has a hazard.
    #[must_use]
    pub fn hazard(&self) -> u64 {
        self.hazard
    }

    /// Returns the mask of the warps whose head instruction has a hazard with a pending write from device
    /// memory.
    #[must_use]
    pub fn hazard_memory(&self) -> u64 {
        self.hazard_memory
    }

    /// Marks the destination registers of an issued instruction as pending; `memory` is true if the
    /// instruction reads device memory.
    pub fn reserve(&mut self, warp: u8, writes: &RegMask, memory: bool) {
        let slot = usize::from(warp) % MAX_WARPS;
        let pending = &mut self.pending[slot];
        debug_assert!(!pending.intersects(writes), "warp {warp} issued into a pending write");
        insert(pending, writes, self.narrow);
        if memory {
            insert(&mut self.memory[slot], writes, self.narrow);
        }
    }

    /// Clears the pending writes of registers that have been written; `memory` is true if a device-memory
    /// access wrote them. `uses` returns the registers of the warp's head instruction and is called only if
    /// that instruction has a hazard.
    #[inline(always)]
    pub fn release<'u>(&mut self, warp: u8, writes: &RegMask, memory: bool, uses: impl FnOnce() -> &'u RegMask) {
        let (slot, bit) = (usize::from(warp) % MAX_WARPS, 1u64 << (warp % MAX_WARPS as u8));
        remove(&mut self.pending[slot], writes, self.narrow);
        if memory {
            remove(&mut self.memory[slot], writes, self.narrow);
        }
        if self.hazard & bit != 0 {
            let uses = uses();
            if !intersects(&self.pending[slot], uses, self.narrow) {
                self.hazard &= !bit;
                self.hazard_memory &= !bit;
            } else if memory && !intersects(&self.memory[slot], uses, self.narrow) {
                self.hazard_memory &= !bit;
            }
        }
    }

    /// True if the warp has no pending write.
    #[must_use]
    pub fn is_clear(&self, warp: u8) -> bool {
        self.pending[usize::from(warp) % MAX_WARPS].is_empty()
    }

    /// Sets the hazard bits for a new head instruction that uses the registers `uses`. The warp must have had
    /// no head instruction, and hence no hazard.
    #[inline(always)]
    pub fn show(&mut self, warp: u8, uses: &RegMask) {
        let (slot, bit) = (usize::from(warp) % MAX_WARPS, 1u64 << (warp % MAX_WARPS as u8));
        debug_assert!(self.hazard & bit == 0, "warp {warp} has a hazard without a head instruction");
        if intersects(&self.pending[slot], uses, self.narrow) {
            self.hazard |= bit;
            self.hazard_memory |= if intersects(&self.memory[slot], uses, self.narrow) { bit } else { 0 };
        }
    }

    /// Lists the registers and logic of the scoreboards for waveforms, digests and area estimates.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { num_warps, narrow: _, pending, memory, hazard, hazard_memory } = self;
        let warps = *num_warps;
        to.sized("hazard", *hazard, warps);
        to.sized("hazard_memory", *hazard_memory, warps);
        let sets = pending.iter().zip(memory).take(warps as usize);
        to.entries("warp", sets, |(pending, memory), to| {
            for (name, RegMask { words, preds }) in [("pending", pending), ("memory", memory)] {
                to.part(name, |to| {
                    let [words0, words1, words2, words3] = words;
                    to.bits("words0", *words0);
                    to.bits("words1", *words1);
                    to.bits("words2", *words2);
                    to.bits("words3", *words3);
                    to.bits("preds", *preds);
                });
            }
        });
        // The gates of `reserve` set and those of `release` clear each bit of the two register sets. Those of
        // `waits` compare each bit with the registers of the head instruction.
        let bits = REGISTERS * warps;
        to.logic("of_warp", Logic::Decoder { outputs: 3 * warps });
        to.logic("reserve", Logic::Gates { count: 2 * 2 * bits });
        to.logic("release", Logic::Gates { count: 2 * 2 * bits });
        to.logic("head", Logic::Mux { ways: 2, width: bits });
        to.logic("waits", Logic::Gates { count: 2 * 2 * bits });
        to.logic("is_clear", Logic::Gates { count: bits });
    }
}

/// Adds the registers `more` to `set`. If `narrow` is true, processes only the predicates and the first
/// element of `words`, as [`remove`] and [`intersects`] also do.
#[inline(always)]
fn insert(set: &mut RegMask, more: &RegMask, narrow: bool) {
    if narrow {
        set.words[0] |= more.words[0];
        set.preds |= more.preds;
    } else {
        set.insert(more);
    }
}

#[inline(always)]
fn remove(set: &mut RegMask, less: &RegMask, narrow: bool) {
    if narrow {
        set.words[0] &= !less.words[0];
        set.preds &= !less.preds;
    } else {
        set.remove(less);
    }
}

#[inline(always)]
fn intersects(set: &RegMask, other: &RegMask, narrow: bool) -> bool {
    if narrow { set.words[0] & other.words[0] != 0 || set.preds & other.preds != 0 } else { set.intersects(other) }
}

#[cfg(test)]
mod tests {
    use isa::program::Reg;

    use super::*;

    fn regs(indices: &[u16]) -> RegMask {
        let mut mask = RegMask::default();
        indices.iter().for_each(|&index| mask.insert_reg(Reg { index, wide: false }));
        mask
    }

    #[test]
    fn a_hazard_lasts_from_issue_to_the_release_of_the_same_register() {
        let mut board = Scoreboard::new(2);
        let uses = regs(&[3, 200]);
        board.reserve(1, &regs(&[200]), false);
        board.show(1, &uses);
        assert_eq!((board.hazard(), board.hazard_memory()), (2, 0));
        board.release(1, &regs(&[200]), false, || &uses);
        assert_eq!(board.hazard(), 0);
        assert!(board.is_clear(1));
    }

    #[test]
    fn waiting_for_memory_is_told_apart_from_waiting_for_a_pipe() {
        let mut board = Scoreboard::new(1);
        board.reserve(0, &regs(&[1]), true);
        board.reserve(0, &regs(&[2]), false);
        let uses = regs(&[1, 2]);
        board.show(0, &uses);
        assert_eq!((board.hazard(), board.hazard_memory()), (1, 1));
        board.release(0, &regs(&[1]), true, || &uses);
        assert_eq!((board.hazard(), board.hazard_memory()), (1, 0));
        board.release(0, &regs(&[2]), false, || &uses);
        assert_eq!((board.hazard(), board.hazard_memory()), (0, 0));
    }

    #[test]
    fn kernels_of_few_and_of_many_registers_find_the_same_hazards() {
        for regs_of_kernel in [64, 65, 255] {
            let mut board = Scoreboard::new(1);
            board.size(regs_of_kernel);
            for last in [0, 63, regs_of_kernel - 1] {
                board.reserve(0, &regs(&[last]), true);
                let uses = regs(&[last]);
                board.show(0, &uses);
                assert_eq!((board.hazard(), board.hazard_memory()), (1, 1), "register {last} of {regs_of_kernel}");
                board.release(0, &regs(&[last]), true, || &uses);
                assert_eq!(board.hazard(), 0, "register {last} of {regs_of_kernel}");
                assert!(board.is_clear(0));
            }
        }
    }

    #[test]
    fn a_release_asks_for_the_head_only_of_a_warp_that_has_a_hazard() {
        let mut board = Scoreboard::new(2);
        for warp in 0..2 {
            board.reserve(warp, &regs(&[1, 2]), false);
        }
        let uses = regs(&[1]);
        board.show(1, &uses);
        board.release(0, &regs(&[1]), false, || panic!("warp 0 has no head"));
        board.release(1, &regs(&[2]), false, || &uses);
        assert_eq!(board.hazard(), 2);
        board.release(1, &regs(&[1]), false, || &uses);
        assert_eq!(board.hazard(), 0);
    }
}
