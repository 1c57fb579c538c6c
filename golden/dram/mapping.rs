//! # Where an address lies
//! A layout names the fields of an address from its lowest bit upwards; each bit of the address is
//! dealt to a field in turn.

use super::command::BankId;

/// Sizes of a channel, all powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes that one column command moves.
    pub burst_bytes: u32,
    /// Bursts in a row.
    pub columns: u32,
    /// Rows of a bank.
    pub rows: u32,
    /// Bank groups.
    pub groups: u32,
    /// Banks in each group.
    pub banks_per_group: u32,
}

impl Geometry {
    /// Two 1 Gb devices of 32 bits side by side.
    pub const USED_HERE: Geometry =
        Geometry { burst_bytes: 64, columns: 64, rows: 4096, groups: 4, banks_per_group: 4 };
}

/// Order of the fields of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Row above bank above column.
    RowBankColumn,
    /// The lowest bank bit above two column bits, the others as in `RowBankColumn`: GPGPU-Sim's
    /// GTX 480.
    Gtx480,
    /// The lowest bank bit above three column bits: Accel-Sim's QV100.
    Qv100,
    /// As `RowBankColumn`, the bank number exclusive-or'ed with the low bits of the row.
    PermutedBank,
}

/// Fields of an address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Row,
    Bank,
    Column,
}

/// Which address bits select what, each list from the lowest bit upwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    row: Vec<u32>,
    bank: Vec<u32>,
    column: Vec<u32>,
    geometry: Geometry,
    /// The low bits of a bank number name its group; else the high ones.
    low_groups: bool,
    permuted: bool,
}

/// One burst of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Its bank.
    pub bank: BankId,
    /// Its row.
    pub row: u32,
    /// Its number within the row.
    pub col: u32,
}

impl Mapping {
    /// Deals out the bits.
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

    /// The reference streams: bank groups change before banks, banks before rows.
    pub fn used_here() -> Mapping {
        Mapping::new(Layout::RowBankColumn, Geometry::USED_HERE, true)
    }

    /// Where a byte address lies.
    pub fn place(&self, address: u64) -> Place {
        let gather = |bits: &[u32]| bits.iter().rev().fold(0, |value, bit| value << 1 | (address >> bit & 1) as u32);
        let Geometry { groups, banks_per_group, .. } = self.geometry;
        let row = gather(&self.row);
        let number = gather(&self.bank) ^ if self.permuted { row % (groups * banks_per_group) } else { 0 };
        let bank = if self.low_groups {
            BankId { group: number % groups, bank: number / groups }
        } else {
            BankId { group: number / banks_per_group, bank: number % banks_per_group }
        };
        Place { bank, row, col: gather(&self.column) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_apart_into_row_bank_group_and_column() {
        let bank = BankId { group: 2, bank: 1 };
        assert_eq!(Mapping::used_here().place(0x5_6040), Place { bank, row: 5, col: 1 });
    }

    #[test]
    fn the_gtx480_changes_banks_every_256_bytes() {
        let mapping = Mapping::new(Layout::Gtx480, Geometry::USED_HERE, false);
        let banks = [0x000, 0x0ff, 0x100, 0x200, 0x300].map(|address| mapping.place(address).bank.bank);
        assert_eq!(banks, [0, 0, 1, 0, 1]);
        assert_eq!(mapping.place(0x2c0).col, 7);
    }

    #[test]
    fn the_qv100_changes_banks_every_256_bytes_of_32_byte_bursts() {
        let geometry = Geometry { burst_bytes: 32, rows: 8192, ..Geometry::USED_HERE };
        let mapping = Mapping::new(Layout::Qv100, geometry, true);
        let groups = [0x000, 0x0ff, 0x100, 0x200, 0x300].map(|address| mapping.place(address).bank.group);
        assert_eq!(groups, [0, 0, 1, 0, 1]);
        let place = |address| (mapping.place(address).row, mapping.place(address).col);
        assert_eq!([0xe0, 0x2e0, 0x8000].map(place), [(0, 7), (0, 15), (1, 0)]);
    }

    #[test]
    fn a_permuted_bank_changes_with_every_row() {
        let mapping = Mapping::new(Layout::PermutedBank, Geometry::USED_HERE, false);
        let number = |address| mapping.place(address).bank.group * 4 + mapping.place(address).bank.bank;
        assert_eq!([0x0, 0x1_0000, 0x2_0000, 0x11_0000].map(number), [0, 1, 2, 1]);
        assert_eq!([0x3000, 0x1_3000].map(number), [3, 2]);
        assert_eq!(mapping.place(0x1_3000).row, 1);
    }
}
