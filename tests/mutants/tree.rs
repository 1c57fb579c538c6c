//! Creates and restores the mutated copy of the workspace in `target/mutants/tree`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::scan::Site;
use crate::weave::{WovenFile, weave};

/// Source code of the module that is added to every crate with mutants.
const SWITCH: &str = include_str!("switch.rs");

/// Mutated copy of the workspace, with the contents that its files should have.
#[derive(Debug)]
pub struct Tree {
    pub folder: PathBuf,
    files: BTreeMap<String, Vec<u8>>,
    woven: BTreeMap<String, WovenFile>,
}

impl Tree {
    /// Computes the contents of all files of the copy. The mutants of `sample` are numbered from 1 in the
    /// given order. Does not write any file yet.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read.
    pub fn new(root: &Path, files: &[String], sample: &[Site]) -> Result<Self, String> {
        let read = |file: &String| match fs::read(root.join(file)) {
            Ok(bytes) => Ok((file.clone(), bytes)),
            Err(e) => Err(format!("{file}: {e}")),
        };
        let mut files: BTreeMap<_, _> = files.iter().map(read).collect::<Result<_, _>>()?;
        let mut of_file: BTreeMap<&str, Vec<(u32, &Site)>> = BTreeMap::new();
        for (number, site) in (1..).zip(sample) {
            of_file.entry(&site.file).or_default().push((number, site));
        }
        let mut woven = BTreeMap::new();
        for (file, mut sites) in of_file {
            // Mutants must be inserted in the order in which they were found: sorted by position, enclosing
            // mutants first.
            sites.sort_by_key(|(_, site)| site.order);
            let mutants: Vec<_> = sites.iter().map(|(number, site)| (*number, &site.mutant)).collect();
            let text = String::from_utf8_lossy(&files[file]).into_owned();
            let result = weave(&text, &mutants);
            files.insert(file.to_owned(), result.text.clone().into_bytes());
            woven.insert(file.to_owned(), result);
            let folder = package(root, file);
            let library = format!("{folder}/lib.rs");
            if files.insert(format!("{folder}/__mutant.rs"), SWITCH.into()).is_none() {
                files.get_mut(&library).ok_or(format!("{library} is not there"))?.extend(b"\nmod __mutant;\n");
            }
        }
        Ok(Self { folder: root.join("target/mutants/tree"), files, woven })
    }

    /// Returns the folders of the packages that have mutants.
    pub fn packages(&self, root: &Path) -> BTreeSet<String> {
        self.woven.keys().map(|file| package(root, file)).collect()
    }

    /// Returns the numbers of the mutants at a byte range of a file in the copy.
    pub fn at(&self, file: &str, bytes: &std::ops::Range<usize>) -> Vec<u32> {
        self.woven.get(file).map(|woven| woven.at(bytes)).unwrap_or_default()
    }

    /// Restores the copy. Writes only files whose contents differ, so that cargo rebuilds as little as
    /// possible, and removes files that tests have left.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub fn restore(&self) -> Result<(), String> {
        let failed = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
        for path in walk(&self.folder) {
            let inside = path.strip_prefix(&self.folder).unwrap_or(&path).display().to_string();
            if !self.files.contains_key(&inside) {
                fs::remove_file(&path).map_err(|e| failed(&path, e))?;
            }
        }
        for (file, bytes) in &self.files {
            let path = self.folder.join(file);
            if fs::read(&path).is_ok_and(|there| there == *bytes) {
                continue;
            }
            fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(|e| failed(&path, e))?;
            fs::write(&path, bytes).map_err(|e| failed(&path, e))?;
        }
        Ok(())
    }
}

/// Returns the folder of the package that a file belongs to.
fn package(root: &Path, file: &str) -> String {
    let mut folders = Path::new(file).ancestors().skip(1);
    let found = folders.find(|folder| root.join(folder).join("Cargo.toml").exists());
    found.unwrap_or(Path::new("")).display().to_string()
}

/// Returns all files below a folder.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                _ => files.push(entry.path()),
            }
        }
    }
    files
}

#[cfg(test)]
mod tests;
