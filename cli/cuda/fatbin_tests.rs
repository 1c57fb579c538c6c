use proptest::prelude::*;

use super::*;

/// Limit on the bytes of a text in these tests.
const MOST: usize = 4096;
const TEXT: &str = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n";

/// Builds an entry of a fat binary with the given content, which had `size` bytes before compression.
fn entry(kind: u16, arch: u32, flags: u64, content: &[u8], size: u64) -> Vec<u8> {
    let padded = content.len().next_multiple_of(8);
    let packed = if flags == 0 { 0 } else { content.len() as u32 };
    let mut bytes = vec![0; ENTRY_BYTES];
    bytes[0..2].copy_from_slice(&kind.to_le_bytes());
    bytes[4..8].copy_from_slice(&(ENTRY_BYTES as u32).to_le_bytes());
    bytes[8..16].copy_from_slice(&(padded as u64).to_le_bytes());
    bytes[16..20].copy_from_slice(&packed.to_le_bytes());
    bytes[28..32].copy_from_slice(&arch.to_le_bytes());
    bytes[40..48].copy_from_slice(&flags.to_le_bytes());
    bytes[56..64].copy_from_slice(&size.to_le_bytes());
    bytes.extend_from_slice(content);
    bytes.resize(ENTRY_BYTES + padded, 0);
    bytes
}

fn fat(entries: &[Vec<u8>]) -> Vec<u8> {
    let content = entries.concat();
    let mut bytes = MAGIC.to_le_bytes().to_vec();
    bytes.extend_from_slice(&[1, 0, 16, 0]);
    bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
    bytes.extend(content);
    bytes
}

/// Builds a Zstandard frame that contains one uncompressed data block.
fn zstd(content: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x60];
    frame.extend_from_slice(&((content.len() - 256) as u16).to_le_bytes());
    frame.extend_from_slice(&((content.len() as u32) << 3 | 1).to_le_bytes()[..3]);
    frame.extend_from_slice(content);
    frame
}

fn forms() -> Vec<u8> {
    let long = TEXT.replace("ret;", &"ret;\n".repeat(80));
    let lz4 = lz4_flex::block::compress(long.as_bytes());
    fat(&[
        entry(2, 86, 0, &[0x7f, b'E', b'L', b'F'], 0),
        entry(KIND_PTX, 75, 0, TEXT.as_bytes(), 0),
        entry(KIND_PTX, 80, FLAG_LZ4, &lz4, long.len() as u64),
        entry(KIND_PTX, 90, FLAG_ZSTD, &zstd(long.as_bytes()), long.len() as u64),
    ])
}

#[test]
fn texts_are_read_plain_and_in_both_compressed_forms() {
    let read = read(&forms(), MOST).unwrap();
    assert_eq!(read.machine_code, [86]);
    assert_eq!(read.texts.iter().map(|text| text.arch).collect::<Vec<_>>(), [75, 80, 90]);
    assert_eq!(read.texts[0].text, TEXT);
    assert_eq!(read.texts[1].text, read.texts[2].text);
    assert!(read.texts[1].text.matches("ret;").count() == 80);
}

#[test]
fn a_compressed_text_may_have_as_many_bytes_as_the_limit_and_no_more() {
    for (most, is_read) in [(TEXT.len(), true), (TEXT.len() - 1, false)] {
        let packed = lz4_flex::block::compress(TEXT.as_bytes());
        let found = read(&fat(&[entry(KIND_PTX, 80, FLAG_LZ4, &packed, TEXT.len() as u64)]), most);
        assert_eq!(found.is_ok(), is_read, "{found:?}");
    }
}

#[test]
fn the_newest_text_that_a_device_can_run_is_chosen() {
    let text = |arch, is_specific| PtxText { arch, is_specific, text: String::new() };
    let texts = [text(75, false), text(90, false), text(90, true), text(80, false), text(100, true)];
    let chosen = |capability| choose(&texts, capability).map(|text| (text.arch, text.is_specific));
    assert_eq!(chosen(80), Some((80, false)));
    assert_eq!(chosen(89), Some((80, false)));
    assert_eq!(chosen(90), Some((90, true)));
    assert_eq!(chosen(95), Some((90, false)));
    assert_eq!(chosen(20), Some((75, false)));
    assert_eq!(choose(&texts[4..], 90), None);
}

#[test]
fn a_text_for_one_architecture_alone_is_recognized_by_its_target() {
    let specific = |target: &str| {
        let text = TEXT.replace("sm_75", target);
        read(&fat(&[entry(KIND_PTX, 90, 0, text.as_bytes(), 0)]), MOST).unwrap().texts[0].is_specific
    };
    assert_eq!([specific("sm_90"), specific("sm_90a"), specific("sm_90a, debug")], [false, true, true]);
}

#[test]
fn malformed_files_are_refused_with_the_reason() {
    let message = |bytes: &[u8]| read(bytes, MOST).unwrap_err().to_string();
    assert_eq!(message(&[0; 16]), "a fat binary begins with 0x0, expected 0xba55ed50");
    assert_eq!(message(&forms()[..8]), "a fat binary of 8 bytes is truncated: expected 16 bytes");
    assert!(message(&forms()[..100]).contains("is truncated"));
    let mut huge = fat(&[entry(KIND_PTX, 75, FLAG_LZ4, &[0; 8], 1 << 40)]);
    assert!(message(&huge).contains("has 1099511627776 bytes, expected at most 4096"));
    huge[16 + 4] = 8;
    assert!(message(&huge).contains("a header of 8 bytes"));
    assert!(message(&fat(&[entry(KIND_PTX, 75, FLAG_ZSTD, &[1; 8], 8)])).contains("for sm_75 cannot be read"));
    assert!(message(&fat(&[entry(KIND_PTX, 75, 0, &[0xff; 8], 8)])).contains("invalid utf-8"));
}

proptest! {
    #[test]
    fn no_bytes_cause_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
        let _ = read(&bytes, MOST);
    }

    #[test]
    fn no_change_of_a_fat_binary_causes_a_panic(changes in proptest::collection::vec((0usize..600, any::<u8>()), 1..8)) {
        let mut bytes = forms();
        for (at, value) in changes {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        let _ = read(&bytes, MOST);
    }
}
