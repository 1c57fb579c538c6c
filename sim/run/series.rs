//! A time series of a run: what the blocks counted in every interval of core cycles, as CSV. A row
//! is written for every interval, also for those in which nothing happened, until the memory has come
//! to rest after the last launch.

use std::io;
use std::path::PathBuf;

use rtl::dram::counts::Counts;
use rtl::l1::stats::L1Stats;
use rtl::l2::L2Stats;
use rtl::machine::Machine;
use rtl::sm::Counters as CoreCounters;
use serde::{Deserialize, Serialize};
use waves::part_file::PartFile;

use super::{RunError, SeriesOptions};

/// A counter of every unit of a kind.
enum Of {
    Core(fn(&CoreCounters) -> u64),
    L1(fn(&L1Stats) -> u64),
    L2(fn(&L2Stats) -> u64),
    Dram(fn(&Counts) -> u64),
}

impl Of {
    fn total(&self, machine: &Machine) -> u64 {
        match self {
            Self::Core(count) => machine.cores().iter().map(|core| count(core.counters())).sum(),
            Self::L1(count) => machine.lsus().iter().map(|lsu| count(lsu.stats())).sum(),
            Self::L2(count) => machine.banks().iter().map(|bank| count(bank.stats())).sum(),
            Self::Dram(count) => machine.drams().iter().map(|dram| count(&dram.counts())).sum(),
        }
    }
}

/// Headings, and the counters whose increase stands below.
const COLUMNS: [(&str, Of); 18] = [
    ("warp_instructions", Of::Core(|core| core.warp_instructions)),
    ("thread_instructions", Of::Core(|core| core.thread_instructions)),
    ("l1_accesses", Of::L1(|l1| l1.accesses)),
    ("l1_hits", Of::L1(|l1| l1.hits)),
    ("l1_hit_pending", Of::L1(|l1| l1.hit_pending)),
    ("l1_misses", Of::L1(|l1| l1.misses)),
    ("l1_bypasses", Of::L1(|l1| l1.bypasses)),
    ("l1_store_hits", Of::L1(|l1| l1.store_hits)),
    ("l1_store_misses", Of::L1(|l1| l1.store_misses)),
    ("l2_accesses", Of::L2(|l2| l2.accesses)),
    ("l2_hits", Of::L2(|l2| l2.hits)),
    ("l2_hit_pending", Of::L2(|l2| l2.hit_pending)),
    ("l2_misses", Of::L2(|l2| l2.misses)),
    ("l2_writebacks", Of::L2(|l2| l2.writebacks)),
    ("dram_reads", Of::Dram(|dram| dram.reads)),
    ("dram_writes", Of::Dram(|dram| dram.writes)),
    ("dram_row_hits", Of::Dram(|dram| dram.row_hits)),
    ("dram_bytes", Of::Dram(|dram| dram.bytes)),
];

/// What is counted by now.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Counted {
    /// Cycles of an interval.
    interval: u64,
    /// First cycle of the interval under way.
    from: u64,
    /// Totals at that cycle.
    totals: [u64; COLUMNS.len()],
}

/// The file under way.
pub(super) struct Series {
    path: PathBuf,
    writer: csv::Writer<PartFile>,
    counted: Counted,
}

impl Series {
    pub(super) fn create(options: &SeriesOptions) -> Result<Self, RunError> {
        let SeriesOptions { path, interval } = options;
        let file = PartFile::create(path).map_err(|e| RunError::input(path, &e))?;
        let mut writer = csv::Writer::from_writer(file);
        let head = ["from_cycle", "to_cycle"].into_iter().chain(COLUMNS.map(|(name, _)| name));
        writer.write_record(head).map_err(|e| RunError::input(path, &e))?;
        let counted = Counted { interval: *interval, from: 0, totals: [0; COLUMNS.len()] };
        Ok(Self { path: path.clone(), writer, counted })
    }

    /// Goes on with a run of so many cycles, of which another series may have counted some: with the interval under way
    /// then, if it had intervals like these.
    pub(super) fn go_on(&mut self, counted: Option<Counted>, cycle: u64, machine: &Machine) {
        let interval = self.counted.interval;
        let new = || Counted { interval, from: cycle, totals: COLUMNS.map(|(_, of)| of.total(machine)) };
        self.counted = counted.filter(|counted| counted.interval == interval).unwrap_or_else(new);
    }

    /// What is counted by now.
    pub(super) fn counted(&self) -> Counted {
        self.counted
    }

    /// Writes the rows of all intervals that end before or at `cycle`: nothing of that cycle has
    /// happened yet.
    #[inline]
    pub(super) fn reach(&mut self, cycle: u64, machine: &Machine) -> Result<(), RunError> {
        while cycle - self.counted.from >= self.counted.interval {
            self.row(self.counted.from + self.counted.interval, machine)?;
        }
        Ok(())
    }

    /// Writes the last row, which ends before `cycle`, and keeps the file.
    pub(super) fn finish(mut self, cycle: u64, machine: &Machine) -> Result<PathBuf, RunError> {
        self.reach(cycle, machine)?;
        if cycle > self.counted.from {
            self.row(cycle, machine)?;
        }
        let Self { path, writer, .. } = self;
        let kept = writer.into_inner().map_err(csv::IntoInnerError::into_error).and_then(PartFile::keep);
        kept.map_err(|e: io::Error| RunError::input(&path, &e))
    }

    fn row(&mut self, to: u64, machine: &Machine) -> Result<(), RunError> {
        let totals = COLUMNS.map(|(_, of)| of.total(machine));
        let Counted { from, totals: before, .. } = &mut self.counted;
        let increases = totals.iter().zip(&*before).map(|(now, before)| now - before);
        let row = [*from, to].into_iter().chain(increases).map(|number| number.to_string());
        self.writer.write_record(row).map_err(|e| RunError::input(&self.path, &e))?;
        (*from, *before) = (to, totals);
        Ok(())
    }
}
