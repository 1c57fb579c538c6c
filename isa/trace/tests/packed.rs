//! Compressed texts.

use std::io::{Cursor, Write};

use lzma_rust2::{XzOptions, XzWriter};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::super::{KernelTrace, Limits, Packer, Packing, TraceError};
use super::volta;

fn text() -> String {
    volta(&"0000 ffffffff 1 R2 LDG.E 1 R4 4 1 0x100 4 0\n".repeat(5000))
}

fn xz(text: &[u8]) -> Vec<u8> {
    let mut writer = XzWriter::new(Vec::new(), XzOptions::with_preset(1)).unwrap();
    writer.write_all(text).unwrap();
    writer.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    compress_to_vec(text, CompressionLevel::Fastest)
}

fn steps(bytes: Vec<u8>) -> Result<u64, TraceError> {
    let mut kernel = KernelTrace::new(Cursor::new(bytes), "packed", Limits::default())?;
    let mut steps = 0;
    while let Some(cta) = kernel.next_cta()? {
        steps += cta.num_steps();
    }
    Ok(steps)
}

#[test]
fn xz_and_zstd_are_recognised_by_their_first_bytes() {
    let text = text();
    assert!(xz(text.as_bytes()).len() < 1000);
    assert_eq!(steps(xz(text.as_bytes())).unwrap(), 5000);
    assert_eq!(steps(zstd(text.as_bytes())).unwrap(), 5000);
}

#[test]
fn what_is_packed_as_it_is_written_is_read_again() {
    for packing in [Packing::Plain, Packing::Xz, Packing::Zstd] {
        let mut packer = Packer::new(Vec::new(), packing).unwrap();
        let text = text();
        // In pieces that end within lines.
        for piece in text.as_bytes().chunks(777) {
            packer.write_all(piece).unwrap();
        }
        let packed = packer.finish().unwrap();
        assert_eq!(packed.len() < text.len(), packing != Packing::Plain);
        assert_eq!(steps(packed).unwrap(), 5000, "{packing:?}");
    }
}

#[test]
fn streams_one_behind_the_other_are_one_text() {
    let text = text();
    let (first, second) = text.as_bytes().split_at(1234);
    assert_eq!(steps([xz(first), xz(second)].concat()).unwrap(), 5000);
    let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    assert_eq!(steps([zstd(first), skippable, zstd(second)].concat()).unwrap(), 5000);
}

#[test]
fn damaged_and_cut_streams_are_refused_with_the_line_reached() {
    let text = text();
    for packed in [xz(text.as_bytes()), zstd(text.as_bytes())] {
        let cut = packed[..packed.len() - 20].to_vec();
        let error = steps(cut).unwrap_err().to_string();
        assert!(error.contains(": cannot be read further: "), "{error}");
        let mut damaged = packed;
        let middle = damaged.len() / 2;
        damaged[middle] ^= 0x55;
        assert!(steps(damaged).is_err());
    }
}
