//! # Cycle tables
//! Text tables of the payloads that pass some ports, with one row per cycle and one column per port. A test
//! compares such a table with the expected text.

use std::collections::BTreeMap;
use std::fmt;

/// Cycle table under construction: the payloads at some ports, by cycle and port.
#[derive(Clone, Debug, Default)]
pub struct CycleTable {
    columns: Vec<(String, BTreeMap<u64, String>)>,
    /// True if the table omits the rows of cycles in which no payload passes.
    is_sparse: bool,
}

impl CycleTable {
    /// Creates a cycle table without columns, in which every cycle has a row.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a cycle table that omits cycles in which no payload passes, for tests with long waits.
    #[must_use]
    pub fn sparse() -> Self {
        Self { is_sparse: true, ..Self::default() }
    }

    /// Adds a column for the port `name`. Each item of `passed` is a cycle and the text to show in the row of
    /// that cycle.
    pub fn column(&mut self, name: &str, passed: impl IntoIterator<Item = (u64, impl fmt::Display)>) {
        let cells = passed.into_iter().map(|(cycle, what)| (cycle, what.to_string()));
        self.columns.push((name.to_owned(), cells.collect()));
    }
}

impl fmt::Display for CycleTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cycles = || self.columns.iter().flat_map(|(_, cells)| cells.keys().copied());
        let mut rows = vec![vec!["cycle".to_owned()]];
        rows[0].extend(self.columns.iter().map(|(name, _)| name.clone()));
        for cycle in cycles().min().unwrap_or(1)..=cycles().max().unwrap_or(0) {
            if self.is_sparse && !self.columns.iter().any(|(_, cells)| cells.contains_key(&cycle)) {
                continue;
            }
            let cell =
                |(_, cells): &(String, BTreeMap<u64, String>)| cells.get(&cycle).map_or(".", |what| what).to_owned();
            let mut row = vec![cycle.to_string()];
            row.extend(self.columns.iter().map(cell));
            rows.push(row);
        }
        let widths: Vec<usize> =
            (0..rows[0].len()).map(|i| rows.iter().map(|row| row[i].len()).max().unwrap_or(0)).collect();
        for row in rows {
            let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            writeln!(f, "{}", cells.join("  ").trim_end())?;
        }
        Ok(())
    }
}

/// Checks that a cycle table equals the expected text, ignoring differences in spacing.
///
/// # Panics
/// Panics if the table differs from the expected text. The message shows both.
pub fn assert_table(table: &CycleTable, expected: &str) {
    let words = |text: &str| -> Vec<Vec<String>> {
        let lines = text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        lines.filter(|line| !line.is_empty()).collect()
    };
    let found = table.to_string();
    assert!(words(&found) == words(expected), "the cycles differ; found:\n{found}\nexpected:\n{expected}");
}
