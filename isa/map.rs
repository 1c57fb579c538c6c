//! # Memory map
//! Where each state space lies in the generic one, and where a thread's local memory lies in
//! device memory.
//!
//! The top byte of a generic address tells its space. Everything else is the address within
//! that space, so that a conversion adds or removes a constant:
//!
//! | top byte | space                                    |
//! |----------|------------------------------------------|
//! | 0        | device memory: `.global`, and `.const` at the module's base |
//! | 1        | `.shared` of the CTA                     |
//! | 2        | `.local` of the thread                   |
//! | 3        | `.param` of the kernel                   |
//!
//! Constants lie in device memory, from [`crate::program::Program::const_base`] on: address
//! `a` of the constant space is address `const_base + a` there.

use crate::types::Space;

/// Position of the byte that tells the space.
pub const TAG_SHIFT: u32 = 56;
/// The address within its space.
pub const OFFSET_MASK: u64 = (1 << TAG_SHIFT) - 1;
/// Bytes that the constant space of a module can hold.
pub const CONST_BYTES: u64 = 1 << 16;
/// Most bytes of local memory of a thread.
pub const LOCAL_BYTES: u64 = 512 << 10;
/// Bytes of local memory that lie together before the next lane's begin.
pub const LOCAL_WORD: u64 = 4;

/// First generic address of a space; 0 for those that lie in device memory.
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

/// Space of a generic address, and the address within it; `None` if no space has the tag.
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

/// Offset in the local memory of a warp of byte `address` of lane `lane`: the words of equal
/// address of all `lanes` lanes lie side by side, so that a warp that accesses one variable
/// touches consecutive words. The memory of a warp takes `lanes` times the thread's, the
/// latter rounded up to whole words.
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
