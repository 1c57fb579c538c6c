//! Every rule a launch file can break, each with its wording.

use std::fs;
use std::path::Path;

use golden::reference::{Array, ElementType};
use miette::{GraphicalReportHandler, GraphicalTheme};
use proptest::prelude::*;

use super::super::{KernelShape, LaunchFile, ParameterShape, write_npy};
use super::{Folder, LAUNCH, launch_with, with_launch};

/// The problems of a launch file with this buffer (and nothing else wrong).
fn buffer_problems(folder: &Folder, rest: &str) -> Vec<String> {
    folder.problems(&with_launch(&format!("[[buffer]]\nname = \"a\"\n{rest}\n")))
}

/// The problems of a launch file with a buffer `c` of four f32 and this output.
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
        ["1:1: unknown key `kernels` (legal keys: title, ptx, buffer, step, output)"]
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
            "3:1: `step[0].launch[0]` has no `ptx`, nor has the file",
            "3:1: `step[0].launch[0]` has no `kernel`, which it needs",
            "3:1: `step[0].launch[0]` has no `grid`, which it needs",
            "3:1: `step[0].launch[0]` has no `block`, which it needs",
            "3:1: `step[0].launch[0]` has no `args`, which it needs",
        ]
    );
    assert_eq!(Folder::new().problems("title = \"nothing to run\"\n"), ["1:1: the file has no `step`, which it needs"]);
    assert_eq!(Folder::new().problems("[[step]]\n"), ["1:1: `step[0]` has no `launch`, which it needs"]);
}

#[test]
fn a_ptx_file_that_is_none_is_one_problem_however_many_launches_need_it() {
    let launch = "[[step.launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [1]\nargs = []\n";
    let problems = Folder::new().problems(&format!("ptx = \"none.ptx\"\n[[step]]\n{launch}{launch}"));
    let [problem] = problems.as_slice() else { panic!("{problems:?}") };
    assert!(problem.starts_with("1:7: `ptx` is \"none.ptx\", expected a PTX file: there is no file "), "{problem}");
}

#[test]
fn two_buffers_of_one_name_are_refused() {
    let buffer = "[[buffer]]\nname = \"a\"\ntype = \"u8\"\nelements = 1\n";
    assert_eq!(
        Folder::new().problems(&with_launch(&buffer.repeat(2))),
        ["6:8: `buffer[1].name` is \"a\", expected a name of its own: a buffer above has the same"]
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
        "5:8: `buffer[0].init` is \"ones\", expected \"zeros\", \"iota\", or a table of one of iota, random, file",
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
        "5:12: `buffer[0].elements` is 4, expected 3: the file of `init` has so many"
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
        "7:9: `step[0].launch[0].block` is [33, 32], expected at most 1024 threads in all, not 1056: the limit of a CTA",
    );
    check(
        "block = [32]",
        "block = [1, 1, 65]",
        "7:16: `step[0].launch[0].block[2]` is 65, expected 1 to 64: the extent in z",
    );
    check(
        "block = [32]",
        "block = [32]\nshared_bytes = 65536",
        "8:16: `step[0].launch[0].shared_bytes` is 65536, expected 0 to 49152: a CTA has at most 48 KB of shared memory",
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
        "7:11: `output[0].compare` is \"reference\", expected an `expect` beside it: nothing else would judge",
    );
    check("compare = \"tolerance\"\nbecause = \"races\"", "5:1: `output[0]` has no `tolerance`, which it needs");
    check(
        "tolerance = { absolute = 1 }",
        "7:13: `output[0].tolerance` is { absolute = 1 }, expected none, unless compare = \"tolerance\"",
    );
    check(
        "compare = \"tolerance\"\nbecause = \"races\"\ntolerance = { absolute = -1 }",
        "9:26: `output[0].tolerance.absolute` is -1, expected a number that is 0 or more",
    );
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
    check("[[output]]\nbuffer = \"c\"", "7:1: `output[1]` names buffer `c`, expected another: it is an output already");
}

#[test]
fn two_outputs_do_not_write_one_file() {
    let buffers = ["b", "c"].map(|name| {
        format!("[[buffer]]\nname = \"{name}\"\ntype = \"u8\"\nelements = 1\n[[output]]\nbuffer = \"{name}\"\nwrite = \"x.npy\"\n")
    });
    assert_eq!(
        Folder::new().problems(&with_launch(&buffers.concat())),
        ["12:1: `output[1]` writes x.npy, expected another file: an output above writes it"]
    );
}

#[test]
fn expected_files_must_fit_their_buffer() {
    let folder = Folder::new();
    let values = Array::zeros(ElementType::F32, 3);
    write_npy(&folder.path("y.npy"), &values).unwrap();
    assert_eq!(
        output_problems(&folder, "expect = { file = \"y.npy\" }"),
        ["7:19: `output[0].expect.file` is \"y.npy\", expected a file of 4 elements, as buffer `c` has: it holds 3"]
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
        ["7:24: `output[0].expect.reference` is \"bfs\", expected a reference for buffer `c`: this one judges i32"]
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
        folder.lines(&file.expected(&file.initial()).unwrap_err())
    };
    assert_eq!(problems(5), ["5:1: reference `vadd`: input `a` has 4 elements, expected at least 5: n"]);
    assert_eq!(problems(3), ["5:1: output `c` has 4 elements, expected 3: what its reference computes"]);
}

fn parameter(name: &str, type_name: &str, bytes: usize) -> ParameterShape {
    ParameterShape { name: name.to_owned(), type_name: type_name.to_owned(), bytes, is_pointer: false }
}

/// The problems of a launch of `name` with these arguments on a kernel `k(u64, u32, f32)`.
fn kernel_problems(name: &str, args: &str) -> Vec<String> {
    let kernels = [KernelShape {
        name: "k".to_owned(),
        parameters: vec![
            parameter("k_param_0", "u64", 8),
            parameter("k_param_1", "u32", 4),
            parameter("k_param_2", "f32", 4),
        ],
    }];
    let folder = Folder::new();
    let buffer = "[[buffer]]\nname = \"a\"\ntype = \"f32\"\nelements = 4\n";
    let launch = launch_with("kernel = \"k\"", &format!("kernel = \"{name}\""))
        .replace("args = []", &format!("args = [{args}]"));
    let file = folder.read(&format!("{buffer}{launch}")).unwrap();
    match file.check_kernels(|_| &kernels) {
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
            "12:9: `step[0].launch[0].args[0]` is { i32 = 1 }, expected a buffer or an integer scalar of 8 bytes for parameter k_param_0 u64 of kernel `k`",
            "12:22: `step[0].launch[0].args[1]` is \"a\", expected an integer scalar of 4 bytes for parameter k_param_1 u32 of kernel `k`",
            "12:27: `step[0].launch[0].args[2]` is { i32 = 1 }, expected a real scalar of 4 bytes for parameter k_param_2 f32 of kernel `k`",
        ]
    );
}

/// A file with every key, whose pieces the test below swaps and damages.
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
        let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/bfs/small.toml");
        let mut text = fs::read_to_string(kernels).unwrap();
        let at = at.min(text.len());
        text.replace_range(at..(at + cut).min(text.len()), PIECES[put]);
        if let Err(error) = Folder::new().read(&text) {
            prop_assert!(!error.lines().is_empty());
        }
    }
}
