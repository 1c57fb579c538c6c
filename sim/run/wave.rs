//! Waveform of a run: converts the options of the waveform and writes its files.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rtl::machine::{CLOCKS, CORE, Machine};
use waves::atomic_file::AtomicFile;
use waves::dump::Format;
use waves::scope::{Glob, Window};

use super::{RunError, WaveOptions, without_name};
use crate::readers::{ChangedBlocks, Cut, WaveSpec, Waveform};

/// Waveform of a run that is being written.
pub(super) struct Wave {
    path: PathBuf,
    /// First core cycle that the waveform is requested to show.
    from: u64,
    /// True if the waveform does not start with the run, but at a trigger or a failure.
    waits: bool,
    dump: Waveform<AtomicFile>,
}

impl Wave {
    /// Starts the waveform that the options request.
    pub(super) fn open(options: &WaveOptions, machine: &Machine) -> Result<Self, RunError> {
        let WaveOptions { path, from, to, scopes, trigger, last, after, limit } = options;
        let bad = |reason: &dyn fmt::Display| RunError::input(path, reason);
        let globs: Vec<Glob> = scopes.iter().map(|glob| glob.parse()).collect::<Result<_, _>>().map_err(|e| bad(&e))?;
        let spec = WaveSpec {
            format: Format::of(path).map_err(|e| bad(&e))?,
            globs: &globs,
            window: Window::new(*from, *to).map_err(|e| bad(&e))?,
            trigger: trigger.as_deref(),
            last: *last,
            after: *after,
            limit: *limit,
            clock_names: &CLOCKS,
            ..WaveSpec::of(machine.clocks(), usize::from(CORE))
        };
        let dump = Waveform::create(path, machine, spec).map_err(|e| bad(&e))?;
        let waits = trigger.is_some() || last.is_some();
        Ok(Self { path: path.clone(), from: from.unwrap_or(0), waits, dump })
    }

    /// Makes the next sample read the signals of every hardware block, even if they have not changed.
    pub(super) fn refresh(&mut self) {
        self.dump.refresh();
    }

    /// Writes the signals that the last simulation step changed.
    pub(super) fn sample(&mut self, tick: u64, changed: &ChangedBlocks, machine: &Machine) -> Result<(), RunError> {
        self.dump.sample(tick, changed, machine).map_err(|e| unwritten(&self.path, &e))
    }

    /// Records a failure in the waveform. Depending on the options, the waveform starts, is marked at the
    /// failure, or ends.
    #[cold]
    pub(super) fn fail(
        &mut self,
        what: &str,
        tick: u64,
        changed: &ChangedBlocks,
        machine: &Machine,
    ) -> Result<(), RunError> {
        self.dump.fail(what, tick, changed, machine).map_err(|e| unwritten(&self.path, &e))
    }

    /// Completes the waveform of a run of `cycles` core cycles, and writes its save files. Returns the paths
    /// of the written files, and notes about them.
    pub(super) fn close(self, tick: u64, cycles: u64) -> Result<(Vec<PathBuf>, Vec<String>), RunError> {
        let Self { path, from, waits, dump } = self;
        let failed = |e: io::Error| unwritten(&path, &e);
        let Some(recorded) = dump.finish(tick).map_err(failed)? else {
            let why = match (from > cycles, waits) {
                (true, _) => {
                    format!("nothing was recorded, the run ended in cycle {cycles}, before --wave-from {from}")
                }
                (false, true) => "the event that starts it never occurred".to_owned(),
                (false, false) => "nothing was recorded, no signal changed in the requested cycles".to_owned(),
            };
            return Ok((Vec::new(), vec![format!("{}: not written, {why}", path.display())]));
        };
        let written = recorded.save_all().map_err(failed)?;
        let cut = |(cycle, why): (u64, Cut)| {
            let why = match why {
                Cut::Limit => "where it reached --wave-limit".to_owned(),
                Cut::After(cycles) => format!("{cycles} after its trigger"),
            };
            format!("{}: ends in cycle {cycle}, {why}", path.display())
        };
        Ok((written, recorded.cut.map(cut).into_iter().collect()))
    }
}

fn unwritten(path: &Path, error: &io::Error) -> RunError {
    let error = error.to_string();
    match without_name(path, &error) {
        unnamed if unnamed.len() == error.len() => RunError::input(path, &format!("cannot be written: {error}")),
        unnamed => RunError::input(path, &unnamed),
    }
}
