//! li2015 Figure 2: performance of the L1-unfriendly applications with larger and more associative caches.

use std::iter::once;

use super::{App, KERNELS, Kind, RELATIVE_IPC, apps, mean_of, measure, relative_sheet};
use crate::chart::Chart;
use crate::judge::{Class, ComparisonRow};
use crate::page::Page;
use crate::runs::RunResult;
use crate::{FigureError, Session};

/// Variant of the L1 or L2 of the baseline.
struct Variant {
    name: &'static str,
    sets: &'static [&'static str],
}

/// Variants of the L1: one has more ways than the baseline, two have more lines, and one has more of both.
const L1: [Variant; 4] = [
    Variant { name: "16 KB, 128 ways", sets: &["l1.sets=1", "l1.ways=128"] },
    Variant { name: "64 KB, 4 ways", sets: &["l1.sets=128"] },
    Variant { name: "128 KB, 4 ways", sets: &["l1.sets=256"] },
    Variant { name: "128 KB, 32 ways", sets: &["l1.ways=32"] },
];
/// Variants of the L2, all larger than the baseline. More ways are not possible: the baseline already has 16,
/// the maximum.
const L2: [Variant; 2] = [
    Variant { name: "3 MB, 16 ways", sets: &["l2.sets=256"] },
    Variant { name: "6 MB, 16 ways", sets: &["l2.sets=512"] },
];

/// Maximum difference of a mean ratio from 1 that is regarded as no effect.
const BAND: f64 = 0.05;

pub(in super::super) fn fig2(session: &Session) -> Result<Page, FigureError> {
    let apps = apps(&[Kind::Unfriendly]);
    let variants: Vec<&Variant> = L1.iter().chain(&L2).collect();
    let machines = once(vec![]).chain(variants.iter().map(|variant| variant.sets.to_vec()));
    let machines: Vec<_> = machines.map(|sets| (vec![], sets)).collect();
    let done = measure(session, &apps, &machines)?;
    let gain = |runs: &Vec<RunResult>, variant: usize| runs[variant + 1].counters.ipc() / runs[0].counters.ipc();
    let gains = |variant: usize| done.iter().map(|runs| gain(runs, variant)).collect::<Vec<_>>();
    let gains: Vec<_> = (0..variants.len()).map(gains).collect();
    let about = format!(
        "IPC of the unfriendly applications on `fermi` with `li2015-clocks`, relative to an L1 of 16 KB with 4 ways\n\
         and an L2 of 768 KB with 16 ways. The paper shows its cache sizes only in the figure; we chose the sizes\n\
         here.\n\
         {KERNELS}"
    );
    let title = "li2015, Figure 2: larger caches";
    let mut page = Page::with_comparison("li2015/fig2", session.is_quick, title, &about, rows(&apps, &gains));
    let table = relative_sheet(Kind::Unfriendly, &apps, variants.iter().map(|variant| variant.name).zip(gains));
    table.table(&mut page, "## Applications\nThe first four columns change the L1, the last two the L2.")?;
    for (suffix, title, range) in
        [("-l1", "IPC with another L1", 0..L1.len()), ("-l2", "IPC with another L2", L1.len()..variants.len())]
    {
        table.chart(&mut page, suffix, Chart::relative(title, RELATIVE_IPC), range);
    }
    Ok(page)
}

/// Checks the paper's statements about the gains with larger or more associative L1s and L2s.
fn rows(apps: &[&App], gains: &[Vec<f64>]) -> Vec<ComparisonRow> {
    let means: Vec<_> = gains.iter().map(|gains| mean_of(Kind::Unfriendly, apps, gains)).collect();
    let best = |of: &[f64]| of.iter().copied().fold(f64::NAN, f64::max);
    let (of_l1, of_l2) = (best(&means[..L1.len()]), best(&means[L1.len()..]));
    let (associative, large) = (means[0], means[2]);
    let insensitive = (of_l2 - 1.0).abs() <= BAND;
    let fit = || {
        let last = gains.last().into_iter().flatten();
        let more = apps.iter().zip(last).filter(|(_, gain)| **gain > 1.0 + BAND);
        let more: Vec<_> = more.map(|(app, gain)| format!("{} {gain:.2}", app.name)).collect();
        format!("the largest gains are {}", more.join(", "))
    };
    let of_l2s = ComparisonRow::claim(
        Class::Sign,
        "mean with the best L2",
        &format!("{of_l2:.3}"),
        "no difference",
        insensitive,
    );
    let text = "performance is limited by capacity: more lines help more than more ways";
    vec![
        ComparisonRow::ordering("best mean gain", &[("a larger L1", of_l1), ("a larger L2", of_l2)]),
        of_l2s.explain_failure(fit),
        ComparisonRow::ordering("mean gain", &[("L1 of 128 KB", large), ("L1 of 128 ways", associative)])
            .with_reason(text),
    ]
}
