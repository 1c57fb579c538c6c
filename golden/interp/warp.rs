//! Execution of one warp: its SIMT stack, divergence and reconvergence, and the execution of its next
//! instruction.

use isa::program::{BarrierKind, MemOp, NO_PC, Op};

use super::code::DecodedInst;
use super::registers::{Longs, NO_LONGS, Registers};
use super::undefined::Step;
use super::warps::{Access, WarpStep, Watcher};
use super::{Cta, FaultKind, InterpError, LANES};
use crate::memory::FlatMemory;

/// State of a warp with its registers and its SIMT stack.
pub(super) struct Warp {
    /// Number of the thread in lane 0 of the warp, counted within the CTA.
    pub(super) first: usize,
    /// Mask of the lanes that have a thread; the last warp of a CTA may have fewer than 32.
    threads: u32,
    /// Mask of the lanes that have not exited.
    pub(super) alive: u32,
    /// Barrier at which the warp waits, if any.
    pub(super) barrier: Option<Arrival>,
    /// SIMT stack. The last entry runs; the entries below it wait until it has reconverged.
    pub(super) stack: Vec<Entry>,
    pub(super) registers: Registers,
}

/// Entry of the SIMT stack: the lanes in `mask` run together from `pc` to the reconvergence point `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) pc: u32,
    pub(super) until: u32,
    pub(super) mask: u32,
}

/// Arrival of a warp at a barrier at which it waits, with the mask of lanes that executed the barrier
/// instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) id: u8,
    pub(super) pc: u32,
    pub(super) lanes: u32,
}

impl Warp {
    pub(super) fn new(first: usize, threads: usize, registers: Registers) -> Self {
        let threads = u32::MAX >> (LANES - (threads - first).min(LANES));
        Self { first, threads, alive: 0, barrier: None, stack: Vec::new(), registers }
    }

    /// Restarts the warp with all lanes at the first instruction. Clears the predicates and the register
    /// rows. The rows to clear are the first `words` 32-bit rows and the first `longs` 64-bit rows; later
    /// rows hold constants.
    pub(super) fn begin(&mut self, [words, longs]: [usize; 2]) {
        let mask = self.threads;
        (self.alive, self.barrier) = (mask, None);
        self.stack.clear();
        self.stack.push(Entry { pc: 0, until: NO_PC, mask });
        self.registers.words[..words].fill([0; LANES]);
        self.registers.longs[..longs].fill([0; LANES]);
        self.registers.preds.fill(0);
    }

    pub(super) fn is_done(&self) -> bool {
        self.alive == 0
    }

    /// Returns the index of the SIMT stack entry that runs next, or `None` if the warp waits or has ended.
    #[inline]
    pub(super) fn next(&self) -> Option<usize> {
        if self.barrier.is_some() { None } else { self.stack.len().checked_sub(1) }
    }

    /// Returns the program counter of a warp that runs or waits at a barrier.
    pub(super) fn pc(&self) -> u32 {
        match &self.barrier {
            Some(arrival) => arrival.pc,
            None => self.stack.last().map_or(0, |top| top.pc),
        }
    }

    /// Executes a branch for the SIMT stack entry with index `at`. The lanes in `jumped` take the branch, and
    /// the other lanes of the entry fall through. If all lanes go the same way, the reconvergence point of
    /// the entry stays the same.
    fn part(&mut self, at: usize, jumped: u32, target: u32, reconverge: u32) {
        let Entry { pc, until, mask } = self.stack[at];
        let went_on = mask & !jumped;
        if jumped == 0 || went_on == 0 || target == pc + 1 {
            self.stack[at].pc = if jumped == 0 { pc + 1 } else { target };
            return self.settle(at);
        }
        let below = Entry { pc: reconverge, until, mask };
        let paths = [(pc + 1, went_on), (target, jumped)];
        let paths = paths.map(|(pc, mask)| Entry { pc, until: reconverge, mask });
        let below = Some(below).filter(|_| reconverge != until);
        let all = below.into_iter().chain(paths.into_iter().filter(|path| path.pc != reconverge));
        self.stack.splice(at..=at, all);
        self.settle(self.stack.len() - 1);
    }

    /// Removes SIMT stack entry `at` if it has reached its reconvergence point. Then removes entries from the
    /// top of the stack as long as they have reached their reconvergence points or have no lanes left.
    #[inline]
    fn settle(&mut self, at: usize) {
        if self.stack[at].pc == self.stack[at].until {
            self.stack.remove(at);
        }
        while let Some(top) = self.stack.last_mut() {
            top.mask &= self.alive;
            if top.mask != 0 && top.pc != top.until {
                break;
            }
            self.stack.pop();
        }
    }
}

impl Cta<'_> {
    /// True if a warp can run: it does not wait at a barrier and has not ended.
    pub(super) fn can_run(&self, warp: usize) -> bool {
        self.warps[warp].next().is_some()
    }

    /// Runs one instruction of a warp that can run. The observer is notified first.
    #[inline]
    pub(super) fn issue(
        &mut self,
        warp: usize,
        memory: &mut FlatMemory,
        watcher: Option<Watcher<'_>>,
    ) -> Result<(), InterpError> {
        let code = self.code;
        let one = &self.warps[warp];
        let Some(at) = one.next() else { return Ok(()) };
        let Entry { pc, mask, .. } = one.stack[at];
        let (first, mask) = (one.first, mask & one.alive);
        let inst = &code.insts[pc as usize];
        let lanes = inst.guard.map_or(mask, |guard| mask & one.registers.truth(guard));
        let access = memory_access(&inst.op);
        let computed;
        let mut addresses = NO_LONGS;
        if let Some((_, mem)) = access {
            computed = one.addresses(inst, mem, lanes);
            addresses = &computed;
        }
        if let Some(Watcher { observer, sm, resident }) = watcher {
            observer(&WarpStep { sm, cta: self.index, warp, pc, mask: lanes, access, addresses, resident });
        }
        let limit = self.launch.max_instructions;
        self.executed += u64::from(mask.count_ones());
        if self.executed > limit {
            return Err(self.fault(first + mask.trailing_zeros() as usize, pc, FaultKind::Runaway(limit)));
        }
        if let Some(undefined) = &mut self.undefined {
            let step = Step { pc, warp, running: mask, acting: lanes, cta: self.index };
            undefined.follow(inst, step, &one.registers);
        }
        if let Op::Branch { target, reconverge, .. } = inst.op {
            self.warps[warp].part(at, lanes, target, reconverge);
            return Ok(());
        }
        if lanes != 0 {
            let done = self.act(warp, inst, pc, lanes, addresses, memory);
            done.map_err(|(number, kind)| self.fault(number, pc, kind))?;
        }
        let one = &mut self.warps[warp];
        one.stack[at].pc = pc + 1;
        one.settle(at);
        if one.next().is_none() {
            return self.waits(warp, pc);
        }
        Ok(())
    }

    /// Executes an instruction other than a branch in the lanes that `mask` selects, of which there is at
    /// least one. If it faults, returns the fault and the number of the faulting thread.
    #[inline]
    fn act(
        &mut self,
        warp: usize,
        inst: &DecodedInst,
        pc: u32,
        mask: u32,
        addresses: &Longs,
        memory: &mut FlatMemory,
    ) -> Result<(), (usize, FaultKind)> {
        let first = self.warps[warp].first;
        match &inst.op {
            Op::Load(mem) => {
                self.polls.note(pc, mem);
                self.load(warp, inst, mem, mask, addresses, memory)
            }
            Op::Store(mem) => self.store(warp, inst, mem, mask, addresses, memory),
            Op::Atomic(f, mem) => {
                each(first, mask, |lane| self.atomic(warp, lane, inst, (*f, mem), addresses[lane], memory))
            }
            Op::LoadMatrix(..) | Op::Tensor(_) if mask != u32::MAX => {
                Err((first + mask.trailing_zeros() as usize, FaultKind::Lanes(mask)))
            }
            Op::Warp(op) if op.needs_all_lanes() && mask != u32::MAX => {
                Err((first + mask.trailing_zeros() as usize, FaultKind::Lanes(mask)))
            }
            Op::LoadMatrix(load, mem) => self.load_matrix(warp, inst, *load, mem, addresses),
            Op::Texture(op) => each(first, mask, |lane| self.texture(warp, lane, inst, op, memory)),
            Op::SurfaceAddress(op) => each(first, mask, |lane| self.surface_address(warp, lane, inst, op)),
            Op::Trap => each(first, mask, |_| Err(FaultKind::Trap)),
            Op::Exit => {
                self.exit(warp, mask);
                Ok(())
            }
            Op::Barrier { id } => self.arrive_at_barrier(warp, BarrierKind::Sync, Arrival { id: *id, pc, lanes: mask }),
            Op::BarrierWith(kind) => self.arrive_at_named_barrier(warp, *kind, inst, pc, mask),
            Op::Warp(op) => self.exchange(warp, pc, (inst, op), mask),
            Op::Fence(_) | Op::Nop | Op::Branch { .. } => Ok(()),
            _ => {
                inst.compute(&mut self.warps[warp].registers, mask);
                Ok(())
            }
        }
    }

    /// Exits the lanes that `mask` selects. If this ends the warp, barriers that waited only for this warp
    /// open.
    fn exit(&mut self, warp: usize, mask: u32) {
        self.warps[warp].alive &= !mask;
        if self.warps[warp].is_done() {
            self.has_changed = true;
            self.live -= 1;
            self.open_all();
        }
    }

    /// Called when a warp has stopped: it waits or has ended. Returns a deadlock error if the CTA has not
    /// ended but none of its warps can run.
    #[inline(never)]
    fn waits(&self, warp: usize, pc: u32) -> Result<(), InterpError> {
        debug_assert!(!self.can_run(warp), "at pc {pc}");
        if self.is_done() || (0..self.warps.len()).any(|warp| self.can_run(warp)) {
            return Ok(());
        }
        Err(self.deadlock_error())
    }
}

/// Calls `act` for each lane that `mask` selects, in ascending order. If `act` fails, returns its error and
/// the number of the thread in that lane.
#[inline(always)]
pub(super) fn each<E>(first: usize, mask: u32, mut act: impl FnMut(usize) -> Result<(), E>) -> Result<(), (usize, E)> {
    lanes(mask).try_for_each(|lane| act(lane).map_err(|e| (first + lane, e)))
}

/// Returns the kind and the operands of the memory access that an instruction performs, if any.
fn memory_access(op: &Op) -> Option<(Access, &MemOp)> {
    match op {
        Op::Load(mem) | Op::LoadMatrix(_, mem) => Some((Access::Load, mem)),
        Op::Store(mem) => Some((Access::Store, mem)),
        Op::Atomic(_, mem) => Some((Access::Atomic, mem)),
        _ => None,
    }
}

/// Yields the numbers of the lanes that `mask` selects, in ascending order.
#[inline(always)]
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}
