//! Rules that state which code is mutated. They are in the files `mutants.toml` and `equivalent.toml`, with a
//! reason for each entry.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::cargo::Binary;
use crate::operators::Operator;
use crate::scan::Site;

/// Contents of `mutants.toml`: the folders whose code is mutated, code that is excluded, and tests that are
/// skipped.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Folders whose code is mutated. For a folder `a/b`, the file `a/b.rs` is included.
    pub folders: Vec<String>,
    #[serde(default)]
    pub exclude: Vec<Exclusion>,
    /// Tests that are not run for mutants.
    #[serde(default)]
    pub skip: Vec<SkipRule>,
}

/// Rule that excludes code from mutation. Code is excluded if it matches all given keys.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exclusion {
    pub path: Option<String>,
    /// Name of the excluded function. A trailing `*`, as in `describe*`, matches all names that begin with
    /// the text before it.
    pub function: Option<String>,
    #[serde(rename = "trait")]
    pub of_trait: Option<String>,
    pub reason: String,
}

/// Rule that skips tests: they are not run for mutants.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkipRule {
    pub package: String,
    /// Name of the test binary. `None` stands for the unit tests of the library.
    pub binary: Option<String>,
    /// Beginning of the names of the skipped tests. An empty text matches all tests.
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

/// Equivalent mutant: it behaves like the original code, so no test can detect it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Equivalent {
    pub file: String,
    /// Text of the source line in which the mutated code begins, without leading and trailing blanks.
    pub line: String,
    pub operator: Operator,
    /// Mutated code. It is needed only if the line has several mutants with the same operator.
    pub mutated: Option<String>,
    pub reason: String,
}

impl SkipRule {
    /// True if this rule skips all tests of a package.
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

/// True if the path in a rule names `file` or a folder that contains it. The path `rtl/l1/lsu` also stands
/// for the file `rtl/l1/lsu.rs`.
pub fn is_below(file: &str, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rest == ".rs")
}

/// Reads one of the two rule files in `tests/mutants`.
///
/// # Errors
/// Returns an error if the file cannot be read, or is invalid.
pub fn read<T: for<'de> Deserialize<'de>>(root: &Path, name: &str) -> Result<T, String> {
    let path = root.join("tests/mutants").join(name);
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}
