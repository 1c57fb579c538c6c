//! # Results kept on disk
//! One JSON file a run, in a folder for each fingerprint of the sources:
//! `CACHE/FINGERPRINT/KERNEL-SIZE-KIND-HASH.json`. A file appears whole or not at all, so that what was
//! done before a kill counts, and holds its key, so that no hash has to be trusted. A file that cannot
//! be read as what it should be is no error but a run to be made again.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use miette::{Context, IntoDiagnostic, Report, miette};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use waves::part_file::PartFile;

use warpsieve::config::{Resolved, fnv1a};

/// Of the sources that decide what a run results in, from `build.rs`.
const FINGERPRINT: &str = env!("FINGERPRINT");

/// Where results are kept.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// What a result depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Of its file, without the hash.
    name: String,
    text: String,
}

#[derive(Serialize)]
struct Kept<'a, T> {
    key: &'a str,
    value: &'a T,
}

#[derive(Deserialize)]
struct Found<T> {
    key: String,
    value: T,
}

impl Key {
    /// The key of what `kind` of result the launch file gives on a machine.
    ///
    /// # Errors
    /// If the launch file, or a file that it names, cannot be read.
    pub fn new(kind: &str, launch: &Path, resolved: &Resolved) -> Result<Self, Report> {
        let mut text = format!("{kind}\nsources {FINGERPRINT}\nconfiguration {}\n", resolved.hash());
        let context = |path: &Path| format!("{} cannot be read", path.display());
        let content = fs::read_to_string(launch).into_diagnostic().wrap_err_with(|| context(launch))?;
        let mut add = |name: &str, bytes: &[u8]| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name} {:016x} {}", fnv1a(bytes), bytes.len());
        };
        add("launch", content.as_bytes());
        let folder = launch.parent().unwrap_or(Path::new(""));
        let table: toml::Table = content.parse().into_diagnostic().wrap_err_with(|| context(launch))?;
        let mut named = Vec::new();
        table.values().for_each(|value| files(value, folder, &mut named));
        named.sort_unstable();
        named.dedup();
        for name in named {
            let path = folder.join(name);
            add(name, &fs::read(&path).into_diagnostic().wrap_err_with(|| context(&path))?);
        }
        let part = |path: Option<&Path>| {
            path.and_then(Path::file_stem).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        };
        Ok(Self { name: format!("{}-{}-{kind}", part(Some(folder)), part(Some(launch))), text })
    }

    fn file(&self) -> String {
        format!("{}-{:016x}.json", self.name, fnv1a(self.text.as_bytes()))
    }
}

/// The texts of a launch file that name a file.
fn files<'a>(value: &'a toml::Value, folder: &Path, named: &mut Vec<&'a str>) {
    match value {
        toml::Value::String(text) if folder.join(text).is_file() => named.push(text),
        toml::Value::Array(values) => values.iter().for_each(|value| files(value, folder, named)),
        toml::Value::Table(table) => table.values().for_each(|value| files(value, folder, named)),
        _ => {}
    }
}

impl Store {
    /// The store in a folder, or in the user's folder for such things.
    ///
    /// # Errors
    /// If there is none, or it cannot be created.
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

    /// A result that was kept.
    #[must_use]
    pub fn get<T: DeserializeOwned>(&self, key: &Key) -> Option<T> {
        let text = fs::read(self.folder.join(key.file())).ok()?;
        let found: Found<T> = serde_json::from_slice(&text).ok()?;
        (found.key == key.text).then_some(found.value)
    }

    /// Keeps a result.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put<T: Serialize>(&self, key: &Key, value: &T) -> io::Result<()> {
        let mut file = PartFile::create(&self.folder.join(key.file()))?;
        serde_json::to_writer(&mut file, &Kept { key: &key.text, value })?;
        file.write_all(b"\n")?;
        file.keep().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsieve::config::Request;

    fn key(launch: &Path, set: &str) -> Key {
        let sets = vec![set.to_owned()];
        let resolved = Resolved::new(&Request { machine: "fermi".to_owned(), designs: Vec::new(), sets }).unwrap();
        Key::new("test", launch, &resolved).unwrap()
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
        fs::write(store.folder.join(key.file()), "{\"key\":").unwrap();
        assert_eq!(store.get::<u64>(&key), None);
    }
}
