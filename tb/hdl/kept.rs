//! # What tools have made before
//! Verilator and Yosys make the same of the same. What they made lies beside the build, under a digest of all that went in,
//! so that tests that run again compare again, but make nothing again. A name keeps one file, that which was made last.

use std::fs;
use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic, Report};
use warpsieve::config::fnv1a;
use waves::part_file::Scratch;

/// The file of a name that was made from just this; where there is none, `make` writes it to the path it is given.
///
/// # Errors
/// Those of `make`, or if nothing can be written beside the build.
pub(super) fn kept(
    name: &str,
    from: &[impl AsRef<str>],
    make: impl FnOnce(&Path) -> Result<(), Report>,
) -> Result<PathBuf, Report> {
    let folder = Path::new(env!("OUT_DIR")).join("kept").join(name);
    fs::create_dir_all(&folder).into_diagnostic()?;
    // No two lists of texts are the same bytes.
    let all: String =
        from.iter().map(AsRef::as_ref).flat_map(|text: &str| [format!("{} ", text.len()), text.to_owned()]).collect();
    let file = folder.join(format!("{:016x}", fnv1a(all.as_bytes())));
    if !file.exists() {
        // The file is never open here: a program that is open for writing, if only by a child just forked, does not start.
        let part = Scratch::within(&folder).into_diagnostic()?;
        let made = part.path().join("made");
        make(&made)?;
        let others = fs::read_dir(&folder).into_diagnostic()?.flatten().map(|other| other.path());
        for other in others.filter(|other| *other != file) {
            // Another may have removed it.
            let _ = fs::remove_file(other);
        }
        fs::rename(made, &file).into_diagnostic()?;
    }
    Ok(file)
}

/// The texts of all modules of a folder, by name: a tool may use what it finds there.
pub(super) fn texts(folder: &Path) -> Result<String, Report> {
    let mut files: Vec<_> = fs::read_dir(folder).into_diagnostic()?.flatten().map(|file| file.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "sv"));
    files.sort();
    let text = |file: &PathBuf| Ok(format!("{}\n{}", file.display(), fs::read_to_string(file).into_diagnostic()?));
    files.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What lies under a name made from something, and whether it was made for it.
    fn made(name: &str, from: &[&str]) -> (String, bool) {
        let mut is_made = false;
        let file = kept(name, from, |to| {
            is_made = true;
            fs::write(to, from.concat()).into_diagnostic()
        });
        (fs::read_to_string(file.unwrap()).unwrap(), is_made)
    }

    #[test]
    fn the_same_is_made_once_and_anything_else_anew() {
        let name = "a_name_of_a_test";
        let _ = fs::remove_dir_all(Path::new(env!("OUT_DIR")).join("kept").join(name));
        assert_eq!(made(name, &["ab", "c"]), ("abc".to_owned(), true));
        assert_eq!(made(name, &["ab", "c"]), ("abc".to_owned(), false));
        assert_eq!(made(name, &["a", "bc"]), ("abc".to_owned(), true));
        // Only the last is kept.
        assert_eq!(made(name, &["ab", "c"]), ("abc".to_owned(), true));
    }

    #[test]
    fn what_cannot_be_made_is_not_kept() {
        let name = "a_name_of_a_failure";
        let fails = |_: &Path| Err(miette::miette!("no tool"));
        assert_eq!(kept(name, &["x"], fails).unwrap_err().to_string(), "no tool");
        assert_eq!(made(name, &["x"]), ("x".to_owned(), true));
        fs::remove_dir_all(Path::new(env!("OUT_DIR")).join("kept").join(name)).unwrap();
    }
}
