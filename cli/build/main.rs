//! Collects data that would otherwise be listed by hand: the headers of the hardware sources, and the
//! commit of the build. Tests that need Slurm, Chromium, nvcc or the Python package are ignored where these
//! are missing.

mod headers;
mod version;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new("..");
    println!("cargo::rustc-check-cfg=cfg(has_slurm)");
    println!("cargo::rustc-check-cfg=cfg(has_chromium)");
    let has = |tool: &str| ["/usr/sbin", "/usr/bin"].iter().any(|folder| Path::new(folder).join(tool).exists());
    if ["slurmctld", "slurmd", "munged", "sbatch"].iter().all(|tool| has(tool)) {
        println!("cargo::rustc-cfg=has_slurm");
    }
    if has("chromium") {
        println!("cargo::rustc-cfg=has_chromium");
    }
    println!("cargo::rustc-check-cfg=cfg(has_nvcc)");
    println!("cargo::rerun-if-env-changed=NVCC");
    println!("cargo::rerun-if-env-changed=PATH");
    let folders = env::var_os("PATH").unwrap_or_default();
    if env::var_os("NVCC").is_some() || env::split_paths(&folders).any(|folder| folder.join("nvcc").exists()) {
        println!("cargo::rustc-cfg=has_nvcc");
    }
    println!("cargo::rustc-check-cfg=cfg(has_python)");
    println!("cargo::rerun-if-env-changed=WARPSIEVE_PYTHON");
    if env::var_os("WARPSIEVE_PYTHON").is_some() {
        println!("cargo::rustc-cfg=has_python");
    }
    for place in ["build", "../rtl", "/usr/sbin", "/usr/bin"] {
        println!("cargo::rerun-if-changed={place}");
    }
    version::tell();
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    fs::write(out.join("headers.rs"), headers::table(root)?)?;
    Ok(())
}

/// Returns the paths of all Rust files in a folder of the workspace, or of one file, relative to `root` and
/// sorted.
fn sources(root: &Path, place: &str) -> std::io::Result<Vec<String>> {
    let mut found = Vec::new();
    if root.join(place).is_dir() {
        for entry in fs::read_dir(root.join(place))? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            // Editors keep hidden files next to those that are open.
            if !name.starts_with('.') {
                found.extend(sources(root, &format!("{place}/{name}"))?);
            }
        }
    } else if place.ends_with(".rs") {
        found.push(place.to_owned());
    }
    found.sort_unstable();
    Ok(found)
}
