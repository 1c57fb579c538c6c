//! Operand read: registers, immediates and special registers of one instruction, for all lanes.

use std::array::from_fn;

use isa::program::{Guard, MemOp, Src};
use isa::types::{Axis, Special};

use super::KernelImage;
use super::cta::CtaSlots;
use super::register_file::RegisterFile;
use super::warps::{Warp, Warps};
use crate::kernel::Edge;
use crate::l1::access::LANES;

const ZERO: [u32; LANES] = [0; LANES];

/// Which SM this is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity {
    pub(super) sm: u32,
    pub(super) num_sms: u32,
    /// Warp slots of an SM.
    pub(super) num_warps: u32,
}

/// The operands of one instruction.
pub(super) struct Operands<'a> {
    pub(super) file: &'a RegisterFile,
    pub(super) warps: &'a Warps,
    pub(super) ctas: &'a CtaSlots,
    pub(super) image: &'a KernelImage,
    pub(super) identity: Identity,
    pub(super) at: &'a Edge<'a>,
    /// Warp slot.
    pub(super) warp: u8,
}

impl Operands<'_> {
    /// The low word of an operand; `spare` holds it if no register does.
    pub(super) fn word<'s>(&'s self, src: &Src, spare: &'s mut Option<[u32; LANES]>) -> &'s [u32; LANES] {
        match *src {
            Src::Reg(reg) => self.register(reg.index),
            Src::Imm(value) => spare.insert([value as u32; LANES]),
            Src::Special(special) => spare.insert(self.special(special, 0)),
            Src::None | Src::Pred(_) => &ZERO,
        }
    }

    /// An operand of up to 64 bits.
    pub(super) fn wide(&self, src: &Src) -> [u64; LANES] {
        match *src {
            Src::Reg(reg) if reg.wide => {
                let (low, high) = (self.register(reg.index), self.register(reg.index + 1));
                from_fn(|lane| u64::from(high[lane]) << 32 | u64::from(low[lane]))
            }
            Src::Reg(reg) => self.register(reg.index).map(u64::from),
            Src::Imm(value) => [value; LANES],
            Src::Special(special) if special.bits() == 64 => {
                let (low, high) = (self.special(special, 0), self.special(special, 1));
                from_fn(|lane| u64::from(high[lane]) << 32 | u64::from(low[lane]))
            }
            Src::Special(special) => self.special(special, 0).map(u64::from),
            Src::None | Src::Pred(_) => [0; LANES],
        }
    }

    /// Lanes in which a predicate operand holds.
    pub(super) fn pred(&self, src: &Src) -> u32 {
        match *src {
            Src::Pred(guard) => self.guard(guard),
            _ => 0,
        }
    }

    /// Lanes in which a guard holds.
    pub(super) fn guard(&self, guard: Guard) -> u32 {
        let lanes = self.file.pred(self.at, self.warp, guard.pred);
        if guard.negated { !lanes } else { lanes }
    }

    /// Byte address of every lane.
    pub(super) fn addresses(&self, mem: &MemOp) -> [u64; LANES] {
        match mem.base {
            None => [mem.address(0); LANES],
            Some(base) => self.wide(&Src::Reg(base)).map(|base| mem.address(base)),
        }
    }

    fn register(&self, index: u16) -> &[u32; LANES] {
        let rows = self.warps.get(self.warp).rows;
        self.file.word(self.at, u32::from(rows) + u32::from(index))
    }

    /// Word 0 (low) or 1 (high) of a special register.
    fn special(&self, special: Special, word: u32) -> [u32; LANES] {
        let Self { image, identity: Identity { sm, num_sms, num_warps }, .. } = *self;
        let Warp { cta, index, .. } = *self.warps.get(self.warp);
        let half = |value: u64| [(value >> (32 * word)) as u32; LANES];
        let of = |shape: [u32; 3], axis| half(u64::from(shape[axis_index(axis)]));
        match special {
            Special::Tid(axis) => image.tid[usize::from(index)][axis_index(axis)],
            Special::Ntid(axis) => of(image.block, axis),
            Special::Ctaid(axis) => of(self.ctas.position(cta), axis),
            Special::Nctaid(axis) => of(image.grid, axis),
            Special::LaneId => from_fn(|lane| lane as u32),
            Special::WarpId => half(index.into()),
            Special::NWarpId => half(num_warps.into()),
            Special::SmId => half(sm.into()),
            Special::NSmId => half(num_sms.into()),
            Special::GridId => half(image.launch),
            Special::Clock | Special::Clock64 => half(self.at.cycle),
            Special::ClockHi => half(self.at.cycle >> 32),
            Special::DynamicSharedSize => half(image.dynamic_shared.into()),
            Special::TotalSharedSize => half(image.shared_bytes().into()),
            Special::LaneMaskEq
            | Special::LaneMaskLt
            | Special::LaneMaskLe
            | Special::LaneMaskGt
            | Special::LaneMaskGe => from_fn(|lane| special.lane_mask(lane as u32).unwrap_or(0)),
        }
    }
}

fn axis_index(axis: Axis) -> usize {
    match axis {
        Axis::X => 0,
        Axis::Y => 1,
        Axis::Z => 2,
    }
}
