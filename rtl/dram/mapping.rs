//! # Address mapping
//! Splits a burst address into row, bank and column. Each consists of bits of the address; the bits of the
//! bank may also be XORed with other address bits. The channel is not selected here, because that may require
//! a division: the number of channels need not be a power of two.
//!
//! Each bit of the result (row, bank or column) is the XOR of some address bits. The matrix of a mapping has
//! a one for each pair of a result bit and one of its address bits. The pairs whose address bit is the same
//! number of positions above the result bit form a diagonal. The simulator extracts a diagonal with one
//! rotation and one mask. A contiguous field of the address is one diagonal, and so is an XOR with
//! contiguous bits.
//!
//! Part of `rtl/dram/channel.rs`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use super::config::DramConfig;
use super::layout::Layout;
use crate::kernel::{Describe, Logic};

/// Location of a burst in a channel: row, bank and column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BurstLocation {
    /// Bank number within the channel: number of the bank group times banks per group, plus the number within
    /// the group.
    pub bank: u8,
    /// Number of the row within the bank.
    pub row: u32,
    /// Position of the burst within the row.
    pub column: u32,
}

/// Part of a bit matrix that maps a burst address to the row, bank or column: one of its diagonals. The bits
/// of the result in `mask` are each XORed with the address bit that is `distance` positions higher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Diagonal {
    /// Distance by which the burst address is rotated to the right.
    distance: u32,
    /// Mask of the bits of the result.
    mask: u64,
}

/// Bit matrix that maps a burst address to the row, bank or column, stored as its diagonals. The first `N`
/// diagonals are computed without a branch or a pointer; `rest` is empty for usual mappings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Gather<const N: usize> {
    #[serde(with = "BigArray")]
    first: [Diagonal; N],
    rest: Vec<Diagonal>,
}

impl<const N: usize> Gather<N> {
    /// Splits the bit matrix into its diagonals. For each bit of the result, `masks` contains the mask of the
    /// address bits that are XORed into it.
    fn new(masks: &[u64]) -> Self {
        let mut diagonals: BTreeMap<u32, u64> = BTreeMap::new();
        for (bit, mask) in (0u32..).zip(masks) {
            for at in (0..u64::BITS).filter(|at| mask >> at & 1 != 0) {
                *diagonals.entry((at + u64::BITS - bit) % u64::BITS).or_default() |= 1 << bit;
            }
        }
        let mut diagonals = diagonals.into_iter().map(|(distance, mask)| Diagonal { distance, mask });
        let first = std::array::from_fn(|_| diagonals.next().unwrap_or_default());
        Self { first, rest: diagonals.collect() }
    }

    fn diagonals(&self) -> impl Iterator<Item = &Diagonal> {
        self.first.iter().chain(&self.rest)
    }

    #[inline]
    fn of(&self, burst: u64) -> u64 {
        self.diagonals().fold(0, |value, &Diagonal { distance, mask }| value ^ burst.rotate_right(distance) & mask)
    }
}

/// Address mapping of a channel: bit matrices that map a burst address to its row, bank and column. Each
/// matrix is stored as a list of diagonals, so that its product with an address takes one rotation, one AND
/// and one XOR per diagonal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    bank_bits: u32,
    column_bits: u32,
    row_bits: u32,
    row: Gather<1>,
    bank: Gather<3>,
    column: Gather<2>,
}

impl Mapping {
    /// Creates the mapping for a configuration, which must be valid.
    ///
    /// # Panics
    /// Panics if the configuration violates a rule of the mapping.
    #[must_use]
    pub fn new(config: &DramConfig) -> Self {
        let Ok(Layout { row, bank, column }) = config.mapping.layout(config) else {
            panic!("the address mapping {:?} does not go with the size of the channel", config.mapping)
        };
        let [row_bits, bank_bits, column_bits] = [&row, &bank, &column].map(|bits| bits.len() as u32);
        Self {
            bank_bits,
            column_bits,
            row_bits,
            row: Gather::new(&row),
            bank: Gather::new(&bank),
            column: Gather::new(&column),
        }
    }

    /// Returns the width of [`BurstLocation::bank`] in bits.
    #[must_use]
    pub fn bank_bits(&self) -> u32 {
        self.bank_bits
    }

    /// Returns the width of [`BurstLocation::column`] in bits.
    #[must_use]
    pub fn column_bits(&self) -> u32 {
        self.column_bits
    }

    /// Returns the width of [`BurstLocation::row`] in bits.
    #[must_use]
    pub fn row_bits(&self) -> u32 {
        self.row_bits
    }

    /// Returns the row, bank and column of a burst.
    #[must_use]
    #[inline]
    pub fn place(&self, burst: u64) -> BurstLocation {
        let Self { row, bank, column, .. } = self;
        BurstLocation { bank: bank.of(burst) as u8, row: row.of(burst) as u32, column: column.of(burst) as u32 }
    }

    /// Lists the XOR trees of the bank bits; all other bits are wires.
    pub fn describe(&self, to: &mut dyn Describe) {
        let Self { bank_bits, column_bits: _, row_bits: _, row: _, bank, column: _ } = self;
        for bit in 0..*bank_bits {
            let fan_in = bank.diagonals().filter(|diagonal| diagonal.mask >> bit & 1 != 0).count() as u32;
            if fan_in > 1 {
                to.logic("bank_bit", Logic::XorTree { fan_in });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::reference;
    use super::super::layout::MappingConfig;
    use super::*;

    fn mapping(fields: &[&str], xor: &[&str]) -> Mapping {
        Mapping::new(&DramConfig { mapping: MappingConfig::new(fields, xor), ..reference() })
    }

    /// Returns the address of the 64-byte burst for a byte address in which only bit `bit` is set.
    fn byte_bit(bit: u32) -> u64 {
        1 << (bit - 6)
    }

    #[test]
    fn every_field_has_the_width_of_what_it_numbers() {
        let mapping = Mapping::new(&reference());
        let DramConfig { rows, columns, .. } = reference();
        let widths = [mapping.bank_bits(), mapping.row_bits(), mapping.column_bits()];
        assert_eq!(widths, [reference().banks(), rows, columns].map(u32::ilog2));
    }

    #[test]
    fn the_reference_reads_row_bank_group_and_column_from_contiguous_fields() {
        let mapping = Mapping::new(&reference());
        // This burst address is from the reference traces, in which it is row 900, bank 2 of bank group 3,
        // and column 5.
        assert_eq!(mapping.place(0x0384_b140 >> 6), BurstLocation { bank: 3 * 4 + 2, row: 900, column: 5 });
        assert_eq!(mapping.place(byte_bit(12)).bank, 4);
        assert_eq!(mapping.place(byte_bit(14)).bank, 1);
        assert_eq!(mapping.place(byte_bit(16)).row, 1);
    }

    #[test]
    fn a_group_above_the_bank_keeps_neighbouring_banks_in_one_group() {
        let mapping = mapping(&["column", "bank", "group", "row"], &[]);
        assert_eq!(mapping.place(byte_bit(12)).bank, 1);
        assert_eq!(mapping.place(byte_bit(14)).bank, 4);
    }

    #[test]
    fn a_field_in_two_parts_has_its_lowest_bits_in_the_first() {
        let mapping = mapping(&["column:2", "bank:1", "column", "bank", "group", "row"], &[]);
        assert_eq!(mapping.place(byte_bit(8)), BurstLocation { bank: 1, row: 0, column: 0 });
        assert_eq!(mapping.place(byte_bit(7)), BurstLocation { bank: 0, row: 0, column: 2 });
        assert_eq!(mapping.place(byte_bit(9)), BurstLocation { bank: 0, row: 0, column: 4 });
        assert_eq!(mapping.place(byte_bit(12)), BurstLocation { bank: 0, row: 0, column: 32 });
        assert_eq!(mapping.place(byte_bit(13)), BurstLocation { bank: 2, row: 0, column: 0 });
        assert_eq!(mapping.place(byte_bit(15)), BurstLocation { bank: 8, row: 0, column: 0 });
        assert_eq!(mapping.place(byte_bit(27)), BurstLocation { bank: 0, row: 2048, column: 0 });
    }

    #[test]
    fn the_qv100_takes_its_bank_bits_from_byte_addresses_8_and_12_to_14() {
        let qv100 = DramConfig { bus_bits: 128, burst_length: 2, ..reference() };
        let mapping = MappingConfig::new(&["column:3", "group:1", "column", "group", "bank", "row"], &[]);
        let qv100 = DramConfig { mapping, rows: 8192, ..qv100 };
        let place = |byte: u64| Mapping::new(&qv100).place(byte / u64::from(qv100.burst_bytes()));
        assert_eq!(place(1 << 7), BurstLocation { bank: 0, row: 0, column: 4 });
        assert_eq!(place(1 << 8), BurstLocation { bank: 4, row: 0, column: 0 });
        assert_eq!(place(1 << 9), BurstLocation { bank: 0, row: 0, column: 8 });
        assert_eq!([12, 13, 14].map(|bit| place(1 << bit).bank), [8, 1, 2]);
        assert_eq!(place(1 << 15), BurstLocation { bank: 0, row: 1, column: 0 });
        assert_eq!(place(1 << 27), BurstLocation { bank: 0, row: 4096, column: 0 });
    }

    #[test]
    fn a_bank_xored_with_the_row_is_another_one_in_the_next_row() {
        let mapping = mapping(&["column", "bank", "group", "row"], &["bank ^ row", "group ^ row[2..]"]);
        let banks = [0x0, 0x1_0000, 0x2_0000, 0x11_0000, 0x1_3000, 0x4_0000].map(|byte| mapping.place(byte >> 6).bank);
        assert_eq!(banks, [0, 1, 2, 1, 2, 4]);
    }

    #[test]
    fn an_xor_of_single_bits_is_their_parity() {
        let mapping = mapping(&["column", "bank", "group", "row"], &["bank[1] ^ row[0] ^ column[5] ^ burst[8]"]);
        let banks = [11, 16, 14, 12, 13].map(|bit| mapping.place(byte_bit(bit)).bank);
        assert_eq!(banks, [2, 2, 4 | 2, 1, 2]);
        assert_eq!(mapping.place(byte_bit(11) | byte_bit(16)), BurstLocation { bank: 0, row: 1, column: 32 });
    }

    /// The bit matrices of usual mappings have few diagonals, all of which are computed without a loop: those
    /// of the machines in `machines/`, of GPGPU-Sim, and of Zhang, Zhu and Zhang. The last mapping of this
    /// test, an unusual one, has more.
    #[test]
    fn usual_mappings_have_only_the_diagonals_that_are_computed_without_a_loop() {
        let rests = |fields: &[&str], xor: &[&str]| {
            let Mapping { row, bank, column, .. } = mapping(fields, xor);
            row.rest.len() + bank.rest.len() + column.rest.len()
        };
        let permuted = ["bank ^ row", "group ^ row[2..]"];
        assert_eq!(rests(&["column", "group", "bank", "row"], &permuted[..1]), 0);
        assert_eq!(rests(&["column", "bank", "group", "row"], &permuted), 0);
        assert_eq!(rests(&["column:2", "group:1", "column", "group", "bank", "row"], &[]), 0);
        assert_eq!(rests(&["column:3", "group:1", "column", "group", "bank", "row"], &[]), 0);
        assert_eq!(rests(&["column:2", "bank:1", "column", "bank", "group", "row"], &[]), 0);
        assert_ne!(rests(&["column:2", "row:1", "column", "bank", "group", "row"], &[]), 0);
    }
}
