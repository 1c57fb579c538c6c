//! # Memory for the replay of a trace
//! Models the memory contents during the replay of a trace, which records addresses but no data. Every word
//! has the value that [`crate::recorded`] derives from the word's address and from the tag of the last store
//! to it. Only the tags are stored, one byte per four-byte word, for the pages that were written. The
//! simulator therefore needs only a quarter of the memory that the written pages would take.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::message::BURST_BYTES;
use super::store::Burst;
use crate::noc::interleave::Channels;
use crate::recorded::{self, UNTOUCHED, WORD_BYTES};

/// Number of words in the largest burst.
const WORDS: usize = BURST_BYTES / WORD_BYTES as usize;
/// Number of bursts in a page. Memory for tags is allocated one page at a time.
const PAGE: u64 = 64;

/// For each 4-bit byte mask, the bit mask of the selected bytes in a 32-bit word.
const STORED: [u32; 16] = {
    let mut bits = [0; 16];
    let mut bytes = 0;
    while bytes < 16 {
        let mut byte = 0;
        while byte < 4 {
            if bytes >> byte & 1 != 0 {
                bits[bytes] |= 0xff << (8 * byte);
            }
            byte += 1;
        }
        bytes += 1;
    }
    bits
};

/// Position of a DRAM channel's bursts in the address space of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelPlace {
    /// Number of the channel among all channels.
    pub channel: u32,
    /// Interleaving of bursts among all channels of the machine.
    pub channels: Channels,
}

impl ChannelPlace {
    /// Returns the byte address of burst number `burst` of the channel, if bursts have `burst_bytes` bytes.
    fn address(self, burst: u64, burst_bytes: u64) -> u64 {
        self.channels.unit(self.channel, burst) * burst_bytes
    }
}

/// Memory contents of one channel during the replay of a trace: for each word that was written, the tag of
/// the last store to it, from which the word's value is derived.
#[derive(Serialize, Deserialize)]
pub(super) struct ChannelTags {
    place: ChannelPlace,
    burst_bytes: u64,
    pages: BTreeMap<u64, Box<[[u8; WORDS]]>>,
}

impl ChannelTags {
    pub(super) fn new(place: ChannelPlace, burst_bytes: usize) -> Self {
        Self { place, burst_bytes: burst_bytes as u64, pages: BTreeMap::new() }
    }

    pub(super) fn read(&self, burst: u64, data: &mut Burst) {
        let page = self.pages.get(&(burst / PAGE));
        let tags = page.map_or(&[UNTOUCHED; WORDS], |page| &page[(burst % PAGE) as usize]);
        let first = self.place.address(burst, self.burst_bytes);
        let (words, _) = data.as_chunks_mut::<{ WORD_BYTES as usize }>();
        for (word, value) in words.iter_mut().zip(recorded::words(first, tags)) {
            *word = value.to_le_bytes();
        }
    }

    /// Performs a write of the bytes that `byte_mask` selects. Returns false if the value of one of these
    /// bytes is not the value that the replay derives from its address and tag.
    pub(super) fn write(&mut self, burst: u64, byte_mask: u64, data: &Burst) -> bool {
        let new = || vec![[UNTOUCHED; WORDS]; PAGE as usize].into();
        let tags = &mut self.pages.entry(burst / PAGE).or_insert_with(new)[(burst % PAGE) as usize];
        let first = self.place.address(burst, self.burst_bytes);
        let (words, _) = data.as_chunks::<{ WORD_BYTES as usize }>();
        for (index, (word, tag)) in words.iter().zip(&mut *tags).enumerate() {
            let is_stored = byte_mask >> (index as u64 * WORD_BYTES) & 1 != 0;
            *tag = if is_stored { word[0] } else { *tag };
        }
        let mut wrong = 0;
        for (index, (word, expected)) in words.iter().zip(recorded::words(first, tags)).enumerate() {
            let differing = u32::from_le_bytes(*word) ^ expected;
            wrong |= differing & STORED[(byte_mask >> (index as u64 * WORD_BYTES) & 0xf) as usize];
        }
        wrong == 0
    }

    pub(super) fn pages(&self) -> impl Iterator<Item = (&u64, &[[u8; WORDS]])> {
        self.pages.iter().map(|(page, tags)| (page, &**tags))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noc::interleave::Interleave;

    const BURST: u64 = BURST_BYTES as u64;

    fn memory() -> ChannelTags {
        let rounds = |count| Interleave::new(count, 128, BURST_BYTES as u32);
        let channels = Channels { partitions: rounds(6), of_partition: rounds(1), of_channel: rounds(1) };
        ChannelTags::new(ChannelPlace { channel: 2, channels }, BURST_BYTES)
    }

    fn word_of(memory: &ChannelTags, burst: u64, index: usize) -> u32 {
        let mut data = [0; BURST_BYTES];
        memory.read(burst, &mut data);
        u32::from_le_bytes(data.as_chunks::<4>().0[index])
    }

    #[test]
    fn untouched_memory_reads_as_its_address_says() {
        // With six partitions, line 5 of partition 2 is line 32 of the machine. Its second burst starts at
        // byte 64 of the line.
        let address = (5 * 6 + 2) * 128 + BURST;
        assert_eq!(word_of(&memory(), 2 * 5 + 1, 3), recorded::word(address + 12, UNTOUCHED));
    }

    #[test]
    fn a_store_leaves_its_tag_in_the_words_it_covers_and_nowhere_else() {
        let mut memory = memory();
        let address = 2 * 128;
        let mut data = [0; BURST_BYTES];
        data[4..8].copy_from_slice(&recorded::word(address + 4, 9).to_le_bytes());
        assert!(memory.write(0, 0xf0, &data));
        assert_eq!([0, 1, 2].map(|index| word_of(&memory, 0, index) & 0xff), [0, 9, 0]);
    }

    #[test]
    fn bytes_above_the_tag_leave_it_as_it_was() {
        let mut memory = memory();
        let data = recorded::word(2 * 128, 9).to_le_bytes();
        let mut burst = [0; BURST_BYTES];
        burst[..4].copy_from_slice(&data);
        assert!(memory.write(0, 0b0010, &burst));
        assert_eq!(word_of(&memory, 0, 0), recorded::word(2 * 128, UNTOUCHED));
    }

    #[test]
    fn bytes_of_another_address_are_refused() {
        let mut burst = [0; BURST_BYTES];
        burst[..4].copy_from_slice(&recorded::word(3 * 128, 9).to_le_bytes());
        assert!(!memory().write(0, 0b1111, &burst));
    }
}
