//! The table: a row a run, in the formats that people and programs read.

use comfy_table::{CellAlignment, Table, presets};
use miette::{IntoDiagnostic, Report};
use rtl::sm::StallReason;
use serde::Serialize;
use serde_json::{Map, Value};

use super::super::args::TableFormat;
use super::super::output::{columns, counted, grouped};
use warpsieve::run::{Counters, Evictions, NO_EVICTIONS, Outcome, RunReport, Verdict, ratio};

/// One run: what the blocks counted, below its names and its speed-up. Rates are parts of one; `null` where there was nothing to divide by.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    launch: String,
    variant: String,
    pub cycles: u64,
    /// Cycles of the run that it is held against by cycles of this one.
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
    /// Kinds of caches that kept every line that they were asked for.
    no_evictions: Vec<&'static str>,
    dram_bytes: u64,
    /// Parts of all scheduler cycles, by reason; an issued instruction is one of them.
    schedulers: Map<String, Value>,
    check: &'static str,
    #[serde(skip)]
    evictions: Vec<Evictions>,
}

impl Row {
    /// What a run counted.
    pub fn new(report: &RunReport) -> Self {
        let counters = &report.counters;
        let l1 = |count: fn(&rtl::l1::stats::L1Stats) -> u64| counters.l1.iter().map(count).sum::<u64>();
        let l2 = |count: fn(&rtl::l2::L2Stats) -> u64| counters.l2.iter().map(count).sum::<u64>();
        let part = |part, whole| (whole > 0).then(|| ratio(part, whole));
        let (l1_accesses, l2_reads) = (l1(|unit| unit.accesses), l2(|unit| unit.accesses));
        let evictions = counters.evictions();
        Self {
            launch: String::new(),
            variant: String::new(),
            cycles: counters.cycles,
            speedup: None,
            warp_instructions: counters.warp_instructions(),
            ipc: counters.ipc(),
            l1_accesses,
            l1_hits: part(l1(|unit| unit.hits), l1_accesses),
            l1_pending_hits: part(l1(|unit| unit.hit_pending), l1_accesses),
            l1_evictions: l1(|unit| unit.evictions),
            l2_reads,
            l2_hits: part(l2(|unit| unit.hits), l2_reads),
            l2_pending_hits: part(l2(|unit| unit.hit_pending), l2_reads),
            l2_evictions: l2(|unit| unit.evictions),
            no_evictions: evictions.iter().filter(|of| of.has_none()).map(|of| of.key).collect(),
            dram_bytes: counters.dram.iter().map(|unit| unit.bytes).sum(),
            schedulers: schedulers(counters),
            check: match (&report.outcome, &report.verdict) {
                (Outcome::NoProgress(_), _) => "no progress",
                (Outcome::CycleLimit(_), _) => "cycle limit",
                (Outcome::Interrupted(_), _) => "interrupted",
                (Outcome::Finished, Verdict::Passed) => "passed",
                (Outcome::Finished, Verdict::OrderDependent) => "order-dependent",
                (Outcome::Finished, Verdict::Failed(_)) => "FAILED",
                (Outcome::Finished, Verdict::Off) => "off",
            },
            evictions,
        }
    }

    /// The same with names and a speed-up.
    pub fn named(&self, launch: &str, variant: &str, speedup: Option<f64>) -> Self {
        Self { launch: launch.to_owned(), variant: variant.to_owned(), speedup, ..self.clone() }
    }

    /// The cells of a table; `count` writes whole numbers.
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
        // The map is sorted by name, the table by reason.
        let part = |reason: &StallReason| percent(self.schedulers.get(reason.name()).and_then(Value::as_f64));
        cells.extend(StallReason::ALL.iter().map(part));
        cells.push(self.check.to_owned());
        cells
    }
}

/// Every reason's part of all scheduler cycles.
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

/// Head and cells of the table as people read it.
pub fn grid(rows: &[Row]) -> (Vec<String>, Vec<Vec<String>>) {
    (head(), rows.iter().map(|row| row.cells(grouped)).collect())
}

/// Says which kinds of caches evict nothing, and in how many of the runs.
pub fn no_evictions(rows: &[Row]) -> Option<String> {
    let mut caches: Vec<(&str, usize)> = Vec::new();
    for evictions in rows.iter().flat_map(|row| &row.evictions) {
        let runs = usize::from(evictions.has_none());
        match caches.iter_mut().find(|(known, _)| *known == evictions.cache) {
            Some((_, all)) => *all += runs,
            None => caches.push((evictions.cache, runs)),
        }
    }
    let all = counted(rows.len() as u64, "run", "runs");
    let caches = caches.iter().filter(|(_, runs)| *runs > 0);
    let caches: Vec<_> = caches.map(|(cache, runs)| format!("{cache} in {runs} of {all}")).collect();
    (!caches.is_empty()).then(|| format!("no evictions: {}; {NO_EVICTIONS}", caches.join(", ")))
}

/// The table as text; what people read ends with a line about caches that evict nothing.
pub fn render(rows: &[Row], format: TableFormat) -> Result<String, Report> {
    let cells = |count| rows.iter().map(move |row: &Row| row.cells(count));
    match format {
        TableFormat::Table => {
            let (head, cells) = grid(rows);
            let table = columns(&head.iter().map(String::as_str).collect::<Vec<_>>(), &cells);
            Ok(no_evictions(rows).into_iter().fold(table, |table, note| format!("{table}{note}\n")))
        }
        TableFormat::Markdown => {
            let mut table = Table::new();
            table.load_preset(presets::ASCII_MARKDOWN).set_header(head()).add_rows(cells(grouped));
            table.column_iter_mut().skip(2).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
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
