//! Build script. It gives the exported functions the symbol versions that programs require from the CUDA
//! runtime, `libcudart.so`.

fn main() {
    println!("cargo:rerun-if-changed=versions.map");
    let target = std::env::var("TARGET").unwrap_or_default();
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    // On `x86_64-unknown-linux-gnu`, Rust links with LLD, which accepts our version script in addition to
    // that of the compiler. On other targets, programs run too, but the dynamic loader prints a warning.
    if target == "x86_64-unknown-linux-gnu" {
        println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={folder}/versions.map");
    }
}
