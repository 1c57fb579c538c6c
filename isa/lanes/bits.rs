//! Bit manipulation within one lane.

/// Byte selection mode of `prmt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrmtMode {
    /// Each result byte has its own 4-bit selector. Three bits select a source byte. If the fourth bit is
    /// set, the result byte is eight copies of the sign bit of the source byte.
    Any,
    /// Four consecutive source bytes, from the selected one upward.
    Forward,
    /// Four consecutive source bytes, from the selected one downward.
    Backward,
    /// The selected source byte, four times.
    Replicate,
    /// Result byte `i` is byte `max(i, s)` of `a`, where `s` is the number of the selected byte.
    ClampLeft,
    /// Result byte `i` is byte `min(i, s)` of `a`, where `s` is the number of the selected byte.
    ClampRight,
    /// The selected 16-bit half of `a`, twice.
    Halves,
}

/// Returns four bytes of the 64-bit value `b:a`, selected by `c` (PTX ISA, `prmt`).
pub(super) fn permute(mode: PrmtMode, a: u32, b: u32, c: u32) -> u32 {
    let pool = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    let select = (c & 3) as usize;
    let bytes = std::array::from_fn(|i| match mode {
        PrmtMode::Any => {
            let control = c >> (4 * i) & 15;
            let byte = pool[(control & 7) as usize];
            if control & 8 != 0 { (byte as i8 >> 7) as u8 } else { byte }
        }
        PrmtMode::Forward => pool[select + i],
        PrmtMode::Backward => pool[(select + 8 - i) % 8],
        PrmtMode::Replicate => pool[select],
        PrmtMode::ClampLeft => pool[select.max(i)],
        PrmtMode::ClampRight => pool[select.min(i)],
        PrmtMode::Halves => pool[2 * (select & 1) + i % 2],
    });
    u32::from_le_bytes(bytes)
}

/// Inserts the low bits of `a` into `b`. The low byte of `c` gives the position of the field, the next byte
/// its length.
pub(super) fn insert(a: u64, b: u64, c: u32) -> u64 {
    let (position, length) = (c & 0xff, c >> 8 & 0xff);
    let ones = 1u64.checked_shl(length).map_or(u64::MAX, |bit| bit - 1);
    let mask = ones.checked_shl(position).unwrap_or(0);
    b & !mask | a.checked_shl(position).unwrap_or(0) & mask
}

/// Searches the low `bits` bits of `x` for the highest bit that differs from the sign bit. Returns the
/// position of this bit, or, if `shift` is true, the left shift count that would move the bit to the top.
/// Returns all ones if no bit differs.
pub(super) fn find(x: u64, bits: u32, signed: bool, shift: bool) -> u32 {
    let mask = u64::MAX >> (64 - bits);
    let negative = signed && x >> (bits - 1) & 1 != 0;
    let x = if negative { !x } else { x } & mask;
    match x.checked_ilog2() {
        None => u32::MAX,
        Some(at) if shift => bits - 1 - at,
        Some(at) => at,
    }
}

/// Computes the bitwise function that has the truth table `table`. The index into the table consists of one
/// bit of `a` (highest), one bit of `b`, and one bit of `c` (lowest).
pub(super) fn table(table: u8, a: u32, b: u32, c: u32) -> u32 {
    (0..8u32).filter(|row| table >> row & 1 != 0).fold(0, |result, row| {
        let of = |x: u32, bit: u32| if row >> bit & 1 != 0 { x } else { !x };
        result | of(a, 2) & of(b, 1) & of(c, 0)
    })
}

/// Returns a mask of `length` one bits, starting at bit `position`. Both numbers are clamped to 32 if `clamp`
/// is true, and otherwise taken modulo 32 (PTX ISA, `bmsk`).
pub(super) fn mask(position: u32, length: u32, clamp: bool) -> u32 {
    let [position, length] = [position, length].map(|count| if clamp { count.min(32) } else { count % 32 });
    let ones = u32::MAX.checked_shr(32 - length).unwrap_or(0);
    ones.checked_shl(position).unwrap_or(0)
}

/// Extends the low `length` bits of `x` to a 32-bit word. The length is clamped to 32 if `clamp` is true, and
/// otherwise taken modulo 32 (PTX ISA, `szext`).
pub(super) fn extend_field(x: u32, length: u32, clamp: bool, signed: bool) -> u32 {
    let unused = 32 - if clamp { length.min(32) } else { length % 32 };
    let top = x.checked_shl(unused).unwrap_or(0);
    if signed { (top as i32).checked_shr(unused).unwrap_or(0) as u32 } else { top.checked_shr(unused).unwrap_or(0) }
}

/// Returns the position of the `offset`-th set bit of `mask`, counted from bit `base`. Bit `base` itself is
/// included. The search goes upward, or downward if `offset` is negative. Returns all ones if there is no
/// such bit (PTX ISA, `fns`).
pub(super) fn find_nth(mask: u32, base: u32, offset: i32) -> u32 {
    let set = |bit: &u32| mask >> bit & 1 != 0;
    let found = match offset {
        _ if base > 31 => None,
        0 => Some(base).filter(set),
        1.. => (base..32).filter(set).nth(offset as usize - 1),
        _ => (0..=base).rev().filter(set).nth(offset.unsigned_abs() as usize - 1),
    };
    found.unwrap_or(u32::MAX)
}

/// Returns the dot product, modulo 2^32, of the first `count` bit fields of two words. Each word has its own
/// field width in bits and its own signedness.
pub(super) fn dot(words: [u32; 2], widths: [u32; 2], signed: [bool; 2], count: u32) -> u32 {
    let part = |word: usize, at: u32| {
        let up = 32 - widths[word];
        let top = words[word] >> (at * widths[word]) << up;
        if signed[word] { (top as i32 >> up) as u32 } else { top >> up }
    };
    (0..count).fold(0, |sum: u32, at| sum.wrapping_add(part(0, at).wrapping_mul(part(1, at))))
}

/// Packs two signed numbers, `b` below `a`, into the low bits of the result, each clamped to the range of an
/// element of `bits` bits. The bits above them are the low bits of `c` (PTX ISA, `cvt.pack`).
pub(super) fn pack_saturated(bits: u32, signed: bool, a: u32, b: u32, c: u32) -> u32 {
    let (least, most) = if signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    let element = |x: u32| (x as i32).clamp(least, most) as u32 & u32::MAX >> (32 - bits);
    // Two elements of 16 bits leave no room for `c`.
    c.checked_shl(2 * bits).unwrap_or(0) | element(a) << bits | element(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_picked_as_each_mode_says() {
        let (a, b) = (0x8302_0100, 0x0706_0504);
        assert_eq!(permute(PrmtMode::Any, a, b, 0x7340), 0x0783_0400);
        assert_eq!(permute(PrmtMode::Any, a, b, 0xbbbb), 0xffff_ffff);
        assert_eq!(permute(PrmtMode::Forward, a, b, 2), 0x0504_8302);
        assert_eq!(permute(PrmtMode::Backward, a, b, 1), 0x0607_0001);
        assert_eq!(permute(PrmtMode::Replicate, a, b, 3), 0x8383_8383);
        assert_eq!(permute(PrmtMode::ClampLeft, a, b, 2), 0x8302_0202);
        assert_eq!(permute(PrmtMode::ClampRight, a, b, 1), 0x0101_0100);
        assert_eq!(permute(PrmtMode::Halves, a, b, 1), 0x8302_8302);
    }

    #[test]
    fn fields_are_inserted_within_the_word() {
        assert_eq!(insert(0xff, 0, 4 << 8 | 8), 0xf00);
        assert_eq!(insert(0, u64::MAX, 8 << 8 | 60), u64::MAX >> 4);
        assert_eq!(insert(7, 5, 200), 5);
        assert_eq!(insert(7, 5, 200 << 8), 7);
    }

    #[test]
    fn the_highest_bit_that_is_no_sign_is_found() {
        assert_eq!(find(0x10, 32, false, false), 4);
        assert_eq!(find(0x10, 32, false, true), 27);
        assert_eq!(find(0xffff_fff0, 32, true, false), 3);
        assert_eq!(find(0, 64, false, true), u32::MAX);
        assert_eq!(find(u64::MAX, 64, true, false), u32::MAX);
    }

    #[test]
    fn truth_tables_have_a_as_highest_bit() {
        let [a, b, c] = [0xf0, 0xcc, 0xaa];
        for function in [0u8, 0x80, 0x96, 0xe8, 0xca, 0xff] {
            assert_eq!(table(function, a, b, c) as u8, function);
        }
    }

    #[test]
    fn masks_and_fields_reach_to_the_end_of_the_word_and_no_further() {
        let cases = [
            // Columns of the test cases: position, length, expected mask with both numbers clamped to 32,
            // expected mask with both numbers modulo 32.
            (0, 0, 0, 0),
            (0, 32, u32::MAX, 0),
            (4, 3, 0x70, 0x70),
            (30, 5, 0xc000_0000, 0xc000_0000),
            (31, 1, 1 << 31, 1 << 31),
            (32, 1, 0, 1),
            (36, 2, 0, 0x30),
            (0, u32::MAX, u32::MAX, u32::MAX >> 1),
        ];
        for (position, length, clamped, wrapped) in cases {
            assert_eq!([true, false].map(|clamp| mask(position, length, clamp)), [clamped, wrapped]);
        }
        // Columns of the test cases: length, expected unsigned results, expected signed results. The first
        // result of each pair is for the length clamped to 32, the second for the length modulo 32.
        let cases = [
            (0, [0, 0], [0, 0]),
            (4, [0xa, 0xa], [0xffff_fffa, 0xffff_fffa]),
            (3, [2, 2], [2, 2]),
            (32, [0x8000_005a, 0], [0x8000_005a, 0]),
            (36, [0x8000_005a, 0xa], [0x8000_005a, 0xffff_fffa]),
        ];
        for (length, unsigned, signed) in cases {
            let all = |is_signed| [true, false].map(|clamp| extend_field(0x8000_005a, length, clamp, is_signed));
            assert_eq!((all(false), all(true)), (unsigned, signed), "{length}");
        }
    }

    #[test]
    fn packed_numbers_saturate_and_push_the_older_ones_up() {
        let minus = |x: i32| x as u32;
        assert_eq!(pack_saturated(8, false, 0x1234, minus(-5), 0xaabb_ccdd), 0xccdd_ff00);
        assert_eq!(pack_saturated(8, true, 0x1234, minus(-5), 0xaabb_ccdd), 0xccdd_7ffb);
        assert_eq!(pack_saturated(4, true, minus(-100), 3, 0x7654_3210), 0x5432_1083);
        assert_eq!(pack_saturated(4, false, 16, 15, 0x7654_3210), 0x5432_10ff);
        assert_eq!(pack_saturated(2, true, 1, 2, 0xf000_0003), 0x35);
        assert_eq!(pack_saturated(2, false, 3, minus(i32::MIN), 0), 0b1100);
        assert_eq!(pack_saturated(16, false, 0x1_0000, 7, u32::MAX), 0xffff_0007);
        assert_eq!(pack_saturated(16, true, minus(i32::MIN), i32::MAX as u32, u32::MAX), 0x8000_7fff);
    }

    #[test]
    fn set_bits_are_counted_from_the_base() {
        assert_eq!(find_nth(0b1101_0000, 0, 2), 6);
        assert_eq!(find_nth(0b1101_0000, 4, 1), 4);
        assert_eq!(find_nth(0b1101_0000, 5, -1), 4);
        assert_eq!(find_nth(0b1101_0000, 6, 0), 6);
        assert_eq!(find_nth(0b1101_0000, 5, 0), u32::MAX);
        assert_eq!(find_nth(u32::MAX, 32, 1), u32::MAX);
        assert_eq!(find_nth(u32::MAX, 0, i32::MIN), u32::MAX);
    }

    #[test]
    fn dot_products_extend_their_fields() {
        assert_eq!(dot([0x01ff_0302, 0x0102_03ff], [8, 8], [true, true], 4), 6);
        assert_eq!(dot([0x01ff_0302, 0x0102_03ff], [8, 8], [false, false], 4), 1 + 510 + 9 + 510);
        assert_eq!(dot([0xffff_0002, 0x0000_0503], [16, 8], [true, false], 2), 6u32.wrapping_sub(5));
    }
}
