//! Runs a launch file without cycles and counts how often and how soon its lines are asked for again
//! ([`golden::untimed::Reuse`]).

use std::path::Path;

use golden::untimed::{Recording, Reuse};
use rtl::machine::MachineConfig;

use super::prepare::prepare;
use super::untimed::each_launch;
use super::{RunError, open};

/// The reuse of all launches of a launch file, each of which begins anew.
///
/// # Errors
/// Bad input, or an illegal access of a kernel.
pub fn reuse(launch: &Path, config: &MachineConfig) -> Result<Reuse, RunError> {
    let prepared = prepare(open(launch, None)?, config)?;
    let mut all = Reuse::default();
    each_launch(&prepared, config, &mut |launch, sms, memory| {
        all.add(&Recording::new(launch, sms, config.l1.line_bytes as usize, memory)?.reuse());
        Ok(())
    })?;
    Ok(all)
}
