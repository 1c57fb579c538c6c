//! `reproduce`: kept results, charts, judged rows and their summary.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{Ended, warpsieve};

const FIGURE: [&str; 4] = ["reproduce", "li2015/fig3", "--quick", "--quiet"];

fn drawn(cache: &Path, output: &Path, more: &[&str]) -> Ended {
    let [cache, output] = [cache, output].map(|path| path.to_str().unwrap());
    warpsieve(&[&FIGURE[..], &["--cache", cache, "--output", output], more].concat())
}

/// The files below a folder, each as its path and its bytes.
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
fn the_summary_counts_the_rows_of_figures_that_were_written() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    drawn(folder.path(), &folder.path().join("results"), &[]);
    let results = format!("{output}/results");
    let ended = warpsieve(&["reproduce", "--summary", "--quick", "--format", "json", "--output", &results]);
    let entries: Vec<Value> = serde_json::from_str(&ended.out).unwrap();
    let [entry] = &entries[..] else { panic!("{entries:?}") };
    assert_eq!((&entry["paper"], &entry["class"], &entry["rows"]), (&"li2015".into(), &"sign".into(), &7.into()));
    warpsieve(&["reproduce", "li2015/fig3", "--summary"]).refused(&["--summary"]);
}
