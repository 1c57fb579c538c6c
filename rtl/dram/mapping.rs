//! # Address mapping
//! Splits a burst address into row, bank and column, using only bit fields. The channel is selected
//! elsewhere, since that may require a division: the number of channels need not be a power of two.

use serde::{Deserialize, Serialize};
use serde_big_array::BigArray;

use super::config::{AddressMapping, DramConfig, GroupBits};

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

/// Bit field within a burst address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Bits {
    shift: u32,
    mask: u64,
}

impl Bits {
    /// Creates the bit field of `width` bits that starts at bit `shift`.
    fn new(shift: u32, width: u32) -> Self {
        Self { shift, mask: (1 << width) - 1 }
    }

    fn of(self, value: u64) -> u64 {
        value >> self.shift & self.mask
    }
}

/// Maximum number of banks of a channel.
const BANKS: usize = 64;

/// Bit fields from which the row, bank and column of a burst address are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    bank_bits: u32,
    column_bits: u32,
    row_bits: u32,
    row: Bits,
    /// Two fields of the burst address that form the bank number: its upper bits, and its lowest bits.
    high_bank: Bits,
    low_bank: Bits,
    low_bank_bits: u32,
    /// Two fields of the burst address that form the column: its upper bits, and its lowest bits.
    high_column: Bits,
    low_column: Bits,
    low_column_bits: u32,
    /// Mask of the low row bits that are XORed with the bank bits of the address; 0 if there is no XOR.
    permuted: u64,
    /// Bank number for each value of the bank bits in the address. The upper bits of a bank number are the
    /// number of the bank group; the lower bits are the bank's number within the group.
    #[serde(with = "BigArray")]
    banks: [u8; BANKS],
}

impl Mapping {
    /// Creates the mapping for a configuration, which must be valid.
    #[must_use]
    pub fn new(config: &DramConfig) -> Self {
        let group_bits = config.bank_groups.trailing_zeros();
        let inner_bits = config.banks_per_group.trailing_zeros();
        let column_bits = config.columns.trailing_zeros();
        let row_bits = config.rows.trailing_zeros();
        let bank_bits = group_bits + inner_bits;
        let low_column_bits = config.mapping.low_columns();
        let low_bank_bits = u32::from(low_column_bits != 0);
        let permuted = match config.mapping {
            AddressMapping::PermutedBank => u64::from(config.banks() - 1),
            AddressMapping::RowBankColumn | AddressMapping::Gtx480 | AddressMapping::Qv100 => 0,
        };
        let (group, inner) = match config.group_bits {
            GroupBits::Low => (Bits::new(0, group_bits), Bits::new(group_bits, inner_bits)),
            GroupBits::High => (Bits::new(inner_bits, group_bits), Bits::new(0, inner_bits)),
        };
        Self {
            bank_bits,
            column_bits,
            row_bits,
            row: Bits::new(column_bits + bank_bits, row_bits),
            high_bank: Bits::new(column_bits + low_bank_bits, bank_bits - low_bank_bits),
            low_bank: Bits::new(low_column_bits, low_bank_bits),
            low_bank_bits,
            high_column: Bits::new(low_column_bits + low_bank_bits, column_bits - low_column_bits),
            low_column: Bits::new(0, low_column_bits),
            low_column_bits,
            permuted,
            banks: std::array::from_fn(|number| {
                (group.of(number as u64) << inner_bits | inner.of(number as u64)) as u8
            }),
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
    pub fn place(&self, burst: u64) -> BurstLocation {
        let row = self.row.of(burst);
        let number = (self.high_bank.of(burst) << self.low_bank_bits | self.low_bank.of(burst)) ^ row & self.permuted;
        let column = self.high_column.of(burst) << self.low_column_bits | self.low_column.of(burst);
        BurstLocation { bank: self.banks[number as usize % BANKS], row: row as u32, column: column as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::reference;
    use super::*;
    use std::collections::HashSet;

    fn mapping(layout: AddressMapping, group_bits: GroupBits) -> Mapping {
        Mapping::new(&DramConfig { mapping: layout, group_bits, ..reference() })
    }

    /// Returns the address of the 64-byte burst for a byte address in which only bit `bit` is set.
    fn byte_bit(bit: u32) -> u64 {
        1 << (bit - 6)
    }

    #[test]
    fn every_field_has_the_width_of_what_it_numbers() {
        let mapping = mapping(AddressMapping::RowBankColumn, GroupBits::Low);
        let DramConfig { rows, columns, .. } = reference();
        let widths = [mapping.bank_bits(), mapping.row_bits(), mapping.column_bits()];
        assert_eq!(widths, [reference().banks(), rows, columns].map(u32::ilog2));
    }

    #[test]
    fn the_reference_reads_row_bank_group_and_column_from_contiguous_fields() {
        let mapping = mapping(AddressMapping::RowBankColumn, GroupBits::Low);
        // This request of the reference traces accesses row 900, bank 2 of bank group 3, and column 5.
        assert_eq!(mapping.place(0x0384_b140 >> 6), BurstLocation { bank: 3 * 4 + 2, row: 900, column: 5 });
        assert_eq!(mapping.place(byte_bit(12)).bank, 4);
        assert_eq!(mapping.place(byte_bit(14)).bank, 1);
        assert_eq!(mapping.place(byte_bit(16)).row, 1);
    }

    #[test]
    fn high_group_bits_keep_neighbouring_banks_in_one_group() {
        let mapping = mapping(AddressMapping::RowBankColumn, GroupBits::High);
        assert_eq!(mapping.place(byte_bit(12)).bank, 1);
        assert_eq!(mapping.place(byte_bit(14)).bank, 4);
    }

    #[test]
    fn the_gtx480_takes_its_lowest_bank_bit_from_byte_address_bit_8() {
        let mapping = mapping(AddressMapping::Gtx480, GroupBits::High);
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
        let qv100 = DramConfig { mapping: AddressMapping::Qv100, group_bits: GroupBits::Low, rows: 8192, ..qv100 };
        let place = |byte: u64| Mapping::new(&qv100).place(byte / u64::from(qv100.burst_bytes()));
        assert_eq!(place(1 << 7), BurstLocation { bank: 0, row: 0, column: 4 });
        assert_eq!(place(1 << 8), BurstLocation { bank: 4, row: 0, column: 0 });
        assert_eq!(place(1 << 9), BurstLocation { bank: 0, row: 0, column: 8 });
        assert_eq!([12, 13, 14].map(|bit| place(1 << bit).bank), [8, 1, 2]);
        assert_eq!(place(1 << 15), BurstLocation { bank: 0, row: 1, column: 0 });
        assert_eq!(place(1 << 27), BurstLocation { bank: 0, row: 4096, column: 0 });
    }

    #[test]
    fn a_permuted_bank_is_another_one_in_the_next_row() {
        let mapping = mapping(AddressMapping::PermutedBank, GroupBits::High);
        let banks = [0x0, 0x1_0000, 0x2_0000, 0x11_0000, 0x1_3000].map(|byte| mapping.place(byte >> 6).bank);
        assert_eq!(banks, [0, 1, 2, 1, 2]);
    }

    #[test]
    fn every_burst_has_a_place_of_its_own_and_every_bank_is_used() {
        let small = DramConfig { rows: 4, columns: 8, ..reference() };
        use AddressMapping::{Gtx480, PermutedBank, Qv100, RowBankColumn};
        for layout in [RowBankColumn, Gtx480, Qv100, PermutedBank] {
            for group_bits in [GroupBits::Low, GroupBits::High] {
                let config = DramConfig { mapping: layout, group_bits, ..small.clone() };
                let mapping = Mapping::new(&config);
                let places: HashSet<BurstLocation> = (0..config.bursts()).map(|burst| mapping.place(burst)).collect();
                assert_eq!(places.len() as u64, config.bursts());
                assert!(places.iter().all(|place| place.row < 4 && place.column < 8 && place.bank < 16));
            }
        }
    }
}
