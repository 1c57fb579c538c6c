//! Views of buffers. A view selects all elements, a range of elements, or one field in a range of structs.

use std::borrow::Cow;
use std::ops::Range;

use golden::reference::{Array, ElementType};

use super::model::BufferId;
use super::node::{Node, Table};
use super::problem::Problems;
use super::read::Scope;
use super::structs::refuse_field;

/// View of a buffer: selected elements at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Buffer that contains the elements.
    pub buffer: BufferId,
    /// Type of the elements; `u8` if the view selects whole structs.
    pub element: ElementType,
    /// Offset of the first element in the buffer, in bytes.
    pub start: usize,
    /// Distance between the starts of two consecutive elements, in bytes.
    pub stride: usize,
    /// Size of an element, in bytes.
    pub bytes: usize,
    /// Number of elements, at least 1.
    pub count: usize,
}

impl View {
    /// Iterates over the byte ranges of the elements in order. If there are no gaps between the elements,
    /// there is a single range.
    pub fn ranges(self) -> impl Iterator<Item = Range<usize>> {
        let (count, bytes) = match self.stride == self.bytes {
            true => (1, self.bytes * self.count),
            false => (self.count, self.bytes),
        };
        (0..count).map(move |idx| self.start + idx * self.stride).map(move |start| start..start + bytes)
    }

    /// Copies the selected elements out of the contents of the buffer.
    pub fn of(self, contents: &[u8]) -> Array {
        let bytes: Vec<u8> = self.ranges().flat_map(|range| &contents[range]).copied().collect();
        Array::from_bytes(self.element, bytes)
    }

    /// Returns the elements of an array that the view selects. If the view selects all elements, the array is
    /// borrowed instead of being copied.
    pub fn of_array(self, array: &Array) -> Cow<'_, Array> {
        match self.element == array.element() && self.count == array.len() {
            true => Cow::Borrowed(array),
            false => Cow::Owned(self.of(array.bytes())),
        }
    }

    /// True if there is a byte that both views select.
    pub fn overlaps(&self, other: &Self) -> bool {
        let meet = |a: Range<usize>, b: Range<usize>| a.start < b.end && b.start < a.end;
        // Views of the same buffer have the same stride. The ranges of their element indices can therefore be
        // compared.
        let elements = |view: &Self| view.start / view.stride..view.start / view.stride + view.count;
        let field = |view: &Self| view.start % view.stride..view.start % view.stride + view.bytes;
        self.buffer == other.buffer && meet(elements(self), elements(other)) && meet(field(self), field(other))
    }
}

/// Reads a view, written as `"a"` for a whole buffer, or as `{ buffer = "a", ... }` with some of the keys of
/// [`read_part`].
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

/// Reads which elements the keys `field`, `offset` and `elements` of a table select. Without these keys, all
/// elements are selected.
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
            let why = format!("the elements of buffer `{name}` from element {offset} on");
            usize::try_from(node.integer(1..=left as i128, &why, problems)?).ok()?
        }
    };
    Some(View { start: view.start + offset * view.stride, count, ..view })
}

/// Returns the view of all elements of a buffer, or of one field of its structs if the table has the key
/// `field`.
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
