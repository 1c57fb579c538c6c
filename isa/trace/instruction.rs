//! Parser of a line that describes an executed instruction.
//!
//! ```text
//! [x y z warp] [line] PC MASK n {dest} OPCODE n {source} [group] WIDTH [MODE addresses] [IMMEDIATE]
//! ```
//! Fields in brackets are optional. CTA and warp (`x y z warp`) occur in tracer versions below 3. The source
//! line occurs if the header announces it. Opcodes that end in `GMMA` have a commit group. From version 6 on,
//! a second immediate and register values may follow.

use isa::recorded::code::{Code, MAX_REGISTERS, Operands, Operation, Register, RegisterFile};
use isa::recorded::header::Header;
use isa::recorded::opcode::{Class, Opcode, first_token};
use isa::recorded::record::{LANES, lanes_of};
use isa::tensor::multiplications_of;

use super::error::Fault;
use super::fields::{self, Word, Words};
use super::known::Marks;
use super::opcode;

/// First tracer version whose lines do not begin with the numbers of the CTA and the warp.
const WITHOUT_ORIGIN: u32 = 3;
/// First tracer version whose instruction lines end in `Val` or `NoVal`, a mark for register values.
const WITH_VALUES: u32 = 6;
/// Maximum value of the field for the access width, in bytes.
const MAX_WIDTH: u64 = u16::MAX as u64;
/// Maximum number of bytes that one lane accesses in an atomic operation.
const MAX_ATOMIC_WIDTH: u8 = 8;
/// Maximum number of addresses of a bulk copy.
const MAX_BLOCK_ADDRESSES: u64 = 1 << 12;

/// Optional fields that are present in the instruction lines of a kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    pub has_origin: bool,
    pub has_line: bool,
    has_values: bool,
}

/// Returns a warning if a line gives a base address and a stride, but its active lanes have gaps between
/// them.
pub(super) fn odd_stride(mask: u32) -> Option<&'static str> {
    let lanes = mask >> mask.trailing_zeros();
    let is_one_run = lanes.wrapping_add(1) & lanes == 0;
    (!is_one_run).then_some("a base and a stride for lanes with gaps between them: the stride counts per lane")
}

/// Parsed fields of an instruction line, without the individual addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct ParsedLine {
    pub operation: u32,
    pub mask: u32,
    pub addresses: AddressForm,
    /// CTA and warp of the instruction. `None` for tracer versions whose instruction lines do not state them.
    pub origin: Option<([u32; 3], u32)>,
    /// Warning about the line, if any.
    pub odd: Option<&'static str>,
}

/// Form in which an instruction line gives its addresses.
#[derive(Clone, Copy, Debug)]
pub(super) enum AddressForm {
    None,
    /// Constant stride: lane `i` accesses `base + (i - lowest) * stride`, where `lowest` is the lowest active
    /// lane.
    Stride {
        base: u64,
        stride: i64,
    },
    /// Individual addresses of the active lanes.
    Each,
}

impl Format {
    pub fn of(header: &Header) -> Self {
        Format {
            has_origin: header.tracer_version < WITHOUT_ORIGIN,
            has_line: header.has_line_numbers,
            has_values: header.tracer_version >= WITH_VALUES,
        }
    }

    /// Parses an instruction line word by word, and writes the addresses of active lanes to `addresses`. If
    /// the result can be cached, also returns the positions that separate the sections that all lines of an
    /// instruction share, which are cached, from those that vary.
    pub fn parse(
        self,
        line: &[u8],
        code: &mut Code,
        addresses: &mut [u64; LANES],
    ) -> Result<(ParsedLine, Option<Marks>), Fault> {
        let mut words = Words::new(line);
        let most = u64::from(u32::MAX);
        let mut origin = None;
        if self.has_origin {
            let mut number = |what| words.decimal(what, most).map(|number| number as u32);
            origin =
                Some(([number("the CTA's x")?, number("the CTA's y")?, number("the CTA's z")?], number("the warp")?));
        }
        let line_number = if self.has_line { words.decimal("the source line", most)? as u32 } else { 0 };
        let pc = words.hexadecimal("the PC", 32)? as u32;
        let mask = words.hexadecimal("the active mask", 32)? as u32;
        let mask_end = words.at();
        let mut registers = [Register::default(); MAX_REGISTERS];
        let num_dests = read_registers(&mut words, &mut registers, "destination")?;
        let opcode_word = words.expect("the opcode")?;
        let mut opcode = opcode::number_of(code, opcode_word)?;
        let num_sources = read_registers(&mut words, &mut registers[num_dests..], "source")?;
        let class = code.opcodes()[usize::from(opcode)].class;
        let (mut given, mut odd) = (AddressForm::None, None);
        if class == Class::Tensor {
            let text = &code.opcodes()[usize::from(opcode)].text;
            if is_grouped(text) {
                words.decimal("the commit group", most)?;
            }
            if multiplications_of(text).is_none() {
                odd = Some("the opcode of a matrix product states no shape: it takes as long as HMMA.1688");
            }
        }
        let recorded_width = words.decimal("the access width", MAX_WIDTH)? as u16;
        let width_end = words.at();
        if recorded_width > 0 && class == Class::Bulk {
            skip_block(&mut words)?;
            odd = Some("the traffic of a block copy is not modeled: its addresses are skipped");
        } else if recorded_width > 0 && class == Class::Engine {
            skip_block(&mut words)?;
            odd = Some("the operation of an engine is not modeled: its operands are skipped");
        } else if recorded_width > 0 {
            odd = read_addresses(&mut words, mask, addresses)?;
            given = AddressForm::Each;
            if class.has_width() {
                let own = &code.opcodes()[usize::from(opcode)];
                let (width, odd_width) = width_of(own, recorded_width);
                odd = odd_width.or(odd);
                opcode = code.with_width(opcode, width).ok_or_else(|| opcode::too_many(opcode_word))?;
            }
        } else if class.needs_addresses() {
            odd = Some("a memory instruction has no addresses (access width 0): it accesses nothing");
        }
        let addresses_end = words.at();
        let immediate = self.rest(&mut words, num_dests + num_sources)?;
        let (dests, sources) = (&registers[..num_dests], &registers[num_dests..num_dests + num_sources]);
        let number = Operands::new(dests, sources).and_then(|operands| {
            code.add(Operation { pc, opcode, recorded_width, line: line_number, immediate, operands })
        });
        let number = number.ok_or_else(|| {
            opcode_word.refuse("one of the 2^20 instructions seen before, the maximum number per kernel")
        })?;
        // Two kinds of lines cannot be cached: lines with register values, because these differ from line to
        // line, and lines of bulk copies, because their operands are not stored.
        let has_addresses = matches!(given, AddressForm::Each);
        let is_plain = recorded_width == 0 || has_addresses;
        let has_values = self.has_values && !line.trim_ascii_end().ends_with(b"NoVal");
        let marks = (is_plain && !has_values).then(|| {
            let (text_end, addresses_end) =
                if has_addresses { (width_end, addresses_end) } else { (line.len(), line.len()) };
            Marks { pc, source_line: line_number, mask_end, text_end, addresses_end }
        });
        Ok((ParsedLine { operation: number, mask, addresses: given, origin, odd }, marks))
    }

    /// Parses the immediates at the end of a line. Skips the register values of tracer version 6, which are
    /// unused.
    fn rest(self, words: &mut Words<'_>, num_registers: usize) -> Result<i64, Fault> {
        let mut immediates = [0; 2];
        let mut num_immediates = 0;
        while let Some(word) = words.next() {
            match word.text {
                b"NoVal" if self.has_values => break,
                b"Val" if self.has_values => {
                    skip_values(words, num_registers)?;
                    break;
                }
                _ if num_immediates < if self.has_values { 2 } else { 1 } => {
                    let what = if self.has_values { "an immediate, `Val` or `NoVal`" } else { "the immediate" };
                    let value = fields::parse_signed(word.text);
                    immediates[num_immediates] =
                        value.ok_or_else(|| word.refuse(&format!("{what}, a decimal number")))?;
                    num_immediates += 1;
                }
                _ => return Err(word.refuse("the end of the line")),
            }
        }
        match words.next() {
            Some(word) => Err(word.refuse("the end of the line")),
            None => Ok(immediates[0]),
        }
    }
}

/// Returns the number of bytes that each lane accesses. Also returns a warning if the recorded width is
/// implausible.
fn width_of(opcode: &Opcode, recorded: u16) -> (u8, Option<&'static str>) {
    let Some(width) = opcode.recorded_width(recorded) else {
        return (opcode.width, Some("no lane accesses as many bytes as recorded: the width of the opcode is used"));
    };
    let is_split = matches!(opcode.class, Class::Atomic(_)) && width > MAX_ATOMIC_WIDTH;
    let odd = match width {
        _ if is_split => Some("an atomic of 16 bytes moves 8: the model has no wider ones"),
        _ if width != opcode.width => Some("the recorded width is not that of the opcode: the recorded width is used"),
        _ => None,
    };
    (width, odd)
}

fn is_grouped(opcode: &str) -> bool {
    first_token(opcode).ends_with("GMMA")
}

/// Parses a number of registers, followed by the registers. Returns the number.
fn read_registers(words: &mut Words<'_>, registers: &mut [Register], kind: &str) -> Result<usize, Fault> {
    let what = format_args!("the number of {kind} registers");
    let word = words.expect("the number of registers")?;
    let count = fields::decimal(word.text).and_then(|count| usize::try_from(count).ok());
    let Some(places) = count.and_then(|count| registers.get_mut(..count)) else {
        let most = registers.len();
        return Err(word.refuse(&format!("{what}, a decimal number from 0 to {most}")));
    };
    let count = places.len();
    for place in places {
        let word = words.expect("a register")?;
        *place = register(word)?;
    }
    Ok(count)
}

fn register(word: Word<'_>) -> Result<Register, Fault> {
    let letters = word.text.iter().position(u8::is_ascii_digit).unwrap_or(word.text.len());
    let (file, digits) = word.text.split_at(letters);
    let file = match file {
        b"R" => Some(RegisterFile::Vector),
        b"UR" => Some(RegisterFile::Uniform),
        b"P" => Some(RegisterFile::Predicate),
        b"UP" => Some(RegisterFile::UniformPredicate),
        _ => None,
    };
    let number = fields::decimal(digits).and_then(|number| u8::try_from(number).ok());
    match (file, number) {
        (Some(file), Some(number)) => Ok(Register { file, number }),
        _ => Err(word.refuse("a register, R, UR, P or UP and a number from 0 to 255")),
    }
}

/// Parses the address mode and the addresses. Returns a warning if the addresses are implausible.
fn read_addresses(
    words: &mut Words<'_>,
    mask: u32,
    addresses: &mut [u64; LANES],
) -> Result<Option<&'static str>, Fault> {
    let mode = words.expect("the address mode")?;
    match mode.text {
        b"0" => {
            for lane in lanes_of(mask) {
                addresses[lane] = words.hexadecimal("the address of the next lane", 64)?;
            }
            Ok(None)
        }
        b"1" => {
            let base = words.hexadecimal("the base address", 64)?;
            let stride = words.expect("the stride")?;
            if mask == 0 {
                // If no lane is active, the tracer leaves the stride unset, so its value is arbitrary.
                return Ok(None);
            }
            let stride_value =
                fields::parse_signed(stride.text).ok_or_else(|| stride.refuse("the stride, a decimal number"))?;
            let first = mask.trailing_zeros() as usize;
            for lane in lanes_of(mask) {
                addresses[lane] = move_by(base, stride_value, (lane - first) as i64)
                    .ok_or_else(|| stride.refuse(&format!("a stride that keeps lane {lane} within 64 address bits")))?;
            }
            Ok(odd_stride(mask))
        }
        b"2" => {
            let mut address = words.hexadecimal("the base address", 64)?;
            for (at, lane) in lanes_of(mask).enumerate() {
                if at > 0 {
                    let word = words.expect("the distance to the next lane")?;
                    let distance = fields::parse_signed(word.text)
                        .ok_or_else(|| word.refuse("the distance to the next lane, a decimal number"))?;
                    address = move_by(address, distance, 1).ok_or_else(|| {
                        word.refuse(&format!("a distance that keeps lane {lane} within 64 address bits"))
                    })?;
                }
                addresses[lane] = address;
            }
            Ok(None)
        }
        _ => Err(mode.refuse("an address mode, 0 (list), 1 (base and stride) or 2 (base and distances)")),
    }
}

fn move_by(base: u64, distance: i64, times: i64) -> Option<u64> {
    base.checked_add_signed(distance.checked_mul(times)?)
}

/// Skips the operands of a bulk copy: barrier, multicast mask, sizes and addresses.
fn skip_block(words: &mut Words<'_>) -> Result<(), Fault> {
    words.hexadecimal("the barrier's address", 64)?;
    if words.decimal("the multicast flag", 1)? == 1 {
        words.hexadecimal("the CTA mask", 64)?;
    }
    words.decimal("the byte count", u64::MAX)?;
    words.decimal("the count of bytes out of bounds", u64::MAX)?;
    let mode = words.expect("the address mode")?;
    match mode.text {
        b"0" => {
            for _ in 0..words.decimal("the number of addresses", MAX_BLOCK_ADDRESSES)? {
                words.hexadecimal("an address", 64)?;
            }
        }
        b"2" => {
            words.hexadecimal("the base address", 64)?;
            for _ in 1..words.decimal("the number of addresses", MAX_BLOCK_ADDRESSES)? {
                words.read_signed("a distance")?;
            }
        }
        _ => return Err(mode.refuse("the address mode of a block copy, 0 (list) or 2 (base and distances)")),
    }
    Ok(())
}

/// Skips the values of `num_registers` registers. A register has one value, or 32: one per lane.
fn skip_values(words: &mut Words<'_>, num_registers: usize) -> Result<(), Fault> {
    for _ in 0..num_registers {
        let count = words.expect("the number of values")?;
        let values = match count.text {
            b"1" => 1,
            b"32" => 32,
            _ => return Err(count.refuse("the number of values, 1 or 32")),
        };
        for _ in 0..values {
            words.hexadecimal("a register's value", 64)?;
        }
    }
    Ok(())
}
