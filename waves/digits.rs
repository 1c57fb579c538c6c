//! Conversion of binary numbers to text, eight digits at a time.

/// Writes the `count` most significant bits of `top` as binary digits to `buffer`, starting at index `at`.
/// Returns the index after the last of these digits. Digits are written in groups of eight, so the last group
/// may extend beyond that index; the caller overwrites the excess digits.
#[inline]
pub(crate) fn put_digits(buffer: &mut [u8], at: usize, top: u64, count: u32) -> usize {
    let chunks = count.div_ceil(8) as usize;
    for (byte, digits) in top.to_be_bytes().into_iter().zip(buffer[at..at + 8 * chunks].chunks_exact_mut(8)) {
        digits.copy_from_slice(&eight_digits(byte));
    }
    at + count as usize
}

/// Converts a byte to eight binary digits, computed in parallel in the eight bytes of a 64-bit word. Each
/// byte of the word keeps one bit of the input. An addition moves this bit to the top of its byte by a carry.
/// The byte then becomes the character `0` or `1`.
#[inline]
fn eight_digits(byte: u8) -> [u8; 8] {
    let lanes = (u64::from(byte) * 0x0101_0101_0101_0101) & 0x0102_0408_1020_4080;
    let ones = ((lanes + 0x7f7f_7f7f_7f7f_7f7f) >> 7) & 0x0101_0101_0101_0101;
    (ones | 0x3030_3030_3030_3030).to_le_bytes()
}
