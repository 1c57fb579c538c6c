//! Parser of the tokens and numbers in a trace line.

use std::ops::Range;

use super::error::{Fault, quote};

/// Iterator over the words of a line, which are separated by blanks.
#[derive(Clone, Debug)]
pub(super) struct Words<'a> {
    line: &'a [u8],
    at: usize,
}

/// Word of a line, with its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub text: &'a [u8],
    pub start: usize,
}

impl<'a> Words<'a> {
    pub fn new(line: &'a [u8]) -> Self {
        Words { line, at: 0 }
    }

    /// Returns the offset in the line at which the word that was read last ends.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns the next word of the line. If there is none, the error message says that the field `what` was
    /// expected.
    pub fn expect(&mut self, what: &str) -> Result<Word<'a>, Fault> {
        self.next().ok_or_else(|| {
            let end = self.line.trim_ascii_end().len();
            Fault::new(end..end, "the line ends here", format!("the line ends, expected {what}"))
        })
    }

    /// Reads a decimal number from 0 to `most`.
    pub fn decimal(&mut self, what: &str, most: u64) -> Result<u64, Fault> {
        let word = self.expect(what)?;
        decimal(word.text).filter(|&value| value <= most).ok_or_else(|| {
            let range = if most == u64::MAX { String::new() } else { format!(" from 0 to {most}") };
            word.refuse(&format!("{what}, a decimal number{range}"))
        })
    }

    /// Reads a decimal number that may be negative.
    pub fn read_signed(&mut self, what: &str) -> Result<i64, Fault> {
        let word = self.expect(what)?;
        parse_signed(word.text).ok_or_else(|| word.refuse(&format!("{what}, a decimal number")))
    }

    /// Reads a hexadecimal number of up to `bits` bits.
    pub fn hexadecimal(&mut self, what: &str, bits: u32) -> Result<u64, Fault> {
        let word = self.expect(what)?;
        let legal = |value: &u64| u64::BITS - value.leading_zeros() <= bits;
        hexadecimal(word.text)
            .filter(legal)
            .ok_or_else(|| word.refuse(&format!("{what}, a hexadecimal number of at most {} digits", bits / 4)))
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        let rest = &self.line[self.at..];
        let blank = rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let start = self.at + blank;
        let rest = &self.line[start..];
        let length = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        self.at = start + length;
        Some(Word { text: &rest[..length], start })
    }
}

impl Word<'_> {
    pub fn span(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    /// Returns an error that says that this word is not the expected field.
    pub fn refuse(&self, expected: &str) -> Fault {
        Fault::new(self.span(), "this", format!("found {}, expected {expected}", quote(self.text)))
    }
}

/// Parses a decimal number without a sign.
pub(super) fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// Parses a decimal number with or without a sign.
pub(super) fn parse_signed(text: &[u8]) -> Option<i64> {
    match text.strip_prefix(b"-") {
        Some(digits) => 0i64.checked_sub_unsigned(decimal(digits)?),
        None => i64::try_from(decimal(text)?).ok(),
    }
}

/// Parses a hexadecimal number, with or without `0x`.
pub(super) fn hexadecimal(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0u64, |value, &byte| Some(value << 4 | u64::from(char::from(byte).to_digit(16)?)))
}

/// Parses three numbers, as in `4,1,1` or `(4,1,1)`.
pub(super) fn triple(text: &[u8]) -> Option<[u32; 3]> {
    let text = text.trim_ascii();
    let inner = text.strip_prefix(b"(").and_then(|text| text.strip_suffix(b")")).unwrap_or(text);
    let mut numbers = inner.split(|&byte| byte == b',');
    let mut next = || u32::try_from(decimal(numbers.next()?.trim_ascii())?).ok();
    let triple = [next()?, next()?, next()?];
    numbers.next().is_none().then_some(triple)
}

/// Splits a text of the form `key = value`, and returns the value with its position in the line.
pub(super) fn key_value(line: &[u8]) -> Option<(&[u8], Word<'_>)> {
    let equals = line.iter().position(|&byte| byte == b'=')?;
    let value = &line[equals + 1..];
    let start = equals + 1 + (value.len() - value.trim_ascii_start().len());
    Some((line[..equals].trim_ascii(), Word { text: value.trim_ascii(), start }))
}
