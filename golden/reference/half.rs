//! Half-precision numbers (IEEE 754 binary16), which have 11 significant bits.

/// Number of fraction bits of a half-precision number.
const FRACTION: i32 = 10;
/// Exponent of the smallest normal half-precision number.
const MIN_EXPONENT: i32 = -14;

/// Returns the number that the 16 bits of a half-precision encoding represent.
pub(super) fn value(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> FRACTION & 31), f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(MIN_EXPONENT - FRACTION),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 1 + MIN_EXPONENT - FRACTION),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// Returns the encoding of the nearest half-precision number; ties are rounded to even.
pub(super) fn bits(value: f64) -> u16 {
    let sign = u16::from(value.is_sign_negative()) << 15;
    if value.is_nan() {
        return sign | 0x7e00;
    }
    // Exponent of the value, or that of the smallest normal number if the value is smaller.
    let exponent = ((value.to_bits() >> 52 & 0x7ff) as i32 - 1023).clamp(MIN_EXPONENT, 16);
    let places = (value.abs() / 2f64.powi(exponent - FRACTION)).round_ties_even();
    // The significand `places` of a normal number is at least 1024, so adding it increases the exponent field
    // by 1. If it was rounded up to 2048, adding it increases the exponent field by 2.
    let magnitude = f64::from((exponent - MIN_EXPONENT) << FRACTION) + places;
    sign | magnitude.min(f64::from(0x7c00)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_the_way_there_and_back() {
        for half in 0..=u16::MAX {
            let there = value(half);
            let back = bits(there);
            assert!(back == half || there.is_nan() && value(back).is_nan(), "{half:#x} came back as {back:#x}");
        }
    }

    #[test]
    fn a_number_goes_to_the_nearest_half_and_from_the_middle_to_the_even_one() {
        for half in (0..0x7c00).step_by(7) {
            let (low, high) = (value(half), value(half + 1));
            let high = if high.is_infinite() { 65_536.0 } else { high };
            let middle = (low + high) / 2.0;
            let even = half + half % 2;
            assert_eq!(
                [bits(middle * (1.0 - 1e-12)), bits(middle), bits(middle * (1.0 + 1e-12))],
                [half, even, half + 1]
            );
        }
    }

    #[test]
    fn what_lies_beyond_becomes_infinite_or_zero() {
        assert_eq!(
            [65_504.0, 65_519.9, 65_520.0, 1e300, f64::INFINITY].map(bits),
            [0x7bff, 0x7bff, 0x7c00, 0x7c00, 0x7c00]
        );
        assert_eq!([-1e300, -1e-300, 2f64.powi(-25), 2f64.powi(-25) * 1.01].map(bits), [0xfc00, 0x8000, 0, 1]);
    }
}
