//! li2015 Figure 9: effect of the schemes on applications that hit in the L1, and on applications that are
//! insensitive to the L1.

use super::schemes::{COLD, Scheme, Schemes, common_distance, hits, ipc, most_hits};
use super::{Kind, RELATIVE_IPC, apps, measure};
use crate::chart::Chart;
use crate::judge::{Class, ComparisonRow, Effect};
use crate::page::Page;
use crate::{FigureError, Session};

/// Maximum relative loss of IPC that SM dueling may cause. Some loss is expected: one of the fifteen SMs is a
/// leader that always uses the worse of the two designs.
const LOSS: f64 = 0.03;

const BEST: &str = "the paper's text uses the best of all distances for each workload. Up to 4, the number of lines in \
    a set, PDP replaces lines as the plain L1 does, so that the best distance loses almost nothing";
pub(in super::super) fn fig9(session: &Session) -> Result<Page, FigureError> {
    let schemes = Schemes::measure(session, &[Kind::Friendly])?;
    let insensitive = apps(&[Kind::Insensitive]);
    let done = measure(session, &insensitive, &[(vec![], vec![]), (vec!["decoupled-dueling"], vec![])])?;
    let dueling: Vec<_> = done.iter().map(|runs| ipc(&runs[1]) / ipc(&runs[0])).collect();
    let mut rows = compare_losses(&schemes, common_distance(session)?);
    rows.extend(check_dueling(&schemes, &dueling));
    let about = format!("IPC relative to the baseline.\n{}", schemes.text());
    let title = "li2015, Figure 9: the friendly applications";
    let mut page = Page::with_comparison("li2015/fig9", session.is_quick, title, &about, rows);
    let table = schemes.table(Kind::Friendly);
    table.table(&mut page, "## Applications")?;
    page.text("## Insensitive applications");
    let cells = insensitive.iter().zip(&dueling).map(|(app, ratio)| vec![app.name.to_owned(), format!("{ratio:.4}")]);
    page.table(&["app", Scheme::Dueling.name()], cells.collect(), 1);
    table.chart(&mut page, "", Chart::relative("IPC of the friendly applications", RELATIVE_IPC), table.all());
    Ok(page)
}

/// Returns the lowest IPC that an application has with a scheme, relative to the baseline.
fn worst(schemes: &Schemes, scheme: Scheme) -> f64 {
    schemes.relative(scheme).into_iter().fold(f64::INFINITY, f64::min)
}

/// Compares the largest IPC losses of the schemes BALL, MRPB and PDP, with which the paper compares its own
/// scheme, with the published losses. `common` is the protecting distance of PDP that is best for the
/// L1-unfriendly applications if all of them must use the same distance.
fn compare_losses(schemes: &Schemes, common: u32) -> Vec<ComparisonRow> {
    let otherwise = || {
        let worst = |found: Option<(f64, &str, u32)>| {
            found.map_or_else(String::new, |(ipc, app, distance)| format!("{ipc:.2} ({app} at {distance})"))
        };
        format!(
            "{BEST}. At the distance with the most hits, the lowest relative IPC is {}. At {common}, the best single \
             distance for the unfriendly applications, it is {}",
            worst(schemes.worst_protected(most_hits)),
            worst(schemes.worst_protected(|_| common)),
        )
    };
    let row = |(scheme, published): (Scheme, f64)| {
        let row =
            ComparisonRow::sign(&format!("{}, worst", scheme.name()), worst(schemes, scheme), published, Effect::RATIO);
        if scheme == Scheme::Pdp {
            row.explain_failure(otherwise)
        } else {
            row.explain_failure(|| describe_kept(schemes, scheme))
        }
    };
    [(Scheme::Ball, 0.23), (Scheme::Mrpb, 0.81), (Scheme::Pdp, 0.70)].map(row).into()
}

/// Describes the L1 hit rates that remain with a scheme, and the applications that become slower.
fn describe_kept(schemes: &Schemes, scheme: Scheme) -> String {
    let [plain, left] = [Scheme::Plain, scheme].map(|scheme| schemes.values(scheme, hits));
    let all = schemes.apps.iter().zip(plain.iter().zip(left));
    let texts = all.map(|(app, (plain, left))| format!("{} {plain:.1} to {left:.1} %", app.name));
    let relative = schemes.relative(scheme);
    let slower = schemes.apps.iter().zip(&relative).filter(|(_, ipc)| **ipc <= 1.0 - Effect::RATIO.none);
    let slower: Vec<_> = slower.map(|(app, _)| app.name).collect();
    format!(
        "the hit rates of loads change ({}), but only the IPC of {} falls",
        texts.collect::<Vec<_>>().join(", "),
        slower.join(", ")
    )
}

/// Checks the IPC losses that SM dueling causes. `insensitive` has the IPC of each insensitive application,
/// relative to the baseline.
fn check_dueling(schemes: &Schemes, insensitive: &[f64]) -> [ComparisonRow; 2] {
    let lost = 1.0 - worst(schemes, Scheme::Dueling);
    let farthest = insensitive.iter().map(|ratio| (ratio - 1.0).abs()).fold(0.0, f64::max);
    let row = |what: &str, part: f64, published: &str| {
        let published = format!("{published}; less than {:.0} %", 100.0 * LOSS);
        let row = ComparisonRow::claim(Class::Sign, what, &format!("{:.2} %", 100.0 * part), &published, part < LOSS);
        row.explain_failure(|| COLD.to_owned())
    };
    [
        row("dueling, largest loss of a friendly application", lost, "no loss"),
        row("dueling, largest change of an insensitive application", farthest, "0.03 % on average"),
    ]
}
