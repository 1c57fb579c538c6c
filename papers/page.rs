//! # Results pages
//! Output of a figure below `docs/results`: the Markdown page, its numbers as CSV, its charts, and the
//! comparisons with a paper that summaries count. Each file is written atomically.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use comfy_table::{CellAlignment, Table, presets};
use miette::{Context, IntoDiagnostic, Report};
use waves::atomic_file::AtomicFile;

use super::chart::Chart;
use super::judge::{ComparisonRow, Tally};
use super::picture::{Picture, Width};
use super::scatter::Scatter;

/// Complete output of a figure, ready to be written.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Path of the figure's files below the results folder, without file name extensions, such as
    /// `li2015/fig8`.
    pub name: String,
    /// Text of the page, in Markdown.
    pub markdown: String,
    /// Numbers of the page, in CSV.
    pub csv: String,
    /// Charts of the page, each with a suffix for its file name. The suffix may be empty.
    pub charts: Vec<(String, Drawing)>,
    /// Comparisons of our findings with published findings; empty if no paper states comparable findings.
    pub rows: Vec<ComparisonRow>,
}

/// Drawing of one of the supported types.
#[derive(Clone, Debug, PartialEq)]
pub enum Drawing {
    /// Bar chart or line chart over groups.
    Chart(Chart),
    /// Scatter plot of two metrics.
    Scatter(Scatter),
}

impl Drawing {
    /// Returns the drawing as SVG, with its title and in its natural width.
    #[must_use]
    pub fn svg(&self) -> String {
        match self {
            Self::Chart(chart) => chart.svg(),
            Self::Scatter(scatter) => scatter.svg(),
        }
    }

    /// Returns the drawing for a printed paper. It has no title, because it is printed with a caption.
    #[must_use]
    pub fn for_print(&self, width: Width) -> Picture {
        match self.clone() {
            Self::Chart(chart) => Chart { title: String::new(), ..chart }.picture(width),
            Self::Scatter(scatter) => Scatter { title: String::new(), ..scatter }.picture(width),
        }
    }

    fn title(&self) -> &str {
        match self {
            Self::Chart(chart) => &chart.title,
            Self::Scatter(scatter) => &scatter.title,
        }
    }
}

/// File name extension of the files that store comparisons with papers.
const ROWS: &str = "rows.csv";

impl Page {
    /// Returns the path of a figure's files below the results folder, without file name extension. In quick
    /// mode (small problem sizes), the files have other names.
    #[must_use]
    pub fn name(figure: &str, is_quick: bool) -> String {
        if is_quick { format!("{figure}-quick") } else { figure.to_owned() }
    }

    /// Creates a page that begins with its title and the command that reproduces it.
    #[must_use]
    pub fn new(figure: &str, is_quick: bool, title: &str) -> Self {
        let option = if is_quick { " --quick" } else { "" };
        let markdown = format!(
            "# {title}\n\n`cargo run --release -- reproduce {figure}{option}` writes this page and its data files.\n"
        );
        Self { name: Self::name(figure, is_quick), markdown, ..Self::default() }
    }

    /// Creates a page that begins with a description of the measurement and the comparisons with the paper.
    #[must_use]
    pub fn with_comparison(figure: &str, is_quick: bool, title: &str, about: &str, rows: Vec<ComparisonRow>) -> Self {
        let mut page = Self::new(figure, is_quick, title);
        page.text(about);
        page.add_rows(rows);
        page
    }

    /// Adds a paragraph to the page.
    pub fn text(&mut self, text: &str) {
        self.markdown.push('\n');
        self.markdown.push_str(text.trim_end());
        self.markdown.push('\n');
    }

    /// Adds a table to the page. The columns from index `first` on contain numbers and are right-aligned.
    pub fn table(&mut self, head: &[&str], rows: Vec<Vec<String>>, first: usize) {
        self.text(&table(head, rows, first));
    }

    /// Adds a table to the page, and stores the same table as the CSV of the page. The columns from index
    /// `first` on contain numbers.
    ///
    /// # Errors
    /// Returns an error if a row has a different number of cells than `head`.
    pub fn numbers(&mut self, head: &[&str], cells: Vec<Vec<String>>, first: usize) -> Result<(), Report> {
        self.csv = comma_separated(head, &cells)?;
        self.table(head, cells, first);
        Ok(())
    }

    /// Adds a table of the comparisons, with the result of each, and the explanations below the table.
    pub fn add_rows(&mut self, rows: Vec<ComparisonRow>) {
        let Tally { passed, rows: all, no_evidence } = Tally::of(&rows);
        let others = match no_evidence {
            0 => String::new(),
            others => format!(" Not counted as evidence: {others}."),
        };
        self.text(&format!("## Comparison with the paper\n{passed} of {all} rows hold.{others}"));
        let verdict = |row: &ComparisonRow| match (row.is_evidence, row.passed) {
            (false, _) => "no evidence",
            (true, true) => "holds",
            (true, false) => "**does not hold**",
        };
        let verdict = |row: &ComparisonRow| verdict(row).to_owned();
        let cells = rows.iter().map(|row| {
            vec![row.what.clone(), row.ours.clone(), row.published.clone(), row.class.name().to_owned(), verdict(row)]
        });
        self.table(&["what", "ours", "published", "expected", ""], cells.collect(), 5);
        let reasons = rows.iter().filter(|row| !row.why.is_empty());
        let reasons: Vec<_> = reasons.map(|row| format!("- {}: {}", row.what, row.why)).collect();
        if !reasons.is_empty() {
            self.text(&reasons.join("\n"));
        }
        self.rows.extend(rows);
    }

    /// Adds a bar or line chart to the page. `suffix` distinguishes the files of several charts on the same
    /// page.
    pub fn chart(&mut self, suffix: &str, chart: &Chart) {
        self.drawing(suffix, Drawing::Chart(chart.clone()));
    }

    /// Adds a drawing of any supported type to the page. `suffix` distinguishes the files of several drawings
    /// on the same page.
    pub fn drawing(&mut self, suffix: &str, drawing: Drawing) {
        let file = self.name.rsplit('/').next().unwrap_or_default().to_owned();
        self.text(&format!("![{}]({file}{suffix}.svg)", drawing.title()));
        self.charts.push((suffix.to_owned(), drawing));
    }

    /// Writes all files of the page below `folder`, and returns their paths. If `printed` gives a width,
    /// writes each chart also as a PDF of that width.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub fn write(&self, folder: &Path, printed: Option<Width>) -> Result<Vec<PathBuf>, Report> {
        let mut files = vec![(format!("{}.md", self.name), self.markdown.clone().into_bytes())];
        files.push((format!("{}.csv", self.name), self.csv.clone().into_bytes()));
        for (suffix, drawing) in &self.charts {
            let name = format!("{}{suffix}", self.name);
            files.push((format!("{name}.svg"), drawing.svg().into_bytes()));
            files.extend(printed.map(|width| (format!("{name}.pdf"), drawing.for_print(width).pdf())));
        }
        if !self.rows.is_empty() {
            files.push((format!("{}.{ROWS}", self.name), rows_as_csv(&self.rows)?.into_bytes()));
        }
        let written = files.into_iter().map(|(name, content)| {
            let path = folder.join(name);
            write(&path, &content)?;
            Ok(path)
        });
        written.collect()
    }
}

fn write(path: &Path, content: &[u8]) -> Result<(), Report> {
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).into_diagnostic().wrap_err_with(|| format!("folder {}", folder.display()))?;
    let written = AtomicFile::create(path).and_then(|mut file| {
        file.write_all(content)?;
        file.commit()
    });
    written.map(drop).into_diagnostic().wrap_err("a figure cannot be written")
}

fn rows_as_csv(rows: &[ComparisonRow]) -> Result<String, Report> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).into_diagnostic()?;
    }
    String::from_utf8(writer.into_inner().into_diagnostic()?).into_diagnostic()
}

/// Reads the comparisons of all figures of a paper from a results folder. If `is_quick` is true, reads the
/// comparisons of quick mode (small problem sizes), otherwise those of the full problem sizes.
///
/// # Errors
/// Returns an error if a file cannot be read.
pub fn rows(folder: &Path, paper: &str, is_quick: bool) -> Result<Vec<ComparisonRow>, Report> {
    let folder = folder.join(paper);
    let context = || format!("folder {} cannot be read", folder.display());
    let entries = fs::read_dir(&folder).into_diagnostic().wrap_err_with(context)?;
    let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    if let Ok(paths) = &mut paths {
        paths.sort_unstable();
    }
    let mut found = Vec::new();
    for path in paths.into_diagnostic().wrap_err_with(context)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(figure) = name.strip_suffix(&format!(".{ROWS}")) else { continue };
        if figure.ends_with("-quick") == is_quick {
            let context = || format!("{} cannot be read", path.display());
            let read = csv::Reader::from_path(&path).and_then(|mut reader| reader.deserialize().collect());
            let rows: Vec<ComparisonRow> = read.into_diagnostic().wrap_err_with(context)?;
            found.extend(rows);
        }
    }
    Ok(found)
}

/// Formats a Markdown table. The columns from index `first` on contain numbers and are right-aligned.
#[must_use]
pub fn table(head: &[&str], rows: Vec<Vec<String>>, first: usize) -> String {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(head.to_vec()).add_rows(rows);
    table.column_iter_mut().skip(first).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    format!("{table}\n")
}

/// Formats a table as comma-separated values (CSV).
///
/// # Errors
/// Returns an error if a row has a different number of cells than `head`.
pub fn comma_separated(head: &[&str], rows: &[Vec<String>]) -> Result<String, Report> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(head).into_diagnostic()?;
    for row in rows {
        writer.write_record(row).into_diagnostic()?;
    }
    String::from_utf8(writer.into_inner().into_diagnostic()?).into_diagnostic()
}

#[cfg(test)]
mod tests {
    use super::super::judge::Class;
    use super::*;

    #[test]
    fn the_rows_of_a_paper_are_found_again_by_size() {
        let folder = tempfile::tempdir().unwrap();
        let row = |what| ComparisonRow::claim(Class::Sign, what, "1, \"2\"", "3", true).with_reason("so");
        for (figure, is_quick) in [("p/fig1", false), ("p/fig2", false), ("p/fig2", true)] {
            let mut page = Page::new(figure, is_quick, "Title");
            page.add_rows(vec![row(figure)]);
            assert_eq!(page.write(folder.path(), None).unwrap().len(), 3);
        }
        assert_eq!(rows(folder.path(), "p", false).unwrap(), [row("p/fig1"), row("p/fig2")]);
        assert_eq!(rows(folder.path(), "p", true).unwrap(), [row("p/fig2")]);
    }

    #[test]
    fn what_is_no_evidence_is_shown_and_not_counted() {
        let row = |what, passed| ComparisonRow::claim(Class::Sign, what, "1", "3", passed);
        let mut page = Page::new("p/fig1", false, "Title");
        page.add_rows(vec![row("a", true), row("b", false), row("c", true).mark_no_evidence("it repeats a")]);
        assert!(page.markdown.contains("1 of 2 rows hold. Not counted as evidence: 1."), "{}", page.markdown);
        assert!(page.markdown.contains("| no evidence ") && page.markdown.contains("- c: it repeats a"));
        let folder = tempfile::tempdir().unwrap();
        page.write(folder.path(), None).unwrap();
        assert_eq!(rows(folder.path(), "p", false).unwrap(), page.rows);
    }

    #[test]
    fn a_chart_stands_beside_its_page() {
        let folder = tempfile::tempdir().unwrap();
        let mut page = Page::new("p/fig1", true, "Title");
        page.chart("-b", &Chart { title: "Hits".to_owned(), ..Chart::default() });
        page.write(folder.path(), None).unwrap();
        assert!(page.markdown.contains("![Hits](fig1-quick-b.svg)"), "{}", page.markdown);
        let [svg, pdf] = ["svg", "pdf"].map(|ending| folder.path().join(format!("p/fig1-quick-b.{ending}")));
        assert!(svg.is_file() && !pdf.exists());
        page.write(folder.path(), Some(Width::Single)).unwrap();
        assert!(fs::read(&pdf).unwrap().starts_with(b"%PDF-"));
        // A printed chart has no title, because a caption replaces it.
        assert!(page.charts[0].1.svg().contains("\nHits\n"));
        assert!(!page.charts[0].1.for_print(Width::Single).svg().contains("\nHits\n"));
    }
}
