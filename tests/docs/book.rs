//! Checks that the table of contents of the book, `docs/SUMMARY.md`, lists every page, and that a code
//! excerpt on a page is up to date.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::root;

/// Adds all pages below a folder to `pages`, as paths relative to the folder `docs`.
fn add_pages(folder: &Path, docs: &Path, pages: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_pages(&path, docs, pages);
        } else if path.extension().is_some_and(|end| end == "md") {
            pages.insert(path.strip_prefix(docs).unwrap().to_str().unwrap().to_owned());
        }
    }
}

/// Returns the paths of the pages that a table of contents lists, in the order of the table.
fn entries(summary: &str) -> Vec<&str> {
    summary.lines().filter_map(|line| line.split_once("](")?.1.strip_suffix(')')).collect()
}

/// Compares a code excerpt with the source file that it is taken from. Returns the first line of the excerpt
/// that does not match the file, if any. In the excerpt, a line `// ...` stands for any number of omitted
/// lines.
fn wrong_line<'t>(excerpt: &'t str, file: &str) -> Option<&'t str> {
    let mut lines = file.lines();
    let mut omits = true;
    for line in excerpt.lines() {
        if line.trim() == "// ..." {
            omits = true;
        } else {
            let is_there = if omits { lines.any(|other| other == line) } else { lines.next() == Some(line) };
            if !is_there {
                return Some(line);
            }
            omits = false;
        }
    }
    None
}

#[test]
fn the_table_of_contents_lists_every_page_once() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed = entries(&summary);
    let mut pages = BTreeSet::new();
    add_pages(&docs, &docs, &mut pages);
    let missing: Vec<_> =
        pages.iter().filter(|page| *page != "SUMMARY.md" && !listed.contains(&page.as_str())).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md does not list {missing:?}");
    for (at, entry) in listed.iter().enumerate() {
        assert!(docs.join(entry).is_file(), "docs/SUMMARY.md lists {entry}, which does not exist");
        assert!(!listed[..at].contains(entry), "docs/SUMMARY.md lists {entry} twice");
    }
}

#[test]
fn entries_are_links_at_the_end_of_lines() {
    assert_eq!(entries("# A\n[B](../b.md)\n\n- [C](c.md)\n  - [D](e/d.md)\n"), ["../b.md", "c.md", "e/d.md"]);
}

#[test]
fn the_page_about_counters_shows_lines_of_the_code() {
    let page = fs::read_to_string(root().join("docs/extending.md")).unwrap();
    let (_, section) = page.split_once("\n## A counter\n").unwrap();
    let (_, code) = section.split_once("```rust\n").unwrap();
    let (excerpt, _) = code.split_once("```").unwrap();
    let file = fs::read_to_string(root().join("rtl/l1/stats.rs")).unwrap();
    let wrong = wrong_line(excerpt, &file);
    assert_eq!(wrong, None, "docs/extending.md, A counter: rtl/l1/stats.rs has no such line here");
}

#[test]
fn an_excerpt_omits_lines_only_where_it_says_so() {
    let file = "a\nb\nc\nd\n";
    for (excerpt, wrong) in [
        ("a\nb\n", None),
        ("b\n// ...\nd\n", None),
        ("a\n  // ...\nc\nd\n", None),
        ("a\nc\n", Some("c")),
        ("b\n// ...\na\n", Some("a")),
        ("e\n", Some("e")),
    ] {
        assert_eq!(wrong_line(excerpt, file), wrong, "{excerpt:?}");
    }
}
