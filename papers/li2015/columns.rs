//! A number for each application and machine: the table, the CSV and the charts of a figure.

use std::ops::Range;

use miette::Report;

use super::App;
use crate::chart::{Chart, Series};
use crate::page::Page;

/// Columns of numbers, a row an application.
pub(super) struct Columns<'a> {
    apps: &'a [&'a App],
    names: Vec<String>,
    values: Vec<Vec<f64>>,
}

/// A row below the applications: its name, and what it makes of a column.
pub(super) type Mean<'a> = (&'a str, &'a dyn Fn(&[f64]) -> f64);

impl<'a> Columns<'a> {
    pub(super) fn new(apps: &'a [&'a App]) -> Self {
        Self { apps, names: Vec::new(), values: Vec::new() }
    }

    pub(super) fn push(&mut self, name: &str, values: Vec<f64>) {
        self.names.push(name.to_owned());
        self.values.push(values);
    }

    /// The table and the CSV, whose last rows are means.
    pub(super) fn table(&self, page: &mut Page, places: usize, means: &[Mean<'_>]) -> Result<(), Report> {
        let head: Vec<&str> = ["app"].into_iter().chain(self.names.iter().map(String::as_str)).collect();
        let row = |name: &str, of: &dyn Fn(&[f64]) -> f64| {
            let numbers = self.values.iter().map(|column| format!("{:.places$}", of(column)));
            [name.to_owned()].into_iter().chain(numbers).collect::<Vec<_>>()
        };
        let apps = self.apps.iter().enumerate().map(|(at, app)| row(app.name, &|column| column[at]));
        let cells = apps.chain(means.iter().map(|(name, of)| row(name, of))).collect();
        page.applications(&head, cells, 1)
    }

    /// A chart of some of the columns.
    pub(super) fn chart(&self, page: &mut Page, suffix: &str, chart: Chart, of: Range<usize>) {
        let series = self.names[of.clone()].iter().zip(&self.values[of]);
        page.chart(
            suffix,
            &Chart {
                groups: self.apps.iter().map(|app| app.name.to_owned()).collect(),
                series: series.map(|(name, values)| Series::new(name, values.iter().copied())).collect(),
                ..chart
            },
        );
    }
}

/// A chart of IPC in parts of a baseline's, without its numbers.
pub(super) fn relative_ipc(title: &str) -> Chart {
    Chart { title: title.to_owned(), unit: "IPC, relative".to_owned(), neutral: Some(1.0), ..Chart::default() }
}
