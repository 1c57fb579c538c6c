//! # Memory map
//! Maps the PTX state spaces into generic addresses, and the local memory of threads into device memory.
//!
//! The top byte of a generic address selects the space. The other bits are the address within that space, so
//! that a conversion adds or subtracts a constant:
//!
//! | top byte | space                                    |
//! |----------|------------------------------------------|
//! | 0        | device memory: `.global`, and `.const` at the module's base |
//! | 1        | `.shared` of the CTA                     |
//! | 2        | `.local` of the thread                   |
//! | 3        | `.param` of the kernel                   |
//!
//! Constants are stored in device memory, starting at [`crate::program::Program::const_base`]: address `a` of
//! the constant space is device address `const_base + a`.

use crate::types::Space;

/// Position of the lowest bit of a generic address's top byte, which selects the space.
pub const TAG_SHIFT: u32 = 56;
/// Mask of the bits of a generic address that give the address within its space.
pub const OFFSET_MASK: u64 = (1 << TAG_SHIFT) - 1;
/// Size of the constant space of a module in bytes.
pub const CONST_BYTES: u64 = 1 << 16;
/// Maximum size of the local memory of a thread in bytes.
pub const LOCAL_BYTES: u64 = 512 << 10;
/// Size in bytes of the words of local memory that are interleaved between the lanes of a warp.
pub const LOCAL_WORD: u64 = 4;

/// Returns the first generic address of a space: 0 for spaces in device memory.
#[inline]
pub const fn window(space: Space) -> u64 {
    let tag = match space {
        Space::Global | Space::Const | Space::Generic => 0,
        Space::Shared => 1,
        Space::Local => 2,
        Space::Param => 3,
    };
    tag << TAG_SHIFT
}

/// Splits a generic address into its space and the address within that space. Returns `None` if the top byte
/// of the address belongs to no space.
#[inline]
pub const fn resolve(generic: u64) -> Option<(Space, u64)> {
    let space = match generic >> TAG_SHIFT {
        0 => Space::Global,
        1 => Space::Shared,
        2 => Space::Local,
        3 => Space::Param,
        _ => return None,
    };
    Some((space, generic & OFFSET_MASK))
}

/// Returns the offset of a byte in the local memory of a warp: the byte at `address` in the local memory of
/// lane `lane`. Words that have the same address in different lanes are consecutive, so a warp that accesses
/// one variable touches consecutive words. The local memory of a warp is `lanes` times as large as the local
/// memory of a thread, rounded up to whole words.
#[inline]
pub const fn local_offset(address: u64, lane: u32, lanes: u32) -> u64 {
    let word = address / LOCAL_WORD;
    (word * lanes as u64 + lane as u64) * LOCAL_WORD + address % LOCAL_WORD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_window_resolves_to_its_space() {
        for space in [Space::Global, Space::Shared, Space::Local, Space::Param] {
            assert_eq!(resolve(window(space) + 0x1234), Some((space, 0x1234)));
        }
        assert_eq!(resolve(u64::MAX), None);
    }

    #[test]
    fn words_of_the_lanes_of_a_warp_are_consecutive() {
        assert_eq!([0, 1, 31].map(|lane| local_offset(0, lane, 32)), [0, 4, 124]);
        assert_eq!([3, 4, 9].map(|address| local_offset(address, 2, 32)), [11, 136, 128 * 2 + 8 + 1]);
    }

    #[test]
    fn the_local_bytes_of_a_warp_fill_its_memory_without_gap_or_overlap() {
        let mut seen = [false; 4 * 12];
        for lane in 0..4 {
            for address in 0..12 {
                let at = local_offset(address, lane, 4) as usize;
                assert!(!std::mem::replace(&mut seen[at], true));
            }
        }
        assert!(seen.iter().all(|seen| *seen));
    }
}
