//! What the memories of an L2 bank hold: tags with their states, and lines.

use serde::{Deserialize, Serialize};

use crate::kernel::{Encoding, Field, Fields, FieldsExt, Payload};

/// State of a line in the bank. `Valid` and `Modified` are candel2018's stable state, clean and
/// dirty; the last two, and `Reserved` as the state of the fetch, its transient ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LineState {
    /// Nothing here.
    #[default]
    Invalid,
    /// On its way from memory: tag and way are taken, bytes arrive.
    Reserved,
    /// Equal to memory. By sectors, it may be here in part, as in the next state.
    Valid,
    /// Newer than memory.
    Modified,
    /// On its way out, while copies in the L1s are recalled. Transient flow only, as the next.
    Invalidating,
    /// On its way out, while it is written to memory.
    WritingBack,
    /// Only its tag is here, while the bank lets lines past. Streaming only.
    Hollow,
    /// Bytes that were written are here, the others in memory. With byte masks only.
    Partial,
}

impl LineState {
    /// True if the line is here to stay.
    #[must_use]
    pub fn is_here(self) -> bool {
        matches!(self, Self::Valid | Self::Modified)
    }

    /// True if bytes of it are here that memory does not know.
    #[must_use]
    pub fn is_newer(self) -> bool {
        matches!(self, Self::Modified | Self::Partial)
    }

    /// True if another line may take the way.
    #[must_use]
    pub fn may_go(self) -> bool {
        self.is_here() || matches!(self, Self::Hollow | Self::Partial)
    }

    /// True if the line is on its way out.
    #[must_use]
    pub fn is_leaving(self) -> bool {
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
    /// Bits of a tag.
    pub tag_bits: u32,
    /// Lines leave from their ways, tags stay without them, or parts of lines are here: more states.
    pub wide: bool,
}

/// A cell of the tag memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tag {
    /// Line number within the bank above its index bits.
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

/// L1s that have a copy of a line, one bit each; the shape is their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sharers(pub u128);

impl Payload for Sharers {
    type Shape = u32;
    fn fields<F: Fields + ?Sized>(&self, l1s: &u32, to: &mut F) {
        let Self(sharers) = self;
        to.mask("sharers", *sharers, *l1s);
    }
}

/// Bursts of a line, one bit each: 8 of 16 bytes at most.
pub type Bursts = u8;

/// What is here of a line of which not all may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = HeldShape)]
pub struct Held {
    /// Bytes that are here and newer than memory, one bit each.
    #[payload(name = "mask", bytes = shape.line_bytes / 8)]
    pub newer: u128,
    /// Bursts of which memory has brought the other bytes. Where sectors are fetched; none elsewhere.
    #[payload(only(let Some(bursts) = shape.by_burst), width = bursts)]
    pub brought: Bursts,
}

/// Widths of a cell that says what is here.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct HeldShape {
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Bursts of a line, where each may be here by itself.
    pub by_burst: Option<u32>,
}
