//! Cache of parsed instruction lines.
//!
//! A trace repeats few instructions millions of times. All lines of an instruction have the same text between
//! the mask of active lanes and the addresses, and the same text after the addresses. The cache stores both
//! texts of a line with its parsed result. If a later line contains the same two texts, byte for byte, only
//! its mask and addresses are parsed. All other lines, including any damaged line, are parsed completely.

use std::hash::Hasher;

use isa::recorded::record::{LANES, lanes_of};
use rustc_hash::FxHasher;

use super::instruction::{AddressForm, Format, ParsedLine, odd_stride};

/// Number of cache entries: more than the distinct instructions of most kernels.
const PLACES: usize = 1 << 12;

/// Direct-mapped cache of instruction lines, indexed by a hash of pc and text. A new line replaces the cached
/// line with the same index.
pub(super) struct LineCache(Box<[Option<CachedLine>]>);

struct CachedLine {
    pc: u32,
    source_line: u32,
    /// Text of the line between the mask and the addresses, including the access width. In a line without
    /// addresses, the text extends to the end of the line.
    text: Box<[u8]>,
    /// Text of the line after the addresses.
    rest: Box<[u8]>,
    /// Parsed result of the line.
    parsed: ParsedLine,
}

/// Positions in a line that delimit the texts that all lines of an instruction share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub pc: u32,
    pub source_line: u32,
    /// Offset of the end of the mask in the line.
    pub mask_end: usize,
    /// Offset in the line of the end of the access width. In a line without addresses, offset of the end of
    /// the line.
    pub text_end: usize,
    /// Offset of the end of the addresses in the line.
    pub addresses_end: usize,
}

impl LineCache {
    /// Creates an empty cache.
    pub fn new() -> Self {
        LineCache((0..PLACES).map(|_| None).collect())
    }

    /// Parses a line with the help of the cached line of the same instruction. Returns `None` on a cache
    /// miss, or if the line is not in plain format: words separated by single blanks.
    #[inline(always)]
    pub fn read(&self, format: Format, line: &[u8], addresses: &mut [u64; LANES]) -> Option<ParsedLine> {
        let mut line = Plain(line);
        let origin = if format.has_origin {
            let mut number = || u32::try_from(line.decimal()?).ok();
            Some(([number()?, number()?, number()?], number()?))
        } else {
            None
        };
        let source_line = if format.has_line { u32::try_from(line.decimal()?).ok()? } else { 0 };
        let pc = u32::try_from(line.hexadecimal()?).ok()?;
        let mask = line.mask()?;
        let known = self.0[place(pc, line.0)].as_ref()?;
        if known.pc != pc || known.source_line != source_line {
            return None;
        }
        line.0 = line.0.strip_prefix(&*known.text)?;
        let mut parsed = ParsedLine { mask, origin, ..known.parsed };
        if !matches!(parsed.addresses, AddressForm::None) {
            parsed.addresses = line.addresses(mask, addresses)?;
            parsed.odd = if let AddressForm::Stride { .. } = parsed.addresses { odd_stride(mask) } else { None };
        }
        (line.0 == &*known.rest).then_some(parsed)
    }

    /// Stores a line and its parsed result in the cache.
    pub fn keep(&mut self, line: &[u8], marks: &Marks, parsed: ParsedLine) {
        let &Marks { pc, source_line, mask_end, text_end, addresses_end } = marks;
        let Some(text) = line.get(mask_end + 1..text_end) else { return };
        let rest = line.get(addresses_end + 1..).unwrap_or_default();
        self.0[place(pc, &line[mask_end + 1..])] =
            Some(CachedLine { pc, source_line, text: text.into(), rest: rest.into(), parsed });
    }
}

/// Returns the cache index of an instruction line. The index depends on the pc and on the text, because
/// instructions of different functions of a kernel may have the same pc.
fn place(pc: u32, text: &[u8]) -> usize {
    let head = text.first_chunk().map_or(0, |head| u64::from_le_bytes(*head));
    let mut hasher = FxHasher::default();
    hasher.write_u64(head ^ u64::from(pc));
    hasher.finish() as usize % PLACES
}

/// Rest of a line in plain format, in which words are separated by single blanks.
struct Plain<'a>(&'a [u8]);

/// Values of the hexadecimal digits; [`NO_DIGIT`] for all other bytes.
const DIGITS: [u8; 256] = {
    let mut digits = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 16 {
        digits[b"0123456789abcdef"[value] as usize] = value as u8;
        digits[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    digits
};
const NO_DIGIT: u8 = 0xff;

impl<'a> Plain<'a> {
    /// Parses a number of at most `most_digits` digits at the beginning of `text`, and skips the blank after
    /// it.
    #[inline(always)]
    fn number(&mut self, text: &'a [u8], radix: u8, most_digits: usize, digit: impl Fn(u8) -> u8) -> Option<u64> {
        let (mut rest, mut value) = (text, 0u64);
        while let [byte, tail @ ..] = rest
            && digit(*byte) < radix
        {
            value = value.wrapping_mul(radix.into()).wrapping_add(digit(*byte).into());
            rest = tail;
        }
        let length = text.len() - rest.len();
        self.0 = match rest {
            [] => &[],
            [b' ', rest @ ..] => rest,
            _ => return None,
        };
        (1..=most_digits).contains(&length).then_some(value)
    }

    #[inline(always)]
    fn hexadecimal(&mut self) -> Option<u64> {
        let digits = self.0.strip_prefix(b"0x").unwrap_or(self.0);
        self.number(digits, 16, 16, |byte| DIGITS[usize::from(byte)])
    }

    fn mask(&mut self) -> Option<u32> {
        if let Some(rest) = self.0.strip_prefix(b"ffffffff ") {
            self.0 = rest;
            return Some(u32::MAX);
        }
        u32::try_from(self.hexadecimal()?).ok()
    }

    /// Parses a decimal number. Plain format allows at most 18 digits, so the number cannot overflow 64 bits.
    #[inline(always)]
    fn decimal_in(&mut self, digits: &'a [u8]) -> Option<u64> {
        self.number(digits, 10, 18, |byte| byte.wrapping_sub(b'0'))
    }

    fn decimal(&mut self) -> Option<u64> {
        self.decimal_in(self.0)
    }

    #[inline(always)]
    fn read_signed(&mut self) -> Option<i64> {
        match self.0.strip_prefix(b"-") {
            Some(digits) => Some(-(self.decimal_in(digits)? as i64)),
            None => Some(self.decimal_in(self.0)? as i64),
        }
    }

    /// Parses the address mode, and the addresses of the lanes in `mask`.
    fn addresses(&mut self, mask: u32, addresses: &mut [u64; LANES]) -> Option<AddressForm> {
        let [b' ', mode, b' ', ref rest @ ..] = *self.0 else { return None };
        if mask == 0 {
            return None;
        }
        self.0 = rest;
        match mode {
            b'0' => {
                for lane in lanes_of(mask) {
                    addresses[lane] = self.hexadecimal()?;
                }
                Some(AddressForm::Each)
            }
            b'1' => {
                let (base, stride) = (self.hexadecimal()?, self.read_signed()?);
                // All addresses are valid if the address of the last active lane does not overflow 64 bits,
                // because it differs most from the base.
                let lanes = mask.ilog2() - mask.trailing_zeros();
                base.checked_add_signed(stride.checked_mul(lanes.into())?)?;
                Some(AddressForm::Stride { base, stride })
            }
            b'2' => {
                let mut lanes = lanes_of(mask);
                let mut address = self.hexadecimal()?;
                addresses[lanes.next()?] = address;
                for lane in lanes {
                    address = address.checked_add_signed(self.read_signed()?)?;
                    addresses[lane] = address;
                }
                Some(AddressForm::Each)
            }
            _ => None,
        }
    }
}
