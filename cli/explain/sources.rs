//! The PTX that loads stand in.

use std::fs;
use std::path::{Path, PathBuf};

use miette::{IntoDiagnostic, Report, WrapErr};
use warpsieve::launch::LaunchFile;

/// The texts at hand, with the kernel that each is known to hold.
#[derive(Default)]
pub(super) struct Sources(Vec<(Option<String>, PathBuf, String)>);

impl Sources {
    /// One file that holds all kernels, if it is given.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of_file(ptx: Option<&Path>) -> Result<Self, Report> {
        let read = |path: &Path| {
            let text = fs::read_to_string(path).into_diagnostic();
            text.wrap_err_with(|| format!("{} cannot be read", path.display()))
        };
        let text = ptx.map(|path| Ok::<_, Report>((None, path.to_owned(), read(path)?))).transpose()?;
        Ok(Self(text.into_iter().collect()))
    }

    /// Those of a launch file; one that cannot be read has its error when it is run.
    pub fn of_launch(launch: &LaunchFile) -> Self {
        let text = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        let of = launch.launches().map(|launch| (Some(launch.kernel.clone()), launch.ptx.clone(), text(&launch.ptx)));
        Self(of.collect())
    }

    /// A line of a kernel's file, from 1, with single blanks.
    pub fn line(&self, kernel: &str, line: u32) -> Option<String> {
        let named = self.0.iter().find(|(name, ..)| name.as_ref().is_some_and(|name| name == kernel));
        // A launch file may shorten names; where all kernels are in one file that does not matter.
        let only = || self.0.first().filter(|(_, path, _)| self.0.iter().all(|(_, other, _)| other == path));
        let (.., text) = named.or_else(only)?;
        let text = text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)?;
        Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}
