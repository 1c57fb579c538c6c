//! Parts of buffers: all elements, a run of them, or one field of a run of structs.

use std::borrow::Cow;
use std::ops::Range;

use golden::reference::{Array, ElementType};

use super::model::BufferId;
use super::node::{Node, Table};
use super::problem::Problems;
use super::read::Scope;
use super::structs::refuse_field;

/// Elements of a buffer at a fixed distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The buffer.
    pub buffer: BufferId,
    /// Type of the elements; `u8` if they are whole structs.
    pub element: ElementType,
    /// Bytes from the beginning of the buffer to the first element.
    pub start: usize,
    /// Bytes from an element to the next.
    pub stride: usize,
    /// Bytes of an element.
    pub bytes: usize,
    /// Number of elements, at least 1.
    pub count: usize,
}

impl View {
    /// The byte ranges of the buffer that its elements take, in order: one where they leave no gap.
    pub fn ranges(self) -> impl Iterator<Item = Range<usize>> {
        let (count, bytes) = match self.stride == self.bytes {
            true => (1, self.bytes * self.count),
            false => (self.count, self.bytes),
        };
        (0..count).map(move |idx| self.start + idx * self.stride).map(move |start| start..start + bytes)
    }

    /// The elements in the contents of the buffer.
    pub fn of(self, contents: &[u8]) -> Array {
        let bytes: Vec<u8> = self.ranges().flat_map(|range| &contents[range]).copied().collect();
        Array::from_bytes(self.element, bytes)
    }

    /// The same of an array, which is lent where it is all of the elements.
    pub fn of_array(self, array: &Array) -> Cow<'_, Array> {
        match self.element == array.element() && self.count == array.len() {
            true => Cow::Borrowed(array),
            false => Cow::Owned(self.of(array.bytes())),
        }
    }

    /// Whether two have a byte in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        let meet = |a: Range<usize>, b: Range<usize>| a.start < b.end && b.start < a.end;
        // Of one buffer, all have the same stride.
        let elements = |view: &Self| view.start / view.stride..view.start / view.stride + view.count;
        let field = |view: &Self| view.start % view.stride..view.start % view.stride + view.bytes;
        self.buffer == other.buffer && meet(elements(self), elements(other)) && meet(field(self), field(other))
    }
}

/// `"a"`, or `{ buffer = "a", ... }` with some of the keys of [`read_part`].
pub(super) fn read_view(
    scope: &Scope<'_>,
    node: &Node<'_>,
    keys: &[&str],
    problems: &mut Problems<'_>,
) -> Option<View> {
    if !node.is_table() {
        return Some(scope.whole(scope.buffer(node, problems)?)?.1);
    }
    let table = node.table(&[&["buffer"], keys].concat(), problems)?;
    let buffer = scope.buffer(&table.require("buffer", problems)?, problems)?;
    read_part(scope, buffer, &table, problems)
}

/// The elements of a buffer that `field`, `offset` and `elements` of a table pick; all without them.
pub(super) fn read_part(
    scope: &Scope<'_>,
    buffer: BufferId,
    table: &Table<'_>,
    problems: &mut Problems<'_>,
) -> Option<View> {
    let view = read_field(scope, buffer, table, problems)?;
    let last = view.count as i128 - 1;
    let name = &scope.buffers[buffer.0].name;
    let offset = match table.get("offset") {
        None => 0,
        Some(node) => {
            let why = format!("an element of buffer `{name}`, counted from 0");
            usize::try_from(node.integer(0..=last, &why, problems)?).ok()?
        }
    };
    let left = view.count - offset;
    let count = match table.get("elements") {
        None => left,
        Some(node) => {
            let why = format!("buffer `{name}` has so many from element {offset} on");
            usize::try_from(node.integer(1..=left as i128, &why, problems)?).ok()?
        }
    };
    Some(View { start: view.start + offset * view.stride, count, ..view })
}

/// All elements of a buffer, or `field` of all.
pub(super) fn read_field(
    scope: &Scope<'_>,
    buffer: BufferId,
    table: &Table<'_>,
    problems: &mut Problems<'_>,
) -> Option<View> {
    let (fields, view) = scope.whole(buffer)?;
    let Some(node) = table.get("field") else { return Some(view) };
    let name = node.text("the name of a field", problems)?;
    let Some(field) = fields.iter().find(|field| field.name == name) else {
        refuse_field(&node.place, name, &scope.buffers[buffer.0].name, fields, problems);
        return None;
    };
    Some(View { element: field.element, start: field.offset, bytes: field.element.bytes(), ..view })
}
