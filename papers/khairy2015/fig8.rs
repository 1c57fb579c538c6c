//! Figure 8: DWT-PRIC, which is streaming bypass, DWT-CS and PRIC together.

use super::plot::Plot;
use super::{APPS, App, CONTENTION, DWT_PRIC, Kind, METHOD, STREAMING, gains, mean_of, measured};
use crate::Desk;
use crate::Halt;
use crate::judge::{Class, Row};
use crate::page::Page;

/// What SYRK and GESUMMV have to gain: the published 21 and 16.8 are those of other row strides.
const LEAST: f64 = 5.0;
/// A friendly application that comes so near has lost nothing.
const SAME: f64 = 0.98;

pub(in super::super) fn fig8(desk: &Desk) -> Result<Page, Halt> {
    let apps: Vec<&App> = APPS.iter().collect();
    let machines: [&[&str]; 5] = [&[], DWT_PRIC, &["streaming", "streaming-l2"], &["dwt-cs"], &["pric"]];
    let done = measured(desk, &apps, &machines.map(|designs| (designs, &[][..])))?;
    let [all, streaming, dwt, pric] = [1, 2, 3, 4].map(|machine| gains(&done, machine));
    let mean = |kinds: &[Kind]| mean_of(kinds, &apps, &all);
    let of = |name: &str| apps.iter().position(|app| app.name == name).map_or(f64::NAN, |at| all[at]);
    let worst = apps
        .iter()
        .zip(&all)
        .filter(|(app, _)| app.kind == Kind::Friendly)
        .min_by(|(_, one), (_, other)| one.total_cmp(other))
        .map_or(("none", f64::NAN), |(app, gain)| (app.name, *gain));
    let above = |name: &str, published: &str| {
        let ours = of(name);
        Row::claim(Class::Sign, name, &format!("{ours:.2}"), published, ours > LEAST)
    };
    let rows = vec![
        Row::sign("all, harmonic mean", mean(&Kind::ALL), 1.54, (1.0, 0.0)),
        Row::sign("streaming, harmonic mean", mean(&STREAMING), 1.2, (1.0, 0.0)),
        Row::sign("contention, harmonic mean", mean(&CONTENTION), 2.3, (1.0, 0.0)),
        above("SYRK", "21, or above 5"),
        above("GESUMMV", "16.8, or above 5"),
        Row::claim(
            Class::Sign,
            "worst of the friendly",
            &format!("{} {:.3}", worst.0, worst.1),
            "none loses",
            worst.1 >= SAME,
        ),
    ];
    let about = format!(
        "IPC in parts of the baseline's, of *DWT-PRIC*, which is designs `dwt-pric` and `streaming-l2`, and of each of its three parts alone:\n\
         *streaming* of both caches, *DWT-CS* and *PRIC*. {METHOD}"
    );
    Plot {
        figure: "khairy2015/fig8",
        title: "khairy2015, Figure 8: DWT-PRIC",
        about: &about,
        unit: "IPC, relative to the baseline",
        places: 3,
        neutral: Some(1.0),
        columns: &[("DWT-PRIC", all), ("streaming", streaming), ("DWT-CS", dwt), ("PRIC", pric)],
    }
    .page(desk, &apps, rows)
}
