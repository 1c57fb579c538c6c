//! Figure 9: what the schemes do to applications that the L1 serves well, or that do not need it.

use super::super::{Desk, explained};
use super::columns::{Columns, relative_ipc};
use super::schemes::{Scheme, Schemes, common_distance, ipc, most_hits};
use super::{Kind, apps, mean_of, measured};
use crate::Halt;
use crate::judge::{Class, Row};
use crate::page::Page;

/// The most that dueling may lose: the SM that leads with the wrong design is one of fifteen.
const LOSS: f64 = 0.03;

const BEST: &str = "the text has the best of all distances for each workload: up to 4, the lines of a set, PDP replaces as the plain L1 does, so that the best of all \
     loses next to nothing";
const COLD: &str =
    "dueling decides once a launch, in the first interval in which both leaders load enough, and compares two cold L1s";

pub(in super::super) fn fig9(desk: &Desk) -> Result<Page, Halt> {
    let schemes = Schemes::measure(desk, &[Kind::Friendly])?;
    let relative = Scheme::ALL.map(|scheme| schemes.relative(scheme));
    let worst = |scheme: Scheme| relative[scheme as usize].iter().copied().fold(f64::INFINITY, f64::min);
    let insensitive = apps(&[Kind::Insensitive]);
    let done = measured(desk, &insensitive, &[(vec![], vec![]), (vec!["decoupled-dueling"], vec![])])?;
    let dueling: Vec<_> = done.iter().map(|runs| ipc(&runs[1]) / ipc(&runs[0])).collect();
    let farthest = dueling.iter().map(|ratio| (ratio - 1.0).abs()).fold(0.0, f64::max);

    let common = common_distance(desk)?;
    let otherwise = || {
        let worst = |found: Option<(f64, &str, u32)>| {
            found.map_or_else(String::new, |(ipc, app, distance)| format!("{ipc:.2} ({app} at {distance})"))
        };
        format!(
            "{BEST}. At the distance with the most hits the worst is {}; at {common}, the best single one for the unfriendly, {}",
            worst(schemes.worst_protected(most_hits)),
            worst(schemes.worst_protected(|_| common)),
        )
    };
    let mut rows: Vec<_> = [(Scheme::Ball, 0.23), (Scheme::Mrpb, 0.81), (Scheme::Pdp, 0.70)]
        .map(|(scheme, published)| {
            let row = Row::sign(&format!("{}, worst", scheme.name()), worst(scheme), published, (1.0, 0.0));
            if scheme == Scheme::Pdp { explained(row, otherwise) } else { row }
        })
        .into();
    let percent = |part: f64| format!("{:.2} %", 100.0 * part);
    let row = Row::claim(
        Class::Sign,
        "dueling, most lost by a friendly application",
        &percent(1.0 - worst(Scheme::Dueling)),
        &format!("no loss; less than {:.0} %", 100.0 * LOSS),
        worst(Scheme::Dueling) > 1.0 - LOSS,
    );
    rows.push(explained(row, || COLD.to_owned()));
    let row = Row::claim(
        Class::Sign,
        "dueling, farthest that an insensitive application moves",
        &percent(farthest),
        &format!("0.03 % on average; less than {:.0} %", 100.0 * LOSS),
        farthest < LOSS,
    );
    rows.push(explained(row, || COLD.to_owned()));

    let mut page = Page::new("li2015/fig9", desk.is_quick, "li2015, Figure 9: the friendly applications");
    page.text(&format!("IPC in parts of the baseline's. {}", schemes.text()));
    page.judged(rows);
    let mut columns = Columns::new(&schemes.apps);
    for scheme in &Scheme::ALL[1..] {
        columns.push(scheme.name(), relative[*scheme as usize].clone());
    }
    let geometric = |values: &[f64]| mean_of(Kind::Friendly, &schemes.apps, values);
    columns.table(&mut page, 3, &[("mean", &geometric)])?;
    page.text("## Insensitive applications");
    let cells = insensitive.iter().zip(&dueling).map(|(app, ratio)| vec![app.name.to_owned(), format!("{ratio:.4}")]);
    page.table(&["app", Scheme::Dueling.name()], cells.collect(), 1);
    columns.chart(&mut page, "", relative_ipc("IPC of the friendly applications"), 0..Scheme::ALL.len() - 1);
    Ok(page)
}
