//! Divides a buffer into sections, each of which is compared with the expected contents by its own rule.

use std::ops::Range;

use golden::reference::{Array, ElementType, Rule};

use crate::launch::{BufferId, Comparison, LaunchFile, View};

/// Section of a buffer or variable, with its comparison rule.
pub(super) struct Part {
    /// Name that messages use for the compared section.
    pub(super) name: String,
    pub(super) rule: Rule,
    /// View that selects the elements of the section; `None` selects all bytes of the buffer.
    view: Option<View>,
    /// Byte ranges that are ignored in this section, because other sections contain them.
    others: Vec<Range<usize>>,
}

impl Part {
    /// Creates a section that contains all bytes of a buffer and is compared exactly.
    pub(super) fn whole(name: &str) -> Self {
        Self { name: name.to_owned(), rule: Rule::Exact, view: None, others: Vec::new() }
    }

    /// Creates a section of consecutive 32-bit words, for tests.
    #[cfg(test)]
    pub(super) fn words(name: &str, rule: &Rule, count: usize) -> Self {
        let view = View { buffer: BufferId(0), element: ElementType::U32, start: 0, stride: 4, bytes: 4, count };
        Self { rule: rule.clone(), view: Some(view), ..Self::whole(name) }
    }

    /// Extracts the section's elements from the contents of its buffer. Bytes that belong to other sections
    /// are first replaced by the bytes of `expected`, so that they cannot differ.
    pub(super) fn of(&self, mut contents: Vec<u8>, expected: &[u8]) -> Array {
        self.others.iter().for_each(|range| contents[range.clone()].copy_from_slice(&expected[range.clone()]));
        match self.view {
            Some(view) => view.of(&contents),
            None => Array::from_bytes(ElementType::U8, contents),
        }
    }

    /// Byte offset of the section's element `index` in the buffer.
    pub(super) fn offset(&self, index: usize) -> usize {
        self.view.map_or(index, |view| view.start + index * view.stride)
    }
}

/// Returns the sections of a buffer. Each output that is compared by a rule is a section. One more section
/// contains all bytes that belong to no output; they are compared exactly.
pub(super) fn parts(file: &LaunchFile, buffer: usize) -> Vec<Part> {
    let (mut parts, mut others) = (Vec::new(), Vec::new());
    for output in file.outputs.iter().filter(|output| output.view.buffer.0 == buffer) {
        if let Comparison::Rule(rule) = &output.compare {
            let view = Some(output.view);
            parts.push(Part { name: output.name.clone(), rule: rule.clone(), view, others: Vec::new() });
        }
        others.extend(output.view.ranges());
    }
    let declared = &file.buffers[buffer];
    let fields = declared.parts(BufferId(buffer));
    for (name, view) in &fields {
        parts.push(Part { name: name.clone(), rule: Rule::Exact, view: Some(*view), others: others.clone() });
    }
    // The bytes of the struct fields are excluded from the comparison of the whole buffer, because each field
    // is compared as a separate section. The remaining bytes include the padding between the fields.
    others.extend(fields.iter().flat_map(|(_, view)| view.ranges()));
    parts.push(Part { others, ..Part::whole(&declared.name) });
    parts
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use golden::reference::compare;

    use super::*;

    /// Changes the given bytes of a buffer and returns the names of the sections that now differ. Buffer `a`
    /// has 8 elements of type `f32`: elements 2 and 3 are compared as a multiset, and elements 4 and 5 may
    /// differ by 1. Buffer `n` has 3 structs, each with a `u8` and an `i32`.
    fn differing(buffer: usize, changed: &[usize]) -> Vec<String> {
        let ptx = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/vadd/vadd.ptx");
        let text = format!(
            r#"
ptx = {ptx:?}
type = [{{ name = "pair", fields = {{ small = "u8", large = "i32" }} }}]
buffer = [{{ name = "a", type = "f32", elements = 8 }}, {{ name = "n", type = "pair", elements = 3 }}]
step = [{{ launch = [{{ kernel = "vadd", grid = [1], block = [1], args = [] }}] }}]
[[output]]
buffer = "a"
offset = 2
elements = 2
compare = "multiset"
because = "they race"
[[output]]
buffer = "a"
offset = 4
elements = 2
compare = "tolerance"
tolerance = {{ absolute = 1.0 }}
because = "they race"
"#
        );
        let file = LaunchFile::parse(Path::new("run.toml"), &text).unwrap_or_else(|e| panic!("{:#?}", e.lines()));
        let expected = match buffer {
            0 => (0..8_u8).flat_map(|value| f32::from(value).to_le_bytes()).collect(),
            _ => vec![0; 24],
        };
        let mut got: Vec<u8> = expected.clone();
        match changed {
            // If the list `changed` is empty, elements 2 and 3 are swapped instead.
            [] => got[8..16].rotate_left(4),
            _ => changed.iter().for_each(|&at| got[at] ^= 0x40),
        }
        let of = |part: &Part, contents: &Vec<u8>| part.of(contents.clone(), &expected);
        let differs = |part: &Part| compare(&of(part, &got), &of(part, &expected), &part.rule).is_err();
        parts(&file, buffer).into_iter().filter(differs).map(|part| part.name).collect()
    }

    #[test]
    fn each_output_is_compared_by_its_rule_and_all_else_exactly() {
        let none: [&str; 0] = [];
        assert_eq!(differing(0, &[]), none);
        assert_eq!(differing(0, &[8]), ["a[2..4]"]);
        assert_eq!(differing(0, &[17]), none, "4.0078125 is near 4");
        assert_eq!(differing(0, &[19]), ["a[4..6]"]);
        assert_eq!(differing(0, &[0]), ["a"]);
        assert_eq!(differing(0, &[8, 19, 31]), ["a[2..4]", "a[4..6]", "a"]);
    }

    #[test]
    fn structs_differ_by_field_or_between_them() {
        assert_eq!(differing(1, &[8]), ["n.small"]);
        assert_eq!(differing(1, &[4, 0]), ["n.small", "n.large"]);
        assert_eq!(differing(1, &[1]), ["n"]);
    }
}
