//! Time series of a run: performance counts per interval of core cycles, as CSV. There is a row for every
//! interval, including those without events, until memory is idle after the last launch.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use rtl::kernel::Paths;
use rtl::machine::Machine;
use serde::{Deserialize, Serialize};
use waves::atomic_file::AtomicFile;

use super::{MachineFeatures, RunError, SeriesOptions, Totals};
use crate::config::near;

/// Default columns, as paths of counters in the statistics. A row contains the increase of each counter in
/// the interval of the row.
pub const COLUMNS: [&str; 18] = [
    "warp_instructions",
    "thread_instructions",
    "l1.accesses",
    "l1.hits",
    "l1.hit_pending",
    "l1.misses",
    "l1.bypasses",
    "l1.store_hits",
    "l1.store_misses",
    "l2.accesses",
    "l2.hits",
    "l2.hit_pending",
    "l2.misses",
    "l2.writebacks",
    "dram.reads",
    "dram.writes",
    "dram.row_hits",
    "dram.bytes",
];

/// State of a time series, which is saved in checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SeriesState {
    /// Length of an interval in core cycles.
    interval: u64,
    /// Paths of the counters in the columns, as in the statistics.
    columns: Vec<String>,
    /// First cycle of the current interval.
    from: u64,
    /// Values of the counters at the start of the current interval.
    totals: Vec<u64>,
}

/// Time series file that is being written.
pub(super) struct Series {
    path: PathBuf,
    writer: csv::Writer<AtomicFile>,
    has: MachineFeatures,
    /// For each column, the index of its counter among all counters.
    places: Vec<usize>,
    counted: SeriesState,
}

/// Returns the values of all counters of a machine; `has` states which optional hardware the machine has.
fn values(has: &MachineFeatures, machine: &Machine) -> Vec<u64> {
    let mut values = Paths::values();
    Totals::of(machine).list(has, &mut values);
    values.values
}

impl Series {
    pub(super) fn create(options: &SeriesOptions, machine: &Machine) -> Result<Self, RunError> {
        let SeriesOptions { path, interval, columns } = options;
        let has = MachineFeatures::of(machine.config());
        let mut all = Paths::default();
        Totals::of(machine).list(&has, &mut all);
        let mut columns: Vec<String> =
            if columns.is_empty() { COLUMNS.map(str::to_owned).to_vec() } else { columns.clone() };
        // A column that is requested repeatedly appears only at its first position.
        let mut known = BTreeSet::new();
        columns.retain(|column| known.insert(column.clone()));
        let place = |column: &String| {
            let known = all.names.iter().position(|name| name == column);
            known.ok_or_else(|| {
                let near = near(column, &all.names.iter().map(String::as_str).collect::<Vec<_>>());
                let near = near.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
                let message = format!("no column `{column}`: a time series on this machine has no such counter{near}");
                RunError::input(path, &io::Error::new(io::ErrorKind::InvalidInput, message))
            })
        };
        let places = columns.iter().map(place).collect::<Result<_, _>>()?;
        let file = AtomicFile::create(path).map_err(|e| RunError::input(path, &e))?;
        let mut writer = csv::Writer::from_writer(file);
        let head = ["from_cycle", "to_cycle"].map(str::to_owned).into_iter();
        let head = head.chain(columns.iter().map(|name| name.replace('.', "_")));
        writer.write_record(head).map_err(|e| RunError::input(path, &e))?;
        let totals = vec![0; columns.len()];
        let counted = SeriesState { interval: *interval, columns, from: 0, totals };
        Ok(Self { path: path.clone(), writer, has, places, counted })
    }

    /// Resumes the time series in a run that has already reached `cycle`. If the checkpoint contains a series
    /// with the same interval length and the same columns, its unfinished interval is continued. Otherwise, a
    /// new interval starts at `cycle`.
    pub(super) fn go_on(&mut self, counted: Option<SeriesState>, cycle: u64, machine: &Machine) {
        let SeriesState { interval, columns, .. } = &self.counted;
        let is_alike = |other: &SeriesState| other.interval == *interval && other.columns == *columns;
        self.counted = counted.filter(is_alike).unwrap_or_else(|| SeriesState {
            from: cycle,
            totals: self.totals(machine),
            ..self.counted.clone()
        });
    }

    /// Returns the state of the time series, to be saved in a checkpoint.
    pub(super) fn save_counts(&self) -> SeriesState {
        self.counted.clone()
    }

    /// Writes the rows of all intervals whose last cycle is before `cycle`. Must be called before the events
    /// of `cycle` are counted.
    #[inline]
    pub(super) fn reach(&mut self, cycle: u64, machine: &Machine) -> Result<(), RunError> {
        while cycle - self.counted.from >= self.counted.interval {
            self.row(self.counted.from + self.counted.interval, machine)?;
        }
        Ok(())
    }

    /// Writes the last row and completes the file. The last row covers the cycles up to, but not including,
    /// `cycle`.
    pub(super) fn finish(mut self, cycle: u64, machine: &Machine) -> Result<PathBuf, RunError> {
        self.reach(cycle, machine)?;
        if cycle > self.counted.from {
            self.row(cycle, machine)?;
        }
        let Self { path, writer, .. } = self;
        let kept = writer.into_inner().map_err(csv::IntoInnerError::into_error).and_then(AtomicFile::commit);
        kept.map_err(|e: io::Error| RunError::input(&path, &e))
    }

    fn totals(&self, machine: &Machine) -> Vec<u64> {
        let all = values(&self.has, machine);
        self.places.iter().map(|&place| all[place]).collect()
    }

    fn row(&mut self, to: u64, machine: &Machine) -> Result<(), RunError> {
        let totals = self.totals(machine);
        let SeriesState { from, totals: before, .. } = &mut self.counted;
        let increases = totals.iter().zip(&*before).map(|(now, before)| now - before);
        let row = [*from, to].into_iter().chain(increases).map(|number| number.to_string());
        self.writer.write_record(row).map_err(|e| RunError::input(&self.path, &e))?;
        (*from, *before) = (to, totals);
        Ok(())
    }
}
