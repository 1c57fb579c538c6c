//! Build script that recompiles this crate when a file is added to the folder `l1/bypass`. The crate lists
//! the testbenches in this folder at compile time.

fn main() {
    println!("cargo:rerun-if-changed=l1/bypass");
}
