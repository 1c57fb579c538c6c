//! Gives the crate a fingerprint of all sources that decide what a run results in, so that results
//! kept from an older build are not taken for those of this one (`papers/store.rs`).

#[path = "fingerprint.rs"]
mod fingerprint;

use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let root = Path::new("..");
    // A folder stands for all that is in it.
    for place in fingerprint::places(root)? {
        println!("cargo::rerun-if-changed={}", place.display());
    }
    println!("cargo::rustc-env=FINGERPRINT={}", fingerprint::fingerprint(root)?);
    Ok(())
}
