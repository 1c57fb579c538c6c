//! What a correct file means.

use golden::reference::ElementType::{F32, I32};
use golden::reference::{Array, Rule};

use super::super::{Argument, BufferId, Comparison, Expect, Repeat};
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
    let launch = &first.launches[0];
    assert_eq!(launch.ptx, folder.path("k.ptx"));
    assert_eq!(launch.kernel, "first");
    assert_eq!((launch.grid, launch.block), ([2, 3, 1], [32, 8, 4]));
    assert_eq!(launch.shared_bytes, 1024);
    let scalars = [
        Argument::Buffer(BufferId(0)),
        Argument::Scalar(Array::from_reals(F32, [1.5])),
        Argument::Scalar(Array::from_integers(I32, [-7])),
    ];
    assert_eq!(launch.args, scalars);

    let flag = BufferId(1);
    let at_most = 9;
    assert_eq!(second.repeat, Repeat::UntilZero { flag, at_most });
    let kernels: Vec<_> = second.launches.iter().map(|l| l.kernel.as_str()).collect();
    assert_eq!(kernels, ["second", "third"]);

    let output = &file.outputs[0];
    assert_eq!(output.buffer, BufferId(0));
    assert_eq!(output.write, Some(folder.path("a.npy")));
    assert_eq!(output.compare, Comparison::Rule(Rule::Multiset));
    let Some(Expect::Reference { reference, inputs, rule, .. }) = &output.expect else {
        panic!("a reference");
    };
    assert_eq!(reference.name, "vadd");
    assert_eq!(*inputs, [("a", BufferId(0)), ("b", BufferId(0))]);
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
    assert_eq!(file.steps[0].launches[0].shared_bytes, 0);
    assert_eq!(file.outputs[0].compare, Comparison::Rule(Rule::Exact));
    assert!(file.outputs[0].expect.is_none());
    assert_eq!(file.initial()[0].bytes(), [0, 0]);
}

#[test]
fn a_reference_without_a_tolerance_brings_its_own_rule() {
    let text = FULL.replace("tolerance = { relative = 1e-6 }\n", "");
    let file = Folder::new().read(&text).unwrap();
    let expected = file.expected(&file.initial()).unwrap();
    assert_eq!(expected[0].as_ref().unwrap().rule, Rule::Exact);
}
