//! Checks the input and output files of a command, which are collected in one list. No output may be the same
//! file as another entry of the list, since it would overwrite an input or another output.

use std::path::{Path, PathBuf};

use miette::{Report, miette};
use waves::atomic_file::FileIdentity;
use waves::view;

use warpsieve::config::ResolvedMachine;
use warpsieve::launch::LaunchFile;

/// Input and output files of a command.
#[derive(Default)]
pub(super) struct Files(Vec<Entry>);

struct Entry {
    /// Name of the file in error messages: the option that gives the file, or the kind of file.
    what: String,
    path: PathBuf,
    identity: FileIdentity,
    is_written: bool,
    /// True if the path must not be a folder; false if it may be one.
    is_file: bool,
}

impl Files {
    /// Returns a list that contains the machine and design files of a configuration.
    pub fn of(resolved: &ResolvedMachine) -> Self {
        let mut files = Self::default();
        files.reads_machine(resolved);
        files
    }

    pub fn reads_machine(&mut self, resolved: &ResolvedMachine) {
        resolved.files.iter().for_each(|path| self.reads("the machine or design file", path));
    }

    /// Adds a launch file, and all files that it names as inputs, to the list of the command's inputs.
    pub fn reads_launch(&mut self, launch: &LaunchFile) {
        launch.reads().for_each(|(what, path)| self.reads(what, path));
    }

    /// Adds the output files that a launch file names to the list of the command's outputs.
    pub fn writes_outputs(&mut self, launch: &LaunchFile) {
        launch.writes().for_each(|(buffer, path)| self.writes(&format!("output `{buffer}`"), Some(path)));
    }

    pub fn reads(&mut self, what: &str, path: &Path) {
        self.add(what, path, false);
    }

    /// Adds the output file of an option, if the option is given. `what` is the name of the option in error
    /// messages.
    pub fn writes(&mut self, what: &str, path: Option<&Path>) {
        if let Some(path) = path {
            self.add(what, path, true);
        }
    }

    /// Adds to the command's outputs a waveform, and the files that are written next to it.
    pub fn writes_wave(&mut self, what: &str, path: &Path) {
        self.writes(what, Some(path));
        for path in view::companion_paths(path) {
            self.add(&format!("a companion file of {what}"), &path, true);
            // A folder is allowed here, since some of the paths next to the waveform are folders.
            self.0.last_mut().into_iter().for_each(|entry| entry.is_file = false);
        }
    }

    fn add(&mut self, what: &str, path: &Path, is_written: bool) {
        let (what, path, identity) = (what.to_owned(), path.to_owned(), FileIdentity::of(path));
        self.0.push(Entry { what, path, identity, is_written, is_file: true });
    }

    /// Returns an error if an output is a folder or the same file as another entry of the list.
    pub fn check(&self) -> Result<(), Report> {
        // An output must differ from all inputs, and from all outputs before it in the list. The error names
        // the later output.
        let older = |at: usize| {
            let earlier = self.0.iter().enumerate().filter(move |&(other, _)| other < at);
            self.0.iter().enumerate().filter(|(_, entry)| !entry.is_written).chain(earlier)
        };
        for (at, entry) in self.0.iter().enumerate().filter(|(_, entry)| entry.is_written) {
            // An output that is a folder is rejected first, with an error that says so. The comparison below
            // would report only that the folder contains another of the files.
            if entry.is_file && entry.path.is_dir() {
                return Err(miette!(
                    "{} is {}, which is a folder, expected a file name",
                    entry.what,
                    entry.path.display()
                ));
            }
            if let Some((_, other)) = older(at).find(|&(_, other)| entry.clashes(other)) {
                let (path, earlier) = (entry.path.display(), other.path.display());
                return Err(miette!("{} is {path}, expected a file other than {}, {earlier}", entry.what, other.what));
            }
        }
        Ok(())
    }
}

impl Entry {
    /// True if writing this file would destroy the other file. Devices such as a terminal are excluded, since
    /// a device can be both read and written.
    fn clashes(&self, other: &Self) -> bool {
        self.identity.meets(&other.identity) && (other.is_written || !other.identity.is_device())
    }
}
