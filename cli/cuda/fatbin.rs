//! # Fat binaries
//! nvcc embeds device code as a fat binary: a header, then one entry per architecture. An entry contains a
//! PTX text or machine code, uncompressed or compressed. This reader returns the PTX texts; the simulator
//! cannot run machine code. All numbers are little endian.
//!
//! | offset | bytes | header                          |
//! |--------|-------|---------------------------------|
//! | 0      | 4     | magic number, 0xba55ed50        |
//! | 4      | 2     | version, 1                      |
//! | 6      | 2     | size of the header, 16          |
//! | 8      | 8     | size of all entries             |
//!
//! | offset | bytes | entry                                                            |
//! |--------|-------|------------------------------------------------------------------|
//! | 0      | 2     | kind: 1 is PTX, 2 machine code                                   |
//! | 4      | 4     | size of the entry's own header                                   |
//! | 8      | 8     | size of the content, padded to 8 bytes                           |
//! | 16     | 4     | size of the content if it is compressed, without padding         |
//! | 28     | 4     | architecture: 75 is sm_75                                        |
//! | 40     | 8     | flags: bit 13 is LZ4, bit 15 Zstandard                           |
//! | 56     | 8     | size of the content before compression                           |
//!
//! The layout follows from files that nvcc 13.5 wrote in each of its compression modes.

use std::io::Read;

use ruzstd::decoding::StreamingDecoder;
use thiserror::Error;

/// Magic number of a fat binary.
pub const MAGIC: u32 = 0xba55_ed50;
/// Magic number of the structure in a program that refers to a fat binary.
pub const WRAPPER_MAGIC: u32 = 0x4662_43b1;
/// Size of the header at the start of a fat binary, in bytes.
pub const HEADER_BYTES: usize = 16;

/// Size of the known part of an entry's header, in bytes. The header may be longer.
const ENTRY_BYTES: usize = 64;
const KIND_PTX: u16 = 1;
const FLAG_LZ4: u64 = 1 << 13;
const FLAG_ZSTD: u64 = 1 << 15;

/// One of the PTX texts in a fat binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxText {
    /// Architecture of the text, as the compute capability times ten: 75 is sm_75.
    pub arch: u32,
    /// True if the text runs on exactly one architecture, such as `sm_90a`, and not on newer ones.
    pub is_specific: bool,
    /// The PTX text itself.
    pub text: String,
}

/// Contents of a fat binary that this reader extracts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FatBinary {
    /// PTX texts, in the order in which the fat binary stores them.
    pub texts: Vec<PtxText>,
    /// Architectures of the machine code entries, in the order in which the fat binary stores them.
    pub machine_code: Vec<u32>,
}

/// Reason why a fat binary cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FatBinaryError {
    /// The fat binary begins with a wrong magic number.
    #[error("a fat binary begins with {found:#x}, expected {MAGIC:#x}")]
    Magic {
        /// Number that was found in place of the magic number.
        found: u32,
    },
    /// The data end before the end of the fat binary or of an entry.
    #[error("a fat binary of {available} bytes is truncated: expected {needed} bytes")]
    Truncated {
        /// Number of bytes that the data must have at least.
        needed: u64,
        /// Number of bytes that the data have.
        available: usize,
    },
    /// The size that an entry states for its header is too small.
    #[error("an entry of a fat binary has a header of {bytes} bytes, expected at least {ENTRY_BYTES}")]
    Header {
        /// Stated size of the header in bytes.
        bytes: u32,
    },
    /// A PTX text is larger than the limit.
    #[error("a PTX text of a fat binary has {bytes} bytes, expected at most {most}")]
    TooLarge {
        /// Size of the PTX text in bytes.
        bytes: u64,
        /// Limit in bytes.
        most: usize,
    },
    /// A PTX text cannot be decompressed, or its bytes are not text.
    #[error("a PTX text of a fat binary for sm_{arch} cannot be read: {reason}")]
    Content {
        /// Architecture of the PTX text, as the compute capability times ten.
        arch: u32,
        /// Error message of the decompressor.
        reason: String,
    },
}

/// Reads from the header of a fat binary the size of the whole fat binary, including the header, in bytes.
pub fn size(header: &[u8; HEADER_BYTES]) -> Result<u64, FatBinaryError> {
    let found = number(header, 0, 4)? as u32;
    if found != MAGIC {
        return Err(FatBinaryError::Magic { found });
    }
    Ok(number(header, 6, 2)?.saturating_add(number(header, 8, 8)?))
}

/// Reads all PTX texts of a fat binary, and lists the architectures of its machine code. Texts may have at most
/// `most` bytes, so that a small file cannot fill the memory when it is decompressed.
///
/// # Errors
/// Returns an error if the content is malformed, or a text is too large.
pub fn read(bytes: &[u8], most: usize) -> Result<FatBinary, FatBinaryError> {
    let mut header = [0; HEADER_BYTES];
    header.copy_from_slice(part(bytes, 0, HEADER_BYTES as u64)?);
    let end = size(&header)?;
    let content = part(bytes, 0, end)?;
    let mut found = FatBinary::default();
    let mut at = number(&header, 6, 2)?;
    while at < end {
        let entry = part(content, at, ENTRY_BYTES as u64)?;
        let header_bytes = number(entry, 4, 4)?;
        if header_bytes < ENTRY_BYTES as u64 {
            return Err(FatBinaryError::Header { bytes: header_bytes as u32 });
        }
        let padded = number(entry, 8, 8)?;
        let arch = number(entry, 28, 4)? as u32;
        let start = at.saturating_add(header_bytes);
        let payload = part(content, start, padded)?;
        match number(entry, 0, 2)? as u16 {
            KIND_PTX => found.texts.push(text(arch, entry, payload, most)?),
            _ => found.machine_code.push(arch),
        }
        at = start.saturating_add(padded);
    }
    Ok(found)
}

/// Decompresses the PTX text of an entry, which may have at most `most` bytes, and decodes it as text.
fn text(arch: u32, entry: &[u8], payload: &[u8], most: usize) -> Result<PtxText, FatBinaryError> {
    let bad = |reason: &dyn std::fmt::Display| FatBinaryError::Content { arch, reason: reason.to_string() };
    let flags = number(entry, 40, 8)?;
    let bytes = match flags & (FLAG_LZ4 | FLAG_ZSTD) {
        0 => payload.to_vec(),
        compression => {
            let packed = part(payload, 0, number(entry, 16, 4)?)?;
            let size = number(entry, 56, 8)?;
            let Some(length) = usize::try_from(size).ok().filter(|length| *length <= most) else {
                return Err(FatBinaryError::TooLarge { bytes: size, most });
            };
            if compression & FLAG_LZ4 != 0 {
                lz4_flex::block::decompress(packed, length).map_err(|e| bad(&e))?
            } else {
                let mut unpacked = Vec::new();
                let decoder = StreamingDecoder::new(packed).map_err(|e| bad(&e))?;
                decoder.take(size).read_to_end(&mut unpacked).map_err(|e| bad(&e))?;
                unpacked
            }
        }
    };
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let text = String::from_utf8(bytes[..end].to_vec()).map_err(|e| bad(&e))?;
    let target = text.split_once(".target").and_then(|(_, rest)| rest.split([',', '\n']).next());
    let is_specific = target.is_some_and(|target| target.trim().ends_with(['a', 'f']));
    Ok(PtxText { arch, is_specific, text })
}

/// Returns the newest PTX text that a device can run, given the device's compute capability times ten. Of two
/// texts for the same architecture, prefers the architecture-specific one (`sm_90a`). If all texts are for
/// newer devices, returns the oldest text that is not architecture-specific.
#[must_use]
pub fn choose(texts: &[PtxText], capability: u32) -> Option<&PtxText> {
    let fits = |text: &&PtxText| if text.is_specific { text.arch == capability } else { text.arch <= capability };
    let newest = texts.iter().filter(fits).max_by_key(|text| (text.arch, text.is_specific));
    newest.or_else(|| texts.iter().filter(|text| !text.is_specific).min_by_key(|text| text.arch))
}

/// Returns `length` bytes of the fat binary, starting at offset `start`, or an error if the fat binary is too
/// short.
fn part(bytes: &[u8], start: u64, length: u64) -> Result<&[u8], FatBinaryError> {
    let needed = start.saturating_add(length);
    let range = usize::try_from(start).ok().zip(usize::try_from(needed).ok());
    let found = range.and_then(|(start, end)| bytes.get(start..end));
    found.ok_or(FatBinaryError::Truncated { needed, available: bytes.len() })
}

/// Reads a little-endian number that occupies `size` bytes, at most 8, from offset `at`.
fn number(bytes: &[u8], at: u64, size: u64) -> Result<u64, FatBinaryError> {
    Ok(part(bytes, at, size)?.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

#[cfg(test)]
#[path = "fatbin_tests.rs"]
mod tests;
