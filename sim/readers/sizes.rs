//! # Validation of sizes in a dump
//! The library that reads waveform dumps allocates as much memory as a section of the file claims to need. In
//! a damaged file, this can exceed the memory of the computer and abort the process. The claims of all
//! sections are therefore checked first.
//!
//! An FST file consists of sections, which the format calls blocks. A block starts with one byte for its type
//! and 8 bytes for its length; the length includes these 8 bytes. Numbers are big-endian, or consist of
//! groups of 7 bits, one per byte, lowest group first.

use std::io::{self, BufRead, Read, Seek, SeekFrom};

use fst_reader::{FstHierarchyEntry, FstReader};

/// Maximum number of bytes to which one compressed byte can expand. This is the limit of DEFLATE; the limit
/// of LZ4 is 255.
const MAX_EXPANSION: u64 = 1032;
/// Maximum width of a variable in a VCD, in bits. The widest signal of a model, an L2 line, has 1024 bits.
const MAX_BITS: u64 = 1 << 16;
/// Size of the length field of an FST block in bytes.
const LENGTH: u64 = 8;
/// Size in bytes of the three fields at the end of an FST block of signal changes, which follow the list of
/// times: the uncompressed size and the compressed size of this list, and the number of times.
const TIMES: u64 = 24;

/// Type numbers of the FST blocks that state sizes.
const HEADER: u8 = 0;
const GEOMETRY: u8 = 3;
const BLACKOUT: u8 = 2;
const CHANGES: [u8; 3] = [1, 5, 8];
const HIERARCHIES: [u8; 3] = [4, 6, 7];
const PACKED_TWICE: u8 = 7;
const LAST: u8 = 8;
const WRAPPER: u8 = 254;
const SKIPPED: u8 = 255;

/// True if a file with this first byte is an FST file, which consists of blocks. No text file starts with
/// such a byte.
pub(super) fn begins(first: u8) -> bool {
    (HEADER..=LAST).contains(&first) || [WRAPPER, SKIPPED].contains(&first)
}

/// Checks that everything that the blocks of an FST file claim to contain fits into the file. Returns the
/// number of signals.
///
/// # Errors
/// Returns an error that describes the first claim that does not fit.
pub(super) fn fit(file: &mut (impl Read + Seek)) -> Result<u64, String> {
    let message = |error: io::Error| error.to_string();
    let end = file.seek(SeekFrom::End(0)).map_err(message)?;
    let (mut at, mut signals, mut most_changed) = (0, 0, 0);
    while at < end {
        file.seek(SeekFrom::Start(at)).map_err(message)?;
        let kind = byte(file)?;
        let length = word(file)?;
        if kind == SKIPPED && length == 0 {
            break;
        }
        let left = end - at - 1;
        if !(LENGTH..=left).contains(&length) {
            return Err(format!("the block at byte {at} claims {length} bytes, expected {LENGTH} to {left}"));
        }
        let held = length - LENGTH;
        let most = held.saturating_mul(MAX_EXPANSION);
        let block = Block { at, most };
        match kind {
            GEOMETRY => {
                let unpacked = block.holds("bytes", word(file)?, most)?;
                signals = block.holds("signals", word(file)?, unpacked)?;
            }
            _ if HIERARCHIES.contains(&kind) || kind == WRAPPER => {
                block.holds("bytes", word(file)?, most)?;
                if kind == PACKED_TWICE {
                    block.holds("bytes", word(file)?, most)?;
                }
            }
            BLACKOUT => drop(block.holds("pauses", number(file)?, held)?),
            _ if CHANGES.contains(&kind) => {
                let of_block = block.changes(file, at + 1 + length)?;
                most_changed = of_block.max(most_changed);
            }
            _ => {}
        }
        at += 1 + length;
    }
    if most_changed > signals {
        return Err(format!("a block changes {most_changed} signals, but the file has {signals}"));
    }
    Ok(signals)
}

/// Checks that every variable of an FST file refers to an existing signal. This matters because the library
/// allocates memory for each signal number.
///
/// # Errors
/// Fails if a variable refers to a signal that does not exist, or if the variables cannot be read.
pub(super) fn are_there(file: &mut (impl BufRead + Seek), signals: u64) -> Result<(), String> {
    let mut lost = None;
    let mut reader = FstReader::open(file).map_err(|error| error.to_string())?;
    let read = reader.read_hierarchy(|entry| match entry {
        FstHierarchyEntry::Var { name, handle, .. } if handle.get_index() as u64 >= signals => {
            lost.get_or_insert(format!(
                "`{name}` refers to signal {}, but the file has {signals}",
                handle.get_index() + 1
            ));
        }
        _ => {}
    });
    read.map_err(|error| error.to_string())?;
    lost.map_or(Ok(()), Err)
}

/// Checks that the variables of a VCD have a plausible width. The library stores each change in the full
/// width of the variable, even if the file has only a few digits.
///
/// # Errors
/// Returns an error that describes the first variable that is too wide.
pub(super) fn widths(file: &mut impl BufRead) -> Result<(), String> {
    // Number of words read since the last `$var`, to find the width of the variable: it is the second word
    // after `$var`.
    let mut behind = None;
    for (number, line) in (1..).zip(file.split(b'\n')) {
        let line = line.map_err(|error| error.to_string())?;
        for word in line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
            behind = match (word, behind) {
                (b"$enddefinitions", _) => return Ok(()),
                (b"$var", _) => Some(0),
                (_, Some(0)) => Some(1),
                (width, Some(_)) => {
                    let bits = str::from_utf8(width).ok().and_then(|width| width.parse::<u64>().ok());
                    if let Some(bits) = bits.filter(|bits| *bits > MAX_BITS) {
                        return Err(format!(
                            "a variable in line {number} has {bits} bits, expected at most {MAX_BITS}"
                        ));
                    }
                    None
                }
                (_, None) => None,
            };
        }
    }
    Ok(())
}

/// FST block that is being checked.
struct Block {
    at: u64,
    /// Maximum uncompressed size of the block in bytes.
    most: u64,
}

impl Block {
    fn holds(&self, what: &str, number: u64, most: u64) -> Result<u64, String> {
        let at = self.at;
        (number <= most)
            .then_some(number)
            .ok_or_else(|| format!("the block at byte {at} claims {number} {what}, expected at most {most}"))
    }

    /// Checks an FST block of signal changes. Such a block contains the initial values, the changes, one
    /// offset per signal, and the times. Returns the number of its signals.
    fn changes(&self, file: &mut (impl Read + Seek), end: u64) -> Result<u64, String> {
        let message = |error: io::Error| error.to_string();
        let head = self.at + 1 + 4 * LENGTH;
        file.seek(SeekFrom::Start(head)).map_err(message)?;
        self.holds("bytes", number(file)?, self.most)?;
        let left = end.saturating_sub(head);
        let packed = self.holds("bytes", number(file)?, left)?;
        let first = number(file)?;
        file.seek_relative(packed as i64).map_err(message)?;
        let changed = number(file)?;
        let times = end.saturating_sub(TIMES);
        file.seek(SeekFrom::Start(times)).map_err(message)?;
        let unpacked = self.holds("bytes", word(file)?, self.most)?;
        let packed = self.holds("bytes", word(file)?, left)?;
        self.holds("times", word(file)?, unpacked)?;
        let places = times.checked_sub(packed + LENGTH).filter(|places| *places > head);
        let places = places.ok_or_else(|| format!("the block at byte {} has no space for its times", self.at))?;
        file.seek(SeekFrom::Start(places)).map_err(message)?;
        self.holds("bytes", word(file)?, places - head)?;
        Ok(first.max(changed))
    }
}

fn byte(file: &mut impl Read) -> Result<u8, String> {
    let mut byte = [0];
    file.read_exact(&mut byte).map_err(|error| error.to_string())?;
    Ok(byte[0])
}

fn word(file: &mut impl Read) -> Result<u64, String> {
    let mut bytes = [0; 8];
    file.read_exact(&mut bytes).map_err(|error| error.to_string())?;
    Ok(u64::from_be_bytes(bytes))
}

/// Reads a number that is stored as groups of 7 bits, one per byte.
fn number(file: &mut impl Read) -> Result<u64, String> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = byte(file)?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err("a number has more than 64 bits".to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// Creates an FST geometry block (widths of all signals) with 100 bytes of compressed data. The block
    /// claims to have the given uncompressed size and number of signals.
    fn geometry(unpacked: u64, signals: u64) -> Vec<u8> {
        let words = [124, unpacked, signals].map(u64::to_be_bytes).concat();
        [vec![GEOMETRY], words, vec![0; 100]].concat()
    }

    fn fit_in(bytes: &[u8]) -> Result<u64, String> {
        fit(&mut Cursor::new(bytes))
    }

    #[test]
    fn a_block_holds_no_more_than_its_bytes_can_unpack_to() {
        assert_eq!(fit_in(&geometry(500, 500)), Ok(500));
        let wrong = fit_in(&geometry(500, 501)).unwrap_err();
        assert_eq!(wrong, "the block at byte 0 claims 501 signals, expected at most 500");
        let wrong = fit_in(&geometry(1 << 40, 1)).unwrap_err();
        assert_eq!(wrong, "the block at byte 0 claims 1099511627776 bytes, expected at most 119712");
    }

    #[test]
    fn a_variable_of_a_vcd_is_not_wider_than_anything_is() {
        let vcd = |width: &str| {
            format!("$scope module m $end\n$var wire\n {width} a b $end\n$enddefinitions $end\n$var x 99999999 $end\n")
        };
        let widths = |width: &str| widths(&mut Cursor::new(vcd(width)));
        assert_eq!((widths("65536"), widths("x")), (Ok(()), Ok(())));
        assert_eq!(widths("65537").unwrap_err(), "a variable in line 3 has 65537 bits, expected at most 65536");
    }

    #[test]
    fn a_block_ends_in_the_file() {
        let cut = &geometry(5, 5)[..100];
        assert_eq!(fit_in(cut).unwrap_err(), "the block at byte 0 claims 124 bytes, expected 8 to 99");
    }

    #[test]
    fn blocks_lead_on_and_never_back() {
        let back = [vec![HEADER], u64::MAX.to_be_bytes().to_vec()].concat();
        let wrong = fit_in(&back).unwrap_err();
        assert_eq!(wrong, format!("the block at byte 0 claims {} bytes, expected 8 to 8", u64::MAX));
        assert!(begins(HEADER) && begins(WRAPPER) && !begins(b'$') && !begins(b'G') && !begins(b'\n'));
    }

    #[test]
    fn numbers_of_7_bits_a_byte_are_read_and_endless_ones_refused() {
        assert_eq!(number(&mut Cursor::new([0xe5, 0x8e, 0x26])), Ok(624_485));
        assert_eq!(number(&mut Cursor::new([0x80; 11])), Err("a number has more than 64 bits".to_owned()));
    }
}
