//! Bad input: exit status 2, a clear message, nothing written.

use std::fs;

use super::{Ended, root, warpsieve};

const SMALL: &str = "kernels/vadd/small.toml";

#[test]
fn a_missing_launch_file_is_named() {
    warpsieve(&["run", "nowhere.toml"]).refused(&["nowhere.toml: cannot read the launch file: No such file"]);
}

/// Runs vadd from a folder of its own, with a piece of its launch file and of its PTX replaced.
fn vadd_with(launch: [&str; 2], ptx: [&str; 2]) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    for (file, [old, new]) in [("small.toml", launch), ("vadd.ptx", ptx)] {
        let text = fs::read_to_string(root().join("kernels/vadd").join(file)).unwrap();
        assert!(text.contains(old), "{file} has no `{old}`");
        fs::write(folder.path().join(file), text.replacen(old, new, 1)).unwrap();
    }
    let path = |file: &str| folder.path().join(file).display().to_string();
    let ended = warpsieve(&["run", &path("small.toml"), "--stats", &path("s.json")]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "{ended:?}");
    ended
}

#[test]
fn a_ptx_syntax_error_shows_file_line_column_and_excerpt() {
    vadd_with(["", ""], ["ret;", "ret"]).refused(&[
        "vadd.ptx:48:1: expected an operand, found `}`",
        "vadd.ptx:48:1]",
        "48 | }",
    ]);
}

#[test]
fn an_unsupported_instruction_is_named_with_its_place() {
    vadd_with(["", ""], ["add.f32", "tanh.approx.f32"]).refused(&["vadd.ptx:43:2: ", "tanh"]);
}

#[test]
fn arguments_that_do_not_fit_the_kernel_are_refused() {
    vadd_with([", { i32 = 5000 }", ""], ["", ""]).refused(&["`step[0].launch[0].args` has 3 arguments, expected 4"]);
    vadd_with(["{ i32 = 5000 }", "{ f32 = 1.0 }"], ["", ""])
        .refused(&["`step[0].launch[0].args[3]` is { f32 = 1.0 }, expected an integer scalar of 4 bytes"]);
}

#[test]
fn a_kernel_that_does_not_exist_comes_with_those_that_do() {
    vadd_with(["\"vadd\"\ngrid", "\"vad\"\ngrid"], ["", ""])
        .refused(&["is \"vad\", expected a kernel of ", "did you mean `vadd`?"]);
}

#[test]
fn an_address_outside_every_buffer_names_warp_lane_pc_address_and_buffer() {
    let ended = vadd_with(["{ i32 = 5000 }", "{ i32 = 6000 }"], ["", ""]);
    ended.refused(&[
        "vadd.ptx:41: SM ",
        " warp ",
        " lane 8 pc 17: load of 4 bytes at 0x104e20 is outside every buffer",
    ]);
    ended.refused(&["`a`, 0x100000 to 0x104e1f"]);
}

#[test]
fn a_misaligned_address_names_warp_lane_pc_and_address() {
    vadd_with(["", ""], ["[%rd3]", "[%rd3+2]"]).refused(&[
        "vadd.ptx:41: SM ",
        " lane 0 pc 17: load of 4 bytes at 0x10",
        "02 is not aligned to 4 bytes",
    ]);
}

#[test]
fn a_missing_machine_file_is_named() {
    warpsieve(&["config", "--machine", "nowhere.toml"])
        .refused(&["nowhere.toml: cannot read the machine file: No such file"]);
}

#[test]
fn an_unknown_key_shows_its_place_and_what_was_meant() {
    warpsieve(&["run", SMALL, "--set", "l1.setz=64"]).refused(&[
        "unknown key `l1.setz`",
        "[--set:1:4]",
        "l1.setz=64",
        "help: did you mean `sets`?",
    ]);
}

#[test]
fn all_broken_rules_are_reported_at_once() {
    warpsieve(&["run", SMALL, "--set", "l1.sets=48", "--set", "l1.mshr_entries=0"]).refused(&[
        "the configuration has 2 problems",
        "l1.sets is 48, expected a power of two from 1 to 4096: the set index is a bit field",
        "l1.mshr_entries is 0, expected 1 to 512: the search is one bit an entry",
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
    ended.refused(&["the configuration has 1050 problems", "unknown key `key19`", "and 1030 more problems"]);
    assert!(!ended.err.contains("`key20`"), "{ended:?}");
    let ended = warpsieve(&["run", &path("launch.toml")]);
    ended.refused(&["launch.toml: 1051 problems", "has no `step`", "unknown key `key18`", "and 1031 more problems"]);
    assert!(!ended.err.contains("`key19`"), "{ended:?}");
}

#[test]
fn statistics_that_are_given_as_a_launch_file_are_refused_in_few_lines() {
    let folder = tempfile::tempdir().unwrap();
    let stats = folder.path().join("s.json").display().to_string();
    assert_eq!(warpsieve(&["run", SMALL, "--quiet", "--stats", &stats]).status, Some(0));
    let ended = warpsieve(&["run", &stats]);
    ended.refused(&["s.json: ", "problem"]);
    assert!(ended.err.lines().count() < 200, "{} lines", ended.err.lines().count());
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
    warpsieve(&["config", "--set", "l1.sets=many"]).refused(&["`l1.sets` is \"many\", expected an integer"]);
}

#[test]
fn two_designs_in_one_slot_are_refused() {
    warpsieve(&["config", "--design", "pric", "--design", "fermi-hash"])
        .refused(&["designs `pric` and `fermi-hash` both fill the slot `index`, which holds one"]);
}

#[test]
fn an_unknown_design_comes_with_the_one_that_was_meant() {
    warpsieve(&["config", "--design", "bypas-all"])
        .refused(&["there is no design `bypas-all`", "did you mean `bypass-all`?"]);
}

#[test]
fn usage_errors_name_the_argument() {
    warpsieve(&["run"]).refused(&["required arguments were not provided", "<LAUNCH.toml>"]);
    warpsieve(&["rum", SMALL]).refused(&["unrecognized subcommand 'rum'", "'run'"]);
    warpsieve(&["run", SMALL, "--stat", "x.json"]).refused(&["unexpected argument '--stat'", "'--stats'"]);
    warpsieve(&["run", SMALL, "--max-cycles", "0"]).refused(&["invalid value '0' for '--max-cycles <N>'"]);
    warpsieve(&["run", SMALL, "--wave-to", "5"]).refused(&["--wave <FILE.vcd|FILE.fst>"]);
    warpsieve(&["list", "block"]).refused(&["invalid value 'block'", "'blocks'"]);
    warpsieve(&[]).refused(&["Usage: warpsieve <COMMAND>"]);
}

#[test]
fn a_waveform_must_be_a_vcd_or_fst_file_with_a_window_that_is_not_empty() {
    warpsieve(&["run", SMALL, "--wave", "x.vcf"]).refused(&["expected a file name ending in .vcd"]);
    warpsieve(&["run", SMALL, "--wave", "x.vcd", "--wave-limit", "9T"]).refused(&["expected a number of bytes"]);
    warpsieve(&["run", SMALL, "--wave", "x.vcd", "--wave-from", "9", "--wave-to", "5"])
        .refused(&["`--wave-from` is 9, expected at most 5, which is `--wave-to`"]);
}

#[test]
fn statistics_that_cannot_be_written_stop_a_run_before_it_begins() {
    warpsieve(&["run", SMALL, "--stats", "nowhere/s.json"])
        .refused(&["the statistics cannot be written", "nowhere/s.json"]);
}

#[test]
fn bad_input_leaves_no_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let stats = folder.path().join("s.json").display().to_string();
    warpsieve(&["run", "nowhere.toml", "--stats", &stats]).refused(&["nowhere.toml"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_number_below_zero_is_refused_by_its_range() {
    for option in ["--max-cycles", "--wave-last", "--hop-mm"] {
        let wave = ["--wave", "x.vcd"];
        let refused = warpsieve(&[&["run", SMALL, option, "-1"], &wave[..]].concat());
        refused.refused(&[&format!("invalid value '-1' for '{option} ")]);
    }
    warpsieve(&["soak", "l1", "--seed", "-1"]).refused(&["invalid value '-1' for '--seed <S>'"]);
}

#[test]
fn two_options_that_name_one_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (file, same) = (path("a.vcd"), path("./a.vcd"));
    let apart = |second: &str, first: &str| format!("`{second}` is {same}, expected another file than `{first}`");
    warpsieve(&["run", SMALL, "--wave", &file, "--timeline", &same]).refused(&[&apart("--timeline", "--wave")]);
    warpsieve(&["optimize", SMALL, "-o", &file, "--report", &same]).refused(&[&apart("--report", "--output")]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Through a link, so that a mistake replaces that and no device.
#[test]
fn a_full_device_is_refused_and_stays_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let full = folder.path().join("full.json");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let ended = warpsieve(&["run", SMALL, "--quiet", "--stats", &full.display().to_string()]);
    ended.refused(&["the statistics cannot be written", "No space left on device"]);
    assert!(fs::symlink_metadata(&full).unwrap().is_symlink());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_that_cannot_be_made_is_named_with_the_reason() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().display().to_string();
    for command in [&["trace", "export", SMALL, "-o"][..], &["waves", "figure2"], &["area", "--cacti"]] {
        warpsieve(&[command, &[&path]].concat()).refused(&[&path, "no folder can be made here", "File exists"]);
    }
}

#[test]
fn a_dump_that_is_missing_no_dump_or_cut_off_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let follow = |name: &str| warpsieve(&["waves", "follow", &path(name), "--request", "1"]);
    follow("none.vcd").refused(&["none.vcd: cannot be read: No such file"]);
    follow("").refused(&["cannot be read: it is a directory"]);
    let ended = warpsieve(&["run", SMALL, "--quiet", "--wave", &path("a.fst"), "--wave-scope", "sm0.l1"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let whole = fs::read(path("a.fst")).unwrap();
    for part in [0, 1, 64, 400, whole.len() / 2] {
        fs::write(path("cut.fst"), &whole[..part]).unwrap();
        follow("cut.fst").refused(&["cut.fst: cannot be read: "]);
    }
}

#[test]
fn a_soak_without_time_is_refused() {
    warpsieve(&["soak", "l1", "--seconds", "0"]).refused(&["invalid value '0' for '--seconds <N>'"]);
}
