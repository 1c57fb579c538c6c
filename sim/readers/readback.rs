//! # Readback: the signals of a dump
//! Reads a VCD or an FST back: which signals it has, when they change, and the names of their states, which
//! an FST has.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Seek};
use std::path::{Path, PathBuf};

use wellen::simple::{self, Waveform};
use wellen::{FileFormat, Hierarchy, SignalRef, VarRef, viewers};

use super::sizes;
use crate::content::Content;
use crate::crash;

/// A file that is no dump that can be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}: cannot be read: {reason}", path.display())]
pub struct Unreadable {
    path: PathBuf,
    /// What the reader says.
    reason: String,
}

/// The signals of a dump, known by their places in the list of paths.
pub struct Readback {
    path: PathBuf,
    wave: Waveform,
    variables: Vec<(VarRef, SignalRef)>,
    /// Paths, which begin with the root's name.
    pub(super) paths: Vec<String>,
    /// Times and values of the changes of the signals that were loaded.
    changes: Vec<Vec<(u64, u64)>>,
}

impl Readback {
    /// Reads what a dump has.
    ///
    /// # Errors
    /// If it is none that can be read.
    pub fn of(path: &Path) -> Result<Self, Unreadable> {
        // The library asserts that there is a file.
        match std::fs::metadata(path) {
            Err(error) => Err(unreadable(path, error.to_string())),
            Ok(there) if there.is_dir() => Err(unreadable(path, "it is a directory".to_owned())),
            Ok(_) => {
                let file = File::open(path).map_err(|error| unreadable(path, error.to_string()))?;
                // A device without end would be read to it.
                if !file.metadata().is_ok_and(|there| there.is_file()) {
                    return Err(unreadable(path, "it is no file, expected one: a dump is read twice".to_owned()));
                }
                Content::Waveform.check(path).map_err(|error| unreadable(path, error.to_string()))?;
                fits(path, BufReader::new(file))?;
                Self::read(path, || simple::read(path))
            }
        }
    }

    /// Reads bytes as if they stood in the file `path`.
    ///
    /// # Errors
    /// If they are no dump that can be read.
    pub fn of_bytes(path: &Path, bytes: &[u8]) -> Result<Self, Unreadable> {
        fits(path, Cursor::new(bytes))?;
        Self::read(path, || simple::read_from_reader(Cursor::new(bytes.to_vec())))
    }

    fn read(path: &Path, read: impl FnOnce() -> wellen::Result<Waveform>) -> Result<Self, Unreadable> {
        let wave = asserted(path, || read().map_err(|error| unreadable(path, error.to_string())))??;
        let (variables, paths) = asserted(path, || {
            let hierarchy = wave.hierarchy();
            let variables: Vec<_> = hierarchy.all_vars().map(|var| (var, hierarchy[var].signal_ref())).collect();
            let full = |(var, _): &(VarRef, SignalRef)| full_name(hierarchy, *var);
            let paths: Vec<String> = variables.iter().map(full).collect();
            (variables, paths)
        })?;
        let changes = vec![Vec::new(); paths.len()];
        Ok(Self { path: path.to_owned(), wave, variables, paths, changes })
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Loads the changes of these signals; of those wider than 64 bits there are none.
    pub(super) fn load(&mut self, needed: impl IntoIterator<Item = usize>) -> Result<(), Unreadable> {
        let path = self.path.clone();
        asserted(&path, || self.load_asserted(needed))
    }

    fn load_asserted(&mut self, needed: impl IntoIterator<Item = usize>) {
        let needed: Vec<usize> = needed.into_iter().collect();
        let times = self.wave.time_table().to_vec();
        self.wave.load_signals(&needed.iter().map(|&at| self.variables[at].1).collect::<Vec<_>>());
        for at in needed {
            let Some(signal) = self.wave.get_signal(self.variables[at].1) else { continue };
            let changes = signal.iter_changes().filter_map(|(time, value)| {
                // An unknown value is none yet.
                let digits = value.to_bit_string().unwrap_or_default();
                Some((*times.get(time as usize)?, u64::from_str_radix(&digits, 2).ok()?))
            });
            self.changes[at] = changes.collect();
        }
    }

    /// Times and values of the changes of a signal.
    pub(super) fn changes(&self, at: usize) -> &[(u64, u64)] {
        &self.changes[at]
    }

    /// The value of a signal from a time on.
    pub(super) fn value(&self, at: usize, time: u64) -> Option<u64> {
        let changes = self.changes(at);
        let before = changes.partition_point(|(change, _)| *change <= time);
        before.checked_sub(1).map(|last| changes[last].1)
    }

    /// The name of a state, if the dump has it.
    pub(super) fn state(&self, at: usize, code: u64) -> Option<&str> {
        let hierarchy = self.wave.hierarchy();
        let (_, states) = hierarchy[self.variables[at].0].enum_type(hierarchy)?;
        let is_code = |digits: &str| u64::from_str_radix(digits, 2) == Ok(code);
        states.into_iter().find(|(digits, _)| is_code(digits)).map(|(_, name)| name)
    }
}

/// Has work done by the library that reads dumps, which asserts what a damaged file does not hold to.
fn asserted<T>(path: &Path, work: impl FnOnce() -> T) -> Result<T, Unreadable> {
    crash::caught(work).map_err(|_| unreadable(path, "it is damaged".to_owned()))
}

/// Whether a dump is no larger than it can be by what it says of itself.
fn fits(path: &Path, mut file: impl BufRead + Seek) -> Result<(), Unreadable> {
    let first = file.fill_buf().map_err(|error| unreadable(path, error.to_string()))?.first().copied();
    // Before the library finds out the format, which goes on for ever along blocks that lead back.
    if !first.is_some_and(sizes::begins) {
        return match viewers::detect_file_format(&mut file) {
            FileFormat::Vcd => sizes::widths(&mut file).map_err(|reason| unreadable(path, reason)),
            _ => Ok(()),
        };
    }
    let signals = sizes::fit(&mut file).map_err(|reason| unreadable(path, reason))?;
    file.rewind().map_err(|error| unreadable(path, error.to_string()))?;
    asserted(path, || sizes::are_there(&mut file, signals))?.map_err(|reason| unreadable(path, reason))
}

fn unreadable(path: &Path, reason: String) -> Unreadable {
    Unreadable { path: path.to_owned(), reason }
}

/// The path of a signal. The library makes a scope of a table and a name of the index.
fn full_name(hierarchy: &Hierarchy, var: VarRef) -> String {
    hierarchy[var].full_name(hierarchy).replace(".[", "[")
}
