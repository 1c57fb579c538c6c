//! Walks through the launches of a prepared file without time, for those who run each of them on their
//! own.

use golden::memory::FlatMemory;

use super::prepare::{Kernel, Prepared, iterations};
use super::{RunError, verify};

/// A prepared file and memory as its launches so far have left it.
pub(super) struct Functional<'a> {
    prepared: &'a Prepared,
    memory: FlatMemory,
}

impl<'a> Functional<'a> {
    /// Before the first launch.
    pub(super) fn new(prepared: &'a Prepared) -> Result<Self, RunError> {
        let memory = verify::initial_memory(prepared).map_err(|e| RunError::input(&prepared.file.path, &e))?;
        Ok(Self { prepared, memory })
    }

    /// Has every launch run by `launch`, in order, as often as the file says.
    pub(super) fn run(
        mut self,
        launch: &mut dyn FnMut(&Kernel, &mut FlatMemory) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        for (step, kernels) in self.prepared.file.steps.iter().zip(&self.prepared.kernels) {
            let (at_most, flag) = iterations(step.repeat);
            let mut is_set = true;
            for _ in 0..at_most {
                if let Some(flag) = flag {
                    self.clear(flag)?;
                }
                for kernel in kernels {
                    launch(kernel, &mut self.memory)?;
                }
                is_set = flag.is_none_or(|flag| self.holds_any(flag));
                if !is_set {
                    break;
                }
            }
            if let Some(flag) = flag.filter(|_| is_set) {
                let name = &self.prepared.file.buffers[flag].name;
                let reason = format!("flag `{name}` is still set after {at_most} iterations (`at_most`)");
                return Err(RunError::input(&self.prepared.file.path, &reason));
            }
        }
        Ok(())
    }

    fn clear(&mut self, buffer: usize) -> Result<(), RunError> {
        let first = self.prepared.addresses[buffer];
        for address in (first..).take(self.prepared.file.buffers[buffer].bytes()) {
            self.memory.write(address, 1).map_err(|e| RunError::input(&self.prepared.file.path, &e))?[0] = 0;
        }
        Ok(())
    }

    fn holds_any(&self, buffer: usize) -> bool {
        let held = self.memory.buffer(&self.prepared.file.buffers[buffer].name);
        held.is_some_and(|held| held.bytes.iter().any(|byte| *byte != 0))
    }
}
