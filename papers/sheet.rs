//! # Sheets
//! A number for each application and machine, or whatever else a page compares: the table, the CSV and the charts of
//! most pages.

use std::iter::once;

use miette::Report;

use crate::chart::{Chart, Form, Series};
use crate::page::Page;

/// Rows with names, and columns of numbers.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Heads of the texts that rows begin with.
    heads: Vec<String>,
    texts: Vec<Vec<String>>,
    columns: Vec<Column>,
    /// Rows below the others, with a number for each column.
    below: Vec<(Vec<String>, Vec<f64>)>,
}

#[derive(Clone, Debug)]
struct Column {
    name: String,
    /// Places after the point.
    places: usize,
    values: Vec<f64>,
}

impl Column {
    fn shown(&self, value: f64) -> String {
        format!("{value:.*}", self.places)
    }
}

fn owned<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).into()
}

impl Sheet {
    /// A sheet whose rows begin with texts, the first of which is their name in charts.
    #[must_use]
    pub fn new<'a, const N: usize>(heads: [&str; N], rows: impl IntoIterator<Item = [&'a str; N]>) -> Self {
        let texts = rows.into_iter().map(owned).collect();
        Self { heads: owned(heads), texts, columns: Vec::new(), below: Vec::new() }
    }

    /// Adds columns with a number for each row, shown with so many places after the point.
    #[must_use]
    pub fn columns(mut self, places: usize, columns: impl IntoIterator<Item = (impl Into<String>, Vec<f64>)>) -> Self {
        let column = |(name, values): (_, Vec<f64>)| Column { name: Into::into(name), places, values };
        self.columns.extend(columns.into_iter().map(column));
        self
    }

    /// Adds a row below the others: what is made of each column that there is by now.
    #[must_use]
    pub fn below<const N: usize>(mut self, texts: [&str; N], of: impl Fn(&[f64]) -> f64) -> Self {
        let numbers = self.columns.iter().map(|column| of(&column.values)).collect();
        self.below.push((owned(texts), numbers));
        self
    }

    /// The table below a heading, and the same as the numbers of the page.
    ///
    /// # Errors
    /// If a row has not as many cells as the head.
    pub fn table(&self, page: &mut Page, heading: &str) -> Result<(), Report> {
        page.text(heading);
        let head: Vec<&str> =
            self.heads.iter().chain(self.columns.iter().map(|column| &column.name)).map(String::as_str).collect();
        let row = |(at, texts): (usize, &Vec<String>)| {
            let numbers = self.columns.iter().map(|column| column.shown(column.values[at]));
            texts.iter().cloned().chain(numbers).collect()
        };
        let last = |(texts, numbers): &(Vec<String>, Vec<f64>)| {
            let numbers = self.columns.iter().zip(numbers).map(|(column, number)| column.shown(*number));
            texts.iter().cloned().chain(numbers).collect()
        };
        let rows = self.texts.iter().enumerate().map(row).chain(self.below.iter().map(last));
        page.numbers(&head, rows.collect(), self.heads.len())
    }

    /// A chart with a group for each row and a series for each of some columns.
    pub fn chart(&self, page: &mut Page, suffix: &str, chart: Chart, of: impl IntoIterator<Item = usize>) {
        let columns = of.into_iter().map(|at| &self.columns[at]);
        let series = columns.map(|column| Series::new(&column.name, column.values.iter().copied()));
        page.chart(suffix, &Chart { groups: self.names(), series: series.collect(), ..chart });
    }

    /// A chart of lines, with a group for each column and a series for each row.
    pub fn lines(&self, page: &mut Page, chart: Chart) {
        let series = self
            .names()
            .into_iter()
            .enumerate()
            .map(|(at, name)| Series::new(&name, self.columns.iter().map(|column| column.values[at])));
        let groups = self.columns.iter().map(|column| column.name.clone());
        page.chart("", &Chart { groups: groups.collect(), series: series.collect(), form: Form::Lines, ..chart });
    }

    /// All columns.
    #[must_use]
    pub fn all(&self) -> std::ops::Range<usize> {
        0..self.columns.len()
    }

    fn names(&self) -> Vec<String> {
        self.texts.iter().filter_map(|texts| texts.first().cloned()).collect()
    }
}

/// A row of a table: a name, and what follows it.
pub fn row(name: &str, cells: impl IntoIterator<Item = String>) -> Vec<String> {
    once(name.to_owned()).chain(cells).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet() -> Sheet {
        let sheet = Sheet::new(["app", "class"], [["vadd", "streaming"], ["syrk", "conflict"]]);
        let sheet = sheet.columns(1, [("a", vec![1.0, 2.0])]).columns(2, [("b", vec![3.0, 5.0])]);
        sheet.below(["mean", ""], |values| values.iter().sum::<f64>() / values.len() as f64)
    }

    #[test]
    fn a_row_has_its_texts_then_its_numbers_and_what_is_below_comes_last() {
        let mut page = Page::default();
        sheet().table(&mut page, "## Numbers").unwrap();
        assert_eq!(page.csv, "app,class,a,b\nvadd,streaming,1.0,3.00\nsyrk,conflict,2.0,5.00\nmean,,1.5,4.00\n");
        assert!(page.markdown.starts_with("\n## Numbers\n\n| app "), "{}", page.markdown);
    }

    #[test]
    fn a_chart_has_a_series_for_each_column_asked_for_or_a_line_for_each_row() {
        let mut page = Page::default();
        sheet().chart(&mut page, "-b", Chart::new("One", "times"), [1]);
        sheet().lines(&mut page, Chart::new("Lines", "times"));
        let of = |series: &[(&str, [f64; 2])]| series.iter().map(|(name, values)| Series::new(name, *values)).collect();
        let drawn = |groups: [&str; 2], series, chart: Chart| Chart { groups: owned(groups), series, ..chart }.svg();
        let bars = drawn(["vadd", "syrk"], of(&[("b", [3.0, 5.0])]), Chart::new("One", "times"));
        let rows = of(&[("vadd", [1.0, 3.0]), ("syrk", [2.0, 5.0])]);
        let lines = drawn(["a", "b"], rows, Chart { form: Form::Lines, ..Chart::new("Lines", "times") });
        assert_eq!(page.charts, [("-b".to_owned(), bars), (String::new(), lines)]);
    }
}
