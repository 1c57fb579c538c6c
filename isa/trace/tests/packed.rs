//! Tests of compressed traces.

use std::io::{Cursor, Write};

use isa::recorded::Cta;
use lzma_rust2::{CheckType, XzOptions, XzWriter};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::super::{KernelTrace, Limits, Packer, Packing, TraceError};
use super::{volta, warnings};

fn text() -> String {
    volta(&"0000 ffffffff 1 R2 LDG.E 1 R4 4 1 0x100 4 0\n".repeat(5000))
}

fn xz(text: &[u8]) -> Vec<u8> {
    xz_with(XzOptions::with_preset(1), text)
}

fn xz_with(options: XzOptions, text: &[u8]) -> Vec<u8> {
    let mut writer = XzWriter::new(Vec::new(), options).unwrap();
    writer.write_all(text).unwrap();
    writer.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    compress_to_vec(text, CompressionLevel::Fastest)
}

/// Removes the checksum of a zstd frame.
fn without_checksum(mut frame: Vec<u8>) -> Vec<u8> {
    frame[4] &= !4;
    frame.truncate(frame.len() - 4);
    frame
}

/// Returns a skippable zstd frame with the given content.
fn skippable(content: &[u8]) -> Vec<u8> {
    [&[0x50, 0x2a, 0x4d, 0x18][..], &(content.len() as u32).to_le_bytes(), content].concat()
}

/// Reads a file to its end. Returns all CTAs and the warnings.
fn read(bytes: Vec<u8>) -> Result<(Vec<Cta>, Vec<String>), TraceError> {
    let mut kernel = KernelTrace::new(Cursor::new(bytes), "packed", Limits::default())?;
    let ctas: Result<Vec<_>, _> = kernel.by_ref().collect();
    Ok((ctas?, warnings(&kernel)))
}

fn steps(bytes: Vec<u8>) -> Result<u64, TraceError> {
    Ok(read(bytes)?.0.iter().map(Cta::num_steps).sum())
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
        // The text is passed to the writer in pieces of 777 bytes, most of which end in the middle of a line.
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
    assert_eq!(steps([zstd(first), skippable(b"abc"), zstd(second)].concat()).unwrap(), 5000);
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

/// Returns small compressed traces of a few CTAs, one for each compression method.
fn small_files() -> Vec<(&'static str, Vec<u8>)> {
    let cta = "#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 2\n0000 ffffffff 1 R2 LDG.E 1 R4 4 1 0x100 4 0\n\
               0010 ffffffff 0 EXIT 0 0 0\n#END_TB\n";
    let text = volta("0000 0000ffff 0 EXIT 0 0 0").replace("(1,1,1)\n-b", "(4,1,1)\n-b") + &cta.repeat(3);
    let (first, second) = text.as_bytes().split_at(text.len() - cta.len());
    vec![
        ("xz", xz(text.as_bytes())),
        ("two streams of xz", [xz(first), xz(second)].concat()),
        ("zstd", zstd(text.as_bytes())),
        ("two frames of zstd", [zstd(first), zstd(second)].concat()),
        ("zstd with skipped frames", [zstd(first), skippable(b"abc"), zstd(second), skippable(b"")].concat()),
    ]
}

#[test]
fn a_flipped_bit_is_refused_or_changes_nothing_wherever_it_is() {
    for (name, whole) in small_files() {
        let expected = read(whole.clone()).unwrap();
        let mut refused = 0;
        for bit in 0..8 * whole.len() {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            match read(damaged) {
                Ok((ctas, _)) => assert_eq!(ctas, expected.0, "{name}, bit {bit}"),
                Err(error) => {
                    assert!(error.to_string().starts_with("packed:"), "{name}, bit {bit}: {error}");
                    refused += 1;
                }
            }
        }
        assert!(refused >= 7 * whole.len(), "{name}: {refused} of {} bits", 8 * whole.len());
    }
}

#[test]
fn a_file_that_is_cut_or_goes_on_behind_its_end_is_refused() {
    for (name, whole) in small_files() {
        let expected = read(whole.clone()).unwrap();
        for length in 0..whole.len() {
            // Each file is cut off after `length` bytes. Where the cut removes complete streams or frames,
            // the reader can notice only that the file has fewer CTAs than the grid.
            if let Ok((ctas, warnings)) = read(whole[..length].to_vec()) {
                let is_short = warnings.iter().any(|warning| warning.contains("CTAs, the grid 4"));
                assert!(ctas == expected.0 || is_short, "{name}, {length} bytes");
            }
        }
        for tail in [&b"x"[..], b"more", b"#END_TB\n", &whole[..9]] {
            let error = read([&whole, tail].concat()).unwrap_err().to_string();
            assert!(error.contains(": cannot be read further: "), "{name}: {error}");
        }
    }
}

#[test]
fn a_skipped_frame_that_the_file_ends_in_is_refused() {
    let text = text();
    let cut = [zstd(text.as_bytes()), skippable(&[7; 100])[..50].to_vec()].concat();
    let error = steps(cut).unwrap_err().to_string();
    assert!(error.ends_with("cannot be read further: unexpected end of file"), "{error}");
}

#[test]
fn a_frame_whose_size_is_not_the_one_it_states_is_refused() {
    // Returns a zstd frame with two bytes of uncompressed text and no checksum. The frame header states
    // `size` as the number of bytes, so 2 is right and 3 is wrong.
    let frame = |size: u8| [&[0x28, 0xb5, 0x2f, 0xfd, 0x20, size][..], &[0x11, 0, 0], b"\n\n"].concat();
    let text = text();
    let steps_behind = |size| steps([frame(size), zstd(text.as_bytes())].concat());
    assert_eq!(steps_behind(2).unwrap(), 5000);
    let error = steps_behind(3).unwrap_err().to_string();
    assert!(error.contains("a frame of zstd has 2 bytes of text, its header says 3"), "{error}");
}

#[test]
fn files_without_a_checksum_are_read_with_a_warning() {
    let text = text();
    let mut unchecked = XzOptions::with_preset(1);
    unchecked.set_check_sum_type(CheckType::None);
    let files = [xz_with(unchecked, text.as_bytes()), without_checksum(zstd(text.as_bytes()))];
    for file in files {
        let (ctas, warnings) = read(file).unwrap();
        assert_eq!(ctas[0].num_steps(), 5000);
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(warning.ends_with("the file is compressed without a checksum: damage to it may remain unnoticed"));
    }
    for checked in [xz(text.as_bytes()), zstd(text.as_bytes()), text.clone().into_bytes()] {
        assert_eq!(read(checked).unwrap().1, [""; 0]);
    }
}
