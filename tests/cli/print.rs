//! What `list` and `config` print.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::{Ended, warpsieve};

fn listed(what: &str) -> Vec<Value> {
    let ended = warpsieve(&["list", what, "--format", "json"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    serde_json::from_str(&ended.out).unwrap()
}

fn names(entries: &[Value]) -> Vec<&str> {
    entries.iter().map(|entry| entry["name"].as_str().unwrap()).collect()
}

#[test]
fn list_designs_names_slot_and_source() {
    let ended = warpsieve(&["list", "designs"]);
    let pric = ended.out.lines().find(|line| line.starts_with("pric ")).unwrap();
    assert!(pric.contains("  index  ") && pric.ends_with("khairy2015 section 4.3"), "{pric}");
    let entries = listed("designs");
    let files = fs::read_dir(super::root().join("designs")).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path().file_stem().unwrap().to_owned()).collect();
    files.sort();
    let mut listed = names(&entries);
    listed.sort_unstable();
    assert_eq!(listed, files);
    let slot = |name: &str| &entries.iter().find(|entry| entry["name"] == name).unwrap()["slot"];
    assert_eq!((slot("baseline"), slot("pric")), (&Value::Null, &"index".into()));
}

#[test]
fn list_machines_begins_with_the_default() {
    assert_eq!(names(&listed("machines"))[0], "fermi");
}

#[test]
fn list_figures_names_what_reproduce_takes_and_what_each_shows() {
    let entries = listed("figures");
    let names = names(&entries);
    assert!(names.contains(&"suite") && names.contains(&"li2015/fig8") && !names.contains(&"all"), "{names:?}");
    assert!(entries.iter().all(|entry| !entry["shows"].as_str().unwrap().is_empty()), "{entries:?}");
    let ended = warpsieve(&["list", "figures"]);
    assert!(ended.out.contains("\ncandel2018/fig2"), "{}", ended.out);
}

#[test]
fn list_kernels_finds_the_launch_files_here_or_above() {
    let entries = listed("kernels");
    let names = names(&entries);
    assert!(names.is_sorted() && names.contains(&"syrk"), "{names:?}");
    let vadd = entries.iter().find(|entry| entry["name"] == "vadd").unwrap();
    assert_eq!(vadd["launch"], "kernels/vadd/launch.toml");
    assert_eq!(vadd["others"], Value::from(vec!["paper.toml", "small.toml"]));
    let mut below = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
    let below = Ended::of(below.args(["list", "kernels"]).current_dir(super::root().join("kernels/common")));
    assert!(below.out.contains("  ../../kernels/vadd/launch.toml  "), "{below:?}");
}

#[test]
fn list_kernels_without_a_source_tree_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
    Ended::of(command.args(["list", "kernels"]).current_dir(folder.path()))
        .refused(&["there is no folder `kernels` here or above"]);
}

#[test]
fn list_blocks_follows_the_code() {
    let entries = listed("blocks");
    let blocks: Vec<_> = entries.iter().filter(|entry| entry["kind"] == "block").collect();
    assert!(blocks.len() >= 6, "{blocks:?}");
    for entry in &entries {
        let path = super::root().join(entry["path"].as_str().unwrap());
        let text = fs::read_to_string(path).unwrap();
        assert!(text.starts_with(&format!("//! # {}\n", entry["name"].as_str().unwrap())), "{entry}");
    }
}

#[test]
fn config_is_a_machine_file_that_gives_the_same_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let first = warpsieve(&["config", "--design", "pric", "--set", "l1.ways=8"]);
    assert_eq!(first.status, Some(0), "{first:?}");
    fs::write(&file, &first.out).unwrap();
    let again = warpsieve(&["config", "--machine", &file.display().to_string()]);
    let table = |text: &str| {
        let mut table: toml::Table = text.parse().unwrap();
        table.remove("name");
        table
    };
    assert_eq!(table(&again.out), table(&first.out));
    let hash = |text: &str| text.lines().next().map(str::to_owned);
    assert_eq!(hash(&again.out), hash(&first.out));
}

#[test]
fn config_marks_what_is_assumed_and_what_was_changed() {
    let ended = warpsieve(&["config", "--design", "bypass-all", "--set", "l1.ways=8"]);
    let bypass = "bypass = { kind = \"all\" } # design bypass-all, was { kind = \"none\" }";
    for line in [bypass, "ways = 8 # --set, was 4", "reply = 4 # assumed"] {
        assert!(ended.out.lines().any(|printed| printed == line), "no `{line}` in:\n{}", ended.out);
    }
}

#[test]
fn help_shows_examples_and_the_exit_status() {
    let ended = warpsieve(&["--help"]);
    assert_eq!(ended.status, Some(0));
    for part in ["Cycle-exact, bit-width-accurate model", "Examples:", "Exit status: 0 done"] {
        assert!(ended.out.contains(part), "{}", ended.out);
    }
}
