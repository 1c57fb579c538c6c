//! Checks that every listed hardware block and component has a golden model and a testbench. They must be at
//! the same path as the hardware, or at the path that the header of the hardware file states.

use std::fs;

use warpsieve_cli::blocks::{Hardware, hardware};

/// Searches the header of a source file for a line that begins with `word`, such as `Twin:`. Returns the rest
/// of this line.
fn find_statement<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let mut header = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    header.find_map(|line| line.strip_prefix(word)).map(str::trim)
}

/// Checks that the golden model or testbench of the hardware file `rtl/PATH` exists at the same path in
/// `folder`, or that the header of the file states another place or a reason. Returns a description of the
/// problem, if there is one. `is_there(path)` returns true if the path exists.
fn problem(path: &str, text: &str, word: &str, folder: &str, is_there: impl Fn(&str) -> bool) -> Option<String> {
    let place = path.replacen("rtl", folder, 1);
    let Some(stated) = find_statement(text, word) else {
        return (!is_there(&place)).then(|| format!("{path}: there is no {place}, and no `{word}` in its header"));
    };
    let paths: Vec<_> = stated.split('`').skip(1).step_by(2).collect();
    if let Some(missing) = paths.iter().find(|path| !is_there(path)) {
        return Some(format!("{path}: `{word}` names {missing}, which is not there"));
    }
    if paths.contains(&place.as_str()) {
        return Some(format!("{path}: `{word}` is said where nobody would look elsewhere"));
    }
    if stated.contains("its own tests") && !text.contains("#[cfg(test)]") {
        return Some(format!("{path}: `{word}` speaks of tests, of which it has none"));
    }
    let has_reason = stated.strip_prefix("none; ").is_some_and(|reason| !reason.is_empty());
    let is_at_hand = stated.starts_with("its own tests") || paths.iter().any(|path| path.starts_with(folder));
    (!has_reason && !is_at_hand).then(|| format!("{path}: `{word}` names nothing in {folder}, and does not say why"))
}

#[test]
fn every_block_and_part_has_a_twin_and_a_testbench_at_its_path_or_says_where() {
    let root = super::root();
    let is_there = |path: &str| root.join(path).exists();
    let mut problems = Vec::new();
    for Hardware { path, .. } in hardware() {
        let text = fs::read_to_string(root.join(path)).unwrap();
        problems.extend(problem(path, &text, "Twin:", "golden", is_there));
        problems.extend(problem(path, &text, "Bench:", "tb", is_there));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_block_has_a_table_of_ports_and_says_its_latency() {
    for Hardware { path, .. } in hardware().into_iter().filter(|hardware| hardware.kind == "block") {
        let text = fs::read_to_string(super::root().join(path)).unwrap();
        let header: Vec<_> = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
        let head = header.iter().position(|line| line.starts_with("| port"));
        let head = head.unwrap_or_else(|| panic!("{path}: no table of ports"));
        assert!(header[head].contains("| contract"), "{path}: {}", header[head]);
        let ports = header[head + 2..].iter().take_while(|line| line.starts_with("| `")).count();
        assert!(ports > 0, "{path}: a table without ports");
        assert!(header.iter().any(|line| line.starts_with("Latency")), "{path}: no latency");
    }
}

#[test]
fn a_twin_that_is_missing_or_stated_falsely_is_found() {
    let is_there = |path: &str| ["golden/a.rs", "golden/b.rs", "tb/a.rs"].contains(&path);
    let twin = |path, header: &str| problem(path, &format!("//! # X\n//! {header}\n"), "Twin:", "golden", is_there);
    assert_eq!(twin("rtl/a.rs", "Text."), None);
    assert_eq!(twin("rtl/c.rs", "Twin: `golden/b.rs`, of it all."), None);
    assert_eq!(twin("rtl/c.rs", "Twin: none; `tb/a.rs` looks."), None);
    let wrong = [
        ("rtl/c.rs", "Text.", "rtl/c.rs: there is no golden/c.rs, and no `Twin:` in its header"),
        ("rtl/c.rs", "Twin: `golden/d.rs`.", "rtl/c.rs: `Twin:` names golden/d.rs, which is not there"),
        ("rtl/a.rs", "Twin: `golden/a.rs`.", "rtl/a.rs: `Twin:` is said where nobody would look elsewhere"),
        ("rtl/c.rs", "Twin: none.", "rtl/c.rs: `Twin:` names nothing in golden, and does not say why"),
        ("rtl/c.rs", "Twin: `tb/a.rs`.", "rtl/c.rs: `Twin:` names nothing in golden, and does not say why"),
        ("rtl/c.rs", "Twin: its own tests.", "rtl/c.rs: `Twin:` speaks of tests, of which it has none"),
    ];
    for (path, header, expected) in wrong {
        assert_eq!(twin(path, header).as_deref(), Some(expected));
    }
}
