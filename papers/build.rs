//! Gives the crate a fingerprint of all sources that decide what a run results in, so that results
//! kept from an older build are not taken for those of this one (`papers/store.rs`).

use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Folders and files, relative to this crate. Machines and designs are not among them: a result is
/// kept under the values that they give.
const DECIDING: [&str; 6] = ["../rtl", "../isa", "../golden", "../compiler", "../sim", "../Cargo.lock"];

fn main() -> io::Result<()> {
    let mut files = Vec::new();
    for place in DECIDING {
        println!("cargo::rerun-if-changed={place}");
        collect(Path::new(place), &mut files)?;
    }
    files.sort_unstable();
    let mut hasher = DefaultHasher::new();
    for file in files {
        hasher.write(file.as_os_str().as_encoded_bytes());
        hasher.write(&fs::read(&file)?);
    }
    println!("cargo::rustc-env=FINGERPRINT={:016x}", hasher.finish());
    Ok(())
}

fn collect(place: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if place.is_file() {
        files.push(place.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(place)? {
        collect(&entry?.path(), files)?;
    }
    Ok(())
}
