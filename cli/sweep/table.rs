//! Formats the table of runs, one row per run, for people and for other programs.

use std::collections::BTreeSet;

use comfy_table::{CellAlignment, Table, presets};
use input::visible_line;
use miette::{IntoDiagnostic, Report, miette};
use rtl::sm::StallReason;
use serde::Serialize;
use serde_json::{Map, Value};

use super::super::args::TableFormat;
use super::super::output::{self, columns, folded_within, format_count, format_thousands, wrap_text};
use warpsieve::config::near;
use warpsieve::run::{Counters, Evictions, NO_EVICTIONS, Outcome, RunReport, Totals, Verdict, ratio};

/// Row of the table for one run: names, speedup and the main counters. Rates are fractions from 0 to 1; a
/// rate is `null` in JSON if its divisor is 0.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    launch: String,
    variant: String,
    pub cycles: u64,
    /// Cycles of the baseline run divided by those of this run.
    speedup: Option<f64>,
    warp_instructions: u64,
    ipc: f64,
    l1_accesses: u64,
    l1_hits: Option<f64>,
    l1_pending_hits: Option<f64>,
    l1_evictions: u64,
    l2_reads: u64,
    l2_hits: Option<f64>,
    l2_pending_hits: Option<f64>,
    l2_evictions: u64,
    /// Kinds of caches that evicted no line and that no access bypassed.
    no_evictions: Vec<&'static str>,
    dram_bytes: u64,
    /// Fractions of all issue slots of the schedulers: one for the slots with an issued instruction, and one
    /// for each stall reason.
    schedulers: Map<String, Value>,
    check: &'static str,
    #[serde(skip)]
    evictions: Vec<Evictions>,
}

impl Row {
    /// Builds the row of a run. The names and the speedup are added later.
    pub fn new(report: &RunReport) -> Self {
        let counters = &report.counters;
        let Totals { l1, l2, dram, .. } = counters.totals();
        let part = |part, whole| (whole > 0).then(|| ratio(part, whole));
        let evictions = report.evictions();
        Self {
            launch: String::new(),
            variant: String::new(),
            cycles: counters.cycles,
            speedup: None,
            warp_instructions: counters.warp_instructions(),
            ipc: counters.ipc(),
            l1_accesses: l1.accesses,
            l1_hits: part(l1.hits, l1.accesses),
            l1_pending_hits: part(l1.hit_pending, l1.accesses),
            l1_evictions: l1.evictions,
            l2_reads: l2.accesses,
            l2_hits: part(l2.hits, l2.accesses),
            l2_pending_hits: part(l2.hit_pending, l2.accesses),
            l2_evictions: l2.evictions,
            no_evictions: evictions.iter().filter(|of| of.has_none).map(|of| of.key).collect(),
            dram_bytes: dram.bytes,
            schedulers: schedulers(counters),
            check: match (&report.outcome, &report.verdict) {
                (Outcome::NoProgress(_), _) => "no progress",
                (Outcome::CycleLimit(_), _) => "cycle limit",
                (Outcome::Interrupted(_), _) => "interrupted",
                (Outcome::Finished, Verdict::Passed) => "passed",
                (Outcome::Finished, Verdict::OrderDependent) => "order-dependent",
                (Outcome::Finished, Verdict::Undefined) => "undefined",
                (Outcome::Finished, Verdict::Failed(_)) => "FAILED",
                (Outcome::Finished, Verdict::Off) => "off",
            },
            evictions,
        }
    }

    /// Returns a copy of the row with names and a speedup.
    pub fn add_names(&self, launch: &str, variant: &str, speedup: Option<f64>) -> Self {
        Self { launch: launch.to_owned(), variant: variant.to_owned(), speedup, ..self.clone() }
    }

    /// Returns the cells of the row. The function `count` formats integers.
    fn cells(&self, count: fn(u64) -> String) -> Vec<String> {
        let percent = |part: Option<f64>| part.map_or("-".to_owned(), |part| format!("{:.1}", 100.0 * part));
        let mut cells = vec![
            self.launch.clone(),
            self.variant.clone(),
            count(self.cycles),
            self.speedup.map_or("-".to_owned(), |speedup| format!("{speedup:.2}")),
            count(self.warp_instructions),
            format!("{:.1}", self.ipc),
            percent(self.l1_hits),
            percent(self.l1_pending_hits),
            count(self.l1_evictions),
            percent(self.l2_hits),
            percent(self.l2_pending_hits),
            count(self.l2_evictions),
            count(self.dram_bytes),
        ];
        // The map orders the stall reasons alphabetically. They are printed in the order of
        // `StallReason::ALL`.
        let part = |reason: &StallReason| percent(self.schedulers.get(reason.name()).and_then(Value::as_f64));
        cells.extend(StallReason::ALL.iter().map(part));
        cells.push(self.check.to_owned());
        cells
    }
}

/// Returns fractions of all issue slots of the schedulers: one for the slots with an issued instruction, and
/// one for each stall reason.
fn schedulers(counters: &Counters) -> Map<String, Value> {
    counters.scheduler_shares().into_iter().map(|(reason, share)| (reason.name().to_owned(), share.into())).collect()
}

const HEAD: [&str; 13] = [
    "launch file",
    "on",
    "cycles",
    "speed-up",
    "warp instr.",
    "IPC",
    "L1 hit %",
    "L1 pending %",
    "L1 evictions",
    "L2 hit %",
    "L2 pending %",
    "L2 evictions",
    "DRAM bytes",
];

fn head() -> Vec<String> {
    let reasons = StallReason::ALL.iter().map(|reason| format!("{} %", reason.name()));
    HEAD.iter().map(|&head| head.to_owned()).chain(reasons).chain(["check".to_owned()]).collect()
}

/// Returns the column heads and the cells of the table in the form for people.
pub fn grid(rows: &[Row]) -> (Vec<String>, Vec<Vec<String>>) {
    (head(), rows.iter().map(|row| row.cells(format_thousands)).collect())
}

/// Returns a note on the kinds of caches that evicted nothing, each with the number of runs in which this
/// happened.
pub fn no_evictions(rows: &[Row]) -> Option<String> {
    let mut caches: Vec<(&str, usize)> = Vec::new();
    for evictions in rows.iter().flat_map(|row| &row.evictions) {
        let runs = usize::from(evictions.has_none);
        match caches.iter_mut().find(|(known, _)| *known == evictions.cache) {
            Some((_, all)) => *all += runs,
            None => caches.push((evictions.cache, runs)),
        }
    }
    let all = format_count(rows.len() as u64, "run", "runs");
    let caches = caches.iter().filter(|(_, runs)| *runs > 0);
    let caches: Vec<_> = caches.map(|(cache, runs)| format!("{cache} in {runs} of {all}")).collect();
    (!caches.is_empty()).then(|| format!("no evictions: {}; {NO_EVICTIONS}", caches.join(", ")))
}

/// Columns of the table that are printed.
pub enum ColumnSelection {
    /// As many columns as fit into this width, in characters.
    Fitting(usize),
    /// Columns with these indices.
    These(Vec<usize>),
}

impl ColumnSelection {
    /// Parses the value of the option `--columns`.
    ///
    /// # Errors
    /// Returns an error if it names an unknown column.
    pub fn of(names: &[String]) -> Result<Self, Report> {
        if names.is_empty() {
            return Ok(Self::Fitting(output::width()));
        }
        let heads: Vec<_> = head().iter().map(|head| key(head)).collect();
        let numbers = |name: &String| {
            if name == ALL {
                return Ok((0..heads.len()).collect());
            }
            let number = heads.iter().position(|head| *head == key(name));
            number.map(|number| vec![number]).ok_or_else(|| {
                let heads: Vec<_> = heads.iter().map(String::as_str).collect();
                let help = near(&key(name), &heads).map(|near| format!("did you mean `{near}`?"));
                let help = help.unwrap_or_else(|| format!("`{ALL}` selects all columns"));
                miette!(help = help, "`--columns` names `{name}`, expected names among {}", heads.join(", "))
            })
        };
        let mut these = Vec::new();
        for name in names {
            let numbers: Vec<usize> = numbers(name)?;
            these.extend(numbers);
        }
        // If a column is named more than once, by its own name or by `all`, the table shows it only at the
        // first position.
        let mut known = BTreeSet::new();
        these.retain(|number| known.insert(*number));
        Ok(Self::These(these))
    }
}

/// Returns the name that selects a column on the command line: the words of its head, joined as in `l1-hit`.
fn key(head: &str) -> String {
    let words = head.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

/// Returns a table that is at most `most` characters wide. It shows the last column and as many of the first
/// columns as fit. A line below the table names the omitted columns.
fn fit_columns(head: &[String], rows: &[Vec<String>], most: usize) -> String {
    let all = std::iter::once(head.to_vec()).chain(rows.iter().cloned()).collect::<Vec<_>>();
    let widths = output::widths(&all.iter().collect::<Vec<_>>());
    let joined = |rows: &[Vec<String>]| {
        let (head, rows) = rows.split_first().map_or((&[][..], &[][..]), |(head, rows)| (head.as_slice(), rows));
        columns(&head.iter().map(String::as_str).collect::<Vec<_>>(), rows)
    };
    let Some((last, first)) = widths.split_last().filter(|_| output::total(&widths, output::GAP) > most) else {
        return joined(&all);
    };
    let width = |kept: usize| output::total(&[&first[..kept], &[GAP.len(), *last]].concat(), output::GAP);
    // The first three columns are never omitted: the workload, the machine and the cycles.
    let kept = (MIN_COLUMNS..first.len()).take_while(|&kept| width(kept) <= most).last().unwrap_or(MIN_COLUMNS);
    let cut = |row: &Vec<String>| {
        let last = row.last().cloned().unwrap_or_default();
        row.iter().take(kept).cloned().chain([GAP.to_owned(), last]).collect()
    };
    let left_out: Vec<_> = head[kept..first.len()].iter().map(|head| key(head)).collect();
    let note =
        format!("omitted to fit the terminal: {}; select columns by `--columns NAME,...` or all", left_out.join(", "));
    joined(&all.iter().map(cut).collect::<Vec<_>>()) + &folded_within(most.max(GAP.len()), &note, 0) + "\n"
}

/// Name for the option `--columns` that selects all columns.
const ALL: &str = "all";
/// Text that is printed in place of omitted columns.
const GAP: &str = "...";
/// Number of columns at the left of the table that are never omitted.
const MIN_COLUMNS: usize = 3;

/// Returns the table as text. In the formats for people, the last line lists the kinds of caches that evicted
/// nothing.
pub fn render(rows: &[Row], format: TableFormat, shown: &ColumnSelection) -> Result<String, Report> {
    let these: Vec<_> = match shown {
        ColumnSelection::These(these) => these.clone(),
        ColumnSelection::Fitting(_) => (0..head().len()).collect(),
    };
    let of = |row: Vec<String>| these.iter().map(|&column| row[column].clone()).collect::<Vec<_>>();
    let head = || of(head());
    let cells = |count| rows.iter().map(move |row: &Row| row.cells(count)).map(of);
    match format {
        TableFormat::Table => {
            let most = if let ColumnSelection::Fitting(most) = shown { *most } else { usize::MAX };
            let table = fit_columns(&head(), &cells(format_thousands).collect::<Vec<_>>(), most);
            Ok(no_evictions(rows).into_iter().fold(table, |table, note| format!("{table}{}\n", wrap_text(&note, 2))))
        }
        TableFormat::Markdown => {
            let mut table = Table::new();
            let on_a_line =
                |row: Vec<String>| row.iter().map(|cell| visible_line(cell).into_owned()).collect::<Vec<_>>();
            let shown = cells(format_thousands).map(on_a_line);
            table.load_preset(presets::ASCII_MARKDOWN).set_header(head()).add_rows(shown);
            let texts = these.iter().filter(|&&column| column < 2).count();
            table.column_iter_mut().skip(texts).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
            let note = no_evictions(rows).map(|note| format!("\n{note}\n")).unwrap_or_default();
            Ok(format!("{table}\n{note}"))
        }
        TableFormat::Csv => {
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(head()).into_diagnostic()?;
            for row in cells(|number| number.to_string()) {
                writer.write_record(row).into_diagnostic()?;
            }
            String::from_utf8(writer.into_inner().into_diagnostic()?).into_diagnostic()
        }
        TableFormat::Json => Ok(serde_json::to_string_pretty(rows).into_diagnostic()? + "\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn columns_that_do_not_fit_are_named_below_the_table() {
        let head = texts(&["launch file", "on", "cycles", "speed-up", "L1 hit %", "L2 hit %", "check"]);
        let rows = [texts(&["syrk", "baseline", "584,651", "1.00", "0.0", "99.8", "passed"])];
        assert!(!fit_columns(&head, &rows, 200).contains(GAP));
        for width in [45, 50, 58] {
            let text = fit_columns(&head, &rows, width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            assert!(text.contains("584,651") && text.contains("passed") && text.contains("l2-hit"), "{text}");
        }
    }

    #[test]
    fn columns_are_named_by_the_words_of_their_heads() {
        for (names, columns) in [
            (&["cycles", "check"][..], Some(vec![2, head().len() - 1])),
            (&["launch-file", "L1 hit %", "speed_up"], Some(vec![0, 6, 3])),
            (&["all"], Some((0..head().len()).collect())),
            (&["cycle"], None),
            (&["all", "cycles"], Some((0..head().len()).collect())),
            (&["check", "all"], Some([head().len() - 1].into_iter().chain(0..head().len() - 1).collect())),
            (&["cycles", "on", "cycles"], Some(vec![2, 1])),
            (&["all", "cycle"], None),
        ] {
            let shown = ColumnSelection::of(&texts(names)).ok().map(|shown| match shown {
                ColumnSelection::These(columns) => columns,
                ColumnSelection::Fitting(_) => Vec::new(),
            });
            assert_eq!(shown, columns, "{names:?}");
        }
    }
}
