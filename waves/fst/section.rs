//! # Section: the changes of a time interval, in FST format
//!
//! Changes accumulate in memory, in one stream per signal, and are written as one block of the file:
//!
//! | part    | content                                                                                      |
//! |---------|----------------------------------------------------------------------------------------------|
//! | head    | size of the block in bytes; first and last time; total size of the streams before compression |
//! | frame   | value of every signal before the first time, one character per bit                           |
//! | streams | for each change, the number of times since the previous one and the bits; LZ4 where shorter  |
//! | offsets | distance of each stream from the previous one; lengths of runs of signals without a stream   |
//! | times   | difference of each time from the previous one; zlib where shorter                            |
//!
//! Lengths and times take eight bytes, most significant first. All other numbers have variable length, seven
//! bits per byte, least significant first.

use std::io::{self, Write};

use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};
use miniz_oxide::deflate::compress_to_vec_zlib;

use crate::digits::put_digits;

/// Code of the block type: value changes. FST has two encodings for stream offsets, and blocks of this type
/// use the second.
const KIND: u8 = 8;
/// Code that marks streams compressed with LZ4.
const LZ4: u8 = b'4';
/// Minimum size in bytes of a stream that is compressed. Compression would save too little on shorter
/// streams.
const MIN_COMPRESSED_BYTES: usize = 32;
/// Compression level for the list of times. A low level suffices, since times take little space compared to
/// changes.
const ZLIB_LEVEL: u8 = 3;
/// Mask of the seven payload bits in each byte of a variable-length number.
const SEVEN: u64 = 0x7f;

/// Value changes since the end of the previous section.
pub(super) struct Section {
    streams: Vec<Stream>,
    frame: Vec<u8>,
    times: Vec<u8>,
    num_times: u32,
    /// Total size in bytes of all streams of the section.
    gathered: usize,
    /// Last time of the previous section. The next field, `end`, is the last time of this section.
    begin: u64,
    end: u64,
    packer: CompressTable,
    packed: Vec<u8>,
    text: Vec<u8>,
}

/// Encoded changes of one signal.
struct Stream {
    width: u32,
    /// Index in the frame of the first character of the signal's value.
    at: u32,
    /// Index, in the section's list of times, of the time at which the signal last changed.
    changed: u32,
    bytes: Vec<u8>,
}

impl Section {
    /// Creates a section without changes, for signals of these widths. All values are unknown from time 0 on.
    pub(super) fn new(widths: impl Iterator<Item = u32>) -> Section {
        let mut bits = 0;
        let stream = |width| {
            let at = bits;
            bits += width;
            Stream { width, at, changed: 0, bytes: Vec::new() }
        };
        let streams: Vec<Stream> = widths.map(stream).collect();
        let widest = streams.iter().map(|stream| stream.width).max().unwrap_or(0);
        Section {
            streams,
            frame: vec![b'x'; bits as usize],
            times: Vec::new(),
            num_times: 0,
            gathered: 0,
            begin: 0,
            end: 0,
            packer: CompressTable::default(),
            packed: Vec::new(),
            // Binary digits are written in groups of eight, so the last group may extend beyond the width of
            // the signal.
            text: vec![0; widest as usize + 8],
        }
    }

    /// Size in bytes of the changes in this section so far.
    pub(super) fn size(&self) -> usize {
        self.gathered + self.times.len()
    }

    /// Returns the last time of the section.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Advances to a later time. Time 0 is not added to the list of times: values at time 0 go into the frame
    /// of the first section.
    pub(super) fn time(&mut self, now: u64) {
        assert!(now >= self.end, "waveform: time {now} after time {}, expected a later one", self.end);
        if now > self.end {
            let last = if self.num_times == 0 { 0 } else { self.end };
            put_number(&mut self.times, now - last);
            self.num_times += 1;
            self.end = now;
        }
    }

    /// Records the new value of a signal, given as 64-bit words, least significant word first.
    #[inline]
    pub(super) fn change(&mut self, signal: usize, value: &[u64]) {
        if self.num_times == 0 {
            self.set_frame(signal, value);
            return;
        }
        let stream = &mut self.streams[signal];
        let number = self.num_times - 1;
        let later = u64::from(number - std::mem::replace(&mut stream.changed, number));
        let before = stream.bytes.len();
        if stream.width == 1 {
            put_number(&mut stream.bytes, later << 2 | value[0] << 1);
        } else {
            put_number(&mut stream.bytes, later << 1);
            put_bits(&mut stream.bytes, stream.width, value);
        }
        self.gathered += stream.bytes.len() - before;
    }

    /// Stores the value of a signal in the frame, which holds the values before the first time of the
    /// section.
    pub(super) fn set_frame(&mut self, signal: usize, value: &[u64]) {
        let Stream { width, at, .. } = self.streams[signal];
        let mut end = 0;
        for (nth, &word) in value.iter().enumerate().rev() {
            let digits = if nth + 1 == value.len() { (width - 1) % 64 + 1 } else { 64 };
            end = put_digits(&mut self.text, end, word << (64 - digits), digits);
        }
        self.frame[at as usize..][..end].copy_from_slice(&self.text[..end]);
    }

    /// Writes the section and starts the next one. The next section has the same frame until `set_frame`
    /// updates it.
    pub(super) fn write(&mut self, out: &mut impl Write) -> io::Result<()> {
        let mut block = vec![KIND];
        for number in [0, self.begin, self.end, self.gathered as u64] {
            put_long(&mut block, number);
        }
        let (bits, signals) = (self.frame.len() as u64, self.streams.len() as u64);
        // The uncompressed length and the stored length are equal. From this, readers see that the frame is
        // not compressed.
        for number in [bits, bits, signals] {
            put_number(&mut block, number);
        }
        block.extend_from_slice(&self.frame);
        put_number(&mut block, signals);
        block.push(LZ4);
        let offsets = self.put_streams(&mut block);
        block.extend_from_slice(&offsets);
        put_long(&mut block, offsets.len() as u64);
        self.put_times(&mut block);
        let length = block.len() as u64 - 1;
        block[1..9].copy_from_slice(&length.to_be_bytes());
        out.write_all(&block)?;
        self.times.clear();
        (self.num_times, self.gathered, self.begin) = (0, 0, self.end);
        Ok(())
    }

    /// Moves all streams into the block, after the byte that names their compression. Returns the encoded
    /// offsets of the streams.
    fn put_streams(&mut self, block: &mut Vec<u8>) -> Vec<u8> {
        let mut offsets = Vec::new();
        let mut last = block.len() - 1;
        let mut none = 0;
        for stream in &mut self.streams {
            let bytes = &mut stream.bytes;
            stream.changed = 0;
            if bytes.is_empty() {
                none += 1;
                continue;
            }
            put_run(&mut offsets, &mut none);
            put_offset(&mut offsets, (block.len() - last) as u64);
            last = block.len();
            match pack(bytes, &mut self.packed, &mut self.packer) {
                Some(packed) => {
                    put_number(block, bytes.len() as u64);
                    block.extend_from_slice(packed);
                }
                None => {
                    put_number(block, 0);
                    block.extend_from_slice(bytes);
                }
            }
            bytes.clear();
        }
        put_run(&mut offsets, &mut none);
        offsets
    }

    fn put_times(&self, block: &mut Vec<u8>) {
        let packed = compress_to_vec_zlib(&self.times, ZLIB_LEVEL);
        let shorter = if packed.len() < self.times.len() { &packed } else { &self.times };
        block.extend_from_slice(shorter);
        for number in [self.times.len(), shorter.len(), self.num_times as usize] {
            put_long(block, number as u64);
        }
    }
}

/// Compresses a stream. Returns `None` if compression does not make it shorter.
fn pack<'a>(bytes: &[u8], packed: &'a mut Vec<u8>, packer: &mut CompressTable) -> Option<&'a [u8]> {
    if bytes.len() < MIN_COMPRESSED_BYTES {
        return None;
    }
    let most = get_maximum_output_size(bytes.len());
    if packed.len() < most {
        packed.resize(most, 0);
    }
    let length = compress_into_with_table(bytes, packed, packer).ok().filter(|&length| length < bytes.len())?;
    Some(&packed[..length])
}

/// Encodes that none of the next `none` signals has a stream, and resets `none` to 0.
fn put_run(offsets: &mut Vec<u8>, none: &mut u64) {
    if *none > 0 {
        put_number(offsets, *none << 1);
        *none = 0;
    }
}

/// Encodes the offset of a stream as a signed number of variable length. The highest payload bit of its last
/// byte is the sign.
fn put_offset(offsets: &mut Vec<u8>, offset: u64) {
    let mut left = offset << 1 | 1;
    while left > SEVEN >> 1 {
        offsets.push((left & SEVEN) as u8 | 0x80);
        left >>= 7;
    }
    offsets.push(left as u8);
}

#[inline]
pub(super) fn put_number(to: &mut Vec<u8>, mut number: u64) {
    while number > SEVEN {
        to.push((number & SEVEN) as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

pub(super) fn put_long(to: &mut Vec<u8>, number: u64) {
    to.extend_from_slice(&number.to_be_bytes());
}

/// Appends the bits of a value to a stream, most significant bit first. Unused bits of the last byte are 0.
#[inline]
fn put_bits(to: &mut Vec<u8>, width: u32, value: &[u64]) {
    let up = (64 - width % 64) % 64;
    let mut left = width.div_ceil(8) as usize;
    for (nth, &word) in value.iter().enumerate().rev() {
        // The shift is done in two steps, because a shift of a 64-bit word by 64 bits would overflow.
        let below = if nth > 0 { value[nth - 1] >> 1 >> (63 - up) } else { 0 };
        let bytes = (word << up | below).to_be_bytes();
        let count = left.min(8);
        to.extend_from_slice(&bytes[..count]);
        left -= count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_number(&mut bytes, value);
        bytes
    }

    #[test]
    fn a_number_takes_a_byte_for_every_seven_bits() {
        assert_eq!(number(0), [0]);
        assert_eq!(number(127), [127]);
        assert_eq!(number(128), [0x80, 1]);
        assert_eq!(number(u64::MAX).len(), 10);
    }

    #[test]
    fn the_last_byte_of_an_offset_has_its_sign_bit_clear() {
        let offset = |offset| {
            let mut bytes = Vec::new();
            put_offset(&mut bytes, offset);
            bytes
        };
        assert_eq!(offset(31), [63]);
        assert_eq!(offset(32), [0xc1, 0], "65 would read as a negative number in one byte");
    }

    #[test]
    fn bits_are_packed_from_the_most_significant_on() {
        let bits = |width, value: &[u64]| {
            let mut bytes = Vec::new();
            put_bits(&mut bytes, width, value);
            bytes
        };
        assert_eq!(bits(4, &[0b1010]), [0b1010_0000]);
        assert_eq!(bits(64, &[0x0102_0304_0506_0708]), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(bits(68, &[0x123, 0xf]), [0xf0, 0, 0, 0, 0, 0, 0, 0x12, 0x30]);
        assert_eq!(bits(128, &[1, 2]), [0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn a_stream_that_does_not_shrink_is_left_as_it_is() {
        let mut packed = Vec::new();
        let noise: Vec<u8> = (0..64u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert_eq!(pack(&noise, &mut packed, &mut CompressTable::default()), None);
        assert!(pack(&[7; 64], &mut packed, &mut CompressTable::default()).is_some_and(|packed| packed.len() < 64));
    }
}
