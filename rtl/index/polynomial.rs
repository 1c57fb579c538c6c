//! Polynomials over GF(2) as bit vectors: bit `k` is the coefficient of `x^k`.

/// Default polynomial for each number of sets; element `n` is for `2^n` sets. Every polynomial is
/// irreducible, so that no stride maps to only a few sets. Every polynomial is also primitive, which means
/// that the powers of `x` modulo the polynomial have the longest possible period. Where no source gives a
/// polynomial, the numerically lowest primitive polynomial is used.
const BY_DEGREE: [u32; 13] = [
    1, // one set: every remainder is 0
    3, 7, 13, // khairy2015 Figure 5(b)
    19, 37, // khairy2015 section 4.3
    67, 131, 285, 529, 1033, 2053, 4179,
];

/// Returns the default polynomial for a cache with `sets` sets; `None` if `sets` is not a power of two up to
/// 4096.
#[must_use]
pub fn polynomial_for(sets: u32) -> Option<u32> {
    if sets.is_power_of_two() { BY_DEGREE.get(sets.ilog2() as usize).copied() } else { None }
}

/// True if `polynomial` (degree 1 to 15) is irreducible: it has no divisors except 1 and itself.
#[must_use]
pub fn is_irreducible(polynomial: u32) -> bool {
    let Some(degree) = polynomial.checked_ilog2() else { return false };
    degree >= 1 && (2..1 << (degree / 2 + 1)).all(|divisor| remainder(polynomial, divisor) != 0)
}

/// Yields the powers of `x` modulo `polynomial`, from `x^0` on. They are the successive states of an LFSR
/// (linear-feedback shift register). Modulo the polynomial 1, all powers are 0.
pub fn powers_of_x(polynomial: u32) -> impl Iterator<Item = u16> {
    let degree = polynomial.ilog2();
    let step = move |power: &u32| {
        let shifted = power << 1;
        Some(if shifted >> degree & 1 != 0 { shifted ^ polynomial } else { shifted })
    };
    std::iter::successors(Some(u32::from(degree != 0)), step).map(|power| power as u16)
}

/// Returns `x^k` modulo `polynomial`.
#[must_use]
pub fn power_of_x(k: u32, polynomial: u32) -> u16 {
    powers_of_x(polynomial).nth(k as usize).unwrap_or(0)
}

fn remainder(mut dividend: u32, divisor: u32) -> u32 {
    while dividend.checked_ilog2() >= divisor.checked_ilog2() && dividend != 0 {
        dividend ^= divisor << (dividend.ilog2() - divisor.ilog2());
    }
    dividend
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_of_irreducible_polynomials_follow_the_necklace_formula() {
        let counts = [2, 1, 2, 3, 6, 9, 18, 30, 56, 99, 186, 335];
        for (degree, count) in (1..).zip(counts) {
            let found = (1u32 << degree..1 << (degree + 1)).filter(|&p| is_irreducible(p)).count();
            assert_eq!(found, count, "degree {degree}");
        }
    }

    #[test]
    fn the_polynomials_of_all_sizes_are_irreducible_and_primitive_and_the_lowest_or_published() {
        assert_eq!(polynomial_for(1), Some(1));
        for degree in 1..=12 {
            let polynomial = polynomial_for(1 << degree).unwrap();
            // Checks that the polynomial is primitive: the powers of `x` take all values except 0 before they
            // repeat.
            let order = |p| (1..).find(|&k| power_of_x(k, p) == 1).unwrap();
            let is_primitive = |p: u32| p & 1 == 1 && is_irreducible(p) && order(p) == (1 << degree) - 1;
            assert_eq!(polynomial.ilog2(), degree);
            assert!(is_primitive(polynomial), "{polynomial}");
            let lowest = (1u32 << degree..).find(|&p| is_primitive(p)).unwrap();
            let published = [13, 37];
            assert!(polynomial == lowest || published.contains(&polynomial), "{polynomial}, not {lowest}");
        }
        assert_eq!([0, 3, 48, 8192].map(polynomial_for), [None; 4]);
    }

    #[test]
    fn x_has_order_31_modulo_37() {
        assert_eq!(power_of_x(31, 37), 1);
        assert!((1..31).all(|k| power_of_x(k, 37) != 1));
    }
}
