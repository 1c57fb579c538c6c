//! The folder of the kernels that come with the source tree.

use std::fs;
use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic, Report, WrapErr, miette};

/// That of the sources that this was built from.
const HOME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../kernels");

/// The folder `kernels` here or in a folder above, as a path relative to here; else that of the sources that this was
/// built from, as an absolute one.
///
/// # Errors
/// If there is none.
pub fn kernels_folder() -> Result<PathBuf, Report> {
    let here = std::env::current_dir().into_diagnostic().wrap_err("the current folder cannot be found")?;
    let mut relative = PathBuf::new();
    for _ in here.ancestors() {
        let folder = relative.join("kernels");
        if folder.is_dir() {
            return Ok(folder);
        }
        relative.push("..");
    }
    Path::new(HOME).canonicalize().ok().filter(|folder| folder.is_dir()).ok_or_else(|| {
        miette!("there is no folder `kernels` here or above, nor is {HOME}: kernels come with the source tree")
    })
}

/// What a folder holds, in order of names.
///
/// # Errors
/// If it cannot be read.
pub fn sorted(folder: &Path) -> Result<Vec<PathBuf>, Report> {
    let context = || format!("folder {} cannot be read", folder.display());
    let entries = fs::read_dir(folder).into_diagnostic().wrap_err_with(context)?;
    let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    if let Ok(paths) = &mut paths {
        paths.sort_unstable();
    }
    paths.into_diagnostic().wrap_err_with(context)
}

/// The last part of a path.
#[must_use]
pub fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
