//! # One description, many readers
//! A block lists its registers, arrays, logic and statistics once, in `describe`. The waveform
//! writer, the structure counts, the state hash and the dumps of a deadlock are all readers of
//! that list. The bundles that travel in channels and stand in array cells describe themselves
//! the same way ([`Payload`]); their width is the sum of their fields, never typed twice.

use arbitrary_int::traits::UnsignedInteger;
use std::fmt;
use std::hash::Hash;

use serde::{Serialize, de::DeserializeOwned};

use super::ArrayView;

/// Names of the codes of a state register, for waves and dumps.
pub trait Encoding: Copy {
    /// Bits of the register.
    const WIDTH: u32;
    /// Name of code 0, 1, 2, ...
    const NAMES: &'static [&'static str];
    /// The code held.
    fn code(self) -> u8;
}

/// One register or field: name, width in bits, value, and the names of its codes if it has any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name inside its scope.
    pub name: &'static str,
    /// Bits, 1 to 64.
    pub width: u32,
    /// Value; bits above `width` are zero.
    pub value: u64,
    /// Names of the codes 0, 1, 2, ...; empty for a plain number.
    pub names: &'static [&'static str],
}

/// A reader of fields.
pub trait Fields {
    /// A field of 1 to 64 bits.
    fn field(&mut self, field: Field);
    /// A field of any number of bytes, least significant byte first.
    fn wide(&mut self, name: &'static str, bytes: &[u8]);
    /// True if the next so many fields are of no use to this reader: it has gone past them and must not be
    /// told of them.
    #[inline(always)]
    fn passes_fields(&mut self, count: usize) -> bool {
        let _ = count;
        false
    }
}

/// Typed ways to give a field, for every reader.
pub trait FieldsExt: Fields {
    /// A field whose type carries its width.
    fn bits(&mut self, name: &'static str, value: impl UnsignedInteger) {
        let width = bits_of_value(value);
        self.field(Field { name, width, value: value.as_u64(), names: &[] });
    }

    /// A single bit.
    fn flag(&mut self, name: &'static str, value: bool) {
        self.field(Field { name, width: 1, value: u64::from(value), names: &[] });
    }

    /// A field whose width follows from the configuration.
    fn sized(&mut self, name: &'static str, value: u64, width: u32) {
        self.field(Field { name, width, value, names: &[] });
    }

    /// A bit for each of up to 128 things; beyond 64 of them as two fields of the name.
    fn mask(&mut self, name: &'static str, bits: u128, things: u32) {
        self.sized(name, bits as u64, things.min(64));
        if things > 64 {
            self.sized(name, (bits >> 64) as u64, things - 64);
        }
    }

    /// Fields of one name, one a lane, whose type carries their width. A reader that wants none of them does not
    /// look at them one by one.
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

    /// The same with a width that follows from the configuration.
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

    /// A state register with named codes.
    fn state<E: Encoding>(&mut self, name: &'static str, value: E) {
        let value = u64::from(value.code());
        self.field(Field { name, width: E::WIDTH, value, names: E::NAMES });
    }
}

impl<F: Fields + ?Sized> FieldsExt for F {}

fn bits_of_value<T: UnsignedInteger>(_: T) -> u32 {
    bits_of::<T>()
}

/// Bits of a number whose type carries its width, for the logic that works on it.
#[must_use]
pub const fn bits_of<T: UnsignedInteger>() -> u32 {
    T::BITS as u32
}

/// What travels in a channel or stands in an array cell. Derived, unless it has more to say than what its
/// fields are: [`derive::Payload`].
pub trait Payload: Clone + Default + Hash + Serialize + DeserializeOwned + Send {
    /// Widths that follow from the configuration, held once by the channel or array.
    type Shape: Clone + Serialize + DeserializeOwned + Send;

    /// Lists the fields; destructure `self` without `..`.
    fn fields<F: Fields + ?Sized>(&self, shape: &Self::Shape, to: &mut F);
}

/// Bits of a payload: the sum over its fields.
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

/// A field of a payload whose value does not fit its width.
#[inline]
pub(super) fn misfit<T: Payload>(value: &T, shape: &T::Shape) -> Option<Unfit> {
    let mut excess = Excess(0);
    value.fields(shape, &mut excess);
    if excess.0 == 0 { None } else { Some(find_misfit(value, shape)) }
}

/// The bits of all fields that lie above their widths.
struct Excess(u64);

impl Fields for Excess {
    #[inline]
    fn field(&mut self, field: Field) {
        self.0 |= if field.width < 64 { field.value >> field.width } else { 0 };
    }
    #[inline]
    fn wide(&mut self, _: &'static str, _: &[u8]) {}
}

#[cold]
fn find_misfit<T: Payload>(value: &T, shape: &T::Shape) -> Unfit {
    let mut check = Misfit(None);
    value.fields(shape, &mut check);
    let Some(field) = check.0 else { unreachable!("some field has excess bits") };
    Unfit(field)
}

/// A field whose value needs more bits than it has.
pub(super) struct Unfit(Field);

impl fmt::Display for Unfit {
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

/// A piece of combinational logic, for structure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Logic {
    /// One output bit as the exclusive or of `fan_in` inputs.
    XorTree {
        /// Inputs of the tree.
        fan_in: u32,
    },
    /// `count` equality comparators of `width` bits.
    Comparator {
        /// Bits compared.
        width: u32,
        /// How many.
        count: u32,
    },
    /// `count` comparators that say which of two numbers of `width` bits is less.
    Less {
        /// Bits compared.
        width: u32,
        /// How many.
        count: u32,
    },
    /// First set bit of `inputs`.
    PriorityEncoder {
        /// Request lines.
        inputs: u32,
    },
    /// One of `ways` inputs of `width` bits.
    Mux {
        /// Inputs.
        ways: u32,
        /// Bits of each.
        width: u32,
    },
    /// One line of `outputs`, by its number.
    Decoder {
        /// Lines.
        outputs: u32,
    },
    /// `count` gates that no other piece has.
    Gates {
        /// How many, of two inputs.
        count: u32,
    },
    /// Adder or subtractor.
    Adder {
        /// Bits.
        width: u32,
    },
    /// Adds or takes away one.
    Counter {
        /// Bits.
        width: u32,
    },
    /// How many of `inputs` bits are set.
    Population {
        /// Bits counted.
        inputs: u32,
    },
    /// Multiplier.
    Multiplier {
        /// Bits of one factor.
        width: u32,
        /// Bits of the other.
        by: u32,
    },
    /// Multiplier by a constant.
    ConstantMultiplier {
        /// Bits of the other factor.
        width: u32,
        /// The constant.
        factor: u32,
    },
    /// Divider by a constant.
    ConstantDivider {
        /// Bits of the dividend.
        width: u32,
        /// The divisor.
        divisor: u32,
    },
}

/// A reader of blocks.
pub trait Describe: Fields {
    /// Opens a scope below the current one; `index` tells instances of one name apart.
    fn enter(&mut self, name: &'static str, index: Option<u32>);
    /// Closes the scope opened last.
    fn leave(&mut self);
    /// False if nothing inside the scope opened last is of use to this reader: the scope may be
    /// left at once.
    fn wanted(&self) -> bool {
        true
    }
    /// The scope opened last, though numbered, is one of a few parts and no entry of a table: waves and dumps have
    /// it without being asked for it.
    fn stands_alone(&mut self) {}
    /// True if this reader has seen the scope opened last at this version, which is never the same for two
    /// contents: the scope may be left at once.
    fn has_seen(&mut self, version: u64) -> bool {
        let _ = version;
        false
    }
    /// True if nothing inside the next so many scopes, entries of one table, is of use to this reader: it has
    /// gone past them and must not be told of them.
    fn passes(&mut self, entries: usize) -> bool {
        let _ = entries;
        false
    }
    /// A signal worth seeing that is no state: waves and dumps only.
    fn probe(&mut self, field: Field);
    /// True if this reader has seen the next `count` statistics when their sum was this: counters never go
    /// down, so that none of them has changed, and it has gone past them.
    fn has_seen_stats(&mut self, count: usize, sum: u64) -> bool {
        let _ = (count, sum);
        false
    }
    /// A statistic, on its own or in a group of them: reported and compared at the end of a run, no hardware.
    fn stat_in(&mut self, group: Option<&'static str>, name: &'static str, count: u64);
    /// A memory.
    fn array(&mut self, name: &'static str, array: &dyn ArrayView);
    /// A channel, as storage of its receiver.
    fn channel(&mut self, name: &'static str, depth: u32, beat_bits: u32);
    /// A piece of logic.
    fn logic(&mut self, name: &'static str, logic: Logic);
}

/// Conveniences for every reader of blocks.
pub trait DescribeExt: Describe {
    /// Describes a part in a scope of its own.
    fn part(&mut self, name: &'static str, describe: impl FnOnce(&mut Self)) {
        self.enter(name, None);
        if self.wanted() {
            describe(self);
        }
        self.leave();
    }

    /// Describes one of several parts of one name.
    fn parts(&mut self, name: &'static str, index: u32, describe: impl FnOnce(&mut Self)) {
        self.enter(name, Some(index));
        if self.wanted() {
            describe(self);
        }
        self.leave();
    }

    /// Describes the entries of a table in numbered scopes. A reader that wants none of them does not look
    /// at them one by one.
    fn entries<T>(
        &mut self,
        name: &'static str,
        entries: impl IntoIterator<IntoIter: ExactSizeIterator<Item = T>>,
        mut describe: impl FnMut(T, &mut Self),
    ) {
        let entries = entries.into_iter();
        if !self.passes(entries.len()) {
            for (index, entry) in (0..).zip(entries) {
                self.parts(name, index, |to| describe(entry, to));
            }
        }
    }

    /// The logic around a table of registers: so many of its entries are read at a time, `width` bits of each, and one is
    /// written.
    fn table_ports(&mut self, reads: u32, entries: u32, width: u32) {
        for _ in 0..reads {
            self.logic("read", Logic::Mux { ways: entries, width });
        }
        self.logic("write", Logic::Decoder { outputs: entries });
    }

    /// A statistic that is in no group.
    fn stat(&mut self, name: &'static str, count: u64) {
        self.stat_in(None, name, count);
    }

    /// A named state that is no register.
    fn probe_state<E: Encoding>(&mut self, name: &'static str, value: E) {
        let value = u64::from(value.code());
        self.probe(Field { name, width: E::WIDTH, value, names: E::NAMES });
    }

    /// A number of the given width that is no register.
    fn probe_sized(&mut self, name: &'static str, value: u64, width: u32) {
        self.probe(Field { name, width, value, names: &[] });
    }
}

impl<D: Describe + ?Sized> DescribeExt for D {}

/// Shows the fields of a payload without counting them as state.
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
        /// A flag.
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

    /// A line a call: the name, the width and the value.
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
