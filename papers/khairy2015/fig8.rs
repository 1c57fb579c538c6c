//! khairy2015 Figure 8: DWT-PRIC, the combination of streaming bypass, DWT-CS and PRIC.

use std::iter::once;

use super::{APPS, App, CONTENTION, DWT_PRIC, Kind, METHOD, STREAMING, mean_of, measure, relative, with, with_means};
use crate::chart::Chart;
use crate::judge::{Class, ComparisonRow, Effect};
use crate::page::Page;
use crate::{FigureError, Session, index_of};

/// Minimum IPC relative to the baseline at which a cache-friendly application is regarded as unaffected.
const SAME: f64 = 0.98;

const TITLE: &str = "khairy2015, Figure 8: DWT-PRIC";

/// Schemes to compare: DWT-PRIC, followed by the schemes of which it is composed.
const SCHEMES: [(&str, &[&str]); 4] = [
    ("DWT-PRIC", DWT_PRIC),
    ("streaming", &["streaming", "streaming-l2"]),
    ("DWT-CS", &["dwt-cs"]),
    ("PRIC", &["pric"]),
];

pub(in super::super) fn fig8(session: &Session) -> Result<Page, FigureError> {
    let apps: Vec<&App> = APPS.iter().collect();
    let machines: Vec<_> = once(with(&[])).chain(SCHEMES.map(|(_, designs)| with(designs))).collect();
    let done = measure(session, &apps, &machines)?;
    let about = format!(
        "IPC relative to the baseline, with *DWT-PRIC* (designs `dwt-pric` and `streaming-l2`) and with each of its\n\
         three components alone: *streaming* bypass of both caches, *DWT-CS* and *PRIC*.\n\
         {METHOD}"
    );
    let rows = rows(&apps, &relative(&done, 1, 0));
    let mut page = Page::with_comparison("khairy2015/fig8", session.is_quick, TITLE, &about, rows);
    let table = with_means(&apps, (1..).zip(SCHEMES).map(|(at, (name, _))| (name, relative(&done, at, 0))));
    table.table(&mut page, "## Applications")?;
    let chart = Chart::relative(TITLE, "IPC, relative to the baseline");
    table.chart(&mut page, "", chart.logarithmic(), table.all());
    Ok(page)
}

/// Compares our gains with DWT-PRIC with the published gains.
fn rows(apps: &[&App], gains: &[f64]) -> Vec<ComparisonRow> {
    let mean = |kinds: &[Kind]| mean_of(kinds, apps, gains);
    let friendly = apps.iter().zip(gains).filter(|(app, _)| app.kind == Kind::Friendly);
    let worst = friendly.min_by(|(_, one), (_, other)| one.total_cmp(other));
    let (name, worst) = worst.map_or(("none", f64::NAN), |(app, gain)| (app.name, *gain));
    let of =
        |name: &str, published: f64| ComparisonRow::sign(name, gains[index_of(apps, name)], published, Effect::RATIO);
    vec![
        ComparisonRow::sign("all, harmonic mean", mean(&Kind::ALL), 1.54, Effect::RATIO),
        ComparisonRow::sign("streaming, harmonic mean", mean(&STREAMING), 1.2, Effect::RATIO),
        ComparisonRow::sign("contention, harmonic mean", mean(&CONTENTION), 2.3, Effect::RATIO),
        of("SYRK", 21.0),
        of("GESUMMV", 16.8),
        ComparisonRow::claim(
            Class::Sign,
            "worst of the friendly",
            &format!("{name} {worst:.3}"),
            "none loses",
            worst >= SAME,
        ),
    ]
}
