//! anssari2012 Table 4.3: area, leakage and access energy of the memory system's structures.

use ::area::{PublishedCache, Table43, Technology};
use miette::IntoDiagnostic;

use crate::FigureError;
use crate::judge::{Class, ComparisonRow, number};
use crate::page::{self, Page, comma_separated};

/// Quantities that are compared for each structure, each with the maximum relative error at which the value
/// from CACTI 6.5 is regarded as equal to the published one.
const FIGURES: [(&str, f64); 4] = [("mm2", 0.06), ("mW", 0.10), ("pJ read", 0.10), ("pJ write", 0.10)];
/// Kinds of structures. For each: its name on the results page, and a text by which its rows in Table 4.3 are
/// found, because their names contain it.
const KINDS: [(&str, &str); 3] = [("sharing trackers", "sharing tracker"), ("L1s", " L1 of "), ("L2s", "L2 of ")];
/// Our value is regarded as reproduced if its ratio to the published value is in this range.
const FACTOR: std::ops::RangeInclusive<f64> = 0.5..=2.0;

/// Structure with its published values, and with the values of our model.
type ModeledStructure<'a> = (&'a PublishedCache, [Option<f64>; FIGURES.len()]);

pub(super) fn table43() -> Result<Page, FigureError> {
    let technology = Technology::built_in().into_diagnostic()?;
    let table = technology.table43();
    let judged = |row: &&PublishedCache| !row.not_reproduced;
    let passed = |row: &&PublishedCache| FIGURES.iter().enumerate().all(|(at, (_, most))| error(row, at).abs() < *most);
    let (of, ok) = (table.rows.iter().filter(judged).count(), table.rows.iter().filter(judged).filter(passed).count());
    let mut head = vec!["structure"];
    for (figure, _) in FIGURES {
        head.extend([figure, "CACTI 6.5", "%", "grid (ratio)"]);
    }
    let rows: Vec<ModeledStructure<'_>> = table.rows.iter().map(|row| (row, model(technology, table, row))).collect();
    let cells = rows.iter().map(|(row, model)| {
        let mut cells = vec![row.name.clone()];
        for (at, ours) in model.iter().enumerate() {
            let ratio = |value: f64| format!("{value:.3} ({:.2})", value / row.published[at]);
            cells.extend([row.published[at].to_string(), row.cacti[at].to_string()]);
            cells.push(format!("{:+.1}", 100.0 * error(row, at)));
            cells.push(ours.map_or("-".to_owned(), ratio));
        }
        cells
    });
    let printed = page::table(&head, cells.collect(), 1);
    let Table43 {
        source, node, setting, dram_pj_per_access, dram_bytes_per_access, interconnect_pj_per_byte_mm, ..
    } = table;
    let mut page = Page::new("anssari2012/table4.3", false, source);
    page.text(&format!(
        "Area and leakage are those of the whole chip at {nm} nm, and energies are those of one access to a line. For\n\
         each value, the table shows the published one, the one of\n\
         {setting}\n\
         with its difference in percent, and the one of the model that `warpsieve area` uses (*grid*). The model\n\
         takes the RAMs of minimum area from CACTI 7.0 (data, tags, and the bounding box of both).\n\n\
         Only the model is judged. It was made without these values, and each should be half to twice the published\n\
         one. The values of CACTI 6.5 are no evidence, because that setting is the best of several hundred for the\n\
         rows of L1 and L2.",
        nm = node.nm(),
    ));
    let mut held: Vec<_> =
        KINDS.iter().flat_map(|kind| (0..FIGURES.len()).map(|figure| row(&rows, *kind, figure))).collect();
    held.push(
        ComparisonRow::claim(
            Class::Exact,
            "rows of L1 and L2 that CACTI 6.5 reproduces",
            &ok.to_string(),
            &of.to_string(),
            ok == of,
        )
        .mark_no_evidence("the setting was chosen for these rows"),
    );
    page.add_rows(held);
    page.text(&format!(
        "{printed}\n\
         CACTI 6.5 reproduces {ok} of the {of} rows of L1 and L2 within 6 % in area and 10 % in the other values.\n\
         This describes the fit and does not prove which setting the authors used. The rows of the sharing trackers\n\
         are not fitted: we found no setting of CACTI that gives their energies, or two trackers that are smaller\n\
         than one of twice their size.\n\n\
         The grid is made for minimum area, so its caches are smaller than the published ones: the objective given to\n\
         CACTI matters more than the interpolation between its points. The ratio to the published value is in\n\
         parentheses. The grid is meant for differences between designs, all with one setting.\n\n\
         Other energies of the table: {dram_pj_per_access} pJ for {dram_bytes_per_access} bytes of GDDR5, and\n\
         {interconnect_pj_per_byte_mm} pJ per byte and millimeter of interconnect."
    ));
    let mut lines = Vec::new();
    for (row, model) in &rows {
        for (at, (figure, _)) in FIGURES.iter().enumerate() {
            let model = model[at].map_or(String::new(), |value| format!("{value:.4}"));
            let (published, cacti) = (row.published[at].to_string(), row.cacti[at].to_string());
            lines.push(vec![row.name.clone(), (*figure).to_owned(), published, cacti, model]);
        }
    }
    page.csv = comma_separated(&["structure", "figure", "published", "cacti_6_5", "grid"], &lines)?;
    Ok(page)
}

/// Compares one quantity of our model with the published values, for all structures of a kind.
fn row(rows: &[ModeledStructure<'_>], (kind, part): (&str, &str), at: usize) -> ComparisonRow {
    let of_kind: Vec<_> = rows.iter().filter(|(row, _)| row.name.contains(part)).collect();
    let joined = |number: &dyn Fn(&ModeledStructure<'_>) -> String| {
        of_kind.iter().map(|one| number(one)).collect::<Vec<_>>().join(", ")
    };
    let ratio = |(row, model): &ModeledStructure<'_>| model[at].map(|value| value / row.published[at]);
    let ours = joined(&|(_, model)| model[at].map_or("none".to_owned(), number));
    let published = joined(&|(row, _)| number(row.published[at]));
    let passed = of_kind.iter().all(|one| ratio(one).is_some_and(|ratio| FACTOR.contains(&ratio)));
    let row = ComparisonRow::claim(Class::Factor, &format!("{kind}: {}", FIGURES[at].0), &ours, &published, passed);
    row.explain_failure(|| {
        let times = joined(&|one| ratio(one).map_or("none".to_owned(), |ratio| format!("{ratio:.2}")));
        let cacti = joined(&|(row, _)| format!("{:.2}", row.cacti[at] / row.published[at]));
        format!(
            "{times} times the published values; CACTI 6.5 with the setting that reproduces L1s and \
             L2s gives {cacti} times"
        )
    })
}

fn error(row: &PublishedCache, at: usize) -> f64 {
    row.cacti[at] / row.published[at] - 1.0
}

/// Computes the quantities of a structure by interpolation between memories whose quantities CACTI 7.0
/// computed.
fn model(technology: &Technology, table: &Table43, row: &PublishedCache) -> [Option<f64>; 4] {
    let one = technology.cache(table.node, &table.cache(row));
    let all = one.times(f64::from(row.copies));
    [Some(all.um2 / 1e6), Some(all.leakage_mw), all.read_pj, all.write_pj]
}
