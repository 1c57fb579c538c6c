//! Runs a launch file on untimed models of a machine's caches ([`golden::untimed`]). Counts the requests and
//! hits of each load without simulating cycles, which takes only seconds.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use golden::l2::bank::Banks;
use golden::untimed::{Caches, Config, Profile};
use rtl::machine::MachineConfig;

use super::prepare::prepare;
use super::untimed::{each_launch, l1_geometry, l2_geometry};
use super::{RunError, open};

/// Cache profile of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelProfile {
    /// Name of the kernel.
    pub name: String,
    /// Path of the PTX file that contains the kernel.
    pub file: String,
    /// Profile of each launch, in launch order.
    pub launches: Vec<Profile>,
    /// For each instruction, its line in the PTX file. The index is the program counter.
    pub lines: Vec<u32>,
}

impl KernelProfile {
    /// Sums the profiles of all launches.
    #[must_use]
    pub fn all(&self) -> Profile {
        self.launches.iter().fold(Profile::default(), |mut all, launch| {
            all.add(launch);
            all
        })
    }
}

/// Profiles a launch file on untimed caches. If `ptx` is given, it replaces every PTX file that the launch
/// file names. The kernels are in the order of their first launch.
///
/// # Errors
/// Fails on bad input or an illegal access by the kernel.
pub fn profile(launch: &Path, ptx: Option<&Path>, config: &MachineConfig) -> Result<Vec<KernelProfile>, RunError> {
    let kernels = Mutex::default();
    profile_into(&kernels, launch, ptx, config)?;
    Ok(kernels.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Profiles a launch file on untimed caches. Each launch is added to `kernels` as soon as it is finished, so
/// that another thread can read partial results.
///
/// # Errors
/// Returns the errors of [`profile`].
pub fn profile_into(
    kernels: &Mutex<Vec<KernelProfile>>,
    launch: &Path,
    ptx: Option<&Path>,
    config: &MachineConfig,
) -> Result<(), RunError> {
    let prepared = prepare(open(launch, ptx)?, config)?;
    let mut caches = Caches::new(caches(config).map_err(|e| RunError::input(launch, &e))?);
    each_launch(&prepared, config, &mut |launch, sms, memory| {
        let profile = caches.run(launch, sms.ctas, memory)?;
        let program = launch.program;
        let mut kernels = kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kernels.iter_mut().find(|known| known.name == program.name && *known.file == *program.file);
        match known {
            Some(known) => known.launches.push(profile),
            None => kernels.push(KernelProfile {
                name: program.name.clone(),
                file: program.file.to_string(),
                launches: vec![profile],
                lines: program.insts.iter().map(|inst| inst.line).collect(),
            }),
        }
        Ok(())
    })
}

pub(super) fn caches(config: &MachineConfig) -> Result<Config, String> {
    Ok(Config {
        num_sms: config.num_sms as usize,
        line_bytes: config.l1.line_bytes as usize,
        l1: l1_geometry(config)?,
        bypass: config.l1.bypass.sends_all(),
        l2: l2_geometry(config)?,
        l2_line_bytes: config.l2.line_bytes as usize,
        banks: Banks {
            count: config.num_partitions.into(),
            run: u64::from(config.interleave_bytes / config.l2.line_bytes),
        },
    })
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod tests;

/// Counts of the loads and stores that reach the L2.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct L2 {
    /// Number of line accesses in the L2.
    pub accesses: u64,
    /// Number of line accesses that hit in the L2.
    pub hits: u64,
}

/// Sums the L2 accesses and hits of a profile.
#[must_use]
pub fn l2(profile: &Profile) -> L2 {
    let loads = profile.all_loads();
    L2 { accesses: loads.l2_reads() + profile.stores.transactions, hits: loads.l2_hits + profile.stores.l2_hits }
}
