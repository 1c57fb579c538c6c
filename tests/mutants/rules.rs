//! Rules of what to mutate: `mutants.toml` and `equivalent.toml`, with a reason for each entry.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::cargo::Binary;
use crate::operators::Operator;
use crate::scan::Site;

/// Folders to mutate, and the code excluded from them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Folders, each including the file of the same name.
    pub folders: Vec<String>,
    #[serde(default)]
    pub exclude: Vec<Exclusion>,
    /// Test binaries that do not run.
    #[serde(default)]
    pub skip: Vec<SkipRule>,
}

/// Excluded code: everything that matches all given keys.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exclusion {
    pub path: Option<String>,
    /// Name of the function, or its beginning: `describe*`.
    pub function: Option<String>,
    #[serde(rename = "trait")]
    pub of_trait: Option<String>,
    pub reason: String,
}

/// Tests that do not run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkipRule {
    pub package: String,
    /// Name of the test binary; the unit tests of the library if `None`.
    pub binary: Option<String>,
    /// Beginning of the names of the tests; all tests if empty.
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

/// Mutant that behaves like the original code, so that no test can notice it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Equivalent {
    pub file: String,
    /// Source line in which the mutant begins, without surrounding blanks.
    pub line: String,
    pub operator: Operator,
    /// Mutated code, needed if the line has several mutants of the operator.
    pub mutated: Option<String>,
    pub reason: String,
}

impl SkipRule {
    /// True if no test of the package runs.
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

/// True if a path denotes the file or a folder that contains it. `rtl/l1/lsu` also denotes `rtl/l1/lsu.rs`.
pub fn is_below(file: &str, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rest == ".rs")
}

/// Reads one of the two rule files in `tests/mutants`.
///
/// # Errors
/// Fails if the file cannot be read, or is invalid.
pub fn read<T: for<'de> Deserialize<'de>>(root: &Path, name: &str) -> Result<T, String> {
    let path = root.join("tests/mutants").join(name);
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}
