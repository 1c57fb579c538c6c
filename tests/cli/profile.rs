//! Tests the commands `profile`, which simulates caches without timing, and `reproduce`, which writes
//! published figures to files.

use std::fs;

use serde_json::Value;

use super::warpsieve;
use warpsieve::launch::LaunchFile;

#[test]
fn a_profile_has_a_row_for_each_load_with_its_line_in_the_ptx() {
    let ended = warpsieve(&["profile", "kernels/vadd/launch.toml", "--format", "json"]);
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    let kernels: Value = serde_json::from_str(&ended.out).unwrap();
    let ptx = fs::read_to_string(super::root().join("kernels/vadd/vadd.ptx")).unwrap();
    let ptx: Vec<_> = ptx.lines().collect();
    let loads = kernels[0]["all"]["loads"].as_array().unwrap();
    assert_eq!(loads.len(), 2);
    for load in loads {
        let line = load["line"].as_u64().unwrap() as usize;
        assert!(ptx[line - 1].contains("ld.global"), "{load}");
        // The 262,144 elements are processed by 8,192 warps of 32 lanes. With each load, a warp reads one
        // cache line.
        assert_eq!((load["warps"].as_u64(), load["transactions"].as_u64()), (Some(8192), Some(8192)));
        assert_eq!((load["l1_hits"].as_u64(), load["l2_hits"].as_u64()), (Some(0), Some(0)));
    }
    assert_eq!(kernels[0]["all"]["l2"]["accesses"].as_u64(), Some(3 * 8192));
}

#[test]
fn the_table_of_a_profile_ends_with_all_loads() {
    let ended = warpsieve(&["profile", "kernels/vadd/launch.toml"]);
    let lines: Vec<_> = ended.out.lines().collect();
    assert!(lines[0].ends_with("vadd.ptx, 1 launch, 180,224 warp instructions"), "{}", ended.out);
    let all: Vec<_> = lines[4].split_whitespace().collect();
    assert_eq!(all, ["all", "16,384", "524,288", "16,384", "1.0", "1", "0.0", "0.0"], "{}", ended.out);
}

#[test]
fn bad_input_of_a_profile_is_refused() {
    warpsieve(&["profile", "kernels/none.toml"]).assert_refused(&["kernels/none.toml"]);
    warpsieve(&["profile", "kernels/vadd/small", "--set", "l1.sets=33"]).assert_refused(&["l1.sets is 33"]);
}

#[test]
fn the_suite_is_written_as_markdown_and_csv_with_a_row_for_every_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    let ended = warpsieve(&["reproduce", "suite", "--quick", "--quiet", "--output", output, "--cache", output]);
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let (page, csv) = (read("suite-quick.md"), read("suite-quick.csv"));
    let kernels = fs::read_dir(super::root().join("kernels")).unwrap();
    let kernels: Vec<_> =
        kernels.map(|entry| entry.unwrap().path()).filter(|path| LaunchFile::exists(&path.join("small"))).collect();
    assert_eq!(csv.lines().count(), kernels.len() + 1);
    for kernel in kernels {
        let name = kernel.file_name().unwrap().to_str().unwrap();
        assert_eq!(page.matches(&format!("| {name} ")).count(), 2, "{name}");
    }
}

#[test]
fn the_figure_names_are_said_when_another_is_asked_for() {
    warpsieve(&["reproduce", "suit"]).assert_refused(&["suite"]);
}
