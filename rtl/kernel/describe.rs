//! # One description, many readers
//! Provides one description of each hardware block. A block lists its registers, memories, logic and
//! statistics once, in `describe`. The waveform writer, the area estimate, the state hash and the dump after
//! a deadlock are all readers of that list. Beats of channels and entries of memories describe themselves in
//! the same way ([`Payload`]). The width of a beat or entry is the sum of its fields' widths and is never
//! stated separately.

use arbitrary_int::traits::UnsignedInteger;
use std::fmt;
use std::hash::Hash;

use serde::{Serialize, de::DeserializeOwned};

use super::ArrayView;

/// Enumeration with named codes, stored in a state register; the names appear in waveforms and dumps.
pub trait Encoding: Copy {
    /// Width of the register in bits.
    const WIDTH: u32;
    /// Names of the codes, in the order of the codes 0, 1, 2 and so on.
    const NAMES: &'static [&'static str];
    /// Returns the code that the register holds for this value.
    fn code(self) -> u8;
}

/// One register or field: name, width, value, and the names of its codes if it has any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name of the register or field within its scope.
    pub name: &'static str,
    /// Width in bits, 1 to 64.
    pub width: u32,
    /// Value; bits above `width` are zero.
    pub value: u64,
    /// Names of the codes 0, 1, 2 and so on; empty for a plain number.
    pub names: &'static [&'static str],
}

/// Reader of fields, such as the waveform writer or the state hash.
pub trait Fields {
    /// Reads a field of 1 to 64 bits.
    fn field(&mut self, field: Field);
    /// Reads a field that consists of `bytes`, least significant byte first.
    fn wide(&mut self, name: &'static str, bytes: &[u8]);
    /// True if this reader does not need the next `count` fields and has skipped them. The caller must then
    /// not list these fields.
    #[inline(always)]
    fn passes_fields(&mut self, count: usize) -> bool {
        let _ = count;
        false
    }
}

/// Convenience functions that list fields of different types for any reader.
pub trait FieldsExt: Fields {
    /// Lists a field whose width in bits follows from its type.
    fn bits(&mut self, name: &'static str, value: impl UnsignedInteger) {
        let width = bits_of_value(value);
        self.field(Field { name, width, value: value.as_u64(), names: &[] });
    }

    /// Lists a single-bit field.
    fn flag(&mut self, name: &'static str, value: bool) {
        self.field(Field { name, width: 1, value: u64::from(value), names: &[] });
    }

    /// Lists a field whose width depends on the configuration.
    fn sized(&mut self, name: &'static str, value: u64, width: u32) {
        self.field(Field { name, width, value, names: &[] });
    }

    /// Lists a bit mask with one bit for each of up to 128 items. A mask of more than 64 bits is listed as
    /// two fields with the same name.
    fn mask(&mut self, name: &'static str, bits: u128, things: u32) {
        self.sized(name, bits as u64, things.min(64));
        if things > 64 {
            self.sized(name, (bits >> 64) as u64, things - 64);
        }
    }

    /// Lists one field per lane, all with the same name; their width follows from the type. A reader that
    /// does not need these fields skips all of them at once.
    #[inline(always)]
    fn lanes<T: UnsignedInteger>(
        &mut self,
        name: &'static str,
        values: impl IntoIterator<IntoIter: ExactSizeIterator<Item = T>>,
    ) {
        let values = values.into_iter();
        if !self.passes_fields(values.len()) {
            values.for_each(|value| self.bits(name, value));
        }
    }

    /// Lists one field per lane, all with the same name; their width depends on the configuration. A reader
    /// that does not need these fields skips all of them at once.
    #[inline(always)]
    fn sized_lanes(
        &mut self,
        name: &'static str,
        values: impl IntoIterator<IntoIter: ExactSizeIterator<Item = u64>>,
        width: u32,
    ) {
        let values = values.into_iter();
        if !self.passes_fields(values.len()) {
            values.for_each(|value| self.sized(name, value, width));
        }
    }

    /// Lists a state register that has named codes.
    fn state<E: Encoding>(&mut self, name: &'static str, value: E) {
        let value = u64::from(value.code());
        self.field(Field { name, width: E::WIDTH, value, names: E::NAMES });
    }
}

impl<F: Fields + ?Sized> FieldsExt for F {}

fn bits_of_value<T: UnsignedInteger>(_: T) -> u32 {
    bits_of::<T>()
}

/// Returns the width in bits of a number type such as `u5`, for the logic that operates on it.
#[must_use]
pub const fn bits_of<T: UnsignedInteger>() -> u32 {
    T::BITS as u32
}

/// Returns the width in bits of an index that distinguishes `count` items; at least 1.
#[must_use]
pub const fn bits_for(count: u32) -> u32 {
    let bits = u32::BITS - count.saturating_sub(1).leading_zeros();
    if bits == 0 { 1 } else { bits }
}

/// Beat of a channel or entry of a memory. Usually derived ([`derive::Payload`]); implemented by hand only if
/// its description is not just a list of its fields.
pub trait Payload: Clone + Default + Hash + Serialize + DeserializeOwned + Send {
    /// Field widths that depend on the configuration, stored once per channel or memory.
    type Shape: Clone + Serialize + DeserializeOwned + Send;

    /// Lists the fields of this value. Implementations destructure `self` without `..`, so that no field is
    /// forgotten.
    fn fields<F: Fields + ?Sized>(&self, shape: &Self::Shape, to: &mut F);
}

/// Returns the width of a payload in bits, which is the sum of the widths of its fields.
pub fn width_of<T: Payload>(shape: &T::Shape) -> u32 {
    let mut sum = WidthSum(0);
    T::default().fields(shape, &mut sum);
    sum.0
}

struct WidthSum(u32);

impl Fields for WidthSum {
    fn field(&mut self, field: Field) {
        self.0 += field.width;
    }
    fn wide(&mut self, _: &'static str, bytes: &[u8]) {
        self.0 += bytes.len() as u32 * 8;
    }
}

/// Returns a field of a payload that holds a value too wide for the field; `None` if all values fit.
#[inline]
pub(super) fn misfit<T: Payload>(value: &T, shape: &T::Shape) -> Option<OverflowingField> {
    let mut excess = ExcessBits(0);
    value.fields(shape, &mut excess);
    if excess.0 == 0 { None } else { Some(find_misfit(value, shape)) }
}

/// Reader that finds values too wide for their fields: ORs all bits above the widths of the fields, so that
/// the result is nonzero if any value does not fit.
struct ExcessBits(u64);

impl Fields for ExcessBits {
    #[inline]
    fn field(&mut self, field: Field) {
        self.0 |= if field.width < 64 { field.value >> field.width } else { 0 };
    }
    #[inline]
    fn wide(&mut self, _: &'static str, _: &[u8]) {}
}

#[cold]
fn find_misfit<T: Payload>(value: &T, shape: &T::Shape) -> OverflowingField {
    let mut check = Misfit(None);
    value.fields(shape, &mut check);
    let Some(field) = check.0 else { unreachable!("some field has excess bits") };
    OverflowingField(field)
}

/// Field whose value needs more bits than its width.
pub(super) struct OverflowingField(Field);

impl fmt::Display for OverflowingField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Field { name, width, value, names: _ } = &self.0;
        write!(f, "{name} is {value:#x}, which needs more than its {width} bits")
    }
}

struct Misfit(Option<Field>);

impl Fields for Misfit {
    #[inline]
    fn field(&mut self, field: Field) {
        if field.width < 64 && field.value >> field.width != 0 {
            self.0 = Some(field);
        }
    }
    #[inline]
    fn wide(&mut self, _: &'static str, _: &[u8]) {}
}

/// Combinational logic function, for area estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Logic {
    /// XOR of `fan_in` inputs, with one output bit.
    XorTree {
        /// Number of inputs of the XOR tree.
        fan_in: u32,
    },
    /// `count` equality comparators of `width` bits.
    Comparator {
        /// Width of the operands in bits.
        width: u32,
        /// Number of comparators.
        count: u32,
    },
    /// `count` comparators of `width` bits that test whether one number is less than another.
    Less {
        /// Width of the operands in bits.
        width: u32,
        /// Number of comparators.
        count: u32,
    },
    /// Priority encoder, which outputs the position of the first set bit among `inputs` bits.
    PriorityEncoder {
        /// Number of request lines, which are the inputs.
        inputs: u32,
    },
    /// Multiplexer: selects one of `ways` inputs of `width` bits.
    Mux {
        /// Number of inputs of the multiplexer.
        ways: u32,
        /// Width of each input in bits.
        width: u32,
    },
    /// Decoder, which asserts the output line with the given number.
    Decoder {
        /// Number of output lines of the decoder.
        outputs: u32,
    },
    /// `count` single gates that belong to none of the other logic functions.
    Gates {
        /// Number of two-input gates.
        count: u32,
    },
    /// Adder or subtractor.
    Adder {
        /// Width of the operands in bits.
        width: u32,
    },
    /// Incrementer or decrementer.
    Counter {
        /// Width of the number in bits.
        width: u32,
    },
    /// Population count: number of set bits among `inputs`.
    Population {
        /// Number of input bits.
        inputs: u32,
    },
    /// Multiplier of two variable factors.
    Multiplier {
        /// Width of the first factor in bits.
        width: u32,
        /// Width of the second factor in bits.
        by: u32,
    },
    /// Multiplier by a constant.
    ConstantMultiplier {
        /// Width of the variable factor in bits.
        width: u32,
        /// Constant factor of the multiplication.
        factor: u32,
    },
    /// Divider by a constant.
    ConstantDivider {
        /// Width of the dividend in bits.
        width: u32,
        /// Constant divisor of the division.
        divisor: u32,
    },
}

/// Reader of hardware descriptions, such as the waveform writer, the area estimate or the state hash.
pub trait Describe: Fields {
    /// Opens a scope inside the current one; `index` distinguishes scopes with the same name.
    fn enter(&mut self, name: &'static str, index: Option<u32>);
    /// Closes the innermost open scope.
    fn leave(&mut self);
    /// True if this reader needs the contents of the innermost open scope. If the result is false, the caller
    /// may close the scope at once.
    fn is_scope_read(&self) -> bool {
        true
    }
    /// Marks the innermost open scope as a component. Waveforms and dumps include a numbered component by
    /// default, unlike the numbered entries of a table.
    fn mark_as_component(&mut self) {}
    /// True if this reader has already read the contents of the innermost open scope, which `version`
    /// identifies: different contents always have different versions. The caller may then close the scope at
    /// once.
    fn has_seen(&mut self, version: u64) -> bool {
        let _ = version;
        false
    }
    /// True if this reader does not need the next `entries` scopes, which are all entries of one table, and
    /// has skipped them. The caller must then not list these scopes.
    fn skip_scopes(&mut self, entries: usize) -> bool {
        let _ = entries;
        false
    }
    /// Reads a signal that is not stored state; only waveforms and dumps show it.
    fn probe(&mut self, field: Field);
    /// True if this reader has already read the next `count` statistics, whose values add up to `sum`, and
    /// has skipped them. Counters never decrease, so an equal sum means that none of them has changed.
    fn has_seen_stats(&mut self, count: usize, sum: u64) -> bool {
        let _ = (count, sum);
        false
    }
    /// Reads a statistic, which may belong to a group. Statistics are reported and compared at the end of a
    /// run; they are not hardware.
    fn stat_in(&mut self, group: Option<&'static str>, name: &'static str, count: u64);
    /// Reads the description of a memory.
    fn array(&mut self, name: &'static str, array: &dyn ArrayView);
    /// Reads the description of a channel. Its storage is part of the hardware block that receives from it.
    fn channel(&mut self, name: &'static str, depth: u32, beat_bits: u32);
    /// Reads the description of a combinational logic function.
    fn logic(&mut self, name: &'static str, logic: Logic);
}

/// Convenience functions for every reader of hardware descriptions.
pub trait DescribeExt: Describe {
    /// Describes a component in a scope with this name.
    fn part(&mut self, name: &'static str, describe: impl FnOnce(&mut Self)) {
        self.enter(name, None);
        if self.is_scope_read() {
            describe(self);
        }
        self.leave();
    }

    /// Describes one of several components with the same name.
    fn parts(&mut self, name: &'static str, index: u32, describe: impl FnOnce(&mut Self)) {
        self.enter(name, Some(index));
        if self.is_scope_read() {
            describe(self);
        }
        self.leave();
    }

    /// Describes the entries of a table in numbered scopes. A reader that does not need the entries skips all
    /// of them at once.
    fn entries<T>(
        &mut self,
        name: &'static str,
        entries: impl IntoIterator<IntoIter: ExactSizeIterator<Item = T>>,
        mut describe: impl FnMut(T, &mut Self),
    ) {
        let entries = entries.into_iter();
        if !self.skip_scopes(entries.len()) {
            for (index, entry) in (0..).zip(entries) {
                self.parts(name, index, |to| describe(entry, to));
            }
        }
    }

    /// Lists the port logic of a table of registers: a multiplexer for each of `reads` read ports of `width`
    /// bits, and a decoder for one write port.
    fn table_ports(&mut self, reads: u32, entries: u32, width: u32) {
        for _ in 0..reads {
            self.logic("read", Logic::Mux { ways: entries, width });
        }
        self.logic("write", Logic::Decoder { outputs: entries });
    }

    /// Lists a statistic that belongs to no group.
    fn stat(&mut self, name: &'static str, count: u64) {
        self.stat_in(None, name, count);
    }

    /// Lists a named state that is not stored in a register.
    fn probe_state<E: Encoding>(&mut self, name: &'static str, value: E) {
        let value = u64::from(value.code());
        self.probe(Field { name, width: E::WIDTH, value, names: E::NAMES });
    }

    /// Lists a number of `width` bits that is not stored in a register.
    fn probe_sized(&mut self, name: &'static str, value: u64, width: u32) {
        self.probe(Field { name, width, value, names: &[] });
    }
}

impl<D: Describe + ?Sized> DescribeExt for D {}

/// Reader that passes the fields of a payload to another reader, as signals that are not stored state.
pub(crate) struct AsProbes<'a>(pub &'a mut dyn Describe);

impl Fields for AsProbes<'_> {
    fn field(&mut self, field: Field) {
        self.0.probe(field);
    }
    fn passes_fields(&mut self, count: usize) -> bool {
        self.0.passes_fields(count)
    }
    fn wide(&mut self, _: &'static str, _: &[u8]) {}
}

#[cfg(test)]
mod tests {
    use arbitrary_int::{u3, u6};
    use derive::{Encoding, Payload};
    use serde::Deserialize;

    use super::*;

    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encoding)]
    #[width(2)]
    enum Status {
        #[default]
        Idle,
        Busy,
    }

    #[derive(Clone, Default, Hash, Serialize, Deserialize, Payload)]
    #[payload(shape = u32)]
    struct Line(#[payload(name = "line", width = *shape)] u64);

    #[derive(Clone, Default, Hash, Serialize, Deserialize, Payload)]
    struct Half(#[payload(inside)] Place, #[payload(skip)] u64);

    #[derive(Clone, Default, Hash, Serialize, Deserialize, Payload)]
    struct Place {
        way: u3,
    }

    #[derive(Clone, Default, Serialize, Deserialize)]
    struct Shape {
        line_bits: u32,
        bytes: u32,
        is_tracked: bool,
        entry_bits: Option<u32>,
    }

    #[derive(Clone, Default, Hash, Serialize, Deserialize, Payload)]
    #[payload(shape = Shape)]
    struct Beat {
        /// Flag that is set for a write.
        write: bool,
        count: u6,
        id: u32,
        #[payload(width = shape.line_bits - 1)]
        sm: u8,
        #[payload(width = 40)]
        ticket: u64,
        #[payload(state, name = "state")]
        status: Status,
        #[payload(only(shape.is_tracked))]
        sharer: u16,
        #[payload(only(let Some(bits) = shape.entry_bits), width = bits)]
        entry: u16,
        #[payload(skip)]
        since: u64,
        #[payload(inside)]
        half: Half,
        #[payload(inside = shape.line_bits)]
        line: Line,
        words: [[u16; 2]; 2],
        #[payload(width = shape.line_bits)]
        addresses: [u64; 2],
        #[payload(bytes = shape.bytes / 2)]
        mask: u32,
        #[payload(bytes)]
        data: [u8; 3],
    }

    /// Reader that formats one line per call: name, width and value.
    #[derive(Default)]
    struct Lines(Vec<String>);

    impl Fields for Lines {
        fn field(&mut self, field: Field) {
            let code = field.names.get(field.value as usize).copied().unwrap_or_default();
            self.0.push(format!("{} {} {}{code}", field.name, field.width, field.value));
        }
        fn wide(&mut self, name: &'static str, bytes: &[u8]) {
            self.0.push(format!("{name} {bytes:?}"));
        }
    }

    const BEAT: Beat = Beat {
        write: true,
        count: u6::new(2),
        id: 3,
        sm: 4,
        ticket: 5,
        status: Status::Busy,
        sharer: 6,
        entry: 7,
        since: 8,
        half: Half(Place { way: u3::new(1) }, 9),
        line: Line(10),
        words: [[11, 12], [13, 14]],
        addresses: [15, 16],
        mask: 0x0403_0201,
        data: [17, 18, 19],
    };

    fn list(shape: &Shape) -> Vec<String> {
        let mut lines = Lines::default();
        BEAT.fields(shape, &mut lines);
        lines.0
    }

    #[test]
    fn a_struct_lists_its_fields_in_order_with_their_widths() {
        let expected = [
            "write 1 1",
            "count 6 2",
            "id 32 3",
            "sm 19 4",
            "ticket 40 5",
            "state 2 1BUSY",
            "sharer 16 6",
            "entry 9 7",
            "way 3 1",
            "line 20 10",
            "words 16 11",
            "words 16 12",
            "words 16 13",
            "words 16 14",
            "addresses 20 15",
            "addresses 20 16",
            "mask [1, 2]",
            "data [17, 18, 19]",
        ];
        let shape = Shape { line_bits: 20, bytes: 4, is_tracked: true, entry_bits: Some(9) };
        assert_eq!(list(&shape), expected);
        assert_eq!(
            width_of::<Beat>(&shape),
            1 + 6 + 32 + 19 + 40 + 2 + 16 + 9 + 3 + 20 + 4 * 16 + 2 * 20 + 2 * 8 + 3 * 8
        );
        let shape = Shape { is_tracked: false, entry_bits: None, ..shape };
        let expected: Vec<_> =
            expected.into_iter().filter(|line| !line.starts_with("sharer") && !line.starts_with("entry")).collect();
        assert_eq!(list(&shape), expected);
    }
}
