//! How many of the judged rows hold, by paper and class.

use std::path::Path;

use miette::{IntoDiagnostic, Report, miette};
use serde::Serialize;

use super::super::args::Format;
use super::super::output::columns;
use super::super::{Exit, output};
use papers::judge::{Class, Row};
use papers::page::rows;
use warpsieve::kernels::{name_of, sorted};

/// A paper's rows of a class.
#[derive(Serialize)]
struct Entry {
    paper: String,
    class: Class,
    passed: usize,
    rows: usize,
}

pub(super) fn summary(folder: &Path, is_quick: bool, format: Format) -> Result<Exit, Report> {
    let mut entries = Vec::new();
    for paper in sorted(folder)?.into_iter().filter(|path| path.is_dir()) {
        let paper = name_of(&paper);
        let rows = rows(folder, &paper, is_quick)?;
        entries.extend(Class::ALL.map(|class| Entry::new(&paper, class, &rows)).into_iter().filter(|e| e.rows > 0));
    }
    if entries.is_empty() {
        return Err(miette!("{}: no judged figure has been written here", folder.display()));
    }
    let text = match format {
        Format::Table => {
            let cells =
                |e: &Entry| vec![e.paper.clone(), e.class.name().to_owned(), e.passed.to_string(), e.rows.to_string()];
            columns(&["paper", "expected", "hold", "rows"], &entries.iter().map(cells).collect::<Vec<_>>())
        }
        Format::Json => serde_json::to_string_pretty(&entries).into_diagnostic()? + "\n",
    };
    output::print(&text)?;
    Ok(Exit::Done)
}

impl Entry {
    fn new(paper: &str, class: Class, rows: &[Row]) -> Self {
        let of_class = || rows.iter().filter(|row| row.class == class);
        let passed = of_class().filter(|row| row.passed).count();
        Self { paper: paper.to_owned(), class, passed, rows: of_class().count() }
    }
}
