//! Event files of a run: the timeline for Perfetto and the pipeline log for Konata.

use std::path::{Path, PathBuf};

use rtl::machine::{CORE, Machine};
use rtl::sm::KernelImage;

use super::{RunError, RunOptions};
use crate::readers::{ChangedBlocks, Pipeline, Timeline};

/// Event files that the options of the run request, each with its path.
pub(super) struct Traces {
    timeline: Option<(PathBuf, Timeline)>,
    pipeline: Option<(PathBuf, Pipeline)>,
}

impl Traces {
    pub(super) fn open(options: &RunOptions, machine: &Machine) -> Result<Self, RunError> {
        let clock = (machine.clocks(), usize::from(CORE));
        let timeline = |path: &PathBuf| {
            let started = Timeline::create(path, machine, clock.0, clock.1);
            started.map(|timeline| (path.clone(), timeline)).map_err(|e| RunError::input(path, &e))
        };
        let pipeline = |path: &PathBuf| {
            let started = Pipeline::create(path, machine, clock, machine.config().sm.pipes.operand_read);
            started.map(|pipeline| (path.clone(), pipeline)).map_err(|e| RunError::input(path, &e))
        };
        Ok(Self {
            timeline: options.timeline.as_ref().map(timeline).transpose()?,
            pipeline: options.pipeline.as_ref().map(pipeline).transpose()?,
        })
    }

    /// True if the run writes any event file.
    pub(super) fn are_on(&self) -> bool {
        self.timeline.is_some() || self.pipeline.is_some()
    }

    /// Prepares the event files for the start of a kernel.
    pub(super) fn begin(&mut self, image: &KernelImage) {
        if let Some((_, timeline)) = &mut self.timeline {
            timeline.refresh();
        }
        if let Some((_, pipeline)) = &mut self.pipeline {
            pipeline.refresh();
            let insts = (0..).zip(&image.program().insts[..image.counted_instructions()]);
            pipeline.load(insts.map(|(pc, inst)| format!("pc {pc}, {}, line {}", inst.unit, inst.line)).collect());
        }
    }

    /// Records the changes of the last simulation step in the event files.
    pub(super) fn sample(&mut self, tick: u64, changed: &ChangedBlocks, machine: &Machine) -> Result<(), RunError> {
        let failed = |path: &Path, e| RunError::input(path, &e);
        if let Some((path, timeline)) = &mut self.timeline {
            timeline.sample(tick, changed, machine).map_err(|e| failed(path, e))?;
        }
        if let Some((path, pipeline)) = &mut self.pipeline {
            pipeline.sample(tick, changed, machine).map_err(|e| failed(path, e))?;
        }
        Ok(())
    }

    /// Completes the event files and returns their paths.
    pub(super) fn finish(&mut self, tick: u64) -> Result<Vec<PathBuf>, RunError> {
        let mut written = Vec::new();
        if let Some((path, timeline)) = self.timeline.take() {
            written.push(timeline.finish(tick).map_err(|e| RunError::input(&path, &e))?);
        }
        if let Some((path, pipeline)) = self.pipeline.take() {
            written.push(pipeline.finish().map_err(|e| RunError::input(&path, &e))?);
        }
        Ok(written)
    }
}
