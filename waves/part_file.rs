//! # Part file: a file that appears whole or not at all
//!
//! Bytes go to `NAME.part`; [`PartFile::keep`] renames it to `NAME`. A file dropped before that is removed, so
//! that a failed or abandoned run leaves neither half a dump nor a damaged older one. A link stays: the file that it leads to
//! is replaced. What is there and is no file, such as `/dev/stdout` or a pipe, is written to as it is.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file under construction.
#[derive(Debug)]
pub struct PartFile {
    file: File,
    /// Where the bytes are: the part, or a device or pipe itself.
    at: PathBuf,
    /// What the part is to replace, if it is one.
    replaces: Option<PathBuf>,
    target: PathBuf,
    kept: bool,
}

impl PartFile {
    /// Opens `NAME.part` for the target `NAME`.
    pub fn create(target: &Path) -> io::Result<PartFile> {
        let refuse = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {why}", target.display()));
        let there = fs::metadata(target).map(|there| there.file_type()).ok();
        // Found out now rather than by the rename after hours of simulation.
        if there.is_some_and(|there| there.is_dir()) {
            return Err(refuse("is a directory, expected a file name"));
        }
        if there.is_some_and(|there| !there.is_file()) {
            let file = File::options().write(true).open(target);
            let file = file.map_err(|error| about("cannot be written to", target, &error))?;
            let target = target.to_owned();
            return Ok(PartFile { file, at: target.clone(), replaces: None, target, kept: false });
        }
        let replaces = match fs::canonicalize(target) {
            Ok(file) if target.is_symlink() => file,
            _ => target.to_owned(),
        };
        let Some(name) = replaces.file_name() else {
            return Err(refuse("names no file"));
        };
        let mut part_name = OsString::from(name);
        part_name.push(".part");
        let at = replaces.with_file_name(part_name);
        let file = File::create(&at).map_err(|error| about("cannot create", &at, &error))?;
        Ok(PartFile { file, at, replaces: Some(replaces), target: target.to_owned(), kept: false })
    }

    /// Makes the file appear under its own name, which is returned.
    pub fn keep(mut self) -> io::Result<PathBuf> {
        if let Some(target) = &self.replaces {
            // Some file systems report a full disk only here.
            self.file.sync_data().map_err(|error| about("cannot write", &self.at, &error))?;
            fs::rename(&self.at, target).map_err(|error| about("cannot rename to its final name", &self.at, &error))?;
        }
        self.kept = true;
        Ok(self.target.clone())
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| about("cannot write", &self.at, &error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| about("cannot write", &self.at, &error))
    }
}

impl Seek for PartFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to).map_err(|error| about("cannot write", &self.at, &error))
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.kept && self.replaces.is_some() {
            // Nobody is left to tell: the error that led here has already been returned.
            let _ = fs::remove_file(&self.at);
        }
    }
}

/// The same error with what was tried and on which file; the kind is kept, for callers that retry on it.
fn about(action: &str, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {action}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_in(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("folder exists");
        entries.map(|entry| entry.expect("readable").file_name().into_string().expect("plain name")).collect()
    }

    #[test]
    fn a_kept_file_stands_under_its_own_name_only() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let target = folder.path().join("a.vcd");
        let mut file = PartFile::create(&target)?;
        file.write_all(b"whole")?;
        assert_eq!(names_in(folder.path()), ["a.vcd.part"]);
        assert_eq!(file.keep()?, target);
        assert_eq!(names_in(folder.path()), ["a.vcd"]);
        assert_eq!(fs::read(&target)?, b"whole");
        Ok(())
    }

    #[test]
    fn an_abandoned_file_leaves_the_older_one_alone() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let target = folder.path().join("a.vcd");
        fs::write(&target, "older")?;
        PartFile::create(&target)?.write_all(b"half")?;
        assert_eq!(names_in(folder.path()), ["a.vcd"]);
        assert_eq!(fs::read(&target)?, b"older");
        Ok(())
    }

    #[test]
    fn a_folder_is_refused_before_anything_is_written() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let error = PartFile::create(folder.path()).expect_err("a folder cannot be a dump");
        assert!(error.to_string().ends_with("is a directory, expected a file name"), "{error}");
        Ok(())
    }

    #[test]
    fn a_missing_folder_is_named_in_the_error() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let error = PartFile::create(&folder.path().join("none/a.vcd")).expect_err("the folder does not exist");
        assert!(error.to_string().contains("none/a.vcd.part: cannot create: "), "{error}");
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_the_file_behind_it_is_replaced() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let [file, link] = ["file.vcd", "link.vcd"].map(|name| folder.path().join(name));
        fs::write(&file, "older")?;
        std::os::unix::fs::symlink(&file, &link)?;
        let mut part = PartFile::create(&link)?;
        part.write_all(b"newer")?;
        assert_eq!(part.keep()?, link);
        assert!(fs::symlink_metadata(&link)?.is_symlink());
        assert_eq!(fs::read(&file)?, b"newer");
        Ok(())
    }

    /// Reached by a link, so that a mistake replaces that and no device.
    #[cfg(unix)]
    #[test]
    fn a_device_is_written_to_and_not_replaced() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let [null, full] = ["null", "full"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink("/dev/null", &null)?;
        std::os::unix::fs::symlink("/dev/full", &full)?;
        let mut nowhere = PartFile::create(&null)?;
        nowhere.write_all(b"some")?;
        assert_eq!(nowhere.keep()?, null);
        let mut refused = PartFile::create(&full)?;
        assert_eq!(refused.write_all(b"some").expect_err("it is full").kind(), io::ErrorKind::StorageFull);
        drop(refused);
        assert_eq!(names_in(folder.path()).len(), 2);
        assert!(!fs::metadata(&null)?.is_file() && !fs::metadata(&full)?.is_file());
        Ok(())
    }
}
