//! # Messages between an SM core and its LSU
//! The core sends one memory instruction of 32 lanes and receives one reply. The LSU replies to a load or an
//! atomic with the data, once it has the data of all lanes. It acknowledges a store or a reduction once all
//! its lines have reached the point of coherence. The reply to a load of 16 bytes per lane takes two beats.
//!
//! A field that has no meaning for a kind of access holds stale bits: the sender does not clear the field,
//! and the receiver ignores it.

use serde::{Deserialize, Serialize};

use super::bypass::contention::Warps;
use crate::cells::atomic::AtomicOp;
use crate::kernel::{Encoding, Payload};
use crate::replacement::priority::{EvictionHints, HintShape};
use arbitrary_int::u2;

/// Number of lanes of a warp, or of each half of a 64-lane warp.
pub const LANES: usize = 32;

/// Kind of a memory access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(2)]
pub enum AccessKind {
    /// Load; the LSU replies with [`WarpReplyKind::Loaded`].
    #[default]
    Load,
    /// Store; the LSU replies with [`WarpReplyKind::Stored`].
    Store,
    /// Atomic read-modify-write of the word of each lane, one lane after the other. The LSU replies with
    /// [`WarpReplyKind::Loaded`] and the old words.
    Atomic,
    /// Atomic whose old words are not returned (a reduction). The LSU replies with [`WarpReplyKind::Stored`].
    Reduce,
}

impl AccessKind {
    /// True for an atomic read-modify-write, whether or not it returns the old words.
    #[must_use]
    pub fn is_atomic(self) -> bool {
        matches!(self, Self::Atomic | Self::Reduce)
    }
}

/// Address space of an access, which selects its cache and the write policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(2)]
pub enum MemorySpace {
    /// Global memory, shared by all threads. The L1D caches it, and stores write through.
    #[default]
    Global,
    /// Local memory, private to a thread. The L1D caches it, and stores are written back.
    Local,
    /// Constant memory, which is only loaded. The constant cache caches it.
    Const,
    /// Texture memory, which is only loaded. The texture cache caches it.
    Texture,
}

/// Message from core to LSU: one warp memory instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = AccessShape)]
pub struct WarpAccess {
    /// Kind of the memory access: load, store, atomic or reduction.
    #[payload(state)]
    pub kind: AccessKind,
    /// Address space of the access; always global for atomics and reductions.
    #[payload(state)]
    pub space: MemorySpace,
    /// True if the access must not look up the L1 (`.cg`, `.cv`, volatile).
    pub uncached: bool,
    /// Eviction priorities of the lines; normal where the machine ignores hints.
    #[payload(inside = shape.hints)]
    pub hints: EvictionHints,
    /// Number of warps resident in the SM, 7 bits wide. The message has this field only if the machine's
    /// bypass scheme tests whether instructions touch too many lines for the L1D (contention test); otherwise
    /// the value is 0.
    #[payload(only(shape.counts_warps))]
    pub resident: Warps,
    /// Number of the warp slot in the SM, 6 bits wide.
    #[payload(width = 6)]
    pub warp: u8,
    /// Number (0 or 1) of the half of a 64-lane warp that executes the instruction. Always 0 for a 32-lane
    /// warp. 1 bit wide.
    #[payload(only(shape.halves > 1), width = 1)]
    pub half: u8,
    /// Program counter of the instruction.
    #[payload(width = shape.pc_bits)]
    pub pc: u32,
    /// Index of this message, if the instruction sends several messages.
    pub beat: u2,
    /// log2 of the number of bytes per lane: 0 to 3 for loads and stores, 2 or 3 for atomics. For loads it
    /// can also be 4, in machines in which a load of 16 bytes per lane is one access.
    #[payload(width = 2 + u32::from(shape.wide))]
    pub size_log2: u8,
    /// Mask of the active lanes of the instruction.
    pub mask: u32,
    /// Operation of an atomic or a reduction; meaningless for loads and stores.
    #[payload(inside)]
    pub atomic: AtomicOp,
    /// Byte address of each lane, aligned to the access size.
    #[payload(width = shape.addr_bits)]
    pub address: [u64; LANES],
    /// Data to store: the low word of each lane, then the high words for accesses of 8 bytes. For an atomic
    /// or a reduction, this is operand `b` of [`isa::lanes::global_atomic`]. For a compare-and-swap, it is
    /// operand `c`, the value that memory gets if the comparison succeeds.
    pub data: [[u32; LANES]; 2],
    /// Value that memory must hold for a compare-and-swap to succeed (operand `b` of
    /// [`isa::lanes::global_atomic`]). The low word of each lane comes first, then the high words.
    pub compare: [[u32; LANES]; 2],
}

impl Default for WarpAccess {
    fn default() -> Self {
        Self {
            kind: AccessKind::Load,
            space: MemorySpace::Global,
            uncached: false,
            hints: EvictionHints::default(),
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

/// Field widths of the messages in this file, set by the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessShape {
    /// Width of a byte address in bits.
    pub addr_bits: u32,
    /// Width of a program counter in bits.
    pub pc_bits: u32,
    /// Number of 32-lane halves per warp: 1 or 2.
    pub halves: u32,
    /// True if each access includes the number of warps resident in the SM.
    pub counts_warps: bool,
    /// True if a load of 16 bytes per lane is one access, answered with two replies of 8 bytes per lane. If
    /// false, such a load is split into two accesses.
    pub wide: bool,
    /// Eviction priorities that each access carries.
    pub hints: HintShape,
}

/// Kind of a reply from the LSU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
#[width(1)]
pub enum WarpReplyKind {
    /// All lanes of a load or an atomic have their data.
    #[default]
    Loaded,
    /// All lines of one store or reduction have reached the point of coherence.
    Stored,
}

/// Message from LSU to core: reply to one warp memory instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = AccessShape)]
pub struct WarpReply {
    /// Kind of the reply: data or acknowledgement.
    #[payload(state)]
    pub kind: WarpReplyKind,
    /// Number of the warp slot in the SM, 6 bits wide.
    #[payload(width = 6)]
    pub warp: u8,
    /// Number (0 or 1) of the half of a 64-lane warp that executes the instruction. Always 0 for a 32-lane
    /// warp. 1 bit wide.
    #[payload(only(shape.halves > 1), width = 1)]
    pub half: u8,
    /// Program counter of the memory instruction.
    #[payload(width = shape.pc_bits)]
    pub pc: u32,
    /// Index of this reply beat among the replies to the instruction.
    pub beat: u2,
    /// log2 of the number of bytes per lane in this beat.
    #[payload(width = 2)]
    pub size_log2: u8,
    /// Mask of the lanes whose access is complete with this reply.
    pub mask: u32,
    /// Loaded bytes, without sign or zero extension: the low word of each lane, then the high words. Three
    /// kinds of words hold stale values: words of lanes outside the mask, high words of accesses below 8
    /// bytes, and all words in the reply to a store.
    pub data: [[u32; LANES]; 2],
}
