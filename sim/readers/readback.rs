//! # Readback: the signals of a dump
//! Reads a VCD or an FST back: which signals it has, when they change, and the names of their states, which
//! an FST has.

use std::path::{Path, PathBuf};

use wellen::{Hierarchy, SignalRef, VarRef};

/// A file that is no dump that can be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}: cannot be read: {reason}", path.display())]
pub struct Unreadable {
    path: PathBuf,
    /// What the reader says.
    reason: String,
}

/// The signals of a dump, known by their places in the list of paths.
pub(super) struct Readback {
    wave: wellen::simple::Waveform,
    variables: Vec<(VarRef, SignalRef)>,
    /// Paths, which begin with the root's name.
    pub(super) paths: Vec<String>,
    /// Times and values of the changes of the signals that were loaded.
    changes: Vec<Vec<(u64, u64)>>,
}

impl Readback {
    /// Reads what a dump has.
    pub(super) fn of(path: &Path) -> Result<Self, Unreadable> {
        let unreadable = |reason: String| Unreadable { path: path.to_owned(), reason };
        // The library asserts that there is a file.
        if std::fs::metadata(path).map_err(|e| unreadable(e.to_string()))?.is_dir() {
            return Err(unreadable("it is a directory".to_owned()));
        }
        let wave = wellen::simple::read(path).map_err(|e| unreadable(e.to_string()))?;
        let hierarchy = wave.hierarchy();
        let variables: Vec<_> = hierarchy.all_vars().map(|var| (var, hierarchy[var].signal_ref())).collect();
        let full = |(var, _): &(VarRef, SignalRef)| full_name(hierarchy, *var);
        let paths: Vec<String> = variables.iter().map(full).collect();
        let changes = vec![Vec::new(); paths.len()];
        Ok(Self { wave, variables, paths, changes })
    }

    /// Loads the changes of these signals; of those wider than 64 bits there are none.
    pub(super) fn load(&mut self, needed: impl IntoIterator<Item = usize>) {
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

/// The path of a signal. The library makes a scope of a table and a name of the index.
fn full_name(hierarchy: &Hierarchy, var: VarRef) -> String {
    hierarchy[var].full_name(hierarchy).replace(".[", "[")
}
