//! Fingerprint (hash) of the sources that determine the results of runs. The build script computes it, and
//! tests check it.
//!
//! The fingerprint covers all files of all crates on which this crate depends, including embedded data, but
//! no tests or benchmarks. Any of these files may affect a result. The files of machines and designs are left
//! out, because the key of each result contains the values of all configuration fields.

use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Files of the workspace that determine its crates, its build settings and the versions of dependencies.
const OF_WORKSPACE: [&str; 2] = ["Cargo.toml", "Cargo.lock"];

/// Folder of the crate that embeds machines and designs. The folder is left out, because the key of a result
/// contains the resolved configuration.
const OF_MACHINES: &str = "machines";

/// Lists the files and the folders of crates that determine results, for the workspace in the folder `root`.
///
/// # Errors
/// Returns an error if `root` cannot be read.
pub fn places(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut places: Vec<_> = OF_WORKSPACE.iter().map(|name| root.join(name)).collect();
    let folders = fs::read_dir(root)?.collect::<io::Result<Vec<_>>>()?;
    for folder in folders.iter().map(fs::DirEntry::path) {
        // Crates that depend on the crate `papers` are left out: they cannot affect its results.
        let manifest = fs::read_to_string(folder.join("Cargo.toml"));
        let depends =
            |text: &str| ["papers.workspace", "warpsieve-cli.workspace"].iter().any(|name| text.contains(name));
        if !folder.ends_with(OF_MACHINES) && manifest.is_ok_and(|text| !depends(&text)) {
            places.push(folder);
        }
    }
    places.sort_unstable();
    Ok(places)
}

/// Computes the fingerprint of the workspace in the folder `root`. It depends on relative file names and on
/// contents, but not on the location of the folder.
///
/// # Errors
/// Returns an error if one of the files cannot be read.
pub fn fingerprint(root: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    for place in places(root)? {
        collect(&place, &mut files)?;
    }
    files.sort_unstable();
    let mut hasher = DefaultHasher::new();
    for file in files {
        let content = fs::read(&file)?;
        let name = file.strip_prefix(root).unwrap_or(&file).as_os_str().as_encoded_bytes();
        for part in [name, &content] {
            hasher.write_usize(part.len());
            hasher.write(part);
        }
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn collect(place: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if is_left_out(place) {
        return Ok(());
    }
    if place.is_file() {
        files.push(place.to_owned());
        return Ok(());
    }
    if is_workspace(place) {
        return Ok(());
    }
    for entry in fs::read_dir(place)? {
        collect(&entry?.path(), files)?;
    }
    Ok(())
}

/// True if the folder is a separate workspace. No crate of this workspace uses such a folder.
fn is_workspace(place: &Path) -> bool {
    let manifest = fs::read_to_string(place.join("Cargo.toml"));
    manifest.is_ok_and(|text| text.lines().any(|line| line == "[workspace]"))
}

/// True if the file or folder is hidden, or if it belongs to tests or benchmarks.
fn is_left_out(place: &Path) -> bool {
    let stem = place.file_stem().unwrap_or_default().to_string_lossy();
    stem == "tests" || stem == "benches" || stem.ends_with("_tests") || stem.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a temporary workspace with the given files. The text in each file is the file's own path.
    fn workspace(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("cli")).unwrap();
        fs::create_dir_all(root.path().join("area/fuzz")).unwrap();
        fs::write(root.path().join("cli/Cargo.toml"), "papers.workspace = true").unwrap();
        fs::create_dir(root.path().join("machines")).unwrap();
        fs::write(root.path().join("machines/Cargo.toml"), "[package]\n").unwrap();
        fs::write(root.path().join("area/fuzz/Cargo.toml"), "[package]\n[workspace]\n").unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        root
    }

    const DECIDING: [&str; 8] = [
        "Cargo.toml",
        "Cargo.lock",
        "area/Cargo.toml",
        "area/technology.toml",
        "area/cacti.cfg",
        "papers/Cargo.toml",
        "papers/build.rs",
        "papers/xie2013/fig2.rs",
    ];
    const OTHERS: [&str; 10] = [
        "cli/args.rs",
        "area/fuzz/src/main.rs",
        "README.md",
        "machines/fermi.toml",
        "tests/cli/main.rs",
        "target/debug/Cargo.lock",
        "area/tests.rs",
        "tb/.main.rs.swp",
        "tb/benches/dram.rs",
        "sim/run/profile_tests.rs",
    ];

    #[test]
    fn every_file_of_a_crate_but_its_tests_decides() {
        let root = workspace(&[&DECIDING[..], &OTHERS].concat());
        let now = || fingerprint(root.path()).unwrap();
        for (files, decide) in [(&DECIDING[..], true), (&OTHERS, false)] {
            for file in files {
                let before = now();
                fs::write(root.path().join(file), "changed").unwrap();
                assert_eq!(now() != before, decide, "{file}");
            }
        }
    }

    #[test]
    fn a_new_file_a_lost_one_a_new_name_and_moved_text_change_it() {
        let root = workspace(&DECIDING);
        let path = |name: &str| root.path().join(name);
        let mut seen = vec![fingerprint(root.path()).unwrap()];
        let mut changed = || {
            let now = fingerprint(root.path()).unwrap();
            assert!(!seen.contains(&now));
            seen.push(now);
        };
        fs::write(path("area/new.rs"), "ab").unwrap();
        changed();
        fs::rename(path("area/new.rs"), path("area/other.rs")).unwrap();
        changed();
        fs::write(path("area/other.rs"), "a").unwrap();
        fs::write(path("area/p.rs"), "b").unwrap();
        changed();
        fs::remove_file(path("area/technology.toml")).unwrap();
        changed();
        fs::create_dir(path("new")).unwrap();
        fs::write(path("new/Cargo.toml"), "").unwrap();
        changed();
    }

    #[test]
    fn it_does_not_depend_on_where_the_workspace_lies() {
        let [one, other] = [workspace(&DECIDING), workspace(&DECIDING)];
        assert_eq!(fingerprint(one.path()).unwrap(), fingerprint(other.path()).unwrap());
    }

    #[test]
    fn the_files_that_kept_runs_come_from_are_found() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut files = Vec::new();
        places(&root).unwrap().iter().for_each(|place| collect(place, &mut files).unwrap());
        for name in [
            "sim/area/technology.toml",
            "sim/area/sram.rs",
            "papers/xie2013/fig2.rs",
            "sim/config/typed.rs",
            "sim/dram/judge.rs",
            "sim/estimate/energy.rs",
            "sim/check/dueling.rs",
            "sim/readers/mod.rs",
            "papers/fingerprint.rs",
            "sim/trace/mod.rs",
            "tb/tracker/mod.rs",
            "rtl/l1/tags.rs",
            "isa/lanes/alu.rs",
            "golden/interp.rs",
            "sim/compiler/rewrite.rs",
            "waves/atomic_file.rs",
        ] {
            let path = root.join(name);
            assert!(path.is_file() && files.contains(&path), "{name}");
        }
        assert!(!files.contains(&root.join("machines/fermi.toml")));
    }
}
