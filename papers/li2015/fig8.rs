//! li2015 Figure 8: performance of the L1-unfriendly applications with each scheme.

use super::schemes::{COLD, Scheme, Schemes, THRESHOLDS, hits};
use super::{Kind, RELATIVE_IPC, mean_of};
use crate::chart::Chart;
use crate::judge::{ComparisonRow, Effect};
use crate::page::Page;
use crate::{FigureError, Session};

/// Maximum relative difference between two IPCs that are regarded as equal.
const BAND: f64 = 0.05;

pub(in super::super) fn fig8(session: &Session) -> Result<Page, FigureError> {
    let schemes = Schemes::measure(session, &[Kind::Unfriendly])?;
    let found = RelativeIpcs { relative: Scheme::ALL.map(|scheme| schemes.relative(scheme)), schemes: &schemes };
    let about = format!("IPC relative to the baseline.\n{}", schemes.text());
    let title = "li2015, Figure 8: the unfriendly applications";
    let mut page = Page::with_comparison("li2015/fig8", session.is_quick, title, &about, found.rows());
    page.text(
        "Dueling decides once per launch, between two cold L1s. In SD2, it selects the plain L1, because neighboring\n\
         warps and CTAs soon request the same lines again. Most launches of NW end before a decision.",
    );
    let table = schemes.table(Kind::Unfriendly);
    table.table(&mut page, "## Applications")?;
    table.chart(&mut page, "", Chart::relative("IPC of the unfriendly applications", RELATIVE_IPC), table.all());
    Ok(page)
}

struct RelativeIpcs<'a> {
    schemes: &'a Schemes,
    /// For each scheme, the IPC of each application relative to the baseline.
    relative: [Vec<f64>; Scheme::ALL.len()],
}

impl RelativeIpcs<'_> {
    fn mean(&self, scheme: Scheme) -> f64 {
        mean_of(Kind::Unfriendly, &self.schemes.apps, &self.relative[scheme as usize])
    }

    fn of(&self, app: &str, scheme: Scheme) -> f64 {
        self.schemes.of(app, &self.relative[scheme as usize])
    }

    fn rows(&self) -> Vec<ComparisonRow> {
        let decoupled = self.mean(Scheme::Decoupled);
        let most = self.relative[Scheme::Decoupled as usize].iter().copied().fold(f64::NAN, f64::max);
        let order = [Scheme::Decoupled, Scheme::Profiled, Scheme::Mrpb, Scheme::Plain];
        let order = order.map(|scheme| (scheme.name(), self.mean(scheme)));
        let over = |app: &str, other: Scheme| self.of(app, Scheme::Decoupled) / self.of(app, other);
        let mut rows = vec![
            ComparisonRow::ordering("geometric mean", &order).with_reason(&self.counts()),
            ComparisonRow::factor("Decoupled, mean", decoupled, 1.303, 1.0),
            ComparisonRow::factor("Decoupled, maximum", most, 1.568, 1.0).explain_failure(|| self.beside_past(most)),
            ComparisonRow::factor("Decoupled with dueling, mean", self.mean(Scheme::Dueling), 1.303, 1.0)
                .explain_failure(|| self.list_wrong_duels()),
            ComparisonRow::factor("MRPB, mean", self.mean(Scheme::Mrpb), 1.192, 1.0),
            ComparisonRow::sign("Decoupled over MRPB, mean", decoupled / self.mean(Scheme::Mrpb), 1.11, Effect::RATIO)
                .mark_no_evidence("it follows from the two means above"),
            ComparisonRow::sign("Decoupled over Profiled, BH", over("BH", Scheme::Profiled), 1.11, Effect::RATIO),
        ];
        rows.extend([("BH", 1.08), ("SSSP", 1.11), ("PTF", 1.1033)].map(|(app, published)| {
            let what = format!("Decoupled over PDP-best, {app}");
            ComparisonRow::sign(&what, over(app, Scheme::Pdp), published, Effect::RATIO)
                .explain_failure(|| self.sooner(app))
        }));
        rows.extend(["HS", "NW", "LUD"].map(|app| {
            let what = format!("Decoupled over PDP-best, {app}: the same within {:.0} %", 100.0 * BAND);
            ComparisonRow::sign(&what, over(app, Scheme::Pdp), 1.0, Effect { neutral: 1.0, none: BAND })
        }));
        rows
    }

    /// Explains why the scheme Profiled-BYPASS, which bypasses loads according to a profile, gains nothing.
    fn counts(&self) -> String {
        let most = THRESHOLDS[THRESHOLDS.len() - 1];
        format!(
            "a reference count says nothing about reuse distances: PTF requests every line of its indices more than \
             {most} times, so that every threshold tried admits them all and the IPC hardly changes ({:.3}). It hardly \
             changes for BH either ({:.3})",
            self.of("PTF", Scheme::Profiled),
            self.of("BH", Scheme::Profiled)
        )
    }

    /// Lists the applications with the highest gains, each with the gain that bypassing alone achieves.
    fn beside_past(&self, gain: f64) -> String {
        let all = self.schemes.apps.iter().zip(&self.relative[Scheme::Decoupled as usize]);
        let most = all.filter(|(_, relative)| **relative >= gain).map(|(app, _)| {
            let [past, pdp] = [Scheme::Ball, Scheme::Pdp].map(|scheme| self.of(app.name, scheme));
            format!(
                "{} reaches {past:.2} with all loads bypassing the L1, and {pdp:.2} with PDP at its best distance",
                app.name
            )
        });
        most.collect::<Vec<_>>().join(", ")
    }

    /// Lists the applications in which SM dueling does not choose the better of its two designs.
    fn list_wrong_duels(&self) -> String {
        let all = self.schemes.apps.iter().map(|app| {
            let [alone, dueling] = [Scheme::Decoupled, Scheme::Dueling].map(|scheme| self.of(app.name, scheme));
            (app.name, alone, dueling)
        });
        let lost = all.filter(|(_, alone, dueling)| *dueling < (1.0 - BAND) * alone);
        let lost = lost.map(|(name, alone, dueling)| format!("{name} {dueling:.2} instead of {alone:.2}"));
        format!("{COLD}. It selects the plain L1 in {}", lost.collect::<Vec<_>>().join(", "))
    }

    fn sooner(&self, app: &str) -> String {
        let [pdp, decoupled, second] = [Scheme::Pdp, Scheme::Decoupled, Scheme::Second]
            .map(|scheme| self.schemes.of(app, &self.schemes.values(scheme, hits)));
        format!(
            "PDP inserts a line at its first request, and {pdp:.1} % of the loads hit. Decoupled inserts it at its \
             third, and {decoupled:.1} % hit. With insertion at the second request, {second:.1} % hit, and the IPC is \
             {:.2} times PDP's",
            self.of(app, Scheme::Second) / self.of(app, Scheme::Pdp)
        )
    }
}
