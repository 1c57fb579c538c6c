//! Runs the launches of a prepared file.

use std::path::{Path, PathBuf};

use rtl::machine::{Machine, MachineConfig};

use super::drive::{Drive, Launch, Stop};
use super::prepare::{Kernel, Prepared, iterations};
use super::profiled::{Admitted, profiled};
use super::verify::{Shadow, initial_memory, interpret, judge, read_buffer};
use super::{Progress, RunError, RunOptions, RunReport};
use crate::launch::write_npy;

pub(super) fn run(
    prepared: &Prepared,
    config: &MachineConfig,
    options: &RunOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<RunReport, RunError> {
    let path = &prepared.file.path;
    let bad = |e: String| RunError::input(path, &e);
    let machine = filled(prepared, config)?;
    let shadow = || Shadow::new(initial_memory(prepared).map_err(bad)?, config).map_err(bad);
    let shadow = if options.check { Some(shadow()?) } else { None };
    let admitted = profiled(prepared, config)?.into_iter();
    let mut launches = Launches { prepared, admitted, drive: Drive::new(machine, shadow, options)? };
    let ran = launches.steps(progress);
    launches.drive.finish(ran, |machine, failed| {
        let wrong = judge(prepared, machine).map_err(bad)?;
        let is_judged = wrong.is_some();
        failed.extend(wrong.into_iter().flatten());
        let written = if options.outputs { write_outputs(prepared, machine)? } else { Vec::new() };
        Ok((is_judged, written))
    })
}

/// A machine whose memory holds what it does before the first launch.
fn filled(prepared: &Prepared, config: &MachineConfig) -> Result<Machine, RunError> {
    let path = &prepared.file.path;
    let mut machine = Machine::new(config);
    for range in prepared.map.ranges().iter().chain(&prepared.local) {
        machine.map(range.start, range.bytes).map_err(|e| RunError::input(path, &e))?;
    }
    for (array, &address) in prepared.initial.iter().zip(&prepared.addresses) {
        machine.write_memory(address, array.bytes()).map_err(|e| RunError::input(path, &e))?;
    }
    for region in &prepared.regions {
        machine.write_memory(region.address, &region.bytes).map_err(|e| RunError::input(path, &e))?;
    }
    Ok(machine)
}

fn write_outputs(prepared: &Prepared, machine: &Machine) -> Result<Vec<PathBuf>, RunError> {
    let mut written = Vec::new();
    for output in &prepared.file.outputs {
        if let Some(path) = &output.write {
            let array = buffer(prepared, machine, output.buffer.0)?;
            write_npy(path, &array).map_err(|e| RunError::input(path, &e))?;
            written.push(path.clone());
        }
    }
    Ok(written)
}

fn buffer(prepared: &Prepared, machine: &Machine, buffer: usize) -> Result<golden::reference::Array, RunError> {
    read_buffer(prepared, machine, buffer).map_err(|e| RunError::input(&prepared.file.path, &e))
}

struct Launches<'a> {
    prepared: &'a Prepared,
    /// Of the launches to come. A machine whose warps race may need more launches than the profile had:
    /// the last one's lines stay.
    admitted: std::vec::IntoIter<Admitted>,
    drive: Drive<'a>,
}

impl Launches<'_> {
    fn steps(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<(), Stop> {
        let prepared = self.prepared;
        for (step, kernels) in prepared.file.steps.iter().zip(&prepared.kernels) {
            let (at_most, flag) = iterations(step.repeat);
            let mut iteration = 0;
            loop {
                if iteration == at_most {
                    if let Some(flag) = flag {
                        let name = &prepared.file.buffers[flag].name;
                        let reason = format!("flag `{name}` is still set after {at_most} iterations (`at_most`)");
                        return Err(RunError::input(self.path(), &reason).into());
                    }
                    break;
                }
                if let Some(flag) = flag {
                    self.clear(flag)?;
                }
                for kernel in kernels {
                    self.launch(kernel, progress)?;
                }
                iteration += 1;
                if let Some(flag) = flag
                    && buffer(prepared, &self.drive.machine, flag)?.bytes().iter().all(|byte| *byte == 0)
                {
                    break;
                }
            }
        }
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.prepared.file.path
    }

    fn launch(&mut self, kernel: &Kernel, progress: &mut dyn FnMut(Progress)) -> Result<(), Stop> {
        let prepared = self.prepared;
        let (name, image, path) = (&*kernel.name, &kernel.image, &*prepared.file.path);
        if let Some(lines) = self.admitted.next() {
            self.drive.admit(&lines);
        }
        let launch = Launch { name, image, path, is_broken: &|| false };
        self.drive.launch(&launch, progress, |shadow, machine| interpret(shadow, kernel, machine, prepared))
    }

    fn clear(&mut self, buffer: usize) -> Result<(), RunError> {
        let zeros = vec![0; self.prepared.file.buffers[buffer].bytes()];
        let address = self.prepared.addresses[buffer];
        let bad = |e: String| RunError::input(&self.prepared.file.path, &e);
        self.drive.machine.write_memory(address, &zeros).map_err(|e| bad(e.to_string()))?;
        if let Some(shadow) = &mut self.drive.shadow {
            shadow.wrote(address, &zeros).map_err(bad)?;
        }
        Ok(())
    }
}
