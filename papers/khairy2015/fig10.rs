//! Figure 10: misses of the L1 that DWT-PRIC and unbounded caches avoid.

use rtl::throttle::config::DwtConfig;

use super::plot::Plot;
use super::{CONTENTION, DWT_PRIC, METHOD, apps, cut, explained, limits, measured, miss_percent};
use crate::Desk;
use crate::Halt;
use crate::judge::Row;
use crate::page::Page;
use warpsieve::run::ratio;

/// Those that lose more than 80 % of their misses, and those that lose up to 60 %.
const MOST: [&str; 4] = ["3DS", "KM", "SYRK", "GESUMMV"];
const SOME: [&str; 3] = ["2DCONV", "MM", "IIX"];
/// Those whose miss rate is nearly that of unbounded caches, and how near that is, in points.
const NEAR: [&str; 4] = ["SRAD", "3DS", "2DCONV", "KM"];
const POINTS: f64 = 15.0;
/// How long DWT-CS searches.
const DWT: DwtConfig = DwtConfig::KHAIRY2015;

pub(in super::super) fn fig10(desk: &Desk) -> Result<Page, Halt> {
    let apps = apps(&CONTENTION);
    let machines: [&[&str]; 3] = [&[], DWT_PRIC, &["unbounded"]];
    let done = measured(desk, &apps, &machines.map(|designs| (designs, &[][..])))?;
    let misses = [0, 1, 2].map(|machine| done.iter().map(|runs| miss_percent(&runs[machine])).collect::<Vec<f64>>());
    let cut_of = |machine: usize| -> Vec<f64> {
        misses[0].iter().zip(&misses[machine]).map(|(before, after)| cut(*before, *after)).collect()
    };
    let cuts = [1, 2].map(cut_of);
    let at = |name: &str| apps.iter().position(|app| app.name == name).unwrap_or_default();
    let mut rows = Vec::new();
    for name in MOST {
        let (ours, unbounded) = (cuts[0][at(name)], cuts[1][at(name)]);
        rows.push(explained(Row::factor(&format!("{name}, misses cut by percent"), ours, 80.0, 0.0), || {
            format!(
                "caches without bounds cut no more than {unbounded:.1} %, as the other misses are an SM's first loads of their lines; DWT-PRIC\n  \
                 gets {:.0} % of what there is to get",
                100.0 * ours / unbounded
            )
        }));
    }
    for name in SOME {
        rows.push(Row::sign(&format!("{name}, misses cut by percent"), cuts[0][at(name)], 60.0, (0.0, 0.0)));
    }
    for name in NEAR {
        let what = format!("{name}, miss rate near that of unbounded caches");
        rows.push(explained(Row::points(&what, misses[1][at(name)], misses[2][at(name)], POINTS), || {
            let run = &done[at(name)][1];
            let settled = u64::from(DWT.period * (DWT.above + DWT.sample));
            let share = 100.0 * ratio(settled, run.counters.cycles);
            format!(
                "DWT-CS has found its limit ({}) after {settled} of {} cycles ({share:.0} %); until then the L1 thrashes in most of the SMs",
                limits(run),
                run.counters.cycles
            )
        }));
    }
    let about = format!(
        "Loads that the L1 sends on, in percent of all, and by how many percent DWT-PRIC (designs `dwt-pric` and `streaming-l2`) and caches without\n\
         bounds (`unbounded`) cut that. Of the last rows the published number is ours of unbounded caches. {METHOD}"
    );
    let [baseline, ours, unbounded] = misses;
    let [ours_cut, unbounded_cut] = cuts;
    Plot {
        figure: "khairy2015/fig10",
        title: "khairy2015, Figure 10: misses of the L1",
        about: &about,
        unit: "percent",
        places: 1,
        neutral: None,
        columns: &[
            ("baseline", baseline),
            ("DWT-PRIC", ours),
            ("unbounded", unbounded),
            ("cut by DWT-PRIC", ours_cut),
            ("cut by unbounded", unbounded_cut),
        ],
    }
    .page(desk, &apps, rows)
}
