//! Figure 2: the unfriendly applications with larger and more associative caches.

use super::super::{Desk, explained};
use super::{App, KERNELS, Kind, apps, mean_of, measured};
use crate::Halt;
use crate::chart::{Chart, Series};
use crate::judge::{Class, Row};
use crate::page::{Page, comma_separated};

/// A cache that is other than the baseline's.
struct Variant {
    name: &'static str,
    sets: &'static [&'static str],
}

/// Of the L1: more ways, more lines, both.
const L1: [Variant; 4] = [
    Variant { name: "16 KB, 128 ways", sets: &["l1.sets=1", "l1.ways=128"] },
    Variant { name: "64 KB, 4 ways", sets: &["l1.sets=128"] },
    Variant { name: "128 KB, 4 ways", sets: &["l1.sets=256"] },
    Variant { name: "128 KB, 32 ways", sets: &["l1.ways=32"] },
];
/// Of the L2, whose sets have 16 ways already, the most that it can have.
const L2: [Variant; 2] = [
    Variant { name: "3 MB, 16 ways", sets: &["l2.sets=256"] },
    Variant { name: "6 MB, 16 ways", sets: &["l2.sets=512"] },
];

/// How far a mean may be from one and still say that a cache makes no difference.
const BAND: f64 = 0.05;

pub(in super::super) fn fig2(desk: &Desk) -> Result<Page, Halt> {
    let apps = apps(&[Kind::Unfriendly]);
    let variants: Vec<&Variant> = L1.iter().chain(&L2).collect();
    let mut machines = vec![(vec![], vec![])];
    machines.extend(variants.iter().map(|variant| (vec![], variant.sets.to_vec())));
    let done = measured(desk, &apps, &machines)?;
    let gain = |app: usize, variant: usize| done[app][variant + 1].counters.ipc() / done[app][0].counters.ipc();
    let gains: Vec<Vec<f64>> =
        (0..variants.len()).map(|variant| (0..apps.len()).map(|app| gain(app, variant)).collect()).collect();
    let means: Vec<_> = gains.iter().map(|gains| mean_of(Kind::Unfriendly, &apps, gains)).collect();
    let best = |of: &[f64]| of.iter().copied().fold(f64::NAN, f64::max);
    let (of_l1, of_l2) = (best(&means[..L1.len()]), best(&means[L1.len()..]));

    let mut page = Page::new("li2015/fig2", desk.is_quick, "li2015, Figure 2: larger caches");
    page.text(&format!(
        "IPC of the unfriendly applications on `fermi` with `li2015-clocks`, in parts of that with an L1 of 16 KB in 4 ways and an L2 of\n\
         768 KB in 16 ways. The paper shows its sizes in the picture only; these are ours. {KERNELS}"
    ));
    let insensitive = (of_l2 - 1.0).abs() <= BAND;
    let shown = |gain: f64| format!("{gain:.3}");
    let fit = || {
        let last = gains.last().into_iter().flatten();
        let more = apps.iter().zip(last).filter(|(_, gain)| **gain > 1.0 + BAND);
        let more: Vec<_> = more.map(|(app, gain)| format!("{} {gain:.2}", app.name)).collect();
        format!("the largest gains {}", more.join(", "))
    };
    let text = "bounded by capacity: more lines help more than more ways";
    let (associative, large) = (means[0], means[2]);
    page.judged(vec![
        Row::ordering("best mean gain", &[("a larger L1", of_l1), ("a larger L2", of_l2)]),
        explained(Row::claim(Class::Sign, "mean with the best L2", &shown(of_l2), "no difference", insensitive), fit),
        Row::ordering("mean gain", &[("L1 of 128 KB", large), ("L1 of 128 ways", associative)]).because(text),
    ]);
    let head: Vec<&str> = [vec!["app"], variants.iter().map(|variant| variant.name).collect()].concat();
    let cells = |name: &str, of: &dyn Fn(usize) -> f64| {
        [vec![name.to_owned()], (0..variants.len()).map(|variant| shown(of(variant))).collect()].concat()
    };
    let mut rows: Vec<_> =
        apps.iter().enumerate().map(|(at, app)| cells(app.name, &|variant| gains[variant][at])).collect();
    rows.push(cells("mean", &|variant| means[variant]));
    page.csv = comma_separated(&head, &rows)?;
    page.text("## Applications\nThe first four columns are L1s, the last two L2s.");
    page.table(&head, rows, 1);
    for (suffix, title, range) in
        [("-l1", "IPC with another L1", 0..L1.len()), ("-l2", "IPC with another L2", L1.len()..variants.len())]
    {
        page.chart(suffix, &chart(title, &apps, &variants[range.clone()], &gains[range]));
    }
    Ok(page)
}

fn chart(title: &str, apps: &[&App], variants: &[&Variant], gains: &[Vec<f64>]) -> Chart {
    let series = variants.iter().zip(gains).map(|(variant, gains)| Series::new(variant.name, gains.iter().copied()));
    Chart {
        title: title.to_owned(),
        unit: "IPC, relative".to_owned(),
        groups: apps.iter().map(|app| app.name.to_owned()).collect(),
        series: series.collect(),
        neutral: Some(1.0),
        ..Chart::default()
    }
}
