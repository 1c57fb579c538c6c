//! Operand read: registers, constants and special registers of one instruction, for all lanes.
//!
//! Decoding resolves each operand to the places of its two words, so that reading one is finding
//! a row. Whatever is the same in all warps of a launch stands in a table of constant rows.

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
use crate::sm::front::decode::Decoded;
use crate::sm::front::issue::Issue;
use crate::sm::warp::cta::CtaSlots;
use crate::sm::warp::warps::{Warp, Warps};

/// A word of every lane.
pub(in crate::sm) type Row = [u32; LANES];

/// Which SM this is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct Identity {
    pub sm: u32,
    pub num_sms: u32,
    /// Warp slots of an SM.
    pub num_warps: u32,
}

/// Where a word of an operand comes from.
#[derive(Clone, Copy, Debug)]
pub(in crate::sm) enum Word {
    /// A register of the warp.
    Register(u16),
    /// A row of the table.
    Constant(u16),
    /// A special register that differs between warps or changes, shifted down by so many bits.
    Special(Special, u8),
}

/// An operand of up to 64 bits.
#[derive(Clone, Copy, Debug)]
pub(in crate::sm) struct Operand {
    pub low: Word,
    pub high: Word,
}

impl Operand {
    /// Reads of the register file that it takes.
    pub fn reads(&self) -> u8 {
        [self.low, self.high].iter().map(|word| u8::from(matches!(word, Word::Register(_)))).sum()
    }
}

/// The constant rows of a launch on one SM.
#[derive(Clone, Debug)]
pub(in crate::sm) struct Constants {
    rows: Vec<Row>,
}

impl Constants {
    pub fn new() -> Self {
        Self { rows: vec![[0; LANES]] }
    }

    /// Resolves an operand; predicates and padding read as zero.
    pub fn operand(&mut self, src: &Src, image: &KernelImage, identity: Identity) -> Operand {
        match *src {
            Src::Reg(reg) => self.register(reg),
            Src::Imm(value) => self.splat(value),
            Src::Special(special) => self.special(special, image, identity),
            Src::None | Src::Pred(_) => self.splat(0),
        }
    }

    /// Resolves a register.
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

/// What an offset is added to for the addresses of a memory instruction.
#[derive(Clone, Copy)]
pub(in crate::sm) enum Base<'a> {
    /// Nothing: the offset is the address.
    None,
    /// 32-bit addresses, which wrap around.
    Narrow(&'a Row),
    /// 64-bit addresses.
    Wide(Pair<'a, LANES>),
    /// Nothing more: the addresses themselves, already within their space.
    Lanes(&'a [u64; LANES]),
}

impl Base<'_> {
    /// Byte address of every lane. Returns the bits in which they are not all alike.
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

// Calls tell the compiler that operands and result lie apart, which lets it take lanes together. That
// `first` is the address of the first lane it is not to know: it would leave that one out of its vectors.

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

/// The operands of one instruction.
#[derive(Clone, Copy)]
pub(in crate::sm) struct Operands<'a> {
    file: &'a RegisterFile,
    warps: &'a Warps,
    ctas: &'a CtaSlots,
    loaded: &'a Loaded,
    /// Predicates are read as operands seldom: not worth a second machine code of all operations.
    at: &'a Edge<'a>,
    /// Warp slot, and half of a warp of 64 lanes.
    warp: u8,
    half: u8,
    /// First row of its registers.
    rows: u32,
}

impl<'a> Operands<'a> {
    /// Opens the operands of an instruction and takes the ports of the register file that it
    /// needs. The parts of the core come one by one: the others stay free to be changed.
    #[inline(always)]
    pub fn open(
        (file, warps, ctas): (&'a RegisterFile, &'a Warps, &'a CtaSlots),
        loaded: &'a Loaded,
        at: &'a impl AnyEdge,
        &Issue { warp, half, rows, .. }: &Issue,
        decoded: &Decoded,
    ) -> Self {
        file.take_reads(at, decoded.reads.into());
        Self { file, warps, ctas, loaded, at: at.edge(), warp, half, rows: rows.into() }
    }

    /// One word of an operand; `spare` holds it if no row does.
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

    /// Both words of an operand; `spare` holds those that no row does.
    #[inline(always)]
    pub fn pair<'s>(&self, operand: &Operand, spare: &'s mut [Option<Row>; 2]) -> Pair<'s, LANES>
    where
        'a: 's,
    {
        let [low, high] = spare;
        Pair { low: self.word(operand.low, low), high: self.word(operand.high, high) }
    }

    /// An operand of up to 64 bits.
    pub fn wide(&self, operand: &Operand) -> [u64; LANES] {
        self.pair(operand, &mut [None; 2]).join()
    }

    /// Lanes in which a predicate operand holds.
    pub fn pred(&self, src: &Src) -> u32 {
        match *src {
            Src::Pred(guard) => self.guard(guard),
            Src::Imm(value) if value & 1 != 0 => u32::MAX,
            _ => 0,
        }
    }

    /// Lanes in which a guard holds.
    pub fn guard(&self, guard: Guard) -> u32 {
        let lanes = self.file.pred(self.at, self.warp, self.half, guard.pred);
        if guard.negated { !lanes } else { lanes }
    }

    /// The base of the addresses that `mem` makes, resolved to `base`; `spare` holds what no row does.
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

/// A special register of warp `index` of a CTA slot, shifted down by `shift`. All but the thread's position are the same
/// in all lanes.
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
