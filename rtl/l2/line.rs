//! What the memories of an L2 bank hold: tags with their states, and lines.

use crate::kernel::{Encoding, Fields, FieldsExt, Payload};

/// State of a line in the bank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LineState {
    /// Nothing here.
    #[default]
    Invalid,
    /// On its way from memory: tag and way are taken, bytes arrive.
    Reserved,
    /// Equal to memory.
    Valid,
    /// Newer than memory.
    Modified,
}

impl LineState {
    /// True if the bytes are here.
    #[must_use]
    pub fn is_here(self) -> bool {
        matches!(self, Self::Valid | Self::Modified)
    }
}

impl Encoding for LineState {
    const WIDTH: u32 = 2;
    const NAMES: &'static [&'static str] = &["INVALID", "RESERVED", "VALID", "MODIFIED"];
    fn code(self) -> u8 {
        self as u8
    }
}

/// A cell of the tag memory; its shape is the width of the tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tag {
    /// Line number within the bank above its index bits.
    pub tag: u64,
    /// State of the line.
    pub state: LineState,
}

impl Payload for Tag {
    type Shape = u32;
    fn fields<F: Fields + ?Sized>(&self, tag_bits: &u32, to: &mut F) {
        let Self { tag, state } = self;
        to.sized("tag", *tag, *tag_bits);
        to.state("state", *state);
    }
}
