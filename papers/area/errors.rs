//! Errors of the area model for memories: estimated areas compared with areas that CACTI computed.

use ::area::{Metric, Node, Outside, RelativeErrors, Technology};
use miette::IntoDiagnostic;

use crate::FigureError;
use crate::judge::{Class, ComparisonRow};
use crate::page::{Page, comma_separated, table};

const HEAD: [&str; 6] = ["estimate", "metric", "memories", "median %", "95th percentile %", "worst %"];

/// Maximum relative errors of the estimated area: the limit for the median of all memories, and the limit for
/// their 95th percentile.
const MAX_ERRORS: (f64, f64) = (0.04, 0.12);

pub(super) fn errors() -> Result<Page, FigureError> {
    let technology = Technology::built_in().into_diagnostic()?;
    let mut rows = Vec::new();
    let mut add = |what: &str, metric: Metric, errors: &RelativeErrors| {
        let percent = |part| format!("{:.1}", 100.0 * errors.quantile(part));
        let cells = [what.to_owned(), metric.name().to_owned(), errors.count().to_string()];
        rows.push(cells.into_iter().chain([0.5, 0.95, 1.0].map(percent)).collect::<Vec<_>>());
    };
    for metric in Metric::ALL {
        add("leave-one-out, all nodes", metric, &technology.leave_one_out_errors(metric, None));
        for node in Node::ALL {
            add(
                &format!("leave-one-out, {} nm", node.nm()),
                metric,
                &technology.leave_one_out_errors(metric, Some(node)),
            );
        }
    }
    for metric in Metric::ALL {
        add("between points", metric, &technology.off_grid_errors(metric));
    }
    for (name, outside) in Outside::ALONE {
        for metric in Metric::ALL {
            let errors = technology.errors_beyond(metric, outside).into_diagnostic()?;
            add(&format!("outside: {name}"), metric, &errors);
        }
    }
    for metric in Metric::ALL {
        add("CAMs", metric, &technology.cams(metric));
    }
    let area = technology.leave_one_out_errors(Metric::Area, None);
    let holds = area.quantile(0.5) < MAX_ERRORS.0 && area.quantile(0.95) < MAX_ERRORS.1;
    let markdown = format!(
        "# Errors of the area model\n\n\
         `cargo run --release -- reproduce area/errors` writes this page and its CSV file.\n\n\
         *Leave-one-out*: each point of CACTI's grid is removed in turn and interpolated between its neighbors, which are twice as\n\
         far apart as in any other estimate. Corners of the grid have no such neighbors and are not counted. *Between points*:\n\
         memories whose sizes are not powers of two. *Outside*: memories beyond the grid in one respect, where a closed form\n\
         extrapolates. CACTI computed these two kinds only for this comparison, and no estimate uses them.\n\
         *CAMs*: estimates by the closed forms that were fitted to these same points; the read energy is the energy of a search.\n\n\
         {}\n\
         Required for area: a median below {:.0} % and a 95th percentile below {:.0} %. This requirement {}.\n",
        table(&HEAD, rows.clone(), 2),
        100.0 * MAX_ERRORS.0,
        100.0 * MAX_ERRORS.1,
        if holds { "holds" } else { "DOES NOT HOLD" },
    );
    let head = ["estimate", "metric", "memories", "median_percent", "p95_percent", "worst_percent"];
    let (median, high) = (area.quantile(0.5), area.quantile(0.95));
    let row = ComparisonRow::claim(
        Class::Factor,
        "area errors, median and 95th percentile",
        &format!("{:.1} %, {:.1} %", 100.0 * median, 100.0 * high),
        &format!("below {:.0} %, {:.0} %", 100.0 * MAX_ERRORS.0, 100.0 * MAX_ERRORS.1),
        holds,
    );
    let row = row.mark_no_evidence("the numbers are CACTI's and the bound is ours; no paper states it");
    let csv = comma_separated(&head, &rows)?;
    Ok(Page { name: "area/errors".to_owned(), markdown, csv, rows: vec![row], ..Page::default() })
}
