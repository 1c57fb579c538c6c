//! Finds all mutants of the workspace.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::operators::{Mutant, find};
use crate::rules::{Equivalents, Rules, is_below, read};

/// Mutant and its location.
#[derive(Clone, Debug)]
pub struct Site {
    /// Path of the file, relative to the root folder of the workspace.
    pub file: String,
    pub mutant: Mutant,
    /// Text of the source line in which the mutated code begins, without leading and trailing blanks.
    pub text: String,
    /// Index among the mutants of the file that have the same line text, operator and mutated code.
    pub occurrence: usize,
    /// Index of the mutant in the order in which the search finds the mutants of the file.
    pub order: usize,
}

impl Site {
    /// Returns a printed line with the mutant's file, line, column, operator, original code and mutated code.
    pub fn line(&self) -> String {
        let Mutant { line, column, operator, original, mutated, .. } = &self.mutant;
        format!("{}:{line}:{column} {}: {original} -> {mutated}", self.file, operator.name())
    }

    /// Returns a key that identifies the mutant. The key does not change when other lines of the file change.
    pub fn key(&self) -> String {
        let Mutant { operator, mutated, .. } = &self.mutant;
        format!("{}\t{}\t{}\t{mutated}\t{}", self.file, self.text, operator.name(), self.occurrence)
    }
}

/// Result of searching the workspace for mutants.
#[derive(Debug, Default)]
pub struct Scan {
    /// Mutants that may be selected for the sample.
    pub sites: Vec<Site>,
    pub equivalent: usize,
    /// Entries of the rule files that no longer match any code, or that state no reason.
    pub stale: Vec<String>,
}

/// Returns the root folder of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("stands in tests/mutants").to_owned()
}

/// Returns a sorted list of the files in the workspace that git tracks or would add.
///
/// # Errors
/// Returns an error if git fails.
pub fn list_tracked(root: &Path) -> Result<Vec<String>, String> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let ended = git.output().map_err(|e| format!("git ls-files: {e}"))?;
    if !ended.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&ended.stderr).trim()));
    }
    let text = String::from_utf8(ended.stdout).map_err(|e| format!("git ls-files: {e}"))?;
    let mut files: Vec<String> = text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    files.retain(|path| root.join(path).is_file());
    files.sort();
    files.dedup();
    Ok(files)
}

/// Returns all mutants of the workspace, sorted by file and position.
///
/// # Errors
/// Returns an error if a file cannot be read.
pub fn scan(root: &Path, files: &[String]) -> Result<Scan, String> {
    let (rules, known): (Rules, Equivalents) = (read(root, "mutants.toml")?, read(root, "equivalent.toml")?);
    let mut sites = all(root, files, &rules)?;
    let unsaid = rules.skip.iter().filter(|skip| skip.reason.is_empty());
    let mut stale: Vec<_> = unsaid.map(|skip| format!("mutants.toml: {skip:?}")).collect();
    for rule in &rules.exclude {
        if rule.reason.is_empty() || !sites.iter().any(|site| rule.matches(site)) {
            stale.push(format!("mutants.toml: {rule:?}"));
        }
    }
    sites.retain(|site| !rules.exclude.iter().any(|rule| rule.matches(site)));
    for entry in &known.equivalent {
        if entry.reason.is_empty() || !sites.iter().any(|site| entry.matches(site)) {
            stale.push(format!("equivalent.toml: {entry:?}"));
        }
    }
    let counted = sites.len();
    sites.retain(|site| !known.equivalent.iter().any(|entry| entry.matches(site)));
    Ok(Scan { equivalent: counted - sites.len(), sites, stale })
}

fn all(root: &Path, files: &[String], rules: &Rules) -> Result<Vec<Site>, String> {
    let mut sites = Vec::new();
    let mut for_tests = Vec::new();
    let in_folders = |file: &&String| rules.folders.iter().any(|folder| is_below(file, folder));
    for file in files.iter().filter(in_folders).filter(|file| file.ends_with(".rs")) {
        let text = fs::read_to_string(root.join(file)).map_err(|e| format!("{file}: {e}"))?;
        let found = find(&text).map_err(|e| format!("{file}:{}: {e}", e.span().start().line))?;
        for_tests.extend(found.test_modules.iter().map(|(name, path)| module(file, name, path.as_deref())));
        sites.extend(sites_of(file, &text, found.mutants));
    }
    sites.retain(|site: &Site| !for_tests.iter().any(|path| is_below(&site.file, path)));
    sites.retain(|site| {
        !root.join(&site.file).with_file_name("Cargo.toml").exists() || !site.file.ends_with("/build.rs")
    });
    Ok(sites)
}

fn sites_of(file: &str, text: &str, mutants: Vec<Mutant>) -> Vec<Site> {
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let mut alike = BTreeMap::new();
    let site = |(order, mutant): (usize, Mutant)| {
        let text = lines[mutant.line - 1].to_owned();
        let before = alike.entry((text.clone(), mutant.operator.name(), mutant.mutated.clone())).or_insert(0);
        let occurrence = *before;
        *before += 1;
        Site { file: file.to_owned(), mutant, text, occurrence, order }
    };
    mutants.into_iter().enumerate().map(site).collect()
}

/// Returns the path, without `.rs`, of the file of the module `name`, which is declared in the file `file`.
fn module(file: &str, name: &str, path: Option<&str>) -> String {
    let file = Path::new(file);
    let folder = file.parent().unwrap_or(Path::new(""));
    let is_root = file.file_stem().is_some_and(|stem| stem == "mod" || stem == "lib");
    let below = match path {
        Some(path) => folder.join(path.trim_end_matches(".rs")),
        None if is_root => folder.join(name),
        None => file.with_extension("").join(name),
    };
    below.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_can_be_scanned_and_every_rule_still_matches_something() {
        let root = root();
        let scan = scan(&root, &list_tracked(&root).unwrap()).unwrap();
        assert!(scan.stale.is_empty(), "{}", scan.stale.join("\n"));
        for folder in ["rtl", "golden", "isa/lanes", "sim/compiler", "sim/area"] {
            assert!(scan.sites.iter().any(|site| is_below(&site.file, folder)), "nothing in {folder}");
        }
        let is_test = |site: &&Site| site.file.ends_with("tests.rs") || site.file.contains("/tests/");
        assert_eq!(scan.sites.iter().find(is_test).map(Site::line), None);
    }

    #[test]
    fn modules_stand_below_the_file_that_declares_them() {
        assert_eq!(module("rtl/l1/lsu.rs", "tests", None), "rtl/l1/lsu/tests");
        assert_eq!(module("rtl/l1/mod.rs", "tests", None), "rtl/l1/tests");
        assert_eq!(module("rtl/lib.rs", "tests", None), "rtl/tests");
        assert_eq!(module("isa/cfg.rs", "tests", Some("cfg_tests.rs")), "isa/cfg_tests");
    }
}
