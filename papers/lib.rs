//! # The figures of the papers, measured again
//! A figure says which runs it needs, and gets them from the [`runs::Runner`]: several at a time, and
//! from disk where they have been made before ([`store`]). It sets its numbers beside the published
//! ones and has each judged by rule ([`judge`]), draws them ([`chart`]), and hands over a [`page`]:
//! Markdown, CSV and SVG that appear whole or not at all.

mod accelsim;
mod anssari2012;
mod apart;
mod area;
mod beyond;
mod candel2018;
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
pub mod sheet;
mod silicon;
pub mod store;
mod structures;
mod suite;
mod volta;
mod xie2013;

use std::path::PathBuf;

use miette::Report;

use page::Page;
use progress::progress_bar;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use runs::Runner;
use warpsieve::kernels::{name_of, sorted};

/// Why a figure was not drawn.
#[derive(Debug)]
pub enum Halt {
    /// Bad input, or a file that cannot be read or written.
    Input(Report),
    /// Runs that broke a rule of the model, computed something wrong, or did not come to an end.
    Failed(String),
    /// A signal of this number asked for the end. What was done by then is kept.
    Interrupted(usize),
}

impl From<Report> for Halt {
    fn from(report: Report) -> Self {
        Self::Input(report)
    }
}

/// A figure, a table, or what else is measured together and written on one page.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Its name, and the path of its files below the folder of results: `li2015/fig8`.
    pub name: &'static str,
    /// What it shows.
    pub shows: &'static str,
    /// Measures and draws it.
    pub draw: fn(&Desk) -> Result<Page, Halt>,
}

/// The name under which every figure is asked for.
pub const ALL: &str = "all";

/// Every figure, in the order in which they are drawn.
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

/// What may be asked for, and what it shows: all figures, those of a paper, each.
#[must_use]
pub fn names() -> Vec<(&'static str, String)> {
    let mut names = vec![(ALL, "Every figure".to_owned())];
    for figure in figures() {
        if let Some((paper, _)) = figure.name.split_once('/')
            && names.iter().all(|(name, _)| *name != paper)
        {
            names.push((paper, format!("Every figure of {paper}")));
        }
        names.push((figure.name, figure.shows.to_owned()));
    }
    names
}

impl Figure {
    /// Whether it is asked for by this name: its own, that of its paper, or that of all.
    #[must_use]
    pub fn is_named(&self, asked: &str) -> bool {
        let is_of = || self.name.strip_prefix(asked).is_some_and(|rest| rest.starts_with('/'));
        asked == ALL || asked == self.name || is_of()
    }
}

/// On the simulator of li2015 and khairy2015, GPGPU-Sim 3.2 with the GTX 480, a load asks for the parts of a
/// line that its warp needs, down to 32 bytes; only a miss in the L1 fetches the whole line. So what goes
/// past the L1 asks for the sectors that it touches.
const SECTORS: &str = "l1.bypass_sectors=32";

/// What a figure is drawn from.
#[derive(Debug)]
pub struct Desk {
    /// The folder of the kernels.
    pub kernels: PathBuf,
    /// Whether the small sizes are used.
    pub is_quick: bool,
    /// Whether no progress is shown.
    pub is_quiet: bool,
    /// Measures.
    pub runner: Runner,
}

impl Desk {
    /// The launch file of a kernel: of the small size, or `size`.
    fn launch(&self, kernel: &str, size: &str) -> PathBuf {
        let size = if self.is_quick { "small" } else { size };
        self.kernels.join(kernel).join(format!("{size}.toml"))
    }

    /// The kernels with a usual size, and its launch file; that of the small size if that is used.
    fn suite(&self) -> Result<Vec<(String, PathBuf)>, Report> {
        let names = sorted(&self.kernels)?.into_iter().map(|folder| name_of(&folder));
        let kernels = names.map(|kernel| (self.launch(&kernel, "launch"), kernel));
        Ok(kernels.filter(|(path, _)| path.is_file()).map(|(path, kernel)| (kernel, path)).collect())
    }

    /// Does the same with each of several things, which is no run of the machine, on the threads of the runner.
    fn each<T: Sync, U: Send>(
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

/// What a page has a row for, by its name in the paper.
trait Named {
    fn name(&self) -> &'static str;
}

impl<T: Named> Named for &T {
    fn name(&self) -> &'static str {
        (*self).name()
    }
}

/// The place of the one with this name.
fn place(all: &[impl Named], name: &str) -> usize {
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
                names().into_iter().map(|(name, _)| name).filter(|name| figure.is_named(name)).collect();
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
