//! # DRAM address mapping
//! Maps a byte address to the bank, row and column of a channel. A layout lists the fields of an address from
//! its lowest bit upward; each address bit belongs to one field.

use super::command::BankId;

/// Geometry of a DRAM channel; all sizes are powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Number of bytes that one column command transfers.
    pub burst_bytes: u32,
    /// Number of bursts (columns) per DRAM row.
    pub columns: u32,
    /// Number of rows per bank.
    pub rows: u32,
    /// Number of bank groups per channel.
    pub groups: u32,
    /// Number of banks per bank group.
    pub banks_per_group: u32,
}

impl Geometry {
    /// Geometry of a channel of two 1 Gbit x32 DRAM devices that operate in parallel.
    pub const REFERENCE: Geometry =
        Geometry { burst_bytes: 64, columns: 64, rows: 4096, groups: 4, banks_per_group: 4 };
}

/// Order of the fields row, bank and column in an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Fields from high to low address bits: row, bank, column.
    RowBankColumn,
    /// Like `RowBankColumn`, except that the lowest bank bit lies above the lowest two column bits. GPGPU-Sim
    /// uses this layout for the GTX 480.
    Gtx480,
    /// Like `RowBankColumn`, except that the lowest bank bit lies above the lowest three column bits. In
    /// Accel-Sim, the QV100 has this layout.
    Qv100,
    /// Like `RowBankColumn`, except that the bank number is XORed with the low bits of the row number.
    PermutedBank,
}

/// Field of a DRAM address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Row,
    Bank,
    Column,
}

/// DRAM address mapping: for each field, the numbers of its address bits from the lowest bit upward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    row: Vec<u32>,
    bank: Vec<u32>,
    column: Vec<u32>,
    geometry: Geometry,
    /// True if the low bits of the bank number select the bank group; false if its high bits do.
    low_groups: bool,
    permuted: bool,
}

/// Location of one burst in a DRAM channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BurstLocation {
    /// Bank that contains the burst.
    pub bank: BankId,
    /// Number of the row that contains the burst.
    pub row: u32,
    /// Number of the burst within its row.
    pub col: u32,
}

impl Mapping {
    /// Creates an address mapping from a layout and a geometry. If `low_groups` is true, the low bits of the
    /// bank number select the bank group.
    pub fn new(layout: Layout, geometry: Geometry, low_groups: bool) -> Mapping {
        use Field::{Bank, Column, Row};
        let columns = geometry.columns.ilog2();
        let banks = (geometry.groups * geometry.banks_per_group).ilog2();
        let rows = geometry.rows.ilog2();
        let fields: &[(Field, u32)] = match layout {
            Layout::RowBankColumn | Layout::PermutedBank => &[(Column, columns), (Bank, banks), (Row, rows)],
            Layout::Qv100 => &[(Column, 3), (Bank, 1), (Column, columns - 3), (Bank, banks - 1), (Row, rows)],
            Layout::Gtx480 => &[(Column, 2), (Bank, 1), (Column, columns - 2), (Bank, banks - 1), (Row, rows)],
        };
        let dealt = fields.iter().flat_map(|&(field, count)| (0..count).map(move |_| field));
        let bits: Vec<(u32, Field)> = (geometry.burst_bytes.ilog2()..).zip(dealt).collect();
        let of = |wanted| bits.iter().filter(|(_, field)| *field == wanted).map(|(bit, _)| *bit).collect();
        Mapping {
            row: of(Row),
            bank: of(Bank),
            column: of(Column),
            geometry,
            low_groups,
            permuted: layout == Layout::PermutedBank,
        }
    }

    /// Returns the address mapping of the reference command streams. As addresses increase, the bank group
    /// changes faster than the bank, and the bank faster than the row.
    pub fn reference() -> Mapping {
        Mapping::new(Layout::RowBankColumn, Geometry::REFERENCE, true)
    }

    /// Returns the bank, row and column of a byte address.
    pub fn place(&self, address: u64) -> BurstLocation {
        let gather = |bits: &[u32]| bits.iter().rev().fold(0, |value, bit| value << 1 | (address >> bit & 1) as u32);
        let Geometry { groups, banks_per_group, .. } = self.geometry;
        let row = gather(&self.row);
        let number = gather(&self.bank) ^ if self.permuted { row % (groups * banks_per_group) } else { 0 };
        let bank = if self.low_groups {
            BankId { group: number % groups, bank: number / groups }
        } else {
            BankId { group: number / banks_per_group, bank: number % banks_per_group }
        };
        BurstLocation { bank, row, col: gather(&self.column) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_apart_into_row_bank_group_and_column() {
        let bank = BankId { group: 2, bank: 1 };
        assert_eq!(Mapping::reference().place(0x5_6040), BurstLocation { bank, row: 5, col: 1 });
    }

    #[test]
    fn the_gtx480_changes_banks_every_256_bytes() {
        let mapping = Mapping::new(Layout::Gtx480, Geometry::REFERENCE, false);
        let banks = [0x000, 0x0ff, 0x100, 0x200, 0x300].map(|address| mapping.place(address).bank.bank);
        assert_eq!(banks, [0, 0, 1, 0, 1]);
        assert_eq!(mapping.place(0x2c0).col, 7);
    }

    #[test]
    fn the_qv100_changes_banks_every_256_bytes_of_32_byte_bursts() {
        let geometry = Geometry { burst_bytes: 32, rows: 8192, ..Geometry::REFERENCE };
        let mapping = Mapping::new(Layout::Qv100, geometry, true);
        let groups = [0x000, 0x0ff, 0x100, 0x200, 0x300].map(|address| mapping.place(address).bank.group);
        assert_eq!(groups, [0, 0, 1, 0, 1]);
        let place = |address| (mapping.place(address).row, mapping.place(address).col);
        assert_eq!([0xe0, 0x2e0, 0x8000].map(place), [(0, 7), (0, 15), (1, 0)]);
    }

    #[test]
    fn a_permuted_bank_changes_with_every_row() {
        let mapping = Mapping::new(Layout::PermutedBank, Geometry::REFERENCE, false);
        let number = |address| mapping.place(address).bank.group * 4 + mapping.place(address).bank.bank;
        assert_eq!([0x0, 0x1_0000, 0x2_0000, 0x11_0000].map(number), [0, 1, 2, 1]);
        assert_eq!([0x3000, 0x1_3000].map(number), [3, 2]);
        assert_eq!(mapping.place(0x1_3000).row, 1);
    }
}
