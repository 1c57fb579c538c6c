//! khairy2015 Figure 3: hits in L1 and L2, classified by the thread that last used the line. The caches have
//! limited or unlimited size.

use std::path::Path;

use golden::untimed::{AccessCounts, CLASS_NAMES, CLASSES, LocalityCounts};
use serde::{Deserialize, Serialize};

use super::{APPS, App, KERNELS, Kind, MACHINE, STREAMING};
use crate::chart::Chart;
use crate::judge::{Class, ComparisonRow, mean};
use crate::page::Page;
use crate::runs::{Point, RunFailure};
use crate::table::Table;
use crate::{FigureError, Session, index_of};
use warpsieve::config::ResolvedMachine;
use warpsieve::run::{locality, ratio};

/// Names of the caches, in the order in which the counts are stored.
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

/// Setting for an L2 set index that spreads matrix rows of any length over the sets. The index is the line
/// address modulo the polynomial x^6 + x + 1.
const SPREAD: &str = "l2.index={kind=\"i-poly\",polynomial=67,addr_bits=32,reversed=false}";

/// Classes of applications for which section 3.2 states whether the L2 retains their lines, in the same order
/// as in the list of applications.
const THRASHING: [Kind; 2] = [Kind::Thrashing, Kind::Both];

/// Number of requests to one cache, and number of hits in each locality class.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Count {
    requests: u64,
    found: [u64; CLASSES],
}

impl From<AccessCounts> for Count {
    fn from(AccessCounts { requests, found }: AccessCounts) -> Self {
        Self { requests, found }
    }
}

/// Hits in each cache and each locality class, in percent of the requests to that cache.
struct Shares([[f64; CLASSES]; CACHES.len()]);

impl Shares {
    fn new(counts: &[Count; CACHES.len()]) -> Self {
        Self(counts.map(|Count { requests, found }| found.map(|found| 100.0 * ratio(found, requests))))
    }

    fn hits(&self, cache: usize) -> f64 {
        self.0[cache].iter().sum()
    }

    /// Returns the percentage of requests that hit on a line whose last user was in the same CTA; the last
    /// user may be the same warp.
    fn intra_block(&self, cache: usize) -> f64 {
        self.intra_warp(cache) + self.0[cache][INTRA_BLOCK]
    }

    fn intra_warp(&self, cache: usize) -> f64 {
        self.0[cache][..=INTER_THREAD].iter().sum()
    }

    /// True if the locality class has hits in this cache, and no other class has more.
    fn is_most(&self, cache: usize, class: usize) -> bool {
        let shares = &self.0[cache];
        shares[class] > 0.0 && shares.iter().all(|share| *share <= shares[class])
    }
}

/// Counts the hits of each application on caches without timing, for the machine with the given settings.
fn count(session: &Session, apps: &[&App], sets: &[&str]) -> Result<Vec<Shares>, FigureError> {
    let points: Vec<_> =
        apps.iter().map(|app| Point::new(&session.launch(app.kernel, app.size), MACHINE, &[], sets)).collect();
    let done = session.runner.measure("locality", &points, &|launch: &Path, resolved: &ResolvedMachine| {
        let LocalityCounts { l1, l1_unbounded, l2, l2_unbounded } = locality(launch, &resolved.config)?;
        Ok::<_, RunFailure>([l1_unbounded, l1, l2_unbounded, l2].map(Count::from))
    })?;
    Ok(done.iter().map(Shares::new).collect())
}

pub(in super::super) fn fig3(session: &Session) -> Result<Page, FigureError> {
    let apps: Vec<&App> = APPS.iter().collect();
    let shares = count(session, &apps, &[])?;
    let spread = count(session, &super::apps(&THRASHING), &[SPREAD])?;
    let about = format!(
        "Hits in percent of all requests of a cache, by the last user of the line: the same thread (*intra-thread*),\n\
         another thread of the warp (*inter-thread*), another warp of the CTA (*intra-block*), another CTA on the\n\
         same SM (*intra-core*), a CTA on another SM (*inter-core*), or an earlier launch (*inter-kernel*). Loads\n\
         access the L1; L1 misses and all stores access the L2. *Unbounded*: a cache that evicts nothing. Both L2s\n\
         are behind the bounded L1. The caches are those of `fermi` in the untimed model, which runs the warps of an\n\
         SM in turn.\n\
         {KERNELS}"
    );
    let held = CheckedShares { apps: &apps, shares: &shares };
    let rows = held.rows(&spread);
    let mut page = Page::with_comparison(
        "khairy2015/fig3",
        session.is_quick,
        "khairy2015, Figure 3: locality in L1 and L2",
        &about,
        rows,
    );
    let caches =
        apps.iter().zip(&shares).flat_map(|(app, shares)| (0..CACHES.len()).map(move |cache| (app, shares, cache)));
    let found = |class: usize| caches.clone().map(move |(_, shares, cache)| shares.0[cache][class]).collect();
    let missed = caches.clone().map(|(_, shares, cache)| 100.0 - shares.hits(cache)).collect();
    let names = caches.clone().map(|(app, _, cache)| [app.name, app.kind.name(), CACHES[cache]]);
    let columns = CLASS_NAMES.into_iter().zip((0..CLASSES).map(found)).chain([("not found", missed)]);
    Table::new(["app", "class", "cache"], names).columns(1, columns).table(&mut page, "## Applications")?;
    for (suffix, title, caches) in
        [("-l1", "Hits in the L1", [L1_UNBOUNDED, L1]), ("-l2", "Hits in the L2", [L2_UNBOUNDED, L2])]
    {
        let columns = caches.map(|cache| (CACHES[cache], shares.iter().map(|shares| shares.hits(cache)).collect()));
        let table = super::app_table(&apps, 1, columns);
        table.chart(&mut page, suffix, Chart::new(title, "percent of requests"), table.all());
    }
    Ok(page)
}

/// Applications and their percentages of hits, to be compared with the statements of section 3.2.
struct CheckedShares<'a> {
    apps: &'a [&'a App],
    shares: &'a [Shares],
}

fn says(what: &str, ours: &str, published: &str, passed: bool) -> ComparisonRow {
    ComparisonRow::claim(Class::Sign, what, ours, published, passed)
}

impl CheckedShares<'_> {
    fn of(&self, name: &str) -> &Shares {
        &self.shares[index_of(self.apps, name)]
    }

    fn of_kinds(&self, kinds: &'static [Kind]) -> impl Iterator<Item = (&App, &Shares)> {
        let all = self.apps.iter().copied().zip(self.shares);
        all.filter(|(app, _)| kinds.contains(&app.kind))
    }

    /// Returns all comparisons with section 3.2. `spread` has the percentages of the thrashing applications
    /// with the L2 set index [`SPREAD`].
    fn rows(&self, spread: &[Shares]) -> Vec<ComparisonRow> {
        let mut rows: Vec<ComparisonRow> = self.streaming().into();
        rows.extend(["FWT", "NW"].map(|name| between_kernels(name, self.of(name))));
        rows.extend(["HS", "CONV"].map(|name| between_cores(name, self.of(name))));
        rows.extend(self.of_kinds(&[Kind::Conflict]).map(|(app, shares)| within_blocks(app, shares)));
        rows.extend(self.of_kinds(&[Kind::Thrashing]).map(|(app, shares)| within_warps(app, shares)));
        rows.extend(self.of_kinds(&[Kind::Both]).map(|(app, shares)| lost(app, shares)));
        let thrashing = self.of_kinds(&THRASHING).zip(spread);
        rows.extend(thrashing.map(|((app, shares), spread)| in_l2(app, shares, spread)));
        rows.extend([L1, L2].map(|cache| self.friendly(cache)));
        rows
    }

    fn streaming(&self) -> [ComparisonRow; 2] {
        let missed: Vec<f64> = self.of_kinds(&STREAMING).map(|(_, shares)| 100.0 - shares.hits(L1_UNBOUNDED)).collect();
        let most = missed.iter().filter(|missed| **missed > 50.0).count();
        let what = "streaming applications in which most loads miss, even in an unbounded L1";
        let highest = missed.iter().copied().fold(0.0, f64::max);
        [
            says(what, &format!("{most} of {}", missed.len()), "all", most == missed.len()),
            ComparisonRow::points("highest miss rate of a streaming application", highest, 99.0, 15.0),
        ]
    }

    fn friendly(&self, cache: usize) -> ComparisonRow {
        let hits: Vec<f64> = self.of_kinds(&[Kind::Friendly]).map(|(_, shares)| shares.hits(cache)).collect();
        let hits = mean(&hits).unwrap_or(f64::NAN);
        let what = format!("friendly, hits in {}, mean", CACHES[cache]);
        says(&what, &format!("{hits:.1} %"), "a high rate, here above 50 %", hits > 50.0)
    }
}

/// Formats two hit rates of a cache: with unlimited size, and with the size that the cache has in the
/// machine.
fn both([without, with]: [f64; 2]) -> String {
    format!("{without:.1} % unbounded, {with:.1} % bounded")
}

fn between_kernels(name: &str, shares: &Shares) -> ComparisonRow {
    let found @ [without, with] = [L2_UNBOUNDED, L2].map(|cache| shares.0[cache][INTER_KERNEL]);
    let published = "most of the hits in the unbounded L2, and more than in the bounded L2";
    let holds = shares.is_most(L2_UNBOUNDED, INTER_KERNEL) && without > with;
    says(&format!("{name}, inter-kernel in L2"), &both(found), published, holds).explain_failure(|| {
        let same = shares.0[L2_UNBOUNDED][INTRA_THREAD];
        format!(
            "it works in place: {same:.1} % of the requests are stores of a thread to a line that it has just \
             loaded. Of\n  the other requests, {:.1} % are inter-kernel hits",
            100.0 * without / (100.0 - same)
        )
    })
}

fn between_cores(name: &str, shares: &Shares) -> ComparisonRow {
    let ours = format!("{:.1} % of {:.1} %", shares.0[L2][INTER_CORE], shares.hits(L2));
    says(&format!("{name}, inter-core in L2"), &ours, "most of the hits in the L2", shares.is_most(L2, INTER_CORE))
}

fn within_blocks(app: &App, shares: &Shares) -> ComparisonRow {
    let found @ [without, with] = [L1_UNBOUNDED, L1].map(|cache| shares.intra_block(cache));
    let published = "most of the hits in the unbounded L1, and more than in the bounded L1";
    let holds = 2.0 * without > shares.hits(L1_UNBOUNDED) && without > with;
    says(&format!("{}, intra-warp and intra-block in L1", app.name), &both(found), published, holds)
}

fn within_warps(app: &App, shares: &Shares) -> ComparisonRow {
    let [without, with] = [L1_UNBOUNDED, L1].map(|cache| shares.intra_warp(cache));
    let of_threads = shares.0[L1_UNBOUNDED][INTRA_THREAD];
    let [of_block, of_core] = [INTRA_BLOCK, INTRA_CORE].map(|class| shares.0[L1_UNBOUNDED][class]);
    let row = says(
        &format!("{}, intra-warp in L1", app.name),
        &format!("{without:.1} % unbounded, {of_threads:.1} % intra-thread; {with:.1} % bounded"),
        "more hits than of any other kind, mostly intra-thread, and the bounded L1 loses them",
        without >= of_block.max(of_core) && 2.0 * of_threads > without && without > with,
    );
    row.explain_failure(|| {
        format!(
            "{of_block:.1} % of the requests are intra-block hits and {of_core:.1} % intra-core hits: with this \
             many\n  nodes and random edges, warps of other CTAs request the same lines as often"
        )
    })
}

fn lost(app: &App, shares: &Shares) -> ComparisonRow {
    let found @ [without, with] = [L1_UNBOUNDED, L1].map(|cache| shares.hits(cache));
    says(&format!("{}, hits in L1", app.name), &both(found), "the bounded L1 loses most of them", without > 2.0 * with)
}

fn in_l2(app: &App, shares: &Shares, spread: &Shares) -> ComparisonRow {
    let found @ [without, with] = [L2_UNBOUNDED, L2].map(|cache| shares.hits(cache));
    let thrashes = app.name == "GESUMMV";
    let published = if thrashes { "the bounded L2 loses most of them" } else { "the bounded L2 keeps most of them" };
    let holds = (without > 2.0 * with) == thrashes;
    says(&format!("{}, hits in L2", app.name), &both(found), published, holds).explain_failure(|| {
        let spread = spread.hits(L2);
        let why = match 2.0 * spread >= without {
            true => "the evicted lines map to few sets",
            false => "the lines do not fit, whichever sets they map to",
        };
        format!(
            "with lines spread over the sets of the L2 (`{SPREAD}`),\n  \
             {spread:.1} % of the requests hit in the bounded L2: {why}"
        )
    })
}
