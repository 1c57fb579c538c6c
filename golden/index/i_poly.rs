//! # The remainder of a division by a polynomial (khairy2015 section 4.3)

use serde::Deserialize;

use super::{Function, Poly, Scheme};

/// Its keys.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct IPoly {
    /// Coefficients of the modulus.
    polynomial: u32,
    /// Bits of a byte address that take part.
    addr_bits: u32,
    /// Whether index bit 0 is the coefficient of the highest power.
    reversed: bool,
}

#[typetag::deserialize(name = "i-poly")]
impl Scheme for IPoly {
    fn function(&self, _bits: u32) -> (Function, u32) {
        let modulus = Poly(self.polynomial.into());
        (Function::Poly { modulus, reversed: self.reversed }, self.addr_bits)
    }
}
