//! Tests the command `warpsieve soak`, which runs soak tests (long random tests). Here it runs only for
//! seconds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use tb::kit::is_thorough;

use super::{CommandResult, root, warpsieve};

fn soak(arguments: &[&str]) -> (Option<i32>, String, String) {
    let CommandResult { status, out, err } = warpsieve(&[&["soak"], arguments].concat());
    (status, out, err)
}

#[test]
fn random_machines_run_correctly() {
    let count = if is_thorough() { "20" } else { "8" };
    let (status, out, err) = soak(&["machines", "--count", count, "--seed", "1"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(out.starts_with(&format!("soak machines: {count} cases, ")), "{out}");
    assert!(out.trim_end().ends_with(": all passed"), "{out}");
}

#[test]
fn the_same_seed_gives_the_same_machines() {
    let cycles = || {
        let (_, out, _) = soak(&["machines", "--count", "3", "--seed", "77"]);
        out.split(", in ").next().unwrap().to_owned()
    };
    assert_eq!(cycles(), cycles());
}

#[test]
fn readers_survive_thousands_of_damaged_files() {
    let (_, list, _) = soak(&["--list"]);
    let readers: Vec<_> = list.lines().filter(|line| line.contains("  damaged ")).collect();
    assert!(readers.len() >= 13, "{list}");
    let (count, cases) = if is_thorough() { (2, "cases") } else { (1, "case") };
    for name in readers.iter().filter_map(|line| line.split(' ').next()) {
        let (status, out, err) = soak(&[name, "--count", &count.to_string()]);
        assert_eq!((status, err.as_str()), (Some(0), ""), "{name}");
        let passed = format!("soak {name}: {count} {cases}, {count},000 runs, from seed 1, in ");
        assert!(out.lines().any(|line| line.starts_with(&passed)), "{out}");
    }
}

#[test]
fn a_soak_tells_what_its_cases_met_and_what_they_never_reached() {
    let (status, out, err) = soak(&["dram", "--count", "2", "--coverage"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(out.starts_with("soak dram: 2 cases, 2 runs, "), "{out}");
    let row = |begins: &str| out.lines().find(|line| line.trim_start().starts_with(begins)).unwrap_or_default();
    assert!(
        row("DRAM command pairs at their minimum distance: ").ends_with(" points reached, 90 cannot occur"),
        "{out}"
    );
    assert!(row("one bus    other group  ACT ").ends_with("  .        ."), "{out}");
    assert!(out.contains("\nnever reached:\n  DRAM command pairs at their minimum distance: "), "{out}");
    let (_, plain, _) = soak(&["dram", "--count", "2"]);
    assert_eq!(plain.lines().count(), 1);
}

#[test]
fn a_soak_that_cannot_tell_what_it_meets_says_which_can() {
    let (status, out, err) = soak(&["traces", "--coverage"]);
    assert_eq!((status, out.as_str()), (Some(2), ""));
    let told = "soak test `traces` has no coverage, expected one of `coalescer`, `l1`, `frc`, `tracker`, `sm`, \
        `throttle`, `xbar`, `dram`";
    assert!(err.contains(told), "{err}");
}

#[test]
fn soaks_are_listed_and_unknown_ones_refused() {
    let (status, out, _) = soak(&["--list"]);
    assert_eq!(status, Some(0));
    assert!(
        out.lines().any(|line| line.starts_with("machines ") && line.contains("random machine configurations")),
        "{out}"
    );
    let (status, out, err) = soak(&["machine"]);
    assert_eq!((status, out.as_str()), (Some(2), ""));
    assert!(err.contains("there is no soak test `machine`") && err.contains("did you mean `machines`?"), "{err}");
}

#[test]
fn random_litmus_programs_show_only_what_is_allowed() {
    let count = if is_thorough() { "9" } else { "3" };
    let (status, out, err) = soak(&["litmus", "--count", count, "--seed", "4"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(out.starts_with(&format!("soak litmus: {count} cases, {count} runs, ")), "{out}");
}

/// Returns the path of a file in a folder, both as a path and as a command-line argument.
fn in_folder(folder: &tempfile::TempDir, name: &str) -> (PathBuf, String) {
    let path = folder.path().join(name);
    (path.clone(), path.display().to_string())
}

#[test]
fn pieces_of_a_soak_go_on_from_what_was_kept_and_become_one_range() {
    let folder = tempfile::tempdir().unwrap();
    let (path, file) = in_folder(&folder, "k.toml");
    let piece = |more: &[&str]| soak(&[&["kept-soaks", "--keep", &file, "--count", "2"], more].concat());
    let (status, out, _) = piece(&["--seed", "3"]);
    assert_eq!(status, Some(0));
    assert!(out.ends_with("all passed\nrecorded: soak kept-soaks: 2 cases, 2,000 runs, seeds 3-4\n"), "{out}");
    assert!(piece(&["--seed", "9"]).1.ends_with("recorded: soak kept-soaks: 4 cases, 4,000 runs, seeds 3-4, 9-10\n"));
    assert!(piece(&[]).1.ends_with("recorded: soak kept-soaks: 6 cases, 6,000 runs, seeds 1-4, 9-10\n"));
    assert!(piece(&[]).1.ends_with("recorded: soak kept-soaks: 8 cases, 8,000 runs, seeds 1-6, 9-10\n"));
    let kept = fs::read_to_string(&path).unwrap();
    assert!(kept.contains("soak = \"kept-soaks\"") && kept.contains("seeds = \"1-6, 9-10\""), "{kept}");

    let (other_path, other) = in_folder(&folder, "l.toml");
    assert_eq!(soak(&["kept-soaks", "--keep", &other, "--count", "1", "--seed", "8"]).0, Some(0));
    let (_, totals, _) = soak(&["--totals", &file, &other]);
    let rows: Vec<Vec<&str>> =
        totals.lines().map(|line| line.split("  ").filter(|cell| !cell.is_empty()).map(str::trim).collect()).collect();
    assert_eq!(rows[1], ["kept-soaks", "9", "9,000", "0", "0", "2", "1-6, 8-10"], "{totals}");
    assert_eq!(rows[2][..3], ["all", "9", "9,000"], "{totals}");

    let refused = warpsieve(&["soak", "l1", "--keep", &file, "--count", "1"]);
    refused.assert_refused(&["k.toml: records the soak test `kept-soaks`, expected `l1`: a file records one test"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), kept);
    fs::write(&other_path, "soak = 1\n").unwrap();
    warpsieve(&["soak", "--totals", &other]).assert_refused(&["l.toml:1:8: not a file of `soak --keep`: "]);
    warpsieve(&["soak", "l1", "--keep", "nowhere/k.toml", "--count", "1"]).assert_refused(&["nowhere/k.toml"]);
}

/// With `--keep` and without a limit, a soak test (long random test) runs until it is interrupted or killed.
#[test]
fn a_soak_that_is_interrupted_or_killed_has_kept_what_passed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, file) = in_folder(&folder, "k.toml");
    let cases = || {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let count = |line: &str| line.strip_prefix("cases = ")?.parse::<u64>().ok();
        text.lines().filter_map(count).sum::<u64>()
    };
    for signal in ["INT", "KILL"] {
        let before = cases();
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
        command.args(["soak", "kept-soaks", "--keep", &file]).current_dir(root());
        let mut soak = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while cases() < before + 2 {
            assert!(soak.try_wait().unwrap().is_none(), "the soak has ended by itself");
            sleep(Duration::from_millis(50));
        }
        let pid = soak.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        assert_eq!(soak.wait().unwrap().code(), (signal == "INT").then_some(130), "{signal}");
        assert!(cases() >= before + 2);
    }
    let kept = cases();
    let (_, out, _) = soak(&["kept-soaks", "--keep", &file, "--count", "1"]);
    assert!(
        out.ends_with(&format!(
            "{} cases, {} runs, seeds 1-{}\n",
            group_digits(kept + 1),
            group_digits((kept + 1) * 1000),
            kept + 1
        )),
        "{out}"
    );
}

/// Formats a number with a comma before each group of three digits.
fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let parts: Vec<_> = digits.as_bytes().rchunks(3).rev().map(|part| str::from_utf8(part).unwrap()).collect();
    parts.join(",")
}

/// Reruns all test cases that soak tests and fuzzing have found. Each of them once failed with a panic, a
/// wrong result, or unbounded time or memory.
#[test]
fn every_case_that_was_found_passes_now() {
    let folder = root().join("tests/corpus/found");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    let files: Vec<_> = files.iter().map(|path| path.to_str().unwrap()).collect();
    let (status, out, err) = soak(&[&["--replay"], &files[..]].concat());
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert_eq!(out.lines().filter(|line| line.ends_with(": passed")).count(), files.len(), "{out}");
}

#[test]
fn a_case_is_replayed_by_the_soak_of_its_name_or_by_the_one_given() {
    let folder = tempfile::tempdir().unwrap();
    let (path, file) = in_folder(&folder, "l1-7.toml");
    fs::write(&path, "seed = 7\nsteps = 40\n").unwrap();
    assert_eq!(soak(&["--replay", &file]), (Some(0), format!("{file}: passed\n"), String::new()));
    let (other, unnamed) = in_folder(&folder, "case.toml");
    fs::rename(path, other).unwrap();
    assert_eq!(soak(&["l1", "--replay", &unnamed]).0, Some(0));
    let name = "case.toml: the name has no soak test, expected one such as ptx-17.ptx, or the test before `--replay`";
    warpsieve(&["soak", "--replay", &unnamed]).assert_refused(&[name]);
    warpsieve(&["soak", "--replay", "lx-7.toml"]).assert_refused(&["there is no soak test `lx`", "did you mean `l1`?"]);
    warpsieve(&["soak", "--replay", "l1-7.toml"]).assert_refused(&["l1-7.toml: is not a file"]);
    let (status, out, err) = soak(&["frc", "--replay", "Cargo.toml"]);
    assert_eq!((status, out.as_str()), (Some(1), ""));
    assert!(err.starts_with("Cargo.toml: failed: Cargo.toml: ") && err.contains("unknown field"), "{err}");
    assert!(!Path::new("l1-7.toml").exists());
}
