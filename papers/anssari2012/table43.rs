//! anssari2012 Table 4.3: area, leakage and energy of the memory system's structures.

use ::area::{Published, Table43, Technology};
use miette::IntoDiagnostic;

use crate::Halt;
use crate::judge::{Class, Row};
use crate::page::{self, Page, comma_separated};

/// Figures of a row: as the page calls them, and how far CACTI's may be off the published ones.
const FIGURES: [(&str, f64); 4] = [("mm2", 0.06), ("mW", 0.10), ("pJ read", 0.10), ("pJ write", 0.10)];

pub(super) fn table43() -> Result<Page, Halt> {
    let technology = Technology::built_in().into_diagnostic()?;
    let table = technology.table43();
    let judged = |row: &&Published| !row.not_reproduced;
    let passed = |row: &&Published| FIGURES.iter().enumerate().all(|(at, (_, most))| error(row, at).abs() < *most);
    let (of, ok) = (table.rows.iter().filter(judged).count(), table.rows.iter().filter(judged).filter(passed).count());
    let mut head = vec!["structure"];
    for (figure, _) in FIGURES {
        head.extend([figure, "CACTI 6.5", "%", "grid (ratio)"]);
    }
    let rows: Vec<_> = table.rows.iter().map(|row| (row, model(&technology, table, row))).collect();
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
    let markdown = format!(
        "# {source}\n\n\
         `cargo run --release -- reproduce anssari2012/table4.3` writes this page and the CSV file beside it.\n\n\
         Area and leakage are of the whole chip at {nm} nm, energies of one access of a line. For each figure: as published; by\n\
         {setting}, with its difference in percent; and by the model that\n\
         `warpsieve area` uses, from CACTI 7.0's RAMs of least area (data, tags, and the box around both).\n\n\
         {printed}\n\
         Within 6 % in area and 10 % in the rest by CACTI 6.5: {ok} of the {of} rows of L1 and L2. That setting is the best of several\n\
         hundred, a description of the fit and no proof of what the authors used. The rows of the sharing tracker are given as they\n\
         come: no setting of CACTI was found that gives their energies, or two trackers smaller than one of twice their size.\n\n\
         The grid's model is for the objective of least area, so it is smaller than the published caches: what CACTI is asked for\n\
         matters more than how its points are interpolated; its ratio to the published figure stands beside it. Differences between designs, all by one setting, are what it is for.\n\n\
         Other energies of the table: {dram_pj_per_access} pJ for {dram_bytes_per_access} bytes of GDDR5, {interconnect_pj_per_byte_mm} pJ a byte and millimetre of interconnect.\n",
        nm = node.nm(),
    );
    let mut lines = Vec::new();
    for (row, model) in &rows {
        for (at, (figure, _)) in FIGURES.iter().enumerate() {
            let model = model[at].map_or(String::new(), |value| format!("{value:.4}"));
            let (published, cacti) = (row.published[at].to_string(), row.cacti[at].to_string());
            lines.push(vec![row.name.clone(), (*figure).to_owned(), published, cacti, model]);
        }
    }
    let csv = comma_separated(&["structure", "figure", "published", "cacti_6_5", "grid"], &lines)?;
    let row =
        Row::claim(Class::Exact, "rows of L1 and L2 that CACTI 6.5 gives", &ok.to_string(), &of.to_string(), ok == of);
    Ok(Page { name: "anssari2012/table4.3".to_owned(), markdown, csv, rows: vec![row], ..Page::default() })
}

fn error(row: &Published, at: usize) -> f64 {
    row.cacti[at] / row.published[at] - 1.0
}

/// The figures by the grid of CACTI 7.0.
fn model(technology: &Technology, table: &Table43, row: &Published) -> [Option<f64>; 4] {
    let one = technology.cache(table.node, &table.cache(row));
    let all = one.times(f64::from(row.copies));
    [Some(all.um2 / 1e6), Some(all.leakage_mw), all.read_pj, all.write_pj]
}
