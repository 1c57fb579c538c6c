//! Tests the command `reproduce`, which repeats published experiments: cached results, charts, and the table
//! that rates each result against the published one, with its summary.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{CommandResult, warpsieve};

const FIGURE: [&str; 4] = ["reproduce", "li2015/fig3", "--quick", "--quiet"];

fn drawn(cache: &Path, output: &Path, more: &[&str]) -> CommandResult {
    let [cache, output] = [cache, output].map(|path| path.to_str().unwrap());
    warpsieve(&[&FIGURE[..], &["--cache", cache, "--output", output], more].concat())
}

/// Returns the path and the contents of every file in a folder and its subfolders.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(below).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.push((name, fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_figure_has_the_same_bytes_whether_its_runs_are_made_or_found() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [cache, first, second] = folders.each_ref().map(|folder| folder.path());
    assert_eq!(drawn(cache, first, &["--jobs", "1"]).status, Some(0));
    let kept = files(cache);
    assert_eq!(kept.len(), 7, "a result an application");
    assert_eq!(drawn(cache, second, &["--jobs", "2"]).status, Some(0));
    assert_eq!(files(cache), kept);
    assert_eq!(files(first), files(second));
    let names: Vec<_> = files(first).into_iter().map(|(name, _)| name).collect();
    let ends = ["csv", "md", "rows.csv", "svg"].map(|end| format!("li2015/fig3-quick.{end}"));
    assert_eq!(names, ends);
}

#[test]
fn charts_are_written_as_pdf_for_a_column_if_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("results");
    assert_eq!(drawn(folder.path(), &output, &["--pdf", "single"]).status, Some(0));
    let page = fs::read(output.join("li2015/fig3-quick.pdf")).unwrap();
    assert!(String::from_utf8_lossy(&page).contains("/MediaBox [0 0 237.6 "), "{} bytes", page.len());
    drawn(folder.path(), &output, &["--pdf", "wide"]).assert_refused(&["--pdf <WIDTH>", "single, double"]);
}

#[test]
fn the_summary_counts_the_rows_of_figures_that_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    drawn(folder.path(), &folder.path().join("results"), &[]);
    let results = format!("{output}/results");
    let ended = warpsieve(&["reproduce", "--summary", "--quick", "--format", "json", "--output", &results]);
    let entries: Vec<Value> = serde_json::from_str(&ended.out).unwrap();
    let [entry] = &entries[..] else { panic!("{entries:?}") };
    assert_eq!((&entry["paper"], &entry["class"], &entry["rows"]), (&"li2015".into(), &"sign".into(), &7.into()));
    warpsieve(&["reproduce", "li2015/fig3", "--summary"]).assert_refused(&["--summary"]);
    let empty = format!("{output}/empty");
    fs::create_dir(&empty).unwrap();
    warpsieve(&["reproduce", "--summary", "--output", &empty]).assert_refused(&["this folder has no rated figures"]);
}

#[test]
fn the_pages_of_anssari2012_set_the_clocked_machine_beside_the_caches_without_time() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    let figures = ["anssari2012/timed", "anssari2012/table4.1", "anssari2012/table4.2", "anssari2012/stale"];
    let options = ["reproduce", "--quick", "--quiet", "--output", output, "--cache", output];
    let ended = warpsieve(&[&options[..], &figures[..]].concat());
    assert_eq!((ended.status, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    let read = |name: &str| fs::read_to_string(folder.path().join("anssari2012").join(name)).unwrap();

    let csv = read("timed-quick.csv");
    let mut lines = csv.lines();
    let head: Vec<_> = lines.next().unwrap().split(',').collect();
    let cell = |line: &str, name: &str| {
        let at = head.iter().position(|column| *column == name).unwrap();
        line.split(',').nth(at).unwrap().to_owned()
    };
    let lines: Vec<_> = lines.collect();
    // There are ten benchmarks. Each runs on three systems with four sizes and on four systems with one size,
    // in each case both with and without timing: 10 * (3 * 4 + 4) * 2 = 320 rows.
    assert_eq!(lines.len(), 10 * (3 * 4 + 4) * 2);
    for line in &lines {
        let number = |name| cell(line, name).parse::<f64>().unwrap();
        assert!(number("dram_bytes") > 0.0 || cell(line, "time") == "untimed", "{line}");
        assert_eq!(number("forwards"), number("supplied") + number("gone") + number("too_early"), "{line}");
        let has_tracker = cell(line, "system") != "baseline";
        assert_eq!(number("tracker_reads") > 0.0, has_tracker, "{line}");
        assert_eq!(number("lookups") > 0.0, has_tracker, "{line}");
        assert!((number("dram_nj") - number("dram_bytes") / 32.0 * 4.48).abs() <= 0.05, "{line}");
    }
    let page = read("timed-quick.md");
    assert!(page.contains("| 40 mm ") && page.contains("| syrk, link.request=1 "), "{page}");

    // Table 4.1 of the thesis has only configuration parameters. Its 15 values are listed, but are not rated
    // against published results, because nothing is measured.
    assert_eq!(read("table4.1.csv").lines().count(), 1 + 15);
    assert!(!folder.path().join("anssari2012/table4.1.rows.csv").exists());
    let rows = read("stale.rows.csv");
    assert!(rows.lines().count() == 1 + 2 && !rows.contains(",false,"), "{rows}");
    let table = read("table4.2-quick.csv");
    let is = |kernel: &str, class: &str| {
        table.lines().any(|line| line.contains(&format!(",{kernel},")) && line.ends_with(&format!(",{class}")))
    };
    assert!(is("lbm_aos", "non-coalesced") && !is("lbm_soa", "non-coalesced"), "{table}");
    assert!(is("spmv_jds", "dynamic") && !is("sgemm_cache", "dynamic"), "{table}");
}
