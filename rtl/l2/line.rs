//! What the memories of an L2 bank hold: tags with their states, and lines.

use crate::kernel::{Encoding, Fields, FieldsExt, Payload};
use crate::noc::packet::LINE_BYTES;

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

/// A cell of the data memory; its shape is the number of bytes in a line, of which shorter lines
/// use the first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LineData(pub [u8; LINE_BYTES]);

impl Default for LineData {
    fn default() -> Self {
        Self([0; LINE_BYTES])
    }
}

impl LineData {
    /// Stores the bytes selected by `byte_mask`.
    pub fn merge(&mut self, byte_mask: u128, bytes: &[u8; LINE_BYTES]) {
        if byte_mask == u128::MAX {
            self.0 = *bytes;
            return;
        }
        // Run by run: the bytes of a store mostly lie side by side.
        let mut left = byte_mask;
        while left != 0 {
            let first = left.trailing_zeros();
            let end = first + (!(left >> first)).trailing_zeros();
            let run = first as usize..end as usize;
            self.0[run.clone()].copy_from_slice(&bytes[run]);
            // A run to the last byte would be the full mask or leaves nothing above.
            left &= u128::MAX.checked_shl(end).unwrap_or(0);
        }
    }
}

impl Payload for LineData {
    type Shape = u32;
    fn fields<F: Fields + ?Sized>(&self, line_bytes: &u32, to: &mut F) {
        let Self(bytes) = self;
        to.wide("data", &bytes[..*line_bytes as usize]);
    }
}
