//! khairy2015 Figure 10: L1 misses that DWT-PRIC and caches of unlimited size avoid.

use rtl::throttle::dwt_cs::DwtConfig;

use super::{CONTENTION, DWT_PRIC, METHOD, app_table, apps, cut, each, limits, measure, miss_percent, with};
use crate::chart::Chart;
use crate::judge::{ComparisonRow, Effect};
use crate::page::Page;
use crate::runs::RunResult;
use crate::{FigureError, Session, index_of};
use warpsieve::run::ratio;

/// Applications in which DWT-PRIC avoids more than 80 % of the misses, according to the paper.
const MOST_REDUCED: [&str; 4] = ["3DS", "KM", "SYRK", "GESUMMV"];
/// Applications in which DWT-PRIC avoids at most 60 % of the misses, according to the paper.
const SOME: [&str; 3] = ["2DCONV", "MM", "IIX"];
/// Applications whose miss rate with DWT-PRIC is close to that of caches of unlimited size, according to the
/// paper.
const NEAR: [&str; 4] = ["SRAD", "3DS", "2DCONV", "KM"];
/// Maximum difference, in percentage points, at which the miss rates with DWT-PRIC and with caches of
/// unlimited size are regarded as close. Used for the applications in [`NEAR`].
const POINTS: f64 = 15.0;
/// Configuration of DWT-CS, which determines how long the search for the warp limit takes.
const DWT: DwtConfig = DwtConfig::KHAIRY2015;

const TITLE: &str = "khairy2015, Figure 10: L1 misses";

pub(in super::super) fn fig10(session: &Session) -> Result<Page, FigureError> {
    let apps = apps(&CONTENTION);
    let done = measure(session, &apps, &[with(&[]), with(DWT_PRIC), with(&["unbounded"])])?;
    let misses = [0, 1, 2].map(|machine| each(&done, machine, miss_percent));
    let cuts = [1, 2].map(|machine: usize| -> Vec<f64> {
        misses[0].iter().zip(&misses[machine]).map(|(before, after)| cut(*before, *after)).collect()
    });
    let about = format!(
        "Loads that miss in the L1 or bypass it, in percent of all loads, and the percentage by which DWT-PRIC\n\
         (designs `dwt-pric` and `streaming-l2`) and unbounded caches (`unbounded`) reduce them. In the last rows,\n\
         the published number is our result with unbounded caches.\n\
         {METHOD}"
    );
    let mut rows: Vec<ComparisonRow> =
        MOST_REDUCED.map(|name| most(name, cuts.each_ref().map(|cuts| cuts[index_of(&apps, name)]))).into();
    rows.extend(SOME.map(|name| {
        ComparisonRow::sign(
            &format!("{name}, reduction of misses in percent"),
            cuts[0][index_of(&apps, name)],
            60.0,
            Effect::PERCENT,
        )
    }));
    rows.extend(NEAR.map(|name| near(name, &done[index_of(&apps, name)])));
    let mut page = Page::with_comparison("khairy2015/fig10", session.is_quick, TITLE, &about, rows);
    let names = ["baseline", "DWT-PRIC", "unbounded", "cut by DWT-PRIC", "cut by unbounded"];
    let table = app_table(&apps, 1, names.into_iter().zip(misses.into_iter().chain(cuts)));
    table.table(&mut page, "## Applications")?;
    table.chart(&mut page, "", Chart::new(TITLE, "percent"), table.all());
    Ok(page)
}

/// Checks that DWT-PRIC avoids most misses of an application. If it does not, the explanation gives the
/// percentage of misses that caches of unlimited size avoid.
fn most(name: &str, [ours, unbounded]: [f64; 2]) -> ComparisonRow {
    ComparisonRow::factor(&format!("{name}, reduction of misses in percent"), ours, 80.0, 0.0).explain_failure(|| {
        format!(
            "unbounded caches avoid only {unbounded:.1} % of the misses, as the others are an SM's first loads of \
             their\n  lines. DWT-PRIC reaches {:.0} % of this reduction",
            100.0 * ours / unbounded
        )
    })
}

/// Checks that the miss rate of an application with DWT-PRIC is close to that of caches of unlimited size.
fn near(name: &str, runs: &[RunResult]) -> ComparisonRow {
    let [ours, unbounded] = [1, 2].map(|machine: usize| miss_percent(&runs[machine]));
    let what = format!("{name}, miss rate near that of unbounded caches");
    ComparisonRow::points(&what, ours, unbounded, POINTS).explain_failure(|| {
        let settled = u64::from(DWT.period * (DWT.above + DWT.sample));
        let cycles = runs[1].counters.cycles;
        format!(
            "DWT-CS has found its limit ({}) after {settled} of {cycles} cycles ({:.0} %); until then \
             the L1 thrashes in most of the SMs",
            limits(&runs[1]),
            100.0 * ratio(settled, cycles)
        )
    })
}
