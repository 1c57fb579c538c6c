//! # Address unit
//! Computes the lane addresses and store data of a memory instruction, and sends its accesses to the LSU in
//! beats. A beat has at most 8 bytes per lane, and one is sent per cycle. Beats of local memory have at most
//! 4 bytes, because the words of local memory are interleaved between the lanes of a warp. If the L1D has
//! word banks, a load of 16 bytes per lane is sent as one access, since the banks serve a quarter of the warp
//! at a time. The reply to such a load has two beats.
//!
//! One instruction at a time occupies the unit, until its last beat is sent. A reply carries the number of
//! its beat, so that several beats can be in flight. Texture fetches are an exception: each beat is sent only
//! after the reply to the previous beat, because the core stores just one row of state per fetch until its
//! texels arrive (`texture.rs`).
//!
//! Part of `rtl/sm/core.rs`.
//! Twin: `golden/interp.rs`, whole kernels.
//! Bench: its own tests and `tb/sm/spaces.rs`.

use arbitrary_int::traits::Integer;
use arbitrary_int::{u2, u3};
use isa::lanes::AtomicFn;
use isa::map::{LOCAL_WORD, local_offset};
use isa::program::MemOp;
use isa::types::{CacheOp, Type};
use serde::{Deserialize, Serialize};

use crate::cells::atomic::AtomicOp;
use crate::kernel::{AnyEdge, Describe, DescribeExt, FieldsExt, Logic, Payload, Tx};
use crate::l1::access::{AccessKind, LANES, MemorySpace, WarpAccess, WarpReply};
use crate::l1::bypass::contention::Warps;
use crate::replacement::priority::{EvictionHints, HintShape};
use crate::sm::execute::operands::{Base, Operand, Operands, Row};
use crate::sm::front::decode::DecodedInst;
use crate::sm::front::issue::Issue;

/// Maximum size of one beat per lane in bytes.
pub(in crate::sm) const BEAT_BYTES: u8 = 8;
/// Distance in bytes between consecutive words of one lane's local memory.
const LOCAL_STRIDE: u64 = LOCAL_WORD * LANES as u64;
/// Store data of an instruction: four 32-bit words per lane.
pub(in crate::sm) type StoreData = [[u32; LANES]; 4];

/// Address unit, with the memory instruction that currently occupies it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::sm) struct AddressUnit {
    /// True if a load of 16 bytes per lane is sent as one access instead of two.
    is_wide: bool,
    /// Eviction priorities that accesses carry.
    carries: HintShape,
    valid: bool,
    /// True if a beat of a texture fetch awaits its reply.
    waiting: bool,
    kind: AccessKind,
    space: MemorySpace,
    uncached: bool,
    /// Eviction priorities of the lines of a load or a store.
    hints: EvictionHints,
    warp: u8,
    /// Half of a 64-lane warp: 0 or 1.
    half: u8,
    pc: u32,
    mask: u32,
    /// Base-2 logarithm of the number of bytes per lane in one access to the LSU.
    size_log2: u8,
    /// Index of the next beat to send. The field `beats` is the number of beats of the instruction. An access
    /// of 16 bytes per lane that is sent as a whole counts as two beats.
    beat: u3,
    beats: u3,
    atomic: AtomicOp,
    address: [u64; LANES],
    /// Store data, word by word. For an atomic: two words of operand, then two words of compare value for
    /// compare-and-swap.
    data: StoreData,
}

/// Range of bytes that one beat carries, within the access of each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sm) struct Part {
    /// Offset of the beat's first byte in the access of a lane, in bytes.
    pub offset: u32,
    /// Size of the beat per lane in bytes.
    pub bytes: u32,
}

impl Part {
    /// Returns the range of bytes that a reply carries, within the access of each lane.
    pub fn of(reply: &WarpReply) -> Self {
        let bytes = 1 << reply.size_log2;
        Self { offset: u32::from(reply.beat) * bytes, bytes }
    }
}

impl AddressUnit {
    pub fn new() -> Self {
        Self {
            is_wide: false,
            carries: HintShape::NONE,
            valid: false,
            waiting: false,
            kind: AccessKind::Load,
            space: MemorySpace::Global,
            uncached: false,
            hints: EvictionHints::default(),
            warp: 0,
            half: 0,
            pc: 0,
            mask: 0,
            size_log2: 0,
            beat: u3::default(),
            beats: u3::default(),
            atomic: AtomicOp::default(),
            address: [0; LANES],
            data: [[0; LANES]; 4],
        }
    }

    /// Makes the unit send each load of 16 bytes per lane as one access instead of two.
    pub fn widen_loads(&mut self) {
        self.is_wide = true;
    }

    /// Makes accesses carry the given eviction priorities of their instruction.
    pub fn send_hints(&mut self, hints: HintShape) {
        self.carries = hints;
    }

    /// True while an instruction occupies the unit, so that no other instruction can enter.
    pub fn is_busy(&self) -> bool {
        self.valid
    }

    /// True if a beat is ready to be sent.
    pub fn can_send(&self) -> bool {
        self.valid && !self.waiting
    }

    /// Computes the lane addresses of an instruction that may enter the unit, which must be empty. Returns
    /// the mask of the address bits in which the lanes differ.
    #[inline(always)]
    pub fn form(&mut self, mem: &MemOp, base: Base<'_>) -> u64 {
        base.addresses(mem, &mut self.address)
    }

    /// Returns the addresses of all lanes of the instruction in the unit.
    #[inline(always)]
    pub fn addresses(&self) -> &[u64; LANES] {
        &self.address
    }

    /// Accepts a load or store of global memory that moves `bytes` bytes per lane. Its addresses must have
    /// been computed by `form` and checked. Returns the number of beats. `data` fills in the store data; it
    /// is `None` for a load.
    #[inline(always)]
    pub fn start(&mut self, issue: &Issue, mem: &MemOp, bytes: u8, data: Option<impl FnOnce(&mut StoreData)>) -> u8 {
        self.begin(of(issue), bytes, BEAT_BYTES);
        self.kind = if data.is_some() { AccessKind::Store } else { AccessKind::Load };
        if self.is_wide && self.kind == AccessKind::Load {
            self.size_log2 = bytes.trailing_zeros() as u8;
        }
        self.uncached = mem.volatile || matches!(mem.cache, CacheOp::Cg | CacheOp::Cv);
        if self.carries != HintShape::NONE {
            self.hints = EvictionHints::of(mem).in_shape(self.carries);
        }
        self.clear_idle_lanes();
        if let Some(fill) = data {
            fill(&mut self.data);
        }
        self.beats.value()
    }

    /// Accepts an atomic of global memory as one beat; the operands are those of [`isa::lanes::atomic`]. The
    /// LSU returns the old values only if `returns` is true.
    #[inline(never)]
    pub fn start_atomic(&mut self, issue: &Issue, op: AtomicOp, returns: bool, [address, b, c]: [&[u64; LANES]; 3]) {
        self.begin(of(issue), op.ty.bytes() as u8, BEAT_BYTES);
        self.kind = if returns { AccessKind::Atomic } else { AccessKind::Reduce };
        self.uncached = true;
        self.hints = EvictionHints::default();
        self.atomic = op;
        self.address = *address;
        self.clear_idle_lanes();
        let (value, compare) = if op.f == AtomicFn::CompareSwap { (c, b) } else { (b, c) };
        let [low, high, compare_low, compare_high] = &mut self.data;
        for ([low, high], values) in [([low, high], value), ([compare_low, compare_high], compare)] {
            *low = values.map(|value| value as u32);
            *high = values.map(|value| (value >> 32) as u32);
        }
    }

    /// Accepts a texture fetch with `bytes` bytes per texel. Returns its number of beats.
    #[inline(never)]
    pub fn start_fetch(&mut self, issue: &Issue, bytes: u8, address: &[u64; LANES]) -> u8 {
        self.begin(of(issue), bytes, BEAT_BYTES);
        (self.kind, self.space) = (AccessKind::Load, MemorySpace::Texture);
        self.uncached = false;
        self.hints = EvictionHints::default();
        self.address = *address;
        self.clear_idle_lanes();
        self.beats.value()
    }

    /// Converts the load that the unit has just accepted to a load of constants. Constants begin at address
    /// `base` of device memory.
    pub fn move_to_constants(&mut self, base: u64) {
        self.space = MemorySpace::Const;
        self.hints = EvictionHints::default();
        self.size_log2 = self.size_log2.min(BEAT_BYTES.ilog2() as u8);
        for address in &mut self.address {
            *address += base;
        }
        self.clear_idle_lanes();
    }

    /// Converts the load or store that the unit has just accepted to an access to local memory, with `bytes`
    /// bytes per lane. The local memory of the warp begins at `base`. Returns the number of beats.
    pub fn move_to_local(&mut self, base: u64, bytes: u8) -> u8 {
        self.begin((self.warp, self.half, self.pc, self.mask), bytes, LOCAL_WORD as u8);
        self.space = MemorySpace::Local;
        for (lane, address) in self.address.iter_mut().enumerate() {
            *address = base + local_offset(*address, lane as u32, LANES as u32);
        }
        self.clear_idle_lanes();
        self.beats.value()
    }

    /// Sets the state that all kinds of instructions need. The instruction accesses `bytes` bytes per lane,
    /// in beats of at most `most` bytes per lane.
    #[inline(always)]
    fn begin(&mut self, (warp, half, pc, mask): (u8, u8, u32, u32), bytes: u8, most: u8) {
        self.valid = true;
        self.waiting = false;
        self.space = MemorySpace::Global;
        (self.warp, self.half, self.pc, self.mask) = (warp, half, pc, mask);
        self.size_log2 = bytes.min(most).trailing_zeros() as u8;
        self.beat = u3::default();
        self.beats = u3::new(bytes >> self.size_log2);
    }

    #[inline(always)]
    fn clear_idle_lanes(&mut self) {
        if self.mask != u32::MAX {
            for (lane, address) in self.address.iter_mut().enumerate() {
                *address = if self.mask & 1 << lane != 0 { *address } else { 0 };
            }
        }
    }

    /// Sends the next beat, if there is one and the LSU has room. Returns true if the LSU is full. `resident`
    /// is the number of running warps, which is sent with the beat.
    pub fn send(&mut self, resident: u8, mem: &mut Tx<'_, WarpAccess>, at: &mut impl AnyEdge) -> bool {
        if !self.can_send() {
            return false;
        }
        if !mem.is_ready(at) {
            return true;
        }
        self.send_beat(resident, mem, at);
        false
    }

    #[inline(never)]
    fn send_beat(&mut self, resident: u8, mem: &mut Tx<'_, WarpAccess>, at: &mut impl AnyEdge) {
        let (stride, words) =
            if self.space == MemorySpace::Local { (LOCAL_STRIDE, 1) } else { (u64::from(BEAT_BYTES), 2) };
        let ahead = u64::from(self.beat) * stride;
        let word = self.beat.as_usize() * words;
        mem.push_with(at, |to| {
            let WarpAccess {
                kind,
                space,
                uncached,
                hints,
                resident: warps,
                warp,
                half,
                pc,
                beat,
                size_log2,
                mask,
                atomic,
                address,
                data,
                compare,
            } = to;
            *kind = self.kind;
            *space = self.space;
            *uncached = self.uncached;
            *hints = self.hints;
            *warps = Warps::new(resident);
            (*warp, *half, *pc, *mask) = (self.warp, self.half, self.pc, self.mask);
            *beat = u2::new(self.beat.value());
            *size_log2 = self.size_log2;
            *address = self.address;
            if ahead > 0 {
                for (lane, address) in address.iter_mut().enumerate() {
                    *address += if self.mask & 1 << lane != 0 { ahead } else { 0 };
                }
            }
            if self.kind != AccessKind::Load {
                let [low, high] = data;
                *low = self.data[word];
                *high = self.data[(word + 1) % self.data.len()];
            }
            if self.kind.is_atomic() {
                *atomic = self.atomic;
                let [low, high] = compare;
                *low = self.data[2];
                *high = self.data[3];
            }
        });
        self.beat += u3::new(if 1 << self.size_log2 > BEAT_BYTES { 2 } else { 1 });
        self.valid = self.beat < self.beats;
        if self.valid && self.space == MemorySpace::Texture {
            self.waiting = true;
        }
    }

    /// Records the reply to a beat of a texture fetch. Returns true if the fetch has further beats; the next
    /// beat may then be sent.
    pub fn on_reply(&mut self, warp: u8, pc: u32) -> bool {
        let answered = self.waiting && self.warp == warp && self.pc == pc;
        self.waiting &= !answered;
        answered
    }

    pub fn describe(&self, halves: u32, to: &mut dyn Describe) {
        let Self {
            is_wide,
            carries,
            valid,
            waiting,
            kind,
            space,
            uncached,
            hints,
            warp,
            half,
            pc,
            mask,
            size_log2,
            beat,
            beats,
            atomic,
            address,
            data,
        } = self;
        to.flag("valid", *valid);
        to.flag("waiting", *waiting);
        to.state("kind", *kind);
        to.state("space", *space);
        to.flag("uncached", *uncached);
        hints.fields(carries, to);
        to.sized("warp", u64::from(*warp), 6);
        if halves > 1 {
            to.flag("half", *half != 0);
        }
        to.bits("pc", *pc);
        to.bits("mask", *mask);
        to.sized("size_log2", u64::from(*size_log2), 2 + u32::from(*is_wide));
        to.bits("beat", *beat);
        to.bits("beats", *beats);
        atomic.fields(&(), to);
        to.entries("lane", address.iter().enumerate(), |(lane, address), to| {
            let [word0, word1, word2, word3] = data.each_ref().map(|word| word[lane]);
            to.bits("address", *address);
            to.bits("word0", word0);
            to.bits("word1", word1);
            to.bits("word2", word2);
            to.bits("word3", word3);
        });
        for _ in 0..LANES {
            to.logic("lane_address", Logic::Adder { width: 64 });
        }
    }
}

/// Returns the fields of an issue that the address unit stores: warp, half, pc and mask of the active lanes.
fn of(&Issue { warp, half, pc, mask, .. }: &Issue) -> (u8, u8, u32, u32) {
    (warp, half, pc, mask)
}

/// Packs the source operands of a store into store data, word by word.
pub(in crate::sm) fn store_data(decoded: &DecodedInst, mem: &MemOp, read: &Operands<'_>, data: &mut StoreData) {
    let elements = &decoded.srcs[..usize::from(mem.lanes)];
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

/// Returns a loaded value extended to 64 bits: with its sign if `ty` is a signed type, else with zeros.
pub(in crate::sm) fn extend(value: u64, ty: Type) -> u64 {
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
