//! li2015 Table 1: IPC with all loads bypassing the L1, divided by IPC with no load bypassing it.

use super::schemes::of_l1s;
use super::{APPS, App, KERNELS, Kind, RELATIVE_IPC, mean_of, measure};
use crate::chart::Chart;
use crate::judge::{ComparisonRow, Effect, geometric_mean};
use crate::page::Page;
use crate::runs::RunResult;
use crate::table::Table;
use crate::{FigureError, Session};
use warpsieve::run::ratio;

pub(in super::super) fn table1(session: &Session) -> Result<Page, FigureError> {
    let apps: Vec<&App> = APPS.iter().collect();
    let past = vec!["bypass-all"];
    let machines = [(vec![], vec![]), (past.clone(), vec![]), (past, vec!["l1.bypass_sectors=0"])];
    let done = measure(session, &apps, &machines)?;
    let [ratios, whole] = [1, 2].map(|machine: usize| -> Vec<f64> {
        done.iter().map(|runs| runs[machine].counters.ipc() / runs[0].counters.ipc()).collect()
    });
    let published: Vec<_> = apps.iter().map(|app| app.bypassed).collect();
    let about = format!(
        "IPC on `fermi` with `li2015-clocks` and `bypass-all`, relative to the IPC without `bypass-all`. If the ratio\n\
         is above 1, the application runs faster without the L1.\n\
         {KERNELS}\n\
         Another implementation of an algorithm may belong to another class. The rows therefore compare the mean of\n\
         each class with the mean of the published values."
    );
    let rows = Kind::ALL.map(|kind| {
        let what = format!("geometric mean of the {} class", kind.name());
        let row =
            ComparisonRow::sign(&what, mean_of(kind, &apps, &ratios), mean_of(kind, &apps, &published), Effect::RATIO);
        row.explain_failure(|| apart(kind, &apps, &ratios, &done))
    });
    let title = "li2015, Table 1: which applications profit from the L1";
    let mut page = Page::with_comparison("li2015/table1", session.is_quick, title, &about, rows.into());
    let all = geometric_mean(&ratios).unwrap_or(f64::NAN);
    let [ours, lines] = [&ratios, &whole].map(|ratios| mean_of(Kind::Unfriendly, &apps, ratios));
    let names = apps.iter().map(|app| [app.name, app.kernel, app.kind.name()]);
    let table = Table::new(["app", "kernel", "class"], names).columns(3, [("ours", ratios)]);
    let table = table.columns(2, [("published", published)]).columns(3, [("whole lines", whole)]);
    table.table(&mut page, "## Applications")?;
    page.text(&format!(
        "Geometric mean of all applications: {all:.3}. The last column has our ratios if bypassing loads fetch whole\n\
         lines. The mean of the unfriendly class is then {lines:.2} instead of {ours:.2}, because a line takes five\n\
         flits of the reply crossbar and a sector two."
    ));
    table.chart(
        &mut page,
        "",
        Chart::relative("IPC with all loads bypassing the L1, relative to no bypassing", RELATIVE_IPC),
        0..2,
    );
    Ok(page)
}

/// Lists the applications of a class whose IPC ratio differs from the published ratio, with the L1 hit rate
/// of each.
fn apart(kind: Kind, apps: &[&App], ratios: &[f64], done: &[Vec<RunResult>]) -> String {
    let all = apps.iter().zip(ratios).zip(done);
    let apart = all.filter(|((app, ours), _)| app.kind == kind && (*ours - app.bypassed).abs() > Effect::RATIO.none);
    let texts = apart.map(|((app, ours), runs)| {
        let plain = &runs[0];
        let loads = of_l1s(plain, |l1| l1.hits + l1.hit_pending + l1.misses);
        let [hits, joined] = [of_l1s(plain, |l1| l1.hits), of_l1s(plain, |l1| l1.hit_pending)];
        let reads = |run: &RunResult| {
            let l2 = run.counters.totals().l2;
            l2.hits + l2.hit_pending + l2.misses
        };
        format!(
            "{} {ours:.2} ({:.0} % of the loads hit in the L1, {:.0} % hit a line in flight, and bypassing multiplies \
             the reads at the L2 by {:.2})",
            app.name,
            100.0 * ratio(hits, loads),
            100.0 * ratio(joined, loads),
            ratio(reads(&runs[1]), reads(plain))
        )
    });
    texts.collect::<Vec<_>>().join("; ")
}
