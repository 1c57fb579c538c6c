//! Gathers what the sources say about themselves, so that nobody lists it: the headers of the hardware, and the commit that
//! is built. Tests that need Slurm or Chromium are ignored where these are missing.

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
    for place in ["build", "../rtl", "/usr/sbin", "/usr/bin"] {
        println!("cargo::rerun-if-changed={place}");
    }
    version::tell();
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    fs::write(out.join("headers.rs"), headers::table(root)?)?;
    Ok(())
}

/// Every Rust file below a folder or file of the workspace, as its path from `root`, sorted.
fn sources(root: &Path, place: &str) -> std::io::Result<Vec<String>> {
    let mut found = Vec::new();
    if root.join(place).is_dir() {
        for entry in fs::read_dir(root.join(place))? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            // Editors keep hidden files beside those that are open.
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
