//! # Control flow
//! Builds the basic blocks of a kernel, their edges, and their immediate post-dominators. A warp that
//! diverges at a branch reconverges at the immediate post-dominator of the branch: the first point that all
//! paths from the branch to the end of the thread have in common.
//!
//! The algorithm is the iterative one of Cooper, Harvey and Kennedy ("A simple, fast dominance algorithm"),
//! on the reversed graph with one added exit node.
//!
//! A guarded exit adds no edge to the exit node. Lanes that take it never return, and the remaining lanes
//! continue as one group. An edge would move the reconvergence point of an enclosing branch to the end of the
//! kernel.

use crate::program::{Inst, NO_PC, Op};

/// Control flow graph of a kernel.
#[derive(Clone, Debug)]
pub struct Cfg {
    /// Basic blocks in program order.
    pub blocks: Vec<Block>,
    block_of: Vec<u32>,
}

/// Basic block: consecutive instructions. Control flow enters the block only at its first instruction, and
/// leaves it only after its last instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Program counter (pc) of the first instruction of the basic block.
    pub start: u32,
    /// Pc of the first instruction after the basic block.
    pub end: u32,
    /// Indices of the successor basic blocks.
    pub succs: Vec<u32>,
    /// Indices of the predecessor basic blocks.
    pub preds: Vec<u32>,
    /// Index of the basic block that is the immediate post-dominator; `None` if the paths from this basic
    /// block meet only at the end of the thread.
    pub ipdom: Option<u32>,
}

impl Cfg {
    /// Builds the control flow graph of the instructions `insts`. All branch targets must be pcs of `insts`.
    pub fn new(insts: &[Inst]) -> Cfg {
        let len = insts.len();
        let mut leader = vec![false; len + 1];
        leader[0] = true;
        for (pc, inst) in insts.iter().enumerate() {
            if let Op::Branch { target, .. } = inst.op {
                leader[target as usize] = true;
            }
            if matches!(inst.op, Op::Branch { .. } | Op::Exit | Op::Trap) {
                leader[pc + 1] = true;
            }
        }
        let mut blocks: Vec<Block> = Vec::new();
        let mut block_of = Vec::with_capacity(len);
        for pc in 0..len as u32 {
            if leader[pc as usize] {
                let block = Block { start: pc, ..Block::default() };
                blocks.push(block);
            }
            let current = blocks.len() - 1;
            blocks[current].end = pc + 1;
            block_of.push(current as u32);
        }
        for b in 0..blocks.len() {
            let last = blocks[b].end as usize - 1;
            let mut succs = Vec::with_capacity(2);
            if let Op::Branch { target, .. } = insts[last].op {
                succs.push(block_of[target as usize]);
            }
            if insts[last].falls_through() && last + 1 < len {
                let next = b as u32 + 1;
                if !succs.contains(&next) {
                    succs.push(next);
                }
            }
            for &s in &succs {
                blocks[s as usize].preds.push(b as u32);
            }
            blocks[b].succs = succs;
        }
        let mut cfg = Cfg { blocks, block_of };
        cfg.find_ipdoms();
        cfg
    }

    /// Returns the index of the basic block that contains the instruction at `pc`.
    pub fn block_of(&self, pc: u32) -> u32 {
        self.block_of[pc as usize]
    }

    /// Returns the pc at which the paths from the end of the basic block of `pc` reconverge. Returns
    /// [`NO_PC`] if they reconverge only at the end of the thread.
    pub fn reconvergence(&self, pc: u32) -> u32 {
        match self.blocks[self.block_of(pc) as usize].ipdom {
            Some(block) => self.blocks[block as usize].start,
            None => NO_PC,
        }
    }

    /// Returns the basic blocks from which the end of the thread can be reached, in post-order of the
    /// reversed graph. The depth-first search uses an explicit stack, since recursion would overflow the call
    /// stack in a kernel with long paths.
    fn reversed_postorder(&self) -> Vec<u32> {
        let mut order = Vec::with_capacity(self.blocks.len());
        let mut seen = vec![false; self.blocks.len()];
        for root in (0..self.blocks.len()).filter(|&b| self.blocks[b].succs.is_empty()) {
            seen[root] = true;
            let mut stack = vec![(root as u32, 0)];
            while let Some((b, next)) = stack.last_mut() {
                match self.blocks[*b as usize].preds.get(*next) {
                    Some(&p) => {
                        *next += 1;
                        if !seen[p as usize] {
                            seen[p as usize] = true;
                            stack.push((p, 0));
                        }
                    }
                    None => {
                        order.push(*b);
                        stack.pop();
                    }
                }
            }
        }
        order
    }

    fn find_ipdoms(&mut self) {
        let order = self.reversed_postorder();
        // `rank` is the number of a basic block in post-order of the reversed graph. The added exit node has
        // the highest number. A basic block that cannot reach the end of the thread, such as an endless loop,
        // has no number and is ignored.
        let exit = order.len();
        let mut rank = vec![None; self.blocks.len()];
        for (r, &b) in order.iter().enumerate() {
            rank[b as usize] = Some(r);
        }
        let mut dom: Vec<Option<usize>> = vec![None; exit + 1];
        dom[exit] = Some(exit);
        let mut changed = true;
        while changed {
            changed = false;
            for r in (0..exit).rev() {
                let succs = &self.blocks[order[r] as usize].succs;
                let mut best = succs.is_empty().then_some(exit);
                for s in succs.iter().filter_map(|&s| rank[s as usize]) {
                    if dom[s].is_some() {
                        best = Some(best.map_or(s, |other| meet(&dom, s, other)));
                    }
                }
                if best != dom[r] {
                    dom[r] = best;
                    changed = true;
                }
            }
        }
        for (r, &b) in order.iter().enumerate() {
            self.blocks[b as usize].ipdom = dom[r].filter(|&d| d != exit).map(|d| order[d]);
        }
    }
}

/// Returns the nearest common ancestor of the nodes with post-order numbers `a` and `b` in the tree `dom`,
/// which gives the parent of each node.
fn meet(dom: &[Option<usize>], mut a: usize, mut b: usize) -> usize {
    while a != b {
        let low = if a < b { &mut a } else { &mut b };
        // The nodes `a` and `b` already have a parent in the tree, and every chain of parents ends at the
        // exit node.
        *low = dom[*low].unwrap_or(dom.len() - 1);
    }
    a
}

/// Sets the reconvergence pc of every branch in `insts`.
pub fn resolve_reconvergence(insts: &mut [Inst]) {
    let cfg = Cfg::new(insts);
    for (pc, inst) in insts.iter_mut().enumerate() {
        if let Op::Branch { reconverge, .. } = &mut inst.op {
            *reconverge = cfg.reconvergence(pc as u32);
        }
    }
}

#[cfg(test)]
#[path = "cfg_tests.rs"]
mod tests;
