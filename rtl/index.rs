//! # XOR index unit
//! Computes the set index of a line address. Unlike in plain bit selection, each index bit may be the
//! exclusive or of any fixed set of line-address bits, computed by one XOR tree. Every such function is
//! linear over GF(2). Row `j` of its matrix H selects the address bits of index bit `j`. Each file in
//! `rtl/index` defines one function by giving the columns of H. Plain bit selection, the pseudo-random
//! interleaving of khairy2015 (section 4.3) and the set hash of GPGPU-Sim's Fermi model differ in H only.
//!
//! | port    | dir | payload      | contract                                   |
//! |---------|-----|--------------|--------------------------------------------|
//! | `line`  | in  | line address | any line address                           |
//! | `index` | out | set          | combinational, below the number of sets    |
//!
//! Latency: none, the unit precedes the tag array in the same cycle. The depth in two-input gates is the log2
//! of the largest fan-in: four levels for Poly(37) over 20 bits. For fixed upper address bits, each function
//! maps the low bits one to one onto the sets. The tag of an ordinary cache (the line address above its index
//! bits) therefore remains sufficient.
//!
//! Part of `rtl/l1/cache.rs` and `rtl/l2/bank.rs`.

automod::dir!(pub "index");

use std::fmt::Debug;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use bitvec::slice::BitSlice;
use bitvec::vec::BitVec;

pub use polynomial::{is_irreducible, polynomial_for, power_of_x, powers_of_x};

use serde::{Deserialize, Serialize};
use serde_big_array::Array as BigArray;

use crate::choice::Choice;
use crate::config::Rules;
use crate::kernel::{Describe, Logic};

/// Maximum number of sets of a cache. With this maximum, a column of the index matrix H, which has one bit
/// per index bit, has at most 12 bits.
const MAX_SETS: u32 = 4096;

/// Dimensions of a cache on which its set index function depends.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Number of index bits: the log2 of the number of sets.
    pub bits: u32,
    /// Number of byte-address bits below the line address: the log2 of the line size in bytes.
    pub offset: u32,
}

/// Set index function. Its fields are configuration keys in the `index` table of a cache, next to `kind`.
#[typetag::serde(tag = "kind")]
pub trait Function: Debug + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// Returns column `k` of the index matrix H: the index bits that flip if bit `k` of the line address
    /// flips.
    fn column(&self, k: u32, shape: Shape) -> u16;

    /// Checks the parameters of the function against the cache that it indexes.
    fn validate(&self, _sets: u32, _line_bytes: u32, _rules: &mut Rules) {}
}

/// Configuration field that selects the set index function of a cache.
pub type IndexConfig = Choice<dyn Function>;

impl<F: Function + 'static> From<F> for IndexConfig {
    fn from(function: F) -> Self {
        Self::new(Arc::new(function))
    }
}

impl IndexConfig {
    /// Checks the index function against the number of sets and the line size of its cache.
    pub fn validate(&self, sets: u32, line_bytes: u32, rules: &mut Rules) {
        let mut own = Rules::default();
        Function::validate(&**self, sets, line_bytes, &mut own);
        let is_legal = own.is_kept();
        rules.merge(own);
        if !sets.is_power_of_two() || sets > MAX_SETS {
            return;
        }
        let shape = Shape { bits: sets.ilog2(), offset: line_bytes.max(1).ilog2() };
        rules.expect(
            !is_legal || is_one_to_one(|k| self.column(k, shape), shape.bits),
            "kind",
            self.typetag_name(),
            "a function that maps the low bits of a line address one to one onto the sets",
            "the tag is the line address above its index bits",
        );
    }
}

/// True if columns 0 to `bits` - 1 of the index matrix are linearly independent, so that the index function
/// is one to one. Uses Gaussian elimination with one pivot per column.
fn is_one_to_one(column: impl Fn(u32) -> u16, bits: u32) -> bool {
    let mut pivots: Vec<u16> = Vec::new();
    (0..bits).all(|k| {
        let rest = pivots.iter().fold(column(k), |rest, pivot| rest.min(rest ^ pivot));
        pivots.push(rest);
        rest != 0 && rest.ilog2() < bits
    })
}

/// Index unit of a cache: the rows of the index matrix H, and lookup tables of the same function for fast
/// simulation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexUnit {
    /// Element `j` is row `j` of the index matrix: the line-address bits whose exclusive or is index bit `j`.
    rows: Box<[BitVec]>,
    /// One table per byte of the line address: the contribution of each byte value to the index. The function
    /// is linear, so the index is the exclusive or of the contributions of all bytes. Empty for plain bit
    /// selection.
    tables: Box<[BigArray<u16, 256>]>,
    /// For each index, the low line-address bits that map to it if all upper bits are 0. Used to rebuild the
    /// line address from a tag and a set. Empty for plain bit selection.
    low_bits: Box<[u32]>,
    /// Mask of the low line-address bits, for plain bit selection, which needs no tables; `None` for all
    /// other index functions.
    linear: Option<u32>,
}

impl IndexUnit {
    /// Builds the index matrix H for a cache with `sets` sets and `line_bits`-bit line addresses.
    ///
    /// # Panics
    /// Panics if the configuration was not validated.
    #[must_use]
    pub fn new(config: &IndexConfig, sets: u32, line_bytes: u32, line_bits: u32) -> Self {
        let bits = sets.ilog2();
        let offset = line_bytes.ilog2();
        let columns: Vec<u16> = (0..line_bits).map(|k| config.column(k, Shape { bits, offset })).collect();
        let row = |j: u32| columns.iter().map(|column| column >> j & 1 != 0).collect();
        let rows: Box<[BitVec]> = (0..bits).map(row).collect();
        if rows.iter().enumerate().all(|(j, row)| row.iter_ones().eq([j])) {
            return Self { rows, tables: Box::default(), low_bits: Box::default(), linear: Some(sets - 1) };
        }
        let tables = columns.chunks(8).map(contributions).collect();
        let mut unit = Self { rows, tables, low_bits: Box::default(), linear: None };
        let mut low_bits = vec![0; sets as usize];
        for low in 0..sets {
            low_bits[unit.index(u64::from(low)) as usize] = low;
        }
        unit.low_bits = low_bits.into();
        unit
    }

    /// Returns the set index of a line address.
    #[inline]
    #[must_use]
    pub fn index(&self, line: u64) -> u32 {
        match self.linear {
            Some(low_bits) => line as u32 & low_bits,
            None => self.look_up(line),
        }
    }

    #[inline(never)]
    fn look_up(&self, line: u64) -> u32 {
        let parts = self.tables.iter().zip(line.to_le_bytes());
        u32::from(parts.fold(0, |index, (table, byte)| index ^ table[usize::from(byte)]))
    }

    /// Returns the low line-address bits that map to `index` if all upper bits are 0: the inverse of the
    /// index function.
    #[must_use]
    pub fn low_bits_of(&self, index: u32) -> u32 {
        if self.linear.is_some() { index } else { self.low_bits[index as usize] }
    }

    /// Returns the width of a set index in bits.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.rows.len() as u32
    }

    /// Returns the line address of the line with tag `tag` in set `set`. The tag holds the upper bits of the
    /// address. The low bits of the address are computed from the set by the inverse of the index function.
    #[inline]
    #[must_use]
    pub fn line(&self, tag: u64, set: u32) -> u64 {
        let upper = tag << self.bits();
        match self.linear {
            Some(_) => upper | u64::from(set),
            // The index function is linear over GF(2): index(upper | low) = index(upper) ^ index(low).
            None => upper | u64::from(self.low_bits_of(set ^ self.index(upper))),
        }
    }

    /// Returns the fan-in of the XOR tree of each index bit; a fan-in of 1 is a wire.
    pub fn fan_ins(&self) -> impl Iterator<Item = u32> + '_ {
        self.rows.iter().map(|row| row.count_ones() as u32)
    }

    /// Returns the line-address bits whose exclusive or is index bit `j`.
    #[must_use]
    pub fn row(&self, j: usize) -> &BitSlice {
        &self.rows[j]
    }

    /// Adds to the hardware description: one XOR tree for each index bit that is not a plain wire.
    pub fn describe(&self, to: &mut dyn Describe) {
        // The lookup tables are not hardware: they express the rows of the index matrix in a form that is
        // faster to simulate. In hardware, the inverse of the index function needs the same XOR trees.
        let Self { rows, tables: _, low_bits: _, linear: _ } = self;
        for fan_in in rows.iter().map(|row| row.count_ones() as u32).filter(|&fan_in| fan_in > 1) {
            to.logic("index_bit", Logic::XorTree { fan_in });
        }
    }
}

/// Returns the contribution of one byte of the line address to the index, for each value of the byte. The
/// contribution of a value is the exclusive or of `columns[i]` over all bits `i` of the byte that are 1.
fn contributions(columns: &[u16]) -> BigArray<u16, 256> {
    let mut table = BigArray([0; 256]);
    for value in 1..table.len() {
        let column = columns.get(value.trailing_zeros() as usize).copied().unwrap_or(0);
        table[value] = table[value & (value - 1)] ^ column;
    }
    table
}

/// Returns column `k` of the index matrix for plain bit selection, where index bit `k` equals line-address
/// bit `k`.
fn identity(k: u32, bits: u32) -> u16 {
    if k < bits { 1 << k } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::fermi::Fermi;
    use super::i_poly::IPoly;
    use super::linear::Linear;
    use super::*;

    fn poly(polynomial: u32, addr_bits: u32, reversed: bool, line_bytes: u32, line_bits: u32) -> IndexUnit {
        let sets = 1 << polynomial.ilog2();
        let config: IndexConfig = IPoly { polynomial, addr_bits, reversed }.into();
        let mut rules = Rules::default();
        config.validate(sets, line_bytes, &mut rules);
        assert!(rules.into_violations().is_empty());
        IndexUnit::new(&config, sets, line_bytes, line_bits)
    }

    /// Computes index bit `j` of a line as hardware does: as the parity of the selected address bits.
    fn parity(unit: &IndexUnit, j: usize, line: u64) -> u32 {
        unit.row(j).iter_ones().fold(0, |parity, k| parity ^ (line >> k & 1) as u32)
    }

    #[test]
    fn poly_37_over_27_address_bits_is_the_five_equations_of_khairy2015_figure_7() {
        let unit = poly(37, 27, false, 128, 25);
        let terms: [&[u32]; 5] = [
            &[7, 12, 15, 17, 18, 21, 22, 23, 24, 25],
            &[8, 13, 16, 18, 19, 22, 23, 24, 25, 26],
            &[9, 12, 14, 15, 18, 19, 20, 21, 22, 26],
            &[10, 13, 15, 16, 19, 20, 21, 22, 23],
            &[11, 14, 16, 17, 20, 21, 22, 23, 24],
        ];
        for (j, bits) in terms.iter().enumerate() {
            assert!(unit.row(j).iter_ones().map(|k| k as u32 + 7).eq(bits.iter().copied()), "I{j}");
        }
        assert_eq!(unit.fan_ins().collect::<Vec<_>>(), [10, 10, 10, 9, 9]);
        let mut plain = vec![0u32; 1 << 20];
        for (line, entry) in plain.iter_mut().enumerate() {
            *entry = (0..5).fold(0, |index, j| index | parity(&unit, j, line as u64) << j);
        }
        assert!(plain.iter().enumerate().all(|(line, index)| unit.index(line as u64) == *index));
    }

    #[test]
    fn poly_13_with_reversed_index_bits_places_all_64_addresses_as_khairy2015_figure_5b() {
        let unit = poly(13, 6, true, 1, 6);
        let columns = [4, 2, 1, 5, 7, 6];
        for address in 0..64u64 {
            let expected = (0..6).filter(|k| address >> k & 1 != 0).fold(0, |index, k| index ^ columns[k]);
            assert_eq!(unit.index(address), expected, "address {address}");
        }
    }

    #[test]
    fn poly_37_over_32_bits_follows_the_powers_of_x() {
        let unit = poly(37, 32, false, 128, 25);
        let powers = [1, 2, 4, 8, 16, 5, 10, 20, 13, 26, 17, 7, 14, 28, 29, 31, 27, 19, 3, 6, 12, 24, 21, 15, 30];
        for (k, power) in powers.iter().enumerate() {
            assert_eq!(unit.index(1 << k), *power);
        }
    }

    #[test]
    fn strides_spread_over_the_sets_as_published() {
        let linear = IndexUnit::new(&Linear {}.into(), 32, 128, 25);
        let fermi = IndexUnit::new(&Fermi {}.into(), 32, 128, 25);
        let pric = poly(37, 32, false, 128, 25);
        let sets = |unit: &IndexUnit, stride: u64| {
            (0..32).fold(0u32, |seen, i| seen | 1 << unit.index(i * stride)).count_ones()
        };
        let rows = [
            (1, 32, 32, 32),
            (2, 16, 32, 16),
            (8, 4, 32, 16),
            (32, 1, 32, 8),
            (96, 1, 23, 16),
            (100, 8, 17, 21),
            (1000, 4, 22, 17),
            (1024, 1, 32, 4),
        ];
        for (stride, a, b, c) in rows {
            assert_eq!(
                (sets(&linear, stride), sets(&pric, stride), sets(&fermi, stride)),
                (a, b, c),
                "stride {stride}"
            );
        }
    }

    #[test]
    fn what_the_host_computes_is_the_parity_of_each_row() {
        let fermi = IndexUnit::new(&Fermi {}.into(), 32, 128, 25);
        let wide = IndexUnit::new(&Linear {}.into(), 64, 32, 27);
        for unit in [IndexUnit::new(&Linear {}.into(), 32, 128, 25), wide, fermi, poly(37, 27, true, 128, 25)] {
            for line in (0..1u64 << 25).step_by(4093) {
                let index = (0..unit.bits()).fold(0, |index, j| index | parity(&unit, j as usize, line) << j);
                assert_eq!(unit.index(line), index, "line {line:#x}");
                assert_eq!(unit.line(line >> unit.bits(), index), line);
            }
        }
    }

    #[test]
    fn every_degree_maps_the_low_bits_one_to_one() {
        for polynomial in (0..=12).filter_map(|degree| polynomial_for(1 << degree)) {
            let unit = poly(polynomial, 32, false, 128, 25);
            for upper in [0u64, 1, 5] {
                let sets = 1u64 << unit.bits();
                let mut seen: Vec<u32> = (0..sets).map(|low| unit.index(upper * sets + low)).collect();
                seen.sort_unstable();
                assert!(seen.iter().enumerate().all(|(i, index)| i as u32 == *index), "polynomial {polynomial}");
            }
        }
    }

    #[test]
    fn a_reducible_polynomial_and_one_of_the_wrong_degree_are_refused() {
        let check = |polynomial, sets| {
            let mut rules = Rules::default();
            IndexConfig::from(IPoly { polynomial, addr_bits: 32, reversed: false }).validate(sets, 128, &mut rules);
            rules.into_violations()
        };
        let texts = |polynomial, sets| check(polynomial, sets).iter().map(ToString::to_string).collect::<Vec<_>>();
        let irreducible = "expected an irreducible polynomial other than x: a reducible one maps some strides onto few \
                           sets, and x ignores all bits but one";
        assert_eq!(texts(33, 32), [format!("polynomial is 33, {irreducible}")]);
        assert_eq!(texts(2, 2), [format!("polynomial is 2, {irreducible}")]);
        let degree = "the degree is the number of index bits";
        assert_eq!(
            texts(67, 32),
            [format!("polynomial is 67 (degree 6), expected degree 5, such as 37, which 0 selects: {degree}")]
        );
        let none = "another function: polynomials are for 1 to 4096 sets";
        assert_eq!(texts(4179, 8192), [format!("polynomial is 4179 (degree 12), expected {none}: {degree}")]);
        assert_eq!((check(37, 32), check(1, 1)), (Vec::new(), Vec::new()));
    }
}
