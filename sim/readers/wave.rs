//! # Waveform: a dump written while the machine runs
//! After every simulation step, [`Waveform::sample`] writes the values that changed ([`super::walk`]). The
//! values at a clock edge are the state after that edge. A beat is visible in its channel from the clock edge
//! at which it is sent until the edge at which it is taken.
//!
//! A waveform passes through these stages:
//!
//! | stage   | state of the dump                                                              |
//! |---------|--------------------------------------------------------------------------------|
//! | waiting | not started: waits for a trigger or a failure, and keeps the last cycles in memory |
//! | writing | being written                                                                  |
//! | ended   | complete: the size limit was reached, or the failure was written               |
//!
//! Every dump contains the core cycle number and the clocks, whatever signals are selected ([`Ticker`]).
//!
//! Times are in picoseconds, rounded: cycle `n` of a clock with `f` hertz is at `n * 10^12 / f`. If two edges
//! of different clocks round to the same picosecond, the second is written one picosecond later.

use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use rtl::kernel::{Blocks, Clocks};
use waves::atomic_file::AtomicFile;
use waves::dump::{Dump, Format};
use waves::gtkw::{Item, MAX_MARKERS, Marker, SaveFile, by_block, save_path};
use waves::history::History;
use waves::scope::{Glob, GlobError, NoMatch, Selection, Window};
use waves::signal::{SignalId, Tree};
use waves::sink::Sink;
use waves::trigger::{Trigger, TriggerError, paths_in};
use waves::vcd::{TimeUnit, Timescale};
use waves::view::{BUILT_IN, View};

use super::outline::Outline;
use super::scopes::ROOT;
use super::walk::{ChangedBlocks, Walker};

/// Name of the signal that counts core cycles, and its width in bits.
const CYCLE: (&str, u32) = ("cycle", 64);
/// Numbers of cycles that a save file displays: 60 before and 40 after the trigger or failure.
const AROUND: [u64; 2] = [60, 40];
const PICOSECONDS: u128 = 1_000_000_000_000;
/// Trigger text that makes the dump start at a failed check instead of at a condition on signals.
const FAILURE: &str = "failure";

/// Specification of a waveform: which signals and which cycles to write.
#[derive(Clone, Copy, Debug)]
pub struct WaveSpec<'a> {
    /// File format of the dump.
    pub format: Format,
    /// Globs that select signals. An empty list selects everything except entries of tables and memories.
    pub globs: &'a [Glob],
    /// Range of cycles to write, counted by the clock `clock`.
    pub window: Window,
    /// Condition on signals that starts the dump ([`Trigger`]). The text `failure` starts the dump at a
    /// failed check, and `failure TEXT` at a failed check whose message contains the text.
    pub trigger: Option<&'a str>,
    /// Number of cycles before the trigger that the dump includes. They are kept in memory until the
    /// trigger fires. If the run fails before the trigger fires, the dump consists of the last cycles
    /// before the failure.
    pub last: Option<u64>,
    /// Number of cycles after the trigger at which the dump ends.
    pub after: Option<u64>,
    /// Maximum size of the dump, in bytes.
    pub limit: Option<u64>,
    /// Clocks of the machine.
    pub clocks: &'a Clocks,
    /// Names of the clocks in the dump. If empty, the clocks are named `clk0`, `clk1` and so on.
    pub clock_names: &'a [&'static str],
    /// Clock domain whose clock counts the cycles in this specification.
    pub clock: usize,
}

impl<'a> WaveSpec<'a> {
    /// Creates the specification of a VCD file with the default selection of signals and all cycles of a run.
    #[must_use]
    pub fn of(clocks: &'a Clocks, clock: usize) -> Self {
        let (format, window) = (Format::Vcd, Window::ALL);
        let (trigger, last, after, limit) = (None, None, None, None);
        Self { format, globs: &[], window, trigger, last, after, limit, clocks, clock_names: &[], clock }
    }
}

/// Reason why a waveform cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WaveError {
    /// A glob matches no signal.
    #[error(transparent)]
    NoMatch(#[from] NoMatch),
    /// The trigger is not valid.
    #[error(transparent)]
    Trigger(#[from] TriggerError),
    /// A glob is not valid.
    #[error(transparent)]
    Glob(#[from] GlobError),
    /// The waveform file cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writer of the signals that show the core cycle and the clocks. These signals are written only when another
/// signal changes, so an idle machine adds nothing to the dump. A clock signal changes its level at each
/// clock edge that is written to the dump, not at every edge.
#[derive(Debug)]
struct Ticker {
    cycle: SignalId,
    /// For each clock, its signal, its period in ticks and the current level of the signal.
    clocks: Vec<(SignalId, u64, bool)>,
    /// Tick of the last clock edges written.
    at: Option<u64>,
}

impl Ticker {
    /// Names and widths of the signals for the core cycle and the clocks. They must be the first signals of
    /// the tree.
    fn signals(clocks: &Clocks, names: &[&str]) -> Vec<(String, u32)> {
        let numbered = || (0..clocks.periods().len()).map(|number| format!("clk{number}"));
        let named = || names.iter().map(|&name| name.to_owned());
        let clocks: Vec<String> = if names.is_empty() { numbered().collect() } else { named().collect() };
        let (cycle, width) = CYCLE;
        std::iter::once((cycle.to_owned(), width)).chain(clocks.into_iter().map(|name| (name, 1))).collect()
    }

    /// Creates the writer for a tree whose first `count` signals show the core cycle and the clocks.
    fn new(tree: &Tree, count: usize, clocks: &Clocks) -> Self {
        let mut ids = tree.ids().take(count);
        let cycle = ids.next().expect("the cycle is the first signal of the tree");
        let clocks = ids.zip(clocks.periods()).map(|(id, &period)| (id, u64::from(period), false)).collect();
        Self { cycle, clocks, at: None }
    }

    fn ids(&self) -> impl Iterator<Item = SignalId> + '_ {
        std::iter::once(self.cycle).chain(self.clocks.iter().map(|&(id, ..)| id))
    }

    /// Writes the core cycle and the clocks at a tick at which another signal has changed.
    fn give(&mut self, tick: u64, cycle: u64, to: &mut impl Sink) -> io::Result<()> {
        let has_moved = self.at.replace(tick) != Some(tick);
        to.sample(self.cycle, cycle)?;
        self.clocks.iter_mut().try_for_each(|(id, period, level)| {
            *level ^= has_moved && tick.is_multiple_of(*period);
            to.sample(*id, u64::from(*level))
        })
    }
}

#[derive(Debug)]
enum Stage<W: Write + Seek> {
    Waiting {
        out: W,
        history: Box<History>,
        start: Option<Start>,
    },
    Writing(Dump<W>),
    Ended(W),
    /// The output failed when the dump was started or ended, so nothing more can be written.
    Lost,
}

/// Event that starts a waveform dump.
#[derive(Debug)]
enum Start {
    Condition(Trigger),
    /// Start at a failed check whose message contains this text.
    Failure(String),
}

/// Waveform dump that is written to an output of type `W`.
#[derive(Debug)]
pub struct Waveform<W: Write + Seek> {
    outline: Outline,
    selection: Selection,
    walker: Walker,
    ticker: Ticker,
    stage: Stage<W>,
    format: Format,
    window: Window,
    /// True if cycles are kept in memory while the dump waits.
    remembers: bool,
    after: Option<u64>,
    limit: Option<u64>,
    /// Period, in ticks, of the clock that counts the cycles of the waveform.
    period: u64,
    ticks_per_second: u64,
    /// Tick and time in ps of the first sample and of the last sample.
    sampled: Option<[(u64, u64); 2]>,
    /// Tick of the last simulation step inside the window, even if no signal changed in this step.
    passed: u64,
    markers: Vec<Marker>,
    /// Cycle at which the dump ended early, and the reason. Early means before the end of the requested
    /// window and before the end of the run.
    cut: Option<(u64, Cut)>,
}

/// Reason why a dump ended before the end of its window and before the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The dump has reached its size limit.
    Limit,
    /// The requested number of cycles has passed since the trigger; holds this number.
    After(u64),
}

/// Finished dump, with the data for a save file.
#[derive(Debug)]
pub struct RecordedDump {
    /// Path of the dump.
    pub path: PathBuf,
    /// All signals of the machine.
    pub tree: Tree,
    /// Signals that the dump contains.
    pub selection: Selection,
    /// First and last time in ps that a save file displays. The interval surrounds the first marker; without
    /// a marker, it is the whole dump.
    pub sight: (u64, u64),
    /// Markers at the times of the trigger and of failures.
    pub markers: Vec<Marker>,
    /// Cycle at which the dump ended early, and the reason. Early means before the end of the window and
    /// before the end of the run.
    pub cut: Option<(u64, Cut)>,
}

impl RecordedDump {
    /// Writes a GTKWave save file with the traces `items` next to the dump: `x.gtkw`, or `x.VIEW.gtkw` for a
    /// view. Returns the paths of all written files.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn save(&self, view: Option<&str>, items: &[Item]) -> io::Result<Vec<PathBuf>> {
        let path = save_path(&self.path, view);
        let Self { path: dump, tree, sight, markers, .. } = self;
        SaveFile { dump, tree, items, markers, sight: *sight }.write(&path)
    }
}

impl RecordedDump {
    /// Writes a save file with all signals of the dump. In addition, for each built-in view, writes a save
    /// file for the first scope in the dump that the view can show. Returns the paths of the dump and of all
    /// written files, each once.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    pub fn save_all(&self) -> io::Result<Vec<PathBuf>> {
        let Self { path, tree, selection, .. } = self;
        let mut written = vec![path.clone()];
        let mut add = |files: Vec<PathBuf>| {
            // Several save files may use the same filter file, but each path is returned only once.
            files.into_iter().for_each(|file| {
                if !written.contains(&file) {
                    written.push(file)
                }
            });
        };
        add(self.save(None, &by_block(tree, selection))?);
        for built_in in BUILT_IN {
            if let Some(scope) = built_in.scope(tree, selection)
                && let Ok(view) = View::parse_built_in(built_in.name)
            {
                let applied = view.apply(tree, selection, scope);
                if !applied.items.is_empty() {
                    let cycle = tree.ids().find(|&id| tree.path(id) == format!("{ROOT}.{}", CYCLE.0));
                    let cycle = cycle.map(|id| Item::Signal { id, colour: None, label: Some(CYCLE.0.to_owned()) });
                    add(self.save(Some(built_in.name), &cycle.into_iter().chain(applied.items).collect::<Vec<_>>())?);
                }
            }
        }
        Ok(written)
    }
}

impl Waveform<AtomicFile> {
    /// Starts a waveform. Until the waveform is finished, it is written to a temporary file.
    ///
    /// # Errors
    /// Fails if a glob selects nothing, the trigger is invalid, or the file cannot be created.
    pub fn create(path: &Path, blocks: &impl Blocks, spec: WaveSpec<'_>) -> Result<Self, WaveError> {
        Self::start(blocks, spec, || AtomicFile::create(path))
    }

    /// Ends the waveform at `tick`, the end of the run, and renames the temporary file to its final name.
    /// Returns `None` and leaves no file if the trigger never fired or the window contains no sample.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn finish(mut self, tick: u64) -> io::Result<Option<RecordedDump>> {
        self.end(tick)?;
        let [before, after] = AROUND.map(|cycles| self.time_of(cycles * self.period));
        let file = match self.stage {
            Stage::Waiting { .. } | Stage::Lost => return Ok(None),
            Stage::Writing(_) if self.sampled.is_none() => return Ok(None),
            Stage::Writing(dump) => dump.into_inner()?,
            Stage::Ended(file) => file,
        };
        let whole = self.sampled.map_or((0, 0), |[(_, first), (_, last)]| (first, last));
        let sight = self.markers.first().map_or(whole, |&Marker { time, .. }| {
            (time.saturating_sub(before).max(whole.0), time.saturating_add(after).min(whole.1))
        });
        let Self { outline, selection, markers, period, .. } = self;
        let cut = self.cut.filter(|&(cycle, why)| why == Cut::Limit || tick / period > cycle);
        Ok(Some(RecordedDump { path: file.commit()?, tree: outline.tree, selection, sight, markers, cut }))
    }
}

impl<W: Write + Seek> Waveform<W> {
    /// Starts a dump.
    ///
    /// # Errors
    /// Fails if a glob selects nothing, the trigger is invalid, or the output cannot be written.
    pub fn new(out: W, blocks: &impl Blocks, spec: WaveSpec<'_>) -> Result<Self, WaveError> {
        Self::start(blocks, spec, || Ok(out))
    }

    /// Starts a waveform. The output is opened last, so that a misspelled glob leaves no file.
    fn start(
        blocks: &impl Blocks,
        spec: WaveSpec<'_>,
        open: impl FnOnce() -> io::Result<W>,
    ) -> Result<Self, WaveError> {
        let failure = spec.trigger.and_then(failure_in);
        let condition = spec.trigger.filter(|_| failure.is_none());
        // A trigger may name table entries. They become signals only if a glob requests them, so the paths in
        // the trigger are used as additional globs. A path that is not a valid glob is reported later, when
        // the trigger is parsed.
        let watched = condition.into_iter().flat_map(paths_in).filter_map(|path| path.parse().ok());
        let asked: Vec<Glob> = spec.globs.iter().cloned().chain(watched).collect();
        let extra = Ticker::signals(spec.clocks, spec.clock_names);
        let choose = |tree: &Tree| -> Result<(Selection, Option<Start>), WaveError> {
            let mut selection = match spec.globs {
                [] => Selection::default_of(tree),
                globs => Selection::new(tree, globs)?,
            };
            Ticker::new(tree, extra.len(), spec.clocks).ids().for_each(|id| selection.add(id));
            let start = match (failure, condition) {
                (Some(text), _) => Some(Start::Failure(text.to_owned())),
                (None, Some(text)) => Some(Start::Condition(Trigger::parse(text, tree)?)),
                (None, None) => None,
            };
            Ok((selection, start))
        };
        let everything = || Outline::with(blocks, &asked, &extra);
        let mut outline =
            if spec.globs.is_empty() { everything() } else { Outline::of_reached(blocks, &asked, &extra) };
        if !spec.globs.is_empty() && choose(&outline.tree).is_err() {
            // The name in a glob or trigger does not exist. To suggest the most similar existing name,
            // signals are created for the whole machine.
            outline = everything();
        }
        let tree = &outline.tree;
        let (selection, start) = choose(tree)?;
        let period = u64::from(spec.clocks.period(spec.clock));
        let ticks_per_second = spec.clocks.ticks_per_second();
        let (sampled, stage) = if start.is_none() && spec.last.is_none() {
            (selection.clone(), Stage::Writing(Dump::new(open()?, spec.format, tree, &selection, picosecond())?))
        } else {
            let mut sampled = if spec.last.is_some() { selection.clone() } else { Selection::none(tree) };
            if let Some(Start::Condition(trigger)) = &start {
                trigger.signals().for_each(|id| sampled.add(id));
            }
            let span = u128::from(spec.last.unwrap_or(0)) * u128::from(period) * PICOSECONDS;
            let span = u64::try_from(span / u128::from(ticks_per_second)).unwrap_or(u64::MAX);
            let history = Box::new(History::new(tree, &sampled, span));
            (sampled, Stage::Waiting { out: open()?, history, start })
        };
        Ok(Self {
            walker: Walker::new(&outline, &sampled),
            ticker: Ticker::new(&outline.tree, extra.len(), spec.clocks),
            outline,
            selection,
            stage,
            format: spec.format,
            window: spec.window,
            remembers: spec.last.is_some(),
            after: spec.after,
            limit: spec.limit,
            period,
            ticks_per_second,
            sampled: None,
            passed: 0,
            markers: Vec::new(),
            cut: None,
        })
    }

    /// Writes the values that changed in the last simulation step, which ended at `tick`.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    ///
    /// # Panics
    /// Panics if a hardware block describes more or fewer values than at the start.
    pub fn sample(&mut self, tick: u64, changed: &ChangedBlocks, blocks: &impl Blocks) -> io::Result<()> {
        let cycle = tick / self.period;
        if !self.window.contains(cycle) {
            return Ok(());
        }
        self.passed = tick;
        if matches!(self.stage, Stage::Writing(_)) && !self.walker.is_due(changed) {
            return Ok(());
        }
        self.go_to(tick)?;
        match &mut self.stage {
            Stage::Writing(dump) => {
                self.walker.give(changed, blocks, dump)?;
                if dump.has_changed() {
                    self.ticker.give(tick, cycle, dump)?;
                }
                self.check_limit(cycle)
            }
            Stage::Waiting { history, start, .. } => {
                self.walker.give(changed, blocks, &mut **history)?;
                if self.remembers && history.has_changed() {
                    self.ticker.give(tick, cycle, &mut **history)?;
                }
                let Some(Start::Condition(trigger)) = start else { return Ok(()) };
                let count = self.ticker.cycle;
                if !trigger.evaluate(cycle, |id| if id == count { Some(cycle) } else { history.value(id) }) {
                    return Ok(());
                }
                let label = format!("trigger: {}", trigger.text());
                self.mark(label);
                self.begin(changed, blocks)?;
                self.check_limit(cycle)
            }
            Stage::Ended(_) | Stage::Lost => Ok(()),
        }
    }

    /// Records a failed check at `tick`, the tick of the last sample. If the dump waits for this failure, it
    /// starts; if it waits for a different failure, it keeps waiting. If it waits for a condition on signals,
    /// it ends, and contains only the cycles that were kept in memory.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn fail(&mut self, label: &str, tick: u64, changed: &ChangedBlocks, blocks: &impl Blocks) -> io::Result<()> {
        if !self.window.contains(tick / self.period) {
            return Ok(());
        }
        let goes_on = match &self.stage {
            Stage::Writing(_) => {
                self.go_to(tick)?;
                self.mark(first_line(label));
                return Ok(());
            }
            Stage::Waiting { start: Some(Start::Failure(text)), .. } if label.contains(text) => true,
            Stage::Waiting { start: Some(Start::Failure(_)), .. } => return Ok(()),
            Stage::Waiting { .. } if self.remembers => false,
            Stage::Waiting { .. } | Stage::Ended(_) | Stage::Lost => return Ok(()),
        };
        self.mark(first_line(label));
        self.begin(changed, blocks)?;
        if goes_on { Ok(()) } else { self.close() }
    }

    /// Makes the next sample read the signals of every hardware block. This is necessary after the host code
    /// of the simulator has changed the machine directly instead of sending beats.
    pub fn refresh(&mut self) {
        self.walker.refresh();
    }

    /// Converts a tick to a time in the dump, in ps.
    #[must_use]
    pub fn time_of(&self, tick: u64) -> u64 {
        let second = u128::from(self.ticks_per_second);
        ((u128::from(tick) * PICOSECONDS + second / 2) / second) as u64
    }

    /// Returns all signals of the machine.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.outline.tree
    }

    /// Returns the signals that the dump contains.
    #[must_use]
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Size of the dump so far, in bytes; for FST, the size before compression.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match &self.stage {
            Stage::Writing(dump) => dump.bytes(),
            Stage::Waiting { .. } | Stage::Ended(_) | Stage::Lost => 0,
        }
    }

    /// Ends the dump at `tick`, the end of the run, and returns the output.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn into_inner(mut self, tick: u64) -> io::Result<W> {
        self.end(tick)?;
        match self.stage {
            Stage::Writing(dump) => dump.into_inner(),
            Stage::Waiting { out, .. } | Stage::Ended(out) => Ok(out),
            Stage::Lost => Err(lost()),
        }
    }

    /// Advances the dump to a tick inside the window.
    fn go_to(&mut self, tick: u64) -> io::Result<()> {
        let time = self.time_of(tick);
        match &mut self.sampled {
            None => self.sampled = Some([(tick, time); 2]),
            Some([_, last]) if tick <= last.0 => return Ok(()),
            Some([_, last]) if !matches!(self.stage, Stage::Ended(_)) => *last = (tick, time.max(last.1 + 1)),
            Some(_) => return Ok(()),
        }
        let time = self.sampled.map_or(time, |[_, (_, time)]| time);
        match &mut self.stage {
            Stage::Writing(dump) => dump.time(time),
            Stage::Waiting { history, .. } => history.time(time),
            Stage::Ended(_) | Stage::Lost => Ok(()),
        }
    }

    /// Extends the dump to the end of the run or of the window. Without this, it would end at the last time
    /// at which a hardware block was evaluated.
    fn end(&mut self, tick: u64) -> io::Result<()> {
        let is_over = self.window.is_over(tick / self.period);
        let end = if is_over { self.passed } else { tick };
        if self.sampled.is_some() { self.go_to(end) } else { Ok(()) }
    }

    /// Adds a marker at the time of the last sample.
    fn mark(&mut self, label: String) {
        if let Some([_, (_, time)]) = self.sampled
            && self.markers.len() < MAX_MARKERS
        {
            self.markers.push(Marker { time, label });
        }
    }

    /// Starts writing the dump: first the cycles kept in memory, or only the current state if none are kept.
    fn begin(&mut self, changed: &ChangedBlocks, blocks: &impl Blocks) -> io::Result<()> {
        let stage = std::mem::replace(&mut self.stage, Stage::Lost);
        let Stage::Waiting { out, history, .. } = stage else { return Err(lost()) };
        let mut dump = Dump::new(out, self.format, &self.outline.tree, &self.selection, picosecond())?;
        if self.remembers {
            if let (Some(first), Some([from, _])) = (history.first(), &mut self.sampled) {
                from.1 = first;
            }
            history.replay(&mut dump)?;
        } else if let Some([from, last]) = &mut self.sampled {
            *from = *last;
            dump.time(last.1)?;
            self.walker = Walker::new(&self.outline, &self.selection);
            self.walker.give(changed, blocks, &mut dump)?;
            self.ticker.give(last.0, last.0 / self.period, &mut dump)?;
        }
        self.stage = Stage::Writing(dump);
        if let (Some(after), Some([_, (tick, _)])) = (self.after, self.sampled) {
            let end = (tick / self.period).saturating_add(after);
            self.window = self.window.until(end);
            self.cut = (self.window.to() == Some(end)).then_some((end, Cut::After(after)));
        }
        Ok(())
    }

    fn check_limit(&mut self, cycle: u64) -> io::Result<()> {
        if self.limit.is_some_and(|limit| self.bytes() >= limit) {
            self.cut = Some((cycle, Cut::Limit));
            return self.close();
        }
        Ok(())
    }

    /// Ends the waveform dump.
    fn close(&mut self) -> io::Result<()> {
        let stage = std::mem::replace(&mut self.stage, Stage::Lost);
        let Stage::Writing(dump) = stage else { return Err(lost()) };
        self.stage = Stage::Ended(dump.into_inner()?);
        Ok(())
    }
}

/// If the trigger waits for a failed check, returns the text that the message of the check must contain.
/// Returns `None` if the trigger is a condition on signals.
fn failure_in(trigger: &str) -> Option<&str> {
    let rest = trigger.trim().strip_prefix(FAILURE)?;
    (rest.is_empty() || rest.starts_with(' ')).then(|| rest.trim())
}

/// Returns the first line of a message, which labels a marker.
fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}

fn picosecond() -> Timescale {
    Timescale::new(1, TimeUnit::PS)
}

/// Creates the error for a dump that was abandoned after an earlier error. An earlier call has returned that
/// error.
fn lost() -> io::Error {
    io::Error::other("the waveform was abandoned after an earlier error")
}
