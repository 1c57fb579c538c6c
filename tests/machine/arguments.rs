//! Tests how kernels read their arguments from launch files: every kind of parameter, and every form of a
//! value. Invalid launch files and illegal operations of kernels must be rejected.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use golden::reference::{Array, ElementType};
use warpsieve::launch::{LaunchError, write_npy};
use warpsieve::run::{Outcome, RunError, RunOptions, Verdict, profile, run};

use super::Setup;
use super::device::sum_of_many;

/// Declarations of a parameter `p`, each with the argument in the launch file and the bytes that the kernel
/// must read, in hexadecimal. The buffer `out` is at address 0x100000.
const PASSED: &[(&str, &str, &str)] = &[
    (".u8 p", "{ u8 = 200 }", "c8"),
    (".s8 p", "{ i8 = -3 }", "fd"),
    (".b8 p", "{ u8 = 0xff }", "ff"),
    (".u16 p", "{ i16 = -2 }", "feff"),
    (".s16 p", "{ u16 = 65535 }", "ffff"),
    (".b16 p", "{ f16 = 1.5 }", "003e"),
    (".b16 p", "{ u16 = 0b101 }", "0500"),
    (".u32 p", "{ u32 = 0xdeadbeef }", "efbeadde"),
    (".s32 p", "{ i32 = -1 }", "ffffffff"),
    (".b32 p", "{ f32 = 1.5 }", "0000c03f"),
    (".f32 p", "{ f32 = -inf }", "000080ff"),
    (".f32 p", "{ f32 = 3 }", "00004040"),
    (".f64 p", "{ f64 = -2.5 }", "00000000000004c0"),
    (".f64 p", "{ f64 = inf }", "000000000000f07f"),
    (".b64 p", "{ f64 = 1.0 }", "000000000000f03f"),
    (".b64 p", "{ i64 = -7 }", "f9ffffffffffffff"),
    (".u64 p", "{ u64 = 18446744073709551615 }", "ffffffffffffffff"),
    (".u64 p", "{ i64 = -9223372036854775808 }", "0000000000000080"),
    (".s64 p", "{ i64 = 0x7fffffffffffffff }", "ffffffffffffff7f"),
    (".s64 p", "{ u64 = 0xfedcba9876543210 }", "1032547698badcfe"),
    (".u64 p", "\"null\"", "0000000000000000"),
    (".u64 .ptr .global .align 1 p", "\"null\"", "0000000000000000"),
    (".u64 .ptr .global .align 1 p", "{ u64 = 0 }", "0000000000000000"),
    (".b64 p", "\"out\"", "0000100000000000"),
    (".s64 p", "{ buffer = \"out\", offset = 3 }", "0300100000000000"),
    // Scalar parameters whose arguments are given as structs of smaller values, as arrays of smaller values,
    // or as bytes.
    (".u64 p", "{ struct = [{ u32 = 1 }, { i32 = -1 }] }", "01000000ffffffff"),
    (".b64 p", "{ struct = [{ f32 = 1.5 }, { u16 = 7 }] }", "0000c03f07000000"),
    (".f64 p", "{ struct = [{ f32 = 1.5 }, { f32 = 1.5 }] }", "0000c03f0000c03f"),
    (".u64 p", "{ u32 = [1, 2] }", "0100000002000000"),
    (".f32 p", "{ bytes = \"00 00 c0 7f\" }", "0000c07f"),
    (".b32 p", "{ bytes = [1, 2, 0x03, 255] }", "010203ff"),
    (".u16 p", "{ u8 = [1, 2] }", "0102"),
    // Parameters that are arrays.
    (".u32 p[4]", "{ u32 = [1, 2, 3, 0xffffffff] }", "010000000200000003000000ffffffff"),
    (
        ".u32 p[4]",
        "{ struct = [{ u32 = 1 }, { u32 = 2 }, { i32 = 3 }, { u32 = 4 }] }",
        "01000000020000000300000004000000",
    ),
    (".u32 p[2]", "[{ u32 = 1 }, { u32 = 2 }]", "0100000002000000"),
    (".u32 p[2]", "{ bytes = \"0102030405060708\" }", "0102030405060708"),
    (".s16 p[3]", "{ i16 = [-1, 2, -3] }", "ffff0200fdff"),
    (".f32 p[2]", "{ f32 = [1.5, -inf] }", "0000c03f000080ff"),
    (".f64 p[1]", "{ f64 = 1 }", "000000000000f03f"),
    (".u64 p[2]", "[\"out\", \"null\"]", "00001000000000000000000000000000"),
    (".b64 p[2]", "[{ f64 = 1 }, { buffer = \"out\", offset = 2 }]", "000000000000f03f0200100000000000"),
    (".u8 p[5]", "{ bytes = \"0011223344\" }", "0011223344"),
    (".b8 p[4]", "{ f32 = 1.5 }", "0000c03f"),
    (".b8 p[8]", "\"out\"", "0000100000000000"),
    (".b8 p[3]", "{ u8 = [7, 8, 9] }", "070809"),
    // Structs that are passed by value, with the memory layout of C.
    (".align 8 .b8 p[16]", "{ struct = [\"out\", { i32 = 5 }] }", "00001000000000000500000000000000"),
    (".align 4 .b8 p[8]", "{ struct = [{ u8 = 1 }, { f32 = 1.5 }] }", "010000000000c03f"),
    (
        ".align 8 .b8 p[32]",
        "{ struct = [{ u8 = 1 }, { struct = [{ u64 = 2 }, { u8 = 3 }] }, { u16 = 4 }] }",
        "0100000000000000020000000000000003000000000000000400000000000000",
    ),
    (
        ".align 16 .b8 p[32]",
        "[{ i32 = 1 }, { struct = [{ f32 = [1.5, 1.5] }, { u32 = 9 }], align = 16 }]",
        "010000000000000000000000000000000000c03f0000c03f0900000000000000",
    ),
    (".align 1 .b8 p[1]", "{ struct = [] }", "00"),
];

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

const HEAD: &str = ".version 7.8\n.target sm_80\n.address_size 64\n";

/// Returns a folder with a launch file `run.toml` and a PTX file `k.ptx`.
fn folder(ptx: &str, launches: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.ptx"), format!("{HEAD}{ptx}")).unwrap();
    fs::write(folder.path().join("run.toml"), format!("ptx = \"k.ptx\"\n{launches}")).unwrap();
    folder
}

/// Returns a kernel that copies the `count` bytes of its parameter `p` to `out`.
fn copying(name: &str, declaration: &str, count: usize) -> String {
    let mut text = format!(
        ".visible .entry {name}(.param .u64 out, .param {declaration}) {{ .reg .b16 %h; .reg .b64 %rd; ld.param.u64 %rd, [out];\n"
    );
    for at in 0..count {
        writeln!(text, "ld.param.u8 %h, [p+{at}]; st.global.u8 [%rd+{at}], %h;").unwrap();
    }
    text + "ret; }\n"
}

#[test]
fn kernels_find_their_arguments_in_their_parameters() {
    let (mut ptx, mut steps, mut expected) = (String::new(), String::new(), Vec::new());
    for (number, (declaration, argument, hex)) in PASSED.iter().enumerate() {
        let value = bytes(hex);
        ptx += &copying(&format!("k{number}"), declaration, value.len());
        writeln!(
            steps,
            "[[step]]\n[[step.launch]]\nkernel = \"k{number}\"\ngrid = [1]\nblock = [1]\n\
             args = [{{ buffer = \"out\", offset = {} }}, {argument}]",
            expected.len()
        )
        .unwrap();
        expected.extend(value);
    }
    let buffer = format!("[[buffer]]\nname = \"out\"\ntype = \"u8\"\nelements = {}\n", expected.len());
    let output = "[[output]]\nbuffer = \"out\"\nexpect = { file = \"want.npy\" }\n";
    let folder = folder(&ptx, &format!("{buffer}{steps}{output}"));
    write_npy(&folder.path().join("want.npy"), &Array::from_bytes(ElementType::U8, expected)).unwrap();
    Setup::run_checked().passes(&folder.path().join("run.toml"));
}

#[test]
fn integers_of_64_bits_follow_the_iteration() {
    let ptx = ".entry k(.param .u64 out, .param .u64 n, .param .align 8 .b8 p[16]) { .reg .b64 %rd<5>; ld.param.u64 %rd0, [out];\n\
               ld.param.u64 %rd1, [n]; ld.param.u64 %rd2, [p+8]; add.u64 %rd3, %rd1, %rd2; st.global.u64 [%rd0], %rd3; ret; }";
    let launches = "[[buffer]]\nname = \"out\"\ntype = \"u64\"\nelements = 3\n[[step]]\nrepeat = 3\n\
        iteration = { at = {}, n = { start = 18446744073709551600, step = 7 }, m = { start = -1, step = -4294967296 } }\n\
        [[step.launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [1]\n\
        args = [{ buffer = \"out\", offset = \"at\" }, { u64 = \"n\" }, { struct = [{ u8 = 1 }, { i64 = \"m\" }] }]\n\
        [[output]]\nbuffer = \"out\"\nexpect = { file = \"want.npy\" }\n";
    let folder = folder(ptx, launches);
    let value = |k: u64| (u64::MAX - 15 + 7 * k).wrapping_sub(1 + (k << 32));
    let expected = Array::from_integers(ElementType::U64, (0..3).map(|k| value(k).into()));
    write_npy(&folder.path().join("want.npy"), &expected).unwrap();
    Setup::run_checked().passes(&folder.path().join("run.toml"));
}

/// Returns the errors in a launch file, or the faults of its kernels, without the path of the folder. The
/// first text is from the cycle-level simulation, the second from the profile without timing.
fn find_errors(machine: &str, ptx: &str, launches: &str) -> [String; 2] {
    let folder = folder(ptx, launches);
    let launch = folder.path().join("run.toml");
    let config = Setup::default().machine(machine).config();
    let text = |error: RunError| {
        let lines = match &error {
            RunError::Launch(error @ LaunchError::Invalid { .. }) => error.lines().join("\n"),
            other => other.to_string(),
        };
        lines.replace(&format!("{}/", folder.path().display()), "")
    };
    let clocked = run(&launch, &config, &RunOptions::default(), &mut |_| {}).map(|report| report.outcome);
    let untimed = profile(&launch, None, &config);
    [text(clocked.expect_err("it runs")), text(untimed.expect_err("it runs without time"))]
}

fn launch_of(kernel: &str, rest: &str) -> String {
    format!("[[step]]\n[[step.launch]]\nkernel = \"{kernel}\"\nargs = []\n{rest}\n")
}

#[test]
fn registers_are_limited_by_directives_and_by_the_largest_block_that_is_launched() {
    let notes = |directives: &str, blocks: &[u32]| {
        let launches = blocks.iter().map(|block| {
            format!("[[step]]\n[[step.launch]]\nkernel = \"sum\"\ngrid = [1]\nblock = [{block}]\nargs = [\"out\"]\n")
        });
        let buffer = "[[buffer]]\nname = \"out\"\ntype = \"u32\"\nelements = 1024\n".to_owned();
        let text = buffer + &launches.collect::<String>();
        let folder = folder(&sum_of_many(directives), &text);
        let report = Setup::run_checked().run(&folder.path().join("run.toml"));
        assert_eq!((report.outcome, report.verdict), (Outcome::Finished, Verdict::Passed));
        report.notes
    };
    let spilled = |left: u32| format!("are spilled to local memory: {left} registers per thread are left");
    for (directives, blocks, left) in [
        ("", &[512][..], None),
        ("", &[512, 1024], Some(32)),
        (".maxnreg 24", &[32], Some(24)),
        (".maxntid 1024", &[32], Some(32)),
        (".maxntid 256 .minnctapersm 2", &[32], None),
        (".maxntid 256 .minnctapersm 4", &[32], Some(32)),
    ] {
        let found = notes(directives, blocks);
        match left {
            None => assert!(found.is_empty(), "{directives} {blocks:?}: {found:?}"),
            Some(left) => assert!(found.len() == 1 && found[0].ends_with(&spilled(left)), "{directives}: {found:?}"),
        }
    }
}

#[test]
fn launches_keep_to_the_directives_of_their_kernels() {
    let ptx = ".entry any() { ret; }\n.entry req() .reqntid 8, 4 { ret; }\n.entry max() .maxntid 16, 2 { ret; }\n\
               .entry group() .reqnctapercluster 2, 1, 1 { ret; }\n";
    let legal = [
        launch_of("any", "grid = [3]\nblock = [64]"),
        launch_of("req", "grid = [3]\nblock = [8, 4]"),
        launch_of("max", "grid = [3]\nblock = [1, 32]"),
        launch_of("group", "grid = [4, 3]\nblock = [32]"),
    ];
    let report = Setup::default().run(&folder(ptx, &legal.concat()).path().join("run.toml"));
    assert_eq!((report.outcome, report.verdict), (Outcome::Finished, Verdict::Off));
    let [note] = report.notes.as_slice() else { panic!("{:?}", report.notes) };
    assert!(
        note.ends_with("declares `.reqnctapercluster` of [2, 1, 1]: CTAs of a cluster are placed like any others"),
        "{note}"
    );
    for (kernel, shape, problem) in [
        (
            "req",
            "grid = [3]\nblock = [32]",
            "31:9: `step[4].launch[0].block` is [32], expected [8, 4, 1]: kernel `req` declares `.reqntid`",
        ),
        (
            "req",
            "grid = [3]\nblock = [4, 8]",
            "31:9: `step[4].launch[0].block` is [4, 8], expected [8, 4, 1]: kernel `req` declares `.reqntid`",
        ),
        (
            "max",
            "grid = [3]\nblock = [33]",
            "31:9: `step[4].launch[0].block` is [33], expected at most 32 threads, as in [16, 2, 1]: kernel `max` declares `.maxntid`",
        ),
        (
            "group",
            "block = [32]\ngrid = [3]",
            "31:8: `step[4].launch[0].grid` is [3], expected a multiple of [2, 1, 1] along each axis: kernel `group` declares `.reqnctapercluster`",
        ),
    ] {
        let launches = legal.concat() + &launch_of(kernel, shape);
        assert_eq!(
            find_errors("fermi", ptx, &launches),
            [format!("run.toml:{problem}"), format!("run.toml:{problem}")]
        );
    }
}

#[test]
fn dynamic_shared_memory_is_what_the_machine_has() {
    let ptx = ".extern .shared .b8 dyn[];\n.entry k() { .reg .b32 %r<3>; .shared .b8 own[128]; mov.u32 %r0, own; mov.u32 %r1, dyn;\n\
               st.shared.u32 [%r1+65536], 7; ret; }";
    let with = |bytes: u32| launch_of("k", &format!("grid = [1]\nblock = [1]\nshared_bytes = {bytes}"));
    let report =
        Setup::run_checked().machine("volta").run(&folder(ptx, &with(96 * 1024 - 128)).path().join("run.toml"));
    assert_eq!(report.outcome, Outcome::Finished);
    for (machine, bytes, has) in [("fermi", 65540, 49152), ("volta", 96 * 1024 - 127, 98304)] {
        let problem = format!(
            "run.toml:8:16: `step[0].launch[0].shared_bytes` is {bytes}, expected 0 to {}: an SM has {has} bytes of shared memory, of which kernel `k` declares 128",
            has - 128
        );
        assert_eq!(find_errors(machine, ptx, &with(bytes)), [problem.clone(), problem]);
    }
}

/// Tests kernels with an illegal operation on line 5. Each operation is listed with a part of the message
/// that the machine and the interpreter must report.
#[test]
fn what_no_gpu_carries_out_is_a_fault_at_its_line() {
    let counted = "threads, expected whole warps of 32, no more than the ";
    let constant = "read";
    for (body, piece) in [
        ("mov.u32 %r1, 48;\nbar.sync 0, %r1;", counted),
        ("mov.u32 %r1, 96;\nbar.sync 0, %r1;", counted),
        ("mov.u32 %r1, 0;\nbar.arrive 0, %r1;", counted),
        ("mov.u32 %r1, 33;\nbar.red.popc.u32 %r2, 0, %r1, %p0;", counted),
        ("\nbar.sync 0, 96;", counted),
        ("mov.u64 %rd1, c; cvta.const.u64 %rd1, %rd1;\nst.u32 [%rd1], 3;", constant),
        ("mov.u64 %rd1, c; cvta.const.u64 %rd1, %rd1;\nst.global.u32 [%rd1+4], 3;", constant),
        ("mov.u64 %rd1, c; cvta.const.u64 %rd1, %rd1;\nst.v2.u32 [%rd1+8], {%r1, %r1};", constant),
        ("mov.u64 %rd1, c; cvta.const.u64 %rd1, %rd1;\natom.add.u32 %r1, [%rd1], 3;", constant),
        ("mov.u64 %rd1, c; cvta.const.u64 %rd1, %rd1;\nred.global.add.u32 [%rd1], 3;", constant),
    ] {
        let ptx = format!(
            ".const .align 8 .u32 c[4] = {{1, 2, 3, 4}}; .entry k() {{ .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<3>; {body} ret; }}"
        );
        for message in find_errors("fermi", &ptx, &launch_of("k", "grid = [1]\nblock = [64]")) {
            assert!(message.contains("k.ptx:5: "), "{body}: {message}");
            assert!(
                message.contains(piece) && (piece != constant || message.contains("constants")),
                "{body}: {message}"
            );
        }
    }
}

#[test]
fn barriers_of_some_warps_and_loads_of_constants_are_none() {
    let ptx = ".const .align 8 .u32 c[4] = {1, 2, 3, 4}; .entry k(.param .u64 out) { .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<3>;\n\
               ld.param.u64 %rd2, [out]; mov.u32 %r1, 64; bar.sync 0, %r1; bar.sync 1, 64; bar.sync 2, 0;\n\
               mov.u64 %rd1, c; cvta.const.u64 %rd1, %rd1; ld.u32 %r2, [%rd1+4]; st.global.u32 [%rd2], %r2; ret; }";
    let launches = "[[buffer]]\nname = \"out\"\ntype = \"u32\"\nelements = 1\n\
                    [[step]]\n[[step.launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [48]\nargs = [\"out\"]\n";
    Setup::run_checked().passes(&folder(ptx, launches).path().join("run.toml"));
}

/// A launch file may write constant memory between kernel launches. Kernels must read the values written.
#[test]
fn a_host_fills_constants() {
    let ptx = ".const .align 8 .u32 c[2] = {1, 2}; .entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %rd<3>;\n\
               ld.param.u64 %rd2, [out]; ld.const.u32 %r2, [c+4]; st.global.u32 [%rd2], %r2; ret; }";
    let launches = "buffer = [{ name = \"out\", type = \"u32\", elements = 1 }, { name = \"c\", type = \"u32\", elements = 2, symbol = \"c\" }]\n\
                    [[step]]\n[[step.fill]]\nbuffer = \"c\"\nvalue = 9\n[[step.launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [1]\nargs = [\"out\"]\n\
                    [[output]]\nbuffer = \"out\"\nexpect = { file = \"want.npy\" }\n";
    let folder = folder(ptx, launches);
    write_npy(&folder.path().join("want.npy"), &Array::from_integers(ElementType::U32, [9])).unwrap();
    Setup::run_checked().passes(&folder.path().join("run.toml"));
}

#[test]
fn a_register_used_before_it_is_written_marks_a_checked_run() {
    let ptx = ".entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %rd<3>; ld.param.u64 %rd2, [out];\n\
               add.u32 %r2, %r1, 1;\nst.global.u32 [%rd2], %r2; ret; }";
    let launches = "[[buffer]]\nname = \"out\"\ntype = \"u32\"\nelements = 1\n\
                    [[step]]\nrepeat = 3\n[[step.launch]]\nkernel = \"k\"\ngrid = [1]\nblock = [1]\nargs = [\"out\"]\n";
    let folder = folder(ptx, launches);
    let launch: PathBuf = folder.path().join("run.toml");
    let report = Setup::run_checked().run(&launch);
    assert_eq!((&report.outcome, &report.verdict), (&Outcome::Finished, &Verdict::Undefined));
    let [note] = report.notes.as_slice() else { panic!("{:?}", report.notes) };
    let says = "k.ptx:5: kernel `k`, CTA [0, 0, 0], thread [0, 0, 0]: reads `%r1`, which the thread has not written: it is undefined, and line 6 depends on it";
    assert!(note.ends_with(says), "{note}");
    assert_eq!(Setup::default().run(&launch).verdict, Verdict::Off, "without checks nobody looks");
}
