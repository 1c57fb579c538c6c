//! What is broken and what is not: `mutants.toml` and `equivalent.toml`, each with its reasons.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::cargo::Binary;
use crate::operators::Operator;
use crate::scan::Site;

/// Where mutants are looked for, and the code that is left alone.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Folders, each with the file of its name.
    pub folders: Vec<String>,
    #[serde(default)]
    pub exclude: Vec<Exclusion>,
    /// Test binaries that are not run.
    #[serde(default)]
    pub skip: Vec<Skipped>,
}

/// Code that is left alone: all that agrees with every key given.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exclusion {
    pub path: Option<String>,
    /// Its name, or how it begins: `describe*`.
    pub function: Option<String>,
    #[serde(rename = "trait")]
    pub of_trait: Option<String>,
    pub reason: String,
}

/// Tests that are not run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skipped {
    pub package: String,
    /// The library's own if not given.
    pub binary: Option<String>,
    /// The beginning of the names of the tests; all if not given.
    #[serde(default)]
    pub tests: String,
    pub reason: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Equivalents {
    #[serde(default)]
    pub equivalent: Vec<Equivalent>,
}

/// A mutant that no test can tell from the code as it is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Equivalent {
    pub file: String,
    /// The line of the file in which it begins, without the blanks around.
    pub line: String,
    pub operator: Operator,
    /// What it becomes, where the line has several such mutants.
    pub mutated: Option<String>,
    pub reason: String,
}

impl Skipped {
    /// Whether nothing of the package is run.
    pub fn is_package(&self) -> bool {
        self.binary.is_none() && self.tests.is_empty()
    }

    pub fn matches(&self, binary: &Binary, test: &str) -> bool {
        self.package == binary.package
            && (self.is_package() || self.binary == binary.target)
            && test.starts_with(&self.tests)
    }
}

impl Exclusion {
    pub fn matches(&self, site: &Site) -> bool {
        let agrees = |wanted: &Option<String>, is: &str| {
            wanted.as_ref().is_none_or(|wanted| match wanted.strip_suffix('*') {
                Some(beginning) => is.starts_with(beginning),
                None => is == wanted,
            })
        };
        self.path.as_ref().is_none_or(|path| is_below(&site.file, path))
            && agrees(&self.function, &site.mutant.function)
            && agrees(&self.of_trait, &site.mutant.of_trait)
    }
}

impl Equivalent {
    pub fn matches(&self, site: &Site) -> bool {
        self.file == site.file
            && self.line == site.text
            && self.operator == site.mutant.operator
            && self.mutated.as_ref().is_none_or(|mutated| *mutated == site.mutant.mutated)
    }
}

/// Whether a file is the one that a path means, or stands in its folder: `rtl/l1/lsu` is `rtl/l1/lsu.rs` too.
pub fn is_below(file: &str, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rest == ".rs")
}

/// Reads one of the two files, which stand in `tests/mutants`.
///
/// # Errors
/// If it cannot be read, or is not what it should be.
pub fn read<T: for<'de> Deserialize<'de>>(root: &Path, name: &str) -> Result<T, String> {
    let path = root.join("tests/mutants").join(name);
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}
