//! Comparison of padding with cache schemes, for kernels whose matrix rows conflict because they map to few
//! L1 sets. Padding lengthens each row in memory so that the distance between two rows is an odd number of
//! lines; it costs only memory. The results page shows how much of a scheme's gain padding alone achieves.

use std::path::{Path, PathBuf};

use miette::Report;

use super::{
    MACHINE, MEANS, NOTED, Parts, by_design, format_range, gain_and_lose, geometric, in_words, name, numbers, speedups,
};
use crate::chart::{Chart, Series};
use crate::counted::RunMetrics;
use crate::judge::geometric_mean;
use crate::page::Page;
use crate::table::row;
use crate::{FigureError, Session};
use warpsieve::launch::LaunchFile;
use warpsieve::run::open;

/// Unmodified machine, and machines with the schemes that are compared with padding.
const DESIGNS: [Parts; 7] =
    [&[], &["fermi-hash"], &["decoupled-dueling"], &["pric"], &["dwt-pric"], &["mrpb"], &["fully-associative"]];

/// Number of kernels in quick mode: those with the fewest threads. Quick mode usually runs small launch
/// files, but no small launch file is padded.
const QUICK: usize = 4;
const FILES: [&str; 2] = ["launch", "padded"];

/// Results of every kernel with each design, for launch files without and with padded rows.
struct StrideResults {
    /// Kernels, each with the path of its launch file without padding.
    kernels: Vec<(String, PathBuf)>,
    plain: Vec<Vec<RunMetrics>>,
    padded: Vec<Vec<RunMetrics>>,
}

impl StrideResults {
    /// Returns, for each kernel, the speedup that padding achieves on the unmodified machine.
    fn padding(&self) -> Vec<f64> {
        speedups(&self.padded[0], &self.plain[0])
    }

    /// Returns, for each kernel, the speedup that a design achieves without padding.
    fn gains(&self, design: usize) -> Vec<f64> {
        speedups(&self.plain[design], &self.plain[0])
    }

    /// Returns, for each kernel with padded rows, the speedup of a design over the unmodified machine.
    fn gains_padded(&self, design: usize) -> Vec<f64> {
        speedups(&self.padded[design], &self.padded[0])
    }

    /// Returns two speedups for each kernel: by padding alone, and by a design alone.
    fn pairs(&self, design: usize) -> Vec<(f64, f64)> {
        self.padding().into_iter().zip(self.gains(design)).collect()
    }
}

/// Returns the percentage of a scheme's gain that padding alone achieves. The percentage is computed from the
/// logarithms of the speedups, because gains multiply: a speedup of 2 is half the gain of a speedup of 4.
/// Returns `None` if the gain of the scheme is too small.
fn share(pairs: &[(f64, f64)]) -> Option<f64> {
    let logs = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(|pair| of(pair).ln()).sum::<f64>();
    let (padding, scheme) = (logs(|pair| pair.0), logs(|pair| pair.1));
    (scheme >= pairs.len() as f64 * (1.0 + NOTED).ln()).then(|| 100.0 * padding / scheme)
}

pub(super) fn strides(session: &Session) -> Result<Page, FigureError> {
    let kernels = pairs_of_files(session)?;
    let of_file = |file: &str| -> Vec<_> {
        kernels.iter().map(|(name, path)| (name.clone(), path.with_file_name(file))).collect()
    };
    let [plain, padded] = FILES.map(|file| by_design(session, &DESIGNS, &of_file(file)));
    Ok(draw(session.is_quick, &StrideResults { kernels, plain: plain?, padded: padded? })?)
}

/// Returns every kernel that has two launch files, one with and one without padding. In quick mode, returns
/// only the kernels with the fewest threads.
fn pairs_of_files(session: &Session) -> Result<Vec<(String, PathBuf)>, Report> {
    let has_both = |path: &PathBuf| FILES.iter().all(|file| LaunchFile::exists(&path.with_file_name(file)));
    let mut kernels: Vec<_> = session.suite()?.into_iter().filter(|(_, path)| has_both(path)).collect();
    for (_, path) in &mut kernels {
        path.set_file_name(FILES[0]);
    }
    if session.is_quick {
        let mut sized =
            kernels.into_iter().map(|one| Ok((threads(&one.1)?, one))).collect::<Result<Vec<_>, Report>>()?;
        sized.sort();
        kernels = sized.into_iter().take(QUICK).map(|(_, kernel)| kernel).collect();
    }
    Ok(kernels)
}

/// Returns the total number of threads of all launches in a launch file.
fn threads(path: &Path) -> Result<u64, Report> {
    let file = open(path, None)?;
    let count = |sides: &[u32; 3]| sides.iter().map(|side| u64::from(*side)).product::<u64>();
    Ok(file.launches().map(|launch| count(&launch.grid) * count(&launch.block)).sum())
}

fn draw(is_quick: bool, found: &StrideResults) -> Result<Page, Report> {
    let mut page = Page::new("beyond/strides", is_quick, "Padded rows compared with schemes");
    let which = if is_quick {
        format!(
            "the {} kernels with the fewest threads among those that have both files, because there are no smaller files",
            found.kernels.len()
        )
    } else {
        format!("all {} kernels that have both files", found.kernels.len())
    };
    page.text(&format!(
        "If matrix rows are a power-of-two number of lines apart, they map to few sets of the L1. The size `padded` of a kernel does the same\n\
         work as its main size with rows an odd number of lines apart. This page measures on `{MACHINE}`, for\n\
         {which}:\n\
         the gain of a scheme on unpadded rows, the gain of padding without a scheme, and the gain of the scheme on padded rows. These kernels have\n\
         a padded file because their rows conflict, so the page says nothing about other kernels. Padding also moves lines in the L2 and in the\n\
         DRAM, which none of the schemes does.\n\
         {MEANS}\n\
         *By padding* is the share of a scheme's gain that padding alone achieves, in percent. Gains multiply, so shares are computed from\n\
         logarithms: a gain of two is half of a gain of four. A gain below {:.0} % has no share.",
        100.0 * NOTED
    ));
    let head = [
        "scheme",
        "gain",
        "leave-one-out",
        "gain 5 %",
        "lose 5 %",
        "by padding %",
        "leave-one-out",
        "on padded rows",
        "leave-one-out",
        "gain 5 %",
    ];
    let rows = (1..DESIGNS.len()).map(|at| {
        let (gains, padded) = (found.gains(at), found.gains_padded(at));
        let [gaining, _] = gain_and_lose(&padded);
        let means = format_range(&gains, 3, geometric_mean).into_iter().chain(gain_and_lose(&gains));
        let means =
            means.chain(format_range(&found.pairs(at), 0, share)).chain(format_range(&padded, 3, geometric_mean));
        row(&name(DESIGNS[at]), means.chain([gaining]))
    });
    let padding = found.padding();
    let alone = format_range(&padding, 3, geometric_mean).into_iter().chain(gain_and_lose(&padding));
    let alone = row("padding alone", alone.chain(vec!["-".to_owned(); 5]));
    page.table(&head, rows.chain([alone]).collect(), 1);
    by_kernel(&mut page, found);
    page.text(&format!("## Conclusions\n{}", findings(found)));
    let of_files = [(FILES[0], &found.plain), (FILES[1], &found.padded)];
    let kernels = of_files.map(|(file, _)| {
        let named = found.kernels.iter().map(|(kernel, path)| (format!("{kernel}/{file}"), path.clone()));
        named.collect::<Vec<_>>()
    });
    let both: Vec<Vec<_>> =
        of_files[0].1.iter().zip(of_files[1].1).map(|(plain, padded)| [&plain[..], padded].concat()).collect();
    page.csv = numbers(&DESIGNS, &kernels.concat(), &both)?;
    Ok(page)
}

fn by_kernel(page: &mut Page, found: &StrideResults) {
    let schemes: Vec<_> = (1..DESIGNS.len()).collect();
    let names: Vec<_> = schemes.iter().map(|at| name(DESIGNS[*at])).collect();
    let head: Vec<_> = ["kernel", "padding"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let padding = found.padding();
    let table = |page: &mut Page, title: &str, head: &[&str], cells: &dyn Fn(usize) -> Vec<String>| {
        page.text(title);
        let rows = found.kernels.iter().enumerate().map(|(at, (kernel, _))| row(kernel, cells(at)));
        page.table(head, rows.collect(), 1);
    };
    let shown = |value: f64| format!("{value:.3}");
    let gains: Vec<_> = schemes.iter().map(|at| found.gains(*at)).collect();
    table(page, "## Gains on unpadded rows", &head, &|at| {
        [padding[at]].into_iter().chain(gains.iter().map(|of| of[at])).map(shown).collect()
    });
    let series = [Series::new("padding", padding.iter().copied())].into_iter();
    let series = series.chain(names.iter().zip(&gains).map(|(name, of)| Series::new(name, of.iter().copied())));
    let groups = found.kernels.iter().map(|(kernel, _)| kernel.clone()).collect();
    let chart = Chart::relative("Padding and schemes, on unpadded rows", "speed-up").logarithmic();
    page.chart("", &Chart { groups, series: series.collect(), ..chart });
    let head: Vec<_> = ["kernel"].into_iter().chain(names.iter().map(String::as_str)).collect();
    table(page, "## Share of these gains that padding alone achieves, in percent", &head, &|at| {
        let part = |of: &Vec<f64>| share(&[(padding[at], of[at])]).map_or("-".to_owned(), |part| format!("{part:.0}"));
        gains.iter().map(part).collect()
    });
    let padded: Vec<_> = schemes.iter().map(|at| found.gains_padded(*at)).collect();
    table(page, "## Gains on padded rows", &head, &|at| padded.iter().map(|of| shown(of[at])).collect());
}

fn findings(found: &StrideResults) -> String {
    let mut text =
        format!("Padding alone gives a mean speed-up of {}, without any hardware.\n", in_words(&found.padding()));
    let mean = |at: &usize| geometric(&found.gains(*at));
    if let Some(best) = (1..DESIGNS.len()).max_by(|one, other| mean(one).total_cmp(&mean(other))) {
        let part = share(&found.pairs(best)).map_or("no part".to_owned(), |part| format!("{part:.0} %"));
        text.push_str(&format!(
            "The best scheme, `{}`, gives {} on unpadded rows; padding alone achieves {part} of this gain. On padded rows, the scheme gives {}.\n",
            name(DESIGNS[best]),
            in_words(&found.gains(best)),
            in_words(&found.gains_padded(best))
        ));
    }
    let all = (1..DESIGNS.len()).flat_map(|at| found.pairs(at));
    let parts: Vec<_> = all.filter_map(|pair| share(&[pair])).collect();
    let most = parts.iter().filter(|part| **part >= 50.0).count();
    text.push_str(&format!(
        "Of {} gains of {:.0} % or more, each of one kernel with one scheme, padding alone achieves at least half in {most} cases.",
        parts.len(),
        100.0 * NOTED
    ));
    text
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::runs::Runner;
    use crate::store::Store;

    #[test]
    fn a_gain_of_two_is_half_of_a_gain_of_four_and_no_part_of_next_to_nothing() {
        assert_eq!(share(&[(2.0, 4.0)]), Some(50.0));
        assert_eq!(share(&[(0.5, 2.0), (1.0, 1.0)]), Some(-100.0));
        assert_eq!(share(&[(2.0, 1.04)]), None);
        assert_eq!(share(&[(2.0, 0.5)]), None);
    }

    #[test]
    fn every_kernel_with_a_padded_file_is_taken_and_quickly_those_with_the_fewest_threads() {
        let folder = tempfile::tempdir().unwrap();
        let taken = |is_quick| {
            let runner = Runner::new(Store::new(Some(folder.path())).unwrap(), 1, true, Arc::default()).unwrap();
            let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
            pairs_of_files(&Session { kernels, is_quick, is_quiet: true, runner }).unwrap()
        };
        let (all, quick) = (taken(false), taken(true));
        assert!(all.len() > QUICK && quick.len() == QUICK && quick.iter().all(|one| all.contains(one)), "{quick:?}");
        assert!(all.iter().all(|(_, path)| path.ends_with(FILES[0])), "{all:?}");
        let most = quick.iter().map(|(_, path)| threads(path).unwrap()).max();
        let others = all.iter().filter(|one| !quick.contains(one)).map(|(_, path)| threads(path).unwrap()).min();
        assert!(most <= others, "{quick:?}");
    }

    #[test]
    fn the_findings_set_padding_beside_the_best_scheme() {
        let one = |cycles| RunMetrics {
            cycles,
            loads: 1,
            dram_bytes: 64,
            dynamic_pj: 1.0,
            leakage_pj: 1.0,
            ..RunMetrics::default()
        };
        let mut plain = vec![vec![one(400), one(100)]; DESIGNS.len()];
        let mut padded = vec![vec![one(200), one(100)]; DESIGNS.len()];
        (plain[3], padded[3]) = (vec![one(100), one(100)], vec![one(100), one(100)]);
        let kernels = ["syrk", "vadd"].map(|name| (name.to_owned(), PathBuf::new())).into();
        let page = draw(false, &StrideResults { kernels, plain, padded }).unwrap();
        let text = &page.markdown;
        assert!(text.contains("Padding alone gives a mean speed-up of 1.414 (1.000 to 2.000)"), "{text}");
        assert!(
            text.contains(
                "The best scheme, `pric`, gives 2.000 (1.000 to 4.000) on unpadded rows; padding alone achieves 50 % of this gain."
            ),
            "{text}"
        );
        assert!(text.contains("On padded rows, the scheme gives 1.414 (1.000 to 2.000)."), "{text}");
        assert!(
            text.contains(
                "Of 1 gains of 5 % or more, each of one kernel with one scheme, padding alone achieves at least half in 1 cases."
            )
        );
        assert_eq!(page.csv.lines().count(), 1 + 7 * 2 * 2);
    }
}
