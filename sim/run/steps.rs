//! Executes the steps of a prepared launch file: kernel launches, repetitions, and host operations between
//! launches.

use input::noun;
use serde::{Deserialize, Serialize};

use super::RunError;
use super::prepare::{Kernel, PreparedLaunch, Task};
use crate::launch::{Repeat, View};

/// Device on which the host runs kernels: a clocked machine or the functional interpreter.
pub(super) trait Device {
    /// Type that states why a device could not complete a kernel.
    type Stop: From<RunError>;

    /// Runs a kernel to its end.
    fn launch(&mut self, kernel: &Kernel, place: Place) -> Result<(), Self::Stop>;

    /// Reads `bytes` bytes of device memory at `address`.
    fn read(&self, address: u64, bytes: usize) -> Result<Vec<u8>, String>;

    /// Overwrites device memory from `address` on.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String>;
}

/// Position of a run in its launch file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    step: usize,
    /// Number of iterations of the current step that have finished.
    iteration: u32,
    /// Index of the next task in the current iteration.
    task: usize,
}

/// Executes all steps of a prepared launch file on a device. If `from` is given, starts at the launch at this
/// position, which was already running when the checkpoint was saved.
pub(super) fn run<D: Device>(prepared: &PreparedLaunch, from: Option<Place>, device: &mut D) -> Result<(), D::Stop> {
    let mut host = Host { prepared, device, from };
    let first = from.map_or(0, |from| from.step);
    for (number, step) in prepared.file.steps.iter().enumerate().skip(first) {
        match step.repeat {
            Repeat::Times(times) => {
                (host.first_iteration()..times).try_for_each(|iteration| host.iteration(number, iteration))?;
            }
            Repeat::UntilZero { flag, at_most } => host.until_zero(number, flag.0, at_most)?,
        }
    }
    Ok(())
}

struct Host<'a, D> {
    prepared: &'a PreparedLaunch,
    device: &'a mut D,
    /// Position of the launch that was running when the checkpoint was saved. `None` once this launch has
    /// been resumed.
    from: Option<Place>,
}

impl<D: Device> Host<'_, D> {
    fn first_iteration(&self) -> u32 {
        self.from.map_or(0, |from| from.iteration)
    }

    fn until_zero(&mut self, step: usize, flag: usize, at_most: u32) -> Result<(), D::Stop> {
        let buffer = &self.prepared.file.buffers[flag];
        let (address, bytes) = (self.prepared.addresses[flag], buffer.bytes());
        for number in self.first_iteration()..at_most {
            // The flag buffer is cleared before each iteration. In a resumed iteration, this was done before
            // the checkpoint was saved.
            if self.from.is_none() {
                self.write(address, &vec![0; bytes])?;
            }
            self.iteration(step, number)?;
            if self.read(address, bytes)?.iter().all(|byte| *byte == 0) {
                return Ok(());
            }
        }
        let name = &buffer.name;
        let iterations = noun(at_most, "iteration", "iterations");
        Err(self.bad(&format!("flag `{name}` is still set after {at_most} {iterations} (`at_most`)")).into())
    }

    fn iteration(&mut self, step: usize, iteration: u32) -> Result<(), D::Stop> {
        let first = self.from.take().map_or(0, |from| from.task);
        for (number, task) in self.prepared.tasks[step].iter().enumerate().skip(first) {
            match task {
                Task::Launch(kernel) => {
                    let place = Place { step, iteration, task: number };
                    self.device.launch(&kernel.at(iteration, &self.prepared.addresses), place)?;
                }
                Task::Fill { to, value } => self.put(to, &value.repeat(to.count))?,
                Task::Copy { from, to } => {
                    let copied = self.get(from)?;
                    self.put(to, &copied)?;
                }
            }
        }
        Ok(())
    }

    fn get(&self, view: &View) -> Result<Vec<u8>, RunError> {
        let base = self.prepared.addresses[view.buffer.0];
        let mut bytes = Vec::with_capacity(view.count * view.bytes);
        for range in view.ranges() {
            bytes.extend(self.read(base + range.start as u64, range.len())?);
        }
        Ok(bytes)
    }

    fn put(&mut self, view: &View, mut bytes: &[u8]) -> Result<(), RunError> {
        let base = self.prepared.addresses[view.buffer.0];
        for range in view.ranges() {
            let (piece, rest) = bytes.split_at(range.len());
            self.write(base + range.start as u64, piece)?;
            bytes = rest;
        }
        Ok(())
    }

    fn read(&self, address: u64, bytes: usize) -> Result<Vec<u8>, RunError> {
        self.device.read(address, bytes).map_err(|reason| self.bad(&reason))
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), RunError> {
        self.device.write(address, bytes).map_err(|reason| self.bad(&reason))
    }

    fn bad(&self, reason: &str) -> RunError {
        RunError::input(&self.prepared.file.path, &reason)
    }
}

#[cfg(test)]
#[path = "steps_tests.rs"]
mod tests;
