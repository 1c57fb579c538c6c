//! # Caches
//! A cache as its data, its tags and the box around both; and the published ones to compare with.

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

/// A cache of one read a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Bytes of data, over all banks.
    pub bytes: u32,
    /// Bytes of a line.
    pub line: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Banks.
    pub banks: u32,
    /// Ports of data and of tags.
    pub ports: Ports,
    /// Bits of an address.
    pub addr_bits: u32,
    /// Bits of a tag entry besides the tag.
    pub state_bits: u32,
}

impl Cache {
    /// Its data: a word is a line.
    #[must_use]
    pub fn data(&self) -> Memory {
        let Self { bytes, line, banks, ports, .. } = *self;
        Memory { kind: Kind::Sram, entries: bytes / line / banks, width: line * BYTE as u32, ports, banks }
    }

    /// Its tags: a word is a set.
    #[must_use]
    pub fn tags(&self) -> Memory {
        let Self { bytes, line, ways, banks, ports, addr_bits, state_bits } = *self;
        let sets = bytes / line / ways;
        let tag = addr_bits - line.ilog2() - sets.ilog2();
        Memory { kind: Kind::Sram, entries: sets / banks, width: ways * (tag + state_bits), ports, banks }
    }
}

impl Technology {
    /// What a cache costs. An access reads a line and the tags of its set.
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
        }
    }
}

/// Caches with published figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table43 {
    /// The publication.
    pub source: String,
    /// Node.
    pub node: Node,
    /// How CACTI 6.5 was run for the figures beside the published ones.
    pub setting: String,
    /// Energy in pJ of a DRAM access.
    pub dram_pj_per_access: f64,
    /// Bytes of a DRAM access.
    pub dram_bytes_per_access: u32,
    /// Energy in pJ of moving a byte by a millimetre.
    pub interconnect_pj_per_byte_mm: f64,
    /// The caches.
    pub rows: Vec<Published>,
    addr_bits: u32,
    state_bits: u32,
}

/// A published cache. Figures are mm2, mW, pJ a line read, pJ a line write, of all copies together but for
/// the energies.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// What it is.
    pub name: String,
    /// How many the chip has.
    pub copies: u32,
    bytes: u32,
    line: u32,
    ways: u32,
    banks: u32,
    ports: Ports,
    /// As published.
    pub published: [f64; 4],
    /// As CACTI 6.5 gives them.
    pub cacti: [f64; 4],
    /// CACTI itself does not give the published figures.
    #[serde(default)]
    pub not_reproduced: bool,
}

impl Table43 {
    /// A row's cache.
    #[must_use]
    pub fn cache(&self, row: &Published) -> Cache {
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
