//! Figure 8: the unfriendly applications under each scheme.

use super::super::{Desk, explained};
use super::columns::{Columns, relative_ipc};
use super::schemes::{Scheme, Schemes, hits};
use super::{Kind, mean_of};
use crate::Halt;
use crate::judge::Row;
use crate::page::Page;

/// How far an IPC may be from another and still count as the same.
const BAND: f64 = 0.05;

const COUNTS: &str = "a count knows nothing of distances: every line of PTF's indices is asked for 32 times or more, so that each threshold up to 16 admits \
     them all, and nothing changes (0.996); nor does it for BH";
pub(in super::super) fn fig8(desk: &Desk) -> Result<Page, Halt> {
    let schemes = Schemes::measure(desk, &[Kind::Unfriendly])?;
    let relative = Scheme::ALL.map(|scheme| schemes.relative(scheme));
    let mean = |scheme: Scheme| mean_of(Kind::Unfriendly, &schemes.apps, &relative[scheme as usize]);
    let over = |app: &str, other: Scheme| {
        let of = |scheme: Scheme| schemes.of(app, &relative[scheme as usize]);
        of(Scheme::Decoupled) / of(other)
    };
    let decoupled = mean(Scheme::Decoupled);
    let most = relative[Scheme::Decoupled as usize].iter().copied().fold(f64::NAN, f64::max);
    let order = [Scheme::Decoupled, Scheme::Profiled, Scheme::Mrpb, Scheme::Plain];
    let sooner = |app: &str| {
        let [pdp, decoupled, second] = [Scheme::Pdp, Scheme::Decoupled, Scheme::Second]
            .map(|scheme| schemes.of(app, &schemes.values(scheme, hits)));
        format!(
            "PDP takes a line in at its first request, Decoupled at its third: {pdp:.1} against {decoupled:.1} % of the loads hit; taken in at its \
             second, {second:.1} %, and {:.2} times PDP's IPC",
            schemes.of(app, &relative[Scheme::Second as usize]) / schemes.of(app, &relative[Scheme::Pdp as usize])
        )
    };
    let mut rows = vec![
        Row::ordering("geometric mean", &order.map(|scheme| (scheme.name(), mean(scheme)))).because(COUNTS),
        Row::factor("Decoupled, mean", decoupled, 1.303, 1.0),
        Row::factor("Decoupled, most", most, 1.568, 1.0),
        Row::factor("Decoupled with dueling, mean", mean(Scheme::Dueling), 1.303, 1.0),
        Row::factor("MRPB, mean", mean(Scheme::Mrpb), 1.192, 1.0),
        Row::sign("Decoupled over MRPB, mean", decoupled / mean(Scheme::Mrpb), 1.11, (1.0, 0.0)),
        Row::sign("Decoupled over Profiled, BH", over("BH", Scheme::Profiled), 1.11, (1.0, 0.0)),
    ];
    for (app, published) in [("BH", 1.08), ("SSSP", 1.11), ("PTF", 1.1033)] {
        let what = format!("Decoupled over PDP-best, {app}");
        let row = Row::sign(&what, over(app, Scheme::Pdp), published, (1.0, 0.0));
        rows.push(explained(row, || sooner(app)));
    }
    for app in ["HS", "NW", "LUD"] {
        let what = format!("Decoupled over PDP-best, {app}: the same within {:.0} %", 100.0 * BAND);
        rows.push(Row::sign(&what, over(app, Scheme::Pdp), 1.0, (1.0, BAND)));
    }

    let mut page = Page::new("li2015/fig8", desk.is_quick, "li2015, Figure 8: the unfriendly applications");
    page.text(&format!("IPC in parts of the baseline's. {}", schemes.text()));
    page.judged(rows);
    page.text(
        "Dueling decides once a launch, between two cold L1s: for the plain one in SD2, where neighbours ask for lines again soon. Most launches of NW\n\
         end before a decision.",
    );
    let mut columns = Columns::new(&schemes.apps);
    for scheme in &Scheme::ALL[1..] {
        columns.push(scheme.name(), relative[*scheme as usize].clone());
    }
    let geometric = |values: &[f64]| mean_of(Kind::Unfriendly, &schemes.apps, values);
    columns.table(&mut page, 3, &[("mean", &geometric)])?;
    columns.chart(&mut page, "", relative_ipc("IPC of the unfriendly applications"), 0..Scheme::ALL.len() - 1);
    Ok(page)
}
