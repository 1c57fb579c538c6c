//! The folders of benches are listed as the crate is compiled: a new file there must make it be compiled again. Tests that
//! need Verilator or Yosys are ignored where it is missing.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=.");
    println!("cargo:rerun-if-env-changed=PATH");
    println!("cargo:rustc-check-cfg=cfg(has_verilator, has_yosys)");
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    let has = |tool: &str| folders.iter().any(|folder| folder.join(tool).exists());
    if has("verilator") && has("g++") {
        println!("cargo:rustc-cfg=has_verilator");
    }
    if has("yosys") && has("yosys-abc") {
        println!("cargo:rustc-cfg=has_yosys");
    }
    // Once a tool is installed or gone, its folder has changed.
    let all = folders.iter().filter(|folder| folder.is_dir());
    all.for_each(|folder| println!("cargo:rerun-if-changed={}", folder.display()));
}
