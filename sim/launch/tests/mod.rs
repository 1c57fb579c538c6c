//! Testpoints of the launch-file reader: what a correct file means (`model`), what it puts into
//! memory (`data`), every rule it can break (`errors`), variables and textures (`variables`), and our
//! own kernels' files (`kernels`).

mod data;
mod errors;
mod kernels;
mod model;
mod variables;

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::{LaunchError, LaunchFile};

/// A folder with a launch file `run.toml` and an empty `k.ptx`.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        fs::write(folder.path("k.ptx"), "").unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, text: &str) -> Result<LaunchFile, LaunchError> {
        fs::write(self.path("run.toml"), text).unwrap();
        LaunchFile::read(&self.path("run.toml"))
    }

    /// The problems of a launch file, `line:column: message`, without the folder's own path.
    fn problems(&self, text: &str) -> Vec<String> {
        self.lines(&self.read(text).unwrap_err())
    }

    fn lines(&self, error: &LaunchError) -> Vec<String> {
        let folder = format!("{}/", self.0.path().display());
        let shorten = |line: String| line.replace(&folder, "").replace("run.toml:", "");
        error.lines().into_iter().map(shorten).collect()
    }
}

/// A launch that breaks no rule.
const LAUNCH: &str = r#"
[[step]]
[[step.launch]]
ptx = "k.ptx"
kernel = "k"
grid = [1]
block = [32]
args = []
"#;

/// [`LAUNCH`] with more text before it.
fn with_launch(before: &str) -> String {
    format!("{before}{LAUNCH}")
}

/// [`LAUNCH`] with one of its lines replaced.
fn launch_with(line: &str, replacement: &str) -> String {
    assert!(LAUNCH.contains(line), "{line}");
    LAUNCH.replace(line, replacement)
}
