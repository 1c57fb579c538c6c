//! Compresses a trace while it is written.

use std::io::{self, Write};

use lzma_rust2::{XzOptions, XzWriter};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// Compression preset of xz. It is the highest of the fast presets.
const XZ_PRESET: u32 = 3;
/// Size in bytes of the uncompressed text in one zstd frame. Each frame is compressed independently, so that
/// the writer need not keep the text of earlier frames in memory.
const FRAME_BYTES: usize = 4 << 20;

/// Compression method of a written trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packing {
    /// No compression.
    #[default]
    Plain,
    /// Compression with xz.
    Xz,
    /// Compression with zstd.
    Zstd,
}

impl Packing {
    /// Suffix that follows `.traceg` in the name of a file.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Xz => ".xz",
            Self::Zstd => ".zst",
        }
    }
}

/// Writer that compresses the text written to it.
pub struct Packer<W: Write>(Output<W>);

enum Output<W: Write> {
    Plain(W),
    Xz(Box<XzWriter<W>>),
    Zstd { out: W, text: Vec<u8> },
}

impl<W: Write> Packer<W> {
    /// Creates a writer whose output goes to `out`.
    ///
    /// # Errors
    /// Returns an error if `out` cannot be written.
    pub fn new(out: W, packing: Packing) -> io::Result<Self> {
        Ok(Self(match packing {
            Packing::Plain => Output::Plain(out),
            Packing::Xz => Output::Xz(Box::new(XzWriter::new(out, XzOptions::with_preset(XZ_PRESET))?)),
            Packing::Zstd => Output::Zstd { out, text: Vec::with_capacity(FRAME_BYTES) },
        }))
    }

    /// Completes the compressed text and returns the output.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            Output::Plain(out) => Ok(out),
            Output::Xz(writer) => writer.finish(),
            Output::Zstd { mut out, mut text } => {
                frame(&mut out, &mut text)?;
                Ok(out)
            }
        }
    }
}

/// Compresses the buffered text to one zstd frame, writes the frame, and empties the buffer.
fn frame(out: &mut impl Write, text: &mut Vec<u8>) -> io::Result<()> {
    out.write_all(&compress_to_vec(&**text, CompressionLevel::Fastest))?;
    text.clear();
    Ok(())
}

impl<W: Write> Write for Packer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Output::Plain(out) => out.write(bytes),
            Output::Xz(writer) => writer.write(bytes),
            Output::Zstd { out, text } => {
                text.extend_from_slice(bytes);
                if text.len() >= FRAME_BYTES {
                    frame(out, text)?;
                }
                Ok(bytes.len())
            }
        }
    }

    /// Only uncompressed output is flushed. Flushing compressed output would end the current compression
    /// block early and compress less.
    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Output::Plain(out) => out.flush(),
            Output::Xz(_) | Output::Zstd { .. } => Ok(()),
        }
    }
}
