//! # Reproduced figures of the papers
//! Each figure lists its simulation points (a launch file on a machine) and gets their results from the
//! [`runs::Runner`]. The runner simulates several points in parallel and reuses results that are stored on
//! disk ([`store`]). A figure compares its numbers with the published ones by fixed rules ([`judge`]), draws
//! charts ([`chart`]) and returns a [`page`]. A page consists of Markdown, CSV and SVG files, each of which
//! is written atomically.

mod accelsim;
mod anssari2012;
mod apart;
mod area;
mod beyond;
pub mod candel2018;
pub mod chart;
mod counted;
pub mod curve;
#[cfg(test)]
mod fingerprint;
pub mod heat;
pub mod judge;
mod khairy2015;
mod li2015;
mod marks;
pub mod measured;
pub mod page;
pub mod picture;
pub mod progress;
pub mod runs;
pub mod scatter;
mod silicon;
pub mod store;
mod structures;
mod suite;
pub mod table;
mod volta;
mod xie2013;

use std::path::PathBuf;

use miette::Report;

use page::Page;
use progress::progress_bar;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use runs::Runner;
use warpsieve::kernels::{list_folder, name_of};
use warpsieve::launch::LaunchFile;

/// Reason why a figure cannot be drawn.
#[derive(Debug)]
pub enum FigureError {
    /// The input is invalid, or a file cannot be read or written.
    Input(Report),
    /// At least one run violated a rule of the model, computed wrong results, or did not finish.
    Failed(String),
    /// A signal with this number interrupted the process. Results of runs that had already finished remain in
    /// the store.
    Interrupted(usize),
}

impl From<Report> for FigureError {
    fn from(report: Report) -> Self {
        Self::Input(report)
    }
}

/// Figure, table or other set of measurements that has its own results page.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Name of the figure, such as `li2015/fig8`. It is also the path of the figure's files below the results
    /// folder.
    pub name: &'static str,
    /// Short description of what the figure shows, for lists of figures.
    pub description: &'static str,
    /// Function that runs the measurements and draws the page.
    pub draw: fn(&Session) -> Result<Page, FigureError>,
}

/// Name that selects all figures on the command line.
pub const ALL: &str = "all";

/// Returns every figure, in the order in which they are drawn.
pub fn figures() -> impl Iterator<Item = &'static Figure> {
    [
        suite::FIGURES,
        li2015::FIGURES,
        khairy2015::FIGURES,
        candel2018::FIGURES,
        xie2013::FIGURES,
        anssari2012::FIGURES,
        area::FIGURES,
        accelsim::FIGURES,
        silicon::FIGURES,
        volta::FIGURES,
        beyond::FIGURES,
    ]
    .into_iter()
    .flatten()
}

/// Returns the names by which figures can be selected, each with a description. They are `all`, the name of
/// every paper, and the name of every figure.
#[must_use]
pub fn names() -> Vec<(&'static str, String)> {
    let mut names = vec![(ALL, "Every figure".to_owned())];
    for figure in figures() {
        if let Some((paper, _)) = figure.name.split_once('/')
            && names.iter().all(|(name, _)| *name != paper)
        {
            names.push((paper, format!("Every figure of {paper}")));
        }
        names.push((figure.name, figure.description.to_owned()));
    }
    names
}

impl Figure {
    /// True if the name `asked` selects this figure: if it is the name of the figure, the name of the
    /// figure's paper, or `all`.
    #[must_use]
    pub fn is_selected_by(&self, asked: &str) -> bool {
        let is_of = || self.name.strip_prefix(asked).is_some_and(|rest| rest.starts_with('/'));
        asked == ALL || asked == self.name || is_of()
    }
}

/// Setting under which loads that bypass the L1 request only the 32-byte sectors that they access. GPGPU-Sim
/// 3.2 with the GTX 480, the simulator of li2015 and khairy2015, works in this way: a load requests only the
/// segments of a line that its warp needs, down to 32 bytes. Only a miss in the L1 fetches the whole line.
const SECTORS: &str = "l1.bypass_sectors=32";

/// Everything that drawing a figure needs: kernels, options, and a runner for simulations.
#[derive(Debug)]
pub struct Session {
    /// Folder that contains the kernels.
    pub kernels: PathBuf,
    /// True if figures use the small problem sizes (quick mode).
    pub is_quick: bool,
    /// True to suppress the progress display.
    pub is_quiet: bool,
    /// Runner that simulates points, or takes their results from the store on disk.
    pub runner: Runner,
}

impl Session {
    /// Returns the path of a kernel's launch file for the given problem size, or for the size `small` in
    /// quick mode.
    fn launch(&self, kernel: &str, size: &str) -> PathBuf {
        let size = if self.is_quick { "small" } else { size };
        self.kernels.join(kernel).join(size)
    }

    /// Returns the kernels that have a launch file of their main problem size, each with the path of this
    /// launch file. In quick mode, returns the path of the launch file of the small problem size instead.
    fn suite(&self) -> Result<Vec<(String, PathBuf)>, Report> {
        let names = list_folder(&self.kernels)?.into_iter().map(|folder| name_of(&folder));
        let kernels = names.map(|kernel| (self.launch(&kernel, "launch"), kernel));
        Ok(kernels.filter(|(path, _)| LaunchFile::exists(path)).map(|(path, kernel)| (kernel, path)).collect())
    }

    /// Applies `work` to every element on several threads, and displays the progress. Used for work that is
    /// not a simulation.
    fn map_parallel<T: Sync, U: Send>(
        &self,
        things: &[T],
        work: impl Fn(&T) -> Result<U, Report> + Sync,
    ) -> Result<Vec<U>, Report> {
        let bar = progress_bar(self.is_quiet, things.len());
        let one = |thing| {
            let done = work(thing);
            bar.inc(1);
            done
        };
        let done = self.runner.pool().install(|| things.par_iter().map(one).collect());
        bar.finish_and_clear();
        done
    }
}

/// Application or other item that has a name in a paper and a row on a results page.
trait Named {
    fn name(&self) -> &'static str;
}

impl<T: Named> Named for &T {
    fn name(&self) -> &'static str {
        (*self).name()
    }
}

/// Returns the index of the element that has the given name.
fn index_of(all: &[impl Named], name: &str) -> usize {
    match all.iter().position(|one| one.name() == name) {
        Some(at) => at,
        None => unreachable!("{name} is among the applications"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paper_covers_its_own_figures_and_no_others() {
        for figure in figures().filter(|figure| figure.name.contains('/')) {
            let paper = figure.name.split('/').next().unwrap_or_default();
            let naming: Vec<_> =
                names().into_iter().map(|(name, _)| name).filter(|name| figure.is_selected_by(name)).collect();
            assert_eq!(naming, [ALL, paper, figure.name]);
        }
    }

    #[test]
    fn no_name_stands_for_two_things() {
        let mut all: Vec<_> = names().into_iter().map(|(name, _)| name).collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|two| two[0] != two[1]), "{all:?}");
    }
}
