//! Lines like those read before.
//!
//! A trace repeats few instructions millions of times. All lines of one have the same text, byte for byte, between the
//! mask and the addresses, and behind these. What the first of them says is kept with that text; a line that has it again
//! is read by comparing it and by reading what varies. Any other line, a damaged one above all, is read word by word.

use std::hash::Hasher;

use isa::recorded::record::{LANES, lanes_of};
use rustc_hash::FxHasher;

use super::instruction::{Format, Given, Parsed, odd_stride};

/// Lines kept at most: more distinct instructions than most kernels have.
const PLACES: usize = 1 << 12;

/// The lines kept, each in the place that its text gives it; the last one keeps it.
pub(super) struct KnownLines(Box<[Option<Known>]>);

struct Known {
    pc: u32,
    source_line: u32,
    /// From behind the mask to the access width, or to the end if there are no addresses.
    text: Box<[u8]>,
    /// Behind the addresses.
    rest: Box<[u8]>,
    /// What the line said.
    parsed: Parsed,
}

/// Where in a line the text stands that all lines of its instruction share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub pc: u32,
    pub source_line: u32,
    /// End of the mask.
    pub mask_end: usize,
    /// End of the access width, or of the line if there are no addresses.
    pub text_end: usize,
    /// End of the addresses.
    pub addresses_end: usize,
}

impl KnownLines {
    /// No line yet.
    pub fn new() -> Self {
        KnownLines((0..PLACES).map(|_| None).collect())
    }

    /// Reads a line like one that was kept; `None` if there is none, or the line is not plain.
    #[inline(always)]
    pub fn read(&self, format: Format, line: &[u8], addresses: &mut [u64; LANES]) -> Option<Parsed> {
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
        let mut parsed = Parsed { mask, origin, ..known.parsed };
        if !matches!(parsed.addresses, Given::None) {
            parsed.addresses = line.addresses(mask, addresses)?;
            parsed.odd = if let Given::Stride { .. } = parsed.addresses { odd_stride(mask) } else { None };
        }
        (line.0 == &*known.rest).then_some(parsed)
    }

    /// Keeps what a line says.
    pub fn keep(&mut self, line: &[u8], marks: &Marks, parsed: Parsed) {
        let &Marks { pc, source_line, mask_end, text_end, addresses_end } = marks;
        let Some(text) = line.get(mask_end + 1..text_end) else { return };
        let rest = line.get(addresses_end + 1..).unwrap_or_default();
        self.0[place(pc, &line[mask_end + 1..])] =
            Some(Known { pc, source_line, text: text.into(), rest: rest.into(), parsed });
    }
}

/// The place of an instruction: one address may stand for several, in functions of a kernel.
fn place(pc: u32, text: &[u8]) -> usize {
    let head = text.first_chunk().map_or(0, |head| u64::from_le_bytes(*head));
    let mut hasher = FxHasher::default();
    hasher.write_u64(head ^ u64::from(pc));
    hasher.finish() as usize % PLACES
}

/// What is left of a line whose words stand one blank apart.
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
    /// A number of at most so many digits at the beginning of `text`, and the blank behind it.
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

    /// Numbers of 19 digits and more are not plain.
    #[inline(always)]
    fn decimal_in(&mut self, digits: &'a [u8]) -> Option<u64> {
        self.number(digits, 10, 18, |byte| byte.wrapping_sub(b'0'))
    }

    fn decimal(&mut self) -> Option<u64> {
        self.decimal_in(self.0)
    }

    #[inline(always)]
    fn signed(&mut self) -> Option<i64> {
        match self.0.strip_prefix(b"-") {
            Some(digits) => Some(-(self.decimal_in(digits)? as i64)),
            None => Some(self.decimal_in(self.0)? as i64),
        }
    }

    /// The mode and the addresses of the lanes in the mask.
    fn addresses(&mut self, mask: u32, addresses: &mut [u64; LANES]) -> Option<Given> {
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
                Some(Given::Each)
            }
            b'1' => {
                let (base, stride) = (self.hexadecimal()?, self.signed()?);
                // If the last lane is within the address bits, so are those before it.
                let lanes = mask.ilog2() - mask.trailing_zeros();
                base.checked_add_signed(stride.checked_mul(lanes.into())?)?;
                Some(Given::Stride { base, stride })
            }
            b'2' => {
                let mut lanes = lanes_of(mask);
                let mut address = self.hexadecimal()?;
                addresses[lanes.next()?] = address;
                for lane in lanes {
                    address = address.checked_add_signed(self.signed()?)?;
                    addresses[lane] = address;
                }
                Some(Given::Each)
            }
            _ => None,
        }
    }
}
