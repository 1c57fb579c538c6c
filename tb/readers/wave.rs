//! # Waveform: a dump that grows while the machine runs
//! [`Waveform::sample`] after every step of the simulator describes the blocks that were evaluated
//! or sent a beat, and writes the values that changed: a value is found by its place in its
//! block's description, no name is compared and nothing allocated. Blocks without a selected
//! signal are never described, nor are the parts of a block.
//!
//! What is written at a clock edge is the state that the edge leaves behind. A beat shows in its
//! channel from the edge that sent it to the edge that takes it.
//!
//! Times are picoseconds, rounded: cycle `n` of a clock of `f` hertz stands at `n * 10^12 / f`.
//! Two edges of different clocks that round to one picosecond are written one apart.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rtl::kernel::{ArrayView, BlockId, Blocks, Clocks, Describe, Field, Fields, Logic, Simulator};
use waves::gtkw::{Item, Marker, SaveFile, save_path};
use waves::part_file::PartFile;
use waves::scope::{Glob, NoMatch, Selection, Window};
use waves::signal::{SignalId, Tree};
use waves::vcd::{TimeUnit, Timescale, VcdWriter};

use super::outline::{CellPlan, Outline, Plan, Position};

/// What to write, and when.
#[derive(Clone, Copy, Debug)]
pub struct WaveSpec<'a> {
    /// The signals; none is everything but entries of tables and memories.
    pub globs: &'a [Glob],
    /// In which cycles of `clock`.
    pub window: Window,
    /// The machine's clocks.
    pub clocks: &'a Clocks,
    /// The clock domain that the window counts in.
    pub clock: usize,
}

/// Why there is no waveform.
#[derive(Debug, thiserror::Error)]
pub enum WaveError {
    /// A glob chooses nothing.
    #[error(transparent)]
    NoMatch(#[from] NoMatch),
    /// The file cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A dump being written to `W`.
#[derive(Debug)]
pub struct Waveform<W: Write> {
    tree: Tree,
    selection: Selection,
    /// By clock domain and slot.
    plans: Vec<Vec<Plan>>,
    /// Blocks with a selected signal, a bit set for each domain.
    selected: Vec<u128>,
    dump: VcdWriter<W>,
    window: Window,
    /// Of the clock that the window counts in, in ticks.
    period: u64,
    ticks_per_second: u64,
    /// Everything must be written at the next sample.
    all: bool,
    /// Tick and time of the first sample and of the last.
    sampled: Option<[(u64, u64); 2]>,
}

/// A finished dump with what a save file needs to know of it.
#[derive(Debug)]
pub struct Recorded {
    /// The dump.
    pub path: PathBuf,
    /// All signals of the machine.
    pub tree: Tree,
    /// Those in the dump.
    pub selection: Selection,
    /// First and last time of the dump, in picoseconds.
    pub sight: (u64, u64),
}

impl Recorded {
    /// Writes a GTKWave save file of these traces beside the dump and returns its path: `x.gtkw`, or
    /// `x.VIEW.gtkw` for a view.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, view: Option<&str>, items: &[Item], markers: &[Marker]) -> io::Result<PathBuf> {
        let path = save_path(&self.path, view);
        let Self { path: dump, tree, sight, .. } = self;
        SaveFile { dump, tree, items, markers, sight: *sight }.write(&path)?;
        Ok(path)
    }
}

impl Waveform<PartFile> {
    /// Starts a dump that appears under this name when it is finished.
    ///
    /// # Errors
    /// A glob that chooses nothing, or a file that cannot be created.
    pub fn create(path: &Path, blocks: &impl Blocks, spec: WaveSpec<'_>) -> Result<Self, WaveError> {
        Self::start(blocks, spec, || PartFile::create(path))
    }

    /// Ends the dump at `tick`, the end of the run, and gives the file its name.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self, tick: u64) -> io::Result<Recorded> {
        self.end(tick)?;
        let path = self.dump.finish()?;
        let sight = self.sampled.map_or((0, 0), |[(_, first), (_, last)]| (first, last));
        Ok(Recorded { path, tree: self.tree, selection: self.selection, sight })
    }
}

impl<W: Write> Waveform<W> {
    /// Starts a dump.
    ///
    /// # Errors
    /// A glob that chooses nothing, or output that fails.
    pub fn new(out: W, blocks: &impl Blocks, spec: WaveSpec<'_>) -> Result<Self, WaveError> {
        Self::start(blocks, spec, || Ok(out))
    }

    /// The output is opened last, so that a misspelt glob leaves no file.
    fn start(
        blocks: &impl Blocks,
        spec: WaveSpec<'_>,
        open: impl FnOnce() -> io::Result<W>,
    ) -> Result<Self, WaveError> {
        let outline = Outline::of(blocks, spec.globs);
        let selection = match spec.globs {
            [] => Selection::default_of(&outline.tree),
            globs => Selection::new(&outline.tree, globs)?,
        };
        let plans = outline.plans(&selection);
        let bit = |set: u128, (slot, plan): (usize, &Plan)| set | u128::from(plan.is_selected()) << slot;
        let selected = plans.iter().map(|domain| domain.iter().enumerate().fold(0, bit)).collect();
        let dump = VcdWriter::new(open()?, &outline.tree, &selection, Timescale::new(1, TimeUnit::PS))?;
        Ok(Self {
            tree: outline.tree,
            selection,
            plans,
            selected,
            dump,
            window: spec.window,
            period: u64::from(spec.clocks.period(spec.clock)),
            ticks_per_second: spec.clocks.ticks_per_second(),
            all: true,
            sampled: None,
        })
    }

    /// Writes what the last step of the simulator changed.
    ///
    /// # Errors
    /// If the output fails.
    ///
    /// # Panics
    /// If a block describes more or fewer values than at the start.
    pub fn sample(&mut self, sim: &mut Simulator, blocks: &impl Blocks) -> io::Result<()> {
        let tick = sim.tick();
        if !self.window.contains(tick / self.period) {
            return Ok(());
        }
        self.go_to(tick)?;
        let all = std::mem::take(&mut self.all);
        for domain in 0..self.plans.len() {
            let changed = sim.evaluated(domain) | sim.take_touched(domain);
            let mut due = self.selected[domain] & if all { u128::MAX } else { changed };
            while due != 0 {
                let slot = due.trailing_zeros() as u8;
                due &= due - 1;
                self.write_block(BlockId { domain: domain as u8, slot }, blocks)?;
            }
        }
        Ok(())
    }

    /// Makes the next sample describe every block: after a host changed a machine by other means
    /// than beats.
    pub fn refresh(&mut self) {
        self.all = true;
    }

    /// True if neither this tick nor any later one is written.
    #[must_use]
    pub fn is_over(&self, tick: u64) -> bool {
        self.window.is_over(tick / self.period)
    }

    /// Where a tick stands in the dump, in picoseconds.
    #[must_use]
    pub fn time_of(&self, tick: u64) -> u64 {
        const PICOSECONDS: u128 = 1_000_000_000_000;
        let second = u128::from(self.ticks_per_second);
        ((u128::from(tick) * PICOSECONDS + second / 2) / second) as u64
    }

    /// All signals of the machine.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Those in the dump.
    #[must_use]
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Bytes of the dump so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.dump.bytes()
    }

    /// Ends the dump at `tick`, the end of the run, and hands the output back.
    ///
    /// # Errors
    /// If the output fails.
    pub fn into_inner(mut self, tick: u64) -> io::Result<W> {
        self.end(tick)?;
        self.dump.into_inner()
    }

    /// Moves on to a tick inside the window.
    fn go_to(&mut self, tick: u64) -> io::Result<()> {
        let time = self.time_of(tick);
        match &mut self.sampled {
            None => self.sampled = Some([(tick, time); 2]),
            Some([_, last]) if tick <= last.0 => return Ok(()),
            Some([_, last]) => *last = (tick, time.max(last.1 + 1)),
        }
        let time = self.sampled.map_or(time, |[_, (_, time)]| time);
        self.dump.time(time)
    }

    /// The dump reaches to the end of the run, however long the machine slept before it.
    fn end(&mut self, tick: u64) -> io::Result<()> {
        if self.sampled.is_some() && !self.is_over(tick) { self.go_to(tick) } else { Ok(()) }
    }

    fn write_block(&mut self, block: BlockId, blocks: &impl Blocks) -> io::Result<()> {
        let plan = &self.plans[usize::from(block.domain)][usize::from(block.slot)];
        let mut sampler = Sampler {
            plan,
            dump: &mut self.dump,
            at: Position::default(),
            skipping: 0,
            resume: Position::default(),
            result: Ok(()),
        };
        blocks.describe(block, &mut sampler);
        let end = Position { value: plan.values.len(), span: plan.spans.len(), memory: plan.memories.len() };
        let at = sampler.at;
        assert!(
            at == end,
            "{block:?} described {at:?} this time and {end:?} at first: `describe` depends on the state"
        );
        sampler.result
    }
}

/// Follows the description of one block along its plan.
struct Sampler<'a, W: Write> {
    plan: &'a Plan,
    dump: &'a mut VcdWriter<W>,
    at: Position,
    /// Scopes open inside the outermost one that is not selected, itself included.
    skipping: u32,
    /// Where that scope ends.
    resume: Position,
    result: io::Result<()>,
}

impl<W: Write> Sampler<'_, W> {
    /// The signal of the next value, if it is selected.
    #[inline]
    fn next(&mut self) -> Option<SignalId> {
        if self.skipping > 0 {
            return None;
        }
        let signal = self.plan.values.get(self.at.value).copied().flatten();
        self.at.value += 1;
        signal
    }

    #[inline]
    fn put(&mut self, value: u64) {
        if let Some(signal) = self.next() {
            keep(&mut self.result, self.dump.sample(signal, value));
        }
    }
}

/// The writer repeats its first error until somebody has seen it, so the last result tells all.
#[inline]
fn keep(result: &mut io::Result<()>, new: io::Result<()>) {
    if new.is_err() {
        *result = new;
    }
}

impl<W: Write> Fields for Sampler<'_, W> {
    #[inline]
    fn field(&mut self, field: Field) {
        self.put(field.value);
    }
    fn wide(&mut self, _: &'static str, bytes: &[u8]) {
        if let Some(signal) = self.next() {
            keep(&mut self.result, self.dump.sample_bytes(signal, bytes));
        }
    }
}

impl<W: Write> Describe for Sampler<'_, W> {
    fn enter(&mut self, _: &'static str, _: Option<u32>) {
        if self.skipping > 0 {
            self.skipping += 1;
            return;
        }
        let span = self.plan.spans.get(self.at.span).copied().unwrap_or_default();
        self.at.span += 1;
        if !span.selected {
            self.skipping = 1;
            self.resume = span.end;
        }
    }
    fn leave(&mut self) {
        if self.skipping > 0 {
            self.skipping -= 1;
            if self.skipping == 0 {
                self.at = self.resume;
            }
        }
    }
    fn wanted(&self) -> bool {
        self.skipping == 0
    }
    fn probe(&mut self, field: Field) {
        self.put(field.value);
    }
    fn stat(&mut self, _: &'static str, count: u64) {
        self.put(count);
    }
    fn array(&mut self, _: &'static str, array: &dyn ArrayView) {
        if self.skipping > 0 {
            return;
        }
        let plan = self.plan;
        for CellPlan { row, column, fields } in plan.memories.get(self.at.memory).into_iter().flatten() {
            let mut cell = CellSampler { fields, dump: self.dump, result: &mut self.result };
            array.cell(*row, *column, &mut cell);
        }
        self.at.memory += 1;
    }
    fn channel(&mut self, _: &'static str, _: u32, _: u32) {}
    fn logic(&mut self, _: &'static str, _: Logic) {}
}

/// Follows the fields of one cell.
struct CellSampler<'a, W: Write> {
    fields: &'a [Option<SignalId>],
    dump: &'a mut VcdWriter<W>,
    result: &'a mut io::Result<()>,
}

impl<W: Write> CellSampler<'_, W> {
    fn next(&mut self) -> Option<SignalId> {
        let (&signal, later) = self.fields.split_first()?;
        self.fields = later;
        signal
    }
}

impl<W: Write> Fields for CellSampler<'_, W> {
    fn field(&mut self, field: Field) {
        if let Some(signal) = self.next() {
            keep(self.result, self.dump.sample(signal, field.value));
        }
    }
    fn wide(&mut self, _: &'static str, bytes: &[u8]) {
        if let Some(signal) = self.next() {
            keep(self.result, self.dump.sample_bytes(signal, bytes));
        }
    }
}
