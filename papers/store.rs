//! # Result store on disk
//! Stores the result of each run as a JSON file. There is one folder per fingerprint of the sources:
//! `CACHE/FINGERPRINT/KERNEL-SIZE-KIND-HASH.json`.
//!
//! Files are written atomically, so if the process is killed, all results that were complete by then remain
//! usable. Each file contains its full key, which guards against hash collisions, and a digest of the result,
//! which detects damage. An unreadable or damaged file is not an error: the run is repeated.

use std::fmt::Write as _;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use miette::{Context, IntoDiagnostic, Report, miette};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use waves::atomic_file::AtomicFile;

use warpsieve::config::{ResolvedMachine, fnv1a};
use warpsieve::launch::{LaunchFile, locate};

/// Fingerprint (hash) of the sources that determine the results of a run. The build script `build.rs`
/// computes it.
pub const FINGERPRINT: &str = env!("FINGERPRINT");

/// Store that keeps results as files in a folder.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// Hash of the contents of a workload and of every file that the workload reads.
#[derive(Clone, Debug)]
pub struct Input {
    /// First component of the name of a result file. It consists of the name of the folder that contains the
    /// workload's file, and the name of this file without its extension.
    name: String,
    text: String,
}

/// Key of a result, made of everything on which the result depends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Name of the result file, without the hash at its end.
    name: String,
    text: String,
}

/// Contents of a file that stores a result.
#[derive(Serialize, Deserialize)]
struct StoredEntry {
    key: String,
    /// Hash of the JSON text of the result.
    digest: u64,
    value: Box<RawValue>,
}

/// Number of characters to which the name of a launch file is shortened in the name of a result file. A
/// launch file's path may include any number of parameter values, such as `n=100,m=64`.
const MAX_NAME: usize = 64;

impl Input {
    /// Hashes the contents of a launch file in one problem size, and of the files that it names.
    ///
    /// # Errors
    /// Returns an error if one of these files cannot be read.
    pub fn launch(path: &Path) -> Result<Self, Report> {
        let table = LaunchFile::expand(path)?;
        let (file, _) = locate(path);
        let folder = file.parent().unwrap_or(Path::new(""));
        let mut named = Vec::new();
        table.values().for_each(|value| files(value, folder, &mut named));
        named.sort_unstable();
        named.dedup();
        let named = named.into_iter().map(|name| (name.to_owned(), folder.join(name)));
        let content = toml::to_string(&table).into_diagnostic()?;
        let launch = format!("launch {:016x} {}\n", fnv1a(content.as_bytes()), content.len());
        Self::of(path, launch, named)
    }

    /// Hashes the contents of the files of a trace. The first file is the list of the trace's kernels, and
    /// all other files are kernels. If a trace has no list, its first and only file is its only kernel.
    ///
    /// # Errors
    /// Returns an error if one of these files cannot be read.
    pub fn trace<'a>(mut files: impl Iterator<Item = &'a Path>) -> Result<Self, Report> {
        let list = files.next().unwrap_or(Path::new(""));
        let kernels = files.enumerate().map(|(number, path)| (format!("kernel {number}"), path.to_owned()));
        Self::of(list, String::new(), [("trace".to_owned(), list.to_owned())].into_iter().chain(kernels))
    }

    /// Appends the hash of each file to `text`.
    fn of(path: &Path, mut text: String, files: impl Iterator<Item = (String, PathBuf)>) -> Result<Self, Report> {
        for (name, path) in files {
            let digest = digest(&path).into_diagnostic();
            let (hash, bytes) = digest.wrap_err_with(|| format!("{} cannot be read", path.display()))?;
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name} {hash:016x} {bytes}");
        }
        let part = |path: Option<&Path>| {
            let name = path.and_then(Path::file_stem).unwrap_or_default().to_string_lossy().into_owned();
            name.chars().take(MAX_NAME).collect::<String>()
        };
        Ok(Self { name: format!("{}-{}", part(path.parent()), part(Some(path))), text })
    }
}

/// Returns the hash of a file's contents, and the length of the file in bytes. The file is read in pieces,
/// because a trace may not fit into memory.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub fn digest(path: &Path) -> io::Result<(u64, usize)> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        // Only regular files are accepted, because they can be read twice. A pipe is empty when it is read a
        // second time, and reading a device may never end.
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file, expected one that can be read twice"));
    }
    let (mut file, mut hasher, mut bytes) = (BufReader::with_capacity(1 << 16, file), DefaultHasher::new(), 0);
    loop {
        let some = file.fill_buf()?;
        if some.is_empty() {
            return Ok((hasher.finish(), bytes));
        }
        let read = some.len();
        hasher.write(some);
        file.consume(read);
        bytes += read;
    }
}

impl Key {
    /// Creates the key of a result. `kind` distinguishes the result from other results of the same workload
    /// on the same machine.
    #[must_use]
    pub fn new(kind: &str, input: &Input, resolved: &ResolvedMachine) -> Self {
        let Input { name, text } = input;
        let text = format!("{kind}\nsources {FINGERPRINT}\nconfiguration {}\n{text}", resolved.hash());
        Self { name: format!("{name}-{kind}"), text }
    }

    fn file(&self) -> String {
        format!("{}-{:016x}.json", self.name, fnv1a(self.text.as_bytes()))
    }
}

/// Collects the texts in a launch file that name an existing file.
fn files<'a>(value: &'a toml::Value, folder: &Path, named: &mut Vec<&'a str>) {
    match value {
        toml::Value::String(text) if folder.join(text).is_file() => named.push(text),
        toml::Value::Array(values) => values.iter().for_each(|value| files(value, folder, named)),
        toml::Value::Table(table) => table.values().for_each(|value| files(value, folder, named)),
        _ => {}
    }
}

/// Formats the contents of a result file.
///
/// # Errors
/// Returns an error if the result cannot be written as JSON.
pub fn encode_entry<T: Serialize>(key: &str, value: &T) -> serde_json::Result<String> {
    let value = serde_json::value::to_raw_value(value)?;
    serde_json::to_string(&StoredEntry { key: key.to_owned(), digest: fnv1a(value.get().as_bytes()), value })
}

/// Parses the contents of a result file. Returns `None` if the file is for another key or is damaged.
#[must_use]
pub fn decode_entry<T: DeserializeOwned>(text: &[u8], key: &str) -> Option<T> {
    let kept: StoredEntry = serde_json::from_slice(text).ok()?;
    let value = kept.value.get();
    let is_whole = kept.key == key && kept.digest == fnv1a(value.as_bytes());
    is_whole.then(|| serde_json::from_str(value).ok())?
}

impl Store {
    /// Opens the store in a folder, or in the user's cache folder if `folder` is `None`.
    ///
    /// # Errors
    /// Returns an error if `folder` is `None` and the user has no cache folder, or if the folder cannot be
    /// created.
    pub fn new(folder: Option<&Path>) -> Result<Self, Report> {
        let given = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let of_user = || given("XDG_CACHE_HOME").or_else(|| given("HOME").map(|home| home.join(".cache")));
        let folder = match folder {
            Some(folder) => folder.to_owned(),
            None => of_user()
                .map(|folder| folder.join("warpsieve"))
                .ok_or_else(|| miette!("there is no folder to keep results in: give one with `--cache`"))?,
        };
        let folder = folder.join(FINGERPRINT);
        fs::create_dir_all(&folder).into_diagnostic().wrap_err_with(|| format!("folder {}", folder.display()))?;
        Ok(Self { folder })
    }

    /// Returns the stored result for a key; `None` if there is none.
    #[must_use]
    pub fn get<T: DeserializeOwned>(&self, key: &Key) -> Option<T> {
        decode_entry(&fs::read(self.folder.join(key.file())).ok()?, &key.text)
    }

    /// Stores the result for a key.
    ///
    /// # Errors
    /// Returns an error if the result cannot be written.
    pub fn put<T: Serialize>(&self, key: &Key, value: &T) -> io::Result<()> {
        let mut file = AtomicFile::create(&self.folder.join(key.file()))?;
        writeln!(file, "{}", encode_entry(&key.text, value)?)?;
        file.commit().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsieve::config::Request;

    fn key(launch: &Path, set: &str) -> Key {
        let sets = vec![set.to_owned()];
        let resolved =
            ResolvedMachine::new(&Request { machine: "fermi".to_owned(), designs: Vec::new(), sets }).unwrap();
        Key::new("test", &Input::launch(launch).unwrap(), &resolved)
    }

    #[test]
    fn a_result_is_found_again_under_its_own_key_only() {
        let folder = tempfile::tempdir().unwrap();
        let launch = folder.path().join("a.toml");
        fs::write(&launch, "ptx = \"a.ptx\"\n").unwrap();
        fs::write(folder.path().join("a.ptx"), "one").unwrap();
        let store = Store::new(Some(folder.path())).unwrap();
        let first = key(&launch, "l1.ways=4");
        store.put(&first, &7_u64).unwrap();
        assert_eq!(store.get(&key(&launch, "l1.ways=4")), Some(7_u64));
        assert_eq!(store.get::<u64>(&key(&launch, "l1.ways=8")), None);
        fs::write(folder.path().join("a.ptx"), "two").unwrap();
        assert_eq!(store.get::<u64>(&key(&launch, "l1.ways=4")), None);
        assert_eq!(store.get(&first), Some(7_u64));
    }

    #[test]
    fn a_damaged_result_counts_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let launch = folder.path().join("a.toml");
        fs::write(&launch, "title = \"a\"\n").unwrap();
        let store = Store::new(Some(folder.path())).unwrap();
        let key = key(&launch, "l1.ways=4");
        store.put(&key, &1234_u64).unwrap();
        let path = store.folder.join(key.file());
        let text = fs::read_to_string(&path).unwrap();
        for damaged in [&text[..7], &text.replace("1234", "1334")] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(store.get::<u64>(&key), None, "{damaged}");
        }
        fs::write(&path, text).unwrap();
        assert_eq!(store.get(&key), Some(1234_u64));
    }
}
