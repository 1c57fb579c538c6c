//! Contents of an L2 bank's memories: tags with line states, L1s that have copies, and records of the bytes
//! that are present.

use serde::{Deserialize, Serialize};

use crate::cells::lines::{Lines, Wide};
use crate::kernel::{Encoding, Field, Fields, FieldsExt, Payload};

/// State of a line in the bank. `Valid` and `Modified` are the stable states of candel2018, clean and dirty.
/// `Reserved` (fetch), `Invalidating` and `WritingBack` are the transient states of the paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LineState {
    /// The way holds no line (invalid).
    #[default]
    Invalid,
    /// The way is reserved for a new line, which is being fetched; the tag is already that of the new line.
    Reserved,
    /// The line is clean: it equals memory. With sector fetches, only some bytes of a clean or dirty line may
    /// be present.
    Valid,
    /// The line is dirty: newer than memory.
    Modified,
    /// First step of an eviction: copies in the L1s are being recalled. Used only in the transient flow.
    Invalidating,
    /// Second step of an eviction: the line is being written to memory. Used only in the transient flow.
    WritingBack,
    /// Tag without data, of a line that bypassed the bank. Used only with a bypass policy that keeps tags.
    TagOnly,
    /// Only the bytes that were written are present; the remaining bytes are only in memory. Used only with
    /// byte masks.
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

    /// True if the line can be selected as a victim for replacement.
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
        &["INVALID", "RESERVED", "VALID", "MODIFIED", "T_INV", "T_WB", "TAG_ONLY", "PARTIAL"];
    fn code(self) -> u8 {
        self as u8
    }
}

/// Field widths of an entry of the tag memory.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct TagShape {
    /// Width of a tag in bits.
    pub tag_bits: u32,
    /// True if the line state takes 3 bits instead of 2, because in-place evictions, tag-only entries or
    /// partial lines need additional states.
    pub wide: bool,
}

/// Entry of the tag memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tag {
    /// Tag: number of the line within the bank, without its index bits.
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

/// L1s that have a copy of a line, one bit per L1. The number of L1s depends on the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sharers(pub Wide);

impl Payload for Sharers {
    type Shape = u32;
    fn fields<F: Fields + ?Sized>(&self, l1s: &u32, to: &mut F) {
        let Self(sharers) = self;
        sharers.describe("sharers", *l1s, to);
    }
}

/// Bursts of a line, one bit per burst; a line has at most 8 bursts of 16 bytes.
pub type Bursts = u8;

/// Record of which bytes of a partially present line the bank holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = PresentBytesShape)]
pub struct PresentBytes {
    /// Bytes that are present and newer than memory, one bit per byte.
    #[payload(name = "mask", bytes = shape.line_bytes / 8)]
    pub newer: u128,
    /// Bursts that memory has delivered, one bit per burst; together with `newer`, they give the present
    /// bytes. Zero unless lines are fetched by sectors.
    #[payload(only(let Some(bursts) = shape.by_burst), width = bursts)]
    pub delivered: Bursts,
}

/// Field widths of an entry that records the present bytes of a line.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PresentBytesShape {
    /// Line size in bytes.
    pub line_bytes: u32,
    /// Number of bursts per line, if bursts can be present individually; otherwise `None`.
    pub by_burst: Option<u32>,
}
