//! Counts how many comparisons with the papers succeed, by paper and by class. The class states how closely
//! our number must match the published one.

use std::path::Path;

use miette::{IntoDiagnostic, Report, miette};
use serde::Serialize;

use super::super::args::Format;
use super::super::output::columns;
use super::super::{Exit, output};
use papers::judge::{Class, ComparisonRow, Tally};
use papers::page::rows;
use warpsieve::kernels::{list_folder, name_of};

/// Comparisons with one paper that have the same class.
#[derive(Serialize)]
struct Entry {
    paper: String,
    class: Class,
    #[serde(flatten)]
    counts: Tally,
}

pub(super) fn summary(folder: &Path, is_quick: bool, format: Format) -> Result<Exit, Report> {
    let mut entries = Vec::new();
    for paper in list_folder(folder)?.into_iter().filter(|path| path.is_dir()) {
        let paper = name_of(&paper);
        let rows = rows(folder, &paper, is_quick)?;
        entries.extend(
            Class::ALL
                .map(|class| Entry::new(&paper, class, &rows))
                .into_iter()
                .filter(|e| e.counts != Tally::default()),
        );
    }
    if entries.is_empty() {
        return Err(miette!("{}: this folder has no rated figures", folder.display()));
    }
    let text = match format {
        Format::Table => {
            let cells = |e: &Entry| {
                let Tally { passed, rows, no_evidence } = e.counts;
                let [hold, rows, others] = [passed, rows, no_evidence].map(|count| count.to_string());
                vec![e.paper.clone(), e.class.name().to_owned(), hold, rows, others]
            };
            columns(
                &["paper", "expected", "hold", "rows", "no evidence"],
                &entries.iter().map(cells).collect::<Vec<_>>(),
            )
        }
        Format::Json => serde_json::to_string_pretty(&entries).into_diagnostic()? + "\n",
    };
    output::print(&text)?;
    Ok(Exit::Done)
}

impl Entry {
    fn new(paper: &str, class: Class, rows: &[ComparisonRow]) -> Self {
        let counts = Tally::of(rows.iter().filter(|row| row.class == class));
        Self { paper: paper.to_owned(), class, counts }
    }
}
