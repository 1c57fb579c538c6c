//! Checks, before a program starts, that the replacement for the CUDA runtime has everything that the program
//! needs.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use cuda::elf::{Needs, needs};
use warpsieve::run::RunError;

use crate::{RUNTIMES, failure};

/// Prefixes by which a library name is recognized as a CUDA library other than the runtime.
const OTHERS: [&str; 16] = [
    "libcublas",
    "libcuda",
    "libcudnn",
    "libcudss",
    "libcufft",
    "libcufile",
    "libcuinj",
    "libcupti",
    "libcurand",
    "libcusolver",
    "libcusparse",
    "libcustatevec",
    "libcutensor",
    "libnccl",
    "libnpp",
    "libnv",
];

/// Returns the names of the CUDA functions that the replacement for the CUDA runtime implements.
///
/// # Errors
/// Returns an error if the library cannot be read.
pub fn exports(library: &Path) -> Result<Vec<String>, RunError> {
    let bytes = fs::read(library).map_err(|e| failure(library, &format!("the CUDA runtime cannot be read: {e}")))?;
    Ok(needs(&bytes).map_err(|e| failure(library, &e))?.exports)
}

/// Checks that the replacement for the CUDA runtime implements every CUDA function that a program needs. Also
/// checks that the program needs no other CUDA library. Files other than ELF programs, such as scripts, are
/// not checked.
///
/// # Errors
/// Returns an error if the program or the library cannot be read, or if something is missing. The error lists
/// what is missing.
pub fn check(program: &Path, library: &Path) -> Result<(), RunError> {
    let bytes = fs::read(program).map_err(|e| failure(program, &format!("the program cannot be read: {e}")))?;
    let available = exports(library)?;
    match needs(&bytes) {
        Ok(needs) => missing(&needs, &available).map_err(|reason| failure(program, &reason)),
        Err(_) => Ok(()),
    }
}

fn missing(needs: &Needs, available: &[String]) -> Result<(), String> {
    let is_runtime = |name: &String| RUNTIMES.contains(&name.as_str());
    if needs.has_device_code && !needs.libraries.iter().any(is_runtime) {
        let old = needs.libraries.iter().find(|name| name.starts_with("libcudart.so"));
        return Err(match old {
            Some(old) => format!("the program needs {old}, expected {}", RUNTIMES.join(" or ")),
            None => "the program contains its own CUDA runtime: build it with `nvcc -cudart shared`".to_owned(),
        });
    }
    let others = needs.libraries.iter().filter(|name| !is_runtime(name) && OTHERS.iter().any(|o| name.starts_with(o)));
    let others: Vec<_> = others.map(String::as_str).collect();
    if !others.is_empty() {
        return Err(format!("the program needs {}, which the simulated machine does not have", others.join(", ")));
    }
    let functions = needs.imports.iter().filter(|name| !available.contains(name));
    let functions: Vec<_> = functions.map(String::as_str).collect();
    if functions.is_empty() {
        return Ok(());
    }
    Err(format!("the program needs functions of the CUDA runtime that are not supported: {}", functions.join(", ")))
}

/// Returns the path of the file that the operating system would start for a program name: a search through
/// `PATH`.
pub fn find(name: &Path) -> PathBuf {
    if name.components().count() > 1 {
        return name.to_owned();
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(libraries: &[&str], imports: &[&str]) -> Needs {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Needs { libraries: owned(libraries), imports: owned(imports), has_device_code: true, ..Needs::default() }
    }

    #[test]
    fn all_missing_functions_are_named() {
        let available = ["cudaMalloc".to_owned()];
        let needs = program(&["libcudart.so.13", "libc.so.6"], &["cudaGraphLaunch", "cudaIpcOpen", "cudaMalloc"]);
        let message =
            "the program needs functions of the CUDA runtime that are not supported: cudaGraphLaunch, cudaIpcOpen";
        assert_eq!(missing(&needs, &available), Err(message.to_owned()));
        assert_eq!(missing(&program(&["libcudart.so.12"], &["cudaMalloc"]), &available), Ok(()));
        // Libraries that are not part of CUDA are accepted, even if their names begin like those of CUDA
        // libraries.
        assert_eq!(missing(&program(&["libcudart.so.12", "libcurl.so.4", "libcups.so.2"], &[]), &available), Ok(()));
    }

    #[test]
    fn other_runtimes_and_libraries_are_refused_by_name() {
        let message = |libraries: &[&str]| missing(&program(libraries, &[]), &[]).unwrap_err();
        assert!(message(&["libc.so.6"]).contains("nvcc -cudart shared"));
        assert!(message(&["libcudart.so.11.0"]).contains("libcudart.so.11.0, expected libcudart.so.12"));
        assert!(
            message(&["libcudart.so.13", "libcublas.so.13", "libcuda.so.1"]).contains("libcublas.so.13, libcuda.so.1")
        );
    }
}
