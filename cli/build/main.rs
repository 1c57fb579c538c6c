//! Collects data that would otherwise be listed by hand: the headers of the hardware sources, and the
//! commit of the build.

mod headers;
mod version;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new("..");
    for place in ["build", "../rtl"] {
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
