//! Figure 8: the unfriendly applications under each scheme.

use super::super::Desk;
use super::columns::{Columns, relative_ipc};
use super::schemes::{Scheme, Schemes};
use super::{Kind, mean_of};
use crate::reproduce::Halt;
use crate::reproduce::judge::Row;
use crate::reproduce::page::Page;

/// How far an IPC may be from another and still count as the same.
const BAND: f64 = 0.05;

const COUNTS: &str = "a count knows nothing of distances: every line of PTF's indices is asked for 32 times or more, so that each threshold up to 16 admits \
     them all, and nothing changes (0.996); nor does it for BH";
const FEW_NODES: &str = "the data are few, 3,060 nodes in BH and 8,192 in SSSP, and come again all the time: PDP keeps any 128 lines from the first \
     request on and hits more often (figure 10: 48.8 against 36.5 % in BH, 25.7 against 22.6 % in SSSP), where the threshold lets the first two requests of each line pass";

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
    let mut rows = vec![
        Row::ordering("geometric mean", &order.map(|scheme| (scheme.name(), mean(scheme)))).because(COUNTS),
        Row::factor("Decoupled, mean", decoupled, 1.303, 1.0),
        Row::factor("Decoupled, most", most, 1.568, 1.0),
        Row::factor("MRPB, mean", mean(Scheme::Mrpb), 1.192, 1.0),
        Row::sign("Decoupled over MRPB, mean", decoupled / mean(Scheme::Mrpb), 1.11, (1.0, 0.0)),
        Row::sign("Decoupled over Profiled, BH", over("BH", Scheme::Profiled), 1.11, (1.0, 0.0)),
    ];
    for (app, published) in [("BH", 1.08), ("SSSP", 1.11), ("PTF", 1.1033)] {
        let what = format!("Decoupled over PDP-best, {app}");
        let row = Row::sign(&what, over(app, Scheme::Pdp), published, (1.0, 0.0));
        rows.push(if app == "PTF" { row } else { row.because(FEW_NODES) });
    }
    for app in ["HS", "NW", "LUD"] {
        let what = format!("Decoupled over PDP-best, {app}: the same within {:.0} %", 100.0 * BAND);
        rows.push(Row::sign(&what, over(app, Scheme::Pdp), 1.0, (1.0, BAND)));
    }

    let mut page = Page::new("li2015/fig8", desk.is_quick, "li2015, Figure 8: the unfriendly applications");
    page.text(&format!("IPC in parts of the baseline's. {}", schemes.text()));
    page.judged(rows);
    page.text("Dueling cannot help PTF, whose two CTAs run on the two SMs that lead, one of them with the plain L1 to the end.");
    let mut columns = Columns::new(&schemes.apps);
    for scheme in &Scheme::ALL[1..] {
        columns.push(scheme.name(), relative[*scheme as usize].clone());
    }
    let geometric = |values: &[f64]| mean_of(Kind::Unfriendly, &schemes.apps, values);
    columns.table(&mut page, 3, &[("mean", &geometric)])?;
    columns.chart(&mut page, "", relative_ipc("IPC of the unfriendly applications"), 0..Scheme::ALL.len() - 1);
    Ok(page)
}
