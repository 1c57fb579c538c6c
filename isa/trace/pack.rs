//! Compression of a text while it is written.

use std::io::{self, Write};

use lzma_rust2::{XzOptions, XzWriter};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// Preset of xz: among the fast presets, the one that still searches all of the text for matches.
const XZ_PRESET: u32 = 3;
/// Size in bytes of the text in one zstd frame. Frames are independent, so the text of earlier frames need
/// not be kept.
const FRAME_BYTES: usize = 4 << 20;

/// Compression of a text.
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

/// Writer that compresses its input.
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
    /// If `out` cannot be written.
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
    /// If the output cannot be written.
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

/// Writes the buffered text as a frame.
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

    /// Does not flush compressed output, since that would end a block early.
    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Output::Plain(out) => out.flush(),
            Output::Xz(_) | Output::Zstd { .. } => Ok(()),
        }
    }
}
