//! # Set index by polynomial arithmetic
//! Maps a byte address to a cache set by dividing polynomials over GF(2), as khairy2015 section 4.3 defines
//! it. The hardware computes the same function with XOR trees.
//!
//! A number represents a polynomial: bit `k` is the coefficient of `x^k`. Polynomials are added by XOR, and
//! divided by long division.

automod::dir!(pub "index");

use std::collections::BTreeSet;
use std::fmt;

/// Polynomial over GF(2) of degree at most 127.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Poly(pub u128);

impl Poly {
    /// The constant polynomial 1.
    pub const ONE: Poly = Poly(1);
    /// The polynomial `x`.
    pub const X: Poly = Poly(2);

    /// Returns the degree of the polynomial: its highest power with coefficient 1. `None` for the zero
    /// polynomial.
    pub fn degree(self) -> Option<u32> {
        self.0.checked_ilog2()
    }

    /// Divides this polynomial by `divisor`. Returns the quotient and the remainder; the remainder has a
    /// lower degree than `divisor`.
    ///
    /// # Panics
    /// Panics if `divisor` is zero.
    pub fn divide(self, divisor: Poly) -> (Poly, Poly) {
        let low = divisor.degree().expect("a polynomial cannot be divided by zero");
        let mut quotient = 0;
        let mut rest = self;
        while let Some(high) = rest.degree().filter(|&high| high >= low) {
            quotient |= 1 << (high - low);
            rest = rest + Poly(divisor.0 << (high - low));
        }
        (Poly(quotient), rest)
    }

    /// Returns the remainder of dividing this polynomial by `divisor`.
    pub fn modulo(self, divisor: Poly) -> Poly {
        self.divide(divisor).1
    }

    /// Returns the product of two polynomials modulo `modulus`. Reduces after every step, so that no
    /// intermediate result exceeds 128 bits.
    pub fn times_modulo(self, other: Poly, modulus: Poly) -> Poly {
        let steps = other.degree().map_or(0, |degree| degree + 1);
        (0..steps).rev().fold(Poly(0), |sum, power| {
            let shifted = Poly(sum.0 << 1).modulo(modulus);
            let term = if other.0 >> power & 1 == 1 { self } else { Poly(0) };
            (shifted + term).modulo(modulus)
        })
    }

    /// Returns the greatest common divisor of two polynomials, by Euclid's algorithm.
    pub fn gcd(self, other: Poly) -> Poly {
        if other.0 == 0 { self } else { other.gcd(self.modulo(other)) }
    }

    /// True if this polynomial is irreducible, that is, no polynomial of degree 1 or more divides it except
    /// itself. Tries every divisor up to half its degree.
    pub fn is_irreducible(self) -> bool {
        match self.degree() {
            None | Some(0) => false,
            Some(degree) => (2..1u128 << (degree / 2 + 1)).all(|d| self.modulo(Poly(d)).0 != 0),
        }
    }

    /// True if the polynomial is irreducible by Rabin's test, an independent check of
    /// [`Poly::is_irreducible`]. A polynomial `p` of degree `n` is irreducible if both conditions hold:
    /// - `p` divides `x^(2^n) - x`;
    /// - `p` has no factor in common with `x^(2^(n/q)) - x` for any prime `q` that divides `n`.
    pub fn is_irreducible_by_rabin(self) -> bool {
        let Some(degree @ 1..) = self.degree() else { return false };
        let frobenius = |times: u32| (0..times).fold(Poly::X.modulo(self), |power, _| power.times_modulo(power, self));
        let prime_divisors = (2..=degree).filter(|q| degree % q == 0 && (2..*q).all(|d| q % d != 0));
        frobenius(degree) == Poly::X.modulo(self)
            && prime_divisors.map(|q| (frobenius(degree / q) + Poly::X).gcd(self)).all(|common| common == Poly::ONE)
    }
}

impl std::ops::Add for Poly {
    type Output = Poly;

    /// Adds two polynomials. Over GF(2), subtraction is the same operation.
    #[expect(clippy::suspicious_arithmetic_impl, reason = "addition over GF(2) is XOR")]
    fn add(self, other: Poly) -> Poly {
        Poly(self.0 ^ other.0)
    }
}

/// Returns every irreducible polynomial of `degree` over GF(2), in ascending order.
pub fn irreducible_polynomials(degree: u32) -> Vec<Poly> {
    (1u128 << degree..2u128 << degree).map(Poly).filter(|p| p.is_irreducible()).collect()
}

/// Returns the number of irreducible polynomials of degree `degree`, where `degree` is at least 1. The number
/// is the sum of `mobius(d) * 2^(degree/d)` over the divisors `d` of `degree`, divided by `degree`.
pub fn irreducible_count(degree: u32) -> u64 {
    let divisors = (1..=degree).filter(|d| degree.is_multiple_of(*d));
    let sum: i64 = divisors.map(|d| mobius(d) * (1i64 << (degree / d))).sum();
    sum.unsigned_abs() / u64::from(degree)
}

/// Moebius function: 0 if the square of a prime divides `n`; otherwise -1 to the power of the number of prime
/// factors.
fn mobius(n: u32) -> i64 {
    match (2..=n).find(|p| n.is_multiple_of(*p)) {
        None => 1,
        Some(p) if (n / p).is_multiple_of(p) => 0,
        Some(p) => -mobius(n / p),
    }
}

/// Index functions, which map a line number to a cache set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// Set index formed by the lowest `bits` bits of the line number; the cache has 2^`bits` sets.
    Linear {
        /// Number of index bits, 0 to 12.
        bits: u32,
    },
    /// Set index formed by the line number modulo a polynomial of degree 0 to 12 (pseudo-randomly interleaved
    /// cache, PRIC; khairy2015 section 4.3).
    Poly {
        /// Modulus: the polynomial 1, or an irreducible polynomial other than `x`. Its degree is the number
        /// of index bits.
        modulus: Poly,
        /// True if index bit 0 is the coefficient of the highest power of the remainder, as in khairy2015
        /// Figure 5(b). False if it is the constant term, as in Figure 7.
        reversed: bool,
    },
    /// Set hash measured on NVIDIA Fermi: the lowest five index bits are XORed with address bits A19, A17,
    /// A15, A14 and A13. With 64 sets, bit 5 of the index is address bit A12. Defined for 128-byte lines
    /// only.
    Fermi {
        /// Number of index bits: 5 for 32 sets, 6 for 64 sets.
        bits: u32,
    },
    /// Index function other than those above. A policy module supplies it.
    By(By),
}

/// Index function that a policy module supplies: a function pointer with its parameters.
#[derive(Clone, Copy, Debug)]
pub struct By {
    /// Number of index bits, 0 to 12.
    pub bits: u32,
    /// Parameter of the index function, from the configuration of the index scheme. Its meaning depends on
    /// the function.
    pub key: u64,
    /// Index function: maps a line number, the number of index bits and the parameter `key` to a set number.
    pub set: fn(line: u64, bits: u32, key: u64) -> usize,
}

impl PartialEq for By {
    fn eq(&self, other: &Self) -> bool {
        (self.bits, self.key) == (other.bits, other.key) && std::ptr::fn_addr_eq(self.set, other.set)
    }
}

impl Eq for By {}

/// Configuration of an index function. The key `kind` names the function as in the configuration of the
/// hardware model.
#[typetag::deserialize(tag = "kind")]
pub trait IndexScheme: fmt::Debug {
    /// Returns the function for an index of `bits` bits, and the number of low address bits on which the
    /// index depends. Addresses are byte addresses.
    fn function(&self, bits: u32) -> (Function, u32);
}

/// Set index of a cache: a function from byte address to set number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetIndex {
    function: Function,
    line_bits: u32,
    address_bits: u32,
}

/// Reason why a set index cannot be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexError(String);

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for IndexError {}

impl SetIndex {
    /// Creates a set index that depends on the low `address_bits` bits of a byte address, for lines of
    /// 2^`line_bits` bytes.
    ///
    /// # Errors
    /// Returns an error in any of these cases:
    /// - `line_bits` or the number of index bits is above 12;
    /// - the modulus is reducible or `x`;
    /// - the Fermi hash is used with other than 5 or 6 index bits, or other than 128-byte lines;
    /// - `address_bits` is not in `line_bits..=64`.
    pub fn new(function: Function, line_bits: u32, address_bits: u32) -> Result<SetIndex, IndexError> {
        let fault = |text: String| Err(IndexError(text));
        if line_bits > 12 {
            return fault(format!("line_bits is {line_bits}, expected 0 to 12: a line is at most a page"));
        }
        if !(line_bits..=64).contains(&address_bits) {
            return fault(format!(
                "address_bits is {address_bits}, expected {line_bits} to 64: an address holds at \
                 least the offset in its line"
            ));
        }
        match function {
            Function::Linear { bits } | Function::By(By { bits, .. }) if bits > 12 => {
                fault(format!("index of {bits} bits, expected 0 to 12"))
            }
            Function::Poly { modulus, .. }
                if modulus != Poly::ONE
                    && (!matches!(modulus.degree(), Some(1..=12))
                        || modulus == Poly::X
                        || !modulus.is_irreducible()) =>
            {
                fault(format!(
                    "modulus {} is not an irreducible polynomial of degree 1 to 12 other than x, nor 1: \
                     only such a modulus lets every address bit reach the index",
                    modulus.0
                ))
            }
            Function::Fermi { bits } if !matches!(bits, 5 | 6) || line_bits != 7 => fault(format!(
                "Fermi hash of {bits} bits over lines of 2^{line_bits} bytes, expected 5 or 6 \
                     bits and 2^7: it is known for 32 and 64 sets of 128 bytes only"
            )),
            _ => Ok(SetIndex { function, line_bits, address_bits }),
        }
    }

    /// Returns the number of sets of the cache.
    pub fn sets(&self) -> usize {
        1 << self.bits()
    }

    /// Returns the number of bits of the set index.
    pub fn bits(&self) -> u32 {
        match self.function {
            Function::Linear { bits } | Function::Fermi { bits } | Function::By(By { bits, .. }) => bits,
            Function::Poly { modulus, .. } => modulus.degree().unwrap_or(0),
        }
    }

    /// Returns the number of the set to which a byte address maps.
    pub fn set_of(&self, address: u64) -> usize {
        let known = if self.address_bits == 64 { u64::MAX } else { (1 << self.address_bits) - 1 };
        let address = address & known;
        let line = address >> self.line_bits;
        let bit = |k: u32| (address >> k & 1) as usize;
        match self.function {
            Function::Linear { .. } => line as usize % self.sets(),
            Function::By(By { bits, key, set }) => set(line, bits, key) % self.sets(),
            Function::Poly { modulus, reversed } => {
                let rest = Poly(u128::from(line)).modulo(modulus).0 as usize;
                if reversed { rest.reverse_bits().unbounded_shr(usize::BITS - self.bits()) } else { rest }
            }
            Function::Fermi { .. } => {
                let upper = [13, 14, 15, 17, 19].into_iter().rev().fold(0, |n, k| n << 1 | bit(k));
                (line as usize % self.sets()) ^ upper
            }
        }
    }

    /// Returns the number of the set to which a line maps. The line number is the byte address divided by the
    /// line size.
    pub fn set_of_line(&self, line: u64) -> usize {
        self.set_of(line << self.line_bits)
    }

    /// Returns the numbers of the address bits whose XOR is index bit `index_bit`. These bits define an index
    /// function completely if it is linear over GF(2), as all built-in ones are.
    pub fn terms(&self, index_bit: u32) -> BTreeSet<u32> {
        (0..self.address_bits).filter(|&bit| self.set_of(1 << bit) >> index_bit & 1 == 1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn poly(modulus: u128, line_bits: u32, address_bits: u32) -> SetIndex {
        let function = Function::Poly { modulus: Poly(modulus), reversed: false };
        SetIndex::new(function, line_bits, address_bits).unwrap()
    }

    #[test]
    fn every_degree_has_as_many_irreducible_polynomials_as_there_are_necklaces() {
        let listed: Vec<u64> = (1..=12).map(|degree| irreducible_polynomials(degree).len() as u64).collect();
        let counted: Vec<u64> = (1..=12).map(irreducible_count).collect();
        assert_eq!(listed, counted);
        assert_eq!(counted, [2, 1, 2, 3, 6, 9, 18, 30, 56, 99, 186, 335]);
    }

    #[test]
    fn the_six_irreducible_quintics_are_those_of_khairy2015() {
        let numbers: Vec<u128> = irreducible_polynomials(5).into_iter().map(|p| p.0).collect();
        assert_eq!(numbers, [37, 41, 47, 55, 59, 61]);
    }

    #[test]
    fn trial_division_and_rabin_agree_on_every_polynomial_up_to_degree_12() {
        for p in (0..1 << 13).map(Poly) {
            assert_eq!(p.is_irreducible(), p.is_irreducible_by_rabin(), "{p:?}");
        }
    }

    #[test]
    fn figure_5b_of_khairy2015_is_poly_13_with_the_index_bits_reversed() {
        // Figure 5(b) has one row for every eight consecutive line addresses: row r holds the addresses 8 r
        // to 8 r + 7. The address in column c of a row maps to set c.
        const FIGURE: [[u64; 8]; 8] = [
            [0, 4, 2, 6, 1, 5, 3, 7],
            [13, 9, 15, 11, 12, 8, 14, 10],
            [23, 19, 21, 17, 22, 18, 20, 16],
            [26, 30, 24, 28, 27, 31, 25, 29],
            [35, 39, 33, 37, 34, 38, 32, 36],
            [46, 42, 44, 40, 47, 43, 45, 41],
            [52, 48, 54, 50, 53, 49, 55, 51],
            [57, 61, 59, 63, 56, 60, 58, 62],
        ];
        let function = Function::Poly { modulus: Poly(13), reversed: true };
        let index = SetIndex::new(function, 0, 6).unwrap();
        let places = FIGURE.iter().flat_map(|row| row.iter().enumerate());
        assert_eq!(places.clone().count(), 64);
        for (set, &address) in places {
            assert_eq!(index.set_of(address), set, "address {address}");
        }
        let columns: Vec<usize> = (0..6).map(|k| index.set_of(1 << k)).collect();
        assert_eq!(columns, [4, 2, 1, 5, 7, 6]);
    }

    #[test]
    fn figure_7_of_khairy2015_is_poly_37_over_address_bits_26_to_7() {
        let index = poly(37, 7, 27);
        let equations: [&[u32]; 5] = [
            &[7, 12, 15, 17, 18, 21, 22, 23, 24, 25],
            &[8, 13, 16, 18, 19, 22, 23, 24, 25, 26],
            &[9, 12, 14, 15, 18, 19, 20, 21, 22, 26],
            &[10, 13, 15, 16, 19, 20, 21, 22, 23],
            &[11, 14, 16, 17, 20, 21, 22, 23, 24],
        ];
        for (bit, equation) in (0..).zip(equations) {
            assert_eq!(index.terms(bit), equation.iter().copied().collect(), "I{bit}");
        }
    }

    #[test]
    fn the_five_high_address_bits_extend_figure_7_to_32_bits() {
        let (short, long) = (poly(37, 7, 27), poly(37, 7, 32));
        let added: Vec<Vec<u32>> =
            (0..5).map(|bit| long.terms(bit).difference(&short.terms(bit)).copied().collect()).collect();
        let expected: [&[u32]; 5] = [&[29, 30], &[30, 31], &[27, 29, 30, 31], &[27, 28, 30, 31], &[28, 29, 31]];
        assert_eq!(added, expected);
    }

    #[test]
    fn bits_above_the_address_width_do_not_reach_the_index() {
        assert_eq!(poly(37, 7, 27).set_of(1 << 27), 0);
        assert_ne!(poly(37, 7, 32).set_of(1 << 27), 0);
    }

    #[test]
    fn strides_spread_over_as_many_sets_as_counted_by_hand() {
        let make = |function| SetIndex::new(function, 7, 32).unwrap();
        let linear = make(Function::Linear { bits: 5 });
        let hash = make(Function::Fermi { bits: 5 });
        let prime = poly(37, 7, 32);
        let spread = |index: SetIndex, stride: u64| {
            (0..32).map(|i| index.set_of_line(i * stride)).collect::<BTreeSet<_>>().len()
        };
        for (stride, expected) in [
            (1, [32, 32, 32]),
            (2, [16, 32, 16]),
            (16, [2, 32, 16]),
            (32, [1, 32, 8]),
            (96, [1, 23, 16]),
            (100, [8, 17, 21]),
            (1000, [4, 22, 17]),
            (1024, [1, 32, 4]),
        ] {
            let seen = [spread(linear, stride), spread(prime, stride), spread(hash, stride)];
            assert_eq!(seen, expected, "stride {stride}");
        }
    }

    #[test]
    fn the_fermi_hash_of_64_sets_leaves_bit_5_to_address_bit_12() {
        let index = SetIndex::new(Function::Fermi { bits: 6 }, 7, 32).unwrap();
        assert_eq!(index.terms(5), BTreeSet::from([12]));
        assert_eq!(index.terms(4), BTreeSet::from([11, 19]));
        assert_eq!(index.terms(3), BTreeSet::from([10, 17]));
    }

    #[test]
    fn a_reducible_modulus_is_refused_with_its_value() {
        let function = Function::Poly { modulus: Poly(33), reversed: false };
        let error = SetIndex::new(function, 7, 32).unwrap_err();
        assert!(error.to_string().starts_with("modulus 33 is not an irreducible polynomial"));
    }

    #[test]
    fn the_modulus_x_is_refused_though_irreducible() {
        let function = Function::Poly { modulus: Poly::X, reversed: false };
        assert!(SetIndex::new(function, 7, 32).is_err());
    }

    proptest! {
        #[test]
        fn quotient_times_divisor_plus_remainder_is_the_dividend(a: u64, b in 1u64..) {
            let (quotient, rest) = Poly(a.into()).divide(Poly(b.into()));
            let shifts = (0..64).filter(|k| b >> k & 1 == 1);
            let product = shifts.fold(0, |sum, k| sum ^ quotient.0 << k);
            prop_assert_eq!(product ^ rest.0, u128::from(a));
            prop_assert!(rest.degree() < Poly(b.into()).degree());
        }

        #[test]
        fn the_low_line_bits_permute_the_sets_whatever_the_upper_bits(
            degree in 1u32..=12,
            pick: prop::sample::Index,
            upper in 0u64..1 << 20,
        ) {
            let mut usable = irreducible_polynomials(degree);
            usable.retain(|&p| p != Poly::X);
            let index = poly(usable[pick.index(usable.len())].0, 7, 49);
            let lines = (0..1u64 << degree).map(|low| upper << degree | low);
            let sets: BTreeSet<usize> = lines.map(|line| index.set_of_line(line)).collect();
            prop_assert_eq!(sets.len(), 1 << degree);
        }
    }
}
