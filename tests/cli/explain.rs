//! Tests the command `explain`: it must find known causes, its weights must add up, and it must reject runs
//! that are not comparable.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::{CommandResult, warpsieve};

const ROWSUM: &str = "docs/example/rowsum.toml";
const KMEANS: &str = "kernels/kmeans/small";
const FEW: &str = "l1.mshr_entries=4";
const MANY: &str = "l1.mshr_entries=32";

/// Runs a launch file and returns the path of the statistics file.
fn statistics(folder: &TempDir, name: &str, arguments: &[&str]) -> String {
    let file = folder.path().join(name).display().to_string();
    let ended = warpsieve(&[&["run", "--quiet", "--stats", &file], arguments].concat());
    assert!(ended.err.is_empty() && Path::new(&file).is_file(), "{ended:?}");
    file
}

fn explain(arguments: &[&str]) -> Value {
    let ended = warpsieve(&[&["explain", "--quiet", "--format", "json"], arguments].concat());
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    serde_json::from_str(&ended.out).unwrap()
}

fn read(file: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// Returns the statistics of all SMs that had warps.
fn busy(statistics: &Value) -> impl Iterator<Item = &Value> {
    statistics["units"]["sm"].as_array().unwrap().iter().filter(|sm| sm["warp_instructions"] != 0)
}

fn section<'a>(changes: &'a Value, name: &str) -> &'a Value {
    changes["sections"].as_array().unwrap().iter().find(|section| section["name"] == name).unwrap()
}

/// Returns the sum of the values under `key` over all rows of a section of the report. Rows that the report
/// leaves out are included.
fn sum(section: &Value, key: &str) -> f64 {
    let rows = section["rows"].as_array().unwrap().iter().chain([&section["left_out"]["sum"]]);
    rows.map(|row| row[key].as_f64().unwrap()).sum()
}

#[track_caller]
fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{value} instead of {expected}");
}

#[test]
fn a_slower_part_of_the_machine_is_found_by_its_stage() {
    let sets = ["--set", "l2.lookup_latency=60"];
    let changes = explain(&[&[ROWSUM][..], &sets, &["--against", "l2.lookup_latency=4"]].concat());
    let stages = section(&changes, "stages")["rows"].as_array().unwrap();
    let l2 = stages.iter().find(|row| row["name"] == "l2").unwrap();
    // With a lookup latency of 60 instead of 4, the L2 lookup takes 56 L2 cycles longer. On this machine, an
    // L2 cycle is as long as a core cycle. Requests also wait longer in the queue before the lookup.
    let change = l2["change"].as_f64().unwrap();
    assert!((50.0..62.0).contains(&change), "{l2}");
    assert_eq!(l2["note"], "Time of reads in the L2 bank until the reply leaves, including the time in DRAM.");
    let classes = section(&changes, "stages.l2")["rows"].as_array().unwrap();
    let moved: f64 = classes.iter().map(|row| row["change"].as_f64().unwrap()).sum();
    assert!(classes.len() >= 2 && moved.abs() <= 0.01 * l2["further"][0]["a"].as_f64().unwrap(), "{classes:?}");
}

#[test]
fn sets_that_no_longer_conflict_are_found_as_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    let a = statistics(&folder, "a.json", &[ROWSUM]);
    let b = statistics(&folder, "b.json", &[ROWSUM, "--design", "pric"]);
    let changes = explain(&[&a, &b, "--ptx", "docs/example/rowsum.ptx"]);
    let [before, after] = ["a", "b"].map(|side| changes["cycles"][side].as_f64().unwrap());
    near(changes["cycles"]["speedup"].as_f64().unwrap(), before / after);
    assert!(before / after > 20.0, "{changes}");
    let refusal = &section(&changes, "reservation fails")["rows"][0];
    assert_eq!((&refusal["name"], &refusal["b"]), (&"l1.reservation_fails.line_alloc".into(), &0.0.into()));
    let hits = &section(&changes, "rates")["rows"][0];
    assert!(hits["name"] == "L1D loads that hit" && hits["a"] == 0.0 && hits["b"].as_f64() > Some(0.95), "{hits}");
    let loads = section(&changes, "loads")["rows"].as_array().unwrap();
    assert_eq!(loads.len(), 4);
    assert!(loads.iter().all(|load| load["note"].as_str().unwrap().starts_with("ld.global.f32 %f")), "{loads:?}");

    let slots = section(&changes, "issue slots");
    for (side, file, cycles) in [("a", &a, before), ("b", &b, after)] {
        let statistics = read(file);
        let schedulers = statistics["schedulers"].as_f64().unwrap() * busy(&statistics).count() as f64;
        assert_eq!(sum(slots, side), schedulers * cycles);
    }
    for name in ["issue slots", "loads", "energy"] {
        near(sum(section(&changes, name), "weight"), 1.0);
    }
    let statistics = read(&a);
    let [dynamic, leakage] = ["dynamic_pj", "leakage_pj"].map(|key| statistics["energy"][key].as_f64().unwrap());
    near(sum(section(&changes, "energy"), "a"), (dynamic + leakage) / 1e6);
}

/// The first kernel launch has ten CTAs, and the second has one CTA on an eleventh SM. Four of the 15 SMs
/// therefore never have a warp, and their unused issue slots must not count as stalls.
#[test]
fn issue_slots_are_exact_counts_of_the_sms_that_had_warps_in_a_launch() {
    const REDUCTION: &str = "kernels/reduction/small";
    let folder = tempfile::tempdir().unwrap();
    let a = statistics(&folder, "a.json", &[REDUCTION]);
    let b = statistics(&folder, "b.json", &[REDUCTION, "--set", "l2.lookup_latency=60"]);
    let changes = explain(&[&a, &b, "--least", "0"]);
    let slots = section(&changes, "issue slots");
    for (side, statistics) in [("a", read(&a)), ("b", read(&b))] {
        assert_eq!(busy(&statistics).count(), 11);
        let counted = |reason: &str| -> u64 {
            let of = |sm: &Value| if reason == "issued" { &sm["issued"] } else { &sm["stalls"][reason] }.as_u64();
            let idle = |sm: &Value| if reason == "no_warp" { sm["idle"].as_u64().unwrap() } else { 0 };
            busy(&statistics).map(|sm| of(sm).unwrap() - idle(sm)).sum()
        };
        for row in slots["rows"].as_array().unwrap() {
            assert_eq!(row[side].as_f64(), Some(counted(row["name"].as_str().unwrap()) as f64), "{row}");
        }
        // The first kernel launch has ten CTAs and uses ten SMs. The second launch has one CTA, on an
        // eleventh SM. The ten SMs of the first launch therefore have no warp in the second launch.
        let idle: u64 = busy(&statistics).map(|sm| sm["idle"].as_u64().unwrap()).sum();
        assert!(idle > 0);
        assert_eq!(sum(slots, side) + idle as f64, 22.0 * statistics["cycles"].as_f64().unwrap());
    }
    near(sum(slots, "weight"), 1.0);
    let notes = changes["notes"].as_array().unwrap();
    let idle = "idle SMs: 4 of 15 SMs had no warp, 11 of 15 SMs had no warp in some launch in A and in B; issue slots \
                exclude the idle SMs of each launch, reservation fails the SMs without any warp";
    assert!(notes.iter().any(|note| note == idle), "{notes:?}");
    let none = "no evictions from `l2` in A and B: every fill found an empty way";
    assert!(notes.iter().any(|note| note.as_str().unwrap().starts_with(none)), "{notes:?}");
}

#[test]
fn a_want_of_mshr_entries_is_the_first_of_the_refusals() {
    let changes = explain(&[KMEANS, "--set", MANY, "--against", FEW]);
    assert!(changes["cycles"]["speedup"].as_f64() > Some(1.5), "{changes}");
    let refusal = &section(&changes, "reservation fails")["rows"][0];
    assert_eq!((&refusal["name"], &refusal["b"]), (&"l1.reservation_fails.mshr_entry".into(), &0.0.into()));
}

#[test]
fn a_launch_file_is_explained_as_the_statistics_of_its_runs_are() {
    let folder = tempfile::tempdir().unwrap();
    let a = statistics(&folder, "a.json", &[KMEANS, "--set", FEW]);
    let b = statistics(&folder, "b.json", &[KMEANS, "--set", MANY]);
    let of_files = explain(&[&a, &b, "--ptx", "kernels/kmeans/kmeans.ptx", "--least", "0"]);
    let cache = folder.path().join("cache").display().to_string();
    let of_launch = [KMEANS, "--set", MANY, "--against", FEW, "--least", "0", "--cache", &cache];
    for _ in ["run", "kept"] {
        let changes = explain(&of_launch);
        assert_eq!(changes["sections"], of_files["sections"]);
        assert_eq!(changes["cycles"], of_files["cycles"]);
    }
    let name = &explain(&of_launch)["a"]["name"];
    assert_eq!(name, "kernels/kmeans/small on fermi l1.mshr_entries=4");
}

#[test]
fn the_text_has_every_row_of_the_json() {
    let arguments = [KMEANS, "--set", MANY, "--against", FEW];
    let changes = explain(&arguments);
    let text = warpsieve(&[&["explain", "--quiet"], &arguments[..]].concat()).out;
    let mut blocks = text.split("\n\n").skip(1);
    for section in changes["sections"].as_array().unwrap() {
        let (rows, left_out) = (section["rows"].as_array().unwrap(), &section["left_out"]);
        let small = left_out["rows"].as_u64().unwrap();
        if rows.is_empty() && small == 0 {
            continue;
        }
        let block = blocks.next().unwrap();
        let lines: Vec<_> = block.lines().collect();
        assert_eq!(lines[0], format!("{}: {}", section["name"].as_str().unwrap(), section["about"].as_str().unwrap()));
        for (row, line) in rows.iter().zip(&lines[2..]) {
            let cells: Vec<_> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
            assert_eq!(cells[0], row["name"].as_str().unwrap(), "{block}");
            for (cell, key) in cells[1..].iter().zip(["a", "b", "change"]) {
                let (cell, value) = (cell.replace([',', '+'], "").parse::<f64>().unwrap(), row[key].as_f64().unwrap());
                assert!((cell - value).abs() <= 0.005 * value.abs() + 0.0005, "{key} of {line}: {value}");
            }
        }
        let with_sum = rows.len() + usize::from(small > 0 && !left_out["sum"].is_null());
        let heads = 1 + usize::from(with_sum > 0);
        assert_eq!(lines.len(), heads + with_sum + usize::from(small > 0), "{block}");
        if small > 0 {
            assert!(lines.last().unwrap().starts_with(&format!("left out: {small} row")), "{block}");
        }
    }
    assert_eq!(blocks.next(), None);
}

#[test]
fn a_run_beside_itself_leaves_everything_out() {
    let folder = tempfile::tempdir().unwrap();
    let a = statistics(&folder, "a.json", &[ROWSUM]);
    let changes = explain(&[&a, &a]);
    assert_eq!((&changes["cycles"]["speedup"], &changes["cycles"]["change"]), (&1.0.into(), &0.into()));
    assert_eq!(changes["notes"][0], "both ran on the same configuration");
    for section in changes["sections"].as_array().unwrap() {
        assert_eq!(section["rows"].as_array().unwrap().len(), 0, "{section}");
    }
}

#[test]
fn another_machine_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let a = statistics(&folder, "a.json", &[ROWSUM]);
    let b = statistics(&folder, "b.json", &[ROWSUM, "--machine", "southern-islands", "--node", "22"]);
    let notes = explain(&[&a, &b])["notes"].as_array().unwrap().clone();
    let notes: Vec<_> = notes.iter().map(|note| note.as_str().unwrap()).collect();
    assert_eq!(notes[0], "the machines differ: fermi and southern-islands");
    assert!(notes.iter().any(|note| note.contains("45 nm") && note.contains("22 nm")), "{notes:?}");
}

#[test]
fn what_does_not_compare_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let a = statistics(&folder, "a.json", &[ROWSUM]);
    let whole = fs::read_to_string(&a).unwrap();
    let other = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let refused = |b: &str, message: &[&str]| warpsieve(&["explain", &a, b]).assert_refused(message);
    refused(&other("cut.json", &whole[..whole.len() / 2]), &["cut.json is not JSON: EOF", "line "]);
    refused(
        &other("old.json", &whole.replace("\"schema\": 1", "\"schema\": 7")),
        &["old.json", "`schema` is 7, expected 1"],
    );
    refused(&other("list.json", "[]"), &["list.json", "`schema` is null, expected 1"]);
    refused(
        &other("less.json", &whole.replace("\"stalls\"", "\"stols\"")),
        &["less.json is not a statistics file of `run --stats`: missing field `stalls`"],
    );
    let b = statistics(&folder, "kmeans.json", &[KMEANS]);
    refused(&b, &["a.json ran rowsum", "kmeans.json ran kmeans", "only runs of equal kernels can be compared"]);
    refused("no.json", &["no.json cannot be read"]);
    let stopped = folder.path().join("stopped.json").display().to_string();
    let CommandResult { status, .. } =
        warpsieve(&["run", ROWSUM, "--max-cycles", "100", "--quiet", "--stats", &stopped]);
    assert_eq!(status, Some(3));
    refused(&stopped, &["stopped.json", "ended with `cycle-limit`, expected `finished`"]);
}

#[test]
fn what_would_be_the_same_run_twice_is_refused() {
    warpsieve(&["explain", ROWSUM, "--set", "l1.ways=8", "--against", "baseline"])
        .assert_refused(&["both runs are on fermi l1.ways=8, expected two machines"]);
    warpsieve(&["explain", ROWSUM]).assert_refused(&[
        "rowsum.toml is only run B, expected `--against` with the design or settings of A: `--against baseline`",
    ]);
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("a.json");
    fs::write(&alone, "{ \"schema\": 1 }").unwrap();
    warpsieve(&["explain", alone.to_str().unwrap()]).assert_refused(&[
        "a.json is one run, expected a second statistics file: `warpsieve explain ",
        "a.json B.json`",
    ]);
    warpsieve(&["explain", ROWSUM, "--design", "pric", "--against", "prik"])
        .assert_refused(&["there is no design `prik`"]);
}
