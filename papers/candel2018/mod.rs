//! Figures of candel2018: the paper's applications, its L2 configurations, and the metrics of its plots.

mod area;
mod fig2;
mod fig4;
mod fig5;
mod fig6;
mod fig7;
mod mshrs;
pub mod replacements;

use crate::chart::Chart;
use crate::judge::{ComparisonRow, median, number};
use crate::page::Page;
use crate::runs::Point;
use crate::table::Table;
use crate::{Figure, FigureError, Named, Session, index_of};
use warpsieve::run::Counters;

use fig2::fig2;
use fig4::fig4;
use fig5::fig5;
use fig6::fig6;
use fig7::fig7;
use mshrs::mshrs;

/// List of the figures of candel2018.
pub(super) const FIGURES: &[Figure] = &[
    Figure { name: "candel2018/fig2", description: "Three replacements of one line, cycle by cycle", draw: fig2 },
    Figure {
        name: "candel2018/fig4",
        description: "Operations per cycle with Fetch and Replacement Caches and with larger L2s",
        draw: fig4,
    },
    Figure { name: "candel2018/fig5", description: "L2 misses per thousand operations", draw: fig5 },
    Figure { name: "candel2018/fig6", description: "Delay of misses in the L2", draw: fig6 },
    Figure { name: "candel2018/fig7", description: "Misses that the Fetch and Replacement Cache serves", draw: fig7 },
    Figure { name: "candel2018/mshrs", description: "Speed-up by an FRC, by number of MSHRs of the L1s", draw: mshrs },
    Figure {
        name: "candel2018/area",
        description: "Area of an FRC, compared with doubling the bank",
        draw: |_| area::area(),
    },
];

/// Machine that models the paper's GPU.
pub(super) const MACHINE: &str = "southern-islands";

/// Applications of the paper: name, our kernel with the same algorithm, and its problem size. The data of
/// each application are several times larger than the largest L2, except for BinomialOption, which has almost
/// no data.
pub(super) const APPS: [(&str, &str, &str); 13] = [
    ("BinomialOption", "binomial", "launch"),
    ("BlackScholes", "blackscholes", "candel"),
    ("DCT", "dct", "candel"),
    ("DwtHaar1D", "dwthaar", "candel"),
    ("FastWalshTransform", "fwt", "candel"),
    ("MatrixMultiplication", "sgemm_cache", "candel"),
    ("Matrixtranspose", "transpose", "launch"),
    ("MersenneTwister", "mersenne", "candel"),
    ("QuasiRandomSequence", "quasirandom", "candel"),
    ("Reduction", "reduction", "candel"),
    ("ScanLargeArrays", "scan", "candel"),
    ("SobelFilter", "sobel", "candel"),
    ("URNG", "urng", "candel"),
];

/// L2 configurations, one for each bar of the paper's plots: name in the plots, and names of our designs.
pub(super) const L2S: [(&str, &[&str]); 11] = [
    ("128 KB", &[]),
    ("+4e", &["frc-4"]),
    ("+8e", &["frc-8"]),
    ("+16e", &["frc-16"]),
    ("+32e", &["frc-32"]),
    ("+64e", &["frc-64"]),
    ("+128e", &["frc-128"]),
    ("+256e", &["frc-256"]),
    ("+512e", &["frc-512"]),
    ("256 KB", &["l2-256k"]),
    ("512 KB", &["l2-512k"]),
];
pub(super) const BASELINE: usize = 0;
/// Indices of the L2 configurations with a Fetch and Replacement Cache (FRC), ordered by its size.
const FRCS: std::ops::Range<usize> = 1..9;
const FRC_4: usize = 1;
const FRC_8: usize = 2;
pub(super) const FRC_64: usize = 5;
const FRC_512: usize = 8;
/// Indices of the L2 configurations that are larger than the baseline and have no FRC.
const LARGER: [usize; 2] = [9, 10];

/// Minimum relative change of a metric that is regarded as an increase or a decrease.
const MIN_CHANGE: f64 = 0.02;
/// Maximum fraction that is regarded as negligible, for example a fraction of the L2 misses.
const RARE: f64 = 0.01;
/// The fraction [`RARE`] as a percentage.
const RARE_PERCENT: u32 = 1;

/// Metrics of one application, with one value for each L2 configuration.
struct App {
    name: &'static str,
    opc: [f64; L2S.len()],
    mpko: [f64; L2S.len()],
    delay: [f64; L2S.len()],
    share: [f64; L2S.len()],
    /// Components of the delay of an L2 miss, in cycles: waiting for a way or an FRC entry, waiting for the
    /// eviction of the victim, and waiting in the queue of the DRAM channel.
    delays: [[f64; 3]; L2S.len()],
    /// Bus use: fraction of the time with pending DRAM requests in which the data buses transfer data.
    busy: [f64; L2S.len()],
}

impl Named for App {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl App {
    /// Returns the OPC (operations per cycle) of each L2 configuration, divided by that of the baseline.
    fn relative_opc(&self) -> [f64; L2S.len()] {
        self.opc.map(|opc| opc / self.opc[BASELINE])
    }

    /// Explains why a comparison for this application fails, by comparing the delays of L2 misses without an
    /// FRC and with an FRC of 64 lines.
    fn why(&self) -> String {
        let of = |l2: usize| {
            let [way, eviction, channel] = self.delays[l2];
            let busy = 100.0 * self.busy[l2];
            format!(
                "a miss waits {way:.0} cycles for a way, {eviction:.0} for the eviction of the victim and {channel:.0} \
                 in the DRAM channel queue, and the DRAM bus is busy for {busy:.0} % of the time with pending requests"
            )
        };
        format!(
            "without an FRC, {}; with an FRC of 64 lines, {}, and {:.1} % of the misses remain",
            of(BASELINE),
            of(FRC_64),
            100.0 * self.misses_left()
        )
    }

    /// Returns the L2 misses per operation with an FRC of 64 lines, divided by the L2 misses per operation
    /// without an FRC.
    fn misses_left(&self) -> f64 {
        self.mpko[FRC_64] / self.mpko[BASELINE]
    }

    /// Returns the largest relative gain in OPC over all FRC sizes.
    fn best_gain(&self) -> f64 {
        FRCS.map(|l2| self.relative_opc()[l2] - 1.0).fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Runs every application on every L2 configuration. All plots use the results of these runs.
fn measure(session: &Session) -> Result<Vec<App>, FigureError> {
    let done = session.runner.table(&APPS, &L2S, |(_, kernel, size), (_, designs)| {
        Point::new(&session.launch(kernel, size), MACHINE, designs, &[])
    })?;
    let apps = APPS.iter().zip(&done).map(|(&(name, ..), runs)| {
        let each = |measure: fn(&Counters) -> f64| std::array::from_fn(|l2| measure(&runs[l2].counters));
        App {
            name,
            opc: each(Counters::opc),
            mpko: each(Counters::mpko),
            delay: each(Counters::miss_delay),
            share: each(Counters::frc_share),
            delays: std::array::from_fn(|l2| runs[l2].counters.miss_delays()),
            busy: each(Counters::dram_bus_use),
        }
    });
    Ok(apps.collect())
}

/// Returns the indices of the L2 configurations that most plots show.
fn compared_configs() -> Vec<usize> {
    [BASELINE].into_iter().chain(FRCS).chain(LARGER).collect()
}

const L2S_SHOWN: &str = "The machine is `southern-islands`. *128 KB* is an L2 of two banks of 128 KB with 16 ways.
*+Ne* adds an FRC of N lines to each bank. *256 KB* and *512 KB* have banks of that size with 32 ways. The kernels are
our own sources of the same algorithms. The paper states no input sizes. Our inputs are 3 to 8 MB in size
(size `candel`; Matrixtranspose: the main size), several times the 1 MB of the largest L2, so that every L2 evicts
lines; BinomialOption has almost no data. BlackScholes, DCT, FastWalshTransform and MatrixMultiplication work like the
samples of the AMD APP SDK.";

/// Plot of one metric: groups of bars for the applications, and one bar per L2 configuration.
struct Plot<'a> {
    figure: &'a str,
    chart: Chart,
    /// Indices of the L2 configurations that the plot shows.
    l2s: Vec<usize>,
    of: fn(&App) -> [f64; L2S.len()],
}

impl Plot<'_> {
    /// Creates the results page of the plot, with comparisons with the paper, numbers and chart.
    fn page(self, session: &Session, apps: &[App], about: &str, rows: Vec<ComparisonRow>) -> Result<Page, FigureError> {
        let about = format!("{about}\n\n{L2S_SHOWN}");
        let mut page =
            Page::with_comparison(self.figure, session.is_quick, &self.chart.title, &about, explain(apps, rows));
        let column = |l2: usize| (L2S[l2].0, apps.iter().map(|app| (self.of)(app)[l2]).collect());
        let table = Table::new(["application"], apps.iter().map(|app| [app.name]));
        let table = table.columns(3, self.l2s.into_iter().map(column));
        table.table(&mut page, &format!("## {}", self.chart.unit))?;
        table.chart(&mut page, "", self.chart, table.all());
        Ok(page)
    }
}

/// Adds an explanation to each comparison that fails. The explanation is derived from the results of the
/// application that is compared or, if there is no such application, from the medians over all applications.
fn explain(apps: &[App], rows: Vec<ComparisonRow>) -> Vec<ComparisonRow> {
    let why = |what: &str| apps.iter().find(|app| app.name == what).map_or_else(|| why_most(apps), App::why);
    let explained = |row: ComparisonRow| {
        let what = row.what.clone();
        row.explain_failure(|| why(&what))
    };
    rows.into_iter().map(explained).collect()
}

/// Explains why a comparison over all applications fails, from the median delays without an FRC and with an
/// FRC of 64 lines.
fn why_most(apps: &[App]) -> String {
    let middle = |of: &dyn Fn(&App) -> f64| {
        let values: Vec<f64> = apps.iter().map(of).collect();
        median(&values).unwrap_or(f64::NAN)
    };
    let of = |l2: usize| {
        let [way, eviction, channel] = [0, 1, 2].map(|part: usize| middle(&|app| app.delays[l2][part]));
        let busy = 100.0 * middle(&|app| app.busy[l2]);
        format!(
            "{way:.0} cycles for a way, {eviction:.0} for the eviction of the victim and {channel:.0} in the DRAM \
             channel queue, and the DRAM bus is busy for {busy:.0} %"
        )
    };
    let unchanged = apps.iter().filter(|app| app.misses_left() > 1.0 - RARE).count();
    format!(
        "medians over all applications: without an FRC, a miss waits {} of the time with pending requests; with an FRC \
         of 64 lines, it waits {}; {unchanged} of {} applications then still have more than {} % of their misses",
        of(BASELINE),
        of(FRC_64),
        apps.len(),
        100 - RARE_PERCENT
    )
}

/// Returns the application with the given name.
fn app<'a>(apps: &'a [App], name: &str) -> &'a App {
    &apps[index_of(apps, name)]
}

/// Counts the applications for which `does` returns true. Returns `(text, is_most)`: the count as text, and
/// whether it is more than half of the applications.
fn most(apps: &[App], does: impl Fn(&App) -> bool) -> (String, bool) {
    let count = apps.iter().filter(|app| does(app)).count();
    (format!("{count} of {}", apps.len()), 2 * count > apps.len())
}

/// Formats named numbers as a comma-separated list.
fn list_numbers<'a>(apps: impl IntoIterator<Item = (&'a str, f64)>) -> String {
    apps.into_iter().map(|(name, value)| format!("{name} {}", number(value))).collect::<Vec<_>>().join(", ")
}
