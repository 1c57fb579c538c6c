//! Contents of the memories of an L2 bank: tags with line states, and lines.

use serde::{Deserialize, Serialize};

use crate::kernel::{Encoding, Field, Fields, FieldsExt, Payload};

/// State of a line in the bank. `Valid` and `Modified` are the stable states of candel2018, clean and dirty.
/// `Reserved` (fetch), `Invalidating` and `WritingBack` are the transient states of the paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LineState {
    /// The way holds no line.
    #[default]
    Invalid,
    /// The fill is in flight: tag and way are reserved.
    Reserved,
    /// The line equals memory. With sector fetches, only some of its bytes may be present, as in `Modified`.
    Valid,
    /// The line is dirty: newer than memory.
    Modified,
    /// Eviction, first step: copies in the L1s are being recalled. Transient flow only.
    Invalidating,
    /// Eviction, second step: the line is being written to memory. Transient flow only.
    WritingBack,
    /// Tag-only: the line bypassed the bank. Only with a bypass policy that keeps tags.
    TagOnly,
    /// Only the bytes that were written are present; memory holds the remaining bytes. Only with byte masks.
    Partial,
}

impl LineState {
    /// True if the line is present and not being evicted.
    #[must_use]
    pub fn is_here(self) -> bool {
        matches!(self, Self::Valid | Self::Modified)
    }

    /// True if some of the present bytes are newer than memory.
    #[must_use]
    pub fn is_newer(self) -> bool {
        matches!(self, Self::Modified | Self::Partial)
    }

    /// True if the line can be selected as a victim.
    #[must_use]
    pub fn is_evictable(self) -> bool {
        self.is_here() || matches!(self, Self::TagOnly | Self::Partial)
    }

    /// True if the line is being evicted.
    #[must_use]
    pub fn is_evicting(self) -> bool {
        matches!(self, Self::Invalidating | Self::WritingBack)
    }
}

impl Encoding for LineState {
    const WIDTH: u32 = 3;
    const NAMES: &'static [&'static str] =
        &["INVALID", "RESERVED", "VALID", "MODIFIED", "T_INV", "T_WB", "HOLLOW", "PARTIAL"];
    fn code(self) -> u8 {
        self as u8
    }
}

/// Widths of a cell of the tag memory.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct TagShape {
    /// Width of a tag in bits.
    pub tag_bits: u32,
    /// True if the state takes 3 bits instead of 2, because in-place evictions, tag-only entries or partial
    /// lines need more states.
    pub wide: bool,
}

/// Cell of the tag memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tag {
    /// Line number within the bank, without its index bits.
    pub tag: u64,
    /// State of the line.
    pub state: LineState,
}

impl Payload for Tag {
    type Shape = TagShape;
    fn fields<F: Fields + ?Sized>(&self, shape: &TagShape, to: &mut F) {
        let Self { tag, state } = self;
        let (width, names) = if shape.wide { (3, LineState::NAMES) } else { (2, &LineState::NAMES[..4]) };
        to.sized("tag", *tag, shape.tag_bits);
        to.field(Field { name: "state", width, value: u64::from(state.code()), names });
    }
}

/// L1s that have a copy of a line, one bit per L1. The payload shape is the number of L1s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sharers(pub u128);

impl Payload for Sharers {
    type Shape = u32;
    fn fields<F: Fields + ?Sized>(&self, l1s: &u32, to: &mut F) {
        let Self(sharers) = self;
        to.mask("sharers", *sharers, *l1s);
    }
}

/// Bursts of a line, one bit per burst; a line has at most 8 bursts of 16 bytes.
pub type Bursts = u8;

/// Record of the bytes of a partially present line that the bank holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = PresentBytesShape)]
pub struct PresentBytes {
    /// Bytes that are present and newer than memory, one bit per byte.
    #[payload(name = "mask", bytes = shape.line_bytes / 8)]
    pub newer: u128,
    /// Bursts that memory has delivered; they hold the remaining present bytes. Zero unless sectors are
    /// fetched.
    #[payload(only(let Some(bursts) = shape.by_burst), width = bursts)]
    pub brought: Bursts,
}

/// Widths of a cell that records the present bytes of a line.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PresentBytesShape {
    /// Line size in bytes.
    pub line_bytes: u32,
    /// Number of bursts per line, if each burst can be present separately; otherwise `None`.
    pub by_burst: Option<u32>,
}
