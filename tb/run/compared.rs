//! Compares what is in a buffer with what should be, output by output.

use golden::reference::{Array, ElementType, Mismatch, Rule, compare};

use crate::launch::{BufferId, Comparison, LaunchFile};

/// Where `got` is not as `expected`, with the name of each part: the outputs of the buffer by their rules, all else of
/// it exactly.
pub(super) fn mismatches(
    file: &LaunchFile,
    buffer: usize,
    mut got: Vec<u8>,
    expected: &[u8],
) -> Vec<(String, Box<Mismatch>)> {
    let judge = |name: &str, got: &Array, expected: &Array, rule: &Rule| {
        compare(got, expected, rule).err().map(|mismatch| (name.to_owned(), mismatch))
    };
    let mut found = Vec::new();
    for output in file.outputs.iter().filter(|output| output.view.buffer.0 == buffer) {
        if let Comparison::Rule(rule) = &output.compare {
            found.extend(judge(&output.name, &output.view.of(&got), &output.view.of(expected), rule));
        }
        // What an output has judged agrees from here on.
        output.view.ranges().for_each(|range| got[range.clone()].copy_from_slice(&expected[range]));
    }
    if got == expected {
        return found;
    }
    let before = found.len();
    for (name, view) in file.buffers[buffer].parts(BufferId(buffer)) {
        found.extend(judge(&name, &view.of(&got), &view.of(expected), &Rule::Exact));
    }
    if found.len() == before {
        // Between the fields of structs.
        let bytes = |bytes: &[u8]| Array::from_bytes(ElementType::U8, bytes.to_vec());
        found.extend(judge(&file.buffers[buffer].name, &bytes(&got), &bytes(expected), &Rule::Exact));
    }
    found
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The parts that differ in a buffer `a` of 8 `f32`, elements 2 to 3 of which race and 4 to 5 of which may be off by
    /// one, or in a buffer `n` of 3 structs of `u8`, `i32`, after these bytes have been changed.
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
            // Elements 2 and 3 change places.
            [] => got[8..16].rotate_left(4),
            _ => changed.iter().for_each(|&at| got[at] ^= 0x40),
        }
        mismatches(&file, buffer, got, &expected).into_iter().map(|(name, _)| name).collect()
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
