//! # DRAM address mapping
//! Maps a byte address to a bank, row and column of a channel. Each bit of the bank, row and column numbers
//! is the parity (XOR) of certain address bits. These bits follow from two lists. The first names the fields
//! of an address, from its lowest bit upward. The second contains XORs such as `bank[0] ^ row[3]`, which
//! Zhang, Zhu and Zhang (MICRO 2000) propose for the bank.

use std::collections::BTreeMap;
use std::ops::Range;

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

/// DRAM address mapping. Maps the name of each field of an address, such as `bank`, to the bits of that
/// field, lowest bit first. Each bit is given by a list of address bits, and its value is their parity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    parts: BTreeMap<String, Vec<Vec<u32>>>,
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
    /// Creates an address mapping. `fields` names the fields of an address, lowest field first, each with an
    /// optional number of bits (`column:2`). Each element of `xor`, such as `bank ^ row`, replaces the field
    /// named first by its XOR with the other operands.
    ///
    /// # Panics
    /// Panics if a text is neither a field nor an XOR.
    pub fn new<T: AsRef<str>>(fields: &[T], xor: &[T], geometry: Geometry) -> Mapping {
        let Geometry { burst_bytes, columns, rows, groups, banks_per_group } = geometry;
        let sizes = [("column", columns), ("row", rows), ("group", groups), ("bank", banks_per_group)];
        let mut left: BTreeMap<&str, u32> = sizes.map(|(name, size)| (name, size.ilog2())).into();
        let fields: Vec<(&str, Option<u32>)> = fields.iter().map(|field| read_field(field.as_ref())).collect();
        for (name, count) in &fields {
            if let (Some(left), Some(count)) = (left.get_mut(name), count) {
                *left = left.saturating_sub(*count);
            }
        }
        let named = |(name, count): (_, Option<u32>)| {
            let count = count.unwrap_or_else(|| left.get(name).copied().unwrap_or(0));
            (0..count).map(move |_| name)
        };
        let mut parts: BTreeMap<String, Vec<Vec<u32>>> = sizes.map(|(name, _)| (name.to_owned(), Vec::new())).into();
        for (bit, name) in (burst_bytes.ilog2()..).zip(fields.into_iter().flat_map(named)) {
            for part in [name, "burst"] {
                parts.entry(part.to_owned()).or_default().push(vec![bit]);
            }
        }
        // The operands of an XOR are bits of the address itself, not results of other XORs.
        let plain = parts.clone();
        for text in xor {
            let terms: Vec<(&str, Range<usize>)> =
                text.as_ref().split('^').map(|term| read_term(term.trim(), &plain)).collect();
            let Some(((name, bits), sources)) = terms.split_first() else { continue };
            let target = parts.entry((*name).to_owned()).or_default();
            for (nth, bit) in bits.clone().enumerate() {
                target[bit].extend(sources.iter().flat_map(|(name, bits)| &plain[*name][bits.start + nth]));
            }
        }
        Mapping { parts }
    }

    /// Returns the address mapping of the reference command streams. As addresses increase, the bank group
    /// changes faster than the bank, and the bank faster than the row.
    pub fn reference() -> Mapping {
        Mapping::new(&["column", "group", "bank", "row"], &[], Geometry::REFERENCE)
    }

    /// Returns the bank, row and column of a byte address.
    pub fn place(&self, address: u64) -> BurstLocation {
        let parity = |bits: &Vec<u32>| bits.iter().fold(0, |parity, bit| parity ^ (address >> bit & 1) as u32);
        let number = |part: &str| self.parts[part].iter().rev().fold(0, |value, bits| value << 1 | parity(bits));
        let bank = BankId { group: number("group"), bank: number("bank") };
        BurstLocation { bank, row: number("row"), col: number("column") }
    }
}

/// Returns the name of a field, and its number of bits if the text specifies it.
fn read_field(text: &str) -> (&str, Option<u32>) {
    let mut words = text.split(':').map(str::trim);
    let name = words.next().unwrap_or_default();
    let count = words.next().map(|count| count.parse().unwrap_or_else(|_| panic!("{text:?} has no number of bits")));
    (name, count)
}

/// Parses an operand of an XOR. Returns the name of its field and its range of bits: all bits (`row`), the
/// bits from a given one upward (`row[2..]`), or one bit (`row[3]`).
fn read_term<'a>(text: &'a str, parts: &BTreeMap<String, Vec<Vec<u32>>>) -> (&'a str, Range<usize>) {
    let words: Vec<&str> = text.split(['[', ']']).map(str::trim).collect();
    let all = parts.get(words[0]).map_or(0, Vec::len);
    let number = |digits: &str| digits.trim().parse().unwrap_or_else(|_| panic!("{text:?} has no number of a bit"));
    let bits = match words.get(1) {
        None => 0..all,
        Some(bits) => match bits.split_once("..") {
            Some((first, _)) => number(first)..all,
            None => number(bits)..number(bits) + 1,
        },
    };
    (words[0], bits)
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
        let mapping = Mapping::new(&["column:2", "bank:1", "column", "bank", "group", "row"], &[], Geometry::REFERENCE);
        let banks = [0x000, 0x0ff, 0x100, 0x200, 0x300].map(|address| mapping.place(address).bank.bank);
        assert_eq!(banks, [0, 0, 1, 0, 1]);
        assert_eq!(mapping.place(0x2c0).col, 7);
    }

    #[test]
    fn the_qv100_changes_banks_every_256_bytes_of_32_byte_bursts() {
        let geometry = Geometry { burst_bytes: 32, rows: 8192, ..Geometry::REFERENCE };
        let mapping = Mapping::new(&["column:3", "group:1", "column", "group", "bank", "row"], &[], geometry);
        let groups = [0x000, 0x0ff, 0x100, 0x200, 0x300].map(|address| mapping.place(address).bank.group);
        assert_eq!(groups, [0, 0, 1, 0, 1]);
        let place = |address| (mapping.place(address).row, mapping.place(address).col);
        assert_eq!([0xe0, 0x2e0, 0x8000].map(place), [(0, 7), (0, 15), (1, 0)]);
    }

    #[test]
    fn a_permuted_bank_changes_with_every_row() {
        let (fields, xor) = (["column", "bank", "group", "row"], ["bank ^ row", "group ^ row[2..]"]);
        let mapping = Mapping::new(&fields, &xor, Geometry::REFERENCE);
        let number = |address| mapping.place(address).bank.group * 4 + mapping.place(address).bank.bank;
        assert_eq!([0x0, 0x1_0000, 0x2_0000, 0x11_0000].map(number), [0, 1, 2, 1]);
        assert_eq!([0x3000, 0x1_3000].map(number), [3, 2]);
        assert_eq!(mapping.place(0x1_3000).row, 1);
    }
    #[test]
    fn an_xor_reads_the_bits_of_the_address_and_not_those_of_another_xor() {
        let xor = ["bank[0] ^ row[1]", "group[1] ^ bank[0] ^ column[5] ^ burst[9]"];
        let mapping = Mapping::new(&["column", "bank", "group", "row"], &xor, Geometry::REFERENCE);
        let bank = |address| (mapping.place(address).bank.group, mapping.place(address).bank.bank);
        assert_eq!([0x1000, 0x2_0000, 0x800, 0x8000].map(bank), [(2, 1), (0, 1), (2, 0), (0, 0)]);
    }
}
