//! What pages of this paper look like: a number of each application in each column, with means.

use super::{App, Kind, mean_of};
use crate::Desk;
use crate::Halt;
use crate::chart::{Chart, Series};
use crate::judge::Row;
use crate::page::Page;

/// A page of one table and one chart.
pub(super) struct Plot<'a> {
    /// As the command names it.
    pub(super) figure: &'a str,
    pub(super) title: &'a str,
    /// What is shown, and of which machines.
    pub(super) about: &'a str,
    pub(super) unit: &'a str,
    /// Places after the point.
    pub(super) places: usize,
    /// What is neither gained nor lost: numbers are ratios then, with harmonic means, on a logarithmic
    /// axis.
    pub(super) neutral: Option<f64>,
    /// Names and, of each application, numbers.
    pub(super) columns: &'a [(&'a str, Vec<f64>)],
}

impl Plot<'_> {
    pub(super) fn page(&self, desk: &Desk, apps: &[&App], rows: Vec<Row>) -> Result<Page, Halt> {
        let mut page = Page::new(self.figure, desk.is_quick, self.title);
        page.text(self.about);
        page.judged(rows);
        let head: Vec<_> = ["app", "class"].into_iter().chain(self.columns.iter().map(|(name, _)| *name)).collect();
        let shown = |value: f64| format!("{value:.*}", self.places);
        let mut cells: Vec<Vec<String>> = apps
            .iter()
            .enumerate()
            .map(|(at, app)| {
                let numbers = self.columns.iter().map(|(_, values)| shown(values[at]));
                [app.name.to_owned(), app.kind.name().to_owned()].into_iter().chain(numbers).collect()
            })
            .collect();
        if self.neutral.is_some() {
            let mut mean = |name: &str, kinds: &[Kind]| {
                let numbers = self.columns.iter().map(|(_, values)| shown(mean_of(kinds, apps, values)));
                let texts = ["harmonic mean".to_owned(), name.to_owned()];
                cells.push(texts.into_iter().chain(numbers).collect());
            };
            for kind in Kind::ALL.into_iter().filter(|kind| apps.iter().any(|app| app.kind == *kind)) {
                mean(kind.name(), &[kind]);
            }
            mean("all", &Kind::ALL);
        }
        page.applications(&head, cells, 2)?;
        page.chart(
            "",
            &Chart {
                title: self.title.to_owned(),
                unit: self.unit.to_owned(),
                groups: apps.iter().map(|app| app.name.to_owned()).collect(),
                series: self.columns.iter().map(|(name, values)| Series::new(name, values.iter().copied())).collect(),
                is_log: self.neutral.is_some(),
                neutral: self.neutral,
                ..Chart::default()
            },
        );
        Ok(page)
    }
}
