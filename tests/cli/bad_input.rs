//! Tests of bad input: the command must exit with status 2 and a clear message, and must write no files.

use std::fs;
use std::process::Command;

use super::{CommandResult, root, warpsieve};

const SMALL: &str = "kernels/vadd/small";

#[test]
fn a_missing_launch_file_is_named() {
    for size in ["kernels/vadd/smal", "kernels/vadd/launch.toml/smal"] {
        warpsieve(&["run", size])
            .assert_refused(&["there is no problem size `smal` in the file", "did you mean `small`?"]);
    }
    for (values, messages) in [
        ("n=1,n=2", &["`n` is given twice in `n=1,n=2`"][..]),
        ("small,m=3", &["`m=3`: the file has no value `m` in `[size]`", "values: n, title"]),
        ("n=1.5", &["`n=1.5`: expected an integer of 64 bits"]),
    ] {
        let launch = format!("kernels/vadd/{values}");
        for command in ["run", "compare", "profile"] {
            warpsieve(&[command, &launch]).assert_refused(messages);
        }
        warpsieve(&["explain", &launch, "--design", "pric", "--against", "baseline"]).assert_refused(messages);
    }
    warpsieve(&["run", "nowhere.toml"]).assert_refused(&["nowhere.toml: cannot read the launch file: No such file"]);
}

/// Runs the kernel `vadd` from a separate folder, after replacing a piece of text in its launch file and a
/// piece in its PTX file.
fn vadd_with(launch: [&str; 2], ptx: [&str; 2]) -> CommandResult {
    let folder = tempfile::tempdir().unwrap();
    for (file, [old, new]) in [("launch.toml", launch), ("vadd.ptx", ptx)] {
        let text = fs::read_to_string(root().join("kernels/vadd").join(file)).unwrap();
        assert!(text.contains(old), "{file} has no `{old}`");
        fs::write(folder.path().join(file), text.replacen(old, new, 1)).unwrap();
    }
    let path = |file: &str| folder.path().join(file).display().to_string();
    let ended = warpsieve(&["run", &path("small"), "--stats", &path("s.json")]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "{ended:?}");
    ended
}

#[test]
fn a_ptx_syntax_error_shows_file_line_column_and_excerpt() {
    vadd_with(["", ""], ["ret;", "ret"]).assert_refused(&[
        "vadd.ptx:48:1: expected an operand, found `}`",
        "vadd.ptx:48:1]",
        "48 | }",
    ]);
}

#[test]
fn an_unsupported_instruction_is_named_with_its_place() {
    vadd_with(["", ""], ["add.f32", "tanh.approx.f32"]).assert_refused(&["vadd.ptx:43:2: ", "tanh"]);
}

#[test]
fn arguments_that_do_not_fit_the_kernel_are_refused() {
    vadd_with([", { i32 = \"= n\" }", ""], ["", ""])
        .assert_refused(&["`step[0].launch[0].args` has 3 arguments, expected 4"]);
    vadd_with(["{ i32 = \"= n\" }", "{ f32 = 1.0 }"], ["", ""])
        .assert_refused(&["`step[0].launch[0].args[3]` is { f32 = 1.0 }, expected an integer scalar of 4 bytes"]);
}

#[test]
fn a_kernel_that_does_not_exist_comes_with_those_that_do() {
    vadd_with(["\"vadd\"\ngrid", "\"vad\"\ngrid"], ["", ""])
        .assert_refused(&["is \"vad\", expected a kernel of ", "did you mean `vadd`?"]);
}

#[test]
fn an_address_outside_every_buffer_names_warp_lane_pc_address_and_buffer() {
    let ended = vadd_with(["{ i32 = \"= n\" }", "{ i32 = 6000 }"], ["", ""]);
    ended.assert_refused(&[
        "vadd.ptx:41: kernel `vadd`, SM ",
        " warp ",
        " lane 8 pc 17: load of 4 bytes at 0x104e20 is outside every buffer",
    ]);
    ended.assert_refused(&["`a`, 0x100000 to 0x104e1f"]);
}

#[test]
fn a_misaligned_address_names_warp_lane_pc_and_address() {
    vadd_with(["", ""], ["[%rd3]", "[%rd3+2]"]).assert_refused(&[
        "vadd.ptx:41: kernel `vadd`, SM ",
        " lane 0 pc 17: load of 4 bytes at 0x10",
        "02 is not aligned to 4 bytes",
    ]);
}

#[test]
fn a_missing_machine_file_is_named() {
    warpsieve(&["config", "--machine", "nowhere.toml"])
        .assert_refused(&["nowhere.toml: cannot read the machine file: No such file"]);
}

#[test]
fn an_unknown_key_shows_its_place_and_what_was_meant() {
    warpsieve(&["run", SMALL, "--set", "l1.setz=64"]).assert_refused(&[
        "unknown key `l1.setz`",
        "[--set:1:4]",
        "l1.setz=64",
        "help: did you mean `sets`?",
    ]);
}

#[test]
fn all_broken_rules_are_reported_at_once() {
    warpsieve(&["run", SMALL, "--set", "l1.sets=48", "--set", "l1.mshr_entries=0"]).assert_refused(&[
        "the configuration has 2 problems",
        "l1.sets is 48, expected a power of two from 1 to 4096: the set index is a bit field",
        "l1.mshr_entries is 0, expected 1 to 512: the search has one bit per entry",
    ]);
}

#[test]
fn of_many_problems_20_are_shown_and_the_others_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let keys: String = (0..1_050).map(|i| format!("key{i} = 1\n")).collect();
    fs::write(path("machine.toml"), format!("based-on = \"fermi\"\n{keys}")).unwrap();
    fs::write(path("launch.toml"), &keys).unwrap();
    let ended = warpsieve(&["config", "--machine", &path("machine.toml")]);
    ended.assert_refused(&["the configuration has 1050 problems", "unknown key `key19`", "and 1030 more problems"]);
    assert!(!ended.err.contains("`key20`"), "{ended:?}");
    let ended = warpsieve(&["run", &path("launch.toml")]);
    ended.assert_refused(&[
        "launch.toml: 1051 problems",
        "has no `step`",
        "unknown key `key18`",
        "and 1031 more problems",
    ]);
    assert!(!ended.err.contains("`key19`"), "{ended:?}");
}

#[test]
fn a_file_of_another_kind_is_named_as_what_it_is_in_one_message() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let cubin = [&b"\x7fELF\x02\x01\x01\x33"[..], &[0; 10], &[190, 0], &[7; 60]].concat();
    let npy = b"\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
    let files: [(&str, &[u8]); 8] = [
        ("k.cubin", &cubin),
        ("k.fatbin", b"\x50\xed\x55\xba\x01\0\x10\0"),
        ("a.npy", npy),
        ("k.cu", b"__global__ void f() {}\n"),
        ("k.traceg", b"-kernel name = f\n-kernel id = 1\n"),
        ("x.checkpoint", b"warpsieve checkpoint 1\n{}\n"),
        ("s.json", b"{\n  \"schema\": 1\n}\n"),
        ("x.vcd", b"$date today $end\n"),
    ];
    files.iter().for_each(|(name, bytes)| fs::write(path(name), bytes).unwrap());
    let names = files.map(|(name, _)| path(name));
    let [cubin, fatbin, npy, cu, trace, checkpoint, stats, vcd] = names.each_ref().map(String::as_str);
    let (ptx, launch, sweep) = ("kernels/vadd/vadd.ptx", "kernels/vadd/launch.toml", "docs/example/sweep.toml");
    let as_ptx = |file: &str| vec!["run".to_owned(), SMALL.to_owned(), "--ptx".to_owned(), file.to_owned()];
    let with = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    for (arguments, said) in [
        (as_ptx(cubin), "this is a cubin, expected PTX: warpsieve reads PTX: compile with -ptx"),
        (as_ptx(fatbin), "this is a fat binary, expected PTX"),
        (as_ptx(npy), "this is a NumPy array (.npy), expected PTX"),
        (as_ptx(cu), "this is CUDA C++, expected PTX: warpsieve reads PTX: compile with `nvcc -ptx`"),
        (as_ptx(launch), "this is a launch file, expected PTX: `run` takes it"),
        (with(&["ptx", cubin]), "this is a cubin, expected PTX"),
        (with(&["ptx", launch]), "this is a launch file, expected PTX"),
        (with(&["run", ptx]), "this is PTX, expected a launch file: a launch file names it, see docs/launch-files.md"),
        (with(&["profile", cubin]), "this is a cubin, expected a launch file"),
        (with(&["run", trace]), "this is a kernel trace, expected a launch file: `replay` takes it"),
        (with(&["run", checkpoint]), "this is a checkpoint, expected a launch file: `run --resume` takes it"),
        (with(&["compare", stats]), "this is a statistics file, expected a launch file: `explain` takes it"),
        (with(&["run", sweep]), "this is a sweep file, expected a launch file: `sweep` takes it"),
        (with(&["sweep", launch]), "this is a launch file, expected a sweep file: `run` takes it"),
        (with(&["config", "--machine", launch]), "this is a launch file, expected a machine file"),
        (with(&["config", "--design", sweep]), "this is a sweep file, expected a design file"),
        (with(&["replay", npy]), "this is a NumPy array (.npy), expected a kernel trace"),
        (with(&["trace", "info", ptx]), "this is PTX, expected a kernel trace"),
        (with(&["explain", vcd, stats]), "this is a waveform, expected a statistics file"),
        (with(&["waves", "follow", stats, "--line", "1"]), "this is a statistics file, expected a waveform"),
        (with(&["dram", trace]), "this is a kernel trace, expected a trace of DRAM requests"),
        (with(&["run", SMALL, "--resume", npy]), "this is a NumPy array (.npy), expected a checkpoint"),
    ] {
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        let ended = warpsieve(&arguments);
        ended.assert_refused(&[said]);
        assert!(ended.err.lines().count() < 20, "{ended:?}");
    }
}

#[test]
fn an_output_that_is_a_folder_or_of_another_form_is_refused_by_name() {
    warpsieve(&["run", SMALL, "--stats", "."])
        .assert_refused(&["`--stats` is ., which is a folder, expected a file name"]);
    for (arguments, option) in [
        (&["sweep", "docs/example/sweep.toml", "--plot", "x.png"][..], "--plot <FILE.svg|FILE.pdf>"),
        (&["sweep", "docs/example/sweep.toml", "--plot", "svg"], "--plot <FILE.svg|FILE.pdf>"),
        (&["area", "--svg", "x.png"], "--svg <FILE.svg>"),
    ] {
        warpsieve(arguments).assert_refused(&[option, "expected a name that ends in .svg"]);
    }
    warpsieve(&["run", SMALL, "--stats", "x.csv"])
        .assert_refused(&["--stats <FILE.json>", "expected a name that ends in .json: JSON is written"]);
    warpsieve(&["run", SMALL, "--series", "x.json"])
        .assert_refused(&["--series <FILE.csv>", "expected a name that ends in .csv: CSV is written"]);
}

#[test]
fn a_number_with_a_unit_is_refused_with_what_it_may_have_meant() {
    for (set, message, help) in [
        ("l1.sets=16KB", "`l1.sets` is \"16KB\", expected an integer", "it is a count, not a size"),
        ("l1.line_bytes=0.125KB", "`l1.line_bytes` is \"0.125KB\"", "in bytes, without a unit: l1.line_bytes=128"),
        ("sm.shared.bytes=48 KiB", "`sm.shared.bytes` is \"48 KiB\"", "sm.shared.bytes=49152"),
        ("clock.core_khz=1.4GHz", "`clock.core_khz` is \"1.4GHz\"", "in kHz, without a unit: clock.core_khz=1400000"),
        ("l1.mshr_entries=32x", "`l1.mshr_entries` is \"32x\"", "it is a count, without a unit"),
    ] {
        warpsieve(&["config", "--set", set]).assert_refused(&[message, help]);
    }
}

#[test]
fn kernels_are_run_by_their_names_from_any_folder() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = |arguments: &[&str]| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
        CommandResult::of(command.args(arguments).current_dir(folder.path()))
    };
    let ended = elsewhere(&["run", "vadd/small"]);
    assert!(ended.status == Some(0) && ended.out.contains("kernels/vadd/small on fermi"), "{ended:?}");
    assert_eq!(elsewhere(&["profile", "vadd/small"]).status, Some(0));
    let ended = elsewhere(&["run", "vadd/small,n=300"]);
    assert!(ended.status == Some(0) && ended.out.contains("kernels/vadd/small,n=300 on fermi"), "{ended:?}");
    let ended = elsewhere(&["compare", "vadd/n=300", "vadd/n=600", "--design-set", "baseline,pric"]);
    let has_both = ["kernels/vadd/n=300", "kernels/vadd/n=600"].iter().all(|name| ended.out.contains(name));
    assert!(ended.status == Some(0) && has_both, "{ended:?}");
    assert_eq!(elsewhere(&["trace", "export", "vadd/n=300", "-o", "traces"]).status, Some(0));
    assert!(folder.path().join("traces/kernelslist.g").is_file());
    let below = warpsieve(&["run", "kernels/vadd", "--max-cycles", "1"]);
    assert!(below.out.contains("kernels/vadd/launch.toml on fermi"), "{below:?}");
    for (slip, file) in [("sykr", "kernels/syrk/launch.toml"), ("kernels/syrk/lunch.toml", "kernels/syrk/launch.toml")]
    {
        elsewhere(&["run", slip]).assert_refused(&[slip, "cannot read the launch file", "did you mean ", file]);
    }
    elsewhere(&["run", "."]).assert_refused(&["it is a folder without a launch.toml"]);
    // If a file has the same name as a kernel, the command must read the file.
    fs::write(folder.path().join("vadd"), "").unwrap();
    elsewhere(&["run", "vadd"]).assert_refused(&["vadd: ", "problem"]);
}

#[test]
fn of_many_reasons_why_a_kernel_cannot_be_run_20_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.ptx").display().to_string();
    let text = fs::read_to_string(root().join("kernels/vadd/vadd.ptx")).unwrap();
    let line = text.lines().find(|line| line.contains("add.f32")).unwrap().replace("add.f32", "tanh.approx.f32");
    fs::write(&path, text.replacen("ret;", &format!("{}\n\tret;", vec![line; 33].join("\n")), 1)).unwrap();
    let ended = warpsieve(&["ptx", &path]);
    assert_eq!(ended.status, Some(2), "{ended:?}");
    assert!(ended.out.contains("cannot be run, 33 reasons") && ended.out.contains("and 13 more reasons"), "{ended:?}");
    assert_eq!(ended.out.matches("many.ptx:").count(), 21, "{ended:?}");
}

#[test]
fn a_value_of_the_wrong_type_is_refused() {
    warpsieve(&["config", "--set", "l1.sets=many"]).assert_refused(&["`l1.sets` is \"many\", expected an integer"]);
}

#[test]
fn two_designs_in_one_slot_are_refused() {
    warpsieve(&["config", "--design", "pric", "--design", "fermi-hash"])
        .assert_refused(&["designs `pric` and `fermi-hash` both fill the slot `index`, which holds one"]);
}

#[test]
fn an_unknown_design_comes_with_the_one_that_was_meant() {
    warpsieve(&["config", "--design", "bypas-all"])
        .assert_refused(&["there is no design `bypas-all`", "did you mean `bypass-all`?"]);
}

#[test]
fn usage_errors_name_the_argument() {
    warpsieve(&["run"]).assert_refused(&["required arguments were not provided", "<KERNEL|LAUNCH.toml>"]);
    warpsieve(&["rum", SMALL]).assert_refused(&["unrecognized subcommand 'rum'", "'run'"]);
    warpsieve(&["run", SMALL, "--stat", "x.json"]).assert_refused(&["unexpected argument '--stat'", "'--stats'"]);
    warpsieve(&["run", SMALL, "--max-cycles", "0"]).assert_refused(&["invalid value '0' for '--max-cycles <N>'"]);
    warpsieve(&["run", SMALL, "--wave-to", "5"]).assert_refused(&["--wave <FILE.vcd|FILE.fst>"]);
    warpsieve(&["list", "block"]).assert_refused(&["invalid value 'block'", "'blocks'"]);
    warpsieve(&[]).assert_refused(&["Usage: warpsieve <COMMAND>"]);
}

#[test]
fn a_waveform_must_be_a_vcd_or_fst_file_with_a_window_that_is_not_empty() {
    warpsieve(&["run", SMALL, "--wave", "x.vcf"]).assert_refused(&["expected a file name ending in .vcd"]);
    warpsieve(&["run", SMALL, "--wave", "x.vcd", "--wave-limit", "9T"]).assert_refused(&["expected a number of bytes"]);
    warpsieve(&["run", SMALL, "--wave", "x.vcd", "--wave-from", "9", "--wave-to", "5"])
        .assert_refused(&["`--wave-from` is 9, expected at most 5, the value of `--wave-to`"]);
}

#[test]
fn statistics_that_cannot_be_written_stop_a_run_before_it_begins() {
    warpsieve(&["run", SMALL, "--stats", "nowhere/s.json"])
        .assert_refused(&["the statistics cannot be written", "nowhere/s.json"]);
}

#[test]
fn bad_input_leaves_no_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let stats = folder.path().join("s.json").display().to_string();
    warpsieve(&["run", "nowhere.toml", "--stats", &stats]).assert_refused(&["nowhere.toml"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_number_below_zero_is_refused_by_its_range() {
    for option in ["--max-cycles", "--wave-last", "--hop-mm"] {
        let wave = ["--wave", "x.vcd"];
        let refused = warpsieve(&[&["run", SMALL, option, "-1"], &wave[..]].concat());
        refused.assert_refused(&[&format!("invalid value '-1' for '{option} ")]);
    }
    warpsieve(&["soak", "l1", "--seed", "-1"]).assert_refused(&["invalid value '-1' for '--seed <S>'"]);
}

#[test]
fn two_options_that_name_one_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (file, same) = (path("a.vcd"), path("./a.vcd"));
    let apart = |second: &str, first: &str| format!("`{second}` is {same}, expected a file other than `{first}`");
    warpsieve(&["run", SMALL, "--wave", &file, "--timeline", &same]).assert_refused(&[&apart("--timeline", "--wave")]);
    warpsieve(&["optimize", SMALL, "-o", &file, "--report", &same]).assert_refused(&[&apart("--report", "--output")]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// The command writes its statistics to the device `/dev/full` through a symbolic link. If the command has a
/// bug that replaces its output file, the test loses only the link, not the device.
#[test]
fn a_full_device_is_refused_and_stays_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let full = folder.path().join("full.json");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let ended = warpsieve(&["run", SMALL, "--quiet", "--stats", &full.display().to_string()]);
    ended.assert_refused(&["the statistics cannot be written", "No space left on device"]);
    assert!(fs::symlink_metadata(&full).unwrap().is_symlink());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_file_that_cannot_be_written_is_named_once() {
    let folder = tempfile::tempdir().unwrap();
    for (option, name) in
        [("--series", "s.csv"), ("--timeline", "t.json"), ("--pipeline", "p.kanata"), ("--wave", "w.vcd")]
    {
        let full = folder.path().join(name);
        std::os::unix::fs::symlink("/dev/full", &full).unwrap();
        let full = full.display().to_string();
        let ended = warpsieve(&["run", SMALL, "--quiet", option, &full]);
        ended.assert_refused(&["cannot write: No space left on device"]);
        assert_eq!(ended.err.matches(&full).count(), 1, "{option}: {}", ended.err);
    }
}

#[test]
fn help_and_version_that_cannot_be_written_are_no_success() {
    for option in ["--version", "--help"] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
        let ended = command.arg(option).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{option}: {said}");
        assert!(said.contains("stdout cannot be written"), "{option}: {said}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named_with_the_reason() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().display().to_string();
    for command in [&["trace", "export", SMALL, "-o"][..], &["waves", "figure2"], &["area", "--cacti"]] {
        warpsieve(&[command, &[&path]].concat()).assert_refused(&[
            &path,
            "the folder cannot be created",
            "File exists",
        ]);
    }
}

#[test]
fn a_dump_that_is_missing_no_dump_or_cut_off_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let follow = |name: &str| warpsieve(&["waves", "follow", &path(name), "--request", "1"]);
    follow("none.vcd").assert_refused(&["none.vcd: cannot be read: No such file"]);
    follow("").assert_refused(&["cannot be read: it is a directory"]);
    let ended = warpsieve(&["run", SMALL, "--quiet", "--wave", &path("a.fst"), "--wave-scope", "sm0.l1"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let whole = fs::read(path("a.fst")).unwrap();
    for part in [0, 1, 64, 400, whole.len() / 2] {
        fs::write(path("cut.fst"), &whole[..part]).unwrap();
        follow("cut.fst").assert_refused(&["cut.fst: cannot be read: "]);
    }
}

#[test]
fn a_soak_without_time_is_refused() {
    warpsieve(&["soak", "l1", "--seconds", "0"]).assert_refused(&["invalid value '0' for '--seconds <N>'"]);
}
