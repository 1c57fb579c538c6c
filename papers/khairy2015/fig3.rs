//! Figure 3: by whom lines were used before they are found in L1 and L2, bounded and unbounded.

use std::path::Path;

use golden::untimed::{CLASS_NAMES, CLASSES, Found, Reached};
use serde::{Deserialize, Serialize};

use super::{APPS, App, KERNELS, Kind, MACHINE, STREAMING, explained};
use crate::Desk;
use crate::Halt;
use crate::chart::{Chart, Series};
use crate::judge::{Class, Row, mean};
use crate::page::Page;
use crate::runs::{Point, Trouble};
use warpsieve::config::Resolved;
use warpsieve::run::{locality, ratio};

/// The caches looked at, in the order of the counts.
const CACHES: [&str; 4] = ["L1 unbounded", "L1", "L2 unbounded", "L2"];
const L1_UNBOUNDED: usize = 0;
const L1: usize = 1;
const L2_UNBOUNDED: usize = 2;
const L2: usize = 3;

const INTRA_THREAD: usize = 0;
const INTER_THREAD: usize = 1;
const INTRA_BLOCK: usize = 2;
const INTRA_CORE: usize = 3;
const INTER_CORE: usize = 4;
const INTER_KERNEL: usize = 5;

/// Sets of the L2 that rows of any length spread over: line address modulo x^6 + x + 1.
const SPREAD: &str = "l2.index={kind=\"i-poly\",polynomial=67,addr_bits=32,reversed=false}";

/// Whose lines the L2 keeps, or not, in the order of the applications.
const THRASHING: [Kind; 2] = [Kind::Thrashing, Kind::Both];

/// Requests of one cache, and those that found their line by class.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Count {
    requests: u64,
    found: [u64; CLASSES],
}

impl From<Reached> for Count {
    fn from(Reached { requests, found }: Reached) -> Self {
        Self { requests, found }
    }
}

/// What an application finds, in percent of the requests of each cache.
struct Shares([[f64; CLASSES]; CACHES.len()]);

impl Shares {
    fn new(counts: &[Count; CACHES.len()]) -> Self {
        Self(counts.map(|Count { requests, found }| found.map(|found| 100.0 * ratio(found, requests))))
    }

    fn hits(&self, cache: usize) -> f64 {
        self.0[cache].iter().sum()
    }

    /// What warps find that they, or others of their CTA, used before.
    fn intra_block(&self, cache: usize) -> f64 {
        self.intra_warp(cache) + self.0[cache][INTRA_BLOCK]
    }

    fn intra_warp(&self, cache: usize) -> f64 {
        self.0[cache][..=INTER_THREAD].iter().sum()
    }

    /// Whether a class has more than any other.
    fn is_most(&self, cache: usize, class: usize) -> bool {
        let shares = &self.0[cache];
        shares[class] > 0.0 && shares.iter().all(|share| *share <= shares[class])
    }
}

/// Measures applications on the machine with some settings, which needs no cycles.
fn counted(desk: &Desk, apps: &[&App], sets: &[&str]) -> Result<Vec<Shares>, Halt> {
    let points: Vec<_> =
        apps.iter().map(|app| Point::new(&desk.launch(app.kernel, app.size), MACHINE, &[], sets)).collect();
    let done = desk.runner.measure("locality", &points, &|launch: &Path, resolved: &Resolved| {
        let Found { l1, l1_unbounded, l2, l2_unbounded } = locality(launch, &resolved.config)?;
        Ok::<_, Trouble>([l1_unbounded, l1, l2_unbounded, l2].map(Count::from))
    })?;
    Ok(done.iter().map(Shares::new).collect())
}

pub(in super::super) fn fig3(desk: &Desk) -> Result<Page, Halt> {
    let apps: Vec<&App> = APPS.iter().collect();
    let shares = counted(desk, &apps, &[])?;
    let spread = counted(desk, &super::apps(&THRASHING), &[SPREAD])?;
    let mut page = Page::new("khairy2015/fig3", desk.is_quick, "khairy2015, Figure 3: locality in L1 and L2");
    page.text(&format!(
        "Requests that find their line in a cache, in percent of all, by who asked for the line last: the same thread (*intra-thread*), another\n\
         thread of the warp (*inter-thread*), another warp of the CTA (*intra-block*), another CTA on the SM (*intra-core*) or on another SM\n\
         (*inter-core*), or a launch before (*inter-kernel*). Loads reach the L1; what misses there, and all stores, reach the L2. *Unbounded*: nothing\n\
         gives way; both L2s are behind the L1 of the machine. Caches are those of `fermi` in the model without time, which runs the warps of an SM in\n\
         turn. {KERNELS}"
    ));
    page.judged(rows(&apps, &shares, &spread));
    let head: Vec<&str> = ["app", "class", "cache"].into_iter().chain(CLASS_NAMES).chain(["not found"]).collect();
    let cells = apps.iter().zip(&shares).flat_map(|(app, shares)| {
        CACHES.iter().enumerate().map(move |(cache, name)| {
            let texts = [app.name, app.kind.name(), name].map(str::to_owned);
            let found = shares.0[cache].into_iter().chain([100.0 - shares.hits(cache)]);
            let found: Vec<_> = found.map(|share| format!("{share:.1}")).collect();
            texts.into_iter().chain(found).collect()
        })
    });
    page.applications(&head, cells.collect(), 3)?;
    for (suffix, title, caches) in
        [("-l1", "Found in L1", [L1_UNBOUNDED, L1]), ("-l2", "Found in L2", [L2_UNBOUNDED, L2])]
    {
        let series = caches.map(|cache| Series::new(CACHES[cache], shares.iter().map(|shares| shares.hits(cache))));
        page.chart(
            suffix,
            &Chart {
                title: title.to_owned(),
                unit: "percent of requests".to_owned(),
                groups: apps.iter().map(|app| app.name.to_owned()).collect(),
                series: series.into(),
                ..Chart::default()
            },
        );
    }
    Ok(page)
}

/// What section 3.2 says of each class of applications; `spread` are the shares of those that thrash with an L2 of
/// [`SPREAD`] sets.
fn rows(apps: &[&App], shares: &[Shares], spread: &[Shares]) -> Vec<Row> {
    let named = |name: &str| apps.iter().position(|app| app.name == name).map(|at| &shares[at]);
    let of_kind = |kind: Kind| apps.iter().zip(shares).filter(move |(app, _)| app.kind == kind);
    let says = |what: &str, ours: String, published: &str, passed: bool| {
        Row::claim(Class::Sign, what, &ours, published, passed)
    };
    let mut rows = Vec::new();
    let streams: Vec<f64> = apps
        .iter()
        .zip(shares)
        .filter(|(app, _)| STREAMING.contains(&app.kind))
        .map(|(_, shares)| 100.0 - shares.hits(L1_UNBOUNDED))
        .collect();
    let most = streams.iter().filter(|missed| **missed > 50.0).count();
    rows.push(says(
        "streaming applications that miss in most loads, even of an unbounded L1",
        format!("{most} of {}", streams.len()),
        "all",
        most == streams.len(),
    ));
    let highest = streams.iter().copied().fold(0.0, f64::max);
    rows.push(Row::points("highest miss rate of a streaming application", highest, 99.0, 15.0));
    for (name, shares) in ["FWT", "NW"].into_iter().filter_map(|name| Some((name, named(name)?))) {
        let [without, with] = [L2_UNBOUNDED, L2].map(|cache| shares.0[cache][INTER_KERNEL]);
        let row = says(
            &format!("{name}, inter-kernel in L2"),
            format!("{without:.1} % unbounded, {with:.1} % bounded"),
            "most of what the unbounded L2 finds, and more than the bounded one",
            shares.is_most(L2_UNBOUNDED, INTER_KERNEL) && without > with,
        );
        let same = shares.0[L2_UNBOUNDED][INTRA_THREAD];
        rows.push(explained(row, || {
            let of_others = 100.0 * without / (100.0 - same);
            format!(
                "it works in place: {same:.1} % of the requests are of a thread that has just asked for the line, as its store does\n  \
                 after its load; of the others {of_others:.1} % are inter-kernel"
            )
        }));
    }
    for (name, shares) in ["HS", "CONV"].into_iter().filter_map(|name| Some((name, named(name)?))) {
        let (class, all) = (shares.0[L2][INTER_CORE], shares.hits(L2));
        rows.push(says(
            &format!("{name}, inter-core in L2"),
            format!("{class:.1} % of {all:.1} %"),
            "most of what the L2 finds",
            shares.is_most(L2, INTER_CORE),
        ));
    }
    for (app, shares) in of_kind(Kind::Conflict) {
        let [without, with] = [L1_UNBOUNDED, L1].map(|cache| shares.intra_block(cache));
        rows.push(says(
            &format!("{}, intra-warp and intra-block in L1", app.name),
            format!("{without:.1} % unbounded, {with:.1} % bounded"),
            "most of what the unbounded L1 finds, and more than the bounded one",
            2.0 * without > shares.hits(L1_UNBOUNDED) && without > with,
        ));
    }
    for (app, shares) in of_kind(Kind::Thrashing) {
        let [without, with] = [L1_UNBOUNDED, L1].map(|cache| shares.intra_warp(cache));
        let of_threads = shares.0[L1_UNBOUNDED][INTRA_THREAD];
        let [of_block, of_core] = [INTRA_BLOCK, INTRA_CORE].map(|class| shares.0[L1_UNBOUNDED][class]);
        let row = says(
            &format!("{}, intra-warp in L1", app.name),
            format!("{without:.1} % unbounded, {of_threads:.1} % intra-thread; {with:.1} % bounded"),
            "more than of any other kind, most of it intra-thread, and the bounded L1 loses it",
            without >= of_block.max(of_core) && 2.0 * of_threads > without && without > with,
        );
        rows.push(explained(row, || {
            format!(
                "{of_block:.1} % are intra-block and {of_core:.1} % intra-core: with so many nodes and edges at random, warps of other CTAs ask\n  \
                 for the same lines as often"
            )
        }));
    }
    for (app, shares) in of_kind(Kind::Both) {
        let [without, with] = [L1_UNBOUNDED, L1].map(|cache| shares.hits(cache));
        rows.push(says(
            &format!("{}, found in L1", app.name),
            format!("{without:.1} % unbounded, {with:.1} % bounded"),
            "the bounded L1 loses most of it",
            without > 2.0 * with,
        ));
    }
    let thrashing = apps.iter().zip(shares).filter(|(app, _)| THRASHING.contains(&app.kind));
    for ((app, shares), spread) in thrashing.zip(spread) {
        let [without, with] = [L2_UNBOUNDED, L2].map(|cache| shares.hits(cache));
        let thrashes = app.name == "GESUMMV";
        let published = if thrashes { "the bounded L2 loses most of it" } else { "the bounded L2 keeps most of it" };
        let row = says(
            &format!("{}, found in L2", app.name),
            format!("{without:.1} % unbounded, {with:.1} % bounded"),
            published,
            (without > 2.0 * with) == thrashes,
        );
        rows.push(explained(row, || {
            format!(
                "with lines spread over the sets of the L2 (`{SPREAD}`)\n  \
                 the bounded one finds {:.1} %: what it loses meets in few sets",
                spread.hits(L2)
            )
        }));
    }
    for cache in [L1, L2] {
        let hits: Vec<f64> = of_kind(Kind::Friendly).map(|(_, shares)| shares.hits(cache)).collect();
        let hits = mean(&hits).unwrap_or(f64::NAN);
        rows.push(says(
            &format!("friendly, found in {}, mean", CACHES[cache]),
            format!("{hits:.1} %"),
            "a high rate, here above 50 %",
            hits > 50.0,
        ));
    }
    rows
}
