//! Tests that break each rule of a launch file and expect the exact error message.

use std::fs;
use std::path::Path;

use golden::reference::{Array, ElementType};
use isa::program::LaunchLimits;
use isa::types::Type;
use miette::{GraphicalReportHandler, GraphicalTheme};
use proptest::prelude::*;

use super::super::{KernelShape, LaunchFile, ParameterShape, write_npy};
use super::{Folder, LAUNCH, launch_with, with_launch};

/// Returns the problems of a launch file with one buffer `a`. `rest` is the text of the buffer's other keys.
/// Everything else in the file is valid.
fn buffer_problems(folder: &Folder, rest: &str) -> Vec<String> {
    folder.problems(&with_launch(&format!("[[buffer]]\nname = \"a\"\n{rest}\n")))
}

/// Returns the problems of a launch file with an output of the buffer `c`, which has four elements of type
/// `f32`. `rest` is the text of the output's other keys.
fn output_problems(folder: &Folder, rest: &str) -> Vec<String> {
    let buffer = "[[buffer]]\nname = \"c\"\ntype = \"f32\"\nelements = 4\n";
    let output = format!("[[output]]\nbuffer = \"c\"\n{rest}\n");
    folder.problems(&with_launch(&format!("{buffer}{output}")))
}

#[test]
fn a_missing_launch_file_is_named() {
    let error = LaunchFile::read(Path::new("nowhere/run.toml")).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("nowhere/run.toml: cannot read the launch file: "), "{text}");
}

#[test]
fn a_report_shows_file_line_column_and_excerpt() {
    let folder = Folder::new();
    let error = folder.read(&launch_with("block = [32]", "block = [64, 32]")).unwrap_err();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::none());
    let mut report = String::new();
    handler.render_report(&mut report, &error).unwrap();
    let path = folder.path("run.toml").display().to_string();
    assert!(report.contains("1 problem"), "{report}");
    assert!(report.contains(&format!("[{path}:7:9]")), "{report}");
    assert!(report.contains("block = [64, 32]\n"), "{report}");
    assert!(report.contains("^^^^^^^^"), "{report}");
}

#[test]
fn syntax_errors_have_a_position() {
    let problems = Folder::new().problems("title = \"x\"\nptx = = 3\n");
    assert!(problems[0].starts_with("2:7: not TOML: "), "{problems:?}");
}

#[test]
fn all_problems_are_reported_at_once_in_the_order_of_lines() {
    let text = "tittle = \"x\"\n[[buffer]]\nname = \"a\"\ntype = \"f31\"\nelements = 0\n";
    let text = format!("{text}{}", launch_with("args = []", "args = [\"b\"]"));
    assert_eq!(
        Folder::new().problems(&text),
        [
            "1:1: unknown key `tittle` (did you mean `title`?)",
            "4:8: `buffer[0].type` is \"f31\", expected an element type (did you mean `f32`?)",
            "5:12: `buffer[0].elements` is 0, expected 1 to 2147483648: a buffer has at least one element and at most 2 GiB",
            "13:9: `step[0].launch[0].args[0]` is \"b\", expected the name of a buffer (buffers: a)",
        ]
    );
}

#[test]
fn a_key_like_no_other_is_answered_with_the_legal_ones() {
    assert_eq!(
        Folder::new().problems(&with_launch("kernels = 3\n")),
        ["1:1: unknown key `kernels` (legal keys: title, ptx, type, buffer, step, output)"]
    );
}

#[test]
fn missing_keys_are_named_where_their_table_begins() {
    assert_eq!(
        Folder::new().problems("[[buffer]]\n[[step]]\n[[step.launch]]\n"),
        [
            "1:1: `buffer[0]` has no `name`, which it needs",
            "1:1: `buffer[0]` has no `type`, which it needs",
            "1:1: `buffer[0]` has no `elements`, which it needs",
            "3:1: `step[0].launch[0]` has no `ptx`, and neither has the file",
            "3:1: `step[0].launch[0]` has no `kernel`, which it needs",
            "3:1: `step[0].launch[0]` has no `grid`, which it needs",
            "3:1: `step[0].launch[0]` has no `block`, which it needs",
            "3:1: `step[0].launch[0]` has no `args`, which it needs",
        ]
    );
    assert_eq!(Folder::new().problems("title = \"nothing to run\"\n"), ["1:1: the file has no `step`, which it needs"]);
    assert_eq!(
        Folder::new().problems("[[step]]\n"),
        ["1:1: `step[0]` has no `launch`, `fill` or `copy`, expected at least one of them"]
    );
}

#[test]
fn a_ptx_file_that_is_none_is_one_problem_however_many_launches_need_it() {
    let launch = "[[step.launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [1]\nargs = []\n";
    let problems = Folder::new().problems(&format!("ptx = \"none.ptx\"\n[[step]]\n{launch}{launch}"));
    let [problem] = problems.as_slice() else { panic!("{problems:?}") };
    assert!(problem.starts_with("1:7: `ptx` is \"none.ptx\", expected a PTX file: there is no file "), "{problem}");
}

#[test]
fn a_folder_or_device_in_the_place_of_a_file_is_named_as_such() {
    let launch = "[[step]]\n[[step.launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [1]\nargs = []\n";
    for (path, found) in [(".", " is a folder"), ("/dev/zero", "/dev/zero is a device or a pipe")] {
        let problems = Folder::new().problems(&format!("ptx = \"{path}\"\n{launch}"));
        assert!(problems.len() == 1 && problems[0].ends_with(found), "{problems:?}");
    }
}

#[test]
fn two_buffers_of_one_name_are_refused() {
    let buffer = "[[buffer]]\nname = \"a\"\ntype = \"u8\"\nelements = 1\n";
    assert_eq!(
        Folder::new().problems(&with_launch(&buffer.repeat(2))),
        ["6:8: `buffer[1].name` is \"a\", expected a unique name: an earlier buffer has the same"]
    );
}

#[test]
fn initial_values_must_fit_the_element_type() {
    let folder = Folder::new();
    let check = |rest: &str, expected: &str| {
        assert_eq!(buffer_problems(&folder, rest), [expected]);
    };
    check(
        "type = \"u8\"\nelements = 300\ninit = \"iota\"",
        "5:8: `buffer[0].init` is \"iota\", expected values of u8, 0 to 255: the last element would be 299",
    );
    check(
        "type = \"u8\"\nelements = 3\ninit = { iota = { start = -1 } }",
        "5:27: `buffer[0].init.iota.start` is -1, expected 0 to 255: the values of u8",
    );
    check(
        "type = \"f32\"\nelements = 3\ninit = { iota = { step = 1e39 } }",
        "5:26: `buffer[0].init.iota.step` is 1e39, expected a number that is finite in f32",
    );
    check(
        "type = \"u8\"\nelements = 3\ninit = { random = { seed = 1, low = 0, high = 257 } }",
        "5:47: `buffer[0].init.random.high` is 257, expected 0 to 255: the values of u8",
    );
    check(
        "type = \"i32\"\nelements = 3\ninit = { random = { seed = 1, low = 4, high = 4 } }",
        "5:47: `buffer[0].init.random.high` is 4, expected more than `low`, 4: values are drawn from low to below high",
    );
    check(
        "type = \"f32\"\nelements = 3\ninit = { random = { seed = 1, low = 0.1, high = 0.1000000001 } }",
        "5:49: `buffer[0].init.random.high` is 0.1000000001, expected more than `low`, 0.10000000149011612: values are drawn from low to below high",
    );
    check(
        "type = \"i32\"\nelements = 3\ninit = \"ones\"",
        "5:8: `buffer[0].init` is \"ones\", expected \"zeros\", \"iota\", or a table with one of iota, random, file",
    );
    check(
        "type = \"i32\"\nelements = 3\ninit = { randon = { seed = 1 } }",
        "5:10: unknown key `buffer[0].init.randon` (did you mean `random`?)",
    );
}

#[test]
fn data_files_that_do_not_fit_are_named() {
    let folder = Folder::new();
    let ints = Array::zeros(ElementType::I32, 3);
    write_npy(&folder.path("i.npy"), &ints).unwrap();
    fs::write(folder.path("text.npy"), "hello").unwrap();
    let whole = fs::read(folder.path("i.npy")).unwrap();
    fs::write(folder.path("short.npy"), &whole[..whole.len() - 1]).unwrap();
    let problem = |rest: &str| {
        let problems = buffer_problems(&folder, rest);
        assert_eq!(problems.len(), 1, "{problems:?}");
        problems[0].clone()
    };
    let of = |ty: &str, file: &str| format!("type = \"{ty}\"\ninit = {{ file = \"{file}\" }}");
    assert_eq!(
        problem(&of("f32", "i.npy")),
        "4:17: `buffer[0].init.file` is \"i.npy\", expected a .npy file of f32: i.npy holds '<i4', expected f32"
    );
    assert_eq!(
        problem(&format!("{}\nelements = 4", of("i32", "i.npy"))),
        "5:12: `buffer[0].elements` is 4, expected 3, the number of elements in the file of `init`"
    );
    let missing = problem(&of("i32", "no.npy"));
    assert!(
        missing.starts_with(
            "4:17: `buffer[0].init.file` is \"no.npy\", expected a .npy file of i32: cannot open no.npy: "
        ),
        "{missing}"
    );
    for broken in ["text.npy", "short.npy"] {
        let problem = problem(&of("i32", broken));
        let expected = format!("{broken} is not a readable .npy file: ");
        assert!(problem.contains(&expected), "{problem}");
    }
}

#[test]
fn grids_and_blocks_have_limits() {
    let folder = Folder::new();
    let check = |line: &str, replacement: &str, expected: &str| {
        assert_eq!(folder.problems(&launch_with(line, replacement)), [expected]);
    };
    check(
        "grid = [1]",
        "grid = [2, 0]",
        "6:12: `step[0].launch[0].grid[1]` is 0, expected 1 to 65535: the extent in y",
    );
    check("grid = [1]", "grid = []", "6:8: `step[0].launch[0].grid` is [], expected 1 to 3 integers: x, y, z");
    check(
        "grid = [1]",
        "grid = 4",
        "6:8: `step[0].launch[0].grid` is 4, expected an array of 1 to 3 integers: x, y, z",
    );
    check(
        "block = [32]",
        "block = [33, 32]",
        "7:9: `step[0].launch[0].block` is [33, 32], expected at most 1024 threads in all, not 1056: the limit per CTA",
    );
    check(
        "block = [32]",
        "block = [1, 1, 65]",
        "7:16: `step[0].launch[0].block[2]` is 65, expected 1 to 64: the extent in z",
    );
    check(
        "block = [32]",
        "block = [32]\nshared_bytes = -4",
        "8:16: `step[0].launch[0].shared_bytes` is -4, expected 0 to 1073741824: bytes of dynamic shared memory per CTA, limited by the machine",
    );
}

#[test]
fn a_ptx_file_must_exist() {
    assert_eq!(
        Folder::new().problems(&launch_with("k.ptx", "l.ptx")),
        ["4:7: `step[0].launch[0].ptx` is \"l.ptx\", expected a PTX file: there is no file l.ptx"]
    );
}

#[test]
fn arguments_are_buffers_or_typed_scalars() {
    let folder = Folder::new();
    let check = |args: &str, expected: &str| {
        let text = launch_with("args = []", &format!("args = [{args}]"));
        assert_eq!(folder.problems(&text), [expected]);
    };
    check(
        "3",
        "8:9: `step[0].launch[0].args[0]` is 3, expected the name of a buffer or a typed scalar such as { f32 = 1.5 }",
    );
    check("\"a\"", "8:9: `step[0].launch[0].args[0]` is \"a\", expected the name of a buffer (there are no buffers)");
    check("{ s32 = 1 }", "8:11: unknown key `step[0].launch[0].args[0].s32` (did you mean `i32`?)");
    check("{ u8 = 256 }", "8:16: `step[0].launch[0].args[0].u8` is 256, expected 0 to 255: the values of u8");
    check(
        "{ u8 = 1, i8 = 2 }",
        "8:9: `step[0].launch[0].args[0]` is { u8 = 1, i8 = 2 }, expected one type and its value, such as { f32 = 1.5 }",
    );
}

#[test]
fn repeats_need_a_limit_and_an_integer_flag() {
    let folder = Folder::new();
    let buffer = "[[buffer]]\nname = \"a\"\ntype = \"f32\"\nelements = 1\n";
    let problems = |repeat: &str| {
        let step = LAUNCH.replace("[[step]]\n", &format!("[[step]]\nrepeat = {repeat}\n"));
        folder.problems(&format!("{buffer}{step}"))
    };
    assert_eq!(
        problems("0"),
        [
            "7:10: `step[0].repeat` is 0, expected 1 to 4294967295: a count of iterations, or a table of until_zero and at_most"
        ]
    );
    assert_eq!(
        problems("{ until_zero = \"a\" }"),
        [
            "7:10: `step[0].repeat` has no `at_most`, which it needs",
            "7:25: `step[0].repeat.until_zero` is \"a\", expected a buffer of integers: this one is f32, whose zero may be -0.0",
        ]
    );
}

#[test]
fn a_comparison_that_is_not_exact_needs_a_reason() {
    let folder = Folder::new();
    let check = |rest: &str, expected: &str| {
        assert_eq!(output_problems(&folder, rest), [expected]);
    };
    check(
        "compare = \"multiset\"",
        "7:11: `output[0].compare` is \"multiset\", expected \"exact\", or a reason in `because`: results agree bit for bit unless the kernel races",
    );
    check(
        "compare = \"exakt\"",
        "7:11: `output[0].compare` is \"exakt\", expected a comparison (did you mean `exact`?)",
    );
    check(
        "compare = \"reference\"\nbecause = \"races\"",
        "7:11: `output[0].compare` is \"reference\", expected an additional `expect`: there is no other rule",
    );
    check("compare = \"tolerance\"\nbecause = \"races\"", "5:1: `output[0]` has no `tolerance`, which it needs");
    check(
        "tolerance = { absolute = 1 }",
        "7:13: `output[0].tolerance` is { absolute = 1 }, expected none, unless compare = \"tolerance\"",
    );
    check(
        "compare = \"tolerance\"\nbecause = \"races\"\ntolerance = { absolute = -1 }",
        "9:26: `output[0].tolerance.absolute` is -1, expected a finite number that is 0 or more",
    );
}

#[test]
fn a_tolerance_that_lets_anything_pass_is_none() {
    let folder = Folder::new();
    for value in ["inf", "+inf", "-inf", "nan", "-nan", "1e400", "-1e-9", "\"0.1\"", "true"] {
        for key in ["relative", "absolute"] {
            let tolerance = format!("tolerance = {{ {key} = {value} }}");
            let compared = format!("compare = \"tolerance\"\nbecause = \"races\"\n{tolerance}");
            let expected = format!(
                "expect = {{ reference = \"vadd\", inputs = {{ a = \"c\", b = \"c\" }}, parameters = {{ n = 4 }}, {tolerance} }}"
            );
            for (rest, place) in [(compared, "9:"), (expected, "7:")] {
                let problems = output_problems(&folder, &rest);
                let [problem] = problems.as_slice() else { panic!("{rest}: {problems:?}") };
                let says = format!("tolerance.{key}` is {value}, expected a finite number that is 0 or more");
                assert!(problem.starts_with(place) && problem.contains(&says), "{problem}");
            }
        }
    }
}

#[test]
fn a_relative_tolerance_is_a_part_of_the_value() {
    let folder = Folder::new();
    let with =
        |value: &str| format!("compare = \"tolerance\"\nbecause = \"races\"\ntolerance = {{ relative = {value} }}");
    for value in ["1", "1.0", "1e300"] {
        let says = format!(
            "9:26: `output[0].tolerance.relative` is {value}, expected less than 1: a result of zeros would pass"
        );
        assert_eq!(output_problems(&folder, &with(value)), [says]);
    }
    let buffer = "[[buffer]]\nname = \"c\"\ntype = \"f32\"\nelements = 4\n[[output]]\nbuffer = \"c\"\n";
    assert!(folder.read(&with_launch(&format!("{buffer}{}\n", with("0.999")))).is_ok());
}

#[test]
fn outputs_must_have_somewhere_to_go() {
    let folder = Folder::new();
    let check = |rest: &str, expected: &str| {
        assert_eq!(output_problems(&folder, rest), [expected]);
    };
    check("write = \"c.txt\"", "7:9: `output[0].write` is \"c.txt\", expected a path that ends in .npy");
    check(
        "write = \"no/c.npy\"",
        "7:9: `output[0].write` is \"no/c.npy\", expected a path that ends in .npy: there is no folder no",
    );
    check(
        "[[output]]\nbuffer = \"c\"",
        "7:1: `output[1]` names `c`, expected elements outside earlier outputs: `c` overlaps",
    );
}

#[test]
fn two_outputs_do_not_write_one_file() {
    let buffers = ["b", "c"].map(|name| {
        format!("[[buffer]]\nname = \"{name}\"\ntype = \"u8\"\nelements = 1\n[[output]]\nbuffer = \"{name}\"\nwrite = \"x.npy\"\n")
    });
    assert_eq!(
        Folder::new().problems(&with_launch(&buffers.concat())),
        ["12:1: `output[1]` writes x.npy, expected another file: an earlier output writes it"]
    );
}

#[test]
fn expected_files_must_fit_their_buffer() {
    let folder = Folder::new();
    let values = Array::zeros(ElementType::F32, 3);
    write_npy(&folder.path("y.npy"), &values).unwrap();
    assert_eq!(
        output_problems(&folder, "expect = { file = \"y.npy\" }"),
        ["7:19: `output[0].expect.file` is \"y.npy\", expected a file of 4 elements, as output `c` has: it holds 3"]
    );
    assert_eq!(
        output_problems(&folder, "expect = { tolerance = { absolute = 1 } }"),
        ["7:10: `output[0].expect` is { tolerance = { absolute = 1 } }, expected either `file` or `reference`"]
    );
}

#[test]
fn references_are_checked_against_what_they_need() {
    let folder = Folder::new();
    assert_eq!(
        output_problems(&folder, "expect = { reference = \"vad\" }"),
        ["7:24: `output[0].expect.reference` is \"vad\", expected the name of a reference (did you mean `vadd`?)"]
    );
    assert_eq!(
        output_problems(&folder, "expect = { reference = \"bfs\" }"),
        ["7:24: `output[0].expect.reference` is \"bfs\", expected a reference for output `c`: this one computes i32"]
    );
    assert_eq!(
        output_problems(&folder, "expect = { reference = \"vadd\", inputs = { a = \"c\" }, parameters = { m = 1.5 } }"),
        [
            "7:10: `output[0].expect.inputs` has no `b`, which reference `vadd` needs, and no buffer has that name",
            "7:67: `output[0].expect.parameters` has no `n`, which it needs",
            "7:69: unknown key `output[0].expect.parameters.m` (legal keys: n)",
        ]
    );
}

#[test]
fn a_reference_that_does_not_fit_its_data_is_told_before_the_run() {
    let folder = Folder::new();
    let buffer = "[[buffer]]\nname = \"c\"\ntype = \"f32\"\nelements = 4\n";
    let problems = |n: u32| {
        let expect = format!(
            "[[output]]\nbuffer = \"c\"\nexpect = {{ reference = \"vadd\", inputs = {{ a = \"c\", b = \"c\" }}, parameters = {{ n = {n} }} }}\n"
        );
        let file = folder.read(&with_launch(&format!("{buffer}{expect}"))).unwrap();
        folder.lines(&file.compute_expected(&file.initial()).unwrap_err())
    };
    assert_eq!(problems(5), ["5:1: reference `vadd`: input `a` has 4 elements, expected at least 5: n"]);
    assert_eq!(problems(3), ["5:1: output `c` has 4 elements, expected 3, as its reference computes"]);
}

fn parameter(name: &str, ty: Type, bytes: usize) -> ParameterShape {
    ParameterShape { name: name.to_owned(), ty, bytes }
}

/// Returns the problems of a launch that names the kernel `name` and has the arguments `args`. The PTX file
/// contains only the kernel `k(u64, u32, f32)`.
fn kernel_problems(name: &str, args: &str) -> Vec<String> {
    let kernels = [KernelShape {
        name: "k".to_owned(),
        parameters: vec![
            parameter("k_param_0", Type::U64, 8),
            parameter("k_param_1", Type::U32, 4),
            parameter("k_param_2", Type::F32, 4),
        ],
        shared_bytes: 0,
        limits: LaunchLimits::default(),
    }];
    let folder = Folder::new();
    let buffer = "[[buffer]]\nname = \"a\"\ntype = \"f32\"\nelements = 4\n";
    let launch = launch_with("kernel = \"k\"", &format!("kernel = \"{name}\""))
        .replace("args = []", &format!("args = [{args}]"));
    let file = folder.read(&format!("{buffer}{launch}")).unwrap();
    match file.check_kernels(48 << 10, |_| &kernels) {
        Ok(()) => Vec::new(),
        Err(error) => folder.lines(&error),
    }
}

#[test]
fn arguments_that_fit_their_parameters_pass() {
    let none: [&str; 0] = [];
    assert_eq!(kernel_problems("k", "\"a\", { i32 = 1 }, { f32 = 1 }"), none);
    assert_eq!(kernel_problems("k", "{ i64 = 1 }, { u32 = 1 }, { f32 = 1 }"), none);
}

#[test]
fn a_kernel_that_the_ptx_file_lacks_is_refused() {
    assert_eq!(
        kernel_problems("kk", ""),
        ["9:10: `step[0].launch[0].kernel` is \"kk\", expected a kernel of k.ptx (did you mean `k`?)"]
    );
}

#[test]
fn a_wrong_number_of_arguments_names_the_parameters() {
    assert_eq!(
        kernel_problems("k", "\"a\", { i32 = 1 }"),
        [
            "12:8: `step[0].launch[0].args` has 2 arguments, expected 3: kernel `k` has parameters k_param_0 u64, k_param_1 u32, k_param_2 f32"
        ]
    );
}

#[test]
fn every_argument_of_the_wrong_type_names_its_parameter() {
    assert_eq!(
        kernel_problems("k", "{ i32 = 1 }, \"a\", { i32 = 1 }"),
        [
            "12:9: `step[0].launch[0].args[0]` is { i32 = 1 }, expected a buffer, \"null\" or an integer scalar of 8 bytes (i64, u64), not 4 bytes for parameter k_param_0 u64 of kernel `k`",
            "12:22: `step[0].launch[0].args[1]` is \"a\", expected an integer scalar of 4 bytes (i32, u32), not 8 bytes for parameter k_param_1 u32 of kernel `k`",
            "12:27: `step[0].launch[0].args[2]` is { i32 = 1 }, expected a real scalar of 4 bytes (f32) for parameter k_param_2 f32 of kernel `k`",
        ]
    );
}

/// Returns the error message for passing `argument` to a kernel with one parameter, or `None` if the argument
/// is accepted.
fn refusal(ty: Type, bytes: usize, argument: &str) -> Option<String> {
    let shape = KernelShape {
        name: "k".to_owned(),
        parameters: vec![parameter("p", ty, bytes)],
        shared_bytes: 0,
        limits: LaunchLimits::default(),
    };
    let folder = Folder::new();
    let buffer = "[[buffer]]\nname = \"a\"\ntype = \"f32\"\nelements = 4\n";
    let launch = launch_with("args = []", &format!("args = [{argument}]"));
    let file = folder.read(&format!("{buffer}{launch}")).unwrap_or_else(|e| panic!("{:?}", e.lines()));
    let error = file.check_kernels(48 << 10, |_| std::slice::from_ref(&shape)).err()?;
    let lines = folder.lines(&error);
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    let (place, expected) = line.split_once(", expected ").unwrap();
    assert!(place.starts_with("12:9: `step[0].launch[0].args[0]` is "), "{line}");
    let (expected, of) = expected.split_once(" for parameter p ").unwrap();
    assert!(of.starts_with(ty.name()) && of.ends_with(" of kernel `k`"), "{line}");
    Some(expected.to_owned())
}

/// Tries every parameter type with every form of a value. A value must be accepted if and only if it has the
/// size of the parameter and the right kind, integer or real. Untyped parameters accept both kinds.
#[test]
fn a_scalar_goes_into_each_parameter_of_its_size_and_kind() {
    use Type::{B8, B16, B32, B64, F16, F32, F64, S8, S16, S32, S64, U8, U16, U32, U64};
    for ty in [B8, B16, B32, B64, F16, F32, F64, S8, S16, S32, S64, U8, U16, U32, U64] {
        let bytes = ty.bytes() as usize;
        for element in ElementType::ALL {
            let is_kind = ty.is_untyped() || element.is_real() == ty.is_float();
            let fits = element.bytes() == bytes && is_kind;
            assert_eq!(refusal(ty, bytes, &format!("{{ {element} = 1 }}")).is_none(), fits, "{element} into {ty}");
            let (list, has_kind) = (format!("{{ {element} = [1, 0, 1] }}"), element.bytes() != bytes || is_kind);
            let fits = 3 * element.bytes() == 3 * bytes && has_kind;
            assert_eq!(refusal(ty, 3 * bytes, &list).is_none(), fits, "3 {element} into 3 {ty}");
            assert!(refusal(ty, 3 * bytes, &format!("{{ {element} = [1, 0] }}")).is_some() || element.bytes() > bytes);
        }
        for address in ["\"a\"", "\"null\"", "{ buffer = \"a\", offset = 1 }"] {
            assert_eq!(refusal(ty, bytes, address).is_none(), bytes == 8 && !ty.is_float(), "{address} into {ty}");
        }
        for count in [1, 4] {
            let raw = vec!["7"; count * bytes].join(", ");
            assert!(refusal(ty, count * bytes, &format!("{{ bytes = [{raw}, 7] }}")).is_some(), "{ty}");
            let is_byte = count * bytes == 1;
            if !is_byte {
                assert_eq!(refusal(ty, count * bytes, &format!("{{ bytes = [{raw}] }}")), None, "{ty}");
            }
        }
    }
}

#[test]
fn an_argument_that_does_not_fit_is_answered_with_what_does() {
    use Type::{B8, B64, F32, F64, S64, U16, U32, U64};
    let refused = |ty, bytes, argument, expected: &str| {
        assert_eq!(refusal(ty, bytes, argument).as_deref(), Some(expected), "{argument}");
    };
    refused(U64, 8, "{ f64 = 1 }", "a buffer, \"null\" or an integer scalar of 8 bytes (i64, u64)");
    refused(S64, 8, "{ i32 = 1 }", "a buffer, \"null\" or an integer scalar of 8 bytes (i64, u64), not 4 bytes");
    refused(B64, 8, "{ u8 = 1 }", "a buffer, \"null\" or a scalar of 8 bytes (i64, u64, f64), not 1 byte");
    refused(F64, 8, "\"a\"", "a real scalar of 8 bytes (f64)");
    refused(U16, 2, "{ f16 = 1 }", "an integer scalar of 2 bytes (i16, u16)");
    refused(U32, 16, "{ u32 = [1, 2, 3] }", "a list of 4 values of i32 or u32, or a struct of 16 bytes, not 12 bytes");
    refused(U32, 16, "{ f32 = [1, 2, 3, 4] }", "a list of 4 values of i32 or u32, or a struct of 16 bytes");
    refused(F32, 8, "[{ f32 = 1 }, { i32 = 2 }]", "a list of 2 values of f32, or a struct of 8 bytes");
    refused(
        U64,
        8,
        "{ struct = [{ u32 = 1 }] }",
        "a buffer, \"null\" or an integer scalar of 8 bytes (i64, u64), not 4 bytes",
    );
    refused(B8, 12, "{ struct = [{ u32 = 1 }, \"a\"] }", "a struct of at most 12 bytes, or 12 bytes, not 16 bytes");
    refused(B8, 12, "{ bytes = \"00\" }", "a struct of at most 12 bytes, or 12 bytes, not 1 byte");
}

#[test]
fn values_of_arguments_are_in_the_range_of_their_type() {
    let at = "`step[0].launch[0].args[0]";
    let hex = "expected bytes in memory order: integers from 0 to 255, or a text with two hexadecimal digits per byte";
    for (argument, problem) in [
        (
            "{ u64 = 18446744073709551616 }",
            ".u64` is 18446744073709551616, expected 0 to 18446744073709551615: the values of u64".to_owned(),
        ),
        ("{ u64 = -1 }", ".u64` is -1, expected 0 to 18446744073709551615: the values of u64".to_owned()),
        (
            "{ i64 = 0x8000000000000000 }",
            ".i64` is 0x8000000000000000, expected -9223372036854775808 to 9223372036854775807: the values of i64"
                .to_owned(),
        ),
        (
            "{ i64 = 1.0 }",
            ".i64` is 1.0, expected -9223372036854775808 to 9223372036854775807: the values of i64".to_owned(),
        ),
        ("{ f32 = 1e39 }", ".f32` is 1e39, expected a number that is finite in f32".to_owned()),
        ("{ f64 = 1e400 }", ".f64` is 1e400, expected a number that is finite in f64".to_owned()),
        ("{ u32 = [1, -2] }", ".u32[1]` is -2, expected 0 to 4294967295: the values of u32".to_owned()),
        ("{ u32 = [] }", ".u32` is [], expected at least one value of u32".to_owned()),
        ("{ bytes = [1, 256] }", ".bytes[1]` is 256, expected 0 to 255: the values of u8".to_owned()),
        ("{ bytes = \"0\" }", format!(".bytes` is \"0\", {hex}")),
        ("{ bytes = \"0x00\" }", format!(".bytes` is \"0x00\", {hex}")),
        ("{ bytes = \"\" }", format!(".bytes` is \"\", {hex}")),
        (
            "{ struct = [], align = 3 }",
            ".align` is 3, expected a power of 2: the alignment of the struct in bytes".to_owned(),
        ),
        (
            "[{ u8 = 1 }, 2]",
            "[1]` is 2, expected the name of a buffer or a typed scalar such as { f32 = 1.5 }".to_owned(),
        ),
    ] {
        assert_eq!(argument_problem("", argument), format!("{at}{problem}"));
    }
    let buffer = "[[buffer]]\nname = \"null\"\ntype = \"u8\"\nelements = 1\n";
    assert_eq!(
        Folder::new().problems(&with_launch(buffer)),
        ["2:8: `buffer[0].name` is \"null\", expected another name: as an argument, this one is the null pointer"]
    );
}

/// Returns the problems of a launch file with two steps. The text of the first step is `step`, which starts
/// on line 5; the second step has one launch. Buffers `a` and `b` have 16 `f32` elements, `i` has 16 `i32`
/// elements, and `n` has 8 structs.
fn step_problems(step: &str) -> Vec<String> {
    let text = format!(
        r#"ptx = "k.ptx"
type = [{{ name = "node", fields = {{ x = "f32", id = "i32" }} }}]
buffer = [ {{ name = "a", type = "f32", elements = 16 }}, {{ name = "b", type = "f32", elements = 16 }}, {{ name = "i", type = "i32", elements = 16 }}, {{ name = "n", type = "node", elements = 8 }} ]
[[step]]
{step}
[[step.launch]]
kernel = "k"
grid = [1]
block = [1]
args = []
"#
    );
    Folder::new().problems(&text)
}

/// Returns the one problem that is found in a launch file with one step. `iteration` is the value of the
/// step's key `iteration`, and `argument` is the only argument of the step's kernel launch.
fn argument_problem(iteration: &str, argument: &str) -> String {
    let launch = format!("{{ kernel = \"k\", grid = [1], block = [1], args = [{argument}] }}");
    let iteration = if iteration.is_empty() { String::new() } else { format!("iteration = {iteration}") };
    let text = format!("repeat = 3\n{iteration}\nlaunch = [{launch}]\n[[step]]");
    let problems = step_problems(&text);
    let [problem] = problems.as_slice() else { panic!("{problems:?}") };
    problem.strip_prefix("7:").expect("the line of the launch").split_once(": ").unwrap().1.to_owned()
}

#[test]
fn an_iteration_that_nobody_declares_is_refused() {
    let at = "`step[0].launch[0].args[0]";
    assert_eq!(
        argument_problem("", "{ i32 = \"k\" }"),
        format!(
            "{at}.i32` is \"k\", expected a name that `iteration` of the step declares (the step has no `iteration`)"
        )
    );
    assert_eq!(
        argument_problem("{ row = {}, column = {} }", "{ i32 = \"rows\" }"),
        format!("{at}.i32` is \"rows\", expected a name that `iteration` of the step declares (did you mean `row`?)")
    );
    assert_eq!(
        argument_problem("\"k\"", "{ buffer = \"a\", offset = \"t\" }"),
        format!("{at}.offset` is \"t\", expected a name that `iteration` of the step declares (iterations: k)")
    );
}

#[test]
fn what_follows_the_iteration_must_fit_in_all_of_them() {
    let at = "`step[0].launch[0].args[0]";
    assert_eq!(
        argument_problem("{ k = { start = 2, step = -1 }, t = { step = 100 } }", "{ i8 = \"t\" }"),
        format!(
            "{at}.i8` is \"t\", expected -128 to 127 in every iteration: the values of i8; it is 200 in iteration 2"
        )
    );
    assert_eq!(
        argument_problem("{ k = { step = 0.5 } }", "{ i32 = \"k\" }"),
        format!(
            "{at}.i32` is \"k\", expected -2147483648 to 2147483647 in every iteration: the values of i32; its start or its step is not an integer"
        )
    );
    assert_eq!(
        argument_problem("{ k = { step = 2e38 } }", "{ f32 = \"k\" }"),
        format!("{at}.f32` is \"k\", expected numbers that are finite in f32")
    );
}

#[test]
fn offsets_lie_within_their_buffer() {
    let at = "`step[0].launch[0].args[0]";
    assert_eq!(
        argument_problem("\"k\"", "{ buffer = \"a\", offset = 16 }"),
        format!("{at}.offset` is 16, expected 0 to 15: an element of buffer `a`, counted from 0")
    );
    assert_eq!(
        argument_problem("\"k\"", "{ buffer = \"n\", offset = -1 }"),
        format!("{at}.offset` is -1, expected 0 to 7: an element of buffer `n`, counted from 0")
    );
    assert_eq!(
        argument_problem("{ k = { step = 8 } }", "{ buffer = \"a\", offset = \"k\" }"),
        format!(
            "{at}.offset` is \"k\", expected 0 to 15 in every iteration: the elements of buffer `a`; it is 16 in iteration 2"
        )
    );
    assert_eq!(
        argument_problem("", "{ buffer = \"a\", ofset = 3 }"),
        "unknown key `step[0].launch[0].args[0].ofset` (did you mean `offset`?)"
    );
}

#[test]
fn an_iteration_counts_in_numbers() {
    let problems = |iteration: &str| step_problems(&format!("repeat = 3\niteration = {iteration}"));
    assert_eq!(
        problems("3"),
        [
            "6:13: `step[0].iteration` is 3, expected a name, or a table of names such as { k = { start = 0, step = 1 } }"
        ]
    );
    assert_eq!(
        problems("{ k = { start = \"one\", stop = 3 } }"),
        [
            "6:29: `step[0].iteration.k.start` is \"one\", expected a finite number, with at most 64 bits if an integer",
            "6:36: unknown key `step[0].iteration.k.stop` (did you mean `step`?)",
        ]
    );
    assert_eq!(
        problems("{ k = { step = 99999999999999999999 }, t = { start = inf } }"),
        [
            "6:28: `step[0].iteration.k.step` is 99999999999999999999, expected a finite number, with at most 64 bits if an integer",
            "6:66: `step[0].iteration.t.start` is inf, expected a finite number, with at most 64 bits if an integer",
        ]
    );
}

#[test]
fn fills_stay_within_their_buffer_and_have_a_value_of_its_type() {
    let check = |rest: &str, expected: &str| {
        assert_eq!(step_problems(&format!("[[step.fill]]\n{rest}")), [expected]);
    };
    check("value = 1", "5:1: `step[0].fill[0]` has no `buffer`, which it needs");
    check(
        "buffer = \"a\"\noffset = 16",
        "7:10: `step[0].fill[0].offset` is 16, expected 0 to 15: an element of buffer `a`, counted from 0",
    );
    check(
        "buffer = \"a\"\noffset = 10\nelements = 7",
        "8:12: `step[0].fill[0].elements` is 7, expected 1 to 6: the elements of buffer `a` from element 10 on",
    );
    check(
        "buffer = \"i\"\nvalue = 1.5",
        "7:9: `step[0].fill[0].value` is 1.5, expected -2147483648 to 2147483647: the values of i32",
    );
    check(
        "buffer = \"n\"\nvalue = 1",
        "7:9: `step[0].fill[0].value` is 1, expected none without a `field`: whole structs are filled with zeros",
    );
    check(
        "buffer = \"n\"\nfield = \"idx\"",
        "7:9: `step[0].fill[0].field` is \"idx\", expected a field of buffer `n` (did you mean `id`?)",
    );
    check(
        "buffer = \"a\"\nfield = \"x\"",
        "7:9: `step[0].fill[0].field` is \"x\", expected none: the elements of buffer `a` are not structs",
    );
}

#[test]
fn copies_join_elements_of_one_type_that_do_not_overlap() {
    let check = |rest: &str, expected: &str| {
        assert_eq!(step_problems(&format!("[[step.copy]]\n{rest}")), [expected]);
    };
    check("from = \"a\"", "5:1: `step[0].copy[0]` has no `to`, which it needs");
    check(
        "from = \"a\"\nto = \"i\"",
        "7:6: `step[0].copy[0].to` is \"i\", expected elements of f32 as in `from`: these are i32",
    );
    check(
        "from = \"n\"\nto = \"a\"",
        "7:6: `step[0].copy[0].to` is \"a\", expected elements of node as in `from`: these are f32",
    );
    check(
        "from = \"a\"\nto = { buffer = \"a\", offset = 8 }",
        "7:6: `step[0].copy[0].to` is { buffer = \"a\", offset = 8 }, expected space for the 16 elements of `from`: it has 8 from its offset on",
    );
    check(
        "from = \"a\"\nto = { buffer = \"a\", offset = 4 }\nelements = 5",
        "7:6: `step[0].copy[0].to` is { buffer = \"a\", offset = 4 }, expected elements outside `from`: the two overlap",
    );
    check(
        "from = \"a\"\nto = \"b\"\nelements = 17",
        "8:12: `step[0].copy[0].elements` is 17, expected 1 to 16: `from` has 16 from its offset on, `to` 16",
    );
    check(
        "from = { buffer = \"a\", offset = 99 }\nto = \"b\"",
        "6:33: `step[0].copy[0].from.offset` is 99, expected 0 to 15: an element of buffer `a`, counted from 0",
    );
}

#[test]
fn a_file_that_launches_nothing_is_refused() {
    let text = "[[buffer]]\nname = \"a\"\ntype = \"u8\"\nelements = 1\n[[step]]\nfill = [{ buffer = \"a\" }]\n";
    assert_eq!(Folder::new().problems(text), ["5:1: no `step` has a `launch`, expected at least one"]);
}

#[test]
fn types_have_names_of_their_own_and_fields_of_element_types() {
    let folder = Folder::new();
    let check = |text: &str, expected: &[&str]| assert_eq!(folder.problems(&with_launch(text)), expected);
    let of = |name: &str, fields: &str| format!("[[type]]\nname = \"{name}\"\nfields = {fields}\n");
    let own = "expected a unique name: another type has the same";
    check(&of("f32", "{ x = \"f32\" }"), &[&format!("2:8: `type[0].name` is \"f32\", {own}")]);
    let twice = of("p", "{ x = \"f32\" }").repeat(2);
    check(&twice, &[&format!("5:8: `type[1].name` is \"p\", {own}")]);
    check(
        &of("p", "{}"),
        &[
            "3:10: `type[0].fields` is {}, expected a table of fields and their types, such as { x = \"f32\", n = \"i32\" }",
        ],
    );
    check(
        &of("p", "{ x = \"float\" }"),
        &[
            "3:16: `type[0].fields.x` is \"float\", expected an element type (element types: i8, u8, i16, u16, i32, u32, i64, u64, f16, f32, f64)",
        ],
    );
    let buffer = "[[buffer]]\nname = \"a\"\ntype = \"ode\"\nelements = 1\n";
    check(
        &(of("node", "{ x = \"f32\" }") + buffer),
        &["6:8: `buffer[0].type` is \"ode\", expected an element type (did you mean `node`?)"],
    );
}

#[test]
fn structs_begin_with_what_is_said_of_their_fields() {
    let folder = Folder::new();
    write_npy(&folder.path("x.npy"), &Array::zeros(ElementType::F32, 3)).unwrap();
    let check = |rest: &str, expected: &str| {
        let text = "type = [{ name = \"p\", fields = { x = \"f32\", n = \"u8\" } }]\n";
        let buffer = format!("{text}[[buffer]]\nname = \"a\"\ntype = \"p\"\n{rest}\n");
        assert_eq!(folder.problems(&with_launch(&buffer)), [expected]);
    };
    check("init = \"zeros\"", "2:1: `buffer[0]` has no `elements`, which it needs");
    check(
        "elements = 2\ninit = \"iota\"",
        "6:8: `buffer[0].init` is \"iota\", expected \"zeros\", or a table of fields and their contents",
    );
    check("elements = 2\ninit = { m = \"iota\" }", "6:10: unknown key `buffer[0].init.m` (legal keys: x, n)");
    check(
        "elements = 300\ninit = { n = \"iota\" }",
        "6:14: `buffer[0].init.n` is \"iota\", expected values of u8, 0 to 255: the last element would be 299",
    );
    check(
        "elements = 2\ninit = { x = { file = \"x.npy\" } }",
        "6:14: `buffer[0].init.x` is { file = \"x.npy\" }, expected a file of 2 elements, as the buffer has: it holds 3",
    );
    check(
        "elements = 2\ntexture = \"t\"",
        "6:11: `buffer[0].texture` is \"t\", expected no texture: the elements of the buffer are structs",
    );
    check(
        "elements = 300000000",
        "5:12: `buffer[0].elements` is 300000000, expected 1 to 268435456: a buffer has at least one element and at most 2 GiB",
    );
}

#[test]
fn outputs_are_elements_that_are_there_once() {
    let check = |outputs: &str, expected: &str| {
        let text = format!("launch = [{{ kernel = \"k\", grid = [1], block = [1], args = [] }}]\n{outputs}\n[[step]]");
        assert_eq!(step_problems(&text), [expected]);
    };
    let of = |buffer: &str, rest: &str| format!("[[output]]\nbuffer = \"{buffer}\"\n{rest}\n");
    check(
        &of("a", "offset = 8\nelements = 9"),
        "9:12: `output[0].elements` is 9, expected 1 to 8: the elements of buffer `a` from element 8 on",
    );
    check(
        &(of("a", "elements = 9") + &of("a", "offset = 8")),
        "9:1: `output[1]` names `a[8..16]`, expected elements outside earlier outputs: `a[0..9]` overlaps",
    );
    check(&of("n", ""), "7:10: `output[0].buffer` is \"n\", expected an additional `field`: the elements are structs");
    check(
        &of("a", "expect = { reference = \"vadd\", inputs = { b = \"n\" }, parameters = { n = 16 } }"),
        "8:47: `output[0].expect.inputs.b` is \"n\", expected an additional `field`: the elements are structs",
    );
    check(
        &of("n", "field = \"id\"\nexpect = { reference = \"vadd\", parameters = { n = 8 } }"),
        "9:24: `output[0].expect.reference` is \"vadd\", expected a reference for output `n.id`: this one computes f32",
    );
}

/// Resolves the kernel name `name` of a launch file, if the PTX file has the kernels `kernels`. Returns the
/// name of the kernel that was found, or the problems.
fn resolve_name(name: &str, kernels: &[&str]) -> Result<String, String> {
    let folder = Folder::new();
    let mut file = folder.read(&launch_with("kernel = \"k\"", &format!("kernel = \"{name}\""))).unwrap();
    let kernels = kernels.iter().map(|&kernel| kernel.to_owned()).collect();
    match file.resolve_kernels(&[(folder.path("k.ptx"), kernels)].into()) {
        Ok(()) => Ok(file.launches().next().unwrap().kernel.clone()),
        Err(error) => Err(folder.lines(&error).join("\n")),
    }
}

#[test]
fn kernels_answer_to_their_names_in_c() {
    const ALL: [&str; 5] =
        ["_Z4stepPfi", "_Z5otherPKhS0_", "_ZN2ns3sumIfLj256EEEvPT_", "plain", "_ZN12_GLOBAL__N_14scanILb1EEEvv"];
    for (asked, expected) in [
        ("_Z4stepPfi", ALL[0]),
        ("step", ALL[0]),
        ("step(float*, int)", ALL[0]),
        ("void step( float *,int )", ALL[0]),
        ("other(const unsigned char*, unsigned char const *)", ALL[1]),
        ("ns::sum<float, 256u>(float*)", ALL[2]),
        ("sum<float,256>", ALL[2]),
        ("ns::sum", ALL[2]),
        ("plain", ALL[3]),
        ("scan<true>", ALL[4]),
        ("scan()", ALL[4]),
        ("(anonymous namespace)::scan", ALL[4]),
    ] {
        assert_eq!(resolve_name(asked, &ALL).as_deref(), Ok(expected), "{asked}");
    }
}

#[test]
fn a_name_that_no_kernel_or_several_have_is_refused_with_those_there_are() {
    const ALL: [&str; 3] = ["_Z4stepPfi", "_Z4stepPdi", "_ZN2ns3sumIfEEvPT_"];
    let refused = |name: &str| resolve_name(name, &ALL).unwrap_err();
    assert_eq!(
        refused("step"),
        "5:10: `step[0].launch[0].kernel` is \"step\", expected the name of one kernel: 2 of k.ptx match (kernels: step(float*, int), step(double*, int))"
    );
    assert_eq!(
        refused("step(float*)"),
        "5:10: `step[0].launch[0].kernel` is \"step(float*)\", expected a kernel of k.ptx (kernels: step(float*, int), step(double*, int), ns::sum<float>(float*))"
    );
    assert!(refused("step(float*,in)").ends_with("(did you mean `step(float*, int)`?)"));
    assert_eq!(
        refused("sums"),
        "5:10: `step[0].launch[0].kernel` is \"sums\", expected a kernel of k.ptx (kernels: step, step, ns::sum)"
    );
    assert_eq!(refused("sum<int>").split(" (").count(), 2);
}

/// Fragments of launch files; every key occurs in one of them. A test combines the fragments at random and
/// damages the result.
const PIECES: &[&str] = &[
    "[[buffer]]\n",
    "name = ",
    "type = ",
    "elements = ",
    "init = ",
    "[[step]]\n",
    "repeat = ",
    "[[step.launch]]\n",
    "ptx = ",
    "kernel = ",
    "grid = ",
    "block = ",
    "shared_bytes = ",
    "args = ",
    "[[output]]\n",
    "buffer = ",
    "write = ",
    "compare = ",
    "because = ",
    "tolerance = ",
    "expect = ",
    "\"c\"\n",
    "\"f32\"\n",
    "\"i32\"\n",
    "\"k.ptx\"\n",
    "0\n",
    "1\n",
    "-1\n",
    "1.5\n",
    "nan\n",
    "99999999999999999999\n",
    "[1]\n",
    "[]\n",
    "[0, 0, 0, 0]\n",
    "\"tolerance\"\n",
    "\"iota\"\n",
    "{ iota = { start = -9223372036854775808 } }\n",
    "{ random = { seed = 1, low = 0, high = 2 } }\n",
    "{ file = \"c\" }\n",
    "[\"c\", { i32 = 1 }]\n",
    "{ until_zero = \"c\", at_most = 1 }\n",
    "{ absolute = 1 }\n",
    "{ reference = \"vadd\", parameters = { n = 1 } }\n",
    "{ reference = \"bfs\" }\n",
    "{}\n",
    "[[type]]\n",
    "fields = { x = \"f32\" }\n",
    "iteration = \"k\"\n",
    "iteration = { k = { start = 9223372036854775807, step = 9223372036854775807 } }\n",
    "[[step.fill]]\n",
    "[[step.copy]]\n",
    "offset = 1\n",
    "field = \"x\"\n",
    "value = ",
    "from = \"c\"\n",
    "to = { buffer = \"c\", offset = 1 }\n",
    "[{ i64 = \"k\" }, { buffer = \"c\", offset = \"k\" }]\n",
    "é\n",
    "\"é",
    "#é\n",
    "\n",
];

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(pieces in proptest::collection::vec(0..PIECES.len(), 0..40)) {
        let folder = Folder::new();
        let text: String = pieces.into_iter().map(|idx| PIECES[idx]).collect();
        if let Err(error) = folder.read(&text) {
            prop_assert!(!error.lines().is_empty());
        }
    }

    #[test]
    fn no_damage_to_one_place_makes_the_reader_panic(at in 0_usize..2000, cut in 0_usize..20, put in 0..PIECES.len()) {
        let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/bfs/launch.toml");
        let mut text = fs::read_to_string(kernels).unwrap();
        let at = at.min(text.len());
        text.replace_range(at..(at + cut).min(text.len()), PIECES[put]);
        if let Err(error) = Folder::new().read(&text) {
            prop_assert!(!error.lines().is_empty());
        }
    }
}
