//! Tests of `.tracez` files.

use std::io::Cursor;

use isa::recorded::Cta;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::super::tracez::decode;
use super::super::{KernelTrace, Limits, TraceError};
use super::VOLTA;

/// Trace with a dictionary, compressed by `zstd -D`: two CTAs of two warps, whose instructions are in two chunks
/// each. The addresses of a warp begin at `0x7f0000000000 + 4096 * CTA + 512 * warp`.
const WITH_DICTIONARY: &[u8] = include_bytes!("dictionary.tracez");

const HEADER: &str = "-kernel name = k\n-kernel id = 1\n-grid dim = (2,1,1)\n-block dim = (64,1,1)\n";

/// Returns the instructions of a warp, of which the first `loads` are loads.
fn instructions(warp: u32, loads: usize) -> Vec<String> {
    let load =
        |at| format!("{:04x} ffffffff 1 R2 LDG.E 1 R4 4 1 0x{:x} 4 0\n", 16 * at, 4096 * warp as usize + 128 * at);
    (0..loads).map(load).chain([format!("{:04x} ffffffff 0 EXIT 0 0 0\n", 16 * loads)]).collect()
}

/// Returns a `.tracez` file of two CTAs of two warps. The chunks of a warp have `size` instructions each. The last
/// line of a chunk ends in a line end only if `is_closed` is true.
fn file(size: usize, is_closed: bool) -> Vec<u8> {
    let mut bytes = [HEADER.as_bytes(), VOLTA.as_bytes(), b"\0"].concat();
    let put = |to: &mut Vec<u8>, numbers: &[u32]| to.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    put(&mut bytes, &[0, size as u32]);
    let mut index = Vec::new();
    put(&mut index, &[2]);
    for cta in 0..2 {
        put(&mut index, &[cta, 0, 0, 0, 0, 0, cta, 0, 0, cta, 2]);
        for warp in 0..2 {
            let lines = instructions(2 * cta + warp, 5);
            let chunks: Vec<_> = lines.chunks(size).collect();
            let counts = [lines.len() as u32, chunks.len() as u32];
            put(&mut index, &counts);
            index.extend((bytes.len() as u64).to_le_bytes());
            put(&mut bytes, &counts);
            for chunk in chunks {
                put(&mut index, &[chunk.len() as u32]);
                let text = chunk.concat();
                let text = if is_closed { &text[..] } else { text.trim_end() };
                let frame = compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
                put(&mut bytes, &[frame.len() as u32]);
                bytes.extend(frame);
            }
        }
    }
    let start = bytes.len() as u64;
    [bytes, index, start.to_le_bytes().to_vec()].concat()
}

fn read(bytes: &[u8]) -> Result<Vec<Cta>, TraceError> {
    let unreadable = |reason| TraceError::unreadable("t.tracez".as_ref(), reason);
    let [index, chunks] = [bytes, bytes].map(|bytes| Cursor::new(bytes.to_vec()));
    let decoded = decode(index, chunks).map_err(unreadable)?;
    KernelTrace::new(decoded.text, "t.tracez", Limits::default())?.collect()
}

fn error(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

#[test]
fn a_file_has_the_warps_of_its_text() {
    let mut text = format!("{HEADER}{VOLTA}");
    for cta in 0..2 {
        text += &format!("#BEGIN_TB\nthread block = {cta},0,0\ncluster cta = {cta},0,0\ncluster rank = {cta}\n");
        for warp in 0..2 {
            text += &format!("warp = {warp}\ninsts = 6\n{}", instructions(2 * cta + warp, 5).concat());
        }
        text += "#END_TB\n";
    }
    let (expected, _) = super::read(&text).unwrap();
    for (size, is_closed) in [(6, true), (4, true), (4, false), (1, true), (100, false)] {
        assert_eq!(read(&file(size, is_closed)).unwrap(), expected, "chunks of {size}");
    }
}

#[test]
fn chunks_may_share_a_dictionary() {
    let ctas = read(WITH_DICTIONARY).unwrap();
    assert_eq!(ctas.iter().map(Cta::num_steps).collect::<Vec<_>>(), [14, 14]);
    for (at, cta) in ctas.iter().enumerate() {
        for (number, warp) in cta.warps.iter().enumerate() {
            let first = warp.steps()[0];
            assert_eq!(warp.addresses(&first).unwrap()[0], 0x7f00_0000_0000 + (4096 * at + 512 * number) as u64);
        }
    }
}

#[test]
fn an_index_that_contradicts_the_chunks_is_refused() {
    let whole = file(4, true);
    let start = u64::from_le_bytes(whole[whole.len() - 8..].try_into().unwrap()) as usize;
    let with = |at: usize, number: u32| {
        let mut changed = whole.clone();
        changed[at..at + 4].copy_from_slice(&number.to_le_bytes());
        error(&changed)
    };
    // In the index, 44 bytes about the first CTA follow the number of CTAs. Its first warp has 6 instructions in 2
    // chunks, the first chunk has 4.
    let warp = start + 48;
    let told = "the index states [5, 2] instructions and chunks of a warp, its part [6, 2]";
    assert!(with(warp, 5).ends_with(told), "{}", with(warp, 5));
    assert!(with(warp + 16, 3).ends_with("a chunk has 4 lines, the index states 3 instructions"));
    assert!(with(warp + 16, 7).ends_with("a chunk has 7 instructions, its warp only 6 more"));
    let told = "the index states offset 3145728 for a warp, expected one before the index itself";
    assert!(with(warp + 8, 3 << 20).ends_with(told), "{}", with(warp + 8, 3 << 20));
    let told = "the file does not end in the offset of its index: it is truncated or damaged";
    assert!(with(whole.len() - 8, 3 << 20).ends_with(told), "{}", with(whole.len() - 8, 3 << 20));
    assert!(
        error(b"-kernel name = k\n").ends_with("no zero byte ends the header, as in a file with the ending .tracez")
    );
}

#[test]
fn damage_to_a_file_is_refused_or_changes_only_what_has_no_checksum() {
    for whole in [file(4, true), WITH_DICTIONARY.to_vec()] {
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "{length} bytes");
        }
        // Where the damage is in a number or an address, the trace may still be legal. The reader must not panic.
        for bit in 0..8 * whole.len() {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            if let Err(error) = read(&damaged) {
                assert!(error.to_string().starts_with("t.tracez"), "{error}");
            }
        }
    }
}
