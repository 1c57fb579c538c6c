//! The schemes that the paper compares its own with (figures 8 and 9): all loads past the L1, MRPB,
//! Profiled-BYPASS with the threshold best on average, PDP with the distance best for each application.

use super::super::Desk;
use super::{App, KERNELS, Kind, apps, mean_of, measured};
use crate::reproduce::Halt;
use crate::reproduce::chart::{Chart, Series};
use crate::reproduce::judge::Row;
use crate::reproduce::page::Page;

/// Protecting distances tried.
const DISTANCES: [u32; 12] = [4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 255];
/// Thresholds of the profile tried.
const THRESHOLDS: [u32; 7] = [1, 2, 3, 4, 6, 8, 16];
const NAMES: [&str; 4] = ["BALL", "MRPB", "Profiled-BYPASS", "PDP-best"];

/// IPC of each scheme in parts of the baseline's, by scheme and application.
struct Found {
    relative: [Vec<f64>; 4],
    threshold: u32,
    distances: Vec<u32>,
}

pub(in super::super) fn schemes(desk: &Desk) -> Result<Page, Halt> {
    let apps = apps(&[Kind::Unfriendly, Kind::Friendly]);
    let Found { relative, threshold, distances } = found(desk, &apps)?;
    let mut page = Page::new("li2015/schemes", desk.is_quick, "li2015, Figures 8 and 9: the schemes compared with");
    page.text(&format!(
        "IPC on `fermi` with `li2015-clocks`, in parts of that with the plain L1. *BALL*: `bypass-all`. *MRPB*: `mrpb-all`. *Profiled-BYPASS*:\n\
         `profiled` with a threshold of {threshold}, which is best of {THRESHOLDS:?} on the geometric mean of the unfriendly. *PDP-best*: `pdp` with the\n\
         distance that is best for the application, of {DISTANCES:?}. {KERNELS}"
    ));
    let mean = |scheme: usize, kind: Kind| mean_of(kind, &apps, &relative[scheme]);
    let worst = |scheme: usize| {
        let friendly = apps.iter().zip(&relative[scheme]).filter(|(app, _)| app.kind == Kind::Friendly);
        friendly.map(|(_, relative)| *relative).fold(f64::INFINITY, f64::min)
    };
    let unfriendly = [2, 1].map(|scheme| (NAMES[scheme], mean(scheme, Kind::Unfriendly)));
    let mut rows = vec![
        Row::ordering("mean of the unfriendly", &[unfriendly[0], unfriendly[1], ("baseline", 1.0)]),
        Row::factor("MRPB, mean of the unfriendly", unfriendly[1].1, 1.192, 1.0),
    ];
    for (scheme, published) in [(0, 0.23), (1, 0.81), (3, 0.70)] {
        let what = format!("{}, worst of the friendly", NAMES[scheme]);
        rows.push(Row::sign(&what, worst(scheme), published, (1.0, 0.0)));
    }
    page.judged(rows);
    let head = ["app", "class", NAMES[0], NAMES[1], NAMES[2], NAMES[3], "distance"];
    let shown = |value: f64| format!("{value:.3}");
    let mut cells: Vec<Vec<String>> = apps
        .iter()
        .enumerate()
        .map(|(at, app)| {
            let numbers = relative.iter().map(|of_scheme| shown(of_scheme[at]));
            let texts = [app.name, app.kind.name()].map(str::to_owned);
            texts.into_iter().chain(numbers).chain([distances[at].to_string()]).collect()
        })
        .collect();
    for kind in [Kind::Unfriendly, Kind::Friendly] {
        let texts = ["mean", kind.name()].map(str::to_owned);
        let numbers = (0..NAMES.len()).map(|scheme| shown(mean(scheme, kind)));
        cells.push(texts.into_iter().chain(numbers).chain([String::new()]).collect());
    }
    page.applications(&head, cells, 2)?;
    let series = NAMES.iter().zip(&relative).map(|(name, of_scheme)| Series::new(name, of_scheme.iter().copied()));
    page.chart(
        "",
        &Chart {
            title: "IPC of other schemes".to_owned(),
            unit: "IPC, relative".to_owned(),
            groups: apps.iter().map(|app| app.name.to_owned()).collect(),
            series: series.collect(),
            neutral: Some(1.0),
            ..Chart::default()
        },
    );
    Ok(page)
}

fn found(desk: &Desk, apps: &[&App]) -> Result<Found, Halt> {
    let thresholds = THRESHOLDS.map(|threshold| format!("l1.profiled.threshold={threshold}"));
    let protecting = DISTANCES.map(|distance| format!("l1.protecting_distance={distance}"));
    let mut machines = vec![(vec![], vec![]), (vec!["bypass-all"], vec![]), (vec!["mrpb-all"], vec![])];
    machines.extend(thresholds.iter().map(|set| (vec!["profiled"], vec![set.as_str()])));
    machines.extend(protecting.iter().map(|set| (vec!["pdp"], vec![set.as_str()])));
    let done = measured(desk, apps, &machines)?;
    let gains = |machine: usize| -> Vec<f64> {
        done.iter().map(|runs| runs[machine].counters.ipc() / runs[0].counters.ipc()).collect()
    };
    let profiled = (0..THRESHOLDS.len()).rev().max_by(|one, other| {
        let mean = |at: usize| mean_of(Kind::Unfriendly, apps, &gains(3 + at));
        mean(*one).total_cmp(&mean(*other))
    });
    let profiled = profiled.unwrap_or_default();
    let first = 3 + THRESHOLDS.len();
    let by_distance: Vec<_> = (0..DISTANCES.len()).map(|at| gains(first + at)).collect();
    // Of equals the least.
    let best = |app: usize| {
        let of_app =
            (0..DISTANCES.len()).rev().max_by(|one, other| by_distance[*one][app].total_cmp(&by_distance[*other][app]));
        of_app.unwrap_or_default()
    };
    let best: Vec<_> = (0..apps.len()).map(best).collect();
    Ok(Found {
        relative: [
            gains(1),
            gains(2),
            gains(3 + profiled),
            best.iter().enumerate().map(|(app, distance)| by_distance[*distance][app]).collect(),
        ],
        threshold: THRESHOLDS[profiled],
        distances: best.into_iter().map(|at| DISTANCES[at]).collect(),
    })
}
