//! Checks the testpoint tables in the headers of testbenches. Each testpoint must name existing tests, a file
//! with tests, or code in the testbench that generates its stimuli. For testpoints with hit counts, other
//! tests check that the points are reached.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Adds all source files below a folder to the list `found`.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            sources(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

/// Returns the names of the test functions in a source file.
fn tests_of(text: &str) -> Vec<&str> {
    let mut lines = text.lines().map(str::trim);
    let mut found = Vec::new();
    while lines.any(|line| line == "#[test]") {
        // Between `#[test]` and the function, there may be other attributes.
        let named = lines.by_ref().find_map(|line| line.strip_prefix("fn "));
        found.extend(named.and_then(|named| named.split('(').next()));
    }
    found
}

/// Returns the column names and the rows of the testpoint table in a file header, if there is one.
fn testpoints(text: &str) -> Option<(Vec<String>, Vec<Vec<String>>)> {
    let header = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let mut rows = header.skip_while(|line| !line.starts_with("| testpoint")).map_while(|line| {
        // A vertical bar inside code is escaped, since it does not separate columns.
        let cells = line.strip_prefix('|')?.strip_suffix('|')?.replace("\\|", "/");
        Some(cells.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>())
    });
    let head = rows.next()?;
    Some((head, rows.skip(1).collect()))
}

fn in_ticks(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// True if a test name matches a pattern, in which `*` stands for any text.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|left| {
            (0..=left.len()).filter(|at| left.is_char_boundary(*at)).any(|at| fits(rest, &left[at..]))
        }),
    }
}

/// Returns the Rust module path of a file, relative to a folder.
fn module(folder: &Path, file: &Path) -> Option<String> {
    let path = file.strip_prefix(folder).ok()?.with_extension("");
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    Some(parts.into_iter().filter(|part| part != "mod" && part != "main").collect::<Vec<_>>().join("::"))
}

/// Returns the problems of the testpoint table in a file. `of_crate` is the folder of the crate that contains
/// the file. `tests` maps each source file to the names of its tests.
fn problems(file: &Path, text: &str, of_crate: &Path, tests: &BTreeMap<PathBuf, Vec<String>>) -> Vec<String> {
    let Some((head, rows)) = testpoints(text) else { return Vec::new() };
    let column = |name: &str| head.iter().position(|cell| cell == name);
    let code: String = text.lines().filter(|line| !line.starts_with("//!")).collect::<Vec<_>>().join("\n");
    // A testpoint may name a test by a path relative to the folder of the testbench, or by its path in the
    // crate. With a path in the crate, the test may be in another folder.
    let is_test = |pattern: &str| {
        tests.iter().any(|(other, names)| {
            let [near, far] = [file.parent().unwrap(), of_crate].map(|folder| module(folder, other));
            names.iter().any(|name| {
                let is_near = near.as_ref().is_some_and(|near| {
                    fits(pattern, name) || fits(pattern, near) || fits(pattern, &format!("{near}::{name}"))
                });
                is_near || far.as_ref().is_some_and(|far| fits(pattern, &format!("{far}::{name}")))
            })
        })
    };
    let is_in_code = |word: &str| code.contains(word.split_once(' ').map_or(word, |(word, _)| word));
    let place = column("test").or(column("file")).unwrap_or(0);
    let mut found = Vec::new();
    for row in rows.iter().filter(|row| !row[0].is_empty()) {
        let (names, is_there): (_, &dyn Fn(&str) -> bool) = match column("where") {
            Some(place) => (in_ticks(&row[place]), &is_in_code),
            None => (in_ticks(&row[place]), &is_test),
        };
        if names.is_empty() && column("where").is_none() {
            found.push(format!("{}: `{}` names no test", file.display(), row[0]));
        }
        let missing = names.into_iter().filter(|name| !is_there(name));
        found.extend(missing.map(|name| format!("{}: `{}`: there is no `{name}`", file.display(), row[0])));
    }
    found
}

#[test]
fn every_testpoint_of_a_bench_names_tests_that_are_there() {
    let root = super::root().canonicalize().unwrap();
    let of_crate = root.join("tb");
    let mut files = Vec::new();
    sources(&of_crate, &mut files);
    let texts: Vec<_> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let owned = |text: &String| tests_of(text).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let tests = files.iter().cloned().zip(texts.iter().map(owned)).collect();
    let of_files = files.iter().zip(&texts);
    let found: Vec<_> = of_files.flat_map(|(file, text)| problems(file, text, &of_crate, &tests)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn tests_are_found_below_whatever_else_is_said_of_them() {
    let text = "#[test]\n#[should_panic]\nfn one() {}\nfn no_test() {}\n    #[test]\n    fn two(seed: u64) {}\n";
    assert_eq!(tests_of(text), ["one", "two"]);
}

#[test]
fn a_testpoint_without_its_test_is_found() {
    let tests = BTreeMap::from([(PathBuf::from("tb/l1/a.rs"), vec!["a_hit_is_fast".to_owned()])]);
    let found = |row: &str| {
        let text = format!("//! | testpoint | test |\n//! |---|---|\n//! {row}\n");
        problems(Path::new("tb/l1/mod.rs"), &text, Path::new("tb"), &tests)
    };
    for right in ["`a_hit_*`", "`*_fast`", "`a`", "`a::*`", "`l1::a::a_hit_is_fast`"] {
        assert_eq!(found(&format!("| hits | {right} |")), [""; 0], "{right}");
    }
    assert_eq!(found("| hits | `a_miss_*` |"), ["tb/l1/mod.rs: `hits`: there is no `a_miss_*`"]);
    assert_eq!(found("| hits | quickly |"), ["tb/l1/mod.rs: `hits` names no test"]);
}
