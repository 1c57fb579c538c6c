//! Synthetic memory values for the replay of traces.
//!
//! A trace records addresses but no values. The caches must nevertheless carry bytes, so that wrong data can
//! be detected. Every aligned word of memory therefore holds 24 bits derived from its address, and an 8-bit
//! tag below them that stores change. So a loaded word can be checked: its upper 24 bits must be those
//! derived from its address. This also works after partial-word stores, because stores change only the tag.

/// Size of a word in bytes.
pub const WORD_BYTES: u64 = 4;
/// Tag of a word to which no store was made yet.
pub const UNTOUCHED: u8 = 0;

/// Returns the value of the 4-byte word that contains `address`, after a store with the tag `tag`.
#[inline(always)]
#[must_use]
pub fn word(address: u64, tag: u8) -> u32 {
    let number = address / WORD_BYTES;
    mix(number as u32, high(number)) | u32::from(tag)
}

/// Returns the values of `N` consecutive words from `address` on, one for each tag in `tags`. The total size
/// of the words must be a power of two, and `address` a multiple of it.
#[inline(always)]
#[must_use]
pub fn words<const N: usize>(address: u64, tags: &[u8; N]) -> [u32; N] {
    let number = address / WORD_BYTES;
    let (low, high) = (number as u32, high(number));
    std::array::from_fn(|index| mix(low | index as u32, high) | u32::from(tags[index]))
}

/// Returns the argument `high` of [`mix`] for a word number: bits 32 to 47 of the number, shifted to the
/// upper half of the argument.
#[inline(always)]
fn high(number: u64) -> u32 {
    (number >> 16) as u32 & 0xffff_0000
}

/// Hashes a word number into the upper 24 bits of the result. Uses only shifts and XORs, so that the compiler
/// can vectorize it for several words.
#[inline(always)]
fn mix(low: u32, high: u32) -> u32 {
    let mut bits = low ^ high;
    bits ^= bits << 13;
    bits ^= bits >> 17;
    bits ^= bits << 5;
    bits & !0xff
}

/// True if the upper 24 bits of the loaded word `value` are those of the word that contains `address`. The
/// tag in the low 8 bits is ignored.
#[inline(always)]
#[must_use]
pub fn belongs(value: u32, address: u64) -> bool {
    (value ^ word(address, 0)) >> 8 == 0
}

/// Returns the bytes from `address` to the end of the 4-byte word that contains it; the byte at `address` is
/// the lowest byte of the result. `tag` is the tag of the word.
#[inline(always)]
#[must_use]
pub fn bytes(address: u64, tag: u8) -> u32 {
    word(address, tag) >> (8 * (address % WORD_BYTES))
}

/// True if the loaded bytes `value` match the bytes that memory holds at `address`; the tag of the word is
/// ignored. `size` is the number of bytes, which must lie within one 4-byte word.
#[inline(always)]
#[must_use]
pub fn bytes_belong(value: u32, address: u64, size: u32) -> bool {
    let kept = !0xff >> (8 * (address % WORD_BYTES));
    let loaded = u32::MAX >> (32 - 8 * size);
    (value ^ bytes(address, 0)) & kept & loaded == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_belongs_to_its_address_whatever_its_tag_and_to_no_neighbour() {
        for address in [0, 0x1000, 0x7f00_0000_1234_5678 & !3] {
            for tag in [UNTOUCHED, 1, 255] {
                assert!(belongs(word(address, tag), address));
                assert!(!belongs(word(address, tag), address + 4));
                assert!(!belongs(word(address, tag), address + 128));
                assert!(!belongs(word(address, tag), address ^ 1 << 40));
            }
        }
    }

    #[test]
    fn words_together_are_the_words_one_by_one() {
        let tags = [3, 1, 4, 1];
        assert_eq!(
            words(0x70_0000_1230, &tags),
            [0, 1, 2, 3].map(|at| word(0x70_0000_1230 + 4 * at, tags[at as usize]))
        );
    }

    #[test]
    fn parts_of_a_word_belong_to_it_too() {
        for offset in 0..4 {
            assert!(bytes_belong(bytes(0x2000 + offset, 7) & 0xff, 0x2000 + offset, 1));
        }
        assert!(bytes_belong(bytes(0x2002, 7), 0x2002, 2));
        assert!(!bytes_belong(bytes(0x2002, 7) ^ 0x100, 0x2002, 2));
        assert!(!bytes_belong(bytes(0x2001, 7) ^ 1, 0x2001, 1));
    }

    #[test]
    fn the_tag_is_the_lowest_byte_alone() {
        assert!(bytes_belong(bytes(0x2000, 7), 0x2000, 1));
        assert_eq!(word(0x2000, 7) ^ word(0x2000, 0), 7);
    }
}
