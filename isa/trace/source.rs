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
const XZ: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// An opened file.
pub(super) struct Opened {
    pub text: Box<dyn BufRead + Send>,
    /// Bytes of the file read so far.
    pub read: Arc<AtomicU64>,
    /// Bytes of the file.
    pub size: u64,
}

pub(super) fn open(path: &Path) -> io::Result<Opened> {
    let file = File::open(path)?;
    let data = file.metadata()?;
    if data.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    let read = Arc::new(AtomicU64::new(0));
    let counted = Counted { inner: file, read: Arc::clone(&read) };
    let text = decoded(BufReader::with_capacity(BUFFER, counted))?;
    Ok(Opened { text, read, size: data.len() })
}

/// The text of a stream that may be compressed.
pub(super) fn decoded(mut input: impl BufRead + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    let head = input.fill_buf()?;
    if head.starts_with(&XZ) {
        let reader = XzReader::new_mem_limit(input, true, (MOST_WINDOW >> 10) as u32);
        return Ok(Box::new(BufReader::with_capacity(BUFFER, reader)));
    }
    if head.starts_with(&ZSTD) {
        return Ok(Box::new(BufReader::with_capacity(BUFFER, Frames::new(input))));
    }
    Ok(Box::new(input))
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
}

impl<R: BufRead> Frames<R> {
    fn new(input: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MOST_WINDOW);
        Frames { input, decoder, is_within: false }
    }

    /// Begins the next frame that holds data; false if there is none.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.input.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.input) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    io::copy(&mut self.input.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(damaged(error)),
            }
        }
        Ok(false)
    }
}

fn damaged(error: FrameDecoderError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while self.is_within || self.begin()? {
            self.is_within = true;
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.input, one).map_err(damaged)?;
            }
            let bytes = self.decoder.read(buffer)?;
            if bytes > 0 {
                return Ok(bytes);
            }
            let (written, computed) = (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
            if written.is_some() && written != computed {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum of the zstd data is wrong"));
            }
            self.is_within = false;
        }
        Ok(0)
    }
}
