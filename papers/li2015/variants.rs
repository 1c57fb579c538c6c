//! li2015 Figures 12 to 15: performance of the L1-unfriendly applications with other replacement policies,
//! tag stores, L1 sizes and warp schedulers.

use super::schemes::{FIRST_COUNTS, hits};
use super::{App, KERNELS, Kind, RELATIVE_IPC, apps, mean_of, measure, relative_sheet, walk};
use crate::chart::Chart;
use crate::judge::{Class, ComparisonRow, Effect, number};
use crate::page::Page;
use crate::runs::RunResult;
use crate::{FigureError, Session, index_of};
use warpsieve::text::format_thousands;

/// Machine in a figure: its name, its designs and its settings.
struct Variant(&'static str, &'static [&'static str], &'static [&'static str]);

/// Results of the L1-unfriendly applications on several machines.
struct VariantResults {
    apps: Vec<&'static App>,
    names: Vec<&'static str>,
    /// Runs of each application on each machine.
    done: Vec<Vec<RunResult>>,
}

impl VariantResults {
    fn new(session: &Session, variants: &[Variant]) -> Result<Self, FigureError> {
        let apps = apps(&[Kind::Unfriendly]);
        let machines: Vec<_> =
            variants.iter().map(|Variant(_, designs, sets)| (designs.to_vec(), sets.to_vec())).collect();
        let done = measure(session, &apps, &machines)?;
        Ok(Self { apps, names: variants.iter().map(|Variant(name, ..)| *name).collect(), done })
    }

    fn ipc(&self, app: usize, machine: usize) -> f64 {
        self.done[app][machine].counters.ipc()
    }

    /// Returns the run of an application on a machine.
    fn of(&self, app: &str, machine: usize) -> &RunResult {
        &self.done[index_of(&self.apps, app)][machine]
    }

    /// Returns, for each application, the IPC on machine `one` divided by the IPC on machine `other`.
    fn over(&self, one: usize, other: usize) -> Vec<f64> {
        (0..self.apps.len()).map(|app| self.ipc(app, one) / self.ipc(app, other)).collect()
    }

    /// Returns the geometric mean over the applications of the IPC on machine `one` divided by the IPC on
    /// machine `other`.
    fn mean(&self, one: usize, other: usize) -> f64 {
        mean_of(Kind::Unfriendly, &self.apps, &self.over(one, other))
    }

    /// Returns the machine with the highest mean IPC. `of` has the indices of the machines to choose from.
    fn best(&self, of: &[usize]) -> usize {
        of.iter().copied().reduce(|best, next| if self.mean(next, best) > 1.0 { next } else { best }).unwrap_or(0)
    }

    /// Adds a table of all machines to the page, and charts, each of which shows some of the machines. The
    /// IPC of each machine is divided by that of a reference machine; `base` returns the index of the
    /// reference machine.
    fn show(
        &self,
        page: &mut Page,
        base: impl Fn(usize) -> usize,
        charts: &[(&str, &str, &[usize])],
    ) -> Result<(), FigureError> {
        let shown = charts.iter().flat_map(|(_, _, of)| of.iter().copied());
        let columns = shown.map(|at| (self.names[at], self.over(at, base(at))));
        let table = relative_sheet(Kind::Unfriendly, &self.apps, columns);
        table.table(page, "## Applications")?;
        let mut first = 0;
        for (suffix, title, of) in charts {
            table.chart(page, suffix, Chart::relative(title, RELATIVE_IPC), first..first + of.len());
            first += of.len();
        }
        Ok(())
    }
}

/// Maximum difference of a mean ratio from 1 that is regarded as no effect.
const BAND: f64 = 0.05;

pub(in super::super) fn fig12(session: &Session) -> Result<Page, FigureError> {
    const VARIANTS: [Variant; 4] = [
        Variant("LRU", &[], &[]),
        Variant("SRRIP", &["srrip"], &[]),
        Variant("SHiP", &["ship"], &[]),
        Variant("Decoupled + LRU", &["decoupled"], &[]),
    ];
    let measured = VariantResults::new(session, &VARIANTS)?;
    let about = format!(
        "IPC relative to the plain L1 with LRU replacement, on `fermi` with `li2015-clocks`. *SRRIP*: `srrip`.\n\
         *SHiP*: `ship`, which the paper mentions together with RRIP but does not show. *Decoupled + LRU*:\n\
         `decoupled`.\n\
         {KERNELS}"
    );
    let [srrip, ship, decoupled] = [1, 2, 3].map(|at| measured.mean(at, 0));
    let order = [(VARIANTS[3].0, decoupled), (VARIANTS[1].0, srrip)];
    let rows = vec![
        ComparisonRow::sign(
            &format!("SRRIP, mean: no difference within {BAND}"),
            srrip,
            1.0,
            Effect { neutral: 1.0, none: BAND },
        ),
        ComparisonRow::sign(
            &format!("SHiP, mean: no difference within {BAND}"),
            ship,
            1.0,
            Effect { neutral: 1.0, none: BAND },
        ),
        ComparisonRow::ordering("mean", &order),
    ];
    let title = "li2015, Figure 12: replacement policies";
    let mut page = Page::with_comparison("li2015/fig12", session.is_quick, title, &about, rows);
    measured.show(&mut page, |_| 0, &[("", "IPC with other replacement policies", &[1, 2, 3])])?;
    Ok(page)
}

/// Returns the machines of Figure 13, in the order in which the figure shows them.
fn tags() -> Vec<Variant> {
    // Machines whose L1 has a single set of 128 lines. They differ in the number of tags.
    const ENTRIES: [Variant; 4] = [
        Variant("128 tags", &["decoupled"], &["l1.sets=1", "l1.ways=128", "l1.decoupled.tag_ways=128"]),
        Variant("256 tags", &["decoupled"], &["l1.sets=1", "l1.ways=128", "l1.decoupled.tag_ways=256"]),
        Variant("384 tags", &["decoupled"], &["l1.sets=1", "l1.ways=128", "l1.decoupled.tag_ways=384"]),
        Variant("512 tags", &["decoupled"], &["l1.sets=1", "l1.ways=128", "l1.decoupled.tag_ways=512"]),
    ];
    const WAYS: [Variant; 4] = [
        Variant("plain", &[], &[]),
        Variant("8 ways", &["decoupled"], &[]),
        Variant("16 ways", &["decoupled"], &["l1.decoupled.tag_ways=16"]),
        Variant("32 ways", &["decoupled"], &["l1.decoupled.tag_ways=32"]),
    ];
    const THRESHOLDS: [Variant; 4] = [
        Variant("threshold 1", &["decoupled"], &["l1.decoupled.threshold=1"]),
        Variant("threshold 2", &["decoupled"], &[]),
        Variant("threshold 3", &["decoupled"], &["l1.decoupled.threshold=3"]),
        Variant("threshold 4", &["decoupled"], &["l1.decoupled.threshold=4"]),
    ];
    // On these machines, the reference count of a line includes the first request for the line.
    const SECOND: [Variant; 4] = [
        Variant("first counts, 1", &["decoupled"], &[FIRST_COUNTS, "l1.decoupled.threshold=1"]),
        Variant("first counts, 2", &["decoupled"], &[FIRST_COUNTS]),
        Variant("first counts, 3", &["decoupled"], &[FIRST_COUNTS, "l1.decoupled.threshold=3"]),
        Variant("first counts, 4", &["decoupled"], &[FIRST_COUNTS, "l1.decoupled.threshold=4"]),
    ];
    ENTRIES.into_iter().chain(WAYS).chain(THRESHOLDS).chain(SECOND).collect()
}

/// Indices of some of the machines that [`tags`] returns.
const TWO_A_LINE: usize = 1;
const PLAIN: usize = 4;
const EIGHT: usize = 5;
const SIXTEEN: usize = 6;
const ONE: usize = 8;
const TWO: usize = 9;
const FIRST: usize = 12;

pub(in super::super) fn fig13(session: &Session) -> Result<Page, FigureError> {
    let measured = VariantResults::new(session, &tags())?;
    let about = format!(
        "IPC of the decoupled L1 on `fermi` with `li2015-clocks`. *Tags*: number of tags in a single set with 128\n\
         lines, relative to 256 tags. *Ways*: number of tags in each of 32 sets with 4 lines, relative to the plain\n\
         L1 with 4 ways. *Threshold*: relative to threshold 1. *First counts*: the first request sets the reference\n\
         count to one (`{FIRST_COUNTS}`), relative to threshold 1. The paper shows its values only in the figure; we\n\
         chose the values here, except 256, 384, 8, 16 and 2.\n\
         {KERNELS}"
    );
    let mut rows: Vec<ComparisonRow> = of_tags(&measured).into();
    rows.extend(of_thresholds(&measured));
    let title = "li2015, Figure 13: tags, ways and thresholds";
    let mut page = Page::with_comparison("li2015/fig13", session.is_quick, title, &about, rows);
    let of_plain = |machine: usize| number(measured.mean(machine, PLAIN));
    page.text(&format!(
        "The paper does not say whether the first request of a line counts. If it does not count, the IPC relative to\n\
         the plain L1 is {} with threshold 1 and {} with threshold 2. If it counts, threshold 1 admits every line at\n\
         its first request, as threshold 0 would ({}), and threshold 2 admits it at its second request ({}).",
        of_plain(ONE),
        of_plain(TWO),
        of_plain(FIRST),
        of_plain(FIRST + 1),
    ));
    let base = |at: usize| match at {
        0..PLAIN => TWO_A_LINE,
        PLAIN..ONE => PLAIN,
        ONE..FIRST => ONE,
        _ => FIRST,
    };
    let charts: [(&str, &str, &[usize]); 4] = [
        ("-a", "IPC by the number of tags", &[0, 1, 2, 3]),
        ("-b", "IPC by the ways of the tags", &[5, 6, 7]),
        ("-c", "IPC by threshold", &[8, 9, 10, 11]),
        ("-d", "IPC by threshold, the first request counted", &[12, 13, 14, 15]),
    ];
    measured.show(&mut page, base, &charts)?;
    Ok(page)
}

/// Checks which number of tags is best, and whether more tags per set help.
fn of_tags(measured: &VariantResults) -> [ComparisonRow; 2] {
    let best = measured.best(&[0, 1, 2, 3]);
    let over = |entries: usize| format!("{:.3}", measured.mean(entries, TWO_A_LINE));
    let number = ComparisonRow::claim(
        Class::Sign,
        "number of tags, mean",
        &format!("best {}, {} times 256 tags; 128 tags {}", measured.names[best], over(best), over(0)),
        "256 tags are best; here within 1 % of the best, which is not 128",
        1.01 * measured.mean(TWO_A_LINE, best) >= 1.0 && best != 0,
    );
    let ways = ComparisonRow::sign("16 ways over 8, mean", measured.mean(SIXTEEN, EIGHT), 1.02, Effect::RATIO);
    [number, ways.explain_failure(|| farther(measured))]
}

/// Explains why more tags per set of the L1 do not help.
fn farther(measured: &VariantResults) -> String {
    let evictions = |machine: usize| format_thousands(measured.of("PTF", machine).counters.totals().l1.evictions);
    format!(
        "mainly because of PTF: with more tags in a set, lines with longer reuse distances reach the threshold and \
         evict other lines ({} evictions instead of {}). Section 6.2 warns of this for too many tags",
        evictions(SIXTEEN),
        evictions(EIGHT)
    )
}

/// Checks which threshold for inserting a line into the L1 is best.
fn of_thresholds(measured: &VariantResults) -> [ComparisonRow; 2] {
    let best = measured.best(&[8, 9, 10, 11]);
    let near = |app: usize| {
        let best = (ONE..FIRST).map(|at| measured.ipc(app, at)).fold(0.0, f64::max);
        measured.ipc(app, TWO) >= (1.0 - BAND) * best
    };
    let good = (0..measured.apps.len()).filter(|app| near(*app)).count();
    [
        ComparisonRow::claim(
            Class::Sign,
            &format!("applications within {:.0} % of their best IPC with a threshold of 2", 100.0 * BAND),
            &format!("{good} of {}", measured.apps.len()),
            "the majority",
            2 * good > measured.apps.len(),
        ),
        ComparisonRow::claim(
            Class::Sign,
            "best threshold, mean",
            &format!("{}, {} times threshold 2", measured.names[best], number(measured.mean(best, TWO))),
            "threshold 2, or 1 to 3",
            (ONE..ONE + 3).contains(&best),
        ),
    ]
}

/// Explains the hit rates of application BH with the 64 KB L1s of Figure 14.
fn of_walks(measured: &VariantResults, nodes: usize) -> String {
    let [plain, decoupled] = [4, 5].map(|machine| hits(measured.of("BH", machine)));
    format!(
        "{plain:.0} % of the loads of BH ({} nodes) hit in the plain L1 of 64 KB. In the decoupled one, the first two \
         loads of a line bypass it, and {decoupled:.0} % of the loads hit",
        format_thousands(nodes as u64)
    )
}

pub(in super::super) fn fig14(session: &Session) -> Result<Page, FigureError> {
    const VARIANTS: [Variant; 8] = [
        Variant("BL 16 KB", &[], &[]),
        Variant("Decoupled 16 KB", &["decoupled"], &[]),
        Variant("BL 32 KB", &[], &["l1.sets=64"]),
        Variant("Decoupled 32 KB", &["decoupled"], &["l1.sets=64"]),
        Variant("BL 64 KB", &[], &["l1.sets=128"]),
        Variant("Decoupled 64 KB", &["decoupled"], &["l1.sets=128"]),
        Variant("BL 128 KB", &[], &["l1.sets=256"]),
        Variant("Decoupled 128 KB", &["decoupled"], &["l1.sets=256"]),
    ];
    let measured = VariantResults::new(session, &VARIANTS)?;
    let about = format!(
        "IPC relative to the plain L1 of 16 KB, on `fermi` with `li2015-clocks`. A set has 4 lines, and 8 tags in the\n\
         decoupled L1.\n\
         {KERNELS}"
    );
    let (nodes, _) = walk(session)?;
    let sizes = ["16 KB", "32 KB", "64 KB", "128 KB"];
    let gains = [0, 1, 2, 3].map(|size| (sizes[size], measured.mean(2 * size + 1, 2 * size)));
    let mut rows: Vec<_> = gains
        .map(|(size, gain)| check_gain(&format!("at {size}"), gain).explain_failure(|| of_walks(&measured, nodes)))
        .into();
    rows.push(ComparisonRow::ordering("gain of the decoupled L1, mean", &gains));
    let [small, large] = [measured.mean(1, 0), measured.mean(6, 0)];
    let row = ComparisonRow::factor("Decoupled 16 KB compared with BL 128 KB, mean", small, large, 1.0);
    rows.push(row.explain_failure(|| of_walks(&measured, nodes)));
    let title = "li2015, Figure 14: larger L1s";
    let mut page = Page::with_comparison("li2015/fig14", session.is_quick, title, &about, rows);
    measured.show(&mut page, |_| 0, &[("", "IPC with larger L1s", &[0, 1, 2, 3, 4, 5, 6, 7])])?;
    Ok(page)
}

pub(in super::super) fn fig15(session: &Session) -> Result<Page, FigureError> {
    const VARIANTS: [Variant; 6] = [
        Variant("LRR", &[], &["sm.scheduler.kind=\"loose-round-robin\""]),
        Variant("LRR, Decoupled", &["decoupled"], &["sm.scheduler.kind=\"loose-round-robin\""]),
        Variant("2LEVEL", &[], &["sm.scheduler.kind=\"two-level\""]),
        Variant("2LEVEL, Decoupled", &["decoupled"], &["sm.scheduler.kind=\"two-level\""]),
        Variant("GTO", &[], &[]),
        Variant("GTO, Decoupled", &["decoupled"], &[]),
    ];
    let measured = VariantResults::new(session, &VARIANTS)?;
    let about = format!("IPC relative to the plain L1 under GTO, on `fermi` with `li2015-clocks`.\n{KERNELS}");
    let gto = 4;
    let plain = |(at, name): (usize, &str)| {
        ComparisonRow::ordering("plain L1, mean", &[("GTO", 1.0), (name, measured.mean(at, gto))])
    };
    let mut rows: Vec<_> = [(0, "LRR"), (2, "2LEVEL")].map(plain).into();
    rows.extend(
        [(0, "LRR"), (2, "2LEVEL"), (gto, "GTO")]
            .map(|(at, name)| check_gain(&format!("under {name}"), measured.mean(at + 1, at))),
    );
    let title = "li2015, Figure 15: schedulers";
    let mut page = Page::with_comparison("li2015/fig15", session.is_quick, title, &about, rows);
    measured.show(&mut page, |_| gto, &[("", "IPC under other schedulers", &[0, 1, 2, 3, 4, 5])])?;
    Ok(page)
}

/// Checks that the decoupled L1 is faster than the plain L1. The paper does not state how much faster it is.
fn check_gain(place: &str, ours: f64) -> ComparisonRow {
    let least = Effect::RATIO.neutral + Effect::RATIO.none;
    let published = format!("a gain, here at least {least:.2}");
    ComparisonRow::claim(Class::Sign, &format!("gain {place}, mean"), &number(ours), &published, ours >= least)
}
