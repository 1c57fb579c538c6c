//! Counts the comparisons with the papers that hold, by paper and by class (how closely our number must
//! match).

use std::path::Path;

use miette::{IntoDiagnostic, Report, miette};
use serde::Serialize;

use super::super::args::Format;
use super::super::output::columns;
use super::super::{Exit, output};
use papers::judge::{Class, ComparisonRow};
use papers::page::rows;
use warpsieve::kernels::{list_folder, name_of};

/// Comparisons with one paper that have the same class.
#[derive(Serialize)]
struct Entry {
    paper: String,
    class: Class,
    passed: usize,
    rows: usize,
    /// Number of further comparisons that cannot fail. They are no evidence, and `rows` does not count them.
    no_evidence: usize,
}

pub(super) fn summary(folder: &Path, is_quick: bool, format: Format) -> Result<Exit, Report> {
    let mut entries = Vec::new();
    for paper in list_folder(folder)?.into_iter().filter(|path| path.is_dir()) {
        let paper = name_of(&paper);
        let rows = rows(folder, &paper, is_quick)?;
        entries.extend(
            Class::ALL.map(|class| Entry::new(&paper, class, &rows)).into_iter().filter(|e| e.rows + e.no_evidence > 0),
        );
    }
    if entries.is_empty() {
        return Err(miette!("{}: this folder has no rated figures", folder.display()));
    }
    let text = match format {
        Format::Table => {
            let cells = |e: &Entry| {
                let [hold, rows, others] = [e.passed, e.rows, e.no_evidence].map(|count| count.to_string());
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
        let of_class =
            |is_evidence| rows.iter().filter(move |row| row.class == class && row.is_evidence == is_evidence);
        let passed = of_class(true).filter(|row| row.passed).count();
        let (rows, no_evidence) = (of_class(true).count(), of_class(false).count());
        Self { paper: paper.to_owned(), class, passed, rows, no_evidence }
    }
}
