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
use isa::program::MemOp;
use isa::types::Space;

use super::code::decode;
use super::order::Residents;
use super::warp::lanes;
use super::{InterpError, Launch, check, ctas};
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

/// An SM: it holds every CTA whose number among the residents is its own, and those at steps of `count` from there.
struct Sm<'n> {
    id: usize,
    count: usize,
    /// Warp whose turn it is, counted over all CTAs.
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
        let all = warps * held().count();
        let live = |cta: usize| residents.ctas[cta].warps.iter().filter(|warp| !warp.is_done()).count();
        let resident = held().map(live).sum();
        for turn in 0..all {
            let at = (*self.next + turn) % all;
            let (cta, warp) = (self.id + self.count * (at / warps), at % warps);
            if residents.ctas[cta].can_run(warp) {
                *self.next = at + 1;
                return residents.issue(cta, warp, Some(Watcher { observer, sm: self.id, resident }));
            }
        }
        Ok(())
    }
}

/// Who sees what a warp issues, and where it does so.
pub(super) struct Watcher<'w> {
    pub(super) observer: &'w mut dyn FnMut(&WarpStep<'_>),
    pub(super) sm: usize,
    pub(super) resident: usize,
}

/// The global address of an access that goes there; a generic address says so itself.
fn global(space: Space, address: u64) -> Option<u64> {
    match space {
        Space::Generic => map::resolve(address).filter(|(space, _)| *space == Space::Global).map(|(_, at)| at),
        _ => Some(address),
    }
}

#[cfg(test)]
#[path = "warp_tests.rs"]
mod tests;
