//! Tests the outputs in which a scheme's own counters must appear. The prefetcher `neighbor` declares two
//! counters; no other scheme declares any.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

const OBSERVED: &str = "l1.schemes.prefetch.neighbor.observed";
const PAIRS: &str = "l1.schemes.prefetch.neighbor.pairs";
const NEIGHBOR: &[&str] = &["--design", "neighbor"];

/// Runs the command line with the schemes of this crate and returns its output.
fn command(folder: &TempDir, arguments: &[&str]) -> String {
    let output = Command::cargo_bin("own-scheme").unwrap().current_dir(folder).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn kernel() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/bfs/small").display().to_string()
}

/// Runs a kernel on the command line and returns the summary that it prints. The statistics are written to
/// the file `name`.
fn run(folder: &TempDir, name: &str, arguments: &[&str]) -> String {
    command(folder, &[&["run", &kernel(), "--machine", "fermi", "--stats", name], arguments].concat())
}

fn statistics(folder: &TempDir, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.path().join(name)).unwrap()).unwrap()
}

/// Returns the value of a counter of the statistics.
fn count(statistics: &Value, key: &str) -> u64 {
    let pointer = format!("/{}", key.replace('.', "/"));
    statistics.pointer(&pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{key}"))
}

/// Returns a column of a CSV file.
fn column(folder: &TempDir, file: &str, head: &str) -> Vec<String> {
    let text = fs::read_to_string(folder.path().join(file)).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let at = lines.next().unwrap().iter().position(|found| found == head).unwrap_or_else(|| panic!("{head}"));
    lines.map(|line| line[at].clone()).collect()
}

#[test]
fn the_statistics_have_them_for_each_unit_and_in_total_and_the_summary_has_the_marked_one() {
    let folder = tempfile::tempdir().unwrap();
    let summary = run(&folder, "own.json", NEIGHBOR);
    let own = statistics(&folder, "own.json");
    // The prefetcher observes only the first line request of each warp-level load. The statistics count one
    // answer per warp-level load, so both counts must be equal.
    let answers = own["loads"].as_array().unwrap().iter().map(|load| load["answers"].as_u64().unwrap());
    let observed = count(&own, OBSERVED);
    assert_eq!(observed, answers.sum::<u64>());
    assert!(observed > 0 && count(&own, PAIRS) > 0);
    for key in [OBSERVED, PAIRS] {
        let inside = key.strip_prefix("l1.").unwrap();
        let units = own["units"]["l1"].as_array().unwrap();
        assert_eq!(units.iter().map(|unit| count(unit, inside)).sum::<u64>(), count(&own, key), "{key}");
    }
    let name = OBSERVED.strip_prefix("l1.").unwrap();
    let cell = summary.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{summary}"));
    assert_eq!(cell.replace(',', "").split_whitespace().collect::<Vec<_>>(), ["l1", &*observed.to_string(), name]);
    assert!(!summary.contains("pairs"), "{summary}");
}

#[test]
fn statistics_and_summary_without_such_a_scheme_do_not_mention_them() {
    let folder = tempfile::tempdir().unwrap();
    let summary = run(&folder, "none.json", &["--design", "by-pc"]);
    let none = fs::read_to_string(folder.path().join("none.json")).unwrap();
    assert!(!none.contains("schemes") && !summary.contains("schemes"), "{summary}");
}

#[test]
fn a_time_series_and_a_sweep_have_a_column() {
    let folder = tempfile::tempdir().unwrap();
    let series = ["--series", "series.csv", "--interval", "100", "--series-columns", OBSERVED];
    run(&folder, "own.json", &[NEIGHBOR, &series].concat());
    let observed = count(&statistics(&folder, "own.json"), OBSERVED);
    let steps = column(&folder, "series.csv", &OBSERVED.replace('.', "_"));
    let steps: Vec<u64> = steps.iter().map(|step| step.parse().unwrap()).collect();
    assert_eq!(steps.iter().sum::<u64>(), observed);
    assert!(steps.iter().filter(|step| **step > 0).count() > 1, "{steps:?}");

    let sweep = format!("launch = {:?}\nmachine = \"fermi\"\ndesign = [\"baseline\", \"neighbor\"]\n", kernel());
    fs::write(folder.path().join("s.toml"), sweep).unwrap();
    command(&folder, &["sweep", "s.toml", "--cache", "cache", "--csv", "first.csv", "--quiet"]);
    assert_eq!(column(&folder, "first.csv", OBSERVED), ["".to_owned(), observed.to_string()]);
    // The second sweep reads the results of the first from the cache.
    command(&folder, &["sweep", "s.toml", "--cache", "cache", "--csv", "second.csv", "--quiet"]);
    let [first, second] = ["first.csv", "second.csv"].map(|file| fs::read(folder.path().join(file)).unwrap());
    assert_eq!(first, second);
}

#[test]
fn two_runs_are_compared_by_them() {
    let folder = tempfile::tempdir().unwrap();
    run(&folder, "one.json", NEIGHBOR);
    run(&folder, "none.json", &[]);
    let text = command(&folder, &["explain", "none.json", "one.json", "--quiet", "--format", "json"]);
    let changes: Value = serde_json::from_str(&text).unwrap();
    let sections = changes["sections"].as_array().unwrap();
    let counters = sections.iter().find(|section| section["name"] == "counters").unwrap();
    let row = counters["rows"].as_array().unwrap().iter().find(|row| row["name"] == OBSERVED).unwrap();
    assert_eq!(row["change"].as_f64(), Some(count(&statistics(&folder, "one.json"), OBSERVED) as f64));
}

#[test]
fn a_waveform_shows_them() {
    let folder = tempfile::tempdir().unwrap();
    let wave = ["--wave", "wave.vcd", "--wave-scope", "sm0.l1.prefetch.neighbor.stat"];
    run(&folder, "own.json", &[NEIGHBOR, &wave].concat());
    let text = fs::read_to_string(folder.path().join("wave.vcd")).unwrap();
    let code = |name: &str| {
        let line = text.lines().find(|line| line.starts_with("$var") && line.contains(&format!(" {name} ")));
        line.unwrap_or_else(|| panic!("{name}")).split_whitespace().nth(3).unwrap().to_owned()
    };
    code("pairs");
    let end = format!(" {}", code("observed"));
    let last = text.lines().filter_map(|line| line.strip_suffix(&*end)?.strip_prefix('b')).next_back().unwrap();
    let unit = statistics(&folder, "own.json")["units"]["l1"][0].clone();
    assert_eq!(u64::from_str_radix(last, 2).unwrap(), count(&unit, OBSERVED.strip_prefix("l1.").unwrap()));
}

#[test]
fn the_list_of_counters_has_them_with_their_meaning_and_each_key_once() {
    let folder = tempfile::tempdir().unwrap();
    let list: Vec<Value> = serde_json::from_str(&command(&folder, &["list", "counters", "--format", "json"])).unwrap();
    let keys: Vec<_> = list.iter().map(|entry| entry["key"].as_str().unwrap()).collect();
    let of =
        |key: &str| list[keys.iter().position(|found| *found == key).unwrap_or_else(|| panic!("{keys:?}"))].clone();
    let about = "Loads that the prefetcher observed: the first line request of each load instruction.";
    assert_eq!(of(OBSERVED)["meaning"], about);
    assert_eq!(of("l1.schemes.prefetch.neighbor")["meaning"].as_str().unwrap().matches("`l1.prefetch`").count(), 1);
    // The dictionary entry for a single L1D has no keys of its own. It refers to the keys of the sums over
    // all L1Ds, which are the same.
    assert_eq!(of("units.l1")["like"], "l1");
    // Other levels list the counters of built-in schemes.
    let schemes: Vec<_> = keys.iter().filter(|key| key.starts_with("l1.schemes")).collect();
    let around = ["l1.schemes", "l1.schemes.prefetch", "l1.schemes.prefetch.neighbor"];
    assert_eq!(schemes, around.iter().chain(&[OBSERVED, PAIRS]).collect::<Vec<_>>());
    let described = command(&folder, &["counters", OBSERVED]);
    assert!(described.contains(about.split(':').next().unwrap()), "{described}");
}
