//! # The bytes of a cache line
//! A cell of the data memories of L1 and L2, with byte enables for stores.

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use crate::kernel::Payload;

/// Bytes of the largest line.
pub const LINE_BYTES: usize = 128;
/// Bytes of a sector, the least that is read of a line.
pub const SECTOR_BYTES: u32 = 32;
/// Sectors of the largest line.
pub const SECTORS: u32 = LINE_BYTES as u32 / SECTOR_BYTES;

/// A line's bytes; the shape is the number of bytes in a line, of which shorter lines use the first.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Payload)]
#[payload(shape = u32)]
pub struct LineData(
    #[payload(name = "data", bytes = *shape)]
    #[serde(with = "BigArray")]
    pub [u8; LINE_BYTES],
);

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

/// All sectors of a line of `line_bytes`, a bit each.
#[must_use]
pub const fn sectors_of(line_bytes: u32) -> u8 {
    ((1 << (line_bytes / SECTOR_BYTES)) - 1) as u8
}

/// Every byte of some sectors, a bit each.
#[must_use]
pub fn bytes_of_sectors(sectors: u8) -> u128 {
    let whole = u128::from(u32::MAX);
    let named = (0..SECTORS).filter(|sector| sectors >> sector & 1 != 0);
    named.fold(0, |bytes, sector| bytes | whole << (SECTOR_BYTES * sector))
}

/// Sectors of which a mask has a byte, a bit each.
#[must_use]
pub fn sectors_touched(byte_mask: u128) -> u8 {
    let touched = (0..SECTORS).filter(|sector| (byte_mask >> (SECTOR_BYTES * sector)) as u32 != 0);
    touched.fold(0, |sectors, sector| sectors | 1 << sector)
}
