//! Tests the command `new`, which creates a crate for a scheme. This crate must equal an example that the
//! workspace builds, except for its name.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::tempdir;

use super::{CommandResult, root};

fn new(folder: &Path, arguments: &[&str]) -> CommandResult {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("warpsieve"));
    CommandResult::of(command.arg("new").args(arguments).current_dir(folder))
}

/// Returns the names of all files and folders in a folder.
fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = entries.collect();
    names.sort();
    names
}

/// Checks that the files of a new crate equal those of the example for the same kind of scheme, except for
/// the name.
fn is_the_example(there: &Path, module: &str) {
    let files = [
        ("src/main.rs", "src/main.rs".to_owned()),
        ("tests/checked.rs", "tests/checked.rs".to_owned()),
        ("src/scheme.rs", format!("src/{module}.rs")),
        ("src/scheme/twin.rs", format!("src/{module}/twin.rs")),
        ("designs/two-words.toml", format!("designs/new-{module}.toml")),
    ];
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    for (theirs, ours) in files {
        let ours = root().join("examples/new-scheme").join(ours);
        assert_eq!(ours.is_file(), there.join(theirs).is_file(), "{theirs}");
        if !ours.is_file() {
            continue;
        }
        let mut expected = fs::read_to_string(ours).unwrap();
        for of in ["scheme", module] {
            expected = expected.replace(&format!("new-{of}"), "two-words").replace(&format!("new_{of}"), "two_words");
            expected = expected.replace(&format!("New{}", capital(of)), "TwoWords");
        }
        assert_eq!(fs::read_to_string(there.join(theirs)).unwrap(), expected, "{theirs}");
    }
}

fn manifest(there: &Path) -> toml::Table {
    fs::read_to_string(there.join("Cargo.toml")).unwrap().parse().unwrap()
}

#[test]
fn it_writes_the_example_under_another_name_with_a_complete_lock_file() {
    let folder = tempdir().unwrap();
    let ended = new(folder.path(), &["two-words"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    for part in [
        "cd two-words && cargo test",
        "Cargo.lock is complete",
        "the first build of a profile takes about five minutes",
    ] {
        assert!(ended.out.contains(part), "no `{part}` in {}", ended.out);
    }
    assert_eq!(entries(folder.path()), ["two-words"]);
    let there = folder.path().join("two-words");
    assert_eq!(entries(&there), [".gitignore", "Cargo.lock", "Cargo.toml", "designs", "src", "tests"]);
    is_the_example(&there, "bypass");
    let manifest = manifest(&there);
    let path = manifest["dependencies"]["rtl"]["path"].as_str().unwrap();
    assert!(there.join(path).join("l1/bypass/mod.rs").is_file(), "{path}");
    // The new crate must have a workspace of its own, since a user may create it inside the folder of another
    // workspace.
    assert!(manifest["workspace"].as_table().unwrap().is_empty());
    assert_eq!(manifest["profile"]["release"]["package"]["warpsieve"]["opt-level"], 3.into());
    let cargo = Command::new("cargo").args(["tree", "--offline", "--locked"]).current_dir(&there).output().unwrap();
    assert!(cargo.status.success(), "{}", String::from_utf8_lossy(&cargo.stderr));
}

#[test]
fn each_slot_has_a_crate_with_its_own_scheme() {
    let slots = [
        ("l1.bypass", "bypass"),
        ("l1.prefetch", "prefetch"),
        ("l2.prefetch", "l2prefetch"),
        ("l1.victim", "victim"),
        ("l1.mshr_policy", "mshr"),
        ("l2.partition", "partition"),
        ("l1.replacement", "replacement"),
        ("l1.index", "index"),
        ("sm.scheduler", "scheduler"),
        ("throttle", "throttle"),
        ("dram.policy", "dram"),
    ];
    for (slot, module) in slots {
        let folder = tempdir().unwrap();
        let ended = new(folder.path(), &["two-words", "--slot", slot]);
        assert_eq!(ended.status, Some(0), "{ended:?}");
        assert!(ended.out.contains(&format!("scheme of {slot}: two-words/src/scheme.rs")), "{}", ended.out);
        let there = folder.path().join("two-words");
        is_the_example(&there, module);
        let library = fs::read_to_string(there.join("src/lib.rs")).unwrap();
        assert!(library.contains("pub mod scheme;\n"), "{library}");
        assert!(library.contains("include_str!(\"../designs/two-words.toml\")"), "{library}");
    }
    let folder = tempdir().unwrap();
    let listed: Vec<_> = slots.iter().map(|(slot, _)| *slot).collect();
    new(folder.path(), &["mine", "--slot", "l1.tags"]).assert_refused(&["'l1.tags'", "--slot", &listed.join(", ")]);
    assert_eq!(entries(folder.path()), [""; 0]);
}

#[test]
fn sources_are_named_as_they_are_given_or_by_the_way_from_the_crate() {
    let folder = tempdir().unwrap();
    let home = root().canonicalize().unwrap();
    std::os::unix::fs::symlink(&home, folder.path().join("clone")).unwrap();
    let absolute = home.display().to_string();
    for (name, arguments, is_relative) in [("one", ["--path", &absolute], false), ("two", ["--path", "clone"], true)] {
        let ended = new(folder.path(), &[&[name][..], &arguments].concat());
        assert_eq!(ended.status, Some(0), "{ended:?}");
        let manifest = manifest(&folder.path().join(name));
        let path = manifest["dependencies"]["warpsieve-cli"]["path"].as_str().unwrap();
        assert!(folder.path().join(name).join(path).join("Cargo.toml").is_file(), "{path}");
        assert_eq!(Path::new(path).is_relative(), is_relative, "{path}");
    }
    let ended = new(folder.path(), &["three", "--git", "https://example.org/warpsieve"]);
    assert!(ended.status == Some(0) && ended.out.contains("Cargo.lock is completed by the first build"), "{ended:?}");
    let three = folder.path().join("three");
    let manifest = manifest(&three);
    for package in ["golden", "rtl", "tb", "warpsieve", "warpsieve-cli"] {
        assert_eq!(manifest["dependencies"][package]["git"].as_str(), Some("https://example.org/warpsieve"));
    }
    assert!(!three.join("Cargo.lock").exists());
}

#[test]
fn what_is_there_stays_and_names_that_cannot_be_are_refused() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("taken"), "mine").unwrap();
    new(folder.path(), &["taken"])
        .assert_refused(&["taken already exists, expected a name that no file or folder has"]);
    assert_eq!(fs::read_to_string(folder.path().join("taken")).unwrap(), "mine");
    new(folder.path(), &["../x"]).assert_refused(&["expected lower-case words and digits joined by hyphens"]);
    new(folder.path(), &["match"]).assert_refused(&["the name is `match`, a Rust keyword"]);
    new(folder.path(), &["pric"])
        .assert_refused(&["the name of a design, expected another name: machines/designs/pric.toml"]);
    new(folder.path(), &["rtl"]).assert_refused(&["the name of another crate or kind"]);
    new(folder.path(), &["mine", "--path", "."])
        .assert_refused(&["does not contain the sources of warpsieve", "--path DIR"]);
    for address in ["a\"b", "not a url", "", "../src", "git@host:a/b", "https://"] {
        new(folder.path(), &["mine", "--git", address])
            .assert_refused(&["`--git` is", "expected the URL of a repository"]);
    }
    assert_eq!(entries(folder.path()), ["taken"]);
}
