//! Walks through the steps of a prepared file: what repeats, and what the host does between launches.

use super::RunError;
use super::prepare::{Kernel, Prepared, Task};
use crate::launch::{Repeat, View};

/// Where kernels run, as the host sees it.
pub(super) trait Device {
    /// Why it goes no further.
    type Stop: From<RunError>;

    /// Runs a kernel to its end.
    fn launch(&mut self, kernel: &Kernel) -> Result<(), Self::Stop>;

    /// So many bytes of memory.
    fn read(&self, address: u64, bytes: usize) -> Result<Vec<u8>, String>;

    /// Overwrites memory.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String>;
}

/// Has a device do everything that a file says, in order and as often as it says.
pub(super) fn run<D: Device>(prepared: &Prepared, device: &mut D) -> Result<(), D::Stop> {
    for (step, tasks) in prepared.file.steps.iter().zip(&prepared.tasks) {
        let mut host = Host { prepared, device: &mut *device };
        match step.repeat {
            Repeat::Times(times) => (0..times).try_for_each(|number| host.iteration(tasks, number))?,
            Repeat::UntilZero { flag, at_most } => host.until_zero(tasks, flag.0, at_most)?,
        }
    }
    Ok(())
}

struct Host<'a, D> {
    prepared: &'a Prepared,
    device: &'a mut D,
}

impl<D: Device> Host<'_, D> {
    fn until_zero(&mut self, tasks: &[Task], flag: usize, at_most: u32) -> Result<(), D::Stop> {
        let buffer = &self.prepared.file.buffers[flag];
        let (address, bytes) = (self.prepared.addresses[flag], buffer.bytes());
        for number in 0..at_most {
            self.write(address, &vec![0; bytes])?;
            self.iteration(tasks, number)?;
            if self.read(address, bytes)?.iter().all(|byte| *byte == 0) {
                return Ok(());
            }
        }
        let name = &buffer.name;
        Err(self.bad(&format!("flag `{name}` is still set after {at_most} iterations (`at_most`)")).into())
    }

    fn iteration(&mut self, tasks: &[Task], number: u32) -> Result<(), D::Stop> {
        for task in tasks {
            match task {
                Task::Launch(kernel) => self.device.launch(&kernel.at(number, &self.prepared.addresses))?,
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
