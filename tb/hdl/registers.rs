//! # Mapping of register names
//! Each register that the Rust model lists in its method `describe` has a register of the same name, with the
//! suffix `_q`, in the SystemVerilog module. The table shows how the name in the module follows from the name
//! in the description.
//!
//! | in the description                                                               | in the module |
//! |----------------------------------------------------------------------------------|-----|
//! | field `head`                                                                     | `head_q` |
//! | field `line` of the numbered scope `entry[3]`                                    | `line_q[3]` |
//! | field `entries` of the numbered scope `used[1]`, for a mask of more than 64 bits | `used_q[64+:64]` |
//! | second field `slot` of five with this name in the scope `entry[3]`               | `slot_q[3*5+1]` |
//! | field `count` of the component `fifo`                                            | `fifo.count_q`, in an instance of that name; the component with the module's own name is the module |
//! | field `line` of the numbered scope `slot[3]`, if the bench packs the scope       | bits of the word `slot_q[3]`, as in a memory entry |
//! | field `open` of the numbered scope `bank[3]`, if the bench lists it as a loop of instances | `bank[3].unit.open_q`: instance `unit` in the generate loop `bank` |
//! | memory `tags` with 8 entries per row, field `status` of entry 2 of row 3         | bits of the word `tags_q[3]`: entry 0 lowest, the first field of an entry highest |
//! | the same, if the bench lists the memory as an instance of a register file by row | bits of the word `tags.words_q[3]` |
//! | the same, if the bench lists it by entry                                         | bits of the word `tags.words_q[3*8+2]` |

use std::collections::BTreeMap;

use rtl::kernel::{ArrayView, Describe, Field, Fields, Logic};

use super::ports::{Signal, push};
use super::{Bench, WordOf};

/// Name of the 64-bit parts of a wide mask in the description of a Rust model. The name of the mask itself is
/// that of the numbered scope that encloses its parts.
const PART_OF_MASK: &str = "entries";

/// Register, with its name in the Rust model's description and the expression that reads it in the
/// SystemVerilog module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Register {
    pub signal: Signal,
    pub expression: String,
}

/// Returns every register that a testbench compares between the Rust model and the SystemVerilog module.
pub(super) fn registers(module: &'static str, bench: &dyn Bench) -> Vec<Register> {
    let mut names = Names { module, loops: bench.instance_loops(), files: bench.register_files(), ..Names::default() };
    bench.describe(&mut names);
    names.found.retain(|field| !bench.other_form().contains(&field.name));
    names.found.iter_mut().for_each(|field| field.is_packed &= bench.packed().iter().any(|name| field.is_in(name)));
    pack(&mut names.found);
    let mut repeats = BTreeMap::new();
    for field in &names.found {
        *repeats.entry((field.scope.clone(), field.name)).or_insert(0u32) += 1;
    }
    let mut seen = BTreeMap::new();
    let register = |Found { scope, instance, index, numbered, name, width, bits, .. }: Found| {
        let count = repeats[&(scope.clone(), name)];
        let nth = seen.entry((scope.clone(), name)).or_insert(0u32);
        let at = match (index, count) {
            (None, 1) => String::new(),
            (index, _) => format!("[{}]", index.unwrap_or(0) * count + *nth),
        };
        let told = if count > 1 { format!("[{nth}]") } else { String::new() };
        *nth += 1;
        // The scope of a memory entry contains the row and the column of the entry, so the name is unique
        // without a further index.
        let (expression, name) = match bits {
            Some((word, bits)) => (format!("{instance}{word}{bits}"), format!("{scope}{name}")),
            None if name == PART_OF_MASK && index.is_some() => {
                let first = u64::BITS * index.unwrap_or(0);
                (format!("{instance}{numbered}_q[{first}+:{width}]"), format!("{scope}{name}"))
            }
            None => (format!("{instance}{name}_q{at}"), format!("{scope}{name}{told}")),
        };
        Register { signal: Signal { name, width }, expression }
    };
    names.found.into_iter().map(register).collect()
}

/// Assigns a bit range to each field of a packed scope, whose fields the module stores in one word. The last
/// field gets the lowest bits.
fn pack(found: &mut [Found]) {
    let mut scope = String::new();
    let mut low = 0;
    for field in found.iter_mut().rev().filter(|field| field.is_packed) {
        if field.scope != scope {
            (scope, low) = (field.scope.clone(), 0);
        }
        let word = format!("{}_q[{}]", field.numbered, field.index.unwrap_or(0));
        field.bits = Some((word, format!("[{low}+:{}]", field.width)));
        low += field.width;
    }
}

/// Visitor that collects the values of all registers. Each value begins in a new 32-bit word of the row.
pub(super) struct Values<'a> {
    pub row: &'a mut Vec<u32>,
    pub other_form: &'a [&'a str],
}

impl Fields for Values<'_> {
    fn field(&mut self, field: Field) {
        if !self.other_form.contains(&field.name) {
            push(self.row, field.width, &field.value.to_le_bytes());
        }
    }
    fn wide(&mut self, _: &'static str, bytes: &[u8]) {
        push(self.row, bytes.len() as u32 * 8, bytes);
    }
}

impl Describe for Values<'_> {
    fn enter(&mut self, _: &'static str, _: Option<u32>) {}
    fn leave(&mut self) {}
    fn probe(&mut self, _: Field) {}
    fn stat_in(&mut self, _: Option<&'static str>, _: &'static str, _: u64) {}
    fn array(&mut self, _: &'static str, array: &dyn ArrayView) {
        let spec = array.spec();
        for row in 0..spec.rows {
            (0..spec.columns).for_each(|column| array.cell(row, column, self));
        }
    }
    fn channel(&mut self, _: &'static str, _: u32, _: u32) {}
    fn logic(&mut self, _: &'static str, _: Logic) {}
}

struct Found {
    /// Names of all scopes that enclose the field, each followed by a dot.
    scope: String,
    /// Names of the module instances that enclose the field, each followed by a dot. Other scopes are left
    /// out.
    instance: String,
    index: Option<u32>,
    /// Name of the numbered scope that encloses the field; empty if there is none.
    numbered: &'static str,
    is_packed: bool,
    name: &'static str,
    width: u32,
    /// Word that contains the field, and the bit range of the field in this word. `None` if the field is
    /// neither in a memory entry nor in a packed scope.
    bits: Option<(String, String)>,
}

impl Found {
    /// True if the field is in a numbered scope of the given name, `NAME` or `INSTANCE.NAME`.
    fn is_in(&self, name: &str) -> bool {
        let (instance, name) = name.rsplit_once('.').unwrap_or(("", name));
        let rest = self.instance.strip_prefix(instance);
        self.numbered == name && rest.is_some_and(|rest| instance.is_empty() || rest.starts_with('.'))
    }
}

#[derive(Default)]
struct Names {
    module: &'static str,
    /// Numbered scopes whose entries are instances of a module.
    loops: &'static [&'static str],
    /// Memories that are instances of a register file.
    files: &'static [(&'static str, WordOf)],
    scopes: Vec<(&'static str, Option<u32>)>,
    found: Vec<Found>,
}

impl Names {
    fn scope(&self) -> String {
        let scope = |&(name, index): &(&str, Option<u32>)| match index {
            Some(index) => format!("{name}[{index}]."),
            None => format!("{name}."),
        };
        self.scopes.iter().map(scope).collect()
    }

    /// Returns what a word of a memory stores, if the memory is an instance of a register file.
    fn word_of(&self, memory: &str) -> Option<WordOf> {
        let inside = self.instance() + memory;
        self.files.iter().find(|(path, _)| *path == inside).map(|(_, word)| *word)
    }

    fn instance(&self) -> String {
        // Only the outermost component can be the module itself; a part of it may have the same name.
        let own = self.scopes.first().filter(|(name, index)| index.is_none() && *name == self.module);
        let inner = self.scopes.iter().skip(usize::from(own.is_some()));
        let instance = |&(name, index): &(&str, Option<u32>)| match index {
            None => Some(format!("{name}.")),
            Some(index) => self.loops.contains(&name).then(|| format!("{name}[{index}].unit.")),
        };
        inner.filter_map(instance).collect()
    }
}

impl Fields for Names {
    fn field(&mut self, field: Field) {
        let is_entry = |(name, index): &&(&str, Option<u32>)| index.is_some() && !self.loops.contains(name);
        let numbered = self.scopes.iter().rev().find(is_entry);
        let &(numbered, index) = numbered.unwrap_or(&("", None));
        let (scope, instance, is_packed) = (self.scope(), self.instance(), index.is_some());
        let Field { name, width, .. } = field;
        self.found.push(Found { scope, instance, index, numbered, is_packed, name, width, bits: None });
    }
    fn wide(&mut self, name: &'static str, bytes: &[u8]) {
        self.field(Field { name, width: bytes.len() as u32 * 8, value: 0, names: &[] });
    }
}

impl Describe for Names {
    fn enter(&mut self, name: &'static str, index: Option<u32>) {
        self.scopes.push((name, index));
    }
    fn leave(&mut self) {
        self.scopes.pop();
    }
    fn probe(&mut self, _: Field) {}
    fn stat_in(&mut self, _: Option<&'static str>, _: &'static str, _: u64) {}
    fn array(&mut self, name: &'static str, array: &dyn ArrayView) {
        let (spec, cell) = (array.spec(), array.cell_bits());
        for (row, column) in (0..spec.rows).flat_map(|row| (0..spec.columns).map(move |column| (row, column))) {
            let mut names = Self::default();
            array.cell(row, column, &mut names);
            let (word, mut top) = match self.word_of(name) {
                None => (format!("{name}_q[{row}]"), (column + 1) * cell),
                Some(WordOf::Row) => (format!("{name}.words_q[{row}]"), (column + 1) * cell),
                Some(WordOf::Entry) => (format!("{name}.words_q[{}]", row * spec.columns + column), cell),
            };
            for field in names.found {
                top -= field.width;
                let scope = format!("{}{name}[{row}][{column}].", self.scope());
                let bits = Some((word.clone(), format!("[{top}+:{}]", field.width)));
                self.found.push(Found { scope, instance: self.instance(), bits, ..field });
            }
        }
    }
    fn channel(&mut self, _: &'static str, _: u32, _: u32) {}
    fn logic(&mut self, _: &'static str, _: Logic) {}
}
