//! Build script. It collects data that would otherwise be listed by hand: the header comments of the hardware
//! sources, and the commit of the build.

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

/// Returns the sorted paths, relative to `root`, of all Rust files in the folder `place`. If `place` is a
/// Rust file instead, returns only its path.
fn sources(root: &Path, place: &str) -> std::io::Result<Vec<String>> {
    let mut found = Vec::new();
    if root.join(place).is_dir() {
        for entry in fs::read_dir(root.join(place))? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            // Hidden files are skipped: editors create them next to files that are open.
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
