//! Observers of a running machine: golden models, waveform, event files, time series and history. They never
//! influence the machine.

use std::path::PathBuf;
use std::sync::Arc;

use rtl::kernel::Simulator;
use rtl::machine::{CORE, Machine};
use rtl::sm::KernelImage;

use super::history::{History, Interval};
use super::series::{Series, SeriesState};
use super::traces::Traces;
use super::verify::Shadow;
use super::wave::Wave;
use super::{RunError, RunOptions, Tap};
use crate::readers::ChangedBlocks;

/// Observers of a run, as requested by its options.
pub(super) struct Observers<'o> {
    /// Golden models, if the option `--check` is given.
    pub(super) shadow: Option<Shadow>,
    wave: Option<Wave>,
    traces: Traces,
    /// Hardware blocks that the last clock edge can have changed, for the waveform and the event files.
    changed: ChangedBlocks,
    series: Option<Series>,
    history: Option<History>,
    /// Observer outside this crate, if there is one.
    pub(super) tap: Option<&'o mut dyn Tap>,
}

impl Observers<'_> {
    /// Creates the observers that the options request.
    pub(super) fn open(options: &RunOptions, machine: &Machine, shadow: Option<Shadow>) -> Result<Self, RunError> {
        Ok(Self {
            shadow,
            wave: options.wave.as_ref().map(|wave| Wave::open(wave, machine)).transpose()?,
            traces: Traces::open(options, machine)?,
            changed: ChangedBlocks::none(machine),
            series: options.series.as_ref().map(|series| Series::create(series, machine)).transpose()?,
            history: options.history.then(History::new),
            tap: None,
        })
    }

    /// Continues the time series and the history of a run that was resumed from a checkpoint at `cycle`. The
    /// checkpoint contains their counts at that cycle.
    pub(super) fn resume(
        &mut self,
        (series, history): (Option<SeriesState>, Option<History>),
        cycle: u64,
        machine: &Machine,
    ) {
        if let Some(new) = &mut self.series {
            new.go_on(series, cycle, machine);
        }
        if self.history.is_some() {
            self.history = history.or_else(|| Some(History::from(cycle, machine)));
        }
    }

    /// Returns the counts of the time series and of the history, to be saved in a checkpoint.
    pub(super) fn save_counts(&self) -> (Option<SeriesState>, Option<History>) {
        (self.series.as_ref().map(Series::save_counts), self.history.clone())
    }

    /// True if any observer must be called at every clock edge.
    pub(super) fn look_at_edges(&self) -> bool {
        self.shadow.is_some() || self.wave.is_some() || self.traces.are_on() || self.tap.is_some()
    }

    /// True if any observer needs all hardware blocks to be at the same tick. The machine then cannot be
    /// simulated as islands, because islands may be at different ticks.
    pub(super) fn need_all_together(&self) -> bool {
        self.look_at_edges() || self.look_before_edges()
    }

    /// True if any observer must be called before clock edges.
    pub(super) fn look_before_edges(&self) -> bool {
        self.series.is_some() || self.history.is_some() || self.tap.is_some()
    }

    /// Prepares the observers for the start of a kernel.
    pub(super) fn begin(&mut self, image: &Arc<KernelImage>) {
        if let Some(wave) = &mut self.wave {
            wave.refresh();
        }
        self.traces.begin(image);
    }

    /// Must be called before each clock edge. If the next edge is before tick `end`, the time series and the
    /// history record all cycles before this edge.
    pub(super) fn look_before(&mut self, sim: &Simulator, machine: &Machine, end: u64) -> Result<(), RunError> {
        if !self.look_before_edges() {
            return Ok(());
        }
        let Some(tick) = sim.next_tick().filter(|tick| *tick < end) else { return Ok(()) };
        let cycle = tick / u64::from(machine.clocks().period(usize::from(CORE)));
        if let Some(history) = &mut self.history {
            history.reach(cycle, machine);
        }
        if let Some(series) = &mut self.series {
            series.reach(cycle, machine)?;
        }
        if let Some(tap) = &mut self.tap {
            tap.before(machine, tick);
        }
        Ok(())
    }

    /// Must be called after the host has written memory.
    pub(super) fn wrote(&mut self, machine: &Machine, address: u64, bytes: usize) {
        if let Some(tap) = &mut self.tap {
            tap.wrote(machine, address, bytes);
        }
    }

    /// Must be called after a clock edge. The waveform and the event files record what the edge changed, and
    /// the golden models check it.
    pub(super) fn look_after(&mut self, sim: &mut Simulator, machine: &mut Machine) -> Result<(), RunError> {
        if self.wave.is_some() || self.traces.are_on() {
            self.changed.take(sim);
        }
        self.traces.sample(sim.tick(), &self.changed, machine)?;
        if let Some(wave) = &mut self.wave {
            wave.sample(sim.tick(), &self.changed, machine)?;
        }
        if let Some(tap) = &mut self.tap {
            tap.after(machine, sim.tick());
        }
        if let Some(shadow) = &mut self.shadow {
            let known = shadow.reports().len();
            shadow.follow(machine, sim);
            if let Some(wave) = &mut self.wave {
                for report in &shadow.reports()[known..] {
                    wave.fail(report, sim.tick(), &self.changed, machine)?;
                }
            }
        }
        Ok(())
    }

    /// Completes the waveform, with a marker at the failure if there was one. Returns the paths of the
    /// written files, and notes about them.
    pub(super) fn close_wave(
        &mut self,
        failure: Option<&str>,
        (tick, cycles): (u64, u64),
        machine: &Machine,
    ) -> Result<(Vec<PathBuf>, Vec<String>), RunError> {
        let Some(mut wave) = self.wave.take() else { return Ok((Vec::new(), Vec::new())) };
        if let Some(what) = failure {
            wave.fail(what, tick, &self.changed, machine)?;
        }
        wave.close(tick, cycles)
    }

    /// Completes the event files, the time series and the history. The waveform and the golden models must be
    /// completed before. Returns the paths of the written files, and the history.
    pub(super) fn finish(
        mut self,
        (tick, cycles): (u64, u64),
        machine: &Machine,
    ) -> Result<(Vec<PathBuf>, Vec<Interval>), RunError> {
        let mut written = self.traces.finish(tick)?;
        if let Some(series) = self.series {
            // The end of the time series is later than the end of the last launch, because it includes the
            // writebacks that reach memory after that launch.
            written.push(series.finish(cycles, machine)?);
        }
        let history = self.history.map(|history| history.finish(cycles, machine));
        Ok((written, history.unwrap_or_default()))
    }
}
