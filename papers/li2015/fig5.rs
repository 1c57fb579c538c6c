//! li2015 Figure 5: hit rates of the L1, and the percentage of requests that are for lines referenced only
//! once.

use super::reuse::count;
use super::schemes::{all_hits, of_l1s};
use super::{App, BELOW_ONE, KERNELS, Kind, app_table, apps, measure};
use crate::chart::Chart;
use crate::judge::{ComparisonRow, mean};
use crate::page::Page;
use crate::runs::RunResult;
use crate::table::Table;
use crate::{FigureError, Session, index_of};
use warpsieve::run::ratio;

/// Returns the hits of stores, in percent of all hits.
fn of_stores(run: &RunResult) -> f64 {
    100.0 * ratio(of_l1s(run, |unit| unit.store_hits), of_l1s(run, |unit| unit.hits + unit.store_hits))
}

const STORES: &str = "all hits are stores: the lines of a tile also hold its neighboring cells, which the CTA has just \
    loaded. No load hits";
const HALO: &str = "the halos of tiles overlap, and a line holds rows of several tiles, so that an SM requests some \
    lines again (figure 3)";
const AGAIN: &str = "PTF, SSSP and BH have few requests without reuse. PTF reads rows of indices that are longer than \
    a line, an SM of SSSP gathers from all 4,096 lines of distances, and BH visits nodes of which 32 share a line";

pub(in super::super) fn fig5(session: &Session) -> Result<Page, FigureError> {
    let apps = apps(&[Kind::Unfriendly, Kind::Friendly]);
    let done = measure(session, &apps, &[(vec![], vec![])])?;
    let [hits, of_stores] = [all_hits, of_stores].map(|of| done.iter().map(|runs| of(&runs[0])).collect::<Vec<_>>());
    let once: Vec<_> = count(session, &apps)?.iter().map(super::reuse::ReuseCounts::once).collect();
    let about = format!(
        "*Hits*: hits of loads and stores in the L1 of `fermi` with `li2015-clocks`, in percent of all loads and\n\
         stores. A load that finds its line in flight does not count as a hit. *Without reuse*: requests for lines\n\
         that an SM requests only once in a launch, in percent of all requests. They do not depend on the cache.\n\
         {KERNELS}"
    );
    let title = "li2015, Figure 5: hit rates and reuse";
    let mut page = Page::with_comparison("li2015/fig5", session.is_quick, title, &about, rows(&apps, &hits, &once));
    let columns = [("hits %", hits.clone()), ("stores among hits %", of_stores), ("without reuse %", once.clone())];
    let table = Table::new(["app", "class"], apps.iter().map(|app| [app.name, app.kind.name()])).columns(1, columns);
    table.table(&mut page, "## Applications")?;
    let shown = app_table(&apps, 1, [("hits", hits), ("without reuse", once)]);
    shown.chart(&mut page, "", Chart::new("Hits, and requests without reuse", "percent"), shown.all());
    Ok(page)
}

fn rows(apps: &[&App], hits: &[f64], once: &[f64]) -> Vec<ComparisonRow> {
    let of = |name: &str| hits[index_of(apps, name)];
    let mean_of = |kind: Kind, values: &[f64]| {
        let of_kind = apps.iter().zip(values).filter(|(app, _)| app.kind == kind);
        mean(&of_kind.map(|(_, value)| *value).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    let [low, high] = [Kind::Unfriendly, Kind::Friendly].map(|kind| mean_of(kind, hits));
    let [most, least] = [Kind::Unfriendly, Kind::Friendly].map(|kind| mean_of(kind, once));
    vec![
        ComparisonRow::points("hit rate of the unfriendly, mean", low, 8.9, 15.0),
        ComparisonRow::points("hit rate of the friendly, mean", high, 55.4, 15.0),
        ComparisonRow::ordering("mean hit rate", &[("friendly", high), ("unfriendly", low)]),
        ComparisonRow::sign("hit rate of NW, below 1 %", of("NW"), 0.0, BELOW_ONE).with_reason(STORES),
        ComparisonRow::sign("hit rate of HS, below 1 %", of("HS"), 0.0, BELOW_ONE).with_reason(HALO),
        ComparisonRow::points("hit rate of LUD", of("LUD"), 36.8, 15.0),
        ComparisonRow::points("requests without reuse of the unfriendly, mean", most, 53.2, 15.0)
            .explain_failure(|| AGAIN.to_owned()),
        ComparisonRow::points("requests without reuse of the friendly, mean", least, 7.9, 15.0),
        ComparisonRow::ordering("mean share of requests without reuse", &[("unfriendly", most), ("friendly", least)]),
    ]
}
