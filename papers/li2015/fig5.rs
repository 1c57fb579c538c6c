//! Figure 5: hit rates of the L1, and requests of lines that are asked for once.

use super::super::{Desk, explained};
use super::reuse::counted;
use super::{KERNELS, Kind, apps, measured};
use crate::Halt;
use crate::chart::{Chart, Series};
use crate::judge::{Row, mean};
use crate::page::Page;
use crate::runs::Clocked;
use warpsieve::run::ratio;

/// Hits of loads and stores in percent of both, and those of the hits that are stores'.
struct Hits {
    all: f64,
    of_stores: f64,
}

impl Hits {
    fn new(run: &Clocked) -> Self {
        let sum = |count: fn(&rtl::l1::stats::L1Stats) -> u64| run.counters.l1.iter().map(count).sum::<u64>();
        let hits = sum(|unit| unit.hits + unit.store_hits);
        let all = sum(|unit| unit.accesses + unit.store_hits + unit.store_misses);
        Self { all: 100.0 * ratio(hits, all), of_stores: 100.0 * ratio(sum(|unit| unit.store_hits), hits) }
    }
}

const STORES: &str =
    "all of them stores: the tile's lines hold the cells beside it too, which the CTA has just loaded. No load hits";
const HALO: &str = "tiles overlap by their halos, and a line holds rows of several tiles, so that an SM asks for some lines again (figure 3)";
const AGAIN: &str = "of PTF, SSSP and BH little is without reuse: rows of indices longer than a line, gathers of an SM from all of 4,096 lines of distances, \
     and walks over nodes of which 32 share a line";

pub(in super::super) fn fig5(desk: &Desk) -> Result<Page, Halt> {
    let apps = apps(&[Kind::Unfriendly, Kind::Friendly]);
    let done = measured(desk, &apps, &[(vec![], vec![])])?;
    let hits: Vec<_> = done.iter().map(|runs| Hits::new(&runs[0])).collect();
    let once: Vec<_> = counted(desk, &apps)?.iter().map(super::reuse::Counted::once).collect();
    let of = |name: &str| apps.iter().position(|app| app.name == name).map_or(f64::NAN, |at| hits[at].all);
    let mean_of = |kind: Kind, value: &dyn Fn(usize) -> f64| {
        let values: Vec<_> = (0..apps.len()).filter(|at| apps[*at].kind == kind).map(value).collect();
        mean(&values).unwrap_or(f64::NAN)
    };
    let [low, high] = [Kind::Unfriendly, Kind::Friendly].map(|kind| mean_of(kind, &|at| hits[at].all));
    let [most, least] = [Kind::Unfriendly, Kind::Friendly].map(|kind| mean_of(kind, &|at| once[at]));

    let mut page = Page::new("li2015/fig5", desk.is_quick, "li2015, Figure 5: hit rates and reuse");
    page.text(&format!(
        "Hits of loads and stores in the L1 of `fermi` with `li2015-clocks`, in percent of both; a load that finds its line on the way is no hit.\n\
         Requests of lines that an SM asks for once in a launch, in percent of all, whatever the cache. {KERNELS}"
    ));
    page.judged(vec![
        Row::points("hit rate of the unfriendly, mean", low, 8.9, 15.0),
        Row::points("hit rate of the friendly, mean", high, 55.4, 15.0),
        Row::ordering("mean hit rate", &[("friendly", high), ("unfriendly", low)]),
        Row::sign("hit rate of NW, below 1 %", of("NW"), 0.0, (0.0, 1.0)).because(STORES),
        Row::sign("hit rate of HS, below 1 %", of("HS"), 0.0, (0.0, 1.0)).because(HALO),
        Row::points("hit rate of LUD", of("LUD"), 36.8, 15.0),
        explained(Row::points("requests without reuse of the unfriendly, mean", most, 53.2, 15.0), || AGAIN.to_owned()),
        Row::points("requests without reuse of the friendly, mean", least, 7.9, 15.0),
        Row::ordering("mean share of requests without reuse", &[("unfriendly", most), ("friendly", least)]),
    ]);
    let head = ["app", "class", "hits %", "of them stores' %", "without reuse %"];
    let cells: Vec<_> = apps
        .iter()
        .zip(&hits)
        .zip(&once)
        .map(|((app, hits), once)| {
            let numbers = [hits.all, hits.of_stores, *once].map(|value| format!("{value:.1}"));
            [vec![app.name.to_owned(), app.kind.name().to_owned()], numbers.to_vec()].concat()
        })
        .collect();
    page.applications(&head, cells, 2)?;
    let hits: Vec<_> = hits.iter().map(|hits| hits.all).collect();
    page.chart(
        "",
        &Chart {
            title: "Hits, and requests without reuse".to_owned(),
            unit: "percent".to_owned(),
            groups: apps.iter().map(|app| app.name.to_owned()).collect(),
            series: vec![Series::new("hits", hits), Series::new("without reuse", once)],
            ..Chart::default()
        },
    );
    Ok(page)
}
