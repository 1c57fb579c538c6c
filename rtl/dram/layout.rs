//! # Layout of a burst address
//! Reads the configuration of an address mapping: which bit of a burst address belongs to the row, the bank,
//! the bank group or the column, and which bits are XORed into the bank.
//!
//! A mapping is a matrix over GF(2): each bit of the row, bank and column is the XOR of some bits of the
//! burst address. Every mapping in the configuration is invertible, so no two bursts have the same location.
//!
//! An example of an XOR is the permutation-based interleaving of Zhang, Zhu and Zhang (*A Permutation-based
//! Page Interleaving Scheme to Reduce Row-buffer Conflicts and Exploit Data Locality*, MICRO 2000): the bank
//! is XORed with low bits of the row, here `bank ^ row` and `group ^ row[2..]` with four banks per group.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::config::DramConfig;
use crate::config::{Rules, Side};

/// Address mapping of a channel: the fields of a burst address, and the bits that are XORed into the bank.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MappingConfig {
    /// List of the fields of a burst address, from its lowest bit upward. Each field is `column`, `bank`,
    /// `group` or `row`, followed by its number of bits, such as `column:2`. A name may occur several times;
    /// its first field then holds the lowest bits, for example those of the row number. One field of each
    /// name may omit the number of bits; it gets all bits that the other fields of this name leave.
    pub fields: Vec<String>,
    /// List of XORs that change bits of the bank number or of the bank-group number.
    /// `bank[0] ^ row[3] ^ column[5]` changes one bit: bit 0 of the bank. `bank ^ row` changes all bits of
    /// the bank: each bit is XORed with the row bit of the same number. `group ^ row[2..]` XORs bit 0 of the
    /// group with bit 2 of the row, bit 1 with bit 3, and so on. `burst[7]` is bit 7 of the burst address.
    /// All bits to the right of the first `^` are bits of the address before any XOR.
    pub xor: Vec<String>,
}

/// Matrix of an address mapping: for each bit of the row, bank and column, a mask of bits of the burst
/// address, whose XOR is that bit. The upper bits of the bank number are the number of the bank group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub row: Vec<u64>,
    pub bank: Vec<u64>,
    pub column: Vec<u64>,
}

/// Name of a field of a burst address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Column,
    Bank,
    Group,
    Row,
}

/// Bits of a field that a term of an XOR selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// All bits of the field from this bit number upward.
    From(usize),
    /// Only the bit with this number.
    Bit(usize),
}

/// Rule that an address mapping violates.
pub(super) struct Fault {
    field: &'static str,
    legal: String,
    why: &'static str,
    /// Field of the channel geometry that could be changed instead of the mapping; `None` if no change would
    /// help.
    other: Option<Side>,
}

/// For each field, the positions of its bits in the burst address. The fields are in the order of
/// [`Name::ALL`].
type Positions = [Vec<usize>; 4];

impl Name {
    const ALL: [Self; 4] = [Self::Column, Self::Bank, Self::Group, Self::Row];

    fn text(self) -> &'static str {
        match self {
            Self::Column => "column",
            Self::Bank => "bank",
            Self::Group => "group",
            Self::Row => "row",
        }
    }

    fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.text() == text)
    }

    /// Returns three properties of the geometry for this field of the address: the configuration key that
    /// gives the number of columns, banks, groups or rows; that number; and the legal range of its base-2
    /// logarithm.
    fn size(self, dram: &DramConfig) -> (&'static str, u32, RangeInclusive<u32>) {
        match self {
            Self::Column => ("columns", dram.columns, 2..=8),
            Self::Bank => ("banks_per_group", dram.banks_per_group, 0..=3),
            Self::Group => ("bank_groups", dram.bank_groups, 0..=3),
            Self::Row => ("rows", dram.rows, 1..=16),
        }
    }
}

impl Fault {
    fn of_fields(legal: impl Into<String>, why: &'static str) -> Box<Self> {
        Box::new(Self { field: "fields", legal: legal.into(), why, other: None })
    }

    fn of_xor(legal: impl Into<String>, why: &'static str) -> Box<Self> {
        Box::new(Self { field: "xor", legal: legal.into(), why, other: None })
    }
}

impl MappingConfig {
    /// Creates a mapping from its fields and XORs.
    #[must_use]
    pub fn new(fields: &[&str], xor: &[&str]) -> Self {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        Self { fields: owned(fields), xor: owned(xor) }
    }

    /// Checks that each field has as many bits as the geometry of the channel requires, and that the mapping
    /// is invertible. The geometry must be legal.
    pub(super) fn validate(&self, dram: &DramConfig, rules: &mut Rules) {
        let Err(fault) = self.layout(dram) else { return };
        let Fault { field, legal, why, other } = *fault;
        let value = if field == "xor" { &self.xor } else { &self.fields };
        let first = Side::new(field, format!("{value:?}"), legal);
        rules.expect_relation(false, [first].into_iter().chain(other), why);
    }

    /// Returns the matrix of the mapping for the geometry of a channel.
    pub(super) fn layout(&self, dram: &DramConfig) -> Result<Layout, Box<Fault>> {
        let positions = self.positions(dram)?;
        let own = |name: Name| positions[name as usize].iter().map(|at| 1 << at);
        let mut hashed: Vec<u64> = own(Name::Bank).chain(own(Name::Group)).collect();
        for text in &self.xor {
            xor(text, &positions, &mut hashed)?;
        }
        if let Some((name, bit, at)) = lost_bit(&positions, &hashed) {
            let legal = format!("an XOR that keeps {}[{bit}], bit {at} of the burst address", name.text());
            return Err(Fault::of_xor(legal, "every burst has a place of its own"));
        }
        Ok(Layout { row: own(Name::Row).collect(), bank: hashed, column: own(Name::Column).collect() })
    }

    /// Returns the position of each bit of each field in the burst address.
    fn positions(&self, dram: &DramConfig) -> Result<Positions, Box<Fault>> {
        let fields = self.fields.iter().map(|text| {
            let (name, count) = text.split_once(':').map_or((text.as_str(), None), |(name, count)| (name, Some(count)));
            let Some(name) = Name::read(name.trim()) else {
                let legal = format!("fields named column, bank, group or row, not {name:?}");
                return Err(Fault::of_fields(legal, "these are the parts of the place of a burst"));
            };
            let Some(count) = count else { return Ok((name, None)) };
            match count.trim().parse() {
                Ok(bits @ 1u32..) => Ok((name, Some(bits))),
                _ => {
                    let legal = format!("a number of bits above 0 in {text:?}");
                    Err(Fault::of_fields(legal, "a field without bits can be omitted"))
                }
            }
        });
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let mut rest = [0; 4];
        for name in Name::ALL {
            rest[name as usize] = self.rest(name, &fields, dram)?;
        }
        let mut positions = Positions::default();
        let mut next = 0;
        for (name, count) in fields {
            let end = next + count.unwrap_or(rest[name as usize]) as usize;
            positions[name as usize].extend(next..end);
            next = end;
        }
        Ok(positions)
    }

    /// Returns the number of bits of the field `name` that is listed without a number: the bits that the
    /// other fields of the same name leave. Returns 0 if there is no such field.
    fn rest(&self, name: Name, fields: &[(Name, Option<u32>)], dram: &DramConfig) -> Result<u32, Box<Fault>> {
        let (key, size, legal_bits) = name.size(dram);
        let text = name.text();
        let of_name = || fields.iter().filter(|(other, _)| *other == name);
        let open = of_name().filter(|(_, count)| count.is_none()).count();
        if open > 1 {
            let legal = format!("at most one {text:?} without a number of bits");
            return Err(Fault::of_fields(legal, "a field without a number has all bits that the others leave"));
        }
        let (is_open, width) = (open == 1, size.trailing_zeros());
        let counted = of_name().filter_map(|(_, count)| *count).fold(0, u32::saturating_add);
        if counted == width || is_open && counted < width {
            return Ok(width - counted);
        }
        let most = if is_open { "at most " } else { "" };
        let legal = format!("{most}{width} bits of {text} with {key} = {size}, not {counted}");
        let other = legal_bits.contains(&counted).then(|| {
            let more = if is_open { " or more" } else { "" };
            let legal = format!("{}{more} with mapping.fields = {:?}", 1 << counted, self.fields);
            Side::new(format!("super.{key}"), size, legal)
        });
        let why = "the fields have every bit of a burst address once";
        Err(Box::new(Fault { field: "fields", legal, why, other }))
    }
}

/// Parses a term of an XOR expression: the name of a field, and the selected bits of the field. The name is
/// `None` if the term selects bits of the burst address.
fn term(text: &str) -> Result<(Option<Name>, Part), Box<Fault>> {
    let read = || {
        let (name, part) = match text.split_once('[') {
            None => (text, Part::From(0)),
            Some((name, bits)) => {
                let bits = bits.strip_suffix(']')?;
                let from = bits.strip_suffix("..").map(|from| Some(Part::From(from.trim().parse().ok()?)));
                (name, from.unwrap_or_else(|| Some(Part::Bit(bits.trim().parse().ok()?)))?)
            }
        };
        let (name, is_burst) = (Name::read(name.trim()), name.trim() == "burst");
        (name.is_some() || is_burst).then_some((name, part))
    };
    read().ok_or_else(|| {
        let legal = format!("terms such as row, row[2..] or row[3] of column, bank, group, row or burst, not {text:?}");
        Fault::of_xor(legal, "a term names bits of the burst address")
    })
}

/// Reads one XOR expression, and adds its source bits to the masks of the target bits of bank and group.
fn xor(text: &str, positions: &Positions, hashed: &mut [u64]) -> Result<(), Box<Fault>> {
    let mut terms = text.split('^').map(str::trim);
    let target = terms.next().unwrap_or_default();
    let (name, part) = term(target)?;
    let banks = positions[Name::Bank as usize].len();
    let (first, width) = match name {
        Some(Name::Bank) => (0, banks),
        Some(Name::Group) => (banks, hashed.len() - banks),
        _ => {
            let legal = format!("bank or group to the left of the first ^, not {target:?}");
            return Err(Fault::of_xor(legal, "the row and the column of a burst are plain bits of its address"));
        }
    };
    let targets = match part {
        Part::From(0) => 0..width,
        Part::Bit(bit) if bit < width => bit..bit + 1,
        Part::From(_) | Part::Bit(_) => {
            let legal = format!("a target of {width} bits or one of them, not {target:?}");
            return Err(Fault::of_xor(legal, "an XOR changes all bits of bank or group, or a single bit"));
        }
    };
    let sources: Vec<_> = terms.collect();
    if sources.is_empty() {
        return Err(Fault::of_xor(format!("a ^ in {text:?}"), "an XOR has at least one source"));
    }
    let address: Vec<usize> = (0..positions.iter().map(Vec::len).sum()).collect();
    for source in sources {
        let (name, of_source) = term(source)?;
        let bits = name.map_or(&address, |name| &positions[name as usize]);
        let start = match (part, of_source) {
            (Part::From(_), Part::From(start)) | (Part::Bit(_), Part::Bit(start)) => start,
            _ => {
                let legal = format!("bits of the same form on both sides of ^ in {text:?}");
                return Err(Fault::of_xor(legal, "single bits change a single bit, and all bits change all bits"));
            }
        };
        let all = bits.len();
        if start.saturating_add(targets.len()) > all {
            let legal = format!("bits below {all} of {source:?} in {text:?}");
            return Err(Fault::of_xor(legal, "it has no more bits"));
        }
        for (target, at) in targets.clone().zip(&bits[start..]) {
            let mask = &mut hashed[first + target];
            if *mask >> at & 1 != 0 {
                let legal = format!("each bit once in an XOR, unlike {source:?} in {text:?}");
                return Err(Fault::of_xor(legal, "a bit XORed with itself is 0"));
            }
            *mask |= 1 << at;
        }
    }
    Ok(())
}

/// If the mapping is not invertible, returns an address bit that cannot be computed from row, bank and
/// column: its field, its number within the field, and its position in the address. Otherwise returns `None`.
/// Row and column are plain bits of the address, so Gaussian elimination over GF(2) is needed only for the
/// address bits of bank and group.
fn lost_bit(positions: &Positions, hashed: &[u64]) -> Option<(Name, usize, usize)> {
    let mut rows = hashed.to_vec();
    let bits = [Name::Bank, Name::Group]
        .into_iter()
        .flat_map(|name| positions[name as usize].iter().enumerate().map(move |(number, &at)| (name, number, at)));
    for (name, number, at) in bits {
        let Some(pivot) = rows.iter().position(|row| row >> at & 1 != 0) else { return Some((name, number, at)) };
        let pivot = rows.swap_remove(pivot);
        for row in rows.iter_mut().filter(|row| **row >> at & 1 != 0) {
            *row ^= pivot;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::config::reference;
    use super::*;

    /// Returns the rules that the reference channel violates with the given fields and XORs. Its bank and
    /// group numbers have 2 bits each, its column has 6 bits, and its row has 12 bits.
    fn refused(fields: &[&str], xor: &[&str]) -> Vec<String> {
        let mut rules = Rules::default();
        let config = DramConfig { mapping: MappingConfig::new(fields, xor), ..reference() };
        rules.group("dram", |rules| config.validate(rules));
        rules.into_violations().iter().map(ToString::to_string).collect()
    }

    const PLAIN: [&str; 4] = ["column", "group", "bank", "row"];

    fn refused_fields(fields: &[&str], message: &str) {
        assert_eq!(refused(fields, &[]), [format!("dram.mapping.fields is {fields:?}, expected {message}")]);
    }

    fn refused_xor(xor: &[&str], message: &str) {
        assert_eq!(refused(&PLAIN, xor), [format!("dram.mapping.xor is {xor:?}, expected {message}")]);
    }

    #[test]
    fn fields_that_are_not_the_bits_of_the_geometry_are_refused() {
        let once = "the fields have every bit of a burst address once";
        refused_fields(&["column", "bank", "row"], &format!("2 bits of group with bank_groups = 4, not 0: {once}"));
        let seven = ["column:7", "group", "bank", "row"];
        refused_fields(&seven, &format!("6 bits of column with columns = 64, not 7: {once}"));
        let three = ["column", "bank:1", "group", "bank:2", "bank", "row"];
        refused_fields(&three, &format!("at most 2 bits of bank with banks_per_group = 4, not 3: {once}"));
        let most = ["column", "bank:4294967295", "group", "bank:2", "row"];
        refused_fields(&most, &format!("2 bits of bank with banks_per_group = 4, not 4294967295: {once}"));
        let lanes = ["lane", "column", "group", "bank", "row"];
        let parts =
            "fields named column, bank, group or row, not \"lane\": these are the parts of the place of a burst";
        refused_fields(&lanes, parts);
        for count in ["0", "x", "-1", ""] {
            let field = format!("column:{count}");
            let fields = [&field, "column", "group", "bank", "row"];
            let message = format!("a number of bits above 0 in {field:?}: a field without bits can be omitted");
            refused_fields(&fields, &message);
        }
        let two = ["column", "group", "column", "bank", "row"];
        let rest = "at most one \"column\" without a number of bits: a field without a number has all bits that the \
                    others leave";
        refused_fields(&two, rest);
    }

    #[test]
    fn an_xor_that_is_no_xor_of_address_bits_is_refused() {
        let bits = "a term names bits of the burst address";
        for wrong in ["rows", "row[", "row[x]", "row[..]", "row[1..3]", ""] {
            let terms = "terms such as row, row[2..] or row[3] of column, bank, group, row or burst, not";
            refused_xor(&[&format!("bank ^ {wrong}")], &format!("{terms} {wrong:?}: {bits}"));
        }
        let plain = "the row and the column of a burst are plain bits of its address";
        refused_xor(&["row ^ bank"], &format!("bank or group to the left of the first ^, not \"row\": {plain}"));
        let single = "single bits change a single bit, and all bits change all bits";
        let text = "bank ^ row[2]";
        refused_xor(&[text], &format!("bits of the same form on both sides of ^ in {text:?}: {single}"));
        let text = "bank[1] ^ row";
        refused_xor(&[text], &format!("bits of the same form on both sides of ^ in {text:?}: {single}"));
        let one = "an XOR changes all bits of bank or group, or a single bit";
        refused_xor(&["bank[2] ^ row[0]"], &format!("a target of 2 bits or one of them, not \"bank[2]\": {one}"));
        let text = "bank[1] ^ row[12]";
        refused_xor(&[text], &format!("bits below 12 of \"row[12]\" in {text:?}: it has no more bits"));
        let text = "bank ^ row[18446744073709551615..]";
        refused_xor(
            &[text],
            &format!("bits below 12 of \"row[18446744073709551615..]\" in {text:?}: it has no more bits"),
        );
        let text = "group ^ row[11..]";
        refused_xor(&[text], &format!("bits below 12 of \"row[11..]\" in {text:?}: it has no more bits"));
        refused_xor(&["bank"], "a ^ in \"bank\": an XOR has at least one source");
        let text = "bank[0] ^ row[3] ^ row[3]";
        refused_xor(
            &[text],
            &format!("each bit once in an XOR, unlike \"row[3]\" in {text:?}: a bit XORed with itself is 0"),
        );
        let text = "bank ^ bank";
        refused_xor(
            &[text],
            &format!("each bit once in an XOR, unlike \"bank\" in {text:?}: a bit XORed with itself is 0"),
        );
    }

    #[test]
    fn an_xor_that_loses_a_bit_is_refused_with_the_bit() {
        let own = "every burst has a place of its own";
        let keeps = |bit: &str, at: u32| format!("an XOR that keeps {bit}, bit {at} of the burst address: {own}");
        refused_xor(&["bank[0] ^ bank[1]", "bank[1] ^ bank[0]"], &keeps("bank[1]", 9));
        refused_xor(&["bank ^ group", "group ^ burst[8..]"], &keeps("group[0]", 6));
        assert_eq!(refused(&PLAIN, &["bank[0] ^ bank[1]", "group ^ bank"]), [""; 0]);
    }

    #[test]
    fn a_geometry_that_does_not_go_with_the_fields_is_blamed_if_it_was_given_last() {
        let mapping = MappingConfig::new(&["column:3", "group:1", "column", "group", "bank", "row"], &[]);
        let mut rules = Rules::default();
        DramConfig { mapping, bank_groups: 1, ..reference() }.validate(&mut rules);
        let blamed = rules.into_violations().remove(0).blaming(|path| path == "bank_groups").to_string();
        let fields = "[\"column:3\", \"group:1\", \"column\", \"group\", \"bank\", \"row\"]";
        let legal = format!("2 or more with mapping.fields = {fields}");
        let why = "the fields have every bit of a burst address once";
        assert_eq!(blamed, format!("bank_groups is 1, expected {legal}: {why}"));
    }
}
