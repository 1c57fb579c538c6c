//! `warpsieve reproduce`: measures what a paper shows and writes it down beside the paper's own figures.

mod anssari2012;
mod errors;
mod suite;
mod table43;
mod xie2013;

use std::fs;
use std::io::Write;
use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};
use miette::{Context, IntoDiagnostic, Report};
use waves::part_file::PartFile;

use super::args::{Figure, ReproduceArguments};
use super::compare::worse;
use super::list::kernels_folder;
use super::{Exit, crash, output};

/// A figure, ready to be written.
struct Page {
    /// Of its files, without their endings.
    name: String,
    markdown: String,
    csv: String,
    exit: Exit,
}

pub(super) fn reproduce(arguments: &ReproduceArguments) -> Result<Exit, Report> {
    let kernels = kernels_folder()?;
    let folder = arguments.output.clone().unwrap_or_else(|| kernels.with_file_name("docs").join("results"));
    fs::create_dir_all(&folder).into_diagnostic().wrap_err_with(|| format!("folder {}", folder.display()))?;
    let asked = &arguments.figures;
    let mut exit = Exit::Done;
    for (figure, draw) in FIGURES {
        if !asked.is_empty() && !asked.contains(&Figure::All) && !asked.contains(&figure) {
            continue;
        }
        let page = match crash::caught(|| draw(arguments, &kernels)) {
            Ok(page) => page?,
            Err(internal) => {
                output::complain(&internal);
                exit = Exit::CheckFailed;
                continue;
            }
        };
        exit = worse(exit, page.exit);
        for (end, text) in [("md", &page.markdown), ("csv", &page.csv)] {
            // A name may have a dot of its own.
            let path = folder.join(format!("{}.{end}", page.name));
            write(&path, text)?;
            output::print(&format!("wrote {}\n", path.display()))?;
        }
    }
    Ok(exit)
}

type Draw = fn(&ReproduceArguments, &Path) -> Result<Page, Report>;

/// Each figure and what draws it, given the folder of the kernels.
const FIGURES: [(Figure, Draw); 7] = [
    (Figure::Suite, suite::suite),
    (Figure::Xie2013Fig2, xie2013::fig2),
    (Figure::Xie2013Fig4, xie2013::fig4),
    (Figure::Xie2013Listings, xie2013::listings),
    (Figure::AnssariTable43, |_, _| table43::table43()),
    (Figure::AnssariFig4, anssari2012::fig4),
    (Figure::AreaErrors, |_, _| errors::errors()),
];

fn write(path: &Path, text: &str) -> Result<(), Report> {
    let written = PartFile::create(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.keep()
    });
    written.map(drop).into_diagnostic().wrap_err("a figure cannot be written")
}

/// A Markdown table whose columns from `first` on are numbers.
fn table(head: &[&str], rows: Vec<Vec<String>>, first: usize) -> String {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(head.to_vec()).add_rows(rows);
    table.column_iter_mut().skip(first).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    format!("{table}\n")
}

/// The same as comma-separated values.
fn comma_separated(head: &[&str], rows: &[Vec<String>]) -> Result<String, Report> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(head).into_diagnostic()?;
    for row in rows {
        writer.write_record(row).into_diagnostic()?;
    }
    String::from_utf8(writer.into_inner().into_diagnostic()?).into_diagnostic()
}
