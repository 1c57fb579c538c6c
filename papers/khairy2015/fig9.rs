//! Figure 9: DWT-PRIC against CCWS and MRPB.

use super::plot::Plot;
use super::{
    CONTENTION, DWT_PRIC, Kind, METHOD, apps, explained, gains, mean_of, measured, miss_percent, throttled_percent,
};
use crate::Desk;
use crate::Halt;
use crate::judge::Row;
use crate::page::Page;

const MACHINES: [&[&str]; 4] = [&[], DWT_PRIC, &["ccws"], &["mrpb"]];
const NAMES: [&str; 4] = ["baseline", "DWT-PRIC", "CCWS", "MRPB"];

/// A class of applications, what DWT-PRIC gains over CCWS and over MRPB there, and the order that follows.
type Published = (&'static str, &'static [Kind], [f64; 2], [usize; 3]);

const PUBLISHED: [Published; 4] = [
    ("contention", &CONTENTION, [1.7, 1.5], [1, 3, 2]),
    ("conflict", &[Kind::Conflict], [2.1, 1.37], [1, 3, 2]),
    ("thrashing", &[Kind::Thrashing], [1.02, 1.25], [1, 2, 3]),
    ("thrashing + conflict", &[Kind::Both], [18.0, 4.0], [1, 3, 2]),
];

pub(in super::super) fn fig9(desk: &Desk) -> Result<Page, Halt> {
    let apps = apps(&CONTENTION);
    let done = measured(desk, &apps, &MACHINES.map(|designs| (designs, &[][..])))?;
    let gains = [0, 1, 2, 3].map(|machine| gains(&done, machine));
    let over = |kinds: &[Kind], other: usize| {
        let ratios: Vec<_> = gains[1].iter().zip(&gains[other]).map(|(ours, theirs)| ours / theirs).collect();
        mean_of(kinds, &apps, &ratios)
    };
    let mut rows = Vec::new();
    for (name, kinds, published, order) in PUBLISHED {
        for (scheme, published) in [2, 3].into_iter().zip(published) {
            let what = format!("DWT-PRIC over {}, {name}", NAMES[scheme]);
            rows.push(Row::sign(&what, over(kinds, scheme), published, (1.0, 0.0)));
        }
        let means = order.map(|machine| (NAMES[machine], mean_of(kinds, &apps, &gains[machine])));
        rows.push(explained(Row::ordering(&format!("harmonic mean, {name}"), &means), || {
            let of_kinds = apps.iter().enumerate().filter(|(_, app)| kinds.contains(&app.kind));
            let ahead = of_kinds.filter(|(at, _)| gains[3][*at] > gains[2][*at]).map(|(at, app)| {
                let (mrpb, ccws, held) = (gains[3][at], gains[2][at], throttled_percent(&done[at][2]));
                format!("{} ({mrpb:.2} to {ccws:.2}, {held:.0} %)", app.name)
            });
            let ahead: Vec<_> = ahead.collect();
            format!(
                "MRPB, which holds no warp back, is ahead of CCWS on {} (IPC, and the scheduler cycles in which CCWS holds all warps back)",
                ahead.join(", ")
            )
        }));
    }
    for name in ["SpMV", "BFS"] {
        let at = apps.iter().position(|app| app.name == name).unwrap_or_default();
        rows.push(explained(Row::ordering(name, &[2, 1].map(|machine| (NAMES[machine], gains[machine][at]))), || {
            let [without, ours, ccws] = [0, 1, 2].map(|machine| miss_percent(&done[at][machine]));
            let [ours_held, ccws_held] = [1, 2].map(|machine| throttled_percent(&done[at][machine]));
            format!(
                "CCWS cuts misses from {without:.0} % of the loads to {ccws:.0} %, but leaves the schedulers nothing else to issue in\n  \
                 {ccws_held:.0} % of their cycles; with DWT-PRIC it is {ours:.0} % and {ours_held:.0} %"
            )
        }));
    }
    let about = format!(
        "IPC in parts of the baseline's, of the applications that contend for the L1. *DWT-PRIC*: designs `dwt-pric` and `streaming-l2`; *CCWS*:\n\
         `ccws`; *MRPB*: `mrpb`. {METHOD}"
    );
    let [_, ours, ccws, mrpb] = gains;
    Plot {
        figure: "khairy2015/fig9",
        title: "khairy2015, Figure 9: DWT-PRIC, CCWS and MRPB",
        about: &about,
        unit: "IPC, relative to the baseline",
        places: 3,
        neutral: Some(1.0),
        columns: &[(NAMES[1], ours), (NAMES[2], ccws), (NAMES[3], mrpb)],
    }
    .page(desk, &apps, rows)
}
