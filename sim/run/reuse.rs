//! Runs the kernels of a launch file without timing, and measures how often and at which reuse distance they
//! reuse cache lines ([`golden::untimed::Reuse`]).

use std::path::Path;

use golden::untimed::{Recording, Reuse};
use rtl::machine::MachineConfig;

use super::prepare::prepare;
use super::untimed::each_launch;
use super::{RunError, open};

/// Measures the reuse of lines in all launches of a launch file. Only uses within the same launch count as
/// reuse of a line.
///
/// # Errors
/// Fails on bad input or an illegal access by a kernel.
pub fn reuse(launch: &Path, config: &MachineConfig) -> Result<Reuse, RunError> {
    let prepared = prepare(open(launch, None)?, config)?;
    let mut all = Reuse::default();
    each_launch(&prepared, config, &mut |launch, sms, memory| {
        all.add(&Recording::new(launch, sms, config.l1.line_bytes as usize, memory)?.reuse());
        Ok(())
    })?;
    Ok(all)
}
