//! `new`: the crate that it writes is the one that the tests build, under another name.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::tempdir;

use super::{Ended, root};

fn new(folder: &Path, arguments: &[&str]) -> Ended {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
    Ended::of(command.arg("new").args(arguments).current_dir(folder))
}

/// The names of what is in a folder.
fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = entries.collect();
    names.sort();
    names
}

#[test]
fn it_writes_the_example_under_another_name() {
    let folder = tempdir().unwrap();
    let ended = new(folder.path(), &["two-words"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert!(ended.out.contains("cd two-words && cargo test"), "{}", ended.out);
    assert_eq!(entries(folder.path()), ["two-words"]);
    let there = folder.path().join("two-words");
    assert_eq!(entries(&there), [".gitignore", "Cargo.lock", "Cargo.toml", "src", "tests", "two-words.toml"]);
    let home = root().canonicalize().unwrap();
    for path in ["src/lib.rs", "src/main.rs", "src/twin.rs", "tests/checked.rs"] {
        let ours = fs::read_to_string(home.join("examples/new-scheme").join(path)).unwrap();
        let theirs = fs::read_to_string(there.join(path)).unwrap();
        let back = theirs.replace("two-words", "new-scheme").replace("two_words", "new_scheme");
        let back = back.replace("TwoWords", "NewScheme").replace(home.to_str().unwrap(), "../..");
        assert_eq!(back, ours, "{path}");
    }
    let manifest: toml::Table = fs::read_to_string(there.join("Cargo.toml")).unwrap().parse().unwrap();
    let path = manifest["dependencies"]["rtl"]["path"].as_str().unwrap();
    assert!(Path::new(path).join("l1/bypass/mod.rs").is_file(), "{path}");
    // A workspace of its own: it may lie in the folder of another.
    assert!(manifest["workspace"].as_table().unwrap().is_empty());
}

#[test]
fn what_is_there_stays_and_names_that_cannot_be_are_refused() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("taken"), "mine").unwrap();
    new(folder.path(), &["taken"]).refused(&["taken is there already, expected a name that no file or folder has"]);
    assert_eq!(fs::read_to_string(folder.path().join("taken")).unwrap(), "mine");
    for name in ["My-Scheme", "a b", "../x", "9lives", "a--b", "a-", ""] {
        new(folder.path(), &[name]).refused(&["expected lower-case words and digits with hyphens: my-scheme"]);
    }
    new(folder.path(), &["pric"]).refused(&["expected another than that of a design: designs/pric.toml"]);
    new(folder.path(), &["rtl"]).refused(&["which another crate or kind has"]);
    new(folder.path(), &["mine", "--from", "."]).refused(&["holds no sources of warpsieve", "--from DIR"]);
    assert_eq!(entries(folder.path()), ["taken"]);
}
