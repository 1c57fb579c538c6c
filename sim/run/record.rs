//! Runs a launch file once and records the requests of its loads. The hits of any L1 can then be computed
//! from the recording ([`golden::untimed::Recording`]).

use std::collections::BTreeSet;
use std::path::PathBuf;

use golden::untimed::{Geometry, Recording};
use rtl::machine::MachineConfig;

use super::RunError;
use super::prepare::prepare;
use super::untimed::{each_launch, l1_geometry};
use crate::launch::LaunchFile;

/// Recording of the loads of one kernel.
#[derive(Clone, Debug)]
pub struct KernelRecording {
    /// Name of the kernel.
    pub name: String,
    /// For each instruction, its line and column in the PTX file. The index is the program counter. Lines
    /// and columns are counted from 1; columns are in bytes.
    pub places: Vec<(u32, u32)>,
    /// Recording of each launch, in launch order.
    pub launches: Vec<Recording>,
}

/// Recordings of all launches of a launch file.
#[derive(Clone, Debug)]
pub struct Recordings {
    /// Path of the PTX file that contains all kernels.
    pub ptx: PathBuf,
    /// Kernels in the order of their first launch.
    pub kernels: Vec<KernelRecording>,
    /// Geometry of the machine's L1: set-index function, sets and ways.
    pub l1: Geometry,
    /// Line size of the L1, in bytes.
    pub line_bytes: u64,
}

/// Records a launch file whose kernels come from one PTX file.
///
/// # Errors
/// Fails on bad input, on kernels from several PTX files, or on an illegal access by a kernel.
pub fn record(launch: LaunchFile, config: &MachineConfig) -> Result<Recordings, RunError> {
    let prepared = prepare(launch, config)?;
    let bad = |reason: &dyn std::fmt::Display| RunError::input(&prepared.file.path, reason);
    let files: BTreeSet<&PathBuf> = prepared.file.launches().map(|launch| &launch.ptx).collect();
    let mut files = files.into_iter();
    let (Some(ptx), None) = (files.next(), files.next()) else {
        return Err(bad(&"has kernels of several PTX files, expected one file: only one is written"));
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
