//! # Address mapping
//! Splits a burst address into row, bank and column, by bit fields alone. Which channel a byte
//! belongs to is decided before: channels that are no power of two need a division.

use super::config::{AddressMapping, DramConfig, GroupBits};

/// Where a burst lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// Bank of the channel: group times banks per group, plus the bank in its group.
    pub bank: u8,
    /// Row of the bank.
    pub row: u32,
    /// Burst of the row.
    pub column: u32,
}

/// Column bits below the lowest bank bit of [`AddressMapping::Gtx480`]: 256 bytes on a 64-bit bus.
const LOW_COLUMN_BITS: u32 = 2;

/// The bit fields of a burst address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    layout: AddressMapping,
    group_at: GroupBits,
    group_bits: u32,
    inner_bits: u32,
    column_bits: u32,
    row_bits: u32,
}

fn low(value: u64, bits: u32) -> u64 {
    value & ((1 << bits) - 1)
}

impl Mapping {
    /// The fields of a legal configuration.
    #[must_use]
    pub fn new(config: &DramConfig) -> Self {
        Self {
            layout: config.mapping,
            group_at: config.group_bits,
            group_bits: config.bank_groups.trailing_zeros(),
            inner_bits: config.banks_per_group.trailing_zeros(),
            column_bits: config.columns.trailing_zeros(),
            row_bits: config.rows.trailing_zeros(),
        }
    }

    /// Bits of a bank's place in [`Place::bank`].
    #[must_use]
    pub fn bank_bits(&self) -> u32 {
        self.group_bits + self.inner_bits
    }

    /// Bits of a column.
    #[must_use]
    pub fn column_bits(&self) -> u32 {
        self.column_bits
    }

    /// Bits of a row.
    #[must_use]
    pub fn row_bits(&self) -> u32 {
        self.row_bits
    }

    /// Where a burst lies.
    #[must_use]
    pub fn place(&self, burst: u64) -> Place {
        let bank_bits = self.bank_bits();
        let (column, number) = match self.layout {
            AddressMapping::RowBankColumn => (low(burst, self.column_bits), low(burst >> self.column_bits, bank_bits)),
            AddressMapping::Gtx480 => {
                let above = burst >> (LOW_COLUMN_BITS + 1);
                let high_column_bits = self.column_bits - LOW_COLUMN_BITS;
                let column = low(above, high_column_bits) << LOW_COLUMN_BITS | low(burst, LOW_COLUMN_BITS);
                let number = low(above >> high_column_bits, bank_bits - 1) << 1 | low(burst >> LOW_COLUMN_BITS, 1);
                (column, number)
            }
        };
        let bank = match self.group_at {
            GroupBits::High => number,
            GroupBits::Low => low(number, self.group_bits) << self.inner_bits | number >> self.group_bits,
        };
        let row = low(burst >> (self.column_bits + bank_bits), self.row_bits);
        Place { bank: bank as u8, row: row as u32, column: column as u32 }
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

    /// Byte address of one bit, as a burst address.
    fn byte_bit(bit: u32) -> u64 {
        1 << (bit - 6)
    }

    #[test]
    fn the_reference_reads_row_bank_group_and_column_from_contiguous_fields() {
        let mapping = mapping(AddressMapping::RowBankColumn, GroupBits::Low);
        // A request of the reference traces: row 900, bank 2 of group 3, column 5.
        assert_eq!(mapping.place(0x0384_b140 >> 6), Place { bank: 3 * 4 + 2, row: 900, column: 5 });
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
        assert_eq!(mapping.place(byte_bit(8)), Place { bank: 1, row: 0, column: 0 });
        assert_eq!(mapping.place(byte_bit(7)), Place { bank: 0, row: 0, column: 2 });
        assert_eq!(mapping.place(byte_bit(9)), Place { bank: 0, row: 0, column: 4 });
        assert_eq!(mapping.place(byte_bit(12)), Place { bank: 0, row: 0, column: 32 });
        assert_eq!(mapping.place(byte_bit(13)), Place { bank: 2, row: 0, column: 0 });
        assert_eq!(mapping.place(byte_bit(15)), Place { bank: 8, row: 0, column: 0 });
        assert_eq!(mapping.place(byte_bit(27)), Place { bank: 0, row: 2048, column: 0 });
    }

    #[test]
    fn every_burst_has_a_place_of_its_own_and_every_bank_is_used() {
        let small = DramConfig { rows: 4, columns: 8, ..reference() };
        for layout in [AddressMapping::RowBankColumn, AddressMapping::Gtx480] {
            for group_bits in [GroupBits::Low, GroupBits::High] {
                let config = DramConfig { mapping: layout, group_bits, ..small.clone() };
                let mapping = Mapping::new(&config);
                let places: HashSet<Place> = (0..config.bursts()).map(|burst| mapping.place(burst)).collect();
                assert_eq!(places.len() as u64, config.bursts());
                assert!(places.iter().all(|place| place.row < 4 && place.column < 8 && place.bank < 16));
            }
        }
    }
}
