//! # Line address modulo an irreducible polynomial
//! Pseudo-random interleaved cache indexing (PRIC, khairy2015 section 4.3).

use serde::{Deserialize, Serialize};

use super::polynomial::{is_irreducible, polynomial_for, power_of_x};
use super::{Function, Shape};
use crate::config::Rules;

/// Configuration of the polynomial index function.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IPoly {
    /// Polynomial as a decimal number in which bit `k` is the coefficient of `x^k`: 37 is `x^5 + x^2 + 1`. 0
    /// selects a polynomial whose degree fits the number of sets: 37 for 32 sets, 67 for 64 sets.
    pub polynomial: u32,
    /// Number of low byte-address bits that are hashed, 27 in khairy2015 Figure 7. Higher bits do not affect
    /// the index.
    pub addr_bits: u32,
    /// True if the order of the index bits is reversed, as in khairy2015 Figure 5(b).
    pub reversed: bool,
}

/// By default, all bits of a 32-bit byte address are hashed.
impl Default for IPoly {
    fn default() -> Self {
        Self { polynomial: 0, addr_bits: 32, reversed: false }
    }
}

#[typetag::serde(name = "i-poly")]
impl Function for IPoly {
    fn column(&self, k: u32, Shape { bits, offset }: Shape) -> u16 {
        let &Self { polynomial, addr_bits, reversed } = self;
        let column = if k + offset < addr_bits { power_of_x(k, polynomial) } else { 0 };
        if reversed { column.reverse_bits().unbounded_shr(16 - bits) } else { column }
    }

    fn validate(&self, sets: u32, line_bytes: u32, rules: &mut Rules) {
        let &Self { polynomial, addr_bits, reversed: _ } = self;
        let degree = polynomial.checked_ilog2().unwrap_or(0);
        let of_table = polynomial_for(sets);
        let fits = match of_table {
            Some(fits) => format!("degree {}, such as {fits}, which 0 selects", fits.ilog2()),
            None => "another function: polynomials are for 1 to 4096 sets".to_owned(),
        };
        let has_degree = of_table.is_some() && polynomial > 0 && 1 << degree == sets;
        let given = format!("{polynomial} (degree {degree})");
        rules.expect(has_degree, "polynomial", given, &fits, "the degree is the number of index bits");
        rules.expect(
            !has_degree || polynomial == 1 || polynomial != 2 && is_irreducible(polynomial),
            "polynomial",
            polynomial,
            "an irreducible polynomial other than x",
            "a reducible one maps some strides onto few sets, and x ignores all bits but one",
        );
        let least = line_bytes.max(1).ilog2() + sets.max(1).ilog2();
        let why = "the address must hold the line offset and the index bits";
        rules.range("addr_bits", u64::from(addr_bits), u64::from(least)..=64, why);
    }
}
