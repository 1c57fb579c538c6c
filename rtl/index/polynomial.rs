//! Polynomials over GF(2) as bit vectors: bit `k` is the coefficient of `x^k`.

/// True if `polynomial` (degree 1 to 15) has no divisor but one and itself.
#[must_use]
pub fn is_irreducible(polynomial: u32) -> bool {
    let Some(degree) = polynomial.checked_ilog2() else { return false };
    degree >= 1 && (2..1 << (degree / 2 + 1)).all(|divisor| remainder(polynomial, divisor) != 0)
}

/// `x^k` modulo `polynomial`: a shift register with feedback, clocked `k` times.
pub(super) fn power_of_x(k: u32, polynomial: u32) -> u16 {
    let degree = polynomial.ilog2();
    let step = |power: u32| {
        let shifted = power << 1;
        if shifted >> degree & 1 != 0 { shifted ^ polynomial } else { shifted }
    };

    (0..k).fold(1, |power, _| step(power)) as u16
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
    fn x_has_order_31_modulo_37() {
        assert_eq!(power_of_x(31, 37), 1);
        assert!((1..31).all(|k| power_of_x(k, 37) != 1));
    }
}
