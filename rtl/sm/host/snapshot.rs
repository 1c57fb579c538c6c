//! Snapshots of the state that determines a warp's execution, to detect warps in an endless loop.

use isa::program::Op;
use serde::{Deserialize, Serialize};

use crate::l1::access::LANES;
use crate::sm::SmCore;
use crate::sm::warp::simt_stack::StackEntry;

/// State that, together with memory, determines the further execution of a warp: its SIMT stack and
/// registers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarpState {
    /// Entries of the SIMT stack, top first.
    stack: Vec<StackEntry>,
    alive: u64,
    words: Vec<[u32; LANES]>,
    preds: Vec<u32>,
}

impl WarpState {
    /// Returns the index of the next instruction of the warp.
    #[must_use]
    pub fn pc(&self) -> u32 {
        self.stack[0].pc
    }
}

impl SmCore {
    /// Returns the mask of the warps that have not ended.
    #[must_use]
    pub fn live_warps(&self) -> u64 {
        self.warps.live()
    }

    /// Returns the mask of the warps that wait at a barrier.
    #[must_use]
    pub fn warps_at_barrier(&self) -> u64 {
        self.barriers.waiting()
    }

    /// Returns the index of the next instruction of a warp.
    #[must_use]
    pub fn pc(&self, warp: u8) -> u32 {
        self.stacks.pc(warp)
    }

    /// True if the next instruction of a warp is a branch to itself.
    #[must_use]
    pub fn branches_to_itself(&self, warp: u8) -> bool {
        let pc = self.stacks.pc(warp);
        let inst = self.loaded.as_ref().and_then(|loaded| loaded.image.program.insts.get(pc as usize));
        matches!(inst.map(|inst| inst.op), Some(Op::Branch { target, .. }) if target == pc)
    }

    /// Returns the state of a warp; `None` while a register write is pending. Also `None` for a traced
    /// kernel, which has no registers and cannot loop forever, because a trace ends.
    #[must_use]
    pub fn warp_state(&self, warp: u8) -> Option<WarpState> {
        let loaded = self.loaded.as_ref()?;
        if loaded.recorded.is_some() || !self.scoreboard.is_clear(warp) {
            return None;
        }
        let program = &loaded.image.program;
        let (alive, stack) = self.stacks.entries(warp);
        let first = u32::from(self.warps.get(warp).rows);
        let halves = self.config.halves();
        let words = (0..halves * u32::from(program.regs)).map(|row| *self.registers.peek(first + row)).collect();
        let pred = |half| (0..program.preds).map(move |pred| self.registers.peek_pred(warp, half, pred));
        let preds = (0..halves as u8).flat_map(pred).collect();
        Some(WarpState { stack, alive, words, preds })
    }
}
