//! # Warp-level execution of kernels
//! Runs a launch on the SMs of a machine, but without time. Notifies an observer of every warp instruction,
//! or of every global memory access of a warp, in an order close to that of the hardware.
//!
//! * CTAs are assigned to SMs round robin in grid order, up to the capacity of each SM. The next CTA is then
//!   assigned to the first SM on which a CTA ends.
//! * SMs run round robin, one instruction of one warp per turn. Within an SM, the warps that do not wait at a
//!   barrier run round robin.
//! * The lanes of a warp run in lockstep until a branch diverges. The taken path runs first, and both paths
//!   meet at the reconvergence point of the branch.
//!
//! The number of warp instructions therefore equals that of any machine with the same reconvergence points,
//! whatever its timing, unless threads race.

use isa::map;
use isa::program::MemOp;
use isa::types::Space;

use super::code::decode;
use super::order::Residents;
use super::warp::lanes;
use super::{InterpError, Launch, check, ctas};
use crate::memory::FlatMemory;

/// Number of lanes (threads) in a warp.
pub const LANES: usize = 32;

/// Number and capacity of the SMs that run the CTAs of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sms {
    /// Number of SMs, at least 1.
    pub count: usize,
    /// Number of CTAs of the kernel that each SM holds at once, at least 1.
    pub ctas: usize,
}

/// Kind of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read of memory, without a write.
    Load,
    /// Write to memory, without a read.
    Store,
    /// Atomic read-modify-write of memory.
    Atomic,
}

/// Global memory access of one warp instruction.
#[derive(Clone, Copy, Debug)]
pub struct WarpMemory<'a> {
    /// Number of the SM that runs the warp.
    pub sm: usize,
    /// Program counter of the instruction.
    pub pc: u32,
    /// Width, state space and cache operator of the access.
    pub mem: &'a MemOp,
    /// Kind of the access: load, store or atomic.
    pub access: Access,
    /// Mask of the lanes that access global memory; at least one lane.
    pub mask: u32,
    /// Byte address that each lane accesses; 0 for lanes that do not take part in the access.
    pub addresses: [u64; LANES],
    /// Number of warps on the SM that have not ended, including the warp of this access.
    pub resident: usize,
}

/// Instruction issued by one warp.
#[derive(Clone, Copy, Debug)]
pub struct WarpStep<'a> {
    /// Number of the SM that runs the warp.
    pub sm: usize,
    /// Index of the CTA to which the warp belongs.
    pub cta: [u32; 3],
    /// Number of the warp in its CTA.
    pub warp: usize,
    /// Program counter of the instruction.
    pub pc: u32,
    /// Mask of the lanes that execute the instruction: running lanes whose guard is true.
    pub mask: u32,
    /// Kind of the memory access, and its width and state space; `None` if the instruction is not a load,
    /// store or atomic.
    pub access: Option<(Access, &'a MemOp)>,
    /// Address that each lane accesses, within the state space of the access; 0 for lanes outside the mask.
    pub addresses: &'a [u64; LANES],
    /// Number of warps on the SM that have not ended, including the warp of this instruction.
    pub resident: usize,
}

impl<'a> WarpStep<'a> {
    /// Returns the global memory access of the instruction, if it has one.
    #[must_use]
    pub fn global(&self) -> Option<WarpMemory<'a>> {
        let (access, mem) = self.access?;
        if !matches!(mem.space, Space::Global | Space::Generic) {
            return None;
        }
        let &WarpStep { sm, pc, resident, .. } = self;
        if mem.space == Space::Global {
            let (mask, addresses) = (self.mask, *self.addresses);
            return (mask != 0).then_some(WarpMemory { sm, pc, mem, access, mask, addresses, resident });
        }
        let mut asked = WarpMemory { sm, pc, mem, access, mask: 0, addresses: [0; LANES], resident };
        for lane in lanes(self.mask) {
            if let Some((Space::Global, address)) = map::resolve(self.addresses[lane]) {
                asked.mask |= 1 << lane;
                asked.addresses[lane] = address;
            }
        }
        (asked.mask != 0).then_some(asked)
    }
}

/// Runs a launch to its end, and calls `observer` before every access of a warp to global memory. Returns the
/// number of executed warp instructions.
///
/// # Errors
/// Returns the same errors as [`super::run`].
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

/// Runs a launch to its end, and calls `observer` before every instruction of a warp. Returns the number of
/// executed warp instructions.
///
/// # Errors
/// Returns the same errors as [`super::run`].
pub fn run_steps(
    launch: &Launch<'_>,
    sms: Sms,
    memory: &mut FlatMemory,
    observer: &mut dyn FnMut(&WarpStep<'_>),
) -> Result<u64, InterpError> {
    check(launch)?;
    let code = decode(launch.program);
    let mut grid = ctas(launch.grid);
    let mut residents = Residents::new(memory);
    residents.is_full = true;
    for index in grid.by_ref().take(sms.count * sms.ctas) {
        residents.join(launch, &code, index)?;
    }
    let mut next = vec![0; sms.count];
    let mut first = 0;
    loop {
        let before = residents.issued;
        for (id, next) in next.iter_mut().enumerate() {
            Sm { id, count: sms.count, next }.turn(&mut residents, observer)?;
        }
        if residents.issued == before {
            return Ok(residents.issued);
        }
        if !std::mem::take(&mut residents.has_ended) {
            continue;
        }
        for turn in 0..sms.count {
            let sm = (first + turn) % sms.count;
            for cta in (sm..residents.ctas.len()).step_by(sms.count) {
                if residents.ctas[cta].is_done()
                    && let Some(index) = grid.next()
                {
                    residents.replace(cta, index);
                    first = sm + 1;
                }
            }
        }
    }
}

/// SM number `id` of `count` SMs. It runs the resident CTAs with the indices `id`, `id + count`, `id + 2
/// count` and so on.
struct Sm<'n> {
    id: usize,
    count: usize,
    /// Number of the warp that the round-robin selection tries first. Warps are numbered over all CTAs of the
    /// SM.
    next: &'n mut usize,
}

impl Sm<'_> {
    /// Runs one instruction of the next warp that can run, if there is one.
    fn turn(
        &mut self,
        residents: &mut Residents<'_, '_>,
        observer: &mut dyn FnMut(&WarpStep<'_>),
    ) -> Result<(), InterpError> {
        let Some(warps) = residents.ctas.get(self.id).map(|cta| cta.warps.len()) else { return Ok(()) };
        let held = || (self.id..residents.ctas.len()).step_by(self.count);
        let resident = held().map(|cta| residents.ctas[cta].live).sum();
        if resident == 0 {
            return Ok(());
        }
        let all = warps * held().len();
        let first = *self.next % all;
        for at in (first..all).chain(0..first) {
            let (cta, warp) = (self.id + self.count * (at / warps), at % warps);
            if residents.ctas[cta].can_run(warp) {
                *self.next = at + 1;
                return residents.issue(cta, warp, Some(Watcher { observer, sm: self.id, resident }));
            }
        }
        Ok(())
    }
}

/// Observer of the instructions of one SM. With each instruction, it receives the number of the SM (`sm`) and
/// the SM's number of resident warps (`resident`).
pub(super) struct Watcher<'w> {
    pub(super) observer: &'w mut dyn FnMut(&WarpStep<'_>),
    pub(super) sm: usize,
    pub(super) resident: usize,
}

#[cfg(test)]
#[path = "warp_tests.rs"]
mod tests;
