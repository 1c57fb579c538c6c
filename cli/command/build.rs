//! Tests that need Slurm, Chromium, nvcc or the Python package are ignored where these are missing.

use std::env;
use std::path::Path;

fn main() {
    let has = |tool: &str| ["/usr/sbin", "/usr/bin"].iter().any(|folder| Path::new(folder).join(tool).exists());
    let folders = env::var_os("PATH").unwrap_or_default();
    let has_nvcc = env::split_paths(&folders).any(|folder| folder.join("nvcc").exists());
    for (name, is_there) in [
        ("has_slurm", ["slurmctld", "slurmd", "munged", "sbatch"].iter().all(|tool| has(tool))),
        ("has_chromium", has("chromium")),
        ("has_nvcc", has_nvcc || env::var_os("NVCC").is_some()),
        ("has_python", env::var_os("WARPSIEVE_PYTHON").is_some()),
    ] {
        println!("cargo::rustc-check-cfg=cfg({name})");
        if is_there {
            println!("cargo::rustc-cfg={name}");
        }
    }
    for variable in ["NVCC", "PATH", "WARPSIEVE_PYTHON"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    for place in ["/usr/sbin", "/usr/bin"] {
        println!("cargo::rerun-if-changed={place}");
    }
}
