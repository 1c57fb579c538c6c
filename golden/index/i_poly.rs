//! # Cache set index as the remainder of a polynomial division (khairy2015 section 4.3)

use serde::Deserialize;

use super::{Function, IndexScheme, Poly};

/// Configuration of the polynomial set index.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct IPoly {
    /// Polynomial by which the line number is divided; bit `k` is the coefficient of `x^k`.
    polynomial: u32,
    /// Number of low address bits on which the index depends. Addresses are byte addresses.
    addr_bits: u32,
    /// True if index bit 0 is the coefficient of the highest power in the remainder; false if it is the
    /// constant term.
    reversed: bool,
}

#[typetag::deserialize(name = "i-poly")]
impl IndexScheme for IPoly {
    fn function(&self, _bits: u32) -> (Function, u32) {
        let modulus = Poly(self.polynomial.into());
        (Function::Poly { modulus, reversed: self.reversed }, self.addr_bits)
    }
}
