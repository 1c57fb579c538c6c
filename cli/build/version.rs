//! Determines the commit and the profile that `--version` prints.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Sets the environment variables `WARPSIEVE_COMMIT` and `WARPSIEVE_PROFILE` for the compilation. The commit
/// is empty if the sources are not a git clone.
pub fn tell() {
    let root = fs::canonicalize("..").unwrap_or_else(|_| PathBuf::from(".."));
    // Sources without a git folder of their own may lie inside the clone of another repository, whose commit
    // must not be used.
    let is_own = git(&root, &["rev-parse", "--show-toplevel"])
        .is_some_and(|top| fs::canonicalize(top).ok() == Some(root.clone()));
    let commit = is_own.then(|| git(&root, &["rev-parse", "--short=12", "HEAD"])).flatten();
    if is_own && let Some(folder) = git(&root, &["rev-parse", "--absolute-git-dir"]) {
        // Git changes `HEAD` or `logs/HEAD` with each commit and each change of branch. Cargo then runs this
        // build script again.
        for file in ["HEAD", "logs/HEAD"].map(|file| Path::new(&folder).join(file)).iter().filter(|file| file.is_file())
        {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
    println!("cargo::rustc-env=WARPSIEVE_COMMIT={}", commit.unwrap_or_default());
    println!("cargo::rustc-env=WARPSIEVE_PROFILE={}", profile().unwrap_or_default());
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let ran = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    ran.status.success().then(|| String::from_utf8_lossy(&ran.stdout).trim().to_owned()).filter(|text| !text.is_empty())
}

/// Returns the name of the build profile: the folder in Cargo's output path that contains
/// `build/PACKAGE/out`.
fn profile() -> Option<String> {
    let out = PathBuf::from(env::var_os("OUT_DIR")?);
    let folder = out.ancestors().nth(3)?.file_name()?.to_str()?.to_owned();
    Some(if folder == "debug" { "dev".to_owned() } else { folder })
}
