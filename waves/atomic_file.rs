//! # Atomic file: an output file that appears completely or not at all
//!
//! Bytes are written to a temporary file next to `NAME`, called `NAME.warpsieve-1.part`.
//! [`AtomicFile::commit`] renames it to `NAME`. If the value is dropped earlier, the temporary file is
//! removed. A failed or abandoned run therefore leaves no partial dump and does not damage an older one. If
//! `NAME` is a link, its target is replaced and the link stays. If `NAME` is a device or a pipe, such as
//! `/dev/stdout`, the bytes are written to it directly.
//!
//! The writing process holds a lock on the temporary file. Two processes that write the same file use
//! separate temporary files, distinguished by number. An unlocked temporary file was left behind by a process
//! that could not remove it; the next writer reuses it. A replaced file keeps its permissions, and a
//! write-protected file is not replaced.
//!
//! A [`Scratch`] folder holds data that only this process needs. [`discard_all`] removes the temporary files
//! and scratch folders when the process exits without dropping them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

/// Maximum number of processes that write the same file at a time.
const MAX_WRITERS: u32 = 1000;
/// Maximum length of a chain of symbolic links.
const MAX_LINKS: usize = 40;

/// Output file under construction.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    /// Path of the temporary file, or of the device or pipe itself.
    at: PathBuf,
    /// Path that the temporary file replaces; `None` for a device or a pipe.
    replaces: Option<PathBuf>,
    target: PathBuf,
    kept: bool,
}

impl AtomicFile {
    /// Opens the temporary file that will replace the file `target`. If `target` is a device or a pipe, opens
    /// it directly.
    pub fn create(target: &Path) -> io::Result<AtomicFile> {
        let refuse = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {why}", target.display()));
        let there = fs::metadata(target).map(|there| there.file_type()).ok();
        // Reports an unusable target now. Otherwise the error would appear only at the rename, perhaps after
        // hours of simulation.
        if there.is_some_and(|there| there.is_dir()) {
            return Err(refuse("is a directory, expected a file name"));
        }
        if there.is_some_and(|there| !there.is_file()) {
            let file = File::options().write(true).open(target);
            let file = file.map_err(|error| about("cannot be written to", target, &error))?;
            let target = target.to_owned();
            return Ok(AtomicFile { file, at: target.clone(), replaces: None, target, kept: false });
        }
        if there.is_some() {
            // A later rename would not check the write permission of the file that it replaces, so it is
            // checked here.
            let opened = File::options().write(true).open(target);
            opened.map_err(|error| about("cannot be written to", target, &error))?;
        }
        if target.as_os_str().as_encoded_bytes().last().is_some_and(|&last| std::path::is_separator(char::from(last))) {
            return Err(refuse("is not an existing directory, expected a file name"));
        }
        let is_link = fs::symlink_metadata(target).is_ok_and(|there| there.is_symlink());
        if is_link && fs::metadata(target).is_err_and(|error| error.kind() != io::ErrorKind::NotFound) {
            return Err(refuse("is a dangling link"));
        }
        let replaces = destination(target);
        if replaces.file_name().is_none() {
            return Err(refuse("names no file"));
        }
        let (file, at) = begin(&replaces).map_err(|error| about("cannot create", target, &error))?;
        Ok(AtomicFile { file, at, replaces: Some(replaces), target: target.to_owned(), kept: false })
    }

    /// Renames the temporary file to its final name and returns that name.
    pub fn commit(mut self) -> io::Result<PathBuf> {
        if let Some(replaced) = &self.replaces {
            // Some file systems report a full disk only when data are synchronized with the disk.
            let _unhurried = CompletionGuard::begin();
            self.file.sync_data().map_err(|error| about("cannot write", &self.target, &error))?;
            if let Ok(there) = fs::metadata(replaced) {
                let kept = self.file.set_permissions(there.permissions());
                kept.map_err(|error| about("cannot preserve the permissions", &self.target, &error))?;
            }
            let mut parts = parts();
            if parts.is_over {
                return Err(about("cannot write", &self.target, &io::ErrorKind::Interrupted.into()));
            }
            let renamed = fs::rename(&self.at, replaced);
            renamed.map_err(|error| about("cannot rename to its final name", &self.at, &error))?;
            parts.under_way.remove(&self.at);
        }
        self.kept = true;
        Ok(self.target.clone())
    }
}

/// Folder for data that only this process needs. The folder is removed when this value is dropped, or by
/// [`discard_all`].
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Scratch {
    /// Creates a folder in the system's temporary directory.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created, or if the process is about to exit.
    pub fn new() -> io::Result<Self> {
        Self::of(TempDir::new)
    }

    /// Creates a folder inside another folder.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created, or if the process is about to exit.
    pub fn within(folder: &Path) -> io::Result<Self> {
        Self::of(|| TempDir::new_in(folder))
    }

    fn of(make: impl FnOnce() -> io::Result<TempDir>) -> io::Result<Self> {
        let mut parts = parts();
        if parts.is_over {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let folder = make()?;
        parts.under_way.insert(folder.path().to_owned());
        Ok(Self(folder))
    }

    /// Path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        parts().under_way.remove(self.0.path());
    }
}

/// Number of threads that are completing a file.
static UNHURRIED: AtomicUsize = AtomicUsize::new(0);

/// Guard that exists while a thread completes a file. The code that exits the process waits until no guard
/// exists, since the file would otherwise be lost.
#[derive(Debug)]
#[must_use]
pub struct CompletionGuard(());

impl CompletionGuard {
    /// Registers that a file is being completed. The registration ends when the guard is dropped.
    pub fn begin() -> Self {
        UNHURRIED.fetch_add(1, Ordering::Relaxed);
        Self(())
    }

    /// True if any thread is completing a file.
    #[must_use]
    pub fn is_any() -> bool {
        UNHURRIED.load(Ordering::Relaxed) > 0
    }
}

impl Drop for CompletionGuard {
    fn drop(&mut self) {
        UNHURRIED.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Temporary files and scratch folders that this process has created and neither completed nor removed yet.
struct Parts {
    under_way: BTreeSet<PathBuf>,
    /// True if the process is about to exit. No file may be started or completed after that.
    is_over: bool,
}

fn parts() -> MutexGuard<'static, Parts> {
    static PARTS: Mutex<Parts> = Mutex::new(Parts { under_way: BTreeSet::new(), is_over: false });
    PARTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all temporary files and scratch folders of this process, which is about to exit without dropping
/// them.
pub fn discard_all() {
    let mut parts = parts();
    parts.is_over = true;
    for part in std::mem::take(&mut parts.under_way) {
        // Errors are ignored: the process exits, so no code could report them.
        let _ = if part.is_dir() { fs::remove_dir_all(part) } else { fs::remove_file(part) };
    }
}

/// Opens and locks the temporary file that will later replace the file `replaces`. It is a new file, or one
/// that another process left behind.
fn begin(replaces: &Path) -> io::Result<(File, PathBuf)> {
    let mut parts = parts();
    if parts.is_over {
        return Err(io::ErrorKind::Interrupted.into());
    }
    for number in 1..=MAX_WRITERS {
        let mut name = OsString::from(replaces.file_name().unwrap_or_default());
        name.push(format!(".warpsieve-{number}.part"));
        let at = replaces.with_file_name(name);
        if let Some(file) = claim(&at)? {
            parts.under_way.insert(at.clone());
            return Ok((file, at));
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, format!("{MAX_WRITERS} other processes write it")))
}

/// Opens and locks the temporary file at this path, or returns `None` if another process is writing it.
fn claim(at: &Path) -> io::Result<Option<File>> {
    let mut options = File::options();
    options.write(true);
    let (file, is_new) = match options.clone().create_new(true).open(at) {
        Ok(file) => (file, true),
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Err(_) => {
            match fs::symlink_metadata(at).and_then(|there| there.is_file().then(|| options.open(at)).transpose()) {
                Ok(Some(file)) => (file, false),
                _ => return Ok(None),
            }
        }
    };
    match file.try_lock() {
        Ok(()) => {}
        // A file system without locks cannot show whether another process still uses an existing temporary
        // file, so only a new file is accepted.
        Err(TryLockError::Error(_)) if is_new => return Ok(Some(file)),
        Err(_) => return Ok(None),
    }
    // Between the opening and the locking of the file, another process may have renamed it to its final name.
    let is_still = is_same(&file.metadata()?, &fs::symlink_metadata(at)?).unwrap_or(true);
    if is_still { file.set_len(0).map(|()| Some(file)) } else { Ok(None) }
}

/// Identity of the file to which a path leads, after all links are followed. The file need not exist yet.
#[derive(Clone, Debug)]
pub struct FileIdentity {
    path: PathBuf,
    there: Option<Metadata>,
}

impl FileIdentity {
    /// Returns the identity of the file that would be read or written at `path`.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        Self { path: destination(path), there: fs::metadata(path).ok() }
    }

    /// True if writing one of two files can change the other: both are the same file, or one path is a folder
    /// that contains the other file.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        let both = self.there.as_ref().zip(other.there.as_ref());
        both.and_then(|(one, other)| is_same(one, other)) == Some(true)
            || self.path.starts_with(&other.path)
            || other.path.starts_with(&self.path)
    }

    /// True if the path leads to a device or a pipe, rather than to a file or a folder.
    #[must_use]
    pub fn is_device(&self) -> bool {
        self.there.as_ref().is_some_and(|there| !there.is_file() && !there.is_dir())
    }
}

/// True if both arguments describe the same file; `None` on systems without inode numbers.
#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> Option<bool> {
    use std::os::unix::fs::MetadataExt;
    Some((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> Option<bool> {
    None
}

/// Resolves all links of a path. If the file does not exist yet, returns the path at which it will be
/// created.
fn destination(path: &Path) -> PathBuf {
    if let Ok(there) = fs::canonicalize(path) {
        return there;
    }
    let folder_of = |path: &Path| path.parent().unwrap_or(Path::new("")).to_owned();
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&path) else { break };
        path = folder_of(&path).join(next);
    }
    let folder = std::path::absolute(folder_of(&path).join(".")).and_then(fs::canonicalize);
    match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| about("cannot write", &self.target, &error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| about("cannot write", &self.target, &error))
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to).map_err(|error| about("cannot write", &self.target, &error))
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if !self.kept && self.replaces.is_some() && parts().under_way.remove(&self.at) {
            // Errors are ignored: if the file is dropped because of an earlier error, that error has already
            // been returned.
            let _ = fs::remove_file(&self.at);
        }
    }
}

/// Adds the attempted action and the path of the file to an error. The kind of the error does not change,
/// since callers retry on some kinds.
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
        let mut file = AtomicFile::create(&target)?;
        file.write_all(b"whole")?;
        assert_eq!(names_in(folder.path()), ["a.vcd.warpsieve-1.part"]);
        assert_eq!(file.commit()?, target);
        assert_eq!(names_in(folder.path()), ["a.vcd"]);
        assert_eq!(fs::read(&target)?, b"whole");
        Ok(())
    }

    #[test]
    fn an_abandoned_file_leaves_the_older_one_alone() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let target = folder.path().join("a.vcd");
        fs::write(&target, "older")?;
        AtomicFile::create(&target)?.write_all(b"half")?;
        assert_eq!(names_in(folder.path()), ["a.vcd"]);
        assert_eq!(fs::read(&target)?, b"older");
        Ok(())
    }

    #[test]
    fn a_folder_is_refused_before_anything_is_written() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let error = AtomicFile::create(folder.path()).expect_err("a folder cannot be a dump");
        assert!(error.to_string().ends_with("is a directory, expected a file name"), "{error}");
        Ok(())
    }

    #[test]
    fn a_name_that_ends_as_a_folder_and_a_link_that_leads_nowhere_are_refused() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let error = AtomicFile::create(&folder.path().join("new/")).expect_err("it would be called `new`");
        assert!(error.to_string().ends_with("is not an existing directory, expected a file name"), "{error}");
        std::os::unix::fs::symlink("loop", folder.path().join("loop"))?;
        let error = AtomicFile::create(&folder.path().join("loop")).expect_err("it leads to itself");
        assert!(error.to_string().ends_with("is a dangling link"), "{error}");
        assert_eq!(names_in(folder.path()), ["loop"]);
        Ok(())
    }

    #[test]
    fn a_missing_folder_is_named_in_the_error() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let error = AtomicFile::create(&folder.path().join("none/a.vcd")).expect_err("the folder does not exist");
        assert!(error.to_string().contains("none/a.vcd: cannot create: "), "{error}");
        Ok(())
    }

    #[test]
    fn two_who_write_one_file_have_a_part_each_and_the_last_to_end_is_kept() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let target = folder.path().join("a.vcd");
        let [mut first, mut second] = [AtomicFile::create(&target)?, AtomicFile::create(&target)?];
        first.write_all(b"first")?;
        second.write_all(b"second")?;
        second.commit()?;
        assert_eq!(fs::read(&target)?, b"second");
        first.commit()?;
        assert_eq!((names_in(folder.path()), fs::read(&target)?), (vec!["a.vcd".to_owned()], b"first".to_vec()));
        Ok(())
    }

    #[test]
    fn a_part_that_was_left_behind_is_taken_and_another_of_that_name_is_not_touched() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let [target, left, other] =
            ["a.vcd", "a.vcd.warpsieve-1.part", "a.vcd.part"].map(|name| folder.path().join(name));
        fs::write(&left, "much that was left behind")?;
        fs::write(&other, "of another program")?;
        let mut file = AtomicFile::create(&target)?;
        file.write_all(b"whole")?;
        file.commit()?;
        assert_eq!(fs::read(&target)?, b"whole");
        assert!(!left.exists());
        assert_eq!(fs::read(&other)?, b"of another program");
        Ok(())
    }

    #[test]
    fn a_file_that_is_not_there_yet_is_one_by_all_its_names() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("in"))?;
        let new = FileIdentity::of(&path("in/new.json"));
        assert!(new.meets(&FileIdentity::of(&path("in/../in/./new.json"))));
        assert!(!new.meets(&FileIdentity::of(&path("new.json"))));
        // A path to a folder conflicts with every file in it, since a command may write all files of the
        // folder.
        assert!(new.meets(&FileIdentity::of(&path("in"))));
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn links_of_either_kind_lead_to_one_file() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name);
        fs::write(path("file"), "")?;
        fs::hard_link(path("file"), path("hard"))?;
        std::os::unix::fs::symlink("file", path("soft"))?;
        std::os::unix::fs::symlink("new", path("dangling"))?;
        for (one, other) in [("file", "hard"), ("file", "soft"), ("hard", "soft"), ("dangling", "new")] {
            assert!(FileIdentity::of(&path(one)).meets(&FileIdentity::of(&path(other))), "{one} and {other}");
        }
        assert!(!FileIdentity::of(&path("file")).meets(&FileIdentity::of(&path("dangling"))));
        let mut through = AtomicFile::create(&path("dangling"))?;
        through.write_all(b"newer")?;
        through.commit()?;
        assert_eq!(fs::read(path("new"))?, b"newer");
        assert!(fs::symlink_metadata(path("dangling"))?.is_symlink());
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_replaced_keeps_its_permissions_also_behind_a_link() -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir()?;
        let [file, link, new] = ["file.json", "link.json", "new.json"].map(|name| folder.path().join(name));
        fs::write(&file, "older")?;
        std::os::unix::fs::symlink(&file, &link)?;
        fs::write(&new, "")?;
        let mode = |path: &Path| fs::metadata(path).map(|there| there.permissions().mode() & 0o7777);
        let of_new = mode(&new)?;
        fs::remove_file(&new)?;
        for permissions in [0o600, 0o640, 0o755, 0o666] {
            fs::set_permissions(&file, fs::Permissions::from_mode(permissions))?;
            for path in [&file, &link] {
                let mut part = AtomicFile::create(path)?;
                part.write_all(b"newer")?;
                part.commit()?;
                assert_eq!(mode(&file)?, permissions, "{}", path.display());
            }
        }
        AtomicFile::create(&new)?.commit()?;
        assert_eq!(mode(&new)?, of_new, "as any new file");
        Ok(())
    }

    #[test]
    fn a_scratch_folder_is_removed_with_all_that_is_in_it() -> io::Result<()> {
        let outer = tempfile::tempdir()?;
        let scratch = Scratch::within(outer.path())?;
        fs::write(scratch.path().join("a"), "")?;
        assert_eq!(names_in(outer.path()).len(), 1);
        drop(scratch);
        assert_eq!(names_in(outer.path()).len(), 0);
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_the_file_behind_it_is_replaced() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let [file, link] = ["file.vcd", "link.vcd"].map(|name| folder.path().join(name));
        fs::write(&file, "older")?;
        std::os::unix::fs::symlink(&file, &link)?;
        let mut part = AtomicFile::create(&link)?;
        part.write_all(b"newer")?;
        assert_eq!(part.commit()?, link);
        assert!(fs::symlink_metadata(&link)?.is_symlink());
        assert_eq!(fs::read(&file)?, b"newer");
        Ok(())
    }

    /// The test opens the devices through links, so that a bug would replace the link and not the device.
    #[cfg(unix)]
    #[test]
    fn a_device_is_written_to_and_not_replaced() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let [null, full] = ["null", "full"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink("/dev/null", &null)?;
        std::os::unix::fs::symlink("/dev/full", &full)?;
        let mut nowhere = AtomicFile::create(&null)?;
        nowhere.write_all(b"some")?;
        assert_eq!(nowhere.commit()?, null);
        let mut refused = AtomicFile::create(&full)?;
        assert_eq!(refused.write_all(b"some").expect_err("it is full").kind(), io::ErrorKind::StorageFull);
        drop(refused);
        assert_eq!(names_in(folder.path()).len(), 2);
        assert!(!fs::metadata(&null)?.is_file() && !fs::metadata(&full)?.is_file());
        Ok(())
    }
}
