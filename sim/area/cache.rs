//! # Caches
//! Estimates the cost of a cache from its data array, its tag array and the bounding box around both. Also
//! holds a table of published caches for comparison.

use serde::Deserialize;

use crate::data::Technology;
use crate::memory::{Cost, Kind, Memory, Node, Ports};
use crate::sram::BYTE;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CacheData {
    pub source: String,
    bounding_box: f64,
}

/// Cache that reads one line per access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Data capacity over all banks in bytes.
    pub bytes: u32,
    /// Line size in bytes.
    pub line: u32,
    /// Number of lines in a set.
    pub ways: u32,
    /// Number of banks in the cache.
    pub banks: u32,
    /// Number of ports of the data array. The tag array has the same number.
    pub ports: Ports,
    /// Width of an address in bits.
    pub addr_bits: u32,
    /// Number of bits in a tag entry besides the tag itself.
    pub state_bits: u32,
}

impl Cache {
    /// Returns the data array of the cache. A word of the array is a line.
    #[must_use]
    pub fn data(&self) -> Memory {
        let Self { bytes, line, banks, ports, .. } = *self;
        Memory { kind: Kind::Sram, entries: bytes / line / banks, width: line * BYTE as u32, ports, banks }
    }

    /// Returns the tag array of the cache. A word of the array holds the tag entries of a whole set.
    #[must_use]
    pub fn tags(&self) -> Memory {
        let Self { bytes, line, ways, banks, ports, addr_bits, state_bits } = *self;
        let sets = bytes / line / ways;
        let tag = addr_bits - line.ilog2() - sets.ilog2();
        Memory { kind: Kind::Sram, entries: sets / banks, width: ways * (tag + state_bits), ports, banks }
    }
}

impl Technology {
    /// Returns the cost of a cache. One access reads a line of the data array and the tags of one set.
    #[must_use]
    pub fn cache(&self, node: Node, cache: &Cache) -> Cost {
        let (data, tags) = (self.memory(node, &cache.data()), self.memory(node, &cache.tags()));
        let both = |of: fn(&Cost) -> Option<f64>| Some(of(&data)? + of(&tags)?);
        Cost {
            um2: (data.um2 + tags.um2) * self.cache.bounding_box,
            leakage_mw: data.leakage_mw + tags.leakage_mw,
            read_pj: both(|cost| cost.read_pj),
            write_pj: both(|cost| cost.write_pj),
            basis: data.basis.max(tags.basis),
            error: data.error.max(tags.error),
        }
    }
}

/// Table of published caches (anssari2012 table 4.3).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table43 {
    /// Publication from which the figures of the table are taken.
    pub source: String,
    /// Technology node of the figures.
    pub node: Node,
    /// Settings with which CACTI 6.5 computed the `cacti` values in `rows`.
    pub setting: String,
    /// Energy of a DRAM access in pJ.
    pub dram_pj_per_access: f64,
    /// Bytes per DRAM access.
    pub dram_bytes_per_access: u32,
    /// Energy of moving one byte by one millimeter, in pJ.
    pub interconnect_pj_per_byte_mm: f64,
    /// Caches that the table lists, one per row.
    pub rows: Vec<PublishedCache>,
    addr_bits: u32,
    state_bits: u32,
}

/// Published cache. Its row gives the area in mm2, the leakage in mW, and the energies of reading and of
/// writing a line in pJ. Area and leakage are totals over all copies of the cache; the energies are for one
/// copy.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedCache {
    /// Name of the cache.
    pub name: String,
    /// Number of copies on the chip.
    pub copies: u32,
    bytes: u32,
    line: u32,
    ways: u32,
    banks: u32,
    ports: Ports,
    /// Published area, leakage, read energy and write energy.
    pub published: [f64; 4],
    /// Area, leakage, read energy and write energy according to CACTI 6.5.
    pub cacti: [f64; 4],
    /// True if running CACTI again does not give the published figures.
    #[serde(default)]
    pub not_reproduced: bool,
}

impl Table43 {
    /// Returns the cache that a row of this table describes.
    #[must_use]
    pub fn cache(&self, row: &PublishedCache) -> Cache {
        Cache {
            bytes: row.bytes,
            line: row.line,
            ways: row.ways,
            banks: row.banks,
            ports: row.ports,
            addr_bits: self.addr_bits,
            state_bits: self.state_bits,
        }
    }
}
