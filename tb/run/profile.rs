//! Runs a launch file on the untimed caches of a machine ([`golden::untimed`]): what each load asks for
//! and finds, in seconds and without cycles.

use std::path::Path;

use golden::interp;
use golden::memory::FlatMemory;
use golden::untimed::{Caches, Config, Geometry, Profile};
use rtl::l1::config::Bypass;
use rtl::machine::MachineConfig;

use super::prepare::{Kernel, Prepared, iterations, prepare};
use super::{RunError, verify};
use crate::l1::lockstep::set_index;

/// All launches of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelProfile {
    /// Its name.
    pub name: String,
    /// Its PTX file.
    pub file: String,
    /// Each of its launches, in order.
    pub launches: Vec<Profile>,
    /// Line in the PTX file of every instruction, by pc.
    pub lines: Vec<u32>,
}

impl KernelProfile {
    /// All launches together.
    #[must_use]
    pub fn all(&self) -> Profile {
        self.launches.iter().fold(Profile::default(), |mut all, launch| {
            all.add(launch);
            all
        })
    }
}

/// Profiles a launch file. `ptx` replaces every PTX file it names. Kernels come in the order of their
/// first launch.
///
/// # Errors
/// Bad input, or an illegal access of the kernel.
pub fn profile(launch: &Path, ptx: Option<&Path>, config: &MachineConfig) -> Result<Vec<KernelProfile>, RunError> {
    let prepared = prepare(launch, ptx, config)?;
    let bad = |reason: String| RunError::input(launch, &reason);
    let mut profiler = Profiler {
        prepared: &prepared,
        config,
        caches: Caches::new(geometry(config).map_err(bad)?),
        memory: verify::initial_memory(&prepared).map_err(bad)?,
        kernels: Vec::new(),
    };
    profiler.run()?;
    Ok(profiler.kernels)
}

fn geometry(config: &MachineConfig) -> Result<Config, String> {
    let line_bytes = config.l1.line_bytes;
    let index = |index, sets| set_index(index, sets, line_bytes).map_err(|e| e.to_string());
    Ok(Config {
        num_sms: config.num_sms as usize,
        line_bytes: line_bytes as usize,
        l1: Geometry { index: index(&config.l1.index, config.l1.sets)?, ways: config.l1.ways as usize },
        bypass: config.l1.bypass == Bypass::All,
        l2: Geometry { index: index(&config.l2.index, config.l2.sets)?, ways: config.l2.ways as usize },
        banks: config.num_partitions.into(),
    })
}

struct Profiler<'a> {
    prepared: &'a Prepared,
    config: &'a MachineConfig,
    caches: Caches,
    memory: FlatMemory,
    kernels: Vec<KernelProfile>,
}

impl Profiler<'_> {
    fn run(&mut self) -> Result<(), RunError> {
        for (step, kernels) in self.prepared.file.steps.iter().zip(&self.prepared.kernels) {
            let (at_most, flag) = iterations(step.repeat);
            let mut is_set = true;
            for _ in 0..at_most {
                if let Some(flag) = flag {
                    self.clear(flag)?;
                }
                for kernel in kernels {
                    self.launch(kernel)?;
                }
                is_set = flag.is_none_or(|flag| self.holds_any(flag));
                if !is_set {
                    break;
                }
            }
            if let Some(flag) = flag.filter(|_| is_set) {
                let name = &self.prepared.file.buffers[flag].name;
                return Err(self.bad(&format!("flag `{name}` is still set after {at_most} iterations (`at_most`)")));
            }
        }
        Ok(())
    }

    fn launch(&mut self, kernel: &Kernel) -> Result<(), RunError> {
        let ctas = rtl::sm::occupancy(&self.config.sm, &kernel.image).map_err(|e| self.bad(&e))?;
        let launch = verify::interpreted(kernel);
        let ran = self.caches.run(&launch, ctas as usize, &mut self.memory);
        let profile = ran.map_err(|e: interp::InterpError| RunError::Fault(e.to_string()))?;
        let interp::Launch { program, .. } = launch;
        let known = self.kernels.iter_mut().find(|known| known.name == program.name && *known.file == *program.file);
        match known {
            Some(known) => known.launches.push(profile),
            None => self.kernels.push(KernelProfile {
                name: program.name.clone(),
                file: program.file.to_string(),
                launches: vec![profile],
                lines: program.insts.iter().map(|inst| inst.line).collect(),
            }),
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

    fn bad(&self, reason: &dyn std::fmt::Display) -> RunError {
        RunError::input(&self.prepared.file.path, reason)
    }
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod tests;
