//! Opens a trace: plain text, text compressed with xz or zstd, or a `.tracez` file. The first bytes of a file show
//! its compression; the ending of its name shows whether it is a `.tracez` file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, Dictionary, FrameDecoder};

use super::tracez;

/// Number of bytes read at a time, from the file or from the decompressor.
pub(super) const BUFFER: usize = 16 << 10;
/// Maximum window of the decompressor in bytes. Files of `xz -9` need 64 MiB, and files of `zstd` at most 128
/// MiB with default settings.
const MAX_WINDOW: u64 = 128 << 20;
/// First bytes of an xz file. The lower half of the second byte after them is nonzero if the compressed
/// blocks have checksums.
const XZ: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
const XZ_CHECKS: (usize, u8) = (7, 0x0f);
/// First bytes of a zstd frame. The byte after them contains flags, one of which is set if the frame has a
/// checksum.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const ZSTD_CHECKS: (usize, u8) = (4, 0x04);

/// First bytes of files in compression formats that are not supported, each with the name of the format.
const FOREIGN: [(&[u8], &str); 4] = [
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\x04\x22\x4d\x18", "lz4"),
    // First bytes of an lzma file with default properties: the properties byte, then the two low bytes of the
    // dictionary size, which are zero.
    (b"\x5d\0\0", "lzma"),
];

/// Opened trace file with its decompressed text.
pub(super) struct OpenTrace {
    pub decoded: DecodedText,
    /// Number of bytes of the file read so far.
    pub read: Arc<AtomicU64>,
    /// Size of the file in bytes.
    pub size: u64,
}

/// Text of a stream, decompressed if necessary.
pub(super) struct DecodedText {
    /// Decompressed text. A reader gets the end of the text only after all checksums and the end of the
    /// compressed file have been verified.
    pub text: Box<dyn BufRead + Send>,
    /// True if the text has a checksum or is not compressed; false if damage to the compressed text may
    /// remain undetected.
    pub is_checked: bool,
}

pub(super) fn open(path: &Path) -> io::Result<OpenTrace> {
    let file = File::open(path)?;
    let data = file.metadata()?;
    if data.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    let read = Arc::new(AtomicU64::new(0));
    let counted = |file| CountingReader { inner: file, read: Arc::clone(&read) };
    let decoded = if path.extension().is_some_and(|ending| ending == "tracez") {
        tracez::decode(counted(File::open(path)?), counted(file))?
    } else {
        decode(BufReader::with_capacity(BUFFER, counted(file)))?
    };
    Ok(OpenTrace { decoded, read, size: data.len() })
}

/// Decompresses a stream, which may also be plain text.
pub(super) fn decode(mut input: impl BufRead + Send + 'static) -> io::Result<DecodedText> {
    let head = input.fill_buf()?;
    if let Some((_, packer)) = FOREIGN.iter().find(|(magic, _)| head.starts_with(magic)) {
        let reason = format!("it is compressed by {packer}, expected plain text, xz or zstd: unpack it first");
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    let has = |(at, bits): (usize, u8)| head.get(at).is_some_and(|byte| byte & bits != 0);
    if head.starts_with(&XZ) {
        let is_checked = has(XZ_CHECKS);
        let reader = XzReader::new_mem_limit(input, true, (MAX_WINDOW >> 10) as u32);
        return Ok(DecodedText { text: Box::new(BufReader::with_capacity(BUFFER, reader)), is_checked });
    }
    if head.starts_with(&ZSTD) {
        let is_checked = has(ZSTD_CHECKS);
        return Ok(DecodedText { text: Box::new(BufReader::with_capacity(BUFFER, Frames::new(input))), is_checked });
    }
    Ok(DecodedText { text: Box::new(input), is_checked: true })
}

/// Reader that counts the bytes read through it.
struct CountingReader<R> {
    inner: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

impl<R: Seek> Seek for CountingReader<R> {
    fn seek(&mut self, place: SeekFrom) -> io::Result<u64> {
        self.inner.seek(place)
    }
}

/// Reader that decompresses consecutive zstd frames of a stream.
pub(super) struct Frames<R> {
    input: R,
    decoder: FrameDecoder,
    /// Number of the dictionary that all frames use, if any.
    dictionary: Option<u32>,
    is_within: bool,
    /// Number of decompressed bytes of the current frame so far.
    bytes: u64,
}

impl<R: BufRead> Frames<R> {
    pub(super) fn new(input: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        Frames { input, decoder, dictionary: None, is_within: false, bytes: 0 }
    }

    /// Sets the dictionary that all frames use.
    pub(super) fn set_dictionary(&mut self, dictionary: Dictionary) -> io::Result<()> {
        self.dictionary = Some(dictionary.id);
        self.decoder.add_dict(dictionary).map_err(fail_damaged)
    }

    /// Returns the compressed stream, at the end of a frame.
    pub(super) fn input(&mut self) -> &mut R {
        &mut self.input
    }

    /// Begins the next frame that contains data; skips frames that the zstd format declares skippable.
    /// Returns false at the end of the stream.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.input.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.input) {
                Ok(()) => {
                    if let Some(dictionary) = self.dictionary {
                        self.decoder.force_dict(dictionary).map_err(fail_damaged)?;
                    }
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let length = u64::from(length);
                    if io::copy(&mut self.input.by_ref().take(length), &mut io::sink())? != length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(fail_damaged(error)),
            }
        }
        Ok(false)
    }

    /// Verifies the checksum and the size of a frame after all of it has been read.
    fn check_frame(&self) -> io::Result<()> {
        let (written, computed) = (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
        if written.is_some() && written != computed {
            return Err(fail_damaged("the checksum of the zstd data is wrong"));
        }
        // The decoder reports a content size of 0 both for an empty frame and for a frame whose header states
        // no size.
        let size = self.decoder.content_size();
        if size != 0 && size != self.bytes {
            return Err(fail_damaged(format_args!(
                "a frame of zstd has {} bytes of text, its header says {size}",
                self.bytes
            )));
        }
        Ok(())
    }
}

pub(super) fn fail_damaged(error: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while self.is_within || self.begin()? {
            if !std::mem::replace(&mut self.is_within, true) {
                self.bytes = 0;
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.input, one).map_err(fail_damaged)?;
            }
            let bytes = self.decoder.read(buffer)?;
            self.bytes += bytes as u64;
            if bytes > 0 {
                return Ok(bytes);
            }
            self.check_frame()?;
            self.is_within = false;
        }
        Ok(0)
    }
}
