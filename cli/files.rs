//! The files of a command. All that it reads and all that it writes are one list, in which no output may be another
//! file of the list: it would take the place of an input, or of an earlier output.

use std::path::{Path, PathBuf};

use miette::{Report, miette};
use waves::part_file::Identity;
use waves::view;

use warpsieve::config::Resolved;
use warpsieve::launch::LaunchFile;

/// The list.
#[derive(Default)]
pub(super) struct Files(Vec<Entry>);

struct Entry {
    /// What it is to the user: an option, or the kind of file.
    what: String,
    path: PathBuf,
    identity: Identity,
    is_written: bool,
    /// It is no folder.
    is_file: bool,
}

impl Files {
    /// The machine and design files of a configuration.
    pub fn of(resolved: &Resolved) -> Self {
        let mut files = Self::default();
        files.reads_machine(resolved);
        files
    }

    pub fn reads_machine(&mut self, resolved: &Resolved) {
        resolved.files.iter().for_each(|path| self.reads("the machine or design file", path));
    }

    /// A launch file and what it names.
    pub fn reads_launch(&mut self, launch: &LaunchFile) {
        launch.reads().for_each(|(what, path)| self.reads(what, path));
    }

    /// What the outputs of a launch file ask for.
    pub fn writes_outputs(&mut self, launch: &LaunchFile) {
        launch.writes().for_each(|(buffer, path)| self.writes(&format!("output `{buffer}`"), Some(path)));
    }

    pub fn reads(&mut self, what: &str, path: &Path) {
        self.add(what, path, false);
    }

    /// The file of an option, if it is given.
    pub fn writes(&mut self, what: &str, path: Option<&Path>) {
        if let Some(path) = path {
            self.add(what, path, true);
        }
    }

    /// A waveform with all that comes along beside it.
    pub fn writes_wave(&mut self, what: &str, path: &Path) {
        self.writes(what, Some(path));
        for path in view::beside(path) {
            self.add(&format!("what {what} brings along"), &path, true);
            // Some of it are folders.
            self.0.last_mut().into_iter().for_each(|entry| entry.is_file = false);
        }
    }

    fn add(&mut self, what: &str, path: &Path, is_written: bool) {
        let (what, path, identity) = (what.to_owned(), path.to_owned(), Identity::of(path));
        self.0.push(Entry { what, path, identity, is_written, is_file: true });
    }

    /// Refuses an output that is a folder or another file of the list.
    pub fn check(&self) -> Result<(), Report> {
        // What several are to write, the later option is told of; an input is older than any option.
        let older = |at: usize| {
            let earlier = self.0.iter().enumerate().filter(move |&(other, _)| other < at);
            self.0.iter().enumerate().filter(|(_, entry)| !entry.is_written).chain(earlier)
        };
        for (at, entry) in self.0.iter().enumerate().filter(|(_, entry)| entry.is_written) {
            // It would be said to be above some other file.
            if entry.is_file && entry.path.is_dir() {
                return Err(miette!(
                    "{} is {}, a folder, expected the name of a file",
                    entry.what,
                    entry.path.display()
                ));
            }
            if let Some((_, other)) = older(at).find(|&(_, other)| entry.clashes(other)) {
                let (path, earlier) = (entry.path.display(), other.path.display());
                return Err(miette!("{} is {path}, expected another file than {}, {earlier}", entry.what, other.what));
            }
        }
        Ok(())
    }
}

impl Entry {
    /// Whether what this one writes would be lost in the other, or the other in it. A terminal can be both read and
    /// written.
    fn clashes(&self, other: &Self) -> bool {
        self.identity.meets(&other.identity) && (other.is_written || !other.identity.is_device())
    }
}
