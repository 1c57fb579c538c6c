//! # Messages between an SM core and its LSU
//! One warp memory instruction out, one reply back: a load brings its data when all lanes have them,
//! a store is acknowledged once, when all its lines have reached memory.

use crate::kernel::{Encoding, Fields, FieldsExt, Payload};

/// Lanes of a warp.
pub const LANES: usize = 32;

/// Load or store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// Read memory.
    #[default]
    Load,
    /// Write memory.
    Store,
}

impl Encoding for AccessKind {
    const WIDTH: u32 = 1;
    const NAMES: &'static [&'static str] = &["LOAD", "STORE"];
    fn code(self) -> u8 {
        self as u8
    }
}

/// Whether a line may be kept: a private copy of local memory is written back, a global one
/// is written through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MemorySpace {
    /// Shared by all threads.
    #[default]
    Global,
    /// Private to a thread.
    Local,
}

impl Encoding for MemorySpace {
    const WIDTH: u32 = 1;
    const NAMES: &'static [&'static str] = &["GLOBAL", "LOCAL"];
    fn code(self) -> u8 {
        self as u8
    }
}

/// Core to LSU: one warp memory instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WarpAccess {
    /// Load or store.
    pub kind: AccessKind,
    /// Address space.
    pub space: MemorySpace,
    /// True if the access must not look in the L1 (`.cg`, `.cv`, volatile).
    pub uncached: bool,
    /// Warp slot, 6 bits.
    pub warp: u8,
    /// Program counter.
    pub pc: u32,
    /// log2 of the bytes a lane moves: 0 to 3.
    pub size_log2: u8,
    /// Active lanes.
    pub mask: u32,
    /// Byte address of each lane, aligned to the size.
    pub address: [u64; LANES],
    /// Store data: low word, then high word for 8-byte stores.
    pub data: [[u32; LANES]; 2],
}

impl Default for WarpAccess {
    fn default() -> Self {
        Self {
            kind: AccessKind::Load,
            space: MemorySpace::Global,
            uncached: false,
            warp: 0,
            pc: 0,
            size_log2: 0,
            mask: 0,
            address: [0; LANES],
            data: [[0; LANES]; 2],
        }
    }
}

/// Widths that the configuration gives to the messages of this file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessShape {
    /// Bits of a byte address.
    pub addr_bits: u32,
    /// Bits of a program counter.
    pub pc_bits: u32,
}

impl Payload for WarpAccess {
    type Shape = AccessShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &AccessShape, to: &mut F) {
        let Self { kind, space, uncached, warp, pc, size_log2, mask, address, data } = self;
        to.state("kind", *kind);
        to.state("space", *space);
        to.flag("uncached", *uncached);
        to.sized("warp", u64::from(*warp), 6);
        to.sized("pc", u64::from(*pc), shape.pc_bits);
        to.sized("size_log2", u64::from(*size_log2), 2);
        to.bits("mask", *mask);
        for lane in address {
            to.sized("address", *lane, shape.addr_bits);
        }
        for word in data {
            for lane in word {
                to.bits("data", *lane);
            }
        }
    }
}

/// What an LSU reply means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WarpReplyKind {
    /// All lanes of a load have their data.
    #[default]
    Loaded,
    /// All lines of one store instruction have reached the point of coherence.
    Stored,
}

impl Encoding for WarpReplyKind {
    const WIDTH: u32 = 1;
    const NAMES: &'static [&'static str] = &["LOADED", "STORED"];
    fn code(self) -> u8 {
        self as u8
    }
}

/// LSU to core.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct WarpReply {
    /// Load data or store acknowledgement.
    pub kind: WarpReplyKind,
    /// Warp slot, 6 bits.
    pub warp: u8,
    /// Program counter of the load.
    pub pc: u32,
    /// Lanes loaded.
    pub mask: u32,
    /// Bytes loaded, not extended: low word, high word. Lanes out of the mask, the high words of
    /// accesses below 8 bytes and the words of a store's reply hold whatever the row held last.
    pub data: [[u32; LANES]; 2],
}

impl Payload for WarpReply {
    type Shape = AccessShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &AccessShape, to: &mut F) {
        let Self { kind, warp, pc, mask, data } = self;
        to.state("kind", *kind);
        to.sized("warp", u64::from(*warp), 6);
        to.sized("pc", u64::from(*pc), shape.pc_bits);
        to.bits("mask", *mask);
        for word in data {
            for lane in word {
                to.bits("data", *lane);
            }
        }
    }
}
