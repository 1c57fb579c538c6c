//! # Readback: the signals of a waveform dump
//! Reads a VCD or FST file: its signals, their changes, and the names of their states. Only an FST contains
//! names of states.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Seek};
use std::path::{Path, PathBuf};

use wellen::simple::{self, Waveform};
use wellen::{FileFormat, Hierarchy, SignalRef, VarRef, viewers};

use super::sizes;
use crate::content::Content;
use crate::crash;

/// Error for a file that cannot be read as a waveform dump.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}: cannot be read: {reason}", path.display())]
pub struct Unreadable {
    path: PathBuf,
    /// Error message of the reader.
    reason: String,
}

/// Signals of a waveform dump. A signal is identified by its index in the list of paths.
pub struct Readback {
    path: PathBuf,
    wave: Waveform,
    variables: Vec<(VarRef, SignalRef)>,
    /// Paths of all signals. Each path begins with the name of the outermost scope.
    pub(super) paths: Vec<String>,
    /// For each signal, the times and values of its changes; empty until the signal is loaded.
    changes: Vec<Vec<(u64, u64)>>,
}

impl Readback {
    /// Opens a dump and reads its list of signals.
    ///
    /// # Errors
    /// Fails if the file is not a readable dump.
    pub fn of(path: &Path) -> Result<Self, Unreadable> {
        // The file's metadata are read before the library opens it, because the library panics if the file
        // does not exist.
        match std::fs::metadata(path) {
            Err(error) => Err(unreadable(path, error.to_string())),
            Ok(there) if there.is_dir() => Err(unreadable(path, "it is a directory".to_owned())),
            Ok(_) => {
                let file = File::open(path).map_err(|error| unreadable(path, error.to_string()))?;
                // Devices and pipes are refused, since reading one of them might never end.
                if !file.metadata().is_ok_and(|there| there.is_file()) {
                    return Err(unreadable(path, "it is not a regular file: a dump is read twice".to_owned()));
                }
                Content::Waveform.check(path).map_err(|error| unreadable(path, error.to_string()))?;
                fits(path, BufReader::new(file))?;
                Self::read(path, || simple::read(path))
            }
        }
    }

    /// Reads bytes as the contents of the waveform file `path`.
    ///
    /// # Errors
    /// Fails if the bytes are not a readable dump.
    pub fn of_bytes(path: &Path, bytes: &[u8]) -> Result<Self, Unreadable> {
        fits(path, Cursor::new(bytes))?;
        Self::read(path, || simple::read_from_reader(Cursor::new(bytes.to_vec())))
    }

    fn read(path: &Path, read: impl FnOnce() -> wellen::Result<Waveform>) -> Result<Self, Unreadable> {
        let wave = catch_damage(path, || read().map_err(|error| unreadable(path, error.to_string())))??;
        let (variables, paths) = catch_damage(path, || {
            let hierarchy = wave.hierarchy();
            let variables: Vec<_> = hierarchy.all_vars().map(|var| (var, hierarchy[var].signal_ref())).collect();
            let full = |(var, _): &(VarRef, SignalRef)| full_name(hierarchy, *var);
            let paths: Vec<String> = variables.iter().map(full).collect();
            (variables, paths)
        })?;
        let changes = vec![Vec::new(); paths.len()];
        Ok(Self { path: path.to_owned(), wave, variables, paths, changes })
    }

    /// Path of the waveform dump.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Loads the changes of the given signals. For signals wider than 64 bits, no changes are loaded.
    pub(super) fn load(&mut self, needed: impl IntoIterator<Item = usize>) -> Result<(), Unreadable> {
        let path = self.path.clone();
        catch_damage(&path, || self.load_asserted(needed))
    }

    fn load_asserted(&mut self, needed: impl IntoIterator<Item = usize>) {
        let needed: Vec<usize> = needed.into_iter().collect();
        let times = self.wave.time_table().to_vec();
        self.wave.load_signals(&needed.iter().map(|&at| self.variables[at].1).collect::<Vec<_>>());
        for at in needed {
            let Some(signal) = self.wave.get_signal(self.variables[at].1) else { continue };
            let changes = signal.iter_changes().filter_map(|(time, value)| {
                // A value with unknown bits cannot be parsed as a number, so the change is dropped.
                let digits = value.to_bit_string().unwrap_or_default();
                Some((*times.get(time as usize)?, u64::from_str_radix(&digits, 2).ok()?))
            });
            self.changes[at] = changes.collect();
        }
    }

    /// Returns the times and values of the changes of a loaded signal.
    pub(super) fn changes(&self, at: usize) -> &[(u64, u64)] {
        &self.changes[at]
    }

    /// Returns the value of a signal at a time; `None` before its first value.
    pub(super) fn value(&self, at: usize, time: u64) -> Option<u64> {
        let changes = self.changes(at);
        let before = changes.partition_point(|(change, _)| *change <= time);
        before.checked_sub(1).map(|last| changes[last].1)
    }

    /// Returns the name of a state, given its value; `None` if the dump does not contain a name.
    pub(super) fn state(&self, at: usize, code: u64) -> Option<&str> {
        let hierarchy = self.wave.hierarchy();
        let (_, states) = hierarchy[self.variables[at].0].enum_type(hierarchy)?;
        let is_code = |digits: &str| u64::from_str_radix(digits, 2) == Ok(code);
        states.into_iter().find(|(digits, _)| is_code(digits)).map(|(_, name)| name)
    }
}

/// Calls the library that reads dumps. A damaged file can make the library panic; the panic is converted to
/// an error.
fn catch_damage<T>(path: &Path, work: impl FnOnce() -> T) -> Result<T, Unreadable> {
    crash::catch_panic(work).map_err(|_| unreadable(path, "it is damaged".to_owned()))
}

/// Checks that the sizes claimed in a dump are plausible.
fn fits(path: &Path, mut file: impl BufRead + Seek) -> Result<(), Unreadable> {
    let first = file.fill_buf().map_err(|error| unreadable(path, error.to_string()))?.first().copied();
    // This check must precede the library's format detection, which never ends if a damaged file contains
    // block lengths that lead back to an earlier block.
    if !first.is_some_and(sizes::begins) {
        return match viewers::detect_file_format(&mut file) {
            FileFormat::Vcd => sizes::widths(&mut file).map_err(|reason| unreadable(path, reason)),
            _ => Ok(()),
        };
    }
    let signals = sizes::fit(&mut file).map_err(|reason| unreadable(path, reason))?;
    file.rewind().map_err(|error| unreadable(path, error.to_string()))?;
    catch_damage(path, || sizes::are_there(&mut file, signals))?.map_err(|reason| unreadable(path, reason))
}

fn unreadable(path: &Path, reason: String) -> Unreadable {
    Unreadable { path: path.to_owned(), reason }
}

/// Returns the path of a signal. For an entry of a table, the library returns `table.[5]`, which is changed
/// to `table[5]`.
fn full_name(hierarchy: &Hierarchy, var: VarRef) -> String {
    hierarchy[var].full_name(hierarchy).replace(".[", "[")
}
