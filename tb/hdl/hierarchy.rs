//! # Hierarchy of modules
//! Finds the files of the modules that a module instantiates. A tool gets exactly these files, so that an
//! edit of another module does not invalidate its cached output.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic, Report, WrapErr};

use super::hdl_folder;

/// Modules that stand for memory macros of a technology. They have no testbench of their own, and Yosys leaves
/// them out, because it does not know the macro.
pub(super) const MACROS: [&str; 1] = ["cells/ws_cells_sram.sv"];

/// Returns true if a file contains the module of a memory macro.
pub(super) fn is_macro(file: &Path) -> bool {
    MACROS.iter().any(|name| file.ends_with(name))
}

/// Returns the files of all modules that the given texts instantiate, directly or through other modules, in
/// alphabetical order. The files of the texts themselves are not included.
///
/// # Errors
/// Returns an error if a file of `rtl/hdl/` cannot be read.
pub(super) fn instantiated(texts: &[impl AsRef<str>]) -> Result<Vec<PathBuf>, Report> {
    let known = modules_in(&hdl_folder())?;
    let mut found = BTreeSet::new();
    let mut left: Vec<PathBuf> = texts.iter().flat_map(|text| used_in(text.as_ref(), &known)).collect();
    while let Some(file) = left.pop() {
        if found.insert(file.clone()) {
            left.extend(used_in(&read(&file)?, &known));
        }
    }
    Ok(found.into_iter().collect())
}

/// Returns the file of a module, followed by the files of all modules that it instantiates.
///
/// # Errors
/// Returns an error if a file cannot be read.
pub(super) fn files(file: &Path) -> Result<Vec<PathBuf>, Report> {
    Ok([file.to_owned()].into_iter().chain(instantiated(&[read(file)?])?).collect())
}

/// Returns the concatenated texts of files, for the key under which the output of a tool is cached.
///
/// # Errors
/// Returns an error if a file cannot be read.
pub(super) fn texts_of(files: &[PathBuf]) -> Result<String, Report> {
    files.iter().map(|file| read(file)).collect()
}

/// Returns the file of each module below a folder, by the name of the module.
fn modules_in(folder: &Path) -> Result<BTreeMap<String, PathBuf>, Report> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_diagnostic().wrap_err_with(|| folder.display().to_string())? {
        let path = entry.into_diagnostic()?.path();
        if path.is_dir() {
            found.append(&mut modules_in(&path)?);
        } else if let (true, Some(name)) =
            (path.extension() == Some(OsStr::new("sv")), path.file_stem().and_then(OsStr::to_str))
        {
            found.insert(name.to_owned(), path);
        }
    }
    Ok(found)
}

/// Returns the files of the modules whose names occur in a text outside comments, without the module that the
/// text declares.
fn used_in(text: &str, known: &BTreeMap<String, PathBuf>) -> Vec<PathBuf> {
    let code = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    let is_other = |byte: char| !byte.is_ascii_alphanumeric() && byte != '_';
    let mut declared = "";
    let mut used = Vec::new();
    for line in code {
        declared = line.strip_prefix("module ").and_then(|rest| rest.split(is_other).next()).unwrap_or(declared);
        used.extend(line.split(is_other).filter(|word| *word != declared).filter_map(|word| known.get(word)).cloned());
    }
    used
}

fn read(file: &Path) -> Result<String, Report> {
    fs::read_to_string(file).into_diagnostic().wrap_err_with(|| file.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_of_another_folder_is_found_and_a_comment_is_not() {
        let names = |text: &str| -> Vec<_> {
            let files = instantiated(&[text]).unwrap();
            files.iter().map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
        };
        let top =
            "module ws_l1_tags #(\n  // As in ws_l1_mshr.\n  ws_dram_bank bank (); ws_l1_tags_x x (.*);\nendmodule";
        assert_eq!(names(top), ["ws_dram_bank"]);
        assert_eq!(names("module ws_l1_tags ();\nendmodule"), [""; 0]);
    }
}
