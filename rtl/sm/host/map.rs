//! Address map of a kernel: the named, sorted, disjoint ranges of device memory that it may access.

use std::fmt;
use std::ops::Range;

use thiserror::Error;

/// Buffer in device memory: a range of addresses with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRange {
    /// Name of the buffer in messages.
    pub name: String,
    /// Address of the first byte.
    pub start: u64,
    /// Size in bytes, at least 1.
    pub bytes: u64,
}

impl NamedRange {
    /// Returns the address after the last byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start + self.bytes
    }
}

impl fmt::Display for NamedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`, {:#x} to {:#x}", self.name, self.start, self.end() - 1)
    }
}

/// Reason for which address ranges do not form an address map.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MapError {
    /// A range is empty or extends beyond the 64-bit address space.
    #[error("buffer `{name}` has {bytes} bytes at {start:#x}, expected at least 1 byte below 2^64")]
    Size {
        /// Name of the buffer.
        name: String,
        /// Address of the first byte.
        start: u64,
        /// Size of the range in bytes.
        bytes: u64,
    },
    /// Two ranges overlap.
    #[error("buffers {first} and {second} overlap")]
    Overlap {
        /// Range with the lower start address.
        first: NamedRange,
        /// Range with the higher start address.
        second: NamedRange,
    },
}

/// Address map of a kernel: its mapped ranges, sorted by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressMap {
    ranges: Vec<NamedRange>,
    /// Byte ranges that kernels may only read.
    read_only: Vec<Range<u64>>,
}

impl AddressMap {
    /// Creates an address map of the given ranges, which may be in any order.
    ///
    /// # Errors
    /// Returns an error if a range is empty or too large, or two ranges overlap.
    pub fn new(mut ranges: Vec<NamedRange>) -> Result<Self, MapError> {
        for NamedRange { name, start, bytes } in &ranges {
            if *bytes == 0 || start.checked_add(*bytes).is_none() {
                return Err(MapError::Size { name: name.clone(), start: *start, bytes: *bytes });
            }
        }
        ranges.sort_by_key(|range| range.start);
        if let Some(pair) = ranges.windows(2).find(|pair| pair[0].end() > pair[1].start) {
            return Err(MapError::Overlap { first: pair[0].clone(), second: pair[1].clone() });
        }
        Ok(Self { ranges, read_only: Vec::new() })
    }

    /// Returns the map with `read_only` as the byte ranges that kernels may only read, such as constants.
    #[must_use]
    pub fn with_read_only(self, read_only: Vec<Range<u64>>) -> Self {
        Self { read_only, ..self }
    }

    /// True if an access includes a byte that kernels may only read.
    #[inline]
    #[must_use]
    pub fn is_read_only(&self, address: u64, bytes: u32) -> bool {
        let end = address.saturating_add(bytes.into());
        self.read_only.iter().any(|range| range.start < end && address < range.end)
    }

    /// True if kernels may write to every mapped byte.
    #[inline]
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.read_only.is_empty()
    }

    /// Returns the mapped ranges in ascending order of their addresses.
    #[must_use]
    pub fn ranges(&self) -> &[NamedRange] {
        &self.ranges
    }

    /// Returns the mapped range that contains `address`; `None` if there is none.
    #[must_use]
    pub fn range_of(&self, address: u64) -> Option<&NamedRange> {
        let above = self.ranges.partition_point(|range| range.start <= address);
        self.ranges[..above].last().filter(|range| address < range.end())
    }

    /// True if the `bytes` bytes from `address` on lie in one mapped range.
    #[must_use]
    pub fn holds(&self, address: u64, bytes: u32) -> bool {
        self.range_of(address).is_some_and(|range| u64::from(bytes) <= range.end() - address)
    }

    /// Returns the mapped range closest to `address`; if two ranges are equally close, the one with the lower
    /// address.
    #[must_use]
    pub fn nearest(&self, address: u64) -> Option<&NamedRange> {
        self.ranges.iter().min_by_key(|range| {
            if address < range.start { range.start - address } else { address.saturating_sub(range.end() - 1) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(name: &str, start: u64, bytes: u64) -> NamedRange {
        NamedRange { name: name.to_owned(), start, bytes }
    }

    #[test]
    fn an_access_must_lie_inside_one_range_to_its_last_byte() {
        let map = AddressMap::new(vec![range("b", 0x2000, 16), range("a", 0x1000, 16)]).unwrap();
        assert!(map.holds(0x1000, 16) && map.holds(0x200c, 4));
        assert!(!map.holds(0x100d, 4) && !map.holds(0x0fff, 1) && !map.holds(0x2010, 1));
    }

    #[test]
    fn the_nearest_range_is_found_below_between_and_above() {
        let map = AddressMap::new(vec![range("a", 0x1000, 16), range("b", 0x2000, 16)]).unwrap();
        let name = |address| map.nearest(address).unwrap().name.as_str();
        assert_eq!([name(0), name(0x1010), name(0x1f00), name(0x9000)], ["a", "a", "b", "b"]);
        // The ranges are three bytes apart. The middle byte is equally far from both ranges, so the range
        // with the lower addresses is expected.
        let close = AddressMap::new(vec![range("a", 0x1000, 16), range("b", 0x1013, 16)]).unwrap();
        let name = |address| close.nearest(address).unwrap().name.as_str();
        assert_eq!([name(0x1010), name(0x1011), name(0x1012)], ["a", "a", "b"]);
    }

    #[test]
    fn overlapping_buffers_are_refused_by_name_and_bounds() {
        let error = AddressMap::new(vec![range("a", 0x1000, 17), range("b", 0x1010, 16)]).unwrap_err();
        assert_eq!(error.to_string(), "buffers `a`, 0x1000 to 0x1010 and `b`, 0x1010 to 0x101f overlap");
    }

    #[test]
    fn a_range_without_bytes_or_beyond_the_last_address_is_refused() {
        let error = |start, bytes| AddressMap::new(vec![range("a", start, bytes)]).unwrap_err().to_string();
        assert_eq!(error(0x1000, 0), "buffer `a` has 0 bytes at 0x1000, expected at least 1 byte below 2^64");
        assert_eq!(
            error(u64::MAX, 2),
            "buffer `a` has 2 bytes at 0xffffffffffffffff, expected at least 1 byte below 2^64"
        );
    }
}
