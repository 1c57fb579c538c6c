//! Operand read: registers, constants and special registers of one instruction, for all lanes.
//!
//! Decode resolves each operand to the rows of its two words, so that reading an operand only selects rows.
//! Values that are equal in all warps of a launch are stored in a table of constant rows.

use std::array::from_fn;

use isa::lanes::Pair;
use isa::program::{Guard, MemOp, Reg, Src};
use isa::types::{Axis, Special};
use serde::{Deserialize, Serialize};

use super::register_file::RegisterFile;
use crate::kernel::{AnyEdge, Edge};
use crate::l1::access::LANES;
use crate::sm::KernelImage;
use crate::sm::core::Loaded;
use crate::sm::front::decode::DecodedInst;
use crate::sm::front::issue::Issue;
use crate::sm::warp::cta::CtaSlots;
use crate::sm::warp::warps::{Warp, Warps};

/// Row of a register or constant: one 32-bit word for each of 32 lanes.
pub(in crate::sm) type Row = [u32; LANES];

/// SM number and number of warp slots, which kernels can read from special registers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct Identity {
    pub sm: u32,
    pub num_sms: u32,
    /// Number of 32-lane warp slots per SM.
    pub num_warps: u32,
}

/// Source of one word of an operand.
#[derive(Clone, Copy, Debug)]
pub(in crate::sm) enum Word {
    /// Register of the warp, by index.
    Register(u16),
    /// Row of the table of constants, by index.
    Constant(u16),
    /// Special register that varies by warp or over time, shifted right by the given number of bits.
    Special(Special, u8),
}

/// Sources of an operand of up to 64 bits.
#[derive(Clone, Copy, Debug)]
pub(in crate::sm) struct Operand {
    pub low: Word,
    pub high: Word,
}

impl Operand {
    /// Returns the number of register rows that the operand reads.
    pub fn reads(&self) -> u8 {
        [self.low, self.high].iter().map(|word| u8::from(matches!(word, Word::Register(_)))).sum()
    }
}

/// Table of constant rows for one launch on one SM: operand values that are equal in all warps.
#[derive(Clone, Debug)]
pub(in crate::sm) struct Constants {
    rows: Vec<Row>,
}

impl Constants {
    pub fn new() -> Self {
        Self { rows: vec![[0; LANES]] }
    }

    /// Resolves an operand to the sources of its two words; predicates and absent operands read as zero.
    pub fn operand(&mut self, src: &Src, image: &KernelImage, identity: Identity) -> Operand {
        match *src {
            Src::Reg(reg) => self.register(reg),
            Src::Imm(value) => self.splat(value),
            Src::Special(special) => self.special(special, image, identity),
            Src::None | Src::Pred(_) => self.splat(0),
        }
    }

    /// Resolves a register operand of one or two words to the sources of its words.
    pub fn register(&mut self, Reg { index, wide }: Reg) -> Operand {
        let high = if wide { Word::Register(index + 1) } else { self.intern([0; LANES]) };
        Operand { low: Word::Register(index), high }
    }

    fn splat(&mut self, value: u64) -> Operand {
        Operand { low: self.intern([value as u32; LANES]), high: self.intern([(value >> 32) as u32; LANES]) }
    }

    fn special(&mut self, special: Special, image: &KernelImage, identity: Identity) -> Operand {
        let Identity { sm, num_sms, num_warps } = identity;
        let zero = self.intern([0; LANES]);
        let low_only = |low| Operand { low, high: zero };
        match special {
            Special::Tid(_) | Special::Ctaid(_) | Special::WarpId | Special::Clock | Special::ClockHi => {
                low_only(Word::Special(special, 0))
            }
            Special::Clock64 => Operand { low: Word::Special(special, 0), high: Word::Special(special, 32) },
            Special::Ntid(axis) => self.splat(image.block[axis_index(axis)].into()),
            Special::Nctaid(axis) => self.splat(image.grid[axis_index(axis)].into()),
            Special::NWarpId => self.splat(num_warps.into()),
            Special::SmId => self.splat(sm.into()),
            Special::NSmId => self.splat(num_sms.into()),
            Special::GridId => self.splat(image.launch),
            Special::DynamicSharedSize => self.splat(image.dynamic_shared.into()),
            Special::TotalSharedSize => self.splat(image.shared_bytes().into()),
            Special::LaneId => low_only(self.intern(from_fn(|lane| lane as u32))),
            Special::LaneMaskEq
            | Special::LaneMaskLt
            | Special::LaneMaskLe
            | Special::LaneMaskGt
            | Special::LaneMaskGe => low_only(self.intern(from_fn(|lane| special.lane_mask(lane as u32).unwrap_or(0)))),
        }
    }

    fn intern(&mut self, row: Row) -> Word {
        let index = self.rows.iter().position(|have| *have == row).unwrap_or_else(|| {
            self.rows.push(row);
            self.rows.len() - 1
        });
        Word::Constant(index as u16)
    }
}

/// Base to which a memory instruction adds its offset.
#[derive(Clone, Copy)]
pub(in crate::sm) enum Base<'a> {
    /// No base: the offset is the address.
    None,
    /// 32-bit base addresses, one per lane. Base plus offset wraps around at 32 bits.
    Narrow(&'a Row),
    /// 64-bit base addresses, one per lane.
    Wide(Pair<'a, LANES>),
    /// Complete addresses of all lanes in their address space; no offset is added to them.
    Lanes(&'a [u64; LANES]),
}

impl Base<'_> {
    /// Computes the byte address of every lane. Returns the mask of the address bits in which the lanes
    /// differ.
    #[inline(always)]
    pub fn addresses(self, mem: &MemOp, address: &mut [u64; LANES]) -> u64 {
        match self {
            Self::None => {
                *address = [mem.address(0); LANES];
                0
            }
            Self::Narrow(base) => {
                let offset = mem.offset as u32;
                narrow_addresses(base, offset, base[0].wrapping_add(offset).into(), address)
            }
            Self::Wide(Pair { low, high }) => {
                let (offset, first) = (mem.offset as u64, u64::from(high[0]) << 32 | u64::from(low[0]));
                wide_addresses(low, high, offset, first.wrapping_add(offset), address)
            }
            Self::Lanes(lanes) => {
                *address = *lanes;
                lanes.iter().fold(0, |all, lane| all | lane ^ lanes[0])
            }
        }
    }
}

// The loops are separate functions so that the compiler knows that operands and result do not alias, and
// vectorizes over the lanes. The caller passes the address of lane 0 as `first`: if the loop read it from
// the array, the compiler would peel lane 0 off the vectorized loop.

#[inline(never)]
fn narrow_addresses(base: &Row, offset: u32, first: u64, address: &mut [u64; LANES]) -> u64 {
    let mut differing = 0;
    for lane in 0..LANES {
        address[lane] = base[lane].wrapping_add(offset).into();
        differing |= address[lane] ^ first;
    }
    differing
}

#[inline(never)]
fn wide_addresses(low: &Row, high: &Row, offset: u64, first: u64, address: &mut [u64; LANES]) -> u64 {
    let mut differing = 0;
    for lane in 0..LANES {
        address[lane] = (u64::from(high[lane]) << 32 | u64::from(low[lane])).wrapping_add(offset);
        differing |= address[lane] ^ first;
    }
    differing
}

/// Reader for the operands of one instruction.
#[derive(Clone, Copy)]
pub(in crate::sm) struct Operands<'a> {
    file: &'a RegisterFile,
    warps: &'a Warps,
    ctas: &'a CtaSlots,
    loaded: &'a Loaded,
    /// Clock edge for reading predicate operands, always with contract checks. Predicate operands are so rare
    /// that a second variant of all operations, without checks, is not worth compiling.
    at: &'a Edge<'a>,
    /// Warp slot. The field `half` is the half of a 64-lane warp: 0 or 1.
    warp: u8,
    half: u8,
    /// First register row of the warp or half.
    rows: u32,
}

impl<'a> Operands<'a> {
    /// Creates the reader for the operands of an instruction, and occupies the register file ports that it
    /// needs. The parameters are single components of the core, so that the caller can still mutate the other
    /// components.
    #[inline(always)]
    pub fn open(
        (file, warps, ctas): (&'a RegisterFile, &'a Warps, &'a CtaSlots),
        loaded: &'a Loaded,
        at: &'a impl AnyEdge,
        &Issue { warp, half, rows, .. }: &Issue,
        decoded: &DecodedInst,
    ) -> Self {
        file.take_reads(at, decoded.reads.into());
        Self { file, warps, ctas, loaded, at: at.edge(), warp, half, rows: rows.into() }
    }

    /// Reads one word of an operand. If the word must be computed because no row holds it, it is stored in
    /// `spare`.
    #[inline(always)]
    pub fn word<'s>(&self, word: Word, spare: &'s mut Option<Row>) -> &'s Row
    where
        'a: 's,
    {
        match word {
            Word::Register(index) => self.file.word(self.rows + u32::from(index)),
            Word::Constant(index) => &self.loaded.constants.rows[usize::from(index)],
            Word::Special(word, shift) => {
                let Self { warps, ctas, loaded, at, warp, half, .. } = *self;
                let &Warp { cta, index, .. } = warps.get(warp);
                special((word, shift), (cta, index + half), ctas, loaded, at.cycle, spare)
            }
        }
    }

    /// Reads both words of an operand. Words that must be computed because no row holds them are stored in
    /// `spare`.
    #[inline(always)]
    pub fn pair<'s>(&self, operand: &Operand, spare: &'s mut [Option<Row>; 2]) -> Pair<'s, LANES>
    where
        'a: 's,
    {
        let [low, high] = spare;
        Pair { low: self.word(operand.low, low), high: self.word(operand.high, high) }
    }

    /// Reads an operand of up to 64 bits, zero extended to 64 bits.
    pub fn wide(&self, operand: &Operand) -> [u64; LANES] {
        self.pair(operand, &mut [None; 2]).join()
    }

    /// Returns the mask of the lanes in which a predicate operand is true.
    pub fn pred(&self, src: &Src) -> u32 {
        match *src {
            Src::Pred(guard) => self.guard(guard),
            Src::Imm(value) if value & 1 != 0 => u32::MAX,
            _ => 0,
        }
    }

    /// Returns the mask of the lanes in which a guard predicate is true.
    pub fn guard(&self, guard: Guard) -> u32 {
        let lanes = self.file.pred(self.at, self.warp, self.half, guard.pred);
        if guard.negated { !lanes } else { lanes }
    }

    /// Reads the base address of the access `mem` from the operand `base`. Words that must be computed
    /// because no row holds them are stored in `spare`.
    #[inline(always)]
    pub fn base<'s>(&self, mem: &MemOp, base: &Operand, spare: &'s mut [Option<Row>; 2]) -> Base<'s>
    where
        'a: 's,
    {
        match mem.base {
            None => Base::None,
            Some(Reg { wide: true, .. }) => Base::Wide(self.pair(base, spare)),
            Some(Reg { wide: false, .. }) => Base::Narrow(self.word(base.low, &mut spare[0])),
        }
    }
}

/// Returns a special register of the warp with number `index` in a CTA, shifted right by `shift` bits. Only
/// the thread index (`%tid`) differs between lanes.
#[inline(never)]
fn special<'s>(
    (special, shift): (Special, u8),
    (cta, index): (u8, u8),
    ctas: &CtaSlots,
    loaded: &'s Loaded,
    cycle: u64,
    spare: &'s mut Option<Row>,
) -> &'s Row {
    let value = match special {
        Special::Tid(axis) => return &loaded.image.tid[usize::from(index)][axis_index(axis)],
        Special::Ctaid(axis) => ctas.position(cta)[axis_index(axis)].into(),
        Special::WarpId => index.into(),
        Special::Clock | Special::Clock64 => cycle,
        Special::ClockHi => cycle >> 32,
        _ => unreachable!("{special:?} has a row"),
    };
    spare.insert([(value >> shift) as u32; LANES])
}

fn axis_index(axis: Axis) -> usize {
    match axis {
        Axis::X => 0,
        Axis::Y => 1,
        Axis::Z => 2,
    }
}
