//! Runs a launch file without timing and classifies every cache hit by the thread that accessed the line
//! before ([`golden::untimed::Locality`]). This may be the same thread, another thread of the same warp, CTA
//! or SM, a thread of another SM, or a thread of an earlier launch.

use std::path::Path;

use golden::untimed::{Locality, LocalityCounts};
use rtl::machine::MachineConfig;

use super::prepare::prepare;
use super::profile::caches;
use super::untimed::each_launch;
use super::{RunError, open};

/// Measures the locality in all launches of a launch file.
///
/// # Errors
/// Fails on bad input or an illegal access by a kernel.
pub fn locality(launch: &Path, config: &MachineConfig) -> Result<LocalityCounts, RunError> {
    let prepared = prepare(open(launch, None)?, config)?;
    let mut caches = Locality::new(caches(config).map_err(|e| RunError::input(launch, &e))?);
    each_launch(&prepared, config, &mut |launch, sms, memory| caches.run(launch, sms.ctas, memory))?;
    Ok(*caches.counts())
}
