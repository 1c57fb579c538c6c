//! Tests of the meaning of valid launch files.

use std::ops::Range;

use golden::reference::ElementType::{F32, I32};
use golden::reference::{Array, Rule};

use super::super::{Action, Argument, BufferId, Comparison, Expect, KernelLaunch, LaunchFile, Repeat, Sequence, View};
use super::{Folder, LAUNCH};

const FULL: &str = r#"
title = "everything"
ptx = "k.ptx"

[[buffer]]
name = "a"
type = "f32"
elements = 4

[[buffer]]
name = "flag"
type = "i32"
elements = 1

[[step]]
repeat = 3
[[step.launch]]
kernel = "first"
grid = [2, 3]
block = [32, 8, 4]
shared_bytes = 1024
args = ["a", { f32 = 1.5 }, { i32 = -7 }]

[[step]]
repeat = { until_zero = "flag", at_most = 9 }
[[step.launch]]
kernel = "second"
grid = [1]
block = [1]
args = ["flag"]
[[step.launch]]
kernel = "third"
grid = [1]
block = [1]
args = []

[[output]]
buffer = "a"
write = "a.npy"
compare = "multiset"
because = "lanes append in any order"

[output.expect]
reference = "vadd"
inputs = { b = "a" }
parameters = { n = 4 }
tolerance = { relative = 1e-6 }
"#;

fn launches(file: &LaunchFile) -> Vec<&KernelLaunch> {
    file.launches().collect()
}

#[test]
fn every_key_reaches_the_model() {
    let folder = Folder::new();
    let file = folder.read(FULL).unwrap();
    assert_eq!(file.title.as_deref(), Some("everything"));
    assert_eq!(file.buffers.len(), 2);
    assert_eq!(file.buffers[0].bytes(), 16);

    let [first, second] = file.steps.as_slice() else {
        panic!("two steps");
    };
    assert_eq!(first.repeat, Repeat::Times(3));
    let launch = launches(&file)[0];
    assert_eq!(launch.ptx, folder.path("k.ptx"));
    assert_eq!(launch.kernel, "first");
    assert_eq!((launch.grid, launch.block), ([2, 3, 1], [32, 8, 4]));
    assert_eq!(launch.shared_bytes, 1024);
    let scalars = [
        Argument::Buffer { buffer: BufferId(0), offset: Sequence::constant(0) },
        Argument::Scalar(Array::from_reals(F32, [1.5])),
        Argument::Scalar(Array::from_integers(I32, [-7])),
    ];
    assert_eq!(launch.args, scalars);

    let flag = BufferId(1);
    let at_most = 9;
    assert_eq!(second.repeat, Repeat::UntilZero { flag, at_most });
    let kernels: Vec<_> = launches(&file).iter().map(|l| l.kernel.as_str()).collect();
    assert_eq!(kernels, ["first", "second", "third"]);
    assert_eq!((first.actions.len(), second.actions.len()), (1, 2));

    let output = &file.outputs[0];
    let all = View { buffer: BufferId(0), element: F32, start: 0, stride: 4, bytes: 4, count: 4 };
    assert_eq!((output.name.as_str(), output.view), ("a", all));
    assert_eq!(output.write, Some(folder.path("a.npy")));
    assert_eq!(output.compare, Comparison::Rule(Rule::Multiset));
    let Some(Expect::Reference { reference, inputs, rule, .. }) = &output.expect else {
        panic!("a reference");
    };
    assert_eq!(reference.name, "vadd");
    assert_eq!(*inputs, [("a", all), ("b", all)]);
    let relative = 1e-6;
    let absolute = 0.0;
    assert_eq!(*rule, Some(Rule::Tolerance { relative, absolute }));
}

#[test]
fn what_is_left_out_takes_its_default() {
    let text = format!("{LAUNCH}\n[[buffer]]\nname = \"a\"\ntype = \"u8\"\nelements = 2\n[[output]]\nbuffer = \"a\"\n");
    let file = Folder::new().read(&text).unwrap();
    assert_eq!(file.title, None);
    assert_eq!(file.steps[0].repeat, Repeat::Times(1));
    assert_eq!(launches(&file)[0].shared_bytes, 0);
    assert_eq!(file.outputs[0].compare, Comparison::Rule(Rule::Exact));
    assert!(file.outputs[0].expect.is_none());
    assert_eq!(file.initial()[0].bytes(), [0, 0]);
}

#[test]
fn a_reference_without_a_tolerance_brings_its_own_rule() {
    let text = FULL.replace("tolerance = { relative = 1e-6 }\n", "");
    let file = Folder::new().read(&text).unwrap();
    let expected = file.compute_expected(&file.initial()).unwrap();
    assert_eq!(expected[0].as_ref().unwrap().rule, Rule::Exact);
}

/// Parses a launch file whose only step has the text `step`. Buffers `a` and `b` of the file have 16 `f32`
/// elements each, and buffer `n` has 8 structs.
fn step(step: &str) -> LaunchFile {
    let text = format!(
        r#"
ptx = "k.ptx"
type = [{{ name = "node", fields = {{ tag = "u8", x = "f32", id = "i64", flag = "i16" }} }}]
buffer = [
    {{ name = "a", type = "f32", elements = 16 }},
    {{ name = "b", type = "f32", elements = 16 }},
    {{ name = "n", type = "node", elements = 8, init = {{ x = "iota", flag = {{ iota = {{ start = -1 }} }} }} }},
]
[[step]]
{step}
"#
    );
    Folder::new().read(&text).unwrap_or_else(|e| panic!("{:#?}", e.lines()))
}

const K: &str = "kernel = \"k\"\ngrid = [1]\nblock = [1]\n";

/// Returns the value of the launch's only argument in each of the first three iterations. The value of an
/// address is its offset in the buffer.
fn values(file: &LaunchFile) -> Vec<i128> {
    let sequence = match &launches(file)[0].args[0] {
        Argument::Buffer { offset, .. } => offset,
        Argument::Iteration { values, .. } => values,
        other => panic!("{other:?}"),
    };
    (0..3).map(|idx| sequence.at(idx).integer().unwrap()).collect()
}

#[test]
fn an_argument_follows_the_iteration_that_it_names() {
    let with = |iteration: &str, argument: &str| {
        let text = format!("repeat = 3\niteration = {iteration}\n[[step.launch]]\n{K}args = [{argument}]");
        values(&step(&text))
    };
    assert_eq!(with("\"k\"", "{ i32 = \"k\" }"), [0, 1, 2]);
    assert_eq!(with("{ k = { start = 5 } }", "{ i32 = \"k\" }"), [5, 6, 7]);
    assert_eq!(with("{ k = {}, left = { start = 2, step = -1 } }", "{ u8 = \"left\" }"), [2, 1, 0]);
    assert_eq!(with("\"k\"", "{ buffer = \"b\", offset = \"k\" }"), [0, 4, 8], "bytes");
    let down = "{ k = { start = 7, step = -3 } }";
    assert_eq!(with(down, "{ buffer = \"n\", field = \"x\", offset = \"k\" }"), [7 * 24 + 4, 4 * 24 + 4, 24 + 4]);
}

#[test]
fn a_value_that_follows_the_iteration_is_rounded_to_its_type() {
    let text = "repeat = 3\niteration = { t = { step = 0.1 } }\n[[step.launch]]\n";
    let file = step(&format!("{text}{K}args = [{{ f32 = \"t\" }}]"));
    let Argument::Iteration { element, values } = &launches(&file)[0].args[0] else { panic!() };
    assert_eq!(values.at(2).array(*element), Array::from_reals(F32, [0.2]));
}

#[test]
fn an_argument_is_the_address_of_an_element() {
    let file = step(&format!("[[step.launch]]\n{K}args = [{{ buffer = \"a\", offset = 15 }}]"));
    assert_eq!(values(&file), [60; 3]);
    assert!(!launches(&file)[0].args[0].varies());
}

#[test]
fn launches_fills_and_copies_come_in_the_order_of_the_file() {
    let fill = "[[step.fill]]\nbuffer = \"a\"\n";
    let copy = "[[step.copy]]\nfrom = \"a\"\nto = \"b\"\n";
    let launch = format!("[[step.launch]]\n{K}args = []\n");
    let kinds = |text: &str| {
        let kind = |action: &Action| match action {
            Action::Launch(_) => 'l',
            Action::Fill { .. } => 'f',
            Action::Copy { .. } => 'c',
        };
        step(text).steps[0].actions.iter().map(kind).collect::<String>()
    };
    assert_eq!(kinds(&format!("{launch}{fill}{launch}{copy}{fill}")), "lflcf");
    let inline =
        "copy = [{ from = \"a\", to = \"b\" }]\nlaunch = [{ kernel = \"k\", grid = [1], block = [1], args = [] }]\n";
    assert_eq!(kinds(&format!("{inline}fill = [{{ buffer = \"a\" }}, {{ buffer = \"b\" }}]")), "clff");
}

#[test]
fn fills_and_copies_take_the_elements_that_they_name() {
    let ends = |range: Range<usize>| (range.start, range.end);
    let of = |text: &str| {
        let file = step(&format!("{text}\n[[step.launch]]\n{K}args = []\n"));
        match &file.steps[0].actions[0] {
            Action::Fill { to, value } => (to.ranges().map(ends).collect::<Vec<_>>(), value.clone()),
            Action::Copy { from, to } => (from.ranges().chain(to.ranges()).map(ends).collect(), Vec::new()),
            Action::Launch(_) => panic!("a launch"),
        }
    };
    let zero = vec![0; 4];
    assert_eq!(of("[[step.fill]]\nbuffer = \"a\"").0, [(0, 64)]);
    assert_eq!(of("[[step.fill]]\nbuffer = \"a\"\noffset = 4").0, [(16, 64)]);
    assert_eq!(of("[[step.fill]]\nbuffer = \"a\"\noffset = 4\nelements = 2"), (vec![(16, 24)], zero));
    let flag = "[[step.fill]]\nbuffer = \"n\"\nfield = \"flag\"\noffset = 6\nvalue = -2";
    assert_eq!(of(flag), (vec![(160, 162), (184, 186)], vec![0xfe, 0xff]));
    assert_eq!(of("[[step.fill]]\nbuffer = \"n\"\noffset = 6"), (vec![(144, 192)], vec![0; 24]));
    let copy = "[[step.copy]]\nfrom = { buffer = \"a\", offset = 12 }\nto = \"b\"";
    assert_eq!(of(copy).0, [(48, 64), (0, 16)]);
    let within = "[[step.copy]]\nfrom = \"a\"\nto = { buffer = \"a\", offset = 8 }\nelements = 8";
    assert_eq!(of(within).0, [(0, 32), (32, 64)]);
    let field =
        "[[step.copy]]\nfrom = { buffer = \"n\", field = \"x\", offset = 6 }\nto = { buffer = \"b\", offset = 14 }";
    assert_eq!(of(field).0, [(148, 152), (172, 176), (56, 64)]);
}

#[test]
fn structs_lie_as_in_c_and_begin_as_their_fields_say() {
    let file = step(&format!("[[step.launch]]\n{K}args = []"));
    let node = &file.buffers[2];
    let offsets: Vec<_> = node.fields.iter().map(|field| (field.name.as_str(), field.offset)).collect();
    assert_eq!(offsets, [("tag", 0), ("x", 4), ("id", 8), ("flag", 16)]);
    assert_eq!(node.bytes(), 8 * 24);
    let bytes = file.initial().remove(2);
    let of = |at: usize, count: usize| bytes.bytes()[3 * 24 + at..][..count].to_vec();
    assert_eq!(of(4, 4), 3.0_f32.to_le_bytes());
    assert_eq!(of(16, 2), 2_i16.to_le_bytes());
    assert_eq!((of(0, 4), of(8, 8)), (vec![0; 4], vec![0; 8]));
}

#[test]
fn an_output_may_be_a_range_or_a_field_and_two_may_share_a_buffer() {
    let outputs = r#"
[[output]]
buffer = "a"
offset = 4
elements = 3
[[output]]
buffer = "a"
offset = 7
compare = "reference"
because = "lanes race for it"
expect = { reference = "vadd", inputs = { a = "b", b = { buffer = "n", field = "x", offset = 1 } }, parameters = { n = 7 } }
[[output]]
buffer = "n"
field = "x"
[[output]]
buffer = "n"
field = "flag"
elements = 2
"#;
    let file = step(&format!("[[step.launch]]\n{K}args = []\n{outputs}"));
    let names: Vec<_> = file.outputs.iter().map(|output| output.name.as_str()).collect();
    assert_eq!(names, ["a[4..7]", "a[7..16]", "n.x", "n.flag[0..2]"]);
    let Some(Expect::Reference { inputs, .. }) = &file.outputs[1].expect else { panic!() };
    let initial = file.initial();
    assert_eq!(*inputs[1].1.of_array(&initial[2]), Array::from_reals(F32, (1..8).map(f64::from)));
    assert!(file.compute_expected(&initial).is_err(), "7 values for 9 elements");
}
