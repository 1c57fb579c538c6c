//! Random mutations (damage) of files, which a reader must survive.
//!
//! A few changes to a valid file find more bugs than random bytes. Most of the file is still meaningful, so
//! the reader processes much of it before it detects an error.

use hdl::Random;

/// Maximum length of a mutated file in bytes. Without it, repeated mutations could make a file grow without
/// bound.
pub(super) const LONGEST: usize = 1 << 18;
/// Maximum length in bytes of the range that one mutation changes.
const RANGE: u64 = 64;
/// Upper limit, exclusive, of the number of copies of a text line that one mutation inserts.
const REPEATS: u64 = 400;

/// Minimum number of characters in a line that a mutation makes long. Column numbers at the end of such a
/// line do not fit into 16 bits.
const LONG_LINE: usize = (1 << 16) + 1;
/// A mutation that makes a long line adds filler to a line in one out of `LONG_LINES` cases. In the other
/// cases it joins all lines into one, because readers process the resulting file faster.
const LONG_LINES: u64 = 4;

/// Words that mutations insert. Most are values at the limits of what readers accept.
const WORDS: [&str; 32] = [
    "0",
    "-1",
    "1",
    "255",
    "256",
    "65536",
    "2147483647",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999999999",
    "0x",
    "0xffffffff",
    "0xffffffffffffffff",
    "0x10000000000000000",
    "1e999",
    "nan",
    "0f7F800000",
    "0d7FF8000000000000",
    "\"",
    "{",
    "}",
    "[[",
    "=",
    "#",
    ";",
    "\0",
    "\u{feff}",
];

/// Returns a copy of `text` with some random changes. Some of the changes copy pieces of `other`.
pub(super) fn mutate(random: &mut Random, text: &[u8], other: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    let changes = 1 << random.below(5);
    for _ in 0..1 + random.below(changes) {
        change(random, &mut text, other);
        text.truncate(LONGEST);
    }
    text
}

fn change(random: &mut Random, text: &mut Vec<u8>, other: &[u8]) {
    let at = random.below(text.len() as u64 + 1) as usize;
    match random.below(13) {
        0 => {
            if let Some(byte) = text.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => {
            if let Some(byte) = text.get_mut(at) {
                *byte = random.below(256) as u8;
            }
        }
        2 => drop(text.drain(range(random, text.len()))),
        3 => {
            let part = text[range(random, text.len())].to_vec();
            insert(text, at, &part);
        }
        4 => {
            let part = &other[range(random, other.len())];
            insert(text, at, part);
        }
        5 => text.truncate(at),
        // Words and lines are changed more often than single bytes, because the readers parse words and
        // lines.
        6 | 7 => {
            let word = piece(random, text, |byte| byte.is_ascii_alphanumeric());
            let new = WORDS[random.below(WORDS.len() as u64) as usize];
            text.splice(word, new.bytes());
        }
        8 | 9 => {
            let word = piece(random, text, |byte| !byte.is_ascii_whitespace());
            let new = other[piece(random, other, |byte| !byte.is_ascii_whitespace())].to_vec();
            text.splice(word, new);
        }
        10 => {
            let line = piece(random, text, |byte| byte != b'\n');
            let mut part = text[line.clone()].to_vec();
            part.push(b'\n');
            let times = random.below(REPEATS) as usize;
            insert(text, line.start, &part.repeat(times.min(LONGEST / part.len())));
        }
        // Adds filler before the text of a line, so that the text begins after column 65,536. Errors are
        // often reported in such a line.
        11 if random.below(LONG_LINES) == 0 => {
            let line = piece(random, text, |byte| byte != b'\n');
            let word = text[piece_around(text, at.min(text.len()), |byte| !byte.is_ascii_whitespace())].to_vec();
            let filler = match random.below(3) {
                0 => b" ".to_vec(),
                1 if !word.is_empty() => [&word[..], b" "].concat(),
                _ => "\u{fc}".as_bytes().to_vec(),
            };
            let length = LONG_LINE + random.below(LONG_LINE as u64) as usize;
            insert(text, line.start, &filler.repeat(length.div_ceil(filler.len())));
        }
        11 => text.retain(|byte| *byte != b'\n'),
        _ => {
            let line = piece(random, text, |byte| byte != b'\n');
            let part: Vec<u8> = text.drain(line).collect();
            let at = random.below(text.len() as u64 + 1) as usize;
            let at = piece_around(text, at, |byte| byte != b'\n').start;
            insert(text, at, &part);
        }
    }
}

fn insert(text: &mut Vec<u8>, at: usize, part: &[u8]) {
    text.splice(at..at, part.iter().copied());
}

/// Returns a random short range of a text.
fn range(random: &mut Random, length: usize) -> std::ops::Range<usize> {
    let from = random.below(length as u64 + 1) as usize;
    let most = 1 + random.below(RANGE) as usize;
    from..(from + most).min(length)
}

/// Returns the longest range around a random position in which all bytes satisfy `belongs`.
fn piece(random: &mut Random, text: &[u8], belongs: impl Fn(u8) -> bool) -> std::ops::Range<usize> {
    piece_around(text, random.below(text.len() as u64 + 1) as usize, belongs)
}

fn piece_around(text: &[u8], at: usize, belongs: impl Fn(u8) -> bool) -> std::ops::Range<usize> {
    let before = text[..at].iter().rev().take_while(|&&byte| belongs(byte)).count();
    let after = text[at..].iter().take_while(|&&byte| belongs(byte)).count();
    at - before..at + after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_depend_on_the_seed_alone_and_stay_within_the_longest_text() {
        let (text, other) = (b"one two 3\nfour\n".repeat(40), b"alpha = 0x10\n".repeat(40));
        let all = |seed| {
            let mut random = Random::new(seed);
            (0..2000).map(|_| mutate(&mut random, &text, &other)).collect::<Vec<_>>()
        };
        let mutants = all(5);
        assert_eq!(mutants, all(5));
        assert_ne!(mutants, all(6));
        assert!(mutants.iter().all(|mutant| mutant.len() <= LONGEST));
        assert!(mutants.iter().filter(|mutant| **mutant != text).count() > 1900);
    }

    #[test]
    fn some_mutants_have_lines_whose_columns_need_more_than_16_bits() {
        let text = b"one = 2\nthree = [4, 5]\n".repeat(20);
        let mut random = Random::new(3);
        let is_long = |mutant: &Vec<u8>| mutant.split(|byte| *byte == b'\n').any(|line| line.len() > LONG_LINE);
        let long = (0..2000).filter(|_| is_long(&mutate(&mut random, &text, &text))).count();
        assert!((20..400).contains(&long), "{long} of 2000");
    }

    #[test]
    fn an_empty_text_can_be_changed() {
        let mut random = Random::new(1);
        (0..2000).for_each(|_| drop(mutate(&mut random, b"", b"")));
    }
}
