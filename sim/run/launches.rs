//! Runs the launches of a prepared launch file on the clocked machine.

use std::path::PathBuf;

use isa::program::Program;
use rtl::machine::{HostError, Machine, MachineConfig};

use super::checkpoint::{self, Checkpoints};
use super::drive::{Drive, Launch, StopReason};
use super::prepare::{Kernel, PreparedLaunch, Task};
use super::profiled::{AdmittedLines, profile_launches};
use super::steps::{self, Device, Place};
use super::verify::{Shadow, initial_memory, interpret, judge, read_view};
use super::{Progress, RunError, RunOptions, RunReport, Tap};
use crate::launch::write_npy;

pub(super) fn run<'o>(
    prepared: &PreparedLaunch,
    config: &MachineConfig,
    options: &'o RunOptions,
    tap: Option<&'o mut dyn Tap>,
    progress: &mut dyn FnMut(Progress),
) -> Result<RunReport, RunError> {
    let path = &prepared.file.path;
    let bad = |e: String| RunError::input(path, &e);
    let Checkpoints { identity, resume, .. } = &options.checkpoints;
    let saved = resume.as_deref().map(|path| checkpoint::read(path, identity)).transpose()?;
    let shadow = || Shadow::new(initial_memory(prepared).map_err(bad)?, config).map_err(bad);
    let shadow = if options.check { Some(shadow()?) } else { None };
    let mut admitted = profile_launches(prepared, config)?.into_iter();
    let from = saved.as_ref().map(|saved| saved.run.place);
    let mut drive = match saved {
        None => {
            let mut drive = Drive::new(create_machine(prepared, config)?, shadow, options)?;
            copy_contents(prepared, &mut drive).map_err(|e| RunError::input(path, &e))?;
            drive
        }
        Some(saved) => {
            // For each launch, there is a list of the lines that may be cached. The lists of finished
            // launches are skipped. The list of the resumed launch is skipped as well, because the machine
            // already has it.
            admitted.nth(saved.run.launched as usize);
            Drive::resume(saved, options)?
        }
    };
    drive.observe_by(tap);
    let mut launches = Launches { prepared, admitted, drive, goes_on: from.is_some(), progress };
    let ran = steps::run(prepared, from, &mut launches);
    let report = launches.drive.finish(ran, |machine, failed| {
        let wrong = judge(prepared, machine).map_err(bad)?;
        let is_judged = wrong.is_some();
        failed.extend(wrong.into_iter().flatten());
        let written = if options.outputs { write_outputs(prepared, machine)? } else { Vec::new() };
        Ok((is_judged, written))
    })?;
    Ok(RunReport { notes: report.notes.into_iter().chain(directive_notes(prepared)).collect(), ..report })
}

/// Returns a note if values of a kernel are spilled. `program` is the program with allocated registers.
pub(super) fn spill_note(program: &Program) -> Option<String> {
    let Program { file, name, spill_bytes, regs, .. } = program;
    (*spill_bytes > 0).then(|| {
        format!(
            "{file}: {spill_bytes} bytes of values of kernel `{name}` are spilled to local memory: {regs} registers per thread are left"
        )
    })
}

/// Returns notes about kernel directives that the machine ignores, and about spilled registers.
fn directive_notes(prepared: &PreparedLaunch) -> Vec<String> {
    let mut notes = Vec::new();
    let kernels = prepared.tasks.iter().flatten().filter_map(|task| match task {
        Task::Launch(kernel) => Some(kernel),
        Task::Fill { .. } | Task::Copy { .. } => None,
    });
    for Kernel { name, program, image, .. } in kernels {
        let (file, takes) = (&program.file, u32::from(image.program().regs));
        let cluster = program.limits.cluster.filter(|&cluster| cluster != [1; 3]).map(|cluster| {
            format!("{file}: kernel `{name}` declares `.reqnctapercluster` of {cluster:?}: CTAs of a cluster are placed like any others")
        });
        let registers = program.max_regs.filter(|&most| takes > most).map(|most| {
            format!(
                "{file}: kernel `{name}` declares `.maxnreg {most}` and uses {takes} registers: no more can be spilled"
            )
        });
        for note in cluster.into_iter().chain(registers).chain(spill_note(image.program())) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

/// Creates a machine in whose memory buffers and variables are mapped, and instructions are stored.
fn create_machine(prepared: &PreparedLaunch, config: &MachineConfig) -> Result<Machine, RunError> {
    let path = &prepared.file.path;
    let mut machine = Machine::new(config);
    let code = prepared.code.as_ref();
    for range in prepared.map.ranges().iter().chain(&prepared.local).chain(code.map(|code| &code.range)) {
        machine.map(range.start, range.bytes).map_err(|e| RunError::input(path, &e))?;
    }
    if let Some(code) = code {
        machine.write_memory(code.range.start, &code.bytes()).map_err(|e| RunError::input(path, &e))?;
    }
    Ok(machine)
}

/// Copies the initial contents of all buffers and variables to device memory.
fn copy_contents(prepared: &PreparedLaunch, drive: &mut Drive<'_>) -> Result<(), HostError> {
    let buffers = prepared.initial.iter().zip(&prepared.addresses).map(|(array, &address)| (address, array.bytes()));
    let regions = prepared.regions.iter().map(|region| (region.address, &region.bytes[..]));
    buffers.chain(regions).try_for_each(|(address, bytes)| drive.copy_from_host(address, bytes))
}

fn write_outputs(prepared: &PreparedLaunch, machine: &Machine) -> Result<Vec<PathBuf>, RunError> {
    let mut written = Vec::new();
    for output in &prepared.file.outputs {
        if let Some(path) = &output.write {
            let array = read_view(prepared, machine, &output.view);
            let array = array.map_err(|e| RunError::input(&prepared.file.path, &e))?;
            write_npy(path, &array).map_err(|e| RunError::input(path, &e))?;
            written.push(path.clone());
        }
    }
    Ok(written)
}

struct Launches<'a, 'o> {
    prepared: &'a PreparedLaunch,
    /// For each launch that has not started, the lines that may be cached in the L1Ds. If the kernels contain
    /// a race, the machine may execute more launches than the profiling run did. In this case, the lines of
    /// the last profiled launch remain in effect.
    admitted: std::vec::IntoIter<AdmittedLines>,
    drive: Drive<'o>,
    /// True if the next launch was already running when the checkpoint was saved.
    goes_on: bool,
    progress: &'a mut dyn FnMut(Progress),
}

impl Device for Launches<'_, '_> {
    type Stop = StopReason;

    fn launch(&mut self, kernel: &Kernel, place: Place) -> Result<(), StopReason> {
        let prepared = self.prepared;
        let (name, image, path) = (&*kernel.name, &kernel.image, &*prepared.file.path);
        if !std::mem::take(&mut self.goes_on)
            && let Some(lines) = self.admitted.next()
        {
            self.drive.admit(&lines);
        }
        let launch = Launch { name, place, image, path, is_broken: &|| false };
        self.drive.launch(&launch, self.progress, |shadow, machine| interpret(shadow, kernel, machine, prepared))
    }

    fn read(&self, address: u64, bytes: usize) -> Result<Vec<u8>, String> {
        self.drive.machine.read_memory(address, bytes).map_err(|e| e.to_string())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        self.drive.copy_from_host(address, bytes).map_err(|e| e.to_string())?;
        self.drive.observers.wrote(&self.drive.machine, address, bytes.len());
        match &mut self.drive.observers.shadow {
            Some(shadow) => shadow.wrote(address, bytes),
            None => Ok(()),
        }
    }
}
