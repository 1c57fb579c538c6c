//! Executes the launches of a prepared launch file without timing. The caller provides the function that
//! executes a single launch.

use golden::memory::FlatMemory;

use super::prepare::{Kernel, PreparedLaunch};
use super::steps::{self, Device, Place};
use super::{RunError, verify};

/// Prepared launch file, with the memory contents after the launches executed so far.
pub(super) struct Functional<'a> {
    prepared: &'a PreparedLaunch,
    memory: FlatMemory,
}

impl<'a> Functional<'a> {
    /// Creates the memory contents before the first launch.
    pub(super) fn new(prepared: &'a PreparedLaunch) -> Result<Self, RunError> {
        let memory = verify::initial_memory(prepared).map_err(|e| RunError::input(&prepared.file.path, &e))?;
        Ok(Self { prepared, memory })
    }

    /// Calls `launch` for every kernel launch, in the order and as often as the launch file requests.
    pub(super) fn run(
        self,
        launch: &mut dyn FnMut(&Kernel, &mut FlatMemory) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let Self { prepared, memory } = self;
        steps::run(prepared, None, &mut UntimedMachine { memory, launch })
    }
}

/// Memory contents, and the caller's function that executes a kernel on this memory.
struct UntimedMachine<'l> {
    memory: FlatMemory,
    launch: &'l mut dyn FnMut(&Kernel, &mut FlatMemory) -> Result<(), RunError>,
}

impl Device for UntimedMachine<'_> {
    type Stop = RunError;

    fn launch(&mut self, kernel: &Kernel, _place: Place) -> Result<(), RunError> {
        (self.launch)(kernel, &mut self.memory)
    }

    fn read(&self, address: u64, bytes: usize) -> Result<Vec<u8>, String> {
        let byte = |at| self.memory.read(at, 1).map(|byte| byte[0]).map_err(|e| e.to_string());
        (address..).take(bytes).map(byte).collect()
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        for (at, byte) in (address..).zip(bytes) {
            self.memory.write(at, 1).map_err(|e| e.to_string())?[0] = *byte;
        }
        Ok(())
    }
}
