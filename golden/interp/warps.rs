//! # Kernels warp by warp
//! Runs a launch as the SMs of a machine share it out, but without time: tells an observer of every
//! warp instruction, or of what each asks of global memory, in an order near the hardware's.
//!
//! * CTAs go to SMs round robin in grid order, as many to each as it holds; the CTA that follows goes
//!   to the SM that is first to end one.
//! * SMs take turns. In its turn, an SM runs one instruction of one warp; its warps take turns too,
//!   passing over those that wait at a barrier.
//! * The lanes of a warp run together until a branch parts them: those that jump go first, and both
//!   paths meet again at the branch's reconvergence point.
//!
//! So the number of warp instructions is that of any machine which reconverges there, whatever its
//! timing, unless threads race.

use isa::map;
use isa::program::{MemOp, NO_PC, Op};
use isa::types::Space;

use super::code::decode;
use super::{Cta, InterpError, Launch, State, check, ctas};
use crate::memory::FlatMemory;

/// Lanes of a warp.
pub const LANES: usize = 32;

/// The SMs that share the CTAs of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sms {
    /// How many there are, at least 1.
    pub count: usize,
    /// CTAs of the kernel that each of them holds at once, at least 1.
    pub ctas: usize,
}

/// What a memory instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes as one.
    Atomic,
}

/// What one warp asks of global memory.
#[derive(Clone, Copy, Debug)]
pub struct WarpMemory<'a> {
    /// SM that runs the warp.
    pub sm: usize,
    /// Instruction.
    pub pc: u32,
    /// Its width and cache operator.
    pub mem: &'a MemOp,
    /// What it does there.
    pub access: Access,
    /// Lanes that take part, at least one.
    pub mask: u32,
    /// Address of every lane; 0 where the lane does not take part.
    pub addresses: [u64; LANES],
    /// Warps of the SM that have not ended, this one included.
    pub resident: usize,
}

/// An instruction that one warp issues.
#[derive(Clone, Copy, Debug)]
pub struct WarpStep<'a> {
    /// SM that runs the warp.
    pub sm: usize,
    /// Place of its CTA in the grid.
    pub cta: [u32; 3],
    /// Number of the warp in its CTA.
    pub warp: usize,
    /// Instruction.
    pub pc: u32,
    /// Lanes that take part: those that run and for which the guard holds.
    pub mask: u32,
    /// What a load, store or atomic does, and its width and space.
    pub access: Option<(Access, &'a MemOp)>,
    /// Address of every lane of the mask in that space; 0 for the others.
    pub addresses: [u64; LANES],
    /// Warps of the SM that have not ended, this one included.
    pub resident: usize,
}

impl<'a> WarpStep<'a> {
    /// What it asks of global memory, if anything.
    #[must_use]
    pub fn global(&self) -> Option<WarpMemory<'a>> {
        let (access, mem) = self.access?;
        if !matches!(mem.space, Space::Global | Space::Generic) {
            return None;
        }
        let &WarpStep { sm, pc, resident, .. } = self;
        let mut asked = WarpMemory { sm, pc, mem, access, mask: 0, addresses: [0; LANES], resident };
        for lane in lanes(self.mask) {
            if let Some(address) = global(mem.space, self.addresses[lane]) {
                asked.mask |= 1 << lane;
                asked.addresses[lane] = address;
            }
        }
        (asked.mask != 0).then_some(asked)
    }
}

/// Runs a launch to its end, and `observer` before every access of a warp to global memory. Returns the number of
/// warp instructions.
///
/// # Errors
/// As for [`super::run`].
pub fn run_warps(
    launch: &Launch<'_>,
    sms: Sms,
    memory: &mut FlatMemory,
    observer: &mut dyn FnMut(&WarpMemory<'_>),
) -> Result<u64, InterpError> {
    run_steps(launch, sms, memory, &mut |step| {
        if let Some(asked) = step.global() {
            observer(&asked);
        }
    })
}

/// Runs a launch to its end, and `observer` before every instruction of a warp. Returns the number of
/// warp instructions.
///
/// # Errors
/// As for [`super::run`].
pub fn run_steps(
    launch: &Launch<'_>,
    sms: Sms,
    memory: &mut FlatMemory,
    observer: &mut dyn FnMut(&WarpStep<'_>),
) -> Result<u64, InterpError> {
    check(launch)?;
    let code = decode(launch.program);
    let mut grid = ctas(launch.grid);
    let mut all: Vec<Sm<'_>> = (0..sms.count).map(|id| Sm { id, slots: Vec::new(), next: 0 }).collect();
    'full: for _ in 0..sms.ctas {
        for sm in &mut all {
            let Some(index) = grid.next() else { break 'full };
            let mut slot = Slot { cta: Cta::new(launch, &code)?, index, warps: Vec::new() };
            slot.begin(index);
            sm.slots.push(slot);
        }
    }
    let mut issued = 0;
    let mut first = 0;
    loop {
        let before = issued;
        for sm in &mut all {
            issued += u64::from(sm.turn(memory, observer)?);
        }
        if issued == before {
            return Ok(issued);
        }
        for turn in 0..sms.count {
            let at = (first + turn) % sms.count;
            for slot in all[at].slots.iter_mut().filter(|slot| slot.is_done()) {
                if let Some(index) = grid.next() {
                    slot.begin(index);
                    first = at + 1;
                }
            }
        }
    }
}

/// An SM and the CTAs it holds.
struct Sm<'a> {
    id: usize,
    slots: Vec<Slot<'a>>,
    /// Warp whose turn it is, counted over all slots.
    next: usize,
}

impl Sm<'_> {
    /// Runs one instruction of the next warp that can run; false if there is none.
    fn turn(&mut self, memory: &mut FlatMemory, observer: &mut dyn FnMut(&WarpStep<'_>)) -> Result<bool, InterpError> {
        let Some(warps) = self.slots.first().map(|slot| slot.warps.len()) else { return Ok(false) };
        let all = warps * self.slots.len();
        let resident = self.slots.iter().flat_map(|slot| &slot.warps).filter(|warp| !warp.stack.is_empty()).count();
        for turn in 0..all {
            let at = (self.next + turn) % all;
            let slot = &mut self.slots[at / warps];
            if slot.can_run(at % warps) {
                self.next = at + 1;
                std::mem::swap(&mut slot.cta.memory, memory);
                let ran = slot.issue(at % warps, (self.id, resident), observer);
                std::mem::swap(&mut slot.cta.memory, memory);
                return ran.map(|()| true);
            }
        }
        Ok(false)
    }
}

/// Room for a CTA and the state of its warps.
struct Slot<'a> {
    cta: Cta<'a>,
    /// Place of the CTA in the grid.
    index: [u32; 3],
    warps: Vec<Warp>,
}

/// Which lanes of a warp run together.
struct Warp {
    /// Thread of lane 0.
    first: usize,
    /// Lanes that have not exited.
    alive: u32,
    /// The last entry runs; those below it wait for it. Empty once all lanes have exited.
    stack: Vec<Entry>,
}

/// Lanes that run together from `pc` until they come to `until`.
#[derive(Clone, Copy, Debug)]
struct Entry {
    pc: u32,
    until: u32,
    mask: u32,
}

impl Slot<'_> {
    fn begin(&mut self, index: [u32; 3]) {
        self.cta.begin(index);
        self.index = index;
        let threads = self.cta.threads.len();
        let warp = |first: usize| {
            let mask = u32::MAX >> (LANES - (threads - first).min(LANES));
            Warp { first, alive: mask, stack: vec![Entry { pc: 0, until: NO_PC, mask }] }
        };
        self.warps = (0..threads).step_by(LANES).map(warp).collect();
    }

    fn is_done(&self) -> bool {
        self.warps.iter().all(|warp| warp.stack.is_empty())
    }

    fn can_run(&self, warp: usize) -> bool {
        let Warp { first, stack, .. } = &self.warps[warp];
        let lane = stack.last().and_then(|top| lanes(top.mask).next());
        lane.is_some_and(|lane| self.cta.threads[first + lane].state == State::Running)
    }

    /// Runs one instruction of a warp that can run.
    fn issue(
        &mut self,
        warp: usize,
        (sm, resident): (usize, usize),
        observer: &mut dyn FnMut(&WarpStep<'_>),
    ) -> Result<(), InterpError> {
        let Warp { first, alive, stack } = &mut self.warps[warp];
        let Some(Entry { pc, until, mask }) = stack.pop() else { return Ok(()) };
        let code = self.cta.code;
        let inst = &code.insts[pc as usize];
        let access = accessed(&inst.op);
        let mut step = WarpStep { sm, cta: self.index, warp, pc, mask, access, addresses: [0; LANES], resident };
        if inst.guard.is_some() || access.is_some() {
            let frame = code.frame.len();
            for lane in lanes(mask) {
                let values = &self.cta.values[(*first + lane) * frame..][..frame];
                if inst.guard.is_some_and(|guard| !guard.truth(values)) {
                    step.mask &= !(1 << lane);
                } else if let Some((_, mem)) = access {
                    step.addresses[lane] = mem.address(inst.base.read(values));
                }
            }
        }
        observer(&step);
        let (mut jumped, mut waits) = (0, false);
        for lane in lanes(mask) {
            self.cta.step(*first + lane)?;
            let thread = self.cta.threads[*first + lane];
            match thread.state {
                State::Done => *alive &= !(1 << lane),
                _ if thread.pc != pc + 1 => jumped |= 1 << lane,
                State::Running => {}
                _ => waits = true,
            }
        }
        if matches!(inst.op, Op::Warp(_)) {
            self.cta.meet(*first);
        }
        let went_on = mask & *alive & !jumped;
        match inst.op {
            Op::Branch { target, reconverge, .. } => {
                // Lanes that all go one way reconverge where they would have without the branch.
                let parted = jumped != 0 && went_on != 0;
                if parted && reconverge != until {
                    stack.push(Entry { pc: reconverge, until, mask });
                }
                let until = if parted { reconverge } else { until };
                stack.push(Entry { pc: pc + 1, until, mask: went_on });
                stack.push(Entry { pc: target, until, mask: jumped });
            }
            _ => stack.push(Entry { pc: pc + 1, until, mask: went_on }),
        }
        while let Some(top) = stack.last_mut() {
            top.mask &= *alive;
            if top.mask != 0 && top.pc != top.until {
                break;
            }
            stack.pop();
        }
        if (waits || stack.is_empty()) && !(0..self.warps.len()).any(|warp| self.can_run(warp)) {
            self.cta.release()?;
        }
        Ok(())
    }
}

/// The access of an instruction, if it is one.
fn accessed(op: &Op) -> Option<(Access, &MemOp)> {
    match op {
        Op::Load(mem) => Some((Access::Load, mem)),
        Op::Store(mem) => Some((Access::Store, mem)),
        Op::Atomic(_, mem) => Some((Access::Atomic, mem)),
        _ => None,
    }
}

/// The global address of an access that goes there; a generic address says so itself.
fn global(space: Space, address: u64) -> Option<u64> {
    match space {
        Space::Generic => map::resolve(address).filter(|(space, _)| *space == Space::Global).map(|(_, at)| at),
        _ => Some(address),
    }
}

/// The lanes of a mask, ascending.
fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 != 0)
}

#[cfg(test)]
#[path = "warp_tests.rs"]
mod tests;
