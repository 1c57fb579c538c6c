//! Opening a trace: plain text, xz or zstd, told apart by their first bytes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Bytes read from the file or from a decoder at a time.
const BUFFER: usize = 16 << 10;
/// What a decoder may keep of the text behind it: `xz -9` asks for 64 MiB, `zstd` for up to 128 MiB
/// unless told otherwise.
const MOST_WINDOW: u64 = 128 << 20;
/// How xz begins, before two bytes of which the second says by its lower half which checks blocks have, if any.
const XZ: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
const XZ_CHECKS: (usize, u8) = (7, 0x0f);
/// How a frame of zstd begins, before a byte of which a bit says whether a checksum of its text follows it.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const ZSTD_CHECKS: (usize, u8) = (4, 0x04);

/// How files begin that others compress, and by what.
const FOREIGN: [(&[u8], &str); 4] = [
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\x04\x22\x4d\x18", "lz4"),
    // With the properties that everybody uses, ahead of the size of its dictionary.
    (b"\x5d\0\0", "lzma"),
];

/// An opened file.
pub(super) struct Opened {
    pub decoded: Decoded,
    /// Bytes of the file read so far.
    pub read: Arc<AtomicU64>,
    /// Bytes of the file.
    pub size: u64,
}

/// A text that may have been compressed.
pub(super) struct Decoded {
    /// The text. The last read, which returns nothing, comes behind all checksums and the end of the file.
    pub text: Box<dyn BufRead + Send>,
    /// False if it was compressed without a checksum. Damage may then decode to another text.
    pub is_checked: bool,
}

pub(super) fn open(path: &Path) -> io::Result<Opened> {
    let file = File::open(path)?;
    let data = file.metadata()?;
    if data.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    let read = Arc::new(AtomicU64::new(0));
    let counted = Counted { inner: file, read: Arc::clone(&read) };
    let decoded = decode(BufReader::with_capacity(BUFFER, counted))?;
    Ok(Opened { decoded, read, size: data.len() })
}

/// Decodes a stream, which may be compressed.
pub(super) fn decode(mut input: impl BufRead + Send + 'static) -> io::Result<Decoded> {
    let head = input.fill_buf()?;
    if let Some((_, packer)) = FOREIGN.iter().find(|(magic, _)| head.starts_with(magic)) {
        let reason = format!("it is compressed by {packer}, expected plain text, xz or zstd: unpack it first");
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    let has = |(at, bits): (usize, u8)| head.get(at).is_some_and(|byte| byte & bits != 0);
    if head.starts_with(&XZ) {
        let is_checked = has(XZ_CHECKS);
        let reader = XzReader::new_mem_limit(input, true, (MOST_WINDOW >> 10) as u32);
        return Ok(Decoded { text: Box::new(BufReader::with_capacity(BUFFER, reader)), is_checked });
    }
    if head.starts_with(&ZSTD) {
        let is_checked = has(ZSTD_CHECKS);
        return Ok(Decoded { text: Box::new(BufReader::with_capacity(BUFFER, Frames::new(input))), is_checked });
    }
    Ok(Decoded { text: Box::new(input), is_checked: true })
}

/// Counts what is read through it.
struct Counted<R> {
    inner: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

/// The zstd frames of a stream, one behind the other.
struct Frames<R> {
    input: R,
    decoder: FrameDecoder,
    is_within: bool,
    /// Bytes of the frame's text so far.
    bytes: u64,
}

impl<R: BufRead> Frames<R> {
    fn new(input: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MOST_WINDOW);
        Frames { input, decoder, is_within: false, bytes: 0 }
    }

    /// Begins the next frame that holds data; false if there is none.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.input.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.input) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let length = u64::from(length);
                    if io::copy(&mut self.input.by_ref().take(length), &mut io::sink())? != length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(damaged(error)),
            }
        }
        Ok(false)
    }

    /// Compares a frame that has been read with what its ends say of it.
    fn check_frame(&self) -> io::Result<()> {
        let (written, computed) = (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
        if written.is_some() && written != computed {
            return Err(damaged("the checksum of the zstd data is wrong"));
        }
        // A size of 0 may also stand for none.
        let size = self.decoder.content_size();
        if size != 0 && size != self.bytes {
            return Err(damaged(format_args!(
                "a frame of zstd has {} bytes of text, its header says {size}",
                self.bytes
            )));
        }
        Ok(())
    }
}

fn damaged(error: impl ToString) -> io::Error {
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
                self.decoder.decode_blocks(&mut self.input, one).map_err(damaged)?;
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
