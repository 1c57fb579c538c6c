//! `warpsieve reproduce`: measures what a paper shows and writes it down beside the paper's own figures.

mod suite;

use std::fs;
use std::io::Write;
use std::path::Path;

use miette::{Context, IntoDiagnostic, Report};
use waves::part_file::PartFile;

use super::args::{Figure, ReproduceArguments};
use super::compare::worse;
use super::list::kernels_folder;
use super::{Exit, output};

/// A figure, ready to be written.
struct Page {
    name: String,
    markdown: String,
    csv: String,
    exit: Exit,
}

pub(super) fn reproduce(arguments: &ReproduceArguments) -> Result<Exit, Report> {
    let kernels = kernels_folder()?;
    let folder = arguments.output.clone().unwrap_or_else(|| kernels.with_file_name("docs").join("results"));
    fs::create_dir_all(&folder).into_diagnostic().wrap_err_with(|| format!("folder {}", folder.display()))?;
    let wanted = |figure| {
        let figures = &arguments.figures;
        figures.is_empty() || figures.contains(&Figure::All) || figures.contains(&figure)
    };
    let mut exit = Exit::Done;
    if wanted(Figure::Suite) {
        let page = suite::suite(arguments, &kernels)?;
        exit = worse(exit, page.exit);
        for (end, text) in [("md", &page.markdown), ("csv", &page.csv)] {
            let path = folder.join(&page.name).with_extension(end);
            write(&path, text)?;
            output::print(&format!("wrote {}\n", path.display()))?;
        }
    }
    Ok(exit)
}

fn write(path: &Path, text: &str) -> Result<(), Report> {
    let written = PartFile::create(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.keep()
    });
    written.map(drop).into_diagnostic().wrap_err("a figure cannot be written")
}
