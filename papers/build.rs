//! Build script that embeds a fingerprint (hash) of all sources that determine the results of a run. It
//! prevents cached results of another build from being used as results of this build (`papers/store.rs`).

#[path = "fingerprint.rs"]
mod fingerprint;

use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let root = Path::new("..");
    // If a path is a folder, Cargo watches all files and folders in it.
    for place in fingerprint::places(root)? {
        println!("cargo::rerun-if-changed={}", place.display());
    }
    println!("cargo::rustc-env=FINGERPRINT={}", fingerprint::fingerprint(root)?);
    Ok(())
}
