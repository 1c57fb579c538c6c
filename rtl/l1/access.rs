//! # Messages between an SM core and its LSU
//! One memory instruction of 32 lanes out, one reply back: a load or an atomic brings its data when all
//! lanes have them, a store or a reduction is acknowledged once, when all its lines have reached
//! the point of coherence.
//!
//! A field that has no meaning for the access at hand holds whatever it held before: the sender
//! does not clear it, the receiver does not look at it.

use serde::{Deserialize, Serialize};

use super::bypass::contention::Warps;
use crate::cells::atomic::AtomicOp;
use crate::kernel::{Encoding, Payload};
use arbitrary_int::u2;

/// Lanes of a warp, or of each half of a warp of 64.
pub const LANES: usize = 32;

/// What an access does to memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(2)]
pub enum AccessKind {
    /// Reads it; answered by [`WarpReplyKind::Loaded`].
    #[default]
    Load,
    /// Writes it; answered by [`WarpReplyKind::Stored`].
    Store,
    /// Reads and changes each lane's word as one, lane after lane; answered by
    /// [`WarpReplyKind::Loaded`] with the old words.
    Atomic,
    /// The same for a warp that does not want the old words; answered by [`WarpReplyKind::Stored`].
    Reduce,
}

impl AccessKind {
    /// Whether words are read and changed as one.
    #[must_use]
    pub fn is_atomic(self) -> bool {
        matches!(self, Self::Atomic | Self::Reduce)
    }
}

/// Which cache serves an access, and whether a store leaves its line there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(2)]
pub enum MemorySpace {
    /// Shared by all threads: the L1D, written through.
    #[default]
    Global,
    /// Private to a thread: the L1D, written back.
    Local,
    /// Constants: the constant cache; loads only.
    Const,
    /// Texels: the texture cache; loads only.
    Texture,
}

/// Core to LSU: one warp memory instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = AccessShape)]
pub struct WarpAccess {
    /// What it does.
    #[payload(state)]
    pub kind: AccessKind,
    /// Address space; atomics and reductions are global.
    #[payload(state)]
    pub space: MemorySpace,
    /// True if the access must not look in the L1 (`.cg`, `.cv`, volatile).
    pub uncached: bool,
    /// Warps resident in the SM, 7 bits; 0 if nobody counts them.
    #[payload(only(shape.counts_warps))]
    pub resident: Warps,
    /// Warp slot, 6 bits.
    #[payload(width = 6)]
    pub warp: u8,
    /// Half of a warp of 64 lanes, 1 bit; 0 of one of 32.
    #[payload(only(shape.halves > 1), width = 1)]
    pub half: u8,
    /// Program counter.
    #[payload(width = shape.pc_bits)]
    pub pc: u32,
    /// Which of the beats of its instruction.
    pub beat: u2,
    /// log2 of the bytes a lane moves: 0 to 3; 2 or 3, as the type says, if atomic.
    #[payload(width = 2)]
    pub size_log2: u8,
    /// Active lanes.
    pub mask: u32,
    /// What an atomic or a reduction does.
    #[payload(inside)]
    pub atomic: AtomicOp,
    /// Byte address of each lane, aligned to the size.
    #[payload(width = shape.addr_bits)]
    pub address: [u64; LANES],
    /// What is stored: low word, then high word for accesses of 8 bytes. Of an atomic or a
    /// reduction the operand `b` of [`isa::lanes::global_atomic`], but of compare-and-swap `c`, the
    /// value that memory gets if the comparison holds.
    pub data: [[u32; LANES]; 2],
    /// Of compare-and-swap the operand `b` of [`isa::lanes::global_atomic`], the value that memory must
    /// hold: low word, high word.
    pub compare: [[u32; LANES]; 2],
}

impl Default for WarpAccess {
    fn default() -> Self {
        Self {
            kind: AccessKind::Load,
            space: MemorySpace::Global,
            uncached: false,
            resident: Warps::default(),
            warp: 0,
            half: 0,
            pc: 0,
            beat: u2::default(),
            size_log2: 0,
            mask: 0,
            atomic: AtomicOp::default(),
            address: [0; LANES],
            data: [[0; LANES]; 2],
            compare: [[0; LANES]; 2],
        }
    }
}

/// Widths that the configuration gives to the messages of this file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessShape {
    /// Bits of a byte address.
    pub addr_bits: u32,
    /// Bits of a program counter.
    pub pc_bits: u32,
    /// Halves of a warp: 1 or 2.
    pub halves: u32,
    /// An access says how many warps are resident.
    pub counts_warps: bool,
}

/// What an LSU reply means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(1)]
pub enum WarpReplyKind {
    /// All lanes of a load or an atomic have their data.
    #[default]
    Loaded,
    /// All lines of one store or reduction have reached the point of coherence.
    Stored,
}

/// LSU to core.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = AccessShape)]
pub struct WarpReply {
    /// Data or acknowledgement.
    #[payload(state)]
    pub kind: WarpReplyKind,
    /// Warp slot, 6 bits.
    #[payload(width = 6)]
    pub warp: u8,
    /// Half of a warp of 64 lanes, 1 bit; 0 of one of 32.
    #[payload(only(shape.halves > 1), width = 1)]
    pub half: u8,
    /// Program counter of the load.
    #[payload(width = shape.pc_bits)]
    pub pc: u32,
    /// Which of its beats.
    pub beat: u2,
    /// log2 of the bytes that a lane of the beat moves.
    #[payload(width = 2)]
    pub size_log2: u8,
    /// Lanes loaded.
    pub mask: u32,
    /// Bytes loaded, not extended: low word, high word. Lanes out of the mask, the high words of
    /// accesses below 8 bytes and the words of a store's reply hold whatever the row held last.
    pub data: [[u32; LANES]; 2],
}
