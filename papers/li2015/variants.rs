//! Figures 12 to 15: the unfriendly applications with other replacement, other tags, larger L1s and other
//! schedulers.

use super::super::{Desk, explained};
use super::columns::{Columns, relative_ipc};
use super::schemes::FIRST_COUNTS;
use super::{App, KERNELS, Kind, apps, mean_of, measured};
use crate::Halt;
use crate::judge::{Class, Row, number};
use crate::page::Page;

/// A machine of a figure: its name there, designs and settings.
struct Variant(&'static str, &'static [&'static str], &'static [&'static str]);

/// IPC of the unfriendly applications on some machines.
struct Measured {
    apps: Vec<&'static App>,
    names: Vec<&'static str>,
    /// By machine and application.
    ipc: Vec<Vec<f64>>,
}

impl Measured {
    fn new(desk: &Desk, variants: &[Variant]) -> Result<Self, Halt> {
        let apps = apps(&[Kind::Unfriendly]);
        let machines: Vec<_> =
            variants.iter().map(|Variant(_, designs, sets)| (designs.to_vec(), sets.to_vec())).collect();
        let done = measured(desk, &apps, &machines)?;
        let ipc = (0..variants.len()).map(|at| done.iter().map(|runs| runs[at].counters.ipc()).collect()).collect();
        Ok(Self { apps, names: variants.iter().map(|Variant(name, ..)| *name).collect(), ipc })
    }

    /// IPC on one machine in parts of that on another, by application.
    fn over(&self, one: usize, other: usize) -> Vec<f64> {
        self.ipc[one].iter().zip(&self.ipc[other]).map(|(one, other)| one / other).collect()
    }

    /// The same, geometric mean.
    fn mean(&self, one: usize, other: usize) -> f64 {
        mean_of(Kind::Unfriendly, &self.apps, &self.over(one, other))
    }

    /// Of some machines, the one with the highest mean.
    fn best(&self, of: &[usize]) -> usize {
        of.iter().copied().reduce(|best, next| if self.mean(next, best) > 1.0 { next } else { best }).unwrap_or(0)
    }

    /// Table and charts of all machines, the charts each of some of them; numbers in parts of a machine that
    /// each machine names.
    fn show(
        &self,
        page: &mut Page,
        base: impl Fn(usize) -> usize,
        charts: &[(&str, &str, &[usize])],
    ) -> Result<(), Halt> {
        let mut columns = Columns::new(&self.apps);
        let shown: Vec<usize> = charts.iter().flat_map(|(_, _, of)| of.iter().copied()).collect();
        for at in &shown {
            columns.push(self.names[*at], self.over(*at, base(*at)));
        }
        let geometric = |values: &[f64]| mean_of(Kind::Unfriendly, &self.apps, values);
        columns.table(page, 3, &[("mean", &geometric)])?;
        let mut first = 0;
        for (suffix, title, of) in charts {
            columns.chart(page, suffix, relative_ipc(title), first..first + of.len());
            first += of.len();
        }
        Ok(())
    }
}

/// How far a mean may be from one and still say that it makes no difference.
const BAND: f64 = 0.05;

pub(in super::super) fn fig12(desk: &Desk) -> Result<Page, Halt> {
    const VARIANTS: [Variant; 4] = [
        Variant("LRU", &[], &[]),
        Variant("SRRIP", &["srrip"], &[]),
        Variant("SHiP", &["ship"], &[]),
        Variant("Decoupled + LRU", &["decoupled"], &[]),
    ];
    let measured = Measured::new(desk, &VARIANTS)?;
    let mut page = Page::new("li2015/fig12", desk.is_quick, "li2015, Figure 12: replacement policies");
    page.text(&format!(
        "IPC in parts of that of the plain L1 with LRU replacement, on `fermi` with `li2015-clocks`. *SRRIP*: `srrip`. *SHiP*: `ship`, which the\n\
         paper names beside RRIP and does not show. *Decoupled + LRU*: `decoupled`. {KERNELS}"
    ));
    let [srrip, ship, decoupled] = [1, 2, 3].map(|at| measured.mean(at, 0));
    let order = [(VARIANTS[3].0, decoupled), (VARIANTS[1].0, srrip)];
    page.judged(vec![
        Row::sign(&format!("SRRIP, mean: no difference within {BAND}"), srrip, 1.0, (1.0, BAND)),
        Row::sign(&format!("SHiP, mean: no difference within {BAND}"), ship, 1.0, (1.0, BAND)),
        Row::ordering("mean", &order),
    ]);
    measured.show(&mut page, |_| 0, &[("", "IPC with other replacement", &[1, 2, 3])])?;
    Ok(page)
}

const FARTHER: &str = "PTF most of all: with more tags in a set, lines whose requests lie farther apart get to the threshold and push others out: 42,190 \
     evictions instead of 663, which section 6.2 warns of where there are too many tags";

pub(in super::super) fn fig13(desk: &Desk) -> Result<Page, Halt> {
    // One set of 128 lines, and so many tags.
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
    // The first request counts too.
    const SECOND: [Variant; 4] = [
        Variant("first counts, 1", &["decoupled"], &[FIRST_COUNTS, "l1.decoupled.threshold=1"]),
        Variant("first counts, 2", &["decoupled"], &[FIRST_COUNTS]),
        Variant("first counts, 3", &["decoupled"], &[FIRST_COUNTS, "l1.decoupled.threshold=3"]),
        Variant("first counts, 4", &["decoupled"], &[FIRST_COUNTS, "l1.decoupled.threshold=4"]),
    ];
    const TWO_A_LINE: usize = 1;
    const PLAIN: usize = 4;
    const EIGHT: usize = 5;
    const ONE: usize = 8;
    const TWO: usize = 9;
    const FIRST: usize = 12;
    let all: Vec<_> = ENTRIES.into_iter().chain(WAYS).chain(THRESHOLDS).chain(SECOND).collect();
    let measured = Measured::new(desk, &all)?;
    let mut page = Page::new("li2015/fig13", desk.is_quick, "li2015, Figure 13: tags, ways and thresholds");
    page.text(&format!(
        "IPC of the decoupled L1 on `fermi` with `li2015-clocks`. *Tags*: in one set with 128 lines, in parts of that with 256. *Ways*: of the tags\n\
         of each of 32 sets with 4 lines, in parts of the plain L1 of 4 ways. *Threshold*: in parts of that with 1. The paper shows its\n\
         sizes in the picture only; these are ours, but for 256, 384, 8, 16 and 2. *First counts*: a count is one from the first request on\n\
         (`{FIRST_COUNTS}`), in parts of that with 1. {KERNELS}"
    ));
    let entries = measured.best(&[0, 1, 2, 3]);
    let threshold = measured.best(&[8, 9, 10, 11]);
    let over = |entries: usize| format!("{:.3}", measured.mean(entries, TWO_A_LINE));
    let near = |app: usize| {
        let best = (ONE..FIRST).map(|at| measured.ipc[at][app]).fold(0.0, f64::max);
        measured.ipc[TWO][app] >= (1.0 - BAND) * best
    };
    let good = (0..measured.apps.len()).filter(|app| near(*app)).count();
    page.judged(vec![
        Row::claim(
            Class::Sign,
            "number of tags, mean",
            &format!("best {}, {} times 256 tags; 128 tags {}", measured.names[entries], over(entries), over(0)),
            "256 tags best, here within 1 %, and not 128",
            1.01 * measured.mean(TWO_A_LINE, entries) >= 1.0 && entries != 0,
        ),
        explained(Row::sign("16 ways over 8, mean", measured.mean(EIGHT + 1, EIGHT), 1.02, (1.0, 0.0)), || {
            FARTHER.to_owned()
        }),
        Row::claim(
            Class::Sign,
            &format!("applications best, or within {:.0} % of it, with a threshold of 2", 100.0 * BAND),
            &format!("{good} of {}", measured.apps.len()),
            "the majority",
            2 * good > measured.apps.len(),
        ),
        Row::claim(
            Class::Sign,
            "best threshold, mean",
            &format!("{}, {} times threshold 2", measured.names[threshold], number(measured.mean(threshold, TWO))),
            "threshold 2, or 1 to 3",
            (ONE..ONE + 3).contains(&threshold),
        ),
    ]);
    page.text(&format!(
        "Whether a line's first request counts, the paper does not say. If it does not, a threshold of 1 is {} times the plain L1 and 2 {} times; if\n\
         it does, 1 admits every line at once as 0 would ({}), and 2 admits it at its second request ({}).",
        number(measured.mean(ONE, PLAIN)),
        number(measured.mean(TWO, PLAIN)),
        number(measured.mean(FIRST, PLAIN)),
        number(measured.mean(FIRST + 1, PLAIN)),
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

const FITS: &str = "the data of BH (3,060 nodes) fit in 64 KB, where the plain L1 hits with 93 % of its loads; the decoupled one lets the first two loads of a \
     line pass and hits with 87 %";

pub(in super::super) fn fig14(desk: &Desk) -> Result<Page, Halt> {
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
    let measured = Measured::new(desk, &VARIANTS)?;
    let mut page = Page::new("li2015/fig14", desk.is_quick, "li2015, Figure 14: larger L1s");
    page.text(&format!(
        "IPC in parts of that of the plain L1 of 16 KB, on `fermi` with `li2015-clocks`; sets of 4 lines, and of 8 tags in the decoupled L1.\n{KERNELS}"
    ));
    let sizes = ["16 KB", "32 KB", "64 KB", "128 KB"];
    let gains = [0, 1, 2, 3].map(|size| (sizes[size], measured.mean(2 * size + 1, 2 * size)));
    let mut rows: Vec<_> =
        gains.iter().map(|(size, gain)| Row::sign(&format!("gain at {size}, mean"), *gain, 1.1, (1.0, 0.0))).collect();
    for row in &mut rows {
        "a gain".clone_into(&mut row.published);
    }
    rows = rows.into_iter().map(|row| explained(row, || FITS.to_owned())).collect();
    rows.push(Row::ordering("gain of the decoupled L1, mean", &gains));
    let [small, large] = [measured.mean(1, 0), measured.mean(6, 0)];
    let row = Row::factor("Decoupled 16 KB beside BL 128 KB, mean", small, large, 1.0);
    rows.push(explained(row, || FITS.to_owned()));
    page.judged(rows);
    measured.show(&mut page, |_| 0, &[("", "IPC with larger L1s", &[0, 1, 2, 3, 4, 5, 6, 7])])?;
    Ok(page)
}

pub(in super::super) fn fig15(desk: &Desk) -> Result<Page, Halt> {
    const VARIANTS: [Variant; 6] = [
        Variant("LRR", &[], &["sm.policy=\"loose-round-robin\""]),
        Variant("LRR, Decoupled", &["decoupled"], &["sm.policy=\"loose-round-robin\""]),
        Variant("2LEVEL", &[], &["sm.policy=\"two-level\""]),
        Variant("2LEVEL, Decoupled", &["decoupled"], &["sm.policy=\"two-level\""]),
        Variant("GTO", &[], &[]),
        Variant("GTO, Decoupled", &["decoupled"], &[]),
    ];
    let measured = Measured::new(desk, &VARIANTS)?;
    let mut page = Page::new("li2015/fig15", desk.is_quick, "li2015, Figure 15: schedulers");
    page.text(&format!("IPC in parts of that of the plain L1 under GTO, on `fermi` with `li2015-clocks`. {KERNELS}"));
    let gto = 4;
    let plain = [(0, "LRR"), (2, "2LEVEL")];
    let mut rows: Vec<_> = plain
        .iter()
        .map(|(at, name)| Row::ordering("plain L1, mean", &[("GTO", 1.0), (name, measured.mean(*at, gto))]))
        .collect();
    for (at, name) in [(0, "LRR"), (2, "2LEVEL"), (gto, "GTO")] {
        let mut row = Row::sign(&format!("gain under {name}, mean"), measured.mean(at + 1, at), 1.1, (1.0, 0.0));
        "a gain".clone_into(&mut row.published);
        rows.push(row);
    }
    page.judged(rows);
    measured.show(&mut page, |_| gto, &[("", "IPC under other schedulers", &[0, 1, 2, 3, 4, 5])])?;
    Ok(page)
}
