//! Runs a launch file once and writes down what its loads ask for, to be answered by any L1
//! ([`golden::untimed::Recording`]).

use std::collections::BTreeSet;
use std::path::PathBuf;

use golden::untimed::{Geometry, Recording};
use rtl::machine::MachineConfig;

use super::RunError;
use super::prepare::prepare;
use super::untimed::{each_launch, l1_geometry};
use crate::launch::LaunchFile;

/// All launches of one kernel.
#[derive(Clone, Debug)]
pub struct KernelRecording {
    /// Its name.
    pub name: String,
    /// Line and column in bytes, both from 1, of every instruction in the PTX file, by pc.
    pub places: Vec<(u32, u32)>,
    /// Each of its launches, in order.
    pub launches: Vec<Recording>,
}

/// The launches of a launch file.
#[derive(Clone, Debug)]
pub struct Recordings {
    /// The one PTX file that all kernels are in.
    pub ptx: PathBuf,
    /// In the order of their first launch.
    pub kernels: Vec<KernelRecording>,
    /// The L1 of the machine.
    pub l1: Geometry,
    /// Bytes of its lines.
    pub line_bytes: u64,
}

/// Records a launch file whose kernels come from one PTX file.
///
/// # Errors
/// Bad input, kernels from several PTX files, or an illegal access of a kernel.
pub fn record(launch: LaunchFile, config: &MachineConfig) -> Result<Recordings, RunError> {
    let prepared = prepare(launch, config)?;
    let bad = |reason: &dyn std::fmt::Display| RunError::input(&prepared.file.path, reason);
    let files: BTreeSet<&PathBuf> = prepared.file.launches().map(|launch| &launch.ptx).collect();
    let mut files = files.into_iter();
    let (Some(ptx), None) = (files.next(), files.next()) else {
        return Err(bad(&"has kernels of several PTX files, expected those of one: one is written"));
    };
    let l1 = l1_geometry(config).map_err(|e| bad(&e))?;
    let line_bytes = config.l1.line_bytes;
    let mut kernels: Vec<KernelRecording> = Vec::new();
    each_launch(&prepared, config, &mut |launch, sms, memory| {
        let recording = Recording::new(launch, sms, line_bytes as usize, memory)?;
        match kernels.iter_mut().find(|known| known.name == launch.program.name) {
            Some(known) => known.launches.push(recording),
            None => kernels.push(KernelRecording {
                name: launch.program.name.clone(),
                places: launch.program.insts.iter().map(|inst| (inst.line, inst.column)).collect(),
                launches: vec![recording],
            }),
        }
        Ok(())
    })?;
    Ok(Recordings { ptx: ptx.clone(), kernels, l1, line_bytes: line_bytes.into() })
}
