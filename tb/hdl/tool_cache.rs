//! # Cache of tool outputs
//! Verilator and Yosys give equal outputs for equal inputs. Their outputs are therefore cached in the build
//! folder. A hash of all inputs is part of the file name. A repeated test compares again, but does not run
//! the tools again. For each cache name, only the latest file is kept.

use std::fs;
use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic, Report};
use warpsieve::config::fnv1a;
use waves::atomic_file::Scratch;

/// Returns the cached file under `name` that was made from exactly the inputs `from`. If there is no such
/// file, calls `make` to write it.
///
/// # Errors
/// Returns an error if `make` fails, or the cache cannot be written.
pub(super) fn find_cached(
    name: &str,
    from: &[impl AsRef<str>],
    make: impl FnOnce(&Path) -> Result<(), Report>,
) -> Result<PathBuf, Report> {
    let folder = Path::new(env!("OUT_DIR")).join("kept").join(name);
    fs::create_dir_all(&folder).into_diagnostic()?;
    // Each text is preceded by its length, so that no two lists of texts give the same bytes to hash.
    let all: String =
        from.iter().map(AsRef::as_ref).flat_map(|text: &str| [format!("{} ", text.len()), text.to_owned()]).collect();
    let file = folder.join(format!("{:016x}", fnv1a(all.as_bytes())));
    if !file.exists() {
        // The file is written in a temporary folder and then renamed. A program cannot be started while any
        // process has it open for writing, even if that process is only a child that was just forked.
        let part = Scratch::within(&folder).into_diagnostic()?;
        let made = part.path().join("made");
        make(&made)?;
        let others = fs::read_dir(&folder).into_diagnostic()?.flatten().map(|other| other.path());
        for other in others.filter(|other| *other != file) {
            // Errors are ignored, since another process may already have removed the outdated file.
            let _ = fs::remove_file(other);
        }
        fs::rename(made, &file).into_diagnostic()?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the contents of the cached file, and a flag that is true if this call created the file.
    fn made(name: &str, from: &[&str]) -> (String, bool) {
        let mut is_made = false;
        let file = find_cached(name, from, |to| {
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
        // The cache keeps only the latest file of each name. The file for the inputs `ab` and `c` was
        // replaced, so it must be made again.
        assert_eq!(made(name, &["ab", "c"]), ("abc".to_owned(), true));
    }

    #[test]
    fn what_cannot_be_made_is_not_kept() {
        let name = "a_name_of_a_failure";
        let fails = |_: &Path| Err(miette::miette!("no tool"));
        assert_eq!(find_cached(name, &["x"], fails).unwrap_err().to_string(), "no tool");
        assert_eq!(made(name, &["x"]), ("x".to_owned(), true));
        fs::remove_dir_all(Path::new(env!("OUT_DIR")).join("kept").join(name)).unwrap();
    }
}
