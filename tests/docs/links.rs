//! Checks that the links and file paths in the documents lead to existing files.

use std::fs;
use std::path::{Path, PathBuf};

use warpsieve::launch::LaunchFile;

/// Returns the paths of all documents of the repository, that is, all Markdown files outside of build output
/// folders.
fn documents() -> Vec<PathBuf> {
    let root = super::root();
    let mut found: Vec<PathBuf> = markdown_in(&root);
    let mut folders = vec![root.join("docs"), root.join("kernels"), root.join("golden"), root.join("tb")];
    while let Some(folder) = folders.pop() {
        found.extend(markdown_in(&folder));
        folders.extend(entries(&folder).into_iter().filter(|path| path.is_dir()));
    }
    found.sort();
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn markdown_in(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.extension().is_some_and(|end| end == "md")).collect()
}

/// Returns the targets of all links `[text](target)` in a Markdown text, except in code blocks.
fn links(text: &str) -> Vec<&str> {
    let pieces = prose(text).flat_map(|line| line.split("](").skip(1));
    pieces.filter_map(|piece| piece.split_once(')')).map(|(target, _)| target).collect()
}

/// Returns the code spans in a Markdown text that name a single file or folder of the workspace. An example
/// is `rtl/l1/mshr.rs`. A span such as `kernels/KEY/launch.toml` is left out, because it stands for many
/// files.
fn paths(text: &str) -> Vec<&str> {
    const FOLDERS: [&str; 15] = [
        "cli", "docs", "examples", "golden", "isa", "kernels", "machines", "papers", "python", "rtl", "scripts", "sim",
        "tb", "tests", "waves",
    ];
    let spans = prose(text).flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_path = |span: &&str| {
        let (folder, rest) = span.split_once('/').unwrap_or((span, ""));
        FOLDERS.contains(&folder)
            && !rest.is_empty()
            && rest.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "/._-".contains(c))
    };
    spans.filter(is_path).collect()
}

/// Converts a Markdown heading to its link anchor, for example `## What X compares` to `what-x-compares`.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

fn has_heading(document: &Path, name: &str) -> bool {
    let text = fs::read_to_string(document).unwrap();
    prose(&text).any(|line| line.starts_with('#') && anchor(line.trim_start_matches('#')) == name)
}

/// Returns the lines of a Markdown text that are outside of fenced code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        !fenced && !is_fence
    })
}

#[test]
fn relative_links_lead_to_files_and_headings() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let folder = document.parent().unwrap();
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { document.clone() } else { folder.join(path) };
            if !target.exists() || (!heading.is_empty() && !has_heading(&target, heading)) {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_heading_is_linked_without_its_punctuation() {
    assert_eq!(anchor(" What `--check` compares"), "what---check-compares");
}

#[test]
fn paths_in_the_text_exist() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let exists = |path: &Path| path.exists() || LaunchFile::exists(path);
        let missing = paths(&text).into_iter().filter(|path| !exists(&super::root().join(path)));
        broken.extend(missing.map(|path| format!("{}: {path}", document.display())));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn links_and_paths_are_found_outside_code_only() {
    let text = "See [a](b.md#c) and ![d](e.png).\n```\n[f](g) `rtl/h.rs`\n```\n`rtl/i.rs` `rtl/KEY.rs` `j` k\n";
    assert_eq!(links(text), ["b.md#c", "e.png"]);
    assert_eq!(paths(text), ["rtl/i.rs"]);
}
