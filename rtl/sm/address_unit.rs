//! # Address unit
//! Turns a memory instruction into lane addresses and store data, checks them, and sends global
//! accesses to the LSU in beats of at most 8 bytes per lane, one a cycle.
//!
//! It holds one instruction. A store leaves with its last beat. A load of one beat does too; of
//! several, each waits for the reply to the one before and the instruction stays until the last
//! reply, because a reply names warp and pc but not the beat.

use isa::lanes::Pair;
use isa::program::{Inst, MemOp};
use isa::types::{CacheOp, Space, Type};

use super::decode::Decoded;
use super::fault::{Fault, FaultKind};
use super::operands::{Base, Operand, Operands, Row};
use super::{AddressMap, KernelImage};
use crate::kernel::{Describe, DescribeExt, Edge, FieldsExt, Logic, Tx};
use crate::l1::access::{AccessKind, LANES, MemorySpace, WarpAccess};

/// Bytes per lane of one beat.
pub(super) const BEAT_BYTES: u32 = 8;
/// Store data: four words per lane.
pub(super) type StoreData = [[u32; LANES]; 4];

/// The instruction in the unit.
#[derive(Clone, Debug)]
pub(super) struct AddressUnit {
    valid: bool,
    /// A beat of a load has been sent and its reply is awaited.
    waiting: bool,
    store: bool,
    uncached: bool,
    warp: u8,
    pc: u32,
    mask: u32,
    size_log2: u8,
    /// The next beat, of `beats`.
    beat: u8,
    beats: u8,
    address: [u64; LANES],
    data: StoreData,
}

impl AddressUnit {
    pub(super) fn new() -> Self {
        Self {
            valid: false,
            waiting: false,
            store: false,
            uncached: false,
            warp: 0,
            pc: 0,
            mask: 0,
            size_log2: 0,
            beat: 0,
            beats: 0,
            address: [0; LANES],
            data: [[0; LANES]; 4],
        }
    }

    /// True while no further instruction can enter.
    pub(super) fn is_busy(&self) -> bool {
        self.valid
    }

    /// True if a beat is ready to be sent.
    pub(super) fn can_send(&self) -> bool {
        self.valid && !self.waiting
    }

    /// Takes a checked instruction that moves `bytes` bytes per lane; returns its number of beats. A store brings `data`, which
    /// fills the words given to it.
    pub(super) fn start(
        &mut self,
        (warp, pc, mask): (u8, u32, u32),
        mem: &MemOp,
        bytes: u8,
        base: Base<'_>,
        data: Option<impl FnOnce(&mut StoreData)>,
    ) -> u8 {
        let beat_bytes = bytes.min(BEAT_BYTES as u8);
        self.valid = true;
        self.waiting = false;
        self.store = data.is_some();
        self.uncached = mem.volatile || matches!(mem.cache, CacheOp::Cg | CacheOp::Cv);
        (self.warp, self.pc, self.mask) = (warp, pc, mask);
        self.size_log2 = beat_bytes.trailing_zeros() as u8;
        self.beat = 0;
        self.beats = bytes >> self.size_log2;
        base.addresses(mem, &mut self.address);
        if mask != u32::MAX {
            for (lane, address) in self.address.iter_mut().enumerate() {
                *address = if mask & 1 << lane != 0 { *address } else { 0 };
            }
        }
        if let Some(fill) = data {
            fill(&mut self.data);
        }
        self.beats
    }

    /// Sends the next beat if there is one and the LSU has room. Returns true if it has none.
    pub(super) fn send(&mut self, mem: &mut Tx<'_, WarpAccess>, at: &mut Edge<'_>) -> bool {
        if !self.can_send() {
            return false;
        }
        if !mem.ready(at) {
            return true;
        }
        let ahead = u64::from(self.beat) * u64::from(BEAT_BYTES);
        let word = usize::from(self.beat) * 2;
        mem.push_with(at, |beat| {
            let WarpAccess { kind, space, uncached, warp, pc, size_log2, mask, atomic: _, address, data, compare: _ } =
                beat;
            *kind = if self.store { AccessKind::Store } else { AccessKind::Load };
            *space = MemorySpace::Global;
            *uncached = self.uncached;
            (*warp, *pc, *mask) = (self.warp, self.pc, self.mask);
            *size_log2 = self.size_log2;
            *address = self.address;
            if ahead > 0 {
                for (lane, address) in address.iter_mut().enumerate() {
                    *address += if self.mask & 1 << lane != 0 { ahead } else { 0 };
                }
            }
            let [low, high] = data;
            if self.store {
                *low = self.data[word];
                *high = self.data[word + 1];
            } else {
                *low = [0; LANES];
                *high = [0; LANES];
            }
        });
        if self.store || self.beats == 1 {
            self.beat += 1;
            self.valid = self.beat < self.beats;
        } else {
            self.waiting = true;
        }
        false
    }

    /// Takes note of a load reply. Returns the beat that it answers, and whether it is the last.
    pub(super) fn answered(&mut self, warp: u8, pc: u32) -> (usize, bool) {
        if !(self.valid && self.waiting && self.warp == warp && self.pc == pc) {
            return (0, true);
        }
        let beat = self.beat;
        self.beat += 1;
        self.waiting = false;
        self.valid = self.beat < self.beats;
        (usize::from(beat), !self.valid)
    }

    pub(super) fn describe(&self, to: &mut dyn Describe) {
        let Self { valid, waiting, store, uncached, warp, pc, mask, size_log2, beat, beats, address, data } = self;
        to.flag("valid", *valid);
        to.flag("waiting", *waiting);
        to.flag("store", *store);
        to.flag("uncached", *uncached);
        to.sized("warp", u64::from(*warp), 6);
        to.bits("pc", *pc);
        to.bits("mask", *mask);
        to.sized("size_log2", u64::from(*size_log2), 2);
        to.sized("beat", u64::from(*beat), 2);
        to.sized("beats", u64::from(*beats), 2);
        for (lane, address) in address.iter().enumerate() {
            to.parts("lane", lane as u32, |to| {
                let [word0, word1, word2, word3] = data.each_ref().map(|word| word[lane]);
                to.bits("address", *address);
                to.bits("word0", word0);
                to.bits("word1", word1);
                to.bits("word2", word2);
                to.bits("word3", word3);
            });
        }
        for _ in 0..LANES {
            to.logic("lane_address", Logic::Adder { width: 64 });
        }
    }
}

/// The bytes that an access of the space of `mem` near `address` may touch: those of the buffer
/// there, in device memory.
#[inline]
fn bounds(image: &KernelImage, space: Space, address: u64) -> (u64, u64) {
    match space {
        Space::Param => (0, image.params.len() as u64),
        Space::Shared => (0, image.shared_bytes().into()),
        Space::Global | Space::Const | Space::Local | Space::Generic => {
            image.map.range_of(address).map_or((0, 0), |range| (range.start, range.end()))
        }
    }
}

/// True if an access of `bytes` bytes in all lanes is sure to be right, which nearly all that are
/// right are: the bases lie in an aligned block, the smallest that holds them, which with the offset
/// added seldom reaches beyond a buffer if they do not.
#[inline]
pub(super) fn is_plain(image: &KernelImage, mem: &MemOp, bytes: u8, base: Pair<'_, LANES>) -> bool {
    let Pair { low, high } = base;
    let differing = u64::from(differing(high)) << 32 | u64::from(differing(low));
    let first = u64::from(high[0]) << 32 | u64::from(low[0]);
    let block = u64::MAX.checked_shr(differing.leading_zeros()).unwrap_or(0);
    let offset = mem.offset as u64;
    let within = u64::from(bytes) - 1;
    let (start, end) = bounds(image, mem.space, first.wrapping_add(offset));
    // The lowest byte that a lane can touch, and what is left of the buffer from there on.
    let lowest = (first & !block).wrapping_add(offset).wrapping_sub(start);
    let room = (end - start).saturating_sub(lowest);
    block.checked_add(within).is_some_and(|reach| reach < room)
        && (first.wrapping_add(offset) | differing) & within == 0
}

/// The bits in which the lanes are not all alike.
#[inline]
fn differing(row: &Row) -> u32 {
    // Four sums, as a vector has lanes: the compiler does not split one by itself.
    let mut bits = [0; 4];
    for words in row.as_chunks::<4>().0 {
        for (bits, word) in bits.iter_mut().zip(words) {
            *bits |= word ^ row[0];
        }
    }
    bits[0] | bits[1] | bits[2] | bits[3]
}

/// What is wrong with an access in the lanes of `mask`, and the lowest lane in which it is.
#[inline(never)]
pub(super) fn check(
    image: &KernelImage,
    mem: &MemOp,
    address: &[u64; LANES],
    mask: u32,
) -> Result<(), (u8, FaultKind)> {
    let bytes = mem.bytes();
    // Nearly always all lanes lie in the buffer of the first.
    let (start, end) = bounds(image, mem.space, address[mask.trailing_zeros() as usize % LANES]);
    let room = (end - start).saturating_sub(u64::from(bytes) - 1);
    let within = u64::from(bytes - 1);
    let mut lanes = mask;
    while lanes != 0 {
        let lane = lanes.trailing_zeros() as usize % LANES;
        lanes &= lanes - 1;
        let outside = address[lane].wrapping_sub(start) >= room;
        if (outside || address[lane] & within != 0)
            && let Some(kind) = check_lane(image, mem.space, address[lane], bytes)
        {
            return Err((lane as u8, kind));
        }
    }
    Ok(())
}

fn check_lane(image: &KernelImage, space: Space, address: u64, bytes: u32) -> Option<FaultKind> {
    if address & u64::from(bytes - 1) != 0 {
        return Some(FaultKind::Misaligned { bytes });
    }
    let beyond = |size: u32| address.checked_add(bytes.into()).is_none_or(|end| end > u64::from(size));
    match space {
        Space::Param => {
            let size = image.params.len() as u32;
            beyond(size).then_some(FaultKind::Param { size })
        }
        Space::Shared => {
            let size = image.shared_bytes();
            beyond(size).then_some(FaultKind::Shared { size })
        }
        Space::Global | Space::Const | Space::Local | Space::Generic => {
            (!image.map.holds(address, bytes)).then(|| unmapped(&image.map, address))
        }
    }
}

fn unmapped(map: &AddressMap, address: u64) -> FaultKind {
    FaultKind::Unmapped { nearest: map.nearest(address).cloned() }
}

/// The fault of lane `lane` of `inst`.
pub(super) fn fault(
    (sm, warp, pc): (u32, u8, u32),
    image: &KernelImage,
    inst: &Inst,
    mem: &MemOp,
    address: &[u64; LANES],
    (lane, kind): (u8, FaultKind),
) -> Fault {
    Fault {
        sm,
        warp,
        lane,
        pc,
        file: image.program.file.clone(),
        line: inst.line,
        store: matches!(inst.op, isa::program::Op::Store(_)),
        address: address[usize::from(lane)],
        bytes: mem.bytes(),
        kind,
    }
}

/// Fills in the bytes that a store moves, word after word.
pub(super) fn store_data(decoded: &Decoded, mem: &MemOp, read: &Operands<'_>, data: &mut StoreData) {
    let elements = &decoded.srcs[..usize::from(mem.lanes)];
    data[(mem.bytes().div_ceil(4) as usize)..].fill([0; LANES]);
    match mem.ty.bytes() {
        4 => {
            for (word, src) in data.iter_mut().zip(elements) {
                *word = *read.word(src.low, &mut None);
            }
        }
        8 => {
            for (words, src) in data.chunks_exact_mut(2).zip(elements) {
                words[0] = *read.word(src.low, &mut None);
                words[1] = *read.word(src.high, &mut None);
            }
        }
        bytes => {
            for (element, src) in elements.iter().enumerate() {
                let at = element * bytes as usize;
                if at.is_multiple_of(4) {
                    data[at / 4] = [0; LANES];
                }
                for (word, value) in data[at / 4].iter_mut().zip(narrow(src, mem.ty, read)) {
                    *word |= value << (at % 4 * 8);
                }
            }
        }
    }
}

fn narrow(src: &Operand, ty: Type, read: &Operands<'_>) -> Row {
    let mask = (1u32 << ty.bits()) - 1;
    read.word(src.low, &mut None).map(|value| value & mask)
}

/// A loaded value of type `ty`, extended to 64 bits by its signedness.
pub(super) fn extend(value: u64, ty: Type) -> u64 {
    let unused = 64 - ty.bits();
    if ty.is_signed() { ((value << unused) as i64 >> unused) as u64 } else { value << unused >> unused }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loaded_value_is_extended_by_its_type() {
        assert_eq!(extend(0x1280, Type::S8), 0xffff_ffff_ffff_ff80);
        assert_eq!(extend(0x1280, Type::U8), 0x80);
        assert_eq!(extend(0x8000_0000, Type::S32), 0xffff_ffff_8000_0000);
        assert_eq!(extend(0x8000_0000, Type::F32), 0x8000_0000);
        assert_eq!(extend(u64::MAX, Type::B64), u64::MAX);
    }
}
