//! Build script that recompiles the crate when a testbench is added, because the crate lists its folders at
//! compile time. It also detects Verilator, Icarus Verilog and Yosys, so that tests which need a missing tool
//! are ignored.

use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=.");
    println!("cargo:rerun-if-env-changed=PATH");
    println!("cargo:rustc-check-cfg=cfg(has_verilator, has_icarus, has_yosys)");
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    let has = |tool: &str| folders.iter().any(|folder| folder.join(tool).exists());
    if has("verilator") && has("g++") {
        println!("cargo:rustc-cfg=has_verilator");
    }
    if has("iverilog") && has("vvp") {
        println!("cargo:rustc-cfg=has_icarus");
    }
    if has("yosys") && has("yosys-abc") {
        println!("cargo:rustc-cfg=has_yosys");
    }
    // Installing or removing a tool changes the folder that contains it. Cargo therefore watches all folders
    // of `PATH`.
    let all = folders.iter().filter(|folder| folder.is_dir());
    all.for_each(|folder| println!("cargo:rerun-if-changed={}", folder.display()));
}
