//! # Requirements of a program
//! Reads from an ELF file which libraries a program loads, and which functions of the CUDA runtime it
//! imports. A missing function is therefore reported before the program starts.

use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{Dyn, ElfFile64, FileHeader};
use object::{Object, ObjectSymbol};
use thiserror::Error;

/// Names of the libraries and CUDA functions that an ELF file needs or defines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Names of the libraries that the file loads.
    pub libraries: Vec<String>,
    /// CUDA functions that the file imports, sorted.
    pub imports: Vec<String>,
    /// CUDA functions that the file defines, sorted. They are exported, or part of a statically linked CUDA
    /// runtime.
    pub exports: Vec<String>,
    /// True if the file contains device code (code for the GPU).
    pub has_device_code: bool,
}

/// Error: a file is not a program, because it is not a 64-bit ELF file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("not a 64-bit ELF program: {0}")]
pub struct NotAProgram(String);

/// True if `name` has the form of a function of the CUDA runtime, such as `cudaMalloc`.
fn is_cuda(name: &str) -> bool {
    let name = name.strip_prefix("__").unwrap_or(name);
    name.strip_prefix("cuda").is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_uppercase()))
}

/// Reads the requirements of a program or library.
///
/// # Errors
/// Returns an error if the bytes are not a 64-bit ELF file.
pub fn needs(bytes: &[u8]) -> Result<Needs, NotAProgram> {
    let bad = |error: object::Error| NotAProgram(error.to_string());
    let file: ElfFile64<'_> = ElfFile64::parse(bytes).map_err(bad)?;
    let mut needs = Needs { has_device_code: file.section_by_name(".nv_fatbin").is_some(), ..Needs::default() };
    let header = FileHeader64::<object::Endianness>::parse(bytes).map_err(bad)?;
    let endian = header.endian().map_err(bad)?;
    let sections = header.sections(endian, bytes).map_err(bad)?;
    if let Some((entries, link)) = sections.dynamic(endian, bytes).map_err(bad)? {
        let strings = sections.strings(endian, bytes, link).map_err(bad)?;
        for entry in entries.iter().filter(|entry| entry.tag32(endian).map(i64::from) == Some(DT_NEEDED)) {
            let name = entry.string(endian, strings).map_err(bad)?;
            needs.libraries.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    for symbol in file.dynamic_symbols().chain(file.symbols()) {
        let Some(name) = symbol.name().ok().filter(|name| is_cuda(name)) else { continue };
        let list = if symbol.is_undefined() { &mut needs.imports } else { &mut needs.exports };
        if symbol.is_undefined() || symbol.is_global() {
            list.push(name.split('@').next().unwrap_or(name).to_owned());
        }
    }
    for list in [&mut needs.imports, &mut needs.exports] {
        list.sort();
        list.dedup();
    }
    Ok(needs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_runtime_are_told_from_others() {
        assert!(is_cuda("cudaMalloc") && is_cuda("__cudaRegisterFunction"));
        assert!(!is_cuda("cudart") && !is_cuda("malloc") && !is_cuda("_Z9cudaThingv"));
    }

    #[test]
    fn a_test_program_needs_the_c_library_and_no_cuda() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let needs = needs(&own).unwrap();
        assert!(needs.libraries.iter().any(|library| library.starts_with("libc.so")), "{needs:?}");
        assert!(needs.imports.is_empty() && !needs.has_device_code);
    }

    #[test]
    fn other_files_are_refused() {
        assert!(needs(b"#!/bin/sh\n").unwrap_err().to_string().starts_with("not a 64-bit ELF program"));
        assert!(needs(&[]).is_err());
    }
}
