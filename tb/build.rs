//! Reruns the build when a file is added to a folder of schemes, because the crate lists these folders at
//! compile time.

fn main() {
    println!("cargo:rerun-if-changed=l1/bypass");
}
