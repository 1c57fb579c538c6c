//! Figures of candel2018: its applications, its L2s, and what it measures of them.

mod area;
mod fig2;
mod fig4;
mod fig5;
mod fig6;
mod fig7;
mod mshrs;

use crate::chart::Chart;
use crate::judge::{Row, number};
use crate::page::Page;
use crate::runs::Point;
use crate::sheet::Sheet;
use crate::{Desk, Figure, Halt, Named, place};
use warpsieve::run::{Counters, ratio};

use fig2::fig2;
use fig4::fig4;
use fig5::fig5;
use fig6::fig6;
use fig7::fig7;
use mshrs::mshrs;

/// What this paper shows, and what draws it.
pub(super) const FIGURES: &[Figure] = &[
    Figure { name: "candel2018/fig2", shows: "Three replacements of one line, cycle by cycle", draw: fig2 },
    Figure {
        name: "candel2018/fig4",
        shows: "Operations a cycle with Fetch and Replacement Caches and with larger L2s",
        draw: fig4,
    },
    Figure { name: "candel2018/fig5", shows: "L2 misses a thousand operations", draw: fig5 },
    Figure { name: "candel2018/fig6", shows: "How long misses are held up in the L2", draw: fig6 },
    Figure { name: "candel2018/fig7", shows: "Misses that the Fetch and Replacement Cache serves", draw: fig7 },
    Figure { name: "candel2018/mshrs", shows: "What an FRC gains by the MSHRs of the L1s", draw: mshrs },
    Figure { name: "candel2018/area", shows: "What an FRC costs, against twice the bank", draw: |_| area::area() },
];

/// The machine that the paper ran on.
pub(super) const MACHINE: &str = "southern-islands";

/// The applications, and our kernels of the same algorithms.
pub(super) const APPS: [(&str, &str); 13] = [
    ("BinomialOption", "binomial"),
    ("BlackScholes", "blackscholes"),
    ("DCT", "dct"),
    ("DwtHaar1D", "dwthaar"),
    ("FastWalshTransform", "fwt"),
    ("MatrixMultiplication", "sgemm_cache"),
    ("Matrixtranspose", "transpose"),
    ("MersenneTwister", "mersenne"),
    ("QuasiRandomSequence", "quasirandom"),
    ("Reduction", "reduction"),
    ("ScanLargeArrays", "scan"),
    ("SobelFilter", "sobel"),
    ("URNG", "urng"),
];

/// The bars of the paper's plots: their names and our designs.
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
/// The L2s with an FRC, by its size.
const FRCS: std::ops::Range<usize> = 1..9;
const FRC_4: usize = 1;
const FRC_8: usize = 2;
pub(super) const FRC_64: usize = 5;
const FRC_512: usize = 8;
/// The L2s that are larger instead.
const LARGER: [usize; 2] = [9, 10];

/// What is said to rise or fall does so by this part at least.
const LEAST: f64 = 0.02;
/// A part that is hardly any, as it is and in percent.
const RARE: f64 = 0.01;
const RARE_PERCENT: u32 = 1;

/// What the plots show of one application, a number for each L2.
struct App {
    name: &'static str,
    opc: [f64; L2S.len()],
    mpko: [f64; L2S.len()],
    delay: [f64; L2S.len()],
    share: [f64; L2S.len()],
    /// On the baseline: DRAM channels; misses that found every way of their set taken, in parts of all; channels that
    /// have requests, on average; and the part of that time for which their buses are busy.
    channels: usize,
    waiting: f64,
    active: f64,
    busy: f64,
}

impl Named for App {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl App {
    /// OPC in parts of that of the baseline.
    fn relative_opc(&self) -> [f64; L2S.len()] {
        self.opc.map(|opc| opc / self.opc[BASELINE])
    }

    /// What there is for an FRC to mend on the baseline, for a row that does not hold.
    fn why(&self) -> String {
        let Self { channels, waiting, active, busy, .. } = self;
        format!(
            "without an FRC {:.1} % of its misses find every way of their set taken; {active:.1} of {channels} channels have requests at a \
             time, and their buses are busy for {:.0} % of it; with 64 lines it has {:.1} % of those misses",
            100.0 * waiting,
            100.0 * busy,
            100.0 * self.misses_left()
        )
    }

    /// Misses an operation with an FRC of 64 lines, in parts of those without.
    fn misses_left(&self) -> f64 {
        self.mpko[FRC_64] / self.mpko[BASELINE]
    }

    /// The most that an FRC of any size gains.
    fn best_gain(&self) -> f64 {
        FRCS.map(|l2| self.relative_opc()[l2] - 1.0).fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Requests that had to wait for a way, in parts of all misses.
pub(super) fn waiting(counters: &Counters) -> f64 {
    ratio(counters.l2.iter().map(|bank| bank.put_down).sum(), counters.l2_misses())
}

/// Measures every application on every L2; the five plots share the runs.
fn measured(desk: &Desk) -> Result<Vec<App>, Halt> {
    let done = desk.runner.table(&APPS, &L2S, |(_, kernel), (_, designs)| {
        Point::new(&desk.launch(kernel, "launch"), MACHINE, designs, &[])
    })?;
    let apps = APPS.iter().zip(&done).map(|(&(name, _), runs)| {
        let each = |measure: fn(&Counters) -> f64| std::array::from_fn(|l2| measure(&runs[l2].counters));
        App {
            name,
            opc: each(Counters::opc),
            mpko: each(Counters::mpko),
            delay: each(Counters::miss_delay),
            share: each(Counters::frc_share),
            channels: runs[BASELINE].counters.dram.len(),
            waiting: each(waiting)[BASELINE],
            active: each(Counters::dram_channels_active)[BASELINE],
            busy: each(Counters::dram_bus_use)[BASELINE],
        }
    });
    Ok(apps.collect())
}

/// The L2s that most plots show.
fn compared() -> Vec<usize> {
    [BASELINE].into_iter().chain(FRCS).chain(LARGER).collect()
}

pub(super) const L2S_SHOWN: &str = "On `southern-islands`: *128 KB* are two banks of 128 KB and 16 ways, *+Ne* the same with an FRC of N lines a bank, *256 KB* and
*512 KB* banks of 32 ways of that size. Kernels are our own sources of the same algorithms, of the sizes in their `launch.toml`: the
paper states none.";

/// One of the plots: a number for each application and L2.
struct Plot<'a> {
    figure: &'a str,
    chart: Chart,
    /// L2s that are shown.
    l2s: Vec<usize>,
    of: fn(&App) -> [f64; L2S.len()],
}

impl Plot<'_> {
    /// The page: the judged rows, the numbers and the chart.
    fn page(self, desk: &Desk, apps: &[App], about: &str, rows: Vec<Row>) -> Result<Page, Halt> {
        let about = format!("{about}\n\n{L2S_SHOWN}");
        let mut page = Page::held(self.figure, desk.is_quick, &self.chart.title, &about, explained(apps, rows));
        let column = |l2: usize| (L2S[l2].0, apps.iter().map(|app| (self.of)(app)[l2]).collect());
        let sheet = Sheet::new(["application"], apps.iter().map(|app| [app.name]));
        let sheet = sheet.columns(3, self.l2s.into_iter().map(column));
        sheet.table(&mut page, &format!("## {}", self.chart.unit))?;
        sheet.chart(&mut page, "", self.chart, sheet.all());
        Ok(page)
    }
}

/// Rows that do not hold say why: of their application, or of all.
fn explained(apps: &[App], rows: Vec<Row>) -> Vec<Row> {
    let why = |what: &str| apps.iter().find(|app| app.name == what).map_or_else(|| why_most(apps), App::why);
    let explained = |row: Row| {
        let what = row.what.clone();
        row.explained(|| why(&what))
    };
    rows.into_iter().map(explained).collect()
}

/// What there is for an FRC to mend on the baseline in most applications.
fn why_most(apps: &[App]) -> String {
    let rare = apps.iter().filter(|app| app.waiting < RARE).count();
    let unchanged = apps.iter().filter(|app| app.misses_left() > 1.0 - RARE).count();
    let middle = |of: fn(&App) -> f64| {
        let mut values: Vec<f64> = apps.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    format!(
        "without an FRC fewer than {RARE_PERCENT} % of the misses of {rare} of {} applications find every way of their set taken, \
         and with 64 lines {unchanged} have {} % of their misses or more; in the middle {:.1} of {} channels have requests at a \
         time, and their buses are busy for {:.0} % of it",
        apps.len(),
        100 - RARE_PERCENT,
        middle(|app| app.active),
        apps[0].channels,
        100.0 * middle(|app| app.busy)
    )
}

/// The application with this name.
fn app<'a>(apps: &'a [App], name: &str) -> &'a App {
    &apps[place(apps, name)]
}

/// What is said of most applications: how many of them do it, and that these are more than half.
fn most(apps: &[App], does: impl Fn(&App) -> bool) -> (String, bool) {
    let count = apps.iter().filter(|app| does(app)).count();
    (format!("{count} of {}", apps.len()), 2 * count > apps.len())
}

/// Numbers of several applications, by name.
fn listed<'a>(apps: impl IntoIterator<Item = (&'a str, f64)>) -> String {
    apps.into_iter().map(|(name, value)| format!("{name} {}", number(value))).collect::<Vec<_>>().join(", ")
}
