//! Builds the table of results for other programs: one row per run, one column per parameter or counter, in
//! full precision.

use std::collections::BTreeSet;
use std::sync::Arc;

use miette::{IntoDiagnostic, Report};
use papers::measured::{BlockEnergy, RunMeasurement};
use serde_json::{Map, Value};

use super::super::dictionary::counters;
use super::file::text_of;
use super::plan::{Id, Plan};
use super::runs::{Record, Results};
use warpsieve::config::ResolvedMachine;
use warpsieve::run::ratio;
use warpsieve::statistics::of_run;

/// Column for the speedup: cycles of the baseline run divided by those of the run.
pub const SPEEDUP: &str = "speedup";
/// Column for the area of the machine.
const AREA: &str = "area.mm2";
/// Prefix of the names of all columns for energy.
const ENERGY: &str = "energy.";
/// Key for the speed of the simulator itself, which is left out of the table.
const HOST: &str = "host";

/// Returns the values of a run, each with the name of its column: all numbers and texts of the run's
/// statistics, the area, and the energy.
pub fn cells(resolved: &ResolvedMachine, measured: &RunMeasurement) -> Vec<(String, Value)> {
    let mut cells = Vec::new();
    let statistics = serde_json::to_value(of_run(resolved, &measured.report, None));
    // Statistics contain only types that JSON can represent, so the conversion cannot fail.
    flatten(String::new(), statistics.unwrap_or_default(), &mut cells);
    cells.push((AREA.to_owned(), measured.mm2.into()));
    for BlockEnergy { block, dynamic_pj, leakage_pj } in &measured.energy {
        let path = if block.is_empty() { ENERGY.to_owned() } else { format!("{ENERGY}{block}.") };
        cells.push((format!("{path}dynamic_pj"), (*dynamic_pj).into()));
        cells.push((format!("{path}leakage_pj"), (*leakage_pj).into()));
    }
    cells.sort_by_cached_key(|(name, _)| (place(name), name.clone()));
    cells
}

/// Adds the numbers and texts that are nested below a key. Lists are skipped, since they contain values of
/// single units or loads.
pub fn flatten(path: String, value: Value, cells: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members.into_iter().filter(|(key, _)| key != HOST) {
                flatten(if path.is_empty() { key } else { format!("{path}.{key}") }, value, cells);
            }
        }
        Value::Null | Value::Array(_) => {}
        value => cells.push((path, value)),
    }
}

/// Returns the position of a key in the list of all statistics keys. If the list does not contain the key,
/// returns the position of the longest listed key that encloses it. If there is none, returns the length of
/// the list.
pub fn place(name: &str) -> usize {
    let mut ends = [name.len()].into_iter().chain(name.rmatch_indices('.').map(|(at, _)| at));
    let listed = ends.find_map(|end| counters().iter().position(|counter| counter.key == name[..end]));
    listed.unwrap_or(counters().len())
}

/// True if the table can have a column with this name.
pub fn is_column(name: &str) -> bool {
    [SPEEDUP, AREA].contains(&name) || name.starts_with(ENERGY) || place(name) < counters().len()
}

/// Result table with all runs of a sweep.
pub struct ResultTable {
    pub head: Vec<String>,
    pub rows: Vec<(Id, Map<String, Value>)>,
}

/// Returns the speedup of a run: the cycles of its baseline run divided by its own cycles.
pub fn speedup(plan: &Plan, results: &Results, id: Id) -> Option<f64> {
    let [own, other] = [results.get(&id)?, results.get(&plan.baseline(id))?].map(|record| record.row.cycles);
    (own > 0).then(|| ratio(other, own))
}

impl ResultTable {
    pub fn new(plan: &Plan, results: &Results) -> Self {
        let parameters: Vec<_> = plan.columns.iter().map(|column| column.name.clone()).collect();
        let columns: BTreeSet<_> = results.values().flat_map(|record| &record.cells).map(|(name, _)| name).collect();
        let mut columns: Vec<_> = columns.into_iter().collect();
        columns.sort_by_cached_key(|name| place(name));
        let columns = columns.into_iter().filter(|name| !parameters.contains(name)).cloned();
        let row = |(id, record): (&Id, &Arc<Record>)| {
            let mut row: Map<_, _> = record.cells.iter().cloned().collect();
            row.insert(SPEEDUP.to_owned(), speedup(plan, results, *id).into());
            row.extend(parameters.iter().cloned().zip(plan.values(*id)));
            (*id, row)
        };
        let rows = results.iter().map(row).collect();
        let head = parameters.iter().cloned().chain([SPEEDUP.to_owned()]).chain(columns).collect();
        Self { head, rows }
    }

    /// Returns the table as CSV. A missing value is an empty field.
    pub fn csv(&self) -> Result<String, Report> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.head).into_diagnostic()?;
        for (_, row) in &self.rows {
            let cells = self.head.iter().map(|name| row.get(name).map(text_of).unwrap_or_default());
            writer.write_record(cells).into_diagnostic()?;
        }
        String::from_utf8(writer.into_inner().into_diagnostic()?).into_diagnostic()
    }

    /// Returns the table as JSON, one object per line. Missing values are `null`.
    pub fn json_lines(&self) -> Result<String, Report> {
        let mut text = String::new();
        for (_, row) in &self.rows {
            let cell = |name: &String| {
                let value = row.get(name).unwrap_or(&Value::Null);
                Ok(format!("{}:{value}", serde_json::to_string(name).into_diagnostic()?))
            };
            let cells = self.head.iter().map(cell).collect::<Result<Vec<_>, Report>>()?;
            text += &format!("{{{}}}\n", cells.join(","));
        }
        Ok(text)
    }
}
