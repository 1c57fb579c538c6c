//! Tests of the launch-file reader, by file:
//!
//! - `model`: meaning of a valid file.
//! - `data`: memory contents that a file describes.
//! - `errors`: every rule that a file can break.
//! - `sizes`: problem sizes and expressions.
//! - `variables`: PTX variables and textures.
//! - `kernels`: the launch files of the project's own kernels.

mod data;
mod errors;
mod kernels;
mod model;
mod sizes;
mod variables;

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::{LaunchError, LaunchFile};

/// Temporary folder with a launch file `run.toml` and an empty PTX file `k.ptx`.
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

    /// Returns the problems of a launch file as `line:column: message`, without the folder's path.
    fn problems(&self, text: &str) -> Vec<String> {
        self.lines(&self.read(text).unwrap_err())
    }

    fn lines(&self, error: &LaunchError) -> Vec<String> {
        let folder = format!("{}/", self.0.path().display());
        let shorten = |line: String| line.replace(&folder, "").replace("run.toml:", "");
        error.lines().into_iter().map(shorten).collect()
    }
}

/// Text of a valid launch file, which contains one launch.
const LAUNCH: &str = r#"
[[step]]
[[step.launch]]
ptx = "k.ptx"
kernel = "k"
grid = [1]
block = [32]
args = []
"#;

/// Returns a launch file that consists of `before` followed by [`LAUNCH`].
fn with_launch(before: &str) -> String {
    format!("{before}{LAUNCH}")
}

/// Returns [`LAUNCH`] with one line replaced.
fn launch_with(line: &str, replacement: &str) -> String {
    assert!(LAUNCH.contains(line), "{line}");
    LAUNCH.replace(line, replacement)
}
