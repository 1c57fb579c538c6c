//! # Tables of results
//! Table with one row per application and one column of numbers per variant, such as a machine. Most results
//! pages produce their tables, CSV files and charts from such a table.

use std::iter::once;

use miette::Report;

use crate::chart::{Chart, Form, Series};
use crate::judge::leave_one_out;
use crate::page::{Page, comma_separated};

/// Function that selects the lower or the upper end of the leave-one-out range of a mean.
type End = fn((f64, f64)) -> f64;
const WITHOUT_ONE: [(&str, End); 2] =
    [("leave-one-out minimum", |(least, _)| least), ("leave-one-out maximum", |(_, most)| most)];

/// Table of named rows with columns of numbers. Rows of means can follow below the named rows.
#[derive(Clone, Debug)]
pub struct Table {
    /// Headings of the text columns, which are to the left of the columns of numbers.
    heads: Vec<String>,
    texts: Vec<Vec<String>>,
    columns: Vec<Column>,
    /// Rows of means below the named rows. Each row consists of its texts and one mean per column.
    below: Vec<(Vec<String>, Vec<Mean>)>,
}

/// Mean of a column. `without_one` is its leave-one-out range: the lowest and the highest mean that result
/// when one value is left out. The range shows how much the mean depends on a single value.
#[derive(Clone, Copy, Debug)]
struct Mean {
    of_all: f64,
    without_one: Option<(f64, f64)>,
}

#[derive(Clone, Debug)]
struct Column {
    name: String,
    /// Number of decimal places that are shown.
    places: usize,
    values: Vec<f64>,
}

impl Column {
    fn show(&self, value: f64) -> String {
        format!("{value:.*}", self.places)
    }
}

fn to_strings<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).into()
}

impl Table {
    /// Creates a table without numbers. Each row begins with the given texts. In charts, the first of these
    /// texts is the name of the row.
    #[must_use]
    pub fn new<'a, const N: usize>(heads: [&str; N], rows: impl IntoIterator<Item = [&'a str; N]>) -> Self {
        let texts = rows.into_iter().map(to_strings).collect();
        Self { heads: to_strings(heads), texts, columns: Vec::new(), below: Vec::new() }
    }

    /// Adds columns to the table. Each column has one number per row; the numbers are shown with `places`
    /// decimal places.
    #[must_use]
    pub fn columns(mut self, places: usize, columns: impl IntoIterator<Item = (impl Into<String>, Vec<f64>)>) -> Self {
        let column = |(name, values): (_, Vec<f64>)| Column { name: Into::into(name), places, values };
        self.columns.extend(columns.into_iter().map(column));
        self
    }

    /// Adds a row of means below the named rows. For each column that exists so far, the row contains the
    /// mean over the named rows for which `is_of` returns true.
    #[must_use]
    pub fn below<const N: usize>(
        mut self,
        texts: [&str; N],
        is_of: impl Fn(usize) -> bool,
        mean: impl Fn(&[f64]) -> f64,
    ) -> Self {
        let of_column = |column: &Column| {
            let rows = column.values.iter().enumerate().filter(|(row, _)| is_of(*row));
            let values: Vec<f64> = rows.map(|(_, value)| *value).collect();
            // With only two values, the leave-one-out range would consist of the two values themselves. The
            // range is therefore given only for more than two values.
            let without_one = leave_one_out(&values, |of| Some(mean(of))).filter(|_| values.len() > 2);
            Mean { of_all: mean(&values), without_one }
        };
        let means = self.columns.iter().map(of_column).collect();
        self.below.push((to_strings(texts), means));
        self
    }

    /// Adds a heading and the table to a page, and stores the table as the CSV of the page. In the CSV, the
    /// lower and the upper end of each leave-one-out range have their own rows.
    ///
    /// # Errors
    /// Returns an error if a row has a different number of cells than the head.
    pub fn table(&self, page: &mut Page, heading: &str) -> Result<(), Report> {
        page.csv = self.show(page, heading)?;
        Ok(())
    }

    /// Adds a heading and the table to a page, and returns the numbers of the table as CSV text.
    ///
    /// # Errors
    /// Returns an error if a row has a different number of cells than the head.
    pub fn show(&self, page: &mut Page, heading: &str) -> Result<String, Report> {
        page.text(heading);
        let head: Vec<&str> =
            self.heads.iter().chain(self.columns.iter().map(|column| &column.name)).map(String::as_str).collect();
        let row = |(at, texts): (usize, &Vec<String>)| {
            let numbers = self.columns.iter().map(|column| column.show(column.values[at]));
            texts.iter().cloned().chain(numbers).collect()
        };
        let rows: Vec<Vec<String>> = self.texts.iter().enumerate().map(row).collect();
        let line = |texts: &[String], means: &[Mean], shown: &dyn Fn(&Column, Mean) -> String| -> Vec<String> {
            let cells = self.columns.iter().zip(means).map(|(column, mean)| shown(column, *mean));
            texts.iter().cloned().chain(cells).collect()
        };
        let with_range = |column: &Column, Mean { of_all, without_one }: Mean| match without_one {
            None => column.show(of_all),
            Some((least, most)) => {
                format!("{} ({} to {})", column.show(of_all), column.show(least), column.show(most))
            }
        };
        let (mut shown, mut numbers) = (rows.clone(), rows);
        for (texts, means) in &self.below {
            shown.push(line(texts, means, &with_range));
            numbers.push(line(texts, means, &|column, mean| column.show(mean.of_all)));
            if means.iter().all(|mean| mean.without_one.is_none()) {
                continue;
            }
            for (name, end) in WITHOUT_ONE {
                let mut texts = texts.clone();
                texts[0] = format!("{}, {name}", texts[0]);
                let of_end =
                    |column: &Column, mean: Mean| mean.without_one.map_or(String::new(), |ends| column.show(end(ends)));
                numbers.push(line(&texts, means, &of_end));
            }
        }
        page.table(&head, shown, self.heads.len());
        if self.below.iter().any(|(_, means)| means.iter().any(|mean| mean.without_one.is_some())) {
            page.text("In parentheses: the lowest and highest value of the mean when one row is left out.");
        }
        comma_separated(&head, &numbers)
    }

    /// Adds a bar chart with one group of bars per row of the table and one series per selected column. The
    /// last groups are the rows of means.
    pub fn chart(&self, page: &mut Page, suffix: &str, chart: Chart, of: impl IntoIterator<Item = usize>) {
        let series = of.into_iter().map(|at| {
            let column = &self.columns[at];
            // A row of means has no means for columns that were added to the table after the row.
            let means = self.below.iter().map(|(_, means)| means.get(at).map(|mean| mean.of_all));
            let values = column.values.iter().copied().map(Some).chain(means).collect();
            Series { name: column.name.clone(), values }
        });
        let below = self.below.iter().map(|(texts, _)| texts.join(" ").trim_end().to_owned());
        let groups = self.names().into_iter().chain(below).collect();
        page.chart(suffix, &Chart { groups, series: series.collect(), means: self.below.len(), ..chart });
    }

    /// Adds a line chart with one group per column of the table and one line per row.
    pub fn lines(&self, page: &mut Page, chart: Chart) {
        let series = self
            .names()
            .into_iter()
            .enumerate()
            .map(|(at, name)| Series::new(&name, self.columns.iter().map(|column| column.values[at])));
        let groups = self.columns.iter().map(|column| column.name.clone());
        page.chart("", &Chart { groups: groups.collect(), series: series.collect(), form: Form::Lines, ..chart });
    }

    /// Returns the indices of all columns of numbers.
    #[must_use]
    pub fn all(&self) -> std::ops::Range<usize> {
        0..self.columns.len()
    }

    fn names(&self) -> Vec<String> {
        self.texts.iter().filter_map(|texts| texts.first().cloned()).collect()
    }
}

/// Returns a table row that begins with a name, followed by other cells.
pub fn row(name: &str, cells: impl IntoIterator<Item = String>) -> Vec<String> {
    once(name.to_owned()).chain(cells).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::mean;
    use crate::page::Drawing;

    fn table() -> Table {
        let table = Table::new(["app", "class"], [["vadd", "streaming"], ["syrk", "conflict"]]);
        let table = table.columns(1, [("a", vec![1.0, 2.0])]).columns(2, [("b", vec![3.0, 5.0])]);
        table.below(["mean", ""], |_| true, |values| mean(values).unwrap_or(f64::NAN))
    }

    #[test]
    fn a_row_has_its_texts_then_its_numbers_and_what_is_below_comes_last() {
        let mut page = Page::default();
        table().table(&mut page, "## Numbers").unwrap();
        assert_eq!(page.csv, "app,class,a,b\nvadd,streaming,1.0,3.00\nsyrk,conflict,2.0,5.00\nmean,,1.5,4.00\n");
        assert!(page.markdown.starts_with("\n## Numbers\n\n| app "), "{}", page.markdown);
    }

    #[test]
    fn a_mean_shows_what_it_is_without_one_of_its_rows() {
        let table = Table::new(["app"], [["a"], ["b"], ["c"], ["d"]]).columns(1, [("x", vec![1.0, 2.0, 6.0, 100.0])]);
        let mut page = Page::default();
        let table = table.below(["mean"], |row| row < 3, |values| mean(values).unwrap_or(f64::NAN));
        table.table(&mut page, "## Numbers").unwrap();
        assert!(page.markdown.contains("| mean | 3.0 (1.5 to 4.0) |"), "{}", page.markdown);
        let below = "mean,3.0\n\"mean, leave-one-out minimum\",1.5\n\"mean, leave-one-out maximum\",4.0\n";
        assert!(page.csv.ends_with(below), "{}", page.csv);
    }

    #[test]
    fn a_chart_has_a_series_for_each_column_asked_for_or_a_line_for_each_row() {
        let mut page = Page::default();
        table().chart(&mut page, "-b", Chart::new("One", "times"), [1]);
        table().lines(&mut page, Chart::new("Lines", "times"));
        let of = |series: &[(&str, [f64; 2])]| series.iter().map(|(name, values)| Series::new(name, *values)).collect();
        let drawn = |groups: [&str; 2], series, chart: Chart| Chart { groups: to_strings(groups), series, ..chart };
        let bars = of(&[("b", [3.0, 5.0])]);
        let bars = Chart { groups: to_strings(["vadd", "syrk"]), series: bars, ..Chart::new("One", "times") };
        let bars = bars.with_mean();
        let rows = of(&[("vadd", [1.0, 3.0]), ("syrk", [2.0, 5.0])]);
        let lines = drawn(["a", "b"], rows, Chart { form: Form::Lines, ..Chart::new("Lines", "times") });
        let [bars, lines] = [bars, lines].map(Drawing::Chart);
        assert_eq!(page.charts, [("-b".to_owned(), bars), (String::new(), lines)]);
    }
}
