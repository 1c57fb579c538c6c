//! # Contents of a channel's memory
//! Stores the actual bytes of the memory behind a DRAM channel. The simulator (host code) maps ranges of
//! bursts before a run. A two-level table maps a burst to its page, so that a lookup needs only two loads. An
//! access to an unmapped burst is an error of the program or of the caches, and is reported. During the
//! replay of a trace, every burst exists, and its data are derived from its address ([`super::recorded`]).

mod pages;

use std::hash::{Hash, Hasher};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::config::DramConfig;
use super::message::BURST_BYTES;
use super::recorded::{ChannelPlace, ChannelTags};
use crate::kernel::Digest;

/// Number of bursts per page; a 64-bit mask has one bit for each of them.
const PAGE: u64 = 64;
/// Number of pages per second-level table.
const TABLE: usize = 512;

/// Bytes of one burst; a channel with smaller bursts uses only the first bytes of the array.
pub type Burst = [u8; BURST_BYTES];

struct Page {
    mapped: u64,
    bursts: [Burst; PAGE as usize],
}

type Table = Box<[Option<Box<Page>>; TABLE]>;
type Tables = Box<[Option<Table>]>;

/// Contents of the memory behind one DRAM channel.
#[derive(Serialize, Deserialize)]
pub struct Store {
    path: String,
    num_bursts: u64,
    burst_bytes: usize,
    #[serde(with = "pages")]
    tables: Tables,
    /// Memory for the replay of a trace. If present, it is used instead of `tables`.
    recorded: Option<Box<ChannelTags>>,
}

/// Error of an access to memory: the burst does not exist, or the data to write are wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StoreError {
    /// The burst is not in a range that was mapped.
    #[error("{path}: burst {burst:#x} is not mapped by the host")]
    Unmapped {
        /// Hierarchical path of the DRAM channel.
        path: String,
        /// Address of the burst.
        burst: u64,
    },
    /// The burst address is beyond the end of the channel.
    #[error("{path}: burst {burst:#x} does not exist, the channel holds {num_bursts:#x} bursts")]
    Outside {
        /// Hierarchical path of the DRAM channel.
        path: String,
        /// Address of the burst.
        burst: u64,
        /// Number of bursts that the channel holds.
        num_bursts: u64,
    },
    /// The data to write do not have the values that the replay of a trace derives from their address.
    /// Detected only during such a replay.
    #[error("{path}: data of another address are written to burst {burst:#x}")]
    Foreign {
        /// Hierarchical path of the DRAM channel.
        path: String,
        /// Address of the burst.
        burst: u64,
    },
}

/// Splits a burst address into three numbers: of the table, of the page within the table, and of the burst
/// within the page.
fn split(burst: u64) -> (usize, usize, usize) {
    let page = (burst / PAGE) as usize;
    (page / TABLE, page % TABLE, (burst % PAGE) as usize)
}

impl Store {
    /// Creates the memory of the DRAM channel at `path`; no burst is mapped.
    #[must_use]
    pub fn new(config: &DramConfig, path: &str) -> Self {
        let num_bursts = config.bursts();
        let tables = num_bursts.div_ceil(PAGE * TABLE as u64) as usize;
        Self {
            path: path.to_owned(),
            num_bursts,
            burst_bytes: config.burst_bytes() as usize,
            tables: (0..tables).map(|_| None).collect(),
            recorded: None,
        }
    }

    /// Replaces the memory by a memory for the replay of a trace, to which no store has been made yet.
    pub(super) fn record(&mut self, place: ChannelPlace) {
        self.tables = Box::default();
        self.recorded = Some(Box::new(ChannelTags::new(place, self.burst_bytes)));
    }

    /// Maps a range of bursts and fills them with zeros; bursts already mapped keep their contents.
    ///
    /// # Errors
    /// Returns an error if the range exceeds the end of the channel.
    pub fn map(&mut self, bursts: Range<u64>) -> Result<(), StoreError> {
        if bursts.end > self.num_bursts {
            return Err(missing(&self.path, self.num_bursts, bursts.end - 1));
        }
        for burst in bursts {
            let (table, page, index) = split(burst);
            let table = self.tables[table].get_or_insert_with(|| Box::new([const { None }; TABLE]));
            let new = || Box::new(Page { mapped: 0, bursts: [[0; BURST_BYTES]; PAGE as usize] });
            table[page].get_or_insert_with(new).mapped |= 1 << index;
        }
        Ok(())
    }

    /// Returns the bytes of burst `burst`.
    ///
    /// # Errors
    /// Returns an error if the burst is not mapped.
    pub fn peek(&self, burst: u64) -> Result<&[u8], StoreError> {
        self.get(burst).map(|bytes| &bytes[..self.burst_bytes])
    }

    /// Overwrites bytes of a burst, starting at byte `offset` of the burst.
    ///
    /// # Errors
    /// Returns an error if the burst is not mapped.
    ///
    /// # Panics
    /// Panics if the bytes extend beyond the end of the burst.
    pub fn poke(&mut self, burst: u64, offset: usize, bytes: &[u8]) -> Result<(), StoreError> {
        let burst_bytes = self.burst_bytes;
        let target = &mut self.get_mut(burst)?[..burst_bytes];
        target[offset..offset + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// Returns the digest (hash) of the whole memory contents.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        for (number, table) in self.tables.iter().enumerate() {
            for (place, page) in table.iter().flat_map(|table| table.iter()).enumerate() {
                if let Some(page) = page {
                    (number, place, page.mapped).hash(&mut digest);
                    page.bursts.hash(&mut digest);
                }
            }
        }
        if let Some(recorded) = &self.recorded {
            recorded.pages().for_each(|page| page.hash(&mut digest));
        }
        digest.finish()
    }

    /// Returns all mapped bursts in ascending order, each with its bytes. For observers outside the model.
    pub fn bursts(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let tables = (0u64..).zip(&self.tables).filter_map(|(number, table)| Some((number, table.as_ref()?)));
        let pages = tables.flat_map(|(number, table)| {
            let first = number * TABLE as u64;
            (first..).zip(table.iter()).filter_map(|(number, page)| Some((number, page.as_ref()?)))
        });
        pages.flat_map(move |(number, page)| {
            let is_mapped = move |index: &u64| page.mapped >> index & 1 != 0;
            let bytes = move |index: u64| (number * PAGE + index, &page.bursts[index as usize][..self.burst_bytes]);
            (0..PAGE).filter(is_mapped).map(bytes)
        })
    }

    /// Reads a burst into `data`, for an RD command.
    ///
    /// # Errors
    /// Returns an error if the burst is not mapped.
    pub fn read(&self, burst: u64, data: &mut Burst) -> Result<(), StoreError> {
        match &self.recorded {
            None => *data = *self.get(burst)?,
            Some(recorded) => recorded.read(burst, data),
        }
        Ok(())
    }

    fn get(&self, burst: u64) -> Result<&Burst, StoreError> {
        let (table, page, index) = split(burst);
        if let Some(Some(table)) = self.tables.get(table)
            && let Some(page) = &table[page]
            && page.mapped >> index & 1 != 0
        {
            return Ok(&page.bursts[index]);
        }
        Err(missing(&self.path, self.num_bursts, burst))
    }

    /// Writes the bytes of a burst that `byte_mask` selects, for a WR command.
    ///
    /// # Errors
    /// Returns an error if the burst is not mapped. During the replay of a trace, also returns an error if the
    /// bytes do not have the values that the replay derives from their address.
    pub fn write(&mut self, burst: u64, byte_mask: u64, data: &Burst) -> Result<(), StoreError> {
        if let Some(recorded) = &mut self.recorded {
            let foreign = || StoreError::Foreign { path: self.path.clone(), burst };
            return recorded.write(burst, byte_mask, data).then_some(()).ok_or_else(foreign);
        }
        let target = self.get_mut(burst)?;
        if byte_mask == u64::MAX {
            *target = *data;
            return Ok(());
        }
        let mut left = byte_mask;
        while left != 0 {
            let index = left.trailing_zeros() as usize;
            left &= left - 1;
            target[index] = data[index];
        }
        Ok(())
    }

    fn get_mut(&mut self, burst: u64) -> Result<&mut Burst, StoreError> {
        let (table, page, index) = split(burst);
        if let Some(Some(table)) = self.tables.get_mut(table)
            && let Some(page) = &mut table[page]
            && page.mapped >> index & 1 != 0
        {
            return Ok(&mut page.bursts[index]);
        }
        Err(missing(&self.path, self.num_bursts, burst))
    }
}

#[cold]
fn missing(path: &str, num_bursts: u64, burst: u64) -> StoreError {
    let path = path.to_owned();
    if burst < num_bursts {
        StoreError::Unmapped { path, burst }
    } else {
        StoreError::Outside { path, burst, num_bursts }
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::reference;
    use super::*;
    use crate::noc::interleave::{Channels, Interleave};
    use crate::recorded;

    fn store() -> Store {
        Store::new(&reference(), "dram2")
    }

    #[test]
    fn mapped_bursts_are_zero_and_keep_what_is_poked() {
        let mut store = store();
        store.map(0x100..0x140).unwrap();
        store.poke(0x13f, 4, &[1, 2]).unwrap();
        assert_eq!(store.peek(0x13f).unwrap()[..7], [0, 0, 0, 0, 1, 2, 0]);
        store.map(0x100..0x140).unwrap();
        assert_eq!(store.peek(0x13f).unwrap()[4], 1);
    }

    #[test]
    fn all_mapped_bursts_are_listed_in_order_with_their_bytes() {
        let mut store = store();
        store.map(0x3f_ffff..0x40_0000).unwrap();
        store.map(0x7e..0x81).unwrap();
        store.poke(0x80, 1, &[9]).unwrap();
        let listed: Vec<_> = store.bursts().map(|(burst, bytes)| (burst, bytes[1], bytes.len())).collect();
        assert_eq!(listed, [(0x7e, 0, 64), (0x7f, 0, 64), (0x80, 9, 64), (0x3f_ffff, 0, 64)]);
    }

    #[test]
    fn a_write_changes_exactly_the_masked_bytes() {
        let mut store = store();
        store.map(7..8).unwrap();
        store.write(7, 1 << 63 | 0b101, &[9; BURST_BYTES]).unwrap();
        let bytes = store.peek(7).unwrap();
        let changed: Vec<usize> = (0..BURST_BYTES).filter(|&i| bytes[i] == 9).collect();
        assert_eq!(changed, [0, 2, 63]);
    }

    #[test]
    fn a_burst_beside_a_mapped_range_does_not_exist() {
        let mut store = store();
        store.map(0x100..0x101).unwrap();
        let error = store.peek(0x101).unwrap_err();
        assert_eq!(error.to_string(), "dram2: burst 0x101 is not mapped by the host");
        assert!(store.poke(0xff, 0, &[1]).is_err());
    }

    #[test]
    fn a_range_behind_the_end_is_refused() {
        let error = store().map(0x3f_ffff..0x40_0001).unwrap_err();
        assert_eq!(error.to_string(), "dram2: burst 0x400000 does not exist, the channel holds 0x400000 bursts");
    }

    #[test]
    fn the_digest_follows_the_contents() {
        let (mut one, mut two) = (store(), store());
        for store in [&mut one, &mut two] {
            store.map(0..2).unwrap();
        }
        assert_eq!(one.digest(), two.digest());
        one.poke(1, 0, &[1]).unwrap();
        assert_ne!(one.digest(), two.digest());
    }

    #[test]
    fn the_digest_of_memory_behind_a_trace_follows_what_is_stored() {
        let rounds = |count| Interleave::new(count, 128, BURST_BYTES as u32);
        let channels = Channels { partitions: rounds(1), of_partition: rounds(1), of_channel: rounds(1) };
        let stored = |tag| {
            let mut store = store();
            store.record(ChannelPlace { channel: 0, channels });
            let mut data = [0; BURST_BYTES];
            data[..4].copy_from_slice(&recorded::word(0, tag).to_le_bytes());
            store.write(0, 0xf, &data).unwrap();
            store.digest()
        };
        assert_eq!(stored(7), stored(7));
        assert_ne!(stored(7), stored(8));
    }
}
