//! Errors of the area model, relative to memories that CACTI computed.

use ::area::{Metric, Node, RelativeErrors, Technology};
use miette::IntoDiagnostic;

use crate::FigureError;
use crate::judge::{Class, ComparisonRow};
use crate::page::{Page, comma_separated, table};

const HEAD: [&str; 6] = ["what", "figure", "memories", "median %", "95th percentile %", "worst %"];

/// Upper bounds for the relative area error: median and 95th percentile.
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
        add("left out, all nodes", metric, &technology.leave_one_out_errors(metric, None));
        for node in Node::ALL {
            add(&format!("left out, {} nm", node.nm()), metric, &technology.leave_one_out_errors(metric, Some(node)));
        }
    }
    for metric in Metric::ALL {
        add("between points", metric, &technology.off_grid_errors(metric));
    }
    for metric in Metric::ALL {
        add("CAMs", metric, &technology.cams(metric));
    }
    let area = technology.leave_one_out_errors(Metric::Area, None);
    let holds = area.quantile(0.5) < MAX_ERRORS.0 && area.quantile(0.95) < MAX_ERRORS.1;
    let markdown = format!(
        "# Errors of the area model\n\n\
         `cargo run --release -- reproduce area/errors` writes this page and its CSV file.\n\n\
         *Left out*: every point of CACTI's grid is taken out in turn and estimated from the points beside it, which are twice as\n\
         far from it as those of any estimate; corners of the grid have none and are not counted. *Between points*: memories that\n\
         are no powers of two, which CACTI computed for this and no estimate uses. *CAMs*: by the forms fitted to these very\n\
         points; their read energy is that of a search.\n\n\
         {}\n\
         Asked for area: below {:.0} % in the median and {:.0} % in the 95th percentile, which {}.\n",
        table(&HEAD, rows.clone(), 2),
        100.0 * MAX_ERRORS.0,
        100.0 * MAX_ERRORS.1,
        if holds { "holds" } else { "DOES NOT HOLD" },
    );
    let head = ["what", "figure", "memories", "median_percent", "p95_percent", "worst_percent"];
    let (median, high) = (area.quantile(0.5), area.quantile(0.95));
    let row = ComparisonRow::claim(
        Class::Factor,
        "area errors, median and 95th percentile",
        &format!("{:.1} %, {:.1} %", 100.0 * median, 100.0 * high),
        &format!("below {:.0} %, {:.0} %", 100.0 * MAX_ERRORS.0, 100.0 * MAX_ERRORS.1),
        holds,
    );
    let row = row.mark_no_evidence("CACTI's numbers and a bound of ours: no paper states it");
    let csv = comma_separated(&head, &rows)?;
    Ok(Page { name: "area/errors".to_owned(), markdown, csv, rows: vec![row], ..Page::default() })
}
