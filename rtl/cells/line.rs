//! # The bytes of a cache line
//! An entry of the data array of an L1 or L2 cache: the bytes of one line, with byte enables for stores.

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use crate::kernel::Payload;

/// Size of the largest line in bytes.
pub const LINE_BYTES: usize = 128;
/// Size in bytes of a sector, the smallest unit of a line that can be fetched.
pub const SECTOR_BYTES: u32 = 32;
/// Number of sectors in the largest line.
pub const SECTORS: u32 = LINE_BYTES as u32 / SECTOR_BYTES;

/// Bytes of a line, as a field of messages and array entries. The `shape` of this payload is the line size in
/// bytes. Lines shorter than `LINE_BYTES` use only the first bytes of the array.
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
    /// Overwrites the bytes of the line that `byte_mask` selects with the bytes at the same positions in
    /// `bytes`.
    pub fn merge(&mut self, byte_mask: u128, bytes: &[u8; LINE_BYTES]) {
        if byte_mask == u128::MAX {
            self.0 = *bytes;
            return;
        }
        // Copies runs of contiguous bytes, because the bytes of a store are mostly contiguous.
        let mut left = byte_mask;
        while left != 0 {
            let first = left.trailing_zeros();
            let end = first + (!(left >> first)).trailing_zeros();
            let run = first as usize..end as usize;
            self.0[run.clone()].copy_from_slice(&bytes[run]);
            // `end` is 128 if the run of bytes ends at the last byte of the mask. No bits of the mask are
            // left to process in this case.
            left &= u128::MAX.checked_shl(end).unwrap_or(0);
        }
    }
}

/// Returns the mask of all sectors of a line with `line_bytes` bytes.
#[must_use]
pub const fn sectors_of(line_bytes: u32) -> u8 {
    ((1 << (line_bytes / SECTOR_BYTES)) - 1) as u8
}

/// Returns the mask of all bytes in the sectors of the mask `sectors`.
#[must_use]
pub fn bytes_of_sectors(sectors: u8) -> u128 {
    let whole = u128::from(u32::MAX);
    let named = (0..SECTORS).filter(|sector| sectors >> sector & 1 != 0);
    named.fold(0, |bytes, sector| bytes | whole << (SECTOR_BYTES * sector))
}

/// Returns the mask of the sectors that contain at least one byte of the mask `byte_mask`.
#[must_use]
pub fn touched_sectors(byte_mask: u128) -> u8 {
    let touched = (0..SECTORS).filter(|sector| (byte_mask >> (SECTOR_BYTES * sector)) as u32 != 0);
    touched.fold(0, |sectors, sector| sectors | 1 << sector)
}
